"""Standbys that take over, dumps that are restored: an older copy is not charged until somebody says what it lacks."""

import threading
import time
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import psycopg
import pytest
from psycopg import sql

from dpaccount.errors import BudgetError, LedgerError
from dpaccount.ledger.journal import verify as heads
from dpaccount.ledger.journal.export import imported as import_
from dpaccount.ledger.journal.export import lines as export
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores import sqlite_file
from dpaccount.ledger.stores.place import server_address
from dpaccount.ledger.stores.store import grant
from dpaccount.plan.events import Plan
from tests.depth import deep

from .conftest import BUDGET, NUMBERS, VALID, plan, pure
from .postgres import PostgresServer

ELSEWHERE = "last written on another server, or to another copy"


def busy(ledger) -> None:
    """Leave something that every kind of later write is about."""
    ledger.set_scope("team", 1)
    ledger.charge(pure("1/100"), "draw", key="draw")
    ledger.charge(pure("1/100"), "keep", key="keep")
    ledger.reserve_plan(plan("1/100"), "rounds", "rounds", rounds=3)


#: everything that writes, each by itself
WRITES = {
    "charge": lambda one: one.charge_plan(plan("1/100"), "new"),
    "dry run": lambda one: one.charge_plan(plan("1/100"), "new", dry_run=True),
    "known charge": lambda one: one.charge(pure("1/100"), "draw", key="draw"),
    "refusal": lambda one: one.charge_plan(plan(9), "too much"),
    "many": lambda one: one.charge_many([(plan("1/100"), "new", None)]),
    "mark": lambda one: one._mark(2, 1, 1),
    "release": lambda one: one.keep_release("keep", {"value": 1}),
    "parts": lambda one: one.charge_in_parts(pure("1/100"), "parts", None, "parts").noisy(
        "noise", 0, np.array([5])
    ),
    "scope": lambda one: one.set_scope("team", "1/2"),
    "cohort": lambda one: one.name_cohort("ward", [(1, 5)]),
    "reservation": lambda one: one.reserve_plan(plan("1/100"), "rounds", "more", rounds=2),
    "round": lambda one: one.draw_parts("rounds"),
    "return": lambda one: one.return_parts("rounds"),
    "reset": lambda one: one.reset("new"),
}


def refuses_all(url: str) -> None:
    """Say that nothing can be written, and all be read."""
    with Ledger.open(url) as one:
        before = one.show()
        for act in WRITES.values():
            with pytest.raises(LedgerError, match=ELSEWHERE):
                act(one)
        assert one.show() == before
        assert one.verify() == VALID


def goes_on(url: str, lost: Plan | None) -> None:
    """Say what was lost, and that nothing more can be spent than the budget without it."""
    with Ledger.open(url) as one:
        one.forfeit(lost, "it took over")
        left = 1 - Fraction(one.show()["life"]["epsilon"]["upper"]).limit_denominator(1000)
        with pytest.raises(BudgetError):
            one.charge_plan(plan(left + Fraction(1, 1000)), "beyond")
        one.charge_plan(plan(left), "the rest")
    with Ledger.open(url) as one, pytest.raises(BudgetError):
        one.charge_plan(plan("1/1000"), "beyond")
    assert verify(url) == VALID


# ------------------------------------------------------------------ copies on one server


@pytest.fixture
def ledger(team):
    init(team, **BUDGET)
    with Ledger.open(team) as opened:
        yield opened


@deep
@pytest.mark.parametrize("entries", [0, 1])
def test_a_restored_dump_is_not_charged_until_somebody_says_what_it_lacks(ledger, team, postgres, entries):
    """Also one of a ledger in which nothing was charged when it was dumped."""
    schema = server_address(team).schema
    if entries:
        busy(ledger)
    dump = postgres.dump(schema=schema)
    ledger.charge_plan(plan("1/2"), "lost")
    ledger.close()
    with postgres.connect() as admin:
        admin.execute(f"DROP SCHEMA {schema} CASCADE")
    postgres.restore(dump)
    if entries:
        refuses_all(team)
    with Ledger.open(team) as one, pytest.raises(LedgerError, match=ELSEWHERE):
        one.charge_plan(plan("1/100"), "new")
    goes_on(team, plan("1/2"))


@deep
def test_a_copy_of_the_database_is_not_charged(ledger, team, postgres):
    busy(ledger)
    ledger.close()
    name = f"copy_{next(NUMBERS)}"
    with postgres.connect() as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE postgres")
    try:
        refuses_all(team.replace("/postgres?", f"/{name}?"))
        with Ledger.open(team) as one:  # the ledger itself is where it was
            one.charge_plan(plan("1/100"), "new")
    finally:
        with postgres.connect() as admin:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@deep
