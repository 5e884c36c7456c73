"""Ledgers in PostgreSQL: the same answers, one writer at a time, rights, and what is cut is known in the end."""

import json
import os
import random
import re
import signal
import threading
import time
from contextlib import suppress
from fractions import Fraction

import numpy as np
import psycopg
import pytest

from audits.cli.answers import same_data
from audits.reports.log import log
from dpaccount.errors import BudgetError, InputError, LedgerError, ReceiptError
from dpaccount.ledger.entry import ARRANGING, DRAWING, RELEASE, seal
from dpaccount.ledger.journal import entries
from dpaccount.ledger.journal import verify as heads
from dpaccount.ledger.journal import verify as repairs
from dpaccount.ledger.journal.export import imported as import_
from dpaccount.ledger.journal.export import lines as export
from dpaccount.ledger.journal.verify import repair, verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.requests import RefusedError
from dpaccount.ledger.stores import rows, server, sqlite_file
from dpaccount.ledger.stores.place import server_address
from dpaccount.ledger.stores.store import grant
from tests.depth import deep
from tests.looped import looped

from .conftest import BUDGET, VALID, plan, pure, recounted


@pytest.fixture
def ledger(team):
    init(team, **BUDGET)
    with Ledger.open(team) as opened:
        yield opened


@pytest.fixture
def admin(postgres, team):
    """Return a connection that may do everything, in the ledger's schema."""
    with postgres.within(team) as connection:
        yield connection


# ------------------------------------------------------------------ the same ledger


@deep
def test_the_same_requests_have_the_same_answers_as_in_a_file(ledger, team, url):
    init(url, **BUDGET)
    results = []
    for where in (team, url):
        with Ledger.open(where) as one:
            many = [
                (plan("1/10", cover), "part", key)
                for cover in (None, (3, 70_000), (9, 9))
                for key in ("a", None, "b")
            ]
            answers = [(answer.entry, answer.reason, answer.known) for answer in one.charge_many(many)]
            for cover in ((5, 6), (1, 10**12), (9, 9), None):
                try:
                    answers.append(one.charge_plan(plan("1/4", cover), "single", f"single {cover}").entry)
                except BudgetError as error:
                    answers.append(str(error))
            receipt = one.charge(pure("1/20"), "draw", (2, 3), "draw")
            receipt.noisy("noise", 0, np.array([5]))
            one.keep_release("draw", {"value": 1})
            answers.append(one.release("draw"))
            with pytest.raises(LedgerError, match="a different charge"):
                one.charge_plan(plan("1/3"), "other", "a")
            results.append((answers, {**one.show(), "head": ""}, one.verify()))
    assert results[0] == results[1]
    assert results[0][2] == VALID


@deep
def test_what_is_exported_from_one_is_imported_into_the_other(ledger, team, url, tmp_path):
    ledger.charge_plan(plan(cover=(3, 5)), "one", "a")
    ledger.charge_plan(plan(), "two")
    lines = tmp_path / "lines"
    lines.write_bytes(b"".join(export(team)))
    assert import_(lines, url)["head"] == ledger.show()["head"]
    assert verify(url) == VALID
    other = f"{team}_again"
    assert import_(lines, other)["head"] == ledger.show()["head"]
    assert heads.verify(other, head=ledger.show()["head"], since=ledger.show()["head"]) == VALID


@deep
def test_a_ledger_is_made_once_and_opened_where_it_is(ledger, team):
    ledger.charge_plan(plan(), "one")
    with pytest.raises(LedgerError, match="exists already"):
        init(team, **BUDGET)
    with pytest.raises(LedgerError, match="does not exist, or this role may not see it"):
        Ledger.open(f"{team}_missing")
    assert ledger.show()["entries"] == 1


@deep
def test_pages_of_entries_and_nodes_are_read_one_after_another(ledger, team, monkeypatch):
    monkeypatch.setattr(server, "PAGE", 3)
    with Ledger.open(team) as behind:
        behind.show()
        for number in range(8):
            ledger.charge_plan(plan(cover=(2 * number + 1, 2 * number + 1)), "part", f"key {number}")
        assert behind.charge_plan(plan(), "one").entry == 9  # it follows eight entries, more than a page
    assert verify(team) == VALID
    assert len(log(team)) == 10


@deep
def test_a_charge_is_four_statements_and_a_commit(ledger, monkeypatch):
    """What it needs is asked for with the lock, and what it writes is sent at once: nothing goes one by one."""
    ledger.charge_plan(plan(cover=(5, 10**6)), "first")
    for scope in ("team", "team/ada"):
        ledger.set_scope(scope, 1)
    statements, execute = [], server.ServerSession.execute

    def noted(session, statement, values=()):
        statements.append(statement.split()[0])
        return execute(session, statement, values)

    charges = [
        lambda: ledger.charge_plan(plan(cover=(77, 765_432)), "second", "key"),
        lambda: ledger.charge_plan(plan(), "third"),
        lambda: ledger.charge_many([(plan(cover=(9, 9)), "many", "a"), (plan(cover=(9, 9)), "many", "b")]),
        lambda: ledger.charge_plan(plan(), "in a scope, whose records have fixed places", scope="team/ada"),
    ]
    with monkeypatch.context() as patched:
        patched.setattr(server.ServerSession, "execute", noted)
        for charge in charges:
            charge()
    assert statements == ["BEGIN", "SELECT", "SELECT", "WITH"] * len(charges)
    assert ledger.show()["entries"] == 6


# ------------------------------------------------------------------ one at a time


def forked(act, count: int) -> None:
    children = []
    for number in range(count):
        child = os.fork()
        if not child:
            try:
                act(number)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * count


@deep
def test_processes_never_overspend(ledger, team):
    ledger.charge_plan(plan("1/20"), "before")  # the parent's connection is nobody else's

    def charge(number: int) -> None:
        with Ledger.open(team) as own:
            for turn in range(8):
                for one in (own, ledger):
                    try:
                        one.charge_plan(plan("1/20"), "part", f"{number} {turn % 4}")
                    except BudgetError:
                        continue

    forked(charge, 4)
    shown = ledger.show()
    assert (shown["entries"], shown["spent"]["epsilon"]["upper"]) == (17, 0.8500000000000001)
    assert ledger.verify() == VALID


