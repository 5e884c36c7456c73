"""A ledger's rows in PostgreSQL inside one transaction: the same tables, few round trips.

A writer's transaction is a pipeline: its first round trip fetches the locked head and prefetched
rows, its last sends entries, nodes, head and COMMIT.  Every other read is one more round trip.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, LiteralString

from psycopg import Connection, Pipeline

from dpaccount.errors import LedgerError
from dpaccount.ledger.entry import ARRANGING, Entry
from dpaccount.ledger.stores.rows import COLUMNS, LOWEST, PAGE, Prefetch, Rows

#: kinds whose number must be in the table arrangements, writable by roles that may arrange only;
#: the server records the transaction of both rows: a number inserted by another one does not count
ARRANGES: Final[LiteralString] = "kind IN ('scope', 'cohort', 'reset', 'forfeit')"
_UNREGISTERED: Final = (
    f"e.{ARRANGES} AND NOT EXISTS (SELECT FROM arrangements a WHERE a.number = e.number AND a.made = e.made)"
)
_IMPORTED: Final = "made = (SELECT made FROM entries WHERE number = 0)"
#: `Entry.author`: a mark is by the role whose charge or reservation it is about, in a file by nobody's
_AUTHOR: Final = (
    f"CASE WHEN e.{_IMPORTED} THEN NULL WHEN {_UNREGISTERED} THEN ''"  # noqa: S608 - our own names
    " WHEN e.kind IN ('drawing', 'release', 'rounds', 'return') AND NOT EXISTS (SELECT FROM entries t"
    " WHERE t.number < e.number AND CASE WHEN e.kind IN ('drawing', 'release')"
    " THEN t.number = e.about AND t.kind IN ('charge', 'drawing') ELSE t.kind = 'reservation'"
    """ AND t.number = substring(e.body from '"reservation":([0-9]{1,18})')::bigint END"""
    f" AND (t.role = e.role OR t.{_IMPORTED})) THEN '' ELSE e.role END"
)
_OF_ENTRIES: Final = f"{COLUMNS}, {_AUTHOR} FROM entries AS e"
#: prefetch; first column: 0 for entry 0, 1 for a later entry, 2 for a keyed charge, 3 for a node
_WANTED: Final = (
    f"SELECT 0, {_OF_ENTRIES} WHERE number = 0 UNION ALL"  # noqa: S608 - our own names
    f" (SELECT 1, {_OF_ENTRIES} WHERE number >= ? ORDER BY number LIMIT ?) UNION ALL"
    f" SELECT 2, {_OF_ENTRIES} WHERE key = ANY(?::text[]) UNION ALL"
    " SELECT 3, node, NULL, NULL, NULL, body, NULL, NULL, NULL FROM nodes WHERE node = ANY(?::bigint[])"
)
#: writes entries, nodes and head in one statement; as JSON, since the driver is slow at long arrays
_WRITTEN: Final = (
    f"WITH added AS (INSERT INTO entries ({COLUMNS})"  # noqa: S608 - our own names
    " SELECT * FROM json_to_recordset(?::json) AS one"
    " (number bigint, kind text, key text, about bigint, body text, root text, digest text)),"
    " kept AS (INSERT INTO nodes SELECT key::bigint, value FROM json_each_text(?::json)"
    " ON CONFLICT (node) DO UPDATE SET body = excluded.body)"
    " UPDATE ledger SET last = ?, head = ?"
)
#: counts what could run code, compare differently, or return other rows than were stored
_CODE: Final = """
    SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND (
        c.relkind NOT IN ('r', 'i', 't') OR c.relhasrules OR c.relrowsecurity OR c.relhassubclass
        OR EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)
        OR EXISTS (SELECT FROM pg_attribute a
            LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND (
                a.atttypid NOT IN ('pg_catalog.text'::regtype, 'pg_catalog.int8'::regtype)
                OR a.attcollation NOT IN (0, '"default"'::regcollation)
                OR (c.relkind = 'r' AND a.attname IN ('number', 'node') AND NOT a.attnotnull)
                OR (a.atthasdef AND (a.attgenerated <> ''
                    OR (a.attname, lower(pg_get_expr(d.adbin, d.adrelid))) NOT IN (
                        ('role', 'session_user'), ('made', '(pg_current_xact_id())::text')))))))
