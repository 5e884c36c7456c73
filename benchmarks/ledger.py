"""What a charge costs, beside a bare loop of read, update, insert and commit in the same run.

usage: .venv/bin/python benchmarks/ledger.py [--units 1000 10000 100000] [--measure pure]

Processor milliseconds, the median of 200, on ledgers whose units have all spent differently: a bare turn,
then a charge of each kind, and again, so that other work slows all alike; beside each its ratio to the bare
turn.  `charge_many` makes the ledger, a thousand at once, ten bare turns before each (medians of the last
twenty thousand).  Then what opening and `show`, `verify`, and `verify --since` of the last hundredth take.
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

from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Gaussian, Plan, Pure, Relation

TURNS = 200
EVENTS = {
    "pure": lambda size, cover: Pure(epsilon=Fraction(size, 10**7), cover=cover),
    "gdp": lambda size, cover: Gaussian(sigma=1000 * size, cover=cover),
}


def spent(act: Callable[[], object]) -> float:
    """Return the processor milliseconds that something takes."""
    began = time.process_time()
    act()
    return (time.process_time() - began) * 1000


def bare(file: Path) -> Callable[[], None]:
    """Return the least that is durable: one row read and changed, one added, committed."""
    database = sqlite3.connect(file, isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE head (last INTEGER)")
    database.execute("CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT)")
    database.execute("INSERT INTO head VALUES (0)")

    def turn() -> None:
        database.execute("BEGIN IMMEDIATE")
        [last] = database.execute("SELECT max(last) FROM head").fetchone()
        database.execute("UPDATE head SET last = ?", (last + 1,))
        database.execute("INSERT INTO entries (body) VALUES (?)", ("x" * 400,))
        database.execute("COMMIT")

    return turn


def told(name: str, costs: list[float], beside: list[float]) -> str:
    cost = statistics.median(costs)
    return f"{name} {cost:.2f} ({cost / statistics.median(beside):.2f})"


def measured(folder: Path, units: int, measure: str) -> None:
    url, dice, event = f"sqlite:///{folder}/{units}.db", random.Random(1), EVENTS[measure]  # noqa: S311 - a benchmark
    delta = 0 if measure == "pure" else Fraction(1, 10**6)
    init(url, epsilon=1000, delta=delta, unit="person", relation="replace-one", measure=measure)

    def plan(size: int, cover: tuple[int, int] | None) -> Plan:
        return Plan(Relation.REPLACE_ONE, (event(1 + size % 997, cover),))

    order = list(range(1, units + 1))
    dice.shuffle(order)
    least = bare(folder / "bare.db")
    with Ledger.open(url) as ledger:
        many, beside, noted = [], [], ""
        for start in range(0, units, 1000):
            some = [(plan(unit * 7919, (unit, unit)), "seed", None) for unit in order[start : start + 1000]]
            beside += [spent(least) for _ in range(10)]
            many.append(spent(lambda: ledger.charge_many(some)) / len(some))  # noqa: B023
            noted = ledger.show()["head"] if start < units * 99 // 100 else noted
        kinds = {
            "everybody": lambda: None,
            "one unit": lambda: (unit := dice.randrange(1, units), unit),
            "a range": lambda: tuple(sorted(dice.sample(range(1, units), 2))),
        }
        costs: dict[str, list[float]] = {name: [] for name in ("bare", *kinds)}
        for turn in range(TURNS):
            costs["bare"].append(spent(least))
            for name, cover in kinds.items():
                wanted = plan(turn, cover())
                costs[name].append(spent(lambda: ledger.charge_plan(wanted, "one")))  # noqa: B023
        line = [told(name, found, costs["bare"]) for name, found in costs.items()]
        line.append(told("many", many[-20:], beside[-200:]))
        print(f"{units} units, {measure}, ms (beside bare): {', '.join(line)}", flush=True)
    for name, act in {
        "open and show": lambda: shown(url),
        "verify --since the last 1 %": lambda: verify(url, since=noted),
        "verify": lambda: verify(url),
    }.items():
        print(f"    {name}: {spent(act) / 1000:.2f} s", flush=True)


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