def test_a_renamed_ledger_is_itself_and_what_stands_in_its_place_is_not(ledger, team, postgres):
    busy(ledger)
    ledger.close()
    old, new = server_address(team).schema, server_address(f"{team}_new").schema
    dump = postgres.dump(schema=old)
    with postgres.connect() as admin:
        admin.execute(f"ALTER SCHEMA {old} RENAME TO {new}")
    postgres.restore(dump)
    with Ledger.open(f"{team}_new") as one:
        one.charge_plan(plan("1/100"), "new")
    refuses_all(team)


@deep
def test_what_is_imported_is_a_copy_too(ledger, team, url, tmp_path):
    """An export of a server says where it was written; one of a file, or of an earlier version, does not."""
    busy(ledger)
    lines = tmp_path / "lines"
    lines.write_bytes(b"".join(export(team)))
    import_(lines, f"{team}_again")
    refuses_all(f"{team}_again")
    goes_on(f"{team}_again", None)
    init(url, **BUDGET)
    with Ledger.open(url) as one:
        busy(one)
    lines.write_bytes(b"".join(export(url)))
    import_(lines, f"{team}_file")
    with Ledger.open(f"{team}_file") as one:
        assert one.charge_plan(plan("1/100"), "new").entry == 5
    with Ledger.open(f"{team}_file") as one:
        one.reset("its owner may")
        assert one.verify() == VALID


@deep
def test_releases_say_nothing_of_servers(ledger, team, postgres):
    """A release is whatever was released, and may say what it likes: the entry before it counts."""
    schema = server_address(team).schema
    busy(ledger)
    ledger.charge(pure("1/100"), "draw", key="more").noisy("noise", 0, np.array([5]))
    ledger.keep_release("keep", {"server": "elsewhere"})
    dump = postgres.dump(schema=schema)
    for one in (ledger, None):
        with Ledger.open(team) as opened:
            (one or opened).keep_release("more" if one else "draw", {"server": None})
    ledger.close()
    with postgres.connect() as admin:
        admin.execute(f"DROP SCHEMA {schema} CASCADE")
    postgres.restore(dump)
    refuses_all(team)


@deep
def test_a_role_that_may_charge_may_not_say_that_nothing_was_lost(ledger, team, postgres):
    postgres.role("charger")
    grant(team, "charger")
    with Ledger.open(team.replace("owner@", "charger@")) as theirs:
        with pytest.raises(LedgerError, match="with --arrange"):
            theirs.forfeit(None, "nothing")
        assert theirs.charge_plan(plan("1/100"), "new").entry == 1
    assert ledger.forfeit(None, "nothing").number == 2


# ------------------------------------------------------------------ standbys


@contextmanager
def followed(monkeypatch, seconds=3.0):
    """Yield a server, its standby, and what lets the one wait for the other, or the other follow no more."""
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", seconds)
    primary = PostgresServer()
    standby = PostgresServer(primary)

    def set_(server, name, value) -> None:
        with server.connect() as admin:
            admin.execute(
                sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), sql.Literal(value))
            )
            admin.execute("SELECT pg_reload_conf()")

    def follows(how: str) -> None:
        with standby.connect() as admin:
            names = admin.execute(
                "SELECT setting FROM pg_settings WHERE name = 'primary_conninfo'"
            ).fetchone()[0]
        keeps.setdefault("told", names)
        set_(standby, "primary_conninfo", keeps["told"] if how == "follows" else "")
        until(lambda: bool(streams()) is (how == "follows"))

    def streams() -> list:
        with primary.connect() as admin:
            query = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"
            return admin.execute(query).fetchall()

    def waits(for_it: bool) -> None:
        set_(primary, "synchronous_standby_names", "*" if for_it else "")
        time.sleep(0.3)

    keeps: dict[str, str] = {}
    try:
        until(streams)
        yield primary, standby, waits, follows
    finally:
        standby.remove()
        primary.remove()


