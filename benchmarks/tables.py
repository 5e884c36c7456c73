"""Summing a large table, alone and in a release, beside reading it by pyarrow: processor time, and memory.

A tenth as many persons as rows, heavy-tailed; the first 3 rows of each count, and are summed in 200 groups.
Each way runs in a process of its own, in turn; the least processor time of each counts, and the most memory.
The totals are compared with those of another program, which sorts all rows: others end with exit code 1.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import compute, parquet

from benchmarks.rows import BenchmarkRow, BenchmarkSetting, Rows

ROUNDS = 2
PART = 10**6  #: rows that are written at once
GROUPS, MOST, UNIT = 200, 3, 1024  #: groups; rows of a person that count; x is a whole number of 1/UNIT
MEASURED = (  # the peak since the process was started; that of getrusage counts the one that started it
    "import resource; from pathlib import Path\n"
    "used, forks = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))\n"
    "peak = Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]\n"
    "spent = sum(each.ru_utime + each.ru_stime for each in (used, forks))\n"
    "print(spent, max(int(peak), forks.ru_maxrss) / 1024)"
)
READ = (
    "import sys, pyarrow.compute as compute, pyarrow.parquet as parquet\n"
    "file = parquet.ParquetFile(sys.argv[1], pre_buffer=False)\n"
    "parts = file.iter_batches(65536, columns=['x', 'group', 'id'])\n"
    "sum(compute.sum(part.column('x')).as_py() + len(part.column('id')) for part in parts)\n"
)
SUMMED = (
    "import json, sys; from fractions import Fraction as F; from pathlib import Path\n"
    "from dpaccount.documents import Place; from mechanisms.gaussian_sum import GaussianSum\n"
    "from mechanisms.table import Column, Table; from mechanisms.table.bind_columns import bind\n"
    "from mechanisms.table.totals import TablePart, Summed\n"
    "columns = Column('group', 'integer', F(0), F(199)), Column('x', 'number', F(0), F(100))\n"
    "table = Table(columns, int(sys.argv[2]), 'id', 3)\n"
    "said = Place({'columns': ['x'], 'by': 'group'}, '')\n"
    "given, reading = bind(GaussianSum, said, table, 3 * table.rows, 'add-remove')\n"
    "made = GaussianSum(**given)\n"
    "part, what = TablePart(0, 1, bytes(32)), Summed(made, made.domain(), table, reading)\n"
    "print(json.dumps([what.of([Path(sys.argv[1])], part).sums.tolist(), made.bits]))\n"
)
#: all that a release does with the data, but for the noise: digest, totals in a fork, digest again
PREPARED = (
    "import json, sys; from pathlib import Path\n"
    "from audits.certificate.release import prepare; from audits.claim import read_claim\n"
    "from audits.subjects.catalogue import subject_of; from mechanisms.table.user_level import named\n"
    "claim = read_claim(Path('claim.toml')); subject = subject_of(claim)\n"
    "print(json.dumps([prepare(claim, subject).data.sums.tolist(), named(subject).bits]))\n"
)
CLAIM = """
schema = "dpaccount/claim/1"
name = "sums"
[guarantee]
model = "central"
unit = "one person"
relation = "add-remove"
epsilon = 1
delta = 1e-6
[subject]
use = "gaussian-sum"
[subject.parameters]
columns = ["x"]
by = "group"
[data]
file = "int.parquet"
ledger = "sqlite:///sums.db"
rows = {persons}
id = "id"
max_rows = 3
[data.columns]
x = {{ type = "number", low = 0, high = 100 }}
group = {{ type = "integer", low = 0, high = 199 }}
"""
#: name, column of identities, what runs
WAYS = (
    ("pyarrow, read only", "int", READ),
    ("totals, integer identities", "int", SUMMED),
    ("totals, text identities", "text", SUMMED),
    ("a release beyond its certificate", "int", PREPARED),
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
        group = rng.integers(0, GROUPS, some).astype(np.int16)
        part = pa.table({"id": ids, "group": group, "x": rng.integers(0, 100 * UNIT, some) / UNIT})
        file = file or parquet.ParquetWriter(path, part.schema)
        file.write_table(part)
    if file is not None:
        file.close()


def exact(path: Path) -> list[int]:
    """Return the totals of a table with integer identities, in 1/UNIT: all its rows are sorted by person."""
    who, group, x = (column.to_numpy() for column in parquet.read_table(path).select(["id", "group", "x"]))
    order = np.argsort(who, kind="stable")
    known = who[order]
    rank = np.arange(len(known)) - np.searchsorted(known, known)
    kept = order[rank < MOST]
    sums: list[int] = np.bincount(group[kept], (UNIT * x[kept]).astype(np.int64), GROUPS).astype(int).tolist()
    return sums


def check(printed: str, wanted: list[int]) -> None:
    """End the program where printed totals are not `wanted`."""
    sums, bits = json.loads(printed)
    if [each * UNIT for each in sums] != [each << bits for each in wanted]:
        raise SystemExit("the totals are not those of the other program")


def took(code: str, *words: str, folder: Path) -> tuple[str, list[float]]:
    """Return what a process of Python prints, and its processor seconds and megabytes."""
    alone = [sys.executable, "-c", code + MEASURED, *words]
    done = subprocess.run(alone, cwd=folder, capture_output=True, text=True, check=True)
    *printed, last = done.stdout.splitlines()
    return "\n".join(printed), [float(each) for each in last.split()]


def measured(rows: int, rounds: int, folder: Path) -> dict[str, list[float]]:
    """Return each way's processor seconds and megabytes, on tables of so many rows, written to a folder."""
    best: dict[str, list[float]] = {name: [np.inf, 0.0] for name, *_ in WAYS}
    for identity in dict.fromkeys(each[1] for each in WAYS):
        written(folder / f"{identity}.parquet", rows, identity)
    (folder / "claim.toml").write_text(CLAIM.format(persons=rows // 10))
    wanted = exact(folder / "int.parquet")
    for _ in range(rounds):
        for name, identity, code in WAYS:
            printed, found = took(code, f"{identity}.parquet", str(rows // 10), folder=folder)
            if code is not READ:
                check(printed, wanted)
            best[name] = [min(best[name][0], found[0]), max(best[name][1], found[1])]
    return best


def rows(setting: BenchmarkSetting) -> Rows:
    number = 10**8 if setting.long else 5 * 10**6
    with tempfile.TemporaryDirectory() as made:
        found = measured(number, ROUNDS, Path(made))
    first = WAYS[0][0]
    for name, (seconds, megabytes) in found.items():
        if name != first:
            what, note = f"{name}, {number} rows", f"{megabytes:.0f} MB (reading: {found[first][1]:.0f})"
            yield BenchmarkRow(what, seconds, "s", first, found[first][0], note)
    text, integers = WAYS[2][0], WAYS[1][0]
    yield BenchmarkRow(f"{text}, {number} rows", found[text][0], "s", integers, found[integers][0])
