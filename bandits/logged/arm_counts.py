"""Sums and counts by arm and cell of a logged trial: what one record adds, and the noise that covers it.

A record adds (2y − 1, 1) to the sum and the count of its arm and cell, or a 1 to the number of those of
its arm that were passed over, or nothing.  Replacing one moves the whole by at most 2 in ℓ2 norm: a reward
turned by (2), an arm changed by (1, 1, 1, 1), a record passed over by (1, 1, 1).  So sums and
counts cost no more noise than sums alone.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from bandits.statistics.arrays import Floats
from dpaccount.errors import InputError, RuleError, out_of_range
from dpaccount.noise.samplers import Integers, exact_root
from dpaccount.numerics.bisection import bisect_ratio, least_integer
from dpaccount.proof import (
    REPLACE_ONE,
    Theorem,
    assume_points,
    differences,
    fine_gaussian,
    lattice_gaussian,
    linear,
    point,
    to_approximate,
    to_zcdp,
)
from dpaccount.proof.search import approximate
from mechanisms.shared import gaussian_noise

MOST_CELLS: Final = 64  #: maximum of arms times cells, whose shifts a proof lists
MOST_STEPS, ROOM = 16, 128  #: of a reward that is a number; times arms times cells
GRID_PER_STEP: Final = 2**16  #: grid steps in a step of such a reward
SIGMA_BITS: Final = 5  #: scales are multiples of 1/32, which samplers take exactly
LEAST_SIGMA, MOST_SIGMA = Fraction(1), 2**20  #: minimum noise, for any ε
MAX_EXACT_SIGMA: Final = 150  #: above this, the exact curve of integer noise takes long


@dataclass(frozen=True)
class ArmCounts:
    """The statistic of `arms` arms in `cells` cells; rewards are 0, 1/`steps`, …, 1.

    With `passed` it also counts, by arm, the records that were passed over.  A reward that is true or
    false has one step and exact noise on the integers; more steps are on a finer grid.
    """

    arms: int
    cells: int = 1
    steps: int = 1
    passed: bool = False
    relation: str = REPLACE_ONE

    def __post_init__(self) -> None:
        """Refuse parameters whose proof would be too long."""
        if min(self.arms, self.cells, self.steps) < 1:
            raise out_of_range("at least one arm, one cell and one step")
        if self.places > MOST_CELLS:
            raise InputError(
                f"{self.arms} arms in {self.cells} cells",
                f"at most {MOST_CELLS} of both together have a proof",
            )
        if self.steps > 1 and self.steps * self.places > ROOM:
            raise InputError(
                f"{self.steps} steps", f"take {most_steps(self.places)} for this many arms and cells"
            )

    @property
    def places(self) -> int:
        """Return the number of pairs of arm and cell; arm a of cell c is at index c·arms + a."""
        return self.arms * self.cells

    @property
    def unit(self) -> int:
        """Return the number of integer units in 1 of the released statistic."""
        return 1 if self.steps == 1 else self.steps * GRID_PER_STEP

    @property
    def size(self) -> int:
        """Return how many numbers a release has: sums, counts, then the passed over if they are counted."""
        return 2 * self.places + self.arms * self.passed

    # ------------------------------------------------------------------ proof

    def points(self) -> list[tuple[int, ...]]:
        """Return every possible contribution of a record, in integer units."""
        points, size, unit = [(0,) * self.size], self.places, self.unit
        for place in range(size):
            for step in range(self.steps + 1):
                vector = [0] * self.size
                vector[place], vector[size + place] = (2 * step - self.steps) * unit // self.steps, unit
                points.append(tuple(vector))
        passed = range(2 * size, self.size)
        return points + [tuple(unit * (place == arm) for place in range(self.size)) for arm in passed]

    def leaf(self, sigma: Fraction, key: str) -> Theorem:
        """Return the theorem of one release, noise of deviation `sigma`; its query is named like its key."""
        moves, wide = _moves(self, key), sigma * self.unit
        # Noise on the integers has an exact curve, but on a fine grid that sum has too many terms; there the
        # Gaussian curve, with the distance of the grid from it, is nearly as good.
        if self.steps == 1:
            return lattice_gaussian(moves, sigma**2, key)
        far = gaussian_noise.distance(wide, Fraction(1), self.size)
        return fine_gaussian(moves, wide**2, Fraction(1), self.size, far, key)

    def check_sigma(self, sigma: Fraction) -> None:
        """Refuse a scale that samplers do not take exactly, or that is out of range."""
        if not Fraction(1, 1000) <= sigma <= MOST_SIGMA:
            raise InputError(f"sigma is {float(sigma):.6g}", f"it lies in 0.001 ... {MOST_SIGMA}")
        if exact_root((sigma * self.unit) ** 2) is None:
            raise InputError(f"sigma {sigma} is no double", "round it up, to a multiple of 1/32 say")

    # ------------------------------------------------------------------ data

    def rounded(self, rewards: Floats, coins: Floats) -> Integers:
        """Return rewards in [0, 1] as whole steps, each rounded by a coin: right on average.

        `coins` are uniform in [0, 1), one for each record.  A reward that is true or false is whole.
        """
        if self.steps == 1:
            return (rewards >= 1).astype(np.int64)
        scaled = np.clip(rewards, 0.0, 1.0) * self.steps
        low = np.floor(scaled)
        return (low + (coins < scaled - low)).astype(np.int64)

    def totals(self, cell: Integers, arm: Integers, reward: Integers, passed: Integers | None) -> Integers:
        """Return the exact sums of the records that count, in integer units.

        `cell`, `arm` and `reward` (in steps) are those of the records that add to sums and counts;
        `passed` has the arms of those that were passed over.
        """
        place = cell * self.arms + arm
        ups = np.bincount(place, reward, minlength=self.places).astype(np.int64)  # exact: below 2^53
        counts = np.bincount(place, minlength=self.places).astype(np.int64)
        each = self.unit // self.steps
        parts = [(2 * ups - self.steps * counts) * each, counts * self.unit]
        if passed is not None:
            parts.append(np.bincount(passed, minlength=self.arms).astype(np.int64) * self.unit)
        return np.concatenate(parts)

    def parts(self, released: Integers) -> tuple[Floats, Floats, Floats]:
        """Return (sums, counts, passed over) in records: [..., cells, arms] twice, then [..., arms]."""
        plain, size = released / self.unit, self.places
        shape = (*released.shape[:-1], self.cells, self.arms)
        sums, counts = plain[..., :size].reshape(shape), plain[..., size : 2 * size].reshape(shape)
        return sums, counts, plain[..., 2 * size :]


def most_steps(places: int) -> int:
    """Return the number of steps of a numeric reward: fewer for many arms and cells."""
    power = (ROOM // places).bit_length() - 1
    return max(2, min(MOST_STEPS, 1 << max(power, 0)))


@lru_cache(maxsize=16)
def _moves(counts: ArmCounts, query: str) -> Theorem:
    contribution = assume_points(query, counts.points(), counts.relation, "movement")
    return differences(contribution) if counts.steps == 1 else linear(contribution)


@lru_cache(maxsize=64)
def least_sigma(counts: ArmCounts, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the least multiple of 1/32, from 1 on, whose proof meets (`epsilon`, `delta`).

    Raises `InputError` if no scale is proved to meet it.
    """
    if epsilon <= 0 or not 0 < delta < 1:
        raise InputError("Gaussian noise has no pure epsilon", "needed epsilon > 0 and 0 < delta < 1")
    parts = 2**SIGMA_BITS

    def enough(numerator: int) -> bool:
        leaf = counts.leaf(Fraction(max(numerator, 1), parts), "arm-sums")
        return numerator >= LEAST_SIGMA * parts and _meets(
            leaf, epsilon, delta, exactly=counts.steps == 1 and numerator <= MAX_EXACT_SIGMA * parts
        )

    # A proof takes long, so the search starts from the noise that would do without rounding, mostly a few
    # steps away.
    high = max(int(LEAST_SIGMA * parts), math.ceil(_continuous(float(epsilon), float(delta)) * parts))
    step = 1
    while not enough(high):
        high, step = high + step, 2 * step
        if high > MOST_SIGMA * parts:
            raise InputError(
                f"no noise is proved to meet epsilon = {float(epsilon)}, delta = {float(delta):.3g}"
            )
    low, step = high - 1, 1
    while enough(low):
        high, low, step = low, low - step, 2 * step
    return Fraction(least_integer(enough, low, high), parts)


def _continuous(epsilon: float, delta: float) -> float:
    """Return the approximate deviation of continuous noise for sensitivity 2, to start the search.

    δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), μ = 2/σ (Balle & Wang 2018).
    """

    def spent(sigma: float) -> float:
        mu = 2 / sigma
        near, far = ((epsilon / mu + side * mu / 2) / math.sqrt(2) for side in (-1, 1))
        return (math.erfc(near) - math.exp(min(epsilon, 700.0)) * math.erfc(far)) / 2

    return bisect_ratio(lambda sigma: spent(sigma) <= delta, 1e-3, float(MOST_SIGMA), 60)[1]


def _meets(leaf: Theorem, epsilon: Fraction, delta: Fraction, *, exactly: bool) -> bool:
    """Return whether the final proof meets (ε, δ), by the exact curve or a quicker bound.

    Quick are nearly Gaussian curves, and zCDP in place of a long exact one: it proves no less in the end.
    """
    try:
        if not exactly:
            quick = leaf if leaf.rule == "fine_gaussian" else to_zcdp(leaf)
            return point(approximate(quick, delta))[0] <= epsilon
        to_approximate(leaf, epsilon, delta)
    except RuleError:
        return False
    return True
