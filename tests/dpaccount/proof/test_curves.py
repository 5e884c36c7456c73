"""Certified curves against independent arithmetic (mpmath), and against brute force on the lattice."""

import math
from fractions import Fraction

import mpmath
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.errors import RuleError
from dpaccount.numerics.closed.renyi import log_delta
from dpaccount.numerics.curves import (
    at_most,
    compare,
    delta_ball,
    lattice_delta,
    pure_delta,
    range_delta,
)
from dpaccount.numerics.intervals import ball
from dpaccount.proof import Gdp, Lattice, NearGdp, Pure
from dpaccount.proof.search import least_epsilon
from tests.looped import looped

F = Fraction


def contains(value: arb, number: mpmath.mpf) -> bool:
    with ctx.workprec(400):
        return bool(
            value.contains(arb(str(mpmath.nstr(number, 60))))
            or abs(value - arb(mpmath.nstr(number, 60))) < arb("1e-40")
        )


@given(
    st.fractions(min_value=Fraction(1, 100), max_value=20, max_denominator=100),
    st.fractions(min_value=0, max_value=10, max_denominator=100),
)
def test_the_gaussian_curve_is_enclosed(mu, epsilon):
    with mpmath.workdps(120):
        m, e = (mpmath.mpf(v.numerator) / v.denominator for v in (mu, epsilon))
        exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        assert contains(delta_ball(Gdp(mu**2), epsilon, 200), exact)


def test_known_epsilon_of_one_gaussian():
    delta, low, high = Fraction("1e-5"), Fraction("4.377178095681224"), Fraction("4.377178095681225")
    assert compare(lambda bits: delta_ball(Gdp(Fraction(1)), high, bits), delta) is True
    assert compare(lambda bits: delta_ball(Gdp(Fraction(1)), low, bits), delta) is False


def test_pure_delta_is_randomised_response():
    with ctx.workprec(100):
        enclosed = pure_delta(Fraction(1), Fraction(1, 2))
    assert abs(float(enclosed.mid()) - (math.e - math.exp(0.5)) / (1 + math.e)) < 1e-15
    assert pure_delta(Fraction(1), Fraction(1)) == 0


@looped(("eta", "epsilon"), [(F(1), F(0)), (F(1), F(1, 2)), (F(3), F(2)), (F(3), F(3))])
def test_range_delta_is_the_largest_of_the_laws_of_two_losses(eta, epsilon):
    """Of losses t and t − η, over all t."""

    def cost(t):
        p = math.expm1(eta - t) / math.expm1(eta) * math.exp(t)
        return max(0, p * -math.expm1(epsilon - t)) + max(0, (1 - p) * -math.expm1(epsilon + eta - t))

    with ctx.workprec(100):
        enclosed = float(range_delta(eta, epsilon).mid())
    assert abs(enclosed - max(cost(k * float(eta) / 1000) for k in range(1001))) < 1e-6


@given(st.integers(1, 40), st.integers(2, 60))
def test_zcdp_conversion_is_never_below_the_gaussian_truth(tenths, order):
    rho, epsilon = Fraction(tenths, 10), Fraction(tenths, 10) * 3
    with ctx.workprec(100):
        exact = delta_ball(Gdp(2 * rho), epsilon, 100)  # a Gaussian with this ρ
        a = Fraction(order, 2) + 1
        bound = log_delta(a, ball(a * rho), epsilon).exp()
        assert bool(exact <= bound)


def brute_force(variance: float, shift: tuple[int, ...], count: int, epsilon: float) -> mpmath.mpf:
    """δ(ε) of `count` products by summing over all outcomes: one coordinate per (shift entry, release)."""
    reach = 9 * math.isqrt(int(variance)) + 12
    weight = {x: mpmath.exp(-mpmath.mpf(x * x) / (2 * variance)) for x in range(-reach, reach + 1)}
    norm = mpmath.fsum(weight.values())
    losses = {mpmath.mpf(0): mpmath.mpf(1)}
    for s in shift * count:
        new: dict[mpmath.mpf, mpmath.mpf] = {}
        for loss, mass in losses.items():
            for x, w in weight.items():
                key = loss + (s * s - 2 * s * x)  # in units of 1/(2σ²)
                new[key] = new.get(key, mpmath.mpf(0)) + mass * w / norm
        losses = new
    total = mpmath.mpf(0)
    for key, mass in losses.items():
        loss = key / (2 * mpmath.mpf(variance))
        if loss > epsilon:
            total += mass * (1 - mpmath.exp(epsilon - loss))
    return total


