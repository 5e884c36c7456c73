"""`predict` and `partial_fit` are the session: tickets, one answer a person, nothing that a reward decides."""

import copy
import pickle
from dataclasses import replace
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandits.arm_phases import ArmPhases
from bandits.learning.doors.fit_predict import FitPredict, ShownArm
from bandits.learning.session import Session
from bandits.local_posterior import LocalPosterior
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_posterior import PhasedPosterior
from bandits.space.reading import of_table
from dpaccount.errors import BudgetError, InputError
from dpaccount.ledger.ledger import Ledger, init
from tests.depth import examples
from tests.looped import looped

ARMS = ["plain", "photos", "reviews"]
SPACE = of_table(ARMS)
BANDIT = ArmPhases(rounds=24, epsilon=Fraction(20), space=SPACE)
REWARDS = st.one_of(st.none(), st.sampled_from([nan, inf, -inf, 1e300, True]), st.floats(-1, 2))


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    """Leave the disk alone."""
    monkeypatch.setattr("dpaccount.work.journal.os.fsync", lambda _: None)


def rehearsal(folder, bandit=BANDIT, name="state"):
    return Session.rehearse(bandit, Path(folder) / name, seed=1)


def lines(session):
    """Return all that it knows, and what all may see."""
    tickets = [session.ticket(number) for number in range(1, session.asked + 1)]
    public = {name: shown.tolist() for name, shown in session.public().items()}
    return tickets, dict(session._rewards), set(session._late), public


class ByArm(FitPredict):
    """Planted: an answer is anybody's who was shown that arm, and has not answered."""

    def _ticket(self, decision):
        tickets = map(self._session.ticket, range(1, self._session.asked + 1))
        return next(
            each.number
            for each in tickets
            if self._session.name_of(each) == decision and not self._session.answered(each.number)
        )


class Careful(FitPredict):
    """Planted: refuses a whole list for one reward that is no finite number."""

    def partial_fit(self, decisions, rewards, contexts=None):
        if not np.isfinite([0 if reward is None else reward for reward in rewards]).all():
            raise InputError("a reward is not finite", "leave it out")
        return super().partial_fit(decisions, rewards, contexts)


def plays(door, steps):
    """Follow `steps`: how many people ask, and after that who of those without an answer tell which reward."""
    with TemporaryDirectory() as folder, rehearsal(folder) as one, rehearsal(folder, name="two") as two:
        mab, waiting = door(one), []
        for people, answers in steps:
            for _ in range(min(people, one.slots - one.asked)):
                waiting.append((mab.predict(), two.ask()))
                shown, ticket = waiting[-1]
                assert (shown, shown.ticket) == (two.name_of(ticket), ticket.number)
            told = [(waiting.pop(place % len(waiting)), reward) for place, reward in answers if waiting]
            counted = [two.tell(ticket, reward) for (_, ticket), reward in told]
            assert mab.partial_fit([shown for (shown, _), _ in told], [reward for _, reward in told]) == sum(
                counted
            )
        assert lines(one) == lines(two)


STEPS = st.lists(
    st.tuples(st.integers(0, 6), st.lists(st.tuples(st.integers(0, 30), REWARDS), max_size=6)), max_size=5
)


@examples(20)
@given(steps=STEPS)
def test_it_is_the_session_whatever_the_rewards_and_their_order(steps):
    plays(FitPredict, steps)


@looped(
    "twin, steps", [(ByArm, [(24, [(23, 1.0)])]), (Careful, [(1, [(0, nan)])]), (Careful, [(2, [(0, inf)])])]
)
def test_a_door_that_is_nearly_right_is_caught(twin, steps):
    plays(FitPredict, steps)
    with pytest.raises((AssertionError, InputError)):
        plays(twin, steps)


def counts_once(door):
    with TemporaryDirectory() as folder, rehearsal(folder) as session:
        mab = door(session)
        arms = [mab.predict() for _ in range(6)]
        mab.partial_fit(arms[:2], [1.0, 0.0])
        known = lines(session)
        for again in ([arms[0]], arms[:2], [arms[2], arms[1]], [arms[3], arms[3]]):
            with pytest.raises(InputError, match="a person answers once"):
                mab.partial_fit(again, [1.0] * len(again))
            assert lines(session) == known  # nor is the first half of a list recorded


def test_nobody_is_counted_twice():
    counts_once(FitPredict)
    with pytest.raises(pytest.fail.Exception):
        counts_once(ByArm)


