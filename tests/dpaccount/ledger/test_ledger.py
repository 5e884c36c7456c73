"""One process and one ledger: budgets, charges, keys, receipts, releases, refusals."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpaccount import proof
from dpaccount.errors import BudgetError, InputError, LedgerError, ReceiptError
from dpaccount.ledger.balances.step_functions import LAST_UNIT
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores import store
from dpaccount.plan.events import Plan, Pure, Relation, Tree
from tests.depth import deep
from tests.looped import looped

from .conftest import BUDGET, VALID, a_sum, approximate, by_hand, discrete_gaussian, histogram, pure

MILLIONTH = Fraction(1, 10**6)


def spent(ledger: Ledger) -> float:
    return ledger.show()["spent"]["epsilon"]["upper"]


def plan(*events, relation=Relation.REPLACE_ONE) -> Plan:
    return Plan(relation, events)


# ------------------------------------------------------------------ making and opening


def test_a_new_ledger_has_spent_nothing(url):
    shown = init(url, **{**BUDGET, "epsilon": Fraction("0.1")})
    assert shown["budget"] == {**BUDGET, "epsilon": "0.1", "delta": "0"}
    assert shown["spent"] == {"epsilon": {"lower": 0.0, "upper": 0.0}}
    assert shown["remaining"]["epsilon"]["upper"] == 0.1
    assert (shown["worst_unit"], shown["entries"], shown["refused"]) == (None, 0, 0)
    assert verify(url) == VALID


def test_a_ledger_is_never_overwritten(url, tmp_path):
    head = init(url, **BUDGET)["head"]
    with pytest.raises(LedgerError, match="exists already"):
        init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        assert ledger.show()["head"] == head
    assert [path.name for path in tmp_path.iterdir()] == ["budget.db"]


def test_a_file_that_appears_meanwhile_is_not_replaced(url, tmp_path, monkeypatch):
    fill = store._fill

    def slow(draft, body):
        fill(draft, body)
        (tmp_path / "budget.db").write_text("someone else's")

    monkeypatch.setattr(store, "_fill", slow)
    with pytest.raises(LedgerError, match="exists already"):
        init(url, **BUDGET)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["someone else's"]


@pytest.mark.parametrize("left", ["budget.db", "budget.db-wal", "budget.db-journal"])
def test_leftovers_are_not_mixed_with_a_new_ledger(url, tmp_path, left):
    (tmp_path / left).write_bytes(b"")
    with pytest.raises(LedgerError, match="exists already"):
        init(url, **BUDGET)
    assert [path.name for path in tmp_path.iterdir()] == [left]


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": True},
        {"epsilon": 10**301},
        {"delta": 1},
        {"delta": -1},
        {"unit": ""},
        {"unit": "two\nlines"},
        {"unit": "\ud800"},
        {"relation": "bounded-row"},
        {"measure": "rdp"},
        {"measure": "gdp"},  # with delta 0 no charge would fit
        {"measure": "zcdp"},
    ],
)
def test_budgets_that_make_no_sense_are_refused(url, tmp_path, wrong):
    with pytest.raises(InputError, match="; "):
        init(url, **{**BUDGET, **wrong})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["missing.db", "folder", "text.db", "empty.db", "other.db"])
def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.db").write_text("not a database, and long enough to be read as one" * 100)
    (tmp_path / "empty.db").touch()
    by_hand(tmp_path / "other.db", "CREATE TABLE entries (number)")
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    with pytest.raises(LedgerError, match=re.escape(name) + ".*; ") as caught:
        Ledger.open(f"sqlite:///{tmp_path}/{name}")
    assert "\n" not in str(caught.value)
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


@looped(
    "wrong",
    [
        "postgresql://alice:secret@host/db",
        "postgresql+psycopg://alice:secret@host/db",
        "mysql://alice:secret@host/db",
        "sqlite://alice:secret@host/db",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///a.db?mode=memory&password=secret",
        "secret",
        "",
        "sqlite:///a\0secret",
    ],
)
def test_urls_are_never_repeated(wrong):
    for use in (Ledger.open, verify, lambda url: init(url, **BUDGET)):
        with pytest.raises((InputError, LedgerError), match="; ") as caught:
            use(wrong)
        assert "secret" not in str(caught.value)
        assert "alice" not in str(caught.value)


def test_a_relative_url_is_a_file_of_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    init("sqlite:///here #1.db", **BUDGET)
    assert Path("here #1.db").is_file()
    with Ledger.open("sqlite:///here #1.db") as ledger:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        ledger.charge(pure("1/2"), "after a change of directory")
        assert ledger.verify() == VALID


# ------------------------------------------------------------------ charges


def test_a_charge_says_what_it_was_for(make, tmp_path):
    make().charge(pure("1/4"), "mean age", cover=(3, 9))
    [(body,)] = by_hand(tmp_path / "budget.db", "SELECT body FROM entries WHERE kind = 'charge'")
    for part in (
        '"purpose":"mean age"',
        '"observer":"central"',
        '"theorem":"sha256:',
        '[3,"1/4"]',
        '[10,"0"]',
    ):
        assert part in body


def test_the_theorem_says_which_units_pay(make):
    ledger = make(measure="approximate", delta=MILLIONTH)
    covers = proof.assume_covers("sum", [(1, 4), (3, 8)], "made up")
    theorem = proof.nodes(pure("1/4"), covers)
    ledger.charge(theorem, "tree")
    assert spent(ledger) == 0.5
    with pytest.raises(InputError, match=r"leaves out units.*cover \[1, 8\]"):
        ledger.charge(theorem, "tree", cover=(1, 7))
    ledger.charge(theorem, "tree", cover=(1, 9))
    ledger.charge(pure(1), "beyond", cover=(10, 10))
    assert ledger.show()["worst_unit"] == 1


@pytest.mark.parametrize("cover", [(0, 3), (3, 2), (1, LAST_UNIT + 1), (1, 10**400), (1.0, 2), (True, 2)])
def test_wrong_covers_are_refused(make, cover):
    ledger = make()
    with pytest.raises(InputError, match="; "):
        ledger.charge(pure("1/2"), "try", cover=cover)
    assert ledger.show()["refused"] == 0


def test_another_relation_is_a_wrong_request(make):
    ledger = make(relation="add-remove")
    with pytest.raises(InputError, match="replace-one"):
        ledger.charge(pure("1/2"), "try")
    with pytest.raises(InputError, match="replace-one"):
        ledger.charge_plan(plan(Pure(epsilon=1)), "try")
    ledger.charge(pure("1/2", "add-remove"), "try")
    assert ledger.show()["refused"] == 0


@deep
@pytest.mark.parametrize(
    ("measure", "theorem", "able"),
    [
        ("gdp", discrete_gaussian(400), "approximate-zcdp or zcdp or either"),
        ("gdp", histogram(), "approximate or approximate-zcdp"),
        ("approximate", discrete_gaussian(400), "approximate-zcdp or zcdp or either"),
        ("pure", histogram(), "approximate or approximate-zcdp"),
        ("zcdp", histogram(), "approximate or approximate-zcdp"),
    ],
)
def test_a_charge_without_a_bound_names_the_measure_that_takes_it(make, measure, theorem, able):
    ledger = make(delta=MILLIONTH, measure=measure, relation=theorem.conclusion.relation)
    with pytest.raises(BudgetError, match=f"a ledger in {able} takes it"):
        ledger.charge(theorem, "try")
    shown = ledger.show()
    assert (shown["entries"], shown["refused"]) == (0, 1)
    assert ledger.verify() == VALID


def test_statements_without_a_cost_are_refused(make):
    ledger = make()
    with pytest.raises(InputError, match="Stable"):
        ledger.charge(a_sum(), "try")
    with pytest.raises(InputError, match=r"a Plan is no privacy statement; .* plan by charge_plan"):
        ledger.charge(Plan("replace-one", []), "try")


def test_noise_that_cannot_be_drawn_is_not_charged(make):
    ledger = make()
    with pytest.raises(ReceiptError, match="continuous"):
        ledger.charge(proof.laplace(a_sum(), Fraction(2), None, "noise"), "try")
    assert ledger.show()["entries"] == 0


@pytest.mark.parametrize("text", ["", "two\nlines", "x" * 1001, "\ud800", "\x00"])
def test_purposes_and_keys_are_lines_of_text(make, text):
    ledger = make()
    with pytest.raises(InputError, match="purpose"):
        ledger.charge(pure("1/2"), text)
    with pytest.raises(InputError, match="key"):
        ledger.charge(pure("1/2"), "try", key=text)
    assert ledger.show()["entries"] == 0


# ------------------------------------------------------------------ plans


def test_a_tree_charges_each_round_for_its_nodes(make):
    ledger = make(delta=MILLIONTH, measure="gdp")
    ledger.charge_plan(plan(Tree(rounds=6, sigma=100, start=11)), "tree")
    # six rounds: four under 3 nodes, two under 2
    assert ledger.show()["spent"]["mu_squared"] == pytest.approx(3e-4)
    assert ledger.show()["worst_unit"] == 11
    ledger.charge_plan(plan(Tree(rounds=4, sigma=100, count=5)), "five trees, of 3 nodes each")
    assert ledger.show()["spent"]["mu_squared"] == pytest.approx(15e-4)


def test_unbounded_units_are_refused_beyond_the_store(make):
    with pytest.raises(InputError, match="2\\^63"):
        make().charge_plan(plan(Pure(epsilon=1, cover=(1, 10**400))), "far")


# ------------------------------------------------------------------ keys


def test_a_key_belongs_to_one_charge(make):
    ledger = make()
    ledger.charge(pure("1/4"), "try", key="a", cover=(1, 9))
    for other, cover in ((pure("1/5"), (1, 9)), (pure("1/4"), (1, 8)), (pure("1/4"), None)):
        with pytest.raises(LedgerError, match="'a' belongs to entry 1"):
            ledger.charge(other, "try", key="a", cover=cover)
    assert ledger.show()["refused"] == 0


# ------------------------------------------------------------------ receipts and releases


def draw(receipt, part=0):
    return receipt.noisy("noise", part, np.array([5]))


@pytest.mark.parametrize("explicit", [True, False])
def test_a_draw_whose_release_was_lost_is_not_drawn_again(make, url, explicit):
    ledger = make()
    receipt = ledger.charge(pure("1/2"), "try", key="a")
    if explicit:
        ledger._mark(receipt.entry, 1, 1)
    draw(receipt)
    with Ledger.open(url) as later:
        with pytest.raises(ReceiptError, match="; make a new charge under another key"):
            later.charge(pure("1/2"), "try", key="a")
        with pytest.raises(ReceiptError, match="second release"):
            later._mark(receipt.entry, 1, 1)
        assert later.release("a") is None
        assert later.run_state("a").lost
        assert not later.run_state("b").lost
        draw(later.charge(pure("1/2"), "try", key="b"))
        assert spent(later) == 1


def test_a_kept_release_is_printed_again(make, url):
    ledger = make()
    receipt = ledger.charge(pure("1/2"), "try", key="a")
    ledger._mark(receipt.entry, 1, 1)
    body = {"value": draw(receipt).tolist(), "ε": 0.1, "nested": [None, True, {"a": 1e-300}]}
    assert ledger.release("a") is None
    assert ledger.run_state("a").lost
    ledger.keep_release(receipt.entry, body)
    assert not ledger.run_state("a").lost
    del receipt
    for one in (ledger, Ledger.open(url)):
        assert one.release("a") == body
        with pytest.raises(ReceiptError, match="is kept; print that"):
            one.charge(pure("1/2"), "try", key="a")
        one.keep_release("a", body)  # the same request again
        with pytest.raises(ReceiptError, match="has its release already"):
            one.keep_release("a", {**body, "ε": 0.2})
    one.close()
    assert ledger.verify() == VALID
    assert ledger.release("b") is None


def test_only_charges_have_releases(make):
    ledger = make()
    with pytest.raises(BudgetError):
        ledger.charge(pure(2), "refused", key="a")
    for wrong in (0, 1, 7, "a"):
        with pytest.raises(InputError, match="is not a charge"):
            ledger.keep_release(wrong, {})
    for wrong in (0, 1, 7):
        with pytest.raises(InputError, match="is not a charge"):
            ledger._mark(wrong, 1, 1)


@pytest.mark.parametrize("body", [{"x": float("nan")}, {"x": object()}, {"x": "\ud800"}, {"x": {1, 2}}])
def test_a_release_is_json(make, body):
    ledger = make()
    ledger.charge(pure("1/2"), "try", key="a")
    with pytest.raises(InputError, match="JSON"):
        ledger.keep_release("a", body)
    assert ledger.release("a") is None


# ------------------------------------------------------------------ a changed ledger


def test_nothing_is_charged_to_a_changed_budget_or_a_cut_chain(make, url):
    ledger = make()
    ledger.charge(pure("1/2"), "try")
    for change in (
        'UPDATE entries SET body = replace(body, \'"epsilon":"1"\', \'"epsilon":"9"\') WHERE number = 0',
        "DELETE FROM entries WHERE number = 1",
        "UPDATE ledger SET head = 'sha256:0'",
        "DELETE FROM ledger",
    ):
        by_hand(url, change)
        with pytest.raises(LedgerError, match="; "):
            ledger.charge(pure("1/2"), "try")


# ------------------------------------------------------------------ covers


def test_a_cover_has_as_many_units_as_are_read(make):
    ledger = make()
    with pytest.raises(InputError, match=r"\[5, 7\] has fewer units than may be read; cover at least 4"):
        ledger.charge(pure("1/4"), "sum", cover=(5, 7), reads=4)
    ledger.charge(pure("1/4"), "sum", cover=(5, 8), reads=4)
    ledger.charge(pure("1/4"), "sum", reads=4)
    assert ledger.show()["entries"] == 2


def test_who_may_read_anyone_charges_everyone(make):
    ledger = make(measure="approximate", delta=MILLIONTH)
    theorem = proof.despite(
        approximate("1/4", 0), proof.assume_rare("sum", "event", MILLIONTH / 2, "made up"), MILLIONTH
    )
    assert theorem.conclusion.units == proof.ANYONE
    with pytest.raises(InputError, match="leaves out units"):
        ledger.charge(theorem, "sum", cover=(1, LAST_UNIT))
    ledger.charge(theorem, "sum")
    assert ledger.show()["worst_unit"] is None
