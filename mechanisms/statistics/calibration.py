"""The noise of a study's statistics: shares of a total, or what a wanted accuracy needs."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from scipy.special import log_ndtr, ndtr

from dpaccount.errors import InputError
from dpaccount.exact import rounded
from dpaccount.numerics.bisection import bisect_ratio
from mechanisms.shared import accuracy, confidence, grid
from mechanisms.statistics import choices
from mechanisms.statistics.draws import BITS, BRANCHES, LEVELS, ROUNDED, SQUARE, Draw, draws
from mechanisms.statistics.statistic import LARGEST, OPEN_WIDTHS, Statistic
from mechanisms.statistics.unlisted import FINEST

INTERVAL_LEVEL: Final = Fraction(19, 20)  #: of the intervals that a wanted accuracy is about
SCALE_DIGITS: Final = 5  #: significant ones of a scale, rounded up
TRIED: Final = (1.0, 1.0005, 1.005, 1.05, 1.2, 1.5, 2.0, 4.0)  #: multiples of the first guess of the noise
CLOSE_ENOUGH: Final = 1.0005  #: how near to the least noise is near enough
EPSILONS: Final = (Fraction(1, 10**6), 1000)  #: totals
AMOUNTS: Final = (1e-10, 1e8)  #: of a wanted accuracy; the least with Gaussian noise
LEAST_EASED, MOST_EASED = 1.001, 1e30  #: factors on wanted widths in the search for reachable ones

BEYOND: Final = "the epsilons and accuracies of the statistics need more than the total"
LOWER: Final = "lower the epsilons, or raise the guarantee's"

Scales = tuple[Fraction, ...]


class OutOfReachError(InputError):
    """No noise meets a total with the wanted accuracies, but with those `times` as wide it does."""

    times = math.inf


@dataclass(frozen=True)
class StatisticRequest:
    """A statistic with its draws, and what one unit moves each of them by, under `law`.

    There are `units`, and at most `rows` rows.  An amount that is `fixed` is that of a wanted ε.
    """

    what: Statistic
    draws: tuple[Draw, ...]
    moves: tuple[Fraction, ...]
    law: str
    rows: int
    units: int
    fixed: float | None = None
    of_one: int = 1  #: rows of a unit, all of whose moves are in `moves`

    def scales(self, amount: float) -> Scales:
        """Return the scales of the draws with which the statistic costs `amount`, in equal parts.

        An amount is μ² of Gaussian noise, μ = movement/deviation, or ε = movement/scale of Laplace noise.
        """
        each = amount / len(self.draws)
        if self.what.unlisted:
            return (Fraction(math.ceil(self.moves[0] / Fraction(each) * FINEST), FINEST),)
        if self.what.chosen:
            eta = (
                choices.range_of(math.sqrt(each) / self.of_one) * self.of_one
                if self.law == "gaussian"
                else each
            )
            return (rounded_up(float(self.moves[0]) / eta),)
        rate = math.sqrt(each) if self.law == "gaussian" else each
        return tuple(rounded_up(float(move) / rate) for move in self.moves)

    def half_width(self, amount: float) -> float | None:
        """Return the half-width of its 95 % intervals, all at once; None if it depends on the data.

        Of a mean or variance it is that of a group of `group_size` rows, far from the middle of its bounds.
        """
        if self.what.chosen:
            return choices.ranks(self.what, self.scales(amount)[0], INTERVAL_LEVEL)
        reach = self.reaches(amount)
        match self.what.what:
            case "count" | "histogram" | "top":
                return reach[0]
            case "sum":
                low, high = self.what.valued.bounds
                return (reach[0] + self.rows * ROUNDED) * max(abs(low), abs(high))
            case "mean":
                low, high = self.what.valued.bounds
                return min(self._per_row(sum(reach), reach) + ROUNDED, 1) * (high - low) / 2
            case "variance":
                low, high = self.what.valued.bounds
                wide = reach[0] * (1 / float(SQUARE) + 2) + 2.5 * sum(reach[1:])
                return min(self._per_row(wide, reach) + 3 * ROUNDED, 0.5) * ((high - low) / 2) ** 2
        return None

    @property
    def group_size(self) -> int | None:
        """Return how many rows the groups of a mean or variance have if each unit has one and all count."""
        means = self.what.what in ("mean", "variance")
        return max(self.units // self.what.groups, 1) if means else None

    def _per_row(self, wide: float, reach: Sequence[float]) -> float:
        """Return a width of sums as one of means of m rows, known to `off`: wide·m/(m² − off²)."""
        size, off = self.group_size or 1, sum(reach[1:])
        return wide * size / (size**2 - off**2) if off < size else math.inf

    def reaches(self, amount: float) -> list[float]:
        """Return how far the noise of each draw is, for all their numbers at once, at 95 %."""
        alpha = confidence.missed(INTERVAL_LEVEL)
        return reach_of_all(self.law, self.draws, self.scales(amount), self.rows, alpha)

    def smallest_group(self, amount: float) -> int | None:
        """Return the number of rows below which a group is mostly noise; None without groups.

        There an interval is wider than the count itself, or than a fifth of the bounds of a mean.
        """
        if not self.what.by:
            return None
        if self.what.chosen:
            return choices.smallest_group(self.what, self.scales(amount)[0], INTERVAL_LEVEL)
        reach = self.reaches(amount)
        return math.ceil(5 * sum(reach) if self.what.what == "mean" else 2 * reach[-1])

    def wanted(self) -> float:
        """Return the amount of a wanted ε, or the least at which no half-width is above the accuracy.

        That may be infinity.  Raises `InputError` for a statistic without such half-widths.
        """
        if self.fixed is not None:
            return self.fixed
        goal, (low, high) = float(self.what.accuracy or 0), AMOUNTS
        low = low if self.law == "gaussian" else math.sqrt(low)
        least = self.half_width(high)
        if least is None:
            raise InputError(f"{self.what.name} has no interval of a known width", "give a share instead")
        if least > goal:
            return math.inf

        def narrow(amount: float) -> bool:
            width = self.half_width(amount)
            return width is not None and width <= goal

        return bisect_ratio(narrow, low, high, ratio=1 + 1e-6)[1]


Planned = tuple[tuple[StatisticRequest, float], ...]  #: statistics, each with its amount


def moved_by(draw: Draw, law: str, *, vary: bool) -> Fraction:
    """Return how far one row moves a draw: in ℓ2 for Gaussian noise, in ℓ1 for Laplace noise."""
    if draw.choice or law == "gaussian":
        return draw.norm if vary else draw.reach
    if draw.l1 is not None:
        return draw.l1[0 if vary else 1]
    if draw.interval is None:
        return Fraction(draw.cells * (1 if vary else 2))
    low, high = draw.interval
    return max(abs(low), abs(high)) if vary else high - low


def has_pure_width(what: Statistic) -> bool:
    """Return whether the width of a statistic's intervals under Laplace noise is known before."""
    return what.chosen or what.what not in OPEN_WIDTHS


