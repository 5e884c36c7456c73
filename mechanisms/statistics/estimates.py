"""From noisy sums to estimates with intervals: post-processing, by interval arithmetic.

An interval contains the value of the statistic without noise (of clipped numbers), for all numbers of a
statistic at once, as long as no draw's noise is beyond its `reach`.
"""

from collections.abc import Sequence
from math import ceil, floor
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpaccount.noise.samplers import Floats
from mechanisms.shared import accuracy
from mechanisms.statistics.draws import BRANCHES, LEVELS, ROUNDED, SQUARE
from mechanisms.statistics.statistic import RANK_COLUMN, Statistic

Number = TypeVar("Number", np.int64, np.float64)
Sizes = tuple[Floats, Floats, Floats]  #: numbers of rows, the fewest and the most that they may be
Ends = tuple[Floats, Floats, Floats]  #: estimates, lower and upper ends; NaN: no end is known

SLACK: Final = 2.0**-40  #: relative, for floating point
ULPS: Final = 2.0**-50  #: of a column's bounds: more than what a few operations on them round
RIDGE: Final = 1e-9  #: of the features' mean square, so that a regression always has a solution


def estimate(
    what: Statistic, noisy: Sequence[Floats], reach: Sequence[float], rows: int, *, known: bool
) -> Ends:
    """Return the estimates of a statistic with the ends of their intervals.

    `noisy` are the noisy sums of its draws and `reach` how far the noise of each may be, both in the units of
    the draws.  There are at most `rows` rows; exactly that many in its one group if `known`.
    """
    match what.what:
        case "count" | "histogram" | "top":
            return _counts(noisy[0], reach[0])
        case "sum":
            return _sums(what, noisy[0], reach[0] + rows * ROUNDED)
        case "median" | "quantile" if what.chosen:
            low, high = what.valued.bounds
            nothing = np.full(what.groups, np.nan)
            return np.clip(low + (high - low) * noisy[0] / BRANCHES**LEVELS, low, high), nothing, nothing
        case "median" | "quantile":
            return _quantiles(what, noisy[0], reach)
        case "regression":
            return _coefficients(what, noisy[0], reach[0])
        case "ratio":
            return _ratios(what, noisy, reach, rows)
    return _of_groups(what, noisy, reach, rows if known else None)


def _of_groups(what: Statistic, noisy: Sequence[Floats], reach: Sequence[float], rows: int | None) -> Ends:
    """Return means, variances or standard deviations: of `rows`, or of noisy numbers of rows."""
    size, off = (noisy[1], reach[1]) if rows is None else (np.full(what.groups, float(rows)), 0.0)
    sizes = np.maximum(size, 1), np.maximum(size - off, 1), np.maximum(size + off, 1)
    empty = size + off < 1  # of no rows nothing is known
    if what.what == "mean":
        return _means(what, noisy[0], reach[0], sizes, empty)
    middle, low, high = _variances(what, noisy[0], reach[0], sizes, empty)
    if what.what == "variance":
        return middle, low, high
    low, high = np.sqrt(low) * (1 - ULPS), np.sqrt(high) * (1 + ULPS)
    return np.clip(np.sqrt(middle), low, high), low, high


def _counts(noisy: Floats, reach: float) -> Ends:
    wide = reach + np.abs(noisy) * SLACK
    counts = np.maximum(np.rint(noisy), 0)
    low, high = np.maximum(np.ceil(noisy - wide), 0), np.maximum(np.floor(noisy + wide), 0)
    return counts, np.minimum(low, counts), np.maximum(high, counts)  # far noise shows no empty interval


def _sums(what: Statistic, noisy: Floats, reach: float) -> Ends:
    most = max(map(abs, what.valued.bounds))
    wide = reach * (1 + SLACK) + np.abs(noisy) * SLACK
    return noisy * most, (noisy - wide) * most, (noisy + wide) * most


