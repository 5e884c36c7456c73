"""Kernel and accounting were written apart: kind by kind they say the same of one event.

`test_metamorphic` holds their δ(ε) together; here are the numbers that add, whole plans and groups.  In zCDP
the kernel says ε²/2 of ε-DP; the accounting says half the μ² of the release where that is less.
"""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpaccount.errors import RuleError
from dpaccount.numerics.closed.gaussian import mu_squared
from dpaccount.numerics.closed.toeplitz import squares
from dpaccount.plan import events as ev
from dpaccount.proof import (
    ADD_REMOVE,
    REPLACE_ONE,
    Gdp,
    Lattice,
    Pure,
    assume_ball,
    assume_clipped,
    assume_points,
    assume_range,
    assume_tree,
    compose,
    differences,
    exponential,
    factorised,
    finite,
    gaussian,
    group,
    laplace,
    lattice_gaussian,
    linear,
    nodes,
    permute_and_flip,
    to_gdp,
    to_pure,
    to_zcdp,
)
from tests.looped import looped

F = Fraction
QUARTER = F(1, 4)


def vector():
    return linear(assume_ball("q", F(1), ADD_REMOVE, "t"))


def one_number(high=1):
    return linear(assume_clipped("q", F(0), F(high), ADD_REMOVE, "t"))


def scores():
    return assume_range("q", F(1), ADD_REMOVE, "t")


def answer():
    """Truth of four answers with odds 1.284 < e^(1/4)."""
    table = [[F(1284 if i == j else 1000, 4284) for j in range(4)] for i in range(4)]
    return assume_points("q", [(i,) for i in range(4)], REPLACE_ONE, "t"), table


def stream():
    """The square root of the sums' matrix, rounded up to 2^-40: nine rounds."""
    row, c = [], F(1)
    for k in range(9):
        row.append(-(-c.numerator * 2**40 // c.denominator))
        c *= F(2 * k + 1, 2 * k + 2)
    return factorised(vector(), 9, [row], 40)


#: an event, and the same release by the kernel's rules under a key
KINDS = {
    "gaussian": (ev.Gaussian(sigma=3), lambda key: gaussian(vector(), F(9), key)),
    "discrete_gaussian": (
        ev.DiscreteGaussian(sigma=4),
        lambda key: lattice_gaussian(differences(assume_points("q", [(1,)], ADD_REMOVE, "t")), F(16), key),
    ),
    "laplace": (ev.Laplace(scale=4), lambda key: laplace(one_number(), F(4), None, key)),
    "discrete_laplace": (
        ev.DiscreteLaplace(scale=4, sensitivity=2),
        lambda key: laplace(one_number(2), F(4), F(1), key),
    ),
    "randomized_response": (
        ev.RandomizedResponse(epsilon=QUARTER, k=4),
        lambda key: finite(*answer(), QUARTER, key),
    ),
    "exponential": (ev.Exponential(epsilon=QUARTER), lambda key: exponential(scores(), QUARTER, key)),
    "bounded_range": (ev.BoundedRange(eta=QUARTER), lambda key: exponential(scores(), QUARTER, key)),
    "permute_and_flip": (
        ev.PermuteAndFlip(epsilon=QUARTER),
        lambda key: permute_and_flip(scores(), QUARTER, key),
    ),
    "tree": (
        ev.Tree(rounds=6, sigma=5),
        lambda key: nodes(gaussian(vector(), F(25), key), assume_tree("q", 6, "t")),
    ),
}


def least_rho(event, release):
    """Return the kernel's ρ of one release, or half the accounting's μ² where that is less."""
    rho = to_zcdp(release).conclusion.curve.rho
    if isinstance(release.conclusion.curve, Pure):  # ε-DP is μ-GDP: ρ ≤ μ²/2
        half = event.mu_squared() / 2
        assert release.rule != "finite" or 0 < half < rho
        return min(rho, half)
    return rho


@looped("name", KINDS)
def test_numbers_that_add_are_the_same(name):
    event, release = KINDS[name]
    part = release("k")
    assert event.zcdp() == least_rho(event, part)
    if isinstance(part.conclusion.curve, Gdp):
        assert event.mu_squared() == part.conclusion.curve.mu_squared
        assert event.pure() is None
    elif not isinstance(part.conclusion.curve, Lattice):
        whole = part if isinstance(part.conclusion.curve, Pure) else to_pure(part)
        assert event.pure() == whole.conclusion.curve.epsilon


@looped("name", KINDS)
def test_three_of_a_kind_cost_what_three_releases_cost(name):
    event, release = KINDS[name]
    together = compose(*(to_zcdp(release(key)) for key in "abc")).conclusion.curve.rho
    less = least_rho(event, release("k")) / to_zcdp(release("k")).conclusion.curve.rho
    assert replace(event, count=3).zcdp() == together * less


@looped("name", ["gaussian", "laplace", "discrete_laplace"])
def test_groups_are_the_same_factor(name):
    event, release = KINDS[name]
    many = event.for_group(3)
    assert many.zcdp() == least_rho(many, group(release("k"), 3))


def test_the_factorised_stream_has_the_longest_column_of_the_kernel():
    """The kernel's coefficients are rounded up to 2^-40; the accounting's sum of squares is exact."""
    event = ev.MatrixFactorisation(rounds=9, sigma=5)
    mine, theirs = gaussian(stream(), F(25), "k").conclusion.curve.mu_squared, squares(9)[1] / 25
    assert event.mu_squared() == theirs
    assert theirs <= mine <= theirs * (1 + F(1, 10**11))


def test_the_gdp_of_a_pure_statement_is_the_least_that_the_kernel_accepts():
    part = KINDS["laplace"][1]("k")
    least = mu_squared(QUARTER)
    assert to_gdp(part, least).conclusion.curve.mu_squared == least
    with pytest.raises(RuleError, match="too small"):
        to_gdp(part, least * (1 - F(1, 10**9)))
