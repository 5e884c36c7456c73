"""The rows of a ledger inside one transaction: statements, and nothing that they mean."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol

from dpaccount.errors import LedgerError, damaged
from dpaccount.ledger.chain import ORIGIN, RELEASE, Entry, seal

TABLES: Final = (
    "CREATE TABLE ledger (format TEXT NOT NULL PRIMARY KEY, last INTEGER NOT NULL, head TEXT NOT NULL)",
    "CREATE TABLE entries (number INTEGER NOT NULL PRIMARY KEY, kind TEXT NOT NULL, key TEXT UNIQUE,"
    " about INTEGER, body TEXT NOT NULL, root TEXT, digest TEXT NOT NULL, UNIQUE (kind, about))",
    "CREATE TABLE nodes (node INTEGER NOT NULL PRIMARY KEY, body TEXT NOT NULL)",
)
COLUMNS: Final = "number, kind, key, about, body, root, digest"  #: of an entry
ENTRY: Final = f"SELECT {COLUMNS} FROM entries"  # noqa: S608 - our own names
LOWEST: Final = -(2**63)  #: number that a row can have; a ledger's begin with 0
PAGE: Final = 2000  #: rows fetched at a time
_SCHEMA: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master"
#: what ANALYZE leaves in a file: counts for SQLite, by which it chooses how to look for rows
_STATISTICS: Final = (
    ("table", "sqlite_stat1", "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    ("table", "sqlite_stat4", "sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
)
_THESE: Final = "SELECT node, body FROM json_each(?) CROSS JOIN nodes ON node = value"
_KEEP: Final = "INSERT INTO nodes VALUES (?, ?) ON CONFLICT (node) DO UPDATE SET body = excluded.body"


class CutError(LedgerError):
    """The connection was cut before anything was changed: asking again does no harm."""


@dataclass(frozen=True)
class Wants:
    """What a transaction will read: the entries from number `after` on, charges of keys, nodes.

    A server brings all of it in one journey, a file the nodes in one statement.
    """

    after: int | None = None
    keys: tuple[str, ...] = ()
    nodes: frozenset[int] = frozenset()


class Nodes(Protocol):
    """What stores the nodes of totals."""

    def node(self, node: int, /) -> Any:
        """Return the stored text of a node, or None."""

    def put(self, nodes: dict[int, str | None], /) -> None:
        """Store nodes; those without a text are removed."""

    def drop(self, low: int, high: int, /) -> None:
        """Remove the nodes from `low` to `high`."""


class Statements(Protocol):
    """What runs statements: a connection to a file, or a session with a server."""

    def execute(self, statement: str, values: Sequence[object] = (), /) -> Any:
        """Run a statement with these values in place of its question marks."""

    def executemany(self, statement: str, values: Iterable[Sequence[object]], /) -> Any:
        """Run a statement with each of these."""


class Rows:
    """The rows of a ledger inside one transaction."""

    def __init__(self, connection: Statements, name: str) -> None:
        self._connection = connection
        self._name = name
        self._head: tuple[int, str] | None = None
        self._written: tuple[int, Entry] | None = None  #: the number of the first entry stored, and the last
        self._nodes: dict[int, Any] = {}  #: as they were read, or put
        self.stamp: Mapping[str, str] = {}  #: who asks, and on which server, as that knows them
        self.writes = False  #: whether a server gave the lock to write

    def check(self) -> None:
        """Refuse a database that is no ledger, or that holds anything beside or otherwise than one.

        Triggers and views are code, and so are computed columns; an index may hold other rows than its table,
        and a column that is declared otherwise compares keys otherwise.
        """
        found, ours = self._connection.execute(_SCHEMA).fetchall(), _schema()
        found = [row for row in found if row not in _STATISTICS]
        if not any(row[:3] == ("table", "ledger", "ledger") for row in found):
            raise LedgerError(f"{self._name} is not a ledger; make one with `dpaccount ledger init`")
        self.head()  # an earlier format has tables of its own
        if sorted(found, key=str) != ours:
            raise LedgerError(
                f"{self._name} holds triggers, views, indices, tables or columns that a ledger has not;"
                " drop what was added"
            )
        if self._one("PRAGMA encoding")[0] != "UTF-8":  # elsewhere two texts that read alike may differ
            raise damaged(f"{self._name} is not in UTF-8, as a ledger is")

    def head(self) -> tuple[int, str]:
        """Return the number and digest that the last entry should have."""
        if self._head is None:
            found = self._connection.execute("SELECT format, last, head FROM ledger LIMIT 2").fetchall()
            return self._take_head(found)
        return self._head

    def _take_head(self, rows: list[Any]) -> tuple[int, str]:
        if len(rows) != 1 or rows[0][0] != ORIGIN:
            raise LedgerError(f"{self._name} is not a ledger of this kind; it should say {ORIGIN}")
        last, head = rows[0][1:3]
        self._head = last if type(last) is int else -1, head
        return self._head

    def entry(self, number: int) -> Entry | None:
        """Return the entry of this number."""
        return self._first(f"{ENTRY} WHERE number = ?", number)

    def keyed(self, key: str) -> Entry | None:
        """Return the charge of this key."""
        return self._first(f"{ENTRY} WHERE key = ?", key)

    def about(self, number: int, kind: str) -> Entry | None:
        """Return the mark of this kind on a charge."""
        return self._first(f"{ENTRY} WHERE about = ? AND kind = ?", number, kind)

    def entries(self, first: int = LOWEST) -> Iterator[Entry]:
        """Yield the rows from number `first` on, or all, in order, as they are stored."""
        found = self._connection.execute(f"{ENTRY} WHERE number >= ? ORDER BY number", (first,))
        while rows := found.fetchmany(PAGE):
            for row in rows:
                yield Entry(*row)

    def ended(self, head: str) -> Entry | None:
        """Return the entry with this digest, the last one first."""
        return self._first(f"{ENTRY} WHERE digest = ? ORDER BY number DESC LIMIT 1", head)

    def before_releases(self) -> Entry | None:
        """Return the last entry that is no release: those say nothing but what is released."""
        return self._first(f"{ENTRY} WHERE kind <> ? ORDER BY number DESC LIMIT 1", RELEASE)

    def unlawful(self) -> int | None:
        """Return the first entry by whom may not write it, as far as a server tells."""
        return None

    def written(self) -> Iterator[tuple[Entry, str]]:
        """Yield the entries with the roles that wrote them, as far as a server tells."""
        return iter(())

    def count(self, kind: str) -> int:
        """Return how many entries are of this kind."""
        return int(self._one("SELECT count(*) FROM entries WHERE kind = ?", kind)[0])

    def append(
        self, kind: str, body: str, root: str, *, key: str | None = None, about: int | None = None
    ) -> Entry:
        """Add an entry at the end of the chain, after which the totals have this root; return it."""
        last, before = self.head()
        digest = seal(before, last + 1, kind, key, about, body, root)
        made = Entry(last + 1, kind, key, about, body, root, digest)
        self.add(made)
        self._head = made.number, made.digest  # the row is written once, by `finish`
        return made

    def add(self, entry: Entry) -> None:
        """Store an entry as it is."""
        self._connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", _values(entry))
        self._written = (self._written or (entry.number, entry))[0], entry

    def finish(self) -> None:
        """Write where the chain ends now, and find what was stored: the last statements before the commit."""
        if self._written is not None:
            self._connection.execute("UPDATE ledger SET last = ?, head = ?", self.head())
            self._find(*self._written)

    def _find(self, first: int, last: Entry) -> None:
        """Refuse a file that loses what is stored in it: damaged pages may take an entry and hide it."""
        found = self._one("SELECT count(*) FROM entries WHERE number BETWEEN ? AND ?", first, last.number)[0]
        if found != last.number - first + 1 or self.entry(last.number) != last:
            raise damaged(f"{self._name} is damaged, and loses what is written")

    def node(self, node: int) -> Any:
        """Return the stored text of a node of the tree of totals, or None."""
        if node in self._nodes:
            return self._nodes[node]
        row = self._connection.execute("SELECT body FROM nodes WHERE node = ?", (node,)).fetchone()
        return None if row is None else row[0]

    def bring(self, nodes: Collection[int]) -> None:
        """Read nodes that will be asked for, all at once."""
        found = self._connection.execute(_THESE, (json.dumps(list(nodes)),)).fetchall()
        self._nodes = {**dict.fromkeys(nodes), **dict(found)}

    def nodes(self) -> Iterator[tuple[int, Any]]:
        """Yield all nodes in order."""
        found = self._connection.execute("SELECT node, body FROM nodes ORDER BY node")
        while rows := found.fetchmany(PAGE):
            yield from rows

    def put(self, nodes: dict[int, str | None]) -> None:
        """Store nodes; those without a text are removed."""
        self._nodes.update(nodes)
        self._connection.executemany(
            _KEEP, [(node, body) for node, body in nodes.items() if body is not None]
        )
        gone = [(node,) for node, body in nodes.items() if body is None]
        if gone:
            self._connection.executemany("DELETE FROM nodes WHERE node = ?", gone)

    def drop(self, low: int, high: int) -> None:
        """Remove the nodes from `low` to `high`."""
        self._connection.execute("DELETE FROM nodes WHERE node BETWEEN ? AND ?", (low, high))
        self._nodes.update((node, None) for node in self._nodes if low <= node <= high)

    def sound(self) -> bool:
        """Say whether the database finds its own pages and indices in order."""
        return bool(self._one("PRAGMA integrity_check(1)")[0] == "ok")

    def _first(self, query: str, *values: object) -> Entry | None:
        row = self._one(query, *values)
        return None if row is None else Entry(*row)

    def _one(self, query: str, *values: object) -> Any:
        return self._connection.execute(query, values).fetchone()


@cache
def _schema() -> list[tuple[str, str, str, str | None]]:
    """Return what SQLite says of the tables of a ledger."""
    connection = sqlite3.connect(":memory:")
    try:
        begin(connection, ())
        return sorted(connection.execute(_SCHEMA).fetchall(), key=str)
    finally:
        connection.close()


def begin(connection: Statements, entries: Iterable[Entry], nodes: Iterable[tuple[int, str]] = ()) -> None:
    """Make the tables of a ledger in an empty database, with these entries and nodes."""
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
