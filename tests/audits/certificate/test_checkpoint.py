"""Signed checkpoints of a ledger: by the right key, of the right ledger, and on its chain."""

import json
import shutil
from fractions import Fraction

import pytest

from audits.certificate.checkpoint import checkpoint, noted_head
from dpaccount.errors import InputError
from dpaccount.ledger import answers
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Plan, Pure, Relation

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
    head = noted_head(file, public)
    assert answers.verify(url, head=head)["valid"]
    assert answers.verify(url, since=head)["valid"]


def test_another_history_does_not_stand_on_it(url, tmp_path):
    private, public = keys(tmp_path, "one")
    older, file = tmp_path / "older.db", tmp_path / "note.json"
    shutil.copy(tmp_path / "budget.db", older)
    charge(url)
    file.write_text(json.dumps(checkpoint(url, private)))
    older.replace(tmp_path / "budget.db")
    charge(url, Fraction(1, 7))
    assert answers.verify(url)["valid"]
    wrong = {"valid": False, "first_bad": "noted head"}
    assert answers.verify(url, head=noted_head(file, public)) == wrong


def test_what_the_key_did_not_sign_is_refused(url, tmp_path):
    private, public = keys(tmp_path, "one")
    _, other = keys(tmp_path, "other")
    file, made = tmp_path / "note.json", checkpoint(url, private)
    for name in made:
        if name == "key":
            continue
        file.write_text(json.dumps({**made, name: "changed"}))
        with pytest.raises(InputError, match="; "):
            noted_head(file, public)
    for text in (json.dumps(made)[:-1], "[]", "{}", ""):
        file.write_text(text)
        with pytest.raises(InputError, match="; "):
            noted_head(file, public)
    file.write_text(json.dumps(made))
    with pytest.raises(InputError, match="not by this key"):
        noted_head(file, other)
    with pytest.raises(InputError, match="private key"):
        checkpoint(url, public)
    assert noted_head(file, public) == made["head"]
