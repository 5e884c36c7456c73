"""Data files and pictures that a program of ours writes are what it writes now.

Others are compared beside what they are of: pictures of tables in tests/bandits, pages of measurements in
tests/audits/test_benchmark_peers.py, and the pictures of docs/draw_pictures.py in tests/test_site.py.
"""

import json
import runpy

import pytest

from benchmarks import book
from tests.depth import deep


@deep
@pytest.mark.parametrize(
    ("program", "file"),
    [
        ("examples/clinic_visits/make_visits.py", "visits.csv"),
        ("examples/outsourced/make_field.py", "field.csv"),
    ],
)
def test_an_examples_table_is_what_its_program_writes(root, tmp_path, program, file):
    runpy.run_path(str(root / program))["main"](tmp_path / file)
    kept = (root / program).with_name(file)
    assert (tmp_path / file).read_text() == kept.read_text(), f"run: python {program}"


@deep
def test_the_picture_of_the_benchmarks_is_that_of_their_numbers(root, tmp_path):
    book.drawn(json.loads((root / "docs" / "benchmarks.json").read_text()), tmp_path / "drawn.svg")
    kept = root / "docs" / "pictures" / "benchmarks.svg"
    assert (tmp_path / "drawn.svg").read_text() == kept.read_text(), "run: make bench"
