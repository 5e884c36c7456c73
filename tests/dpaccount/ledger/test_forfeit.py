"""What may have been lost is charged, and nothing that was charged before it and not drawn can be drawn."""

import json
import shutil

import numpy as np
import pytest

from dpaccount.errors import BudgetError, InputError, LedgerError, ReceiptError
from dpaccount.ledger import review
from dpaccount.ledger.journal import verify as heads
from dpaccount.ledger.journal.export import imported as import_
from dpaccount.ledger.journal.export import lines as export
from dpaccount.ledger.journal.log import log
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Gaussian, Laplace, Plan, Pure, Relation

from .conftest import VALID, plan, pure, recounted


def noise(drawer) -> list[int]:
    return drawer.noisy("noise", 0, np.array([5])).tolist()


def test_what_was_lost_is_charged_and_answers_say_so(make, url, tmp_path):
    ledger = make()
    ledger.charge_plan(plan("1/10", (3, 9)), "one", "a")
    entry = ledger.forfeit(plan("1/5", count=2), "an older copy was put back", "ada")
    ledger.forfeit(None, "moved")
    shown = ledger.show()
    assert shown["life"]["epsilon"]["upper"] == shown["spent"]["epsilon"]["upper"] == 0.5
    assert shown["worst_unit"] == 3
    assert json.loads(entry.body)["plan"][0]["event"] == "pure"
    lines = [line for line in log(url) if line["kind"] == "forfeit"]
    assert [(line["reason"], line["by"], line["spends"]) for line in lines] == [
        ("an older copy was put back", "ada", {"epsilon": 0.4}),
        ("moved", None, {"epsilon": 0.0}),
    ]
    report = review.report(url)
    assert [one["entry"] for one in report["forfeits"]["rows"]] == [entry.number, entry.number + 1]
    assert report["spending"]["rows"][-1]["spent"] == {"epsilon": 0.5}
    assert report["replay"]["valid"]
    assert verify(url) == VALID
    assert recounted(str(tmp_path / "budget.db"))
    (tmp_path / "lines").write_bytes(b"".join(export(url)))
    other = f"sqlite:///{tmp_path}/other.db"
    assert import_(tmp_path / "lines", other)["head"] == ledger.show()["head"]
    with Ledger.open(other) as copy:
        assert copy.show()["spent"] == shown["spent"]


def test_charges_that_came_one_after_another_are_lost_one_by_one(url, make):
    """A plan may cost less than its parts: what was charged by itself counts by itself."""
    ledger = make(5, "1/1000000", "gdp")
    events = (Laplace(scale=100, count=30), Gaussian(sigma=100))
    alone = [Plan(Relation.REPLACE_ONE, (Laplace(scale=100),))] * 30 + [
        Plan(Relation.REPLACE_ONE, events[1:])
    ]
    ledger.forfeit(Plan(Relation.REPLACE_ONE, events), "lost")
    lost = ledger.show()["life"]["mu_squared"]
    for one in alone:
        ledger.charge_plan(one, "the same")
    assert ledger.show()["life"]["mu_squared"] == pytest.approx(2 * lost)


def test_what_does_not_fit_is_refused_and_changes_nothing(make, url):
    ledger = make()
    ledger.charge_plan(plan("3/5", (3, 9)), "one")
    before = ledger.show()
    with pytest.raises(BudgetError, match="does not fit"):
        ledger.forfeit(plan("1/2"), "too much")
    with pytest.raises(InputError, match="no bound"):
        ledger.forfeit(Plan(Relation.REPLACE_ONE, (Gaussian(sigma=1),)), "no pure privacy")
    with pytest.raises(InputError, match="add-remove"):
        ledger.forfeit(Plan(Relation.ADD_REMOVE, (Pure(epsilon=1),)), "of others")
    with pytest.raises(InputError, match="reason"):
        ledger.forfeit(None, "")
    assert ledger.show() == before
    assert ledger.forfeit(plan("2/5", (1, 9)), "just enough").number == 2
    assert verify(url) == VALID


