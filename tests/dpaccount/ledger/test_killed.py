"""What a process that is killed between any two system calls leaves: nothing, a whole ledger, or a whole charge."""

import pytest

from dpaccount.errors import LedgerError, NoLedgerError
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from tests.depth import deep

from . import kills
from .conftest import BUDGET, VALID, plan

pytestmark = deep

ASKED = [(plan("1/100", (number, 9)), "killed", f"key {number}") for number in (3, 4, 5)]


def test_who_is_killed_while_making_a_ledger_leaves_none_or_a_whole_one(tmp_path):
    """Between its two names it is refused, and whole once the draft's is gone."""
    folder, seen = tmp_path / "new", []
    folder.mkdir()
    for left in kills.states(lambda: init(f"sqlite:///{folder}/a.db", **BUDGET), folder, tmp_path / "left"):
        url, drafts = f"sqlite:///{left}/a.db", [*left.glob(".a.db.*")]
        made = (left / "a.db").exists()
        seen.append((made, bool(drafts)))
        if not made:
            with pytest.raises(NoLedgerError):
                Ledger.open(url)
            init(url, **BUDGET)
        elif drafts:
            with pytest.raises(LedgerError, match="2 names"):
                Ledger.open(url)
            [draft] = drafts
            draft.unlink()
        assert verify(url) == VALID
    assert list(dict.fromkeys(seen)) == [(False, False), (False, True), (True, True), (True, False)]


def test_who_is_killed_while_charging_leaves_all_of_a_commit_or_nothing(tmp_path, url):
    """And who asks again with the same keys has charged once."""
    folder, seen = tmp_path / "charged", []
    folder.mkdir()
    url = f"sqlite:///{folder}/a.db"
    init(url, **BUDGET)

    def charge() -> None:
        with Ledger.open(url) as ledger:
            ledger.charge_many(ASKED)

    for left in kills.states(charge, folder, tmp_path / "left"):
        copy = f"sqlite:///{left}/a.db"
        assert verify(copy) == VALID
        with Ledger.open(copy) as ledger:
            seen.append(ledger.show()["entries"])
            again = ledger.charge_many(ASKED)
            assert [one.known for one in again] == [seen[-1] == 3] * 3
            assert [one.entry for one in again] == [1, 2, 3]
        assert verify(copy) == VALID
    assert list(dict.fromkeys(seen)) == [0, 3]
