"""What a charge costs, beside a bare loop of read, update, insert and commit in the same run.

Processor milliseconds, the median of 200, on ledgers whose units have all spent differently: a bare turn,
then a charge of each kind, and again, so that other work slows all alike.  `charge_many` makes the ledger, a
thousand at once, ten bare turns before each (medians of the last twenty thousand).  Then what opening and
`show`, `verify`, and `verify --since` of the last hundredth take.
"""

import random
import sqlite3
import statistics
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from benchmarks.rows import BenchmarkRow, BenchmarkSetting, Rows, spent
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Gaussian, Plan, Pure, Relation

TURNS = 200
EVENTS = {
    "pure": lambda size, cover: Pure(epsilon=Fraction(size, 10**7), cover=cover),
    "gdp": lambda size, cover: Gaussian(sigma=1000 * size, cover=cover),
}


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


def measured(folder: Path, units: int, measure: str) -> Rows:
    url, dice, event = f"sqlite:///{folder}/{units}.db", random.Random(1), EVENTS[measure]  # noqa: S311 - a benchmark
    delta = 0 if measure == "pure" else Fraction(1, 10**6)
    init(url, epsilon=1000, delta=delta, unit="person", relation="replace-one", measure=measure)

    def plan(size: int, cover: tuple[int, int] | None) -> Plan:
        return Plan(Relation.REPLACE_ONE, (event(1 + size % 997, cover),))

    order = list(range(1, units + 1))
    dice.shuffle(order)
    least = bare(folder / "bare.db")
    costs: dict[str, list[float]] = {}
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
        costs = {name: [] for name in ("bare", *kinds)}
        for turn in range(TURNS):
            costs["bare"].append(spent(least))
            for name, cover in kinds.items():
                wanted = plan(turn, cover())
                costs[name].append(spent(lambda: ledger.charge_plan(wanted, "one")))  # noqa: B023
    turn_ms, about = 1000 * statistics.median(costs.pop("bare")), f"{units} units and entries, {measure}"
    for name, found in costs.items():
        cost = 1000 * statistics.median(found)
        yield BenchmarkRow(f"charge of {name}; {about}", cost, "ms", "a bare turn", turn_ms)
    cost, least_ms = 1000 * statistics.median(many[-20:]), 1000 * statistics.median(beside[-200:])
    yield BenchmarkRow(f"one of a thousand charges at once; {about}", cost, "ms", "a bare turn", least_ms)
    for name, act in {
        "open and show": lambda: shown(url),
        "verify --since the last 1 %": lambda: verify(url, since=noted),
        "verify": lambda: verify(url),
    }.items():
        whole = turn_ms * (1 if name == "open and show" else units)
        what = "a bare turn" if name == "open and show" else "a bare turn for each entry"
        yield BenchmarkRow(f"{name}; {about}", spent(act) * 1000, "ms", what, whole)


def shown(url: str) -> None:
    with Ledger.open(url) as ledger:
        ledger.show()


def rows(setting: BenchmarkSetting) -> Rows:
    for units, measure in (
        (10**3, "pure"),
        (10**4, "pure"),
        (10**4, "gdp"),
        *[(10**5, "pure")] * setting.long,
    ):
        with tempfile.TemporaryDirectory() as folder:
            yield from measured(Path(folder), units, measure)
