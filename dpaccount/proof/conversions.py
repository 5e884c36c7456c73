"""One privacy statement restated: other measures (R17), departures, groups."""

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from flint import arb

from dpaccount.errors import RuleError
from dpaccount.relation import ADD_REMOVE, CENTRAL, OF_PERSONS, REPLACE_ONE, bounded_row, radius_of

from .decide import (
    ANYONE,
    at_most,
    ball,
    brief,
    delta_ball,
    need,
    normal_cdf,
    number,
    positive,
    renyi_log_delta,
    whole,
)
from .judgements import (
    Approximate,
    BoundedRange,
    Curve,
    Gdp,
    Lattice,
    NearGdp,
    Persons,
    Pure,
    Rare,
    Renyi,
    Zcdp,
)
from .theorem import Theorem, conclusion_of, private, proved


def to_zcdp(part: Theorem) -> Theorem:
    """Pure gives ε²/2, GDP μ²/2 (Bun & Steinke 2016), bounded range η²/8 zCDP (Cesar & Rogers 2021) (R17)."""
    fact = private(part, rule := "to_zcdp")
    match fact.curve:
        case Pure(epsilon):
            rho = epsilon**2 / 2
        case Gdp(mu_squared):
            rho = mu_squared / 2
        case Lattice(variance, shifts, count):
            rho = count * max(Fraction(sum(v * v for v in s)) for s in shifts) / (2 * variance)
        case BoundedRange(eta):
            rho = eta**2 / 8
        case _:
            raise RuleError(f"{rule}: {type(fact.curve).__name__} does not imply zCDP")
    return proved(rule, replace(fact, curve=Zcdp(rho)), (part,))


def to_pure(part: Theorem) -> Theorem:
    """η-bounded range is η-DP (Durfee & Rogers 2019) (R17)."""
    fact = private(part, rule := "to_pure")
    if not isinstance(fact.curve, BoundedRange):
        raise RuleError(f"{rule}: needed bounded range, found {fact.curve}")
    return proved(rule, replace(fact, curve=Pure(fact.curve.eta)), (part,))


def to_renyi(part: Theorem, orders: Sequence[Fraction]) -> Theorem:
    """ρ-zCDP bounds the Rényi divergence of every order α > 1 by αρ (Bun & Steinke 2016) (R17)."""
    fact = private(part, rule := "to_renyi")
    if not isinstance(fact.curve, Zcdp):
        raise RuleError(f"{rule}: needed zCDP, found {type(fact.curve).__name__}; convert to zCDP first")
    exact = [number(order, rule, "order") for order in orders]
    rising = all(a < b for a, b in pairwise([Fraction(1), *exact]))
    need(bool(exact) and rising, rule, "needed orders above 1, each once, in rising order")
    curve = Renyi(tuple((order, order * fact.curve.rho) for order in exact))
    return proved(rule, replace(fact, curve=curve), (part,), orders=[str(order) for order in exact])


def to_gdp(part: Theorem, mu_squared: Fraction) -> Theorem:
    """Pure ε is μ-GDP for Φ(−μ/2) ≤ 1/(1+e^ε) (Dong et al. 2022), η-bounded range as ε = η/2 is (R17)."""
    fact, mu_squared = private(part, rule := "to_gdp"), number(mu_squared, rule, "mu_squared")
    # Never from zCDP, nor from one point with δ > 0: what they allow may lie above every Gaussian profile.
    if not isinstance(curve := fact.curve, Pure | BoundedRange):
        raise RuleError(f"{rule}: a whole profile is needed: pure DP or bounded range, found {curve}")
    epsilon = curve.epsilon if isinstance(curve, Pure) else curve.eta / 2
    need(mu_squared >= 0, rule, f"mu_squared must not be negative, found {mu_squared}")
    enough = epsilon == 0 or at_most(
        lambda _: normal_cdf(-ball(mu_squared).sqrt() / 2) * (1 + ball(epsilon).exp()), Fraction(1)
    )
    need(enough, rule, f"mu_squared {brief(mu_squared)} is too small for ε = {brief(epsilon)}")
    return proved(rule, replace(fact, curve=Gdp(mu_squared)), (part,), mu_squared=str(mu_squared))


