"""Late answers enter the row in which they come: every order, exactly, and what the proof charges for it."""

import contextlib
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.certificate import make
from audits.certificate.make import AuditBudget, certify
from audits.claim import read_claim
from audits.hypothesis_tests.checks import check_of
from audits.hypothesis_tests.replay import record, replay
from audits.hypothesis_tests.smoke_test import late_in_session
from audits.subjects.catalogue import entries, example_values, subject_made
from bandits.learning.contextual import ContextualCourse
from bandits.learning.releases import Rehearsed, proof_of
from bandits.learning.session import Session
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_gp_ucb import PhasedGpUcb
from bandits.phased_posterior import PhasedPosterior
from bandits.statistics import continual_sums
from bandits.statistics.first_moments import CONTRIBUTION_BITS, HALF
from dpaccount.errors import InputError, RuleError
from dpaccount.noise.leaves import leaves
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import REPLACE_ONE, assume_ball, hypotheses
from mechanisms.continual import factors
from tests.bandits.own_late import BrokenCourse, SoundLate, UnprovedLate
from tests.depth import deep, examples
from tests.loading import import_subject
from tests.looped import looped

DELTA = Fraction(1, 1000)
SMALL = {"candidates": 2, "dimension": 1, "nodes_per_axis": 2, "size": 2, "delta": DELTA}
EACH = MomentGpUcb(rounds=4, sigma=Fraction(2), delays=True, **SMALL)
PAIRS = MomentGpUcb(rounds=9, refresh=2, sigma=Fraction(2), delays=True, **SMALL)
PHASES = PhasedGpUcb(rounds=30, sigma=Fraction(2), delays=True, **SMALL)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    monkeypatch.setattr("dpaccount.work.journal.os.fsync", lambda _: None)


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


@deep
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


TOLD = replace(PHASES, late=Fraction(7), base=Fraction(1, 5), answering=Fraction(1, 2))


@deep
@pytest.mark.parametrize("subject", [EACH, PAIRS, PHASES, TOLD], ids=["each", "pairs", "phases", "told"])
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


@looped(("made", "there"), [(PhasedGpUcb, 20), (LateInEveryRow, 34), (LateCountsTwice, 20)])
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


# ------------------------------------------------------------------ what a session may count

TREE = UnprovedLate(rounds=4, candidates=2, dimension=1, nodes_per_axis=2, sigma=Fraction(2), delta=DELTA)
CLAIM = """
schema = "dpaccount/claim/1"
name = "own"
guarantee = { model = "joint", unit = "one person", relation = "replace-one", epsilon = 1, delta = 1e-6 }
audit = { trials = 400 }
[subject]
use = "own_late:USE"
parameters = { rounds = 12, refresh = 4, candidates = 2, dimension = 1, nodes_per_axis = 2, sigma = 40, MORE }
"""


def certified(folder, use, more):
    (folder / "claim.toml").write_text(CLAIM.replace("USE", use).replace(", MORE", more))
    claim, here = read_claim(folder / "claim.toml"), str(Path(__file__).parent)
    subject = subject_made(claim, import_subject(claim.use, [here]))
    return certify(claim, subject, AuditBudget(quick=True, folders=(here,)))[0]


OWN = (
    ("LoudLate", ", size = 2", "REFUTED"),
    ("SoundLate", ", size = 2", "CERTIFIED"),
    ("UnprovedLate", "", "UNPROVEN"),
)


@deep
@pytest.mark.parametrize(("use", "more", "verdict"), OWN)
def test_no_certificate_of_late_answers_that_nothing_tested_or_proved(tmp_path, use, more, verdict):
    certificate = certified(tmp_path, use, more)
    assert certificate.verdict == verdict
    assert verdict != "UNPROVEN" or "late answers" in certificate.proved.reason


