"""Lemmas 10 and 11 and the confidence bounds of Theorems 2 to 4 (Zhou & Tan 2020), by simulation."""

import math

import numpy as np
import pytest

from bandits.ldp_ata_gp_ucb import AdaptivelyTruncatedGpUcb
from bandits.ldp_moma_gp_ucb import MedianOfMeansGpUcb, median_choice, reach, replays
from bandits.ldp_tgp_ucb import TruncatedGpUcb
from bandits.learning.features import squared_exponential
from bandits.learning.nystrom import embedding
from bandits.local_privacy.payoffs import Payoffs
from tests.depth import deep
from tests.looped import looped

N = 15
GRID = np.linspace(0, 1, N)[:, None]
KERNEL = squared_exponential(GRID, GRID, 0.2)
PHI = embedding(KERNEL, np.arange(N) % 3 == 0)
EPOCHS = np.random.default_rng(7).integers(0, N, 40)  #: what was played
ROWS = PHI[EPOCHS]
WHITE = np.linalg.solve(np.linalg.cholesky(ROWS.T @ ROWS + np.eye(PHI.shape[1])), ROWS.T)  # L⁻¹Φᵀ, Ṽ = LLᵀ

#: noise, α and c = E|η|^(1+α)
LAWS = {
    "student-3": (lambda rng, size: rng.standard_t(3, size), 1.0, 3.0),
    "laplace": (lambda rng, size: rng.laplace(0, 4, size), 1.0, 32.0),
    "pareto-1.7": (lambda rng, size: rng.choice([-1, 1], size) * (1 + rng.pareto(1.7, size)), 0.5, 1.7 / 0.2),
}


def distances(law, times, seed):
    """Return ‖Ṽ⁻¹Φ̃ᵀf_n − θ̃_j‖_Ṽ of independent estimates: the whitened noise's length."""
    noise = LAWS[law][0](np.random.default_rng(seed), (len(EPOCHS), times))
    return np.linalg.norm(WHITE @ noise, axis=0)


def gamma_of(law):
    _, order, c = LAWS[law]
    payoffs = Payoffs(bound=1.0, moment=1.0, noise_moment=c, order=order)
    return reach(payoffs, PHI.shape[1], len(EPOCHS))


@pytest.mark.statistical(1e-4)
@looped("law", LAWS)
def test_lemma_10(law):
    """Within γ with probability ¾; 2000 estimates, four deviations below it: chance 3e-5 if it were just ¾."""
    far = distances(law, 2000, 1)
    assert (far <= gamma_of(law)).mean() >= 0.75 - 4 * math.sqrt(0.75 * 0.25 / 2000)
    assert (far <= gamma_of(law) / 20).mean() < 0.75  # the measure can fail


@deep
@pytest.mark.statistical(1e-9)
@pytest.mark.parametrize("law", LAWS)
def test_lemma_11(law, depth):
    """k* within 3γ but with probability δ/T = 1e-4: of 100 draws, no more than 3 are not."""
    k = math.ceil(24 * math.log(math.e * 1e4))
    rng, outside = depth.rng(2), 0
    for _ in range(100):
        estimates = (WHITE @ LAWS[law][0](rng, (len(EPOCHS), k))).T  # about 0, whitened
        outside += np.linalg.norm(estimates[median_choice(estimates, rng.random(k))]) > 3 * gamma_of(law)
    assert outside <= 3


@looped("k", [4, 7, 12, 31])
def test_the_choice_is_within_three_radii_of_the_truth(k):
    """No chance in it: if more than two thirds lie within γ of 0, k* lies within 3γ, wherever the others are."""
    rng = np.random.default_rng(k)
    for _ in range(500):
        inside = rng.normal(size=(k, 2))
        inside *= (rng.random((k, 1)) ** 0.2) / np.linalg.norm(inside, axis=1, keepdims=True)  # γ = 1
        strays = math.ceil(k / 3) - 1
        inside[:strays] = (
            rng.normal(size=2) * rng.choice([1.5, 2.5, 3.5, 50]) + rng.normal(size=(strays, 2)) / 5
        )
        assert np.linalg.norm(inside[median_choice(inside, rng.random(k))]) <= 3 + 1e-9


# ------------------------------------------------------------------ |f − μ| ≤ βσ, all rounds and points

EPSILON, B, R = 1.0, 1.0, 1.0
SCALE = 2 * (B + R) / EPSILON
LAPLACE = Payoffs(
    bound=B,
    moment=B**2 + R**2 + 2 * SCALE**2,
    noise_moment=R**2 + 2 * SCALE**2,
    start=B + R,
    scale=SCALE,
    tail_power=1.0,
)


def function(rng):
    """Return f = Σ a_i k(·, x_i) of norm B."""
    weights = rng.normal(size=N)
    return KERNEL @ weights * B / math.sqrt(weights @ KERNEL @ weights)


def look(name, learner):
    """Return what a learner believes: mean, deviation and β."""
    if name == "tgp":
        return learner.mean(), learner.table.deviation(), learner.width()
    if name == "ata":
        return learner.mean, np.sqrt(np.maximum(learner.variance, 0)), learner.width()
    return learner.mean, learner._regression.deviation(), learner.width()


MAKE = {
    "tgp": (120, lambda coins: TruncatedGpUcb(KERNEL, LAPLACE, "theory", coins)),
    "ata": (120, lambda coins: AdaptivelyTruncatedGpUcb(KERNEL, LAPLACE, 120, "theory", coins)),
    "moma": (
        1400,
        lambda coins: MedianOfMeansGpUcb(KERNEL, LAPLACE, 1400, replays(1400, "theory"), "theory", coins),
    ),
}


@deep
@pytest.mark.statistical(1e-3)
@pytest.mark.parametrize("name", MAKE)
def test_confidence_bounds_hold(name):
    """δ = .01 a run: of 20, more than 2 by chance 1e-3.  That a hundredth of the width is left shows a measure."""
    rounds, make = MAKE[name]
    left = {1.0: 0, 0.01: 0}
    for run in range(20):
        rng, learner = np.random.default_rng((1, run)), make(run)
        f, worst = function(rng), 0.0
        for _ in range(rounds):
            point = learner.ask().point
            learner.tell(point, f[point] + rng.uniform(-R, R) + rng.laplace(0, SCALE), None)
            if name == "moma" and learner._asked:
                continue  # amid an epoch, nothing changes
            mean, deviation, width = look(name, learner)
            worst = max(worst, float((np.abs(f - mean) / (width * deviation)).max()))
        for part in left:
            left[part] += worst > part
    assert left[1.0] <= 2
    assert left[0.01] == 20


def test_moma_in_theory_takes_hundreds_of_people_for_a_point():
    assert replays(1400, "theory") * 4 <= 1400 < replays(1400, "theory") * 5
