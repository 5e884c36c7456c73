"""Where a ledger's rows live: SQLite, one file, one writer at a time.

`Store.writing` is the only way to change anything: it holds the write lock from its first read to its
commit, and the commit is on the disk (write-ahead log, ``synchronous=FULL``) before it returns.  The
statements are SQLAlchemy Core with bound values; another database needs another `_engine` and lock.
"""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    delete,
    event,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import QueuePool

from dpaccount.documents import sync_folder
from dpaccount.errors import InputError, LedgerError
from dpaccount.ledger import spending
from dpaccount.ledger.chain import BUDGET, ORIGIN, Entry, seal
from dpaccount.ledger.spending import Step
from dpaccount.noise import process

BUSY_SECONDS: Final = 60.0  #: how long a writer waits for the others
TURN_SECONDS: Final = 10.0  #: how long of this in line

_Number = BigInteger().with_variant(Integer, "sqlite")
_TABLES = MetaData()
_HEAD = Table(
    "ledger",
    _TABLES,
    Column("format", Text, primary_key=True),
    Column("last", _Number, nullable=False),
    Column("head", Text, nullable=False),
)
_ENTRIES = Table(
    "entries",
    _TABLES,
    Column("number", _Number, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("key", Text, unique=True),
    Column("about", _Number),
    Column("body", Text, nullable=False),
    Column("digest", Text, nullable=False),
    UniqueConstraint("kind", "about"),
)
_PROFILE = Table(
    "profile",
    _TABLES,
    Column("first", _Number, primary_key=True, autoincrement=False),
    Column("amounts", Text, nullable=False),
)


class Rows:
    """The rows of a ledger inside one transaction."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name

    def check(self) -> None:
        """Refuse a database that is no ledger, or that holds code (triggers, views) beside one."""
        code = "SELECT count(*) FROM sqlite_master WHERE type IN ('trigger', 'view')"
        if self._connection.exec_driver_sql(code).scalar():
            raise LedgerError(f"{self._name} holds triggers or views; a ledger has none")
        self.head()

    def head(self) -> tuple[int, str]:
        """Return the number and digest that the last entry should have."""
        rows = self._connection.execute(select(_HEAD)).all()
        if len(rows) != 1 or rows[0].format != ORIGIN:
            raise LedgerError(f"{self._name} is not a ledger of this kind; it should say {ORIGIN}")
        return rows[0].last, rows[0].head

    def entry(self, number: int) -> Entry | None:
        """Return the entry of this number."""
        return self._first(select(_ENTRIES).where(_ENTRIES.c.number == number))

    def keyed(self, key: str) -> Entry | None:
        """Return the charge of this key."""
        return self._first(select(_ENTRIES).where(_ENTRIES.c.key == key))

    def about(self, number: int, kind: str) -> Entry | None:
        """Return the mark of this kind on a charge."""
        return self._first(select(_ENTRIES).where(_ENTRIES.c.about == number, _ENTRIES.c.kind == kind))

    def entries(self, first: int = 0) -> Iterator[Entry]:
        """Yield the entries from number `first` on, in order, as they are stored."""
        query = select(_ENTRIES).where(_ENTRIES.c.number >= first).order_by(_ENTRIES.c.number)
        for row in self._connection.execute(query).mappings():
            yield Entry(**row)

    def count(self, kind: str) -> int:
        """Return how many entries are of this kind."""
        query = select(func.count()).select_from(_ENTRIES).where(_ENTRIES.c.kind == kind)
        return int(self._connection.execute(query).scalar_one())

    def append(self, kind: str, body: str, *, key: str | None = None, about: int | None = None) -> Entry:
        """Add an entry at the end of the chain and return it."""
        last, before = self.head()
        made = _sealed(last + 1, before, kind, key, about, body)
        self._connection.execute(insert(_ENTRIES).values(**vars(made)))
        self._connection.execute(update(_HEAD).values(last=made.number, head=made.digest))
        return made

    def steps(self) -> list[tuple[Any, Any]]:
        """Return the whole profile as it is stored, unread."""
        query = select(_PROFILE.c.first, _PROFILE.c.amounts).order_by(_PROFILE.c.first)
        return [(first, amounts) for first, amounts in self._connection.execute(query)]

    def near(self, charge: list[Step]) -> list[tuple[Any, Any]]:
        """Return the stored steps within the reach of `charge` and the one before it, unread."""
        first, inside = _reach(charge)
        query = select(_PROFILE.c.first, _PROFILE.c.amounts)
        before = query.where(_PROFILE.c.first < first).order_by(_PROFILE.c.first.desc()).limit(1)
        found = [*self._connection.execute(before)]
        found += self._connection.execute(query.where(*inside).order_by(_PROFILE.c.first))
        return [(unit, amounts) for unit, amounts in found]

    def put(self, charge: list[Step], lines: list[tuple[int, str]]) -> None:
        """Replace the steps within the reach of `charge`."""
        _, inside = _reach(charge)
        self._connection.execute(delete(_PROFILE).where(*inside))
        if lines:  # none where the charge makes all level with the units before
            rows = [{"first": unit, "amounts": amounts} for unit, amounts in lines]
            self._connection.execute(insert(_PROFILE), rows)

    def sound(self) -> bool:
        """Say whether the database finds its own pages and indices in order."""
        return self._connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar() == "ok"

    def _first(self, query: Select[Any]) -> Entry | None:
        row = self._connection.execute(query).mappings().first()
        return None if row is None else Entry(**row)


def _reach(charge: list[Step]) -> tuple[int, list[Any]]:
    """Return the first unit that `charge`, not zero, touches, and the condition on steps within its reach."""
    first, end = spending.touched(charge)
    ends = [] if end is None else [_PROFILE.c.first <= end]
    return first, [_PROFILE.c.first >= first, *ends]


def _sealed(number: int, before: str, kind: str, key: str | None, about: int | None, body: str) -> Entry:
    return Entry(number, kind, key, about, body, seal(before, number, kind, key, about, body))


class Store:
    """One ledger's file, open; threads may share it, and a forked process opens its own connection."""

    def __init__(self, path: Path) -> None:
        self._name = str(path)
        self._path = path.absolute()  # the working directory may change
        self._engine = _engine(self._path)
        self._process = process.this()

    @classmethod
    def create(cls, url: str, budget: str) -> None:
        """Make the file of a new ledger whose entry 0 is the body `budget`; never replaces a file."""
        path = _path(url)
        for taken in (path, *_companions(path)):
            if os.path.lexists(taken):
                raise LedgerError(f"{taken} exists already; give the ledger a new file")
        draft = path.with_name(f".{path.name}.{token_hex(8)}")
        try:
            _fill(draft, budget)
            os.link(draft, path)  # unlike a rename, never replaces a file that appeared meanwhile
            sync_folder(path.parent)
        except DBAPIError as error:
            raise LedgerError(f"{path} {_trouble(error)}") from None
        except FileExistsError:
            raise LedgerError(f"{path} exists already; give the ledger a new file") from None
        except OSError as error:
            raise LedgerError(
                f"{path} cannot be made ({error.strerror}); give a file in a writable folder"
            ) from None
        finally:
            for made in (draft, *_companions(draft)):
                made.unlink(missing_ok=True)

    @classmethod
    def open(cls, url: str) -> "Store":
        """Open an existing ledger; makes nothing and changes nothing."""
        path = _path(url)
        if not path.is_file():
            raise LedgerError(f"{path} is not there; make a ledger with `dpaccount ledger init`")
        if _cut(path):
            raise LedgerError(f"{path} is damaged, cut inside a page; restore it from a backup")
        store = cls(path)
        try:
            with store.reading() as rows:
                rows.check()
        except LedgerError:
            store.close()
            raise
        return store

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        """Hold the write lock and commit durably at the end; an exception undoes everything."""
        with process.unforked(), _turn(self._path.parent), self._transaction("BEGIN IMMEDIATE") as rows:
            yield rows

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """See one moment of the ledger."""
        with process.unforked(), self._transaction("BEGIN") as rows:
            yield rows

    def close(self) -> None:
        """Let go of the file."""
        if self._process == process.this():
            self._engine.dispose()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Rows]:
        if self._process != process.this():  # a connection must not cross a fork
            _ABANDONED.append(self._engine)  # nor be closed here, nor its locks be waited for
            self._engine, self._process = _engine(self._path), process.this()
        try:
            with self._engine.connect().execution_options(begin=begin) as connection, connection.begin():
                yield Rows(connection, self._name)
        except (DBAPIError, UnicodeDecodeError) as error:  # the driver decodes SQLite's own messages
            raise LedgerError(f"{self._name} {_trouble(error)}") from None


