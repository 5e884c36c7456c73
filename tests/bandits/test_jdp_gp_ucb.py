"""Features, GP-UCB and its jointly private form."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bandits.jdp_gp_ucb import REWARD_CENTRE, JdpGpUcb
from bandits.learning.features import quadrature_features, squared_exponential
from bandits.learning.gp_ucb import GpUcb
from bandits.simulation.simulated_people import simulated_people
from dpaccount.errors import InputError
from dpaccount.noise.receipt import NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal
from mechanisms.symmetric_gaussian import FEATURE_BITS, contribution
from tests.depth import deep
from tests.looped import looped

DELTA = Fraction(1, 10**6)


@looped("per_axis", [1, 2, 3, 4, 7, 12])
@looped("dimension", [1, 2])
def test_features_have_norm_one(dimension, per_axis):
    features = quadrature_features(dimension, per_axis, 1.0)
    points = np.random.default_rng(0).uniform(-5, 5, (50, dimension))
    assert np.linalg.norm(features(points), axis=1) == pytest.approx(np.ones(50), abs=1e-14)
    assert features.weights.min() > 0
    assert len(features.weights) == -(-(per_axis**dimension) // 2)  # mirror frequencies dropped


def test_features_approach_the_kernel():
    points = np.random.default_rng(1).uniform(-1, 1, (40, 2))
    exact = squared_exponential(points, points, 1.0)
    errors = []
    for per_axis in (4, 8, 16):
        phi = quadrature_features(2, per_axis, 1.0)(points)
        errors.append(np.abs(phi @ phi.T - exact).max())
    assert errors[0] < 0.2
    assert errors[1] < 1e-4
    assert errors[2] < 1e-10


def test_quadrature_integrates_the_gaussian_moments():
    features = quadrature_features(1, 6, 2.0)
    for power, moment in ((2, 1), (4, 3), (6, 15)):
        value = (features.weights * (features.frequencies[:, 0] * 2.0) ** power).sum()
        assert value == pytest.approx(moment)


@deep
@given(arrays(np.float64, 4, elements=st.floats(-1e3, 1e3)), st.floats(-10, 10))
def test_contributions_lie_in_the_declared_set_exactly(vector, reward):
    matrix = contribution(vector, reward, REWARD_CENTRE)
    assert matrix[-1, -1] == 0
    assert (matrix == matrix.T).all()
    unit = 2**FEATURE_BITS
    trace = sum(int(matrix[i, i]) for i in range(4))
    assert trace <= unit**2  # ‖φ‖² ≤ 1
    assert 4 * sum(int(v) ** 2 for v in matrix[:-1, -1]) <= trace * unit**2  # |y| ≤ ½


def test_the_non_private_algorithm_learns_in_ask_and_tell():
    people = simulated_people(200, 5, 2, seed=3)
    features = quadrature_features(2, 4, 1.0)
    learner, chosen = GpUcb(features.size), []
    for t in range(200):
        candidates = features(people.points[t])
        chosen.append(learner.ask(candidates))
        learner.tell(candidates[chosen[-1]], people.rewards[t, chosen[-1]] - 0.5)
    random = float((people.means.max(axis=1) - people.means.mean(axis=1)).sum())
    assert people.regret(np.array(chosen)) < 0.3 * random


def test_people_have_one_good_point_each():
    people = simulated_people(50, 6, 2, seed=1)
    assert ((people.means >= 0.8).sum(axis=1) == 1).all()
    assert ((people.means <= 0.6).sum(axis=1) == 5).all()
    assert np.linalg.norm(people.points, axis=2).max() <= 2
    subject = JdpGpUcb(rounds=50, candidates=6)
    assert subject.domain().contains(people.records())


@deep
@pytest.mark.statistical(1)  # means of three seeds
def test_more_privacy_costs_regret_and_all_beat_chance():
    """Mean over 3 seeds at T = 512: without noise, at ε near 8, and at chance."""
    totals = {"none": [], "private": [], "chance": []}
    subject = JdpGpUcb(rounds=512, candidates=10, sigma=Fraction(3), refresh=2)
    theorem = subject.proof(DELTA)
    for seed in range(3):
        people = simulated_people(512, 10, 2, seed)
        for name, noise in (("none", NoNoise()), ("private", rehearse(theorem, Rehearsal(seed)))):
            view = subject.play(people.records(), noise, 0)
            totals[name].append(people.regret(np.asarray(view.own["action"])))
        totals["chance"].append(float((people.means.max(axis=1) - people.means.mean(axis=1)).sum()))
    none, private, chance = (float(np.mean(totals[name])) for name in ("none", "private", "chance"))
    assert none < private < 0.6 * chance


def test_noise_is_calibrated_to_the_path_not_the_leaf():
    one, many = JdpGpUcb(rounds=2), JdpGpUcb(rounds=1025)
    assert one.proof(DELTA).conclusion.curve.epsilon < many.proof(DELTA).conclusion.curve.epsilon


@looped(
    "parameters",
    [
        {"rounds": 1}, {"candidates": 0}, {"sigma": Fraction(0)}, {"width": Fraction(-1)},
        {"nodes_per_axis": 64}, {"confidence": "theorem-1"}, {"confidence": "some"},
        {"nodes": "theorem-2"}, {"kernel": "cosine"},
    ],
)  # fmt: skip
def test_parameters_that_make_no_sense_are_refused(parameters):
    with pytest.raises(InputError):
        JdpGpUcb(**parameters)