def to_near_gdp(part: Theorem) -> Theorem:
    """State μ-GDP as within distance 0 of itself, to compose with noise on a fine grid (R17)."""
    fact = private(part, rule := "to_near_gdp")
    if not isinstance(fact.curve, Gdp):
        raise RuleError(f"{rule}: needed GDP, found {fact.curve}")
    return proved(rule, replace(fact, curve=NearGdp(fact.curve.mu_squared, Fraction(0))), (part,))


def to_approximate(
    part: Theorem, epsilon: Fraction, delta: Fraction, order: Fraction | None = None
) -> Theorem:
    """Convert a curve to any (ε, δ) with δ(ε) ≤ δ (Balle & Wang 2018; Canonne et al. 2020) (R17)."""
    fact = private(part, rule := "to_approximate")
    epsilon, delta = number(epsilon, rule, "epsilon"), number(delta, rule, "delta")
    inside = epsilon >= 0 and 0 <= delta <= 1
    need(inside, rule, f"epsilon >= 0 and delta in [0, 1], found {epsilon}, {delta}")
    witness = {"epsilon": str(epsilon), "delta": str(delta)}
    divergence = _divergence(fact.curve, order, rule)
    if divergence is not None and fact.curve != Zcdp(Fraction(0)):
        alpha = number(order or 0, rule, "order")
        need(alpha > 1 and delta > 0, rule, f"needed order > 1 and delta > 0, found {alpha} and {delta}")
        witness["order"] = str(alpha)
        enough = at_most(
            lambda _: renyi_log_delta(alpha, divergence, epsilon) - ball(delta).log(), Fraction(0)
        )
    elif isinstance(fact.curve, Approximate):  # one point: compare, no arithmetic
        enough = fact.curve.epsilon <= epsilon and fact.curve.delta <= delta
    else:
        free = divergence == 0  # equal outputs
        enough = free or at_most(lambda bits: delta_ball(fact.curve, epsilon, bits), delta)
    need(enough, rule, f"({brief(epsilon)}, {brief(delta)}) is not implied by {fact.curve}")
    return proved(rule, replace(fact, curve=Approximate(epsilon, delta)), (part,), **witness)


def _divergence(curve: Curve, order: Fraction | None, rule: str) -> Fraction | None:
    """Return the bound on the Rényi divergence at `order`, None for curves that need none."""
    match curve:
        case Zcdp(rho):
            need(rho == 0 or order is not None, rule, "zCDP is converted at an order, and none was given")
            return (order or Fraction(1)) * rho
        case Renyi(points):
            bounds = [divergence for listed, divergence in points if listed == order]
            need(len(bounds) == 1, rule, f"needed one of the listed orders, found {order}")
            return bounds[0]
        case _:
            return None


def group(part: Theorem, size: int, delta: Fraction | None = None) -> Theorem:
    """Protect k = `size` units at once: kε, k²μ², k²ρ; (ε, δ) gives (kε, δ(e^{kε} − 1)/(e^ε − 1)) (R15).

    The k-step path must stay in the domain (Dwork & Roth 2014; Bun & Steinke 2016; Dong et al. 2022).
    """
    fact = private(part, rule := "group")
    witness: dict[str, object] = {"size": whole(size, rule, "the size", 2)}
    match fact.curve:
        case Pure(epsilon):
            curve: Curve = Pure(size * epsilon)
        case Gdp(mu_squared):
            curve = Gdp(size**2 * mu_squared)
        case NearGdp(mu_squared, distance):  # the releases that read any of the units are the near ones
            curve = NearGdp(size**2 * mu_squared, size * distance)
        case Zcdp(rho):
            curve = Zcdp(size**2 * rho)
        case Approximate(epsilon, spent):
            delta = number(delta if delta is not None else 1, rule, "delta")
            # As a sum, which is defined at ε = 0 too.
            enough = at_most(
                lambda _: ball(spent) * sum(((i * ball(epsilon)).exp() for i in range(size)), arb(0)), delta
            )
            need(enough, rule, f"delta {brief(delta)} is below δ(e^kε − 1)/(e^ε − 1)")
            curve, witness = Approximate(size * epsilon, delta), {"size": size, "delta": str(delta)}
        case _:
            raise RuleError(f"{rule}: no group rule for {type(fact.curve).__name__}; convert it first")
    out = replace(fact, curve=curve, relation=f"{fact.relation}, groups of {size}")
    return proved(rule, out, (part,), **witness)


