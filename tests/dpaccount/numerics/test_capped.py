"""Lattices of what may stay below ε: beside quadrature, Fourier inversion, and what must fall or rise."""

import math
import random
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest

from dpaccount.accounting import account
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.methods import exact
from dpaccount.accounting.methods.answer import DeltaAt, EpsilonAt
from dpaccount.numerics.fourier import fourier
from dpaccount.numerics.intervals import ceil_of, floor_of, precision
from dpaccount.numerics.lattice.capped import Capped
from dpaccount.numerics.work_budget import SECOND, OutOfReach, limited
from dpaccount.pairs.of_events import composition_of
from dpaccount.plan.events import Gaussian, Laplace, Plan, PoissonSubsampled
from tests.depth import deep
from tests.looped import looped

GAP = Fraction(1, 10**6)


def sample(rate, sigma, count=1):
    return PoissonSubsampled(rate=rate, of=Gaussian(sigma=sigma), count=count)


def total_of(*events):
    return composition_of([(event, 1) for event in events])


def random_events(rng):
    rates, sigmas = ("0.0003", "0.001", "0.01", "0.05", "0.3"), ("0.6", "0.9", "1.3", "3")
    kinds = rng.randint(1, 3)
    return [sample(rng.choice(rates), rng.choice(sigmas), rng.randint(1, 4)) for _ in range(kinds)]


def by_quadrature(parts, epsilon, *, added):
    """δ(ε) of one or two (q, σ), in mpmath: the curve of the last one under the law of the first."""
    mpmath.mp.dps = 60  # as in every test that sets it: one process runs them all

    def curve(q, sigma, t):
        y = mpmath.exp(t) - 1 + q
        if y <= 0:
            return 1 - mpmath.exp(t)
        u = sigma * mpmath.log(y / q) + 1 / (2 * sigma)
        return q * mpmath.ncdf(1 / sigma - u) - y * mpmath.ncdf(-u)

    def put(t):
        """E(e^{t−T} − 1)₊ of removing."""
        if len(parts) == 1:
            return curve(*parts[0], t) - 1 + mpmath.exp(t)
        (q, sigma), last = parts

        def inside(u):
            z = 1 - q + q * mpmath.exp(u / sigma - 1 / (2 * sigma**2))
            left = t - mpmath.log(z)
            return mpmath.npdf(u) * z * (curve(*last, left) - 1 + mpmath.exp(left))

        edge = mpmath.exp(t) / (1 - last[0]) - 1 + q
        top = sigma * mpmath.log(edge / q) + 1 / (2 * sigma) if edge > 0 else -mpmath.mpf(14)
        return mpmath.quad(inside, [*(k for k in range(-14, math.floor(top) + 1)), top])

    e = mpmath.exp(epsilon)
    return e * put(-epsilon) if added else 1 - e + put(epsilon)


def assert_quadrature_agrees(rows, *, added):
    total = total_of(*(sample(*row) for row in rows))
    way = total.reversed() if added else total
    most = sum(-math.log1p(-float(q)) for q, _ in rows)
    at = Fraction(most / 3 if added else 3 * most)
    found = exact.by_capped(way, DeltaAt(at, GAP), math.inf)
    parts = [tuple(map(mpmath.mpf, row)) for row in rows]
    value = Fraction(str(by_quadrature(parts, mpmath.mpf(at.numerator) / at.denominator, added=added)))
    close = Fraction(1, 10**10)
    assert found.lower <= value * (1 + close)
    assert value * (1 - close) <= found.upper
    assert found.upper <= (1 + 2 * GAP) * found.lower


@pytest.mark.parametrize("added", [False, True])
def test_one_step_is_what_its_curve_says(added):
    assert_quadrature_agrees([("0.01", "1")], added=added)


@deep
@looped("rows", [[("0.001", "0.7")] * 2, [("0.001", "0.7"), ("0.002", "0.8")], [("0.1", "1.5")] * 2])
@pytest.mark.parametrize("added", [False, True])
def test_two_steps_are_what_quadrature_finds(rows, added):
    assert_quadrature_agrees(rows, added=added)


