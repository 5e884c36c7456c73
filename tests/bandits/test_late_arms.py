"""Late answers of `arm-phases` enter the next sum of their arm, once: every order, exactly, and what is charged."""

import threading
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.hypothesis_tests.checks import check_of
from audits.hypothesis_tests.replay import record, replay
from bandits.arm_phases import ArmPhases
from bandits.arms.course import ArmCourse
from bandits.learning.releases import Rehearsed, proof_of
from bandits.learning.session import Session
from bandits.statistics.first_moments import CONTRIBUTION_BITS, HALF
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import point
from tests.depth import deep, examples
from tests.looped import looped

ONE = 2**CONTRIBUTION_BITS
DELTA = Fraction(1, 1000)
LATE = ArmPhases(rounds=12, arms=2, epsilon=Fraction(20), delays=True)
GAUSSIAN = replace(LATE, law="gaussian", delta=DELTA, sigma=Fraction(1, 8))


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    """Leave the disk alone."""
    monkeypatch.setattr("dpaccount.work.journal.os.fsync", lambda _: None)


def people(subject, seed, most):
    """Return rewards of 0 and 1, and how many others ask before each one answers."""
    rng = np.random.default_rng(seed)
    rewards = rng.integers(0, 2, (subject.rounds, subject.arms)).astype(float)
    return np.column_stack([rewards, rng.integers(0, most + 1, subject.rounds)])


def moves(subject, data, other, seed, theorem):
    """Return by how much every sum moves, given the same releases, in rewards."""
    run = record(subject, data, rehearse(theorem, Rehearsal(seed)), seed)
    moved = replay(subject, other, run, seed)
    assert run.exact.keys() == moved.exact.keys()
    return np.array([float(moved.exact[part][0] - run.exact[part][0]) / ONE for part in run.exact])


@looped("subject", [LATE, GAUSSIAN, replace(LATE, memory=5), replace(LATE, index="imed", block=3)])
def test_one_person_moves_all_sums_by_one_together(subject):
    """Over all pairs of delays and rewards of everybody, in worlds where most are late."""
    theorem, largest = subject.proof(subject.delta), 0.0
    for seed in range(1, 2):
        data = people(subject, seed, 6)
        for person, (here, there) in product(range(12), product((0, 3, 12), repeat=2)):
            first, second = data.copy(), data.copy()
            first[person], second[person] = (1, 1, here), (0, 0, there)
            away = moves(subject, first, second, seed, theorem)
            assert np.abs(away).sum() <= 1
            assert (away**2).sum() <= 1
            largest = max(largest, np.abs(away).sum())
    assert largest == 1


@examples(60)
@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from(["thompson", "imed", "elimination"]))
def test_whoever_changes_moves_no_more_than_the_theorem_says(seed, arms, index):
    rng = np.random.default_rng(seed)
    subject = ArmPhases(
        rounds=int(rng.integers(4 * arms, 40)), arms=arms, index=index, block=int(rng.integers(1, 5)),
        epsilon=Fraction(int(rng.integers(1, 40))), memory=rng.choice([None, 7]), delays=True,
    )  # fmt: skip
    theorem, data = subject.proof(Fraction(0)), people(subject, seed, int(rng.integers(0, 30)))
    other = data.copy()
    other[rng.integers(subject.rounds)] = [*rng.random(arms), rng.integers(0, subject.rounds + 1)]
    assert np.abs(moves(subject, data, other, seed, theorem)).sum() <= 1 + 1e-9
    assert point(theorem) == (subject.epsilon, 0)


def test_every_answer_enters_one_sum_and_none_is_lost():
    """Without noise to speak of the sums of an arm add up to its people's answers, however late these are."""
    subject = ArmPhases(rounds=60, arms=3, epsilon=Fraction(10**5), delays=True)
    for seed in range(20):
        data = people(subject, seed, 25)
        data[:, -1] = np.minimum(data[:, -1], 59 - np.arange(60))  # all answer before the run ends
        public = subject.play(data, rehearse(subject.proof(Fraction(0)), Rehearsal(seed)), seed).public
        begins = [0, *public["ends"][:-1]]
        arms = [*public["arms"][begins], *range(3)]
        sums = np.bincount(arms, public["sums"] / ONE, 3)
        told = np.array(
            [data[public["arms"] == arm, arm].sum() - (public["arms"] == arm).sum() / 2 for arm in range(3)]
        )
        assert sums == pytest.approx(told, abs=0.02)


