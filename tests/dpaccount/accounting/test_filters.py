"""Filters stop before the budget; odometers hold at all times; what has no bound in the measure is refused."""

import doctest
import math
from fractions import Fraction

import numpy as np
import pytest

from dpaccount import Filter, Measure, Odometer
from dpaccount.accounting import filters
from dpaccount.accounting.accountant import Accountant
from dpaccount.errors import BudgetError, InputError
from dpaccount.plan.events import (
    Approximate,
    Gaussian,
    Laplace,
    Plan,
    PoissonSubsampled,
    Pure,
    Rdp,
    Relation,
    Zcdp,
)
from tests.looped import looped

DELTA = Fraction(1, 10**5)


def test_its_example():
    assert doctest.testmod(filters).failed == 0


@looped(
    ("measure", "budget", "event", "times"),
    [
        (Measure("zcdp"), 1, Gaussian(sigma=2), 8),
        (Measure("gdp"), 1, Gaussian(sigma=2), 4),
        (Measure("pure"), 1, Pure(epsilon="0.1"), 10),
        (Measure("rdp", Fraction(4)), 1, Zcdp(rho="0.0625"), 4),
    ],
)
def test_a_filter_fills_exactly_and_refuses_the_next(measure, budget, event, times):
    found = Filter(measure, budget=Fraction(budget))
    for _ in range(times):
        found.charge(event)
    assert found.spent == budget
    with pytest.raises(BudgetError, match="nothing was charged"):
        found.charge(Zcdp(rho="1e-300") if measure.name in ("zcdp", "rdp") else Pure(epsilon="1e-300"))
    assert found.spent == budget


def test_a_filter_promises_its_budget_not_what_was_spent():
    """Stopping early on good luck is a choice made from the answers: only the budget was fixed beforehand."""
    budget = Filter(Measure("gdp"), budget=Fraction(1))
    budget.charge(Gaussian(sigma=10))
    whole = Accountant(Plan(Relation.REPLACE_ONE, (Gaussian(sigma=1),))).epsilon(DELTA)
    assert whole.lower <= budget.epsilon(DELTA) <= whole.upper + Fraction(1, 10**12)
    assert budget.epsilon(Fraction(0)) is None
    assert budget.epsilon(Fraction(1)) == 0
    assert Filter(Measure("pure"), budget=Fraction(3)).epsilon(Fraction(0)) == 3
    low = Filter(Measure("zcdp"), budget=Fraction(1, 2)).epsilon(DELTA)
    assert Fraction("4.7283869") < low < Fraction("4.728387")  # as `account` says of ρ = ½
    one = Filter(Measure("rdp", Fraction(11, 2)), budget=Fraction(11, 4)).epsilon(DELTA)
    assert Fraction("4.7289233") < one < Fraction("4.728929")


def test_an_odometer_doubles_its_budgets():
    """At ρ = 0.003 and first = 0.001 the budget 0.004 holds it, the third, with δ/12."""
    meter = Odometer(Measure("zcdp"), first=Fraction(1, 1000))
    assert meter.epsilon(DELTA) == 0
    meter.charge(Zcdp(rho="0.003"))
    hand = 0.004 + 2 * math.sqrt(0.004 * math.log(12e5))
    assert math.isclose(float(meter.epsilon(DELTA)), hand, rel_tol=1e-12)
    assert meter.epsilon(DELTA) > Measure("zcdp").epsilon(meter.spent, DELTA)
    assert meter.epsilon(Fraction(0)) is None
    at_one = Odometer(Measure("rdp", Fraction(3)), first=Fraction(1))
    at_one.charge(Rdp(points=((Fraction(3), Fraction(1)),)))
    assert math.isclose(float(at_one.epsilon(DELTA)), 1 + math.log(2e5) / 2, rel_tol=1e-12)
    with pytest.raises(InputError, match="first"):
        Odometer(Measure("zcdp"), first=Fraction(0))


