"""A sum over a file that is never whole in memory is the sum that the mechanism's proof is about."""

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from dpaccount.errors import InputError
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.shared.streamed import grid_sum
from mechanisms.table import Column, reading

COLUMN = Column("x", "number", Fraction(-3, 2), Fraction(40), missing=Fraction(1, 3))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(numbers=st.lists(st.one_of(st.floats(), st.none()), min_size=1, max_size=20))
def test_it_is_the_query_of_the_sum(tmp_path, monkeypatch, numbers):
    monkeypatch.setattr(reading, "BATCH", 3)
    parquet.write_table(pa.table({"x": pa.array(numbers, type=pa.float64())}), tmp_path / "t.parquet")
    text = "".join(f"{'' if number is None else number!r}\n" for number in numbers)
    (tmp_path / "t.csv").write_text(f"x\n{text}")
    mechanism = LaplaceSum(low=COLUMN.low, high=COLUMN.high, rows=len(numbers))
    expected = int(mechanism.query(COLUMN.codes(numbers)[:, None])[0])
    for name in ("t.csv", "t.parquet"):
        assert grid_sum(tmp_path / name, COLUMN, mechanism.bits, len(numbers)) == expected


def test_what_is_public_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    with pytest.raises(InputError, match="2 rows; the public number is 3"):
        grid_sum(tmp_path / "t.csv", COLUMN, 20, 3)
    with pytest.raises(InputError, match="fewer bits"):
        grid_sum(tmp_path / "t.csv", COLUMN, 40, 10**9)
    with pytest.raises(InputError, match="is no number"):
        grid_sum(tmp_path / "t.csv", Column("x", "boolean"), 20, 2)


@pytest.mark.nightly
def test_a_hundred_million_rows_take_less_than_300_mb(tmp_path):
    rows, parts, path = 10**8, 100, tmp_path / "t.parquet"
    rng, written = np.random.default_rng(1), None
    for _ in range(parts):
        part = pa.table({"x": rng.random(rows // parts)})
        written = written or parquet.ParquetWriter(
            path, part.schema, compression="none", use_dictionary=False
        )
        written.write_table(part)
    written.close()
    code = (
        "import resource, sys; from fractions import Fraction; from pathlib import Path\n"
        "from mechanisms.shared.streamed import grid_sum; from mechanisms.table import Column\n"
        f"total = grid_sum(Path({str(path)!r}), Column('x', 'number', Fraction(0), Fraction(1)), 20, {rows})\n"
        "print(total / 2**20, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    total, megabytes = map(float, done.stdout.split())
    assert abs(total - rows / 2) < 10**5
    assert megabytes < 300
