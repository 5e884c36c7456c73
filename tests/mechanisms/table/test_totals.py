"""TableTotals of a table in one pass: whatever the parts, the batches and their order, the same exact sums.

The oracle bounds contributions with a dictionary and asks the mechanism for all rows at once.  Twins that
bound within parts, share rows out without regard to persons or forget that a person was seen are caught.
"""

from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyarrow import parquet

from dpaccount.documents import Place
from dpaccount.errors import InputError
from mechanisms.clipped_mean import ClippedMean
from mechanisms.count_by_group import CountByGroup
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.histogram import Histogram
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.laplace_vector import LaplaceVector
from mechanisms.linear_queries import LinearQueries
from mechanisms.quantiles import Quantiles
from mechanisms.second_moments import SecondMoments
from mechanisms.table import Column, Table, persons, reading, totals
from mechanisms.table.bind_columns import bind
from mechanisms.table.cells import identity_of
from mechanisms.table.kept_rows import digests_of
from mechanisms.table.persons import SECRET_BYTES, PersonCounters, keys_of
from mechanisms.table.reading import ArrowCells, check_same_columns, files_of
from mechanisms.table.totals import Summed, TablePart, TableTotals, divide, totals_of_rows
from tests.depth import deep, examples
from tests.looped import looped

SECRET = bytes(range(SECRET_BYTES))
COLUMNS = (
    Column("age", "number", Fraction(-3, 2), Fraction(40), missing=Fraction(1, 3)),
    Column("far", "number", Fraction(0), Fraction(9)),
    Column("ward", "category", values=("a", "b", "c")),
)
MAKERS = {
    "count-by-group": (CountByGroup, {"column": "ward"}),
    "histogram": (Histogram, {"column": "ward"}),
    "linear-queries": (LinearQueries, {"column": "ward"}),
    "laplace-sum": (LaplaceSum, {"column": "age"}),
    "clipped-mean": (ClippedMean, {"column": "age"}),
    "quantiles": (Quantiles, {"column": "age"}),
    "gaussian-sum": (GaussianSum, {"columns": ["age", "far"], "by": "ward"}),
    "laplace-vector": (LaplaceVector, {"columns": ["age", "far"], "by": "ward"}),
    "second-moments": (SecondMoments, {"columns": ["age", "far"]}),
}
ROW = st.tuples(
    st.sampled_from([*"abc", "d e", " a", None, "é", "a" * 70, "a" * 71]),
    st.one_of(st.none(), st.floats(-50, 50)),
    st.floats(0, 12),
    st.sampled_from([*"abc", "x", None]),
)
ROWS = st.lists(ROW, max_size=14)


def summed(name, table):
    made_by, parameters = MAKERS[name]
    given_, read = bind(made_by, Place(parameters, "x"), table, table.rows * table.max_rows, "add-remove")
    mechanism = made_by(**given_)
    return Summed(mechanism, mechanism.domain(), table, read)


def written(path, rows):
    who, age, far, ward = zip(*rows, strict=True) if rows else ((), (), (), ())
    columns = {
        "who": pa.array(who, pa.string()),
        "age": pa.array(age, pa.float64()),
        "far": pa.array(far, pa.float64()),
        "ward": pa.array(ward, pa.string()),
    }
    if path.suffix == ".parquet":
        parquet.write_table(pa.table(columns), path)
    else:
        cells = [["" if cell is None else repr(cell).strip("'") for cell in row] for row in rows]
        path.write_text("\n".join(["who,age,far,ward", *(",".join(row) for row in cells), ""]))
    return path


def chosen(table, rows):
    """Return a person's rows in the order in which they count."""
    codes = [table.column(name).codes([row[name] for row in rows]) for name in table.names]
    order = digests_of(np.column_stack(codes), np.zeros((len(rows), 0)))[:, 0]
    return [rows[place] for place in np.argsort(order)]


