"""Claims as trade-off functions: what a privacy claim allows an event's two probabilities to be.

An event that is fixed beforehand has probability p on one dataset and q on its neighbour.  Every
claim here (a point (ε, δ), a list of points, ρ-zCDP, μ-GDP) allows some (p, q) and forbids others,
and it forbids more as p grows and q falls.  So one pair of confidence ends, p ≥ `hit` and q ≤
`alarm`, tests the whole curve at once: the error is that of the two ends, however many points or
orders the curve has.

- μ-GDP: p ≤ Φ(Φ⁻¹(q) + μ), so μ ≥ Φ⁻¹(p) − Φ⁻¹(q) (Dong, Roth & Su 2022).
- ρ-zCDP: the two-point divergences obey D_α(p‖q) ≤ ρα and D_α(q‖p) ≤ ρα for all α > 1 (data
  processing; Bun & Steinke 2016).  These are stronger than all (ε, δ) that ρ implies.
- Rényi points (α, ε): D_α(p‖q) ≤ ε and D_α(q‖p) ≤ ε, by data processing too (Mironov 2017).
- points: p ≤ e^ε q + δ, and 1 − q ≤ e^ε (1 − p) + δ for the complement.

D_α(p‖q) grows in p and falls in q where p > q, so the ends give a lower bound of it.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

import msgspec
import numpy as np
from flint import arb

from dpaccount.accounting.accountant import Accountant
from dpaccount.errors import InputError
from dpaccount.exact import shown, to_digits
from dpaccount.noise.samplers import Floats
from dpaccount.numerics.bisection import bisect
from dpaccount.numerics.intervals import ball, floor_of
from dpaccount.plan.events import Gdp, Plan
from dpaccount.precision import certified, precision

TRIED_ORDERS = 1 + np.geomspace(1e-3, 1e3, 60)  #: Rényi orders that are tried; any order gives a bound
CURVE_POINTS = 24  #: points of a plan's curve
SMALLEST_DELTA = Fraction(1, 10**9)  #: the last of these points
ROUNDED = 1e-9  #: relative; far above the error of the double-precision curves below
MAX_EPSILON = 60.0  #: no number of runs can show more


def mu_of(epsilon: Fraction, delta: Fraction, halvings: int) -> tuple[float, float]:
    """Return a μ that meets (ε, δ) by Gaussian DP, and a larger one that does not, up to 60."""

    def beyond(mu: float) -> bool:
        return Accountant(Gdp(mu=repr(mu))).delta(epsilon).upper > delta

    return bisect(beyond, 0.0, 60.0, halvings)


class LevelClaim(msgspec.Struct, frozen=True):
    """A claim of one number, its level, which is its member `name`."""

    name: ClassVar[str]

    @property
    def level(self) -> Fraction:
        """Return the claimed number."""
        level: Fraction = getattr(self, self.name)
        return level

    @property
    def planned(self) -> float:
        """Return the threshold: the claim is exceeded where `lowers` is above it."""
        return float(self.level)


class PointClaim(LevelClaim, frozen=True, tag=True):
    """(ε, δ)-differential privacy; the level is ε."""

    name: ClassVar[str] = "epsilon"
    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def needed(self, level: float, power: float) -> float:
        """Return the least false-alarm probability of an event with this power, rounded down."""
        delta = float(self.delta)
        grown = math.exp(min(level, 700.0))
        most = max((power - delta) / grown, 1 - delta - grown * (1 - power), 0.0)
        return most * (1 - ROUNDED)


class MuClaim(LevelClaim, frozen=True, tag=True):
    """μ-GDP (Gaussian differential privacy); the level is μ."""

    name: ClassVar[str] = "mu"
    mu: Fraction

    def lower(self, hit: float, alarm: float) -> float:
        """Return the least μ at which an event may have p ≥ `hit` and q ≤ `alarm`, rounded down."""
        if not hit > alarm > 0:
            return 0.0
        return max(math.nextafter(quantile_beside(hit, -1) - quantile_beside(alarm, 1), -math.inf), 0.0)

    def lowers(self, hit: Floats, alarm: Floats) -> Floats:
        """Return `lower` of many events, in double precision: to choose among them."""
        from scipy.special import ndtri

        inside = [np.clip(each, 1e-300, 1 - 1e-16) for each in (hit, alarm)]
        return np.maximum(ndtri(inside[0]) - ndtri(inside[1]), 0.0)

    def needed(self, level: float, power: float) -> float:
        """Return the least false-alarm probability of an event with this power, rounded down."""
        from scipy.special import ndtr, ndtri

        if power <= 0:
            return 0.0
        return 1.0 if power >= 1 else float(ndtr(ndtri(power) - level)) * (1 - ROUNDED)


class RhoClaim(LevelClaim, frozen=True, tag=True):
    """ρ-zCDP (zero-concentrated differential privacy); the level is ρ."""

    name: ClassVar[str] = "rho"
    rho: Fraction

    def lower(self, hit: float, alarm: float) -> float:
        """Return the least ρ at which an event may have p ≥ `hit` and q ≤ `alarm`, rounded down."""
        if not 1 > hit > alarm > 0:
            return 0.0
        table = _renyi_over_order(np.array([hit]), np.array([alarm]))
        turned, place = divmod(int(np.argmax(table)), len(TRIED_ORDERS))
        one, other = (alarm, hit) if turned else (hit, alarm)
        order = Fraction(float(TRIED_ORDERS[place]))
        of_order = math.nextafter(_renyi_below(one, other, order) / float(order), -math.inf)
        return max(of_order, _relative_entropy_below(one, other), 0.0)

    def lowers(self, hit: Floats, alarm: Floats) -> Floats:
        """Return `lower` of many events, in double precision: to choose among them."""
        return np.where(hit > alarm, _renyi_over_order(hit, alarm).max(axis=(0, 1)), 0.0)


class PointsClaim(msgspec.Struct, frozen=True):
    """Points that all hold; the level is by how much an ε is too small, claimed to be 0."""

    name: ClassVar[str] = "excess"
    points: tuple[tuple[Fraction, Fraction], ...]

    @property
    def level(self) -> Fraction:
        """Return 0: no point is exceeded."""
        return Fraction(0)


class CurveClaim(PointsClaim, frozen=True, tag=True):
    """Points (ε, δ) of a privacy curve."""

    @property
    def planned(self) -> float:
        """Return the threshold: a point is exceeded where `lowers` is above it."""
        return float(max(epsilon for epsilon, _ in self.points))

    def worst(self, hit: float, alarm: float) -> tuple[float, float, Fraction, Fraction]:
        """Return the largest excess, rounded down, with the ε shown there, the claimed ε, and δ."""
        sides = ((Fraction(hit), Fraction(alarm)), (1 - Fraction(alarm), 1 - Fraction(hit)))
        worst = (-math.inf, 0.0, *self.points[0])
        for epsilon, delta in self.points:
            for likely, rare in sides:
                if rare <= 0 or likely <= delta:
                    continue
                shown = _log_below((likely - delta) / rare)
                excess = math.nextafter(shown - float(epsilon), -math.inf)
                if Fraction(shown) <= epsilon:
                    excess = min(excess, 0.0)
                worst = max(worst, (excess, shown, epsilon, delta))
        return worst

    def needed(self, level: float, power: float) -> float:
        """Return the least false-alarm probability of an event with this power, rounded down."""
        return max(PointClaim(eps, delta).needed(float(eps) + level, power) for eps, delta in self.points)

    def lower(self, hit: float, alarm: float) -> float:
        """Return by how much the claimed ε is exceeded at the worst point; 0 if nowhere."""
        return max(self.worst(hit, alarm)[0], 0.0)

    def lowers(self, hit: Floats, alarm: Floats) -> Floats:
        """Return `lower` of many events in double precision, plus the largest claimed ε."""
        best = np.full(hit.shape, -MAX_EPSILON)
        with np.errstate(divide="ignore", invalid="ignore"):
            for epsilon, delta in self.points:
                for likely, rare in ((hit, alarm), (1 - alarm, 1 - hit)):
                    shown = np.log(np.maximum(likely - float(delta), 1e-300) / np.maximum(rare, 1e-300))
                    best = np.maximum(best, shown - float(epsilon))
        return best + self.planned


class RenyiClaim(PointsClaim, frozen=True, tag=True):
    """Rényi bounds, points (α, ε)."""

    @property
    def planned(self) -> float:
        """Return the threshold: a point is exceeded where `lowers` is above it."""
        return float(max(epsilon for _, epsilon in self.points))

    def lower(self, hit: float, alarm: float) -> float:
        """Return by how much the worst point is exceeded, rounded down; 0 if none is."""
        if not 1 > hit > alarm > 0:
            return 0.0
        sides = ((hit, alarm), (alarm, hit))
        return max(0.0, *(_renyi_below(*side, *point) for point in self.points for side in sides))

    def lowers(self, hit: Floats, alarm: Floats) -> Floats:
        """Return `lower` of many events in double precision, plus the largest claimed ε."""
        orders, claimed = (
            np.array([float(each) for each in part]) for part in zip(*self.points, strict=True)
        )
        excess = _renyi_over_order(hit, alarm, orders) * orders[:, None] - claimed[:, None]
        return np.where(hit > alarm, excess.max(axis=(0, 1)), -self.planned) + self.planned


_WIDE = precision(160)  #: bits that tell p from 1 where p is nearly 1

EventClaim = (
    MuClaim | RhoClaim | RenyiClaim | CurveClaim
)  #: claims that the counts of one event are held against


def curve_of_plan(plan: Plan) -> CurveClaim:
    """Return a plan's privacy curve at `CURVE_POINTS` points: upper bounds on its δ."""
    cost = Accountant(plan)
    top = cost.epsilon(SMALLEST_DELTA).upper
    if top > MAX_EPSILON:
        raise InputError(
            f"the plan costs more than ε = {MAX_EPSILON:g} at δ = {shown(SMALLEST_DELTA)}",
            "an audit can only refute a smaller cost",
        )
    grid = {Fraction(to_digits(top * k / (CURVE_POINTS - 1), up=True, digits=6)) for k in range(CURVE_POINTS)}
    points = (
        (epsilon, Fraction(to_digits(cost.delta(epsilon).upper, up=True, digits=9)))
        for epsilon in sorted(grid)
    )
    return CurveClaim(tuple(point for point in points if point[1] < 1))


