"""The noise of a study's statistics: shares of a total, or what a wanted accuracy needs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from scipy.stats import norm

from dpaccount.errors import InputError
from dpaccount.noise.laws import double_up
from dpaccount.noise.samplers import root_up
from mechanisms.shared import confidence
from mechanisms.statistics.draws import BRANCHES, LEVELS, SQUARE, Draw
from mechanisms.statistics.statistic import Statistic

LEVEL: Final = Fraction(19, 20)  #: of the intervals that a wanted accuracy is about
DIGITS: Final = 5  #: significant ones of a scale, rounded up
TRIED: Final = (1.0, 1.0005, 1.005, 1.05, 1.2, 1.5, 2.0, 4.0)  #: times the noise that a first guess says
CLOSE: Final = 1.0005  #: how near to the least noise is near enough

Scales = tuple[Fraction, ...]


@dataclass(frozen=True)
class Asked:
    """A statistic with its draws, and what one unit moves each of them by, under `law`."""

    what: Statistic
    draws: tuple[Draw, ...]
    moves: tuple[Fraction, ...]
    law: str
    rows: int
    known: bool

    def scales(self, amount: float) -> Scales:
        """Return the scales of the draws with which the statistic costs `amount`, in equal parts.

        An amount is μ² of Gaussian noise, μ = movement/deviation, or ε = movement/scale of Laplace noise.
        """
        each = amount / len(self.draws)
        rate = math.sqrt(each) if self.law == "gaussian" else each
        return tuple(rounded_up(float(move) / rate) for move in self.moves)

    def half_width(self, amount: float) -> float | None:
        """Return the half-width of its 95 % intervals, all at once; None if it depends on the data.

        A mean by groups, or of a private number of rows, is that of a group of average size.
        """
        reach = reaches(self.law, self.draws, self.scales(amount))
        match self.what.what:
            case "count" | "histogram" | "top":
                return reach[0]
            case "sum":
                return reach[0] * max(map(abs, self._bounds()))
            case "mean":
                low, high = self._bounds()
                return sum(reach) * (high - low) / 2 / max(self.rows / self.what.groups, 1)
            case "variance":
                low, high = self._bounds()
                wide = reach[0] * (1 / float(SQUARE) + 2) + 2 * sum(reach[1:])
                return wide * ((high - low) / 2) ** 2 / max(self.rows / self.what.groups, 1)
        return None

    def smallest_group(self, amount: float) -> int | None:
        """Return the number of rows below which a group is mostly noise; None without groups.

        There an interval is wider than the count itself, or than a fifth of the bounds of a mean.
        """
        if not self.what.by:
            return None
        reach = reaches(self.law, self.draws, self.scales(amount))
        return math.ceil(5 * sum(reach) if self.what.what == "mean" else 2 * reach[-1])

    def wanted(self) -> float:
        """Return the amount at which the half-width is the wanted accuracy; raises `InputError`."""
        goal = float(self.what.accuracy or 0)
        low, high = 1e-18, 1e18
        for _ in range(200):
            middle = math.sqrt(low * high)
            width = self.half_width(middle)
            if width is None:
                raise InputError(f"{self.what.name} has no interval of a known width", "give a share instead")
            low, high = (low, middle) if width <= goal else (middle, high)
            if high / low < 1 + 1e-6:
                break
        if high >= 0.9e18:
            raise InputError(f"{self.what.name} cannot be within {goal:g}", "ask for less accuracy")
        return high

    def _bounds(self) -> tuple[float, float]:
        if self.what.column is None:
            raise InputError(f"{self.what.name} has no column", "name one")
        return self.what.column.bounds


def rounded_up(value: float) -> Fraction:
    """Return a number rounded up to `DIGITS` significant digits."""
    place = DIGITS - 1 - math.floor(math.log10(value))
    power = Fraction(10) ** place
    return Fraction(math.ceil(Fraction(value) * power)) / power


def least_scales(
    asked: Sequence[Asked], total: float, proved: Callable[[Scales], bool], unit: str = "total"
) -> tuple[Scales, list[float]]:
    """Return all draws' scales with which `proved` holds, and every statistic's amount.

    Those with a wanted accuracy get what they need, the others their shares of what is left of `total`, an
    amount that is nearly enough: all their noise is then raised until `proved` holds.  Raises `InputError`
    where the accuracies need more than there is, with what can be reached.
    """
    fixed = {k: each.wanted() for k, each in enumerate(asked) if each.what.accuracy is not None}
    open_ = [k for k in range(len(asked)) if k not in fixed]
    needed, shares = sum(fixed.values()), sum(float(asked[k].what.share) for k in open_)
    if needed > total or (open_ and needed >= total * (1 - 1e-6)):
        raise _too_much(asked, fixed, total)

    def amounts(factor: float) -> list[float]:
        by_law = factor**2 if asked[0].law == "gaussian" else factor
        left = (total - needed) / by_law
        own = [left * float(each.what.share) / shares if shares else 0.0 for each in asked]
        return [fixed.get(k, amount) for k, amount in enumerate(own)]

    def scales(factor: float) -> Scales:
        pairs = zip(asked, amounts(factor), strict=True)
        return tuple(scale for each, amount in pairs for scale in each.scales(amount))

    if not open_:
        if not proved(scales(1)):
            raise _too_much(asked, fixed, total)
        return scales(1), amounts(1)
    low = 1.0
    for high in TRIED:
        if proved(scales(high)):
            break
        low = high
    else:
        raise _too_much(asked, fixed, total)
    while high / low > CLOSE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if proved(scales(middle)) else (middle, high)
    return scales(high), amounts(high)


def _too_much(asked: Sequence[Asked], fixed: dict[int, float], total: float) -> InputError:
    over = max(sum(fixed.values()) / total, 1)
    times = math.sqrt(over) if asked[0].law == "gaussian" else over
    times *= 1.01 if len(fixed) == len(asked) else 1.5  # the others need something too
    can = ", ".join(f"{asked[k].what.name} ± {float(asked[k].what.accuracy or 0) * times:.3g}" for k in fixed)
    return InputError(
        "the accuracies need more than the total",
        f"raise the guarantee's epsilon, or ask for {can or 'less'}",
    )


def total_amount(epsilon: Fraction, delta: Fraction) -> float:
    """Return about the μ² of Gaussian noise that is (ε, δ), or ε itself for δ = 0."""
    if delta == 0:
        return float(epsilon)
    high = 1.0
    while _delta(high, float(epsilon)) < float(delta):
        high *= 2
    low = high / 2**60
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _delta(middle, float(epsilon)) <= float(delta) else (low, middle)
    return low**2


def _delta(mu: float, epsilon: float) -> float:
    """Return δ(ε) of μ-GDP (Balle & Wang 2018), approximately."""
    first, second = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
    return float(norm.cdf(first)) - math.exp(epsilon + float(norm.logcdf(second)))


# ------------------------------------------------------------------ how far noise reaches


def reach_of_one(law: str, scale: Fraction, bits: int, alpha: Fraction) -> float:
    """Return how far one draw's noise is with probability 1 − `alpha`, in the draw's units."""
    step = Fraction(1, 2**bits)
    if law == "laplace":
        return double_up(confidence.laplace(double_up(scale / step), alpha) * step)
    return double_up(confidence.gaussian(root_up((scale / step) ** 2), alpha) * step)


def reaches(law: str, parts: Sequence[Draw], scales: Scales) -> list[float]:
    """Return about how far the noise of each draw is, for all their numbers at once, at 95 %."""
    alpha = float(1 - LEVEL) / sum(draw.size for draw in parts)
    if law == "laplace":
        return [float(scale) * math.log(1 / alpha) for scale in scales]
    return [float(scale) * float(norm.isf(alpha / 2)) for scale in scales]


def reach_of_sums(law: str, scale: Fraction, bits: int, groups: int, alpha: Fraction) -> list[float]:
    """Return how far the noise of sums of 0, 1, … counts is, for all ends of a quantile's cells at once."""
    step, each = Fraction(1, 2**bits), alpha / (groups * BRANCHES**LEVELS)
    found = [0.0]
    for terms in range(1, LEVELS * (BRANCHES - 1) + 1):
        if law == "laplace":
            steps = confidence.laplace_sum(double_up(scale / step), terms, each)
        else:
            steps = confidence.gaussian_sum(root_up((scale / step) ** 2), terms, each)
        found.append(double_up(steps * step))
    return found
