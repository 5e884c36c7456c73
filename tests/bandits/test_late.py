"""Late answers enter the row in which they come: every order, exactly, and what the proof charges for it."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import ClassVar

import numpy as np
import pytest

from audits.hypothesis_tests.checks import check_of
from audits.hypothesis_tests.replay import record, replay
from bandits.learning.contextual import ContextualCourse
from bandits.learning.releases import Rehearsed, proof_of
from bandits.learning.session import Session
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_gp_ucb import PhasedGpUcb
from bandits.phased_posterior import PhasedPosterior
from dpaccount.errors import InputError
from dpaccount.noise.leaves import leaves
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof.derivation import hypotheses

DELTA = Fraction(1, 1000)
SMALL = {"candidates": 2, "dimension": 1, "nodes_per_axis": 2, "size": 2, "delta": DELTA}
EACH = MomentGpUcb(rounds=4, sigma=Fraction(2), delays=True, **SMALL)
PAIRS = MomentGpUcb(rounds=9, refresh=2, sigma=Fraction(2), delays=True, **SMALL)
PHASES = PhasedGpUcb(rounds=30, sigma=Fraction(2), delays=True, **SMALL)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    monkeypatch.setattr("bandits.learning.journal.os.fsync", lambda _: None)


def people(subject, seed=5):
    domain = subject.domain()
    return domain.clamped(
        np.random.default_rng(seed).uniform(domain.low, domain.high, (domain.rows, len(domain.low)))
    )


def session_of(subject, data, file, pause=0):
    """Serve people as they come, each of whom answers when so many others have asked; return all actions."""
    live, due = replace(subject, delays=False), {}
    session = Session.rehearse(live, file, 3, 7)
    for t, row in enumerate(data):
        if t == pause:
            session.close()
            session = Session.rehearse(live, file, 3, 7)
        ticket = session.ask(row[: -live.candidates - 1])
        told = float(row[-live.candidates - 1 + ticket.action])
        due.setdefault(t + int(row[-1]), []).append((t + 1, told))
        for number, reward in due.pop(t, []):
            first = session._course.batches[session._closed][0]
            assert session.tell(number, reward) is (number >= first or first <= live.ends[-1])
    with session:
        return session.result().own["action"].tolist()


def test_a_session_is_the_replay_whoever_is_late_and_how_much(tmp_path):
    """All orders in which the first three of four people may answer, each after every number of others."""
    data, seen = people(EACH), set()
    for number, delays in enumerate(product((0, 1, 2, 4), (0, 1, 4), (0, 1, 4))):
        data[:3, -1] = delays
        whole = EACH.play(data, Rehearsed(proof_of(EACH), 3), 7).own["action"].tolist()
        assert session_of(EACH, data, tmp_path / str(number), 1 + number % 3) == whole
        noise = rehearse(EACH.proof(DELTA), Rehearsal(1))
        seen.add(tuple(np.concatenate([*record(EACH, data, noise, 1).exact.values()]).tolist()))
    assert len(seen) > 20  # orders are not alike


@pytest.mark.parametrize("subject", [EACH, PAIRS, PHASES], ids=["each", "pairs", "phases"])
def test_what_one_late_person_moves_is_charged(subject):
    """Over all pairs of delays, and rewards that turn; given the same releases, as adaptive composition has it."""
    data = people(subject)
    data[:, -1] = 0
    theorem, squares = subject.proof(DELTA), []
    stable = leaves(theorem)[0]
    bound = next(
        each.premises[0].conclusion.bound for each in Proved(theorem).parts if "key" in each.witness
    ) / Fraction(stable.parameters["grid"]) ** 2  # fmt: skip
    firsts = (0, subject.ends[-1] - 1)
    steps = sorted({0, 1, 2, len(data) // 2, subject.rounds})
    for person in firsts:
        for here in steps:
            data[person, -3:] = (1, 1, here)
            run = record(subject, data, rehearse(theorem, Rehearsal(1)), 1)
            for there, reward in product(steps, (0, 1)):
                changed = data.copy()
                changed[person, -3:] = (reward, reward, there)
                exact = replay(subject, changed, run, 1).exact
                moves = [(exact[part] - run.exact[part]).astype(object) for part in run.exact]
                squares.append(sum(int((move**2).sum()) for move in moves))
        data[person, -1] = 0
    assert max(squares) <= bound
    assert max(squares) > bound / 20  # contributions are shorter than the ball
    assert len(set(squares)) > 5


# ------------------------------------------------------------------ a false side condition is refused


class _Twice(ContextualCourse):
    def close(self, rewards, answered):
        late = [slot for slot in self._played if slot < self.batches[self._closed][0]]
        super().close(rewards, answered)
        for slot in late:  # silence adds to every row that comes
            self._learner.add_late(self._played[slot], 1.0)


@dataclass(frozen=True)
class LateInEveryRow(PhasedGpUcb):
    """Who has not answered is counted in every row until they do."""

    loses: ClassVar[set[str]] = {"assume_rounds"}

    def course(self, noise, coins):
        return _Twice(self, self.learner(noise), coins)


class _Loud(ContextualCourse):
    def add_late(self, slot, reward):
        phi = self._played[slot]
        super().add_late(slot, reward)
        self._learner.add_late(phi, reward)


@dataclass(frozen=True)
class LateCountsTwice(PhasedGpUcb):
    """A late answer is added twice to the row in which it comes."""

    loses: ClassVar[set[str]] = {"assume_rounds"}

    def course(self, noise, coins):
        return _Loud(self, self.learner(noise), coins)


@pytest.mark.parametrize(("made", "there"), [(PhasedGpUcb, 20), (LateInEveryRow, 34), (LateCountsTwice, 20)])
def test_tests_see_what_a_late_answer_may_not_do(made, there):
    """On one pair: a person who is late by a batch, and who in the neighbour is so by two, or never answers."""
    subject = made(rounds=34, sigma=Fraction(2), delays=True, **SMALL)
    proved, data, other = Proved(subject.proof(DELTA)), people(subject), people(subject)
    data[:, -1] = other[:, -1] = 0
    data[0, -3:], other[0, -3:] = (1, 1, 10), (0, 0, there)
    run = record(subject, data, rehearse(proved, Rehearsal(1)), 1)
    moved = replay(subject, other, run, 1)
    wrong = {each.rule for each in proved.hypotheses if check_of(proved, each)[0](run, moved, 1).wrong}
    assert (not wrong) if made is PhasedGpUcb else made.loses <= wrong


def test_a_record_says_when_its_person_answers_only_where_that_counts():
    for refused in ("tree", "honaker", "buffered-toeplitz"):
        with pytest.raises(InputError, match="no late answers"):
            replace(PAIRS, stream=refused)
        assert "participations" not in str(
            hypotheses(replace(PAIRS, stream=refused, delays=False).proof(DELTA))
        )
    assert not PhasedPosterior.__dataclass_fields__.get("delays")
    data = people(PAIRS)
    data[0, -1] = np.nan
    assert PAIRS.domain().clamped(data)[0, -1] == PAIRS.rounds  # who says nothing never answers
