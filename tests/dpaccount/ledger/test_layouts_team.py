"""Layouts, for what a team arranges: no damage lets anybody take what an undamaged ledger refuses.

Beside charges these are parts of reservations, each drawn or returned once in all, caps, cohorts that were
charged, and noise that is drawn in parts.
"""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpaccount.errors import DpaccountError, LedgerError
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores import sqlite_file
from tests.depth import deep

from .conftest import BUDGET, plan, pure
from .test_layouts import cut_anywhere, page_zeroed, unseen

ONE = np.array([1])
Act = Callable[[Ledger], Any]


def arranged(url: str) -> None:
    """Fill a new ledger to the last: after a reset, in scopes, and with parts drawn and returned."""
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", "1/2")
        ledger.set_scope("team/ada", "1/4")
        ledger.name_cohort("adults", [(1, 5)])
        ledger.charge_plan(plan("1/10"), "a", "old", scope="team/ada", cohort="adults")
        ledger.reserve_plan(plan("1/20"), "rounds", "may", rounds=4, scope="team")
        ledger.draw_parts("may", count=2)
        ledger.return_parts("may", [(4, 4)])
        ledger.reset("new data")
        ledger.draw_parts("may")
        ledger._mark(4, 1, 1)
        ledger.charge_plan(plan("1/4"), "b", scope="team/ada")
        ledger.charge_plan(plan("1/5"), "c", scope="team")
        ledger.charge_plan(plan("1/2"), "d")


#: what this ledger refuses for ever
REFUSED: dict[str, Act] = {
    "charge": lambda ledger: ledger.charge_plan(plan("1/100"), "x"),
    "scope": lambda ledger: ledger.charge_plan(plan("1/100"), "x", scope="team"),
    "scope below": lambda ledger: ledger.charge_plan(plan("1/100"), "x", scope="team/ada"),
    "cohort": lambda ledger: ledger.charge_plan(plan("1/100"), "x", cohort="adults"),
    "reserve": lambda ledger: ledger.reserve_plan(plan("1/100"), "x", "y", rounds=1),
    "draw again": lambda ledger: ledger.draw_parts("may", [(1, 1)]),
    "draw what was returned": lambda ledger: ledger.draw_parts("may", [(4, 4)]),
    "draw the next": lambda ledger: ledger.draw_parts("may"),
    "return what was drawn": lambda ledger: ledger.return_parts("may", [(3, 3)]),
    "lower a cap": lambda ledger: ledger.set_scope("team", "1/100"),
    "other units": lambda ledger: ledger.name_cohort("adults", [(7, 9)]),
    "draw a charge again": lambda ledger: ledger._mark(4, 1, 1),
}


def taken(url: str) -> list[str]:
    """Return what is accepted of all that is refused; the ledger may be refused."""
    names = []
    with suppress(LedgerError), Ledger.open(url) as ledger:
        for name, act in REFUSED.items():
            with suppress(DpaccountError):
                act(ledger)
                names.append(name)
    return names


@pytest.fixture(scope="module")
def spent(tmp_path_factory) -> Path:
    """Return a closed ledger in which everything is spent."""
    file = tmp_path_factory.mktemp("spent") / "team.db"
    init(f"sqlite:///{file}", **BUDGET)
    arranged(f"sqlite:///{file}")
    return file


@deep
def test_everything_is_spent_and_what_is_not_would_be_seen(spent, tmp_path, url):
    copy = tmp_path / "copy.db"
    shutil.copy(spent, copy)
    assert taken(f"sqlite:///{copy}") == []
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:  # the twin, in which nothing is spent
        ledger.set_scope("team", "1/2")
        ledger.set_scope("team/ada", "1/4")
        ledger.name_cohort("adults", [(1, 5)])
        ledger.charge_plan(plan("1/20"), "a", "old")
        ledger.reserve_plan(plan("1/20"), "rounds", "may", rounds=4)
    assert set(REFUSED) - set(taken(url)) == {"lower a cap", "other units"}  # by then they are charged


