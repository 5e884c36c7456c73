"""What a release costs in the measure of the ledger that paid for it."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..curves import (
    Approximate,
    BoundedRange,
    Curve,
    Gdp,
    Lattice,
    NearGdp,
    Pure,
    Renyi,
    Zcdp,
    implies,
    lengths,
)
from ..documents import brief, ensure
from ..facts import Fact, Private, apply

KEEPING = {"billboard", "local_view", "persons", "post_process", "replace_one", "group", "within"}
NEAR_WEIGHT, MOST_NEAR = 10**6, 13  # of a total variation in approximate zCDP: 1 + e^13 is less
NEAR = "approximate-zcdp"
ROUNDING = Fraction(1, 2**40)


def unconverted(steps: list[dict[str, Any]], facts: list[Fact], k: int = -1) -> Fact | None:
    """Return what is proved before its conversion to (ε, δ), which is charged where a measure has a bound."""
    rule, before = steps[k]["rule"], steps[k]["from"]
    if rule == "to_approximate":
        return facts[before[0]]
    first = unconverted(steps, facts, before[0]) if rule in KEEPING else None
    if not isinstance(first, Private) or (rule == "group" and isinstance(first.curve, Approximate | Renyi)):
        return None
    if rule == "group" and isinstance(first.curve, BoundedRange | Lattice):
        first = apply("to_zcdp", [first], {})
    given = {name: each for name, each in steps[k]["with"].items() if name != "delta"}
    return apply(rule, [first, *(facts[one] for one in before[1:])], given)


def check_measure(measure: str, after: Fraction, delta: Fraction, facts: Sequence[Fact | None]) -> None:
    """Verify that a measure has a bound for one of these statements, and that the ε after it covers it.

    A ledger's ε is at least that of a Gaussian pair of the same ρ, or μ², at the part of δ that is theirs.
    """
    share = delta if measure in ("gdp", "zcdp") else delta / 2
    curves = [fact.curve for fact in facts if isinstance(fact, Private)]
    bounds = [bound for bound in (ideal(curve, measure) for curve in curves) if bound is not None]
    ensure(bounds != [], f"no ledger in {brief(measure)} takes what is proved")
    end = after + ROUNDING * (after + 1)
    paid = any(spent <= share and implies(Gdp(square), end, share) for square, spent in bounds)
    ensure(paid, f"the charge costs more, in {brief(measure)}, than the ledger counts or than its budget")


def ideal(curve: Curve, measure: str) -> tuple[Fraction, Fraction] | None:
    """Return μ² of a Gaussian pair that costs no more than the charge, and its own δ; None: it is refused."""
    near, nothing = measure == NEAR, Fraction(0)
    match curve:
        case Gdp(square):
            return square, nothing
        case Zcdp(rho) if measure != "gdp":
            return 2 * rho, nothing
        case Lattice(variance, shifts, times) if measure != "gdp":
            return times * Fraction(max(lengths(shifts))) / variance, nothing
        case NearGdp(square, distance) if near:
            return square, NEAR_WEIGHT * distance
        case Approximate(epsilon, delta) if near:
            return epsilon**2, delta
        case Pure(epsilon) | Approximate(epsilon, Fraction(numerator=0)):
            return (epsilon**2 if near or measure == "zcdp" else nothing), nothing
        case BoundedRange(eta):
            return (eta**2 / 4 if near or measure == "zcdp" else nothing), nothing
    return None
