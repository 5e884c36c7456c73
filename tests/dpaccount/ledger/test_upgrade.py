"""A ledger of format 1, with every kind of entry, as its program wrote it: upgraded aloud, never silently."""

import re
import sqlite3
import sys
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest

from dpaccount.errors import LedgerError
from dpaccount.ledger.carried import upgrade as upgrades
from dpaccount.ledger.carried.reported import report
from dpaccount.ledger.carried.upgrade import CLOSED, upgrade
from dpaccount.ledger.ledger import Ledger, init, verify
from dpaccount.ledger.storage import database

from . import kills
from .conftest import pure, steps_in

VALID = {"valid": True, "first_bad": None}
HEAD = "sha256:"


def made_in(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "clinic.db"
    made = sqlite3.connect(file)
    made.executescript((Path(__file__).parent / "format_1.sql").read_text())
    made.execute("PRAGMA journal_mode=WAL")
    made.close()
    return file


@pytest.fixture
def old(tmp_path) -> Path:
    return made_in(tmp_path)


def rows_of(file: Path, query: str) -> list:
    with sqlite3.connect(file) as raw:
        rows = raw.execute(query).fetchall()
    raw.close()
    return rows


def test_the_old_one_is_not_opened(old):
    before = old.read_bytes()
    for use in (Ledger.open, verify):
        with pytest.raises(
            LedgerError, match="earlier format; make a new ledger of it with `ledger upgrade`"
        ):
            use(f"sqlite:///{old}")
    assert old.read_bytes() == before


def test_an_upgrade_keeps_the_chain_the_totals_and_the_runs(old):
    entries = rows_of(old, "SELECT number, kind, key, about, body, digest FROM entries ORDER BY number")
    profile = rows_of(old, "SELECT first, amounts FROM profile ORDER BY first")
    answer = upgrade(f"sqlite:///{old}")
    new = old.with_name("clinic.2.db")
    assert answer == {
        "file": str(new),
        "entries": len(entries),
        "old_head": entries[-1][-1],
        "head": answer["head"],
    }
    kept = rows_of(new, "SELECT number, kind, key, about, body, digest FROM entries ORDER BY number")
    assert kept[:-1] == entries
    assert {row[1] for row in entries} == {"budget", "charge", "refusal", "drawing", "release"}
    assert steps_in(new) == [(first, tuple(map(Fraction, text.split()))) for first, text in profile]
    assert verify(f"sqlite:///{new}") == VALID
    with Ledger.open(f"sqlite:///{new}") as ledger:
        assert ledger.release("b") == {"value": 12.5}
        assert ledger.show()["entries"] == 4
        ledger.charge(pure("1/10"), "one", cover=(1, 10), key="a")  # the same charge, made before
        assert ledger.show()["entries"] == 4
        ledger.charge(pure("1/100"), "next", cover=(2, 3))
    assert verify(f"sqlite:///{new}") == VALID


def test_the_old_one_is_closed_to_every_program(old):
    upgrade(f"sqlite:///{old}")
    assert rows_of(old, "SELECT format FROM ledger") == [
        (CLOSED,)
    ]  # programs of format 1 want dpaccount/ledger/1
    with pytest.raises(LedgerError, match="was upgraded; use the ledger that was made of it"):
        upgrade(f"sqlite:///{old}")
    with pytest.raises(LedgerError, match="earlier format"):
        Ledger.open(f"sqlite:///{old}")


def test_programs_of_format_1_refuse_the_new_format(url, tmp_path):
    """They open what says dpaccount/ledger/1 and nothing else."""
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    assert rows_of(tmp_path / "budget.db", "SELECT format FROM ledger") == [("dpaccount/ledger/2",)]


@pytest.mark.parametrize("where", ["create", "_made"])
def test_an_interrupted_upgrade_is_gone_on_with(old, monkeypatch, where):
    class Killed(Exception):  # noqa: N818
        pass

    def killed(*_):
        raise Killed

    with monkeypatch.context() as broken:
        broken.setattr(upgrades, where, killed)
        with pytest.raises(Killed):
            upgrade(f"sqlite:///{old}")
    assert rows_of(old, "SELECT format FROM ledger") == [("dpaccount/ledger/1 upgrading to clinic.2.db",)]
    upgrade(f"sqlite:///{old}")
    assert verify(f"sqlite:///{old.with_name('clinic.2.db')}") == VALID


@pytest.mark.parametrize("where", ["create", "_made"])
def test_an_interrupted_upgrade_goes_on_to_the_same_file_alone(old, monkeypatch, tmp_path, where):
    """A second file would hold the rest of the budget a second time."""
    first, second = (f"sqlite:///{tmp_path}/{name}.db" for name in ("first", "second"))
    with monkeypatch.context() as broken:
        broken.setattr(upgrades, where, lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            upgrade(f"sqlite:///{old}", first)
    for other in (second, None):
        with pytest.raises(LedgerError, match=r"is being made into first\.db; go on with `--to` that file"):
            upgrade(f"sqlite:///{old}", other)
    upgrade(f"sqlite:///{old}", first)
    assert {one.name for one in tmp_path.glob("*.db")} == {"clinic.db", "first.db"}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE profile SET amounts = '0' WHERE first = 5",
        "DELETE FROM profile",
        "UPDATE entries SET body = replace(body, '12.5', '13.5')",
        "DELETE FROM entries WHERE number = 3",
        "UPDATE ledger SET last = last - 1",
        "UPDATE ledger SET head = 'sha256:0'",
    ],
)
def test_a_changed_ledger_is_not_upgraded(old, change):
    with sqlite3.connect(old) as raw:
        raw.execute(change)
    raw.close()
    with pytest.raises(LedgerError, match=r"is not valid .* and was not upgraded; close this process"):
        upgrade(f"sqlite:///{old}")
    assert [one.name for one in old.parent.iterdir()] == ["clinic.db"]
    assert rows_of(old, "SELECT format FROM ledger") == [("dpaccount/ledger/1",)]