Points = tuple[tuple[Fraction, Fraction], ...]


def curve_of_points(points: Points, name: str) -> CurveClaim:
    """Return the claim of a list of (ε, δ); raises `InputError` for `name` if one is out of range."""
    _check_points(points, name, "EPSILON:DELTA, epsilon >= 0, 0 <= delta < 1", lambda e, d: e >= 0 <= d < 1)
    return CurveClaim(points)


def renyi_claim(points: Points, name: str) -> RenyiClaim:
    """Return the claim of a list of (α, ε); raises `InputError` for `name` if one is out of range."""
    _check_points(points, name, "ORDER:EPSILON, order > 1, epsilon >= 0", lambda a, e: a > 1 and e >= 0)
    return RenyiClaim(points)


def _check_points(
    points: Points, name: str, right: str, within: Callable[[Fraction, Fraction], bool]
) -> None:
    for one, other in points:
        if not within(one, other):
            raise InputError(f"{name} has {shown(one)}:{shown(other)}", f"give {right}")
    if not points:
        raise InputError(f"{name} is empty", f"give {right}")


@_WIDE
def quantile_beside(p: float, side: int) -> float:
    """Return a number at most (side −1) or at least (1) Φ⁻¹(p), proved by the value of Φ there; 0 < p < 1."""
    from scipy.special import ndtri

    # The inverse is only guessed: what the bound rests on is the value of Φ there, in intervals.
    guess, step = float(ndtri(p)), 1e-12
    while True:
        x = guess + side * step * (1 + abs(guess))
        if side * (_normal_cdf(x) - ball(Fraction(p))) >= 0:
            return x
        step *= 8


