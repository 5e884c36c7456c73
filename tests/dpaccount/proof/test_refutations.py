"""Refutations: explicit neighbours, what tells them apart, and the (ε, δ) that they contradict."""

import math
from fractions import Fraction

from dpaccount.errors import RuleError
from dpaccount.proof import (
    CENTRAL,
    REPLACE_ONE,
    Refuted,
    apart,
    assume_ball,
    assume_covers,
    assume_neighbours,
    assume_tree,
    gaussian,
    linear,
    nodes,
    refute,
    to_approximate,
)
from tests.dpaccount.proof.said import refuses

F = Fraction
ONE, HALF = F(1), F(1, 2)


def ends(query="q", left=(HALF,), right=(-HALF,), kind="vector", relation=REPLACE_ONE):
    return assume_neighbours(query, kind, left, right, relation, "t")


def once(query="q"):
    return assume_covers(query, [(1, 1)], "t")


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