@deep
@looped("seed", range(12))
def test_they_agree_with_fourier_inversion(seed, depth):
    rng = random.Random(depth.seed(seed))
    total = total_of(*random_events(rng))
    for way in total.directions:
        at = Fraction(rng.randint(1, 99), 100)
        if way.ceiling() is not None:
            at *= floor_of(way.ceiling())
        coarse, found = Fraction(1, 1000), None
        with suppress(OutOfReach), limited(SECOND / 4):
            found = fourier.delta(way.transform(), at, coarse, 5.0)
        low, high = found or (Fraction(0), Fraction(1))
        bounds = exact.by_capped(way, DeltaAt(at, coarse), SECOND)
        if bounds is not None:
            assert max(low, bounds.lower) <= min(high, bounds.upper)
            epsilon = exact.by_capped(way, EpsilonAt(bounds.upper, coarse), SECOND)
            assert epsilon is None or epsilon.lower <= at


@looped("seed", range(4))
def test_a_coarse_lattice_and_a_far_cap_hold_the_same_curve(seed):
    rng = random.Random(seed)
    total = total_of(*random_events(rng))
    parts, mirrored = exact._bounded_below(total)
    assert not mirrored
    origin = sum(n * low for _, n, low in parts)
    cap = Fraction(rng.randint(5, 80), 100)
    made = [
        Capped(parts, (more * cap - origin) / nodes, more * cap, -40.0, mirrored=False)
        for more, nodes in ((1, 40), (1, 200), (2, 300), (5, 150))
    ]
    for at in (Fraction(0), cap / 7, cap):
        curves = [one.curve(at) for one in made]
        assert max(map(floor_of, curves)) <= min(map(ceil_of, curves))


def test_what_roundings_add_is_counted():
    parts, _ = exact._bounded_below(total_of(sample("0.01", "1", 3)))
    made = Capped(parts, Fraction(1, 500), Fraction(1, 2), -30.0, mirrored=False)
    fine = Capped(parts, Fraction(1, 500), Fraction(1, 2), -90.0, mirrored=False)
    assert made.added > 0
    for at in (Fraction(0), Fraction(1, 10), Fraction(1, 2)):
        with precision(256):
            above = made.highest(at) - fine.highest(at)
            assert above >= 0
            assert above * (1 << made.made.grid.bits) <= made.added


def bounds(*events):
    return Accountant(Plan("add-remove", list(events))).epsilon("1e-6", Fraction(1, 10**3))


@pytest.mark.parametrize(
    "rising",
    [
        [[sample(q, "0.8", 3)] for q in ("0.0001", "0.001", "0.01")],
        [[sample("0.002", sigma, 3)] for sigma in ("2", "1", "0.8", "0.6")],
        [[sample("0.002", "0.8", count)] for count in (1, 2, 5, 9)],
        [[sample("0.002", "0.8")], [sample("0.002", "0.8"), sample("0.01", "0.9")]],
    ],
)
def test_more_costs_more(rising):
    found = [bounds(*events) for events in rising]
    assert all(a.upper < b.lower for a, b in pairwise(found))


def test_they_answer_for_few_steps_closely():
    for events in ([sample("0.001", "0.7", 2)], [sample("0.001", "0.7"), sample("0.002", "0.8")]):
        answer = account.epsilon(total_of(*events), Fraction(1, 10**5), GAP)
        assert answer.method == "capped lattice"
        assert answer.bounds.upper - answer.bounds.lower <= GAP


def test_they_are_not_asked_where_losses_have_no_least_one():
    assert exact.few_at_a_time(total_of(sample("0.01", "1", 5)))
    assert not exact.few_at_a_time(total_of(sample("0.01", "1", 5), Gaussian(sigma=3)))
    assert not exact.few_at_a_time(total_of(sample("0.01", "1", 5000)))
    laplace = PoissonSubsampled(rate="0.01", of=Laplace(scale=1), count=2)  # each height takes long
    assert not exact.few_at_a_time(total_of(sample("0.01", "1"), laplace))


def test_too_wide_a_range_is_out_of_reach():
    parts, _ = exact._bounded_below(total_of(sample("0.01", "0.02", 2)))
    with pytest.raises(OutOfReach):
        Capped(parts, Fraction(1), Fraction(800), -30.0, mirrored=False)
