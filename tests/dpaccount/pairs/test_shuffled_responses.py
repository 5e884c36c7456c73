"""Shuffled randomised responses: both ends against all data of few units, enumerated, and against the clones."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpaccount import Accountant, Gaussian, Plan, RandomizedResponse, Shuffled, ShuffledResponse
from dpaccount.errors import InputError
from dpaccount.numerics import responses
from tests.depth import deep
from tests.dpaccount.pairs.test_shuffled import cost, shuffled
from tests.looped import looped

DELTA = Fraction(1, 10**6)
CLOSE = 2e-4  #: by how much chords may lie above the curve, relatively


def event(epsilon, users, values=2, **more):
    return ShuffledResponse(epsilon=epsilon, population=users, categories=values, **more)


def laws(epsilon, users, values):
    """The two laws of every pair of neighbours, in both directions."""
    p = math.exp(float(epsilon))
    randomiser = (np.ones((values, values)) + (p - 1) * np.eye(values)) / (p + values - 1)
    for others in itertools.combinations_with_replacement(range(values), users - 1):
        there, back = shuffled(randomiser, (0, *others)), shuffled(randomiser, (1, *others))
        pair = [np.array([law[seen] for seen in sorted(there)]) for law in (there, back)]
        yield pair
        yield pair[::-1]


def ratios(epsilon, users, values):
    """The same laws in exact numbers, at e^ε = a rational: masses of counts, by adding up all reports."""
    total = epsilon + values - 1
    for others in itertools.combinations_with_replacement(range(values), users - 1):
        found = []
        for own in (0, 1):
            law = {}
            for sent in itertools.product(range(values), repeat=users):
                seen = tuple(sorted(sent))
                right = sum(a == b for a, b in zip(sent, (own, *others), strict=True))
                law[seen] = law.get(seen, 0) + epsilon**right / total**users
            found.append(law)
        yield found
        yield found[::-1]


@looped(("users", "values"), [(2, 2), (3, 2), (5, 2), (8, 2), (2, 3), (4, 3), (3, 4), (2, 6)])
def test_both_ends_hold_for_all_data(users, values):
    for epsilon, at in itertools.product(("0.1", "1", "3"), ("0", "0.05", "0.4", "1.1", "2.2")):
        truth = max(cost(*pair, float(at)) for pair in laws(epsilon, users, values))
        found = Accountant(event(epsilon, users, values)).delta(at)
        assert found.lower - Fraction(1, 10**12) <= truth <= found.upper + Fraction(1, 10**12)
        if values == 2:
            assert found.upper <= truth * (1 + CLOSE) + 1e-12


def test_a_curve_is_enclosed_in_exact_numbers():
    """At e^ε = 3/2 and e^t = 5/4, both to 30 digits: nothing but rounding lies between them and the floats'."""
    p, x = Fraction(3, 2), Fraction(5, 4)
    for users, values in ((4, 2), (3, 3)):
        truth = max(
            sum(max(law[0][seen] - x * law[1][seen], 0) for seen in law[0])
            for law in ratios(p, users, values)
        )
        epsilon, at = (Fraction(math.log(each)).limit_denominator(10**12) for each in (p, x))
        found = Accountant(event(epsilon, users, values)).delta(at)
        assert found.lower <= truth * (1 + Fraction(1, 10**9))
        assert truth * (1 - Fraction(1, 10**9)) <= found.upper


def test_the_enumeration_sees_fewer_data_and_a_larger_epsilon():
    """Of two values the data of the lower end cost less than others, and a response of 1.1-DP is not 1-DP."""
    found = Accountant(event("1", 5)).delta("0.1")
    assert found.lower * Fraction(101, 100) < found.upper
    assert max(cost(*pair, 0.1) for pair in laws("1.1", 5, 2)) > found.upper


@deep
@looped(("users", "values"), [(2, 2), (4, 2), (3, 3)])
def test_two_rounds_hold_for_all_data_of_each(users, values):
    """Also where the others' data differ by round, and beside Gaussian noise."""
    for at in ("0", "0.3", "1.2"):
        pairs = list(laws("1", users, values))
        # one unit's data change: in every round from 0 to 1, or back
        twice = max(
            cost(*(np.multiply.outer(x, y).ravel() for x, y in zip(a, b, strict=True)), float(at))
            for a, b in itertools.product(pairs, repeat=2)
        )
        found = Accountant(event("1", users, values, count=2)).delta(at, "1e-4")
        assert found.lower <= twice * (1 + 1e-9)
        assert twice * (1 - 1e-9) <= found.upper
        beside = Accountant(Plan("replace-one", [event("1", users, values), Gaussian(sigma=2)])).delta(at)
        assert Accountant(Gaussian(sigma=2)).delta(at).upper < beside.upper
        assert beside.lower is not None


