"""What follows for the claim from the derivation alone: that it is proved, that it is refuted, or neither.

Of rows that move by a radius a second proof says what holds of one that is replaced.
"""

from fractions import Fraction
from typing import Any, NamedTuple

from ..curves import Approximate, implies, measure_of
from ..derivation import Step, conclusions, inferred, reachable
from ..documents import Rejected, brief, ensure
from ..facts import Fact, Private, Refuted, fact_of
from ..intervals import number
from ..relation import OF_PERSONS, REPLACED, has_radius, moving, written_relation
from .shapes import exact_of

#: Rules whose conclusion is the exact cost or movement of some neighbours that meet their premises.
ATTAINED = ("linear", "differences", "gaussian", "lattice_gaussian", "nodes", "compose")
DOUBLE_ROUNDING = Fraction(1, 2**50)  # of an upper end that is written as a double
MARGIN = Fraction(1, 10**30)  # by which a comparison that is not decided may err


class Concluded(NamedTuple):
    """What the derivation says of the claim."""

    facts: list[Fact]  #: what its steps prove
    missing: str | None  #: what it lacks for the claim
    refuted: bool  #: another derivation shows the claim false, where its event is as certain as is assumed

    @property
    def final(self) -> Fact | None:
        """Return the last step's fact."""
        return self.facts[-1] if self.facts else None


def concluded(document: dict[str, Any], facts: list[Fact]) -> Concluded:
    """Return what follows for the claim; verify that the verdict does not say more."""
    final, verdict, reason = facts[-1] if facts else None, document["verdict"], document["proved"]["reason"]
    missing, refuted = unproved(document, final), separated(document)
    fits = missing is None or verdict != "CERTIFIED"
    ensure(fits, f"the verdict {verdict!r} does not follow: {missing}")
    ensure(not refuted or verdict == "REFUTED", f"the verdict {verdict!r} does not follow")
    absent = (reason is None) == (final is not None)
    ensure(absent, "a reason is given where nothing is proved, and only there")
    ensure(reason is None or reason.strip() != "", "the reason is empty")
    return Concluded(facts, missing, refuted)


def unproved(document: dict[str, Any], final: Fact | None) -> str | None:
    """Return why the claim is not proved by the derivation, or None if it is."""
    proved = document["proved"]
    if final is None or proved["epsilon"] is None:
        nothing = final is None and proved["epsilon"] is None and proved["delta"] is None
        ensure(nothing, "a proved epsilon and a derivation go together")
        return "there is no derivation"
    ensure(isinstance(final, Private), "the last step is not a statement about privacy")
    ensure(final.subject == document["subject"]["name"], f"the derivation is about {brief(final.subject)}")
    seen = [step["gives"][:2] for step in reachable(proved["derivation"])]
    ensure(["View", final.subject] in seen, "what the subject shows is not among the steps")
    check_point(proved, final)
    return shortfall(document, final)


def shortfall(document: dict[str, Any], final: Private) -> str | None:
    """Return what the derivation lacks for the claim, or None."""
    promise, proved = document["guarantee"], document["proved"]
    relation = written_relation(final.relation)
    if relation != neighbours_of(promise):
        return f"the derivation is for {relation}"
    if final.observer != promise["model"]:
        return f"the derivation is for the {final.observer} model"
    wanted = exact_of(promise["epsilon"], "guarantee.epsilon")
    upper = exact_of(proved["epsilon"]["upper"], "proved.epsilon.upper")
    allowed, delta = exact_of(promise["delta"], "guarantee.delta"), exact_of(proved["delta"], "proved.delta")
    if allowed is None or delta is None or delta > allowed:
        return "the proved delta exceeds the claim's"
    if wanted is not None and (upper is None or upper > wanted):
        return "the proved epsilon exceeds the claim's"
    fewer = uncounted(proved["derivation"], final, document["claim"].get("data", {}))
    return fewer or unmeasured(document["claim"])


def uncounted(steps: list[Step], final: Private, data: dict[str, Any]) -> str | None:
    """Return how the derivation and the claim's table differ on a person's rows, or None.

    Where several rows of a person count, the derivation is about persons with as many rows, or twice as many
    where persons are replaced but rows are added or removed.  One about persons rests on no other rows.
    """
    most = exact_of(data.get("max_rows", 1), "max_rows") or Fraction(1)
    for step in reachable(steps):
        if step["rule"] == "persons":
            given = steps[step["from"][1]]["with"]
            times = 2 if given["relation"] != given["rows"] else 1
            if Fraction(given["most"]) != times * most:
                return f"a person's change is {times * most} steps of rows, {brief(given['most'])} are proved"
    if most > 1 and OF_PERSONS not in final.relation:
        return "what is drawn of rows is not of persons, of whom several rows count"
    return None


def unmeasured(claim: dict[str, Any]) -> str | None:
    """Return how a row can move further than the radius of the claim's file, or None.

    A column that is read twice counts twice in a distance; identities and codes of texts do not move by one.
    """
    read = claim["subject"].get("parameters", {}).get("columns", [])
    table = claim.get("data", {}).get("columns", {})
    if not has_radius(claim["guarantee"]["relation"]) or not table or not isinstance(read, list):
        return None
    wrong = [name for name in read if read.count(name) > 1 or name == claim["data"].get("id")]
    wrong += [name for name in read if name in table and table[name]["type"] != "number"]
    return f"the column {brief(wrong[0])} moves further in a row than in the file" if wrong else None


