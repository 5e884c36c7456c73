"""Ledgers in fresh folders, and theorems to charge them with."""

import hashlib
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from dpaccount import proof
from dpaccount.ledger.entry import ORIGIN, seal
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Plan, Pure, Relation
from dpaccount.proof import ADD_REMOVE, REPLACE_ONE, Theorem

from .postgres import PostgresServer

BUDGET = {"epsilon": 1, "delta": 0, "unit": "person", "relation": "replace-one", "measure": "pure"}
VALID = {"valid": True, "first_bad": None}
NUMBERS = count(1)
LAST_ROOT = "SELECT root FROM entries ORDER BY number DESC LIMIT 1"


def a_sum(relation: str = REPLACE_ONE) -> Theorem:
    """Return that a sum of numbers in [0, 1] moves by at most 1."""
    return proof.linear(proof.assume_clipped("sum", Fraction(0), Fraction(1), relation, "made up"))


def plan(size: Fraction | int | str = "1/100", cover: tuple[int, int] | None = None, count: int = 1) -> Plan:
    """Return a plan of one event that costs this ε."""
    return Plan(Relation.REPLACE_ONE, (Pure(epsilon=Fraction(size), cover=cover, count=count),))


def by_hand(place: Path | str, *statements: str, values: tuple = ()) -> list[tuple]:
    """Do this to a ledger's file, given by path or URL, as who holds it can; return what the last statement finds."""
    rows: list[tuple] = []
    with closing(sqlite3.connect(str(place).removeprefix("sqlite:///"))) as database, database:
        for statement in statements:
            rows = database.execute(statement, values).fetchall()
    return rows


def in_threads(*acts: Callable[[], object]) -> None:
    """Do all of this at once, and wait until it is done."""
    threads = [threading.Thread(target=act) for act in acts]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def olden(lines: bytes) -> bytes:
    """Return exported lines as a version would have written them whose records had other digests, without a name."""
    first, *rest = map(json.loads, lines.splitlines())
    digest = ORIGIN
    for entry in rest:
        root, found, records = (entry["root"] or "").partition("records/2:")
        entry["root"] = root + records[::-1] if found else entry["root"]
        members = ("number", "kind", "key", "about", "body", "root")
        entry["digest"] = digest = seal(digest, *(entry[name] for name in members))
    return b"".join(json.dumps(one).encode() + b"\n" for one in ({**first, "head": digest}, *rest))


def recounted(url: str) -> bool:
    """Say whether the program that imports nothing of ours counts the same, from the file."""
    command = [
        sys.executable,
        "-I",
        str(Path(__file__).parent / "recount.py"),
        url.removeprefix("sqlite:///"),
    ]
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0


def pure(epsilon: Fraction | int | str, relation: str = REPLACE_ONE, key: str = "noise") -> Theorem:
    """Return a Laplace release of pure ε; its noise can be drawn."""
    return proof.laplace(a_sum(relation), 1 / Fraction(epsilon), Fraction(1, 1024), key)


def approximate(epsilon: Fraction | int | str, delta: Fraction | int | str) -> Theorem:
    """Return an (ε, δ) statement about a Laplace release."""
    return proof.to_approximate(pure(epsilon), Fraction(epsilon), Fraction(delta))


def histogram() -> Theorem:
    """Return counts of unlisted values, which are (1, 1/1000)-DP under add-remove and have no other measure."""
    cell = proof.assume_cell("values", ADD_REMOVE, "made up")
    return proof.stable_histogram(cell, Fraction(1), 20, Fraction(1, 1000), "noise")


def discrete_gaussian(variance: Fraction | int) -> Theorem:
    """Return a discrete Gaussian release of ρ = 2/variance."""
    ball = proof.linear(proof.assume_ball("mean", Fraction(1), REPLACE_ONE, "made up"))
    return proof.discrete_gaussian(ball, Fraction(variance), Fraction(1, 1024), "noise")


