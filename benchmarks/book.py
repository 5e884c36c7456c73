r"""All benchmarks, one after the other, and the page that is made of them.

`make bench`, or

    python -m benchmarks.book [--peers FOLDER] [--long] [--only NAME …] [--out docs/benchmarks.json]

Every part runs in a process of its own.  A peer that is not installed in the environment FOLDER is told as
not measured, and so is PostgreSQL where no server can be started; what fails otherwise ends with exit code 1.
With --only the other parts stay as they are in the file.  The peers are installed by

    python3.11 -m venv FOLDER
    FOLDER/bin/pip install dp-accounting==0.6.0 prv-accountant==0.2.0 random-allocation==1.0.5 \
      riskcal==1.5.1 pandas scikit-learn==1.5.2 diffprivlib==0.6.6 opendp==0.16.0 \
      jax-privacy==2.0.0 tensorflow-cpu==2.21.0 google-vizier==0.1.24 'etils[epath,epy]' tqdm
    git clone https://github.com/google/differential-privacy FOLDER/auditorium
    git clone https://github.com/cmla-psu/statdp FOLDER/statdp
    echo "$PWD/FOLDER/auditorium/python/dp_auditorium
    $PWD/FOLDER/statdp" > FOLDER/lib/python3.11/site-packages/checkouts.pth
"""

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.rows import BenchmarkRow, BenchmarkSetting

ROOT = Path(__file__).parent.parent
BOOK = ROOT / "docs" / "benchmarks.json"
#: module → heading
PARTS = {
    "accounting": "Accounting",
    "audits": "Audits",
    "noise": "Noise",
    "continual": "Continual release",
    "bandits": "Bandits",
    "tables": "Tables",
    "long_work": "Long work",
    "ledger": "Ledger on SQLite",
    "postgres": "Ledger on PostgreSQL",
    "starts": "Releases and start-up",
}
LIBRARIES = ("numpy", "scipy", "python-flint", "opendp", "pyarrow", "psycopg")
INTRODUCTION = """\
# Benchmarks

`make bench PEERS=FOLDER` measures all rows (`docs/benchmarks.json`) and writes this page.
`python -m benchmarks.book --help` says how to install the peers.

Each row compares ours with a peer, or with the minimum that such work takes. A time is the shortest of
three runs (of one, above two seconds); for testers, the number is the smallest of three sample sizes
that rejects. **The ratio**, ours over theirs, depends less on load.
"""


HEAD = "| part | compared with | unit | rows | ratio | largest for |\n|---|---|---|---|---|---|"


def measured(part: str, setting: BenchmarkSetting) -> dict[str, Any]:
    """Measure one part in a process of its own, with its processor time, its time, and the load before it."""
    words = [sys.executable, "-m", "benchmarks.book", "--part", part, *["--long"] * setting.long]
    words += ["--peers", str(setting.peers)] if setting.peers else []
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    before, load, began = resource.getrusage(resource.RUSAGE_CHILDREN), os.getloadavg()[0], time.monotonic()
    done = subprocess.run(words, cwd=ROOT, env=one_thread, stdout=subprocess.PIPE, text=True, check=True)
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    rows = json.loads(done.stdout.splitlines()[-1])
    return {"load": round(load, 2), "seconds": round(seconds), "processor": round(spent), "rows": rows}


def machine() -> dict[str, str]:
    """Return what figures depend on."""
    known = {
        name: importlib.metadata.version(name)
        for name in LIBRARIES
        if importlib.util.find_spec(name.split("-")[-1])
    }
    return {"cores": str(os.cpu_count()), "Python": platform.python_version(), **known}


# ------------------------------------------------------------------ the page


def figure(value: float | None) -> str:
    """Return a figure with three digits."""
    if value is None:
        return "not measured"
    if value == 0 or 0.001 <= abs(value) < 10**6:
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:.1e}"


def lacking(rows: list[BenchmarkRow]) -> list[str]:
    """Return what was not measured, once for all rows that lack it, and why."""
    reasons = [(row.beside, row.note.partition("; ")) for row in rows if row.ratio is None]
    counts = Counter((beside, why or first) for beside, (first, _, why) in reasons)  # a width may come first
    return [f"{beside} in {count} rows: {why}" for (beside, why), count in counts.items()]


