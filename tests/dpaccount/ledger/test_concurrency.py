"""Several processes, killed processes, threads, forks: never overspent, nothing acknowledged lost."""

import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import pytest

from dpaccount.forks import unforked
from dpaccount.ledger import requests
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores import sqlite_file
from dpaccount.ledger.stores import store as line
from tests.depth import deep

from .conftest import BUDGET, VALID, in_threads, plan, pure


@pytest.fixture(autouse=True)
def patient(url, monkeypatch):
    """Make a ledger whose writers wait for each other however busy the machine is."""
    init(url, **BUDGET)
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 3600.0)


CHARGER = """
import sys
from contextlib import nullcontext
from fractions import Fraction
from dpaccount.errors import BudgetError
from dpaccount.plan.events import Plan, Pure, Relation
from dpaccount.ledger.stores import sqlite_file
from dpaccount.ledger.stores import store as line
from dpaccount.ledger.stores import store
from dpaccount.ledger.ledger import Ledger

url, epsilon, times = sys.argv[1], Fraction(sys.argv[2]), int(sys.argv[3])
sqlite_file.BUSY_SECONDS = line.TURN_SECONDS = 3600.0
if sys.argv[4] == "unfair":
    store.turn = lambda path, began: nullcontext()
plan = Plan(Relation.REPLACE_ONE, (Pure(epsilon=epsilon),))
with Ledger.open(url) as ledger:
    print("ready", flush=True)
    sys.stdin.readline()
    for turn in range(times):
        try:
            print(ledger.charge_plan(plan, "concurrent").entry, flush=True)
        except BudgetError:
            print("refused", flush=True)
"""

FORKER = """
import os, sys
from fractions import Fraction
from dpaccount.plan.events import Plan, Pure, Relation
from dpaccount.ledger.ledger import Ledger

plan = Plan(Relation.REPLACE_ONE, (Pure(epsilon=Fraction(1, 100)),))
with Ledger.open(sys.argv[1]) as ledger:
    ledger.charge_plan(plan, "before")
    [link] = ledger._store.place._idle._links()
    child = os.fork()
    for turn in range(10):
        ledger.charge_plan(plan, "after")
    assert link not in ledger._store.place._idle._links()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def charger(url: str, epsilon: str, times: int, turns: str = "fair") -> subprocess.Popen:
    """Start a process that charges `times` times once it is sent a line."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", CHARGER, url, epsilon, str(times), turns],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def begin(*chargers: subprocess.Popen) -> None:
    for one in chargers:
        assert one.stdout.readline() == "ready\n"
    for one in chargers:
        one.stdin.write("go\n")
        one.stdin.flush()


@deep
@pytest.mark.parametrize("turns", ["fair", "unfair"])
def test_processes_never_overspend(url, turns):
    """With the line of writers, and with the database's own lock alone."""
    chargers = [charger(url, "1/50", 30, turns) for _ in range(4)]
    begin(*chargers)
    lines = [line for one in chargers for line in one.communicate()[0].split()]
    entries = [line for line in lines if line != "refused"]
    assert (len(lines), len(entries), len(set(entries))) == (120, 50, 50)
    with Ledger.open(url) as ledger:
        shown = ledger.show()
        assert (shown["entries"], shown["refused"]) == (50, 70)
        assert shown["spent"]["epsilon"] == {"lower": 1.0, "upper": 1.0}
        assert ledger.verify() == VALID


@deep
def test_a_killed_process_loses_no_acknowledged_charge(url):
    acknowledged: set[str] = set()
    for turn in range(3):
        with charger(url, "1/1000000", 100_000) as one:
            begin(one)
            acknowledged |= {one.stdout.readline().strip() for _ in range(20 + 7 * turn)}
            one.kill()  # `communicate` would pass over lines that were read ahead
            acknowledged |= {line for line in one.stdout.read().split("\n")[:-1] if line}
        with Ledger.open(url) as ledger:
            assert ledger.verify() == VALID
            committed = ledger.show()["entries"]
        # at most one more per kill: committed, and killed before it was said
        assert len(acknowledged) <= committed <= len(acknowledged) + turn + 1
    with Ledger.open(url) as ledger, ledger._store.reading() as rows:
        assert acknowledged <= {str(entry.number) for entry in rows.entries()}


@deep
def test_a_killed_writer_leaves_the_others_their_turn(url):
    chargers = [charger(url, "1/1000000", 100_000) for _ in range(2)]
    begin(*chargers)
    for one in chargers:
        one.stdout.readline()
        one.kill()
        one.communicate()
    with Ledger.open(url) as ledger:
        ledger.charge(pure("1/2"), "after")
    assert verify(url) == VALID


