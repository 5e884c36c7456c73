"""Whether the evidence of a certificate is about the hypotheses of its derivation."""

from fractions import Fraction
from typing import Any

from dpaccount.checker.curves import lengths
from dpaccount.checker.derivation import NOISE, Step, reachable
from dpaccount.checker.documents import brief, ensure, natural
from dpaccount.checker.facts import Contribution, Fact, Shifts, Stable, fact_of
from dpaccount.checker.intervals import number

MAX_RUNS = 10**7
Entry = dict[str, Any]

#: Hypotheses that a property test on the running code knows; others are never ``tested``.
TESTED = {
    *("assume_points", "assume_clipped", "assume_ball", "assume_rank_one", "assume_cell", "assume_covers"),
    *("assume_tree", "assume_view", "assume_range", "assume_each", "assume_l1", "assume_lipschitz"),
    *("assume_rounds", "assume_numbers", "assume_choice", "assume_persons"),
}


def promised(steps: list[Step], name: str) -> tuple[str, bool]:
    """Describe what a hypothesis bounds, and return whether it has a test; `name`: its digest."""
    step = next(s for s in steps if s["digest"] == name)
    rule, query, drawn = step["rule"], step["with"]["query"], movements(steps, step["with"]["query"])
    if rule not in TESTED:
        return f"no test of {rule} is known", False
    match rule:
        case "assume_view":
            everyone = any(s["gives"][:3] == ["View", query, "everyone"] for s in reachable(steps))
            return ("everyone's" if everyone else "others'") + " view is unchanged", True
        case "assume_choice" | "assume_persons":
            return _counted(step), True
        case "assume_numbers" | "assume_lipschitz" if drawn and (
            rule == "assume_numbers" or _plain(steps, query)
        ):
            return _counted(step), True
        case "assume_rounds" if drawn and one_at_most(fact_of(step["gives"])):
            whose = "batch" if "ends" in step["with"] else "number"
            free = "participations" in step["with"]
            return f"a unit enters {'one round' if free else f'the round of its {whose}'} alone", True
        case "assume_covers" | "assume_tree" if drawn:
            return "only covering releases move", True
        case "assume_rounds" | "assume_numbers" | "assume_covers" | "assume_tree" | "assume_lipschitz":
            pass
        case _ if drawn and not any(map(_unbounded, drawn)):
            return "; ".join(map(_bound_of, drawn)), True
    return f"no release of {query} is tested", False


def one_at_most(rounds: Any) -> bool:
    """Return whether a unit enters at most one round: that of its number or batch, or any one."""
    return rounds.times == 1 or rounds.apart >= rounds.rounds


def _counted(step: Step) -> str:
    given = step["with"]
    match step["rule"]:
        case "assume_choice":
            return "one part is drawn"
        case "assume_numbers":
            return f"numbers: at most {given['most']}"
        case "assume_lipschitz":
            if number(given["factor"]) == 0 and given["slack"] == given["reach"]:
                return f"at most {given['reach']}"
            follows = f"{given['factor']} times its row's move plus {given['slack']}"
            return f"at most {follows}, at most {given['reach']}"
    return f"one person's rows: at most {given['most']} steps"


def _plain(steps: list[Step], query: str) -> bool:
    """Return whether all noise on a query is drawn before any transformation of it."""
    noisy = [steps[step["from"][0]] for step in reachable(steps) if step["rule"] in NOISE]
    return all(step["rule"] == "moved" for step in noisy if fact_of(step["gives"]).query == query)


def movements(steps: list[Step], query: str) -> list[Fact]:
    """Return the facts on the movement of a query, one for each draw of noise on it."""
    noisy = [step for step in reachable(steps) if step["rule"] in NOISE]
    facts = [fact_of(steps[step["from"][0]]["gives"]) for step in reversed(noisy)]
    return [fact for fact in facts if fact.query == query]


def _unbounded(fact: Fact) -> bool:
    return isinstance(fact, Contribution) and fact.kind not in ("cell", "points")


def _bound_of(fact: Fact) -> str:
    match fact:
        case Stable():
            return f"{fact.norm} {fact.bound}"
        case Shifts():
            return f"shifts {brief(fact.shifts)}"
    return f"contributions: {fact.kind}"


