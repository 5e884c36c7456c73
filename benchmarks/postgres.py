"""Charges in PostgreSQL by eight processes, beside a bare loop on one head row in the same run.

The bare loop locks a row, reads it, adds a row of 600 characters, updates the head, commits: a journey each.
Each round is all kinds one after another; of the rounds the median is told, since a machine's load changes.
Once as this machine's disk takes a commit, and once with 3 milliseconds more for each (`commit_delay`).
"""

import os
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from benchmarks.rows import BenchmarkRow, BenchmarkSetting, Rows
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Plan, Pure, Relation

if TYPE_CHECKING:
    from tests.dpaccount.ledger.postgres import PostgresServer

CLIENTS = 8
SECONDS = 2.0
ROUNDS = 3


def counted(clients: int, seconds: float, client: Callable[[int, float], int]) -> list[int]:
    """Return what each of so many processes did between one moment and another."""
    ends, began = [], time.monotonic() + 1.0
    for number in range(clients):
        reads, writes = os.pipe()
        if os.fork():
            os.close(writes)
            ends.append(reads)
        else:
            os.write(writes, str(client(number, began + seconds)).encode())
            os._exit(0)
    found = [int(os.read(end, 100)) for end in ends]
    for _ in ends:
        os.wait()
    return found


def bare(server: "PostgresServer", until: float) -> int:
    done = 0
    with server.connect() as link:
        while time.monotonic() < until:
            link.execute("BEGIN")
            [last] = link.execute("SELECT last FROM head FOR UPDATE").fetchone()
            link.execute("INSERT INTO entries (number, body) VALUES (%s, %s)", (last + 1, "x" * 600))
            link.execute("UPDATE head SET last = %s", (last + 1,))
            link.execute("COMMIT")
            done += 1
    return done


def ours(url: str, number: int, kind: str, until: float) -> int:
    done = 0
    with Ledger.open(url) as ledger:
        while time.monotonic() < until:
            unit = (number * 7919 + done * 104_729) % 10**6 + 1
            cover = {"everybody": None, "one unit": (unit, unit), "a range": (unit, unit + 10**5)}[kind]
            event = Pure(epsilon=Fraction(1, 10**7), cover=cover)
            ledger.charge_plan(Plan(Relation.REPLACE_ONE, (event,)), "part", f"{kind} {number} {done}")
            done += 1
    return done


def client(server: "PostgresServer", url: str, kind: str, first: int) -> Callable[[int, float], int]:
    """Return what a process does until a moment."""
    if kind == "bare":
        return lambda _, until: bare(server, until)
    return lambda number, until: ours(url, first + number, kind, until)


def rows(_: BenchmarkSetting) -> Rows:
    try:
        import psycopg

        from tests.dpaccount.ledger.postgres import PostgresServer

        server = PostgresServer()
    except Exception as error:  # no server, or no package that starts one: of many kinds
        yield BenchmarkRow(
            "charges by eight processes", None, "ms", "a bare loop", None, f"no server: {error}"
        )
        return
    try:
        with server.connect() as link:
            link.execute("ALTER SYSTEM SET commit_siblings = 0")  # whoever else is busy
            link.execute("CREATE TABLE head (last BIGINT)")
            link.execute("INSERT INTO head VALUES (0)")
            link.execute("CREATE TABLE entries (number BIGINT PRIMARY KEY, body TEXT)")
        url = server.url()
        init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
        for turn, delay in enumerate((0, 3)):
            with server.connect() as link:
                link.execute(f"ALTER SYSTEM SET commit_delay = {delay * 1000}".encode())
                link.execute("SELECT pg_reload_conf()")
            yield from measured(server, url, turn, delay)
    except psycopg.Error as error:
        raise SystemExit(str(error)) from None
    finally:
        server.remove()


def measured(server: "PostgresServer", url: str, turn: int, delay: int) -> Rows:
    """Yield each kind's milliseconds a commit beside the bare loop's."""
    rates: dict[str, list[float]] = {kind: [] for kind in ("bare", "everybody", "one unit", "a range")}
    least: dict[str, list[float]] = {kind: [] for kind in rates}
    for each in range(ROUNDS):
        for kind, rate in rates.items():
            first = (turn * ROUNDS + each) * CLIENTS
            found = counted(CLIENTS, SECONDS, client(server, url, kind, first))
            rate.append(sum(found) / SECONDS)
            least[kind].append(min(found) * len(found) / sum(found))
    bare_ms = 1000 / statistics.median(rates.pop("bare"))
    for kind, rate in rates.items():
        slowest = f"the slowest process did {statistics.median(least[kind]):.2f} of the mean"
        what = f"charge of {kind} by eight processes, a commit takes {delay} ms more"
        yield BenchmarkRow(what, 1000 / statistics.median(rate), "ms", "a bare loop", bare_ms, slowest)
