"""Posteriors over points: exact by the textbook, and what a learner of residuals asks."""

from fractions import Fraction
from math import erf, exp, sqrt

import numpy as np
import pytest

from bandits.ldp_ctl_gp_ucb import LdpCtlGpUcb
from bandits.local_posterior import MIN_CLIP, LocalPosterior, ResidualPosterior
from bandits.local_privacy.channels import channel
from bandits.local_privacy.gp_ucb import PointGpUcb, prior_of
from bandits.local_privacy.learner import Question
from bandits.space.points import grid
from bandits.statistics.axes import eigenfeatures
from dpaccount.errors import InputError
from dpaccount.noise.receipt import NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal
from papers.zhou.panels import kernel_function
from tests.looped import looped

KERNEL = grid(12).kernel("matern-5/2", 0.2)
BOUNDS = {"bound": Fraction(2), "noise_bound": Fraction(1)}


def textbook(prior, points, values, variances):
    """Return mean and covariance of Gaussian process regression, by one solve."""
    seen = prior[points]
    inner = np.linalg.inv(seen[:, points] + np.diag(variances))
    return seen.T @ inner @ values, prior - seen.T @ inner @ seen


def observed(seed, count=40):
    rng = np.random.default_rng(seed)
    return rng.integers(0, len(KERNEL), count), rng.normal(size=count), rng.uniform(0.5, 3, count)


FEATURES = eigenfeatures(KERNEL, 1e-9)


def residual(features=FEATURES, bounds=(2.0, 1.0), spread=(1.0, 1.0), **more):
    return ResidualPosterior(features, bounds, 100, spread, 0, **{"one_bit": True, **more})


def test_rank_one_updates_are_the_textbooks_posterior():
    points, values, variances = observed(1)
    ours = PointGpUcb(KERNEL, 0.0, 1.0, 0)
    for one in zip(points, values, variances, strict=True):
        ours.tell(*one)
    mean, covariance = textbook(KERNEL, points, values, variances)
    assert np.allclose(ours.mean, mean)
    assert np.allclose(ours.covariance, covariance)


def test_a_root_that_follows_is_the_textbooks_posterior_too():
    """Rewards told as they are, whose noise counts as uniform: of variance R²/3."""
    points, values, _ = observed(2)
    ours = residual()
    for point, value in zip(points.tolist(), values.tolist(), strict=True):
        ours.tell(point, value, None)
    mean, covariance = textbook(KERNEL, points, values, np.full(40, 1 / 3))
    assert np.allclose(ours.mean, mean, atol=1e-6)
    assert np.allclose(ours.root @ ours.root.T, covariance, atol=1e-6)


def test_a_bit_is_the_best_linear_estimate_of_a_clipped_residual():
    """Cov(f, a) = κ·k(·, x) and Var a is all there is: checked against the formula, for one answer."""
    ours, before = residual(), KERNEL.copy()
    asked = ours.ask()
    deviation = sqrt(before[asked.point, asked.point])
    near, far = (erf((asked.clip + beyond) / (deviation * sqrt(2))) for beyond in (-1, 1))
    share = (near + far) / 2
    ours.tell(asked.point, asked.centre + 4.0, 20.0)
    column = before[asked.point]
    assert np.allclose(ours.mean, share * 4 / 20 * column, atol=1e-6)
    after = before - share**2 / 20 * np.outer(column, column)
    assert np.allclose(ours.root @ ours.root.T, after, atol=1e-6)


def kept(deviation, clip, noise, chances):
    """Return E[clip(d + η, ±clip)·d]/var d for normal d, by a sum over a grid; η has these values and chances."""
    d = np.linspace(-9, 9, 20_001) * deviation
    weights = np.exp(-((d / deviation) ** 2) / 2)
    answers = chances @ np.clip(d + np.array(noise)[:, None], -clip, clip)
    return float((weights * answers) @ d / (weights @ d**2))


@looped("deviation", [0.05, 0.5, 2.0, 20.0])
@looped("clip", [1.0, 1.25, 3.0, 7.0])
def test_no_noise_of_mean_0_lets_a_clip_keep_less_than_the_posterior_takes(deviation, clip):
    """R = 1: of ±R just as much, of 200 others at least; below R a clip may keep nothing."""
    ours = residual(features=np.full((1, 1), deviation), bounds=(2.0, 1.0))
    ours.shown(Question(0, 0.0, clip))
    taken = ours._share
    assert kept(deviation, clip, [-1, 1], np.array([0.5, 0.5])) == pytest.approx(taken, abs=1e-3)
    rng = np.random.default_rng(6)
    for _ in range(200):
        low, high = -(rng.random() ** 0.3), rng.random() ** 0.3
        inside = rng.uniform(low, high)
        two = np.array([high - inside, inside - low]) / (high - low)
        rest = rng.random()  # `inside` and what balances it
        noise, chances = np.array([low, high, inside]), np.append(two * rest, 1 - rest)
        noise = noise - chances @ noise
        noise /= max(np.abs(noise).max(), 1)
        assert kept(deviation, clip, noise, chances) >= taken - 1e-3
    assert kept(0.05, 0.5, [-1, 1], np.array([0.5, 0.5])) < 1e-3