def _ratios(what: Statistic, noisy: Sequence[Floats], reach: Sequence[float], rows: int) -> Ends:
    """Return quotients of two sums; no end is known where the divisor may be 0.

    Over positive divisors the extremes are quotients of the ends of both intervals.
    """
    columns = [column for column in (what.column, what.per) if column is not None]
    units = [max(map(abs, column.bounds)) for column in columns]
    numbers = [part * unit for part, unit in zip(noisy, units, strict=True)]
    wide = [
        (off + rows * ROUNDED + np.abs(part) * SLACK) * (1 + SLACK) * unit
        for part, off, unit in zip(noisy, reach, units, strict=True)
    ]
    # Where the divisor may be 0 the quotient may be anything, so that no end is known.
    known = numbers[1] > wide[1]
    fewest, most = np.where(known, numbers[1] - wide[1], 1), np.where(known, numbers[1] + wide[1], 1)
    low, high = accuracy.quotient(numbers[0] - wide[0], numbers[0] + wide[0], fewest, most)
    low, high = (
        np.where(known, end + np.abs(end) * out, np.nan) for end, out in ((low, -SLACK), (high, SLACK))
    )
    return numbers[0] / np.maximum(numbers[1], wide[1]), low, high


def _quotients(total: Floats, wide: float, sizes: Sizes) -> tuple[Floats, Floats]:
    """Return the ends of what sums within `wide` over a number of rows between two may be."""
    low, high = accuracy.quotient(total - wide, total + wide, *sizes[1:])
    return low - ROUNDED, high + ROUNDED


def _means(what: Statistic, noisy: Floats, wide: float, sizes: Sizes, empty: NDArray[np.bool_]) -> Ends:
    low, high = what.valued.bounds
    ends = [np.clip(end, -1, 1) for end in _quotients(noisy, wide, sizes)]
    ends = [np.where(empty, -1.0, ends[0]), np.where(empty, 1.0, ends[1])]
    means = np.clip(noisy / sizes[0], *ends)
    middle, half = (low + high) / 2, (high - low) / 2
    return _outward((middle + means * half, middle + ends[0] * half, middle + ends[1] * half), low, high)


def _outward(ends: Ends, low: float, high: float) -> Ends:
    """Return ends a little wider, for what was rounded in them, but within a column's bounds."""
    (middle, first, last), slack = ends, max(abs(low), abs(high)) * ULPS
    first, last = np.maximum(first - slack, low), np.minimum(last + slack, high)
    return np.clip(middle, first, last), first, last


def _variances(what: Statistic, noisy: Floats, wide: float, sizes: Sizes, empty: NDArray[np.bool_]) -> Ends:
    """Return variances (of the rows at hand, divided by their number)."""
    first, second = noisy.reshape(2, -1)
    below, above = _quotients(first, wide, sizes)
    mean = np.where(empty, -1, np.clip(below, -1, 1)), np.where(empty, 1, np.clip(above, -1, 1))
    less, more = (np.clip(end / float(SQUARE) + 0.5, 0, 1) for end in _quotients(second, wide, sizes))
    square = np.where(empty, 0, less), np.where(empty, 1, more)
    largest = np.maximum(np.abs(mean[0]), np.abs(mean[1])) ** 2
    least = np.where((mean[0] <= 0) & (mean[1] >= 0), 0.0, np.minimum(np.abs(mean[0]), np.abs(mean[1])) ** 2)
    ends = np.maximum(square[0] - largest - SLACK, 0), np.maximum(square[1] - least + SLACK, 0)
    middle = np.clip(first / sizes[0], -1, 1)
    variance = np.clip(np.clip(second / sizes[0] / float(SQUARE) + 0.5, 0, 1) - middle**2, *ends)
    low, high = what.valued.bounds
    return tuple(each * ((high - low) / 2) ** 2 for each in (variance, *ends))  # type: ignore[return-value]


