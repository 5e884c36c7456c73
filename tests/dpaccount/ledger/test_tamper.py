"""Whoever edits a ledger's file is found out by `verify` (unless they rewrite all of it)."""

import hashlib
import json
import random
import shutil
import sqlite3
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from audits.reports.log import log
from audits.reports.review import report
from dpaccount.errors import BudgetError, DpaccountError, LedgerError
from dpaccount.ledger.journal import verify as verifying
from dpaccount.ledger.journal.entries import as_written
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Gaussian, Plan, Relation
from tests.depth import deep, examples

from .conftest import BUDGET, VALID, by_hand, pure, sealed

COLUMNS = {
    "ledger": ("format", "last", "head"),
    "entries": ("number", "kind", "key", "about", "body", "root", "digest"),
    "nodes": ("node", "body"),
}


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Path:
    """Return a ledger with every kind of entry, keys, and totals of several levels."""
    file = tmp_path_factory.mktemp("original") / "budget.db"
    url = f"sqlite:///{file}"
    init(url, epsilon=1, delta=Fraction(1, 10**6), unit="person", relation="replace-one")
    with Ledger.open(url) as ledger:
        ledger.charge(pure("1/10"), "one", cover=(1, 10), key="a")
        receipt = ledger.charge(pure("1/10"), "two", cover=(5, 20), key="b")
        ledger._mark(receipt.entry, 1, 1)
        ledger.keep_release("b", {"value": 12.5})
        with pytest.raises(BudgetError):
            ledger.charge(pure(5), "too much")
        ledger.charge_plan(Plan(Relation.REPLACE_ONE, (Gaussian(sigma=50, cover=(2, 7)),)), "plan")
    assert verify(url) == VALID
    return file


def rows_of(file: Path, table: str) -> list[tuple]:
    return by_hand(file, f"SELECT rowid, * FROM {table} ORDER BY rowid")


def edited(original: Path, *statements: tuple) -> bool | None:
    """Apply statements to a copy of the ledger; say whether that was found out (None: not applied)."""
    copy = original.with_name("copy.db")
    shutil.copy(original, copy)
    database = sqlite3.connect(copy)
    try:
        changed = [database.execute(*statement).rowcount for statement in statements]
        database.commit()
        if not any(changed):
            return None
    except sqlite3.IntegrityError:
        return None
    finally:
        database.close()
    try:
        return not verify(f"sqlite:///{copy}")["valid"]
    except LedgerError:
        return True


def variants(value: object) -> list[object]:
    """Return other values to put in a column's place."""
    if isinstance(value, int):
        return [value + 1, value - 1, -value, 10**6, str(value) + " ", "x", b"1", value + 0.5]
    if value is None:
        return ["", "a", 0, 2, b""]
    half = len(value) // 2
    return [
        "",
        value + " ",
        value[1:],
        value[:-1],
        value[:half] + "~" + value[half + 1 :],
        value.encode(),
        value + "\x00",
        None,
        0,
    ]


@deep
def test_every_column_of_every_row(original):
    tried = 0
    for table, columns in COLUMNS.items():
        for rowid, *values in rows_of(original, table):
            for column, value in zip(columns, values, strict=True):
                for other in variants(value):
                    change = f"UPDATE {table} SET {column} = ? WHERE rowid = ? AND {column} IS NOT ?"
                    outcome = edited(original, (change, (other, rowid, other)))
                    assert outcome is not False, (table, rowid, column, value, other)
                    tried += outcome is True
    assert tried > 200


