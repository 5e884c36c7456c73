"""The rows of a ledger in PostgreSQL inside one transaction: the same tables, few journeys.

A writer's transaction is a pipeline: its first journey brings the locked head and all that it said beforehand
it would read, its last takes entries, totals, head and COMMIT.  Whatever else is read is a journey.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from psycopg import Connection, Pipeline

from dpaccount.errors import LedgerError
from dpaccount.ledger.chain import Entry
from dpaccount.ledger.storage.rows import Rows, Wants

_ENTRY: Final = "SELECT number, kind, key, about, body, root, digest FROM entries"
_PAGE: Final = 2000
_KEEP: Final = (
    "INSERT INTO nodes SELECT * FROM unnest(?::bigint[], ?::text[])"
    " ON CONFLICT (node) DO UPDATE SET body = excluded.body"
)
#: what could run unasked, or give other rows than it was given, beside the three tables
_CODE: Final = (
    "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND"
    " (c.relkind NOT IN ('r', 'i', 't') OR c.relhasrules OR c.relrowsecurity OR EXISTS"
    " (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal))"
)


class ServerSession:
    """A connection that takes statements as the rows of a file do, in a pipeline or one by one."""

    def __init__(self, connection: "Connection[Any]", pipeline: Pipeline | None = None) -> None:
        self._connection, self._pipeline = connection, pipeline

    def journey(self) -> None:
        """Send what was asked for, and wait for all of it; then the server knows that it waits for us."""
        if self._pipeline is not None:
            self._pipeline.sync()

    def execute(self, statement: str, values: Iterable[object] = ()) -> Any:
        """Run a statement; numbers have 64 bits as in a file."""
        text = statement.replace("?", "%s").replace("INTEGER", "BIGINT")
        return self._connection.execute(text.encode(), tuple(values))

    def executemany(self, statement: str, values: Iterable[Iterable[object]]) -> None:
        """Run a statement with each of these."""
        with self._connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s").encode(), [tuple(one) for one in values])


class ServerRows(Rows):
    """The rows of a ledger in a schema of its own."""

    def __init__(self, session: ServerSession, name: str, schema: str, wants: Wants | None = None) -> None:
        self._session, self._schema = session, schema
        super().__init__(session, name)
        self._entries: dict[int, Entry] = {}
        self._keyed: dict[str, Entry | None] = {}
        self._tail: tuple[int, list[Entry]] | None = None
        self._added: Entry | None = None
        if wants is not None:
            self._fetch(wants)

    def _fetch(self, wants: Wants) -> None:
        """Lock the head, for whoever writes; then bring what is wanted, seen after that."""
        ask = self._session.execute
        head = ask("SELECT format, last, head FROM ledger LIMIT 2 FOR UPDATE")
        after = 2**62 if wants.after is None else wants.after
        ends = ask(f"{_ENTRY} WHERE number = 0 OR number >= ? ORDER BY number LIMIT ?", (after, _PAGE))
        keys = ask(f"{_ENTRY} WHERE key = ANY(?)", (list(wants.keys),)) if wants.keys else None
        nodes = ask("SELECT node, body FROM nodes WHERE node = ANY(?)", (list(wants.nodes),))
        self._session.journey()
        self._take_head(head.fetchall())
        found = [Entry(*row) for row in ends.fetchall()]
        self._entries = {entry.number: entry for entry in found}
        if wants.after is not None and len(found) < _PAGE:
            self._tail = wants.after, [entry for entry in found if entry.number >= wants.after]
        if keys is not None:
            self._keyed = dict.fromkeys(wants.keys) | {row[2]: Entry(*row) for row in keys.fetchall()}
        self._nodes = dict.fromkeys(wants.nodes) | dict(nodes.fetchall())

    def check(self) -> None:
        """Refuse a schema that is no ledger, or that holds code (triggers, rules, views) beside one."""
        if self._session.execute(_CODE, (self._schema,)).fetchone()[0]:
            raise LedgerError(f"{self._name} holds triggers, rules or views; a ledger has none")
        self.head()

    def entry(self, number: int) -> Entry | None:
        """Return the entry of this number."""
        found = self._entries.get(number)
        return super().entry(number) if found is None else found

    def keyed(self, key: str) -> Entry | None:
        """Return the charge of this key."""
        return self._keyed[key] if key in self._keyed else super().keyed(key)

    def entries(self, first: int = 0) -> Iterator[Entry]:
        """Yield the entries from number `first` on, in order, a page at a time."""
        if self._tail is not None and self._tail[0] == first and self._added is None:
            yield from self._tail[1]
            return
        query = f"{_ENTRY} WHERE number >= ? ORDER BY number LIMIT ?"
        while rows := self._session.execute(query, (first, _PAGE)).fetchall():
            for row in rows:
                yield Entry(*row)
            first = rows[-1][0] + 1

    def add(self, entry: Entry) -> None:
        """Store an entry as it is."""
        super().add(entry)
        self._entries[entry.number] = self._added = entry
        if entry.key is not None:
            self._keyed[entry.key] = entry

    def nodes(self) -> Iterator[tuple[int, Any]]:
        """Yield all nodes in order."""
        query, last = "SELECT node, body FROM nodes WHERE node > ? ORDER BY node LIMIT ?", -(2**63)
        while rows := self._session.execute(query, (last, _PAGE)).fetchall():
            yield from rows
            last = rows[-1][0]

    def put(self, nodes: dict[int, str | None]) -> None:
        """Store nodes; those without a text are removed."""
        kept = {node: body for node, body in nodes.items() if body is not None}
        if kept:
            self._session.execute(_KEEP, (list(kept), list(kept.values())))
        gone = [node for node in nodes if node not in kept]
        if gone:
            self._session.execute("DELETE FROM nodes WHERE node = ANY(?)", (gone,))
        self._nodes.update(nodes)

    def sound(self) -> bool:
        """Say whether every index of the entries leads to each of them: pages are the server's to check."""
        [[told]] = self._session.execute(
            "SELECT count(*) FROM entries e WHERE NOT EXISTS (SELECT FROM entries o WHERE o.kind = e.kind AND"
            " o.about = e.about) AND e.about IS NOT NULL OR e.key IS NOT NULL AND NOT EXISTS"
            " (SELECT FROM entries k WHERE k.key = e.key)"
        ).fetchall()
        return bool(told == 0)

    @property
    def added(self) -> Entry | None:
        """Return the last entry that this transaction added."""
        return self._added
