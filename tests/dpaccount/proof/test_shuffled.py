"""Answers in random order: the bound against the mechanism itself, other programs, and the draws that it pays for."""

import itertools
import math
import random
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from dpaccount.checker.distributions import shuffled_delta
from dpaccount.checker.documents import Work
from dpaccount.checker.intervals import Interval
from dpaccount.errors import ReceiptError, RuleError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.numerics.clones import clones
from dpaccount.proof import (
    REPLACE_ONE,
    assume_covers,
    assume_points,
    nodes,
    shuffled,
)
from tests.looped import looped

F = Fraction


def answers(symbols=2, relation=REPLACE_ONE):
    return assume_points("q", [(i,) for i in range(symbols)], relation, "t")


def bit(truth):
    return [[truth, 1 - truth], [1 - truth, truth]]


def bound(ratio, size, epsilon):
    Work.begin()
    return float(shuffled_delta(Interval(30), F(ratio), size, F(epsilon))[1])


def law(rows):
    """Return how likely each number of each outcome is, of independent answers from these rows."""
    found = {(0,) * len(rows[0]): 1.0}
    for row in rows:
        after = defaultdict(float)
        for counts, chance in found.items():
            for outcome, p in enumerate(row):
                after[(*counts[:outcome], counts[outcome] + 1, *counts[outcome + 1 :])] += chance * float(p)
        found = after
    return found


def true_delta(table, size, epsilon):
    """Return the largest δ(ε) of shuffled answers over a unit's two symbols and all others' symbols, exactly."""
    worst = 0.0
    for others in itertools.combinations_with_replacement(range(len(table)), size - 1):
        for one, two in itertools.permutations(range(len(table)), 2):
            here, there = (law([table[own], *(table[k] for k in others)]) for own in (one, two))
            found = sum(max(0.0, p - math.exp(epsilon) * there[counts]) for counts, p in here.items())
            worst = max(worst, found)
    return worst


@looped("seed", range(12))
def test_no_mechanism_costs_more_than_its_bound(seed):
    """Random tables of 2 or 3 symbols and outcomes, all datasets of up to 6 units; the bound is not vacuous."""
    rng = random.Random(seed)
    symbols, outcomes, size = rng.choice((2, 3)), rng.choice((2, 3)), rng.choice((2, 3, 6))
    weights = [[rng.randint(1, 9) for _ in range(outcomes)] for _ in range(symbols)]
    table = [[F(w, sum(row)) for w in row] for row in weights]
    ratio = max(max(column) / min(column) for column in zip(*table, strict=True))
    for part in (0.1, 0.5, 0.9):
        epsilon = part * math.log(ratio)
        assert true_delta(table, size, epsilon) <= bound(ratio, size, F(epsilon)) + 1e-12


@looped("truth", [F(3, 5), F(3, 4), F(9, 10), F(49, 50)])
@looped("size", [2, 5, 12])
def test_a_bit_costs_about_as_much_as_its_bound(truth, size):
    ratio = truth / (1 - truth)
    epsilon = math.log(ratio) / 2
    true, above = true_delta(bit(truth), size, epsilon), bound(ratio, size, F(epsilon))
    assert true <= above + 1e-12
    assert true >= above / 6


@looped("seed", range(30))
def test_two_programs_compute_one_number(seed):
    """The checker by decimals and binomial tails, accounting by tables of integers."""
    rng = random.Random(seed)
    loss = F(rng.randint(1, 500), 100)
    size, epsilon = rng.choice((2, 3, 10, 77, 500)), loss * F(rng.randint(0, 99), 100)
    ratio = F(math.exp(loss)).limit_denominator(10**12)
    low, high = map(float, shuffled_delta(Interval(30), ratio, size, epsilon))
    assert low <= high == pytest.approx(low, rel=1e-9, abs=1e-18)
    assert high == pytest.approx(float(clones(loss, size).delta(epsilon).upper()), rel=1e-6, abs=1e-15)


@looped("seed", range(10))
def test_the_promise_is_better_for_more_answers_and_for_blunter_ones(seed):
    rng = random.Random(seed)
    ratio, epsilon = 1 + F(rng.randint(1, 900), 10), F(rng.randint(0, 20), 20)
    for size in (2, 3, 9, 50, 200):
        here = bound(ratio, size, epsilon)
        assert bound(ratio, size + 1, epsilon) <= here
        assert bound(ratio, size, epsilon + F(1, 10)) <= here
        assert bound(1 + (ratio - 1) * F(9, 10), size, epsilon) <= here
    assert bound(ratio, 400, epsilon) < bound(ratio, 2, epsilon) or here == 0


@looped("size", [2, 3, 20, 301])
@looped("truth", [F(3, 5), F(7, 10), F(10, 11), F(96, 97)])
def test_it_decides_at_epsilon_0(truth, size):
    """There the event is more than half of the coins, exactly: half of an even number is no case of doubt."""
    least = F(bound(truth / (1 - truth), size, F(0))).limit_denominator(10**15)
    assert shuffled(answers(), bit(truth), size, F(0), least * (1 + F(1, 10**9)), "k")
    with pytest.raises(RuleError, match="cover"):
        shuffled(answers(), bit(truth), size, F(0), least * (1 - F(1, 10**9)), "k")


# ------------------------------------------------------------------ what is drawn


def paid(size=4, key="k"):
    leaf = shuffled(answers(), bit(F(3, 4)), size, F(1), F(1, 2), key)
    return nodes(leaf, assume_covers("q", [(1, 4), (5, 12)], "t"))


def test_answers_are_shown_in_no_order():
    receipt = rehearse(paid(), Rehearsal(1))
    drawn = receipt.noisy("k", 0, np.array([1, 0, 1, 0]))
    assert drawn.tolist() == sorted(drawn.tolist())
    assert set(drawn.tolist()) <= {0, 1}


@looped("values", [[1, 0, 1], [], [[1, 0], [0, 1]], [[1, 0, 1, 0]]])
def test_of_fewer_answers_than_proved_for_nothing_is_shown(values):
    with pytest.raises(ReceiptError, match="at least 4 answers"):
        rehearse(paid(), Rehearsal(1)).noisy("k", 0, np.array(values, dtype=np.int64))


def test_more_answers_than_proved_for_are_shown():
    assert rehearse(paid(), Rehearsal(1)).noisy("k", 1, np.zeros(8, dtype=np.int64)).size == 8


def test_answers_of_three_kinds_have_a_proof_and_no_sampler():
    table = [[F(2, 4), F(1, 4), F(1, 4)], [F(1, 4), F(2, 4), F(1, 4)]]
    theorem = shuffled(answers(), table, 4, F(1), F(1, 2), "k")
    with pytest.raises(ReceiptError, match="two outcomes"):
        _ = Proved(theorem).laws
