"""Planted: every mechanism once more with a mistake that people make; each must be caught.

A twin is named after its mechanism with the mistake behind it, and inherits all else.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpaccount.proof import (
    assume_cell,
    assume_points,
    assume_range,
    discrete_gaussian,
    exponential,
    linear,
)
from mechanisms.banded_toeplitz import BandedToeplitz
from mechanisms.binary_tree import BinaryTree
from mechanisms.buffered_toeplitz import BufferedToeplitz
from mechanisms.clipped_mean import ClippedMean
from mechanisms.continual import factors, prefix_sums
from mechanisms.continual.sums import Buffers
from mechanisms.count import Count
from mechanisms.count_by_group import CountByGroup
from mechanisms.exponential import Exponential
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.histogram import Histogram
from mechanisms.honaker_tree import HonakerTree
from mechanisms.k_norm import KNorm
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.laplace_vector import LaplaceVector
from mechanisms.linear_queries import LinearQueries
from mechanisms.local_mean import LocalMean
from mechanisms.noisy_statistics import NoisyStatistics
from mechanisms.optimal_factor import OptimalFactor
from mechanisms.permute_and_flip import PermuteAndFlip
from mechanisms.quantile import Quantile
from mechanisms.quantiles import Quantiles
from mechanisms.randomised_response import RandomisedResponse
from mechanisms.restarting_tree import RestartingTree
from mechanisms.second_moments import SecondMoments
from mechanisms.shared import grid
from mechanisms.sparse_vector import SparseVector
from mechanisms.sqrt_toeplitz import SqrtToeplitz
from mechanisms.stable_histogram import StableHistogram
from mechanisms.subject import shown_to_all
from mechanisms.symmetric_gaussian import FEATURE_BITS, SymmetricGaussian
from mechanisms.variance import Variance


@dataclass(frozen=True)
class LaplaceSumClipsTheTotal(LaplaceSum):
    """Clips the sum to what it may be, not every row."""

    def query(self, data):
        total = np.nan_to_num(data[:, :1], posinf=0, neginf=0).sum(axis=0)
        return grid.clipped(total, self.low * self.rows, self.high * self.rows, self.bits)


@dataclass(frozen=True)
class StudyCountsRowsTwice(NoisyStatistics):
    """Counts every row of the first draw twice."""

    def query(self, data):
        total = super().query(data)
        first = self.draws[0].size
        total[:first] *= 2
        return total


@dataclass(frozen=True)
class StudyForgetsTheMeansBounds(NoisyStatistics):
    """Sums numbers of a mean that are scaled to [−2, 2]."""

    def query(self, data):
        total = super().query(data)
        first = self.draws[0].size
        total[first:] *= 2
        return total


@dataclass(frozen=True)
class LaplaceVectorForgetsAColumn(LaplaceVector):
    """Clips all columns but the last."""

    def query(self, data):
        total = super().query(data)
        total[-1] = np.trunc(np.clip(np.nan_to_num(data[:, -1]), -100, 100).sum() * 2.0**self.bits)
        return total


@dataclass(frozen=True)
class CountSumsTheAnswers(Count):
    """Adds up what the column holds, which may be 2."""

    def query(self, data):
        return np.floor(np.nan_to_num(data[:, :1], posinf=1, neginf=0)).astype(np.int64).sum(axis=0)


@dataclass(frozen=True)
class CountByGroupCountsTheNextToo(CountByGroup):
    """Counts everybody in their group and in the next, as if groups overlapped."""

    def query(self, data):
        counts = super().query(data)
        counts[1:] += counts[:-1]
        return counts


@dataclass(frozen=True)
class QuantilesCountsOneLevel(Quantiles):
    """Forgets that a row is in a cell of every level."""

    def proof(self, delta):
        row = assume_cell("counts", self.relation, "movement")
        return self.noisy_counts("quantiles", row, delta)


@dataclass(frozen=True)
class VarianceSquaresWhatIsNotClipped(Variance):
    """Clips the sum's numbers but not those that it squares."""

    def query(self, data):
        total = super().query(data)
        raw = np.clip(np.nan_to_num((data[:, 0] - self._middle) / self._half), -4, 4)
        total[1] = (16 * np.rint(raw * self.steps).astype(np.int64) ** 2 - 8 * self.steps**2).sum()
        return total