_ABANDONED: Final[list[Engine]] = []  #: what processes before a fork had open

_TROUBLE: Final = {
    "BUSY": f"was held by other processes for {BUSY_SECONDS:.0f} s and nothing was changed; try again",
    "CANTOPEN": "cannot be opened; give a file that can be read and written",
    "ERROR": "is not a ledger; make one with `dpaccount ledger init`",
    "FULL": "has no room on its disk; make room and try again",
    "IOERR": "cannot be read or written; check its disk",
    "NOTADB": "is not a ledger; make one with `dpaccount ledger init`",
    "PERM": "cannot be opened; give a file that can be read and written",
    "READONLY": "cannot be written; give a ledger in a writable file and folder",
}


def _trouble(error: DBAPIError | UnicodeDecodeError) -> str:
    cause = getattr(error, "orig", None)
    name = getattr(cause, "sqlite_errorname", None) or "SQLITE_CORRUPT"
    return _TROUBLE.get(name.split("_")[1], "is damaged; restore it from a backup")


def _path(url: str) -> Path:
    """Return the file that a URL names; messages never repeat the URL, which may hold a password."""
    try:
        parts = make_url(url)
    except (ArgumentError, ValueError):
        raise InputError("the ledger's URL cannot be read; write it as sqlite:///file.db") from None
    kind = parts.drivername.split("+")[0]
    if kind == "postgresql":
        raise InputError("ledgers in PostgreSQL are not supported yet; use sqlite:///file.db")
    if parts.drivername != "sqlite":
        raise InputError("the ledger's URL names an unknown kind of database; use sqlite:///file.db")
    name = parts.database
    if parts.host or parts.query or not name or name == ":memory:" or "\0" in name:
        raise InputError("the ledger's URL does not name one file; write it as sqlite:///file.db")
    return Path(name)


