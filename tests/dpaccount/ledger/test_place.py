"""One file, one name, one host: where a ledger could be overspent it is not opened, and nothing is changed."""

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from dpaccount.errors import InputError, LedgerError
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores import place, sqlite_file, store
from dpaccount.ledger.stores.place import address
from dpaccount.ledger.stores.rows import begin
from dpaccount.plan.events import Plan, Pure, Relation
from tests.depth import deep

from .conftest import BUDGET, VALID

PART = Plan(Relation.REPLACE_ONE, (Pure(epsilon=Fraction(1, 10)),))


@pytest.fixture
def file(url, tmp_path) -> Path:
    init(url, **BUDGET)
    return tmp_path / "budget.db"


def charge(file: Path, times: int = 1) -> None:
    with Ledger.open(f"sqlite:///{file}") as ledger:
        for _ in range(times):
            ledger.charge_plan(PART, "part")


# ------------------------------------------------------------------ one name


@deep
def test_a_hard_link_is_refused_under_both_names_until_one_is_gone(file):
    other = file.with_name("other.db")
    os.link(file, other)
    for name in (file, other):
        with pytest.raises(LedgerError, match=r"2 names \(hard links\).*; keep one"):
            Ledger.open(f"sqlite:///{name}")
    other.unlink()
    charge(file)


