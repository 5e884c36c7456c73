"""Privacy curves: what they are, how they are written, the δ of each at an ε, what ledgers pay."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from .distributions import lattice_at_most, upper_tail
from .documents import Rejected, brief, ensure
from .intervals import MAX_TEXT, Interval, Pair, at_most, number

Enclosed = Callable[[Interval], Pair]  #: a real number, to any number of digits


@dataclass(frozen=True)
class Pure:
    """ε-DP; its dominating pair is binary randomised response (Kairouz, Oh & Viswanath 2015)."""

    epsilon: Fraction


@dataclass(frozen=True)
class Approximate:
    """(ε, δ)-differential privacy at this one point."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True)
class Zcdp:
    """ρ-zero-concentrated differential privacy (Bun & Steinke 2016)."""

    rho: Fraction


@dataclass(frozen=True)
class Gdp:
    """μ-Gaussian differential privacy (Dong, Roth & Su 2022), kept as μ², because μ is rarely rational."""

    mu_squared: Fraction


@dataclass(frozen=True)
class NearGdp:
    """For every neighbouring pair, both output laws are within `distance` of those of a μ-GDP pair."""

    mu_squared: Fraction
    distance: Fraction  #: in total variation


@dataclass(frozen=True)
class BoundedRange:
    """η-bounded range: given the transcript before, losses differ by at most η (Durfee & Rogers 2019)."""

    eta: Fraction


@dataclass(frozen=True)
class Lattice:
    """Discrete Gaussian noise on ℤᵈ, `count` times the same shift, which is one of `shifts`.

    Noise has mass proportional to exp(−x²/(2·variance)) in every coordinate, independently.
    A shift represents all its rearrangements and sign changes: the noise has these symmetries.
    """

    variance: Fraction
    shifts: tuple[tuple[int, ...], ...]
    count: int


@dataclass(frozen=True)
class Renyi:
    """Rényi divergence of order α at most the paired number, for each listed α > 1 (Mironov 2017)."""

    points: tuple[tuple[Fraction, Fraction], ...]


Curve = Pure | Approximate | Zcdp | Gdp | NearGdp | BoundedRange | Lattice | Renyi
MEASURES: dict[str, Any] = {
    **{"pure": Pure, "approximate": Approximate, "zcdp": Zcdp, "gdp": Gdp, "near-gdp": NearGdp},
    **{"bounded-range": BoundedRange, "lattice": Lattice, "renyi": Renyi},
}
MEASURE_NAMES = {kind: name for name, kind in MEASURES.items()}


def measure_of(curve: Curve) -> str:
    """Return the name of a curve's measure."""
    return MEASURE_NAMES[type(curve)]


def curve_of(wire: list[Any]) -> Curve:
    """Read a curve."""
    measure, *given = wire
    match measure:
        case "lattice":
            return Lattice(number(given[0]), tuple(map(tuple, given[1])), given[2])
        case "renyi":
            return Renyi(tuple((number(order), number(bound)) for order, bound in given))
    ensure(measure in MEASURES, f"unknown curve {measure!r}")
    return cast(Curve, MEASURES[measure](*map(number, given)))


def written(curve: Curve) -> list[Any]:
    """Write a curve: its measure and its numbers."""
    values = curve.points if isinstance(curve, Renyi) else vars(curve).values()
    return [measure_of(curve), *map(as_json, values)]


def as_json(value: Any) -> Any:
    """Write exact numbers as texts, and tuples as lists."""
    if isinstance(value, tuple):
        return [as_json(each) for each in value]
    if not isinstance(value, Fraction):
        return value
    ensure(len(str(value)) <= MAX_TEXT, "a number of more characters than this checker reads")
    return str(value)


def amounts_of(curve: Curve) -> list[Fraction]:
    """Return the numbers of a curve that grow with its cost."""
    match curve:
        case Lattice():
            raise Rejected("lattice curves are neither added nor ordered")
        case Renyi(points):
            return [bound for _, bound in points]
    return list(vars(curve).values())


# ------------------------------------------------------------------ δ at ε


def gdp_delta(mu_squared: Fraction, epsilon: Fraction) -> Enclosed:
    """δ(ε) = P(N > ε/μ − μ/2) − e^ε P(N > ε/μ + μ/2)."""

    def value(i: Interval) -> Pair:
        mu, eps = i.sqrt(i.of(mu_squared)), i.of(epsilon)
        centre, half = i.div(eps, mu), i.div(mu, i.of(2))
        hit = upper_tail(i, i.sub(centre, half))
        return i.sub(hit, i.mul(i.exp(eps), upper_tail(i, i.add(centre, half))))

    return value


def pure_delta(bound: Fraction, epsilon: Fraction) -> Enclosed:
    """δ(ε) = (e^b − e^ε)/(1 + e^b), for ε below b."""

    def value(i: Interval) -> Pair:
        top, eps = i.exp(i.of(bound)), i.exp(i.of(epsilon))
        return i.div(i.sub(top, eps), i.add(i.of(1), top))

    return value


def range_delta(eta: Fraction, epsilon: Fraction) -> Enclosed:
    """δ(ε) = (e^((η−ε)/2) − 1)²/(e^(η−ε) − e^(−ε)), for ε below η."""

    def value(i: Interval) -> Pair:
        rise = i.sub(i.exp(i.of((eta - epsilon) / 2)), i.of(1))
        return i.div(i.mul(rise, rise), i.sub(i.exp(i.of(eta - epsilon)), i.exp(i.of(-epsilon))))

    return value