def test_a_bit_is_a_dithered_threshold_by_randomised_response():
    """1[v > u] with u uniform on [−1, 1], kept with chance e^ε/(1 + e^ε), has the law of Duchi's bit."""
    for epsilon in (Fraction(1, 2), Fraction(1), Fraction(3)):
        told = channel("duchi", epsilon)
        right = exp(epsilon) / (1 + exp(epsilon))
        numbers = np.linspace(-1, 1, 2 * told.steps + 1)
        above = (1 + numbers) / 2
        chance = right * above + (1 - right) * (1 - above)
        reach = told.largest
        assert np.allclose(chance * reach - (1 - chance) * reach, numbers)  # unbiased, as the channel is
        assert np.allclose(told.variance(numbers), reach**2 - numbers**2)  # and of two values alone


def test_kernels_begin_at_their_chances_and_follow_what_messages_say():
    """Rewards told as they are, of a smooth function and of one whose points are unrelated."""
    at = np.linspace(0, 1, 40)
    rough = np.random.default_rng(1).uniform(-2, 2, 40)
    found = []
    for function in (2 * np.sin(6 * at), rough):
        bounds = {"bound": Fraction(2), "noise_bound": Fraction(1, 2)}
        mixture = LocalPosterior(kernel="learned", points=40, **bounds).learner(1)
        assert mixture.chances == pytest.approx((0.1, 0.9))
        for point in range(40):
            mixture.tell(point, function[point], None)
        found.append(mixture.chances[0])
    assert found[0] > 0.9
    assert found[1] < 1e-6


def test_the_clip_falls_from_what_a_prior_allows_to_the_noise_and_never_beyond():
    ours, clips = residual(spread=(1.0, 2.5)), []
    rng = np.random.default_rng(3)
    for _ in range(100):
        asked = ours.ask()
        assert asked.centre == ours.mean[asked.point]
        clips.append(asked.clip)
        ours.tell(asked.point, asked.centre + rng.normal(), 1.0)
    assert clips[0] == 3.0  # B + R
    assert 1.0 < clips[-1] < 2.0
    assert max(clips) <= 3.0


@looped("bounds", [(0.0, 1.0), (1.0, 0.0), (1e-9, 1e9), (1e9, 1e-9)])
@looped("one_bit", [True, False])
def test_whatever_the_bounds_and_answers_the_questions_are_finite(bounds, one_bit):
    ours, rng = residual(bounds=bounds, one_bit=one_bit), np.random.default_rng(4)
    for _ in range(300):
        asked = ours.ask()
        assert np.isfinite(asked.centre)
        assert MIN_CLIP * sum(bounds) <= asked.clip <= sum(bounds)
        ours.tell(asked.point, asked.centre + asked.clip * rng.choice([-2.2, 2.2]), 4.7 * asked.clip**2)


def test_points_that_share_the_best_bound_are_told_apart_by_coins():
    def first(coins):
        return PointGpUcb(np.eye(9), 1.0, 1.0, coins).ask().point

    assert len({first(coins) for coins in range(40)}) > 4


def test_a_prior_reaches_the_bound():
    assert np.diag(prior_of(KERNEL, 6.0)).max() == pytest.approx(9)


@pytest.mark.parametrize(
    ("wrong", "said"), [({"explore": Fraction(-1)}, "explore >= 0"), ({"keep": Fraction(0)}, "keep > 0")]
)
def test_parameters_of_the_posterior_that_make_no_sense_are_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        LocalPosterior(**BOUNDS, **wrong)


@looped("value", [np.nan, np.inf, -np.inf, 1e300])
def test_the_published_channel_refuses_no_value(value):
    subject = LdpCtlGpUcb(rounds=3, points=4, rewards_within=Fraction(3), **BOUNDS)
    data = np.full((3, 4), value)
    answers = subject.play(data, rehearse(subject.proof(Fraction(0)), Rehearsal(0)), 0).public["answers"]
    assert np.isfinite(answers).all()


def fraction(subject, world, noise):
    """Return the regret as a share of that of uniform play."""
    return world.regrets(subject.play(world.rows, noise, 5).public["points"]).sum() / world.at_random


@looped("channel", ["duchi", "piecewise", "hybrid", "laplace"])
def test_it_learns_through_every_channel_and_without_one(channel):
    """Seeded; of 20 other seeds the worst was .11 through a channel (ε = 4) and .04 without."""
    world = kernel_function(grid(30).kernel("squared-exponential", 0.2), 1000, 6)
    named = {"rounds": 1000, "points": 30, "bound": Fraction(world.bound), "noise_bound": Fraction(1)}
    local = LocalPosterior(epsilon=Fraction(4), channel=channel, **named)
    assert fraction(local, world, rehearse(local.proof(Fraction(0)), Rehearsal(7))) < 0.3
    assert fraction(LocalPosterior(privacy="none", **named), world, NoNoise()) < 0.1
