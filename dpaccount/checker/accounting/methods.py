"""How a step shows that a class of units costs at most (ε, δ) in one direction: four methods."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ..curves import gdp_delta
from ..documents import Rejected, check_members, ensure, integer, items
from ..intervals import Interval, Pair, at_most, exact, number, positive
from .bounds import largest, renyi
from .lattice import LatticeMeasure, Limits, as_measure, delta, place, power, together
from .measures import UpperMeasure, added, removed
from .pairs import gaussian, one_release
from .releases import PlanRelease, Releases
from .replaced import replaced, sampled_group
from .upper import renyi_delta, without_replacement

GUARD = 14  # digits of intervals beyond those of masses
MOST_DIGITS = 400
SAMPLES = ("poisson", "without-replacement")

Given = dict[str, Any]


# ------------------------------------------------------------------ without a lattice


def gaussian_curve(on: Releases, epsilon: Fraction, limit: Fraction, given: Given, *, back: bool) -> bool:
    """Gaussian releases alone have the Gaussian curve of Σμ²."""
    check_members(given, ())
    ensure(on.others == (), "not all releases are Gaussian")
    return on.mu_squared == 0 or at_most(gdp_delta(on.mu_squared, epsilon), limit)


def largest_losses(on: Releases, epsilon: Fraction, limit: Fraction, given: Given, *, back: bool) -> bool:
    """No loss exceeds the sum of the largest ones, but for failures, which are counted apart."""
    check_members(given, ())
    ensure(on.mu_squared == 0, "Gaussian losses have no bound")

    def excess(i: Interval) -> Pair:
        return i.sub(largest(i, on, back=back)[0], i.of(epsilon))

    def lost(i: Interval) -> Pair:
        return largest(i, on, back=back)[1]

    return at_most(excess, Fraction(0)) and (limit == 1 or at_most(lost, limit))


def renyi_bound(on: Releases, epsilon: Fraction, limit: Fraction, given: Given, *, back: bool) -> bool:
    """Rényi divergences of one order add up, and bound δ (Mironov 2017; Canonne, Kamath & Steinke 2020)."""
    check_members(given, ("order",))
    order = number(given["order"])
    ensure(order > 1, "an order exceeds 1")

    def value(i: Interval) -> Pair:
        top = exact(renyi(i, on, order)[1])
        return renyi_delta(i, order, top, epsilon)

    return at_most(value, limit)


# ------------------------------------------------------------------ with one


def lattice(on: Releases, epsilon: Fraction, limit: Fraction, given: Given, *, back: bool) -> bool:
    """Upper measures of all releases, composed on equidistant losses, cost at most δ at ε."""
    check_members(given, ("digits", "parts"))
    digits = integer(given["digits"], 10)
    ensure(digits <= MOST_DIGITS, "more digits than this checker takes")
    i = Interval(digits + GUARD)
    whole = composed(i, on, given["parts"], digits, back=back)
    return delta(i, whole, epsilon, digits) <= i.of(limit)[0]


def composed(i: Interval, on: Releases, witness: object, digits: int, *, back: bool) -> LatticeMeasure:
    """Compose releases, Gaussian ones as one, each part as its witness says."""
    parts = items(witness)
    counted: list[tuple[PlanRelease | None, int]] = [*on.others]
    if on.mu_squared:
        counted = [(None, 1), *counted]
    ensure(len(parts) == len(counted), "needed one part for each release")
    powers = []
    for part, (release, count) in zip(parts, counted, strict=True):
        check_members(part, ("step", "limits"), ("spacing", "inside"))
        spacing = positive(part["spacing"]) if "spacing" in part else Fraction(0)
        if release is None:
            measure = gaussian(i, positive(part["spacing"]), on.mu_squared)
        else:
            measure = measure_of(i, release, spacing, part.get("inside"), digits, back=back)
        limits = limits_of(part["limits"], digits)
        base = place(i, measure, positive(part["step"]), limits)
        powers.append(power(i, base, count, limits))
    return together(i, powers, digits)


def limits_of(witness: object, digits: int) -> Limits:
    """Read how many nodes a power keeps, and what one copy may move right and left."""
    nodes, *moved = items(witness)
    right, left = (math.floor(number(each) * 10**digits) for each in moved)
    ensure(right >= 0 and left >= 0, "a mass that is moved is at least 0")
    return Limits(digits, integer(nodes, 16), right, left)


def measure_of(
    i: Interval, release: PlanRelease, spacing: Fraction, inside: object, digits: int, *, back: bool
) -> UpperMeasure:
    """Return the measure of one release; `inside` is the witness of what runs on a sample."""
    kind, numbers, on = release
    ensure((inside is None) == (kind not in SAMPLES), "what runs on a sample, and only that, is inside")
    if on is None:
        return one_release(i, kind, numbers, spacing, back=back)
    if kind == "replaced":
        return replaced(i, spacing, numbers[0], on)
    if kind == "sampled-group":
        rate, *units = numbers
        return sampled_group(
            i, spacing, rate, (units[1], units[0]) if back else (units[0], units[1]), on.mu_squared
        )
    if kind == "poisson":
        inner = sampled(i, on, inside, digits, back=back)
        return (added if back else removed)(i, inner, numbers[0])
    ensure(kind == "without-replacement", f"no measure is known of {kind}")
    there, turned = (sampled(i, on, inside, digits, back=way) for way in (False, True))
    return without_replacement(i, spacing, numbers[0], there, turned)


def sampled(i: Interval, on: Releases, inside: object, digits: int, *, back: bool) -> UpperMeasure:
    """Return the measure of what runs on a sample: of one release by its spacing, else by a lattice."""
    if not isinstance(inside, str):
        return as_measure(i, composed(i, on, inside, digits, back=back), digits)
    spacing = number(inside)
    if on.others == ():
        return gaussian(i, positive(inside), on.mu_squared)
    (release, count), *more = on.others
    ensure(on.mu_squared == 0 and count == 1 and not more, "several releases are composed")
    return measure_of(i, release, spacing, None, digits, back=back)


METHODS: dict[str, Callable[..., bool]] = {
    "gaussian-curve": gaussian_curve,
    "largest-losses": largest_losses,
    "renyi-bound": renyi_bound,
    "lattice": lattice,
}


def symmetric(on: Releases) -> bool:
    """Say whether both directions of the relation cost the same by these measures."""
    return all(release.kind not in ("poisson", "table", "sampled-group") for release, _ in on.others)


def holds(
    method: object, on: Releases, epsilon: Fraction, limit: Fraction, given: Any, *, back: bool
) -> bool:
    """Say whether a method shows (ε, δ), 0 ≤ δ ≤ 1."""
    if not isinstance(method, str) or method not in METHODS:
        raise Rejected("unknown rule")
    return METHODS[method](on, epsilon, limit, given, back=back)