@deep
@examples(100, 100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_byte_of_every_text(original, data):
    table = data.draw(st.sampled_from(sorted(COLUMNS)))
    rowid, *values = data.draw(st.sampled_from(rows_of(original, table)))
    texts = [
        (name, value) for name, value in zip(COLUMNS[table], values, strict=True) if isinstance(value, str)
    ]
    column, value = data.draw(st.sampled_from(texts))
    raw = bytearray(value.encode())
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= data.draw(st.integers(1, 255))
    change = f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?"
    assert edited(original, (change, (bytes(raw), rowid))) is not False


@deep
def test_every_deleted_row(original):
    for table in COLUMNS:
        for rowid, *_ in rows_of(original, table):
            assert edited(original, (f"DELETE FROM {table} WHERE rowid = ?", (rowid,)))


@deep
def test_the_first_bad_entry_is_named(original):
    for number, *_ in rows_of(original, "entries"):
        for change in (
            "DELETE FROM entries WHERE number = ?",
            "UPDATE entries SET body = body || ' ' WHERE number = ?",
        ):
            assert edited(original, (change, (number,)))
            assert verify(f"sqlite:///{original.with_name('copy.db')}")["first_bad"] == number


@deep
def test_reordered_entries(original):
    numbers = [number for number, *_ in rows_of(original, "entries")]
    for low in numbers:
        for high in numbers[low + 1 :]:
            assert edited(
                original,
                ("UPDATE entries SET number = -1 WHERE number = ?", (low,)),
                ("UPDATE entries SET number = ? WHERE number = ?", (low, high)),
                ("UPDATE entries SET number = ? WHERE number = -1", (high,)),
            )


def test_added_rows(original):
    last = len(rows_of(original, "entries"))
    for statement in (
        ("INSERT INTO entries VALUES (?, 'charge', NULL, NULL, '{\"steps\":[]}', '', 'sha256:0')", (last,)),
        ("INSERT INTO nodes VALUES (30, '0|1/2||0|0|')", ()),
        ("INSERT INTO nodes SELECT node + 1, body FROM nodes WHERE node = (SELECT max(node) FROM nodes)", ()),
        ("INSERT INTO ledger VALUES ('other', 0, '')", ()),
    ):
        assert edited(original, statement)


def test_totals_emptied_to_spend_again(original):
    assert edited(original, ("DELETE FROM nodes", ()))
    assert verify(f"sqlite:///{original.with_name('copy.db')}")["first_bad"] == "totals"


def test_a_cut_tail_with_a_matching_head_leaves_wrong_totals(original):
    rows = rows_of(original, "entries")
    _, before = rows[-2][1], rows[-2][-1]
    assert edited(
        original,
        ("DELETE FROM entries WHERE number = ?", (len(rows) - 1,)),
        ("UPDATE ledger SET last = ?, head = ?", (len(rows) - 2, before)),
    )
    assert verify(f"sqlite:///{original.with_name('copy.db')}")["first_bad"] == "totals"


def test_a_raised_budget_with_rewritten_digests_changes_the_head(original):
    """One who rewrites the whole chain passes `verify`; only a head noted elsewhere tells."""
    copy = shutil.copy(original, original.with_name("copy.db"))
    sealed(copy, 0, lambda body: body.replace('"epsilon":"1"', '"epsilon":"9"'))
    assert verify(f"sqlite:///{copy}") == VALID
    assert by_hand(copy, "SELECT head FROM ledger") != by_hand(original, "SELECT head FROM ledger")


def test_a_consistent_chain_may_not_say_what_no_ledger_would(original):
    """A chain whose digests fit but whose last charge takes more than the budget."""
    copy = shutil.copy(original, original.with_name("copy.db"))
    [(last,)] = by_hand(copy, "SELECT last FROM ledger")
    sealed(copy, last, lambda body: as_written({**json.loads(body), "steps": [[1, "7"]]}))
    assert not verify(f"sqlite:///{copy}")["valid"]


def test_flipped_bytes_of_the_file(original):
    """Bytes that a hex editor changes: found out, or in a place that holds nothing."""
    raw = original.read_bytes()
    copy = original.with_name("copy.db")
    facts = [text for _, *values in rows_of(original, "entries") for text in values if isinstance(text, str)]
    for text in {text for text in facts if len(text) > 20}:
        place = raw.index(text.encode()) + len(text.encode()) // 2
        copy.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        with suppress(LedgerError):
            assert not verify(f"sqlite:///{copy}")["valid"]


@deep(quick_every=4)
@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_file_ends_in_one_sentence(original, seed, depth):
    """Random damage ends in an answer or an error of ours, never in a traceback from below."""
    dice = random.Random(depth.seed(seed))
    raw = bytearray(original.read_bytes())
    start = dice.randrange(len(raw))
    length = dice.choice([1, 1, 8, 2000])
    raw[start : start + length] = dice.randbytes(len(raw[start : start + length]))
    for old in original.parent.glob("copy.db*"):
        old.unlink()
    copy = original.with_name("copy.db")
    copy.write_bytes(raw)
    with suppress(LedgerError):
        verify(f"sqlite:///{copy}")
    with suppress(LedgerError, BudgetError), Ledger.open(f"sqlite:///{copy}") as ledger:
        ledger.show()
        ledger.charge(pure("1/100"), "try")


@pytest.mark.parametrize("number", range(7))
def test_a_sealed_body_of_endless_brackets_ends_in_one_sentence(original, tmp_path, number):
    """Its digest and all after it fit, so that it is read."""
    copy = shutil.copy(original, tmp_path / "copy.db")
    sealed(copy, number, lambda _: "[" * 100_000)
    url = f"sqlite:///{copy}"
    with suppress(LedgerError):
        assert verify(url)["valid"] is False
    for act in (log, report):
        with suppress(LedgerError):
            act(url)
    with suppress(LedgerError), Ledger.open(url) as ledger:
        for key in ("a", "b"):
            for ask in (ledger.release, ledger.paid):
                with suppress(LedgerError):
                    ask(key)
        ledger.charge(pure("1/100"), "two", cover=(5, 20), key="b")


@pytest.mark.parametrize(
    ("number", "what"), [(6, "steps"), (6, "root"), (5, "steps"), (10, "root"), (2, "root")]
)
def test_charges_that_are_added_up_together_name_the_entry_that_lies(
    url, tmp_path, monkeypatch, number, what
):
    """Beyond the first thousand the tree is compared once in many charges; where it differs, one by one."""
    monkeypatch.setattr(verifying, "ALONE", 2)
    monkeypatch.setattr(verifying, "TOGETHER", 4)
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        for place in range(10):
            ledger.charge(pure("1/20"), "part", cover=(place + 1, place + 3))
    assert verify(url) == VALID
    [(root,)] = by_hand(url, "SELECT root FROM entries WHERE number = ?", values=(number,))
    if what == "root":
        *parts, _, digest = root.split("|")
        sealed(tmp_path / "budget.db", number, root="|".join([*parts, "0", digest]))
    else:
        sealed(tmp_path / "budget.db", number, lambda body: body.replace('"1/20"', '"1/40"'))
    assert verify(url) == {"valid": False, "first_bad": number}


@deep
def test_a_sealed_register_that_says_nonsense_ends_in_one_sentence(url, tmp_path):
    """The last root fits it, so that it is read: whatever a record is, a charge is refused or made, without a crash."""
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", Fraction(1, 2))
        ledger.charge(pure("1/100"), "one", scope="team")
    file = tmp_path / "budget.db"
    rows = dict(by_hand(file, "SELECT node, body FROM nodes WHERE node BETWEEN -1057 AND -1"))
    shapeless = ["[" * 100_000, "[1]", "[[1]]", '["ab"]', "[", "{}", "[]", '{"a": {}}', "null"]
    bad = [(node, text) for node in rows for text in shapeless]
    buckets = {node: json.loads(body) for node, body in rows.items() if body.startswith("{")}
    assert {name for records in buckets.values() for name in records} == {"scope team", "scopes"}
    opened, units = (
        {"kind": "reservation", "body": "", "open": [[1, 1]]},
        {"units": [[1, 1]], "charged": False},
    )
    for node, records in buckets.items():
        [(name, value)] = records.items()
        nonsense = [None, -3, 5, 2**40, "x", [], {}, [None], {"a": 1}, {**value, "more": 1}, opened]
        strange = ("x", "\ud800", "1e999999999", "-5", -1, 0, 10**30, ["x"], [[5, 1]])
        nonsense += [{**value, key: one} for key in value for one in strange if one != value[key]]
        nonsense += [{one: value[one] for one in value if one != key} for key in value]
        bad += [(node, json.dumps({name: one})) for one in nonsense]
        names = ["reservation x", "reservation -1", "reservation 01", f"reservation {'9' * 30}"]
        bad += [(node, json.dumps({**records, other: opened})) for other in names]
        bad += [(node, json.dumps({**records, "cohort \ud800": {"kind": "cohort", **units}}))]
        bad += [(node, json.dumps({**records, "scope x": {"kind": "cohort", **units}}))]
    for node, text in bad:
        sealed_register(file, rows, node, text)
        assert not verify(url)["valid"]
        for act in (
            lambda ledger: ledger.show(),
            lambda ledger: ledger.charge(pure("1/100"), "two", scope="team"),
            lambda ledger: ledger.charge(pure("1/100"), "two"),
            lambda ledger: ledger.set_scope("other", Fraction(1, 4)),
            lambda ledger: ledger.reset("new data"),
        ):
            sealed_register(file, rows, node, text)
            try:
                with Ledger.open(url) as ledger:
                    act(ledger)
            except DpaccountError as error:
                assert len(str(error)) < 200  # noqa: PT017 - not every act reads what was changed


@pytest.mark.parametrize("root", ["", "x", "|||||", "1", "64|0|0|0|", "-1|0|0|0|", "0|0|0|0|||", "0|-5|0|0|"])
def test_a_sealed_root_that_is_none_ends_in_one_sentence(url, tmp_path, root):
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        for key in ("one", "two"):
            ledger.charge(pure("1/100"), key)
    sealed(tmp_path / "budget.db", 2, root=root)
    assert not verify(url)["valid"]
    for act in (Ledger.show, lambda ledger: ledger.charge(pure("1/100"), "three")):
        with pytest.raises(DpaccountError, match=r"\S"), Ledger.open(url) as ledger:
            act(ledger)


def test_a_sealed_sum_of_endless_digits_ends_in_one_sentence(url, tmp_path):
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        for key in ("one", "two"):
            ledger.charge(pure("1/100"), key)
    sealed(tmp_path / "budget.db", 2, root=f"0|1/{'9' * 4300}|0|0|")
    assert not verify(url)["valid"]
    with Ledger.open(url) as ledger, pytest.raises(LedgerError, match="totals were changed"):
        ledger.charge(pure("1/100"), "three")


def sealed_register(file: Path, rows: dict[int, str], node: int, text: str) -> None:
    """Let a row of the register be this text, those above it and the last root fit it, and the chain end there."""
    new = {**rows, node: text}
    while node < -1:
        group, place = divmod(-34 - node, 32) if node < -33 else (-1, -2 - node)
        digests, digest = json.loads(rows[-2 - group]), hashlib.sha256(new[node].encode()).hexdigest()
        node = -2 - group
        new[node] = json.dumps([*digests[:place], digest, *digests[place + 1 :]], separators=(",", ":"))
    with sqlite3.connect(file) as database:
        database.execute("DELETE FROM entries WHERE number > 2")
        database.execute("DELETE FROM nodes WHERE node BETWEEN -1057 AND -1")
        database.executemany("INSERT INTO nodes VALUES (?, ?)", new.items())
        database.execute("UPDATE ledger SET last = 2")
        [(root,)] = database.execute("SELECT root FROM entries WHERE number = 2")
    database.close()
    digest = hashlib.sha256(new[-1].encode()).hexdigest()
    sealed(file, 2, root=f"{root.rpartition(':')[0]}:{digest}")
