"""A bandit of a few arms: one number a person at most, intervals that hold, and little regret."""

import doctest
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from audits.hypothesis_tests.replay import record, replay
from bandits.arm_phases import ArmPhases
from bandits.learning.session import Session
from bandits.local_posterior import LocalPosterior
from bandits.statistics.first_moments import CONTRIBUTION_BITS
from dpaccount.errors import InputError
from dpaccount.noise.laws import law
from dpaccount.noise.leaves import leaves
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof.derivation import point
from mechanisms.subject import View

DELTA = Fraction(1, 1000)
ONE = 2**CONTRIBUTION_BITS


def world(seed, arms, rounds):
    """Return means and everybody's true-or-false rewards, in worlds of an unseen law of seeds."""
    rng = np.random.default_rng([7000, seed])
    means = rng.uniform(0.2, 0.8, arms)
    return means, (rng.random((rounds, arms)) < means).astype(float)


def run(subject, data, seed):
    theorem = subject.proof(subject.delta)
    return subject.play(data, rehearse(theorem, Rehearsal(seed)), seed)


@pytest.mark.parametrize("law_", ["laplace", "gaussian"])
def test_a_person_moves_one_block_by_what_is_charged(law_):
    """Every person's rewards are turned, given the same releases: the largest loss is the charged one."""
    subject = ArmPhases(rounds=40, arms=3, law=law_, delta=DELTA)
    _, data = world(1, 3, 40)
    theorem = subject.proof(DELTA)
    first = record(subject, data, rehearse(theorem, Rehearsal(1)), 1)
    moved = np.zeros(40)
    for person in range(40):
        turned = data.copy()
        turned[person] = 1 - turned[person]
        exact = replay(subject, turned, first, 1).exact
        away = [abs(int(exact[part][0]) - int(first.exact[part][0])) for part in first.exact]
        assert sum(value > 0 for value in away) == 1
        moved[person] = sum(away) / ONE
    assert (moved == 1).all()  # rewards of 0 and 1: nobody moves more, everybody as much
    (leaf,) = leaves(theorem)
    if law_ == "laplace":
        assert moved.max() / (law(leaf).scale / ONE) == point(subject.proof(Fraction(0)))[0] == 1


def test_laplace_noise_is_pure():
    assert point(ArmPhases(delta=Fraction(0)).proof(Fraction(0))) == (1, 0)


def test_blocks_are_public_and_apart():
    for epsilon in (Fraction(1, 20), Fraction(1), Fraction(30)):
        blocks = ArmPhases(rounds=5000, epsilon=epsilon).blocks()
        assert (blocks[0][0], blocks[-1][1]) == (1, 5000)
        assert all(last + 1 == first for (_, last), (first, _) in pairwise(blocks))
    assert len(ArmPhases(rounds=10**6).blocks()) < 1000