def is_narrower(one: Planned, other: Planned) -> bool:
    """Return whether half-widths that no accuracy fixes are narrower, by their geometric mean."""
    pairs = zip(one, other, strict=True)
    shared = [(a.half_width(m), b.half_width(n)) for (a, m), (b, n) in pairs if not a.what.accuracy]
    return math.prod((narrow or 1) / (wide or 1) for narrow, wide in shared) < 1


def rounded_up(value: float, digits: int = SCALE_DIGITS) -> Fraction:
    """Return a positive number rounded up to this many significant digits."""
    place = digits - 1 - math.floor(math.log10(value))
    power = Fraction(10) ** place
    return Fraction(math.ceil(Fraction(value) * power)) / power


def least_scales(
    requests: Sequence[StatisticRequest], total: float, proved: Callable[[Scales], bool]
) -> tuple[Scales, list[float]]:
    """Return all draws' scales with which `proved` holds, and every statistic's amount.

    Those with a wanted accuracy or ε get what they need, the others their shares of what is left of
    `total`, an amount that is nearly enough: all their noise is then raised until `proved` holds.
    Raises `InputError` where the accuracies need more than there is, with what can be reached.
    """
    fitted = _fitted(requests, total, proved)
    if fitted is not None:
        return fitted
    wanted = [each for each in requests if each.what.accuracy is not None]
    if not wanted or _fitted(_eased(requests, MOST_EASED), total, proved) is None:
        if any(each.fixed for each in requests):
            raise OutOfReachError(BEYOND, LOWER)
        raise OutOfReachError(
            f"no {requests[0].law.capitalize()} noise is proved to meet this total",
            "give an epsilon from 1e-6 to 10, with a delta of 1e-12 or more, or of 0",
        )

    def enough(times: float) -> bool:
        return _fitted(_eased(requests, times), total, proved) is not None

    times = bisect_ratio(enough, 1.0, MOST_EASED, ratio=LEAST_EASED)[1]
    can = ", ".join(f"{each.what.name} ± {shown(float(each.what.accuracy or 0) * times)}" for each in wanted)
    error = OutOfReachError(
        "the accuracies need more than the total", f"raise the guarantee's epsilon, or ask for {can}"
    )
    error.times = times
    raise error


def _fitted(
    requests: Sequence[StatisticRequest], total: float, proved: Callable[[Scales], bool]
) -> tuple[Scales, list[float]] | None:
    """Return what `least_scales` does, None where there is no such noise."""
    fixed = {k: each.wanted() for k, each in enumerate(requests) if each.what.accuracy or each.fixed}
    shares = sum(float(each.what.share) for k, each in enumerate(requests) if k not in fixed)
    left = _left(total, fixed.values(), shares)
    if left is None:
        return None

    def amounts(factor: float) -> list[float]:
        by_law = factor**2 if requests[0].law == "gaussian" else factor
        own = [left / by_law * float(each.what.share) / shares if shares else 0.0 for each in requests]
        return [fixed.get(k, amount) for k, amount in enumerate(own)]

    def scales(factor: float) -> Scales:
        pairs = zip(requests, amounts(factor), strict=True)
        return tuple(scale for each, amount in pairs for scale in each.scales(amount))

    if not shares:
        return (scales(1), amounts(1)) if proved(scales(1)) else None
    # Each try is a whole proof, and the total is nearly enough: so the first multiples are close together.
    low = 1.0
    for high in TRIED:
        if proved(scales(high)):
            break
        low = high
    else:
        return None
    factor = bisect_ratio(lambda factor: proved(scales(factor)), low, high, ratio=CLOSE_ENOUGH)[1]
    return scales(factor), amounts(factor)