def separated(document: dict[str, Any]) -> bool:
    """Return whether there is a refutation, of this claim: one event is certain here and impossible there.

    That the runs showed this event each time is not confirmed here.
    """
    steps = document["proved"].get("refutation")
    if steps is None:
        return False
    final, promise = conclusions(steps)[-1], document["guarantee"]
    ensure(isinstance(final, Refuted), "what is held as a refutation refutes nothing")
    ensure(len(list(reachable(steps))) == len(steps), "the refutation holds a step that it does not need")
    same = (final.subject, final.relation, final.observer)
    right = (document["subject"]["name"], neighbours_of(promise), promise["model"])
    ensure(same == right, "the refutation is not about the subject's neighbours, as they are seen")
    point = exact_of(promise["epsilon"], "epsilon"), exact_of(promise["delta"], "delta")
    of_claim = point == (final.epsilon, final.delta)
    ensure(of_claim, "the refutation is not of the claim's epsilon and delta")
    assumed = [s["with"] for s in steps if s["rule"].startswith("assume_")]
    certain = [(given.get("likely"), given.get("rarely")) for given in assumed] == [("1", "0")]
    ensure(certain, "the refutation should assume one event, certain here and impossible there")
    return True


# ------------------------------------------------------------------ the point that is proved


def neighbours_of(promise: dict[str, Any]) -> str:
    """Return the relation of a guarantee as derivations write it, with its radius if any."""
    radius = exact_of(promise["radius"], "radius") if "radius" in promise else None
    return str(promise["relation"]) if radius is None else moving(radius)


def check_point(proved: dict[str, Any], final: Private) -> None:
    """Verify that the numbers stated as proved are those of the last step, rounded outward."""
    point = final.curve
    if not isinstance(point, Approximate):
        raise Rejected(f"the last step should give (epsilon, delta), it gives {measure_of(point)}")
    upper = exact_of(proved["epsilon"]["upper"], "proved.epsilon.upper")
    ensure(
        upper is not None and upper >= point.epsilon,
        "proved.epsilon.upper is below what the derivation proves",
    )
    near = upper is not None and upper <= point.epsilon * (1 + DOUBLE_ROUNDING)
    ensure(near, "proved.epsilon.upper is above what the derivation proves, and its rounding")
    ensure(exact_of(proved["delta"], "proved.delta") == point.delta, "proved.delta is not the derivation's")
    if proved["epsilon"]["lower"] is not None:
        check_lower(proved["derivation"], exact_of(proved["epsilon"]["lower"], "proved.epsilon.lower"))


def check_lower(steps: list[Step], lower: Fraction | None) -> None:
    """Verify a lower end of what the releases cost: the curve is attained, and its δ there is larger."""
    last = len(steps) - 1
    while steps[last]["rule"] in ("post_process", "billboard"):
        last = steps[last]["from"][0]
    of_curve = steps[last]["rule"] == "to_approximate" and attained(steps[: steps[last]["from"][0] + 1])
    ensure(of_curve, "proved.epsilon.lower: only an upper bound follows from the derivation")
    curve, delta = fact_of(steps[steps[last]["from"][0]]["gives"]).curve, number(steps[last]["with"]["delta"])
    below = lower is not None and (lower == 0 or not implies(curve, lower, delta * (1 + MARGIN)))
    ensure(below, "proved.epsilon.lower is above what the derivation proves")


def attained(steps: list[Step]) -> bool:
    """Return whether some neighbours and queries attain the last step's curve."""

    def exact(step: Step) -> bool:
        symmetric = getattr(fact_of(step["gives"]), "norm", "") == "frobenius-squared"  # an upper bound
        parts = [fact_of(steps[k]["gives"]).units for k in step["from"]] if step["rule"] == "compose" else []
        return step["rule"] in ATTAINED and not symmetric and not any(parts)

    # two different hypotheses about one query may leave less than either alone
    reached, hypotheses = list(reachable(steps)), dict[str, list[Any]]()
    met = [step["gives"] for step in reached if step["rule"].startswith("assume_")]
    alone = all(hypotheses.setdefault(str(gives[:2]), gives) == gives for gives in met)
    return alone and all(step["rule"].startswith("assume_") or exact(step) for step in reached)


# ------------------------------------------------------------------ a row that is replaced


def check_replaced(document: dict[str, Any]) -> None:
    """Verify the second proof, on a replaced row, of a certificate on rows that move by a radius.

    It rests on the same hypotheses, which are tested on replaced rows too, so on the same releases.
    """
    proved, promise = document["proved"], document["guarantee"]
    bounded = has_radius(promise["relation"]) and proved["derivation"] != []
    ensure(
        ("replace_one" in proved) == bounded, "what holds of a replaced row goes with the proof of a radius"
    )
    other = proved.get("replace_one")
    if other is None:
        return
    done, steps = inferred(other["derivation"]), list(reachable(other["derivation"]))
    final = done[-1].fact
    ensure(len(steps) == len(other["derivation"]), "the second derivation holds a step that it does not need")
    ensure(isinstance(final, Private), "the second proof is no statement about privacy")
    name = document["subject"]["name"]
    same = (final.subject, final.relation, final.observer) == (name, REPLACED, promise["model"])
    ensure(same, "the second proof is not about the subject's replaced rows, as they are seen")
    ensure(
        ["View", name] in [step["gives"][:2] for step in steps], "what it shows is not among the second steps"
    )
    same = assumed(steps) == assumed(proved["derivation"])  # less: a departure that the proof pays for
    ensure(same, "the second proof assumes more of the code, or less")
    # one cover, or one transformation, that is left out would make the same noise cheaper
    alike = done[-1].drawn == inferred(proved["derivation"])[-1].drawn
    ensure(alike, "the second proof draws its noise on other queries, or over other covers")
    check_point(other, final)


def assumed(steps: list[Step]) -> set[str]:
    """Return the hypotheses of a derivation, by their digests."""
    return {step["digest"] for step in steps if step["rule"].startswith("assume_")}
