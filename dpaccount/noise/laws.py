"""The law of every kind of noise that a proof can name: read from its leaf, and drawn.

A law maps private integers to released integers of the same shape: sums get noise added, scores of
candidates become the indicator of the chosen one (of a matrix, one of each row), symbols become
randomised answers, which are sorted where they are shuffled, numbers become above (1), below (0) or
unanswered (−1), counts become shown or 0.
Code never states a scale.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import lcm

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import ReceiptError
from dpaccount.exact import rounded
from dpaccount.forks import cached_property
from dpaccount.noise.leaves import Leaf
from dpaccount.noise.samplers import Integers, Sampler, exact_root, in_range, root_up

MAX_SCALE = 2.0**54  #: grid steps; noise beyond 2^61 is then rarer than e^(−2^13), or for Laplace e^(−128)
MAX_THRESHOLD = 1 << 53  #: threshold of a histogram: all integers up to it are doubles


@dataclass(frozen=True)
class Law:
    """One kind of noise.

    `kind` is ``gaussian``, ``symmetric``, ``laplace``, ``k-norm``, ``exponential``,
    ``permute-and-flip``, ``table``, ``shuffled``, ``sparse-vector`` or ``stable-histogram``.  `scale` is in
    grid units: a standard deviation, a Laplace scale, the length or score that makes a factor e.
    `threshold` is the scale of a sparse vector's threshold, or the count below which none is shown;
    `limit` the positive answers of a sparse vector, or how many answers at least are shuffled; `table` the
    outcomes' probabilities, by symbol (its scale is 1).
    """

    kind: str
    scale: float = 1.0
    threshold: float = 0.0
    limit: int = 0
    table: tuple[tuple[Fraction, ...], ...] = ()

    @cached_property
    def cumulative(self) -> tuple[int, list[list[int]]]:
        """Return a common denominator of the table's chances, and every row's running sums in its units."""
        denominator = lcm(*(p.denominator for row in self.table for p in row))
        return denominator, [list(accumulate(int(p * denominator) for p in row)) for row in self.table]

    @cached_property
    def chances(self) -> NDArray[np.float64]:
        """Return the table as doubles."""
        return np.array([[float(p) for p in row] for row in self.table])


def checked_width(law: Law, key: str) -> Law:
    """Return the law; refuses one that 64 bits may not hold: a sampler would cut it, and a sum could wrap."""
    if law.scale > MAX_SCALE:
        raise ReceiptError(
            f"the noise of {key!r} is {law.scale:.3g} steps wide, too wide; use a coarser grid"
        )
    return law


def law_of(leaf: Leaf) -> Law:
    """Return the law of a leaf; refuses laws that no exact sampler has.

    A scale may be rounded up to a double, which only lowers the cost. Two rules are about one scale, which
    must be a double: an exact lattice curve, and a stable histogram, whose δ rises with the scale.
    """
    given = leaf.parameters
    match leaf.rule:
        case "exponential" | "permute_and_flip":
            return Law(leaf.rule.replace("_", "-"), double_up(1 / Fraction(given["rate"])))
        case "lattice_gaussian":
            scale = exact_root(Fraction(given["variance"]))
            if scale is None:
                raise ReceiptError(
                    f"the standard deviation of {leaf.key!r} must be a double; round it up to one first"
                )
            return Law("gaussian", scale)
        case "finite" | "shuffled":
            return _table_law(leaf)
        case "stable_histogram":
            return Law(
                "stable-histogram",
                *_histogram_parameters(Fraction(given["scale"]), int(given["threshold"]), leaf.key),
            )
    if "grid" not in given:
        raise ReceiptError(
            f"the leaf {leaf.key!r} has continuous noise, which cannot be drawn exactly; prove it on a grid"
        )
    grid = Fraction(given["grid"])
    match leaf.rule:
        case "laplace":
            return Law("laplace", double_up(Fraction(given["scale"]) / grid))
        case "k_norm":
            return Law("k-norm", double_up(1 / (Fraction(given["rate"]) * grid)))
        case "sparse_vector":
            scale, threshold = (double_up(Fraction(given[name]) / grid) for name in ("scale", "threshold"))
            return Law("sparse-vector", scale, threshold, int(given["limit"]))
        case "discrete_gaussian" | "fine_gaussian":
            kind = "symmetric" if leaf.norm == "frobenius-squared" else "gaussian"
            return Law(kind, root_up(Fraction(given["variance"]) / grid**2))
    raise ReceiptError(f"no sampler is known for the rule {leaf.rule!r} of {leaf.key!r}")


def _table_law(leaf: Leaf) -> Law:
    """Return the law of answers by a table; of two outcomes only, where they are shuffled."""
    table = tuple(tuple(map(Fraction, row)) for row in leaf.parameters["table"])
    if leaf.rule == "finite":
        return Law("table", table=table)
    if len(table[0]) != 2:
        raise ReceiptError(f"the answers of {leaf.key!r} are shuffled; give them a table of two outcomes")
    return Law("shuffled", limit=int(leaf.parameters["size"]), table=table)


def _histogram_parameters(scale: Fraction, threshold: int, key: str) -> tuple[float, float]:
    """Return a stable histogram's scale and threshold as doubles, which must be exactly they."""
    if Fraction(float(scale)) != scale:
        raise ReceiptError(
            f"the scale of {key!r} must be a double, as its δ rises with it; use one and prove again"
        )
    if threshold > MAX_THRESHOLD:
        raise ReceiptError(f"the threshold of {key!r} is {threshold}; it must be at most 2^53")
    return float(scale), float(threshold)


