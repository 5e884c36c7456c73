"""What follows for the verdict from derivation, evidence and the counts of an attack."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from audits.consistency.hazards import NO_TEST
from dpaccount.checker.certificate.shapes import exact_of
from dpaccount.checker.certificate.verdict import Concluded
from dpaccount.checker.curves import Gdp, Lattice, Pure, implies, lengths
from dpaccount.checker.derivation import NOISE, Step, reachable
from dpaccount.checker.distributions import binomial_tail
from dpaccount.checker.documents import Rejected, brief, ensure, integer, natural, spend
from dpaccount.checker.facts import Contribution, Fact, Shifts, Stable, fact_of
from dpaccount.checker.intervals import ZERO, Interval, number
from dpaccount.checker.relation import written_relation

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
            return fact.bound ** (2 if fact.norm == "l1" else 1)
    return None


def evidence(document: dict[str, Any]) -> dict[str, Entry]:
    """Return the evidence on every hypothesis, by its digest; verify that it is about that hypothesis."""
    steps = document["proved"]["derivation"]
    assumed = {step["digest"]: step for step in reachable(steps) if step["rule"].startswith("assume_")}
    entries = {entry["step"]: entry for entry in document["sensitivity"]}
    ensure(len(entries) == len(document["sensitivity"]), "a hypothesis has evidence twice")
    ensure(entries.keys() <= assumed.keys(), "evidence on a hypothesis that the derivation does not use")
    listed = entries.values()
    ensure(len({entry["source"] for entry in listed}) <= 1, "the evidence is of several pieces of code")
    together = {entry["examples"] for entry in listed if entry["rule"] != "assume_persons"}
    ensure(len(together) <= 1, "hypotheses are tested together, on as many examples")
    for name, entry in entries.items():
        check_entry(steps, assumed[name], entry)
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
            return fact.bound > 0
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


MAX_POINTS = 64  # of one audit
#: rules whose conclusion repeats a premise
TRANSPARENT = ("post_process", "billboard", "local_view", "parallel", "mixture")
Point = dict[str, Any]


def audited(document: dict[str, Any], final: Fact | None) -> set[str]:
    """Return which of claim and proof the audit beats, from its counts and within the claim's confidence."""
    points = document["audit"]["points"]
    ensure([p["of"] for p in points].count("claim") == 1, "an audit attacks the claim at one point")
    ensure(len(points) <= MAX_POINTS, "more points than this checker counts")
    check_runs(document)
    check_points(document, final)
    beaten = {point["of"] for point in points if beats(document, point, final)}
    check_confidence(document)
    check_power(document)
    return beaten


def check_points(document: dict[str, Any], final: Fact | None) -> None:
    """Verify that the points attacked are the claim and, of a curve that is proved, 0 and half its ε."""
    points, promise = document["audit"]["points"], exact_of(document["guarantee"]["epsilon"], "epsilon")
    limits = [exact_of(point["limit"], "limit") for point in points if point["of"] == "proof"]
    unit = document["audit"]["witness"].get("unit")
    curves = list(asserted(document["proved"]["derivation"], unit)) if final is not None else []
    wanted = {Fraction(0), promise / 2 if promise is not None else None} if curves else set()
    times = {limits.count(limit) for limit in wanted} or {0}
    complete = set(limits) == wanted and len(times) == 1 and max(times) >= len(curves)
    ensure(complete, "the attack is not on the points of what is proved")
    for point in points:
        words = "seen {hits} of {runs} against {alarms} of {other_runs}".format(**point)
        ensure(point["event"].endswith(words), f"the event of a point was {words}")


def check_power(document: dict[str, Any]) -> None:
    """Verify that a hazard is listed where no outcome of the runs could exceed the claim."""
    point = next(point for point in document["audit"]["points"] if point["of"] == "claim")
    half = float(exact_of(point["risk"], "risk") or 1) / 2
    delta = float(exact_of(point["delta"], "delta") or 0)
    most = half ** (1 / point["runs"]) - delta
    could = math.log(most / -math.expm1(math.log(half) / point["other_runs"])) if most > 0 else -math.inf
    words = f"which is not above the claim's {point['limit']}: it tested nothing of the claim itself."
    stated = any(each.endswith(words) for each in document["hazards"])
    idle = could < float(min(exact_of(point["limit"], "limit") or 0, 10**300)) * (1 - 1e-6)
    ensure(stated or not idle or not document["proved"]["derivation"], f"the hazards lack: {words}")


