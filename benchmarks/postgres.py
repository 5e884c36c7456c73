"""Charges per second in PostgreSQL by eight processes, beside a bare loop on one head row in the same run.

usage: .venv/bin/python -m benchmarks.postgres [--clients 8] [--seconds 10]

The bare loop locks a row, reads it, adds a row of 600 characters, updates the head, commits: a journey each.
"""

import argparse
import os
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10)
    asked = parser.parse_args()
    server = PostgresServer()
    try:
        with server.connect() as link:
            link.execute("CREATE TABLE head (last BIGINT)")
            link.execute("INSERT INTO head VALUES (0)")
            link.execute("CREATE TABLE entries (number BIGINT PRIMARY KEY, body TEXT)")
        url = server.url()
        init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
        for kind in ("bare", "everybody", "one unit", "a range", "bare"):
            if kind == "bare":
                found = counted(asked.clients, asked.seconds, lambda _, until: bare(server, until))
            else:
                found = counted(asked.clients, asked.seconds, lambda n, until: ours(url, n, kind, until))  # noqa: B023
            print(f"{kind:10} {sum(found) / (asked.seconds + 1):8.1f} /s  {min(found)} .. {max(found)} each")
    except psycopg.Error as error:
        raise SystemExit(str(error)) from None
    finally:
        server.remove()


if __name__ == "__main__":
    main()
