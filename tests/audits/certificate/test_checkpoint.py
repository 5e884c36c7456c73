"""Signed checkpoints of a ledger: by the right key, of the right ledger, and on its chain."""

import json
import shutil
import sqlite3
from fractions import Fraction

import pytest

from audits.certificate.sign import checkpoint, noted
from audits.cli import answers
from dpaccount.errors import InputError, LedgerError
from dpaccount.ledger.entry import ORIGIN, seal
from dpaccount.ledger.journal import verify as verifying
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Plan, Pure, Relation
from tests.depth import deep

from .test_sign import keys


@pytest.fixture
def url(tmp_path):
    url = f"sqlite:///{tmp_path}/budget.db"
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="approximate")
    charge(url)
    return url


def charge(url, size=Fraction(1, 10)):
    with Ledger.open(url) as ledger:
        return ledger.charge_plan(Plan(Relation.REPLACE_ONE, (Pure(epsilon=size),)), "part").head


def test_a_checkpoint_is_on_the_chain_for_ever(url, tmp_path):
    private, public = keys(tmp_path, "one")
    file = tmp_path / "note.json"
    made = checkpoint(url, private)
    file.write_text(json.dumps(made, indent=1))
    assert (made["number"], made["head"]) == (1, answers.show(url)["head"])
    charge(url)
    head = noted(file, public)["head"]
    assert verify(url, head=head)["valid"]
    assert verify(url, since=head)["valid"]


def test_another_history_does_not_stand_on_it(url, tmp_path):
    private, public = keys(tmp_path, "one")
    older, file = tmp_path / "older.db", tmp_path / "note.json"
    shutil.copy(tmp_path / "budget.db", older)
    charge(url)
    file.write_text(json.dumps(checkpoint(url, private)))
    older.replace(tmp_path / "budget.db")
    charge(url, Fraction(1, 7))
    assert verify(url)["valid"]
    wrong = {"valid": False, "first_bad": "noted head"}
    assert verify(url, head=noted(file, public)["head"]) == wrong


@deep
def test_rows_of_another_history_that_were_put_back_do_not_hold_a_head(url, tmp_path):
    """Signed charges are rolled back and others made, then the signed rows laid over them: no link leads there."""
    private, _ = keys(tmp_path, "one")
    file, older, witness = tmp_path / "budget.db", tmp_path / "older.db", tmp_path / "heads"
    shutil.copy(file, older)
    charge(url)
    charge(url)
    note = checkpoint(url, private)
    witness.write_text(f"{note['number']} {note['head']}\n")
    with sqlite3.connect(file) as database:
        signed = database.execute("SELECT * FROM entries WHERE number > 1").fetchall()
    database.close()
    older.replace(file)
    later = [charge(url, Fraction(1, 100)) for _ in range(5)]
    with sqlite3.connect(file) as database:
        database.execute("DELETE FROM entries WHERE number IN (2, 3)")
        database.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", signed)
    database.close()
    first, witnessed = note["first"], f"{url}?witness={witness}"
    told = [
        verify(url, head=note["head"]),
        verify(url, since=later[-1], head=note["head"]),
        verify(url, since=later[-1], head=note["head"], first=first),
        verify(witnessed, since=later[-1], first=first),
        verify(witnessed, since=later[-1], head=first),
    ]
    assert all(one == {"valid": False, "first_bad": 4} for one in told)


def test_what_the_key_did_not_sign_is_refused(url, tmp_path):
    private, public = keys(tmp_path, "one")
    _, other = keys(tmp_path, "other")
    file, made = tmp_path / "note.json", checkpoint(url, private)
    for name in made:
        if name == "key":
            continue
        file.write_text(json.dumps({**made, name: "changed"}))
        with pytest.raises(InputError, match="; "):
            noted(file, public)
    for text in (json.dumps(made)[:-1], "[]", "{}", ""):
        file.write_text(text)
        with pytest.raises(InputError, match="; "):
            noted(file, public)
    file.write_text(json.dumps(made))
    with pytest.raises(InputError, match="not by this key"):
        noted(file, other)
    with pytest.raises(InputError, match="private key"):
        checkpoint(url, public)
    assert noted(file, public) == {name: made[name] for name in made if name not in ("key", "value")}


@pytest.mark.parametrize("name", ["head", "first"])
@pytest.mark.parametrize("value", [None, 5, [], {}, True])
def test_a_signed_head_is_a_text(url, tmp_path, monkeypatch, name, value):
    private, public = keys(tmp_path, "one")
    standing = {**verifying.standing(url), name: value}
    monkeypatch.setattr("audits.certificate.sign.standing", lambda _: standing)
    file = tmp_path / "note.json"
    file.write_text(json.dumps(checkpoint(url, private)))
    with pytest.raises(InputError, match=rf"/{name}: found"):
        noted(file, public)


def test_what_it_says_of_entry_0_holds_to_the_head(url, tmp_path):
    """The budget: an entry 0 that was changed alone is neither signed, nor believed because of a note."""
    private, _ = keys(tmp_path, "one")
    charge(url)
    note = checkpoint(url, private)
    charge(url)
    assert note["first"] == checkpoint(url, private)["first"]
    assert verify(url, since=note["head"], first=note["first"])["valid"]
    raise_budget(tmp_path / "budget.db")
    wrong = {"valid": False, "first_bad": 1}
    assert verify(url, since=note["head"], first=note["first"]) == wrong
    assert verify(url) == wrong
    with pytest.raises(LedgerError, match="entry 1 was changed"):
        checkpoint(url, private)


def raise_budget(file):
    """Write another entry 0 with a digest of its own, and nothing after it."""
    with sqlite3.connect(file) as database:
        place, kind, key, about, body, root, _ = database.execute(
            "SELECT * FROM entries WHERE number = 0"
        ).fetchone()
        body = json.dumps({**json.loads(body), "epsilon": "9"}, separators=(",", ":"), sort_keys=True)
        digest = seal(ORIGIN, place, kind, key, about, body, root)
        database.execute("UPDATE entries SET body = ?, digest = ? WHERE number = 0", (body, digest))
    database.close()


def test_entries_before_the_note_are_not_read_again(url, tmp_path, monkeypatch):
    private, _ = keys(tmp_path, "one")
    note = checkpoint(url, private)
    charge(url)
    walks = []
    monkeypatch.setattr(verifying, "check_linked", lambda rows, number: walks.append(number))
    assert verify(url, since=note["head"], first=note["first"])["valid"]
    assert walks == []
    assert verify(url, since=note["head"])["valid"]
    assert walks == [0]