def test_a_key_charged_by_many_threads_is_charged_once(url):
    receipts = []
    with Ledger.open(url) as ledger:
        in_threads(*[lambda: receipts.append(ledger.charge(pure("3/4"), "try", key="a"))] * 4)
        assert {receipt.entry for receipt in receipts} == {1}
        assert len({id(receipt) for receipt in receipts}) == 1
        assert ledger.show()["spent"]["epsilon"]["upper"] == 0.75


def test_a_dry_run_waits_for_no_writer(url):
    with Ledger.open(url) as ledger, Ledger.open(url) as other, other._store.writing():
        assert ledger.charge_plan(plan(1), "try", dry_run=True).epsilon.upper == 1


@deep
def test_a_fork_opens_its_own_connection(url):
    subprocess.run([sys.executable, "-W", "error", "-c", FORKER, url], check=True)
    with Ledger.open(url) as ledger:
        assert ledger.show()["entries"] == 21
        assert ledger.verify() == VALID


FORKED_MEANWHILE = """
import os, sys, threading, time
from fractions import Fraction
from dpaccount.ledger.ledger import Ledger
from tests.dpaccount.ledger.conftest import pure

url, turns = sys.argv[1], int(sys.argv[2])
with Ledger.open(url) as ledger:
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            ledger.charge(pure(Fraction(1, 10**6)), "busy", key="again")
            ledger.charge(pure(Fraction(1, 10**6)), "busy")
            with ledger._known.gate:
                time.sleep(0.0005)

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for one in threads:
        one.start()
    children = []
    for turn in range(turns):
        child = os.fork()
        if child == 0:
            ledger.charge(pure(Fraction(1, 10**6)), "child", key=f"child {turn}")
            if turn % 2:
                time.sleep(1)  # outlives the others' next turns
            os._exit(0)
        children.append(child)
    ends = [os.waitpid(child, 0)[1] for child in children]
    stop.set()
    for one in threads:
        one.join()
    assert ends == [0] * turns
    assert ledger.show()["entries"] > turns
"""


@deep
def test_forks_amid_the_writing_of_threads_hang_nobody(url):
    """Without care a child waits for ever on a lock that a thread of its parent held, or holds up all."""
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED_MEANWHILE, url, "12"], check=True, timeout=600
    )
    assert verify(url) == VALID


IMPORTING = """
import sys
from fractions import Fraction
from dpaccount.forks import holds_off_forks
from dpaccount.ledger.ledger import Ledger
from dpaccount.plan.events import Gaussian, Plan, Relation
from tests.dpaccount.ledger.conftest import pure

class Imports:
    def find_spec(self, name, *_):
        if not holds_off_forks():
            unguarded.append(name)

unguarded, (one, other) = [], sys.argv[1:]
sys.meta_path.insert(0, Imports())
with Ledger.open(one) as ledger:
    ledger.charge(pure(Fraction(1, 100)), "try", key="noise")
    ledger.charge_in_parts(pure(Fraction(1, 100)), "try", None, "parts")
with Ledger.open(other) as ledger:
    ledger.charge_plan(Plan(Relation.REPLACE_ONE, (Gaussian(sigma=Fraction(100)),)), "try", key="plan")
print(*unguarded)
"""


def test_a_charge_imports_nothing_while_forks_may_happen(url, tmp_path):
    """A child waits for ever for a module that another thread of its parent was importing."""
    other = f"sqlite:///{tmp_path}/gdp.db"
    init(other, epsilon=1, delta=Fraction(1, 10**6), unit="person", relation="replace-one", measure="gdp")
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING, url, other], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == []


def test_a_line_that_does_not_move_is_left(url, tmp_path, monkeypatch):
    """Whoever holds the line's lock for ever, by a copy of its descriptor say, makes others slow only."""
    monkeypatch.setattr(line, "TURN_SECONDS", 0.05)
    holder = os.open(tmp_path / "budget.db-line", os.O_RDWR | os.O_CREAT)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with Ledger.open(url) as ledger:
        ledger.charge(pure("1/2"), "try")
        assert ledger.show()["entries"] == 1
    os.close(holder)


def test_a_descriptor_that_a_child_inherited_holds_up_nobody(url, tmp_path):
    """The turn ends with the transaction, although a process forked meanwhile has the descriptor."""
    with Ledger.open(url) as ledger:
        with ledger._store.writing():
            (turn,) = [
                int(one.name)
                for one in Path("/proc/self/fd").iterdir()
                if leads_to(one, tmp_path / "budget.db-line")
            ]
            copied = os.dup(turn)  # as in a child
        other = os.open(tmp_path / "budget.db-line", os.O_RDWR)
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(copied)
    os.close(other)


def leads_to(descriptor: Path, file: Path) -> bool:
    try:
        return descriptor.readlink() == file
    except OSError:
        return False