@pytest.mark.parametrize("opened", ["before", "after"])
def test_what_was_charged_before_and_not_drawn_is_not_drawn(make, url, opened):
    """Whether a process knew the ledger before, or opens it after: marks of it may be among what was lost."""
    ledger = make()
    drawn = ledger.charge(pure("1/100"), "drawn", key="drawn")
    noise(drawn)
    ledger.keep_release("drawn", {"value": 5})
    ledger.charge(pure("1/100"), "undrawn", key="undrawn")
    parts = ledger.charge_in_parts(pure("1/100"), "parts", None, "parts")
    first = parts.noisy("noise", 0, np.array([5])).tolist()
    ledger.reserve_plan(plan("1/100"), "rounds", "rounds", rounds=5)
    ledger.draw_parts("rounds")
    with Ledger.open(url) as other:
        other.forfeit(plan("1/100"), "lost")
    spent = ledger.show()["life"] if opened == "before" else None
    with Ledger.open(url) as new:
        one = ledger if opened == "before" else new
        with pytest.raises(ReceiptError, match="charged before a forfeit"):
            noise(one.charge(pure("1/100"), "undrawn", key="undrawn"))
        with pytest.raises(ReceiptError, match="charged before a forfeit"):
            one.charge_in_parts(pure("1/100"), "parts", None, "parts")
        if opened == "before":
            with pytest.raises(ReceiptError, match="charged before a forfeit"):
                parts.noisy("noise", 1, np.array([5]))
            assert parts.noisy("noise", 0, np.array([5])).tolist() == first  # that was kept
        for act in (one.draw_parts, one.return_parts):
            with pytest.raises(BudgetError, match="not open"):
                act("rounds", [(2, 2)])
        assert one.return_parts("rounds") == (None, [])  # nothing is given back
        assert one.open_parts("rounds")[1] == []
        assert one.release("drawn") == {"value": 5}
        assert [one.run_state(key).lost for key in ("drawn", "undrawn", "parts", "unknown")] == [
            False,
            True,
            True,
            False,
        ]
        assert spent in (None, one.show()["life"])
        assert noise(one.charge(pure("1/100"), "anew", key="anew"))
        with pytest.raises(LedgerError, match="release already"):
            one.keep_release("drawn", {"value": 6})
        assert one.verify() == VALID


def test_a_receipt_that_draws_goes_on(make, url):
    """Its next mark is about its last one, and only one can be: nobody else drew of this charge."""
    receipt = make().charge(pure("1/100"), "draw", key="key")
    assert noise(receipt)
    with Ledger.open(url) as other:
        other.forfeit(None, "nothing")
        with pytest.raises(ReceiptError):
            noise(other.charge(pure("1/100"), "draw", key="key"))


def test_an_older_copy_with_a_witness_is_gone_on_with(tmp_path):
    """It is refused, the message says what to do, and that is done: nothing that was charged is spent again."""
    file, copy, witness = (tmp_path / name for name in ("budget.db", "copy.db", "heads"))
    witness.touch()
    url = f"sqlite:///{file}"
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    with Ledger.open(f"{url}?witness={witness}") as ledger:
        ledger.charge_plan(plan("1/10"), "kept")
    shutil.copy(file, copy)
    with Ledger.open(f"{url}?witness={witness}") as ledger:
        ledger.charge_plan(plan("7/10"), "lost", "lost")
    shutil.move(copy, file)
    with pytest.raises(
        LedgerError, match=r"an older copy or a lost log; .*ledger forfeit.* an empty witness"
    ):
        Ledger.open(f"{url}?witness={witness}")
    with Ledger.open(url) as ledger:
        ledger.forfeit(plan("7/10"), "a backup was put back")
    witness.write_bytes(b"")
    with Ledger.open(f"{url}?witness={witness}") as ledger:
        with pytest.raises(BudgetError):
            ledger.charge_plan(plan("3/10"), "beyond")
        ledger.charge_plan(plan("1/5"), "the rest")
    assert heads.verify(f"{url}?witness={witness}") == VALID
