"""A ledger's file holds its three tables, as they were declared, and nothing beside them; or it is refused.

What SQLite reads follows from the list of tables in the file, which whoever holds it may rewrite: an index that
says something else than its table, keys compared without case, a row that no scan meets.  A file that reads as
damaged may be whole: what is said of it, and what is there when it is read anew.
"""

import re
import sqlite3
import subprocess
import sys
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import pytest

import dpaccount
from audits.reports.log import log
from dpaccount.errors import MAY_BE_WHOLE, LedgerError
from dpaccount.ledger.entry import seal
from dpaccount.ledger.journal import export
from dpaccount.ledger.journal import verify as heads
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores.rows import Rows, begin
from dpaccount.ledger.stores.sqlite_file import trouble
from dpaccount.plan.events import Plan, Pure, Relation
from tests.depth import deep

from .conftest import by_hand, pure


@pytest.fixture
def original(tmp_path) -> Path:
    """Return a ledger with three keyed charges, and the marks of one."""
    file = tmp_path / "budget.db"
    init(f"sqlite:///{file}", epsilon=1, delta="1e-6", unit="person", relation="replace-one")
    with Ledger.open(f"sqlite:///{file}") as ledger:
        for key in ("a", "b"):
            receipt = ledger.charge(pure("1/10"), "one", key=key)
        ledger._mark(receipt.entry, 1, 1)
        ledger.keep_release("b", {"value": 12.5})
        ledger.charge(pure("1/10"), "two", key="c")
    return file


def test_no_row_stands_before_entry_0(original):
    by_hand(
        original,
        "INSERT INTO entries SELECT -1, kind, 'new', about, body, root, digest FROM entries WHERE number = 1",
    )
    url = f"sqlite:///{original}"
    assert verify(url) == {"valid": False, "first_bad": 0}
    for act in (log, heads.standing, lambda url: list(export.lines(url)), charged_new):
        with pytest.raises(LedgerError, match=r"entry -?[01] was changed"):
            act(url)


def charged_new(url: str) -> None:
    with Ledger.open(url) as ledger:
        ledger.charge(pure("1/10"), "one", cover=(1, 10), key="new")


#: what somebody who holds the file does to its tables, of which `sqlite_master` is the list
SCHEMAS = {
    "an index": ["CREATE INDEX i ON entries (digest, number, kind, key, about, body, root)"],
    "a table": ["CREATE TABLE other (its own)"],
    "a view": ["CREATE VIEW v AS SELECT 1"],
    "a view by another word": [
        "CREATE VIEW v AS SELECT 1",
        "UPDATE sqlite_master SET type = 'View' WHERE name = 'v'",
    ],
    "a trigger": ["CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM nodes; END"],
    "keys without case": [
        "UPDATE sqlite_master SET sql = replace(sql, 'key TEXT UNIQUE', 'key TEXT COLLATE NOCASE UNIQUE')"
    ],
    "a computed column": ["ALTER TABLE entries ADD COLUMN more TEXT AS (printf('%01000d', number))"],
    "numbers that may be none": [
        "UPDATE sqlite_master SET sql = replace(sql, 'number INTEGER NOT NULL PRIMARY', 'number INT PRIMARY')"
    ],
    "no order of keys": [
        "UPDATE sqlite_master SET sql = replace(sql, 'key TEXT UNIQUE', 'key TEXT')",
        "DELETE FROM sqlite_master WHERE name = 'sqlite_autoindex_entries_1'",
    ],
}


@deep(quick_every=2)
@pytest.mark.parametrize("what", SCHEMAS)
def test_tables_are_a_ledgers_and_no_others(original, what):
    changed_schema(original, *SCHEMAS[what])
    for act in (verify, Ledger.open):
        with pytest.raises(LedgerError, match=r"that a ledger has not|reads as damaged"):
            act(f"sqlite:///{original}")


