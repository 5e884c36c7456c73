"""Filters stop before the budget; odometers add; what has no bound in the measure is refused."""

from fractions import Fraction

import pytest

from dpaccount.errors import BudgetError, InputError
from dpaccount.events import Approximate, Gaussian, Laplace, PoissonSubsampled, Pure, Relation, Zcdp
from dpaccount.filters import Filter, Measure, Odometer


def test_a_filter_fills_exactly_and_refuses_the_next():
    budget = Filter(Measure("zcdp"), budget=Fraction(1))
    for _ in range(8):
        budget.charge(Gaussian(sigma=2))
    assert budget.spent == 1
    with pytest.raises(BudgetError, match="nothing was charged"):
        budget.charge(Zcdp(rho="1e-300"))
    assert budget.spent == 1


def test_pure_charges_enter_gaussian_dp():
    budget = Filter(Measure("gdp"), budget=Fraction(4))
    budget.charge(Pure(epsilon=1))
    assert 1.517 < budget.spent < 1.519
    assert budget.epsilon(Fraction(1, 10**5)) > 1


def test_renyi_at_one_order():
    spent = Odometer(Measure("rdp", Fraction(8)))
    spent.charge(Gaussian(sigma=2))
    assert abs(spent.spent - 1) < Fraction(1, 10**9)
    sampled = Odometer(Measure("rdp", Fraction(8)), Relation.ADD_REMOVE)
    sampled.charge(PoissonSubsampled(rate="0.1", of=Gaussian(sigma=2)))
    assert 0 < sampled.spent < 1


@pytest.mark.parametrize("name", ["zcdp", "gdp", "pure"])
def test_without_a_bound_the_charge_is_refused(name):
    with pytest.raises(BudgetError, match=f"no bound in {name}"):
        Odometer(Measure(name)).charge(Approximate(epsilon=1, delta="1e-6"))
    if name == "pure":
        with pytest.raises(BudgetError, match="a measure that takes it: gdp, zcdp"):
            Odometer(Measure(name)).charge(Gaussian(sigma=1))


def test_measures_are_checked():
    with pytest.raises(InputError):
        Measure("renyi")
    with pytest.raises(InputError):
        Measure("rdp")
    with pytest.raises(InputError):
        Measure("gdp", Fraction(2))
    assert Measure("pure").epsilon(Fraction(3), Fraction(0)) == 3
    assert Odometer(Measure("pure")).charge(Laplace(scale=2)) == Fraction(1, 2)
