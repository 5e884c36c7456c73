"""Statements restated: in another measure, at a point, for several units, after a rare departure.

Common rules come first.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from .curves import (
    Approximate,
    BoundedRange,
    Gdp,
    Lattice,
    NearGdp,
    Pure,
    Renyi,
    Zcdp,
    amounts_of,
    implies,
    lengths,
    measure_of,
)
from .distributions import upper_tail
from .documents import Rejected, ensure, items, several
from .facts import ANYONE, Optional, Persons, Private, Rare, rule
from .intervals import ZERO, Interval, Pair, at_most, number, positive
from .relation import ADDED, GROUPS, OF_PERSONS, REPLACED, moving, reach


# Source: Balle & Wang 2018; Canonne et al. 2020.  Trap: p for a distance p, which costs (1 + e^ε)p. Or δ at
# some shift of a lattice, not at each. Or ln(1/α) for ln(1 − 1/α).
@rule(Private, epsilon=number, delta=number, order=Optional(number))
def to_approximate(
    part: Private, epsilon: Fraction, delta: Fraction, order: Fraction | None = None
) -> Private:
    """A point of a curve, or of a Rényi bound at one order."""
    ensure(epsilon >= 0 and 0 <= delta <= 1, "epsilon must be at least 0 and delta in [0, 1]")
    follows = implies(part.curve, epsilon, delta, order)
    ensure(
        follows, f"({float(epsilon):.9g}, {float(delta):.6g}) does not follow from {measure_of(part.curve)}"
    )
    return replace(part, curve=Approximate(epsilon, delta))


# Source: Bun & Steinke 2016; of bounded range, Cesar & Rogers 2021.  Trap: ε²/8 for pure ε, whose losses
# range over 2ε.
@rule(Private)
def to_zcdp(part: Private) -> Private:
    """Zero-concentrated privacy of pure, Gaussian, bounded-range and lattice curves."""
    match part.curve:
        case Pure(epsilon):
            rho = epsilon**2 / 2
        case Gdp(square):
            rho = square / 2
        case BoundedRange(eta):
            rho = eta**2 / 8
        case Lattice(variance, shifts, count):
            rho = count * Fraction(max(lengths(shifts))) / variance / 2
        case _:
            raise Rejected(f"{measure_of(part.curve)} does not imply zCDP")
    return replace(part, curve=Zcdp(rho))


# Source: Durfee & Rogers 2019.  Trap: η/2: the losses lie in an interval of width η that need not be centred
# at 0.
@rule(Private)
def to_pure(part: Private) -> Private:
    """Bounded range is pure privacy of the same number."""
    curve = part.curve
    if not isinstance(curve, BoundedRange):
        raise Rejected(f"needed bounded range, found {measure_of(curve)}")
    return replace(part, curve=Pure(curve.eta))


# Source: Dong et al. 2022; of bounded range, docs/proofs.md.  Trap: half the number for pure privacy too.
# Rejected: zCDP, or one point with δ > 0, as premises: they allow curves above every Gaussian one.
@rule(Private, mu_squared=number)
def to_gdp(part: Private, mu_squared: Fraction) -> Private:
    """Pure privacy is Gaussian: 2Φ(μ/2) − 1 covers the distance of randomised response.

    The worst pair of bounded range is that of pure privacy of half the number.
    """
    match part.curve:
        case Pure(loss):
            epsilon = loss
        case BoundedRange(eta):
            epsilon = eta / 2
        case _:
            raise Rejected(f"only pure DP and bounded range become GDP, not {measure_of(part.curve)}")
    ensure(mu_squared >= 0, "mu_squared is negative")

    def excess(i: Interval) -> Pair:
        half = i.div(i.sqrt(i.of(mu_squared)), i.of(2))
        return i.mul(upper_tail(i, half), i.add(i.of(1), i.exp(i.of(epsilon))))

    ensure(epsilon == 0 or at_most(excess, Fraction(1)), "mu_squared is too small")
    return replace(part, curve=Gdp(mu_squared))


# Source: elementary.  Trap: a smaller μ² at distance 0.
@rule(Private)
def to_near_gdp(part: Private) -> Private:
    """A Gaussian curve is its own ideal, at distance 0."""
    curve = part.curve
    if not isinstance(curve, Gdp):
        raise Rejected(f"needed GDP, found {measure_of(curve)}")
    return replace(part, curve=NearGdp(curve.mu_squared, Fraction(0)))


def orders_of(value: object) -> list[Fraction]:
    """Read orders that rise from above 1."""
    orders = [Fraction(1), *map(number, items(value))]
    ensure(len(orders) > 1 and all(a < b for a, b in pairwise(orders)), "orders should rise from above 1")
    return orders[1:]


# Source: Bun & Steinke 2016.  Trap: ρ at every order, in place of αρ.
@rule(Private, orders=orders_of)
def to_renyi(part: Private, orders: list[Fraction]) -> Private:
    """Rényi divergences of zCDP at some orders."""
    curve = part.curve
    if not isinstance(curve, Zcdp):
        raise Rejected(f"needed zCDP, found {measure_of(curve)}")
    return replace(part, curve=Renyi(tuple((order, order * curve.rho) for order in orders)))


# ------------------------------------------------------------------ departures and groups


# Source: docs/proofs.md.  Trap: the larger of δ and p for their sum. Or p for a distance p, which costs (1 +
# e^ε)p.
@rule(Private, Rare, delta=number)
def despite(part: Private, rare: Rare, delta: Fraction) -> Private:
    """A point after a rare departure."""
    curve = part.curve
    if not isinstance(curve, Approximate):
        raise Rejected("only (epsilon, delta) takes a departure")
    ensure(rare.query == part.subject, f"the departure is of {rare.query!r}, not of {part.subject!r}")
    ensure(delta <= 1, "delta is above 1")
    epsilon, spent, chance = curve.epsilon, curve.delta, rare.probability

    def distant(i: Interval) -> Pair:
        return i.add(i.of(spent), i.mul(i.of(chance), i.add(i.of(1), i.exp(i.of(epsilon)))))

    enough = spent + chance <= delta if rare.kind == "event" else at_most(distant, delta)
    ensure(enough, "delta does not cover the departure")
    return replace(part, curve=Approximate(epsilon, delta), units=ANYONE)


#: By which powers of a group's size the numbers of a curve grow.
GROWTH: dict[type, tuple[int, ...]] = {Pure: (1,), Gdp: (2,), Zcdp: (2,), NearGdp: (2, 1)}


# Source: Dwork & Roth 2014; Bun & Steinke 2016; Dong et al. 2022.  Trap: k times μ² or ρ, which grow with k².
# Or a distance that does not grow.
@rule(Private, size=several, delta=Optional(number))
def group(part: Private, size: int, delta: Fraction | None = None) -> Private:
    """What protects several units at once."""
    curve = part.curve
    fits = isinstance(curve, Approximate) == (delta is not None)
    ensure(fits, "a delta belongs to (epsilon, delta), and only there")
    if isinstance(curve, Approximate) and delta is not None:
        point = curve
        enough = at_most(lambda i: group_delta(i, point, size), delta)
        ensure(enough, "delta does not cover the group")
        grown: Any = Approximate(size * point.epsilon, delta)
    elif type(curve) in GROWTH:
        powers = GROWTH[type(curve)]
        grown = type(curve)(*(size**k * amount for k, amount in zip(powers, amounts_of(curve), strict=True)))
    else:
        raise Rejected(f"no group rule for {measure_of(curve)}")
    return replace(part, curve=grown, relation=f"{part.relation}{GROUPS}{size}")


def group_delta(i: Interval, point: Approximate, size: int) -> Pair:
    """Enclose δ₀ Σ r^j over j < size, r = e^ε, bit by bit of the size."""
    total, power, ratio = ZERO, i.of(1), i.exp(i.of(point.epsilon))
    for bit in bin(size)[2:]:
        total, power = i.mul(total, i.add(i.of(1), power)), i.mul(power, power)
        if bit == "1":
            total, power = i.add(total, power), i.mul(power, ratio)
    return i.mul(i.of(point.delta), total)


# Source: docs/proofs.md.  Trap: a radius beyond the reach of the group's k steps.
@rule(Private, radius=positive)
def within(part: Private, radius: Fraction) -> Private:
    """What protects rows that move by r, in groups of k, protects one that moves by k·r, step by step."""
    ensure(radius <= reach(part.relation), f"{radius} is further than {part.relation} goes")
    return replace(part, relation=moving(radius))


# Source: docs/proofs.md.  Trap: groups of fewer rows than a person may have. Or rules on rows applied to the
# conclusion.
@rule(Private, Persons)
def persons(part: Private, bounding: Persons) -> Private:
    """A person's change is one of a group of rows; from here on the relation is one of persons."""
    wanted = f"{bounding.rows}{GROUPS}{bounding.most}"
    ensure(part.relation == wanted, f"needed {wanted}, found {part.relation}")
    ensure(part.subject == bounding.query, "the persons are not those of the release")
    ensure(part.observer == "central", "rows should be released centrally")
    ensure(part.units is None, "the units that it names are rows")
    return replace(part, relation=f"{bounding.relation}{OF_PERSONS}")


# Source: elementary.  Trap: add-remove itself, or for groups of another size: two records change.
@rule(Private)
def replace_one(part: Private) -> Private:
    """A replaced record is one removed and one added."""
    kind = OF_PERSONS if OF_PERSONS in part.relation else ""
    pairs = part.relation == f"{ADDED}{kind}{GROUPS}2"
    ensure(pairs, f"needed add-remove for groups of 2, found {part.relation}")
    return replace(part, relation=f"{REPLACED}{kind}")