def _quantiles(what: Statistic, noisy: Floats, reach: Sequence[float]) -> Ends:
    """Return quantiles by how many rows lie below the ends of cells, summed from noisy counts of all levels.

    `reach` has how far the noise of a sum of 0, 1, … counts may be.  By all definitions of Hyndman & Fan 1996
    a quantile of n numbers lies between those of the ranks ⌊qn − 1⌋ and ⌈s⌉ (from 0, sorted), where s is the
    larger of q(n − 1) and q(n + 1) − 1: it is at least an end below which at most ⌊qn − 1⌋ rows lie, and at
    most one below which more than ⌈s⌉ do.  Estimates are by `fitted` counts, with less noise.
    """
    low, high = what.valued.bounds
    cells = BRANCHES**LEVELS
    ends = low + (high - low) * np.arange(cells + 1) / cells
    terms = below_ends(np.ones(noisy.size // what.groups), BRANCHES, LEVELS).astype(np.int64)
    off = np.array([reach[n] for n in range(terms.max() + 1)])[terms]
    intervals = []
    for counts in noisy.reshape(what.groups, -1):
        below = below_ends(counts, BRANCHES, LEVELS)
        # No fewer rows lie below a higher end, so what is sure of one end holds for all on its far side.
        least = np.maximum.accumulate(np.maximum(below - off, 0))
        most = np.maximum(np.minimum.accumulate((below + off)[::-1])[::-1], 0)
        smallest, largest = ceil(least[-1] - SLACK * cells), floor(most[-1] + SLACK * cells)
        rising = np.maximum.accumulate(np.maximum(fitted(counts), 0))
        slack = (high - low) * SLACK
        for rank in what.ranks:
            under = np.flatnonzero(most <= max(floor(rank * smallest - 1), 0))
            over = np.flatnonzero(least > ceil(max(rank * (largest - 1), rank * (largest + 1) - 1, 0)))
            first = ends[under[-1]] if len(under) else low
            last = ends[over[0]] if len(over) else high
            middle = np.interp(float(rank) * rising[-1], rising + np.arange(cells + 1) * 1e-9, ends)
            first, last = min(first, last), max(first, last)
            intervals.append((np.clip(middle, first, last), first - slack, last + slack))
    middles, firsts, lasts = np.array(intervals).T
    return _outward((middles, firsts, lasts), low, high)


def below_ends(counts: NDArray[Number], branches: int, levels: int) -> NDArray[Number]:
    """Return how many rows lie below the end of each finest cell, from the counts of all levels of cells.

    The coarsest level comes first; each cell is split into `branches` cells of the next level.
    """
    cells = branches**levels
    ranks, at = np.zeros(cells + 1, dtype=counts.dtype), 0
    for level in range(1, levels + 1):
        here, at = counts[at : at + branches**level].reshape(-1, branches), at + branches**level
        before = here.cumsum(axis=1) - here  # in a cell of the level above, those before each
        ranks[:-1] += np.repeat(before.ravel(), cells // branches**level)
        if level == 1:
            ranks[-1] = here.sum()
    return ranks


def fitted(counts: Floats) -> Floats:
    """Return how many rows lie below the end of each finest cell, by the counts that fit those of all levels.

    Least squares on a tree (Hay, Rastogi, Miklau & Suciu 2010): a cell is the weighted mean of its own
    count and its parts', by variance; the difference from the cell above is shared among its parts.
    """
    ends = np.cumsum([BRANCHES**level for level in range(1, LEVELS + 1)])
    levels = np.split(counts, ends[:-1])
    for height, level in enumerate(range(LEVELS - 2, -1, -1), 2):
        own = (BRANCHES**height - BRANCHES ** (height - 1)) / (BRANCHES**height - 1)
        parts = levels[level + 1].reshape(-1, BRANCHES).sum(axis=1)
        levels[level] = own * levels[level] + (1 - own) * parts
    cells = levels[0]
    for some in levels[1:]:
        parts = some.reshape(-1, BRANCHES)
        cells = (parts + ((cells - parts.sum(axis=1)) / BRANCHES)[:, None]).ravel()
    return np.append(0.0, cells.cumsum())


def _coefficients(what: Statistic, noisy: Floats, wide: float) -> Ends:
    """Return the least-squares coefficients of the features, then the intercept, in the data's own units.

    With S the noisy moments of (z, 1), s those with the target, and R ≥ the noise entrywise, the exact
    coefficients w of (S − E)w = s − e are off the noisy ones v by d ≤ |S⁻¹|(R(|v| + d) + r): solved for d
    where |S⁻¹|R contracts, else no interval is known.  The numbers are of z scaled to [−1, 1].
    """
    size = len(what.on) + 2
    upper = np.zeros((size, size))
    upper[np.triu_indices(size)] = noisy * size
    whole = upper + np.triu(upper, 1).T
    features = [*range(len(what.on)), size - 1]
    left, right = whole[np.ix_(features, features)], whole[features, size - 2]
    off = (wide + (abs(noisy).max() + wide) * size * ROUNDED) * size  # there are |noisy|·size rows or so
    ridge = RIDGE * max(float(np.trace(left)), 1.0) / len(features)
    try:
        inverse = np.linalg.inv(left + ridge * np.eye(len(features)))
    except np.linalg.LinAlgError:
        inverse = np.zeros_like(left)
    solution = inverse @ right
    spread = np.abs(inverse) @ np.full_like(left, off + ridge)
    bound = np.full(len(features), np.nan)
    if np.abs(np.linalg.eigvals(spread)).max() < 0.99:
        excess = np.abs(inverse) @ ((off + ridge) * np.abs(solution).sum() + np.full(len(features), off))
        bound = np.linalg.solve(np.eye(len(features)) - spread, excess) * (1 + 1e-6)
    return _in_units(what, solution, bound)


def _in_units(what: Statistic, solution: Floats, bound: Floats) -> Ends:
    """Return coefficients of z_target on z in the units of the columns: those of x, then the intercept."""
    low, high = what.valued.bounds
    half, middle = (high - low) / 2, (high + low) / 2
    spans = np.array([(each.bounds[1] - each.bounds[0]) / 2 for each in what.on])
    middles = np.array([(each.bounds[1] + each.bounds[0]) / 2 for each in what.on])
    slopes, wide = solution[:-1] * half / spans, bound[:-1] * half / spans
    intercept = middle + half * solution[-1] - slopes @ middles
    wider = half * bound[-1] + wide @ np.abs(middles)
    values, off = np.append(slopes, intercept), np.append(wide, wider)
    return values, values - off, values + off


def table(
    what: Statistic, ends: Sequence[Sequence[float | None]], texts: Sequence[Any] = ()
) -> list[dict[str, Any]]:
    """Return a statistic's rows: the values of `by`, of a cell or the name of a coefficient, and numbers.

    `texts` are the shown values of a column of unlisted values, those of the largest counts first.
    """
    named: list[dict[str, Any]]
    if what.unlisted:
        several = ([text] if isinstance(text, str) else text for text in texts)
        names = [column.name for column in what.unlisted]
        named = [dict(zip(names, each, strict=True)) for each in several]
    elif what.what == "regression":
        named = [{"term": name} for name in (*(each.name for each in what.on), "intercept")]
    elif what.cells > 1 or what.cell_labels != ("",):
        cell = "" if what.column is None else what.column.name
        named = [{**key, cell: label} for key in what.keys for label in what.cell_labels]
    elif what.rank_labels:
        named = [{**key, RANK_COLUMN: label} for key in what.keys for label in what.rank_labels]
    else:
        named = [dict(key) for key in what.keys]
    rows = [
        {**key, "estimate": value, "low": low, "high": high}
        for key, value, low, high in zip(named, *ends, strict=True)
    ]
    if what.unlisted:
        return sorted(rows, key=lambda row: -(row["estimate"] or 0))[: what.k]
    if what.what != "top" or what.k is None:
        return rows
    groups = [rows[at : at + what.cells] for at in range(0, len(rows), what.cells)]
    largest = [sorted(each, key=lambda row: -(row["estimate"] or 0))[: what.k] for each in groups]
    return [row for each in largest for row in each]