def double_up(value: Fraction) -> float:
    """Return the least double that is at least `value`."""
    return rounded(value, up=True)


# ------------------------------------------------------------------ drawing


def draw(law: Law, values: Integers, sampler: Sampler) -> Integers:
    """Return what the law makes of private `values`, in their shape; raises `ReceiptError` for wrong ones."""
    exact = in_range(values)
    match law.kind:
        case "laplace":
            return sampler.laplace(exact.ravel(), law.scale).reshape(exact.shape)
        case "gaussian":
            return sampler.gaussian(exact.ravel(), law.scale).reshape(exact.shape)
        case "symmetric":
            return _symmetric_gaussian(law, exact, sampler)
        case "k-norm":
            # it is proposed by Laplace noise √d times as wide, which has to fit as well
            checked_width(Law("k-norm", math.sqrt(exact.size) * law.scale), "a K-norm release")
            return sampler.k_norm(exact.ravel(), law.scale).reshape(exact.shape)
        case "table" | "shuffled":
            return _randomised_response(law, exact, sampler)
        case "sparse-vector":
            return _sparse_vector(law, exact, sampler)
        case "stable-histogram":
            return _stable_histogram(law, exact, sampler)
        case _:
            return _choice(law, exact, sampler)


def _choice(law: Law, scores: Integers, sampler: Sampler) -> Integers:
    """Choose a candidate by its score, in each row."""
    if scores.ndim not in (1, 2) or not scores.size:
        right = "one score per candidate, or a row of them for each of several choices"
        raise ReceiptError(f"a choice takes {right}; found the shape {scores.shape}")
    chosen = np.zeros_like(scores)
    for one, row in zip(np.atleast_2d(chosen), np.atleast_2d(scores), strict=True):
        one[sampler.choose(row, law.scale, law.kind)] = 1
    return chosen


def _symmetric_gaussian(law: Law, matrix: Integers, sampler: Sampler) -> Integers:
    """Add `scale` off the diagonal, once for both halves, and twice its variance on the diagonal."""
    if matrix.ndim != 2 or not np.array_equal(matrix, matrix.T):
        raise ReceiptError("symmetric noise takes a symmetric matrix")
    rows, columns = _upper_triangle(len(matrix))
    added = np.zeros_like(matrix)
    added[rows, columns] = sampler.gaussian(np.zeros(len(rows), dtype=np.int64), law.scale)
    added += added.T
    zeros = np.zeros(len(matrix), dtype=np.int64)
    np.fill_diagonal(added, sampler.gaussian(zeros, _diagonal_scale(law.scale)))
    return matrix + added