def by_dictionary(what, rows):
    """All rows that count, in one query."""
    seen, own = {}, {}
    for number, (who, *cells) in enumerate(rows):
        name = "" if who is None else who.strip()
        seen[name] = seen.get(name, 0) + 1
        row = dict(zip(("age", "far", "ward"), cells, strict=True))
        own.setdefault(number if what.table.identity is None else name, []).append(row)
    of = (chosen(what.table, some) if what.table.by_digest else some for some in own.values())
    kept = [row for some in of for row in some[: what.table.max_rows]]
    codes = [what.table.column(n).codes([row[n] for row in kept]) for n in what.reading.names]
    rows_ = what.reading.encode(np.column_stack(codes).reshape(len(kept), len(codes)))
    return what.mechanism.query(what.domain.clamped(rows_)), seen


@deep
@pytest.mark.parametrize("name", sorted(MAKERS))
@examples(25, 25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=ROWS, most=st.integers(1, 3), parts=st.sampled_from([1, 2, 7]), own=st.booleans(), by=st.booleans()
)
def test_any_parts_in_any_order_have_the_totals_of_all_rows(
    tmp_path, monkeypatch, name, rows, most, parts, own, by
):
    monkeypatch.setattr(reading, "BATCH", 3)
    table = Table(COLUMNS, 20, "who" if own else None, most if own else 1, by_digest=by)
    what = summed(name, table)
    expected, seen = by_dictionary(what, rows)
    for suffix in (".parquet", ".csv"):
        path = written(tmp_path / f"t{suffix}", rows)
        each = [what.of([path], TablePart(k, parts, SECRET)) for k in reversed(range(parts))]
        again = what.of([path], TablePart(0, parts, SECRET))
        assert again.sums.tolist() == each[-1].sums.tolist()
        assert sum(one.sums for one in each).tolist() == expected.tolist()
        assert sum(one.units for one in each) == (len(seen) if own else len(rows))
        assert {one.sums.dtype for one in each} == {np.dtype(np.int64)}
        with TemporaryDirectory() as made:
            rows_of, one = Path(made), TablePart(0, parts, SECRET)
            digests = divide(what, files_of(path), one, rows_of)
            for k, whole in zip(reversed(range(parts)), each, strict=True):
                found = totals_of_rows(what, TablePart(k, parts, SECRET), rows_of, digests[k])
                assert (found.sums.tolist(), found.units) == (whole.sums.tolist(), whole.units)


@pytest.mark.parametrize("held", [1, 10**6])
@pytest.mark.parametrize("spoil", [
    lambda raw: raw[:-1], lambda raw: raw[:-8], lambda raw: raw + raw[-40:], lambda raw: b"",
    lambda raw: raw[40:] + raw[:40], lambda raw: raw[:7] + bytes([raw[7] ^ 1]) + raw[8:],
])  # fmt: skip
def test_rows_of_a_part_that_are_not_as_they_were_written_are_refused(tmp_path, monkeypatch, spoil, held):
    """Cut, doubled, left out, in another order (which would change the rows that count), or another person's."""
    monkeypatch.setattr(totals, "BYTES_HELD", held)
    monkeypatch.setattr(reading, "BATCH", 2)
    rows = [(name, float(k), 1.0, "a") for k, name in enumerate("aabbccab")]
    what, path = summed("gaussian-sum", Table(COLUMNS, 20, "who", 1)), written(tmp_path / "t.csv", rows)
    part = TablePart(0, 1, SECRET)
    (digest,) = divide(what, files_of(path), part, tmp_path)
    assert totals_of_rows(what, part, tmp_path, digest).sums.tolist() == what.of([path], part).sums.tolist()
    raw = (tmp_path / "0").read_bytes()
    assert len(raw) == 8 * 5 * len(rows)  # a key of two words, and three columns
    (tmp_path / "0").write_bytes(spoil(raw))
    with pytest.raises(InputError, match="the rows of a part are not as they were written"):
        totals_of_rows(what, part, tmp_path, digest)


@deep
@examples(60, 60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, other=st.lists(ROW, max_size=4), parts=st.sampled_from([1, 3]))
def test_one_persons_rows_move_the_totals_by_what_they_add(tmp_path, monkeypatch, rows, other, parts):
    """Sums of numbers in [0, 9]: with two rows that count, by 18 at most; wherever the rows are."""
    monkeypatch.setattr(reading, "BATCH", 3)
    without = [row for row in rows if row[0] not in ("a", " a")]
    with_ = list(without)
    for place, row in enumerate(other):
        with_.insert(2 * place, ("a", *row[1:]))
    assert moved(tmp_path, without, with_, parts) <= 18


