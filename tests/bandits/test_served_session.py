"""A session of a bandit whose ledger is a service: opened again at any time, it goes on as one that was not."""

from contextlib import closing

import pytest

from bandits.learning.session import Session
from dpaccount.errors import LedgerError
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.stores import link
from tests.bandits.test_session import ROWS, feed, ledger_at, records, shown
from tests.dpaccount.ledger.conftest import recounted
from tests.service.conftest import CuttingProxy, put, server_thread  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow


def test_a_session_through_a_service_goes_on_where_it_was(server_thread, tmp_path, monkeypatch):  # noqa: F811
    """Connections are cut meanwhile, and every part of its noise has one value."""
    data, url = records(ROWS), ledger_at(tmp_path)
    monkeypatch.setattr(link, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(link.Pool, "keep", lambda self, one, _: one.close())
    with put(server_thread, tmp_path, url) as served:
        monkeypatch.setenv("DPACCOUNT_TOKEN", served.secrets["ada"])
        with closing(CuttingProxy([served.port]).in_thread()) as proxy:
            through = f"http://127.0.0.1:{proxy.port}"
            seen = []
            for people in (3, 5, len(data), len(data)):
                ledger = Ledger.open(through)
                with ledger, Session.open(ROWS, ledger, tmp_path / "state") as session:
                    feed(session, ROWS, data[:people])
                    if people == len(data):
                        seen.append(shown(session.result()))
            assert seen[0] == seen[1]
        assert proxy.count > 10
        monkeypatch.setenv("DPACCOUNT_TOKEN", served.secrets["bob"])
        with Ledger.open(served.url) as ledger, pytest.raises(LedgerError, match=r"another|somebody else"):
            Session.open(ROWS, ledger, tmp_path / "state")
    with Ledger.open(url) as own:
        assert own.show()["entries"] == 1
        parts = own.parts_of(1)
        assert len({str(name) for _, name, _, _ in parts}) == len(parts) > 1
    assert recounted(url)
