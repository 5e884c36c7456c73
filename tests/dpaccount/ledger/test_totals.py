"""Whatever is done to a ledger's file, the next charge is refused or leaves the totals that it should.

What it should leave is kept by the tests, apart from the file.  Whoever rewrites the chain to its end, or
puts an old copy back, is not told from the ledger's owner (docs/ledger-integrity.md).
"""

import random
import shutil
import sqlite3
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from dpaccount.errors import BudgetError, LedgerError
from dpaccount.ledger.balances.step_functions import spent_on, total
from dpaccount.ledger.entry import Entry
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores.rows import Rows
from dpaccount.plan.events import Plan, Pure, Relation
from tests.depth import deep
from tests.dpaccount.ledger.test_tree import of_charges

from .conftest import BUDGET, by_hand, pure, steps_in
from .test_tamper import COLUMNS, rows_of, variants

TENTH = Fraction(1, 10)
CHARGES = [((1, 10), "one"), ((5, 20), "two"), (None, "three"), ((15, 30), "four")]
CHARGED = [spent_on(cover, (TENTH,)) for cover, _ in CHARGES]
BEFORE, AFTER = (total(charges, 1) for charges in (CHARGED, [*CHARGED, spent_on((8, 25), (TENTH,))]))


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Path:
    """Return a ledger with charges, a draw, a kept release and a refusal."""
    file = tmp_path_factory.mktemp("original") / "budget.db"
    url = f"sqlite:///{file}"
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        for cover, key in CHARGES:
            ledger.charge(pure(TENTH), key, cover, key)
        ledger.charge(pure(TENTH), "one", (1, 10), "one").noisy("noise", 0, np.array([1]))
        ledger.keep_release("one", {"value": 1, "totals": "not the ledger's"})
        with pytest.raises(BudgetError):
            ledger.charge(pure(1), "too much")
    assert steps_in(file) == BEFORE
    return file


def fresh(original: Path) -> Path:
    """Return the path of a copy, which is made."""
    copy = original.with_name("copy.db")
    for old in copy.parent.glob("copy.db*"):
        old.unlink()
    shutil.copy(original, copy)
    return copy


def edited(original: Path, change: str, values: tuple = ()) -> Path | None:
    """Return a copy with a change made by hand; None where the database refuses it."""
    copy = fresh(original)
    database = sqlite3.connect(copy)
    try:
        changed = database.execute(change, values).rowcount
        database.commit()
    except sqlite3.IntegrityError:
        return None
    finally:
        database.close()
    return copy if changed else None


def charged(file: Path) -> bool:
    """Charge a copy; say whether that was accepted, with the totals that it should leave."""
    try:
        with Ledger.open(f"sqlite:///{file}") as ledger:
            ledger.charge(pure(TENTH), "next", (8, 25))
    except LedgerError as error:
        return said_well(error)
    root = "SELECT root FROM entries WHERE number = (SELECT last FROM ledger)"
    assert by_hand(file, root) == [(after(),)]
    return True


@lru_cache(maxsize=1)
def after() -> str:
    """Return the root of what all charges and the next one should leave, whatever was done to the file."""
    tree = of_charges([*CHARGED, spent_on((8, 25), (TENTH,))], 1)
    return tree.root.text


def said_well(error: LedgerError) -> bool:
    """Check that a refusal is one sentence in two halves; return False."""
    assert "; " in str(error)
    assert "\n" not in str(error)
    return False


def test_the_untouched_copy_is_charged(original):
    copy = fresh(original)
    assert charged(copy)
    assert steps_in(copy) == AFTER


def every_edit(original):
    for table, columns in COLUMNS.items():
        for rowid, *values in rows_of(original, table):
            yield f"DELETE FROM {table} WHERE rowid = ?", (rowid,)
            for column, value in zip(columns, values, strict=True):
                for other in variants(value):
                    yield f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (other, rowid)


def each_edit_is_harmless(original, edits):
    nodes = 0
    for change, values in edits:
        file = edited(original, change, values)
        if file is not None and not charged(file):
            nodes += "nodes" in change
    return nodes


@deep
def test_edited_rows(original, depth):
    edits = list(every_edit(original))
    assert len(edits) > 300
    assert each_edit_is_harmless(original, depth.some(edits, 40))


LOWERED = [
    "DELETE FROM nodes",
    "DELETE FROM nodes WHERE node = (SELECT min(node) FROM nodes)",
    "DELETE FROM nodes WHERE node = (SELECT max(node) FROM nodes)",
    "UPDATE nodes SET body = replace(body, '1/10', '0')",
    "UPDATE nodes SET body = replace(body, '1/10', '1/20') WHERE node = (SELECT max(node) FROM nodes)",
    "UPDATE nodes SET body = replace(body, '1/10', '01/10') WHERE node = (SELECT max(node) FROM nodes)",
    "UPDATE nodes SET body = body || ' ' WHERE node = (SELECT max(node) FROM nodes)",
    "UPDATE nodes SET body = CAST(body AS BLOB)",
    "UPDATE nodes SET body = '0|0||0|0|' WHERE node = (SELECT max(node) FROM nodes)",
]


def charge_each(ledger: Ledger) -> None:
    for unit in range(1, 31):
        ledger.charge(pure(Fraction(1, 1000)), "next", (unit, unit))