def test_a_session_is_the_replay_whoever_is_late(tmp_path):
    for seed in range(12):
        data, due = people(LATE, seed, 7), {}
        whole = LATE.play(data, Rehearsed(proof_of(LATE), 3), 7).public
        live, file = replace(LATE, delays=False), tmp_path / str(seed)
        session = Session.rehearse(live, file, 3, 7)
        for t, row in enumerate(data):
            if t == seed:  # stopped and taken up again
                session.close()
                session = Session.rehearse(live, file, 3, 7)
            ticket = session.ask()
            due.setdefault(t + int(row[-1]), []).append((ticket, row[ticket.action]))
            for late, reward in due.pop(t, []):
                assert session.tell(late, reward)
        with session:
            ended = session.result().public
        assert all((ended[name] == whole[name]).all() for name in whole)
        assert len(ended["sums"]) == len(ended["ends"]) + 2


def test_what_does_not_take_late_answers_says_so(tmp_path):
    for other in ({"index": "top-two"}, {"law": "shuffled", "delta": DELTA, "epsilon": Fraction(1)}):
        with pytest.raises(InputError, match="no late answers"):
            replace(LATE, **other)
    with Session.rehearse(
        ArmPhases(rounds=40, arms=2, index="top-two", epsilon=Fraction(60)), tmp_path / "s", 1
    ) as session:
        first = session.ask()
        for _ in range(20):
            session.ask()
        assert not session.tell(first, 1.0)


def test_intervals_hold_where_answers_are_late():
    """At level ½, over 100 trials: more than 70 misses have a chance below 1e-4."""
    subject, wrong = ArmPhases(rounds=200, arms=4, epsilon=Fraction(1, 2), delays=True), 0
    for seed in range(100):
        rng = np.random.default_rng([7000, seed])
        means = rng.uniform(0.2, 0.8, 4)
        delays = np.minimum(rng.geometric(1 / 20, 200), 199 - np.arange(200))
        data = np.column_stack([rng.random((200, 4)) < means, delays])
        view = subject.play(data, rehearse(subject.proof(Fraction(0)), Rehearsal(seed)), seed)
        found = subject.accuracy(view, Fraction(1, 2))["means"]
        wrong += not ((np.array(found["low"]) <= means) & (means <= np.array(found["high"]))).all()
    assert wrong <= 70


# ------------------------------------------------------------------ what a late answer may not do


class _InBoth(ArmCourse):
    """A late answer stays where it waits, and enters all later sums of its arm."""

    def _release(self, arm, rewards, counted):
        late = list(self._late[arm])
        super()._release(arm, rewards, counted)
        self._late[arm] = late


class _Full(ArmCourse):
    """Only so many late answers fit into a sum: one displaces another."""

    def add_late(self, slot, reward):
        super().add_late(slot, reward)
        waiting = self._late[self._shown[slot - 1]]
        del waiting[1:]


class _Counted(ArmCourse):
    """A block whose people have not answered is as long again."""

    def close(self, rewards, answered):
        self._heard = int(answered.sum())
        super().close(rewards, answered)

    def _begin(self, among=None):
        super()._begin(among)
        if getattr(self, "_heard", 1) == 0:
            first, last = self.batches[-1]
            self.batches[-1] = first, min(2 * last - first + 1, self.slots)


@dataclass(frozen=True)
class Broken(ArmPhases):
    """One of these courses."""

    made: ClassVar[type] = ArmCourse

    def course(self, noise, coins):
        return self.made(self, noise, coins)


@dataclass(frozen=True)
class InBoth(Broken):
    made = _InBoth


@dataclass(frozen=True)
class Full(Broken):
    made = _Full


@dataclass(frozen=True)
class Counted(Broken):
    made = _Counted


