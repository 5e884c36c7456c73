"""A ledger written as lines and imported again is the same ledger; lines that were changed make none."""

import json

import numpy as np
import pytest

from dpaccount.errors import BudgetError, LedgerError
from dpaccount.ledger.journal.export import imported, lines
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init

from .conftest import VALID, by_hand, pure, steps_in


@pytest.fixture
def old(url) -> str:
    """Return the URL of a ledger with every kind of entry."""
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    with Ledger.open(url) as ledger:
        receipt = ledger.charge(pure("1/10"), "one", cover=(3, 9), key="a")
        receipt.noisy("noise", 0, np.array([5]))
        ledger.keep_release(receipt.entry, {"value": [6], "ü": "\u2028"})
        ledger.charge(pure("1/7"), "two", cover=(5, 20))
        with pytest.raises(BudgetError):
            ledger.charge(pure(1), "too much")
    return url


def shown(url: str) -> dict:
    with Ledger.open(url) as ledger:
        return ledger.show()


def test_a_ledger_made_of_its_lines_is_the_same(old, tmp_path):
    file, new = tmp_path / "lines", f"sqlite:///{tmp_path}/new.db"
    file.write_bytes(b"".join(lines(old)))
    answer = imported(file, new)
    assert answer == {"file": f"{tmp_path}/new.db", "entries": 5, "head": shown(old)["head"]}
    assert shown(new) == shown(old)
    assert verify(new) == VALID
    assert steps_in(tmp_path / "new.db") == steps_in(tmp_path / "budget.db")
    assert b"".join(lines(new)) == file.read_bytes()
    with Ledger.open(new) as ledger:
        assert ledger.release("a") == {"value": [6], "ü": "\u2028"}
        ledger.charge(pure("1/9"), "next", cover=(1, 4))
    assert verify(new) == VALID
    with pytest.raises(LedgerError, match="exists already"):
        imported(file, new)


def test_every_changed_line_is_refused_and_nothing_is_made(old, tmp_path):
    whole = [json.loads(line) for line in lines(old)]
    file, tried = tmp_path / "lines", 0
    for place, line in enumerate(whole):
        for name, value in line.items():
            for other in (None, 7, f"{value}x"):
                if other == value:
                    continue
                wrong = [*whole[:place], {**line, name: other}, *whole[place + 1 :]]
                file.write_text("".join(json.dumps(one) + "\n" for one in wrong))
                with pytest.raises(LedgerError, match="; "):
                    imported(file, f"sqlite:///{tmp_path}/new.db")
                tried += 1
        file.write_text("".join(json.dumps(one) + "\n" for one in whole if one is not line))
        with pytest.raises(LedgerError, match="; "):
            imported(file, f"sqlite:///{tmp_path}/new.db")
    assert tried > 90
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize("text", ["", "[]\n", "{", "\x00", "[" * 10**5, '{"schema": "dpaccount/events/1"}\n'])
def test_other_files_are_refused_in_a_sentence(tmp_path, text):
    (tmp_path / "lines").write_text(text)
    for file in (tmp_path / "lines", tmp_path / "missing", tmp_path):
        with pytest.raises(LedgerError, match="; "):
            imported(file, f"sqlite:///{tmp_path}/new.db")


def test_a_broken_chain_is_not_exported(old, tmp_path):
    by_hand(tmp_path / "budget.db", "UPDATE entries SET body = replace(body, 'one', 'two') WHERE number = 1")
    with pytest.raises(LedgerError, match="changed or removed"):
        list(lines(old))
