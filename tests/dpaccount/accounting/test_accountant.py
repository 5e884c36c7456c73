"""What the accountant takes: numbers, ranges, groups, events alone."""

from decimal import Decimal

import numpy as np
import pytest

from dpaccount.accounting.accountant import Accountant
from dpaccount.errors import InputError
from dpaccount.plan.events import (
    Gaussian,
    Laplace,
    Plan,
    PoissonSubsampled,
    RandomizedResponse,
    Relation,
)
from tests.looped import looped


def replaced(*events):
    return Accountant(Plan(Relation.REPLACE_ONE, events))


@looped("wrong", [float("nan"), True, "1/0", "nan", "x", None, Decimal("NaN"), Decimal("Infinity")])
def test_what_is_no_exact_number_is_refused(wrong):
    both = replaced(Gaussian(sigma=1))
    for call in (both.epsilon, both.delta, lambda x: both.epsilon("0.1", gap=x), lambda x: Gaussian(sigma=x)):
        with pytest.raises(InputError):
            call(wrong)


def test_ranges():
    for wrong in ("-0.1", "1.1"):
        with pytest.raises(InputError, match="delta"):
            replaced(Gaussian(sigma=1)).epsilon(wrong)
    with pytest.raises(InputError, match="epsilon"):
        replaced(Gaussian(sigma=1)).delta("-1")
    with pytest.raises(InputError, match="gap"):
        replaced(Gaussian(sigma=1)).epsilon("0.1", gap=0)
    with pytest.raises(InputError, match="group"):
        Accountant(Plan(Relation.REPLACE_ONE, ()), group=0)


@looped("group", [0, -1, 1.5, True, "2", np.int8(100)])
def test_a_group_is_a_whole_number(group):
    with pytest.raises(InputError, match="a group of"):
        Accountant(Gaussian(sigma=1), group)


def test_events_alone_are_counted_under_the_relation_that_they_have():
    sampled = PoissonSubsampled(rate="0.01", of=Gaussian(sigma=1), count=10)
    assert Accountant(sampled).plan.relation == Relation.ADD_REMOVE
    assert Accountant([Gaussian(sigma=1)]).plan.relation == Relation.REPLACE_ONE
    with pytest.raises(InputError, match="replace-one"):
        Accountant([sampled, RandomizedResponse(epsilon=1)])
    with pytest.raises(InputError, match="poisson_subsampled"):
        Accountant(sampled, relation="replace-one")


def test_accountants_add_up():
    a, b = Accountant(Gaussian(sigma=4, count=2), 2), Accountant(Plan("replace-one", Laplace(scale=5)), 2)
    whole = [*a.plan.events, *b.plan.events]
    for both in (a + b, Accountant([a, b], 2), Accountant([a, *b.plan.events], 2), a + b.plan.events):
        assert (list(both.plan.events), both.group) == (whole, 2)
    assert a.plan + b == Plan("replace-one", whole)
    assert len(a.plan.events) == 1  # and neither has changed
    a.compose(b)
    assert (list(a.plan.events), len(b.plan.events)) == (whole, 1)


def test_accountants_of_two_kinds_do_not_add_up():
    one = Accountant(Gaussian(sigma=4))
    for other, wrong in (
        (Accountant(Gaussian(sigma=4), 2), "for groups of 2 is counted for groups of 1; give both one group"),
        (Accountant(Gaussian(sigma=4), relation="add-remove"), "do not add up; count both under one"),
    ):
        for adding in (lambda: one + other, lambda: Accountant([one, other]), lambda: one.compose(other)):
            with pytest.raises(InputError, match=wrong):
                adding()
    assert len(one.plan.events) == 1
    with pytest.raises(InputError, match="no event"):
        one + 3