@deep(quick_every=2)
@pytest.mark.parametrize("change", LOWERED)
def test_changed_totals_refuse_every_charge_that_reads_them(original, change):
    """A charge over everybody reads the root alone, which is the chain's: it is decided on what is true."""
    file = edited(original, change)
    with Ledger.open(f"sqlite:///{file}") as ledger:
        for cover in ((1, 29), (1, 2), (8, 25)):
            with suppress(LedgerError):
                ledger.charge(pure(TENTH), "next", cover)
        with pytest.raises(LedgerError, match="totals were changed; close this process"):
            charge_each(ledger)
        with pytest.raises((BudgetError, LedgerError)):
            ledger.charge(pure(Fraction(8, 10)), "everybody")
    assert verify(f"sqlite:///{file}") == {"valid": False, "first_bad": "totals"}


def test_extra_nodes_are_never_read_and_are_found(original):
    file = edited(original, "INSERT INTO nodes VALUES (17, '0|0||0|0|')")
    assert charged(file)
    assert verify(f"sqlite:///{file}") == {"valid": False, "first_bad": "totals"}


def test_a_missing_text_refuses_the_charge(original):
    """NULL, which a table of ours does not hold but a page that was cut and read as zeros does."""
    file = fresh(original)
    by_hand(
        file,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'body TEXT NOT NULL)', 'body TEXT)')",
    )
    by_hand(file, "UPDATE nodes SET body = NULL")
    assert not charged(file)


@pytest.mark.parametrize("change", [LOWERED[0], *LOWERED[2:6]])
def test_changed_totals_refuse_a_charge_to_an_open_ledger_that_reads_them(original, change):
    file = fresh(original)
    with Ledger.open(f"sqlite:///{file}") as ledger:
        ledger.show()
        by_hand(file, change)
        with pytest.raises(LedgerError, match="totals were changed; close this process"):
            charge_each(ledger)


def test_a_chain_that_goes_back_refuses_an_open_ledger(original):
    """An old copy put in place, which a ledger that was opened before knows."""
    file = fresh(original)
    with Ledger.open(f"sqlite:///{file}") as ledger:
        ledger.show()
        by_hand(file, "DELETE FROM entries WHERE number = (SELECT last FROM ledger)")
        last, *_ = by_hand(file, "SELECT number, digest FROM entries ORDER BY number DESC")
        by_hand(file, "UPDATE ledger SET last = ?, head = ?", values=last)
        with pytest.raises(LedgerError, match="chain is broken"):
            ledger.charge(pure(TENTH), "next")


@pytest.mark.parametrize(
    "change",
    [
        'UPDATE entries SET body = replace(body, \'"epsilon":"1"\', \'"epsilon":"9"\') WHERE number = 0',
        "UPDATE entries SET digest = 'sha256:0' WHERE number = 0",
        "UPDATE entries SET key = 'a budget' WHERE number = 0",
        "DELETE FROM entries WHERE number = 0",
    ],
)
def test_a_changed_budget_is_not_opened(original, change):
    file = edited(original, change)
    with pytest.raises(LedgerError, match="budget was changed; close this process"):
        Ledger.open(f"sqlite:///{file}")


# ------------------------------------------------------------------ cut files


@deep
def test_a_file_cut_in_its_last_page_is_refused(original):
    """At every seventh byte of it: SQLite itself reads what is missing as zeros."""
    size = original.stat().st_size
    copy = fresh(original)
    with copy.open("r+b") as file:
        for end in range(size - 1, size - 4096, -7):
            file.truncate(end)
            with pytest.raises(LedgerError, match="cut inside a page; close this process"):
                Ledger.open(f"sqlite:///{copy}")
        file.truncate(size - 4096)
        assert not charged(copy)


@deep
def test_pages_that_end_in_zeros(original, depth):
    """What a cut leaves, once the file has grown again: from every sixteenth byte."""
    raw = original.read_bytes()
    for place in depth.some(range(0, len(raw), 16), 60):
        end = -(-(place + 1) // 4096) * 4096
        copy = fresh(original)
        copy.write_bytes(raw[:place] + bytes(end - place) + raw[end:])
        charged(copy)


@deep
@pytest.mark.parametrize("seed", range(20))
def test_flipped_bits_and_lost_stretches(original, seed, depth):
    dice, raw = random.Random(depth.seed(seed)), original.read_bytes()
    for _ in range(100):
        damaged, start = bytearray(raw), dice.randrange(len(raw))
        if dice.random() < 0.7:
            damaged[start] ^= 1 << dice.randrange(8)
        else:
            stretch = damaged[start : start + dice.choice([4, 40, 400])]
            damaged[start : start + len(stretch)] = dice.randbytes(len(stretch))
        copy = fresh(original)
        copy.write_bytes(damaged)
        charged(copy)


@pytest.mark.parametrize("many", [False, True])
def test_a_file_that_loses_an_entry_takes_no_charge(original, monkeypatch, many):
    """As a damaged page may: the row goes in, and is not found by its number."""
    file, three = fresh(original), [(Plan(Relation.REPLACE_ONE, (Pure(epsilon=TENTH),)), "next", None)] * 3
    with Ledger.open(f"sqlite:///{file}") as ledger:
        right = Rows.add
        monkeypatch.setattr(Rows, "add", lambda rows, entry: (right(rows, entry), lose(rows, entry)))
        with pytest.raises(LedgerError, match="loses what is written; close this process"):
            ledger.charge_many(three) if many else ledger.charge(pure(TENTH), "next", (8, 25))
        monkeypatch.undo()
    assert charged(file)  # and nothing was charged before


def lose(rows: Rows, entry: Entry) -> None:
    rows._connection.execute("UPDATE entries SET number = -number WHERE number = ?", (entry.number,))
