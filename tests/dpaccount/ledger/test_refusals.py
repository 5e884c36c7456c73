"""A refused charge says which part does not fit, in exact decimals."""

from fractions import Fraction

import pytest

from dpaccount.errors import BudgetError
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