def within(part: Theorem, radius: Fraction) -> Theorem:
    """Protect a row that moves by `radius`, by what protects groups of k rows that move by r each (R15).

    Rows are of a convex set: k = ⌈radius/r⌉ steps of the straight way stay in it (docs/proofs.md).
    """
    fact, radius = private(part, rule := "within"), positive(radius, rule, "radius")
    known = re.fullmatch(r"(.+?)(?:, groups of (\d+))?", fact.relation)
    if known is None or (step := radius_of(known[1])) is None:
        raise RuleError(f"{rule}: needed rows that move by a radius, found {fact.relation!r}")
    far = step * int(known[2] or 1)
    need(radius <= far, rule, f"{radius} is further than {fact.relation} goes")
    return proved(rule, replace(fact, relation=bounded_row(radius)), (part,), radius=str(radius))


def persons(part: Theorem, bounding: Theorem) -> Theorem:
    """Protect a person with at most `most` rows by a statement on groups of `most` rows (R15).

    From here on neighbours are tables of persons, which the relation says.
    """
    fact, kind = private(part, rule := "persons"), conclusion_of(bounding, rule)
    if not isinstance(kind, Persons):
        raise RuleError(f"{rule}: needed how many rows a person has, found {type(kind).__name__}")
    wanted = f"{kind.rows}, groups of {kind.most}"
    need(fact.relation == wanted, rule, f"needed the relation {wanted!r}, found {fact.relation!r}")
    need(kind.query == fact.subject, rule, f"the persons are of {kind.query!r}, not of {fact.subject!r}")
    need(fact.observer == CENTRAL, rule, f"rows are released centrally, found {fact.observer}")
    need(fact.units is None, rule, "it names units, which are rows, not persons")
    return proved(rule, replace(fact, relation=f"{kind.relation}{OF_PERSONS}"), (part, bounding))


def despite(part: Theorem, rare: Theorem, delta: Fraction) -> Theorem:
    """Add what a rare departure costs to (ε, δ): p for an event, (1 + e^ε)p for total variation p (R18)."""
    rule = "despite"
    fact, depart, delta = private(part, rule), conclusion_of(rare, rule), number(delta, rule, "delta")
    curve = fact.curve
    if not isinstance(curve, Approximate) or not isinstance(depart, Rare):
        raise RuleError(f"{rule}: needed (ε, δ) and a rare departure, found {curve} and {depart}")
    need(depart.query == fact.subject, rule, f"the departure is of {depart.query!r}, not of {fact.subject!r}")
    need(delta <= 1, rule, f"delta must be at most 1, found {delta}")
    if depart.kind == "event":
        enough = curve.delta + depart.probability <= delta
    else:
        enough = at_most(
            lambda _: ball(curve.delta) + ball(depart.probability) * (1 + ball(curve.epsilon).exp()), delta
        )
    need(enough, rule, f"delta {brief(delta)} does not cover the departure")
    out = replace(fact, curve=replace(curve, delta=delta), units=ANYONE)  # a departure may read anyone
    return proved(rule, out, (part, rare), delta=str(delta))


def replace_one(part: Theorem) -> Theorem:
    """Replace a record by removing and adding one: add-remove for groups of 2 covers replace-one (R0)."""
    fact = private(part, rule := "replace_one")
    kind = OF_PERSONS if OF_PERSONS in fact.relation else ""
    wanted = f"{ADD_REMOVE}{kind}, groups of 2"
    need(fact.relation == wanted, rule, f"needed the relation {wanted!r}, found {fact.relation!r}")
    return proved(rule, replace(fact, relation=f"{REPLACE_ONE}{kind}"), (part,))