@dataclass(frozen=True)
class SecondMomentsForgetsTheScale(SecondMoments):
    """Lets every column reach 1, so that rows are as long as the root of their number."""

    def query(self, data):
        z = np.clip(np.nan_to_num((data - self._middle) / self._half), -1, 1)
        whole = np.rint(z * 2.0**15).astype(np.int64)
        upper = (whole.T @ whole)[np.triu_indices(self.columns)]
        return np.concatenate([upper, whole.sum(axis=0) << 15])


@dataclass(frozen=True)
class ClippedMeanScalesByTheData(ClippedMean):
    """Normalises by the largest value that it sees."""

    def query(self, data):
        largest = np.abs(np.nan_to_num(data, posinf=1, neginf=1)).max(initial=1e-9)
        return super().query(data / largest)


@dataclass(frozen=True)
class ExponentialHalvesTheRange(Exponential):
    """Takes a replaced row for one that only adds votes."""

    def proof(self, delta):
        totals = assume_range("totals", Fraction(self.limit), self.relation, "movement")
        return shown_to_all(exponential(totals, self.rate, "choice"), "exponential", delta)


@dataclass(frozen=True)
class PermuteAndFlipForgetsTheLimit(PermuteAndFlip):
    """Counts votes as they come."""

    def query(self, data):
        return np.nan_to_num(data, posinf=0, neginf=0).astype(np.int64).sum(axis=0)


@dataclass(frozen=True)
class QuantileHalvesTheRange(Quantile):
    """Takes the sensitivity of a score for the range of the difference."""

    def proof(self, delta):
        unit = (self.rank * self.rows).denominator
        scores = assume_range("scores", Fraction(unit), self.relation, "movement")
        return shown_to_all(exponential(scores, self.rate / unit, "quantile"), "quantile", delta)


@dataclass(frozen=True)
class HistogramCountsNeighboursToo(Histogram):
    """Counts a row in its cell and in the next one, with the noise of one."""

    def query(self, data):
        counts = super().query(data)
        return counts + np.roll(counts, 1)


@dataclass(frozen=True)
class LinearQueriesForgetsTheMatrix(LinearQueries):
    """Calibrates to the counts, not to the columns of the matrix."""

    def proof(self, delta):
        unit = [tuple(int(i == j) for j in range(self.cells)) for i in range(self.cells)]
        row = assume_points("answers", [(0,) * self.cells, *unit], self.relation, "movement")
        zcdp = discrete_gaussian(linear(row), self.sigma**2, Fraction(1), "answers")
        return shown_to_all(zcdp, "linear-queries", delta)


@dataclass(frozen=True)
class GaussianSumClipsCoordinates(GaussianSum):
    """Clips every coordinate to the radius, so that a row is √d times too long."""

    def query(self, data):
        return grid.clipped(data, -self.radius, self.radius, self.bits).sum(axis=0)


@dataclass(frozen=True)
class SymmetricGaussianClipsCoordinates(SymmetricGaussian):
    """Clips every feature to [−1, 1] and takes their vector for one of length 1."""

    def query(self, data):
        whole = grid.clipped(data, -max(self.reward, 1), max(self.reward, 1), FEATURE_BITS)
        total = whole.T @ whole
        total[-1, -1] = 0
        return total


@dataclass(frozen=True)
class BinaryTreeCountsTwice(BinaryTree):
    """Adds the last round to the first one's leaf too."""

    def play(self, data, noise, coins):
        return super().play(data + np.roll(data, 1, axis=0), noise, coins)


