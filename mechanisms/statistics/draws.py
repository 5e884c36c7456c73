"""The noisy draws of a statistic: its sums, and how far one row moves each of them.

Every draw is a vector of sums in units of its own, in which a row adds a vector of norm about 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isqrt
from typing import Final

import numpy as np

from dpaccount.noise.samplers import Floats, Integers
from mechanisms.statistics.statistic import CELLED, Statistic
from mechanisms.table.columns import Column

BITS: Final = 24  #: sums are multiples of 2^−BITS
PER: Final = "/per"  #: ends the key of a ratio's divisor
MARGIN: Final = Fraction(1, 2**16)  #: of norms, for the rounding of a row's numbers to that grid
ROUNDED: Final = 2.0**-BITS * 1.001  #: how far a row's number may be rounded, and more than that
BRANCHES: Final = 4  #: cells that a cell of the level above has
LEVELS: Final = 5  #: of cells for a quantile: 1,024 cells in all
SQUARE: Final = Fraction(8, 5)  #: of z² − ½ next to z: two rows are at most 2 apart in both, as in z alone


@dataclass(frozen=True)
class Draw:
    """Sums that get noise of one scale.

    A row adds a vector of ℓ2 norm at most `norm`; a replaced row moves the sums by at most `reach`.  With
    `cells` it adds 1 to at most `cells` of `size` cells; a single number lies in `interval`.  Of several sums
    of numbers `l1` has their ℓ1 norms, of a row and of what a replaced one moves.  The size of
    unlisted cells is 0.  With a `choice` the counts get no noise: scores that follow from them, in units of
    1/`choice` ranks, move within `norm` ranks by a row, and within `reach` by a replaced one.
    """

    key: str
    size: int
    norm: Fraction
    reach: Fraction
    cells: int = 0
    interval: tuple[Fraction, Fraction] | None = None
    choice: int = 0
    l1: tuple[Fraction, Fraction] | None = None

    @property
    def bits(self) -> int:
        """Return the grid exponent of these sums under Laplace noise: counts are integers."""
        return 0 if self.cells else BITS


def root(square: Fraction) -> Fraction:
    """Return at least the root of a number, by less than 10⁻⁹."""
    return Fraction(isqrt(int(square * 10**18) + 1) + 1, 10**9)


def counts(name: str, size: int, cells: int = 1) -> Draw:
    """Return the counts of `size` cells where a row is in at most `cells` of them; one cell moves by 1."""
    norm, reach = root(Fraction(cells)), root(Fraction(min(2 * cells, size)))
    return Draw(f"{name}/count", size, norm, reach, cells, (Fraction(0), Fraction(1)) if size == 1 else None)


def moved_ranks(rank: Fraction, groups: int) -> tuple[Fraction, Fraction]:
    """Return by how many ranks the range of scores of a choice moves with a row, and with a replaced one.

    A row more moves each score of its group by q or 1 − q, up or down: their range by no more than twice the
    larger.  A replaced row moves those below each end by at most 1, or comes or goes by `where`: the range by
    no more than 2; or it changes its group, and the ranges of both move.
    """
    come = 2 * max(rank, 1 - rank)
    return come, 2 * come if groups > 1 else Fraction(2)


def twice(norm: Fraction) -> tuple[Fraction, Fraction]:
    """Return the ℓ1 norm of a row's sums, and of the difference of two rows'."""
    return norm + MARGIN, 2 * norm + MARGIN


def _sum(key: str, column: Column, groups: int) -> Draw:
    """Return the sums of a column by group, in units of the largest magnitude within its bounds."""
    low, high = map(Fraction, column.bounds)
    most = max(abs(low), abs(high))
    reach = max((high - low) / most, root(Fraction(2)) if groups > 1 else Fraction(1))
    interval = (min(low, Fraction(0)) / most, max(high, Fraction(0)) / most) if groups == 1 else None
    l1 = None if interval else twice(Fraction(1))
    return Draw(key, groups, 1 + MARGIN, reach + MARGIN, 0, interval, l1=l1)


@lru_cache(maxsize=256)
def draws(what: Statistic, *, known: bool) -> tuple[Draw, ...]:
    """Return the draws of a statistic; `known`: the number of rows in its one group is public.

    A sum's unit is the largest magnitude M within its bounds: a row adds x/M to one group, and a replaced one
    moves it by (high − low)/M within a group, or by √2 from one to another.  For means, variances and
    regressions z is the number scaled to [−1, 1].  In ℓ1 a row that leaves and enters a group moves twice its
    norm; a variance's of one group by u(1 + 8/5·s), u = |z − w|, s = |z + w| ≤ 2 − u: at most 441/160.

    A regression's are the numbers of φφᵀ, each once, φ = (z…, 1)/√d.  Their squares add up to at most
    (|φ|⁴ + Σφᵢ⁴)/2 ≤ (1 + 1/d)/2, those of φφᵀ − ψψᵀ to (|φ|⁴ + |ψ|⁴ − 2(φ·ψ)² + Σ(φᵢ² − ψᵢ²)²)/2 ≤ 1:
    the last sum is at most (2 − |φ|² − |ψ|²)/d, and t² + (1 − t)/d ≤ 1 on [1/d, 1].  Their magnitudes add
    up to (d + 1)/2, and with |φᵢφⱼ − ψᵢψⱼ| ≤ (uᵢsⱼ + sᵢuⱼ)/2d a replaced row moves by less.
    """
    name, groups = what.name, what.groups
    if what.unlisted:
        return (Draw(f"{name}/keys", 0, Fraction(1), Fraction(2), 1),)
    # A public number of rows is not counted: that would spend a share of the budget on what all know.
    number = () if known else (counts(name, groups),)
    match what.what:
        case "count" | "histogram" | "top":
            return (counts(name, groups * what.cells),)
        case "sum" | "ratio":
            whole = _sum(f"{name}/sum", what.valued, groups)
            return (whole,) if what.per is None else (whole, _sum(f"{name}{PER}", what.per, groups))
        case "mean":
            interval = (Fraction(-1), Fraction(1)) if groups == 1 else None
            l1 = None if interval else twice(Fraction(1))
            return (Draw(f"{name}/sum", groups, 1 + MARGIN, 2 + MARGIN, 0, interval, l1=l1), *number)
        case "variance" | "stddev":
            norm = root(1 + SQUARE**2 / 4)
            l1 = (
                twice(1 + SQUARE / 2)
                if groups > 1
                else (1 + SQUARE / 2 + MARGIN, Fraction(441, 160) + MARGIN)
            )
            return (Draw(f"{name}/moments", 2 * groups, norm + MARGIN, 2 + MARGIN, l1=l1), *number)
        case "median" | "quantile" if what.chosen:
            q, size = what.rank, groups * BRANCHES**LEVELS
            return (Draw(f"{name}/choice", size, *moved_ranks(q, groups), cells=1, choice=q.denominator),)
        case "median" | "quantile":
            cells = sum(BRANCHES**level for level in range(1, LEVELS + 1))
            return (counts(name, groups * cells, LEVELS),)
        case _:
            size = len(what.on) + 2
            norm, sizes = root(Fraction(size + 1, 2 * size)) + MARGIN, (Fraction(size + 1, 2) + MARGIN,) * 2
            return (Draw(f"{name}/moments", size * (size + 1) // 2, norm, 1 + MARGIN, l1=sizes),)


def totals(what: Statistic, draw: Draw, codes: Mapping[str, Floats], bits: int) -> Integers:
    """Return the exact sums of a draw over some rows, in steps of 2^−`bits`, given their codes by column."""
    if not draw.size or not len(next(iter(codes.values()))):
        return np.zeros(draw.size, dtype=np.int64)
    if draw.cells:
        return _counted(what, draw, codes) << bits
    group = what.group_of(codes)
    there = group >= 0
    if what.what in ("sum", "ratio"):
        column = what.per if what.per and draw.key.endswith(PER) else what.valued
        there &= ~column.is_gap(codes[column.name])
    group, some = group[there], {name: column[there] for name, column in codes.items()}
    if what.what in ("sum", "ratio"):
        part = some[column.name] / max(map(abs, column.bounds))
        if draw.interval is None:
            return _summed(group, [part], draw.size, bits)
        low, high = (end * 2**bits for end in draw.interval)  # a quotient may be beyond them
        return np.array([np.clip(_exact(part, bits), ceil(low), floor(high)).sum()], dtype=np.int64)
    z = what.scaled(what.valued, some)
    if what.what == "regression":
        columns = [*(what.scaled(each, some) for each in what.on), z, np.ones(len(z))]
        phi = np.stack(columns) / np.sqrt(len(columns))
        first, second = np.triu_indices(len(columns))
        sums = [_exact(phi[a] * phi[b], bits).sum() for a, b in zip(first, second, strict=True)]
        return np.array(sums, dtype=np.int64)
    parts = [z] if what.what == "mean" else [z, float(SQUARE) * (z * z - 0.5)]
    return _summed(group, parts, draw.size, bits)


def _counted(what: Statistic, draw: Draw, codes: Mapping[str, Floats]) -> Integers:
    if what.what in (*CELLED, "count") or (draw.cells == 1 and not draw.choice):
        cell = what.cell_of(codes) if what.what in CELLED else what.group_of(codes)
        return np.bincount(cell[cell >= 0], minlength=draw.size).astype(np.int64)
    group, finest = what.group_of(codes), BRANCHES**LEVELS
    share = (what.scaled(what.valued, codes) + 1) / 2
    cell = group * finest + np.minimum((share * finest).astype(np.int64), finest - 1)
    fine = np.bincount(cell[group >= 0], minlength=what.groups * finest).astype(np.int64)
    if draw.choice:
        return fine
    by_level = [fine.reshape(what.groups, BRANCHES**level, -1).sum(axis=2) for level in range(1, LEVELS + 1)]
    return np.concatenate(by_level, axis=1).ravel()


def _exact(numbers: Floats, bits: int) -> Integers:
    """Return numbers within [−1, 1] in steps of 2^−`bits`, truncated toward zero: never longer."""
    return np.trunc(np.clip(numbers, -1, 1) * 2.0**bits).astype(np.int64)


def _summed(group: Integers, parts: list[Floats], size: int, bits: int) -> Integers:
    """Return the sums of parts by group, one part after another."""
    width = size // len(parts)
    sums = np.zeros((len(parts), width), dtype=np.int64)
    for row, part in zip(sums, parts, strict=True):
        np.add.at(row, group, _exact(part, bits))
    return sums.ravel()


def cut(what: tuple[Draw, ...], flat: Integers) -> list[Integers]:
    """Return the parts of one vector that has all draws' sums, in their order."""
    ends = np.cumsum([draw.size for draw in what])
    return [flat[end - draw.size : end] for draw, end in zip(what, ends, strict=True)]
