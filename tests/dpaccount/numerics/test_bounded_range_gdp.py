"""Bounded range is Gaussian DP of pure η/2: each step of the proof, and pairs and mechanisms that could refute it."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.numerics.closed.gaussian import mu_squared
from dpaccount.plan import events
from tests.depth import deep, examples
from tests.dpaccount.numerics.gaussian_curve import gaussian_delta, real

ETAS = ["1/1000", "1/20", "1", "3", "8", "40"]


def quantile(p):
    """Return Φ⁻¹(p)."""
    return -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * p)


def two_points(eta, t):
    """Return the chance of loss t under either side, where the other loss is t − η."""
    q = (1 - mpmath.exp(t - eta)) / (mpmath.exp(t) - mpmath.exp(t - eta))
    return mpmath.exp(t) * q, q


@deep
@pytest.mark.parametrize("eta", ETAS)
def test_no_two_point_pair_needs_more_and_one_needs_as_much(eta):
    """The least μ of each pair, by the corner of its trade-off function."""
    with mpmath.workdps(60):
        number = real(eta)
        bound = mpmath.sqrt(real(events.BoundedRange(eta=eta).mu_squared()))
        needed = []
        for step in range(1, 200):
            p, q = two_points(number, number * step / 200)
            needed.append(quantile(p) - quantile(q))
        assert max(needed) <= bound
        assert needed.index(max(needed)) == 99  # the middle, t = η/2
        assert bound <= max(needed) * (1 + mpmath.mpf(10) ** -9)


@deep
@pytest.mark.parametrize("eta", ["1/20", "1", "3"])
def test_the_curve_of_every_pair_lies_below_the_gaussian_one_in_both_directions(eta):
    """A second derivation: hockey-stick divergences at ε of both signs, nothing of trade-off functions."""
    with mpmath.workdps(40):
        number = real(eta)
        mu = mpmath.sqrt(real(events.BoundedRange(eta=eta).mu_squared()))
        for place in range(1, 40):
            p, q = two_points(number, number * place / 40)
            for step in range(-20, 21):
                epsilon = number * step / 18
                for a, b in ((p, q), (q, p)):
                    divergence = sum(max(x - mpmath.exp(epsilon) * y, 0) for x, y in ((a, b), (1 - a, 1 - b)))
                    assert divergence <= gaussian_delta(mu, epsilon) + mpmath.mpf(10) ** -30


def test_a_smaller_mu_is_refuted():
    """The twin: a millionth less, and the pair in the middle shows it at ε = 0."""
    with mpmath.workdps(40):
        p, q = two_points(mpmath.mpf(1), mpmath.mpf(1) / 2)
        mu = mpmath.sqrt(real(events.BoundedRange(eta=1).mu_squared()))
        assert p - q <= gaussian_delta(mu, mpmath.mpf(0))
        assert p - q > gaussian_delta(mu * (1 - mpmath.mpf(10) ** -6), mpmath.mpf(0))


@deep
def test_the_step_of_the_proof_that_is_calculus():
    """D(z) = 2uφ + zu² − z/4 with u = Φ − ½: nowhere below zero; its slope changes sign once."""
    with mpmath.workdps(60):
        signs = []
        for step in range(1, 800):
            z = mpmath.mpf(step) / 80
            u, density = mpmath.ncdf(z) - mpmath.mpf(1) / 2, mpmath.npdf(z)
            assert 2 * u * density + z * u * u - z / 4 > 0
            signs.append(2 * density**2 + u * u - mpmath.mpf(1) / 4 > 0)
        assert signs == sorted(signs, reverse=True)
        assert signs[0]
        assert not signs[-1]


@deep
@examples(60, 60)
@given(
    rates=st.lists(st.floats(-1, 1), min_size=2, max_size=6),
    moves=st.lists(st.floats(0, 1), min_size=6, max_size=6),
    eta=st.sampled_from([0.05, 1.0, 4.0]),
)
def test_exponential_mechanisms_lie_below_it(rates, moves, eta):
    """Scores that move by at most 1 in range, exactly evaluated: their curve against the Gaussian one."""
    scores = np.array(rates)
    one, other = np.exp(eta * scores), np.exp(eta * (scores + np.array(moves[: len(rates)])))
    p, q = one / one.sum(), other / other.sum()
    assert np.ptp(np.log(p / q)) <= eta * (1 + 1e-9)
    mu = float(events.Exponential(epsilon=str(eta)).mu_squared()) ** 0.5
    for epsilon in np.linspace(-eta, eta, 21):
        for a, b in ((p, q), (q, p)):
            assert np.maximum(a - np.exp(epsilon) * b, 0).sum() <= float(gaussian_delta(mu, epsilon)) + 1e-12


def test_it_costs_about_a_quarter():
    for eta, factor in (("1/20", 4.0), ("1", 3.9), ("3", 3.4)):
        dear = mu_squared(events.Pure(epsilon=eta).epsilon)
        assert float(dear / events.BoundedRange(eta=eta).mu_squared()) == pytest.approx(factor, abs=0.06)