def furthest(fact: Fact) -> Fraction | None:
    """Return the largest squared ℓ2 movement that a bound allows, or None if there is none."""
    match fact:
        case Shifts():
            return Fraction(max(lengths(fact.shifts)))
        case Stable() if fact.norm not in ("range", "each"):
            return number(fact.bound) ** (2 if fact.norm == "l1" else 1)
    return None


def hypotheses_of(document: dict[str, Any]) -> dict[str, Step]:
    """Return the steps of the derivation that are hypotheses, by their digests."""
    steps = document["proved"]["derivation"]
    return {s["digest"]: s for s in reachable(steps) if s["rule"].startswith("assume_")}


def evidence(document: dict[str, Any]) -> dict[str, Entry]:
    """Return the evidence on every hypothesis, by its digest; verify that it is about that hypothesis."""
    assumed = hypotheses_of(document)
    entries = {entry["step"]: entry for entry in document["sensitivity"]}
    ensure(len(entries) == len(document["sensitivity"]), "a hypothesis has evidence twice")
    ensure(entries.keys() <= assumed.keys(), "evidence on a hypothesis that the derivation does not use")
    every = entries.values()
    ensure(len({entry["source"] for entry in every}) <= 1, "the evidence is of several pieces of code")
    together = {entry["examples"] for entry in every if entry["rule"] != "assume_persons"}
    ensure(len(together) <= 1, "hypotheses are tested together, on as many examples")
    for name, entry in entries.items():
        check_entry(document["proved"]["derivation"], assumed[name], entry)
    missing = {"status": "missing", "relation": ""}
    return {name: entries.get(name, missing) for name in assumed}


def check_entry(steps: list[Step], step: Step, entry: Entry) -> None:
    """Verify that an entry of evidence agrees with its step and that a test could observe it."""
    given = step["with"]
    for member, right in (("rule", step["rule"]), ("query", given["query"]), ("test", given["because"])):
        ensure(entry[member] == right, f"the evidence's {member} is not that of its step")
    words, known = promised(steps, step["digest"])
    ensure(entry["value"] == words, f"the evidence's value should be {brief(words)}")
    failed = entry["counterexample"] is not None
    fits = failed == (entry["status"] == "refuted")
    ensure(fits, "a counterexample goes with status refuted, and only there")
    ensure(natural(entry["examples"]) <= MAX_RUNS, "more examples than this checker counts")
    worst = number(entry["worst"])
    ensure(worst >= 0, "what moved most moved by at least 0")
    if entry["status"] == "tested":
        ensure(known, f"no test of {brief(step['rule'])} is known, so it was not tested")
        most = limit_of(steps, step)
        ensure(most is None or worst <= most, "the evidence found more than its step allows")
        counted = step["rule"] in ("assume_numbers", "assume_persons")
        ensure(not counted or worst.denominator == 1, "what is counted is a whole number")
        idle = worst == 0 and may_move(steps, step)
        ensure(not idle, "nothing moved in any example, and something may: that tested nothing")


def may_move(steps: list[Step], step: Step) -> bool:
    """Return whether the proof lets the tested quantity move: then a test should see it move."""
    if step["rule"] in ("assume_view", "assume_choice"):
        return False  # what is tested is that nothing changes
    facts = movements(steps, step["with"]["query"])
    return step["rule"] == "assume_persons" or any(map(_room, facts))


def _room(fact: Fact) -> bool:
    match fact:
        case Stable():
            return number(fact.bound) > 0
        case Shifts():
            return any(fact.shifts)
        case Contribution(kind="points"):
            return len(fact.points) > 1
    return True


def limit_of(steps: list[Step], step: Step) -> Fraction | None:
    """Return an upper bound on the worst movement in a passing test, or None if there is none."""
    match step["rule"]:
        case "assume_view" | "assume_choice":
            return Fraction(0)
        case "assume_numbers" | "assume_persons":
            return Fraction(step["with"]["most"])
        case "assume_covers" | "assume_tree" | "assume_rounds":
            return None  # how far it may move is another hypothesis, which may be refuted as well
    own = [s["with"] for s in reachable(steps) if s["rule"] == "assume_lipschitz"]
    for given in own:
        if given["query"] == step["with"]["query"]:  # tests replace its rows too
            return number(given["reach"]) ** 2
    known = [furthest(fact) for fact in movements(steps, step["with"]["query"])]
    return max((most for most in known if most is not None), default=None) if None not in known else None