@looped("made", [Broken, InBoth, Full, Counted])
def test_tests_see_what_a_late_answer_may_not_do(made):
    """Pairs of tables in which one person answers at another time: some lose a hypothesis, the sound one never."""
    subject = made(rounds=24, arms=2, epsilon=Fraction(20), delays=True)
    proved, wrong = Proved(subject.proof(Fraction(0))), set()
    for seed in range(24):
        data = people(subject, seed, 4)
        other, person = data.copy(), seed
        other[person] = (1 - data[person, 0], 1 - data[person, 1], 4 - data[person, 2])
        run = record(subject, data, rehearse(proved, Rehearsal(seed)), seed)
        try:
            moved = replay(subject, other, run, seed)
        except Exception:  # other sums than the first run released
            wrong.add("sums")
            continue
        found = (check_of(proved, each)[0](run, moved, person + 1).wrong for each in proved.hypotheses)
        wrong |= {why for why in found if why}
    assert bool(wrong) is (made is not Broken)


# ------------------------------------------------------------------ how many answered


COUNTED = ArmPhases(rounds=400, arms=3, epsilon=Fraction(2), counts=Fraction(1, 5), delays=True)


def test_counts_of_answers_take_their_share_of_epsilon():
    for share in (Fraction(1, 100), Fraction(1, 5), Fraction(9, 10)):
        subject = replace(COUNTED, counts=share)
        assert point(subject.proof(Fraction(0))) == (2, 0)
        assert subject.noise_scale == 1 / (2 * (1 - share))
    for wrong in (
        {"counts": Fraction(1)},
        {"counts": Fraction(-1, 9)},
        {"index": "top-two", "delays": False},
    ):
        with pytest.raises(InputError):
            replace(COUNTED, **wrong)


def test_one_person_moves_sums_and_counts_by_what_is_charged():
    """All rewards and delays of one person: sums move by 1 at most, and so does half of all counts together."""
    subject = replace(LATE, counts=Fraction(1, 4))
    theorem, data, largest = subject.proof(Fraction(0)), people(LATE, 2, 6), np.zeros(2)
    for person, here, there in product(range(12), (0, 3, 12), (0, 3, 12)):
        first, second = data.copy(), data.copy()
        first[person], second[person] = (1, 1, here), (0, 0, there)
        run = record(subject, first, rehearse(theorem, Rehearsal(1)), 1)
        moved = replay(subject, second, run, 1).exact
        away = {part: abs(int(moved[part][0] - run.exact[part][0])) for part in moved}
        found = [sum(by for (key, _), by in away.items() if key == name) for name in ("block", "answers")]
        assert found[0] <= ONE
        assert found[1] <= 2
        largest = np.maximum(largest, found)
    assert largest.tolist() == [ONE, 2]


@deep
@pytest.mark.statistical(1e-4)  # more than 70 misses of 100 at level ½
@pytest.mark.parametrize("share", [Fraction(1, 5), Fraction(1, 2)])
def test_intervals_are_of_those_who_answer(share):
    """Half are silent, and means lie far from ½."""
    subject, wrong, width = replace(COUNTED, rounds=2000, epsilon=Fraction(3), counts=share), 0, []
    for seed in range(100):
        rng = np.random.default_rng([7000, seed])
        means = rng.uniform(0.7, 1.0, 3)
        delays = np.where(rng.random(2000) < 0.5, rng.integers(0, 30, 2000), 2000)
        data = np.column_stack([rng.random((2000, 3)) < means, delays])
        view = subject.play(data, rehearse(subject.proof(Fraction(0)), Rehearsal(seed)), seed)
        found = subject.by_arm(view, Fraction(1, 2))
        low, high = np.array(found["low"]), np.array(found["high"])
        assert (low >= 0).all()
        assert (high <= 1).all()
        wrong += not ((low <= means) & (means <= high)).all()
        width.append((high - low).min())
    assert wrong <= 70
    assert np.median(width) < 0.4
    assert (np.abs(np.array(found["answers"]) - np.array(found["people"]) / 2) < 60).all()
    assert subject.picture(view).startswith("<svg")


# ------------------------------------------------------------------ what a view says, and of which run


