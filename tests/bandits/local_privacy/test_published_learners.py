"""TGP, ATA and MoMA beside second programs that follow the paper line by line."""

import math
import pickle

import numpy as np
import pytest
from scipy.linalg import sqrtm

from bandits.ldp_ata_gp_ucb import AdaptivelyTruncatedGpUcb, MessageHistory
from bandits.ldp_moma_gp_ucb import PRACTICAL, MedianOfMeansGpUcb, median_choice, reach, replays
from bandits.ldp_tgp_ucb import TruncatedGpUcb, tail_bias, tail_cut
from bandits.learning.features import squared_exponential
from bandits.learning.nystrom import embedding
from bandits.local_privacy.payoffs import Payoffs, best
from bandits.local_privacy.ridge import FRESH, Ridge
from bandits.simulation.information_gain import gain
from dpaccount.errors import InputError
from tests.depth import deep
from tests.looped import looped

N = 20
GRID = np.linspace(0, 1, N)[:, None]
KERNEL = squared_exponential(GRID, GRID, 0.2)
LAPLACE = Payoffs(bound=1.0, moment=70.0, noise_moment=60.0, start=2.0, scale=4.0, tail_power=1.0, clip=2.0)
DUCHI = Payoffs(bound=1.0, moment=18.7, noise_moment=18.7, start=4.33, tail_power=1.0, clip=2.0)
HEAVY = Payoffs(bound=1.0, moment=4.0, noise_moment=3.0)
FEW = Payoffs(bound=1.0, moment=4.0, noise_moment=3.0, order=0.5)


def fed(learner, rounds, noise, seed=1):
    """Play `rounds` rounds on sin; return points and values."""
    rng, played = np.random.default_rng(seed), []
    for _ in range(rounds):
        point = learner.ask().point
        played.append((point, math.sin(6 * GRID[point, 0]) + noise(rng)))
        learner.tell(*played[-1], None)
    points, values = zip(*played, strict=True)
    return np.array(points), np.array(values)


def t3(rng):
    return rng.standard_t(3)


def two(rng):
    return rng.choice([-4.33, 4.33])


# ------------------------------------------------------------------ the posterior


def test_the_table_is_the_posterior_of_the_text():
    """(2) and (3), beyond the round where V is inverted anew, and the gain."""
    rng, full = np.random.default_rng(1), np.ones(N, dtype=bool)
    ridge = Ridge(embedding(KERNEL, full), KERNEL.diagonal().copy(), 0.7)
    points, values = rng.integers(0, N, FRESH + 100), rng.normal(size=FRESH + 100)
    moment = np.zeros(ridge.features.shape[1])
    for point, value in zip(points, values, strict=True):
        ridge.play(point)
        moment += value * ridge.features[point]
    across, seen = KERNEL[:, points], KERNEL[np.ix_(points, points)] + 0.7 * np.eye(len(points))
    assert np.abs(ridge.mean(moment) - across @ np.linalg.solve(seen, values)).max() < 1e-5
    variance = KERNEL.diagonal() - (across * np.linalg.solve(seen, across.T).T).sum(axis=1)
    assert np.abs(ridge.variance - variance).max() < 1e-6
    assert ridge.gain == pytest.approx(gain(KERNEL[np.ix_(points, points)], 0.7), abs=1e-4)
    anew = Ridge(ridge.features, KERNEL.diagonal().copy(), 0.7, np.bincount(points, minlength=N))
    assert np.abs(anew.variance - ridge.variance).max() < 1e-9
    assert np.abs(anew.solved - ridge.solved).max() < 1e-9


def test_an_observation_never_makes_a_point_less_known():
    rng, ridge = np.random.default_rng(2), Ridge(embedding(KERNEL, np.ones(N, dtype=bool)), np.ones(N), 1.0)
    for point in rng.integers(0, N, 50):
        before = ridge.variance.copy()
        ridge.play(point)
        assert (ridge.variance <= before + 1e-12).all()


# ------------------------------------------------------------------ TGP


