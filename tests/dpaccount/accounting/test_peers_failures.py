"""Failures seen in other accountants, each as a case that must hold here."""

from fractions import Fraction

import mpmath
import pytest

from dpaccount.accounting.accountant import Accountant
from dpaccount.errors import InputError
from dpaccount.plan.event_base import Event
from dpaccount.plan.events import (
    Exponential,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    Plan,
    PoissonSubsampled,
    Pure,
    Relation,
    Sequence,
)
from tests.depth import deep
from tests.looped import looped


def epsilon(event, delta, relation=Relation.REPLACE_ONE):
    return Accountant(Plan(relation, (event,))).epsilon(delta)


@deep
def test_2_pessimistic_means_pessimistic():
    found = epsilon(Pure(epsilon="0.01", count=5000), "1e-12")
    assert found.lower > Fraction("4.97889")
    assert found.upper < Fraction("4.97890")
    sampled = PoissonSubsampled(rate="0.029644", of=Gaussian(sigma="0.7117"), count=792)
    exact = epsilon(sampled, "1e-10", Relation.ADD_REMOVE)
    assert exact.lower > Fraction("18.710928")
    assert exact.upper < Fraction("18.710929")
    optimistic = exact.lower - Fraction("2.2e-4")  # about what was given: δ there is above the target
    both = Accountant(Plan(Relation.ADD_REMOVE, (sampled,))).delta(optimistic)
    assert Fraction("1.0003e-10") < both.lower <= both.upper < Fraction("1.0006e-10")


@looped("sigma", ["nan", "inf", float("nan"), "-1", 0])
def test_3_nor_in_python(sigma):
    with pytest.raises(InputError):
        Gaussian(sigma=sigma)


@looped("delta", ["0.9", "0.5", "1e-3"])
def test_4_no_bound_is_negative(delta):
    events = (
        Gaussian(sigma=50),
        Laplace(scale=50),
        Pure(epsilon="0.01", count=3),
        Exponential(epsilon="0.01"),
    )
    for event in events:
        found = epsilon(event, delta)
        assert 0 <= (found.lower or 0) <= found.upper
    assert epsilon(Gaussian(sigma=50), "0.9").upper == 0


@deep
@pytest.mark.parametrize(
    ("delta", "exact"), [("1e-30", "9.341895632705148574594"), ("1e-100", "29.59871159080581320100")]
)
def test_5_tiny_delta(delta, exact):
    sampled = PoissonSubsampled(rate="0.01", of=Gaussian(sigma=1), count=1000)
    found = epsilon(sampled, delta, Relation.ADD_REMOVE)
    assert found.lower <= Fraction(exact) <= found.upper <= found.lower * (1 + Fraction(1, 10**9))


def by_quadrature(rate, count, at, c=14, period=10):
    """δ(at) of so many samples of Gaussian noise, a unit removed: sums in 90 digits, nothing proved."""
    h, low, high = mpmath.mpf(1) / 16, -22, 45
    line = [low + k * h for k in range(int((high - low) / h) + 1)]
    logs = [mpmath.log1p(rate * mpmath.expm1(u - mpmath.mpf(1) / 2)) for u in line]
    here = [mpmath.exp((1 + c) * x - u * u / 2) * h for u, x in zip(line, logs, strict=True)]
    turns = [mpmath.expjpi(2 * x / period) for x in logs]
    total = mpmath.mpf(0)
    for k in range(180):
        s = mpmath.mpc(c, 2 * mpmath.pi * k / period)
        mean = mpmath.fsum(here) / mpmath.sqrt(2 * mpmath.pi)
        total += (mean**count / (s * (s + 1)) * mpmath.exp(-s * at)).real / (1 if k else 2)
        here = [x * turn for x, turn in zip(here, turns, strict=True)]
    return 2 * total / period


@deep
def test_5_tiny_delta_of_many_rare_samples():
    """One large loss among 10^8 makes M explode right of the line; it took [1.92, 5.43]."""
    sampled = PoissonSubsampled(rate="1e-5", of=Gaussian(sigma=1), count=10**8)
    found = epsilon(sampled, "1e-50", Relation.ADD_REMOVE)
    assert found.upper - found.lower <= Fraction(1, 10**12)
    with mpmath.workdps(90):
        at = mpmath.mpf(found.upper.numerator) / found.upper.denominator
        truth = by_quadrature(mpmath.mpf("1e-5"), 10**8, at) * mpmath.mpf(10) ** 50
        assert abs(truth - 1) < mpmath.mpf("1e-7")
    for delta in ("1e-100", "1e-300"):
        more = epsilon(sampled, delta, Relation.ADD_REMOVE)
        assert found.upper < more.lower <= more.upper <= more.lower * (1 + Fraction(1, 10**9))
        found = more


@deep
def test_6_small_budgets_are_tight():
    sampled = PoissonSubsampled(rate="1e-5", of=Gaussian(sigma=1), count=10**8)
    found = epsilon(sampled, "1e-5", Relation.ADD_REMOVE)
    assert found.lower <= Fraction("0.4576752680152216739194") <= found.upper < Fraction("0.457675269")
    wide = epsilon(Gaussian(sigma=10**6), "1e-10")
    assert wide.upper - wide.lower < wide.lower / 10**9


def test_7_extreme_noise_and_counts():
    assert epsilon(Gaussian(sigma="0.001"), "1e-5").lower > 504_000
    assert epsilon(Pure(epsilon="0.1", count=10**18), "1e-5").lower > 4 * 10**15


@deep
def test_8_one_sample_is_amplified_once():
    """Several releases on one sample are one event inside the sampling, and cost more than fresh samples."""
    rate, inner = "0.1", Gaussian(sigma=2)
    shared = PoissonSubsampled(rate=rate, of=Sequence(of=(inner,) * 4))
    fresh = PoissonSubsampled(rate=rate, of=inner, count=4)
    assert (
        epsilon(shared, "1e-6", Relation.ADD_REMOVE).lower > epsilon(fresh, "1e-6", Relation.ADD_REMOVE).upper
    )


@deep
def test_8_a_noisy_maximum_is_not_charged_as_bounded_range():
    """ρ of an ε-DP selection is ε²/8 for the exponential mechanism only: four times that for others."""
    assert Event.zcdp(Exponential(epsilon=1)) == Fraction(1, 8)
    assert Event.zcdp(PermuteAndFlip(epsilon=1)) == Event.zcdp(Pure(epsilon=1)) == Fraction(1, 2)
    flips = epsilon(PermuteAndFlip(epsilon=1, count=9), "1e-6")
    assert flips.lower is None
    assert flips.upper == epsilon(Laplace(scale=1, count=9), "1e-6").upper
    assert flips.upper > epsilon(Exponential(epsilon=1, count=9), "1e-6").upper
