"""The best arm by evidence that holds at any time: bounds, enumeration, false alarms, sessions."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.special import xlog1py, xlogy

from bandits.arm_phases import ArmPhases
from bandits.learning.session import Session
from bandits.space.points import grid
from bandits.statistics.best_arm import ArmOrder
from dpaccount.errors import InputError
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from tests.depth import deep
from tests.looped import looped

SEARCH = {"index": "top-two", "epsilon": Fraction(1)}
PURE = ArmPhases(epsilon=Fraction(1))


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    """Leave the disk alone."""
    monkeypatch.setattr("dpaccount.work.journal.os.fsync", lambda _: None)


def run(subject, means, seed):
    rng = np.random.default_rng([7000, seed])
    data = (rng.random((subject.rounds, len(means))) < np.array(means)).astype(float)
    return subject.play(data, rehearse(subject.proof(subject.delta), Rehearsal(seed)), seed)


def stopped(subject, view, error):
    """Return after how many people an arm is named with this error, and which; None for never."""
    known, people = subject.statement.order(), 0
    for arm, counted, total, noises in subject.released(view):
        known.add(arm, counted, total, noises)
        people += counted
        named, now = known.best()
        if now <= error:
            return people, named
    return None


def powers(tilts, people, blocks, total, mean, sign):
    """Return the supermartingales of the module's docstring, one for each λ in the last axis."""
    tilt, growth = np.array(list(tilts)).T
    signed = sign * tilt
    drift = people * np.log(1 - np.multiply.outer(mean, 1 - np.exp(signed)))
    return np.exp(np.multiply.outer(total, signed) - drift - blocks * growth)


@looped("seed", range(7000, 7012))
def test_the_least_product_is_bounded_from_below_and_nearly_met(seed):
    """Against 20,001 means in [0, 1]; rewards, noise and people at random, the law of pairs written down here."""
    rng = np.random.default_rng(seed)
    people, total = rng.integers(1, 80, 2), rng.normal(0.5, 0.2, 2)
    known = ArmOrder(2, PURE.statement.tilts(), 0.0)
    known.add(1, int(people[1]), float(total[1] * people[1]))
    known.add(0, int(people[0]), float(total[0] * people[0]))
    means = np.linspace(0, 1, 20_001)
    shares = [[1 / ((1 + (i - j) ** 2) * (1 + j)) for j in range(12)] for i in range(12)]
    for arm, other in ((0, 1), (1, 0)):
        larger, smaller = (
            powers(PURE.statement.tilts(), people[a], 1, total[a] * people[a], means, sign)
            for a, sign in ((arm, 1), (other, -1))
        )
        least = np.log(((larger @ shares) * smaller).sum(axis=1).min() / np.sum(shares))
        assert known._products(arm, np.array([other]))[0] <= least + 1e-9
        assert known._products(arm, np.array([other]))[0] >= least - 1e-3


def test_shares_of_pairs_make_one():
    """So the mean of the supermartingales begins at 1."""
    found = ArmOrder(3, PURE.statement.tilts(), 0.0)._products(0, np.array([1, 2]))
    assert ((found > -1e-10) & (found <= 0)).all()


@looped("mean", [0.0, 0.1, 0.5, 0.93, 1.0])
@looped("sign", [1, -1])
def test_a_block_is_no_gain_by_chance(mean, sign):
    """All sums of three rewards of 0 or 1 and discrete Laplace noise: no supermartingale's mean is above 1."""
    step = 2.0**-6
    noise = np.arange(-4000, 4001) * step
    ratio = np.exp(-step)
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-4000, 4001))
    gain = np.zeros(12)
    for ones in range(4):
        chance = comb(3, ones) * np.exp(xlogy(ones, mean) + xlog1py(3 - ones, -mean))
        gain += chance * (law @ powers(PURE.statement.tilts(), 3, 1, ones + noise, mean, sign))
    assert (gain > 0.3).all()
    assert (gain <= 1 + 1e-12).all()