def moved(folder, left, right, parts):
    """How far the totals of two tables are apart, in the units of the data."""
    table = Table((COLUMNS[1],), 20, "who", 2)
    given_, read = bind(LaplaceSum, Place({"column": "far"}, "x"), table, 40, "add-remove")
    mechanism = LaplaceSum(**given_)
    what = Summed(mechanism, mechanism.domain(), table, read)
    sums = []
    for side in (left, right):
        path = written(folder / "t.parquet", side)
        sums.append(sum(what.of([path], TablePart(k, parts, SECRET)).sums for k in range(parts)))
    return abs(int((sums[0] - sums[1])[0])) / 2**mechanism.bits


def test_twins_are_caught(tmp_path, monkeypatch):
    """Rows shared out without regard to persons, and a bound that forgets, let one person add more."""
    monkeypatch.setattr(reading, "BATCH", 2)
    person = [("a", 0.0, 9.0, "a")] * 8
    assert moved(tmp_path, [], person, 3) == 18
    with monkeypatch.context() as broken:
        broken.setattr(Summed, "parts_of", lambda _, keys, part: np.arange(len(keys)) % part.of)
        assert moved(tmp_path, [], person, 3) > 18
    with monkeypatch.context() as broken:
        broken.setattr(PersonCounters, "keep", lambda _, keys: np.ones(len(keys), dtype=bool))
        assert moved(tmp_path, [], person, 1) > 18


# ------------------------------------------------------------------ persons