def test_a_file_that_was_cut_gives_nothing(spent, tmp_path, depth):
    cut_anywhere(spent, tmp_path, 20, depth, taken)


def test_a_page_of_zeros_gives_nothing(spent, tmp_path):
    page_zeroed(spent, tmp_path, taken)


@pytest.fixture
def logged(tmp_path, monkeypatch) -> tuple[Path, Path]:
    """Return copies, as after a crash, of such a ledger and its log, and a witness."""
    monkeypatch.setattr(sqlite_file, "IDLE_SECONDS", 3600.0)
    (tmp_path / "live").mkdir()
    witness, live, copy = tmp_path / "heads", tmp_path / "live" / "team.db", tmp_path / "team.db"
    witness.touch()
    init(f"sqlite:///{live}", **BUDGET)
    with Ledger.open(f"sqlite:///{live}"):  # the last to close, which moves the log
        arranged(f"sqlite:///{live}?witness={witness}")
        for suffix in ("", "-wal"):
            shutil.copy(f"{live}{suffix}", f"{copy}{suffix}")
    return copy, witness


@deep
def test_a_log_that_was_lost_cut_or_flipped_gives_nothing_with_a_witness(logged, depth):
    assert unseen(logged, 6, depth, taken)  # nobody else can know


# ------------------------------------------------------------------ under an open ledger

#: one way to write each kind of entry, each of which a sound ledger takes
WRITES: dict[str, Act] = {
    "charge": lambda ledger: ledger.charge_plan(plan("1/100"), "x"),
    "charge in a scope": lambda ledger: ledger.charge_plan(plan("1/100"), "x", scope="team"),
    "charge to a cohort": lambda ledger: ledger.charge_plan(plan("1/100"), "x", cohort="adults"),
    "charge many": lambda ledger: ledger.charge_many([(plan("1/100"), "x", None)] * 2),
    "refusal": lambda ledger: ledger.charge_many([(plan("2"), "x", None)]),
    "reserve": lambda ledger: ledger.reserve_plan(plan("1/100"), "x", "june", rounds=2),
    "draw": lambda ledger: ledger.draw_parts("may"),
    "return": lambda ledger: ledger.return_parts("may"),
    "scope": lambda ledger: ledger.set_scope("team", "1/3"),
    "cohort": lambda ledger: ledger.name_cohort("adults", [(7, 9)]),
    "reset": lambda ledger: ledger.reset("new data"),
    "begin": lambda ledger: ledger._mark(4, 1, 1),
    "keep": lambda ledger: ledger.keep_release("old", {"answer": 1}),
    "receipt": lambda ledger: ledger.held[0].noisy("noise", 0, ONE),
    "part": lambda ledger: ledger.held[1].noisy("noise", 0, ONE),
}


@deep(quick_every=8)
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("how", ["removed", "older", "linked", None])
def test_under_an_open_ledger_a_file_that_is_not_the_same_takes_nothing(url, tmp_path, name, how):
    file, older = tmp_path / "budget.db", tmp_path / "older.db"
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", "1/2")
        ledger.name_cohort("adults", [(1, 5)])
        ledger.reserve_plan(plan("1/20"), "rounds", "may", rounds=4)
        ledger.charge_plan(plan("1/20"), "old", "old")
    shutil.copy(file, older)
    with Ledger.open(url) as ledger:
        ledger.held = ledger.charge(pure("1/20"), "a"), ledger.charge_in_parts(pure("1/20"), "b", None, "b")
        if how == "removed":
            file.unlink()
        elif how == "older":
            older.replace(file)
        elif how == "linked":
            file.with_name("other.db").hardlink_to(file)
        if how is None:
            WRITES[name](ledger)
            return
        before = ledger.show()["head"]
        with pytest.raises(LedgerError, match=r"was replaced or removed while it was open|2 names"):
            WRITES[name](ledger)
        assert ledger.show()["head"] == before
    if how == "older":
        with Ledger.open(url) as ledger:
            assert ledger.show()["entries"] == 4  # the log goes on from the copy: nothing more is in either
            assert ledger.verify()["valid"]
