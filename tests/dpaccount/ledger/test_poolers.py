"""A real pooler in front of the server, each transaction on whichever connection is free: pgbouncer, where it is."""

import os
import shutil
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from urllib.parse import quote

import numpy as np
import psycopg
import pytest

from dpaccount.errors import BudgetError, LedgerError
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores import sqlite_file
from tests.depth import deep

from .conftest import BUDGET, VALID, in_threads, plan, pure
from .postgres import NOBODY, PostgresServer

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
SETTINGS = """
[databases]
* = host={server}/socket
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = 6432
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 3
pidfile = {folder}/pid
"""

pytestmark = [deep, pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")]


@pytest.fixture
def pooled():
    """Yield a server, and the URL of a ledger behind a pooler in front of it, which drops all `options`."""
    server = PostgresServer()
    folder = Path(tempfile.mkdtemp(prefix="pool-", dir="/tmp"))
    folder.chmod(0o777)
    (folder / "users").write_text('"owner" ""\n')
    (folder / "settings").write_text(SETTINGS.format(server=server.folder, folder=folder))
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    pooler = subprocess.Popen([PROGRAM, "-q", folder / "settings"], stderr=subprocess.DEVNULL, **who)
    try:
        while not (folder / ".s.PGSQL.6432").exists():
            assert pooler.poll() is None
            time.sleep(0.05)
        with server.connect() as admin:
            admin.execute("ALTER DATABASE postgres SET synchronous_commit = off")
            admin.execute("ALTER ROLE owner SET search_path = dpaccount_clinic")
        yield server, f"postgresql://owner@{quote(str(folder), safe='')}:6432/postgres?ledger=clinic"
    finally:
        pooler.terminate()
        pooler.wait()
        server.remove()
        shutil.rmtree(folder)


def test_a_ledger_behind_a_pooler(pooled):
    server, url = pooled
    init(url, **BUDGET)
    errors: list[Exception] = []

    def charge(number: int) -> None:
        try:
            for turn in range(6):
                with Ledger.open(url) as ledger:
                    for more in range(8):
                        ledger.charge_plan(
                            plan("1/1000", (number, number + 3)), "x", f"{number} {turn} {more}"
                        )
        except Exception as error:  # a thread's error is the test's
            errors.append(error)

    in_threads(*(partial(charge, number) for number in range(1, 7)))
    assert errors == []
    with Ledger.open(url) as ledger:
        assert ledger.show()["entries"] == 6 * 6 * 8
        receipt = ledger.charge(pure("1/100"), "draw", key="draw")
        receipt.noisy("noise", 0, np.array([5]))
        ledger.keep_release("draw", {"value": 5})
        with pytest.raises(BudgetError):
            ledger.charge_plan(plan(1), "too much")
        with ledger._store.writing() as rows:
            assert rows._session.execute("SHOW synchronous_commit").fetchone() == ("on",)
            assert rows._session.execute("SHOW lock_timeout").fetchone() == ("1min",)
        # nothing of it is left to others of the pool
        place = Path(url.split("@")[1].split(":")[0].replace("%2F", "/"))
        with psycopg.connect(host=str(place), port=6432, user="owner", dbname="postgres") as other:
            assert other.execute("SHOW synchronous_commit").fetchone() == ("off",)
        server.end()
        server.start()
        assert (
            ledger.charge_plan(plan("1/1000"), "the server was started again", "again").entry == 6 * 6 * 8 + 5
        )
    assert verify(url) == VALID
    assert verify(server.url()) == VALID
    with Ledger.open(server.url()) as direct:  # the same server, by another way
        assert direct.charge_plan(plan("1/1000"), "the server was started again", "again").known


def test_a_client_that_stops_behind_a_pooler_is_cut_off(pooled, monkeypatch):
    _, url = pooled
    init(url, **BUDGET)
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 1.0)
    stopped = Ledger.open(url)._store.place.writing(time.monotonic())
    stopped.__enter__()
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 30.0)
    with Ledger.open(url) as other:
        assert other.charge_plan(plan("1/1000"), "one").entry == 1
    with pytest.raises(LedgerError, match="was cut and nothing was changed"):
        stopped.__exit__(None, None, None)