def _companions(path: Path) -> list[Path]:
    """Return the files that SQLite keeps beside an open or crashed database."""
    return [path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal")]


def _fill(draft: Path, budget: str) -> None:
    """Write a whole new ledger to the file `draft`."""
    draft.touch(exist_ok=False)
    store = Store(draft)
    try:
        with store._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        options = {"begin": "BEGIN IMMEDIATE"}
        with store._engine.connect().execution_options(**options) as connection, connection.begin():
            _TABLES.create_all(connection)
            first = _sealed(0, ORIGIN, BUDGET, None, None, budget)
            connection.execute(insert(_ENTRIES).values(**vars(first)))
            connection.execute(insert(_HEAD).values(format=ORIGIN, last=0, head=first.digest))
    finally:
        store.close()  # the last connection moves the log into the file


def _cut(path: Path) -> bool:
    """Say whether the main file ends inside a page and no log stands beside it that would mend it.

    SQLite reads what is missing of a page as zeros, so that rows vanish without a word.
    """
    logs = _companions(path)
    return not any(log.exists() for log in logs) and _uneven(path) and _uneven(path)  # twice: it may grow


def _uneven(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            start = file.read(18)
    except OSError:
        return False  # opening it says why
    page = int.from_bytes(start[16:18])
    return path.stat().st_size % (65536 if page == 1 else max(page, 1)) != 0


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait in line with the other writers of this folder, `TURN_SECONDS` at most.

    SQLite's own lock keeps writers apart but serves whoever asks at the right moment; behind the kernel's
    file lock they wait for less.  It is for fairness only: who cannot have it goes on without.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        yield
        return
    try:
        _wait_for(descriptor)
        yield
    finally:
        with suppress(OSError):  # said aloud: a process forked meanwhile would hold the lock by its copy
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _wait_for(descriptor: int) -> None:
    end = time.monotonic() + TURN_SECONDS
    while time.monotonic() < end:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.001)
        except OSError:  # some network file systems lock no folders
            return
        else:
            return


def _engine(path: Path) -> Engine:
    name = f"file:{quote(str(path))}?mode=rw"  # rw: never makes a file

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            name, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        # what is not UTF-8 is for `verify` to find, not for the driver to stumble over
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA fullfsync=ON")  # macOS: flush the disk's own cache too
        return connection

    engine = create_engine("sqlite+pysqlite://", creator=connect, poolclass=QueuePool, max_overflow=-1)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        how = connection.get_execution_options().get("begin")
        if how is not None:
            connection.exec_driver_sql(how)

    return engine
