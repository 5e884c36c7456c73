"""Compare summing a large table with reading it by pyarrow: processor time, memory, and their ratio.

usage: .venv/bin/python benchmarks/tables.py [--rows 100000000] [--rounds 3] [--folder FOLDER]

A tenth as many persons as rows, heavy-tailed; the first 3 rows of each count, and are summed in 200 groups.
Each way runs in a process of its own, in turn; the least processor time of each counts, and the most memory.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

PART = 10**6  #: rows that are written at once
MEASURED = (
    "import resource; used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
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
    for _ in range(rows // PART):
        who = (persons * rng.random(PART) ** 2).astype(np.int64)
        ids = pa.array(who) if identity == "int" else pa.array([f"patient-{k:09d}" for k in who.tolist()])
        group = rng.integers(0, 200, PART).astype(np.int16)
        part = pa.table({"id": ids, "group": group, "x": 100 * rng.random(PART)})
        file = file or parquet.ParquetWriter(path, part.schema)
        file.write_table(part)
    if file is not None:
        file.close()


def main() -> None:
    """Print processor seconds, megabytes, and the ratio to reading alone."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, default=10**8)
    asked.add_argument("--rounds", type=int, default=3)
    asked.add_argument("--folder", type=Path, help="where the files are written (default: a temporary one)")
    given = asked.parse_args()
    rows = max(given.rows // PART, 1) * PART
    best: dict[str, list[float]] = {name: [np.inf, 0.0] for name, *_ in WAYS}
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for identity in ("int", "text"):
            written(Path(folder) / f"{identity}.parquet", rows, identity)
        for _ in range(given.rounds):
            for name, identity, code in WAYS:
                path = str(Path(folder) / f"{identity}.parquet")
                words = [sys.executable, "-c", code + MEASURED, path, str(rows // 10)]
                done = subprocess.run(words, capture_output=True, text=True, check=True)
                seconds, megabytes = map(float, done.stdout.split())
                best[name] = [min(best[name][0], seconds), max(best[name][1], megabytes)]
    first = best[WAYS[0][0]][0]
    for name, (seconds, megabytes) in best.items():
        print(f"{name:<28} {seconds:8.2f} s  {seconds / first:6.2f} of reading  {megabytes:6.0f} MB")


if __name__ == "__main__":
    main()
