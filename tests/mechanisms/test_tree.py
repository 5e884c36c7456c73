from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.continual.sums import TreeSums, levels


@given(st.lists(st.integers(-100, 100), min_size=1, max_size=70), st.integers(1, 8))
def test_without_noise_every_prefix_is_exact_and_nodes_are_the_dyadic_sums(values, depth):
    seen = {}

    def release(node, exact):
        seen[node] = int(exact[0])
        return exact

    tree, top = TreeSums(release, depth), depth - 1
    for t, value in enumerate(values, start=1):
        assert int(tree.add(np.array([value]))[0]) == sum(values[:t])
        assert tree.terms() == bin(t & 2**top - 1).count("1") + t // 2**top
    for (level, k), total in seen.items():
        assert total == sum(values[k * 2**level : (k + 1) * 2**level])
        assert level == top or (level < top and k % 2 == 0)


@given(st.integers(0, 9))
def test_a_lone_root_is_left_out(k):
    """2^k rounds take k levels and have no node of all of them; one round more takes another level."""
    assert levels(2**k) == max(k, 1)
    assert levels(2**k + 1) == k + 1


@given(st.integers(1, 200))
def test_every_prefix_has_as_many_noises_as_its_number_has_ones(rounds):
    tree = TreeSums(lambda node, exact: exact + 1)
    for t in range(1, rounds + 1):
        assert int(tree.add(np.array([0]))[0]) == bin(t).count("1")
    assert Fraction(tree.rounds) == rounds