@looped(("payoffs", "noise"), [(LAPLACE, two), (HEAVY, t3), (FEW, t3)])
@looped("constants", ["theory", "practical"])
def test_tgp_line_by_line(payoffs, noise, constants):
    learner = TruncatedGpUcb(KERNEL, payoffs, constants, 1)
    points, values = fed(learner, 60, lambda rng: 3 * noise(rng))
    if payoffs.tail_power:
        cuts = [2.0 + 4.0 * math.log(t) for t in range(1, 61)]
    else:
        power = 1 / (1 + payoffs.order)
        cuts = [4.0**power * t ** (power / 2) for t in range(1, 61)]
    assert (np.abs(values) > cuts).any()
    kept = np.where(np.abs(values) <= cuts, values, 0)
    ridge = learner.table.ridge
    seen = KERNEL[np.ix_(points, points)] + ridge * np.eye(60)
    assert np.abs(learner.mean() - KERNEL[:, points] @ np.linalg.solve(seen, kept)).max() < 1e-6
    if constants == "theory" and payoffs is LAPLACE:  # Algorithm 2, line 5, K as `moment`
        information = gain(KERNEL[np.ix_(points, points)], 1.0)
        beta = (
            1
            + 2 * math.sqrt(2) * cuts[-1] * math.sqrt(information + math.log(100))
            + math.sqrt(70 * (math.log(60) + 1))
        )
        assert learner.width() == pytest.approx(beta, rel=1e-6)


def test_round_one_needs_no_logarithm_of_0():
    for payoffs in (LAPLACE, HEAVY, FEW, DUCHI):
        assert TruncatedGpUcb(KERNEL, payoffs, "theory", 1).width() == payoffs.bound
        assert tail_cut(payoffs, 0) == tail_bias(payoffs, 0) == 0
        assert 0 < tail_cut(payoffs, 1) <= tail_cut(payoffs, 2)


def test_truncation_points_have_their_order():
    """α = 1: t^¼; sub-Weibull: (ln t)^θ."""
    assert tail_cut(HEAVY, 16 * 81) / tail_cut(HEAVY, 81) == pytest.approx(2)
    assert tail_cut(FEW, 8 * 50) / tail_cut(FEW, 50) == pytest.approx(2)
    gaussian = Payoffs(bound=1.0, moment=2.0, noise_moment=1.0, start=1.0, scale=2.0, tail_power=0.5)
    assert tail_cut(gaussian, round(math.e**9)) == pytest.approx(1 + 2 * 3, rel=1e-4)


@pytest.mark.parametrize("order", [1.0, 0.5])
def test_the_bias_of_truncation_is_bounded(order):
    """E[|y|; |y| > b_τ] of a Pareto law, by its closed form: no chance in it."""
    tail = 1 + order + 0.2  # P(|y| > x) = x^(−tail), x >= 1
    payoffs = Payoffs(bound=1.0, moment=tail / (tail - 1 - order), noise_moment=1.0, order=order)
    total = 0.0
    for time in range(1, 2000):
        cut = max(tail_cut(payoffs, time), 1.0)
        total += (tail / (tail - 1) * cut ** (1 - tail)) ** 2
        assert math.sqrt(total) <= tail_bias(payoffs, time)


# ------------------------------------------------------------------ ATA


def test_truncated_sums_are_those_of_every_message_looked_at():
    rng = np.random.default_rng(3)
    rows, history = rng.normal(size=(6, N)), MessageHistory(N)
    points = rng.integers(0, N, 300)
    values = np.where(rng.random(300) < 0.5, rng.choice([-2.0, 3.0], 300), rng.standard_t(2, 300))
    for point, value in zip(points.tolist(), values.tolist(), strict=True):
        history.add(point, value)
    for cut in (0.0, 0.5, 2.0, 1e9):
        products = rows[:, points] * values
        naive = np.where(np.abs(products) <= cut, products, 0).sum(axis=1)
        assert np.abs(history.truncated(rows, cut) - naive).max() < 1e-9