@deep
def test_who_has_had_a_turn_comes_after_whoever_is_next(url, tmp_path, monkeypatch):
    """It does not hang on who is quick: the lock of whoever is next is seen to be held before the turn ends."""
    monkeypatch.setattr(line, "TURN_SECONDS", 3600.0)
    other = charger(url, "1/1000000", 1)
    try:
        with Ledger.open(url) as ledger:
            with ledger._store.writing():
                begin(other)
                until = time.monotonic() + 60
                while not is_locked(tmp_path / "budget.db-next"):
                    assert time.monotonic() < until, "nobody is next"
                    time.sleep(0.001)
            mine = ledger.charge(pure("1/1000000"), "again").entry
        (others,) = other.communicate()[0].split()
        assert int(others) < mine
    finally:
        other.kill()
        other.communicate()


@pytest.fixture
def began(monkeypatch) -> list[float]:
    """Return since when each writer waits."""
    times, writing = [], sqlite_file.Database.writing
    monkeypatch.setattr(
        sqlite_file.Database,
        "writing",
        lambda self, at, *more: (times.append(at), writing(self, at, *more))[1],
    )
    return times


@pytest.mark.parametrize("what", ["charge", "charge_plan"])
def test_a_thread_waits_since_it_asked(url, monkeypatch, began, what):
    """And not once more from when others of its process have waited in vain."""
    asked = threading.Event()
    original = requests.Request.within
    monkeypatch.setattr(requests.Request, "within", lambda *given: (original(*given), asked.set())[0])
    paid = pure("1/100") if what == "charge" else plan()
    with Ledger.open(url) as ledger:
        requests.of_theorem(
            ledger.budget, pure("1/100"), "part", None
        )  # a first import waits for forks to end
        thread = threading.Thread(target=getattr(ledger, what), args=(paid, "part"))
        with unforked():
            thread.start()
            assert asked.wait(60)
            others_ended = time.monotonic()
        thread.join()
        assert ledger.show()["entries"] == 1
    assert began[-1] <= others_ended


def test_charges_that_were_long_priced_wait_from_then_on(url, monkeypatch, began):
    """The price of many may take longer than anybody waits for a turn."""
    priced = []
    original = requests.Request.within
    monkeypatch.setattr(
        requests.Request, "within", lambda *given: (priced.append(time.monotonic()), original(*given))[1]
    )
    with Ledger.open(url) as ledger:
        ledger.charge_many([(plan(), "part", f"key {place}") for place in range(3)])
    assert len(priced) == 3
    assert began[-1] >= priced[1]


@pytest.mark.parametrize("ends", ["-line", "-next"])
def test_a_database_is_never_taken_for_a_lock(url, tmp_path, ends):
    """To close a descriptor of it would take away the locks that this process has on it."""
    companion = tmp_path / f"budget.db{ends}"
    with sqlite3.connect(companion, isolation_level=None) as other, Ledger.open(url) as ledger:
        other.execute("CREATE TABLE its (own)")
        other.execute("BEGIN IMMEDIATE")
        ledger.charge(pure("1/1000000"), "part")
        assert is_held(companion)
    other.close()
    companion.unlink()
    (tmp_path / "empty").touch()
    companion.hardlink_to(tmp_path / "empty")
    assert not line._is_lock(companion)


def is_held(file: Path) -> bool:
    """Say whether another process cannot write a database now."""
    tried = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
    done = subprocess.run(
        [sys.executable, "-c", tried, str(file)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0 or "locked" in done.stderr
    return done.returncode != 0


def is_locked(file: Path) -> bool:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def test_commits_reach_the_disk_before_they_return(url):
    with Ledger.open(url) as ledger, ledger._store.reading() as rows:
        settings = [
            rows._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous")
        ]
    assert settings == ["wal", 3]  # 3: EXTRA


def test_a_fork_while_a_charges_epsilon_is_computed_holds_up_no_child(url, monkeypatch):
    """Up to Python 3.11 `functools.cached_property` computes under a lock that a child would inherit, held."""
    computing, forked = threading.Event(), threading.Event()
    with Ledger.open(url) as ledger:
        one, other = (ledger.charge_plan(plan("1/4"), "try") for _ in "12")
    right = type(one.budget.measure).enclosure

    def enclosure(*asked):
        if threading.current_thread() is not threading.main_thread():
            computing.set()
            forked.wait()
        return right(*asked)

    monkeypatch.setattr(type(one.budget.measure), "enclosure", enclosure)
    thread = threading.Thread(target=lambda: one.epsilon)
    thread.start()
    assert computing.wait(60)
    child = os.fork()
    if not child:
        signal.alarm(60)  # ends a child that waits for ever
        os._exit(0 if other.epsilon.upper == 0.25 else 1)
    status = os.waitpid(child, 0)[1]
    forked.set()
    thread.join()
    assert status == 0