def test_a_class_of_ones_own_is_tested_with_late_answers_or_not_certified():
    own = SoundLate(rounds=9, sigma=Fraction(2), **SMALL)
    few, some = make._instances(SimpleNamespace(examples=None, guarantee=SimpleNamespace(delta=DELTA)), own)
    assert (few, some) == (replace(own, delays=True), None)
    assert late_in_session(few, Proved(few.proof(DELTA))) is None
    assert "no test had any" in late_in_session(own, Proved(own.proof(DELTA)))
    assert late_in_session(replace(PAIRS, delays=False), Proved(PAIRS.proof(DELTA))) is None  # a note says so
    assert "does not cover" in late_in_session(TREE, Proved(TREE.proof(DELTA)))
    broken = BrokenCourse(rounds=9, sigma=Fraction(2), stream="tree", **SMALL)
    assert "raises KeyError" in late_in_session(broken, Proved(broken.proof(DELTA)))


def test_a_session_counts_late_answers_only_by_its_proof(tmp_path):
    with Session.rehearse(TREE, tmp_path / "state", 1) as session:
        assert session._course.takes_late
        first = session.ask([[0.1], [0.2]])
        session.ask([[0.1], [0.2]])
        assert session.pending == [2]
        assert not session.tell(first, 1.0)


def test_a_state_that_counts_a_late_answer_without_proof_is_refused(tmp_path):
    file, bandit = tmp_path / "state", replace(EACH, delays=False)
    with Session.rehearse(bandit, file, 1) as session:
        first = session.ask([[0.1], [0.2]])
        session.ask([[0.1], [0.2]])
        assert session.tell(first, 1.0)
    with Session.rehearse(bandit, file, 1) as again:
        events = again._journal.events
    with pytest.raises(InputError, match="no proof covers"):
        Session(bandit, SimpleNamespace(events=events), Rehearsed(proof_of(bandit), 1), 0)


KINDS = [entry.made_by for entry in entries() if hasattr(entry.made_by, "course")]
LIVE = [made(**example_values(made)) for made in KINDS]
STREAMS = [replace(PAIRS, delays=False, stream=stream) for stream in continual_sums.STREAMS]


@deep
@pytest.mark.parametrize("subject", [*LIVE, *STREAMS], ids=lambda each: type(each).__name__)
def test_a_course_takes_late_answers_where_the_proof_covers_them(subject):
    theorem = proof_of(subject)
    course = subject.course(Rehearsed(theorem, 1), 0)
    assert bool(course.takes_late) == Proved(theorem).covers_late


@looped("stream", continual_sums.STREAMS)
def test_a_stream_without_a_rule_for_late_answers_refuses_them(stream):
    person, sums = assume_ball("moments", HALF, REPLACE_ONE, "movement"), continual_sums.vector_proof
    proof = partial(sums, stream, person, Fraction(5), [4, 8, 12, 16], 2, DELTA)
    if not continual_sums.takes_late(stream):
        with pytest.raises(RuleError, match="late"):
            proof(late=True)
    else:
        assert proof(late=True).digest != proof(late=False).digest


@examples(25)
@given(st.integers(18, 26), st.integers(9, 20), st.sampled_from(continual_sums.STREAMS))
def test_rows_stay_exact_if_everybody_is_late(rounds, refresh, stream):
    """Of whatever parameters construct: all contributions in one round, in a row's heaviest weight."""
    with contextlib.suppress(InputError):
        bandit = MomentGpUcb(rounds=2**rounds, refresh=2**refresh, stream=stream, sigma=Fraction(2), **SMALL)
        heaviest = int(factors.sqrt_toeplitz(1)[0])
        assert not bandit.takes_late or 2 ** (rounds + CONTRIBUTION_BITS - 1) * heaviest < 2**62


def test_the_largest_run_with_late_answers_is_the_last_that_stays_exact():
    for made, more in ((MomentGpUcb, {"refresh": 1000}), (PhasedGpUcb, {})):
        assert made(rounds=2**21, sigma=Fraction(2), **more, **SMALL).takes_late
        with pytest.raises(InputError, match="stay exact"):
            made(rounds=2**21 + 1, sigma=Fraction(2), **more, **SMALL)
