"""Filter measures: exact amounts, certified decisions."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount import proof
from dpaccount.accounting.measures import MEASURES
from dpaccount.errors import InputError
from dpaccount.ledger.balances.budget import measure
from dpaccount.ledger.requests import rounded_up
from dpaccount.plan import events
from dpaccount.proof import gdp_delta
from tests.looped import looped

GDP, PURE, APPROXIMATE, ZCDP = (measure(name) for name in ("gdp", "pure", "approximate", "zcdp"))
MILLIONTH = Fraction(1, 10**6)
ALL = set(MEASURES)


def test_unknown_measures_are_refused():
    for name in ("rdp", "renyi", ""):
        with pytest.raises(InputError, match="; "):
            measure(name)


@looped(
    ("curve", "able"),
    [
        (proof.Pure(Fraction(1)), ALL),
        (proof.Approximate(Fraction(1), Fraction(0)), ALL),
        (proof.Approximate(Fraction(1), MILLIONTH), {"approximate", "approximate-zcdp"}),
        (proof.Gdp(Fraction(1)), {"gdp", "zcdp", "approximate-zcdp", "either"}),
        (proof.NearGdp(Fraction(1), MILLIONTH), {"approximate-zcdp"}),
        (proof.Zcdp(Fraction(1)), {"zcdp", "approximate-zcdp", "either"}),
        (proof.BoundedRange(Fraction(1)), ALL),
        (proof.Lattice(Fraction(4), ((2,), (1, 1)), 3), {"zcdp", "approximate-zcdp", "either"}),
    ],
)
def test_which_measure_takes_a_curve(curve, able):
    assert {name for name, kind in MEASURES.items() if kind.of_curve(curve) is not None} == able


def test_a_point_with_delta_never_becomes_gaussian():
    assert GDP.of_curve(proof.Approximate(Fraction(1), Fraction(1, 10**300))) is None
    assert GDP.of_event(events.Approximate(epsilon=1, delta="1e-300")) is None
    assert GDP.of_event(events.Zcdp(rho=1)) is None


def test_amounts_of_curves():
    assert ZCDP.of_curve(proof.Gdp(Fraction(3))) == (Fraction(3, 2),)
    assert ZCDP.of_curve(proof.Pure(Fraction(3))) == (Fraction(9, 2),)
    assert ZCDP.of_curve(proof.Lattice(Fraction(4), ((2,), (1, 1)), 3)) == (Fraction(3, 2),)
    assert APPROXIMATE.of_curve(proof.Pure(Fraction(3))) == (Fraction(3), Fraction(0))


def test_amounts_of_events():
    two = events.Sequence(
        of=(events.Approximate(epsilon=1, delta=MILLIONTH, count=2), events.Pure(epsilon=2)), count=3
    )
    assert APPROXIMATE.of_event(two) == (Fraction(12), 6 * MILLIONTH)
    assert APPROXIMATE.of_event(events.Sequence(of=(two, events.Gaussian(sigma=1)))) is None
    assert PURE.of_event(events.Laplace(scale=4, count=3)) == (Fraction(3, 4),)
    assert GDP.of_event(events.Gaussian(sigma=4, count=3)) == (Fraction(3, 16),)


@given(st.fractions(Fraction(1, 10**6), 30))
def test_pure_enters_gaussian_by_the_least_mu_rounded_up(epsilon):
    [mu_squared] = GDP.of_curve(proof.Pure(epsilon))
    mu = math.sqrt(mu_squared)
    # Φ(−μ/2) = 1/(1 + e^ε) to within doubles
    assert math.erfc(mu / 2 / math.sqrt(2)) / 2 == pytest.approx(1 / (1 + math.exp(epsilon)), rel=1e-9)


def test_huge_charges_are_decided_quickly():
    for size in (Fraction(10) ** 300, Fraction(10) ** 5000):
        [mu_squared] = GDP.of_curve(proof.Pure(size))
        assert mu_squared == 8 * size
        for kind in (GDP, ZCDP):
            assert not kind.fits((mu_squared,), Fraction(1), MILLIONTH)
            assert kind.enclosure((mu_squared,), MILLIONTH).upper > 1


@given(st.sampled_from([GDP, ZCDP]), st.fractions(0, 10), st.integers(1, 300))
def test_room_fits_and_little_more_does_not(kind, epsilon, exponent):
    delta = Fraction(1, 10**exponent)
    spent = (Fraction(0),)
    for _ in range(2):  # of nothing, and of a half-spent budget
        [more] = kind.room(spent, epsilon, delta)
        assert kind.fits((spent[0] + more,), epsilon, delta)
        assert not kind.fits((spent[0] + more * (1 + Fraction(1, 10**9)),), epsilon, delta)
        spent = (more / 2,)


def test_gaussian_decisions_are_the_exact_curve():
    for mu_squared in (Fraction(1, 20), Fraction(1, 17)):
        exact = gdp_delta(mu_squared, Fraction(1))
        assert GDP.fits((mu_squared,), Fraction(1), MILLIONTH) == bool(exact < 1e-6)


def test_zcdp_is_the_published_conversion():
    # ρ = .024356 is what (1, 10⁻⁶) allows at the best order
    assert ZCDP.fits((Fraction("0.024355"),), Fraction(1), MILLIONTH)
    assert not ZCDP.fits((Fraction("0.024357"),), Fraction(1), MILLIONTH)
    bound = ZCDP.enclosure((Fraction("0.024355"),), MILLIONTH)
    assert bound.lower is None
    assert 0.9999 < bound.upper < 1


def test_plain_sums_are_exact():
    tenth = Fraction(1, 10)
    assert PURE.fits((10 * tenth,), Fraction(1), Fraction(0))
    assert not PURE.fits((10 * tenth + Fraction(1, 10**300),), Fraction(1), Fraction(0))
    assert not APPROXIMATE.fits((tenth, 2 * MILLIONTH), Fraction(1), MILLIONTH)
    assert APPROXIMATE.room((tenth, MILLIONTH / 4), Fraction(1), MILLIONTH) == (
        Fraction(9, 10),
        MILLIONTH * 3 / 4,
    )


@given(st.fractions(0, 10**6))
def test_shortening_never_lowers_and_hardly_raises(amount):
    after = rounded_up(amount)
    assert amount <= after <= amount * (1 + Fraction(1, 2**100))


def test_simple_fractions_stay_exact():
    for amount in (Fraction(1, 10), Fraction(1, 3), Fraction(9, 800), Fraction("1e-300"), Fraction(10**200)):
        assert rounded_up(amount) == amount


@looped("amount", [Fraction(1, 7**5000), Fraction("1e-5000"), Fraction(10**5000, 7**3000)])
def test_shortened_amounts_can_be_written(amount):
    after = rounded_up(amount)
    assert after >= amount
    assert after.denominator.bit_length() <= 2049


def test_how_many_exponential_mechanisms_fit_a_gaussian_budget():
    """At (1, 1e-6): 57 of ε = .05, where 14 fitted as pure ones and 89 fit if all are fixed beforehand."""
    once = events.Exponential(epsilon="0.05").mu_squared()
    assert once is not None
    assert GDP.fits((57 * once,), Fraction(1), MILLIONTH)
    assert not GDP.fits((58 * once,), Fraction(1), MILLIONTH)
