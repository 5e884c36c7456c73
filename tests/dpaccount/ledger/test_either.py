"""Ledgers in `either` measure: three filters from the beginning, each with its δ; a charge needs one that fits."""

import math
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.accounting.composed import mu_squared
from dpaccount.accounting.measures import EITHER, LARGE, MEASURES, UNBOUNDED
from dpaccount.errors import InputError
from dpaccount.ledger import answers
from dpaccount.ledger.carried.heads import verify
from dpaccount.ledger.charging import RefusedError
from dpaccount.plan.events import (
    Approximate,
    Gaussian,
    Laplace,
    Plan,
    Pure,
    RandomizedResponse,
    Relation,
    Zcdp,
)

from .recount import recount

KIND = MEASURES["either"]
BUDGET, MILLIONTH = Fraction(1), Fraction(1, 10**6)
VALID = {"valid": True, "first_bad": None}

amounts = st.tuples(*[st.fractions(0, 3) | st.just(UNBOUNDED)] * 3)


def plan(*events):
    return Plan(Relation.REPLACE_ONE, events)


def times(count, one):
    return tuple(count * amount for amount in one)


@given(amounts, st.fractions("1/10", 3), st.fractions("1/1000", "1/3"))
def test_it_fits_where_one_of_three_does_at_its_share(total, epsilon, delta):
    shares = zip(EITHER, total, (delta / 2, delta / 2, Fraction(0)), strict=True)
    one_fits = any(MEASURES[name].fits((amount,), epsilon, share) for name, amount, share in shares)
    assert KIND.fits(total, epsilon, delta) is one_fits


@given(st.fractions(0, LARGE), st.fractions("1/1000000", "999999/1000000"))
def test_no_measure_fits_what_has_no_bound(epsilon, delta):
    for name in EITHER:
        assert not MEASURES[name].fits((UNBOUNDED,), epsilon, delta)


@given(amounts, amounts, st.fractions("1/10", 3))
def test_what_fits_fits_with_less(total, less, epsilon):
    smaller = tuple(map(min, total, less))
    if KIND.fits(total, epsilon, MILLIONTH):
        assert KIND.fits(smaller, epsilon, MILLIONTH)


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


def test_units_may_end_under_different_measures(make, url):
    """The largest amounts of all units together fit in no measure, and every unit fits in one."""
    ledger = make(1, MILLIONTH, "either")
    ledger.charge_plan(plan(Gaussian(sigma=5, cover=(1, 5))), "gdp alone")
    ledger.charge_plan(plan(Pure(epsilon=1, cover=(10, 12))), "pure alone")
    ledger.charge_plan(plan(Zcdp(rho=Fraction(1, 60), cover=(13, 40))), "zcdp alone")
    head = ledger.show()["head"]
    ledger.charge_plan(plan(RandomizedResponse(epsilon="1/10", k=3, cover=(100, 100))), "another unit")
    with pytest.raises(RefusedError, match="unit 11 "):
        ledger.charge_plan(plan(Pure(epsilon="1/1000", cover=(11, 500))), "one more")
    with pytest.raises(RefusedError, match="unit 3 "):
        ledger.charge_plan(plan(Gaussian(sigma=8, cover=(3, 3))), "one more")
    assert ledger.verify() == VALID
    assert verify(url, since=head) == VALID
    file = Path(url.removeprefix("sqlite:///"))
    found = recount(file)
    assert (found["counts"]["charge"], found["counts"]["refusal"]) == (4, 2)
    lines = file.with_suffix(".jsonl")
    lines.write_bytes(b"".join(answers.export(url)))
    answers.import_(lines, f"sqlite:///{file.with_suffix('.copy.db')}")


def test_a_measure_that_was_exceeded_stays_so(make):
    """ρ without a μ ends gdp for good: what is left is decided by zCDP, and pure is long gone."""
    ledger = make(1, MILLIONTH, "either")
    ledger.charge_plan(plan(Zcdp(rho=Fraction(1, 1000))), "no bound in gdp or pure")
    spent = ledger.show()["spent"]
    assert (spent["mu_squared"], spent["rho"], spent["pure"]) == (1e9, 0.001, 1e9)
    room = ledger.show()["remaining"]
    assert (room["mu_squared"], room["pure"]) == (0, 0)
    assert 0.02 < room["rho"] < 0.03
    with pytest.raises(RefusedError):
        ledger.charge_plan(plan(Pure(epsilon="1/3")), "fits pure or gdp alone")
    ledger.charge_plan(plan(Pure(epsilon="1/5")), "fits zcdp")


def test_what_no_measure_bounds_is_refused(make):
    ledger = make(1, MILLIONTH, "either")
    with pytest.raises(RefusedError, match="no bound in this ledger's measure, either"):
        ledger.charge_plan(plan(Approximate(epsilon="1/10", delta=MILLIONTH / 10)), "failure mass")


def test_it_is_shown(make, url):
    ledger = make(1, MILLIONTH, "either")
    ledger.charge_plan(plan(Gaussian(sigma=20)), "one")
    shown = answers.show(url)
    assert shown["budget"]["measure"] == "either"
    assert "each by itself" in shown["explained"]
    assert 0 < shown["spent"]["epsilon"]["upper"] < 1
    assert 0 < shown["remaining"]["epsilon"]["upper"] < 1
    assert shown["worst_unit"] is None
    [_, line] = answers.log(url)
    assert line["spends"] == {"mu_squared": 0.0025, "rho": 0.00125, "pure": 1e9}


@pytest.mark.parametrize("wrong", [{"epsilon": 10**7}, {"delta": 0}])
def test_budgets_without_sense_are_refused(url, wrong):
    given = {"epsilon": 1, "delta": MILLIONTH, "unit": "person", "relation": "replace-one", **wrong}
    with pytest.raises(InputError, match=r"either|delta 0"):
        answers.init(url, **given, measure="either")
