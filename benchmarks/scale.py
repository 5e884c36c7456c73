"""What size costs, over three decades and more: `python -m benchmarks.scale [--out docs/scale.json]`.

Every size runs in a process of its own: processor seconds of the work, without the process's start and the
making of its data, and the peak of its memory.  The page docs/scale.md is made of what was measured.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.book import ROOT, figure, machine
from benchmarks.rows import spent

SCALE = ROOT / "docs" / "scale.json"
Made = Callable[[], object]  #: the work that is measured, with its data at hand


# ------------------------------------------------------------------ tables


def table(folder: Path, *, rows: int = 10**6, persons: int = 0, columns: int = 1, groups: int = 200) -> Made:
    """Return the summing of a table of so much by groups; without persons each row is a unit."""
    import pyarrow as pa
    from pyarrow import parquet

    from dpaccount.documents import Place
    from mechanisms.gaussian_sum import GaussianSum
    from mechanisms.table import Column, Table
    from mechanisms.table.bind_columns import bind
    from mechanisms.table.totals import Summed, TablePart

    rng, file, names = np.random.default_rng(1), None, [f"x{k}" for k in range(columns)]
    for start in range(0, rows, 10**6):
        some = min(10**6, rows - start)
        cells = {"id": rng.integers(0, max(persons, 1), some), "group": rng.integers(0, groups, some)}
        part = pa.table({**cells, **{name: 100 * rng.random(some) for name in names}})
        file = file or parquet.ParquetWriter(folder / "t.parquet", part.schema)
        file.write_table(part)
    if file is not None:
        file.close()
    numbers = [Column(name, "number", Fraction(0), Fraction(100)) for name in names]
    declared = (Column("group", "integer", Fraction(0), Fraction(groups - 1)), *numbers)
    about = ("id", 3) if persons else (None, 1)
    whole = Table(declared, persons or rows, *about)
    said = Place({"columns": names, "by": "group"}, "")
    given, reading = bind(GaussianSum, said, whole, 3 * whole.rows, "add-remove")
    made = GaussianSum(**given)
    summed = Summed(made, made.domain(), whole, reading)
    return lambda: summed.of([folder / "t.parquet"], TablePart(0, 1, bytes(32)))


# ------------------------------------------------------------------ accounting and ledger


def composed(_: Path, different: int = 1, each: int = 1) -> Made:
    """Return the accounting of so many different Gaussians and Laplaces, each released so many times."""
    from dpaccount.accounting.accountant import Accountant
    from dpaccount.plan.events import Gaussian, Laplace, Plan, Relation

    wide = 50 * math.isqrt(different * each)
    events = tuple(
        (Gaussian(sigma=wide + Fraction(k, 7), count=each), Laplace(scale=wide + Fraction(k, 7), count=each))[
            k % 2
        ]
        for k in range(different)
    )
    return lambda: Accountant(Plan(Relation.REPLACE_ONE, events)).epsilon("1e-6")


def covered(_: Path, units: int = 1) -> Made:
    """Return the accounting of a release on each of so many units, and on each node of the tree above."""
    from dpaccount.accounting.accountant import Accountant
    from dpaccount.plan.events import Gaussian, Plan, Relation

    levels = max(1, units.bit_length() - 1)
    node = Gaussian(sigma=20)
    nodes = [(k << j, min((k + 1) << j, units)) for j in range(levels) for k in range(-(-units >> j))]
    charges = tuple(node.covering(first + 1, last) for first, last in nodes if first < last)
    return lambda: Accountant(Plan(Relation.REPLACE_ONE, charges)).epsilon("1e-6")


def ledger(folder: Path, entries: int = 1, *, verified: bool = False) -> Made:
    """Return a charge of one unit to a ledger of so many entries and units, or its verification."""
    from dpaccount.ledger.journal.verify import verify
    from dpaccount.ledger.ledger import Ledger, init
    from dpaccount.plan.events import Plan, Pure, Relation

    url = f"sqlite:///{folder}/ledger.db"
    init(url, epsilon=1000, delta=0, unit="person", relation="replace-one", measure="pure")

    def plan(unit: int) -> Plan:
        size = Fraction(1 + unit * 7919 % 997, 10**7)
        return Plan(Relation.REPLACE_ONE, (Pure(epsilon=size, cover=(unit, unit)),))

    opened = Ledger.open(url)
    for start in range(1, entries + 1, 1000):
        stop = min(start + 1000, entries + 1)
        opened.charge_many([(plan(unit), "seed", None) for unit in range(start, stop)])
    if verified:
        return lambda: verify(url)
    return lambda: [opened.charge_plan(plan(unit % entries + 1), "one") for unit in range(100)]


# ------------------------------------------------------------------ audits and bandits


def audited(_: Path, runs: int = 1) -> Made:
    """Return the lower bound that so many runs a side give, with a score learned from a third of them."""
    from audits.attack.rules import plan_guess
    from benchmarks.audits import black_box, laplace, outcomes

    case, rng = laplace(1.0), np.random.default_rng(1)
    left, right = (outcomes(case.draw(rng, side, runs)) for side in (0, 1))
    return lambda: black_box(left, right, Fraction(0), plan_guess)


def played(_: Path, rounds: int = 1) -> Made:
    """Return a run of moment-gp-ucb over so many people, with simulated noise."""
    from bandits.moment_gp_ucb import MomentGpUcb
    from dpaccount.noise.receipt import rehearse
    from dpaccount.noise.samplers import Rehearsal

    stream = {"stream": "buffered-toeplitz", "refresh": 16}
    made = MomentGpUcb(rounds=rounds, candidates=4, nodes_per_axis=8, size=64, **stream)
    rng = np.random.default_rng(1)
    people = np.concatenate([rng.uniform(-1, 1, (rounds, 8)), rng.integers(0, 2, (rounds, 4))], axis=1)
    noise = rehearse(made.proof(made.delta), Rehearsal(1))
    return lambda: made.play(people, noise, 1)


@dataclass(frozen=True)
class Dimension:
    """What grows: how it is made, the sizes, and what a reader should know."""

    what: str
    make: Callable[[Path, int], Made]
    sizes: tuple[int, ...]
    bottleneck: str
    beyond: str


def decades(first: int, last: int) -> tuple[int, ...]:
    return tuple(10**k for k in range(first, last + 1))


PARTS = "`--partitions`, `--jobs`, then `--engine dask` ([large-tables.md](large-tables.md))"
DIMENSIONS = {
    "rows": Dimension(
        "rows of a tenth as many people, 200 sums",
        lambda folder, size: table(folder, rows=size, persons=size // 10),
        decades(4, 8),
        "decoding Parquet, the counter of each row",
        PARTS,
    ),
    "persons": Dimension(
        "people with 4 million rows, 200 sums",
        lambda folder, size: table(folder, rows=4 * 10**6, persons=size),
        decades(3, 6),
        "memory: 2 bytes per person for dense integers, 36 or more for others",
        "`--partitions`",
    ),
    "columns": Dimension(
        "summed columns of 10⁴ rows",
        lambda folder, size: table(folder, rows=10**4, columns=size, groups=1),
        decades(0, 3),
        "memory of a batch: 65,536 rows of every column",
        "several claims, each of some columns",
    ),
    "groups": Dimension(
        "groups of a million rows of 10⁴ people",
        lambda folder, size: table(folder, persons=10**4, groups=size),
        decades(1, 4),
        "one draw per group (10 µs); at most 10,000 declared cells",
        "`stable-histogram` for unlisted keys",
    ),
    "units": Dimension(
        "units of an account, each with its own Gaussian",
        covered,
        decades(3, 6),
        "reading each event",
        "one event for many units (`cover`)",
    ),
    "entries": Dimension(
        "entries of a SQLite ledger, 100 charges of one unit",
        ledger,
        decades(2, 5),
        "the transaction",
        "`charge_many`; PostgreSQL for several machines ([ledger.md](ledger.md))",
    ),
    "verified": Dimension(
        "entries of a verified ledger",
        lambda folder, size: ledger(folder, size, verified=True),
        decades(2, 5),
        "recomputing every entry's digest and all balances",
        "`--since` a noted head, `--jobs` where offered",
    ),
    "different": Dimension(
        "different releases in one account",
        lambda folder, size: composed(folder, different=size),
        decades(1, 4),
        "a transform of each",
        "equal scales: one event with a count",
    ),
    "equal": Dimension(
        "equal releases in one account",
        lambda folder, size: composed(folder, different=10, each=size),
        decades(0, 6),
        "none",
        "–",
    ),
    "runs": Dimension(
        "runs per side of a black-box audit",
        audited,
        decades(3, 6),
        "nearly always the audited code",
        "`--jobs`, `--stop-early`",
    ),
    "rounds": Dimension(
        "people of moment-gp-ucb",
        played,
        decades(2, 5),
        "one core, as a round needs the last one; OpenDP's sampler",
        "a longer `refresh`",
    ),
}


# ------------------------------------------------------------------ measuring


def measured_one(name: str, size: int) -> dict[str, float]:
    """Return the processor seconds of one size, and the peak memory of this process in megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        seconds = spent(DIMENSIONS[name].make(Path(folder), size))
    peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
    return {"size": size, "seconds": seconds, "megabytes": int(peak) / 1024}


