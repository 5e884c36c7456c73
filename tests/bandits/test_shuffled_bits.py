"""Bits of devices: as telling as is proved of a shuffled batch, and no more."""

import math
from fractions import Fraction

import numpy as np
import pytest

from bandits.learning.shuffled_bits import TRUTH_BITS, ShuffledBits
from dpaccount.errors import RuleError
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import assume_covers, finite, nodes, shuffled
from tests.depth import deep
from tests.dpaccount.proof.test_shuffled import answers, bit
from tests.looped import looped

F = Fraction


@deep
@looped("size", [2, 30, 300])
@looped("epsilon", [F(1, 10), F(1), F(3)])
def test_bits_are_as_telling_as_is_proved_and_no_more(size, epsilon):
    bits = ShuffledBits(epsilon, F(1, 10**6), size)
    leaf = bits.leaf("k", bits.delta)
    assert leaf.conclusion.curve.epsilon <= epsilon
    assert leaf.conclusion.curve.delta <= bits.delta
    more = bits.truth + F(1, 2**TRUTH_BITS)
    with pytest.raises(RuleError, match=r"cover|possible"):
        shuffled(answers(), bit(more), size, epsilon, bits.delta, "k")


@deep
@looped("size", [2, 30, 300])
def test_a_bit_by_itself_is_private_against_the_shuffler(size):
    bits = ShuffledBits(F(1), F(1, 10**6), size)
    finite(answers(), bits.table, bits.local_epsilon, "k")
    with pytest.raises(RuleError):
        finite(answers(), bits.table, bits.local_epsilon - F(1, 2**TRUTH_BITS), "k")


@deep
def test_more_bits_may_tell_more_and_at_another_delta_the_same_bits_cost_another_epsilon():
    truths = [ShuffledBits(F(1, 2), F(1, 10**6), size).truth for size in (2, 10, 40, 160, 640)]
    assert truths == sorted(truths)
    assert truths[0] < truths[-1]
    bits = ShuffledBits(F(1, 2), F(1, 10**6), 100)
    spent = [bits.leaf("k", F(1, 10**k)).conclusion.curve.epsilon for k in (2, 4, 6, 8)] + [
        bits.leaf("k", F(0)).conclusion.curve.epsilon
    ]
    assert spent == sorted(spent)
    assert spent[2] == F(1, 2)
    assert spent[-1] == bits.local_epsilon


@pytest.mark.statistical(1e-9)
def test_ones_are_numbers_times_the_gain(depth):
    bits, rng = ShuffledBits(F(1), F(1, 10**6), 50), depth.rng(7)
    theorem = nodes(bits.leaf("k", bits.delta), assume_covers("k", [(1, 4000)], "t"))
    ones = bits.sent(rehearse(theorem, Rehearsal(depth.seed(2))), "k", 0, np.full(4000, 0.3), rng).sum()
    expected = 4000 * (0.5 + (0.3 - 0.5) * bits.gain)
    assert abs(ones - expected) < 6.2 * math.sqrt(4000 / 4)
    assert bits.variance == pytest.approx(float(bits.truth * (1 - bits.truth)) / bits.gain**2)