def test_what_has_lost_its_ticket_is_refused():
    with TemporaryDirectory() as folder, rehearsal(folder) as session:
        mab = FitPredict(session)
        shown = mab.predict()
        other = ShownArm(next(arm for arm in ARMS if arm != shown))
        other.ticket = shown.ticket
        known = lines(session)
        for decisions in ([str(shown)], np.array([shown]), [0], [shown.ticket], shown, [None]):
            with pytest.raises(InputError, match="a decision has lost its ticket"):
                mab.partial_fit(decisions, [1.0])
        with pytest.raises(InputError, match="is of another run"):
            mab.partial_fit([other], [1.0])
        for rewards in ([], [1.0, 0.0]):
            with pytest.raises(InputError, match="found 1 decisions and"):
                mab.partial_fit([shown], rewards)
        for rewards in (["x"], [[1.0]], 1.0, [1j]):
            with pytest.raises(InputError, match="these are no decisions with their rewards"):
                mab.partial_fit([shown], rewards)
        assert lines(session) == known
        copied = pickle.loads(pickle.dumps(copy.deepcopy(shown)))  # noqa: S301
        assert mab.partial_fit([copied], [10**400]) == 1


def test_a_decision_of_another_run_is_refused_even_for_the_same_ticket_and_arm():
    with (
        TemporaryDirectory() as one,
        TemporaryDirectory() as two,
        rehearsal(one) as session,
        rehearsal(two) as other,
    ):
        shown, theirs = FitPredict(session).predict(), FitPredict(other).predict()
        assert (shown, shown.ticket) == (theirs, theirs.ticket)
        with pytest.raises(InputError, match="is of another run"):
            FitPredict(other).partial_fit([shown], [1.0])
        assert FitPredict(other).partial_fit([theirs], [1.0]) == 1


def test_what_cannot_be_had_privately_is_one_sentence():
    with TemporaryDirectory() as folder, rehearsal(folder) as session:
        mab = FitPredict(session)
        shown, known = mab.predict(), lines(session)
        for refused, why in [
            (lambda: mab.fit([shown], [1.0]), "fit would count rewards again.* arm-means or policy-value$"),
            (lambda: mab.predict_expectations(), "not known without a release; end the run"),
            (lambda: mab.predict([[0.25]]), "without contexts; use a session of a contextual bandit$"),
            (lambda: mab.partial_fit([shown], [1.0], [[0.25]]), "without contexts"),
            (lambda: mab.predict(offered=["other"]), "no point is called 'other'"),
            (lambda: mab.shown(2), "ticket 2 was never given"),
        ]:
            with pytest.raises(InputError, match=why):
                refused()
            assert lines(session) == known


def test_arms_on_offer_are_those_that_are_shown():
    with TemporaryDirectory() as folder, rehearsal(folder) as session:
        mab = FitPredict(session)
        assert mab.arms == ARMS
        assert {mab.predict(offered=[ARMS[place % 3]]) for place in range(9)} == set(ARMS)


@looped(
    "bandit",
    [
        replace(BANDIT, space=None, arms=3),
        replace(BANDIT, rounds=400, law="shuffled", delta=Fraction(1, 1000)),
        LocalPosterior(rounds=9, space=SPACE, bound=Fraction(1, 2), noise_bound=Fraction(1, 2)),
        MomentGpUcb(rounds=9, candidates=3, size=4, nodes_per_axis=2, sigma=Fraction(2)),
    ],
)
def test_a_session_that_shows_no_common_points_is_refused(bandit):
    with TemporaryDirectory() as folder, rehearsal(folder, bandit) as session:
        with pytest.raises(InputError, match="does not show everybody the same points"):
            FitPredict(session)
        assert session.asked == 0


def test_another_bandit_over_points_is_served_too():
    bandit = PhasedPosterior(rounds=150, sigma=Fraction(1), space=of_table({"dose": [1, 2, 5]}))
    with TemporaryDirectory() as folder, rehearsal(folder, bandit) as session:
        mab = FitPredict(session)
        assert mab.partial_fit([mab.predict(), mab.predict()], [0.5, -0.5]) == 2


def test_the_whole_run_is_paid_for_before_anyone_is_served(tmp_path):
    """And a run that stops goes on: tickets are given again, answers count once, nothing is charged again."""
    address = f"sqlite:///{tmp_path}/budget.db"
    init(
        address,
        epsilon=30,
        delta=Fraction(1, 10**6),
        unit="person",
        relation="replace-one",
        measure="approximate",
    )
    with Ledger.open(address) as ledger:
        with Session.open(BANDIT, ledger, tmp_path / "state") as session:
            assert ledger.show()["entries"] == 1
            paid, mab = ledger.show()["spent"], FitPredict(session)
            arms = [mab.predict() for _ in range(9)]
            mab.partial_fit(arms[:4], [1, 0, 1, 0])
        with Session.open(BANDIT, ledger, tmp_path / "state") as session:
            mab = FitPredict(session)
            assert [mab.shown(number) for number in range(1, 10)] == arms
            with pytest.raises(InputError, match="a person answers once"):
                mab.partial_fit([mab.shown(4)], [1])
            assert mab.partial_fit([mab.shown(5)], [1]) == 1
            assert ledger.show()["spent"] == paid
        with pytest.raises(BudgetError):
            Session.open(BANDIT, ledger, tmp_path / "another")