def page(book: dict[str, Any]) -> str:
    """Return the page that a measured book makes."""
    said = ", ".join(f"{name} {version}" for name, version in book["machine"].items())
    whole = sum(part["seconds"] for part in book["parts"].values())
    loads = sorted(part["load"] for part in book["parts"].values())
    told = [INTRODUCTION, f"This run: {said}; load {loads[0]} to {loads[-1]}, {whole} s in all.\n"]
    if book["long"]:
        told.append("It was made with `--long`, at the largest sizes.\n")
    told.append("![The ratio of every row, by part](pictures/benchmarks.svg)\n")
    told.append(HEAD)
    lacks = []
    for name, part in book["parts"].items():
        rows = [BenchmarkRow(**each) for each in part["rows"]]
        lines = [summary(*key, alike) for key, alike in grouped(rows).items()]
        told += [f"| {'' if number else PARTS[name]} {line}" for number, line in enumerate(lines)]
        lacks += lacking(rows)
    told += ["", *[f"Not measured: {'; '.join(lacks)}.\n"] * bool(lacks)]
    return "\n".join(told)


def grouped(rows: list[BenchmarkRow]) -> dict[tuple[str, str], list[BenchmarkRow]]:
    """Return the measured rows by what they are compared with, and by their unit."""
    groups = defaultdict(list)
    for row in rows:
        if row.ratio is not None:
            groups[row.beside, row.unit].append(row)
    return groups


def span(values: list[float]) -> str:
    """Return the least and the largest of some figures."""
    low, high = figure(min(values)), figure(max(values))
    return low if low == high else f"{low} to {high}"


def summary(beside: str, unit: str, rows: list[BenchmarkRow]) -> str:
    """Return one line of a part's table, for rows with the same peer and unit."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    largest = max(rows, key=lambda row: row.ratio or 0)
    return f"| {' | '.join([beside, unit, str(len(rows)), span(ratios), largest.what])} |"


def drawn(book: dict[str, Any], out: Path) -> None:
    """Draw the ratio of every row that has one."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "benchmarks"
    from matplotlib import pyplot as plt

    ratios = defaultdict(list)
    for name, part in book["parts"].items():
        ratios[PARTS[name]] += [ratio for each in part["rows"] if (ratio := BenchmarkRow(**each).ratio)]
    figure_, axes = plt.subplots(figsize=(8, 0.5 * len(ratios) + 1))
    for at, found in enumerate(ratios.values()):
        axes.plot(found, [at] * len(found), "o", alpha=0.6)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(ratios)), list(ratios))
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="ours / peer or floor")
    figure_.tight_layout()
    figure_.savefig(out, metadata={"Date": None})


def main() -> int:
    """Measure, and write the book, the picture and the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", nargs="+", choices=PARTS)
    parser.add_argument("--out", type=Path, default=BOOK)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    setting = BenchmarkSetting(asked.peers.absolute() if asked.peers else None, asked.long)
    if asked.part:
        rows = importlib.import_module(f"benchmarks.{asked.part}").rows(setting)
        print(json.dumps([asdict(row) for row in rows]))
        return 0
    kept = json.loads(asked.out.read_text())["parts"] if asked.only and asked.out.exists() else {}
    failed = []
    for part in asked.only or PARTS:
        sys.stderr.write(f"{part} …\n")
        try:
            kept[part] = measured(part, setting)
        except subprocess.CalledProcessError:
            failed.append(part)
            kept.pop(part, None)
            continue
        for each in lacking([BenchmarkRow(**row) for row in kept[part]["rows"]]):
            sys.stderr.write(f"  not measured: {each}\n")
    parts = {part: kept[part] for part in PARTS if part in kept}
    book = {"machine": machine(), "long": asked.long, "parts": parts}
    asked.out.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n")
    asked.out.with_suffix(".md").write_text(page(book))
    pictures = asked.out.parent / "pictures"
    pictures.mkdir(exist_ok=True)
    drawn(book, pictures / "benchmarks.svg")
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
