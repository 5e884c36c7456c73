"""The lemmas of Pavlovic et al. 2025 where they say something testable, and their bounds as functions."""

from dataclasses import replace
from fractions import Fraction
from math import inf, log

import numpy as np
import pytest

from bandits.private_prediction import covariance
from bandits.private_prediction.public_grid import PublicGrid
from bandits.usca import Usca, gain_bound
from dpaccount.errors import InputError
from papers.pavlovic.kernel_draws import MIDDLES, drawn
from tests.bandits import usca_bounds as bounds

GRID = PublicGrid(6, 6, "squared-exponential", Fraction(1, 2))
DELTA = 0.1


def features():
    """Return φ and the eigenfunctions' bound F under the uniform law of the grid."""
    found = GRID.features(1e-9)
    return found.phi, float(np.abs(found.phi / np.sqrt(found.eigenvalues)).max())


def setting(rounds, ridge=1.0, noise=0.3):
    _, largest = features()
    return bounds.UscaSetting(rounds, gain_bound(GRID, rounds, ridge), ridge, largest, noise=noise)


def test_covariances_of_enough_coins_are_near_their_expectation():
    """Lemmas 4.4 and 6.1, at a T where their condition holds; of 40 draws the bound may fail in about 4."""
    at = setting(65536)
    per_round = -(-at.rounds // int(at.gamma))
    phi, _ = features()
    z = at.rounds * phi.T @ phi / GRID.places + at.ridge * np.eye(phi.shape[1])
    rng, limit, broken = np.random.default_rng(1), bounds.covariance_deviation(at, DELTA), 0
    for _ in range(40):
        counts = covariance.drawn_counts(GRID, at.rounds, per_round, rng)
        drawn_z = (phi * counts[:, None]).T @ phi / per_round + at.ridge * np.eye(phi.shape[1])
        ratios = np.linalg.eigvals(np.linalg.solve(drawn_z, z)).real
        broken += np.abs(ratios - 1).max() > limit
    assert broken == 0  # the lemma is loose here


def test_the_variance_stays_below_its_printed_bound_which_is_no_certificate():
    at = setting(4096)
    counts = covariance.drawn_counts(GRID, at.rounds, 30, np.random.default_rng(2))
    largest = covariance.by_features(GRID, counts, 30, at.ridge).diagonal().max()
    assert largest <= bounds.variance_bound(at)
    few = replace(at, rounds=1, gamma=1e-3)  # an event of the coins may break it: it is a statement of 1 − δ
    assert 1 / at.ridge > bounds.variance_bound(few)


def test_one_record_moves_the_estimator_by_at_most_twice_the_supremum_and_nearly_so():
    """Lemmas 4.2 and 7.1, all pairs of places, rewards ±B."""
    matrix = Usca(rounds=50, actions=6, contexts=6, lengthscale=Fraction(1, 2)).matrix(1)
    moved = max(np.abs(matrix[:, w] + matrix[:, v]).max() for w in range(36) for v in range(36))
    largest = matrix.diagonal().max()
    assert 0.99 * 2 * largest <= moved <= 2 * largest * (1 + 1e-9)


def test_the_chances_of_a_prediction_change_by_at_most_epsilon():
    """Lemma 7.2, exactly: the log-ratio of every action, for the record that moves scores furthest."""
    subject = Usca(rounds=50, actions=6, contexts=6, lengthscale=Fraction(1, 2))
    matrix, epsilon = subject.matrix(1), float(subject.epsilon)
    scale = epsilon / (4 * matrix.diagonal().max())
    base = np.random.default_rng(3).normal(size=36)
    worst = 0.0
    for w in range(36):
        for cell in range(6):
            rows = matrix[6 * cell : 6 * cell + 6]
            logs = [
                s - np.logaddexp.reduce(s) for s in ((rows @ base + y * rows[:, w]) * scale for y in (1, -1))
            ]
            worst = max(worst, np.abs(logs[0] - logs[1]).max())
    assert worst <= epsilon


def test_the_estimator_is_near_the_posterior_mean_and_the_function():
    """Lemmas 4.3, 6.2 and 6.3: both bounds hold, by far."""
    at, world = setting(4096), drawn(GRID, "rkhs", 1)
    data = world.records(at.rounds, 1)
    actions = np.random.default_rng(1).integers(0, 6, at.rounds)
    places = GRID.place_of(data[:, 0], actions)
    sums = np.bincount(places, weights=data[np.arange(at.rounds), 1 + actions], minlength=36)
    counts = covariance.drawn_counts(GRID, at.rounds, 30, np.random.default_rng(2))
    ours = covariance.by_features(GRID, counts, 30, at.ridge) @ sums
    posterior = covariance.by_features(GRID, np.bincount(places, minlength=36), 1, at.ridge) @ sums
    truth = np.array([world.table[np.abs(MIDDLES - (c + 0.5) / 6).argmin()] for c in range(6)]).ravel()
    assert np.abs(ours - truth).max() <= bounds.uniform_error(at, DELTA, at.rounds)
    assert np.abs(ours - posterior).max() <= bounds.beta1(at, DELTA) * at.rate
    assert np.abs(ours - posterior).max() < 0.3


def test_enough_actions_are_near_the_best():
    """Lemma 8.1 on the unit interval, a tent of slope L: the share is exact for a peak at its end."""
    at = replace(setting(100), lipschitz=2.0)
    x = np.linspace(0, 1, 100_001)
    for peak in (0.0, 0.3, 1.0):
        values = -2.0 * np.abs(x - peak)
        for depth in (0.01, 0.5, 3.0):
            assert (values >= -depth).mean() >= bounds.good_share(depth, at) - 1e-4


def test_theorem_82_is_vacuous_at_our_horizons_and_falls_with_them():
    at = setting(1024, ridge=0.1)
    assert bounds.privacy_term(at, 1.0, DELTA) > 2  # the range of f
    assert bounds.error_bound(at, 1.0, DELTA, 1024) > bounds.privacy_term(at, 1.0, DELTA)
    longer = [bounds.error_bound(replace(at, rounds=1024 * 4**k), 1.0, DELTA, 1024) for k in range(6)]
    assert longer == sorted(longer, reverse=True)
    tight = [bounds.error_bound(at, epsilon, DELTA, 1024) for epsilon in (0.1, 1.0, 10.0)]
    assert tight == sorted(tight, reverse=True)


def test_statement_and_proof_of_lemma_62_differ():
    at = setting(1024, ridge=0.1)
    assert bounds.beta1(at, DELTA, "statement") > bounds.beta1(at, DELTA) > 0
    at = replace(at, ridge=100.0)  # ln(4/δ)/τ below 1: then the statement is the smaller one, and not proved
    assert bounds.beta1(at, DELTA, "statement") < bounds.beta1(at, DELTA)


def test_the_condition_on_t_as_printed_falls_where_it_should_rise():
    small, large = (bounds.enough_rounds_printed(DELTA, eigen, 2.0, 3.5) for eigen in (0.001, 0.1))
    assert large < small

    def gamma(rounds):
        return 5 * log(1 + rounds)

    least = bounds.enough_rounds(gamma, 1.0, DELTA)
    assert bounds.covariance_deviation(bounds.UscaSetting(least, gamma(least), 1.0, 1.0), DELTA) <= 28 / 68
    assert bounds.enough_rounds(lambda rounds: rounds, 1.0, DELTA) == inf
    with pytest.raises(InputError, match="from 1/4 down"):
        bounds.covariance_deviation(bounds.UscaSetting(8, gamma(8), 1.0, 1.0), DELTA)


def test_the_published_rate_is_below_the_earlier_one_where_gamma_is_small():
    assert bounds.published_rate(10_000, 50, 0.5) < bounds.earlier_rate(10_000, 50, 0.5)
    assert bounds.published_rate(100, 50, 0.1) > bounds.earlier_rate(100, 50, 0.1)


def test_constants_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="all others above 0"):
        bounds.UscaSetting(10, 1.0, 0.0, 1.0)
    with pytest.raises(InputError, match="epsilon > 0"):
        bounds.privacy_term(setting(10), 0.0, DELTA)
    with pytest.raises(InputError, match="lies in"):
        bounds.beta(setting(10), 1.0)
    with pytest.raises(InputError, match="known: proof, statement"):
        bounds.beta1(setting(10), DELTA, "abstract")