@deep
def test_a_hard_link_made_under_two_open_ledgers_is_refused_until_it_is_gone(file):
    other = file.with_name("other.db")
    charger = "import sys; from tests.dpaccount.ledger.test_place import charge_when_told; charge_when_told()"
    with (
        subprocess.Popen(
            [sys.executable, "-c", charger, str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
        Ledger.open(f"sqlite:///{file}") as ledger,
    ):

        def both() -> list[str]:
            process.stdin.write("charge\n")
            process.stdin.flush()
            return [process.stdout.readline().strip(), charged(ledger)]

        assert both() == ["charged", "charged"]
        os.link(file, other)
        assert all("2 names (hard links)" in message for message in both())
        assert ledger.show()["entries"] == 2
        with pytest.raises(LedgerError, match="2 names"):
            Ledger.open(f"sqlite:///{other}")
        other.unlink()
        assert both() == ["charged", "charged"]
        os.link(file, other)
        file.unlink()  # the other name is the only one now
        assert all("was replaced or removed" in message for message in both())
        process.stdin.close()


def charged(ledger: Ledger) -> str:
    try:
        ledger.charge_plan(PART, "part")
    except LedgerError as error:
        return str(error)
    return "charged"


def charge_when_told() -> None:
    """Charge for each line that comes, and say what became of it: what a process does."""
    with Ledger.open(f"sqlite:///{sys.argv[1]}") as ledger:
        for _ in sys.stdin:
            sys.stdout.write(charged(ledger) + "\n")
            sys.stdout.flush()


def test_a_symbolic_link_is_the_same_ledger(file):
    other = file.with_name("other.db")
    other.symlink_to(file)
    with Ledger.open(f"sqlite:///{file}") as one, Ledger.open(f"sqlite:///{other}") as two:
        for ledger in (one, two) * 5:
            ledger.charge_plan(PART, "part")
        assert two.show()["entries"] == 10
    assert not other.with_name("other.db-wal").exists()


MOUNTED = """
set -e
mkdir a b
mount --bind . b
touch a/ledger.db
mount --bind budget.db a/ledger.db
"$1" -m dpaccount ledger show sqlite:///a/ledger.db && exit 7
"$1" -m dpaccount ledger show sqlite:///b/budget.db
"""


@deep
def test_a_file_mounted_by_itself_is_refused_and_a_mounted_folder_is_not(file, root):
    """In a mount space of its own, where that is allowed."""
    alone = ["unshare", "-m", "sh", "-c", "mount --bind . ."]
    if shutil.which("unshare") is None or subprocess.run(alone, cwd=file.parent, check=False).returncode:
        pytest.skip("mounts are not allowed here")
    command = ["unshare", "-m", "sh", "-c", MOUNTED, "sh", sys.executable]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        command, cwd=file.parent, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "ledger.db is mounted by itself, apart from its log; mount its folder instead" in done.stderr


# ------------------------------------------------------------------ one host


@pytest.fixture
def seen_as(monkeypatch, tmp_path):
    """Return a function after which every mount is seen as one of this kind."""

    def seen(kind: str) -> None:
        fake = tmp_path / "proc"
        fake.mkdir(exist_ok=True)
        fake.joinpath("mountinfo").write_text(f"7 1 0:9 / / rw shared:1 - {kind} host:/x rw\n")
        monkeypatch.setattr(place, "_mount", lambda _: "7")
        monkeypatch.setattr(place, "PROC", fake)

    return seen


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse", "fuse.sshfs", "virtiofs", "gfs2"]
)
def test_a_shared_file_system_is_refused_unless_its_owner_vouches(file, url, seen_as, kind):
    seen_as(kind)
    for use in (Ledger.open, verify):
        with pytest.raises(LedgerError, match=rf"shared file system \({kind}\).*\?shared=trusted"):
            use(url)
    with pytest.raises(LedgerError, match="shared file system"):
        init(f"sqlite:///{file.parent}/new.db", **BUDGET)
    with Ledger.open(f"{url}?shared=trusted") as ledger:
        ledger.charge_plan(PART, "part")


@pytest.mark.parametrize("kind", ["overlay", "aufs"])
def test_a_file_system_that_goes_with_its_container_is_refused(file, url, seen_as, kind):
    seen_as(kind)
    for use in (Ledger.open, verify, lambda _: init(f"sqlite:///{file.parent}/new.db", **BUDGET)):
        with pytest.raises(LedgerError, match=rf"an {kind} file system.*volume.*\?shared=trusted"):
            use(url)
    assert Ledger.open(f"{url}?shared=trusted").close() is None


NO_LOCKS = """
#include <fcntl.h>
#include <sys/file.h>
int fcntl(int file, int command, ...) { return 0; }
int fcntl64(int file, int command, ...) { return 0; }
int flock(int file, int operation) { return 0; }
"""


@deep
@pytest.mark.skipif(shutil.which("gcc") is None, reason="it compiles a library")
def test_locks_that_say_yes_to_everybody_are_refused(file, url, tmp_path):
    """As on NFS with `nolock`: a library stands before the system's."""
    (tmp_path / "no.c").write_text(NO_LOCKS)
    subprocess.run([shutil.which("gcc"), "-shared", "-fPIC", "-o", "no.so", "no.c"], cwd=tmp_path, check=True)
    before = sorted(file.parent.iterdir())
    code = "import sys; from dpaccount.ledger.ledger import Ledger, init; eval(sys.argv[1])"
    for act in (
        f"Ledger.open({url!r})",
        f"Ledger.open({url + '?shared=trusted'!r})",
        f"init({url + '2.db'!r}, **{BUDGET})",
    ):
        for preload, wanted in ((str(tmp_path / "no.so"), True), ("", False)):
            command = [sys.executable, "-c", code, act]
            environment = {**os.environ, "LD_PRELOAD": preload}
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            assert ("one lock to two writers" in done.stderr) is wanted, done.stderr
    assert [one for one in before if one not in file.parent.iterdir()] == []


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "apfs", "zfs"])
def test_a_local_file_system_is_not(file, url, seen_as, kind):
    seen_as(kind)
    assert verify(url) == VALID


@pytest.mark.parametrize("query", ["shared=yes", "shared", "shared=trusted&mode=ro", "mode=memory", "&"])
def test_a_url_asks_for_nothing_else(file, url, query):
    with pytest.raises(InputError, match="may end in"):
        Ledger.open(f"{url}?{query}")


@pytest.mark.parametrize(
    "name", ["a.db-wal", "2026-next", "2026-line", "a-shm", "a.db-journal", "a\udcff.db"]
)
def test_a_ledger_is_not_named_as_what_stands_beside_one(name, tmp_path):
    with pytest.raises(InputError, match="give it another name"):
        address(f"sqlite:///{tmp_path}/{name}")


