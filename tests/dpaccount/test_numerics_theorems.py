"""The closed-form theorems lie above the exact cost, and the optimal one meets it."""

from fractions import Fraction

from dpaccount.accountant import Accountant
from dpaccount.events import BoundedRange, Plan, Pure, Relation
from dpaccount.numerics import theorems

DELTA = Fraction(1, 10**6)


def exact(*events):
    return Accountant(Plan(Relation.REPLACE_ONE, events)).epsilon(DELTA)


def test_they_order_as_they_should():
    eps, count = Fraction(1, 10), 200
    found = exact(Pure(epsilon=eps, count=count))
    low, high = theorems.optimal([(eps, count)], DELTA)
    assert low <= found.upper
    assert found.lower <= high
    assert theorems.advanced(eps, Fraction(0), count, DELTA)[0] > found.upper
    assert theorems.basic([(eps, Fraction(0))] * count) == (20, 0)


def test_unequal_losses_compose_optimally():
    low, high = theorems.optimal([(Fraction(i, 100), 1) for i in range(1, 61)], DELTA)
    assert low <= Fraction("14.26071870751814629233310") <= high


def test_bounded_range_is_no_looser_than_its_theorem():
    found = exact(BoundedRange(eta=Fraction(1, 10), count=100))
    assert found.upper <= theorems.bounded_range(Fraction(1, 10), 100, DELTA)


def test_amplification():
    assert theorems.sampled(Fraction(1), Fraction(1, 100), Fraction(1)) >= (1, Fraction(1, 100))
    assert theorems.sampled(Fraction(1), Fraction(0), Fraction(1, 10))[0] < Fraction(16, 100)
    assert theorems.shuffled(Fraction(1), 10, DELTA) == 1
    assert theorems.shuffled(Fraction(1), 10**6, DELTA) < Fraction(2, 100)
    assert theorems.zcdp_of_range(Fraction(2)) == theorems.zcdp_of_pure(Fraction(1)) == Fraction(1, 2)
