"""Storms on PostgreSQL: clients killed at random, and the server restarted as in a crash.

Rows are copied into a file as they are, and recomputed there by `recount.py`, which imports nothing of ours.
"""

import random
import sqlite3
import time
from fractions import Fraction
from pathlib import Path

import pytest

from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores.place import server_address
from dpaccount.ledger.stores.rows import TABLES
from tests.depth import deep

from .postgres import PostgresServer
from .test_storms import client, kill, settled


def copied(server: PostgresServer, url: str, file: Path) -> None:
    """Copy the rows of a ledger into a file, as they are."""
    schema, database = server_address(url).schema, sqlite3.connect(file)
    with server.connect() as link:
        for table, definition in zip(("ledger", "entries", "nodes"), TABLES, strict=True):
            database.execute(definition)
            names = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            rows = link.execute(f"SELECT {', '.join(names)} FROM {schema}.{table}").fetchall()
            database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})", rows)
    database.commit()
    database.close()


def storm(server: PostgresServer, folder: Path, seconds: float, seed: int, restarts: bool) -> dict:
    """Run a storm; check every acknowledged line against an independent recount; return counts."""
    url, dice, clients = server.url("storm"), random.Random(seed), 8
    init(url, epsilon=1, delta=Fraction(1, 10**6), unit="person", relation="replace-one", measure="gdp")
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", Fraction(7, 10))
        ledger.set_scope("team/a", Fraction(3, 10))
    logs = [folder / f"log {number}" for number in range(clients)]
    running = [client(url, "gdp", seed + number, log) for number, log in enumerate(logs)]
    kills, restarted, heads = 0, 0, list[str]()
    end = time.monotonic() + seconds
    next_restart = time.monotonic() + dice.uniform(4, 10)
    while time.monotonic() < end:
        time.sleep(dice.uniform(0.1, 0.5))
        killed = range(clients) if dice.random() < 0.05 else [dice.randrange(clients)]
        for place in killed:
            kill(running[place])
            kills += 1
        if restarts and time.monotonic() > next_restart:
            server.end()
            server.start()
            restarted, next_restart = restarted + 1, time.monotonic() + dice.uniform(4, 10)
        with Ledger.open(url) as ledger:  # after every kill
            heads.append(ledger.show()["head"])
        for place in killed:
            running[place] = client(url, "gdp", seed + kills * 100 + place, logs[place])
    for one in running:
        kill(one)
    copied(server, url, folder / "budget.db")
    return {"kills": kills, "restarts": restarted, **settled(folder, logs, heads), "valid": verify(url)}


@deep
@pytest.mark.parametrize("restarts", [False, True])
def test_a_storm_on_a_server(tmp_path, restarts, depth):
    server = PostgresServer()
    try:
        counts = storm(server, tmp_path, 25, depth.seed(), restarts=restarts)
    finally:
        server.remove()
    print(counts)
    assert counts["valid"] == {"valid": True, "first_bad": None}
    assert counts["acknowledged"] > 41
    assert counts["kills"] > 12
    assert counts["cut"] == 0 or restarts
    assert (counts["restarts"] > 1) is restarts