@pytest.mark.parametrize("name", ["a.db-wal/", "2026-line/.", "a.db-next//", "./a-shm"])
def test_nor_by_another_spelling(name, tmp_path):
    with pytest.raises(InputError, match="give it another name"):
        init(f"sqlite:///{tmp_path}/{name}", epsilon=1, delta="1e-6", unit="person", relation="replace-one")
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_too_long_is_no_crash(tmp_path):
    with pytest.raises(LedgerError, match="File name too long"):
        init(f"sqlite:///{tmp_path}/{'x' * 240}", epsilon=1, delta="1e-6", unit="p", relation="replace-one")
    assert not list(tmp_path.iterdir())


def test_a_new_ledger_that_is_not_whole_in_its_file_is_not_made(url, tmp_path, monkeypatch):
    """A reader holds up writing, as a full disk does: had the rows gone to a log first, closing would lose them."""
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0))
    readers = []

    def fill(connection, _):
        begin(connection, ())
        [(_, _, draft)] = connection.execute("PRAGMA database_list")
        readers.append(sqlite3.connect(draft, isolation_level=None))
        readers[0].execute("BEGIN")
        assert readers[0].execute("SELECT * FROM sqlite_master").fetchall() == []

    with pytest.raises(LedgerError, match="try again"):
        store.create(address(url), fill)
    assert not list(tmp_path.iterdir())
    readers[0].close()


def test_nor_through_a_symbolic_link(file, tmp_path):
    taken = file.with_name("other.db-line")
    file.rename(taken)
    file.symlink_to(taken)
    with pytest.raises(InputError, match=r"other\.db-line has the name of .*; give it another name"):
        Ledger.open(f"sqlite:///{file}")


def test_the_path_of_a_db_file_will_do_for_a_url(file, monkeypatch):
    assert address("team.db") == address("sqlite:///team.db")
    monkeypatch.chdir(file.parent)
    with Ledger.open("budget.db") as ledger:
        assert ledger.show()["entries"] == 0


# ------------------------------------------------------------------ the same file all along


@pytest.mark.parametrize("put_back", [True, False])
def test_a_log_that_is_removed_under_an_open_ledger_takes_no_charge(file, put_back):
    log = file.with_name("budget.db-wal")
    with Ledger.open(f"sqlite:///{file}") as ledger:
        ledger.charge_plan(PART, "part")
        copy = log.read_bytes()
        log.unlink()
        if put_back:
            log.write_bytes(copy)
        with pytest.raises(LedgerError, match=r"the log of .* was replaced or removed while it was open"):
            ledger.charge_plan(PART, "part")


def test_a_turned_symbolic_link_takes_no_charge(file, tmp_path):
    init(f"sqlite:///{tmp_path}/second.db", **BUDGET)
    link = tmp_path / "link.db"
    link.symlink_to(file)
    with Ledger.open(f"sqlite:///{link}") as ledger:
        link.unlink()
        link.symlink_to(tmp_path / "second.db")
        with pytest.raises(LedgerError, match="was replaced"):
            ledger.charge_plan(PART, "part")


# ------------------------------------------------------------------ the log


def spent_in(copy: Path) -> int:
    with sqlite3.connect(f"file:{copy}?immutable=1", uri=True) as connection:
        [(last,)] = connection.execute("SELECT last FROM ledger")
    connection.close()
    return last


def test_the_last_close_and_an_idle_second_move_the_log_into_the_file(file, monkeypatch):
    """A copy of the file alone then holds every charge."""
    monkeypatch.setattr(sqlite_file, "IDLE_SECONDS", 0.01)
    copy = file.with_name("copy.db")
    with Ledger.open(f"sqlite:///{file}") as ledger:
        for times in (1, 2):
            ledger.charge_plan(PART, "part")
            for _ in range(500):
                shutil.copy(file, copy)
                if spent_in(copy) == times:
                    break
                time.sleep(0.01)
            assert spent_in(copy) == times
    assert not file.with_name("budget.db-wal").exists()


