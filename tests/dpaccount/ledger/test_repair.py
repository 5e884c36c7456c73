"""A ledger made of its lines is the same, one made again from its entries too; and nothing of entries that were changed."""

import json
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.errors import BudgetError, LedgerError
from dpaccount.ledger.journal.export import imported, lines
from dpaccount.ledger.journal.verify import repair, verify
from dpaccount.ledger.ledger import Ledger, init
from tests.depth import deep, examples

from .conftest import BUDGET, VALID, by_hand, plan, pure, sealed, steps_in


def filled(url: str) -> Path:
    """Make a ledger with every kind of balance: life, period, year, scopes, cohorts, open parts."""
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", Fraction(1, 2))
        ledger.name_cohort("adults", [(1, 500)])
        ledger.charge_many([(plan("1/100", (place, place + 3)), "part", None) for place in range(1, 9)])
        ledger.reserve_plan(plan("1/50"), "month", "may", rounds=5, scope="team")
        ledger.draw_parts("may", count=2)
        ledger.reset("new data")
        ledger.charge_plan(plan("1/10"), "count", scope="team", cohort="adults")
        with pytest.raises(BudgetError):
            ledger.charge_plan(plan(2), "too much")
        ledger.charge_plan(plan("1/100", (7, 90)), "last")
    return Path(url.removeprefix("sqlite:///"))


def content(file: Path) -> dict[str, list]:
    tables = ("ledger", "entries", "nodes")
    return {table: by_hand(file, f"SELECT * FROM {table} ORDER BY 1") for table in tables}


DAMAGE = {
    "nothing": [],
    "no balances": ["DELETE FROM nodes"],
    "half of the balances": ["DELETE FROM nodes WHERE node % 2 = 0"],
    "no records": ["DELETE FROM nodes WHERE node < 0"],
    "emptied balances": ["UPDATE nodes SET body = 'x'"],
    "balances of nothing": ["INSERT INTO nodes VALUES (5, 'x') ON CONFLICT (node) DO UPDATE SET body = 'x'"],
    "an earlier head": ["UPDATE ledger SET last = 3, head = (SELECT digest FROM entries WHERE number = 3)"],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_follows_from_the_entries_is_made_again(url, damage):
    file = filled(url)
    before = content(file)
    by_hand(file, *DAMAGE[damage])
    changed = content(file)
    names = [
        name for name, table in (("balances", "nodes"), ("head", "ledger")) if changed[table] != before[table]
    ]
    last, head = before["ledger"][0][1:]
    assert verify(url)["valid"] is (not names)
    assert repair(url) == {"repaired": names, "entries": last, "head": head}
    assert content(file) == before
    assert verify(url) == VALID
    assert repair(url)["repaired"] == []
    with Ledger.open(url) as ledger:
        assert ledger.charge_plan(plan("1/100"), "more").entry == last + 1


@deep
@examples(25, 25)
@given(seed=st.integers(0, 2**32))
def test_balances_damaged_anywhere_are_made_again(tmp_path_factory, seed):
    """Rows are changed, moved and taken out at random; what is repaired is what was, to the byte."""
    url = f"sqlite:///{tmp_path_factory.mktemp('random')}/budget.db"
    file, dice = filled(url), random.Random(seed)
    before = content(file)
    for node, body in dice.sample(before["nodes"], dice.randint(1, 6)):
        act = dice.choice(
            [
                "DELETE FROM nodes WHERE node = ?",
                "UPDATE OR REPLACE nodes SET node = -node - 9 WHERE node = ?",
            ]
        )
        if dice.random() < 0.5:
            by_hand(file, act, values=(node,))
        else:
            cut = dice.randrange(len(body))
            changed = (body[:cut] + "7" + body[cut:], node)
            by_hand(file, "UPDATE nodes SET body = ? WHERE node = ?", values=changed)
    assert repair(url)["repaired"] == ["balances"]
    assert content(file) == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger SET head = 'sha256:0'",
        "UPDATE ledger SET last = 99",
        "UPDATE ledger SET last = -1, head = ''",
        "UPDATE ledger SET head = (SELECT digest FROM entries WHERE number = 3)",
        "DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)",
    ],
)
def test_an_end_that_may_be_lost_needs_somebodys_word(url, statement):
    """Otherwise what was charged after it would be spent again without a word."""
    file = filled(url)
    by_hand(file, statement)
    before = content(file)
    number, *_, digest = before["entries"][-1]
    with pytest.raises(LedgerError, match="may be lost"):
        repair(url)
    with pytest.raises(LedgerError, match="--head is 'sha256:1'"):
        repair(url, "sha256:1")
    assert content(file) == before
    assert repair(url, digest) == {
        "repaired": ["head"] if "DELETE" not in statement else ["balances", "head"],
        "entries": number,
        "head": digest,
    }
    assert verify(url) == VALID


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = replace(body, '1/100', '1/101') WHERE number = 5",
        "DELETE FROM entries WHERE number = 5",
        "UPDATE entries SET number = number + 1 WHERE number = (SELECT max(number) FROM entries)",
        "DELETE FROM entries WHERE number = 0",
        "UPDATE entries SET root = NULL WHERE number = (SELECT max(number) FROM entries)",
    ],
)
def test_entries_are_never_repaired(url, statement):
    file = filled(url)
    by_hand(file, statement, "DELETE FROM nodes")
    before = content(file)
    with pytest.raises(LedgerError):
        repair(url, before["entries"][-1][-1])
    assert content(file) == before


def test_a_sealed_entry_that_overspends_is_not_repaired(url):
    """Balances that follow from such entries are beyond the budget: nobody charged that."""
    file = filled(url)
    number = content(file)["entries"][-1][0]
    sealed(file, number, lambda body: body.replace('"1/100"', '"7/8"'))
    by_hand(file, "DELETE FROM nodes")
    with pytest.raises(LedgerError, match="only balances and the head can be rebuilt"):
        repair(url)


def test_a_head_that_is_given_must_be_the_last_one(url):
    """Also where the ledger's own note agrees with its end: a tail may be gone together with it."""
    file = filled(url)
    last = content(file)["entries"][-1][-1]
    by_hand(
        file,
        "DELETE FROM entries WHERE number > 11",
        "UPDATE ledger SET last = 11, head = (SELECT digest FROM entries WHERE number = 11)",
    )
    for head in (last, "", "x"):
        with pytest.raises(LedgerError, match="the last entry 11 has the digest"):
            repair(url, head)


def test_a_noted_head_must_be_on_the_chain(url, tmp_path):
    """A witness tells what the ledger's own note cannot: that entries are gone."""
    file = filled(url)
    witness = tmp_path / "heads"
    witness.touch()
    noted = f"{url}?witness={witness}"
    with Ledger.open(noted) as ledger:
        ledger.charge_plan(plan("1/100"), "more")
    by_hand(
        file,
        "DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)",
        "UPDATE ledger SET last = last - 1, head = (SELECT digest FROM entries ORDER BY number DESC LIMIT 1)",
    )
    with pytest.raises(LedgerError, match="an older copy or a lost log"):
        repair(noted)


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


@deep
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
