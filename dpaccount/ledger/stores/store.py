"""Store of one ledger: created atomically, opened only where safe, written by one after another, witnessed.

`Store.writing` is the only way to change anything: it holds the write lock from its first read to
its commit, and the commit is on the disk before it returns.
"""

import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from dpaccount.documents import canonical, creating
from dpaccount.errors import InputError, LedgerError, NoLedgerError, damaged, posix_module
from dpaccount.ledger.entry import Entry
from dpaccount.ledger.stores.place import (
    LOCKS,
    Address,
    ServerAddress,
    address,
    check_file,
    check_folder,
    companions,
)
from dpaccount.ledger.stores.rows import NO_PREFETCH, Prefetch, Rows, Statements
from dpaccount.ledger.stores.sqlite_file import Database, trouble
from dpaccount.noise import process

if TYPE_CHECKING:
    from dpaccount.ledger.stores.server import LedgerServer

Note = tuple[int, str]  #: an entry's number and the head when it was the last
Fill = Callable[[Statements, dict[str, str]], None]  #: writes a new ledger (role and server given)
_CUT: Final = re.compile(rb"[0-9]{0,18}( (s|sh|sha|sha2|sha25|sha256|sha256:[0-9a-f]{0,63})?)?")  #: of a line
_NUMBER: Final = re.compile("[0-9]{1,18}")
_TAIL: Final = 4096  #: bytes of a witness read from its end for the latest head; lines are nearly in order
TURN_SECONDS: Final = 10.0  #: queue timeout; SQLite's own lock is waited for afterwards
LOOK_SECONDS: Final = 0.0005  #: polling interval; no backoff, or the newest waiter would poll most
NEXT_LOOK_SECONDS: Final = 0.0001  #: polling interval of the next writer


class _Noted(msgspec.Struct):
    """What a line of a witness that has an entry notes."""

    number: Annotated[int, msgspec.Meta(ge=0, lt=10**18)]
    digest: str
    root: str | None


class Store:
    """One open ledger; threads may share it, and a forked process opens its own connection."""

    def __init__(self, where: Address | ServerAddress) -> None:
        self.place: Database | LedgerServer = (
            _server(where) if isinstance(where, ServerAddress) else Database(where)
        )
        self.witness, self.by = Witness(where.witness), where.by

    @classmethod
    def open(cls, url: str) -> "Store":
        """Open an existing ledger, changing nothing; raises `LedgerError` if it is not a ledger."""
        where, logged = address(url), False
        if isinstance(where, Address):
            if not where.path.is_file():
                raise NoLedgerError(where.path)
            check_file(where)
            logged = any(log.exists() for log in companions(where.resolved))
        store = cls(where)
        try:
            if isinstance(store.place, Database) and not logged and store.place.cut():
                raise damaged(f"{where.path} is damaged, cut inside a page")
            with store.checked() as rows:
                rows.check()
        except LedgerError:
            store.close()
            raise
        return store

    @contextmanager
    def writing(self, wants: Prefetch = NO_PREFETCH, asked: float | None = None) -> Iterator[Rows]:
        """Hold the write lock and commit durably at the end; an exception rolls back.

        `wants` is prefetched.  For a file the timeout counts from `asked` (of `time.monotonic`; by
        default now), so that it includes time in the queue of a group commit.
        """
        process.outside_tasks()
        began = time.monotonic()
        line: AbstractContextManager[None] = nullcontext()
        if isinstance(self.place, Database):
            began = began if asked is None else asked
            line = turn(self.place.path, began)
        with self.place.alone(), line:
            with self.place.writing(began, wants) as rows:
                notes = self.witness.notes()
                self.witness.check(rows, notes)
                before = rows.head()
                yield rows
                changed, last = rows.head() != before, max(notes, default=before)[0]
                fresh = [*rows.entries(last + 1)] if changed and self.witness.path else []
            if changed:
                self.witness.note(rows.head(), fresh)

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """Yield the rows of one snapshot."""
        with self.place.alone(), self.place.reading() as rows:
            yield rows

    @contextmanager
    def checked(self, *, every: bool = False) -> Iterator[Rows]:
        """Yield one snapshot after checking the latest (or `every`) head that a witness noted."""
        # Before the snapshot is taken: a head noted later would be missing there.
        notes = self.witness.notes(every=every)
        with self.reading() as rows:
            self.witness.check(rows, notes)
            yield rows

    def close(self) -> None:
        """Close the ledger's connections."""
        self.place.close()