def test_a_closed_ledger_is_one_file(file):
    charge(file, 3)
    assert {one.name for one in file.parent.iterdir()} == {"budget.db", "budget.db-line", "budget.db-next"}
    assert spent_in(file) == 3


def test_nobody_else_reads_a_ledger(file, tmp_path):
    """A kept release stands in it before anyone is shown it."""
    with Ledger.open(f"sqlite:///{file}") as ledger:
        ledger.charge_plan(PART, "part")
        files = [one for one in tmp_path.iterdir() if one.name.startswith("budget.db")]
        assert {one.name.removeprefix("budget.db") for one in files} == {"", "-wal", "-shm", "-line", "-next"}
        assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o600}


# ------------------------------------------------------------------ who may only read


READER = """
import os, sys
from dpaccount.errors import LedgerError
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger
from dpaccount.plan.events import Plan, Pure, Relation

with Ledger.open(sys.argv[3]) as ledger:  # all modules are loaded, which the other user may not be let read
    ledger.charge_plan(Plan(Relation.REPLACE_ONE, (Pure(epsilon=1),)), "try")
verify(sys.argv[3])
os.setgid(65534), os.setuid(65534)
assert verify(sys.argv[1]) == {"valid": True, "first_bad": None}
with Ledger.open(sys.argv[1]) as ledger:
    assert ledger.show()["entries"] == int(sys.argv[2])
    try:
        ledger.charge_plan(Plan(Relation.REPLACE_ONE, (Pure(epsilon=1),)), "try")
    except LedgerError as error:
        assert "cannot be written" in str(error), error
    else:
        raise SystemExit("charged")
"""


@deep
@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
@pytest.mark.parametrize("crashed", [True, False])
def test_who_may_only_read_shows_and_verifies(file, root, crashed, tmp_path):
    """Also after a crash, when the last charges are in the log alone; nothing is made beside the file."""
    folder = (
        Path(tempfile.gettempdir()) / f"reader-{os.getpid()}-{crashed}"
    )  # one that another user may enter
    folder.mkdir(mode=0o755)
    try:
        copy = folder / "budget.db"
        with Ledger.open(f"sqlite:///{file}") as ledger:
            for _ in range(3):
                ledger.charge_plan(PART, "part")
            if crashed:
                shutil.copy(file.with_name("budget.db-wal"), folder)
                shutil.copy(file, copy)
        if not crashed:
            shutil.copy(file, copy)
        for one in folder.iterdir():
            one.chmod(0o644)
        before = sorted(one.name for one in folder.iterdir())
        command = [sys.executable, "-c", READER, f"sqlite:///{copy}", "3", f"sqlite:///{tmp_path}/warm.db"]
        init(command[-1], **BUDGET)
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert sorted(one.name for one in folder.iterdir()) == before
    finally:
        shutil.rmtree(folder)


# ------------------------------------------------------------------ a stopped writer

STOPPED = """
import os, signal, sys
from dpaccount.ledger.ledger import Ledger
with Ledger.open(sys.argv[1]) as ledger, ledger._store.writing():
    print("holds", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@deep
def test_a_stopped_writer_is_waited_for_and_then_named(file, url, monkeypatch):
    """In all no longer than the time for both, the line and the lock."""
    monkeypatch.setattr(store, "TURN_SECONDS", 0.1)
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.2)
    stopped = subprocess.Popen([sys.executable, "-c", STOPPED, url], stdout=subprocess.PIPE, text=True)
    assert stopped.stdout is not None
    try:
        assert stopped.stdout.readline() == "holds\n"
        with Ledger.open(url) as ledger:
            with pytest.raises(LedgerError, match=r"was held by other processes for .* nothing was changed"):
                ledger.charge_plan(PART, "part")
            assert ledger.show()["entries"] == 0
    finally:
        stopped.send_signal(signal.SIGKILL)
        stopped.communicate()
    charge(file)
    assert store.TURN_SECONDS < sqlite_file.BUSY_SECONDS