def sealed(
    file: Path, number: int, change: Callable[[str], str] | None = None, *, root: str | None = None
) -> None:
    """Change the body of an entry or its root, if wanted, and seal it and all after it, as who holds the file can."""
    with sqlite3.connect(file) as database:
        previous = database.execute("SELECT digest FROM entries WHERE number = ?", (number - 1,)).fetchone()
        before = ORIGIN if number == 0 else previous[0]
        for row in database.execute("SELECT * FROM entries WHERE number >= ?", (number,)).fetchall():
            place, kind, key, about, body, told, _ = row
            if place == number and change is not None:
                body = change(body)
            if place == number and root is not None:
                told = root
            before = seal(before, place, kind, key, about, body, told)
            values = (body, told, before, place)
            database.execute("UPDATE entries SET body = ?, root = ?, digest = ? WHERE number = ?", values)
        database.execute("UPDATE ledger SET head = ?", (before,))
    database.close()


def steps_in(file: Path) -> list[tuple[int, tuple[Fraction, ...]]]:
    """Return what units have spent by the tree in the file, as steps; read by nothing of ours."""
    with sqlite3.connect(file) as database:
        [(text,)] = database.execute(LAST_ROOT)
        nodes = dict(database.execute("SELECT node, body FROM nodes"))
    database.close()
    return steps_of(text, nodes)


def steps_on(server: PostgresServer, url: str) -> list[tuple[int, tuple[Fraction, ...]]]:
    """Return the same of a ledger on a server."""
    with server.within(url) as connection:
        [(text,)] = connection.execute(LAST_ROOT).fetchall()
        return steps_of(text, dict(connection.execute("SELECT node, body FROM nodes").fetchall()))


def steps_of(text: str, nodes: dict[int, str]) -> list[tuple[int, tuple[Fraction, ...]]]:
    """Return the steps of a tree.

    It believes every node: what an attack left there is for the ledger to find.
    """
    height, everyone, mark, _, digest = text.split("|")[:5]

    def add(*texts: str) -> tuple[Fraction, ...]:
        return tuple(
            map(sum, zip(*([Fraction(word) for word in text.split()] for text in texts), strict=True))
        )

    def walk(node: int, height: int, low: int, level: str, digest: str) -> Iterator[tuple[int, str]]:
        if not digest:
            yield low, level
            return
        marks = nodes[node].split("|")
        assert hashlib.sha256(nodes[node].encode()).hexdigest() == digest
        for half, (more, _, below) in enumerate((marks[:3], marks[3:])):
            total = " ".join(map(str, add(level, more)))
            yield from walk(2 * node + half, height - 1, low + (half << (height - 1)), total, below)

    level = " ".join(map(str, add(everyone, mark)))
    sums = [*walk(1 << (63 - int(height)), int(height), 0, level, digest), (1 << int(height), everyone)]
    steps: list[tuple[int, tuple[Fraction, ...]]] = []
    for low, spent in sums:
        amounts = add(spent)
        if amounts != (steps[-1][1] if steps else (Fraction(0),) * len(amounts)):
            steps.append((max(low, 1), amounts))
    return steps


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Where a test's ledger goes."""
    return f"sqlite:///{tmp_path}/budget.db"


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    """Return a new ledger, open."""
    init(url, **BUDGET)
    with Ledger.open(url) as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Return a PostgreSQL server: one for all tests of a process."""
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture
def team(postgres: PostgresServer) -> str:
    """Where a test's ledger in PostgreSQL goes."""
    return postgres.url(f"team_{next(NUMBERS)}")


@pytest.fixture
def make(url: str) -> Iterator[Callable[..., Ledger]]:
    """Return a function that makes and opens the ledger at `url`; it is closed after the test."""
    opened: list[Ledger] = []

    def opened_ledger(
        epsilon: Any = 1, delta: Any = 0, measure: str = "pure", relation: str = REPLACE_ONE
    ) -> Ledger:
        init(
            url,
            epsilon=Fraction(epsilon),
            delta=Fraction(delta),
            unit="person",
            relation=relation,
            measure=measure,
        )
        opened.append(Ledger.open(url))
        return opened[-1]

    yield opened_ledger
    for ledger in opened:
        ledger.close()
