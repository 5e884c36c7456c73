"""Connections to a PostgreSQL server: transactions that are known to have happened, or known not to have.

A writer locks the ledger's head row first, so that writers follow one another (READ COMMITTED: each statement
after the lock sees what was committed before it); a reader sees one moment (REPEATABLE READ).

A connection that is cut during a commit leaves it *unknown*.  Whoever writes then comes back, waits while
the server starts, and locks the head again, which the old transaction holds until it ended: the entry that
it added stands there with its digest, which is salted and nobody else's, or was never committed.  Only where
the server stays away is it said that it is not known.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, LiteralString

import psycopg
from psycopg import Connection, sql

from dpaccount.errors import LedgerError
from dpaccount.ledger.chain import Entry
from dpaccount.ledger.storage import database
from dpaccount.ledger.storage.idle import Idle, Process
from dpaccount.ledger.storage.rows import COLUMNS, CutError, Wants
from dpaccount.ledger.storage.server_address import ServerAddress
from dpaccount.ledger.storage.server_rows import ServerRows, ServerSession
from dpaccount.noise import process

FIRST_SECONDS: Final = 15.0  #: how long a server is waited for that never answered this process
PAUSE: Final = 0.1

Link = Connection[Any]

_ONE_MOMENT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_FACTS: Final = "SELECT session_user::text, current_setting('fsync'), current_setting('server_encoding')"
#: whatever the database or the role says otherwise
_SESSION: Final[dict[str, object]] = {"synchronous_commit": "on", "statement_timeout": 0}
_REACHING: Final[dict[str, Any]] = {
    **{"application_name": "dpaccount", "client_encoding": "UTF8", "connect_timeout": 10},
    **{"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000},
}
#: what `make` adds to the tables: each entry says who wrote it, as the server knows them
_OWN: Final[tuple[LiteralString, ...]] = (
    "ALTER TABLE entries ADD COLUMN role TEXT NOT NULL DEFAULT session_user",
    "REVOKE UPDATE, DELETE, TRUNCATE ON entries FROM CURRENT_USER",
)
_READS: Final[tuple[LiteralString, ...]] = (
    "USAGE ON SCHEMA own",
    "SELECT ON ledger",
    "SELECT ON nodes",
    "SELECT ON entries",
)
_CHARGES: Final[tuple[LiteralString, ...]] = (
    f"INSERT ({COLUMNS}) ON entries",
    "INSERT, UPDATE, DELETE ON nodes",
    "UPDATE (last, head) ON ledger",
)
_MISSING: Final = (  # a server tells who has no right to a schema the same
    "is not there, or not for this role; make it with `dpaccount ledger init`, or ask for"
    " `dpaccount ledger grant`"
)
_TROUBLE: Final = {
    "25006": "cannot be written on this server, which takes no writes; give its primary",
    "42501": "may not be used so by this role of the database; ask its owner for `dpaccount ledger grant`",
    "53100": "has no room on its server's disk; make room and try again",
    "55P03": "was held by other clients for {wait:.0f} s and nothing was changed; try again",
    "3F000": _MISSING,
    "42P01": _MISSING,
    "42704": "names a role that its server does not know; make the role there first",
    "42703": "is not a ledger; make one with `dpaccount ledger init`",
}
#: what waiting mends nothing of, as the driver says it
_HOPELESS: Final = re.compile(
    r"authentication|pg_hba|no password|certificate|SSL|ssl|invalid|does not exist|too long|translate host"
    r"|resolve host|Name or service|not permitted|unsupported"
)


@dataclass(eq=False)
class _Transaction:
    """A transaction that has begun: its connection, and the pipeline that a writer is in."""

    link: Link
    rows: ServerRows
    pipeline: ExitStack
    process: Process = field(default_factory=process.this)  #: that began it

    def commit(self) -> None:
        """End it; raises where that is not known to be done."""
        done = self.link.execute("COMMIT")
        self.pipeline.close()
        if done.statusmessage != "COMMIT":
            raise psycopg.errors.InFailedSqlTransaction("the transaction was undone")

    def drop(self) -> None:
        """Close the connection: the server undoes what was not committed."""
        self.link.close()
        with suppress(psycopg.Error):
            self.pipeline.close()


Begin = Callable[[Link, ExitStack], ServerRows]


class _TakenError(Exception):
    """The schema exists."""


class LedgerServer:
    """One ledger's schema on a server, and this process's connections."""

    writable = True

    def __init__(self, where: ServerAddress) -> None:
        self.where = where
        self.name = f"the ledger {where.name}"
        self._seen, self._role = False, ""
        self._idle = Idle[Link]()
        self._alone: dict[Process, threading.RLock] = {}

    def alone(self) -> threading.RLock:
        """Return what one thread at a time holds.

        Forks do not wait for it, as waiting for a server may take long: the driver does not close in a child
        what its parent opened, and a child's first transaction is on a connection of its own.
        """
        return self._alone.setdefault(process.this(), threading.RLock())

    def held(self) -> bool:
        """Say whether this thread holds it."""
        return bool(self.alone()._is_owned())  # type: ignore[attr-defined]

    @contextmanager
    def reading(self) -> Iterator[ServerRows]:
        """See one moment of the ledger."""
        with self._told(), self._begun(self._look, self._until()) as begun:
            yield begun.rows
            begun.commit()

    @contextmanager
    def writing(self, began: float, wants: Wants | None = None) -> Iterator[ServerRows]:
        """Hold the lock of the head and commit durably at the end; an exception undoes everything."""
        look = partial(self._hold, wants or Wants())
        with self._told(), self._begun(look, began + database.BUSY_SECONDS) as begun:
            yield begun.rows
            begun.rows.finish()
            try:
                begun.commit()
            except psycopg.Error as error:
                if not _cut(error, begun.link):
                    raise
                begun.drop()
                self._settle(begun.rows.added)

    def make(self, fill: Callable[[ServerSession], None]) -> None:
        """Make the ledger's schema, which `fill` writes; never touches one that is there."""

        def making(link: Link, _: ExitStack) -> ServerRows:
            session = ServerSession(link)
            link.execute("BEGIN")
            link.execute(f"CREATE SCHEMA {self.where.schema}".encode())
            fill(session)
            for statement in _OWN:
                link.execute(statement)
            return ServerRows(session, self.name, self.where.schema)

        try:
            with self._told(), self._begun(making, self._until()) as begun:
                begun.commit()
        except _TakenError:
            raise LedgerError(f"{self.name} exists already; give the ledger a new name") from None

    def grant(self, role: str, *, read_only: bool) -> None:
        """Let a role read the ledger, and charge it too: nobody updates or deletes what is an entry."""

        def granting(link: Link, _: ExitStack) -> ServerRows:
            rows = self._look(link, _, "BEGIN")
            for right in _READS if read_only else _READS + _CHARGES:
                text = sql.SQL("GRANT {} TO {}").format(sql.SQL(right), sql.Identifier(role))
                link.execute(text.as_string().replace("SCHEMA own", f"SCHEMA {self.where.schema}").encode())
            return rows

        with self._told(), self._begun(granting, self._until()) as begun:
            begun.commit()

    def close(self) -> None:
        """Let go of the server."""
        self._idle.let_go()

    # ---------------------------------------------------------- transactions

    def _look(self, link: Link, _: ExitStack, begin: LiteralString = _ONE_MOMENT) -> ServerRows:
        link.execute(begin)
        rows = ServerRows(ServerSession(link), self.name, self.where.schema)
        rows.head()
        return rows

    def _hold(self, wants: Wants, link: Link, pipeline: ExitStack) -> ServerRows:
        session = ServerSession(link, pipeline.enter_context(link.pipeline()))
        session.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        rows = ServerRows(session, self.name, self.where.schema, wants)
        rows.role = self._role
        return rows

    def _settle(self, added: Entry | None) -> None:
        """Return if this entry was committed; else raise `CutError`, or say that it is not known."""
        if added is None:  # nothing was to be written
            return
        try:
            with self._begun(partial(self._hold, Wants()), self._until()) as begun:
                found = begun.rows.entry(added.number)
                begun.commit()
        except (psycopg.Error, LedgerError):
            raise LedgerError(
                f"the connection to {self.name} was cut during a commit, and the server does not come back:"
                f" it is not known whether entry {added.number} was charged; ask again with the same key"
            ) from None
        if found is None or found.digest != added.digest:
            raise self._was_cut()

    @contextmanager
    def _begun(self, begin: Begin, until: float) -> Iterator[_Transaction]:
        """Begin a transaction, waiting for a server that starts; its connection is kept if it ends well."""
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

    def _connected(self) -> Link:
        waits = round(database.BUSY_SECONDS * 1000)
        options = {**_SESSION, "lock_timeout": waits, "idle_in_transaction_session_timeout": waits}
        options["search_path"] = f"{self.where.schema},pg_catalog,pg_temp"
        link: Link = Connection.connect(
            **{**_REACHING, **self.where.parameters},
            autocommit=True,
            options=" ".join(f"-c {name}={value}" for name, value in options.items()),
        )
        try:
            [[role, durable, encoding]] = link.execute(_FACTS).fetchall()
        except BaseException:
            link.close()
            raise
        if durable != "on" or encoding != "UTF8":
            link.close()
            raise LedgerError(
                f"the server of {self.name} runs with fsync {durable} and encoding {encoding}; a ledger needs"
                " fsync on, or a crash loses charges, and UTF8"
            )
        self._seen, self._role = True, role
        return link

    def _until(self) -> float:
        return time.monotonic() + database.BUSY_SECONDS

    def _was_cut(self) -> CutError:
        return CutError(f"the connection to {self.name} was cut and nothing was changed; ask again")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say what an error of the driver means."""
        try:
            yield
        except psycopg.errors.DuplicateSchema:
            raise _TakenError from None
        except psycopg.Error as error:
            raise LedgerError(self._said(error)) from None

    def _said(self, error: psycopg.Error) -> str:
        text = _TROUBLE.get(error.sqlstate or "")
        if text is not None:
            return f"{self.name} {text.format(wait=database.BUSY_SECONDS)}"
        line = (str(error).strip().splitlines() or ["no reason given"])[0]
        why = line.rpartition("failed: ")[2].removeprefix("FATAL:").strip()
        return f"{self.name} cannot be used on its server ({why}); mend that and try again"


def _cut(error: psycopg.Error, link: Link | None) -> bool:
    """Say whether the connection was cut, or never came to be: 57P is a server that stops or starts."""
    return link is None or link.closed or (error.sqlstate or "").startswith(("57P", "08"))
