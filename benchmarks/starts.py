"""Whole commands beside a process of Python that imports the same libraries and does nothing.

Each in a process of its own, in turn; the least processor time of each counts.  The release is that of
examples/clinic_visits, certified, attacked, charged and drawn; then printed again.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.rows import BenchmarkRow, BenchmarkSetting, Rows

ROOT = Path(__file__).parent.parent
ROUNDS = 3
EVENTS = {
    "schema": "dpaccount/events/1",
    "relation": "replace-one",
    "events": [{"event": "gaussian", "sigma": 4.0, "sensitivity": 1.0, "count": 100}],
}
INIT = (
    "--epsilon=2",
    "--delta=1e-6",
    "--unit=one patient",
    "--relation=replace-one",
    "--measure=approximate",
)
EMPTY = ("-c", "pass")
CORE = ("-c", "import numpy, scipy.special, flint")
EVERYTHING = ("-c", "import numpy, scipy.stats, flint, opendp.prelude, hypothesis, matplotlib.pyplot")


def took(words: Sequence[str], folder: Path) -> float:
    """Return the processor seconds of a process and of those that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    alone = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, *words], cwd=folder, env=alone, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows(_: BenchmarkSetting) -> Rows:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "clinic"
        shutil.copytree(ROOT / "examples" / "clinic_visits", folder)
        (folder / "events.json").write_text(json.dumps(EVENTS))
        run, url = ("-m", "dpaccount"), "sqlite:///visits.db"
        took([*run, "ledger", "init", url, *INIT], folder)
        release = [*run, "release", "cities.toml", "--quick"]
        first = took(release, folder)
        made = "certificates/visits-by-city/certificate.json"
        several = {
            "--version": ([*run, "--version"], EMPTY),
            "account": ([*run, "account", "events.json", "--delta", "1e-5"], CORE),
            "ledger show": ([*run, "ledger", "show", url], CORE),
            "check": ([*run, "check", made], CORE),
            "python -I -S dpaccount/checker": (
                ["-I", "-S", str(ROOT / "dpaccount" / "checker"), made],
                EMPTY,
            ),
            "release --quick, again": (release, EVERYTHING),
        }
        found = [
            {what: (took(words, folder), took(floor, folder)) for what, (words, floor) in several.items()}
            for _ in range(ROUNDS)
        ]
        best = {what: [min(each[what][k] for each in found) for k in (0, 1)] for what in several}
        for what, (ours, floor) in best.items():
            beside = {EMPTY: "Python alone", CORE: "numpy, scipy and flint", EVERYTHING: "every library"}
            yield BenchmarkRow(what, ours, "s", beside[several[what][1]], floor)
        every = best["release --quick, again"][1]
        yield BenchmarkRow("release --quick, new", first, "s", "every library", every, "one run")