def measured(name: str) -> dict[str, Any]:
    """Measure a dimension, each size in a process of its own."""
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    load, found = os.getloadavg()[0], []
    for size in DIMENSIONS[name].sizes:
        words = [sys.executable, "-m", "benchmarks.scale", "--one", name, str(size)]
        done = subprocess.run(words, cwd=ROOT, env=alone, stdout=subprocess.PIPE, text=True, check=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return {"load": round(load, 2), "points": found}


# ------------------------------------------------------------------ the page

INTRODUCTION = """\
# How cost grows with size

`make scale` measures processor seconds of one core and peak memory (`docs/scale.json`), and writes this
page. Each size has its own process; start-up and the generation of data are not counted. The exponent is
that of the last decade (1: linear).
"""

HEAD = """\
| what grows | seconds | MB | exponent | bottleneck | beyond it |
|---|---|---|---|---|---|"""


def page(book: dict[str, Any]) -> str:
    """Return the page that a measured book makes."""
    said = ", ".join(f"{name} {version}" for name, version in book["machine"].items())
    loads = sorted(each["load"] for each in book["dimensions"].values())
    told = [INTRODUCTION, f"This run: {said}; load {loads[0]} to {loads[-1]}.\n"]
    told.append(HEAD)
    for name, each in book["dimensions"].items():
        points, what = each["points"], DIMENSIONS[name]
        cells = [
            f"{points[0]['size']:,} to {points[-1]['size']:,} {what.what}",
            " to ".join(figure(points[i]["seconds"]) for i in (0, -1)),
            f"{max(point['megabytes'] for point in points):.0f}",
            f"{exponent(points):.2f}",
            what.bottleneck,
            what.beyond,
        ]
        told.append(f"| {' | '.join(cells)} |")
    if "rows" in book["dimensions"]:
        seconds = figure(extrapolated(book["dimensions"]["rows"]["points"], 10**9))
        told.append(f"\n10⁹ rows were not measured; the last three decades suggest about {seconds} s.")
    return "\n".join([*told, ""])


def exponent(points: list[dict[str, float]]) -> float:
    """Return the exponent of the time over the last two sizes."""
    (first, last) = points[-2:]
    return math.log(last["seconds"] / first["seconds"]) / math.log(last["size"] / first["size"])


def extrapolated(points: list[dict[str, float]], size: float) -> float:
    """Return the seconds of a size beyond, by the power that the last four sizes follow."""
    sizes, seconds = (np.log([each[key] for each in points[-4:]]) for key in ("size", "seconds"))
    slope, start = np.polyfit(sizes, seconds, 1)
    return float(np.exp(start + slope * np.log(size)))


def main() -> None:
    """Measure, and write the book and the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=DIMENSIONS)
    parser.add_argument("--out", type=Path, default=SCALE)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measured_one(asked.one[0], int(asked.one[1]))))
        return
    kept = json.loads(asked.out.read_text())["dimensions"] if asked.only and asked.out.exists() else {}
    for name in asked.only or DIMENSIONS:
        sys.stderr.write(f"{name} …\n")
        kept[name] = measured(name)
        book = {"machine": machine(), "dimensions": {name: kept[name] for name in DIMENSIONS if name in kept}}
        asked.out.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n")
        asked.out.with_suffix(".md").write_text(page(book))


if __name__ == "__main__":
    main()
