"""Summing a large table beside reading it by pyarrow: processor time, and memory.

A tenth as many persons as rows, heavy-tailed; the first 3 rows of each count, and are summed in 200 groups.
Each way runs in a process of its own, in turn; the least processor time of each counts, and the most memory.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet

from benchmarks.rows import BenchmarkRow, BenchmarkSetting, Rows

ROUNDS = 3

PART = 10**6  #: rows that are written at once
MEASURED = (  # the peak since the process was started; that of getrusage counts the one that started it
    "import resource; used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "from pathlib import Path; peak = Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]\n"
    "print(used.ru_utime + used.ru_stime, int(peak) / 1024)"
)
READ = (
    "import sys, pyarrow.compute as compute, pyarrow.parquet as parquet\n"
    "file = parquet.ParquetFile(sys.argv[1], pre_buffer=False)\n"
    "parts = file.iter_batches(65536, columns=['x', 'group', 'id'])\n"
    "sum(compute.sum(part.column('x')).as_py() + len(part.column('id')) for part in parts)\n"
)
SUMMED = (
    "import sys; from fractions import Fraction as F; from pathlib import Path\n"
    "from dpaccount.documents import Place; from mechanisms.gaussian_sum import GaussianSum\n"
    "from mechanisms.table import Column, Table; from mechanisms.table.bind_columns import bind\n"
    "from mechanisms.table.totals import TablePart, Summed\n"
    "columns = Column('group', 'integer', F(0), F(199)), Column('x', 'number', F(0), F(100))\n"
    "table = Table(columns, int(sys.argv[2]), 'id', 3)\n"
    "said = Place({'columns': ['x'], 'by': 'group'}, '')\n"
    "given, reading = bind(GaussianSum, said, table, 3 * table.rows, 'add-remove')\n"
    "made = GaussianSum(**given)\n"
    "Summed(made, made.domain(), table, reading).of([Path(sys.argv[1])], TablePart(0, 1, bytes(32)))\n"
)
#: name, column of identities, what runs
WAYS = (
    ("pyarrow, read only", "int", READ),
    ("totals, integer identities", "int", SUMMED),
    ("totals, text identities", "text", SUMMED),
)


def written(path: Path, rows: int, identity: str) -> None:
    """Write a table; persons by the square of a uniform number, so that some have many rows."""
    rng, persons, file = np.random.default_rng(1), rows // 10, None
    for start in range(0, rows, PART):
        some = min(PART, rows - start)
        who = (persons * rng.random(some) ** 2).astype(np.int64)
        ids = pa.array(who)
        if identity == "text":
            digits = compute.utf8_lpad(ids.cast(pa.string()), 9, "0")
            ids = compute.binary_join_element_wise("patient", digits, "-")
        group = rng.integers(0, 200, some).astype(np.int16)
        part = pa.table({"id": ids, "group": group, "x": 100 * rng.random(some)})
        file = file or parquet.ParquetWriter(path, part.schema)
        file.write_table(part)
    if file is not None:
        file.close()


def measured(rows: int, rounds: int, ways: Iterable[tuple[str, str, str]] = WAYS) -> dict[str, list[float]]:
    """Return each way's processor seconds and megabytes, on a table of so many rows."""
    best: dict[str, list[float]] = {name: [np.inf, 0.0] for name, *_ in ways}
    with tempfile.TemporaryDirectory() as folder:
        for identity in dict.fromkeys(each[1] for each in ways):
            written(Path(folder) / f"{identity}.parquet", rows, identity)
        for _ in range(rounds):
            for name, identity, code in ways:
                path = str(Path(folder) / f"{identity}.parquet")
                words = [sys.executable, "-c", code + MEASURED, path, str(rows // 10)]
                done = subprocess.run(words, capture_output=True, text=True, check=True)
                seconds, megabytes = map(float, done.stdout.split())
                best[name] = [min(best[name][0], seconds), max(best[name][1], megabytes)]
    return best


def rows(setting: BenchmarkSetting) -> Rows:
    number = 10**8 if setting.long else 5 * 10**6
    found = measured(number, ROUNDS)
    first = WAYS[0][0]
    for name, (seconds, megabytes) in found.items():
        if name != first:
            what, note = f"{name}, {number} rows", f"{megabytes:.0f} MB (reading: {found[first][1]:.0f})"
            yield BenchmarkRow(what, seconds, "s", first, found[first][0], note)
    text, whole = WAYS[2][0], WAYS[1][0]
    yield BenchmarkRow(f"{text}, {number} rows", found[text][0], "s", whole, found[whole][0])