@deep
def test_a_held_head_is_waited_for_and_then_named(ledger, team, monkeypatch):
    with Ledger.open(team) as other, other._store.writing():
        monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.3)
        with Ledger.open(team) as late:
            assert late.show()["entries"] == 0  # who reads does not wait
            with pytest.raises(LedgerError, match="held by other clients for 0 s and nothing was changed"):
                late.charge_plan(plan(), "one")
    assert ledger.charge_plan(plan(), "one").entry == 1


@deep
def test_without_the_lock_a_charge_would_be_lost(ledger, team, monkeypatch):
    """The broken twin: two writers on one head; the chain refuses the second, and nothing is double."""

    def unlocked(session, statement, values=()):
        return real(session, statement.replace(" FOR UPDATE", ""), values)

    real = server.ServerSession.execute
    monkeypatch.setattr(server.ServerSession, "execute", unlocked)
    monkeypatch.setattr(rows, "AGAIN_SECONDS", 0.0)

    def between() -> None:
        with Ledger.open(team) as other, other._store.writing() as open_rows:
            ledger.charge_plan(plan(), "one")
            open_rows.append("refusal", "{}", other._totals(open_rows).text)

    with pytest.raises(LedgerError):
        between()
    assert verify(team) == VALID


@deep
def test_a_stopped_writer_is_cut_off_by_the_server(ledger, team, monkeypatch):
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 1.0)
    stopped = Ledger.open(team)
    entered, go = threading.Event(), threading.Event()

    def hold():
        try:
            with stopped._store.place.writing(time.monotonic()) as held:
                entered.set()
                go.wait(60)
                held.append("refusal", "{}", held.entry(0).root)
        except LedgerError as error:
            messages.append(str(error))

    messages: list[str] = []
    holding = threading.Thread(target=hold)
    holding.start()
    assert entered.wait(60)
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 60.0)
    with Ledger.open(team) as other:
        assert other.charge_plan(plan(), "one").entry == 1
    go.set()
    holding.join()
    assert len(messages) == 1
    assert "was cut and nothing was changed" in messages[0]
    stopped.close()
    assert verify(team) == VALID


# ------------------------------------------------------------------ cut


def cutting(
    monkeypatch, committed: bool, times: int = 1, then=lambda: None, *, readers: bool = False
) -> list[int]:
    """Let the connection be cut in a writer's commit, or in any: after it was done, or before it arrived."""
    cuts = []

    def commit(transaction):
        if (transaction.rows.added is None and not readers) or len(cuts) >= times:
            return real(transaction)
        cuts.append(1)
        if committed:
            real(transaction)
        transaction.drop()
        then()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    real = server._Transaction.commit
    monkeypatch.setattr(server._Transaction, "commit", commit)
    return cuts


@deep
@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("key", ["key", None])
def test_a_commit_that_is_cut_charges_once_and_says_so(ledger, monkeypatch, committed, key):
    cuts = cutting(monkeypatch, committed)
    assert ledger.charge_plan(plan(), "one", key).entry == 1
    assert len(cuts) == 1
    assert ledger.show()["entries"] == 1
    receipt = ledger.charge(pure("1/100"), "draw")
    cuts.clear()
    receipt.noisy("noise", 0, np.array([5]))
    cuts.clear()
    ledger.keep_release(receipt.entry, {"value": 5})
    assert len(cuts) == 1
    with pytest.raises(ReceiptError):
        receipt.noisy("noise", 0, np.array([5]))
    assert ledger.verify() == VALID


@deep
@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("times", [1, 3])
def test_a_part_whose_commit_is_cut_is_drawn_once(ledger, monkeypatch, committed, times):
    """The value that was drawn is kept, by whichever commit is done; who goes on reads it back."""
    parts = ledger.charge_in_parts(pure("1/100"), "draw", (1, 5), "parts")
    cuts = cutting(monkeypatch, committed, times)
    value = parts.noisy("noise", 0, np.array([5]))
    assert len(cuts) == (1 if committed else times)
    with ledger._store.reading() as rows:
        assert [rows.count(kind) for kind in (DRAWING, RELEASE)] == [1, 1]
    again = ledger.charge_in_parts(pure("1/100"), "draw", (1, 5), "parts")
    assert again.noisy("noise", 0, np.array([5])) == value == parts.noisy("noise", 0, np.array([5]))
    assert ledger.verify() == VALID


def drawing_by(ledger, how: str):
    """Return what draws the first part of a charge, by a mark."""
    if how == "receipt":
        receipt = ledger.charge(pure("1/100"), "draw", key="k")
        return lambda: receipt.noisy("noise", 0, np.array([5]))
    ledger.reserve_plan(plan(), "draw", "k", rounds=2)
    return lambda: ledger.draw_parts("k", [(1, 1)])


@deep
def test_no_clients_clock_renews_a_cap(ledger, team, monkeypatch):
    """Every entry has the server's time, and one after a rest waits for nobody."""
    ledger.set_scope("month", Fraction(1, 10), every="month")
    ledger.charge_plan(plan("1/10"), "x", scope="month")
    monkeypatch.setattr(entries, "now", lambda: "2099-06-01T00:00:00+00:00")
    with pytest.raises(BudgetError, match="a month of the scope month"):
        ledger.charge_plan(plan("1/10"), "x", scope="month")
    told = {one["time"][:4] for one in log(team) if one["kind"] != "budget"}
    assert max(told) < "2099"
    assert {ledger.show()["scopes"][0]["period"][:4]} <= told
    monkeypatch.setattr(server, "CLOCK", "'2090-01-31T00:00:00+00:00'")  # it rested
    ledger.charge_plan(plan("1/10"), "x", scope="month")
    assert ledger.verify() == VALID


