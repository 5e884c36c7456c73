"""What a plan lets an attacker learn, in single numbers, each a proved bound.

An attacker sees everything that is released and guesses which of two neighbouring datasets it came from. With
false-positive rate α its true-positive rate is at most δ(ε) + e^ε α and 1 − e^{−ε}(1 − δ(ε) − α) at every
ε ≥ 0 (`profile.trade_off`); the least of these is what is given here, from a few points of the curve.

The μ of a plan is that of a Gaussian pair above its curve up to a distance d: δ(ε) ≤ δ_μ(ε) + d for every
ε ≥ 0, in both directions.  Then no attack at false-positive rate α is right more often than
Φ(Φ⁻¹(α) + μ) + d, the least of δ_μ(ε) + e^ε α over ε, plus d.  Without a distance a sampled plan has the μ of
its releases on everybody: far out, where δ is 10^−1000, the curves are alike.  Squares of μ add up in
composition, and so do distances.  (Gomez, Kulynych, Kaissis et al. 2025, arXiv 2503.10945, report such a μ
from a fine grid; Kulynych et al. 2024, arXiv 2407.02191, rates from the whole curve.)
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from flint import arb

from dpaccount.accounting.own_bounds import OwnBounds
from dpaccount.accounting.profile import Costs, Point, draw_trade_off, given_or_new, trade_off
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure, Exact, exact_argument, formatted, shown
from dpaccount.numerics import domination
from dpaccount.numerics.fourier.contours import shared
from dpaccount.numerics.intervals import ball, ceil_of, floor_of, precision
from dpaccount.numerics.work_budget import PROFILE, OutOfReach, allowance, allowance_left, granted, steps_done

LAW = NormalDist()
REPORTED_RATES = (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10))  #: of false positives
DISTANCE = Fraction(1, 10**8)
EVEN = Fraction(1, 2)  #: the prior of an attacker who knows nothing of either dataset
GAP = Fraction(1, 10**4)  #: relative width of δ that is asked for: rates are read to three digits
OWN_DIGITS = 12  #: of the least μ² where it is nearly the plan's own
FIRST_SLACK = Fraction(1, 1000)  #: of μ², to begin with: so much may a bound lie above the least
ADVANTAGE_GAP = Fraction(1, 10**9)  #: the same of an advantage
MOST_MU = 20  #: beyond, none is sought: an attack is right but for 10^−23
NOTHING_KNOWN = OwnBounds()
MIN_RATE, MOST_EPSILON = 1e-300, 600  #: of rates and ε that are looked at in doubles
ALMOST = 1 - 1e-9  #: an advantage from which on no first guess is made
TRIES = 16  #: points that are looked at for a rate, between those that are known, at most
RATE_SLACK = 1e-4  #: of a rate, by which it may be lower at a point that was not looked at


@dataclass(frozen=True)
class Risk:
    """What an attacker learns at most; rates and beliefs are exact numbers, rounded up.

    `mu`: an enclosure of the least μ up to `distance`; None where none up to `MOST_MU` was proved, nor is one
    of the plan itself known, as where an event fails with a probability of `distance` or more.
    `advantage`: of the true- over the false-positive rate, at most: the total variation distance, δ(0).
    `points`: the points of the profile that bound every rate.
    """

    mu: Enclosure | None
    distance: Fraction
    advantage: Enclosure
    points: tuple[Point, ...]
    gdp: Fraction | None = None  #: a μ² without any distance

    def true_positives(self, at: Exact) -> Fraction:
        """Return a bound on the true-positive rate of any attack with false-positive rate `at` in [0, 1].

        It is close at the rates for which the risk was asked, and holds at every other.
        Raises `InputError` where `at` is out of range.
        """
        rate = exact_argument("false-positive rate", at)
        found = 1 - trade_off(self.points, rate)
        return found if self.gdp is None else min(found, _gaussian_power(self.gdp, rate))

    def belief(self, at: Exact, prior: Exact = EVEN) -> Fraction:
        """Return how sure an attacker may be, by Bayes, after an alarm at false-positive rate `at`.

        `prior`: the probability of the accusation before, in (0, 1).
        Raises `InputError` where one is out of range.
        """
        before = share_argument("prior", prior)
        rate = exact_argument("false-positive rate", at)
        true, false = before * self.true_positives(rate), (1 - before) * rate
        return true / (true + false) if true else Fraction(0)

    def sentence(self) -> str:
        """Return the risk in plain words, every number rounded up."""
        at = REPORTED_RATES[1]
        text = (
            f"An attack with a false-positive rate of {_percent(at)} has a true-positive rate of at most"
            f" {_percent(self.true_positives(at))}, and its alarm turns even odds into a belief of at most"
            f" {_percent(self.belief(at))}. No attack has an advantage (the difference of the two"
            f" rates) above {formatted(self.advantage.upper, '.3g', up=True)}."
        )
        if self.mu is None:
            return text
        mu = formatted(self.mu.upper, ".3g", up=True)
        apart = shown(self.distance)
        return f"{text} But for a distance of {apart}, this is {mu}-Gaussian differential privacy."

    def plot(self, axes: Any = None) -> Any:
        """Draw the least miss rate of any attack over its false-alarm rate; return Matplotlib's axes."""
        axes = given_or_new(axes)
        draw_trade_off(self.points, axes)
        return axes


