"""A lower end is printed only where noise attains the curve; there it holds by enumeration."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.subjects.catalogue import entries, make
from dpaccount.checker import Rejected
from dpaccount.checker.certificate.verdict import ATTAINED, check_lower
from dpaccount.errors import RuleError
from dpaccount.noise.proved import Proved
from dpaccount.proof import (
    REPLACE_ONE,
    assume_ball,
    assume_clipped,
    assume_covers,
    assume_points,
    assume_rank_one,
    assume_view,
    compose,
    differences,
    gaussian,
    laplace,
    lattice_gaussian,
    linear,
    nodes,
    parallel,
    post_process,
    to_approximate,
    to_gdp,
)
from dpaccount.proof.search import approximate, delta_upper, lower_end
from tests.depth import deep, examples
from tests.dpaccount.pairs.test_stand_ins import gaussian_delta

F = Fraction
DELTAS = st.sampled_from([F(1, 10), F(1, 1000), F(1, 10**6)])


BALL = assume_ball("q", F(1), REPLACE_ONE, "t")


def shown(theorem):
    return post_process(theorem, assume_view("it", "everyone", "replay"))


def confirmed(theorem, lower):
    """Say whether the checker takes a lower end."""
    try:
        check_lower(Proved(theorem).steps, lower)
    except Rejected:
        return False
    return True


@examples(25)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), DELTAS)
def test_gaussian_noise_attains_its_curve(radius, deviation, count, delta):
    """Two vectors at opposite ends of the ball, in `count` releases: the likelihood ratio is Gaussian."""
    moves = linear(assume_ball("q", F(radius), REPLACE_ONE, "t"))
    parts = [gaussian(moves, F(deviation) ** 2, f"k{n}") for n in range(count)]
    theorem = shown(approximate(compose(*parts), delta))
    lower, upper = lower_end(theorem), theorem.conclusion.curve.epsilon
    mu = 2 * radius / deviation * math.sqrt(count)
    assert gaussian_delta(mu, float(lower)) >= float(delta) * (1 - 1e-6)
    assert upper - lower <= F(1, 10**9)
    assert confirmed(theorem, lower)
    assert confirmed(theorem, lower / 2)
    assert not confirmed(theorem, upper + F(1, 10**9))
    assert confirmed(theorem, F(1)) == (lower >= 1)


@examples(15)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), DELTAS)
def test_lattice_noise_attains_its_curve(low, high, deviation, delta):
    """All outcomes of a sum that moves as far as its points allow."""
    points = [(-low,), (high,), (0,)]
    moves = differences(assume_points("q", points, REPLACE_ONE, "t"))
    theorem = shown(approximate(lattice_gaussian(moves, F(deviation) ** 2, "k"), delta))
    lower = lower_end(theorem)
    x = np.arange(-60, 61 + low + high)
    p, q = (np.exp(-((x - at) ** 2) / (2 * deviation**2)) for at in (0, low + high))
    p, q = p / p.sum(), q / q.sum()
    assert np.maximum(p - math.exp(lower) * q, 0).sum() >= float(delta) * (1 - 1e-6)
    assert confirmed(theorem, lower)
    assert not confirmed(theorem, theorem.conclusion.curve.epsilon + F(1, 10**6))


def laplaces(count, name="q"):
    moves = linear(assume_clipped(name, F(0), F(1), REPLACE_ONE, "t"))
    return [laplace(moves, F(1), None, f"{name}{n}") for n in range(count)]


def spread_over(units):
    moves = linear(assume_ball(f"q{units[0]}", F(1), REPLACE_ONE, "t"))
    leaf = gaussian(moves, F(4), f"k{units[0]}")
    return nodes(leaf, assume_covers(leaf.conclusion.subject, [units], "t"))


def bounded_above():
    """Yield theorems at (ε, δ) whose ε is an upper bound only."""
    yield to_approximate(compose(*laplaces(1)), F(853, 1000), F(1, 10))  # .7893 is exact
    yield approximate(compose(*laplaces(100)), F(1, 10**6))  # 100 instead of some 50
    yield approximate(to_gdp(laplaces(1)[0], F(4)), F(1, 10))
    yield approximate(compose(spread_over((1, 4)), spread_over((5, 9))), F(1, 10))  # no unit pays twice
    apart = [
        approximate(spread_over(units), delta) for units, delta in (((1, 4), F(1, 10**9)), ((5, 9), F(1, 10)))
    ]
    yield parallel(*apart)
    for other in (
        assume_ball("q", F(2), REPLACE_ONE, "t"),
        assume_points("q", [(0,), (9,)], REPLACE_ONE, "t"),
    ):
        both = (gaussian(linear(each), F(16), f"k{n}") for n, each in enumerate((BALL, other)))
        yield approximate(compose(*both), F(1, 10**6))  # what meets both moves by no more than the less
    for kind, reward, bound in (("rank-one", F(1, 2), None), ("outer", F(1), None), ("outer", F(2), F(40))):
        moves = linear(assume_rank_one("q", reward, REPLACE_ONE, "t", kind), bound)
        yield approximate(gaussian(moves, F(100), "k"), F(1, 10))


def test_an_upper_bound_has_no_lower_end():
    for theorem in bounded_above():
        for statement in (theorem, shown(theorem)):
            assert lower_end(statement) is None
            assert not confirmed(statement, F(0))
            assert not confirmed(statement, F(1, 2))
            assert not confirmed(statement, F(1))


@deep
def test_every_catalogued_proof_has_a_lower_end_that_is_confirmed_or_none():
    known = []
    for entry in entries():
        try:
            theorem = make(entry.made_by, None, examples=True).proof(F(1, 10**6))
        except RuleError:  # pure privacy alone
            theorem = make(entry.made_by, None, examples=True).proof(F(0))
        lower = lower_end(theorem)
        rules = {part.rule for part in Proved(theorem).parts if not part.rule.startswith("assume_")}
        if lower is None:
            assert rules - {*ATTAINED, "to_approximate", "post_process", "billboard"}, entry.name
        else:
            assert confirmed(theorem, lower), entry.name
            known.append(entry.name)
    assert known


@pytest.mark.parametrize("epsilon", [0, 1, 150, 500, pytest.param(5000, marks=deep)])
def test_a_delta_is_a_probability(epsilon):
    """At a large ε a ball around a difference of large numbers may hold anything; no δ is above 1."""
    for variance in (F(1, 100), F(1), F(100)):
        theorem = gaussian(linear(BALL), variance, "k")
        assert 0 <= delta_upper(theorem.conclusion.curve, F(epsilon)) <= 1
