"""An index of the database that lost rows: SQLite believes it, a draw does not."""

import numpy as np
import pytest

from dpaccount.errors import LedgerError, ReceiptError
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init

from .conftest import BUDGET, by_hand, pure


def without_index_rows(file) -> None:
    """Empty the index of marks, as an older copy of its page in place of it would; the rows stay."""
    name = "sqlite_autoindex_entries_2"
    [(size,)] = by_hand(file, "PRAGMA page_size")
    assert by_hand(file, f"PRAGMA index_info({name})")[0][2] == "kind"
    [(page,)] = by_hand(file, "SELECT rootpage FROM sqlite_master WHERE name = ?", values=(name,))
    with file.open("r+b") as raw:
        raw.seek((page - 1) * size)
        kind = raw.read(1)
        assert kind == b"\x0a"  # one leaf
        empty = kind + bytes(4) + (size & 0xFFFF).to_bytes(2, "big") + bytes(1)
        raw.seek((page - 1) * size)
        raw.write(empty + bytes(size - len(empty)))


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("how", ["charge", "mark", "parts"])
def test_a_lost_index_of_marks_lets_nobody_draw_again(url, tmp_path, kept, how):
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        receipt = ledger.charge(pure("1/10"), "draw", key="k")
        value = receipt.noisy("noise", 0, np.array([5])).tolist()
        if kept:
            ledger.keep_release("k", {"value": value})
        ledger.charge(pure("1/10"), "more")
    without_index_rows(tmp_path / "budget.db")
    draw = {
        "charge": lambda: ledger.charge(pure("1/10"), "draw", key="k"),
        "parts": lambda: ledger.charge_in_parts(pure("1/10"), "draw", None, "k"),
        "mark": lambda: ledger._mark(1, 1, 1),
    }[how]
    with Ledger.open(url) as ledger, pytest.raises((LedgerError, ReceiptError), match=r"drawn|drawing"):
        draw()
    assert verify(url) == {"valid": False, "first_bad": "file"}