@deep
@pytest.mark.parametrize("salted", [True, False])
@pytest.mark.parametrize("how", ["receipt", "reservation"])
def test_whose_mark_was_cut_does_not_take_anothers_for_it(ledger, team, monkeypatch, how, salted):
    """Two ledgers of one process, in one second; the broken twin's entries have no salt, and are the same."""
    monkeypatch.setattr(server, "CLOCK", "'2030-01-01T00:00:00+00:00'")
    with Ledger.open(team) as second:
        draws, others = drawing_by(ledger, how), drawing_by(second, how)
        if not salted:
            monkeypatch.setattr(entries, "token_hex", lambda _: "0")
        drawn = []

        def drawn_by_another():
            drawn.append("another")
            others()

        cutting(monkeypatch, committed=False, then=drawn_by_another)
        with suppress(ReceiptError, BudgetError):
            draws()
            drawn.append("this")
        assert drawn == (["another"] if salted else ["another", "this"])


@deep
@pytest.mark.parametrize("seed", range(8))
def test_whichever_commits_are_cut_it_is_charged_once_and_known(ledger, team, monkeypatch, seed):
    """Those that look again are cut, too, before or after they were done, or done with a WARNING."""
    dice = random.Random(seed)
    left = [dice.choice(["before", "after", "warning", "done"]) for _ in range(12)]

    def commit(transaction):
        how = left.pop() if left else "done"
        if how in ("after", "done"):
            real(transaction)
        if how == "warning":
            transaction.link.execute("DO $$ BEGIN RAISE WARNING 'not on the standby'; END $$")
            real(transaction)
        elif how != "done":
            transaction.drop()
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    real = server._Transaction.commit
    monkeypatch.setattr(server, "PAUSE", 0.01)
    monkeypatch.setattr(server._Transaction, "commit", commit)
    many = ledger.charge_many([(plan(), "one", None), (plan("1/50"), "two", "k")])
    charges = [ledger.charge_plan(plan(), "one", key).entry for key in ("a", None, "b", "a")]
    left.clear()
    assert [*(one.entry for one in many), *charges] == [1, 2, 3, 4, 5, 3]
    assert ledger.show()["entries"] == 5
    assert ledger.verify() == VALID


@deep
@pytest.mark.parametrize("asks", [True, False])
def test_a_client_that_does_not_ask_the_chain_is_caught(ledger, monkeypatch, asks):
    """The broken twin takes a cut commit for a failed one, and charges twice."""
    cutting(monkeypatch, committed=True)
    if not asks:
        monkeypatch.setattr(
            server.LedgerServer, "_settle", lambda self, _added: (_ for _ in ()).throw(self._was_cut())
        )
        monkeypatch.setattr("dpaccount.ledger.charging.ToCharge._committed", lambda _self, _rows: False)
    ledger.charge_plan(plan(), "one")
    assert (ledger.show()["entries"] == 1) is asks


@deep
def test_idle_connections_that_were_cut_are_opened_again(ledger, admin):
    ledger.charge_plan(plan(), "one")
    for _ in range(2):
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dpaccount'"
        )
        assert ledger.charge_plan(plan(), "two", "key").entry == 2
        assert ledger.show()["entries"] == 2


@deep
def test_opening_that_is_cut_is_done_again(ledger, team, monkeypatch):
    cuts = cutting(monkeypatch, committed=False, times=3, readers=True)
    with Ledger.open(team) as again:
        assert len(cuts) == 3
        assert again.show()["entries"] == 0


@deep
def test_a_reader_that_is_cut_says_so(ledger, admin):

    def read() -> None:
        with ledger._store.reading() as rows:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dpaccount'"
            )
            list(rows.entries(0))

    with pytest.raises(LedgerError, match="was cut and nothing was changed"):
        read()
    assert ledger.show()["entries"] == 0


@pytest.fixture
def own():
    """Return a server of the test's own, to be stopped and started."""
    from .postgres import PostgresServer

    own_server = PostgresServer()
    yield own_server
    own_server.remove()


@deep
def test_a_server_that_restarts_is_waited_for_and_one_that_stays_away_is_named(own, monkeypatch):
    team = own.url()
    init(team, **BUDGET)
    with Ledger.open(team) as ledger:
        ledger.charge_plan(plan(), "one", "one")
        own.end(signal.SIGQUIT)  # as in a crash
        numbers: list[int] = []
        waiting = threading.Thread(
            target=lambda: numbers.append(ledger.charge_plan(plan(), "two", "two").entry)
        )
        waiting.start()
        time.sleep(0.5)
        own.start()
        waiting.join()
        assert numbers == [2]
        # it goes away with a commit, and stays away
        real = server._Transaction.commit

        def commit(transaction):
            if transaction.rows.added is not None:
                real(transaction)
                own.end(signal.SIGQUIT)
                raise psycopg.errors.CrashShutdown("terminating connection because of crash")
            return real(transaction)

        monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 1.0)
        monkeypatch.setattr(server._Transaction, "commit", commit)
        with pytest.raises(LedgerError, match="it is not known whether entry 3 was"):
            ledger.charge_plan(plan(), "three", "three")
        monkeypatch.setattr(server._Transaction, "commit", real)
        with pytest.raises(LedgerError, match="cannot be used on its server"):
            ledger.show()
        monkeypatch.setattr(server, "FIRST_SECONDS", 0.3)
        with pytest.raises(LedgerError, match="cannot be used on its server"):
            Ledger.open(team)
        own.start()
        again = ledger.charge_plan(plan(), "three", "three")
        assert (again.entry, again.known) == (3, True)
        assert ledger.verify() == VALID


@deep
def test_heads_are_noted_elsewhere(ledger, team, tmp_path, admin):
    witness = tmp_path / "heads"
    witness.touch()
    with Ledger.open(f"{team}&witness={witness}") as watched:
        watched.charge_plan(plan(), "one")
        watched.charge_plan(plan(), "two")
    assert heads.verify(f"{team}&witness={witness}") == VALID
    admin.execute("GRANT UPDATE, DELETE ON entries TO CURRENT_USER")
    admin.execute("DELETE FROM entries WHERE number = 2")
    admin.execute("UPDATE ledger SET last = 1, head = (SELECT digest FROM entries WHERE number = 1)")
    with pytest.raises(LedgerError, match="an older copy or a lost log"):
        Ledger.open(f"{team}&witness={witness}")


