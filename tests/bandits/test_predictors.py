"""Predictions by a mechanism: tables, widths, the two forms of USCA's covariance, and what they cost."""

from fractions import Fraction

import numpy as np
import pytest

from audits.hypothesis_tests.replay import record
from bandits.private_prediction import covariance
from bandits.private_prediction.predictor import BOUND_STEPS, REACH
from bandits.private_prediction.public_grid import PublicGrid
from bandits.selection.predictions import choose
from bandits.usca import Usca, gain_bound, gained
from dpaccount.errors import InputError
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import point
from papers.pavlovic.kernel_draws import drawn
from tests.depth import deep
from tests.looped import looped

FEW = {"rounds": 12, "actions": 4, "contexts": 5}
SUBJECTS = [
    Usca(**FEW),
    Usca(**FEW, rule="permute-and-flip", kernel="matern-1/2"),
    Usca(**FEW, kernel="matern-3/2", tau="public"),
]


def kernel_trick(grid, points, per_round, ridge):
    """Return the covariance by the kernel trick, (k − k_Zᵀ(K_ZZ + KτI)⁻¹k_Z)/τ for places `points` (Lemma 3.1)."""
    gram = grid.gram()
    across = gram[points]
    inner = gram[np.ix_(points, points)] + per_round * ridge * np.eye(len(points))
    return (gram - across.T @ np.linalg.solve(inner, across)) / ridge


@looped("subject", SUBJECTS)
def test_no_pair_of_records_moves_the_scores_further_than_is_paid_for(subject):
    """Enumerated: every pair of places, rewards at both ends, every cell."""
    matrix, worst = subject.matrix(3), 0
    for cell in range(subject.contexts):
        table = subject.table(matrix, cell)
        assert table.dtype == np.int64
        for ours in (-BOUND_STEPS, 0, BOUND_STEPS):
            for theirs in (-BOUND_STEPS, BOUND_STEPS):
                moved = ours * table[:, :, None] - theirs * table[:, None, :]
                worst = max(worst, int((moved.max(axis=0) - moved.min(axis=0)).max()))
    assert worst <= subject.width


@looped("subject", SUBJECTS)
def test_scores_are_what_the_tables_say_and_move_by_one_record(subject):
    rng = np.random.default_rng(1)
    data = drawn(subject.grid, "rkhs", 1).records(subject.rounds, 1)
    run = record(subject, data, rehearse(subject.proof(subject.delta), Rehearsal(1)), 2)
    for unit in range(3):
        other = data.copy()
        other[unit] = rng.choice([np.nan, -np.inf, -9.0, 0.3, 9.0], data.shape[1])
        again = record(subject, other, rehearse(subject.proof(subject.delta), Rehearsal(1)), 2)
        moved = again.exact["prediction-0", 0] - run.exact["prediction-0", 0]
        assert moved.max() - moved.min() <= subject.width


@looped("kernel", ["squared-exponential", "matern-1/2", "matern-5/2"])
def test_kernel_and_feature_form_of_the_covariance_agree(kernel):
    """Lemma 3.1 and Lemma 9.1: μ̄ and σ̄² by the kernel trick are those of features."""
    grid = PublicGrid(4, 5, kernel, Fraction(1, 5))
    counts = covariance.drawn_counts(grid, 10, 3, np.random.default_rng(1))
    by_features = covariance.by_features(grid, counts, 3, 0.1)
    by_kernel = kernel_trick(grid, np.repeat(np.arange(grid.places), counts), 3, 0.1)
    assert np.allclose(by_features, by_kernel, atol=1e-6)


@looped("bound", [Fraction(1, 10**15), Fraction(1, 10**7), Fraction(10**15)])
def test_a_ridge_below_all_rounding_leaves_tables_within_their_reach(bound):
    """Places that Z holds nowhere: with τ = 1e-31 the sum is singular in doubles, and was solved as it was."""
    subject = Usca(rounds=16, actions=3, contexts=3, kernel="matern-3/2", bound=bound, gamma=Fraction(1000))
    matrix = subject.matrix(1)
    assert np.isfinite(matrix).all()
    assert matrix.diagonal().min() > 0
    tables = np.array([subject.table(matrix, cell) for cell in range(3)])
    assert REACH - 1 <= np.abs(tables).max() <= REACH


@pytest.mark.filterwarnings("error")
def test_rewards_of_any_size_are_clipped_without_a_word():
    """A warning that depends on somebody's reward is a message about it."""
    subject = Usca(**FEW, bound=Fraction(1, 10**6))
    data = np.full((12, 5), 1e308)
    data[1, 1:], data[2::3, 1:] = -np.inf, np.nan
    found = subject.totals(data, np.zeros(12, dtype=np.int64))
    assert (
        found[16] == found.sum() == 6 * BOUND_STEPS
    )  # the last cell's first action: seven up, one down, four 0