@dataclass(frozen=True)
class HonakerTreeForgetsToClip(HonakerTree):
    """Clips to twice the radius that the noise is made for."""

    def play(self, data, noise, coins):
        return HonakerTree.play(replace(self, radius=2 * self.radius), data, noise, coins)


@dataclass(frozen=True)
class SqrtToeplitzCountsOneRound(SqrtToeplitz):
    """Calibrates to a round's own weight and forgets the column below it."""

    def proof(self, delta):
        return prefix_sums.proof("sqrt-toeplitz", [self._weights()[:1].tolist()], self, delta)


@dataclass(frozen=True)
class BandedToeplitzDeclaresAShorterBand(BandedToeplitz):
    """Declares a shorter band than it releases."""

    def proof(self, delta):
        return prefix_sums.proof("banded-toeplitz", [self._weights()[: self.band // 8].tolist()], self, delta)


@dataclass(frozen=True)
class BufferedToeplitzForgetsToDecay(BufferedToeplitz):
    """Adds to its buffers and never lets them decay."""

    def history(self, width, kind):
        return Buffers([(w, 2**factors.DECAY - 1) for w, _ in self._pairs()], width, kind)


@dataclass(frozen=True)
class OptimalFactorMeasuresRows(OptimalFactor):
    """Measures the last row of the factor instead of its longest column."""

    def proof(self, delta):
        last = self._factor()[-1, ::-1]
        return prefix_sums.proof("optimal-factor", [(last // 4).tolist()], self, delta)


@dataclass(frozen=True)
class RandomisedResponseAsksTwo(RandomisedResponse):
    """Mixes the previous person's answer into the next one's."""

    def query(self, data):
        symbols = super().query(data)
        return (symbols + np.roll(symbols, 1)) % self.cells


@dataclass(frozen=True)
class LocalMeanScalesByTheData(LocalMean):
    """Normalises everyone by the largest number that anyone has."""

    def query(self, data):
        largest = np.abs(np.nan_to_num(data, posinf=1, neginf=1)).max(initial=1e-9)
        return super().query(data / largest)


@dataclass(frozen=True)
class SparseVectorForgetsToClip(SparseVector):
    """Adds votes as they come."""

    def query(self, data):
        clean = np.nan_to_num(data, posinf=0, neginf=0).astype(np.int64)
        return clean.sum(axis=0) - self.threshold


@dataclass(frozen=True)
class StableHistogramCountsNeighboursToo(StableHistogram):
    """Counts a row in its cell and in the next one."""

    def query(self, data):
        counts = super().query(data)
        return counts + np.roll(counts, 1)


@dataclass(frozen=True)
class StableHistogramCountsAKeyTwice(StableHistogram):
    """Counts a row in a cell as often as it names it."""

    keys: int = 2

    def query(self, data):
        return sum(
            super(StableHistogramCountsAKeyTwice, self).query(data[:, k : k + 1]) for k in range(self.keys)
        )


@dataclass(frozen=True)
class StableHistogramCountsATextTwice(StableHistogram):
    """Counts a row in a text as often as it names it."""

    keys: int = 2
    text: int = 6

    def query(self, data):
        words = data.reshape(-1, 1)[data.reshape(-1) > 0].astype(np.int64)
        names, counts = np.unique(words, axis=0, return_counts=True)
        return np.column_stack([names, counts])


@dataclass(frozen=True)
class StableHistogramSaysHowManyTextsThereAre(StableHistogram):
    """Shows beside the noisy counts how many texts are in use."""

    text: int = 6

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        return replace(view, public=view.public | {"used": np.array(len(self.query(data)))})


@dataclass(frozen=True)
class KNormClipsCoordinates(KNorm):
    """Clips every coordinate to the radius, so that a row is √d times too long."""

    def query(self, data):
        return grid.clipped(data, -self.radius, self.radius, self.bits)


@dataclass(frozen=True)
class RestartingTreeDeclaresLeaves(RestartingTree):
    """Declares every node to cover its newest round only."""

    def covers(self, epoch):
        return [(last, last) for _, last in super().covers(epoch)]
