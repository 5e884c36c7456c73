"""Ledgers in PostgreSQL: the same rows as in a file, and a check of every commit that was interrupted.

A writer locks the ledger's head row first, so writers run one after another (READ COMMITTED: each
statement after the lock sees earlier commits).  A reader sees one snapshot (REPEATABLE READ).

A connection cut during COMMIT leaves the outcome *unknown*; so does a WARNING, by which a server
reports that it did not wait for its synchronous standby.  The writer then reconnects, waits while
the server starts, and locks the head again, which the old transaction holds until it has ended.
Its entry was committed if it is found now, by digest (salted, hence unique).  This second commit
waits for the standby too.  Only if server or standby stay away is the outcome reported as unknown.

A connection pooler may give each transaction another connection, even to another server.  Settings
are then made per transaction, in its first round trip, which also identifies the server.

A writer's transaction is a pipeline: its first round trip fetches the locked head and prefetched rows, its
last sends entries, nodes, head and COMMIT.  Every other read is one more round trip.
"""

import json
import math
import re
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, LiteralString

import psycopg
from psycopg import Connection, Pipeline, sql

from dpaccount.errors import LedgerError
from dpaccount.ledger.entry import ARRANGING, Entry
from dpaccount.ledger.stores import sqlite_file
from dpaccount.ledger.stores.connection_pool import Pool, Process
from dpaccount.ledger.stores.place import ServerAddress
from dpaccount.ledger.stores.rows import COLUMNS, LOWEST, NO_PREFETCH, PAGE, CutError, Prefetch, Rows
from dpaccount.noise import process

#: kinds whose number must be in the table arrangements, writable by roles that may arrange only;
#: the server records the transaction of both rows: a number inserted by another one does not count
ARRANGES: Final[LiteralString] = (
    "kind IN ('scope', 'cohort', 'reset', 'forfeit', 'clock', 'grant', 'approval')"
)
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
        self.time = ""  #: by the server's clock
        self.start: str | None = None  #: identifies the server, or the session
        super().__init__(session, name)
        self.writes = wants is not None
        self._entries: dict[int, Entry] = {}
        self._keyed: dict[str, Entry | None] = {}
        self._tail: tuple[int, list[Entry]] | None = None
        self.added: Entry | None = None  #: the last entry that this transaction added
        self.rewrote = False  #: whether the head was changed without an entry, as by a repair
        self._unwritten: tuple[list[Entry], dict[int, str]] = [], {}  #: entries and nodes
        query = f"SELECT format, last, head, {CLOCK}, {opening} LIMIT 2"
        if wants is None:
            self._take_head(session.execute(query).fetchall())
        else:
            self._fetch(session.execute(f"{query} FOR UPDATE"), wants)

    def _take_head(self, rows: list[Any]) -> tuple[int, str]:
        if rows:
            self.time, self.start = rows[0][3:5]
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


FIRST_SECONDS: Final = 15.0  #: connection timeout until a server has answered this process once
PAUSE: Final = 0.1  #: seconds between retries