@pytest.mark.statistical(1e-6)  # the bound is δ = 0.05, five deviations above
def test_an_odometer_holds_against_a_stopping_analyst():
    """An analyst who lowers σ after every lucky answer and stops at the worst moment exceeds it with odds ≤ δ.

    Twenty thousand runs of Gaussian answers on the data, at each step the loss against a neighbour; one run
    fails where the loss is above the odometer at any time.
    """
    rng, delta = np.random.default_rng(11), 0.05
    runs = 20_000
    loss, spent = np.zeros(runs), np.zeros(runs)
    failed = np.zeros(runs, dtype=bool)
    first = 0.02
    for _ in range(12):
        mu = np.where(loss > 0, 0.5, 0.2)  # spends more where it already knows more
        loss += mu**2 / 2 + mu * rng.normal(size=runs)
        spent += mu**2 / 2
        step = np.ceil(np.log2(np.maximum(spent / first, 1)) - 1e-9)
        held = first * 2**step
        bound = held + 2 * np.sqrt(held * np.log((step + 1) * (step + 2) / delta))
        failed |= loss > bound
    assert failed.mean() <= delta + 5 * math.sqrt(delta * (1 - delta) / runs)
    same = Odometer(Measure("zcdp"), first=Fraction(1, 50))
    same.charge(Zcdp(rho=Fraction(1, 10)))
    held = 0.16
    assert math.isclose(
        float(same.epsilon(Fraction(1, 20))), held + 2 * math.sqrt(held * math.log(20 * 20)), rel_tol=1e-9
    )


def test_renyi_at_one_order():
    spent = Odometer(Measure("rdp", Fraction(8)))
    spent.charge(Gaussian(sigma=2))
    assert abs(spent.spent - 1) < Fraction(1, 10**9)
    sampled = Odometer(Measure("rdp", Fraction(8)), Relation.ADD_REMOVE)
    sampled.charge(PoissonSubsampled(rate="0.1", of=Gaussian(sigma=2)))
    assert 0 < sampled.spent < 1


def test_a_sample_has_the_renyi_bound_of_a_mixture():
    """D_8 of a sampled Laplace pair by quadrature, both directions; the charge lies above, below D_8 unsampled."""
    rate, order = 0.1, 8
    y = np.linspace(-60, 60, 1_200_001)
    q = np.exp(-abs(y) / 2) / 4
    p = np.exp(-abs(y - 1) / 2) / 4
    m = (1 - rate) * q + rate * p
    width = y[1] - y[0]
    exact = [math.log(np.sum(a**order * b ** (1 - order)) * width) / (order - 1) for a, b in ((m, q), (q, m))]
    whole = math.log(np.sum(p**order * q ** (1 - order)) * width) / (order - 1)
    meter = Odometer(Measure("rdp", Fraction(order)), Relation.ADD_REMOVE)
    meter.charge(PoissonSubsampled(rate=str(rate), of=Laplace(scale=2)))
    assert max(exact) - 1e-9 <= float(meter.spent) < whole


@looped("name", ["zcdp", "gdp", "pure"])
def test_without_a_bound_the_charge_is_refused(name):
    with pytest.raises(BudgetError, match=f"no bound in {name}"):
        Odometer(Measure(name)).charge(Approximate(epsilon=1, delta="1e-6"))
    if name == "pure":
        with pytest.raises(BudgetError, match="a measure that takes it: gdp, zcdp"):
            Odometer(Measure(name)).charge(Gaussian(sigma=1))


def test_the_relation_is_kept():
    with pytest.raises(InputError, match="no meaning under replace-one"):
        Odometer(Measure("zcdp")).charge(PoissonSubsampled(rate="0.1", of=Gaussian(sigma=2)))


def test_fixed_composition_refuses_adaptive_choices():
    """A plan is fixed beforehand: nothing can be added to it after an answer, and the message says where to go."""
    fixed = Accountant(Plan(Relation.REPLACE_ONE, (Gaussian(sigma=1),)))
    before = fixed.epsilon(DELTA)
    with pytest.raises(BudgetError, match=r"charge a dpaccount\.Filter"):
        fixed.charge(Gaussian(sigma=1))
    assert fixed.epsilon(DELTA) == before
    with pytest.raises(AttributeError):
        fixed.plan.events += (Gaussian(sigma=1),)


def test_measures_are_checked():
    with pytest.raises(InputError):
        Measure("renyi")
    with pytest.raises(InputError):
        Measure("rdp")
    with pytest.raises(InputError):
        Measure("gdp", Fraction(2))
    assert Measure("pure").epsilon(Fraction(3), Fraction(0)) == 3
    two = Measure("approximate")  # the ledger's: ε alone would forget its δ
    for ask in (
        lambda: two.cost(Laplace(scale=2)),
        lambda: two.epsilon(Fraction(1), DELTA),
        lambda: two.tail(Fraction(1), DELTA),
    ):
        with pytest.raises(InputError, match="unknown measure 'approximate'"):
            ask()
    assert Odometer(Measure("pure")).charge(Laplace(scale=2)) == Fraction(1, 2)