def _left(total: Any, fixed: Iterable[float], shares: float | Fraction) -> Any:
    """Return what fixed amounts leave of a total; None if they exceed it, or leave none for `shares`."""
    left = total - sum(type(total)(min(amount, 1e300)) for amount in fixed)
    return None if left < -total / 10**6 or (shares and left <= total / 10**6) else left


def split_keyed(
    statistics: Sequence[Statistic], epsilon: Fraction, moves: int, rows: int
) -> list[tuple[StatisticRequest, float]]:
    """Return the counts of unlisted values, each with its part of ε; other statistics get the rest.

    Raises `InputError` where what is wanted needs more than there is.
    """
    keyed = [
        StatisticRequest(what, draws(what, known=False), (Fraction(moves),), "laplace", rows, rows, fixed)
        for what in statistics
        if what.unlisted
        for fixed in [rounded(what.epsilon, up=False) if what.epsilon else None]
    ]
    given = {what.name: float(what.epsilon) for what in statistics if what.epsilon}
    fixed = given | {each.what.name: each.wanted() for each in keyed if each.what.accuracy or each.fixed}
    shares = sum(what.share for what in statistics if what.name not in fixed)
    left = _left(epsilon, fixed.values(), shares)
    if left is None:
        equal = (float(epsilon) - sum(given.values())) / (len(statistics) - len(given) or 1)
        wanted = [each for each in keyed if each.what.accuracy and equal > 0]
        can = ", ".join(f"{each.what.name} ± {shown(each.half_width(equal) or 1)}" for each in wanted)
        raise InputError(BEYOND, f"raise the guarantee's epsilon, or ask for {can}" if can else LOWER)
    parts = [
        fixed.get(each.what.name) or rounded(left * each.what.share / shares, up=False) for each in keyed
    ]
    return list(zip(keyed, parts, strict=True))


def _eased(requests: Sequence[StatisticRequest], times: float) -> list[StatisticRequest]:
    """Return statistics whose wanted accuracies are `times` times as wide."""
    return [
        each
        if each.what.accuracy is None
        else replace(
            each, what=replace(each.what, accuracy=min(each.what.accuracy * Fraction(times), LARGEST))
        )
        for each in requests
    ]


def shown(value: float) -> str:
    """Return a number rounded up to three digits, as text."""
    return f"{float(rounded_up(value, 3)):.15g}"


def total_amount(epsilon: Fraction, delta: Fraction) -> float:
    """Return about the μ² of Gaussian noise that is (ε, δ), or ε itself for δ = 0; raises `InputError`."""
    if not EPSILONS[0] <= epsilon <= EPSILONS[1] or delta >= 1:
        raise InputError(
            "the total is out of range", f"give an epsilon from 1e-6 to {EPSILONS[1]}, and a delta below 1"
        )
    if delta == 0:
        return float(epsilon)
    high = 1.0
    while _delta(high, float(epsilon)) < float(delta):
        high *= 2
    low, _ = bisect_ratio(lambda mu: _delta(mu, float(epsilon)) > float(delta), high / 2**60, high, 200)
    return low**2


def _delta(mu: float, epsilon: float) -> float:
    """Return δ(ε) of μ-GDP (Balle & Wang 2018), approximately."""
    first, second = -epsilon / mu + mu / 2, -epsilon / mu - mu / 2
    return float(ndtr(first)) - math.exp(epsilon + float(log_ndtr(second)))


# ------------------------------------------------------------------ how far noise reaches


def reach_of_all(
    law: str, draws: Sequence[Draw], scales: Sequence[Fraction], rows: int, alpha: Fraction
) -> list[float]:
    """Return how far each draw's noise is, in its units, for all their numbers at once but for `alpha`."""
    each = alpha / (sum(draw.size for draw in draws) or rows)  # of cells in use: one for each row at most
    steps = [grid.step(draw.bits if law == "laplace" else BITS) for draw in draws]
    return [float(accuracy.reach(law, *one, each)) for one in zip(scales, steps, strict=True)]


def reach_of_sums(law: str, scale: Fraction, bits: int, groups: int, alpha: Fraction) -> list[float]:
    """Return how far the noise of sums of 0, 1, … counts is, for all ends of a quantile's cells at once."""
    each, most = alpha / (groups * BRANCHES**LEVELS), LEVELS * (BRANCHES - 1)
    some = (accuracy.reach(law, scale, grid.step(bits), each, terms) for terms in range(1, most + 1))
    return [0.0, *map(float, some)]
