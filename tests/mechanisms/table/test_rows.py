"""What one row of a file holds changes no other row's numbers, and whose rows count no other person's.

Cells may be stored in any way; nothing is refused.
"""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from pyarrow import parquet

from mechanisms.table import Column, Table, reading
from mechanisms.table.persons import owners_of
from mechanisms.table.rows import Reading, _owned, bounded, numbers_of_rows, read_rows, unfolded
from tests.depth import deep, examples

COLUMNS = (
    Column("city", "category", values=("1", "2", "7.1"), other=True),
    Column("seen", "boolean"),
    Column("age", "number", Fraction(0), Fraction(10), missing=Fraction(3)),
    Column("visits", "integer", Fraction(0), Fraction(10)),
)
NAMES = tuple(column.name for column in COLUMNS)
READING = Reading(NAMES, lambda codes: codes, (0.0,) * len(NAMES))
TEXT = pa.utf8()

#: how cells may be stored, with such as Python cannot hold among them
STORED = {
    **{str(kind): (kind, [1, 2, 0, None]) for kind in (pa.int8(), pa.uint64())},
    **{str(kind): (kind, [1, 2, 7.1, float("nan"), None]) for kind in (pa.float32(), pa.float64())},
    "bool": (pa.bool_(), [True, False, None]),
    "half": (pa.float16(), [np.float16(v) for v in (1, 2, 7.1, float("nan"))] + [None]),
    "text": (TEXT, [b"1", b"2", b"7.1", b"true", b"\xff", b"", None]),
    "dictionary": (pa.dictionary(pa.int8(), TEXT), ["1", "2", "", None]),
    "microseconds": (pa.timestamp("us"), [1, 2, 2**62, None]),
    "nanoseconds": (pa.timestamp("ns"), [1, 2, 2**62 + 1, None]),
    "nowhere": (pa.timestamp("us", tz="No/Where"), [1, 2, 2**62, None]),
    "date": (pa.date32(), [1, 2, 2**31 - 1, None]),
    "duration": (pa.duration("s"), [1, 2, 2**60, None]),
}


def stored(name, places):
    kind, pool = STORED[name]
    cells = [pool[place % len(pool)] for place in places]
    if kind == TEXT:  # no check of what is written
        return pa.array(cells, pa.binary()).view(TEXT)
    return pa.array(cells, kind)


def written(path, cells, owners):
    table = pa.table(dict.fromkeys(NAMES, cells) | {"who": owners})
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)


def rows_of(path, cells):
    written(path, cells, cells)
    return read_rows(path, Table(COLUMNS, 100), READING, "add-remove")


PLACES = st.lists(st.integers(0, 20), min_size=1, max_size=9)


@deep
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("name", STORED)
@examples(8, 8, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=PLACES, at=st.integers(0, 8), other=st.integers(0, 20))
def test_what_one_cell_holds_changes_no_other_row(tmp_path, monkeypatch, name, suffix, places, at, other):
    monkeypatch.setattr(reading, "BATCH", 4)
    at %= len(places)
    changed = [*places[:at], other, *places[at + 1 :]]
    before, after = (rows_of(tmp_path / f"t{suffix}", stored(name, each)) for each in (places, changed))
    rest = np.arange(len(places)) != at
    assert np.array_equal(before[rest], after[rest])
    alone = rows_of(tmp_path / f"t{suffix}", stored(name, [other]))
    assert np.array_equal(after[at], alone[0])


@pytest.mark.parametrize("name", ["float", "double", "half", "text", "date", "int8"])
def test_who_somebody_is_does_not_depend_on_anybody_else(tmp_path, name):
    """Rows without an identity, with and without rows that have one."""
    path, pool = tmp_path / "t.arrow", STORED[name][1]
    here = [place for place, cell in enumerate(pool) if cell is not None]
    owners_by_table = []
    for places in (here, [*here, pool.index(None)]):
        written(path, pa.array([1.0] * len(places)), stored(name, places))
        owned = _owned(path, Table(COLUMNS, 100, "who", 2), READING)
        owners_by_table.append([owner for cells, *_ in owned for owner in owners_of(cells)])
    assert owners_by_table[0] == owners_by_table[1][:-1]


def test_a_bare_carriage_return_takes_nobodys_identity(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"city,seen,age,visits,who\n1\r2,yes,1,1,p1\n2,yes,1,1,p2\n")
    rows = read_rows(path, Table(COLUMNS, 2, "who", 2), READING, "replace-one")
    assert rows[:, :5].tolist() == [[1, 3, 1, 1, 1], [1, 1, 1, 1, 1]]


ROWS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 9)), max_size=14)


def of(rows, most=2):
    owners, codes = [who for who, _ in rows], np.array([[v] for _, v in rows], dtype=float).reshape(-1, 1)
    digests = numbers_of_rows(0, len(codes))
    parts = (slice(0, 5), slice(5, None))
    return bounded([(owners[part], digests[part], codes[part]) for part in parts], most, (7.0,))


@deep
@given(rows=ROWS, most=st.integers(1, 4))
def test_a_slot_is_a_function_of_its_persons_rows(rows, most):
    order, persons = of(rows, most)
    assert order == sorted({who for who, _ in rows})
    for who, slot in zip(order, persons, strict=True):
        own = [value for other, value in rows if other == who]
        expected = [min(len(own), most), *own[:most], *[7.0] * (most - len(own))]
        assert slot.tolist() == expected


@deep
@given(rows=ROWS, other=st.lists(st.integers(0, 9), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_replacing_a_persons_rows_leaves_the_other_slots(rows, other, seed):
    rng = np.random.default_rng(seed)
    rows = [("a", 1), *rows]
    changed = [row for row in rows if row[0] != "a"]
    for value in other:
        changed.insert(int(rng.integers(len(changed) + 1)), ("a", value))
    (order, before), (same, after) = of(rows), of(changed)
    assert order == same
    assert np.array_equal(before[1:], after[1:])


@deep
@given(rows=ROWS, most=st.integers(1, 3))
def test_unfolding_gives_back_the_rows_that_count(rows, most):
    order, persons = of(rows, most)
    there, all_places = unfolded(persons, most)
    expected = [v for who in order for v in [value for other, value in rows if other == who][:most]]
    assert all_places[there].ravel().tolist() == expected
    assert len(all_places) == most * len(order)
