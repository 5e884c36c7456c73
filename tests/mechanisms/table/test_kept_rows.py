"""Which rows of a unit count depends on the unit's own rows alone, and is fair to all of them."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyarrow import parquet

from mechanisms.table import kept_rows, reading
from mechanisms.table.columns import Column, Table
from mechanisms.table.kept_rows import KeptRows, digests_of, order_of
from mechanisms.table.persons import SECRET_BYTES
from mechanisms.table.reading import files_of
from mechanisms.table.rows import Reading, read_rows
from mechanisms.table.totals import TablePart
from tests.depth import deep, examples
from tests.mechanisms.table.test_totals import summed

SECRET = bytes(range(SECRET_BYTES))
COLUMNS = (
    Column("age", "integer", Fraction(0), Fraction(9)),
    Column("far", "number", Fraction(-1), Fraction(1)),
    Column("ward", "category", values=("a", "b"), other=True),
    Column("note", "text", length=6),
)
ROW = st.tuples(
    st.sampled_from(["p", "q", "7", "7.0", ""]),
    st.integers(-1, 12),
    st.sampled_from([0.0, -0.0, 0.5, 1.5]),
    st.sampled_from("abc"),
    st.sampled_from(["", "x", "y"]),
)
NAMES = ("who", *(column.name for column in COLUMNS))


def write(path, rows):
    kinds = (pa.string(), pa.int64(), pa.float64(), pa.string(), pa.string())
    cells = list(zip(*rows, strict=True)) or [[]] * len(NAMES)
    parquet.write_table(
        pa.table([pa.array(each, kind) for each, kind in zip(cells, kinds, strict=True)], NAMES), path
    )
    return path


@deep
@examples(60, 300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(ROW, max_size=25),
    order=st.randoms(use_true_random=False),
    most=st.integers(1, 3),
    parts=st.sampled_from([1, 3]),
    batch=st.integers(1, 9),
)
def test_the_same_rows_count_in_any_order_and_batches(tmp_path, monkeypatch, rows, order, most, parts, batch):
    """And whether they are read from files, or once as a stream; what is measured does not matter."""
    what = summed("gaussian-sum", Table((*COLUMNS[:3],), 9, "who", most, by_digest=True))
    found = set()
    for size in (batch, 10**5):
        monkeypatch.setattr(reading, "BATCH", size)
        monkeypatch.setattr(kept_rows, "HELD", size)
        order.shuffle(rows)
        files = files_of(write(tmp_path / "t.parquet", rows))
        shares = [what.of(files, TablePart(number, parts, SECRET)) for number in range(parts)]
        found.add(tuple(sum(each.sums for each in shares).tolist()))
        once = what.of_stream(what.batches_of(files), TablePart(0, 1, SECRET))
        found.add(tuple(once.sums.tolist()))
    assert len(found) == 1


@examples(60)
@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50)), max_size=40),
    most=st.integers(1, 5),
    held=st.integers(0, 9),
)
def test_the_rows_with_the_least_digests_are_kept_however_few_are_held(rows, most, held):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_rows, "HELD", held)
        kept = KeptRows(most)
        for unit, value in rows:
            codes = np.array([[float(value)]])
            kept.add(np.array([[unit, 0]], dtype=np.uint64), digests_of(codes, codes[:, :0]), codes)
        units, codes = kept.rows()
    found = sorted(zip(units[:, 0].tolist(), codes[:, 0].tolist() if len(codes) else [], strict=True))
    expected = []
    for unit in range(4):
        own = [float(value) for other, value in rows if other == unit]
        own.sort(key=lambda value: digests_of(np.array([[value]]), np.zeros((1, 0))).tolist())
        expected += sorted((unit, value) for value in own[:most])
    assert found == expected


@pytest.mark.statistical(1e-9)  # six standard errors
@pytest.mark.parametrize("more", [(), ("a",), ("z", "b")])
def test_the_rows_that_count_are_alike_the_others(tmp_path, more):
    """The first rows in the order of their cells were the smallest: a mean of 14 for one of 49."""
    rng, units, each = np.random.default_rng(7), 2000, 10
    names, values = ("m", *more), {}
    for name in names:
        values[name] = rng.uniform(0, 100, units * each)
    frame = {"who": np.repeat(np.arange(units), each), **values}
    parquet.write_table(pa.table(frame), tmp_path / "t.parquet")
    columns = tuple(Column(name, "number", Fraction(0), Fraction(100)) for name in names)
    table = Table(columns, units, "who", 2, by_digest=True)
    read = Reading(("m",), lambda codes: codes, (0.0,))
    kept = read_rows(tmp_path / "t.parquet", table, read, "add-remove")[:, 1:]
    assert kept.shape == (units, 2)
    error = values["m"].std() / kept.size**0.5
    assert abs(kept.mean() - values["m"].mean()) < 6 * error
    assert abs((kept > 50).mean() - (values["m"] > 50).mean()) < 6 * 0.5 / kept.size**0.5


def test_a_later_edition_keeps_the_rows_of_the_first_one(tmp_path):
    rows = [(str(k % 3), k % 10, (k % 7) / 7, "ab"[k % 2], "xyz"[k % 3]) for k in range(60)]
    path, kept = write(tmp_path / "t.parquet", rows), []
    read = Reading(("age", "far"), lambda codes: codes, (0.0, 0.0))
    for columns, first in ((COLUMNS[:2], ()), (COLUMNS, ("age", "far")), (COLUMNS, ())):
        table = Table(columns, 3, "who", 4, by_digest=True, first=first)
        kept.append({tuple(row) for row in read_rows(path, table, read, "add-remove")[:, 1:].reshape(-1, 2)})
    assert kept[0] == kept[1] != kept[2]


def test_digests_are_of_all_codes_and_of_values_alone():
    codes = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 2.0], [-0.0, 1.0]])
    both = digests_of(codes, codes)
    assert len(np.unique(both, axis=0)) == 3
    assert (both[0] == both[3]).all()
    bits = np.unpackbits(
        digests_of(np.arange(4096.0)[:, None], np.zeros((4096, 0)))[:, :1].copy().view(np.uint8)
    )
    assert abs(bits.mean() - 0.5) < 0.01


@examples(60)
@given(
    st.lists(st.tuples(*[st.sampled_from([0, 1, 2**40, 2**63, 2**63 + 1])] * 4), max_size=30),
    st.integers(0, 2**64 - 1),
)
def test_rows_of_a_unit_are_together_by_their_digests(rows, odd):
    """One sort leaves in doubt what is alike in the bits that it sees: here most rows, and a few."""
    for factor in (1, odd | 1):
        words = np.array(rows, dtype=np.uint64).reshape(-1, 4) * np.uint64(factor)
        order = order_of(words[:, :2], words[:, 2:])
        found = [tuple(row) for row in words[order].tolist()]
        assert sorted(order.tolist()) == list(range(len(rows)))
        units = [unit for unit, _ in itertools.groupby(found, key=lambda row: row[:2])]
        assert len(units) == len(set(units))
        for unit in units:
            assert (own := [row for row in found if row[:2] == unit]) == sorted(own)
