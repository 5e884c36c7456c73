"""Charges per second in PostgreSQL by eight processes, beside a bare loop on one head row in the same run.

usage: .venv/bin/python -m benchmarks.postgres [--clients 8] [--seconds 3] [--rounds 5] [--disk 3]

The bare loop locks a row, reads it, adds a row of 600 characters, updates the head, commits: a journey each.
Each round is all kinds one after another; of the rounds' ratios to the bare loop the median is told, since a
machine's load changes.  With `--disk` every commit waits so many milliseconds more, as for a disk that takes
them (`commit_delay`); without, it takes what this machine's disk takes.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from fractions import Fraction

import psycopg

from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Plan, Pure, Relation
from tests.dpaccount.ledger.postgres import PostgresServer


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


def bare(server: PostgresServer, until: float) -> int:
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


def client(server: PostgresServer, url: str, kind: str, first: int) -> Callable[[int, float], int]:
    """Return what a process does until a moment."""
    if kind == "bare":
        return lambda _, until: bare(server, until)
    return lambda number, until: ours(url, first + number, kind, until)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--disk", type=float, default=0)
    asked = parser.parse_args()
    server = PostgresServer()
    try:
        with server.connect() as link:
            link.execute(f"ALTER SYSTEM SET commit_delay = {round(asked.disk * 1000)}".encode())
            link.execute("ALTER SYSTEM SET commit_siblings = 0")  # whoever else is busy
            link.execute("SELECT pg_reload_conf()")
            link.execute("CREATE TABLE head (last BIGINT)")
            link.execute("INSERT INTO head VALUES (0)")
            link.execute("CREATE TABLE entries (number BIGINT PRIMARY KEY, body TEXT)")
        url = server.url()
        init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
        rates: dict[str, list[float]] = {kind: [] for kind in ("bare", "everybody", "one unit", "a range")}
        least: dict[str, list[float]] = {kind: [] for kind in rates}
        for turn in range(asked.rounds):
            for kind, rate in rates.items():
                found = counted(asked.clients, asked.seconds, client(server, url, kind, turn * asked.clients))
                rate.append(sum(found) / (asked.seconds + 1))
                least[kind].append(min(found) * len(found) / sum(found))
        for kind, found in rates.items():
            ratios = [one / bare for one, bare in zip(found, rates["bare"], strict=True)]
            rate = f"{min(found):.0f} .. {max(found):.0f} /s"
            share = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} .. {max(ratios):.2f})"
            slowest = f"{statistics.median(least[kind]):.2f}"
            print(f"{kind:10} {rate}, of the bare loop {share}, the slowest of the mean {slowest}")
    except psycopg.Error as error:
        raise SystemExit(str(error)) from None
    finally:
        server.remove()


if __name__ == "__main__":
    main()
