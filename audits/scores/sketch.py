"""A result with very many numbers, reduced to a few features where it is made.

The features of a pair's results are chosen on runs of both sides with the same noise (a survey), which are
used for nothing else.  They are functions of one result, so a bound for them holds for the function.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from audits.sandbox.outcomes import REDUCED, Outcome
from dpaccount.noise.samplers import Floats

Singles = NDArray[np.float32]  #: values for every entry; single precision halves the memory
WIDE_NUMBERS = 10_000  #: numbers up to which a result is not reduced
MOST_MOVED = 8  #: entries kept because they move most
MOST_UNEVEN = 4  #: entries kept because their spreads differ most
BLOCKS = 24  #: blocks of consecutive entries, of each of which a weighted sum is a feature
NEAR_MEAN = 0.1  #: standard deviations; a density of more than 1/2 there makes medians the better means
WIDTH_SEEDS = 8  #: seeds of a survey, of which one must give results of the width
LEAST_SPREAD = 1e-3  #: floor of an entry's standard deviation, as a fraction of the usual one
SHARED = (
    "the direction in which the entries move",
    "the sum of the entries",
    "the sum of squares",
    "the sum of squared standard deviations",
    "the largest entry",
    "the smallest entry",
    "the number of zeros",
    "the number of equal neighbours",
    "the number of entries that are not finite",
)
PART_NAMES = tuple(f"part {block + 1} of the direction" for block in range(BLOCKS))
KEPT_ENTRIES = range(1, 1 + MOST_MOVED + MOST_UNEVEN)  #: their places among the features
FEATURES = KEPT_ENTRIES.stop + len(SHARED) + BLOCKS
#: the movement of a pair in its features: known along the direction
DIRECTION: Floats = np.eye(FEATURES)[KEPT_ENTRIES.stop]


@dataclass(frozen=True)
class Sketch:
    """How wide results are reduced, from the mean, movement and standard deviation of every entry."""

    middle: Floats  #: in double precision: noise may be far smaller than what it is added to
    moved: Singles
    spread: Singles
    entries: NDArray[np.int64]  #: that are kept as they are
    peaked: bool = False  #: whether medians show more than means, as of Laplace noise

    def of(self, outcome: Outcome) -> Outcome:
        """Return the outcome with its features in place of its numbers."""
        numbers, ends = outcome.numbers, np.linspace(0, len(self.moved), BLOCKS + 1).astype(int)
        with np.errstate(all="ignore"):
            blocks = np.array([self._block(numbers, slice(*each)) for each in pairwise(ends)])
        totals = np.concatenate([blocks[:, :4].sum(axis=0), [blocks[:, 4].max(), blocks[:, 5].min()]])
        counts = blocks[:, 6:].sum(axis=0)
        width = [float(len(numbers))]
        features = np.concatenate([width, numbers[self.entries], totals, counts, blocks[:, 0]])
        kept = [outcome.names[k] if k < len(outcome.names) else f"entry {k}" for k in self.entries.tolist()]
        return replace(outcome, numbers=features, names=(REDUCED, *kept, *SHARED, *PART_NAMES))

    def _block(self, numbers: Floats, part: slice) -> list[float]:
        """Return what a block of entries adds to the features that all entries share."""
        middle, moved, spread = self.middle[part], self.moved[part], self.spread[part]
        known = np.isfinite(numbers[part])
        x = np.where(known, numbers[part], middle)
        off, near = x - middle, np.abs(moved) / 2
        # the log-likelihood ratio of Laplace or of Gaussian noise, up to scale
        ratio = np.clip(off, -near, near) * np.sign(moved) if self.peaked else off * (moved / spread)
        return [
            float((ratio / spread).sum()),
            float(x.sum()),
            float(np.square(x).sum()),
            float(np.square(off / spread).sum()),
            float(x.max()),
            float(x.min()),
            float(np.count_nonzero(x == 0)),
            float(np.count_nonzero(x[1:] == x[:-1])),
            float(np.count_nonzero(~known)),
        ]


@lru_cache(maxsize=2)
def unguided(width: int) -> Sketch:
    """Return a sketch that depends on no runs: sums with random signs, and entries at equal distances."""
    signs = np.random.default_rng(width).choice(np.array([-1, 1], dtype=np.float32), width)
    ones = np.ones(width, dtype=np.float32)
    entries = np.linspace(0, width - 1, len(KEPT_ENTRIES)).astype(np.int64)
    return Sketch(np.zeros(width), signs, ones, entries)


class _StreamedMoments:
    """Mean and variance of every entry of one side's runs, as deviations from the first of them."""

    def __init__(self, first: Floats) -> None:
        self.first, self.sum, self.squares = first, np.zeros(len(first)), np.zeros(len(first))

    def add(self, numbers: Floats) -> None:
        off = numbers - self.first
        self.sum += off
        self.squares += np.square(off, out=off)

    def variance(self, runs: int) -> Floats:
        return np.maximum(self.squares - self.sum * self.sum / runs, 0.0) / (runs - 1)


def surveyed(run: Callable[[int, int], Outcome], seeds: int, width: int) -> Sketch:
    """Return the sketch for a pair from `run(side, seed)`, which has the same noise on both sides.

    Without two seeds for which both results have `width` numbers: the sketch that depends on no runs.
    """
    sides: list[_StreamedMoments] = []
    runs, last = 0, np.zeros(0)
    for seed in range(seeds):
        if seed == WIDTH_SEEDS and not runs:
            break  # widths vary: a survey of each would take most of the time
        both = [run(side, seed).numbers for side in (0, 1)]
        if {len(numbers) for numbers in both} != {width}:
            continue
        sides = sides or [_StreamedMoments(numbers) for numbers in both]
        runs, last = runs + 1, both[0]
        with np.errstate(all="ignore"):
            for side, numbers in zip(sides, both, strict=True):
                side.add(numbers)
    if runs < 2:
        return unguided(width)
    left, right = sides
    with np.errstate(all="ignore"):
        middle = (left.first + right.first + (left.sum + right.sum) / runs) / 2
        moved = np.nan_to_num(left.first - right.first + (left.sum - right.sum) / runs, posinf=0, neginf=0)
        one, other = left.variance(runs), right.variance(runs)
        spread = np.nan_to_num(np.sqrt((one + other) / 2), posinf=0)
        far = np.nan_to_num(np.abs(moved) / spread, nan=0.0)
        uneven = np.nan_to_num(np.abs(np.log(one) - np.log(other)), nan=0.0)
        near = np.abs(last - left.first - left.sum / runs) < NEAR_MEAN * spread
    some = spread > 0
    usual, peak = (float(np.median(spread[some])), float(near[some].mean())) if some.any() else (1.0, 0.0)
    most = np.argsort(-far, kind="stable")[:MOST_MOVED]
    uneven[most] = -1.0
    entries = np.concatenate([most, np.argsort(-uneven, kind="stable")[:MOST_UNEVEN]])
    singles = [part.astype(np.float32) for part in (moved, np.maximum(spread, LEAST_SPREAD * usual))]
    middle = np.nan_to_num(middle, posinf=0, neginf=0)
    return Sketch(middle, singles[0], singles[1], entries, peaked=peak > NEAR_MEAN)