def attacked(audit: dict[str, Any]) -> bool:
    """Return whether any run of an audit showed an event that it counts."""
    return any(point["hits"] or point["alarms"] for point in audit["points"])


def beats(document: dict[str, Any], point: Point, final: Fact | None) -> bool:
    """Return whether the counts of a point exceed its limit; verify the bounds stated from them."""
    chance = exact_of(point["risk"], "risk")
    ensure(chance is not None and 0 < chance < 1, "a risk lies strictly between 0 and 1")
    lower, bound = exact_of(point["epsilon_lower"], "epsilon_lower"), exact_of(point["limit"], "limit")
    confirm_counts(point, lower or Fraction(0))
    if point["of"] == "claim":
        check_headline(document, point)
    else:
        ensure(final is not None, "a point is of the claim or of the proof")
        ensure(asserts(document, point), "the proof does not assert the point that is attacked")
    if bound is None:
        return False
    if lower is not None and lower > bound:
        return True
    ensure(consistent(point, bound), "the audit's counts refute a limit that it says they leave standing")
    return False


def check_headline(document: dict[str, Any], point: Point) -> None:
    """Verify that what is attacked is the guarantee, and that the audit's own bound is this point's."""
    promise, audit = document["guarantee"], document["audit"]
    attacked = exact_of(point["limit"], "limit"), exact_of(point["delta"], "delta")
    same = attacked == (exact_of(promise["epsilon"], "epsilon"), exact_of(promise["delta"], "delta"))
    ensure(same, "the audit's claim is not the guarantee")
    lower = exact_of(point["epsilon_lower"], "epsilon_lower")
    headline = lower == exact_of(audit["epsilon_lower"], "epsilon_lower")
    ensure(headline, "the audit's headline is not its point")


def check_confidence(document: dict[str, Any]) -> None:
    """Verify that the risks of all points fit the claim's confidence."""
    audit = document["audit"]
    confidence = exact_of(audit["confidence"], "confidence")
    asked = exact_of(document["claim"].get("audit", {}).get("confidence", "0.95"), "confidence")
    ensure(confidence == asked, "the audit's confidence is not the claim's")
    share = (1 - (confidence or Fraction(1))) / len(audit["points"])
    ensure(0 < share < 1, "a confidence lies strictly between 0 and 1")
    # what is beaten at first is measured again, more strictly (`audits.attack.confirmation`); with any other
    # risk, a small one, no counts would refute anything
    once, strong = Fraction(1, 1000) / len(audit["points"]), Fraction(1, 2000) / len(audit["points"])
    risks = {share, min(share, once), min(share, strong), share * 4 / 5, min(share / 5, strong / share)}
    fair = all(exact_of(point["risk"], "risk") in risks for point in audit["points"])
    ensure(fair, "the points share the risk that the audit's confidence leaves, each alike")