@pytest.mark.parametrize("seed", range(7000, 7004))
def test_nothing_is_lost_by_arms_that_are_not_compared(seed):
    """The same evidence as where the leader is compared with everyone after every block."""

    class Everyone(ArmOrder):
        def _worth_comparing(self, arm):
            return np.delete(np.arange(len(self._people)), arm)

    rng, skipped = np.random.default_rng(seed), 0
    some, everyone = (order(4, PURE.statement.tilts(), 2.0**-30) for order in (ArmOrder, Everyone))
    for _ in range(80):
        arm, people = int(rng.integers(4)), int(rng.integers(0, 40))
        total = rng.binomial(people, 0.4 + 0.4 * (arm == 2)) + rng.laplace()
        for order in (some, everyone):
            order.add(arm, people, total)
        leader = int(np.argmax(some._means()))
        skipped += len(everyone._worth_comparing(leader)) - len(some._worth_comparing(leader))
        assert np.allclose(some._beats, everyone._beats, rtol=0, atol=1e-9)
    assert skipped > 60
    assert some._beats.max() > 1


def test_more_reward_is_more_evidence_for_an_arm_and_less_for_another():
    def beats(first, second):
        known = ArmOrder(2, PURE.statement.tilts(), 0.0)
        known.add(1, 200, second)
        known.add(0, 200, first)
        return known._products(0, np.array([1]))[0]

    for first, second in product((120.0, 150.0, 190.0), (20.0, 60.0, 110.0)):
        assert beats(first + 1, second) > beats(first, second) > beats(first, second + 1)


def test_arms_have_no_order():
    """What is known of three arms is the same under other names."""
    blocks = [(0, 90, 60.0), (1, 80, 20.0), (2, 70, 35.0), (0, 40, 31.0)]
    names, found = (2, 0, 1), []
    for named in ((0, 1, 2), names):
        known = ArmOrder(3, PURE.statement.tilts(), 0.0)
        for arm, people, total in blocks:
            known.add(named[arm], people, total)
        found.append((*known.best(), known.may_be_best(Fraction(1, 3))))
    assert found[1][0] == names[found[0][0]]
    assert found[1][1] == pytest.approx(found[0][1], rel=1e-9)
    assert sorted(names[arm] for arm in found[0][2]) == found[1][2]


def test_nothing_is_known_at_first():
    known = ArmOrder(4, PURE.statement.tilts(), 0.0)
    assert known.best()[1] == 1
    assert known.may_be_best(Fraction(1, 100)) == [0, 1, 2, 3]


def test_an_error_is_evidence_against_the_hardest_of_the_others():
    known = ArmOrder(3, PURE.statement.tilts(), 0.0)
    for arm, total in enumerate((10.0, 150.0, 90.0)):
        known.add(arm, 200, total)
    arm, error = known.best()
    assert arm == 1
    assert error == pytest.approx(2 * np.exp(-known._products(1, np.array([2]))[0]), rel=1e-6)
    assert known.may_be_best(Fraction(error) * 2) == [1]
    assert known.may_be_best(Fraction(error) / 2) == [1, 2]


@deep
@pytest.mark.statistical(2e-4)  # 68 and more of 100 at ½
@pytest.mark.parametrize("means", [(0.5, 0.499), (0.7, 0.699, 0.699), (0.05, 0.049)])
def test_a_wrong_arm_is_seldom_named(means):
    """Ever below an error of ½, in 100 runs of 50 blocks, most of them of the arm that leads."""
    wrong = 0
    for seed in range(100):
        rng = np.random.default_rng([7000, seed])
        known, sums, people = (
            ArmOrder(len(means), PURE.statement.tilts(), 0.0),
            np.zeros(len(means)),
            np.zeros(len(means)),
        )
        for block in range(50):
            arm = block % len(means) if block % 3 == 0 else int(np.argmax(sums / np.maximum(people, 1)))
            size = 20 + block
            total = float(rng.binomial(size, means[arm]) + rng.laplace())
            sums[arm], people[arm] = sums[arm] + total, people[arm] + size
            known.add(arm, size, total)
            named, error = known.best()
            if named != 0 and error <= 0.5:
                wrong += 1
                break
    assert wrong < 68


def test_the_answer_is_public_and_then_everybody_is_shown_it():
    subject = ArmPhases(rounds=2000, arms=3, level=Fraction(9, 10), **SEARCH)
    view = run(subject, (0.2, 0.9, 0.3), 1)
    assert view.public["best"].tolist() == [1]
    assert view.public["error"][0] <= 0.1
    people, named = stopped(subject, view, 0.1)
    assert named == 1
    assert people < 1000
    assert (view.public["arms"][people:] == 1).all()
    assert subject.report(view)["error"] == view.public["error"][0]
    whole = run(ArmPhases(rounds=2000, arms=3, level=Fraction(1), **SEARCH), (0.2, 0.9, 0.3), 1)
    assert (whole.public["arms"][people:] != 1).mean() > 0.2  # a fixed budget goes on searching
    assert whole.public["error"][0] < view.public["error"][0]