def changed_schema(file: Path, *statements: str) -> None:
    by_hand(file, "PRAGMA writable_schema = ON", *statements)


@deep
@pytest.mark.parametrize(
    ("number", "about"), [(1, "key"), (2, "key"), (3, "about"), (4, "about"), (5, "key")]
)
def test_a_key_that_its_order_has_lost_is_found(original, number, about):
    """The database would not know the key again, and charge it once more.  `--since` asks for later ones only."""
    url = f"sqlite:///{original}"
    digests = dict(by_hand(original, "SELECT number, digest FROM entries"))
    [(was,)] = by_hand(original, f"SELECT {about} FROM entries WHERE number = {number}")
    by_hand(original, f"UPDATE entries SET {about} = 77 WHERE number = {number}")
    rows = by_hand(original, "SELECT * FROM sqlite_master")
    changed_schema(
        original,
        "DELETE FROM sqlite_master WHERE name LIKE 'sqlite_autoindex_entries%'",
        "UPDATE sqlite_master SET sql = replace(replace(sql, ' UNIQUE,', ','), ', UNIQUE (kind, about)', '')",
    )
    database = sqlite3.connect(original, isolation_level=None)
    database.execute(f"UPDATE entries SET {about} = ? WHERE number = ?", (was, number))
    database.execute("PRAGMA writable_schema = ON")
    database.execute("DELETE FROM sqlite_master")
    database.executemany("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", rows)
    database.close()
    damaged = {"valid": False, "first_bad": "file"}
    assert verify(url) == damaged
    for before, since in digests.items():
        assert heads.verify(url, since=since) == damaged
        if before < number:
            assert heads.verify(url, since=since, first=digests[0]) == damaged


def test_texts_are_utf_8(original):
    """In UTF-16 a stray byte makes another text, which reads alike: a key that is there would not be found."""
    copy = original.with_name("other.db")
    with sqlite3.connect(original) as ours, sqlite3.connect(copy) as other:
        other.execute("PRAGMA encoding = 'UTF-16le'")
        rows = Rows(ours, "ours")
        begin(other, rows.entries(), rows.nodes())
    ours.close()
    other.close()
    for act in (verify, Ledger.open):
        with pytest.raises(LedgerError, match="not in UTF-8"):
            act(f"sqlite:///{copy}")


@pytest.mark.parametrize(
    "what", ["ANALYZE", "VACUUM", "REINDEX", "PRAGMA journal_mode = DELETE", "PRAGMA optimize"]
)
def test_what_a_database_is_usually_done_changes_nothing(original, what):
    by_hand(original, what)
    with Ledger.open(f"sqlite:///{original}") as ledger:
        plan = Plan(Relation.REPLACE_ONE, (Pure(epsilon="1/100"),))
        assert [ledger.charge_plan(plan, "three", key="d").known for _ in "12"] == [False, True]
    assert verify(f"sqlite:///{original}")["valid"]


def test_a_copy_with_a_journal_forgets_nothing_either(original):
    """SQLite makes the end of a journal durable at `synchronous=EXTRA` alone."""
    copy = original.with_name("copy.db")
    by_hand(original, "VACUUM INTO ?", values=(str(copy),))
    with Ledger.open(f"sqlite:///{copy}") as ledger, ledger._store.reading() as rows:
        settings = [
            rows._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous")
        ]
        assert settings == ["delete", 3]


def test_the_last_number_is_a_whole_one(original):
    [(since,)] = by_hand(original, "SELECT head FROM ledger")
    changed_schema(original, "UPDATE sqlite_master SET sql = replace(sql, 'last INTEGER', 'last BLOB')")
    changed_schema(original, "UPDATE ledger SET last = CAST(last AS REAL)")
    changed_schema(original, "UPDATE sqlite_master SET sql = replace(sql, 'last BLOB', 'last INTEGER')")
    url = f"sqlite:///{original}"
    wrong = {"valid": False, "first_bad": "head"}
    assert verify(url) == heads.verify(url, since=since) == wrong
    with Ledger.open(url) as ledger, pytest.raises(LedgerError, match="chain is broken"):
        ledger.charge(pure("1/100"), "three")