@examples(100)
@given(
    ids=st.lists(st.integers(-3, 40), max_size=60),
    most=st.integers(1, 4),
    size=st.integers(1, 9),
    far=st.booleans(),
)
def test_counters_keep_the_first_rows_of_everyone(ids, most, size, far):
    """Directly by small integers, by slots from the first large or negative one on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(persons, "DENSE", 8)
        counters, seen = PersonCounters(most, 0), {}
        for start in range(0, len(ids), size):
            batch = np.array(ids[start : start + size], dtype=np.int64) * (2**40 if far else 1)
            kept = counters.keep(keys_of(batch, SECRET))
            for who, here in zip(batch.tolist(), kept.tolist(), strict=True):
                seen[who] = seen.get(who, 0) + 1
                assert here == (seen[who] <= most)
        assert counters.number == len(seen)


def test_a_table_of_slots_grows(monkeypatch):
    rng, counters, seen = np.random.default_rng(5), PersonCounters(2, 0), {}
    for _ in range(40):
        batch = rng.integers(2**61, 2**61 + 60_000, 9_000)
        kept = counters.keep(keys_of(batch, SECRET))
        for who, here in zip(batch.tolist(), kept.tolist(), strict=True):
            seen[who] = seen.get(who, 0) + 1
            assert here == (seen[who] <= 2)
    assert counters.number == len(seen) > 50_000


def test_persons_with_one_hash_are_told_apart():
    """A key with the same first slot, and even the same first word, is another person."""
    keys = np.array([[5, 1], [5, 2], [5, 1], [5, 3], [5, 2]], dtype=np.uint64)
    assert PersonCounters(1, 0).keep(keys).tolist() == [True, True, False, True, False]


@deep
@given(texts=st.lists(st.text(max_size=70), max_size=30, unique_by=identity_of))
def test_other_texts_have_other_keys_however_they_are_held(texts):
    keys = keys_of(texts, SECRET)
    assert len(np.unique(keys, axis=0)) == len(texts)
    whole = [not isinstance(identity_of(text), str) for text in texts]
    assert (keys[:, 1] < 2**63).tolist() == whole  # a text's key is never an integer's, nor nobody's
    for kind in (pa.string(), pa.large_string()):
        held = pa.array([None, *texts, "x"], kind)
        assert keys_of(ArrowCells(held.slice(1, len(texts))), SECRET).tolist() == keys.tolist()
    padded = keys_of([f" {text}\t" for text in texts], SECRET)
    assert padded.tolist() == keys.tolist()


def test_keys_of_many_texts_do_not_collide_and_are_drawn_by_the_secret():
    texts = [f"patient-{k:09d}" for k in range(100_000)] + [f"p{k}" for k in range(100_000)]
    keys = keys_of(ArrowCells(pa.array(texts)), SECRET)
    assert len(np.unique(keys, axis=0)) == len(texts)
    one = keys[:, 0].astype(float) / 2**64  # a linear hash by a secret is spread evenly
    assert np.histogram(one, 16, (0, 1))[0] == pytest.approx(len(texts) / 16, rel=0.1)
    other = keys_of(ArrowCells(pa.array(texts[:9])), bytes(SECRET_BYTES))
    assert (other != keys[:9]).all()


@looped("kind", [pa.int8(), pa.uint64(), pa.int64()])
def test_integers_are_compared_as_integers_with_gaps_too(kind):
    held = pa.array([3, None, 3, 7, None], kind)
    keys = keys_of(ArrowCells(held), SECRET)
    assert (keys[0] == keys[2]).all()
    assert (keys[1] == keys[4]).all()
    whole = keys_of(held.drop_null().to_numpy(), SECRET)
    assert whole.tolist() == keys[[0, 2, 3]].tolist()


def test_a_number_below_zero_is_nobody_elses():
    """-1 and 2^64 - 1 have the same 64 bits."""
    numbers = [-1, 2**64 - 1, -(2**63), 2**63, 2**63 - 1, 0]
    keys = keys_of(numbers, SECRET)
    assert len(np.unique(keys, axis=0)) == len(numbers)
    assert PersonCounters(1, 0).keep(keys).all()
    for kind in (np.int64, np.uint64):
        held = [k for k in numbers if np.iinfo(kind).min <= k <= np.iinfo(kind).max]
        own = keys_of(held, SECRET).tolist()
        assert keys_of(np.array(held, kind), SECRET).tolist() == own
        with_a_gap = ArrowCells(pa.array([*held, None], pa.from_numpy_dtype(kind)))
        assert keys_of(with_a_gap, SECRET)[:-1].tolist() == own


# ------------------------------------------------------------------ files


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path):
    rows = [("a", float(k), 1.0, "a") for k in range(6)]
    for name, part in zip(("b/1", "a", "b/0"), [rows[4:], rows[:2], rows[2:4]], strict=True):
        path = tmp_path / "t" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        written(path, part)
    (tmp_path / "t" / "_SUCCESS").touch()
    (tmp_path / "t" / ".hidden").mkdir()
    (tmp_path / "t" / ".hidden" / "x.parquet").touch()
    files = files_of(tmp_path / "t")
    assert [file.name for file in files] == ["a.parquet", "b/0.parquet", "b/1.parquet"]
    what = summed("laplace-sum", Table(COLUMNS, 3, "who", 3))
    found = what.of(files, TablePart(0, 1, SECRET))
    assert isinstance(found, TableTotals)
    assert found.sums.tolist() == [(0 + 1 + 2) * 2**20]


def test_folders_that_are_no_table_are_refused(tmp_path):
    (tmp_path / "t").mkdir()
    with pytest.raises(InputError, match="no files"):
        files_of(tmp_path / "t")
    written(tmp_path / "t" / "a.parquet", [("a", 1.0, 1.0, "a")])
    parquet.write_table(
        pa.table({"who": [1], "age": [1.0], "far": [1.0], "ward": ["a"]}), tmp_path / "t" / "b.parquet"
    )
    with pytest.raises(InputError, match=r"the column who is int64, in another file string"):
        check_same_columns(files_of(tmp_path / "t"))
    (tmp_path / "t" / "b.parquet").write_text("no")
    with pytest.raises(InputError, match=r"no \.parquet file"):
        check_same_columns(files_of(tmp_path / "t"))
    (tmp_path / "t" / "b.parquet").rename(tmp_path / "t" / "b.csv")
    with pytest.raises(InputError, match=r"\.csv, \.parquet"):
        files_of(tmp_path / "t")
