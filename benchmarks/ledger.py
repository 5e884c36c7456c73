"""What a charge costs, beside a bare loop of read, update, insert and commit in the same run.

usage: .venv/bin/python benchmarks/ledger.py [--units 1000 10000 100000] [--measure pure]

Processor milliseconds, the median of 200, on ledgers whose units have all spent differently; then of
`charge_many`, a thousand at once, and what opening, `show`, `verify` and `verify --since` of the last
hundredth take.
"""

import argparse
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from dpaccount.ledger.carried.heads import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Gaussian, Plan, Pure, Relation

TURNS = 200
EVENTS = {
    "pure": lambda size, cover: Pure(epsilon=Fraction(size, 10**7), cover=cover),
    "gdp": lambda size, cover: Gaussian(sigma=1000 * size, cover=cover),
}


def median(act: Callable[[int], object], turns: int = TURNS) -> float:
    """Return the median of processor milliseconds of so many turns."""
    found = []
    for turn in range(turns):
        began = time.process_time()
        act(turn)
        found.append(time.process_time() - began)
    return statistics.median(found) * 1000


def bare(folder: Path) -> float:
    """Return what the least that is durable costs: one row read and changed, one added, committed."""
    database = sqlite3.connect(folder / "bare.db", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE IF NOT EXISTS head (last INTEGER)")
    database.execute("CREATE TABLE IF NOT EXISTS entries (number INTEGER PRIMARY KEY, body TEXT)")
    database.execute("INSERT INTO head VALUES (0)")

    def turn(_: int) -> None:
        database.execute("BEGIN IMMEDIATE")
        [last] = database.execute("SELECT max(last) FROM head").fetchone()
        database.execute("UPDATE head SET last = ?", (last + 1,))
        database.execute("INSERT INTO entries (body) VALUES (?)", ("x" * 400,))
        database.execute("COMMIT")

    cost = median(turn)
    database.close()
    return cost


def measured(folder: Path, units: int, measure: str) -> None:
    url, dice, event = f"sqlite:///{folder}/{units}.db", random.Random(1), EVENTS[measure]  # noqa: S311 - a benchmark
    delta = 0 if measure == "pure" else Fraction(1, 10**6)
    init(url, epsilon=1000, delta=delta, unit="person", relation="replace-one", measure=measure)

    def plan(size: int, cover: tuple[int, int] | None) -> Plan:
        return Plan(Relation.REPLACE_ONE, (event(1 + size % 997, cover),))

    order = list(range(1, units + 1))
    dice.shuffle(order)
    with Ledger.open(url) as ledger:
        began, noted = time.process_time(), ""
        for start in range(0, units, 1000):
            some = [(plan(unit * 7919, (unit, unit)), "seed", None) for unit in order[start : start + 1000]]
            made = ledger.charge_many(some)
            noted = made[-1].head if start < units * 99 // 100 else noted
        many = (time.process_time() - began) / units * 1000
        kinds = {
            "everybody": lambda: None,
            "one unit": lambda: (unit := dice.randrange(1, units), unit),
            "a range": lambda: tuple(sorted(dice.sample(range(1, units), 2))),
        }
        line = [f"bare {bare(folder):.2f}"]
        for name, cover in kinds.items():
            cost = median(lambda turn, cover=cover: ledger.charge_plan(plan(turn, cover()), "one"))
            line.append(f"{name} {cost:.2f}")
        print(f"{units} units, {measure}, ms: {', '.join(line)}, many {many:.3f}", flush=True)
    for name, act in {
        "open and show": lambda _: shown(url),
        "verify --since the last 1 %": lambda _: verify(url, since=noted),
        "verify": lambda _: verify(url),
    }.items():
        print(f"    {name}: {median(act, 1) / 1000:.2f} s", flush=True)


def shown(url: str) -> None:
    with Ledger.open(url) as ledger:
        ledger.show()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--measure", choices=sorted(EVENTS), default="pure")
    asked = parser.parse_args()
    for units in asked.units:
        with tempfile.TemporaryDirectory() as folder:
            measured(Path(folder), units, asked.measure)


if __name__ == "__main__":
    main()