# ------------------------------------------------------------------ rights


@pytest.fixture
def roles(postgres):
    for role in ("charger", "reader", "stranger"):
        postgres.role(role)


def as_role(team: str, role: str) -> str:
    return team.replace("owner@", f"{role}@")


@deep
def test_who_may_charge_may_change_no_entry(ledger, team, postgres, roles):
    grant(team, "charger")
    with Ledger.open(as_role(team, "charger")) as theirs:
        receipt = theirs.charge(pure("1/100"), "draw", (3, 9), "key")
        value = receipt.noisy("noise", 0, np.array([5])).tolist()
        theirs.keep_release("key", {"value": value})
        with pytest.raises(BudgetError):
            theirs.charge_plan(plan(2), "too much")
        assert theirs.verify() == VALID
    ledger.charge_plan(plan(), "mine")
    with postgres.within(team, "charger") as connection:
        for statement in (
            "UPDATE entries SET body = body || ' '",
            "UPDATE entries SET role = 'owner'",
            "DELETE FROM entries",
            "TRUNCATE entries",
            "DELETE FROM ledger",
            "UPDATE ledger SET format = 'x'",
            "INSERT INTO entries (number, kind, body, digest, role) VALUES (99, 'charge', '{}', '', 'owner')",
            "DROP TABLE entries",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
    with postgres.within(team) as connection:
        rows = connection.execute("SELECT kind, role, body FROM entries ORDER BY number").fetchall()
    assert [(kind, role) for kind, role, _ in rows] == [
        ("budget", "owner"),
        ("charge", "charger"),
        ("drawing", "charger"),
        ("release", "charger"),
        ("refusal", "charger"),
        ("charge", "owner"),
    ]
    chained = [json.loads(body).get("role") for kind, _, body in rows if kind in ("charge", "refusal")]
    assert chained == ["charger", "charger", "owner"]  # and so it is in the chain
    assert [line["role"] for line in log(team) if line["kind"] == "charge"] == ["charger", "owner"]


@deep
def test_the_owner_of_a_plain_role_changes_no_entry_either(team, postgres, roles):
    with postgres.connect() as connection:
        connection.execute("GRANT CREATE ON DATABASE postgres TO charger")
    theirs = as_role(team, "charger")
    init(theirs, **BUDGET)
    with Ledger.open(theirs) as ledger, postgres.connect("charger") as connection:
        ledger.charge_plan(plan(), "one")
        for statement in ("UPDATE {}.entries SET body = ''", "DELETE FROM {}.entries"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.format(server_address(team).schema))


def entered(connection, kind: str, facts: dict) -> None:
    """Add an entry of this kind to the end of the chain by hand, as who holds the rows' rights can."""
    last, head = connection.execute("SELECT last, head FROM ledger").fetchone()
    [root] = connection.execute("SELECT root FROM entries WHERE number = %s", (last,)).fetchone()
    [role] = connection.execute("SELECT session_user").fetchone()
    body = entries.as_written({"role": role, **facts, "time": entries.now()})
    digest = seal(head, last + 1, kind, None, None, body, root)
    row = (last + 1, kind, body, root, digest)
    connection.execute("INSERT INTO entries (number, kind, body, root, digest) VALUES (%s,%s,%s,%s,%s)", row)
    connection.execute("UPDATE ledger SET last = %s, head = %s", (last + 1, digest))


#: what arranges: by the program, and as an entry by hand
ARRANGED = {
    "scope": (lambda one: one.set_scope("team", 5), {"scope": "team", "epsilon": "5", "delta": "0"}),
    "cohort": (lambda one: one.name_cohort("ward", [(1, 2)]), {"cohort": "ward", "units": [[1, 2]]}),
    "reset": (lambda one: one.reset("mine"), {"reason": "mine"}),
    "forfeit": (lambda one: one.forfeit(None, "mine"), {"reason": "mine", "steps": []}),
    "clock": (lambda one: one.set_clock("mine"), {"reason": "mine"}),
}


@deep
@pytest.mark.parametrize("kind", ARRANGED)
def test_who_may_charge_may_not_arrange(ledger, team, postgres, roles, kind):
    """Not by the program, and not by hand: then nobody goes on, before a later charge or after it."""
    act, facts = ARRANGED[kind]
    ledger.set_scope("team", "1/5")
    grant(team, "charger")
    with Ledger.open(as_role(team, "charger")) as theirs, Ledger.open(team) as watching:
        watching.show()
        theirs.charge_plan(plan("1/100"), "x", scope="team")
        with pytest.raises(LedgerError, match="with --arrange"):
            act(theirs)
        assert theirs.show()["entries"] == 1
        with pytest.raises(InputError, match="both"):
            grant(team, "charger", read_only=True, arrange=True)
        with postgres.within(team, "charger") as connection:
            for statement in (
                "INSERT INTO arrangements (number) VALUES (3)",
                "UPDATE arrangements SET number = 3",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement)
            entered(connection, kind, facts)
        with pytest.raises(LedgerError, match="entry 3 arranges the ledger, and its role may not"):
            watching.charge_plan(plan("1/100"), "y")
        with postgres.within(team, "charger") as connection:
            entered(connection, "refusal", {})
        for one in (team, as_role(team, "charger")):
            with Ledger.open(one) as late, pytest.raises(LedgerError, match="entry 3 arranges the ledger"):
                late.charge_plan(plan("1/100"), "z")
    assert verify(team)["first_bad"] == 3


@deep
def test_in_a_ledger_with_rights_a_role_acts_for_itself_and_the_first_ones_for_whom_it_names(
    ledger, team, postgres, roles
):
    """A role that is no person acts for nobody, by the program or with its name left out; its entries are found."""
    assert {*ARRANGING} == {*ARRANGED, "grant", "approval"}
    ledger.set_scope("team", 1)
    for person, may in (("ada", "arrange"), ("charger", "charge"), ("bo", "arrange")):
        ledger.grant(person, [may], scope="team" if may == "charge" else "", by="ada")
    grant(team, "charger")
    grant(team, "reader")
    with Ledger.open(as_role(team, "charger")) as theirs, Ledger.open(as_role(team, "reader")) as others:
        theirs.charge_plan(plan("1/100"), "x", "key", scope="team")  # for the person of its name
        for by in ("ada", "bo", "eve"):
            with pytest.raises(InputError, match=f"the role charger cannot act for {by}"):
                theirs.charge_plan(plan("1/100"), "x", by=by, scope="team")
        with pytest.raises(RefusedError, match="reader may not charge"):
            others.charge_plan(plan("1/100"), "x", scope="team")
        with pytest.raises(LedgerError, match="another person's"):
            others.charge_plan(plan("1/100"), "x", "key", scope="team")
        with pytest.raises(BudgetError, match="may not ask for this"):
            theirs.reset("x")
        assert verify(team) == VALID
        with pytest.MonkeyPatch.context() as patch:  # a client that leaves its role out
            patch.setattr(entries, "stamped", nameless(entries.stamped))
            others.charge_plan(plan("1/100"), "x", by="charger", scope="team")
        with pytest.raises(LedgerError, match="names another role than reader"):
            theirs.charge_plan(plan("1/100"), "x", scope="team")
    assert verify(team)["first_bad"] is not None


@deep
def test_a_role_serves_in_a_ledger_that_came_from_a_file_if_two_people_let_it(
    team, postgres, roles, url, tmp_path
):
    """In a file nobody knows which role will serve: that is a right, granted there or on the server."""
    init(url, **BUDGET)
    postgres.role("ada")
    postgres.role("bo")
    with Ledger.open(url) as own:
        for person in ("ada", "bo"):
            own.grant(person, ["arrange", "charge"], by="ada")
    moved = [f"{team}_late", f"{team}_early"]
    (tmp_path / "lines").write_bytes(b"".join(export(url)))
    import_(tmp_path / "lines", moved[0])

    def twice(one, two):
        with Ledger.open(one) as first, Ledger.open(two) as second:
            asked = first.grant("charger", ["serve"], by="ada")
            assert asked.kind == "request"
            second.approve(asked.number, by="bo")
            first.grant("charger", ["serve"], by="ada")

    twice(url, url)
    (tmp_path / "lines").write_bytes(b"".join(export(url)))
    import_(tmp_path / "lines", moved[1])
    for ledger in moved:
        for role in ("charger", "reader", "ada", "bo"):
            grant(ledger, role, arrange=role in ("charger", "ada", "bo"))
        with Ledger.open(as_role(ledger, "charger")) as service:
            if ledger == moved[0]:
                for by in ("ada", "bo", "eve"):
                    with pytest.raises(
                        InputError, match=f"the role charger cannot act for {by}.*--may serve"
                    ):
                        service.charge_plan(plan("1/100"), "x", by=by)
                twice(as_role(ledger, "ada"), as_role(ledger, "bo"))
            for by in ("ada", "bo"):
                service.charge_plan(plan("1/100"), "x", by=by)
            with pytest.raises(RefusedError, match="eve may not charge"):
                service.charge_plan(plan("1/100"), "x", by="eve")
            with pytest.raises(RefusedError, match="charger may not charge"):
                service.charge_plan(plan("1/100"), "x")
            # nobody else serves
            for role, by in (("reader", "ada"), ("ada", "bo"), ("owner", "ada")):
                refused = pytest.raises(InputError, match=f"the role {role} cannot act for {by}")
                with Ledger.open(as_role(ledger, role)) as other, refused:
                    other.charge_plan(plan("1/100"), "x", by=by)
            with Ledger.open(as_role(ledger, "bo")) as other:
                other.grant("charger", [], scope="*")  # at once, by one
            with pytest.raises(InputError, match="the role charger cannot act for ada"):
                service.charge_plan(plan("1/100"), "x", by="ada")
        assert verify(ledger) == VALID
        (tmp_path / "back").write_bytes(b"".join(export(ledger)))
        back = f"{url[:-3]} {moved.index(ledger)}.db"
        import_(tmp_path / "back", back)
        assert recounted(back)


def nameless(stamped):
    """Return a stamp that names no role."""
    return lambda facts, stamp: {name: one for name, one in stamped(facts, stamp).items() if name != "role"}


@deep
def test_who_may_arrange_does_and_its_entries_are_lawful_ever_after(ledger, team, postgres, roles, tmp_path):
    grant(team, "charger", arrange=True)
    with Ledger.open(as_role(team, "charger")) as theirs, Ledger.open(team) as watching:
        watching.show()
        for act, _ in ARRANGED.values():
            act(theirs)
        watching.charge_plan(plan("1/100"), "x", scope="team")
    with postgres.within(team) as connection:
        connection.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA {server_address(team).schema} FROM charger")
        numbers = connection.execute("SELECT number FROM arrangements ORDER BY number").fetchall()
        assert numbers == [(1,), (2,), (3,), (4,), (5,)]
    with Ledger.open(team) as again:
        again.charge_plan(plan("1/100"), "y", scope="team")
    assert verify(team) == VALID
    (tmp_path / "lines").write_bytes(b"".join(export(team)))
    import_(tmp_path / "lines", f"{team}_again")
    assert verify(f"{team}_again") == VALID


@deep
def test_a_right_to_arrange_ends_when_it_is_taken_away(ledger, team, postgres, roles):
    """Numbers written beforehand are worth nothing: an arrangement counts in its own transaction only."""
    grant(team, "charger", arrange=True)
    with postgres.within(team, "charger") as connection:
        connection.execute("INSERT INTO arrangements (number) SELECT generate_series(1, 9)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO arrangements (number, made) VALUES (1, '1')")
    assert ledger.set_scope("team", "1/5") is not None  # of the owner, on a number that was written before
    assert verify(team) == VALID
    with postgres.within(team) as connection:
        connection.execute("REVOKE INSERT (number) ON arrangements FROM charger")
    with postgres.within(team, "charger") as connection:
        entered(connection, "reset", ARRANGED["reset"][1])
    with Ledger.open(team) as late, pytest.raises(LedgerError, match="entry 2 arranges the ledger"):
        late.charge_plan(plan("1/100"), "z")
    assert verify(team)["first_bad"] == 2
    with postgres.within(team) as owner:  # the way out, as docs/ledger-team.md says
        owner.execute("GRANT DELETE ON entries TO CURRENT_USER")
        owner.execute("DELETE FROM entries WHERE number >= 2")
        [last] = owner.execute("SELECT digest FROM entries WHERE number = 1").fetchone()
        owner.execute("REVOKE DELETE ON entries FROM CURRENT_USER")
    assert repair(team, last)["repaired"] == ["head"]
    assert verify(team) == VALID
    with Ledger.open(team) as again:
        again.charge_plan(plan("1/100"), "z", scope="team")
    assert verify(team) == VALID


@deep
@pytest.mark.parametrize(
    "damage", ["DELETE FROM nodes", "UPDATE nodes SET body = 'x'", "UPDATE ledger SET last = 1"]
)
def test_what_a_charger_does_to_balances_and_head_is_repaired(ledger, team, postgres, roles, damage):
    """Both are theirs to write; the entries, from which they follow, are not."""
    grant(team, "charger")
    for place in range(1, 6):
        ledger.charge_plan(plan("1/100", (place, place + 7)), "part")
    head = ledger.show()["head"]
    with postgres.within(team, "charger") as connection:
        connection.execute(damage)
    assert not verify(team)["valid"]
    what = "head" if "ledger" in damage else "balances"
    if what == "head":
        with pytest.raises(LedgerError, match="may be lost"):
            repair(team)
    assert repair(team, head if what == "head" else None) == {"repaired": [what], "entries": 5, "head": head}
    assert repair(team)["repaired"] == []
    assert verify(team) == VALID
    with Ledger.open(team) as again:
        assert again.charge_plan(plan("1/100", (3, 9)), "more").entry == 6


@deep
def test_a_repair_that_is_stopped_is_cut_off_by_the_server(ledger, team, admin, monkeypatch):
    """It reads many rows with the lock in hand; the server's time limit must hold while it computes."""
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 1)
    for place in range(1, 6):
        ledger.charge_plan(plan("1/1000", (place, place)), "part")
    real = repairs.chain_of
    monkeypatch.setattr(repairs, "chain_of", lambda *given: (real(*given), time.sleep(3))[0])
    with pytest.raises(LedgerError):
        repair(team)
    assert ledger.charge_plan(plan("1/1000"), "more").entry == 6


