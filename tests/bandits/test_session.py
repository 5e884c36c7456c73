"""People who arrive one by one: the same run as a replay, which nothing stops for good and nothing makes twice."""

import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from bandits.arm_phases import ArmPhases
from bandits.doubling_gp_ucb import DoublingGpUcb
from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.learning.releases import Rehearsed, proof_of
from bandits.learning.session import Session, Ticket
from bandits.learning.state import STATE
from bandits.local_gp_ucb import Client, LocalGpUcb
from bandits.logged_policy import LoggedPolicy
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_cells import PhasedCells
from bandits.phased_gp_ucb import PhasedGpUcb
from bandits.phased_posterior import PhasedPosterior
from bandits.phased_regression import PhasedRegression
from bandits.surface_gp_ucb import SurfaceGpUcb
from dpaccount.errors import BudgetError, InputError, LedgerError
from dpaccount.ledger.entry import DRAWING, RELEASE
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.streamed_receipt import ResumableReceipt
from dpaccount.work.journal import Journal
from tests.depth import deep, examples

HERE = Path(__file__).parent
SMALL = {"rounds": 9, "candidates": 3, "nodes_per_axis": 2}
ROWS = MomentGpUcb(**SMALL, size=4, refresh=2, sigma=Fraction(2))
TREE = replace(ROWS, stream="tree")
EACH = JdpGpUcb(**SMALL, refresh=2)  # two releases a batch, where the others make one
SERVED = [
    ROWS,
    MomentGpUcb(**SMALL, size=4, stream="honaker"),
    MomentGpUcb(**SMALL, size=4, stream="buffered-toeplitz", sigma=Fraction(2)),
    JdpGpUcb(**SMALL, refresh=4),
    JdpGpUcb(**SMALL, calibration="published", stream="honaker"),
    DoublingGpUcb(**SMALL, mode="carry"),
    DoublingGpUcb(**SMALL, mode="restart"),
    PhasedGpUcb(rounds=90, candidates=2, size=4, nodes_per_axis=2, sigma=Fraction(1)),
    PhasedPosterior(rounds=150, sigma=Fraction(1)),
    PhasedPosterior(rounds=400, sigma=Fraction(1), stream="correlated"),
    SurfaceGpUcb(rounds=43, batch=10, error=Fraction(1, 2)),
    SurfaceGpUcb(rounds=43, batch=10, error=Fraction(1, 2), calibration="published"),
    PhasedRegression(**SMALL, first=1, per_learner=1),
    PhasedCells(rounds=24, candidates=3),
    ArmPhases(rounds=60, arms=3),
]


QUICK = [
    pytest.param(subject, marks=[] if place in (0, 2, 6, 8) else deep, id=repr(subject))
    for place, subject in enumerate(SERVED)
]


class PowerCutError(BaseException):
    """Stops a process between two steps."""


@pytest.fixture
def url(tmp_path):
    return ledger_at(tmp_path)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    """Leave the disk alone: here processes are stopped, not machines."""
    monkeypatch.setattr("dpaccount.work.journal.os.fsync", lambda _: None)


def ledger_at(folder, epsilon=100, measure="approximate"):
    address = f"sqlite:///{folder}/budget.db"
    init(
        address,
        epsilon=epsilon,
        delta=Fraction(1, 10**6),
        unit="person",
        relation="replace-one",
        measure=measure,
    )
    return address


def records(subject, seed=5):
    domain = subject.domain()
    low, high = np.array(domain.low), np.array(domain.high)
    return domain.clamped(np.random.default_rng(seed).uniform(low, high, (domain.rows, len(low))))


def context_of(subject, row):
    return row[: -subject.candidates] if hasattr(subject, "candidates") else None


def paid(subject, row, ticket):
    if hasattr(subject, "candidates"):
        return float(row[-subject.candidates + ticket.action])
    if isinstance(subject, ArmPhases):
        return float(row[ticket.action])
    return float(subject.world.value(np.array(ticket.action)) + row[0])


def feed(session, subject, data, answers=lambda _: True):
    """Serve a dataset's people in order, each of whom answers at once, or never."""
    for t in range(session.asked, len(data)):
        ticket = session.ask(context_of(subject, data[t]))
        if answers(t):
            session.tell(ticket, paid(subject, data[t], ticket))
    return session


def shown(view):
    return [
        (part, name, array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes())
        for part, arrays in (("own", view.own), ("public", view.public))
        for name, array in sorted(arrays.items())
    ]