@looped(("payoffs", "noise"), [(DUCHI, two), (HEAVY, t3), (FEW, t3)])
@looped("constants", ["theory", "practical"])
def test_ata_line_by_line(payoffs, noise, constants):
    """Plays one by one, b_t of the last round for all of them; a root of Ṽ⁻¹ is L⁻¹."""
    learner = AdaptivelyTruncatedGpUcb(KERNEL, payoffs, 60, constants, 1)
    points, values = fed(learner, 60, noise)
    phi = learner._features
    m, rows = phi.shape[1], phi[points]
    inner = rows.T @ rows + learner.ridge * np.eye(m)
    root = np.linalg.inv(np.linalg.cholesky(inner))
    u = root @ rows.T
    assert (
        np.abs(u.T @ u - np.real((half := np.linalg.inv(sqrtm(inner))) @ rows.T).T @ (half @ rows.T)).max()
        < 1e-9
    )
    assert (np.linalg.norm(u, axis=1) <= 1).all()  # what the proof reads of them
    logarithm, power = math.log(4 * m * 60 / 0.01), 1 / (1 + payoffs.order)
    cut = (payoffs.moment / logarithm) ** power * 60 ** ((1 - payoffs.order) * power / 2)
    sums = np.where(np.abs(u * values) <= cut, u * values, 0).sum(axis=1)
    mean = phi @ root.T @ sums
    variance = 1 - (phi**2).sum(axis=1) + learner.ridge * (phi * np.linalg.solve(inner, phi.T).T).sum(axis=1)
    assert np.abs(learner.mean - mean).max() < 1e-8
    assert np.abs(learner.variance - variance).max() < 1e-8
    if constants == "theory":
        assert (np.abs(u * values) > cut).any() or payoffs is DUCHI
        width = (
            1
            + math.sqrt(2)
            + 4
            * payoffs.moment**power
            * logarithm ** (payoffs.order * power)
            * math.sqrt(m)
            * 60 ** ((1 - payoffs.order) * power / 2)
        )
        assert learner.width() == pytest.approx(width)


def test_dictionaries_do_not_depend_on_rewards():
    """The same points, other rewards: the same dictionaries, features and variances."""
    learners = [AdaptivelyTruncatedGpUcb(KERNEL, DUCHI, 50, "theory", 3) for _ in range(2)]
    for learner in learners:
        learner.q = 3.0  # a thin dictionary, so that coins decide
    for time in range(50):
        for learner, sign in zip(learners, (1, -1), strict=True):
            learner.tell(time % N, 4.33 * sign * (-1) ** time, None)
        assert np.array_equal(learners[0]._dictionary, learners[1]._dictionary)
        assert np.array_equal(learners[0].variance, learners[1].variance)
    assert 0 < learners[0]._dictionary.sum() < N


# ------------------------------------------------------------------ MoMA


def test_theory_asks_for_hundreds_of_people():
    assert (replays(1000, "theory"), replays(10_000, "theory")) == (334, 389)


@looped("people", [1, 2, 5, 8])
def test_moma_line_by_line(people):
    learner = MedianOfMeansGpUcb(KERNEL, HEAVY, 83, people, "theory", 1)
    points, values = fed(learner, 83, t3)
    epochs = 83 // people
    assert learner.epoch == epochs
    whole = points[: epochs * people].reshape(epochs, people)
    assert (whole == whole[:, :1]).all()  # an epoch has one point
    assert (points[epochs * people :] == whole[-1, 0]).all()  # what is left replays the last one
    phi, told = learner._regression.features, values[: epochs * people].reshape(epochs, people)
    rows = phi[whole[:, 0]]
    inner = rows.T @ rows + np.eye(phi.shape[1])
    theta = np.linalg.solve(inner, rows.T @ told).T
    if people > 1:
        medians = []
        for j in range(people):
            apart = [theta[j] - theta[s] for s in range(people) if s != j]
            medians.append(np.median([math.sqrt(a @ inner @ a) for a in apart]))
        nearest = np.flatnonzero(np.array(medians) <= min(medians) * (1 + 1e-9))
    else:
        nearest = [0]
    assert min(np.abs(learner.mean - phi @ theta[j]).max() for j in nearest) < 1e-9
    gamma = math.sqrt(9 * phi.shape[1] * 3)
    assert learner.width() == pytest.approx(1 + math.sqrt(2) + 3 * gamma)


def test_what_is_left_over_teaches_nothing():
    learner = MedianOfMeansGpUcb(KERNEL, HEAVY, 11, 5, "practical", 1)
    fed(learner, 10, t3)
    before = learner.mean.copy()
    fed(learner, 1, lambda _: 1e6)
    assert np.array_equal(learner.mean, before)


def test_the_median_choice_leaves_out_outliers():
    rng = np.random.default_rng(1)
    estimates = rng.normal(size=(9, 4))
    estimates[:4] += 1e3 * rng.normal(size=(4, 4))
    for _ in range(20):
        assert median_choice(estimates, rng.random(9)) >= 4
    assert median_choice(estimates[:1], np.zeros(1)) == 0
    same = np.zeros((3, 2))
    assert {median_choice(same, rng.random(3)) for _ in range(50)} == {0, 1, 2}  # ties by coins