def test_who_does_not_answer_adds_nothing():
    subject = ArmPhases(rounds=40, arms=3)
    rewards, everyone = np.array([1.0, 0.0, np.nan, 7.0]), np.ones(4, dtype=bool)
    assert subject.added(rewards, everyone).tolist() == [ONE // 2]  # ½ − ½ + 0 + ½
    assert subject.added(rewards, ~everyone).tolist() == [0]


def missed(subject, trials, means=None, forget=None):
    """Return in how many trials an interval of a mean misses it."""
    wrong = 0
    for seed in range(trials):
        true, data = world(seed, subject.arms, subject.rounds)
        if means is not None:
            true = np.full(subject.arms, means)
            data = (np.random.default_rng(seed).random(data.shape) < true).astype(float)
        view = run(subject, data, seed)
        found = subject.accuracy(view, Fraction(1, 2))["means"]
        low, high = np.array(found["low"]), np.array(found["high"])
        if forget is not None:  # the middle of the interval with less around it
            half = (high - low) / 2 * forget
            low, high = (low + high) / 2 - half, (low + high) / 2 + half
        wrong += not ((low <= true) & (true <= high)).all()
    return wrong


@pytest.mark.parametrize("law_", ["laplace", "gaussian"])
def test_intervals_hold_under_adaptive_choices(law_):
    """At level ½, over 100 trials: more than 70 misses have a chance below 1e-4; a fifth as wide fails."""
    subject = ArmPhases(rounds=200, arms=4, law=law_, epsilon=Fraction(1, 2))
    assert missed(subject, 100) <= 70
    assert missed(subject, 100, forget=0.2) > 70


def test_the_best_arm_is_among_those_that_may_be_it():
    subject, means = ArmPhases(rounds=6000, arms=3, epsilon=Fraction(2)), np.array([0.1, 0.5, 0.9])
    blocks = [(last - first + 1, place % 3) for place, (first, last) in enumerate(subject.blocks())]
    sums = np.array([round(people * (means[arm] - 0.5) * ONE) for people, arm in blocks])
    view = View(public={"arms": np.repeat([arm for _, arm in blocks], [n for n, _ in blocks]), "sums": sums})
    assert subject.report(view) == {"may_be_best": [2]}
    early = ArmPhases(rounds=6, arms=3)
    assert early.best(run(early, world(1, 3, 6)[1], 1)) == [0, 1, 2]  # nothing is known yet


def test_a_block_that_ended_early_counts_its_people(tmp_path):
    subject = ArmPhases(rounds=400, arms=2, epsilon=Fraction(30))
    with Session.rehearse(subject, tmp_path / "state", seed=1) as session:
        for _ in range(subject.blocks()[-1][0]):  # one person of the last block
            session.tell(session.ask(), 1.0)
        found = subject.accuracy(session.result())["means"]
    assert max(found["high"]) > 1  # every reward is 1: less would leave the truth out
    assert max(found["low"]) > 0.7


def test_an_arm_that_was_never_played_is_unknown():
    subject = ArmPhases(rounds=40, arms=20)
    view = run(subject, world(1, 20, 40)[1], 1)
    found = subject.accuracy(view)["means"]
    unseen = np.setdiff1d(np.arange(20), view.public["arms"])
    assert len(unseen) > 0
    assert all(found["low"][arm] <= 0 and found["high"][arm] >= 1 for arm in unseen)


def test_the_example_of_its_page_runs(root):
    page = str(root / "docs" / "arms.md")
    failed, tried = doctest.testfile(page, module_relative=False, encoding="utf-8")
    assert (failed, tried > 5) == (0, True)


@pytest.mark.slow
@pytest.mark.parametrize(("rounds", "most"), [(1024, 0.33), (4096, 0.12)])
def test_regret_is_a_small_share_of_that_by_chance(rounds, most):
    """Ten arms, pure ε = 1, 24 unseen worlds: the mean plus two standard errors."""
    shares = []
    for seed in range(24):
        means, data = world(seed, 10, rounds)
        view = run(ArmPhases(rounds=rounds, delta=Fraction(0)), data, seed)
        lost = means.max() - means[view.public["arms"]]
        shares.append(lost.mean() / (means.max() - means.mean()))
    assert np.mean(shares) + 2 * np.std(shares) / np.sqrt(len(shares)) <= most


@pytest.mark.slow
def test_one_private_bit_a_person_serves_arms_too():
    """`local-posterior` on independent points: ten arms, local ε = 1, 48 unseen worlds."""
    shares, half = [], Fraction(1, 2)
    alone = {"points": 10, "lengthscale": Fraction(1, 100), "bound": half, "noise_bound": half}
    subject = LocalPosterior(rounds=4096, epsilon=Fraction(1), explore=Fraction(2, 5), **alone)
    for seed in range(48):
        means, data = world(seed, 10, 4096)
        view = subject.play(data - 0.5, rehearse(subject.proof(DELTA), Rehearsal(seed)), seed)
        lost = means.max() - means[view.public["points"]]
        shares.append(lost.mean() / (means.max() - means.mean()))
    assert np.mean(shares) + 2 * np.std(shares) / np.sqrt(len(shares)) <= 0.25


@pytest.mark.parametrize(
    "wrong",
    [
        {"arms": 1},
        {"arms": 20, "rounds": 39},
        {"rounds": 10**7 + 1},
        {"law": "cauchy"},
        {"sigma": Fraction(1)},
        {"law": "gaussian", "sigma": Fraction(0)},
        {"law": "gaussian", "delta": Fraction(0)},
        {"epsilon": Fraction(0), "delta": Fraction(0)},
    ],
)
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(InputError):
        ArmPhases(**wrong)
