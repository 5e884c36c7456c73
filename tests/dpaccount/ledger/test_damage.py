"""A ledger that reads as damaged may be whole: what is said of it, and what is there when it is read anew."""

import re
import subprocess
import sys
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import pytest

import dpaccount
from dpaccount.errors import MAY_BE_WHOLE, LedgerError
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.stores.sqlite_file import trouble
from dpaccount.plan.events import Plan, Pure, Relation

PAGE = 4096
ANEW = """
import sys
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger
with Ledger.open(sys.argv[1]) as ledger:
    print(ledger.show()["entries"], verify(sys.argv[1])["valid"])
"""


def charge(ledger, number: int) -> None:
    plan = Plan(Relation.REPLACE_ONE, (Pure(epsilon=Fraction(1, 1000), cover=(number + 1, number + 5)),))
    ledger.charge_plan(plan, "x", f"key {number}")


def test_advice_is_in_one_place_and_no_message_says_to_put_a_backup_back():
    root = Path(dpaccount.__file__).parents[1]
    texts = {
        file.relative_to(root): file.read_text(encoding="utf-8")
        for package in ("dpaccount", "mechanisms", "audits", "bandits", "papers")
        for file in (root / package).rglob("*.py")
    }
    files = [str(name) for name, text in texts.items() if re.search(r"back-?up", text, re.IGNORECASE)]
    assert files == ["dpaccount/errors.py"]
    assert not [name for name, text in texts.items() if "ledger" in str(name) and "restore" in text]
    assert "may be whole" in MAY_BE_WHOLE
    assert "a backup spends again" in MAY_BE_WHOLE


def test_what_sqlite_says_after_an_error_of_the_disk_is_no_verdict():
    """It reports corruption to every later call of the process, of a file that is whole."""
    for name in ("SQLITE_CORRUPT", "SQLITE_CORRUPT_VTAB", "SQLITE_IOERR_READ", None):
        error = ValueError("made up")
        error.sqlite_errorname = name
        assert MAY_BE_WHOLE in trouble(error)


@pytest.mark.parametrize("closed", [True, False])
def test_a_file_that_reads_as_damaged_and_is_whole_again_has_all_charges(make, url, tmp_path, closed):
    """Each page is read as nonsense for a while: whoever meets it is told to look anew, and finds all."""
    ledger = make()
    for number in range(40):
        charge(ledger, number)
    ledger.close()
    file = tmp_path / "budget.db"
    whole, met = file.read_bytes(), 0
    for page in range(0, len(whole), PAGE):
        one = Ledger.open(url)
        file.write_bytes(whole[:page] + b"\x55" * PAGE + whole[page + PAGE :])
        if closed:
            one.close()
        for act in (Ledger.show, lambda ledger: charge(ledger, 99)):
            try:
                with Ledger.open(url) if closed else nullcontext(one) as ledger:
                    act(ledger)
            except LedgerError as error:
                message = str(error)
                assert MAY_BE_WHOLE in message or page == 0, message
                met += MAY_BE_WHOLE in message
        one.close()
        for part in ("-wal", "-shm"):
            (tmp_path / f"budget.db{part}").unlink(missing_ok=True)
        file.write_bytes(whole)
    assert met > 1
    done = subprocess.run([sys.executable, "-c", ANEW, url], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["40", "True"]
    assert verify(url)["valid"]
