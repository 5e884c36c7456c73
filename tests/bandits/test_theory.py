"""Published noise, spectra, gains and bounds: numbers by hand, and Definition 3 by simulation."""

from fractions import Fraction
from math import e, log, sqrt

import numpy as np
import pytest

from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.learning.features import quadrature_features, squared_exponential
from bandits.simulation import information_gain
from bandits.statistics import published_noise
from dpaccount.errors import InputError
from dpaccount.proof import point
from tests.looped import looped

TENTH = Fraction(1, 10)
GRID = np.linspace(0, 1, 30)[:, None]


# ------------------------------------------------------------------ Lemmas 2, 3, 5, 6


def test_lemma_2_as_its_proof_reads():
    """16·11·26·ln²(100) = 311.52² at B = 5, and 86.40² at B = 1."""
    assert float(published_noise.lemma2_sigma(Fraction(1), TENTH, 1024, Fraction(5))) == pytest.approx(
        311.52, abs=0.01
    )
    assert float(published_noise.lemma2_sigma(Fraction(1), TENTH, 1024, Fraction(1))) == pytest.approx(
        86.4007, abs=0.001
    )


def test_lemma_5_and_the_published_sizes():
    x, u = published_noise.lemma5_sigmas(Fraction(1), TENTH, Fraction(1))
    assert float(x) == pytest.approx(sqrt(8 * log(25)), abs=1e-3)
    assert float(u) == pytest.approx(sqrt(8 * log(50)), abs=1e-3)
    assert published_noise.nodes_per_axis(1024) == 42
    assert published_noise.nodes_per_axis(1024, remark3=True) == 21


def test_the_published_noise_is_proved_at_its_own_cost():
    """Claims: α = 10, β = .1, B = 1, T = 1024 cost ε = .649283 exactly (discrete noise in place of it)."""
    subject = JdpGpUcb(calibration="published", epsilon=Fraction(10), delta=TENTH)
    epsilon, _ = point(subject.proof(TENTH))
    assert float(epsilon) == pytest.approx(0.649283, abs=2e-4)
    assert float(epsilon) < 10


def spectral_noise(rng, sigma, size, terms):
    """Return the sum of `terms` symmetric Gaussian matrices, diagonal of twice the variance."""
    raw = rng.normal(0, sigma * sqrt(terms), (size, size))
    return (raw + raw.T) / sqrt(2)


@pytest.mark.statistical(0.02)  # the lemma allows ζ/(2T) = 5e-5 a round: 400 draws
def test_lemma_3_is_accurate():
    rng, size, sigma, rounds, zeta = np.random.default_rng(5), 16, 3.0, 1024, 0.1
    least, most, kappa = published_noise.lemma3_spectrum(sigma, rounds, size, zeta)
    assert most == pytest.approx(3 * least)
    for _ in range(400):
        noise = spectral_noise(rng, sigma, size, published_noise.nodes_published(rounds))
        values, vectors = np.linalg.eigh(noise + 2 * least * np.eye(size))
        assert least <= values[0] <= values[-1] <= most
        h = rng.normal(0, sigma * sqrt(published_noise.nodes_published(rounds)), size)
        assert sqrt(((vectors.T @ h) ** 2 / values).sum()) <= kappa


@pytest.mark.statistical(
    0.03
)  # in 400 draws the corrected κ may fail with probability 5e-5 each, the printed one about ½
def test_lemma_6_needs_its_correction():
    rng, size, rounds, zeta = np.random.default_rng(6), 16, 1024, 0.1
    x, u = (float(s) for s in published_noise.lemma5_sigmas(Fraction(10), TENTH, Fraction(1)))
    least, _, kappa = published_noise.lemma6_spectrum(x, u, rounds, size, zeta)
    edge = sqrt(rounds) * (4 * sqrt(size) + 2 * log(2 * rounds / zeta))
    printed = u * sqrt(size * rounds / edge)
    lengths = []
    for _ in range(400):
        raw = np.triu(rng.normal(0, x * sqrt(rounds), (size, size)))
        noise = raw + np.triu(raw, 1).T + 2 * least * np.eye(size)
        h = rng.normal(0, u * sqrt(rounds), size)
        lengths.append(sqrt(h @ np.linalg.solve(noise, h)))
    violated = np.array(lengths) > printed
    assert max(lengths) <= kappa
    assert 0.35 < violated.mean() < 0.65  # 400 draws, five standard errors about .5


# ------------------------------------------------------------------ information gain


