"""Means and covariances of several columns, and a linear regression of the last one."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Floats, Integers
from dpaccount.proof import REPLACE_ONE, Theorem, assume_ball, assume_rank_one, joint, linear
from dpaccount.relation import adjacency
from mechanisms.shared import accuracy, confidence, grid
from mechanisms.shared.gaussian_noise import gaussian, unchanged
from mechanisms.subject import EXAMPLE, Additive, Domain, Rows, View, known_relation, shown
from mechanisms.symmetric_gaussian import FEATURE_BITS, STEP

MAX_NORM = Fraction(3, 2)  #: of (φφᵀ above the diagonal and on it, φ, ½): 1 + 1 + ¼ = (3/2)²


@dataclass(frozen=True)
class SecondMoments(Additive):
    """Release the means and covariances of `columns` numbers, each clipped to its interval, of `rows` rows.

    Intervals are [low, high], or one for each column: `bounds` such as "18 100; 0 250000".  Numbers are
    centred and scaled to z in [−1, 1] (NaN is the middle), and φ = z/√columns.  The upper triangle of Σφφᵀ
    and Σφ get Gaussian noise of deviation `sigma` each, as one vector, whose joint sensitivity is less
    than that of both; under add-remove half the number of rows too.  All else is post-processing:
    covariances of the rows at hand (divided by their number), which need not be positive, and with `ridge`
    above 0 the coefficients of the last column on the others by least squares on the z, `ridge` added to
    their variances.
    """

    source: ClassVar[str] = "Dwork, Talwar, Thakurta & Zhang 2014; the joint sensitivity with means is ours"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "numbers"
    per_row: ClassVar[bool] = True

    sigma: Fraction = Fraction(8)
    low: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(0)})
    high: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(1)})
    bounds: str = ""
    columns: int = 3
    ridge: Fraction = Fraction(1, 10)
    rows: int = 100
    relation: str = REPLACE_ONE

    def __post_init__(self) -> None:
        known_relation(self.relation)
        if self.low >= self.high or self.sigma <= 0 or min(self.rows, self.columns) < 1 or self.ridge < 0:
            raise out_of_range("low < high, sigma > 0, ridge >= 0, rows >= 1 and columns >= 1")
        if self.rows * 4 + 32 * self.sigma >= 2**30:
            raise InputError("the sums would outgrow 64 bits", "use fewer rows or less noise")
        if len(self.ends) != self.columns or any(low >= high for low, high in self.ends):
            raise InputError(
                f"bounds is {self.bounds!r}", f"needed {self.columns} intervals, low before high"
            )
        for low, high in self.ends:
            grid.spanned(low, high)

    @cached_property
    def ends(self) -> list[tuple[Fraction, Fraction]]:
        """Return every column's interval; raises `InputError` if `bounds` cannot be parsed."""
        if not self.bounds:
            return [(self.low, self.high)] * self.columns
        try:
            pairs = [tuple(map(Fraction, pair.split())) for pair in self.bounds.split(";")]
            return [(low, high) for low, high in pairs]
        except (ValueError, ZeroDivisionError):  # dpaccount: never, the field alone decides
            raise InputError(f"bounds is {self.bounds!r}", 'write pairs such as "0 1; -5 5"') from None

    @property
    def _middle(self) -> Floats:
        return np.array([float(low + high) / 2 for low, high in self.ends])

    @property
    def _half(self) -> Floats:
        return np.array([float(high - low) / 2 for low, high in self.ends])

    @property
    def _numbers(self) -> int:
        return self.columns * (self.columns + 3) // 2 + (adjacency(self.relation).rows_vary)

    def domain(self) -> Domain:
        """Return columns that reach beyond their intervals, so that clipping is exercised."""
        middle, reach = self._middle, 4 * self._half
        low, high = tuple((middle - reach).tolist()), tuple((middle + reach).tolist())
        return Domain(self.rows, low, high, (False,) * self.columns, tuple(middle.tolist()))

    @property
    def largest(self) -> int:
        """Return the largest magnitude that a row adds to a total, in the units of the noise."""
        return grid.most(Fraction(1), 2 * FEATURE_BITS)

    def query(self, data: Rows) -> Integers:
        """Return the exact upper triangle of Σφφᵀ and Σφ, as one vector in units of `STEP`.

        Under add-remove half the number of rows comes last.
        """
        middle, half = self._middle, self._half
        limited = np.clip(np.where(np.isnan(data), middle, data), middle - half, middle + half)
        z = np.clip((limited - middle) / half, -1, 1)
        phi = grid.in_ball(z / np.sqrt(self.columns), Fraction(1), FEATURE_BITS)
        upper = (phi.T @ phi)[np.triu_indices(self.columns)]
        count = [len(data) << 2 * FEATURE_BITS - 1] * (adjacency(self.relation).rows_vary)
        return np.concatenate([upper, phi.sum(axis=0) << FEATURE_BITS, np.array(count, dtype=np.int64)])

    def proof(self, delta: Fraction) -> Theorem:
        """Moments of rank one, of φ and a reward that is 1 for everyone, as one vector; or a ball."""
        if self.relation == REPLACE_ONE:
            # The mean is the moment of φ with a reward of 1: the rule for rank one bounds both together.
            person = assume_rank_one("moments", Fraction(1), self.relation, "movement")
            query = joint(person, Fraction(1))
        else:
            query = linear(assume_ball("moments", MAX_NORM, self.relation, "movement"))
        noisy = gaussian(query, self.sigma, STEP, self._numbers, "moments", delta, unchanged)
        return shown(noisy, "second-moments")

    def publish(self, totals: Integers, noise: Noise) -> View:
        """Release the noisy moments; show what they are a row, and what follows, in the data's own units."""
        sums = noise.noisy("moments", 0, totals) * float(STEP)
        size, corner = self.columns, self.columns * (self.columns + 1) // 2
        count = float(self.rows)
        if adjacency(self.relation).rows_vary:  # dpaccount: never, the relation alone decides
            count = max(2 * sums[-1], 1.0)
        upper = np.zeros((size, size))
        upper[np.triu_indices(size)] = sums[:corner] * size / count
        squares, z = upper + np.triu(upper, 1).T, sums[corner : corner + size] * np.sqrt(size) / count
        covariance, half = squares - np.outer(z, z), self._half
        public = {"count": np.array([count]), "squares": squares, "means": self._middle + half * z}
        public["covariances"] = covariance * np.outer(half, half)
        if self.ridge and size > 1:  # dpaccount: never, the fields alone decide
            public["coefficients"] = self._coefficients(covariance, public["means"])
        return View(public=public)

    def _coefficients(self, covariance: Floats, means: Floats) -> Floats:
        """Return the slopes and, last, the intercept of the last column on the others, all finite.

        Negative eigenvalues, which are due to noise, are clipped first.
        """
        values, vectors = np.linalg.eigh(covariance)
        cut = (vectors * np.maximum(values, 0)) @ vectors.T
        ridged = cut[:-1, :-1] + float(self.ridge) * np.eye(self.columns - 1)
        slopes = np.linalg.solve(ridged, cut[:-1, -1]) * self._half[-1] / self._half[:-1]
        return np.append(slopes, means[-1] - slopes @ means[:-1])

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of all second moments (of z), means and covariances at once.

        Coefficients have none: how far noise moves them depends on how close to each other columns are.
        """
        alpha, size, half = confidence.missed(level) / self._numbers, self.columns, self._half
        each = accuracy.reach("gaussian", self.sigma, STEP, alpha) * (1 + 2.0**-40)
        count = float(view.public["count"][0])
        off = 2 * each if adjacency(self.relation).rows_vary else 0.0
        counts = max(count - off, 1.0), max(count + off, 1.0)
        sums = view.public["squares"].astype(float) * count
        squares = accuracy.quotient(sums - each * size, sums + each * size, *counts)
        z = (view.public["means"].astype(float) - self._middle) / half
        lost = (np.abs(self._middle) / half + 1) * 2.0**-51  # of z, where means are far larger than intervals
        wide = each * np.sqrt(size) + lost * count
        means = accuracy.quotient(z * count - wide, z * count + wide, *counts)
        least, most = _products(*means)
        scale = np.outer(half, half)
        low, high = (squares[0] - most) * scale, (squares[1] - least) * scale
        below, above = (self._middle + half * end for end in means)
        return {
            "squares": accuracy.outwards(*squares, level, "the mean products of scaled numbers"),
            "means": accuracy.outwards(below, above, level, "the means of clipped numbers"),
            "covariances": accuracy.outwards(low, high, level, "the covariances of clipped numbers"),
        }


def _products(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the ends of all products of two of these numbers; a square is at least 0."""
    products = np.array([np.outer(a, b) for a in (low, high) for b in (low, high)])
    least = products.min(axis=0)
    np.fill_diagonal(least, np.where((low <= 0) & (high >= 0), 0.0, least.diagonal()))
    return least, products.max(axis=0)