class Recorded:
    """Noise that answers zero noise and remembers what it was asked for."""

    releasable = False

    def __init__(self):
        self.exact = {}

    def noisy(self, key, part, values):
        self.exact[key, part] = np.array(values)
        return np.array(values)

    noisy_symmetric = noisy


# ------------------------------------------------------------------ one path


@pytest.mark.parametrize("subject", QUICK)
def test_a_session_shows_what_a_replay_of_the_same_people_shows(subject, tmp_path):
    data = records(subject)
    whole = subject.play(data, Rehearsed(proof_of(subject), 3), 7)
    with Session.rehearse(subject, tmp_path / "state", 3, 7) as session:
        assert shown(feed(session, subject, data).result()) == shown(whole)
    with Session.rehearse(subject, tmp_path / "state", 3, 7) as session:  # and again, from its state
        assert shown(session.result()) == shown(whole)


@deep
@given(st.integers(0, 2**32), st.lists(st.integers(1, 30), max_size=4))
@examples(15, 15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_session_that_is_opened_again_at_any_time_shows_the_same(tmp_path_factory, seed, pauses):
    data, file = records(ROWS, seed), tmp_path_factory.mktemp("session") / "state"
    whole = ROWS.play(data, Rehearsed(proof_of(ROWS), 3), seed)
    steps = iter(pauses)
    until = next(steps, 10**6)
    session = Session.rehearse(ROWS, file, 3, seed)
    for t, row in enumerate(data):
        for step in ("ask", "tell"):
            until -= 1
            if until == 0:
                session.close()
                session, until = Session.rehearse(ROWS, file, 3, seed), next(steps, 10**6)
            if step == "ask":
                session.ask(context_of(ROWS, row))
            else:
                session.tell(t + 1, paid(ROWS, row, session.ticket(t + 1)))
    assert shown(session.result()) == shown(whole)
    session.close()


def test_the_first_parts_of_a_replay_do_not_read_the_noise_of_later_ones():
    """What a seed draws for a part does not depend on which parts were drawn before it."""
    noise, other = (Rehearsed(proof_of(ROWS), 3) for _ in range(2))
    first = noise.noisy("sums", 0, np.zeros(4, dtype=np.int64))
    second = other.noisy("sums", 1, np.zeros(4, dtype=np.int64))
    assert (other.noisy("sums", 0, np.zeros(4, dtype=np.int64)) == first).all()
    assert (first != second).any()


# ------------------------------------------------------------------ who does not answer, or late


def first_sums(subject, answered, make=lambda course: course):
    """Return the exact sums that the first batch's releases are made of, where so many people answered."""
    noise = Recorded()
    course = make(subject.course(noise, 7))
    first, last = course.batches[0]
    data = records(subject)[first - 1 : last]
    told = []
    for row in data:
        action = course.ask(context_of(subject, row)).tolist()
        told.append(paid(subject, row, Ticket(1, action)))
    counted = np.array([answered(i) for i in range(len(data))])
    course.close(np.where(counted, told, 1e9), counted)
    return noise.exact, len(data)


def adds_zero(subject, make=lambda course: course):
    """Say whether sums are those of the people who answered, each by themselves, and zero without any."""
    whole, people = first_sums(subject, lambda _: True, make)
    none, _ = first_sums(subject, lambda _: False, make)
    alone = [first_sums(subject, lambda i, one=one: i == one, make)[0] for one in range(min(people, 4))]
    rest, _ = first_sums(subject, lambda i: i >= 4, make)
    return all(
        not none[part].any() and (sum(one[part] for one in alone) + rest[part] == exact).all() and exact.any()
        for part, exact in whole.items()
    )


@pytest.mark.parametrize("subject", QUICK)
def test_who_does_not_answer_adds_zero_in_their_own_slot(subject):
    assert adds_zero(subject)


@deep
@pytest.mark.parametrize("subject", [SERVED[2], SERVED[-1]], ids=repr)
def test_counting_the_silent_as_if_they_had_said_nothing_good_is_caught(subject):
    """The twin: their features still enter, so that who did not answer is in the sums."""

    def broken(course):
        close = course.close
        course.close = lambda rewards, answered: close(np.where(answered, rewards, 0.0), answered | True)
        return course

    assert not adds_zero(subject, broken)


def test_an_answer_that_comes_when_its_batch_is_released_is_noted_and_not_counted(tmp_path):
    views = []
    for late in (True, False):
        data = records(TREE)
        with Session.rehearse(TREE, tmp_path / f"{late}", 3) as session:
            feed(session, TREE, data, lambda t: t != 0)
            assert 1 not in session.pending
            if late:
                assert session.tell(1, 1.0) is False
                with pytest.raises(InputError, match="has its answer"):
                    session.tell(1, 1.0)
            views.append(shown(session.result()))
    assert views[0] == views[1]


@pytest.mark.parametrize(("subject", "each"), [(ROWS, 1), (EACH, 2)], ids=["rows", "each"])
@pytest.mark.parametrize("answers", [True, False])
def test_a_release_waits_for_the_next_batch_and_not_for_answers(
    subject, each, answers, tmp_path, url, monkeypatch
):
    """Neither that all have answered nor that nobody has is seen in when a sum is made."""
    drawn, made = counted(monkeypatch), []
    with Ledger.open(url) as ledger, Session.open(subject, ledger, tmp_path / "state") as session:
        for row in records(subject):
            ticket = session.ask(context_of(subject, row))
            if answers:
                session.tell(ticket, 1.0)
            made.append(len(drawn))
    assert made == [each * batches for batches in (0, 0, 1, 1, 2, 2, 3, 3, 4)]


def counted(monkeypatch):
    """Return a list that every secure draw adds its part to."""
    drawn, real = [], ResumableReceipt._drawn

    def watched(self, name, *asked):
        drawn.append(name)
        return real(self, name, *asked)

    monkeypatch.setattr(ResumableReceipt, "_drawn", watched)
    return drawn


# ------------------------------------------------------------------ who sees what


@pytest.mark.parametrize("subject", [ROWS, JdpGpUcb(**SMALL, refresh=4), SERVED[6]], ids=repr)
def test_another_persons_data_reach_nobody_but_through_a_release(subject, tmp_path):
    """With the same releases, one person's context and answer change their own ticket only."""
    views = []
    for changed in (False, True):
        data = records(subject)
        if changed:
            data[1] = records(subject, 6)[1]
        fixed = Rehearsed(proof_of(subject), 3)

        class Same:
            releasable = False

            def noisy(self, key, part, values, fixed=fixed):
                return fixed.noisy(key, part, np.zeros_like(values))

            def noisy_symmetric(self, key, part, matrix, fixed=fixed):
                return fixed.noisy_symmetric(key, part, np.zeros_like(matrix))

        session = Session(subject, Journal(tmp_path / str(changed), {}, STATE), Same(), 7)
        views.append(feed(session, subject, data).result().own["action"])
    assert (np.delete(views[0], 1) == np.delete(views[1], 1)).all()


# ------------------------------------------------------------------ what is refused, and what never is


def test_what_cannot_be_is_refused_and_takes_no_slot(tmp_path):
    with Session.rehearse(ROWS, tmp_path / "state", 3) as session:
        for context in (None, [1.0], [[[1.0]] * 9], "here", [["a", "b"]] * 3):
            with pytest.raises(InputError, match="6 numbers"):
                session.ask(context)
        for ticket in (0, 1, -1, True, "1", 1.0):
            with pytest.raises(InputError, match="never given"):
                session.tell(ticket, 1.0)
        assert session.asked == 0
        ticket = session.ask(np.zeros((3, 2)))
        for reward in ("good", [1.0, 2.0], [], {}):
            with pytest.raises(InputError, match="one number"):
                session.tell(ticket, reward)
        assert session.pending == [1]
        session.tell(ticket, 1.0)
        for again in (ticket, 1):
            with pytest.raises(InputError, match="answers once"):
                session.tell(again, 0.0)
        for _ in range(8):
            session.ask(np.zeros(6))
        with pytest.raises(InputError, match="9 slots"):
            session.ask(np.zeros(6))
        session.result()
        with pytest.raises(InputError, match="ended"):
            session.ask(np.zeros(6))
        assert session.tell(9, 1.0) is False
    with pytest.raises(InputError, match="open it again"):
        session.ask(np.zeros(6))
    other = Session.rehearse(SERVED[-1], tmp_path / "other", 3)
    with other, pytest.raises(InputError, match="without a context"):
        other.ask([0.0])


@pytest.mark.parametrize(
    ("told", "counts_as"),
    [
        (7.5, 1.0), (-1, 0.0), (np.nan, 0.0), (np.inf, 1.0), (-np.inf, 0.0), (True, 1.0),
        pytest.param(10**400, 1.0, id="huge"),
    ],
)  # fmt: skip
def test_what_people_say_is_clamped_and_never_refused(told, counts_as, tmp_path):
    views = []
    for reward, place in ((told, 1e9), (counts_as, 2.0)):
        with Session.rehearse(TREE, tmp_path / str(place), 3) as session:
            for _ in range(9):
                session.tell(session.ask([[place, 0.1], [-np.inf, 0.3], [0.2, 0.2]]), reward)
            views.append(shown(session.result()))
    assert views[0] == views[1]


def test_a_bandit_that_serves_nobody_one_by_one_says_so(tmp_path):
    with pytest.raises(InputError, match="one by one"):
        Session.rehearse(LoggedPolicy(slots=400, batch=40, batches=5), tmp_path / "state", 3)
    assert not (tmp_path / "state").exists()


@deep
@pytest.mark.parametrize("calibration", ["exact", "published"])
def test_a_local_session_is_the_servers_side_and_holds_messages_only(calibration, tmp_path):
    """Clients choose and noise where they are; the same run as `play`, and two who send nothing."""
    subject = LocalGpUcb(**{**SMALL, "rounds": 20}, refresh=4, calibration=calibration)
    data, noise, ties = records(subject), Rehearsed(proof_of(subject), 3), np.random.default_rng(7)
    actions, learned = [], []
    for silent in ((), (2, 5)):
        file, ties, actions = tmp_path / f"{len(silent)}", np.random.default_rng(7), []
        for number, row in enumerate(data):
            with Session.rehearse(subject, file, 3, 7) as session:  # opened for everybody anew
                ticket = session.ask()
                phi = subject.features(row[:-3].reshape(3, -1))
                client = Client(subject, noise, number)
                actions.append(client.choose(np.array(ticket.action), phi, ties.random(3)))
                if number < len(data) - 1 and number not in silent:
                    message = client.message(phi[actions[-1]], float(row[-3 + actions[-1]]))
                    assert session.tell(ticket, message)
        with Session.rehearse(subject, file, 3, 7) as session:
            learned.append(session.result().public["gram"])
        if not silent:
            assert (actions == subject.play(data, noise, 7).own["action"]).all()
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert {line["context"] for line in lines if "ask" in line} == {None}
        assert sum("tell" in line for line in lines) == 19 - len(silent)
    assert (learned[0] != learned[1]).any()


@pytest.mark.parametrize("subject", QUICK)
def test_a_session_that_ends_early_shows_what_it_has(subject, tmp_path):
    with Session.rehearse(subject, tmp_path / "state", 3) as session:
        feed(session, subject, records(subject)[:5])
        view = session.result()
        assert len(view.own.get("action", view.public.get("points", view.public.get("arms")))) == 5
        assert shown(session.result()) == shown(view)
        assert session.pending == []
    with Session.rehearse(subject, tmp_path / "nobody", 3) as session:
        assert len(next(iter({**session.result().own, **session.result().public}.values()))) == 0


def test_messages_and_files_that_cannot_be_are_refused(tmp_path):
    with Session.rehearse(LocalGpUcb(**SMALL), tmp_path / "local", 3) as session:
        session.ask()
        for message in (1.0, [1.0], [[0.0] * 40]):
            with pytest.raises(InputError, match="a message is"):
                session.tell(1, message)
    with pytest.raises(InputError, match="name too long"):
        Session.rehearse(ROWS, tmp_path / ("s" * 300), 3)


# ------------------------------------------------------------------ the state file


def test_the_state_is_for_its_owner_only_and_open_once(tmp_path):
    file = tmp_path / "state"
    with Session.rehearse(ROWS, file, 3):
        assert file.stat().st_mode & 0o777 == 0o600
        with pytest.raises(InputError, match="another process"):
            Session.rehearse(ROWS, file, 3)
    file.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        Session.rehearse(ROWS, file, 3)
    file.chmod(0o600)
    with pytest.raises(InputError, match="No such file"):
        Session.rehearse(ROWS, tmp_path / "nowhere" / "state", 3)
    Session.rehearse(ROWS, file, 3).close()
    assert [made.name for made in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize(
    ("other", "seed", "coins", "said"),
    [
        (replace(ROWS, rounds=10), 3, 0, "rounds is 9, here it is 10"),
        (replace(ROWS, epsilon=Fraction(2)), 3, 0, "epsilon is 1, here it is 2"),
        (JdpGpUcb(**SMALL), 3, 0, "subject is MomentGpUcb, here it is JdpGpUcb"),
        (ROWS, 3, 1, "coins is 0, here it is 1"),
        (ROWS, 4, 0, "noise is rehearsal 3, here it is rehearsal 4"),
    ],
    ids=str,
)
def test_a_state_of_another_session_is_refused(other, seed, coins, said, tmp_path):
    Session.rehearse(ROWS, tmp_path / "state", 3).close()
    with pytest.raises(InputError, match=said):
        Session.rehearse(other, tmp_path / "state", seed, coins)


def test_a_rehearsal_is_not_gone_on_with_for_real(tmp_path, url):
    feed(Session.rehearse(ROWS, tmp_path / "state", 3), ROWS, records(ROWS)[:4]).close()
    with Ledger.open(url) as ledger:
        with pytest.raises(InputError, match="noise is rehearsal 3, here it is secure"):
            Session.open(ROWS, ledger, tmp_path / "state")
        assert ledger.show()["entries"] == 0


def test_any_change_of_a_state_is_damage_but_for_an_end_that_was_never_written(tmp_path):
    file = tmp_path / "state"
    data = records(ROWS)
    feed(Session.rehearse(ROWS, file, 3), ROWS, data[:5]).close()
    whole = file.read_bytes()
    for cut in range(1, 40, 7):  # the last line is the answer of the fifth
        file.write_bytes(whole[:-cut])
        with Session.rehearse(ROWS, file, 3) as session:
            assert session.pending == [5]
        assert file.read_bytes().endswith(b"\n")
    lines = whole.splitlines(keepends=True)
    for changed in (
        b"".join(lines[:3] + lines[4:]), b"".join([*lines[:2], lines[3], lines[2], *lines[4:]]),
        whole.replace(b'"reward":', b'"reward":1'),
        lines[0].replace(b'"coins":0', b'"coins":1') + b"".join(lines[1:]), b"[]\n", b"",
        whole + b"{}\n", b"\0" * 100 + b"\n",
    ):  # fmt: skip
        file.write_bytes(changed)
        with pytest.raises(InputError, match="damaged"):
            Session.rehearse(ROWS, file, 3)
    file.write_bytes(whole.replace(b"bandit-state/2", b"bandit-state/1"))
    with pytest.raises(InputError, match="version"):
        Session.rehearse(ROWS, file, 3)


def test_what_was_shown_is_not_shown_otherwise_on_another_machine(tmp_path, monkeypatch):
    feed(Session.rehearse(ROWS, tmp_path / "state", 3), ROWS, records(ROWS)[:5]).close()
    monkeypatch.setattr("bandits.learning.contextual.pick", lambda scores, _: int(np.argmin(scores)))
    with pytest.raises(InputError, match="where the session began"):
        Session.rehearse(ROWS, tmp_path / "state", 3)


# ------------------------------------------------------------------ the ledger


def test_a_session_fits_a_scope_that_it_keeps(tmp_path, url):
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", 100)
        ledger.set_scope("poor", "1/1000", "1/1000000000")
        with pytest.raises(InputError, match="there is no scope z"):
            Session.open(ROWS, ledger, tmp_path / "none", scope="z")
        with pytest.raises(BudgetError, match="the scope poor"):
            Session.open(ROWS, ledger, tmp_path / "poor", scope="poor")
        for _ in range(2):
            Session.open(ROWS, ledger, tmp_path / "state", scope="team").close()
        for other in (None, "poor"):
            with pytest.raises(LedgerError, match="a different charge"):
                Session.open(ROWS, ledger, tmp_path / "state", scope=other)
        [spent] = [one["spent"] for one in ledger.show()["scopes"] if one["scope"] == "team"]
        assert spent["epsilon"]["upper"] == ledger.show()["spent"]["epsilon"]["upper"] > 0


def test_the_whole_is_charged_once_before_anybody_is_served(tmp_path, url):
    with Ledger.open(url) as ledger:
        with Session.open(ROWS, ledger, tmp_path / "state") as session:
            assert ledger.show()["entries"] == 1
            spent = ledger.show()["spent"]
            assert session.releasable
            feed(session, ROWS, records(ROWS)).result()
        assert ledger.show()["entries"] == 1
        assert ledger.show()["spent"] == spent
        assert float(ROWS.proof(ROWS.delta).conclusion.curve.epsilon) <= spent["epsilon"]["upper"]
        assert ledger.verify()["valid"]


def test_without_room_nobody_is_served(tmp_path):
    with Ledger.open(ledger_at(tmp_path, Fraction(1, 100))) as ledger:
        for _ in range(2):
            with pytest.raises(BudgetError):
                Session.open(ROWS, ledger, tmp_path / "state")
        assert ledger.show()["entries"] == 0


def test_another_ledger_or_an_old_copy_is_refused(tmp_path, url):
    with Ledger.open(url) as ledger, Session.open(EACH, ledger, tmp_path / "state") as session:
        feed(session, EACH, records(EACH)[:3])
        subprocess.run(["cp", "-r", tmp_path, tmp_path.with_name("old")], check=True)  # noqa: S607
        feed(session, EACH, records(EACH)[:7])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with Ledger.open(ledger_at(elsewhere)) as ledger:
        with pytest.raises(InputError, match="the ledger that the run began with"):
            Session.open(EACH, ledger, tmp_path / "state")
        assert ledger.show()["entries"] == 0
    old = Ledger.open(f"sqlite:///{tmp_path.with_name('old')}/budget.db")
    with old, pytest.raises(InputError, match="keeps 2 releases of 6"):
        Session.open(EACH, old, tmp_path / "state")


# ------------------------------------------------------------------ killed anywhere


def cut(monkeypatch, place, after, count):
    """Stop before or behind the `count`-th time that something is written to the disk."""
    real, seen = getattr(place, after[1]), [0]

    def written(self, *arguments):
        seen[0] += 1
        if seen[0] == count and after[0] == "before":
            raise PowerCutError
        found = real(self, *arguments)
        if seen[0] == count:
            raise PowerCutError
        return found

    monkeypatch.setattr(place, after[1], written)


def gone_on(subject, data, begin):
    """Serve people until nothing stops it any more; return the view and how often it was stopped."""
    stops = 0
    while True:
        try:
            with begin() as session:
                for t, row in enumerate(data):
                    if session.asked <= t:
                        session.ask(context_of(subject, row))
                    if t + 1 in session.pending:
                        session.tell(t + 1, paid(subject, row, session.ticket(t + 1)))
                return session.result(), stops
        except PowerCutError:
            stops += 1


@deep(quick_every=2)
@pytest.mark.parametrize("when", ["before", "behind"])
@pytest.mark.parametrize("count", range(1, 24))
def test_a_rehearsal_that_is_stopped_at_any_line_goes_on(when, count, tmp_path, monkeypatch):
    data = records(ROWS)
    whole = ROWS.play(data, Rehearsed(proof_of(ROWS), 3), 0)
    cut(monkeypatch, Journal, (when, "append"), count)
    view, stops = gone_on(ROWS, data, lambda: Session.rehearse(ROWS, tmp_path / "state", 3))
    assert stops == 1
    assert shown(view) == shown(whole)


@deep(quick_every=3)
@pytest.mark.parametrize(
    ("place", "after"),
    [
        (Journal, ("before", "append")),
        (Journal, ("behind", "append")),
        (ResumableReceipt, ("before", "_drawn")),
        (ResumableReceipt, ("behind", "_drawn")),
    ],
)
@pytest.mark.parametrize("count", [1, 4, 7])
@pytest.mark.parametrize(
    "subject", [replace(ROWS, rounds=17), EACH, replace(TREE, rounds=17)], ids=["rows", "each", "tree"]
)
def test_a_secure_session_that_is_stopped_anywhere_releases_each_part_once(
    subject, place, after, count, tmp_path, url, monkeypatch
):
    seen, real = {}, ResumableReceipt._answer

    def watched(self, how, key, part, given):
        value = real(self, how, key, part, given)
        assert (seen.setdefault((key, part), value) == value).all()
        return value

    monkeypatch.setattr(ResumableReceipt, "_answer", watched)
    cut(monkeypatch, place, after, count)
    with Ledger.open(url) as ledger:
        _, stops = gone_on(
            subject, records(subject), lambda: Session.open(subject, ledger, tmp_path / "state")
        )
        assert stops == 1
        assert len(seen) == 8
        assert ledger.show()["entries"] == 1
        assert ledger.verify()["valid"]


def answer_after_a_stop(session_type, subject, url, file, monkeypatch):
    """Stop behind the first draw, which is kept by then; return whether an answer to its batch still counts."""
    with monkeypatch.context() as patched, Ledger.open(url) as ledger:
        cut(patched, ResumableReceipt, ("behind", "_drawn"), 1)
        session = session_type.open(subject, ledger, file)
        with pytest.raises(PowerCutError):
            feed(session, subject, records(subject)[:3], lambda _: False)
    with Ledger.open(url) as ledger, session_type.open(subject, ledger, file) as session:
        return session.tell(1, 1.0)


def test_an_answer_does_not_slip_into_a_sum_that_is_drawn(tmp_path, url, monkeypatch):
    assert answer_after_a_stop(Session, TREE, url, tmp_path / "state", monkeypatch) is False


def test_the_twin_that_draws_before_it_closes_a_batch_lets_one_slip(tmp_path, url, monkeypatch):
    class Hasty(Session):
        def _close_batch(self):
            self._learn()
            self._journal.append({"close": self._closed})

    assert answer_after_a_stop(Hasty, TREE, url, tmp_path / "state", monkeypatch) is True


# ------------------------------------------------------------------ killed for real


def arriving(folder, people, bandit):
    words = [sys.executable, str(HERE / "arriving.py"), str(folder), str(people), bandit]
    return subprocess.Popen(words)


def served(folder):
    """Return the last ticket that the running process has seen."""
    try:
        with (folder / "seen").open("rb") as seen:
            seen.seek(max(0, seen.seek(0, 2) - 20_000))
            lines = seen.read().split(b"\n")[1:-1]
    except OSError:
        return 0
    return next((json.loads(line)[1] for line in lines[::-1] if line.startswith(b'["ticket"')), 0)


def killed(folder, people, bandit, times, pick):
    """Run until the end, killed so many times, evenly over the people, a drawn time after each of them."""
    for number in range(1, times + 1):
        process = arriving(folder, people, bandit)
        while process.poll() is None and served(folder) < number * people // (times + 1):
            time.sleep(0.01)
        time.sleep(pick.uniform(0, 0.1))
        assert process.poll() is None  # it runs still
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert arriving(folder, people, bandit).wait() == 0


def seen_once(folder):
    """Check that whatever was shown more than once was the same; return how many parts and tickets there are."""
    found = {}
    for line in (folder / "seen").read_text().splitlines():
        try:
            what, name, value = json.loads(line)
        except ValueError:
            continue  # a line that was being written when the process died
        known = found.setdefault(what, {}).setdefault(json.dumps(name), value)
        assert known == value
    return len(found.get("part", ())), len(found["ticket"])


PEOPLE, KILLS = 5000, 20


@deep
@pytest.mark.parametrize("bandit", ["rows", "phases"])
def test_a_killed_rehearsal_shows_what_a_calm_one_shows(bandit, tmp_path, depth):
    calm, wild = tmp_path / "calm", tmp_path / "wild"
    calm.mkdir()
    wild.mkdir()
    assert arriving(calm, PEOPLE, bandit).wait() == 0
    killed(wild, PEOPLE, bandit, KILLS, random.Random(depth.seed(5)))
    assert (calm / "result").read_bytes() == (wild / "result").read_bytes()
    assert len((calm / "result").read_bytes()) == 8 * PEOPLE


@deep
@pytest.mark.parametrize(("bandit", "releases"), [("rows", 1249), ("phases", 77)])
def test_a_killed_secure_session_makes_each_release_once(bandit, releases, tmp_path, depth):
    url = ledger_at(tmp_path, 1000)
    killed(tmp_path, PEOPLE, bandit, KILLS, random.Random(depth.seed(6)))
    assert seen_once(tmp_path) == (releases, PEOPLE)
    with Ledger.open(url) as ledger:
        assert ledger.verify()["valid"]
        assert ledger.show()["entries"] == 1
        with ledger._store.reading() as rows:  # one mark and one value for every part, and no part twice
            assert rows.count(DRAWING) == rows.count(RELEASE) == releases
            names = [json.loads(entry.body)["part"] for entry in rows.entries() if entry.kind == RELEASE]
    assert len({json.dumps(name) for name in names}) == releases


# ------------------------------------------------------------------ what is on offer


@pytest.mark.parametrize("subject", QUICK[:8])
@pytest.mark.parametrize("partly", [False, True])
def test_of_a_dataset_too_who_is_not_on_offer_is_never_shown(subject, partly, tmp_path):
    """A run over data with candidates of NaN, whole or in a coordinate, is the session's, byte for byte."""
    data, rng = records(subject), np.random.default_rng(8)
    points = data[:, : -subject.candidates].reshape(len(data), subject.candidates, -1)  # a view
    away = rng.random(points.shape[:2]) < 0.4
    away[np.arange(len(data)), rng.integers(subject.candidates, size=len(data))] = False
    points[away] = np.where(np.arange(points.shape[2]) == 0, np.nan, points[away]) if partly else np.nan
    whole = subject.play(subject.domain().clamped(data), Rehearsed(proof_of(subject), 3), 7)
    actions = np.asarray(whole.own["action"])
    assert not away[np.arange(len(data)), actions].any()
    for before in (len(data) // 2, len(data)):  # with a restart
        with Session.rehearse(subject, tmp_path / "state", 3, 7) as session:
            feed(session, subject, data[:before])
    with Session.rehearse(subject, tmp_path / "state", 3, 7) as session:
        assert shown(session.result()) == shown(whole)


def test_who_is_offered_nothing_in_a_dataset_is_shown_nothing_and_adds_nothing():
    subject, given = SERVED[7], Recorded()
    data = records(subject)
    data[3, : -subject.candidates] = np.nan
    kept = subject.domain().clamped(data)
    first = subject.play(kept, given, 1)
    before = dict(given.exact)
    kept[3, -subject.candidates :] = 1 - kept[3, -subject.candidates :]
    second = subject.play(kept, given, 1)
    assert first.own["action"][3] == second.own["action"][3] == -1
    assert all((before[each] == given.exact[each]).all() for each in before)


def test_a_slot_without_an_answer_keeps_one_row_of_features(tmp_path):
    with Session.rehearse(SERVED[7], tmp_path / "state", 3) as session:
        for row in records(SERVED[7])[:30]:
            session.ask(context_of(SERVED[7], row))
        kept = session._course._played
        assert (len(kept), {each.size for each in kept.values()}) == (30, {SERVED[7].features.size})
        assert all(each.base is None for each in kept.values())  # no view of all candidates' features


@pytest.mark.parametrize("kind", [int, float])
def test_a_masked_candidate_is_not_on_offer(kind, tmp_path):
    """Whatever stands behind the mask: the session is that of a person who says NaN there."""
    hidden = np.array([[1, 1], [0, 1], [1, 0]], dtype=kind)
    written = np.where([[True], [False], [False]], np.nan, hidden)
    mask = np.isnan(written)
    whole = np.ma.masked_array(hidden, mask)
    rows = [np.ma.masked_array(*each) for each in zip(hidden, mask, strict=True)]
    single = [[np.ma.masked] * 2, *hidden[1:].tolist()]
    found = []
    for k, brought in enumerate((written, whole, rows, single)):
        with Session.rehearse(replace(ROWS, rounds=9), tmp_path / f"{k}", 3) as session:
            found.append([session.ask(brought).action for _ in range(9)])
    assert 0 not in found[0]
    assert found == [found[0]] * 4
    with Session.rehearse(ROWS, tmp_path / "none", 3) as session:
        for nothing in (np.ma.masked_all((3, 2)), np.full((3, 2), np.nan)):
            with pytest.raises(InputError, match="no candidate is on offer"):
                session.ask(nothing)
        session.tell(session.ask(written), np.ma.masked)  # unknown, as NaN is
        assert session.asked == 1


def test_coordinates_out_of_range_are_counted(tmp_path):
    with Session.rehearse(ROWS, tmp_path / "state", 3) as session:
        session.ask([[57, 1], [0, -12], [0, 0]])
        session.ask([[0, 1], [np.nan, 1300], [np.nan, np.nan]])
        assert session.clipped == 3
    with Session.rehearse(ROWS, tmp_path / "state", 3) as session:
        assert session.clipped == 3


def test_what_all_may_see_is_shown_without_ending(tmp_path):
    """And None says that there will be no answer: it counts as nothing, and no other one is taken."""
    subject = ArmPhases(rounds=60, arms=3)
    with Session.rehearse(subject, tmp_path / "state", 3) as session:
        for number in range(1, 41):
            session.tell(session.ask(), 1.0 if number % 2 else None)
        assert session.pending == []
        with pytest.raises(InputError, match="has its answer"):
            session.tell(2, 1.0)
        seen = session.public()
        assert len(seen["arms"]) == 40
        assert 0 < len(seen["sums"]) < len(subject.blocks())
        session.ask()
    with Session.rehearse(subject, tmp_path / "state", 3) as session:
        assert session.pending == [41]
        assert session.result().public["sums"][: len(seen["sums"])].tolist() == seen["sums"].tolist()
