"""PostgreSQL connections and transactions, with a check of every commit that was interrupted.

A writer locks the ledger's head row first, so writers run one after another (READ COMMITTED: each
statement after the lock sees earlier commits).  A reader sees one snapshot (REPEATABLE READ).

A connection cut during COMMIT leaves the outcome *unknown*; so does a WARNING, by which a server
reports that it did not wait for its synchronous standby.  The writer then reconnects, waits while
the server starts, and locks the head again, which the old transaction holds until it has ended.
Its entry was committed if it is found now, by digest (salted, hence unique).  This second commit
waits for the standby too.  Only if server or standby stay away is the outcome reported as unknown.

A connection pooler may give each transaction another connection, even to another server.  Settings
are then made per transaction, in its first round trip, which also identifies the server.
"""

import math
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, LiteralString

import psycopg
from psycopg import Connection, sql

from dpaccount.errors import LedgerError
from dpaccount.ledger.entry import Entry
from dpaccount.ledger.stores import sqlite_file
from dpaccount.ledger.stores.connection_pool import Pool, Process
from dpaccount.ledger.stores.place import ServerAddress
from dpaccount.ledger.stores.rows import COLUMNS, CutError, Prefetch
from dpaccount.ledger.stores.server_rows import ARRANGES, ServerRows, ServerSession
from dpaccount.noise import process

FIRST_SECONDS: Final = 15.0  #: connection timeout until a server has answered this process once
PAUSE: Final = 0.1  #: seconds between retries

_ONE_MOMENT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
#: override those of database, role and pooler; a WARNING must reach the client
_SETTINGS: Final = {
    **{"synchronous_commit": "on", "client_min_messages": "warning", "statement_timeout": "0"},
    **{"lock_timeout": "{wait}", "idle_in_transaction_session_timeout": "{wait}"},
    "search_path": "{schema},pg_catalog,pg_temp",
}
_TIMELINE: Final = "left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)"
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


class _TakenError(Exception):
    """The schema exists."""


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
    def writing(self, began: float, wants: Prefetch | None = None) -> Iterator[ServerRows]:
        """Lock the head and commit durably at the end; an exception rolls back."""
        look = partial(self._hold, wants or Prefetch())
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

        try:
            with self._translated(), self._begun(making, self._until()) as begun:
                self._end(begun)
        except _TakenError:
            raise LedgerError(f"{self.name} exists already; give the ledger a new name") from None

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
        rows.stamp = link.stamp
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
                with self._begun(partial(self._hold, Prefetch()), until) as begun:
                    entry = begun.rows.entry(added.number)
                    begun.commit()
                break
            except (psycopg.Error, LedgerError) as error:
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
        except psycopg.errors.DuplicateSchema:
            raise _TakenError from None
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