_ONE_MOMENT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
#: override those of database, role and pooler; a WARNING must reach the client
_SETTINGS: Final = {
    **{"synchronous_commit": "on", "client_min_messages": "warning", "statement_timeout": "0"},
    **{"lock_timeout": "{wait}", "idle_in_transaction_session_timeout": "{wait}"},
    "search_path": "{schema},pg_temp",  # after pg_catalog, whose functions are never another's
}
_TIMELINE: Final = "left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)"
#: the time, as entries hold it: all clients have one clock
CLOCK = """to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"')"""
#: identifies one start of one primary server; NULL on a standby
_START: Final = (
    "CASE WHEN NOT pg_is_in_recovery() THEN"
    f" concat_ws('/', extract(epoch FROM pg_postmaster_start_time()), {_TIMELINE}) END"
)
#: role, settings and place: cluster, timeline, database, and schema (a copy has another OID)
_FACTS: Final = f"""
    SELECT session_user::text, current_setting('fsync'), current_setting('server_encoding'), pg_backend_pid(),
        {_START}, CASE WHEN NOT pg_is_in_recovery() THEN concat_ws('/',
            (SELECT system_identifier FROM pg_control_system()), {_TIMELINE},
            (SELECT oid FROM pg_database WHERE datname = current_database()), to_regnamespace(%s)::oid) END
"""  # noqa: S608
_REACHING: Final[dict[str, Any]] = {
    **{"application_name": "dpaccount", "client_encoding": "UTF8", "connect_timeout": 10},
    **{"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000},
}
_MADE: Final[LiteralString] = "made TEXT NOT NULL DEFAULT pg_current_xact_id()::text"
#: what `make` adds to the tables: the server records the role and transaction of each entry
_OWN: Final[tuple[LiteralString, ...]] = (
    "ALTER TABLE entries ADD COLUMN role TEXT NOT NULL DEFAULT session_user",
    f"ALTER TABLE entries ADD COLUMN {_MADE}",
    "REVOKE UPDATE, DELETE, TRUNCATE ON entries FROM CURRENT_USER",
    f"CREATE TABLE arrangements (number BIGINT NOT NULL, {_MADE}, PRIMARY KEY (number, made))",
    f"INSERT INTO arrangements (number) SELECT number FROM entries WHERE {ARRANGES}",  # noqa: S608 - our own names
    "REVOKE UPDATE, DELETE, TRUNCATE ON arrangements FROM CURRENT_USER",
)
_READS: Final[tuple[LiteralString, ...]] = (
    "USAGE ON SCHEMA own",
    "SELECT ON ledger",
    "SELECT ON nodes",
    "SELECT ON entries",
    "SELECT ON arrangements",
)
_CHARGES: Final[tuple[LiteralString, ...]] = (
    f"INSERT ({COLUMNS}) ON entries",
    "INSERT, UPDATE, DELETE ON nodes",
    "UPDATE (last, head) ON ledger",
)
_ARRANGES: Final[tuple[LiteralString, ...]] = ("INSERT (number) ON arrangements",)
#: whether a role may read, charge and arrange, directly or as a member of another role
_MAY: Final = """
    SELECT has_schema_privilege(%(role)s, %(schema)s, 'USAGE')
            AND bool_and(has_table_privilege(%(role)s, name, 'SELECT')),
        has_any_column_privilege(%(role)s, 'entries', 'INSERT'),
        has_any_column_privilege(%(role)s, 'arrangements', 'INSERT')
    FROM unnest(ARRAY['ledger', 'nodes', 'entries', 'arrangements']) AS name
"""
RIGHTS: Final = ("read", "charge", "arrange")
_MISSING: Final = (  # a server reports a schema without access in the same way
    "does not exist, or this role may not see it; make it with `dpaccount ledger init`, or ask its owner for"
    " `dpaccount ledger grant`"
)
_TROUBLE: Final = {
    "25006": "cannot be written on this server, which takes no writes; give its primary",
    "42501": "grants this role of the database no such access; ask its owner for `dpaccount ledger grant`,"
    " for scopes, cohorts, resets and forfeits with --arrange",
    "53100": "has no room on its server's disk; make room and try again",
    "55P03": "was held by other clients for {wait:.0f} s and nothing was changed; try again",
    "42P06": "exists already; give the ledger a new name",
    "3F000": _MISSING,
    "42P01": _MISSING,
    "42704": "names a role that its server does not know; make the role there first",
    "42703": "is not a ledger; make one with `dpaccount ledger init`",
}
#: messages of the driver for errors that a retry cannot fix
_HOPELESS: Final = re.compile(
    r"authentication|pg_hba|no password|certificate|SSL|ssl|invalid|does not exist|too long|translate host"
    r"|resolve host|Name or service|not permitted|unsupported"
)


class ServerConnection(Connection[Any]):
    """A connection with facts about its server, and a timeout `until` (of `time.monotonic`)."""

    until = math.inf
    stamp: Mapping[str, str] = {}  #: role and server, which entries record
    opening = ""  #: further columns and tables that a transaction selects with the head
    start: str | None = None  #: the expected result of `opening`, while the server is the same

    def wait(self, gen: Any, *args: Any, **named: Any) -> Any:
        """Run the driver's generator, with the timeout `until`."""
        return super().wait(gen if self.until == math.inf else self._bounded(gen), *args, **named)

    def _bounded(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > self.until:
                    self.close()  # counts as cut, whatever the driver raises next
                    raise psycopg.errors.TransactionResolutionUnknown("no answer")
                wanted = gen.send(ready)
        except StopIteration as ended:
            return ended.value


@dataclass(eq=False)
class _Transaction:
    """An open transaction: its connection, its rows, and a writer's pipeline."""

    link: ServerConnection
    rows: ServerRows
    pipeline: ExitStack
    process: Process = field(default_factory=process.identity)  #: the one that began it

    def commit(self) -> None:
        """Commit; raises unless that is confirmed, by a synchronous standby too."""
        notices: list[Any] = []
        self.link.add_notice_handler(notices.append)
        self.link.until = time.monotonic() + sqlite_file.BUSY_SECONDS
        try:
            done = self.link.execute("COMMIT")
            self.pipeline.close()
        finally:
            self.link.until = math.inf
            self.link.remove_notice_handler(notices.append)
        if done.statusmessage != "COMMIT":
            raise psycopg.errors.InFailedSqlTransaction("the transaction was undone")
        if notices:
            raise psycopg.errors.TransactionResolutionUnknown(notices[0].message_primary)

    def commits(self) -> bool:
        """Commit and return True, or False if the outcome is unknown; raises if it failed."""
        try:
            self.commit()
        except psycopg.Error as error:
            if not _cut(error, self.link):
                raise
            self.drop()
            return False
        return True

    def drop(self) -> None:
        """Close the connection: the server rolls back what was not committed."""
        self.link.close()
        with suppress(psycopg.Error):
            self.pipeline.close()


Begin = Callable[[ServerConnection, ExitStack], ServerRows]


class LedgerServer:
    """One ledger's schema on a server, and this process's connection pool."""

    writable = True

    def __init__(self, where: ServerAddress) -> None:
        self.where = where
        self.name = f"the ledger {where.name}"
        self._seen = False
        self._idle = Pool[ServerConnection]()
        self._alone: dict[Process, threading.RLock] = {}

    def alone(self) -> threading.RLock:
        """Return this process's lock, held by one thread at a time.

        Forks do not wait for it, since waiting for a server may take long.  They need not: in a
        child the driver closes no inherited connection, and a new one is opened.
        """
        return self._alone.setdefault(process.identity(), threading.RLock())

    def held(self) -> bool:
        """Return whether this thread holds the lock of `alone`."""
        return bool(self.alone()._is_owned())  # type: ignore[attr-defined]

    @contextmanager
    def reading(self) -> Iterator[ServerRows]:
        """Yield the rows of one snapshot."""
        with self._translated(), self._begun(self._look, self._until()) as begun:
            yield begun.rows
            begun.commit()

    @contextmanager
    def writing(self, began: float, wants: Prefetch = NO_PREFETCH) -> Iterator[ServerRows]:
        """Lock the head and commit durably at the end; an exception rolls back."""
        look = partial(self._hold, wants)
        with self._translated(), self._begun(look, began + sqlite_file.BUSY_SECONDS) as begun:
            yield begun.rows
            begun.rows.finish()
            if not begun.commits():
                if begun.rows.rewrote:
                    raise self._unknown()
                self._settle(begun.rows.added)

    def make(self, fill: Callable[[ServerSession, dict[str, str]], None]) -> None:
        """Create the ledger's schema and `fill` it; raises `LedgerError` if it exists already."""

        def making(link: ServerConnection, _: ExitStack) -> ServerRows:
            session = ServerSession(link)
            link.execute("BEGIN")
            link.execute(f"CREATE SCHEMA {self.where.schema}".encode())
            self._identify(link)
            fill(session, dict(link.stamp))
            for statement in _OWN:
                link.execute(statement)
            return self._rows(link, session, None)

        with self._translated(), self._begun(making, self._until()) as begun:
            self._end(begun)

    def grant(self, role: str, *, read_only: bool, arrange: bool) -> None:
        """Grant a role the right to read, to charge (unless `read_only`) and to `arrange`.

        Raises `LedgerError` if its rights then are fewer (the caller may not grant them), or more.
        """
        rights = _READS + (() if read_only else _CHARGES) + (_ARRANGES if arrange else ())

        def granting(link: ServerConnection, _: ExitStack) -> ServerRows:
            rows = self._look(link, _, "BEGIN")
            for right in rights:
                text = sql.SQL("GRANT {} TO {}").format(sql.SQL(right), sql.Identifier(role))
                link.execute(text.as_string().replace("SCHEMA own", f"SCHEMA {self.where.schema}").encode())
            [may] = link.execute(_MAY, {"role": role, "schema": self.where.schema}).fetchall()
            for right, has, wanted in zip(RIGHTS, may, (True, not read_only, arrange), strict=True):
                if has and not wanted:
                    raise LedgerError(f"{role} may {right} {self.name} already; REVOKE that in the database")
                if wanted and not has:
                    raise LedgerError(f"{role} may still not {right} {self.name}; ask its owner")
            return rows

        with self._translated(), self._begun(granting, self._until()) as begun:
            self._end(begun)

    def close(self) -> None:
        """Close the idle connections."""
        self._idle.let_go()

    # ---------------------------------------------------------- transactions

    def _look(self, link: ServerConnection, _: ExitStack, begin: LiteralString = _ONE_MOMENT) -> ServerRows:
        link.execute(begin)
        return self._rows(link, ServerSession(link), None)

    def _hold(self, wants: Prefetch, link: ServerConnection, pipeline: ExitStack) -> ServerRows:
        session = ServerSession(link, pipeline.enter_context(link.pipeline()))
        session.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        return self._rows(link, session, wants)

    def _rows(self, link: ServerConnection, session: ServerSession, wants: Prefetch | None) -> ServerRows:
        rows = ServerRows(session, self.name, self.where.schema, link.opening, wants)
        rows.stamp = {**link.stamp, "time": rows.time}
        if rows.start != link.start or (rows.writes and rows.stamp["server"] is None):  # it was a standby
            raise psycopg.errors.ConnectionFailure("the connection leads to another server now")
        return rows

    def _identify(self, link: ServerConnection) -> None:
        """Identify server and role, set up the connection; refuse a server that loses commits."""
        [facts] = link.execute(_FACTS, (self.where.schema,)).fetchall()
        role, durable, encoding, backend, link.start, place = facts
        if durable != "on" or encoding != "UTF8":
            raise LedgerError(
                f"the server of {self.name} runs with fsync {durable} and encoding {encoding}; a ledger needs"
                " fsync on, or a crash loses charges, and UTF8"
            )
        self._seen, link.stamp = True, {"role": role, "server": place}
        words = {"wait": round(sqlite_file.BUSY_SECONDS * 1000), "schema": self.where.schema}
        settings = [(name, value.format(**words)) for name, value in _SETTINGS.items()]
        if backend == link.info.backend_pid:  # no pooler: all transactions use this session
            link.execute(f"SELECT {_set(settings, local=False)}".encode())
            link.opening, link.start = "pg_backend_pid()::text FROM ledger", str(backend)
        else:
            link.prepare_threshold = None
            opened = f"(SELECT {_START} AS start, {_set(settings, local=True)}) AS opened"
            link.opening = f"start FROM {self.where.schema}.ledger, {opened}"

    def _end(self, begun: _Transaction) -> None:
        if not begun.commits():
            raise self._unknown()

    def _unknown(self) -> LedgerError:
        return LedgerError(f"{self.name} was cut off: it is not known whether this was done; ask again")

    def _settle(self, added: Entry | None) -> None:
        """Return if `added` was committed; raise `CutError` if not, `LedgerError` if unknown."""
        until, entry = self._until(), None
        while added is not None:
            try:
                with self._begun(partial(self._hold, NO_PREFETCH), until) as begun:
                    entry = begun.rows.entry(added.number)
                    begun.commit()
                break
            except (psycopg.Error, LedgerError) as error:
                # With a key, who asks again learns what became of it; without one the head must be sought.
                if not isinstance(error, CutError) or time.monotonic() > until:
                    raise LedgerError(
                        f"{self.name} did not confirm a commit, since its server or a standby is away: it is"
                        f" not known whether entry {added.number} was charged; ask again with the same key,"
                        f" or without one whether `dpaccount ledger verify --head {added.digest}` finds it"
                    ) from None
            time.sleep(PAUSE)
        if added is None or entry is None or entry.digest != added.digest:
            raise self._was_cut()

    @contextmanager
    def _begun(self, begin: Begin, until: float) -> Iterator[_Transaction]:
        """Begin a transaction, waiting while a server starts; on success pool its connection."""
        begun = self._started(begin, until)
        try:
            yield begun
        except BaseException as error:
            cut = isinstance(error, psycopg.Error) and _cut(error, begun.link)
            begun.drop()
            if cut:
                raise self._was_cut() from None
            raise
        if not begun.link.closed:
            self._idle.keep(begun.link, begun.process)

    def _started(self, begin: Begin, until: float) -> _Transaction:
        if not self._seen:
            until = min(until, time.monotonic() + FIRST_SECONDS)
        while True:
            link, pipeline = None, ExitStack()
            try:
                link = self._idle.take() or self._connected()
                return _Transaction(link, begin(link, pipeline), pipeline)
            except BaseException as error:
                cut = isinstance(error, psycopg.Error) and _cut(error, link)
                if link is not None:
                    link.close()
                with suppress(psycopg.Error):
                    pipeline.close()
                if not cut or _HOPELESS.search(str(error)) or time.monotonic() > until:
                    raise
            time.sleep(PAUSE)

    def _connected(self) -> ServerConnection:
        link = ServerConnection.connect(**{**_REACHING, **self.where.parameters}, autocommit=True)
        try:
            self._identify(link)
        except BaseException:
            link.close()
            raise
        return link

    def _until(self) -> float:
        return time.monotonic() + sqlite_file.BUSY_SECONDS

    def _was_cut(self) -> CutError:
        return CutError(f"the connection to {self.name} was cut and nothing was changed; ask again")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate the driver's exceptions into `LedgerError`."""
        try:
            yield
        except psycopg.Error as error:
            raise LedgerError(self._message(error)) from None

    def _message(self, error: psycopg.Error) -> str:
        text = _TROUBLE.get(error.sqlstate or "")
        if text is not None:
            return f"{self.name} {text.format(wait=sqlite_file.BUSY_SECONDS)}"
        line = (str(error).strip().splitlines() or ["no reason given"])[0]
        why = line.rpartition("failed: ")[2].removeprefix("FATAL:").strip()
        return f"{self.name} cannot be used on its server ({why}); check the server and retry"


def _set(settings: list[tuple[str, str]], *, local: bool) -> str:
    """Return SQL that makes settings for the session, or if `local` for the transaction."""
    calls = (f"set_config('{name}', '{value}', {local})" for name, value in settings)
    return f"concat({', '.join(calls)})"


def _cut(error: psycopg.Error, link: ServerConnection | None) -> bool:
    """Return whether the connection failed or was cut (57P: the server stops or starts)."""
    return link is None or link.closed or (error.sqlstate or "").startswith(("57P", "08"))
