"""Rows that move by a radius: what is promised of them, and what holds of one that is replaced."""

from fractions import Fraction
from typing import Any

from ..curves import Approximate, implies
from ..derivation import Step, inferred, reachable
from ..documents import Rejected, ensure
from ..facts import Private, fact_of
from ..intervals import number
from ..relation import REPLACED, has_radius, moving
from .shapes import exact_of


def neighbours_of(promise: dict[str, Any]) -> str:
    """Return the relation of a guarantee as derivations write it, with its radius if any."""
    radius = exact_of(promise["radius"], "radius") if "radius" in promise else None
    return str(promise["relation"]) if radius is None else moving(radius)


def check_point(proved: dict[str, Any], final: Private) -> None:
    """Verify that the numbers stated as proved are those of the last step, rounded outward."""
    point = final.curve
    if not isinstance(point, Approximate):
        raise Rejected(f"the last step should give (epsilon, delta), it gives {final.law[0]}")
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
    of_curve = steps[last]["rule"] == "to_approximate" and attained(steps, steps[last]["from"][0])
    ensure(of_curve, "proved.epsilon.lower: only an upper bound follows from the derivation")
    curve, delta = fact_of(steps[steps[last]["from"][0]]["gives"]).curve, number(steps[last]["with"]["delta"])
    below = lower is not None and (lower == 0 or not implies(curve, lower, delta * (1 + MARGIN)))
    ensure(below, "proved.epsilon.lower is above what the derivation proves")


#: Rules whose conclusion is the exact cost or movement of some neighbours that meet their premises.
ATTAINED = ("linear", "differences", "gaussian", "lattice_gaussian", "nodes", "compose")
DOUBLE_ROUNDING = Fraction(1, 2**50)  # of an upper end that is written as a double
MARGIN = Fraction(1, 10**30)  # by which a comparison that is not decided may err


def attained(steps: list[Step], index: int) -> bool:
    """Return whether some neighbours and queries attain a step's curve."""

    def exact(step: Step) -> bool:
        symmetric = getattr(fact_of(step["gives"]), "norm", "") == "frobenius-squared"  # an upper bound
        parts = [fact_of(steps[k]["gives"]).units for k in step["from"]] if step["rule"] == "compose" else []
        return step["rule"] in ATTAINED and not symmetric and not any(parts)

    # two different hypotheses about one query may leave less than either alone
    reached, hypotheses = list(reachable(steps[: index + 1])), dict[str, list[Any]]()
    met = [step["gives"] for step in reached if step["rule"].startswith("assume_")]
    alone = all(hypotheses.setdefault(str(gives[:2]), gives) == gives for gives in met)
    return alone and all(step["rule"].startswith("assume_") or exact(step) for step in reached)


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
    final = done.facts[-1]
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
    alike = done.drawn[-1] == inferred(proved["derivation"]).drawn[-1]
    ensure(alike, "the second proof draws its noise on other queries, or over other covers")
    check_point(other, final)


def assumed(steps: list[Step]) -> set[str]:
    """Return the hypotheses of a derivation, by their digests."""
    return {step["digest"] for step in steps if step["rule"].startswith("assume_")}


def unit_of_rows(document: dict[str, Any]) -> list[str]:
    """Return the hazards of rows that move by a radius; none for other relations."""
    promise, proved = document["guarantee"], document["proved"]
    if not has_radius(promise["relation"]) or proved["derivation"] == []:
        return []
    notes = [
        f"Neighbours differ in one row, which moves by at most {promise['radius']} in the l2 norm, in the"
        " data's own coordinates; everything else is equal. Larger differences between rows are protected"
        " less."
    ]
    facts = [fact_of(step["gives"]) for step in proved["derivation"] if step["rule"] == "assume_lipschitz"]
    ways = {number(f.reach) / number(f.factor) for f in facts if number(f.factor) > 0}
    if len(ways) == 1 and (way := ways.pop()) > 0:
        share = (exact_of(promise["radius"], "radius") or 0) / way
        notes.append(
            f"The query distinguishes rows up to a distance of {rough(way)}; the radius is {rough(share)} of"
            " it."
        )
    other = proved.get("replace_one")
    if other is None:
        return [*notes, "Nothing is proved if a row is replaced by any other."]
    at = f"epsilon <= {other['epsilon']['upper']} at delta = {other['delta']}"
    return [
        *notes,
        f"A row that is replaced by any other is protected with {at}, under the same assumptions.",
    ]


def rough(value: Fraction) -> str:
    """Return a number to six digits, for a reader."""
    return f"{float(value):.6g}" if value < 10**300 else "more than 1e300"