@deep
def test_a_repair_writes_all_pages_of_balances(ledger, team, admin, monkeypatch):
    for place in range(1, 40):
        ledger.charge_plan(plan("1/1000", (place * 5, place * 5)), "part")
    before = admin.execute("SELECT * FROM nodes ORDER BY node").fetchall()
    admin.execute("DELETE FROM nodes")
    monkeypatch.setattr("dpaccount.ledger.journal.verify._ROWS", 7)
    assert repair(team)["repaired"] == ["balances"]
    assert admin.execute("SELECT * FROM nodes ORDER BY node").fetchall() == before


@deep
def test_what_is_granted_is_what_a_role_then_may(ledger, team, roles):
    with pytest.raises(InputError, match="is no role"):
        grant(team, "public", read_only=True)
    grant(team, "charger")
    for options, may in (({"read_only": True}, "reader"), ({"arrange": True}, "charger")):
        with pytest.raises(LedgerError, match=f"{may} may still not .*ask its owner"):
            grant(as_role(team, "charger"), may, **options)
    with pytest.raises(LedgerError, match=r"charger may charge .* already; REVOKE"):
        grant(team, "charger", read_only=True)
    grant(team, "charger", arrange=True)
    with pytest.raises(LedgerError, match=r"charger may arrange .* already; REVOKE"):
        grant(team, "charger")


