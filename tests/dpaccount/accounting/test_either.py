"""The measure `either`: three amounts that add up from the beginning, each with its share of δ; one must fit."""

import math
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.accounting.gdp_of_plan import mu_squared
from dpaccount.accounting.measures import EITHER, LARGE, MEASURES, UNBOUNDED
from dpaccount.plan.events import Gaussian, Laplace, Pure
from tests.depth import deep, examples

KIND = MEASURES["either"]
BUDGET, MILLIONTH = Fraction(1), Fraction(1, 10**6)

amounts = st.tuples(*[st.fractions(0, 3) | st.just(UNBOUNDED)] * 3)


def times(count, one):
    return tuple(count * amount for amount in one)


@deep
@examples(100, 400)
@given(amounts, st.fractions("1/10", 3), st.fractions("1/1000", "1/3"))
def test_it_fits_where_one_of_three_does_at_its_share(total, epsilon, delta):
    shares = zip(EITHER, total, (delta / 2, delta / 2, Fraction(0)), strict=True)
    one_fits = any(MEASURES[name].fits((amount,), epsilon, share) for name, amount, share in shares)
    assert KIND.fits(total, epsilon, delta) is one_fits


@deep
@given(st.fractions(0, LARGE), st.fractions("1/1000000", "999999/1000000"))
def test_no_measure_fits_what_has_no_bound(epsilon, delta):
    for name in EITHER:
        assert not MEASURES[name].fits((UNBOUNDED,), epsilon, delta)


@deep
@examples(100, 400)
@given(amounts, amounts, st.fractions("1/10", 3))
def test_what_fits_fits_with_less(total, less, epsilon):
    smaller = tuple(map(min, total, less))
    if KIND.fits(total, epsilon, MILLIONTH):
        assert KIND.fits(smaller, epsilon, MILLIONTH)


@deep
@examples(30, 30)
@given(amounts, st.fractions("1/1000", "1/3"))
def test_what_has_no_bound_in_a_measure_has_no_epsilon_there(total, delta):
    """The least of the others is claimed, each at its share of δ, and none where nothing is known."""
    shares = zip(EITHER, total, (delta / 2, delta / 2, Fraction(0)), strict=True)
    uppers = [
        MEASURES[name].enclosure((amount,), share).upper if amount < UNBOUNDED else math.inf
        for name, amount, share in shares
    ]
    found = KIND.enclosure(total, delta)
    assert (found.lower, found.upper) == (None, min(uppers))
    assert KIND.left(total, delta).upper == max(uppers)


@pytest.mark.parametrize(
    ("total", "name"),
    [(("1/4", "1", "5"), "gdp"), (("1", "1/8", UNBOUNDED), "zcdp"), (("1", UNBOUNDED, "1/3"), "pure")],
)
def test_epsilon_is_that_of_the_measure_that_costs_least(total, name):
    total, share = tuple(map(Fraction, total)), Fraction(0) if name == "pure" else MILLIONTH / 2
    least = MEASURES[name].enclosure((total[EITHER.index(name)],), share).upper
    assert (found := KIND.enclosure(total, MILLIONTH)).upper == least
    assert found.lower is None


def test_what_no_measure_bounds_has_no_epsilon():
    assert KIND.enclosure((UNBOUNDED,) * 3, MILLIONTH).upper == math.inf


@deep
@examples(100, 200)
@given(amounts)
def test_the_room_of_each_measure_fits(total):
    if not KIND.fits(total, BUDGET, MILLIONTH):
        return
    room = KIND.room(total, BUDGET, MILLIONTH)
    assert len(room) == 3
    for place, more in enumerate(room):
        charge = [UNBOUNDED] * 3
        charge[place] = more
        assert more == 0 or KIND.fits(tuple(map(sum, zip(total, charge, strict=True))), BUDGET, MILLIONTH)


def worst(fits, epsilon, sizes):
    """Return the exact δ(ε) of the worst adversary, who picks each response from all answers before.

    Against randomised responses of these losses (multiples of 1/8), by recursion over every state: an independent
    look at what a filter admits.
    """
    grid = [int(size * 8) for size in sizes]

    @cache
    def value(spent, loss):
        best = max(0.0, -math.expm1(epsilon - loss / 8))
        for place, size in enumerate(grid):
            after = tuple(n + (i == place) for i, n in enumerate(spent))
            if fits(after):
                up = 1 / (1 + math.exp(-size / 8))
                best = max(best, up * value(after, loss + size) + (1 - up) * value(after, loss - size))
        return best

    return value((0,) * len(grid), 0)


@deep
@pytest.mark.parametrize(
    ("epsilon", "delta", "sizes"),
    [("3/2", "1/10", ("1/2", "3/8", "1/8")), ("2", "1/5", ("3/4", "3/8")), ("3", "1/20", ("1", "1/2"))],
)
def test_no_adversary_gains_more_than_the_budget(epsilon, delta, sizes):
    epsilon, delta, sizes = Fraction(epsilon), Fraction(delta), [Fraction(size) for size in sizes]
    cost = [KIND.of_event(Pure(epsilon=size)) for size in sizes]

    def total(counts):
        return tuple(sum(n * one[i] for n, one in zip(counts, cost, strict=True)) for i in range(3))

    fits = cache(lambda counts: KIND.fits(total(counts), epsilon, delta))
    assert worst(fits, float(epsilon), sizes) <= delta
    # the twin that must be caught: three budgets side by side, of which a charge takes any that has room
    assert worst(lambda counts: fits(tuple(-(-n // 3) for n in counts)), float(epsilon), sizes) > delta


@pytest.mark.parametrize(("as_plans", "rounds"), [(False, 76), (True, 81)])
def test_how_many_rounds_of_a_mixture_fit(as_plans, rounds):
    """Exact composition allows 93: .817 of it, and .871 where every round is charged as one plan."""
    kinds = [Gaussian(sigma=50), Laplace(scale=100), Pure(epsilon="1/100")]
    one = [sum(column) for column in zip(*map(KIND.of_event, kinds), strict=True)]
    if as_plans:
        one[0] = mu_squared([(kind, 1) for kind in kinds])
    assert KIND.fits(times(rounds, one), BUDGET, MILLIONTH)
    assert not KIND.fits(times(rounds + 1, one), BUDGET, MILLIONTH)