"""


class ServerSession:
    """Runs the statements of `Rows` on a server, in a pipeline or one by one."""

    def __init__(self, connection: "Connection[Any]", pipeline: Pipeline | None = None) -> None:
        self._connection, self._pipeline = connection, pipeline

    def journey(self) -> None:
        """Sync the pipeline: wait for all results; then the server's idle timeout starts."""
        if self._pipeline is not None:
            self._pipeline.sync()

    def execute(self, statement: str, values: Iterable[object] = ()) -> Any:
        """Run a statement; INTEGER becomes BIGINT: numbers have 64 bits, as in a file."""
        text = statement.replace("?", "%s").replace("INTEGER", "BIGINT")
        return self._connection.execute(text.encode(), tuple(values))

    def query(self, statement: str, values: Iterable[object] = ()) -> Any:
        """Run a statement whose rows are read next; synced, so that the server times a stopped client out."""
        cursor = self.execute(statement, values)
        self.journey()
        return cursor

    def executemany(self, statement: str, values: Iterable[Iterable[object]]) -> None:
        """Run a statement once for each row of values."""
        with self._connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s").encode(), [tuple(one) for one in values])


class ServerRows(Rows):
    """A ledger's rows in its own schema; with `wants` it locks the head and prefetches them."""

    select = f"SELECT {_OF_ENTRIES}"

    def __init__(
        self, session: ServerSession, name: str, schema: str, opening: str, wants: Prefetch | None
    ) -> None:
        self._session, self._schema = session, schema
        super().__init__(session, name)
        self.writes = wants is not None
        self._entries: dict[int, Entry] = {}
        self._keyed: dict[str, Entry | None] = {}
        self._tail: tuple[int, list[Entry]] | None = None
        self.added: Entry | None = None  #: the last entry that this transaction added
        self.rewrote = False  #: whether the head was changed without an entry, as by a repair
        self._unwritten: tuple[list[Entry], dict[int, str]] = [], {}  #: entries and nodes
        query = f"SELECT format, last, head, {opening} LIMIT 2"
        if wants is None:
            self._take_head(session.execute(query).fetchall())
        else:
            self._fetch(session.execute(f"{query} FOR UPDATE"), wants)

    def _take_head(self, rows: list[Any]) -> tuple[int, str]:
        self.start = rows[0][3] if rows else None  #: identifies the server, or the session
        return super()._take_head(rows)

    def _fetch(self, head: Any, wants: Prefetch) -> None:
        """Prefetch rows, read after the head was locked."""
        execute = self._session.execute
        after = 2**62 if wants.after is None else wants.after
        nodes = "{" + ",".join(map(str, wants.nodes)) + "}"
        rows = execute(_WANTED, (after, PAGE, list(wants.keys), nodes))
        self._session.journey()
        self._take_head(head.fetchall())
        by_type: list[list[Any]] = [[], [], [], []]
        for which, *row in rows.fetchall():
            by_type[which].append(row)
        first, later, charges = ([Entry(*row) for row in some] for some in map(sorted, by_type[:3]))
        self._entries = {entry.number: entry for entry in (*first, *later)}
        if wants.after is not None and len(later) < PAGE:
            self._tail = wants.after, later
        self._keyed = dict.fromkeys(wants.keys) | {entry.key or "": entry for entry in charges}
        self._nodes = dict.fromkeys(wants.nodes) | {row[0]: row[4] for row in by_type[3]}

    def check(self) -> None:
        """Raise `LedgerError` for a schema that is not a ledger, or has code or other columns."""
        if self._session.execute(_CODE, (self._schema,)).fetchone()[0]:
            raise LedgerError(
                f"{self._name} holds triggers, rules, views or columns that a ledger has not;"
                " drop what was added"
            )
        self.head()
        if self._session.execute("SELECT to_regclass('arrangements')").fetchone()[0] is None:
            raise LedgerError(
                f"{self._name} has one right to arrange and to charge; export it with the version"
                " that made it, and import it under another name"
            )

    def entry(self, number: int) -> Entry | None:
        """Return the entry with this number, or None."""
        entry = self._entries.get(number)
        return super().entry(number) if entry is None else entry

    def keyed(self, key: str) -> Entry | None:
        """Return the charge or reservation with this key, or None."""
        return self._keyed[key] if key in self._keyed else super().keyed(key)

    def entries(self, first: int = LOWEST) -> Iterator[Entry]:
        """Yield entries from number `first` on (by default all) in order, a page at a time."""
        if self._tail is not None and self._tail[0] == first and self.added is None:
            yield from self._tail[1]
            return
        self.finish()
        query = f"{self.select} WHERE number >= ? ORDER BY number LIMIT ?"
        while rows := self._session.query(query, (first, PAGE)).fetchall():
            for row in rows:
                yield Entry(*row)
            first = rows[-1][0] + 1

    def add(self, entry: Entry) -> None:
        """Queue an entry; it is inserted by `finish`, at the latest before the next query."""
        self._unwritten[0].append(entry)
        self._entries[entry.number] = self.added = entry
        if entry.key is not None:
            self._keyed[entry.key] = entry

    def nodes(self) -> Iterator[tuple[int, Any]]:
        """Yield the number and text of all nodes, in order."""
        self.finish()
        query, last = "SELECT node, body FROM nodes WHERE node > ? ORDER BY node LIMIT ?", LOWEST
        while rows := self._session.query(query, (last, PAGE)).fetchall():
            yield from rows
            last = rows[-1][0]

    def put(self, nodes: dict[int, str | None]) -> None:
        """Queue nodes to insert or update; those whose text is None are deleted at once."""
        self._nodes.update(nodes)
        self._unwritten[1].update((node, body) for node, body in nodes.items() if body is not None)
        gone = [node for node, body in nodes.items() if body is None]
        if gone:
            self.finish()
            self._session.execute("DELETE FROM nodes WHERE node = ANY(?)", (gone,))

    def drop(self, low: int, high: int) -> None:
        """Delete the nodes from `low` to `high`, both included."""
        self.finish()
        super().drop(low, high)

    def finish(self) -> None:
        """Write queued entries and nodes, and the head."""
        entries, nodes = self._unwritten
        if entries or nodes:
            arranged = [entry.number for entry in entries if entry.kind in ARRANGING]
            if arranged:
                self._session.execute(
                    "INSERT INTO arrangements (number) SELECT unnest(?::bigint[])", (arranged,)
                )
            payload = json.dumps([entry.fields() for entry in entries]), json.dumps(nodes)
            self._session.execute(_WRITTEN, (*payload, *self.head()))
            self._unwritten = [], {}

    def _one(self, query: str, *values: object) -> Any:
        self.finish()
        return super()._one(query, *values)

    def _read(self, query: str, *values: object) -> Any:
        return self._session.query(query, values).fetchone()

    def sound(self) -> bool:
        """Return whether the indices hold every entry; pages are left to the server's own tools."""
        [[lost]] = self._session.execute(
            "SELECT count(*) FROM entries e WHERE NOT EXISTS (SELECT FROM entries o WHERE o.kind = e.kind AND"
            " o.about = e.about) AND e.about IS NOT NULL OR e.key IS NOT NULL AND NOT EXISTS"
            " (SELECT FROM entries k WHERE k.key = e.key)"
        ).fetchall()
        return bool(lost == 0)

    def unlawful(self) -> int | None:
        """Return the first entry of an arranging kind that its transaction did not register."""
        return self._one(f"SELECT min(number) FROM entries AS e WHERE {_UNREGISTERED}")[0]  # noqa: S608

    def point(self, end: Entry) -> None:
        """Set the head to an entry that is stored."""
        super().point(end)
        self.rewrote = True
