"""What SQLite keeps of locks in memory and beside the file, and idle connections: nobody spends twice by them."""

import multiprocessing
import os
import subprocess
import sys
import threading

import pytest

from dpaccount.errors import LedgerError
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores import connection_pool, sqlite_file
from dpaccount.noise import process
from tests.depth import deep

from .conftest import BUDGET, VALID, in_threads, plan

TENTH = plan("1/10")
OTHER = """
import sys
from fractions import Fraction
from dpaccount.ledger.ledger import Ledger
from dpaccount.plan.events import Plan, Pure, Relation
with Ledger.open(sys.argv[1]) as ledger:
    for _ in range(6):
        ledger.charge_plan(Plan(Relation.REPLACE_ONE, (Pure(epsilon=Fraction(1, 10)),)), "part")
    print("charged", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(url):
    """Return a function that starts another process; it has charged six tenths, and keeps the ledger open."""
    running = []

    def start() -> subprocess.Popen[str]:
        one = subprocess.Popen(
            [sys.executable, "-c", OTHER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        running.append(one)
        assert one.stdout is not None
        assert one.stdout.readline() == "charged\n"
        return one

    yield start
    for one in running:
        one.communicate()


@deep
@pytest.mark.parametrize("again", [False, True])
def test_an_index_of_the_log_that_is_removed_lets_nobody_spend_twice(ledger, url, tmp_path, other, again):
    """Writers keep each other out by locks on it: who has another one is kept out by nobody."""
    ledger.charge_plan(TENTH, "part")
    (tmp_path / "budget.db-shm").unlink()
    one = other()
    with pytest.raises(LedgerError, match=r"the log of .* was replaced or removed while it was open"):
        ledger.charge_plan(TENTH, "part")
    if again:  # SQLite joins a second connection of a process to the first one's index
        with pytest.raises(LedgerError, match=r"was replaced or removed while it was open"):
            Ledger.open(url)
    one.communicate()
    ledger.close()  # the last to close: it must not move the log by its own index, nor remove it
    command = [sys.executable, "-m", "dpaccount", "ledger", "show", url, "--json"]
    assert '"entries": 7' in subprocess.run(command, capture_output=True, text=True, check=True).stdout


@deep
def test_a_file_that_was_swapped_keeps_its_log_when_the_old_one_is_closed(ledger, url, tmp_path, other):
    """The log is found by its name, which is the new file's now."""
    ledger.charge_plan(TENTH, "part")
    (tmp_path / "budget.db").rename(tmp_path / "old.db")
    for ending in ("-wal", "-shm"):
        (tmp_path / f"budget.db{ending}").rename(tmp_path / f"old.db{ending}")
    init(url, **BUDGET)
    other()
    ledger.close()
    assert (tmp_path / "budget.db-wal").exists()


def test_a_name_that_changes_during_a_charge_undoes_it(ledger, tmp_path):
    before = ledger.show()
    file = tmp_path / "budget.db"

    def changed():
        with ledger._store.writing() as rows:
            rows.put({1: "a node"})
            file.rename(tmp_path / "away.db")

    with pytest.raises(LedgerError, match="was replaced or removed while it was open; nothing was changed"):
        changed()
    (tmp_path / "away.db").rename(file)
    assert ledger.show() == before
    assert ledger.verify() == VALID


# ------------------------------------------------------------------ forks


def charge_until(ledger, url, fresh, ready, gone, queue):
    """Charge in a child: the parent closes the ledger meanwhile."""
    mine = Ledger.open(url) if fresh else ledger
    entries = [mine.charge_plan(plan("1/1000"), "child").entry]
    ready.set()
    gone.wait()
    entries += [mine.charge_plan(plan("1/1000"), "child").entry for _ in range(20)]
    queue.put(entries)


@deep
@pytest.mark.parametrize("fresh", [True, False])
def test_a_parent_that_closes_does_not_take_its_childs_log_away(ledger, url, fresh):
    """A child that inherits SQLite's memory of the file holds no lock of its own on it, and does not know."""
    context = multiprocessing.get_context("fork")
    ready, gone, queue = context.Event(), context.Event(), context.Queue()
    ledger.charge_plan(TENTH, "parent")
    with Ledger.open(url) as second:
        second.show()
        child = context.Process(target=charge_until, args=(ledger, url, fresh, ready, gone, queue))
        child.start()
        assert ready.wait(60)
    ledger.close()
    gone.set()
    entries = queue.get(timeout=60)
    child.join()
    with Ledger.open(url) as again:
        assert again.show()["entries"] == 1 + len(entries) == 22
        assert again.verify() == VALID