@looped(("epsilon", "values"), [("0.3", 2), ("3", 2), ("4", 5)])
def test_more_reports_and_smaller_epsilons_cost_less_and_clones_no_less(epsilon, values):
    numbers = (1, 2, 5, 60)
    found = [Accountant(event(epsilon, n, values)).epsilon(DELTA) for n in numbers]
    assert all(a.upper >= b.upper and a.lower >= b.lower for a, b in itertools.pairwise(found))
    milder = Fraction(epsilon) * Fraction(9, 10)
    for n, each in zip(numbers, found, strict=True):
        assert Accountant(event(milder, n, values)).epsilon(DELTA).upper < each.upper
        clones = Accountant(Shuffled(epsilon=epsilon, population=n)).epsilon(DELTA).upper
        assert each.lower <= each.upper <= clones * (1 + Fraction(1, 1000))


def test_a_thousand_bits_that_cost_a_tenth_gain_what_they_can():
    """A bit moves by e^ε₀ − 1 over e^ε₀ + 1; clones prove .351 of it, and .389 would cost more."""
    epsilon = Fraction(2 * math.atanh(0.388)).limit_denominator(10**6)
    assert Accountant(event(epsilon, 1000)).delta("0.1").upper <= DELTA
    assert Accountant(Shuffled(epsilon=epsilon, population=1000)).delta("0.1").upper > DELTA
    above = Fraction(2 * math.atanh(0.389)).limit_denominator(10**6)
    assert Accountant(event(above, 1000)).delta("0.1").lower > DELTA


def test_of_three_values_the_ends_are_close():
    found = Accountant(event("0.1", 300, 3)).epsilon(DELTA)
    assert found.upper < found.lower * Fraction(101, 100)


@looped("values", [2, 3])
def test_what_is_not_counted_costs_no_less(values, monkeypatch):
    """Beyond the most reports, and for losses that floats do not reach, the bound is a larger one."""
    close = Accountant(event("1", 60, values)).epsilon(DELTA)
    monkeypatch.setattr(responses, "MOST_REPORTS", 40)
    responses._points.cache_clear()
    rough = Accountant(event("1.0000001", 60, values)).epsilon(DELTA)
    responses._points.cache_clear()
    assert rough.lower is None
    assert close.upper * (1 - Fraction(1, 10**6)) <= rough.upper
    assert Accountant(event("30", 60, values)).epsilon(DELTA).lower is None


@deep
def test_extreme_numbers_are_bounded():
    for fields in (
        {"epsilon": Fraction(1, 10**400)},
        {"epsilon": Fraction(1, 2**30)},
        {"epsilon": 16},
        {"epsilon": 10**9},
        {"categories": 10**6},
        {"categories": 10**400},
        {"population": 10**400},
    ):
        given = {"epsilon": 1, "population": 9, **fields}
        found = Accountant(ShuffledResponse(**given)).epsilon(DELTA)
        assert found.lower is None or found.lower <= found.upper
        assert found.upper <= Fraction(given["epsilon"])
        assert Accountant(ShuffledResponse(**given)).delta("0.1").upper <= 1


def test_ends_of_the_range():
    assert Accountant(event("0", 9)).epsilon(DELTA).upper == 0
    assert Accountant(event("1", 9)).epsilon(0).upper == 1
    alone = Accountant(RandomizedResponse(epsilon=1, k=4)).delta("0.5")
    assert Accountant(event("1", 1, 4)).delta("0.5") == alone


@looped(
    ("fields", "says"),
    [
        ({"epsilon": -1}, "epsilon"),
        ({"categories": 1}, "at least 2"),
        ({"categories": "5/2"}, "integer"),
        ({"population": 0}, "at least 1"),
        ({"cover": (1, 4)}, "fewer units"),
    ],
)
def test_nonsense_is_refused(fields, says):
    with pytest.raises(InputError, match=says):
        ShuffledResponse(**{"epsilon": 1, "population": 5, **fields})


def test_it_is_counted_under_replace_one():
    with pytest.raises(InputError, match="no meaning under add-remove"):
        Plan("add-remove", event("1", 5))
