"""Refutations: explicit neighbours, what tells them apart, and the (ε, δ) that they contradict."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpaccount.errors import RuleError
from dpaccount.proof import (
    ADD_REMOVE,
    CENTRAL,
    LOCAL,
    REPLACE_ONE,
    Apart,
    Refuted,
    apart,
    assume_ball,
    assume_clipped,
    assume_covers,
    assume_event,
    assume_neighbours,
    assume_tree,
    gaussian,
    laplace,
    linear,
    nodes,
    refute,
    to_approximate,
)
from tests.dpaccount.proof.said import refuses
from tests.looped import looped

F = Fraction
ONE, HALF = F(1), F(1, 2)


def ends(query="q", left=(HALF,), right=(-HALF,), kind="vector", relation=REPLACE_ONE):
    return assume_neighbours(query, kind, left, right, relation, "t")


def once(query="q"):
    return assume_covers(query, [(1, 1)], "t")


@pytest.mark.parametrize("kind", ["rank-one", "outer"])
def test_a_pair_of_statistics_is_as_far_apart_as_its_matrices(kind):
    v, w = [F(3, 5), F(4, 5), F(3)], [F(3, 5), F(-1, 5), F(-1, 2)]
    a, b = (np.outer(np.array(x, dtype=float), np.array(x, dtype=float)) for x in (v, w))
    if kind == "rank-one":
        a[-1, -1] = b[-1, -1] = 0
    fact = ends("m", v, w, kind).conclusion
    assert float(fact.numbers[0]) == pytest.approx(float(((a - b) ** 2).sum()))
    assert fact.law == "symmetric"


def test_the_published_tree_of_outer_products_is_refuted_at_large_rewards():
    """Rewards up to 20, ε = 10, δ = .1 over 1023 rounds: δ(10) = .98385 at the noise of the paper's proof."""
    reward, smaller = F(20), F(501250, 10**7)
    rounds, levels = 1023, 11
    log = F(int(math.log(100) ** 2 * 10**12) + 1, 10**12)
    variance = 16 * levels * (1 + reward**2) * log / 100  # rounded up: more noise refutes less
    pair = ends("m", [ONE, reward], [ONE, -smaller], "outer")
    noisy = apart(pair, assume_tree("m", rounds, "t"), "gaussian", variance)
    fact = refute(noisy, F(10), F(983, 1000)).conclusion
    assert fact == Refuted("m", F(10), F(983, 1000), REPLACE_ONE, CENTRAL)
    refuses(refute, noisy, F(10), F(984, 1000), match="not shown")


def test_what_is_proved_is_not_refuted_and_what_is_refuted_is_not_proved():
    query = linear(assume_ball("q", HALF, REPLACE_ONE, "t"))
    tree = assume_tree("q", 7, "t")
    proof = nodes(gaussian(query, F(4), "k"), tree)
    noisy = apart(ends(), tree, "gaussian", F(4))
    for epsilon in (F(0), F(1, 3), ONE, F(3)):
        low, high = F(0), ONE
        for _ in range(40):
            middle = (low + high) / 2
            try:
                to_approximate(proof, epsilon, middle)
                high = middle
            except RuleError:
                low = middle
        refute(noisy, epsilon, low - F(1, 10**9) if low > F(1, 10**9) else F(0))
        refuses(refute, noisy, epsilon, high + F(1, 10**9))


@looped("epsilon", ["0", "0.5", "1.9"])
def test_laplace_noise_on_a_number(epsilon):
    pair = ends(left=(ONE,), right=(F(0),), relation=ADD_REMOVE)
    noisy = apart(pair, once(), "laplace", HALF)
    assert noisy.conclusion.numbers == (F(2),)
    exact = -math.expm1((float(F(epsilon)) - 2) / 2)
    refute(noisy, F(epsilon), F(exact) - F(1, 10**12))
    refuses(refute, noisy, F(epsilon), F(exact) + F(1, 10**12), match="not shown")
    refuses(refute, noisy, F(2), F(0), match="not shown")  # the bound itself holds
    proof = laplace(linear(assume_clipped("q", F(0), ONE, ADD_REMOVE, "t")), HALF, None, "k")
    to_approximate(proof, F(2), F(0))


def test_separated_supports_refute_every_epsilon():
    event = assume_event("q", ONE, F(0), REPLACE_ONE, "t", LOCAL)
    assert event.conclusion == Apart("q", "event", (ONE, F(0)), REPLACE_ONE, LOCAL)
    fact = refute(event, F(10**6), F(999_999, 10**6)).conclusion
    assert fact.observer == LOCAL
    refuses(refute, event, F(0), ONE, match="not shown")
    event = assume_event("q", HALF, F(1, 10), REPLACE_ONE, "t")
    refute(event, ONE, F(228, 1000))  # .5 − .1e = .22817
    refuses(refute, event, ONE, F(229, 1000), match="not shown")


def test_noise_is_counted_once():
    noisy = apart(ends(), once(), "gaussian", ONE)
    refuses(apart, noisy, once(), "gaussian", ONE, match="no law")
    refuses(apart, ends(), once(), "gaussian", F(0), match="scale")
