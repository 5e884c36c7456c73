"""A query moves by no more than its bound between neighbours."""

import random
from fractions import Fraction
from itertools import product

import pytest

from dpaccount import proof
from dpaccount.checker import sensitivity
from dpaccount.errors import RuleError
from tests.dpaccount.rules.asked import REFUSED, gives
from tests.dpaccount.rules.cases import A, R
from tests.looped import looped

F = Fraction


def test_no_bound_is_below_a_movement_that_two_records_make():
    """Sums of integer points by brute force over all pairs of records: the bound is the largest of them."""
    rng = random.Random(5)
    for relation in (R, A):
        for _ in range(40):
            points = sorted({(rng.randint(-9, 9), rng.randint(-9, 9)) for _ in range(5)})
            person = ["Contribution", "q", "points", "0", "0", list(map(list, points)), relation, "public"]
            others = points if relation == R else [(0, 0)]
            moves = [(abs(a - c), abs(b - d)) for a, b in points for c, d in others]
            stable = gives("linear", [person], {})
            assert F(stable[3]) == max(x * x + y * y for x, y in moves)
            listed = gives("differences", [person], {})[2]
            assert sorted({tuple(v for v in sorted(m)[::-1] if v) for m in moves}) == sorted(
                map(tuple, listed)
            )


@looped("relation", [R, A])
def test_no_bound_is_below_a_movement_that_cells_make(relation):
    """By brute force over records that add 1 to a bounded number of five cells."""
    for most in (1, 2):
        records = [cells for cells in product((0, 1), repeat=5) if sum(cells) <= most]
        others = records if relation == R else [(0,) * 5]
        moves = [[abs(a - b) for a, b in zip(x, y, strict=True)] for x, y in product(records, others)]
        person = ["Contribution", "q", "cell", "0", str(most), [], relation, "public"]
        assert F(gives("linear", [person], {})[3]) == max(map(sum, moves))
        listed = gives("differences", [person], {})[2]
        assert sorted(map(tuple, listed)) == sorted({(1,) * sum(move) for move in moves})


def test_the_checker_lists_no_endless_differences():
    given = {"query": "q", "relation": R, "because": "b"}
    assert gives("assume_cell", [], {**given, "most": 1000})
    with pytest.raises(REFUSED):
        gives("assume_cell", [], {**given, "most": 1001})


@looped("root", ["1/3", "1/7", "3/10", "9/1000", "2/5"])
def test_outer_products_at_a_rational_root(root):
    """B = (b² + 1)/b has the root b, so the supremum is an exact fraction: a bound below it is refused."""
    b = F(root)
    reward = (b * b + 1) / b
    inner = (1 + reward**2) ** 2 + (1 + b * b) ** 2 - 2 * (reward * b - 1) ** 2
    exact = max(inner, 8 * reward**2)
    assert exact <= sensitivity.outer_supremum(reward)
    for slack in (F(1, 10**6), F(1, 10**12), F(1, 10**15)):
        assert proof.linear(outer(reward), exact * (1 + slack))
        for below in (exact * (1 - slack), exact * (1 - 1000 * slack)):
            with pytest.raises(RuleError, match="too small"):
                proof.linear(outer(reward), below)
    if inner > 8 * reward**2:
        with pytest.raises(RuleError, match="too small"):
            proof.linear(outer(reward), 8 * reward**2)


@looped("reward", ["11/10", "3/2", "19/10"])
def test_outer_products_of_small_rewards_are_furthest_apart_at_their_largest(reward):
    """Below B = 2 nothing but t = B itself, v against −v, is the supremum: 8B² exactly."""
    assert sensitivity.outer_supremum(F(reward)) == 8 * F(reward) ** 2


def outer(reward):
    return proof.assume_rank_one("q", reward, "replace-one", "b", "outer")
