"""The sum of a long column on the grid beside pyarrow's own sum of it, read from one file in one run.

usage: .venv/bin/python benchmarks/tables.py [--rows 100000000] [--rounds 3]

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

PARTS = 100
MEASURED = (
    "import resource; used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
)
WAYS = {
    "pyarrow, streamed": (
        "import sys, pyarrow.compute as compute, pyarrow.parquet as parquet\n"
        "parts = parquet.ParquetFile(sys.argv[1]).iter_batches(65536)\n"
        "sum(compute.sum(part.column('x')).as_py() for part in parts)\n"
    ),
    "on the grid": (
        "import sys; from fractions import Fraction; from pathlib import Path\n"
        "from mechanisms.shared.streamed import grid_sum; from mechanisms.table import Column\n"
        "grid_sum(Path(sys.argv[1]), Column('x', 'number', Fraction(0), Fraction(1)), 20, int(sys.argv[2]))\n"
    ),
}


def written(path: Path, rows: int) -> None:
    """Write a column of uniform numbers."""
    rng, schema = np.random.default_rng(1), pa.schema([("x", pa.float64())])
    with parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as file:
        for _ in range(PARTS):
            file.write_table(pa.table({"x": rng.random(rows // PARTS)}, schema=schema))


def main() -> None:
    """Print processor seconds, megabytes, and the ratio."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, default=10**8)
    asked.add_argument("--rounds", type=int, default=3)
    given = asked.parse_args()
    rows = given.rows // PARTS * PARTS
    best: dict[str, list[float]] = {name: [np.inf, 0.0] for name in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "column.parquet"
        written(path, rows)
        for _ in range(given.rounds):
            for name, code in WAYS.items():
                words = [sys.executable, "-c", code + MEASURED, str(path), str(rows)]
                done = subprocess.run(words, capture_output=True, text=True, check=True)
                seconds, megabytes = map(float, done.stdout.split())
                best[name] = [min(best[name][0], seconds), max(best[name][1], megabytes)]
    for name, (seconds, megabytes) in best.items():
        print(f"{name:<20} {seconds:8.2f} s of a processor  {megabytes:8.0f} MB")
    first, second = (seconds for seconds, _ in best.values())
    print(f"{'ratio':<20} {second / first:8.2f}")


if __name__ == "__main__":
    main()