def check_runs(document: dict[str, Any]) -> None:
    """Verify that runs and trials go together, and with what the claim asks for.

    An attack on a proof scores every run at every point, either side first, but for a twentieth that chooses
    thresholds, ten at least; one on a function also spends runs on the search.  Slow runs are fewer.
    """
    audit, trials = document["audit"], integer(document["audit"]["trials"])
    asked = exact_of(document["claim"].get("audit", {}).get("trials", 20_000), "trials") or Fraction(0)
    ensure(10 <= asked <= MAX_RUNS and asked.denominator == 1, f"a claim asks for 10 to {MAX_RUNS} runs")
    sides = {frozenset([integer(p["runs"]), integer(p["other_runs"])]) for p in audit["points"]}
    runs = {p["runs"] + p["other_runs"] for p in audit["points"]}
    ensure(len(sides) == 1 and max(runs) <= trials, "the audit counts other runs than it made")
    if document["proved"]["derivation"]:
        train = max(trials // 20, 10)
        ensure(min(runs) == trials - train, f"the audit counts other runs than all but {train} of its trials")
        ensure(trials >= 60, "an attack on a proof makes at least 30 runs a side")
        most = max(int(asked) // 2 // (10 if audit["quick"] else 1), 30)
        ensure(trials <= 2 * most, "the audit says that it made more runs than the claim asks for")


def asserts(document: dict[str, Any], point: Point) -> bool:
    """Return whether the curve behind the derivation's last point implies this point too."""
    steps = document["proved"]["derivation"]
    limit, delta = exact_of(point["limit"], "limit"), exact_of(point["delta"], "delta")
    if limit is None or delta is None:
        return False
    return any(implies(curve, limit, delta) for curve in asserted(steps, None))


def asserted(steps: list[Step], unit: object) -> Iterator[Pure | Gdp | Lattice]:
    """Yield the curves that are proved of a unit, None for any, and turned into the last point."""
    for step in alike(steps):
        if step["rule"] == "to_approximate":
            fact = fact_of(steps[step["from"][0]]["gives"])
            units = fact.units if type(unit) is int else None
            if isinstance(fact.curve, Pure | Gdp | Lattice) and (
                units is None or unit in range(units[0], units[1] + 1)
            ):
                yield fact.curve


def alike(steps: list[Step]) -> Iterator[Step]:
    """Yield the last step and the steps that it repeats: of a view, or of one of several parts."""
    wanted = {len(steps) - 1}
    for index in range(len(steps) - 1, -1, -1):
        if index in wanted:
            yield steps[index]
            wanted.update(steps[index]["from"] if steps[index]["rule"] in TRANSPARENT else ())


def confirm_counts(point: Point, lower: Fraction) -> None:
    """Verify ε ≥ `lower` from the counts of an event in runs on D and on D′ (Clopper & Pearson 1934).

    With probability at least 1 − risk, P(event|D) ≥ p₁ and P(event|D′) ≤ p₂, each binomial tail at
    most risk/2; then e^ε ≥ (p₁ − δ)/p₂.
    """
    hits, runs = natural(point["hits"]), integer(point["runs"])
    alarms, others = natural(point["alarms"]), integer(point["other_runs"])
    ensure(hits <= runs and alarms <= others and max(runs, others) <= MAX_RUNS, "more hits than runs")
    risk, delta = exact_of(point["risk"], "risk"), exact_of(point["delta"], "delta")
    p, q = exact_of(point["power"], "power"), exact_of(point["false_alarm"], "false_alarm")
    if risk is None or delta is None or p is None or q is None:
        raise Rejected("the audit's numbers should be finite")
    ensure(
        0 < risk < 1 and 0 <= p <= 1 and 0 < q <= 1 and delta <= 1,
        "the audit's probabilities are out of range",
    )
    i = Interval(40)
    high = binomial_tail(i, runs, p, hits, up=True) if p > 0 else ZERO
    low = binomial_tail(i, others, q, alarms, up=False) if q < 1 else ZERO
    half = i.of(risk / 2)
    ensure(high[1] <= half[0], "the audit's power is not supported by its counts")
    ensure(low[1] <= half[0], "the audit's false-alarm rate is not supported by its counts")
    if lower:
        ensure(p - delta > 0, "the audit's power does not exceed delta")
        ensure(i.exp(i.of(lower))[1] <= i.of((p - delta) / q)[0], "the audit's lower bound does not follow")


def consistent(point: Point, limit: Fraction) -> bool:
    """Return whether the counts are consistent with e^limit ≥ (p₁ − δ)/p₂, as in `confirm_counts`.

    They are if some rate x is at most the largest p₂ and δ + e^limit x at least the smallest p₁.
    At the observed rates no tail is below 1/2; otherwise x is computed in floats, then verified.
    """
    hits, runs, alarms, others = (int(point[name]) for name in ("hits", "runs", "alarms", "other_runs"))
    half = (exact_of(point["risk"], "risk") or Fraction(1)) / 2
    delta, i = exact_of(point["delta"], "delta") or Fraction(0), Interval(40)
    factor = Fraction(i.exp(i.of(min(limit, Fraction(1000))))[0])
    seen = Fraction(alarms, others)
    if delta + factor * seen >= Fraction(hits, runs) or alarms == others:
        return True
    x = Fraction(largest_rate(others, alarms, float(half))) * (1 - Fraction(1, 10**6))
    if x > seen and binomial_tail(i, others, x, alarms, up=False)[0] <= i.of(half)[1]:
        raise Rejected("a rate could not be verified from its counts")
    y = delta + factor * max(x, seen)
    return bool(y >= Fraction(hits, runs)) or bool(
        y > 0 and binomial_tail(i, runs, y, hits, up=True)[0] > i.of(half)[1]
    )


def largest_rate(n: int, k: int, risk: float) -> float:
    """Return about the largest p with P(Bin(n, p) ≤ k) ≥ `risk`, k < n: a search; its result is verified."""
    low, high = k / n, 1.0
    choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    for _ in range(50):  # halvings: to the last bits of a float
        p = (low + high) / 2
        if not low < p < high:
            break
        total = term = 1.0
        steps = 0
        for j in range(k, 0, -1):
            steps += 1
            term *= j / (n - j + 1) * (1 - p) / p
            total += term
            if term < total * 1e-12:
                break
        spend(20 + steps // 2)
        tail = choose + k * math.log(p) + (n - k) * math.log1p(-p) + math.log(total)
        low, high = (p, high) if tail >= math.log(risk) else (low, p)
    return low


LEAST_RUNS = 30  #: a side, as an attack on a proof makes


def check_verdict(document: dict[str, Any], concluded: Concluded) -> None:
    """Verify that the verdict follows, and what goes with it."""
    missing, refuted = unproved(document, concluded), refutation(document, concluded)
    verdict = document["verdict"]
    why = f": {missing}" if missing and verdict == "CERTIFIED" else ""
    right = "REFUTED" if refuted else "CERTIFIED" if missing is None else "UNPROVEN"
    ensure(verdict == right, f"the verdict {verdict!r} does not follow{why}")
    ensure((document["refutes"] is not None) == refuted, "refutes does not go with the verdict")


def unproved(document: dict[str, Any], concluded: Concluded) -> str | None:
    """Return what the derivation and its evidence lack for the claim, or None."""
    final = concluded.final
    if final is None:
        ensure(document["sensitivity"] == [], "evidence on a hypothesis that the derivation does not use")
        return concluded.missing
    entries, steps = evidence(document), document["proved"]["derivation"]
    if concluded.missing is not None:
        return concluded.missing
    if document["audit"] is None or not attacked(document["audit"]):
        return "there is no audit" + ("" if document["audit"] is None else " of any event that was ever seen")
    if uncovered(document):
        return "the claim refuses code that no test covers"
    about = relations(steps, written_relation(final.relation))
    return next(filter(None, (untested(name, entries[name], about[name]) for name in entries)), None)


def uncovered(document: dict[str, Any]) -> bool:
    """Return whether the claim refuses code that no test covers, of which there is some."""
    refuses = document["claim"].get("audit", {}).get("uncovered") == "refuse"
    return refuses and any(each.startswith(NO_TEST) for each in document["hazards"])


def relations(steps: list[Step], relation: str) -> dict[str, str]:
    """Return the relation of each step, by digest: on rows, below a statement on persons."""
    about = {len(steps) - 1: relation}
    for index in sorted(range(len(steps)), reverse=True):
        for premise in steps[index]["from"] if index in about else ():
            of_rows = steps[index]["rule"] == "persons" and premise == steps[index]["from"][0]
            speaks = steps[steps[index]["from"][1]]["with"]["rows"] if of_rows else about[index]
            ensure(about.setdefault(premise, speaks) == speaks, "one step is about rows and about persons")
    return {steps[index]["digest"]: speaks for index, speaks in about.items()}


def untested(name: str, entry: Entry, relation: str) -> str | None:
    """Return what evidence on a hypothesis lacks, or None."""
    if entry["status"] not in ("tested", "accepted") or entry["examples"] < 1:
        return f"the hypothesis {name[:15]}… has no passing evidence"
    if entry["relation"] != relation:
        return f"the hypothesis {name[:15]}… was tested for {brief(entry['relation'])}"
    return None


def refutation(document: dict[str, Any], concluded: Concluded) -> bool:
    """Return whether the certificate holds a refutation, re-checking the counts of its audits."""
    false = any(entry["status"] == "refuted" for entry in document["sensitivity"])
    beaten = audited(document, concluded.final) if document["audit"] is not None else set()
    if concluded.refuted:
        check_shown(document)
    kinds = {"claim": "claim" in beaten or concluded.refuted, "proof": "proof" in beaten, "hypothesis": false}
    if document["refutes"] is not None:
        first = next((name for name, holds in kinds.items() if holds), "")
        ensure(document["refutes"] == first, f"what is refuted first is {first or 'nothing'}")
    return any(kinds.values())


def check_shown(document: dict[str, Any]) -> None:
    """Verify that each run showed the event of a refutation on one side, and none on the other.

    The event is assumed certain for one neighbour and impossible for the other: a single other
    outcome would contradict this.
    """
    ensure(document["audit"] is not None, "no run showed the event of the refutation")
    for seen in document["audit"]["points"]:
        enough = min(seen["runs"], seen["other_runs"]) >= LEAST_RUNS
        ensure(enough, f"fewer than {LEAST_RUNS} runs a side showed the event of the refutation")
        shown = seen["hits"] == seen["runs"] and seen["alarms"] == 0
        ensure(shown, "a run contradicts the event of the refutation")