@looped(
    ("variance", "shift", "count", "epsilon"),
    [
        (1, (1,), 1, "0.3"),
        (2, (2,), 1, "1"),
        (3, (1, 1), 1, "0.5"),
        (2, (1,), 3, "0"),
        (4, (2, 1), 2, "1.25"),
    ],
)
def test_lattice_delta_encloses_brute_force(variance, shift, count, epsilon):
    with mpmath.workdps(50):
        exact = brute_force(variance, shift, count, mpmath.mpf(epsilon))
        with ctx.workprec(100):
            enclosed = lattice_delta(Fraction(variance), shift, count, Fraction(epsilon), 100)
        assert abs(float(enclosed.mid()) - float(exact)) < 1e-12 * float(exact) + 1e-25
        assert float(enclosed.rad()) < 1e-15


@pytest.mark.parametrize("epsilon", [500, 10**6])
def test_lattice_delta_is_small_where_the_exponential_is_longer_than_the_precision(epsilon):
    enclosed = lattice_delta(Fraction(9), (1, 1), 2, Fraction(epsilon), 64)
    assert enclosed.contains(0)
    assert enclosed < 1e-12


def test_lattice_precision_covers_what_is_cut_off():
    """At few bits the floors and tails matter: the ball must still hold the truth."""
    with ctx.workprec(300):
        exact = lattice_delta(Fraction(9), (2,), 4, Fraction(1), 300)
    for bits in (2, 4, 8, 16):
        with ctx.workprec(bits):
            rough = lattice_delta(Fraction(9), (2,), 4, Fraction(1), bits)
        with ctx.workprec(300):
            assert rough.overlaps(exact)
            assert rough.contains(exact.mid())


def test_mainjob_noise_scales():
    """16.9 and 8.46 suffice at (1, 1e-6); the least scales of the exact lattice curve are just below."""
    moves = ((), (1,), (1, 1), (2,))
    one = Fraction(1)

    def enough(sigma: str, count: int) -> bool:
        curve = Lattice(Fraction(sigma) ** 2, moves, count)
        return at_most(lambda bits: delta_ball(curve, one, bits), Fraction(1, 10**6))

    assert enough("16.9", 4)
    assert enough("8.46", 1)
    assert enough("16.898766", 4)
    assert not enough("16.898764", 4)
    assert enough("8.452249", 1)
    assert not enough("8.452247", 1)


def test_smaller_shifts_cost_less_than_the_largest():
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3)):
        with ctx.workprec(128):
            large = lattice_delta(Fraction("16.9") ** 2, (2,), 4, epsilon, 128)
            diagonal = lattice_delta(Fraction("16.9") ** 2, (1, 1), 4, epsilon, 128)
            small = lattice_delta(Fraction("16.9") ** 2, (1,), 4, epsilon, 128)
        assert bool(diagonal <= ball(Fraction(71, 100)) * large)
        assert bool(small <= ball(Fraction(51, 100)) * large)


def test_what_cannot_be_decided_is_refused():
    assert compare(lambda _: arb("nan"), Fraction(1)) is None
    assert compare(lambda _: arb(1, 1), Fraction(1)) is None
    assert not at_most(lambda _: arb("nan"), Fraction(10))


@looped("curve", [Gdp(Fraction(0)), Pure(Fraction(0)), Lattice(Fraction(1), ((),), 5)])
def test_nothing_moves_costs_nothing(curve):
    assert at_most(lambda bits: delta_ball(curve, Fraction(0), bits), Fraction(0))


@pytest.mark.parametrize(("distance", "delta"), [(F(1, 10**15), F(1, 10**5)), (F(1, 10**11), F(1, 10**3))])
def test_the_least_epsilon_of_a_near_curve_lies_between_its_fall_and_its_rise(distance, delta):
    """δ(ε) falls with the Gaussian part and rises with e^ε·distance; no power of two need lie between."""
    for square in (F(4), F(9), F(625, 64)):
        far = least_epsilon(Gdp(square), delta)[1]
        least = least_epsilon(NearGdp(square, distance), delta)[1]
        assert far <= least <= far + F(1, 5)
        assert least_epsilon(NearGdp(square, F(0)), delta)[1] == far
    with pytest.raises(RuleError, match="no ε up to"):
        least_epsilon(NearGdp(F(100), F(1, 10**6)), F(1, 10**5))
