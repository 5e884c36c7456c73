"""Layouts in which a file could be spent twice: no charge beyond the budget is ever accepted.

What SQLite cannot see (a log that was lost with its last charges, an older copy) a witness does.
"""

import shutil
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import pytest

from dpaccount.errors import BudgetError, LedgerError
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores import sqlite_file
from dpaccount.ledger.stores.rows import Rows
from dpaccount.ledger.stores.store import Store
from dpaccount.plan.events import Plan, Pure, Relation
from tests.depth import Depth, deep

from .conftest import BUDGET, by_hand

TENTH = Plan(Relation.REPLACE_ONE, (Pure(epsilon=Fraction(1, 10), cover=(1, 5)),))


def charges(url: str) -> int:
    """Return how many more charges are accepted; the ledger may be refused."""
    accepted = 0
    with suppress(BudgetError, LedgerError), Ledger.open(url) as ledger:
        for _ in range(11):
            ledger.charge_plan(TENTH, "more")
            accepted += 1
    return accepted


@pytest.fixture(scope="module")
def spent(tmp_path_factory) -> Path:
    """Return a closed ledger whose budget is spent to the last."""
    file = tmp_path_factory.mktemp("spent") / "budget.db"
    init(f"sqlite:///{file}", **BUDGET)
    assert charges(f"sqlite:///{file}") == 10
    return file


@pytest.fixture
def logged(tmp_path, monkeypatch) -> tuple[Path, Path]:
    """Return copies, as after a crash, of a spent ledger and its log, and a witness."""
    monkeypatch.setattr(sqlite_file, "IDLE_SECONDS", 3600.0)
    (tmp_path / "live").mkdir()
    witness, live = tmp_path / "heads", tmp_path / "live" / "budget.db"
    witness.touch()
    init(f"sqlite:///{live}", **BUDGET)
    with Ledger.open(f"sqlite:///{live}?witness={witness}") as ledger:
        for _ in range(10):
            ledger.charge_plan(TENTH, "part")
        copy = tmp_path / "budget.db"
        for suffix in ("", "-wal"):
            shutil.copy(f"{live}{suffix}", f"{copy}{suffix}")
    return copy, witness


def cut_anywhere(spent: Path, tmp_path: Path, few: int, depth: Depth, taken=charges) -> None:
    whole, copy = spent.read_bytes(), tmp_path / "copy.db"
    for place in depth.some(range(0, len(whole), 64), few):
        copy.write_bytes(whole[:place])
        assert not taken(f"sqlite:///{copy}"), place


def page_zeroed(spent: Path, tmp_path: Path, taken=charges) -> None:
    whole, copy = spent.read_bytes(), tmp_path / "copy.db"
    for place in range(0, len(whole), 4096):
        copy.write_bytes(whole[:place] + bytes(4096) + whole[place + 4096 :])
        assert not taken(f"sqlite:///{copy}"), place


def spread(step: int, size: int) -> range:
    """Return the multiples of a step, or some 150 of them, evenly spread."""
    places = range(0, size, step)
    return places[:: max(1, len(places) // 150)]


def unseen(logged: tuple[Path, Path], few: int, depth: Depth, taken=charges) -> int:
    """Lose, cut and flip the log: with a witness nothing is taken; return how often something is without one."""
    file, witness = logged
    whole, main, seen_by_nobody = Path(f"{file}-wal").read_bytes(), file.read_bytes(), 0
    changed = [whole[:place] for place in depth.some(spread(64, len(whole)), few)]
    changed += [
        whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        for place in depth.some(spread(997, len(whole)), few)
    ]
    for log in [None, b"", *changed]:
        for url in (f"sqlite:///{file}?witness={witness}", f"sqlite:///{file}"):
            for companion in file.parent.glob(f"{file.name}-*"):
                companion.unlink()
            file.write_bytes(main)
            if log is not None:
                Path(f"{file}-wal").write_bytes(log)
            if "witness" in url:
                assert not taken(url)
            else:
                seen_by_nobody += bool(taken(url))
    return seen_by_nobody


def test_a_file_that_was_cut_accepts_nothing(spent, tmp_path, depth):
    cut_anywhere(spent, tmp_path, 40, depth)


def test_a_page_of_zeros_accepts_nothing(spent, tmp_path):
    page_zeroed(spent, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM nodes",
        "UPDATE nodes SET body = replace(body, '1/1', '0/1')",
        "UPDATE nodes SET body = replace(body, '1', '0')",
        "UPDATE entries SET root = (SELECT root FROM entries WHERE number = 1)",
        "UPDATE ledger SET last = 1, head = (SELECT digest FROM entries WHERE number = 9)",
        "DELETE FROM entries WHERE number > 5",
    ],
)
def test_lowered_totals_accept_nothing(spent, tmp_path, change):
    copy = tmp_path / "budget.db"
    shutil.copy(spent, copy)
    by_hand(copy, change)
    assert charges(f"sqlite:///{copy}") == 0


@deep
def test_a_log_that_was_lost_cut_or_flipped_is_told_by_a_witness(logged, depth):
    """SQLite drops what does not follow in the log, and says nothing: the twin without a witness shows it."""
    assert unseen(logged, 25, depth) > 10


@contextmanager
def late(store, *, every=False):
    """The broken twin of `Store.checked`: it reads the heads after the moment they are held against."""
    with store.reading() as rows:
        rows.head()
        store.witness.check(rows, store.witness.notes(every=every))
        yield rows


@pytest.mark.parametrize("broken", [False, True])
def test_a_head_noted_while_a_ledger_is_opened_is_no_older_copy(url, tmp_path, monkeypatch, broken):
    witness = tmp_path / "heads"
    witness.touch()
    init(url, **BUDGET)
    watched = f"{url}?witness={witness}"
    with Ledger.open(watched) as other:
        other.charge_plan(TENTH, "one")
        real, charged = Rows.head, []

        def head(rows):
            value = real(rows)
            if not charged:  # the moment is fixed: another process charges and notes
                charged.append(1)
                other.charge_plan(TENTH, "two")
            return value

        monkeypatch.setattr(Rows, "head", head)
        if broken:
            monkeypatch.setattr(Store, "checked", late)
            with pytest.raises(LedgerError, match="an older copy or a lost log"):
                Ledger.open(watched)
        else:
            with Ledger.open(watched) as ledger:
                assert ledger.show()["entries"] == 2
        assert charged
    monkeypatch.undo()
    assert verify(url) == {"valid": True, "first_bad": None}
