"""A refused charge says which part does not fit, in exact decimals."""

import inspect
from fractions import Fraction

import pytest

from audits.cli.ledger import init as command
from dpaccount.errors import BudgetError
from dpaccount.ledger.journal.verify import standing
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Approximate, Gaussian, Plan, Relation

BUDGET = {"epsilon": 20, "delta": Fraction("1e-6"), "unit": "row", "relation": "replace-one"}
CASES = [
    ("approximate", 1, "2e-6", None, "unit 1 to δ 2e-06, beyond the budget's δ 1e-06"),
    ("approximate", 30, "1e-7", None, "(epsilon 30, delta 1e-07), beyond the budget's ε 20;"),
    ("approximate", "20.5", "3e-6", None, "to ε 20.5 and δ 3e-06, beyond the budget's ε 20 and δ 1e-06"),
    ("approximate", "0.1", "2e-7", "a", "unit 1 to δ 2e-07, beyond the δ 1e-07 of the scope a"),
    ("approximate-zcdp", "0.01", "6e-7", None, "unit 1 to δ 6e-07, beyond the budget's δ 5e-07"),
]


@pytest.mark.parametrize(("measure", "epsilon", "delta", "scope", "said"), CASES)
def test_a_refusal_names_the_part_that_does_not_fit(url, measure, epsilon, delta, scope, said):
    init(url, **{**BUDGET, "epsilon": 20 if measure == "approximate" else 13}, measure=measure)
    event = Approximate(epsilon=Fraction(epsilon), delta=Fraction(delta))
    with Ledger.open(url) as ledger:
        if scope:
            ledger.set_scope(scope, 1, Fraction("1e-7"))
        with pytest.raises(BudgetError) as refused:
            ledger.charge_plan(Plan(Relation.REPLACE_ONE, (event,)), "x", scope=scope)
    assert said in str(refused.value)


def test_the_default_is_the_commands_default(url):
    defaults = {inspect.signature(made).parameters["measure"].default for made in (init, command)}
    assert defaults == {init(url, **BUDGET)["budget"]["measure"]}
    assert standing(url)["number"] == 0  # whatever the number of amounts
    with Ledger.open(url) as ledger:
        ledger.charge_plan(Plan(Relation.REPLACE_ONE, (Approximate(epsilon=1, delta=0),)), "x")
    assert standing(url)["number"] == 1


def test_a_plan_that_needs_the_whole_delta_is_charged_at_it(url):
    """A plan calibrated to the budget fits; a second one does not, and the refusal names what would take more."""
    gaussian = Plan(Relation.REPLACE_ONE, (Gaussian(sigma=Fraction("4.23")),))  # ε 1 at δ 1e-6
    init(url, **{**BUDGET, "epsilon": 1})
    with Ledger.open(url) as ledger:
        spent = ledger.charge_plan(gaussian, "x").spends
        assert spent[1] == Fraction("1e-6")
        assert Fraction(99, 100) < spent[0] <= 1
        for again in (ledger.charge_plan, lambda *given: ledger.reserve_plan(*given, "key")):
            with pytest.raises(BudgetError, match="add up to less in a ledger made with --measure gdp"):
                again(gaussian, "x")
        assert ledger.verify()["valid"]


def test_a_plan_without_a_delta_is_charged_at_a_part_of_the_ledgers(url):
    """Each of 16 plans, at ε where they are proved; what they cost together is not beyond it."""
    init(url, **BUDGET, measure="approximate")
    plan = Plan(Relation.REPLACE_ONE, (Gaussian(sigma=10, cover=(1, 9)), Gaussian(sigma=10, cover=(5, 9))))
    with Ledger.open(url) as ledger:
        for number in range(16):
            spends = ledger.charge_plan(plan, "x", f"key {number}").spends
        exact = Gaussian(sigma=10, count=2).delta(spends[0]) if hasattr(Gaussian, "delta") else None
        assert spends[1] == Fraction("1e-6") / 16
        assert exact is None or exact <= spends[1]
        with pytest.raises(BudgetError, match="beyond the budget's δ 1e-06"):
            ledger.charge_plan(plan, "x")
        assert ledger.verify()["valid"]
