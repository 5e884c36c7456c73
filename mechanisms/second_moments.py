"""Means and covariances of several columns, and the least-squares line through the last, from one release."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from dpaccount.noise.laws import double_up
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, root_up
from dpaccount.proof import REPLACE_ONE, Theorem, assume_rank_one, joint
from mechanisms.shared import accuracy, grid, tails
from mechanisms.shared.gaussian_noise import gaussian, unchanged
from mechanisms.subject import EXAMPLE, Domain, Rows, View, shown
from mechanisms.symmetric_gaussian import BITS, STEP

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SecondMoments:
    """Release the means and covariances of `columns` numbers, each clipped to [low, high], of `rows` rows.

    Numbers are centred and scaled to z in [−1, 1] (NaN is the middle), and φ = z/√columns.  The upper
    triangle of Σφφᵀ and Σφ get Gaussian noise of deviation `sigma` each, as one vector: its joint
    sensitivity is less than that of both.  All else is post-processing: covariances of the rows at hand
    (divided by their number), which need not be positive, and with `ridge` above 0 the coefficients of the
    last column on the others by least squares on standardised columns: `ridge` is added to the variances
    of z.  Columns with other bounds are scaled to these first.
    """

    source: ClassVar[str] = "Dwork, Talwar, Thakurta & Zhang 2014; the joint sensitivity with means is ours"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "numbers"
    relation: ClassVar[str] = REPLACE_ONE

    sigma: Fraction = Fraction(8)
    low: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(0)})
    high: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(1)})
    columns: int = 3
    ridge: Fraction = Fraction(1, 10)
    rows: int = 100

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense."""
        if self.low >= self.high or self.sigma <= 0 or min(self.rows, self.columns) < 1 or self.ridge < 0:
            raise InputError("needed low < high, sigma > 0, ridge >= 0, rows >= 1 and columns >= 1")
        if self.rows * 4 + 32 * self.sigma >= 2**30:
            raise InputError("the sums would outgrow 64 bits; use fewer rows or less noise")

    @property
    def _half(self) -> float:
        return float(self.high - self.low) / 2

    @property
    def _middle(self) -> float:
        return float(self.low + self.high) / 2

    def domain(self) -> Domain:
        """Return columns that reach beyond the interval, so that clipping is exercised."""
        low, high, size = self._middle - 4 * self._half, self._middle + 4 * self._half, self.columns
        missing = (self._middle,) * size
        return Domain(self.rows, (low,) * size, (high,) * size, (False,) * size, missing)

    def query(self, data: Rows) -> Integers:
        """Return the exact upper triangle of Σφφᵀ and Σφ, as one vector in units of `STEP`."""
        limited = np.clip(np.nan_to_num(data, nan=self._middle), float(self.low), float(self.high))
        z = np.clip((limited - self._middle) / self._half, -1, 1)
        phi = grid.in_ball(z / np.sqrt(self.columns), Fraction(1), BITS)
        upper = (phi.T @ phi)[np.triu_indices(self.columns)]
        return np.concatenate([upper, phi.sum(axis=0) << BITS])

    def proof(self, delta: Fraction) -> Theorem:
        """Moments of rank one, of φ and a reward that is 1 for everyone, as one vector."""
        person = assume_rank_one("moments", Fraction(1), self.relation, "movement")
        query = joint(person, Fraction(1))
        noisy = gaussian(query, self.sigma, STEP, self._numbers, "moments", delta, unchanged)
        return shown(noisy, "second-moments")

    @property
    def _numbers(self) -> int:
        return self.columns * (self.columns + 3) // 2

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the noisy moments; show them as means, and what follows, in the data's own units."""
        released = noise.noisy("moments", 0, self.query(data)) * float(STEP) / self.rows
        corner, size = len(released) - self.columns, self.columns
        squares = np.zeros((size, size))
        squares[np.triu_indices(size)] = released[:corner] * size
        squares += np.triu(squares, 1).T
        z = released[corner:] * np.sqrt(size)
        covariance = squares - np.outer(z, z)
        found = {"squares": squares, "means": self._middle + self._half * z}
        found["covariances"] = covariance * self._half**2
        if self.ridge and size > 1:
            found["coefficients"] = self._coefficients(covariance, z)
        return View(public=found)

    def _coefficients(self, covariance: Floats, z: Floats) -> Floats:
        """Return the slopes and the last, the intercept, of the last column on the others; they are finite.

        Negative eigenvalues, which are noise, are cut off first.
        """
        values, vectors = np.linalg.eigh(covariance)
        cut = (vectors * np.maximum(values, 0)) @ vectors.T
        ridged = cut[:-1, :-1] + float(self.ridge) * np.eye(self.columns - 1)
        slopes = np.linalg.solve(ridged, cut[:-1, -1])
        at = self._middle + self._half * z
        return np.append(slopes, at[-1] - slopes @ at[:-1])

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of all second moments (of z), means and covariances at once.

        Coefficients have none: how far noise moves them depends on how close to each other columns are.
        """
        alpha, size = tails.missed(level) / self._numbers, self.columns
        steps = tails.gaussian(root_up((self.sigma / STEP) ** 2), alpha)
        each = double_up(steps * STEP / self.rows)
        square, reach = each * size, each * np.sqrt(size) * (1 + 2.0**-40)
        z = (view.public["means"].astype(float) - self._middle) / self._half
        ends = z - reach, z + reach
        products = np.array([np.outer(a, b) for a in ends for b in ends])
        most = products.max(axis=0)
        least = np.where(np.eye(size, dtype=bool) & (np.abs(z) <= reach), 0.0, products.min(axis=0))
        squares, scale = view.public["squares"].astype(float), self._half**2
        low, high = (squares - square - most) * scale, (squares + square - least) * scale
        means, of = view.public["means"], "the {} of clipped numbers"
        return {
            "squares": accuracy.around(squares, square, level, "the mean products of scaled numbers"),
            "means": accuracy.around(means, self._half * reach, level, of.format("means")),
            "covariances": accuracy.outwards(low, high, level, of.format("covariances")),
        }
