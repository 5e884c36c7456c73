"""One charge, one history: no copy of a state file, no thread and no last slot is served beside what was paid."""

import json
import shutil
import threading
import time
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.learning import resumable
from bandits.learning.releases import proof_of
from bandits.learning.session import Session
from bandits.local_gp_ucb import Client, LocalGpUcb
from bandits.moment_gp_ucb import MomentGpUcb
from dpaccount.errors import InputError, ReceiptError
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.work.journal import Journal
from tests.depth import deep

SMALL = {"rounds": 9, "candidates": 3, "nodes_per_axis": 2}
ROWS = MomentGpUcb(**SMALL, size=4, refresh=2, sigma=Fraction(2))
TREE = replace(ROWS, stream="tree")
EACH = JdpGpUcb(**SMALL, refresh=2)  # two releases a batch, where the others make one
LOCAL = [
    LocalGpUcb(**{**SMALL, "candidates": 2}, refresh=4, calibration=calibration)
    for calibration in ("exact", "published")
]


@pytest.fixture
def ledger(tmp_path):
    url = f"sqlite:///{tmp_path}/budget.db"
    facts = {"unit": "person", "relation": "replace-one", "measure": "approximate"}
    init(url, epsilon=100, delta=Fraction(1, 10**5), **facts)
    with Ledger.open(url) as opened:
        yield opened


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    monkeypatch.setattr("dpaccount.work.journal.os.fsync", lambda _: None)


def serve(session, people, seed):
    """Serve so many people of a world of this seed, each of whom answers."""
    rng = np.random.default_rng(seed)
    tickets = []
    for _ in range(people):
        tickets.append(session.ask(rng.uniform(-1, 1, (3, 2))))
        session.tell(tickets[-1], rng.uniform())
    return tickets


# ------------------------------------------------------------------ copies of the state file


@deep(quick_every=2)
@pytest.mark.parametrize("subject", [ROWS, TREE], ids=["rows", "tree"])
@pytest.mark.parametrize(("before", "more"), [(0, 3), (1, 2), (2, 1), (3, 4), (5, 4), (0, 2), (3, 1), (7, 1)])
def test_an_old_copy_of_the_state_goes_on_only_if_nothing_was_released_since(
    subject, before, more, ledger, tmp_path
):
    """With releases that it knows nothing of, its free slots are taken: who comes again would be two people."""
    file, old = tmp_path / "state", tmp_path / "old"
    with Session.open(subject, ledger, file) as session:
        serve(session, before, 1)
        shutil.copy(file, old)
        serve(session, more, 2)
    released = (before + more - 1) // 2 - max(before - 1, 0) // 2  # batches of two
    if not released:
        Session.open(subject, ledger, old).close()
        return
    with pytest.raises(InputError, match="lines which the state file lacks"):
        Session.open(subject, ledger, old)
    Session.open(subject, ledger, file).close()  # the latest one goes on


def two_histories(ledger, folder, subject=EACH, more=2):
    """Serve other people by a copy, from the same slots on; return the copy, which came second."""
    with Session.open(subject, ledger, folder / "state") as session:
        serve(session, 2, 1)
        shutil.copy(folder / "state", folder / "copy")
        with Session.open(subject, ledger, folder / "copy") as other:
            serve(session, more, 2)
            with pytest.raises(ReceiptError, match="another process draws"):
                serve(other, more, 3)
    return folder / "copy"


def test_of_two_histories_under_one_charge_only_the_first_goes_on(ledger, tmp_path):
    copy = two_histories(ledger, tmp_path)
    with pytest.raises(InputError, match="gone on with elsewhere"):
        Session.open(EACH, ledger, copy)
    with Session.open(EACH, ledger, tmp_path / "state") as session:
        assert session.asked == 4


def test_where_a_batch_makes_one_release_histories_part_at_the_next(ledger, tmp_path):
    """Up to its first release both have the same people; of those after it only one history's enter a sum."""
    copy = two_histories(ledger, tmp_path, ROWS)
    with Session.open(ROWS, ledger, tmp_path / "state") as session, Session.open(ROWS, ledger, copy) as other:
        assert (session.asked, other.asked) == (4, 2)
        serve(session, 1, 4)
        with pytest.raises(ReceiptError, match="another process draws"):
            serve(other, 3, 5)
    with pytest.raises(InputError, match="gone on with elsewhere"):
        Session.open(ROWS, ledger, copy)