def test_gain_of_independent_points_is_a_sum_of_logarithms():
    assert information_gain.gain(np.eye(5), 0.5) == pytest.approx(5 * log(3) / 2)
    assert information_gain.greedy_gain(np.eye(5), 5, 0.5) == pytest.approx(5 * log(3) / 2)


@looped("rounds", [1, 10, 100])
def test_bounds_lie_above_what_is_reached(rounds):
    kernel = squared_exponential(GRID, GRID, 0.2)
    reached = information_gain.greedy_gain(kernel, rounds, 0.1)
    assert reached <= information_gain.spectral_upper_bound(kernel, rounds, 0.1)
    chosen = np.random.default_rng(0).integers(0, 30, rounds)
    some = information_gain.gain(kernel[np.ix_(chosen, chosen)], 0.1)
    assert some <= information_gain.spectral_upper_bound(kernel, rounds, 0.1)
    assert some <= reached / (1 - 1 / e)  # the gain is submodular


def test_features_bound_their_own_kernel():
    features = quadrature_features(1, 6, 1.0)
    phi = features(GRID)
    assert information_gain.greedy_gain(phi @ phi.T, 50, 0.1) <= information_gain.feature_upper_bound(
        features.size, 50, 0.1
    )


def test_what_is_no_kernel_matrix_or_ridge_has_no_gain():
    for wrong in (
        lambda: information_gain.gain(np.eye(2), 0.0),
        lambda: information_gain.gain(np.full((2, 2), np.nan), 1.0),
    ):
        with pytest.raises(InputError):
            wrong()


# ------------------------------------------------------------------ Theorem 1


def test_the_width_s_terms_by_hand():
    spectrum = published_noise.Spectrum(4.0, 8.0, 3.0)
    width = published_noise.theorem1_width(spectrum, 10, 2.0, norm=1.0, rho=0.5, error=0.01, zeta=0.1)
    by_hand = sqrt(8 / 0.25 + 1) + 10 * 0.01 / (0.5 * 2) + 6 + sqrt(2 + 2 * log(20))
    assert width == pytest.approx(by_hand)


def test_limits_out_of_order_are_refused():
    out_of_order = published_noise.Spectrum(2.0, 1.0, 0.0)
    with pytest.raises(InputError):
        published_noise.theorem1_width(out_of_order, 1, 0.0, norm=1.0, rho=0.5, error=0.0, zeta=0.1)
    with pytest.raises(InputError):
        published_noise.lemma2_sigma(Fraction(0), TENTH, 1024, Fraction(1))


def test_definition_5_is_what_the_learner_inverts_if_the_noise_stands_below_the_features():
    """Γ with ΓᵀΓ = H below Φ: one ridge regression. As printed, beside each other, the noise would be unused."""
    rng = np.random.default_rng(7000)
    features, root = quadrature_features(1, 6, 0.5)(rng.random((9, 1))), rng.normal(size=(6, 6))
    rewards, noise = rng.random(9), root.T @ root
    learned = np.linalg.solve(features.T @ features + noise, features.T @ rewards)
    stacked = np.linalg.lstsq(np.vstack([features, root]), np.append(rewards, np.zeros(6)))[0]
    assert stacked == pytest.approx(learned, rel=1e-9)
    printed = np.block([[features, np.zeros((9, 6))], [np.zeros((6, 6)), root]])
    apart = np.linalg.lstsq(printed, np.append(rewards, np.zeros(6)))[0][:6]
    assert apart == pytest.approx(np.linalg.lstsq(features, rewards)[0], rel=1e-6)
    assert np.abs(apart - learned).max() > 0.01


@looped("per_axis", [4, 6, 8])
def test_lemma_1_a_function_of_few_points_has_a_near_one_of_features(per_axis):
    """At most Bε lies between Σ α_i k(x_i, ·), with B = Σ|α_i|, and Σ α_i Φ(x_i)·Φ: ε is that of Φ."""
    rng = np.random.default_rng(7001)
    phi = quadrature_features(1, per_axis, 0.5)(GRID)
    kernel = squared_exponential(GRID, GRID, 0.5)
    error = np.abs(phi @ phi.T - kernel).max()
    for _ in range(20):
        weights = rng.normal(size=len(GRID)) * (rng.random(len(GRID)) < 0.3)
        off = np.abs(phi @ (weights @ phi) - kernel @ weights).max()
        assert off <= np.abs(weights).sum() * error + 1e-12
    assert error > 1e-9  # else nothing is tested