@allowance(PROFILE)
def risk_of(
    costs: Costs,
    distance: Exact | None = DISTANCE,
    rates: Sequence[Exact] = REPORTED_RATES,
    own: OwnBounds = NOTHING_KNOWN,
) -> Risk:
    """Return what an attacker learns from what has these `costs`, such as an `Accountant`.

    `distance`: in (0, 1), of the curve from the Gaussian's; None: no μ is sought.
    `rates`: false-positive rates in (0, 1) at which the bounds are to be close.
    `own`: what is known of the costs in other theories.

    Raises `InputError` where one is out of range.
    """
    apart = None if distance is None else share_argument("distance", distance)
    wanted = [share_argument("false-positive rate", rate) for rate in rates]
    with shared():
        curve = _AskedCurve(costs)
        advantage = curve(Fraction(0))
        mu: Enclosure | None = None
        with suppress(OutOfReach):
            mu = None if apart is None else _mu(curve, apart, own.gdp)
        with suppress(OutOfReach):
            for rate in sorted(set(wanted)):
                _look(curve, rate)
    if own.pure is not None:
        curve.found[own.pure] = Enclosure(Fraction(0), Fraction(0))
    points = tuple(Point(at, curve.found[at]) for at in sorted(curve.found))
    return Risk(mu, apart or Fraction(0), advantage, points, own.gdp)


class _AskedCurve:
    """The curve δ(ε) of a plan at the points that were asked for."""

    def __init__(self, costs: Costs) -> None:
        self.costs, self.found = costs, dict[Fraction, Enclosure]()
        self.end, self.dearest = steps_done() + min(granted(PROFILE), allowance_left()), 0.0

    def __call__(self, at: Fraction) -> Enclosure:
        """Return δ(at); raises `OutOfReach` where the work that is left would not do for a close one."""
        if at not in self.found:
            begun = steps_done()
            if self.found and begun + 2 * self.dearest > self.end:
                raise OutOfReach("too many points of this curve")
            self.found[at] = self.costs.delta(at, GAP if at else ADVANTAGE_GAP)
            self.dearest = max(self.dearest, steps_done() - begun)
        return self.found[at]


def _mu(curve: _AskedCurve, distance: Fraction, own: Fraction | None) -> Enclosure | None:
    """Return the least μ up to a distance; `own` is a μ² that needs none."""
    end = curve.costs.epsilon(distance, GAP).upper
    if end == math.inf:  # an event fails more often
        return None

    def excess(at: Fraction) -> Fraction:
        return max(Fraction(0), Fraction(curve(at).upper) - distance)

    if not end or not excess(Fraction(0)):
        return Enclosure(Fraction(0), Fraction(0))
    least, most = Fraction(0), Fraction(MOST_MU**2)
    if own is not None:  # a curve of this μ is nowhere further from those of smaller ones than at μ²/2
        height = Fraction(curve(own / 2).lower or 0) - distance
        with precision(domination.BITS):
            least = domination.least_at(own / 2, height, least, own, digits=OWN_DIGITS)[0]
    if own is not None and (least * (1 + FIRST_SLACK) >= own):
        square = own
    else:
        most = most if own is None else min(most, own)
        square = domination.least(excess, Fraction(end), most, FIRST_SLACK, lambda: curve.found)
        if square == most and own is None:
            return None
        square = square if square < most or own is None else own
    with precision(domination.BITS):
        for at, delta in sorted(curve.found.items()):
            least = domination.least_at(at, Fraction(delta.lower or 0) - distance, least, square)[0]
        known = any(delta.lower for delta in curve.found.values())
        return Enclosure(floor_of(ball(least).sqrt()) if known else None, ceil_of(ball(square).sqrt()))