def test_a_child_of_a_fork_amid_a_transaction_is_refused_in_a_line(ledger, url, tmp_path):
    """Nothing of ours forks there."""
    with ledger._store.reading() as rows:
        rows.head()
        child = os.fork()
        if not child:
            messages = []
            for use in (lambda: ledger.charge_plan(TENTH, "child"), lambda: Ledger.open(url)):
                try:
                    use()
                except LedgerError as error:
                    messages.append(str(error))
            (tmp_path / "said").write_text("\n".join(messages))
            os._exit(0)
        os.waitpid(child, 0)
    lines = (tmp_path / "said").read_text().splitlines()
    assert len(lines) == 2
    assert all("when this process was forked; open it in a new process" in line for line in lines)
    ledger.charge_plan(TENTH, "parent")


@deep
def test_a_fork_waits_for_whoever_looks_at_the_file(ledger, url):
    """Its connection would be inherited too."""
    inside, forked = threading.Event(), threading.Event()
    waited = []

    def look():
        with ledger._store.place._lent():
            inside.set()
            waited.append(not forked.wait(0.2))

    looking = threading.Thread(target=look)
    looking.start()
    assert inside.wait(60)
    child = os.fork()
    if not child:
        inherited = [one for one in sqlite_file._OPEN if one.path == ledger._store.place.path]
        os._exit(len(inherited))
    forked.set()
    looking.join()
    assert waited == [True]
    assert os.waitpid(child, 0)[1] == 0
    assert verify(url) == VALID


class Counted:
    """A connection that counts how often it was closed."""

    closed = 0

    def close(self) -> None:
        self.closed += 1


def in_a_child(act) -> None:
    child = os.fork()
    if not child:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_what_is_idle_is_lent_once_and_closed_before_a_fork():
    pool, first, second = connection_pool.Pool(), Counted(), Counted()
    for link in (first, second):
        pool.keep(link, process.identity())
    assert {pool.take(), pool.take(), pool.take()} == {first, second, None}
    pool.keep(first, process.identity())
    in_a_child(lambda: None)
    assert (first.closed, second.closed, pool.take()) == (1, 0, None)


def test_a_child_neither_uses_nor_closes_what_its_parent_opened():
    """Of a fork that asks nobody, or amid a transaction."""
    pool, link, mine = connection_pool.Pool(), Counted(), Counted()
    since = process.identity()

    def child() -> None:
        pool._held = since, [link]  # as where nothing was let go
        assert pool.take() is None
        pool.keep(link, since)  # the transaction that was forked ends
        pool.keep(mine, process.identity())
        pool.let_go()
        assert (link.closed, mine.closed, pool.take()) == (0, 1, None)

    in_a_child(child)
    assert link.closed == 0


def test_threads_that_take_at_once_have_a_connection_each():
    pool, taken = connection_pool.Pool(), []
    for _ in range(400):
        pool.keep(Counted(), process.identity())

    def take() -> None:
        while (link := pool.take()) is not None:
            taken.append(link)

    in_threads(*[take] * 4)
    assert len(taken) == len(set(taken)) == 400


@pytest.fixture(params=["file", "server"])
def place(request) -> str:
    return request.getfixturevalue("url" if request.param == "file" else "team")


@deep
def test_forks_amid_the_charges_of_threads_share_no_connection(place):
    """Children, and what they leave, charge side by side with their parent's threads."""
    init(place, **BUDGET)
    with Ledger.open(place) as ledger:
        stop = threading.Event()

        def charge() -> None:
            while not stop.is_set():
                ledger.charge_plan(plan(), "parent", dry_run=True)

        threads = [threading.Thread(target=charge) for _ in range(2)]
        for one in threads:
            one.start()
        try:
            for number in range(4):
                ledger.charge_plan(plan(), "parent", f"parent {number}")
                in_a_child(lambda number=number: ledger.charge_plan(plan(), "child", f"child {number}"))
        finally:
            stop.set()
            for one in threads:
                one.join()
        assert ledger.show()["entries"] == 8
    assert verify(place) == VALID