@pytest.mark.parametrize("index", ["thompson", "imed", "elimination"])
def test_a_wrong_arm_is_not_named_because_answers_are_late(index):
    """Means of .2 and .1, all answer 1,000 people late: 4 of 24 wrong at 5 % have a chance below 1 in 30."""
    subject, wrong, missed = (
        ArmPhases(rounds=2000, arms=2, epsilon=Fraction(3), index=index, delays=True),
        0,
        0,
    )
    for seed in range(24):
        rng = np.random.default_rng([7000, seed])
        delays = np.minimum(1000, 1999 - np.arange(2000))
        data = np.column_stack([rng.random((2000, 2)) < [0.2, 0.1], delays])
        found = subject.report(
            subject.play(data, rehearse(subject.proof(Fraction(0)), Rehearsal(seed)), seed)
        )
        wrong += found["best"] == 1 and found["error"] < 0.05
        missed += 0 not in found["may_be_best"]
    assert max(wrong, missed) <= 4


def ended(subject):
    data = people(subject, 1, 3)[:, : subject.arms]
    return subject.play(data, rehearse(proof_of(subject), Rehearsal(1)), 1)


def test_a_view_of_another_bandit_is_refused():
    plain = ArmPhases(rounds=40, arms=3)
    others = [
        replace(plain, counts=Fraction(1, 2)), replace(plain, index="top-two"), replace(plain, arms=5),
    ]  # fmt: skip
    for read, made in [*((plain, other) for other in others), *((other, plain) for other in others)]:
        for ask in (read.by_arm, read.accuracy, read.picture):
            with pytest.raises(InputError, match=r"another bandit|answers may still come"):
                ask(ended(made))
    for nothing in (None, {}, ended(plain).public):
        with pytest.raises(InputError, match="a view has no arms"):
            plain.by_arm(nothing)
    assert replace(plain, counts=Fraction(1, 2)).report(ended(others[0])) == {}


def test_an_interval_of_a_noisy_number_is_the_worst_over_all_that_it_may_be():
    """Beside all numbers of answers within the noise's reach at half of what may be missed."""
    low, high = COUNTED.statement.intervals(
        [(0, 300, 190.0, 2), (1, 300, 150.0, 2)], Fraction(9, 10), (np.array([200.0, 40.0, 5.0]), 10.0)
    )
    far = 10 * np.log(3 / 0.05) + 1
    rarity, tilts = np.log(2 * 12 * 3 / 0.05), [*COUNTED.statement.tilts()]
    for arm, rest, number in ((0, 40.0, 200.0), (1, 0.0, 40.0)):
        most = min(number + far, 300)
        reach = min((rarity + tilt**2 * most / 8 + 2 * growth) / tilt for tilt, growth in tilts)
        within = np.linspace(max(number - far, 0), most, 500)[1:]
        assert low[arm] <= np.clip(0.5 + (rest - reach) / within, 0, 1).min() + 1e-4
        assert high[arm] >= np.clip(0.5 + (rest + reach) / within, 0, 1).max() - 1e-4
        assert arm == 1 or high[arm] - low[arm] < 0.9
    assert (low[2], high[2]) == (0, 1)


def test_many_tickets_are_taken_together_or_not_at_all(tmp_path):
    with Session.rehearse(ArmPhases(rounds=60, arms=2), tmp_path / "a", 1) as session:
        taken, refused = [], []

        def ask():
            try:
                taken.append([ticket.number for ticket in session.ask_many(40)])
            except InputError as error:
                refused.append(str(error))

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (taken, session.asked) == ([[*range(1, 41)]], 40)
        assert "1 to 20" in refused[0]
        with pytest.raises(InputError, match="give a whole number, 1 to 20"):
            session.ask_many(21)
    shuffled = ArmPhases(rounds=400, arms=2, law="shuffled", delta=DELTA, epsilon=HALF)
    with Session.rehearse(shuffled, tmp_path / "b", 1) as session:
        with pytest.raises(InputError, match="1 to 1"):
            session.ask_many(2)
        assert session.asked == 0


def test_an_ended_session_that_is_opened_again_shows_all_that_is_released(tmp_path):
    with Session.rehearse(COUNTED, tmp_path / "state", 1) as session:
        session.ask_many(30)
        first = session.result().public
    with Session.rehearse(COUNTED, tmp_path / "state", 1) as session:
        again = session.public()
    assert all((first[name] == again[name]).all() for name in first)
    assert len(again["answers"]) == 3
