"""The catalogue's own mechanisms have no line that no test meets: each is certified with marks in its file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from audits.claim import read_claim
from audits.subjects.catalogue import find
from audits.subjects.sources import source_file
from tests.depth import deep

ROOT = Path(__file__).parents[3]
STUDIED = "noisy-statistics"  #: is proved only as a study makes it
CLAIMS = sorted(
    {*(ROOT / "examples" / "mechanisms").glob("*.toml")} - {ROOT / f"examples/mechanisms/{STUDIED}.toml"}
)


@deep
@pytest.mark.parametrize("claim", CLAIMS, ids=[each.stem for each in CLAIMS])
def test_tests_meet_every_line_of_a_catalogued_mechanism_or_its_author_says_why_not(claim, tmp_path):
    file = source_file(find(read_claim(claim).use).made_by)
    words = [sys.executable, "-m", "tests.audits.subjects.marked_catalogue", claim, tmp_path, file]
    done = subprocess.run(
        words, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == ["CERTIFIED", [], []]