def test_an_arm_with_a_bad_start_is_played_again():
    """The best arm pays nothing at first: it is worth √n/2 of n people's rewards nonetheless, and is named."""
    subject = ArmPhases(rounds=20_000, arms=3, level=Fraction(1), **SEARCH)
    data = (np.random.default_rng(7000).random((20_000, 3)) < [0.9, 0.6, 0.6]).astype(float)
    data[: subject.blocks()[2][1], 0] = 0.0  # as long as every arm has one block
    view = subject.play(data, rehearse(subject.proof(subject.delta), Rehearsal(1)), 1)
    begins = [first - 1 for first, _ in subject.blocks()][3:]
    played = np.cumsum(view.public["arms"] == 0)
    assert (played[begins] >= np.sqrt(begins) / 2 - 1).all()
    assert view.public["best"].tolist() == [0]


def test_slots_that_nobody_took_are_in_no_evidence(tmp_path):
    """A session that ends within a block: those who came are counted, and the rest are not people of ½."""
    subject = ArmPhases(rounds=800, arms=2, block=100, **SEARCH)
    with Session.rehearse(subject, tmp_path / "state", seed=1) as session:
        for _ in range(103):
            session.tell(session.ask(), 1.0)
        view = session.result()
        assert session._course._evidence._people.tolist().count(3) == 1
    assert subject.report(view)["error"] == view.public["error"][0]


def test_who_is_shown_another_arm_is_in_no_evidence(tmp_path):
    """Each arm is on offer to half of the people, and pays .8 or 1; the worse one is never called the best."""
    subject = ArmPhases(rounds=1200, arms=2, space=grid(2), **SEARCH)
    rng = np.random.default_rng(7003)
    with Session.rehearse(subject, tmp_path / "state", seed=1) as session:
        for _ in range(1200):
            ticket = session.ask([int(rng.random() < 0.5)])
            session.tell(ticket, 1.0 if ticket.action else float(rng.random() < 0.8))
        view = session.result()
    assert len(view.public["uncounted"]) > 400
    assert (view.public["best"].tolist(), subject.report(view)["may_be_best"]) == ([1], [1])
    assert view.public["error"][0] < 0.05
    assert subject.report(view)["error"] == view.public["error"][0]


def test_an_arm_that_is_withdrawn_stays_unknown(tmp_path):
    """It is never offered: the best of the others is not called the best of all."""
    subject = ArmPhases(rounds=600, arms=3, space=grid(3), **SEARCH)
    with Session.rehearse(subject, tmp_path / "state", seed=1) as session:
        for _ in range(600):
            ticket = session.ask([0, 1])
            session.tell(ticket, float(ticket.action))
        view = session.result()
    assert view.public["error"][0] == 1
    assert subject.report(view)["may_be_best"] == [1, 2]


def test_a_view_that_lacks_who_is_uncounted_is_refused():
    view = run(ArmPhases(rounds=60, arms=2, **SEARCH), (0.2, 0.8), 1)
    del view.public["uncounted"]
    with pytest.raises(InputError, match="no uncounted"):
        PURE.report(view)


@deep
def test_the_best_of_two_arms_is_named_soon():
    """At an error of 1e-6, in 12 unseen runs: at most three times the least that any algorithm needs.

    That is ln(1/(2.4e))/kl(.6, .5) for means of .6 and .4, by symmetry; ε = 1 adds nothing to it.
    """
    error = Fraction(1, 10**6)
    least = np.log(1 / (2.4 * float(error))) / (0.6 * np.log(1.2) + 0.4 * np.log(0.8))
    subject, found = ArmPhases(rounds=8000, arms=2, level=1 - error, **SEARCH), []
    for seed in range(12):
        people, named = stopped(subject, run(subject, (0.6, 0.4), seed), error)
        assert named == 0
        found.append(people)
    assert np.mean(found) + 2 * np.std(found) / np.sqrt(12) <= 3 * least


def test_an_error_is_never_nil():
    """However much is known, exp(−…) does not underflow to certainty."""
    known = ArmOrder(2, PURE.statement.tilts(), 0.0)
    for arm in (0, 1):
        known.add(arm, 10**6, 10**6 * (1.0 - arm))
    assert known.best()[0] == 0
    assert 0 < known.best()[1] < 1e-100