class Witness:
    """Heads noted outside the ledger, which detect an older copy or a lost log; without a `path` none are.

    A witness is a file elsewhere (best on another disk) with the entries of every commit as an export has
    them, and a line ``number head``.  If the chain lacks the latest of them, opening the ledger and each
    write are refused.  The lines are written after the commit and before the commit is acknowledged, so they
    are missing only if its writer was killed in between; the next writer adds them.  A witness
    that began as an export is an export of the whole ledger.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path and path.absolute()
        self._name = str(path)

    def notes(self, *, every: bool = False) -> list[Note]:
        """Return a list of the latest noted head, or of every one; empty if none was noted."""
        if self.path is None:
            return []
        noted = [] if every else list(self._notes(self.path, _TAIL))
        noted = noted or list(self._notes(self.path, None))  # the tail may be one commit that a crash cut
        return noted if every or not noted else [max(noted)]

    def note(self, head: Note, entries: list[Entry]) -> None:
        """Append entries and a head durably; raises `LedgerError` if that fails: the charge stays."""
        if self.path is None:
            return
        line = b"".join(canonical(entry.fields()) + b"\n" for entry in entries)
        line += f"{head[0]} {head[1]}\n".encode()
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            try:
                size = os.fstat(descriptor).st_size
                if size and os.pread(descriptor, 1, size - 1) != b"\n":  # cut by a crash
                    line = b"\n" + line
                if os.write(descriptor, line) != len(line):
                    raise OSError(0, "no room")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise LedgerError(
                f"entry {head[0]} is written, and its head could not be noted in {self._name}"
                f" ({error.strerror}); fix that and retry with the same key"
            ) from None

    def check(self, rows: Rows, notes: list[Note]) -> None:
        """Raise `LedgerError` if the chain lacks a noted head."""
        for number, head in notes:
            entry, (last, _) = rows.entry(number), rows.head()
            if entry is None or entry.digest != head:
                raise LedgerError(
                    f"{self._name} notes another entry {number} than this chain has, which ends with entry"
                    f" {last}: an older copy or a lost log; put the newest file and its log back, or where"
                    " they are gone `dpaccount ledger import` the witness, if it began as an export, or say"
                    " what was lost by `dpaccount ledger forfeit`, and begin an empty witness"
                )

    def _notes(self, path: Path, tail: int | None) -> Iterator[Note]:
        try:
            with path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                start = 0 if tail is None else max(0, size - tail)
                file.seek(start)
                lines = file.read().split(b"\n")
        except OSError as error:
            raise LedgerError(
                f"the witness {self._name} cannot be read ({error.strerror}); give the file that heads"
                " were noted in, or an empty one to begin"
            ) from None
        if size > _TAIL and tail is None and len(lines) < 2:
            raise self._no_list()
        for line in lines[1 if start else 0 :]:  # without those cut short by a crash
            if line[:1] == b"{":
                with suppress(msgspec.MsgspecError):  # it is an export's first line, or cut
                    entry = msgspec.json.decode(line, type=_Noted)
                    if entry.root is not None:  # only then the chain may end with it
                        yield entry.number, entry.digest
            elif not _CUT.fullmatch(head := line.rstrip(b"\0")):  # a crash may leave zeros for what was cut
                yield self._read(head)

    def _read(self, line: bytes) -> Note:
        number, _, head = line.decode("ascii", "replace").partition(" ")
        if not _NUMBER.fullmatch(number) or not head.startswith("sha256:"):
            raise self._no_list()
        return int(number), head

    def _no_list(self) -> LedgerError:
        return LedgerError(f"the witness {self._name} holds no list of heads; give the right file")


@contextmanager
def turn(path: Path, began: float) -> Iterator[None]:
    """Hold the fair lock of the ledger at `path`; go on without it `TURN_SECONDS` after `began`.

    SQLite's own lock excludes other writers, but goes to whichever polls at the right moment.  Here the
    current writer holds one lock file and the next writer a second one, so a writer that comes back queues
    behind the next.  This is for fairness only: a writer that gets no lock goes on without it.

    `began` is in seconds of `time.monotonic`.  The lock files are the ledger's own: neither another ledger
    nor a user who may only read the folder can hold them.
    """
    end = began + TURN_SECONDS
    following, writing = companions(path, LOCKS)
    with ExitStack() as mine:
        with _locked(following, end, LOOK_SECONDS):
            mine.enter_context(_locked(writing, end, NEXT_LOOK_SECONDS))
        yield


@contextmanager
def _locked(path: Path, end: float, pause: float) -> Iterator[None]:
    """Hold the lock on a file, polled every `pause` seconds; go on without it after `end`.

    Unlock explicitly: a forked child may still hold the descriptor.
    """
    fcntl = posix_module("fcntl")
    if not _is_lock(path):
        yield
        return
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        yield
        return
    try:
        _wait_for(descriptor, end, pause)
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _is_lock(path: Path) -> bool:
    """Return whether `path` does not exist, or is an empty regular file with one name.

    Never open a database here: closing it would drop this process's locks on it.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == 0 and status.st_nlink == 1


