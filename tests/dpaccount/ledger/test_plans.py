"""A plan in a `gdp` ledger enters at what its events cost together."""

from fractions import Fraction
from pathlib import Path

import pytest

from dpaccount.accounting.gdp_of_plan import mu_squared
from dpaccount.ledger.requests import RefusedError
from dpaccount.plan.events import BoundedRange, Gaussian, Laplace, Plan, Pure, Relation

from .conftest import steps_in
from .recount import recount

MILLIONTH = Fraction(1, 10**6)


def plan(*events):
    return Plan(Relation.REPLACE_ONE, events)


def test_more_laplace_fits_as_one_plan(make):
    """561 releases; charged one by one 358 fit, and exact composition allows 564."""
    ledger = make(1, MILLIONTH, "gdp")
    with pytest.raises(RefusedError):
        ledger.charge_plan(plan(Laplace(scale=100, count=562)), "too many")
    charge = ledger.charge_plan(plan(Laplace(scale=100, count=561)), "as one")
    assert charge.spends == (mu_squared([(Laplace(scale=100), 561)]),)
    assert ledger.verify()["valid"]
    with pytest.raises(RefusedError):
        ledger.charge_plan(plan(Laplace(scale=100)), "one more")


def test_every_unit_pays_for_its_own_events(make, url):
    """Covers that overlap, one event over all, one that is not composed; a unit beyond pays no less than it should."""
    ledger = make(1, MILLIONTH, "gdp")
    one, two = Laplace(scale=50, count=4, cover=(3, 9)), Pure(epsilon="1/40", count=3, cover=(6, 20))
    shared, apart = Gaussian(sigma=40), BoundedRange(eta="1/50", count=2, cover=(6, 9))
    ledger.charge_plan(plan(one, two, shared, apart), "covers")
    bare = [(one.bare(), 1), (two.bare(), 1), (shared, 1), (apart.bare(), 1)]
    paid = {1: [2], 3: [0, 2], 6: [0, 1, 2, 3], 10: [1, 2], 21: [2]}
    wanted = [(unit, mu_squared([bare[n] for n in which])) for unit, which in paid.items()]
    steps = steps_in(Path(url.removeprefix("sqlite:///")))
    assert [unit for unit, _ in steps] == list(paid)
    for (_, (spent,)), (_, exact) in zip(steps, wanted, strict=True):
        assert exact <= spent <= exact * (1 + Fraction(1, 2**100))
    assert recount(url.removeprefix("sqlite:///"))["counts"]["charge"] == 1


def test_the_same_plan_is_the_same_charge(make):
    ledger = make(1, MILLIONTH, "gdp")
    asked = plan(Laplace(scale=100, count=50), Pure(epsilon="1/100", count=50))
    tried = ledger.charge_plan(asked, "one", "key", dry_run=True)
    charged = ledger.charge_plan(asked, "one", "key")
    assert tried.spends == charged.spends
    assert ledger.charge_plan(asked, "one", "key").known


def test_other_measures_add_up(make):
    ledger = make(10, 0, "pure")
    assert ledger.charge_plan(plan(Laplace(scale=100, count=500)), "sum").spends == (5,)
