"""`dpaccount release` of a claim whose ledger is a service: drawn once, kept, printed again, and checked."""

import pytest

from audits import consistency
from audits.certificate import make
from audits.claim import read_claim
from dpaccount.documents import canonical
from dpaccount.errors import BudgetError, LedgerError
from dpaccount.ledger.ledger import Ledger
from dpaccount.service_client import RemoteLedger
from tests.audits.certificate.test_release import people, run, written
from tests.depth import deep
from tests.dpaccount.ledger.conftest import recounted

pytestmark = deep


@pytest.fixture
def claim(served, tmp_path, monkeypatch):
    """Return a claim of half of the budget, whose ledger is the service."""
    monkeypatch.setattr(make, "EXAMPLES", 10)
    folder = tmp_path / "claim"
    folder.mkdir()
    written(folder)
    text = (folder / "claim.toml").read_text().replace("sqlite:///ages.db", served.url)
    (folder / "claim.toml").write_text(text.replace('unit = "row"', 'unit = "person"'))
    return read_claim(folder / "claim.toml")


def test_a_release_is_drawn_once_kept_and_printed_again(served, claim, monkeypatch):
    first = run(claim)
    assert first.certificate["release"]["ledger_entry"] == 3
    assert consistency.refused(first.certificate) is None
    again = run(claim)
    assert again.reprinted
    assert canonical(again.certificate) == canonical(first.certificate)
    second = run(claim, again=True)
    assert second.certificate["release"]["report"] != first.certificate["release"]["report"]
    with pytest.raises(BudgetError):
        run(claim, again=True)
    # another person cannot read it, nor charge under its key
    monkeypatch.setenv("DPACCOUNT_TOKEN", served.secrets["bob"])
    with pytest.raises(LedgerError, match="another person"):
        run(claim)
    with Ledger.open(served.ledger) as own:
        assert (own.show()["entries"], own.show()["refused"]) == (2, 1)
        kept = own.releases('"name":"ages"')
    assert [one["release"]["ledger_entry"] for _, one in kept] == [
        3,
        second.certificate["release"]["ledger_entry"],
    ]
    assert recounted(served.ledger)


def test_a_run_that_ends_after_its_charge_is_lost_and_not_drawn_again(served, claim, monkeypatch):
    keep = RemoteLedger.keep_release
    monkeypatch.setattr(RemoteLedger, "keep_release", lambda *_: 1 / 0)
    with pytest.raises(LedgerError, match="ended by ZeroDivisionError"):
        run(claim)
    monkeypatch.setattr(RemoteLedger, "keep_release", keep)
    assert served.ask("GET", "/v1/show")[1]["entries"] == 1
    with pytest.raises(LedgerError, match=r"lost|never kept"):
        run(claim)
    people(claim.path.parent, ["1", "2", "3", "4", "5"])  # other data: another key
    assert run(read_claim(claim.path)).certificate["release"]["ledger_entry"] > 4
