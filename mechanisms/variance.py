"""Mean, variance and standard deviation of clipped numbers, from noisy sums of numbers and of squares."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Floats, Integers
from dpaccount.proof import REPLACE_ONE, Theorem, assume_points, linear
from dpaccount.relation import adjacency
from mechanisms.shared import accuracy, confidence, grid
from mechanisms.shared.gaussian_noise import gaussian, unchanged
from mechanisms.subject import EXAMPLE, Additive, Domain, Rows, View, known_relation, shown

GRID_UNIT = 10  #: units of the sum of z, so that the weights below are integers
MAX_STEPS = 127  #: proofs list 2·steps + 1 places: 255, of 256 that the checker reads
SQUARE, COUNT = 16, 5  #: 1.6·(z² − ½) and ½ next to z


@dataclass(frozen=True)
class Variance(Additive):
    """Release the mean, variance and standard deviation of `rows` numbers clipped to [low, high].

    A number becomes one of 2·`steps` + 1 equally spaced places of the interval, the nearest, z from −1 to 1
    (NaN the middle).  Σz and 1.6·Σ(z² − ½) get Gaussian noise of deviation `sigma`, as one vector; under
    add-remove also half of the number of rows.  Two places are at most 2 apart in both together, as they
    are in z alone, so that squares cost nothing more.  The rest is post-processing: the variance is that
    of the rows at hand (divided by their number), clipped to what it may be.
    """

    source: ClassVar[str] = "Canonne, Kamath & Steinke 2020 (the noise); the joint sensitivity is ours"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "number"

    sigma: Fraction = Fraction(8)
    low: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(0)})
    high: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(1)})
    steps: int = 64
    rows: int = 100
    relation: str = REPLACE_ONE

    def __post_init__(self) -> None:
        known_relation(self.relation)
        if self.low >= self.high or self.sigma <= 0 or self.rows < 1:
            raise out_of_range("low < high, sigma > 0 and rows >= 1")
        grid.spanned(self.low, self.high)
        if not 1 <= self.steps <= MAX_STEPS:
            raise InputError(f"steps is {self.steps}", f"needed 1 ... {MAX_STEPS}")
        if (self.rows + 16 * self.sigma) * self.whole >= 2**61:
            raise InputError("the sums would outgrow 64 bits", "use fewer rows or less noise")

    @property
    def whole(self) -> int:
        """Return the number of the query's units in 1 of z."""
        return GRID_UNIT * self.steps**2

    @property
    def _half(self) -> float:
        return float(self.high - self.low) / 2

    @property
    def _middle(self) -> float:
        return float(self.low + self.high) / 2

    def domain(self) -> Domain:
        """Return one column; values beyond the interval are clipped, so the domain reaches beyond it."""
        low, high = self._middle - 4 * self._half, self._middle + 4 * self._half
        return Domain(self.rows, (low,), (high,), (False,), missing=(self._middle,))

    def places(self, data: Rows) -> Integers:
        """Return everyone's place, from −`steps` for `low` to `steps` for `high`."""
        limited = np.clip(np.nan_to_num(data[:, 0], nan=self._middle), float(self.low), float(self.high))
        unit = np.clip((limited - self._middle) / self._half, -1, 1)
        return np.rint(unit * self.steps).astype(np.int64)

    def vectors(self, places: Integers) -> Integers:
        """Return the contributions of rows at these places, one row each."""
        squares = SQUARE * places**2 - SQUARE // 2 * self.steps**2
        columns = [GRID_UNIT * self.steps * places, squares, np.full_like(places, COUNT * self.steps**2)]
        return np.stack(columns[: self.numbers], axis=1)

    @property
    def numbers(self) -> int:
        """Return how many numbers get noise, including the count if it is private."""
        return 3 if adjacency(self.relation).rows_vary else 2  # dpaccount: never, the relation alone decides

    @property
    def largest(self) -> int:
        """Return the largest magnitude that a row adds to a total, in the units of the noise."""
        return int(np.abs(self.vectors(np.arange(-self.steps, self.steps + 1))).max())

    def query(self, data: Rows) -> Integers:
        """Return the exact sums."""
        return self.vectors(self.places(data)).sum(axis=0)

    def proof(self, delta: Fraction) -> Theorem:
        """List a row's possible contributions; noise by the better of two Gaussian rules."""
        points = self.vectors(np.arange(-self.steps, self.steps + 1)).tolist()
        # Every place is listed, so that the proof sees numbers and squares move together.
        row = assume_points("sums", [tuple(point) for point in points], self.relation, "movement")
        scale = self.sigma * self.whole
        noisy = gaussian(linear(row), scale, Fraction(1), self.numbers, "sums", delta, unchanged)
        return shown(noisy, "variance")

    def publish(self, totals: Integers, noise: Noise) -> View:
        """Release the noisy sums; show them in units of z, 1.6·(z² − ½) and ½, and what follows from them."""
        sums = noise.noisy("sums", 0, totals) / self.whole
        count = self._count(sums)
        mean = float(np.clip(sums[0] / count, -1, 1))
        square = float(np.clip(sums[1] / count * GRID_UNIT / SQUARE + 0.5, 0, 1))
        spread, mean = max(square - mean**2, 0.0) * self._half**2, self._middle + self._half * mean
        values = {"mean": mean, "variance": spread, "deviation": math.sqrt(spread)}
        return View(public={name: np.array([value]) for name, value in values.items()} | {"sums": sums})

    def _count(self, sums: Floats) -> float:
        if self.numbers == 2:  # dpaccount: never, the relation alone decides
            return float(self.rows)
        return float(max(sums[2] * GRID_UNIT / COUNT, 1))

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of the sums, and those of what follows from them by interval arithmetic."""
        sums, alpha = view.public["sums"].astype(float), confidence.missed(level) / self.numbers
        reach = accuracy.reach("gaussian", self.sigma, Fraction(1, self.whole), alpha)
        counts = [self._count(sums + np.array([0, 0, way * reach])[: self.numbers]) for way in (-1, 1)]
        means, squares = (
            np.array(accuracy.quotient(total - reach, total + reach, *counts)) for total in sums[:2]
        )
        mean, square = np.clip(means, -1, 1), np.clip(squares * GRID_UNIT / SQUARE + 0.5, 0, 1)
        nearest = 0.0 if mean[0] <= 0 <= mean[1] else float(np.abs(mean).min())
        least = max(square[0] - float(np.abs(mean).max()) ** 2, 0.0)
        spread = np.array([least, max(square[1] - nearest**2, 0.0)]) * self._half**2
        ends = {"mean": self._middle + self._half * mean, "variance": spread, "deviation": np.sqrt(spread)}
        of = "the {} of the numbers at their places"
        least = {"mean": float(self.low)}
        intervals: dict[str, object] = {
            name: accuracy.outwards(each[:1], each[1:], level, of.format(name), least.get(name, 0.0))
            for name, each in ends.items()
        }
        return intervals | {"sums": accuracy.around(sums, reach, level, of.format("sums"))}