def _look(curve: _AskedCurve, rate: Fraction) -> None:
    """Look at the curve near the ε whose line bounds attacks at this false-positive rate best.

    The line's height is convex in e^ε: first the best of the known points, then between its neighbours.
    """
    exact, share = {float(at): at for at in curve.found}, float(rate)

    def height(at: float) -> float:
        delta = float(curve(exact.get(abs(at), Fraction(abs(at)))).upper)
        return delta + math.exp(at) * share if at >= 0 else 1 - math.exp(at) * (1 - delta - share)

    if not MIN_RATE < share < 1:  # where doubles end, what is known must do
        return
    if len(curve.found) == 1 and (apart := height(0) - share) < ALMOST:  # near that of a Gaussian alike there
        mu = 2 * LAW.inv_cdf(0.5 + apart / 2)
        near = -mu * LAW.inv_cdf(share) - mu * mu / 2
        for at in (near - mu / 4, near + mu / 4):
            height(max(math.log1p(-share), min(-math.log(share), at)))
    known = {float(at) for each in curve.found for at in (-each, each) if each < MOST_EPSILON}
    least = min(map(height, known))
    if least >= 1:  # a point is needed at which δ + α is below 1
        beyond = curve.costs.epsilon((1 - rate) / 2, GAP).upper
        if beyond >= MOST_EPSILON:
            return
        known.add(-float(beyond))
        least = height(-float(beyond))
    if not share < least < 1:
        return
    # From where on e^ε α, or 1 − e^ε(1 − α), are more than that by themselves.
    first, last = math.log((1 - least) / (1 - share)), math.log(least / share)
    places = [first, *sorted(at for at in known if first < at < last), last]
    best = min(range(1, len(places) - 1), key=lambda k: height(places[k]))
    _look_between(height, *places[best - 1 : best + 2])


def _look_between(height: Callable[[float], float], low: float, best: float, high: float) -> None:
    """Look around the lowest of three points, until little is left.

    Beyond the lowest point a convex curve lies above the line from the point on its other side.  Where that
    leaves more, the least of a parabola and the middle of the longer side take turns.
    """
    for turn in range(TRIES):
        middle, left, right = height(best), best - low, high - best
        falls, rises = (height(low) - middle) / left, (height(high) - middle) / right
        if max(falls * right, rises * left) <= RATE_SLACK * middle:
            return
        at = best - left / 2 + (left + right) / 2 * falls / (falls + rises)
        at = max(at, best + right / 8) if falls * right > rises * left else min(at, best - left / 8)
        if turn % 2:
            at = best + right / 2 if right > left else best - left / 2
        if height(at) > middle:
            low, high = (low, at) if at > best else (at, high)
        else:
            low, best, high = (best, at, high) if at > best else (low, at, best)


def _gaussian_power(square: Fraction, rate: Fraction) -> Fraction:
    """Return Φ(Φ⁻¹(rate) + μ), rounded up: the largest true-positive rate under μ-Gaussian DP."""
    if not MIN_RATE < rate < 1 or float(rate) == 1:
        return Fraction(1)
    with precision(domination.BITS):
        root, at, off = arb(2).sqrt(), LAW.inv_cdf(float(rate)), 1e-15
        while not (-arb(at) / root).erfc() / 2 >= ball(rate):
            at, off = at + off * (1 + abs(at)), 2 * off
        return min(Fraction(1), ceil_of((-(arb(at) + ball(square).sqrt()) / root).erfc() / 2))


def share_argument(name: str, value: Exact) -> Fraction:
    """Return the number in (0, 1) that an argument means; raises `InputError` for another one."""
    share = exact_argument(name, value)
    if not 0 < share < 1:
        raise InputError(f"a {name} of {shown(share)} is out of range", "it must be in (0, 1)")
    return share


def _percent(share: Fraction) -> str:
    return f"{formatted(100 * share, '.3g', up=True)} %"