def test_another_ledger_in_the_new_ones_place_is_left_alone(old, url, tmp_path):
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    with pytest.raises(LedgerError, match="is another ledger"):
        upgrade(f"sqlite:///{old}", url)
    assert verify(url) == VALID
    with pytest.raises(LedgerError, match="is no ledger of an earlier format"):
        upgrade(url, f"sqlite:///{tmp_path}/third.db")


def test_entries_without_totals_end_with_the_upgrade(old):
    """Who takes the totals out of later entries, or puts entries of format 1 in, is found."""
    upgrade(f"sqlite:///{old}")
    new = old.with_name("clinic.2.db")
    with sqlite3.connect(new) as raw:
        raw.execute("DELETE FROM entries WHERE kind = 'upgrade'")
        last, digest = raw.execute("SELECT number, digest FROM entries ORDER BY number DESC").fetchone()
        raw.execute("UPDATE ledger SET last = ?, head = ?", (last, digest))
    raw.close()
    assert verify(f"sqlite:///{new}") == {"valid": False, "first_bad": "totals"}
    with Ledger.open(f"sqlite:///{new}") as ledger, pytest.raises(LedgerError, match="chain is broken"):
        ledger.charge(pure("1/100"), "next")


def test_an_upgraded_ledger_is_reported_and_arranged(old):
    upgrade(f"sqlite:///{old}")
    url = f"sqlite:///{old.with_name('clinic.2.db')}"
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", "1/10")
        ledger.reset("the new format")
    found = report(url)
    assert found["replay"]["valid"]
    assert found["resets"]["all"] == 1
    assert found["life"]["epsilon"]["upper"] > found["period"]["epsilon"]["upper"] == 0
    assert verify(url) == VALID


# ------------------------------------------------------------------ killed anywhere


def charging(folder: Path) -> list[str]:
    """Return the files by which some program, of the old format or the new, would charge once more."""
    found = []
    for file in sorted(folder.iterdir()):
        if file.name.endswith(("-wal", "-shm", "-line", "-next", "-journal")):
            continue
        with suppress(sqlite3.Error):
            if rows_of(file, "SELECT format FROM ledger") == [("dpaccount/ledger/1",)]:
                found.append(file.name)
        with suppress(LedgerError), Ledger.open(f"sqlite:///{file}") as ledger:
            ledger.charge(pure("1/100"), "next", cover=(2, 3))
            found.append(file.name)
    return found


def goes_on(left: Path, old_entries: list) -> None:
    """Check what was left by a kill, and what going on with the upgrade makes of it."""
    assert len(charging(kills.copied(left, left.with_name(f"{left.name} as left")))) <= 1
    with suppress(LedgerError):  # nothing is to be done
        upgrade(f"sqlite:///{left}/clinic.db")
    new = left / "clinic.2.db"
    assert rows_of(left / "clinic.db", "SELECT format FROM ledger") == [(CLOSED,)]
    kept = rows_of(new, "SELECT number, kind, key, about, body, digest FROM entries ORDER BY number")
    assert kept[:-1] == old_entries
    assert verify(f"sqlite:///{new}") == VALID
    assert charging(left) == ["clinic.2.db"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="system calls are seen on Linux alone")
def test_an_upgrade_killed_at_any_system_call_leaves_one_ledger_that_charges(tmp_path, monkeypatch):
    """The old one, the new one or none; and going on with it makes the new one, the same."""
    monkeypatch.setattr(database, "IDLE_SECONDS", 3600.0)
    old = made_in(tmp_path / "clinic")
    entries = rows_of(old, "SELECT number, kind, key, about, body, digest FROM entries ORDER BY number")
    tried = set()
    for left in kills.states(lambda: upgrade(f"sqlite:///{old}"), old.parent, tmp_path / "left"):
        tried.add(tuple(sorted(re.sub(r"\.[0-9a-f]{16}", ".draft", one.name) for one in left.iterdir())))
        goes_on(left, entries)
    assert {".clinic.2.db.draft", "clinic.2.db"} <= {name for names in tried for name in names}