@deep
def test_what_a_release_calls_a_role_is_its_own(ledger, team):
    ledger.charge(pure("1/20"), "draw", (2, 3), "draw").noisy("noise", 0, np.array([5]))
    ledger.keep_release("draw", {"role": "of the second arm"})
    assert verify(team) == VALID


@deep
@pytest.mark.parametrize("body", ["no JSON", "[1]", "[" * 100_000], ids=["text", "list", "brackets"])
def test_an_entry_of_nonsense_is_named(ledger, team, admin, monkeypatch, body):
    with monkeypatch.context() as patch:
        patch.setattr(entries, "as_written", lambda _: body)
        entered(admin, "refusal", {})
    assert verify(team)["first_bad"] == 1


@deep
@pytest.mark.parametrize(("kind", "facts"), [("refusal", {"role": "owner"}), ("budget", {"epsilon": "100"})])
def test_what_a_charger_writes_about_others_by_hand_is_found(ledger, team, postgres, roles, kind, facts):
    grant(team, "charger")
    with Ledger.open(as_role(team, "charger")) as theirs:
        theirs.charge_plan(plan("1/100"), "x")
        assert verify(team) == VALID
    with postgres.within(team, "charger") as connection:
        entered(connection, kind, facts)
    assert verify(team)["first_bad"] == 2


@deep
def test_a_ledger_without_rights_to_arrange_is_refused(ledger, team, admin):
    admin.execute("DROP TABLE arrangements")
    with pytest.raises(LedgerError, match="has one right to arrange"):
        Ledger.open(team)


@deep
def test_who_may_read_reads_and_strangers_do_not(ledger, team, roles):
    grant(team, "reader", read_only=True)
    ledger.charge_plan(plan(), "one")
    with Ledger.open(as_role(team, "reader")) as theirs:
        assert theirs.show()["entries"] == 1
        assert theirs.verify() == VALID
        with pytest.raises(LedgerError, match=r"no such access; .*ledger grant"):
            theirs.charge_plan(plan(), "two")
    with pytest.raises(LedgerError, match="does not exist, or this role may not see it"):
        Ledger.open(as_role(team, "stranger"))
    with pytest.raises(LedgerError, match="names a role that its server does not know"):
        grant(team, 'nobody"; DROP')
    assert ledger.show()["entries"] == 1