@certified
def _renyi_below(p: float, q: float, order: Fraction, claimed: Fraction = Fraction(0)) -> float:
    """Return by how much D_α(p‖q) of two-point distributions exceeds `claimed`, rounded down; α > 1."""
    a, left, right = ball(order), ball(Fraction(p)), ball(Fraction(q))
    moment = left**a * right ** (1 - a) + (1 - left) ** a * (1 - right) ** (1 - a)
    return _rounded_down(moment.log() / (a - 1) - ball(claimed))


@certified
def _relative_entropy_below(p: float, q: float) -> float:
    """Return the relative entropy, the limit of D_α/α at α = 1, rounded down."""
    left, right = ball(Fraction(p)), ball(Fraction(q))
    return _rounded_down(left * (left / right).log() + (1 - left) * ((1 - left) / (1 - right)).log())


@certified
def _log_below(ratio: Fraction) -> float:
    """Return ln(ratio) of a positive number, rounded down."""
    return _rounded_down(ball(ratio).log())


def _normal_cdf(x: float) -> arb:
    """Return Φ(x), without cancellation in either tail."""
    return (-arb(x) / arb(2).sqrt()).erfc() / 2


def _rounded_down(value: arb) -> float:
    low = floor_of(value)
    return math.nextafter(float(low), -math.inf)


def _renyi_over_order(hit: Floats, alarm: Floats, orders: Floats = TRIED_ORDERS) -> Floats:
    """Return D_α/α in both directions, by direction, order and event, in double precision."""
    p, q = (np.clip(each, 1e-300, 1 - 1e-15) for each in (hit, alarm))
    a = orders[:, None]
    tables = []
    for one, other in ((p, q), (q, p)):
        logs = np.logaddexp(
            a * np.log(one) + (1 - a) * np.log(other), a * np.log1p(-one) + (1 - a) * np.log1p(-other)
        )
        tables.append(logs / (a - 1) / a)
    return np.stack(tables)
