"""A study's totals of a table in parts, from CSV or Parquet, are those of all its rows at once."""

import random
from fractions import Fraction

import pyarrow as pa
import pytest
from pyarrow import parquet

from dpaccount.documents import Place
from mechanisms.noisy_statistics import NoisyStatistics
from mechanisms.table import Column, Table, reading
from mechanisms.table.bind_columns import Promise
from mechanisms.table.persons import SECRET_BYTES
from mechanisms.table.rows import read_rows
from mechanisms.table.totals import Summed, TablePart
from mechanisms.table.user_level import named
from tests.depth import deep

COLUMNS = (
    Column("age", "number", Fraction(-3, 2), Fraction(40), missing=Fraction(1, 3)),
    Column("far", "number", Fraction(0), Fraction(9)),
    Column("ward", "category", values=("a", "b", "c")),
)
STATISTICS = {
    "statistic": [
        {"name": "n", "what": "count", "by": ["ward"], "where": 'far < 3 or ward != "a"'},
        {"name": "m", "what": "variance", "column": "age", "by": ["ward"]},
        {"name": "q", "what": "median", "column": "far"},
        {"name": "r", "what": "regression", "column": "age", "on": ["far"], "where": "age > 0"},
    ]
}
ROWS = 200


def write(path, rng):
    ward = [rng.choice([*"abcx", None]) for _ in range(ROWS)]
    age = [rng.choice([None, rng.uniform(-9, 50)]) for _ in range(ROWS)]
    far = [rng.uniform(0, 12) for _ in range(ROWS)]
    who = [f"p{rng.randrange(90)}" for _ in range(ROWS)]
    parquet.write_table(
        pa.table({"who": who, "age": age, "far": far, "ward": ward}), path.with_suffix(".parquet")
    )
    cells = (
        ["" if cell is None else str(cell) for cell in row] for row in zip(who, age, far, ward, strict=True)
    )
    path.with_suffix(".csv").write_text("\n".join(["who,age,far,ward", *map(",".join, cells), ""]))


@deep
@pytest.mark.parametrize("most", [None, 1, 3])
def test_parts_batches_and_formats_do_not_matter(tmp_path, monkeypatch, most):
    """A row is judged by itself: `where`, groups and cells are the same in a batch of 7 rows."""
    write(tmp_path / "t.csv", random.Random(most))
    table = Table(COLUMNS, ROWS, None if most is None else "who", most or 1)
    promise = Promise("add-remove", Fraction(1), Fraction(1, 10**6))
    subject, read = NoisyStatistics.on_table(table, Place(STATISTICS, "x"), promise)
    study = named(subject)
    rows = read_rows(tmp_path / "t.csv", table, read, "add-remove")
    whole = study.query(rows if subject is study else subject.table(rows))
    assert whole.any()
    what = Summed(study, study.domain(), table, read)
    for batch, parts in ((7, 1), (10_000, 7), (7, 7)):
        monkeypatch.setattr(reading, "BATCH", batch)
        for suffix in (".csv", ".parquet"):
            each = [
                what.of(
                    [(tmp_path / "t").with_suffix(suffix)], TablePart(k, parts, bytes(range(SECRET_BYTES)))
                )
                for k in range(parts)
            ]
            assert (sum(part.sums for part in each) == whole).all()