def test_the_twin_that_looks_at_counts_only_serves_two_people_in_one_slot(ledger, tmp_path, monkeypatch):
    copy = two_histories(ledger, tmp_path)
    monkeypatch.setattr(Journal, "holds", lambda *_: True)
    with Session.open(EACH, ledger, copy) as other:
        assert serve(other, 1, 3)[0].number == 3  # as somebody else was


def test_a_run_over_a_dataset_and_arrivals_are_not_one_history(ledger, tmp_path):
    domain = ROWS.domain()
    data = domain.clamped(np.random.default_rng(1).uniform(-1, 1, (domain.rows, len(domain.low))))
    resumable.play(ROWS, data, ledger, tmp_path / "run")
    with pytest.raises(InputError, match="serves is a dataset, here it is arrivals"):
        Session.open(ROWS, ledger, tmp_path / "run")
    with Session.open(ROWS, ledger, tmp_path / "state") as session:
        serve(session, 3, 1)
    with pytest.raises(InputError, match="serves is arrivals, here it is a dataset"):
        resumable.play(ROWS, data, ledger, tmp_path / "state")


@pytest.mark.parametrize("coins", [-1, 1.0, True, "1", None, np.int64(1)])
def test_coins_that_seed_nothing_are_refused_before_the_charge(coins, ledger, tmp_path):
    domain = ROWS.domain()
    data = np.zeros((domain.rows, len(domain.low)))
    for begin in (
        lambda: Session.open(ROWS, ledger, tmp_path / "state", coins),
        lambda: resumable.play(ROWS, data, ledger, tmp_path / "state", coins),
    ):
        with pytest.raises(InputError, match="at least 0"):
            begin()
    assert ledger.show()["entries"] == 0
    assert not (tmp_path / "state").exists()


# ------------------------------------------------------------------ threads


def tickets_of_threads(file, monkeypatch, gate=None):
    """Ask from four threads at once, on a slow disk; return the numbers that were given."""
    real, given = Journal.append, []

    def slow(journal, event):
        time.sleep(0.002)
        real(journal, event)

    monkeypatch.setattr(Journal, "append", slow)
    with Session.rehearse(replace(ROWS, rounds=40, refresh=4), file, 1) as session:
        session._gate = gate or session._gate

        def some():
            for _ in range(5):
                ticket = session.ask(np.zeros((3, 2)))
                given.append(ticket.number)
                session.tell(ticket, 1.0)

        threads = [threading.Thread(target=some) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return given


@deep
def test_threads_are_given_a_slot_each(tmp_path, monkeypatch):
    assert sorted(tickets_of_threads(tmp_path / "state", monkeypatch)) == list(range(1, 21))
    with Session.rehearse(replace(ROWS, rounds=40, refresh=4), tmp_path / "state", 1) as session:
        assert (session.asked, session.pending) == (20, [])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_twin_without_a_lock_gives_one_slot_to_several(tmp_path, monkeypatch):
    given = tickets_of_threads(tmp_path / "state", monkeypatch, nullcontext())
    assert len(set(given)) < len(given)


# ------------------------------------------------------------------ the last slot of a local session


@pytest.mark.parametrize("subject", LOCAL, ids=["exact", "published"])
def test_everybody_who_sends_a_message_in_a_local_session_is_paid_for(subject, ledger, tmp_path):
    """A message tells the server of its sender when it is sent, whether or not anybody learns from it."""
    receipt = rehearse(proof_of(subject), Rehearsal(1))
    with Session.open(subject, ledger, tmp_path / "state") as session:
        for number in range(session.slots):
            ticket = session.ask()
            phi = subject.features(np.zeros((2, 2)))
            assert session.tell(ticket, Client(subject, receipt, number).message(phi[0], 1.0))
        slots = session.slots
    with ledger._store.reading() as rows:
        steps = json.loads(rows.entry(1).body)["steps"]
    assert [first for first, _ in steps] in ([1], [1, slots + 1])


def test_a_local_proof_pays_for_as_many_messages_as_there_are_slots():
    for subject in LOCAL:
        assert proof_of(subject).conclusion.units == (1, subject.rounds)


# ------------------------------------------------------------------ a context says which candidate is which


@pytest.mark.parametrize("shape", [(2, 3), (6, 1), (1, 6), (3, 1, 2), (3, 2, 1)])
def test_rows_that_are_not_candidates_are_no_context(shape, tmp_path):
    with Session.rehearse(ROWS, tmp_path / "state", 1) as session:
        for context in (np.zeros(shape), np.zeros(shape).tolist()):
            with pytest.raises(InputError, match="a row of 2 for each candidate"):
                session.ask(context)
        assert session.asked == 0
        assert session.ask(np.zeros((3, 2))).number == 1