@lru_cache(maxsize=16)
def _upper_triangle(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places above the diagonal: the same for every draw."""
    return np.triu_indices(size, 1)


@lru_cache(maxsize=64)
def _diagonal_scale(scale: float) -> float:
    """Return a double at or just above √2·`scale`, of twice the variance."""
    return root_up(2 * Fraction(scale) ** 2)


def _randomised_response(law: Law, symbols: Integers, sampler: Sampler) -> Integers:
    """Draw every symbol's outcome from its row of the table, by an integer below a common denominator."""
    if symbols.size and not 0 <= symbols.min() <= symbols.max() < len(law.table):
        raise ReceiptError(f"a symbol is one of 0 ... {len(law.table) - 1}; map the values to symbols first")
    if law.kind == "shuffled" and (symbols.ndim != 1 or symbols.size < law.limit):
        what = f"at least {law.limit} answers are shown, in one row and in no order"
        raise ReceiptError(f"{what}; found the shape {symbols.shape}")
    denominator, sums = law.cumulative
    drawn = [sampler.below(denominator) for _ in range(symbols.size)]
    found = [
        bisect_right(sums[symbol], at) for symbol, at in zip(symbols.ravel().tolist(), drawn, strict=True)
    ]
    if law.kind == "shuffled":
        found.sort()  # one for all orders
    return np.array(found, dtype=np.int64).reshape(symbols.shape)


def _sparse_vector(law: Law, numbers: Integers, sampler: Sampler) -> Integers:
    """Say which numbers pass the noisy threshold at 0, until `limit` of them did (Lyu, Su & Li 2017)."""
    if numbers.ndim != 1:
        raise ReceiptError(f"a sparse vector takes one stream of numbers; found the shape {numbers.shape}")
    threshold = sampler.laplace(np.zeros(1, dtype=np.int64), law.threshold)[0]
    passes = sampler.laplace(numbers, law.scale) >= threshold
    answered = np.cumsum(passes) - passes < law.limit
    return np.where(answered, passes.astype(np.int64), -1)


def _stable_histogram(law: Law, counts: Integers, sampler: Sampler) -> Integers:
    """Show noisy counts of cells that are not empty and then reach the threshold; the others are 0."""
    if counts.size and counts.min() < 0:
        raise ReceiptError("a histogram's counts are at least 0; found a negative one")
    inside = counts > 0
    shown = np.zeros_like(counts)
    shown[inside] = sampler.laplace(counts[inside], law.scale)
    return np.where(shown >= law.threshold, shown, 0)


# ------------------------------------------------------------------ cells that nobody listed


def draw_cells(law: Law, cells: Integers, sampler: Sampler) -> Integers:
    """Return the cells that a stable histogram shows; raises `ReceiptError` for wrong ones.

    A row holds the numbers that name a cell, and its count last: each name once, in order, so that the
    noise does not depend on the order of the data.
    """
    exact = in_range(cells)
    if law.kind != "stable-histogram" or exact.ndim != 2 or exact.shape[1] < 2:
        raise ReceiptError("a stable histogram alone takes cells: rows of a name and a count")
    if not np.array_equal(np.unique(exact[:, :-1], axis=0), exact[:, :-1]):
        raise ReceiptError("every cell is listed once, in the order of the names")
    counts = _stable_histogram(law, exact[:, -1], sampler)
    return np.column_stack([exact[:, :-1], counts])[counts > 0]


def side_by_side(*tables: Integers) -> list[Integers]:
    """Return the counts of each table of cells over all the names in them: 0 where one lacks a name."""
    names = np.concatenate([table[:, :-1] for table in tables])
    unique, places = np.unique(names, axis=0, return_inverse=True)
    ends = np.cumsum([len(table) for table in tables])[:-1]
    found = []
    for table, place in zip(tables, np.split(places.ravel(), ends), strict=True):
        counts = np.zeros(len(unique), dtype=np.int64)
        counts[place] = table[:, -1]
        found.append(counts)
    return found