def near_delta(mu_squared: Fraction, distance: Fraction, epsilon: Fraction) -> Enclosed:
    """δ(ε) of a pair that is GDP but for `distance` in total variation on each side: δ + (1 + e^ε)p."""

    def value(i: Interval) -> Pair:
        more = i.mul(i.of(distance), i.add(i.of(1), i.exp(i.of(epsilon))))
        return i.add(gdp_delta(mu_squared, epsilon)(i), more) if mu_squared else more

    return value


def renyi_excess(order: Fraction, divergence: Fraction, epsilon: Fraction, delta: Fraction) -> Enclosed:
    """Return ln of the δ that order α proves, minus ln δ: (α−1)(D−ε) + (α−1) ln(1−1/α) − ln α − ln δ."""

    def value(i: Interval) -> Pair:
        less = i.of(order - 1)
        main = i.add(i.of((order - 1) * (divergence - epsilon)), i.mul(less, i.ln(i.of(1 - 1 / order))))
        return i.sub(i.sub(main, i.ln(i.of(order))), i.ln(i.of(delta)))

    return value


def implies(curve: Curve, epsilon: Fraction, delta: Fraction, order: Fraction | None = None) -> bool:
    """Decide whether a curve's δ at `epsilon` is at most `delta`; `order`: of Rényi bounds."""
    ordered = isinstance(curve, Renyi) or (isinstance(curve, Zcdp) and curve.rho != 0)
    ensure(ordered == (order is not None), "an order belongs to zCDP and Rényi bounds, and only there")
    match curve:
        case Pure(bound):
            return epsilon >= bound or at_most(pure_delta(bound, epsilon), delta)
        case Approximate(bound, spent):
            return bound <= epsilon and spent <= delta
        case BoundedRange(eta):
            return epsilon >= eta or at_most(range_delta(eta, epsilon), delta)
        case Gdp(square):
            return square == 0 or at_most(gdp_delta(square, epsilon), delta)
        case NearGdp(square, distance):
            return at_most(near_delta(square, distance, epsilon), delta)
        case Lattice(variance, shifts, count):
            return all(lattice_at_most(variance, shift, count, epsilon, delta) for shift in shifts)
    return order is None or of_order(curve, order, epsilon, delta)


def of_order(curve: Zcdp | Renyi, order: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Decide whether the Rényi divergence of one order proves (ε, δ)."""
    ensure(order > 1 and delta > 0, "needed order > 1 and delta > 0")
    if isinstance(curve, Zcdp):
        return at_most(renyi_excess(order, order * curve.rho, epsilon, delta), Fraction(0))
    bounds = [bound for listed, bound in curve.points if listed == order]
    ensure(len(bounds) == 1, "needed one of the listed orders")
    return at_most(renyi_excess(order, bounds[0], epsilon, delta), Fraction(0))


def lengths(moves: tuple[tuple[int, ...], ...]) -> list[int]:
    """Return the squared ℓ2 lengths of integer vectors."""
    return [sum(v * v for v in move) for move in moves]


# ------------------------------------------------------------------ what a ledger pays

NEAR, MOST_NEAR = "approximate-zcdp", 13
NEAR_WEIGHT = 10**6  # of a total variation, in δ: 1 + e^13 is less


def check_measure(measure: str, after: Fraction, delta: Fraction, curves: Sequence[Curve]) -> None:
    """Verify that a measure has a bound for one of these curves, and the ε `after` covers it.

    A ledger's ε is at least that of a Gaussian pair of the same ρ, or μ², at its part of δ.
    """
    share = delta if measure in ("gdp", "zcdp") else delta / 2
    bounds = [bound for bound in (ideal(curve, measure) for curve in curves) if bound is not None]
    ensure(bounds != [], f"no ledger in {brief(measure)} takes what is proved")
    end = after + (after + 1) / 2**40
    paid = any(spent <= share and implies(Gdp(square), end, share) for square, spent in bounds)
    ensure(paid, f"the charge costs more in {brief(measure)} than was spent, or is left")


def check_left(left: Mapping[str, Fraction | None], whole: Fraction, delta: Fraction) -> None:
    """Verify that what is said to be left would fit the whole budget, had nothing else been spent.

    Of ρ this holds if it does of the Gaussian pair of the same ρ, which costs no more.
    """
    end = whole + (whole + 1) / 2**40
    for name, most in left.items():
        if most is None or most < 0:
            fits = False
        elif name == "delta":
            fits = most <= delta
        else:
            curve = Pure(most) if name == "pure" else Gdp(2 * most if name == "rho" else most)
            fits = implies(curve, end, delta)
        ensure(fits, f"more {name} is left than there was")


def ideal(curve: Curve, measure: str) -> tuple[Fraction, Fraction] | None:
    """Return μ² of a Gaussian pair that costs no more, and the δ beside it; None: it is refused."""
    near, nothing = measure == NEAR, Fraction(0)
    match curve:
        case Gdp(square):
            return square, nothing
        case Zcdp(rho) if measure != "gdp":
            return 2 * rho, nothing
        case Lattice(variance, shifts, count) if measure != "gdp":
            return count * Fraction(max(lengths(shifts))) / variance, nothing
        case NearGdp(square, distance) if near:
            return square, NEAR_WEIGHT * distance
        case Approximate(epsilon, delta) if near:
            return epsilon**2, delta
        case Pure(epsilon) | Approximate(epsilon, Fraction(numerator=0)):
            return (epsilon**2 if near or measure == "zcdp" else nothing), nothing
        case BoundedRange(eta):
            return (eta**2 / 4 if near or measure == "zcdp" else nothing), nothing
    return None
