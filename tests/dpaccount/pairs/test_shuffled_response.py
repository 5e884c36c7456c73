"""Shuffled randomised response: all datasets by enumeration, another program, and how much it is worth."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from dpaccount import Accountant, Plan, Shuffled, ShuffledResponse
from dpaccount.errors import InputError
from dpaccount.numerics import shuffled_bits
from dpaccount.numerics.intervals import ball, precision
from tests.dpaccount.pairs.test_shuffled import worst
from tests.looped import looped

DELTA = Fraction(1, 10**6)
SHARES = (0, 0.05, 0.3, 0.95)


def plan(epsilon, users, **more):
    return Accountant(Plan("replace-one", ShuffledResponse(epsilon=epsilon, population=users, **more)))


def of_datasets(users, epsilon, at):
    """δ for every number of ones among the others' bits, in floats, by convolution."""
    p, x = 1 / (1 + math.exp(-epsilon)), math.exp(at)
    found = []
    for ones in range(users):
        law = np.convolve(
            binom.pmf(range(ones + 1), ones, p), binom.pmf(range(users - ones), users - 1 - ones, 1 - p)
        )
        there, back = (np.convolve(law, [1 - u, u]) for u in (p, 1 - p))
        found.append(max(np.maximum(a - x * b, 0).sum() for a, b in ((there, back), (back, there))))
    return found


@looped("users", [1, 2, 3, 17, 64, 100])
def test_no_dataset_of_bits_costs_more_than_the_upper_end_or_all_less_than_the_lower(users):
    for epsilon in (0.2, 3.0):
        for share in SHARES:
            truth, found = (
                max(of_datasets(users, epsilon, share * epsilon)),
                plan(epsilon, users).delta(share * epsilon),
            )
            assert truth <= found.upper * (1 + Fraction(1, 10**8)) + Fraction(1, 10**14)
            assert truth >= found.lower * (1 - Fraction(1, 10**8)) - Fraction(1, 10**14)
            if users <= 64:  # every dataset is a block of its own
                assert found.upper <= truth * (1 + 1e-8) + 1e-13


def test_which_dataset_is_worst_is_no_simple_matter():
    """Neither others who are all alike nor half of them; so the maximum is taken over all."""
    epsilon = math.log(1.5)
    worst_of_five = of_datasets(5, epsilon, 0.1 * epsilon)
    assert worst_of_five.index(max(worst_of_five)) in (1, 3)
    assert max(worst_of_five) > 1.01 * max(worst_of_five[0], worst_of_five[-1])
    upper = plan(Fraction(epsilon), 5).delta(Fraction(epsilon) / 10).upper
    assert upper == pytest.approx(max(worst_of_five), rel=1e-9)


@looped("k", [3, 5])
def test_answers_of_more_outcomes_lie_between_both_ends(k):
    """Enumerated: all data of three of the outcomes, up to five users."""
    for epsilon in (0.5, 2.0):
        odds = math.exp(epsilon)
        rows = np.array([[odds if x == y else 1.0 for y in range(k)] for x in range(3)]) / (odds + k - 1)
        for users in (1, 2, 4):
            at = (0.0, 0.1, 0.3)
            for t, truth in zip(at, worst(rows, users, *at), strict=True):
                found = plan(epsilon, users, k=k).delta(t)
                assert found.lower - Fraction(1, 10**12) <= truth <= found.upper + Fraction(1, 10**12)
                assert found.lower > 0


@looped("trials", [0, 1, 7, 40])
def test_the_law_of_a_sum_of_bits_adds_up(trials):
    """Masses and tails against another program's, and what is left out against 1."""
    with precision(shuffled_bits.BITS):
        law = shuffled_bits.bit_sum(trials, 3, ball(Fraction(9, 10)))
        law_masses = [float(each) for each in law.masses]
    other = np.convolve(binom.pmf(range(trials + 1), trials, 0.9), binom.pmf(range(4), 3, 0.1))
    assert law_masses == pytest.approx(list(other), rel=1e-9)
    assert float(law.tails[0]) == pytest.approx(1)
    assert 0 <= float(law.lost) < 1e-40


@looped("others", [0, 1, 2, 63, 64, 199, 200, 999, 12_345])
def test_the_blocks_hold_every_dataset_once(others):
    expected = others
    for ones, zeros in shuffled_bits.blocks(others):
        assert others - zeros == expected
        assert 0 <= ones <= expected
        expected = ones - 1
    assert expected == -1


def test_bits_are_worth_as_much_as_the_finding_asks():
    """1,000 users at ε = .1, δ = 1e-6: gain .385 and more is proved; .351 is what clones prove."""

    def loss(gain):
        return Fraction(math.log((1 + gain) / (1 - gain)))

    assert plan(loss(0.388), 1000).epsilon(DELTA).upper < Fraction(1, 10)
    assert plan(loss(0.390), 1000).epsilon(DELTA).lower > Fraction(1, 10)
    clones = Accountant(Plan("replace-one", Shuffled(epsilon=loss(0.352), population=1000)))
    assert clones.epsilon(DELTA).upper > Fraction(1, 10)


@pytest.mark.slow
def test_ten_batches_lie_between_both_ends_and_cost_more_than_nine():
    """Ten batches of five bits, whose worst data is enumerated in floats, each batch by itself."""
    ten, nine = (plan(1, 5, count=n).delta("0.5") for n in (10, 9))
    assert ten.lower > nine.lower
    assert ten.upper > nine.upper
    p, x = 1 / (1 + math.exp(-1)), math.exp(0.5)
    law = binom.pmf(range(5), 4, p)
    there, back = (np.convolve(law, [1 - u, u]) for u in (p, 1 - p))
    loss = {0.0: 1.0}
    for _ in range(10):
        wider = {}
        for own, mass in loss.items():
            for a, b in zip(there, back, strict=True):
                at = round(own + math.log(a / b), 9)
                wider[at] = wider.get(at, 0.0) + mass * a
        loss = wider
    truth = sum(mass * max(0.0, 1 - x * math.exp(-own)) for own, mass in loss.items())
    assert ten.lower <= truth + 1e-8
    assert truth <= ten.upper + 1e-8


@pytest.mark.slow
@looped("bits", [2, 3, 20, 300, 5000])
def test_more_users_and_smaller_losses_cost_less(bits):
    some = plan(1, bits).epsilon(DELTA)
    assert plan(1, 2 * bits).epsilon(DELTA).upper <= some.upper
    assert plan("0.9", bits).epsilon(DELTA).upper < some.upper
    assert (
        some.upper
        <= Accountant(Plan("replace-one", Shuffled(epsilon=1, population=bits))).epsilon(DELTA).upper
    )


@looped(
    "bad",
    [
        {"epsilon": 1, "population": 0},
        {"epsilon": -1, "population": 5},
        {"epsilon": 1, "population": 5, "k": 1},
    ],
)
def test_what_is_out_of_range_is_refused_in_a_sentence(bad):
    with pytest.raises(InputError, match="out of range"):
        ShuffledResponse(**bad)


def test_it_is_counted_under_replace_one_only():
    with pytest.raises(InputError, match="shuffled_response has no meaning under add-remove"):
        Plan("add-remove", ShuffledResponse(epsilon=1, population=5))