def test_a_file_has_no_roles(url):
    with pytest.raises(LedgerError, match="roles are those of a PostgreSQL server"):
        grant(url, "charger")


# ------------------------------------------------------------------ changed, foreign


@deep
@pytest.mark.parametrize(
    ("change", "bad"),
    [
        ("UPDATE entries SET body = body || ' ' WHERE number = 1", 1),
        ("DELETE FROM entries WHERE number = 1", 1),
        ("UPDATE nodes SET body = replace(body, '1/2', '1/4')", "totals"),
        ("DELETE FROM nodes", "totals"),
        ("UPDATE ledger SET last = 1", "head"),
    ],
)
def test_what_is_changed_behind_its_back_is_found(ledger, team, admin, change, bad):
    ledger.charge_plan(plan("1/2", (3, 5)), "one")
    ledger.charge_plan(plan("1/2", (5, 9)), "two")
    admin.execute("GRANT UPDATE, DELETE ON entries TO CURRENT_USER")
    admin.execute(change)
    assert verify(team)["first_bad"] == bad
    if bad != 1:
        with Ledger.open(team) as again, pytest.raises(LedgerError):
            again.charge_plan(plan("1/4", (3, 5)), "beyond")


@deep
@pytest.mark.parametrize(
    "code",
    [
        "CREATE TRIGGER t BEFORE UPDATE ON entries EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "CREATE RULE r AS ON UPDATE TO ledger DO INSTEAD NOTHING",
        "CREATE VIEW v AS SELECT 1",
        "ALTER TABLE nodes ENABLE ROW LEVEL SECURITY",
        "CREATE TABLE more () INHERITS (entries)",
        "ALTER TABLE entries ADD COLUMN more TEXT DEFAULT repeat('x', 1000)",
        "ALTER TABLE entries ADD COLUMN more TEXT GENERATED ALWAYS AS (body || body) STORED",
        "ALTER TABLE entries ALTER COLUMN role SET DEFAULT upper('x')",
        "ALTER TABLE entries ALTER COLUMN key TYPE varchar",
        'ALTER TABLE entries ALTER COLUMN key TYPE text COLLATE "C"',
        "ALTER TABLE entries DROP CONSTRAINT entries_pkey, ALTER COLUMN number DROP NOT NULL",
    ],
)
def test_a_schema_that_holds_code_is_refused(ledger, team, admin, code):
    admin.execute(code)
    with pytest.raises(LedgerError, match="holds triggers, rules, views or columns that a ledger has not"):
        Ledger.open(team)


@deep
def test_another_schema_is_no_ledger(team, admin, postgres):
    admin.execute(f"CREATE SCHEMA {server_address(team).schema}")
    with pytest.raises(LedgerError, match="does not exist"):
        Ledger.open(team)
    admin.execute("CREATE TABLE ledger (format TEXT, last BIGINT, head TEXT)")
    with pytest.raises(LedgerError, match="not a ledger of this kind"):
        Ledger.open(team)


def test_a_server_that_forgets_in_a_crash_is_refused(ledger, team, monkeypatch):
    monkeypatch.setattr(server, "_FACTS", server._FACTS.replace("current_setting('fsync')", "'off'"))
    with pytest.raises(LedgerError, match="fsync on, or a crash loses charges"):
        Ledger.open(team)


#: what a role's connections begin with, and what a writer needs
HOSTILE = {
    "synchronous_commit": ("off", "on"),
    "client_min_messages": ("error", "warning"),
    "lock_timeout": ("1ms", "1min"),
    "idle_in_transaction_session_timeout": ("0", "1min"),
    "search_path": ("public", None),
    "statement_timeout": ("10min", "0"),
}


@pytest.fixture
def pooled(monkeypatch):
    """Let every transaction find what a pooler leaves: a session in which nothing is set or prepared.

    That it is a pooler is seen by the number of the process that answers.
    """
    monkeypatch.setattr(server, "_FACTS", server._FACTS.replace("pg_backend_pid()", "0"))
    real = server.LedgerServer._started

    def started(place, begin, until):
        def discarded(link, pipeline):
            link.execute("DISCARD ALL")
            return begin(link, pipeline)

        return real(place, discarded, until)

    monkeypatch.setattr(server.LedgerServer, "_started", started)


@deep
@pytest.mark.parametrize("way", ["direct", "pooled"])
def test_settings_are_ours_whatever_the_role_and_a_pooler_say(ledger, postgres, roles, team, way, request):
    """The database's, a role's, or what a pooler left: all of them at once."""
    if way == "pooled":
        request.getfixturevalue("pooled")
    with postgres.connect() as connection:
        connection.execute("CREATE ROLE hostile LOGIN")
        for name, (theirs, _) in HOSTILE.items():
            connection.execute(f"ALTER ROLE hostile SET {name} = '{theirs}'".encode())
    try:
        grant(team, "hostile", arrange=True)
        ours = {name: wanted for name, (_, wanted) in HOSTILE.items()}
        ours["search_path"] = f"{server_address(team).schema},pg_temp"
        with Ledger.open(as_role(team, "hostile")) as theirs:
            for number in range(8):  # more than the driver waits for before it prepares a statement
                theirs.charge_plan(plan("1/100"), "x", f"key {number}")
            for moment in (theirs._store.reading, theirs._store.writing):
                with moment() as rows:
                    shown = {name: rows._session.execute(f"SHOW {name}").fetchone()[0] for name in HOSTILE}
                assert shown == ours
            receipt = theirs.charge(pure("1/100"), "draw", key="draw")
            receipt.noisy("noise", 0, np.array([5]))
            theirs.set_scope("team", 1)
            assert theirs.verify() == VALID
    finally:
        with postgres.connect() as connection:
            connection.execute("DROP OWNED BY hostile")
            connection.execute("DROP ROLE hostile")


