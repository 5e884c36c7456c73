"""Without noise the mechanisms that compute statistics give those of the data, as numpy has them."""

from fractions import Fraction

import numpy as np
import pytest

from dpaccount.errors import InputError
from dpaccount.noise.receipt import NoNoise
from dpaccount.proof import ADD_REMOVE, REPLACE_ONE, point
from mechanisms.count import Count
from mechanisms.count_by_group import CountByGroup
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.quantiles import Quantiles
from mechanisms.second_moments import SecondMoments
from mechanisms.stable_histogram import StableHistogram
from mechanisms.symmetric_gaussian import STEP
from mechanisms.variance import MAX_STEPS, Variance
from tests.depth import deep
from tests.looped import looped

F = Fraction
DELTA = F(1, 10**6)
both = pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])


def numbers(rows=500, columns=1, seed=3):
    """Return numbers within [−2, 6], some of them outside [0, 4]."""
    rng = np.random.default_rng(seed)
    common = rng.normal(2, 1, (rows, 1))
    return np.clip(common + rng.normal(0, 1, (rows, columns)), -2, 6)


@both
def test_variance_is_that_of_clipped_numbers(relation):
    data = numbers()
    shown = Variance(low=0, high=4, rows=500, relation=relation).play(data, NoNoise(), 0).public
    clipped = data[:, 0].clip(0, 4)
    assert shown["mean"] == pytest.approx(clipped.mean(), abs=2 / 64)
    assert shown["variance"] == pytest.approx(clipped.var(), rel=0.02)
    assert shown["deviation"] == pytest.approx(clipped.std(), rel=0.01)


@deep
def test_squares_cost_nothing_beside_the_sum():
    """A vector of two numbers moves as far as the first alone: as a sum of numbers of at most 1."""
    alone = point(GaussianSum(rows=9, columns=1, radius=F(1)).proof(DELTA))[0]
    for steps in (7, 64, MAX_STEPS):
        both_sums = point(Variance(low=0, high=1, rows=9, steps=steps).proof(DELTA))[0]
        assert both_sums <= alone + F(1, 1000)


@both
def test_quantiles_are_within_a_cell_of_the_data(relation):
    data, wanted = numbers(), [0.1, 0.5, 0.9]
    quantiles = Quantiles(low=0, high=4, rows=500, ranks="0.1, 1/2, 9/10", levels=5, relation=relation)
    shown = quantiles.play(data, NoNoise(), 0).public
    clipped = np.sort(data[:, 0].clip(0, 4))
    assert shown["quantiles"] == pytest.approx(clipped[[int(q * 500) - 1 for q in wanted]], abs=4 / 4**5)
    below = [(clipped < end).sum() for end in quantiles.ends[:-1]]
    assert np.abs(shown["ranks"][:-1] - below).max() <= 1  # of numbers on an end
    assert shown["ranks"][-1] == 500


@both
def test_second_moments_are_those_of_clipped_numbers(relation):
    data = np.hstack([numbers(columns=2), 100 * numbers(seed=4)])
    bounds, ends = "0 4; -1 5; 0 400", np.array([[0, 4], [-1, 5], [0, 400]])
    moments = SecondMoments(low=0, high=4, bounds=bounds, rows=500, relation=relation, ridge=F(1, 10**9))
    shown = moments.play(data, NoNoise(), 0).public
    clipped = data.clip(*ends.T)
    scale = np.outer(*[ends[:, 1] - ends[:, 0]] * 2)
    assert np.abs(shown["means"] - clipped.mean(axis=0)).max() < 0.02
    assert np.abs((shown["covariances"] - np.cov(clipped.T, bias=True)) / scale).max() < 1e-3
    design = np.column_stack([clipped[:, :2], np.ones(500)])
    slopes, *_ = np.linalg.lstsq(design, clipped[:, 2], rcond=None)
    assert shown["coefficients"] == pytest.approx(slopes, abs=0.5, rel=1e-2)
    assert shown["count"][0] == 500


def test_a_row_counts_once_in_every_cell_that_it_names():
    data = np.array([[0, 0, 0], [0, 2, -1], [7, np.nan, 2], [1.5, 1, np.inf], [-1, -1, -1]])
    assert StableHistogram(rows=5, cells=4, keys=3).query(data).tolist() == [2, 1, 2, 0]


@looped("keys", [1, 2, 5])
def test_what_a_row_that_names_a_few_cells_costs(keys):
    histogram = StableHistogram(rows=5, scale=F(4), threshold=120, keys=keys)
    assert point(histogram.proof(DELTA)) == (F(keys, 4), DELTA)
    replaced = StableHistogram(rows=5, scale=F(4), threshold=120, keys=keys, relation=REPLACE_ONE)
    assert point(replaced.proof(DELTA)) == (F(keys, 2), DELTA)


def test_counts_cost_the_same_however_many_groups_there_are():
    for law, delta in (("laplace", 0), ("gaussian", DELTA)):
        costs = {point(CountByGroup(law=law, cells=cells).proof(F(delta)))[0] for cells in (2, 50, 10**5)}
        assert len(costs) == 1
        assert point(Count(law=law).proof(F(delta)))[0] < costs.pop()


@looped("ranks", ["", "1/2,", "half", "0", "1", "1/0", "nan", ", ".join(["1/2"] * 101)])
def test_ranks_that_are_none_are_refused_in_a_sentence(ranks):
    with pytest.raises(InputError, match="ranks is"):
        Quantiles(low=0, high=1, ranks=ranks)


@looped("bounds", ["0 1", "0 1; 0 1; 1 0", "0 1; 0 1; 0", "0 1; 0 1; a b", "0 1; 0 1; 0 1/0"])
def test_bounds_that_are_none_are_refused_in_a_sentence(bounds):
    with pytest.raises(InputError, match="bounds is"):
        SecondMoments(low=0, high=1, bounds=bounds)


UNTOLD = [(F(0), F(1, 10**400)), (F(1), 1 + F(1, 2**60)), (F(-(10**308)), F(10**308)), (F(0), F(10**400))]


@looped("made_by", [Quantiles, Variance, SecondMoments])
@looped(("low", "high"), UNTOLD)
def test_intervals_that_doubles_do_not_tell_are_refused_before_there_are_rows(made_by, low, high):
    """Else a width of 0 or infinity stops a run, whether there are rows or not being private."""
    with pytest.raises(InputError, match="doubles"):
        made_by(low=low, high=high)
    assert made_by(low=F(-(10**300)), high=F(10**300)).domain()


def test_intervals_of_covariances_hold_far_from_zero():
    """The mean of a column, from which they are computed, is rounded by more than noise moves it."""
    data = 1e15 + np.random.default_rng(0).integers(0, 2, (10**5, 2)) / 8
    moments = SecondMoments(low=F(10**15), high=F(10**15 + 1), columns=2, rows=10**5, sigma=F(1, 4))
    intervals = moments.accuracy(moments.play(data, NoNoise(), 0))["covariances"]
    sums = moments.query(data) * float(STEP) / 10**5 * 2  # of z
    true = sums[:3] - np.array([sums[3] ** 2, sums[3] * sums[4], sums[4] ** 2]) / 2
    ends = [np.array(intervals[end])[np.triu_indices(2)] for end in ("low", "high")]
    assert (true / 4 >= ends[0]).all()
    assert (true / 4 <= ends[1]).all()
