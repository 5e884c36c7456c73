"""What the accountant takes: numbers, ranges, groups, events alone."""

from decimal import Decimal

import numpy as np
import pytest

from dpaccount.accounting.accountant import Accountant
from dpaccount.errors import InputError
from dpaccount.plan.events import (
    Gaussian,
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
