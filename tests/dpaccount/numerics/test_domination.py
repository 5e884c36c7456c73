"""Gaussian pairs above whole curves, against curves of which it is known where they pass the Gaussian one.

A tangent of δ_μ that is lifted a little is above δ_μ near the point where it touched, and nowhere else.  The larger of
it and a Gaussian curve of a smaller μ is convex in e^ε as privacy curves are, and passes δ_μ in one place, which may
be anywhere and as narrow as one likes; with the tangent lowered it does so nowhere.
"""

from fractions import Fraction
from unittest import mock

import mpmath
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.numerics import domination
from dpaccount.numerics.closed import gaussian
from dpaccount.numerics.intervals import ball, ceil_of, floor_of, precision
from tests.depth import deep, examples
from tests.dpaccount.numerics.gaussian_curve import gaussian_delta, real

MU2 = [Fraction(1, 400), Fraction(1, 4), Fraction(1), Fraction(9)]
places = st.fractions(0, 1, max_denominator=1000)


def root(mu2):
    """Return μ of these μ²."""
    return Fraction(float(mu2) ** 0.5)


def touched(mu2, at, lift, *, share=Fraction(9, 10)):
    """Return the larger of a smaller Gaussian curve and a tangent of δ_μ at `at`, so much higher (or lower)."""
    smaller = share * mu2

    def curve(epsilon):
        with precision(200):
            mu = ball(mu2).sqrt()
            far = [((ball(at) / mu + side * mu / 2) / ball(2).sqrt()).erfc() / 2 for side in (-1, 1)]
            line = far[0] - ball(epsilon).exp() * far[1] + ball(lift)
        return max(ceil_of(line), ceil_of(gaussian.delta(epsilon, (smaller, smaller))), Fraction(0))

    return curve


@deep
@examples(60, 60)
@given(st.sampled_from(MU2), places, st.sampled_from([1, 2, 3, 4, 6]))
def test_it_is_seen_wherever_a_curve_passes_the_gaussian_one(mu2, where, digits):
    """At the end of the range, at its beginning, and by less than any cell could show."""
    end = 5 * root(mu2)
    at, height = where * end, floor_of(gaussian.delta(where * end, (mu2, mu2)))
    lift = height / 10**digits
    assert not domination.dominates(mu2, touched(mu2, at, lift), end)
    if digits <= 3:
        assert domination.dominates(mu2, touched(mu2, at, -lift), end)


def test_what_is_not_looked_at_is_not_proved():
    curve, end = touched(Fraction(1), Fraction(1), Fraction(-1, 100)), Fraction(5)
    assert domination.dominates(Fraction(1), curve, end)
    with mock.patch.object(domination, "MOST_CELLS", 20):  # of as many quarters
        assert not domination.dominates(Fraction(1), curve, end)


@deep
@examples(40, 40)
@given(st.sampled_from(MU2), places, places)
def test_a_line_that_stands_for_the_gaussian_curve_is_nowhere_above_it(mu2, where, touching):
    end = 8 * root(mu2)
    epsilon, m = where * end, touching * end
    with precision(domination.BITS):
        here, there = domination._beyond(ball(mu2).sqrt(), m)
        line, touch = (floor_of(here - ball(at).exp() * there) for at in (epsilon, m))
    with mpmath.workdps(60):
        mu = mpmath.sqrt(real(mu2))
        assert real(line) <= gaussian_delta(mu, real(epsilon))
        assert abs(real(touch) - gaussian_delta(mu, real(m))) < mpmath.mpf(10) ** -50


@deep
@examples(5, 5)
@given(st.sampled_from(MU2), places, st.sampled_from([1, 2, 3]))
def test_the_least_that_is_found_dominates_and_is_hardly_more(mu2, where, digits):
    """A curve that is dominated by μ and touches it but for a lift: between the two Gaussian ones of which it is made."""
    end = 5 * root(mu2)
    height = floor_of(gaussian.delta(where * end, (mu2, mu2)))
    curve = touched(mu2, where * end, -height / 10**digits)
    found = domination.least(curve, end, 2 * mu2)
    assert Fraction(9, 10) * mu2 <= found <= mu2 * Fraction(102, 100)
    with mpmath.workdps(60):
        mu = mpmath.sqrt(real(found))
        for step in range(41):
            assert real(curve(end * Fraction(step, 41))) <= gaussian_delta(
                mu, real(end * Fraction(step, 41))
            ) * (1 + mpmath.mpf(10) ** -30)


@examples(40)
@given(st.sampled_from(MU2), places, st.sets(places, max_size=12))
def test_cells_between_any_known_points_prove_no_more(mu2, where, known):
    """Wherever cells begin and end, all between 0 and the end is looked at."""
    end = 5 * root(mu2)
    at = where * end
    lift = floor_of(gaussian.delta(at, (mu2, mu2))) / 100
    points = {each * end for each in known}
    assert not domination.dominates(mu2, touched(mu2, at, lift), end, points)
    assert domination.dominates(mu2, touched(mu2, at, -lift), end, points)
