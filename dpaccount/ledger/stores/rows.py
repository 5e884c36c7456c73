"""SQL statements on a ledger's rows inside one transaction; other modules interpret the rows."""

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol, TypeVar

from dpaccount.errors import LedgerError, damaged
from dpaccount.ledger.entry import CHARGE, ORIGIN, RESERVATION, Entry, seal

TABLES: Final = (
    "CREATE TABLE ledger (format TEXT NOT NULL PRIMARY KEY, last INTEGER NOT NULL, head TEXT NOT NULL)",
    "CREATE TABLE entries (number INTEGER NOT NULL PRIMARY KEY, kind TEXT NOT NULL, key TEXT UNIQUE,"
    " about INTEGER, body TEXT NOT NULL, root TEXT, digest TEXT NOT NULL, UNIQUE (kind, about))",
    "CREATE TABLE nodes (node INTEGER NOT NULL PRIMARY KEY, body TEXT NOT NULL)",
)
COLUMNS: Final = "number, kind, key, about, body, root, digest"  #: of an entry
ENTRY: Final = f"SELECT {COLUMNS} FROM entries"  # noqa: S608 - our own names
LOWEST: Final = -(2**63)  #: lowest 64-bit number of a row; a ledger starts at 0
HIGHEST: Final = 2**63 - 1
PAGE: Final = 2000  #: rows fetched at a time
MAX_CHARGES: Final = 1000  #: charges in one commit
AGAIN_SECONDS: Final = 60.0  #: how long `again` retries
_SCHEMA: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"
#: tables that ANALYZE adds to a file: statistics for SQLite's query planner
_STATISTICS: Final = (
    ("table", "sqlite_stat1", "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    ("table", "sqlite_stat4", "sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
)
_THESE: Final = "SELECT node, body FROM json_each(?) CROSS JOIN nodes ON node = value"
_KEEP: Final = "INSERT INTO nodes VALUES (?, ?) ON CONFLICT (node) DO UPDATE SET body = excluded.body"


T = TypeVar("T")
#: reports the progress of a long reading
WATCH: ContextVar[Callable[[str], None] | None] = ContextVar("watch", default=None)


def watched(entries: Iterable[Entry], rows: "Rows", what: str) -> Iterator[Entry]:
    """Yield entries; a watcher gets progress after every page of them."""
    report = WATCH.get()
    for entry in entries:
        if report is not None and entry.number % PAGE == 0:
            with suppress(LedgerError):  # the reader of the entries finds a damaged head
                report(f"{what} {entry.number} of {rows.head()[0]}")
        yield entry


class CutError(LedgerError):
    """The connection was cut before anything was changed: a retry is safe."""


def again(act: Callable[[], T]) -> T:
    """Run a transaction; retry if the connection was cut before anything was changed."""
    end = time.monotonic() + AGAIN_SECONDS
    while True:
        try:
            return act()
        except CutError:
            if time.monotonic() > end:
                raise


@dataclass(frozen=True)
class Prefetch:
    """What a transaction will read: entries from number `after` on, charges of `keys`, `nodes`.

    A server fetches all of it in one round trip, a file only the nodes, in one statement.
    """

    after: int | None = None
    keys: tuple[str, ...] = ()
    nodes: frozenset[int] = frozenset()


NO_PREFETCH: Final = Prefetch()


class Statements(Protocol):
    """Runs SQL statements: a connection to a file, or a session with a server."""

    def execute(self, statement: str, values: Sequence[object] = (), /) -> Any:
        """Run a statement with these values in place of its ``?`` placeholders."""

    def executemany(self, statement: str, values: Iterable[Sequence[object]], /) -> Any:
        """Run a statement once for each row of values."""


class Rows:
    """The rows of a ledger inside one transaction."""

    select = ENTRY  #: of entries; a server adds their authors

    def __init__(self, connection: Statements, name: str) -> None:
        self._connection = connection
        self._name = name
        self._head: tuple[int, str] | None = None
        self._written: tuple[int, Entry] | None = None  #: first number added, last entry added
        self._nodes: dict[int, Any] = {}  #: cache of nodes that were prefetched or put
        self.stamp: Mapping[str, str] = {}  #: role, server and time that entries record; empty in a file
        self.writes = False  #: whether a server granted the write lock

    def check(self) -> None:
        """Raise `LedgerError` for a database that is not a ledger, or has a different schema."""
        schema, ours = self._connection.execute(_SCHEMA).fetchall(), _schema()
        schema = [row for row in schema if row not in _STATISTICS]
        if not any(row[:3] == ("table", "ledger", "ledger") for row in schema):
            raise LedgerError(f"{self._name} is not a ledger; make one with `dpaccount ledger init`")
        self.head()  # raises for an earlier format, before its tables are compared
        # Triggers, views and computed columns are code; an added index may hold other rows than its table,
        # and a column that is declared differently compares keys differently.
        if sorted(schema, key=str) != ours:
            raise LedgerError(
                f"{self._name} holds triggers, views, indices, tables or columns that a ledger has not;"
                " drop what was added"
            )
        if self._one("PRAGMA encoding")[0] != "UTF-8":  # else different bytes may decode alike
            raise damaged(f"{self._name} is not in UTF-8, as a ledger is")

    def head(self) -> tuple[int, str]:
        """Return the stored head: the number and digest that the last entry should have."""
        if self._head is None:
            fetched = self._connection.execute("SELECT format, last, head FROM ledger LIMIT 2").fetchall()
            return self._take_head(fetched)
        return self._head

    def _take_head(self, rows: list[Any]) -> tuple[int, str]:
        if len(rows) != 1 or rows[0][0] != ORIGIN:
            raise LedgerError(f"{self._name} is not a ledger of this kind; it should say {ORIGIN}")
        last, head = rows[0][1:3]
        self._head = last if type(last) is int and 0 <= last < HIGHEST else -1, head
        return self._head

    def entry(self, number: int) -> Entry | None:
        """Return the entry with this number, or None."""
        return self._first(f"{self.select} WHERE number = ?", number)

    def keyed(self, key: str) -> Entry | None:
        """Return the charge or reservation with this key, or None."""
        return self._first(f"{self.select} WHERE key = ?", key)

    def about(self, number: int, kind: str) -> Entry | None:
        """Return the entry of this kind that is about entry `number`, or None."""
        return self._first(f"{self.select} WHERE about = ? AND kind = ?", number, kind)

    def entries(self, first: int = LOWEST) -> Iterator[Entry]:
        """Yield entries from number `first` on (by default all) in order, as stored."""
        cursor = self._connection.execute(f"{ENTRY} WHERE number >= ? ORDER BY number", (first,))
        while rows := cursor.fetchmany(PAGE):
            for row in rows:
                yield Entry(*row)

    def ended(self, head: str) -> Entry | None:
        """Return the last entry with this digest, or None."""
        return self._first(f"{self.select} WHERE digest = ? ORDER BY number DESC LIMIT 1", head)

    def last_but(self, kind: str, other: str = "") -> Entry | None:
        """Return the last entry of another kind than these, or None."""
        query = f"{self.select} WHERE kind NOT IN (?, ?) ORDER BY number DESC LIMIT 1"
        return self._first(query, kind, other)

    def last_spending(self) -> Entry | None:
        """Return the last charge or reservation, or None."""
        query = f"{self.select} WHERE kind IN (?, ?) ORDER BY number DESC LIMIT 1"
        return self._first(query, CHARGE, RESERVATION)

    def before(self, number: int, kind: str) -> Entry | None:
        """Return the last entry of this kind before a number, or None."""
        query = f"{self.select} WHERE kind = ? AND number < ? ORDER BY number DESC LIMIT 1"
        return self._first(query, kind, number)

    def unlawful(self) -> int | None:
        """Return the first entry whose role lacked the right to write it; files have no roles."""
        return None

    def count(self, kind: str) -> int:
        """Return the number of entries of this kind."""
        return int(self._one("SELECT count(*) FROM entries WHERE kind = ?", kind)[0])

    def append(
        self, kind: str, body: str, root: str | None, *, key: str | None = None, about: int | None = None
    ) -> Entry:
        """Append an entry to the chain and return it; the parameters are the fields of `Entry`."""
        last, before = self.head()
        digest = seal(before, last + 1, kind, key, about, body, root)
        entry = Entry(last + 1, kind, key, about, body, root, digest)
        self.add(entry)
        self._head = entry.number, entry.digest  # stored once, by `finish`
        return entry

    def add(self, entry: Entry) -> None:
        """Insert an entry as it is; the head does not move."""
        self._connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", _values(entry))
        self._written = (self._written or (entry.number, entry))[0], entry

    def finish(self) -> None:
        """Store the head and read back the added entries: the last statements before the commit."""
        if self._written is not None:
            self._point(*self.head())
            first, last = self._written
            # Damaged pages may accept entries and hide them.
            between = "SELECT count(*) FROM entries WHERE number BETWEEN ? AND ?"
            count = self._one(between, first, last.number)[0]
            if count != last.number - first + 1 or self.entry(last.number) != last:
                raise damaged(f"{self._name} is damaged, and loses what is written")

    def point(self, end: Entry) -> None:
        """Store this entry as the head."""
        self._head = end.number, end.digest
        self._point(*self._head)

    def _point(self, number: int, digest: str) -> None:
        self._connection.execute("UPDATE ledger SET last = ?, head = ?", (number, digest))

    def node(self, node: int) -> Any:
        """Return the stored text of a node of the balances, or None."""
        if node in self._nodes:
            return self._nodes[node]
        row = self._read("SELECT body FROM nodes WHERE node = ?", node)
        return None if row is None else row[0]

    def bring(self, nodes: Collection[int]) -> None:
        """Prefetch nodes into the cache with one statement."""
        fetched = self._connection.execute(_THESE, (json.dumps(list(nodes)),)).fetchall()
        self._nodes = {**dict.fromkeys(nodes), **dict(fetched)}

    def nodes(self) -> Iterator[tuple[int, Any]]:
        """Yield the number and text of all nodes, in order."""
        cursor = self._connection.execute("SELECT node, body FROM nodes ORDER BY node")
        while rows := cursor.fetchmany(PAGE):
            yield from rows

    def put(self, nodes: dict[int, str | None]) -> None:
        """Insert or update nodes; those whose text is None are deleted."""
        self._nodes.update(nodes)
        self._connection.executemany(
            _KEEP, [(node, body) for node, body in nodes.items() if body is not None]
        )
        gone = [(node,) for node, body in nodes.items() if body is None]
        if gone:
            self._connection.executemany("DELETE FROM nodes WHERE node = ?", gone)

    def drop(self, low: int, high: int) -> None:
        """Delete the nodes from `low` to `high`, both included."""
        self._connection.execute("DELETE FROM nodes WHERE node BETWEEN ? AND ?", (low, high))
        self._nodes.update((node, None) for node in self._nodes if low <= node <= high)

    def sound(self) -> bool:
        """Return whether SQLite's integrity check of pages and indices passes."""
        return bool(self._one("PRAGMA integrity_check(1)")[0] == "ok")

    def _first(self, query: str, *values: object) -> Entry | None:
        row = self._one(query, *values)
        return None if row is None else Entry(*row)

    def _one(self, query: str, *values: object) -> Any:
        return self._read(query, *values)

    def _read(self, query: str, *values: object) -> Any:
        return self._connection.execute(query, values).fetchone()


@cache
def _schema() -> list[tuple[str, str, str, str | None]]:
    """Return the schema of a ledger as SQLite stores it."""
    with closing(sqlite3.connect(":memory:")) as connection:
        begin(connection, ())
        return sorted(connection.execute(_SCHEMA).fetchall(), key=str)


def begin(connection: Statements, entries: Iterable[Entry], nodes: Iterable[tuple[int, str]] = ()) -> None:
    """Create a ledger's tables in an empty database and insert these entries and nodes."""
    for table in TABLES:
        connection.execute(table)
    last: Entry | None = None
    rows = Rows(connection, "")
    for last in entries:
        rows.add(last)
    if last is not None:
        connection.execute("INSERT INTO ledger VALUES (?, ?, ?)", (ORIGIN, last.number, last.digest))
    connection.executemany(_KEEP, nodes)


def _values(entry: Entry) -> tuple[object, ...]:
    return entry.number, entry.kind, entry.key, entry.about, entry.body, entry.root, entry.digest
