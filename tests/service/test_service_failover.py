"""Runbook: the primary of a service's ledger is gone and its standby takes over; clients ask until it is done."""

import signal
import threading
import time
from fractions import Fraction

import pytest

from dpaccount.errors import BudgetError, DpaccountError
from dpaccount.ledger.ledger import Ledger, init
from tests.depth import deep
from tests.dpaccount.ledger.conftest import BUDGET, VALID, plan, recounted
from tests.dpaccount.ledger.test_failover import followed
from tests.dpaccount.ledger.test_server_storms import copied

from .conftest import Served, ServiceProcess

CLIENTS, COST = 4, Fraction(1, 200)


class Charging:
    """A client that charges until nothing fits, each charge under its key until it is acknowledged."""

    def __init__(self, url, number):
        self.url, self.number, self.acknowledged = url, number, {}
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        place = 0
        while True:
            key = f"{self.number} {place}"
            try:
                with Ledger.open(self.url) as ledger:
                    self.acknowledged[key] = ledger.charge_plan(plan(COST), "a mean", key).entry
            except BudgetError:
                return
            except DpaccountError:
                time.sleep(0.2)
            else:
                place += 1


@deep
@pytest.mark.parametrize("server_restarts", [True, False])
def test_what_is_acknowledged_survives_a_server_that_is_killed(monkeypatch, tmp_path, server_restarts):
    """It starts again, or its synchronous standby is promoted, declared, and served at the same port."""
    with followed(monkeypatch, seconds=20) as (primary, standby, waits, _):
        init(primary.url(), **BUDGET)
        waits(True)
        served = Served(tmp_path, primary.url())
        monkeypatch.setenv("DPACCOUNT_TOKEN", served.secrets["ada"])
        service = ServiceProcess(served)
        try:
            clients = [Charging(f"http://127.0.0.1:{service.port}", number) for number in range(CLIENTS)]
            while sum(len(one.acknowledged) for one in clients) < 50:
                time.sleep(0.01)
            primary.end()
            if server_restarts:
                primary.start()
            else:
                service.end(signal.SIGKILL)  # in order, it would wait for the server
                standby.promote()
                with Ledger.open(standby.url()) as ledger:
                    ledger.forfeit(None, "the standby took over, and lacks nothing: it is synchronous")
                served.ledger = standby.url()
                service.begin()
            for one in clients:
                one.thread.join(120)
                assert not one.thread.is_alive()
        finally:
            service.end()
        acknowledged = {key: entry for one in clients for key, entry in one.acknowledged.items()}
        assert len(acknowledged) == sum(len(one.acknowledged) for one in clients) == 1 / COST
        with Ledger.open(served.ledger) as ledger:
            assert {
                key: ledger.charge_plan(plan(COST), "a mean", key).entry for key in acknowledged
            } == acknowledged
            assert ledger.verify() == VALID
        file = tmp_path / "copied.db"
        copied(primary if server_restarts else standby, served.ledger, file)
        assert recounted(f"sqlite:///{file}")