def until(holds, seconds=60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def stuck(server: PostgresServer, act: str) -> bool:
    """Do something with who waits for a standby; say whether there was one."""
    with server.connect() as admin:
        query = f"SELECT {act}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        return bool(admin.execute(query.encode()).fetchall())


def in_thread(act) -> tuple[threading.Thread, list]:
    results: list = []

    def run() -> None:
        try:
            results.append(act())
        except LedgerError as error:
            results.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, results


@deep
@pytest.mark.parametrize("lost", [1, 3])
def test_a_standby_that_took_over_is_not_charged_until_somebody_says_what_it_lacks(monkeypatch, lost):
    with followed(monkeypatch) as (primary, standby, _, follows):
        init(primary.url(), **BUDGET)
        with Ledger.open(primary.url()) as ledger:
            busy(ledger)
            follows("no more")
            for _ in range(lost):
                ledger.charge_plan(plan("1/10"), "lost")
        with (
            pytest.raises(LedgerError, match="takes no writes; give its primary"),
            Ledger.open(standby.url()) as early,
        ):
            early.charge_plan(plan("1/10"), "on a standby")
        kept = Ledger.open(standby.url())  # opened before it took over, and used after it
        shown = kept.show()
        primary.end()
        standby.promote()
        with pytest.raises(LedgerError, match=ELSEWHERE):
            kept.charge_plan(plan("1/100"), "new")
        assert kept.show() == shown
        kept.close()
        refuses_all(standby.url())
        goes_on(standby.url(), plan("1/10", count=lost))


@deep
@pytest.mark.parametrize("key", ["key", None])
@pytest.mark.parametrize("act", ["pg_cancel_backend", "pg_terminate_backend"])
def test_what_is_acknowledged_is_on_the_synchronous_standby(monkeypatch, act, key):
    """Whoever waits for the standby is cancelled or cut off: with a WARNING the commit is done here alone."""
    with followed(monkeypatch, seconds=20) as (primary, standby, waits, follows):
        init(primary.url(), **BUDGET)
        waits(True)
        with Ledger.open(primary.url()) as ledger:
            ledger.charge_plan(plan("1/10"), "one")
            follows("no more")
            thread, results = in_thread(lambda: ledger.charge_plan(plan("1/10"), "two", key))
            until(lambda: stuck(primary, act))
            time.sleep(1)
            assert thread.is_alive(), results  # it is not acknowledged
            until(lambda: stuck(primary, "pg_typeof"))  # it waits again
            follows("follows")
            thread.join(60)
            assert results[0].entry == 2
            with Ledger.open(standby.url()) as copy:
                assert copy.show()["entries"] == 2
            assert ledger.show()["entries"] == 2


@deep
def test_a_standby_that_stays_away_is_not_waited_for_without_end(monkeypatch):
    with followed(monkeypatch, seconds=2) as (primary, _, waits, follows):
        init(primary.url(), **BUDGET)
        waits(True)
        with Ledger.open(primary.url()) as ledger, Ledger.open(primary.url()) as second:
            ledger.charge_plan(plan("1/10"), "one")
            follows("no more")
            thread, results = in_thread(lambda: ledger.charge_plan(plan("1/10"), "two"))
            thread.join(30)
            assert not thread.is_alive()
            assert "it is not known whether entry 2 was charged; ask again with the same key" in str(
                results[0]
            )
            head = str(results[0]).split("--head ")[1].split("`")[0]
            thread, more = in_thread(lambda: second.charge_plan(plan("1/10"), "three", "key"))
            thread.join(30)
            assert "nothing was changed; try again" in str(more[0])
            follows("follows")
            until(lambda: heads.verify(primary.url(), head=head) == VALID)  # the words of the message
            assert second.charge_plan(plan("1/10"), "three", "key").entry == 3
            assert ledger.show()["entries"] == 3


@deep
def test_making_a_ledger_does_not_wait_without_end_either(monkeypatch):
    with followed(monkeypatch, seconds=2) as (primary, _, waits, follows):
        waits(True)
        follows("no more")
        thread, results = in_thread(lambda: init(primary.url(), **BUDGET))
        thread.join(30)
        assert "it is not known whether this was done; ask again" in str(results[0])
        follows("follows")
        until(lambda: not stuck(primary, "pg_typeof"))
        with pytest.raises(LedgerError, match="exists already"):
            init(primary.url(), **BUDGET)
        with Ledger.open(primary.url()) as ledger:
            assert ledger.charge_plan(plan("1/10"), "one").entry == 1


@deep
def test_a_restart_is_no_change_of_server():
    server = PostgresServer()
    try:
        init(server.url(), **BUDGET)
        with Ledger.open(server.url()) as ledger:
            ledger.charge_plan(plan("1/10"), "one")
            server.end()
            server.start()
            assert ledger.charge_plan(plan("1/10"), "two").entry == 2
        with psycopg.connect(
            host=str(server.folder / "socket"), user="owner", dbname="postgres", autocommit=True
        ) as admin:
            admin.execute("VACUUM FULL")
            admin.execute("REINDEX DATABASE postgres")
        with Ledger.open(server.url()) as ledger:
            assert ledger.charge_plan(plan("1/10"), "three").entry == 3
    finally:
        server.remove()