@deep
def test_a_pooler_that_leads_elsewhere_is_noticed_in_the_next_transaction(ledger, team, pooled):
    """To a server that was started later, that is, or at another time: who it is, is asked anew."""
    with Ledger.open(team) as theirs:
        theirs.charge_plan(plan(), "one")
        place = theirs._store.place
        link = place._idle.take()
        link.start, link.stamp = "elsewhere", {**link.stamp, "server": "elsewhere"}
        place._idle.keep(link, server.process.identity())
        assert theirs.charge_plan(plan(), "two").entry == 2
        other = place._idle.take()
        assert other is not link
        place._idle.keep(other, server.process.identity())
        with theirs._store.reading() as rows:
            assert len({json.loads(entry.body)["server"] for entry in rows.entries()}) == 1


# ------------------------------------------------------------------ bad URLs


@looped(
    "url",
    [
        "postgresql://",
        "postgresql://user@host/db",
        "postgresql://user@host/db?ledger=",
        "postgresql://user@host/db?ledger=Clinic",
        "postgresql://user@host/db?ledger=a;b",
        "postgresql://user@host/db?ledger=" + "a" * 51,
        "postgresql://user@host/?ledger=clinic",
        "postgresql://user@host?ledger=clinic",
        "postgresql://user@host/a/b?ledger=clinic",
        "postgresql://host/db?ledger=clinic",
        "postgresql://user:secret@/db?ledger=clinic",
        "postgresql://user:secret@ho st/db?ledger=clinic",
        "postgresql://user:secret@host\0/db?ledger=clinic",
        "postgresql://user:secret@host%00/db?ledger=clinic",
        "postgresql://user:secret@host,other/db?ledger=clinic",
        "postgresql://user:secret@höst/db?ledger=clinic",
        "postgresql://user:secret@host:0/db?ledger=clinic",
        "postgresql://user:secret@host:70000/db?ledger=clinic",
        "postgresql://user:secret@host:five/db?ledger=clinic",
        "postgresql://user:secret@[::1/db?ledger=clinic",
        "postgresql://user:secret@host/db?ledger=clinic&ledger=other",
        "postgresql://user:secret@host/db?ledger=clinic&options=-cfsync=off",
        "postgresql://user:secret@host/db?ledger=clinic&sslmode=",
        "postgresql://user:secret@host/db?ledger=clinic#x",
        "postgresql://user:secret@host/db%?ledger=clinic",
        "postgresql+asyncpg://user:secret@host/db?ledger=clinic",
        "postgres\n://user:secret@host/db?ledger=clinic",
    ],
)
def test_a_bad_url_is_one_sentence_that_does_not_repeat_it(url):
    with pytest.raises(InputError) as refusal:
        Ledger.open(url)
    assert "\n" not in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_a_url_says_where(team):
    where = server_address(
        "postgresql+psycopg://ann%40home:p%2Fw@[::1]:5433/my%20db?ledger=clinic&sslmode=verify-full"
    )
    assert where.parameters == {
        "host": "::1",
        "port": "5433",
        "user": "ann@home",
        "password": "p/w",
        "dbname": "my db",
        "sslmode": "verify-full",
    }
    assert "p/w" not in repr(where)
    assert where.schema == "dpaccount_clinic"


@deep
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"/postgres\?", "/missing?"),
        ("owner@", "nobody@"),
        ("%2Fsocket", "%2Fmissing"),
        (r"@.*/postgres", "@127.0.0.1:1/postgres"),
    ],
)
def test_a_server_that_cannot_be_reached_is_one_sentence(team, monkeypatch, old, new):
    monkeypatch.setattr(server, "FIRST_SECONDS", 0.2)
    with pytest.raises(
        LedgerError, match=r"cannot be used on its server \(.*\); check the server and retry"
    ) as refusal:
        Ledger.open(re.sub(old, new, team))
    assert "\n" not in str(refusal.value)


def test_other_ledgers_of_the_same_data_are_named(postgres, team):
    """In the same database; those that the role may not read are left out."""
    made = [re.sub(r"ledger=\w+", f"ledger=same_{name}", team) for name in "abc"]
    for url, dataset in zip(made, ("visits", "visits", "sales"), strict=True):
        init(url, **BUDGET, dataset=dataset)
    with postgres.connect() as link:
        for name in ("\\1", "x&witness=/etc/passwd", "a b"):
            link.execute(
                psycopg.sql.SQL("CREATE SCHEMA {}").format(psycopg.sql.Identifier(f"dpaccount_{name}"))
            )
    assert same_data(made[1]) == ["same_a"]
    assert same_data(made[2]) == []


def test_a_schema_of_somebody_else_is_no_neighbour(postgres, team):
    """Its functions would come before the server's own, and run as whoever looks there."""
    init(team, **BUDGET, dataset="alone")
    postgres.role("eve")
    ran = postgres.folder / "data" / "ran"
    with postgres.connect() as link:
        link.execute("GRANT CREATE ON DATABASE postgres TO eve")
    with postgres.connect("eve") as link:
        link.execute("CREATE SCHEMA dpaccount_evil")
        link.execute("GRANT USAGE ON SCHEMA dpaccount_evil TO PUBLIC")
        link.execute("CREATE TABLE dpaccount_evil.ledger AS SELECT 1 AS last, 'x' AS head, 'x' AS format")
        link.execute("GRANT SELECT ON dpaccount_evil.ledger TO PUBLIC")
        link.execute(
            "CREATE FUNCTION dpaccount_evil.pg_backend_pid() RETURNS int LANGUAGE plpgsql AS"
            f" $$ BEGIN COPY (SELECT current_user) TO '{ran}'; RETURN 1; END $$"
        )
    assert same_data(team) == []
    assert not ran.exists()


def test_functions_of_the_schema_are_not_run(ledger, team, admin):
    """Who may create there could else run code as whoever opens the ledger."""
    ledger.charge_plan(plan("1/10"), "one")
    for name, kind in (
        ("pg_backend_pid", "int"),
        ("pg_is_in_recovery", "boolean"),
        ("pg_current_xact_id", "xid8"),
    ):
        admin.execute(
            f"CREATE FUNCTION {name}() RETURNS {kind} LANGUAGE plpgsql AS $$ BEGIN RAISE 'their code'; END $$"
        )
    with Ledger.open(team) as again:
        assert again.charge_plan(plan("1/10"), "two").entry == 2
        assert again.verify() == VALID