def test_covariances_are_at_most_the_supremum_and_the_supremum_at_most_one_over_the_ridge():
    matrix = Usca(**FEW).matrix(1)
    assert np.abs(matrix).max() <= matrix.diagonal().max() * (1 + 1e-9)
    assert matrix.diagonal().max() <= 10 * (1 + 1e-9)
    found = Usca(**FEW).supremum(1)
    assert found.enclosure.upper >= matrix.diagonal().max() * (1 - 1e-9)  # of a matrix in floating point
    assert found.as_json()["verdict"] == "ENCLOSED"


@deep
def test_the_enclosure_holds_the_published_supremum_and_not_only_that_of_some_features():
    """Lemma 3.1 with the whole kernel, beside the maximum of features without small eigenvalues."""
    subject = Usca(rounds=1024, actions=8, contexts=8)
    counts = covariance.drawn_counts(subject.grid, 1024, subject.per_round, np.random.default_rng([1, 4]))
    held, gram = np.flatnonzero(counts), subject.grid.gram()
    inner = gram[np.ix_(held, held)] + np.diag(subject.per_round * subject.ridge / counts[held])
    explained = (gram[held] * np.linalg.solve(inner, gram[held])).sum(axis=0)
    published = ((1 - explained) / subject.ridge).max()
    low, high = subject.supremum(1).as_json()["supremum"]
    assert low * (1 - 1e-9) <= published <= high * (1 + 1e-9)
    assert high < low * (1 + 1e-9)
    assert subject.largest(subject.matrix(1)) < low * (1 - 1e-7)  # what is left out is seen


def test_on_a_large_grid_no_more_is_said_than_holds_anyhow():
    subject = Usca(rounds=64, actions=32, contexts=32)
    assert subject.supremum(1).as_json()["supremum"] == [0.0, pytest.approx(1 / subject.ridge)]


@deep
def test_predictions_are_composed():
    assert point(Usca(**FEW).proof(Fraction(0))) == (1, 0)
    assert point(Usca(**FEW, predictions=5).proof(Fraction(0))) == (1, 0)
    many = Usca(**FEW, predictions=50, delta=Fraction(1, 10**6))
    assert 0.99 < point(many.proof(many.delta))[0] <= 1
    assert many.noise_scale < 50  # better than a fiftieth of epsilon each
    flip = Usca(**FEW, predictions=50, delta=Fraction(1, 10**6), rule="permute-and-flip")
    assert flip.noise_scale > many.noise_scale  # it has no bounded range


def test_the_gain_is_between_its_bounds_and_sets_the_size_of_z():
    grid = PublicGrid(8, 8, "squared-exponential", Fraction(1, 5))
    assert gained(grid, 256, 0.1) <= gain_bound(grid, 256, 0.1)
    subject = Usca(rounds=256, actions=8, contexts=8)
    assert subject.per_round == -(-256 // gain_bound(grid, 256, 0.1))
    assert Usca(rounds=256, actions=8, contexts=8, gamma=Fraction(300)).per_round == 1


def test_the_public_ridge_grows_as_privacy_tightens():
    grid = PublicGrid(8, 8, "squared-exponential", Fraction(1, 5))
    ridges = [covariance.public_ridge(grid, 256, 1.0, epsilon, 4.0) for epsilon in (0.1, 1.0, 10.0)]
    assert ridges == sorted(ridges, reverse=True)


@deep
def test_the_selector_chooses_by_public_quantities_and_says_why():
    grid, small = PublicGrid(16, 16, "squared-exponential", Fraction(1, 5)), Fraction(1, 10**6)
    pure = choose(grid, 512, Fraction(1), Fraction(0))
    assert (pure.subject, pure.parameters) == ("function-release", {"law": "k-norm"})
    assert choose(grid, 512, Fraction(10), small).parameters == {
        "law": "gaussian"
    }  # many directions are worth it
    assert "any number of predictions: k-norm" in choose(grid, 512, Fraction(1), small).because
    with pytest.raises(InputError, match="rounds >= 2"):
        choose(grid, 1, Fraction(1), small)


@looped(
    ("made", "wrong", "said"),
    [
        (Usca, {"epsilon": Fraction(0)}, "epsilon > 0"),
        (Usca, {"rounds": 1}, "rounds is 1"),
        (Usca, {"predictions": 0}, "predictions is 0"),
        (Usca, {"actions": 0}, "the action grid is empty"),
        (Usca, {"bound": Fraction(0)}, "the bound of rewards is not positive"),
        (Usca, {"bound": Fraction(1, 10**400)}, "the bound of rewards is too large or too small"),
        (Usca, {"rule": "gumbel"}, "known: exponential, permute-and-flip"),
        (Usca, {"tau": "data"}, "known: noise-variance, public"),
        (Usca, {"noise_variance": Fraction(0)}, "it is above 0"),
        (Usca, {"gamma": Fraction(1), "actions": 4, "contexts": 4}, "points are known that gain"),
        (Usca, {"kernel": "linear"}, "known: squared-exponential"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_before_any_charge(made, wrong, said):
    with pytest.raises(InputError, match=said):
        made(**wrong)