def test_a_reset_that_the_balances_do_not_hold_is_refused(original):
    body = '{"reason":"x","time":"2026-01-01T00:00:00+00:00"}'
    last = "SELECT number, root, digest FROM entries ORDER BY number DESC LIMIT 1"
    [(number, root, before)] = by_hand(original, last)
    digest = seal(before, number + 1, "reset", None, None, body, root)
    entry = (number + 1, "reset", None, None, body, root, digest)
    by_hand(original, "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", values=entry)
    by_hand(original, "UPDATE ledger SET last = ?, head = ?", values=(number + 1, digest))
    url = f"sqlite:///{original}"
    assert verify(url) == {"valid": False, "first_bad": number + 1}
    with pytest.raises(LedgerError, match="the balances do not hold it"):
        charged_new(url)


PAGE = 4096
ANEW = """
import sys
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger
with Ledger.open(sys.argv[1]) as ledger:
    print(ledger.show()["entries"], verify(sys.argv[1])["valid"])
"""


def charge(ledger, number: int) -> None:
    plan = Plan(Relation.REPLACE_ONE, (Pure(epsilon=Fraction(1, 1000), cover=(number + 1, number + 5)),))
    ledger.charge_plan(plan, "x", f"key {number}")


@deep
def test_advice_is_in_one_place_and_no_message_says_to_put_a_backup_back():
    root = Path(dpaccount.__file__).parents[1]
    texts = {
        file.relative_to(root): file.read_text(encoding="utf-8")
        for package in ("dpaccount", "mechanisms", "audits", "bandits", "papers", "service")
        for file in (root / package).rglob("*.py")
    }
    files = [str(name) for name, text in texts.items() if re.search(r"back-?up", text, re.IGNORECASE)]
    assert files == ["dpaccount/errors.py"]
    assert not [name for name, text in texts.items() if "ledger" in str(name) and "restore" in text]
    assert "may be whole" in MAY_BE_WHOLE
    assert "a backup spends again" in MAY_BE_WHOLE


def test_what_sqlite_says_after_an_error_of_the_disk_is_no_verdict():
    """It reports corruption to every later call of the process, of a file that is whole."""
    for name in ("SQLITE_CORRUPT", "SQLITE_CORRUPT_VTAB", "SQLITE_IOERR_READ", None):
        error = ValueError("made up")
        error.sqlite_errorname = name
        assert MAY_BE_WHOLE in trouble(error)


@deep
@pytest.mark.parametrize("closed", [True, False])
def test_a_file_that_reads_as_damaged_and_is_whole_again_has_all_charges(make, url, tmp_path, closed):
    """Each page is read as nonsense for a while: whoever meets it is told to look anew, and finds all."""
    ledger = make()
    for number in range(40):
        charge(ledger, number)
    ledger.close()
    file = tmp_path / "budget.db"
    whole, met = file.read_bytes(), 0
    for page in range(0, len(whole), PAGE):
        one = Ledger.open(url)
        file.write_bytes(whole[:page] + b"\x55" * PAGE + whole[page + PAGE :])
        if closed:
            one.close()
        for act in (Ledger.show, lambda ledger: charge(ledger, 99)):
            try:
                with Ledger.open(url) if closed else nullcontext(one) as ledger:
                    act(ledger)
            except LedgerError as error:
                message = str(error)
                assert MAY_BE_WHOLE in message or page == 0, message
                met += MAY_BE_WHOLE in message
        one.close()
        for part in ("-wal", "-shm"):
            (tmp_path / f"budget.db{part}").unlink(missing_ok=True)
        file.write_bytes(whole)
    assert met > 1
    done = subprocess.run([sys.executable, "-c", ANEW, url], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["40", "True"]
    assert verify(url)["valid"]