def _wait_for(descriptor: int, end: float, pause: float) -> None:
    fcntl = posix_module("fcntl")
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return
            time.sleep(pause)
        except OSError:  # the file system has no locks
            return
        else:
            return


def grant(url: str, role: str, *, read_only: bool = False, arrange: bool = False) -> None:
    """Let `role` charge the ledger at `url`; if `read_only` only read, if `arrange` also arrange.

    Raises `InputError` for both options or an invalid role, `LedgerError` for a file.
    """
    if read_only and arrange:
        raise InputError("a role cannot both only read and arrange", "ask for one of the two")
    where = address(url)
    if not isinstance(where, ServerAddress):
        raise LedgerError("roles are those of a PostgreSQL server; a file is given by its owner and mode")
    if not role or "\0" in role or role == "public":  # "public" means every role
        raise InputError("that is no role", "give the name of a role that the server knows")
    with closing(_server(where)) as server:
        server.grant(role, read_only=read_only, arrange=arrange)


def _server(where: ServerAddress) -> "LedgerServer":
    from dpaccount.ledger.stores.server import LedgerServer  # its driver is an extra

    return LedgerServer(where)


def create(where: Address | ServerAddress, fill: Fill) -> None:
    """Create a new ledger and `fill` it; raises `LedgerError` if it, or a file of its, exists."""
    if isinstance(where, ServerAddress):
        with closing(_server(where)) as server:
            server.make(fill)
    else:
        _create_file(where, fill)


def _create_file(where: Address, fill: Fill) -> None:
    path = where.path
    for taken in (path, *companions(path)):
        if os.path.lexists(taken):
            raise LedgerError(f"{taken} exists already; give the ledger a new file")
    check_folder(path.parent, trusted=where.trusted)
    try:
        with creating(path) as draft:
            try:
                _fill(draft, fill)
            finally:
                for companion in companions(draft):
                    with suppress(OSError):  # the name may be too long
                        companion.unlink(missing_ok=True)
    except sqlite3.Error as error:
        raise LedgerError(f"{path} {trouble(error)}") from None
    except FileExistsError:
        raise LedgerError(f"{path} exists already; give the ledger a new file") from None
    except OSError as error:
        raise LedgerError(
            f"{path} cannot be made ({error.strerror}); give a file in a writable folder"
        ) from None


def _fill(draft: Path, fill: Fill) -> None:
    """Write a whole new ledger to the file `draft`, readable by its owner only."""
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("BEGIN IMMEDIATE")
        fill(connection, {})
        connection.execute("COMMIT")
        # Not before: closing would move a log into the file, and say nothing where the disk is full.
        connection.execute("PRAGMA journal_mode=WAL")
