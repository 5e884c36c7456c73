"""Planted: rows released one by one, as papers and hurried authors do it.

Each `loses` a hypothesis of its proof.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from dpaccount.proof import assume_lipschitz, k_norm
from mechanisms.gaussian_rows import GaussianRows
from mechanisms.k_norm import KNorm
from mechanisms.shared import grid, moved_rows
from mechanisms.shared.gaussian_noise import gaussian
from mechanisms.subject import View, shown, shown_to_all


@dataclass(frozen=True)
class GaussianRowsBranchesOnTheSpectrum(GaussianRows):
    """Lifts all rows where the smallest singular value of the data is below a threshold, else none."""

    loses = "assume_tree"

    def query(self, data):
        rows = super().query(data)
        centred = rows - rows.mean(axis=0)
        flat = np.linalg.svd(centred, compute_uv=False)[-1] < float(self.radius) * 2**self.bits / 2
        return rows + (2**self.bits if flat else 0)


@dataclass(frozen=True)
class GaussianRowsThroughAMap(GaussianRows):
    """Multiplies by a random matrix before the noise, and calibrates as if it had not."""

    loses = "assume_lipschitz"

    def query(self, data):
        mix = np.random.default_rng(1).standard_normal((self.columns, self.columns))
        return np.trunc(super().query(data) @ mix).astype(np.int64)


@dataclass(frozen=True)
class KNormCentresByTheTrueMean(KNorm):
    """Subtracts the mean of the rows without noise from the noisy rows: it says where all others are."""

    loses = "assume_view"

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        mean = self.query(data).mean(axis=0) * float(grid.step(self.bits))
        return View(public={"rows": view.public["rows"] - mean})


@dataclass(frozen=True)
class KNormCentresFirst(KNorm):
    """Centres the rows before row-wise K-norm noise, at the cost of one row: the mean moves all rows."""

    loses = "assume_tree"

    def query(self, data):
        rows = super().query(data)
        return rows - np.rint(rows.mean(axis=0)).astype(np.int64)


@dataclass(frozen=True)
class KNormOfAnotherDimension(KNorm):
    """Counts the grid as if a row were one number: near rows of several jump further than that."""

    loses = "assume_lipschitz"
    unit: Fraction = Fraction(1)
    columns: int = 6

    def proof_at(self, unit, delta):
        points = moved_rows.follows("rows", self.radius, 1, self.bits)
        query, bound = moved_rows.bound_on(points, unit)
        pure = k_norm(query, self.rate, bound, grid.step(self.bits), moved_rows.KEY)
        return shown_to_all(moved_rows.each(pure, self.rows), "k-norm", delta)


@dataclass(frozen=True)
class GaussianRowsNoisedAtEachRequest(GaussianRows):
    """Draws the first row anew when it is asked for again."""

    loses = "assume_tree"

    def play(self, data, noise, coins):
        view, again = super().play(data, noise, coins), self.query(data)[0]
        return View(public={**view.public, "again": noise.noisy(moved_rows.KEY, (1, 0), again)})


@dataclass(frozen=True)
class GaussianRowsOfTheirOwnNorm(GaussianRows):
    """Divides by the longest row of the data, which no public constant bounds."""

    loses = "assume_tree"

    def query(self, data):
        longest = max(float(np.linalg.norm(np.nan_to_num(data), axis=1).max()), 1e-9)
        return super().query(np.nan_to_num(data) * float(self.radius) / longest)


@dataclass(frozen=True)
class GaussianRowsReplacedForAUnit(GaussianRows):
    """Claims replace-one at the cost of a row that moves by one unit."""

    loses = "assume_lipschitz"
    radius: Fraction = Fraction(3)

    def proof(self, delta):
        more = 1 + moved_rows.slack(self.radius, self.columns, self.bits)
        points = assume_lipschitz("rows", Fraction(1), Fraction(0), more, "movement")
        query, _ = moved_rows.bound_on(points, None)
        every = partial(moved_rows.each, rows=self.rows)
        step = grid.step(self.bits)
        leaf = gaussian(query, self.sigma, step, self.columns, moved_rows.KEY, delta, every)
        return shown(leaf, "gaussian-rows")


@dataclass(frozen=True)
class KNormAnswersByTheNearestRow(KNorm):
    """Shows, beside noisy rows, which of the rows themselves is nearest to a public place."""

    loses = "assume_view"

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        nearest = np.argmin((self.query(data).astype(np.float64) ** 2).sum(axis=1))
        return View(public={**view.public, "nearest": np.array([nearest])})


@dataclass(frozen=True)
class KNormKeepsTheOutputs(KNorm):
    """Counts the last column, an output, as protected, and hands it out as it is."""

    loses = "assume_view"

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        rows = view.public["rows"].copy()
        rows[:, -1] = self.query(data)[:, -1] * float(grid.step(self.bits))
        return View(public={"rows": rows})