def test_the_width_of_theorem_4_lacks_the_ridge():
    """|φᵀd| = λ^(−½)‖d‖_V σ̃ for d along V⁻¹φ: without λ^(−½), as printed, no bound holds for λ < 1."""
    for ridge in (0.01, 1.0, 25.0):
        table = Ridge(embedding(KERNEL, np.ones(N, dtype=bool)), np.ones(N), ridge, np.arange(N))
        phi, solved = table.features[3], table.solved[3]
        inner = (table.features.T * np.arange(N)) @ table.features + ridge * np.eye(len(phi))
        seminorm = math.sqrt(solved @ inner @ solved)
        assert abs(phi @ solved) == pytest.approx(
            seminorm * table.deviation()[3] / math.sqrt(ridge), rel=1e-4
        )


# ------------------------------------------------------------------ ties, parameters


MAKE = {
    "tgp": lambda kernel, payoffs, coins, rounds=40: TruncatedGpUcb(kernel, payoffs, "practical", coins),
    "ata": lambda kernel, payoffs, coins, rounds=40: AdaptivelyTruncatedGpUcb(
        kernel, payoffs, rounds, "practical", coins
    ),
    "moma": lambda kernel, payoffs, coins, rounds=40: MedianOfMeansGpUcb(
        kernel, payoffs, rounds, PRACTICAL, "practical", coins
    ),
}


@deep
@pytest.mark.statistical(1e-9)
@pytest.mark.parametrize("name", MAKE)
def test_ties_fall_by_coins(name, depth):
    """Mirror images are ties after messages at the middle only; each side 20 to 80 of 100 times."""
    middle = np.linspace(0, 1, 21)[:, None]
    kernel = squared_exponential(middle, middle, 0.2)
    first, second = [], []
    for coins in range(100):
        learner = MAKE[name](kernel, DUCHI, depth.seed(coins))
        first.append(learner.ask().point)
        for _ in range(5):  # an epoch of MoMA
            learner.tell(10, -4.33, None)
        second.append(learner.ask().point)
    assert len(set(first)) > 10
    assert 20 < sum(point < 10 for point in second) < 80


def test_equal_bounds_up_to_rounding_share():
    rng = np.random.default_rng(1)
    assert {best(np.array([1.0, 1 + 1e-13, 0.5]), rng) for _ in range(50)} == {0, 1}
    assert {best(np.array([1.0, 1 + 1e-6, 0.5]), rng) for _ in range(50)} == {1}


@looped("name", MAKE)
@looped("payoffs", [LAPLACE, HEAVY, FEW])
def test_it_learns_where_theory_says_so_too(name, payoffs):
    """The best point is played more than at random, by practical constants and without much noise."""
    learner = MAKE[name](
        KERNEL, Payoffs(bound=1.0, moment=2.0, noise_moment=0.1, order=payoffs.order, start=2.0), 2
    )
    points, _ = fed(learner, 40, lambda rng: rng.normal() / 10)
    assert np.isin(points[20:], [4, 5, 6]).mean() > 0.5


def test_parameters_that_bound_nothing_are_refused():
    for bad in (
        {"bound": 0.0}, {"bound": math.nan}, {"moment": math.inf}, {"noise_moment": -1.0},
        {"order": 0.0}, {"order": 1.5}, {"clip": 0.0}, {"tail_power": -1.0},
    ):  # fmt: skip
        with pytest.raises(InputError):
            Payoffs(**{"bound": 1.0, "moment": 1.0, "noise_moment": 1.0} | bad)
    with pytest.raises(InputError, match="constants"):
        TruncatedGpUcb(KERNEL, DUCHI, "best", 1)
    assert reach(HEAVY, 2, 7) == pytest.approx(math.sqrt(9 * 2 * 3))


@deep
@pytest.mark.parametrize("name", MAKE)
def test_what_is_kept_does_not_grow_with_the_messages(name):
    """Bytes of the learner after 400 and 1600 messages of one bit; ATA's are counted together."""

    def size(rounds):
        learner = MAKE[name](KERNEL, DUCHI, 1, rounds)
        for time in range(rounds):
            learner.tell(time // 3 % N, 4.33 * (-1) ** (time // 60), None)
        return len(pickle.dumps(learner))

    assert size(1600) <= size(400) * 1.05
