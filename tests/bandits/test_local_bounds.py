"""Rates of local privacy: laws that any lower and upper order obeys, limits, and Lemma 4 by enumeration."""

from itertools import combinations_with_replacement, product
from math import e, exp, expm1, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.errors import InputError
from papers.zhou.local_bounds import functions, lower_rate
from tests.bandits.local_rates import (
    corollary1_rate,
    divergence,
    lemma4,
    replays,
    sent,
    theorem2_rate,
    theorem3_rate,
    theorem4_rate,
)
from tests.depth import deep
from tests.looped import looped

ROUNDS, EPSILONS = st.integers(10, 10**6), st.floats(0.05, 6)
KERNELS = st.none() | st.floats(0.5, 10)  #: the squared-exponential one, or the smoothness of a Matérn kernel

# ------------------------------------------------------------------ Theorem 1


@deep
@given(ROUNDS, EPSILONS, KERNELS, st.floats(1, 4))
def test_lower_orders_fall_with_epsilon_and_rise_with_rounds(rounds, epsilon, kernel, factor):
    here = lower_rate(rounds, epsilon, kernel)
    later = lower_rate(int(rounds * factor), epsilon, kernel)
    assert later.private >= here.private * (1 - 1e-12)
    assert later.value >= here.value * (1 - 1e-12) >= here.without * (1 - 1e-12)
    if any("logarithm" in said for said in here.outside):
        return  # there the order rises with ε, and is said to be out of its range
    looser = lower_rate(rounds, epsilon * factor, kernel)
    assert looser.private <= here.private * (1 + 1e-12)
    assert looser.value <= here.value * (1 + 1e-12)


@deep
@given(ROUNDS, EPSILONS, KERNELS)
def test_where_privacy_costs_nothing_the_order_is_the_one_without(rounds, epsilon, kernel):
    """At e^ε − 1 = 1 both coincide; above it the private order is no more than the other (in its range)."""
    level = lower_rate(rounds, log(2), kernel)
    assert level.private == pytest.approx(level.without)
    if epsilon > log(2) and not level.outside:
        assert lower_rate(rounds, epsilon, kernel).value == pytest.approx(level.without)


@deep
@given(ROUNDS, EPSILONS, KERNELS)
def test_the_printed_exponents_follow_from_the_count_of_functions(rounds, epsilon, kernel):
    """Equation (17): v^{1/(1+α)} T^{1/(1+α)} M^{α/(1+α)} ζ^{−2α/(1+α)} with the M of appendix A.4, α = v = 1."""
    zeta = expm1(epsilon)
    expected = sqrt(rounds * functions(rounds, zeta, kernel)) / zeta
    assert lower_rate(rounds, epsilon, kernel).private == pytest.approx(expected, rel=1e-9)


def test_remark_1_and_footnote_3():
    """At α = 1 and small ε the factor is 1/ε: for Matérn as ν grows, else ε^{−2ν/(2ν+d)}."""
    epsilon = 1e-3

    def factor(rounds, smoothness=None):
        found = lower_rate(rounds, epsilon, smoothness)
        return found.private / found.without

    for rounds, accuracy in (
        (10**12, 0.55),
        (10**100, 0.02),
    ):  # the logarithm has ζ² inside, and follows slowly
        ratio = factor(rounds) * epsilon
        assert 1 - accuracy < ratio <= 1
    for smoothness in (0.5, 2.5, 1e6):
        ratio = factor(10**6, smoothness)
        assert ratio == pytest.approx(expm1(epsilon) ** (-2 * smoothness / (2 * smoothness + 1)))
    assert factor(10**6, 1e6) * epsilon == pytest.approx(1, rel=1e-2)
    assert factor(10**6, 0.5) * epsilon < 0.04


def test_what_is_out_of_range_is_said():
    small = lower_rate(10, 0.1)
    assert small.private == 0.0
    assert small.value == small.without > 0
    assert "argument" in small.outside[0]
    near = lower_rate(10_000, 0.011)
    assert any("below d/2" in said for said in near.outside)
    crowded = lower_rate(10, 0.01, smoothness=0.5)
    assert any(said.startswith("M of order") for said in crowded.outside)
    assert lower_rate(10_000, 1.0).outside == ()
    for wrong in (
        {"smoothness": 0.0}, {"smoothness": float("nan")}, {"epsilon": 0.0}, {"epsilon": float("nan")},
        {"rounds": 0},
    ):  # fmt: skip
        with pytest.raises(InputError):
            lower_rate(**{"rounds": 100, "epsilon": 1.0, **wrong})


# ------------------------------------------------------------------ Lemma 4


def channels(epsilon, inputs, outputs):
    """Return channels whose columns are multiples of vectors in {1, e^ε}^inputs: the extreme ones, and mixed."""
    patterns = list(product((1.0, exp(epsilon)), repeat=inputs))
    for chosen in combinations_with_replacement(patterns, outputs):
        matrix = np.array(chosen).T  # [input, output]
        weights = np.linalg.lstsq(matrix, np.ones(inputs), rcond=None)[0]
        if (weights > 1e-9).all() and np.allclose(matrix @ weights, 1):
            yield matrix * weights


@deep
@pytest.mark.parametrize(("epsilon", "inputs"), [(0.2, 2), (1.0, 2), (3.0, 2), (0.5, 3), (2.0, 3)])
def test_lemma_4_by_enumeration(epsilon, inputs):
    laws = [np.array(w) / sum(w) for w in product(range(7 - inputs), repeat=inputs) if sum(w)]
    tried = 0
    for table in channels(epsilon, inputs, 2 if inputs == 2 else 3):
        assert (table.max(axis=0) <= exp(epsilon) * table.min(axis=0) * (1 + 1e-12)).all()
        for first, second in product(laws[::2], laws[::5]):
            left, right = sent(first, table), sent(second, table)
            both = divergence(left, right) + divergence(right, left)
            by_variation, printed = lemma4(epsilon, first, second)
            assert both <= by_variation * (1 + 1e-9) + 1e-12
            assert by_variation <= printed / 4 * (1 + 1e-9) + 1e-12  # Pinsker: 2(e^ε − 1)²·KL would do
            tried += 1
    assert tried > 50


@deep
@given(st.floats(0.01, 1), st.floats(0.1, 4), st.floats(0, 1), st.floats(0, 1))
def test_the_reward_law_is_told_from_nothing_by_at_most_twice_its_chance(alpha, moment, share, height):
    """KL(0 ‖ law (11)) = −ln(1 − p) ≤ 2p where Δ ≤ ½·(½)^{α/(1+α)} v^{1/(1+α)}: then p ≤ ½."""
    gap = share * 0.5 * 0.5 ** (alpha / (1 + alpha)) * moment ** (1 / (1 + alpha))
    chance = (2 * gap / moment) ** (1 / alpha) * 2 * gap * height
    assert chance <= 0.5 * (1 + 1e-9)
    assert divergence([1.0, 0.0], [1 - chance, chance]) <= 2 * chance + 1e-15


def test_equation_19_holds_with_the_inverse_that_print_lost():
    a, ridge = np.random.default_rng(0).normal(size=(3, 5)), 0.7
    inverse = ridge * np.linalg.inv(a.T @ a + ridge * np.eye(5))
    inner = a @ a.T + ridge * np.eye(3)
    assert np.eye(5) - a.T @ np.linalg.inv(inner) @ a == pytest.approx(inverse)
    assert not np.allclose(np.eye(5) - a.T @ inner @ a, inverse)


# ------------------------------------------------------------------ Theorems 2 to 4

UPPER = {"norm": 1.0, "noise": 1.0, "delta": 0.01}


@deep
@pytest.mark.parametrize("rate", [theorem2_rate, theorem3_rate, corollary1_rate])
@given(
    rounds=st.integers(10, 10**6), gain=st.floats(1, 100), epsilon=st.floats(0.05, 20), factor=st.floats(1, 5)
)
def test_upper_orders_fall_with_epsilon_and_rise_with_all_else(rate, rounds, gain, epsilon, factor):
    here = rate(rounds, gain, epsilon=epsilon, **UPPER)
    slack = 1 - 1e-12
    assert rate(rounds, gain, epsilon=epsilon * factor, **UPPER) <= here / slack
    assert rate(int(rounds * factor), gain, epsilon=epsilon, **UPPER) >= here * slack
    assert rate(rounds, gain * factor, epsilon=epsilon, **UPPER) >= here * slack
    assert rate(rounds, gain, epsilon=epsilon, **{**UPPER, "noise": factor}) >= here * slack
    assert rate(rounds, gain, epsilon=epsilon, **{**UPPER, "delta": 0.01 / factor}) >= here * slack


@looped("rate", [theorem2_rate, theorem3_rate, corollary1_rate])
def test_upper_orders_have_the_factor_1_over_epsilon_and_do_not_vanish(rate):
    small = [rate(10**4, 5.0, epsilon=epsilon, **UPPER) for epsilon in (1e-4, 1e-5)]
    assert small[1] / small[0] == pytest.approx(10, rel=1e-2)
    large = [rate(10**4, 5.0, epsilon=epsilon, **UPPER) for epsilon in (1e3, 1e6)]
    assert large[0] == pytest.approx(large[1], rel=1e-2)
    assert large[1] > sqrt(10**4)


@deep
@given(st.integers(100, 10**6), st.floats(0.05, 1), st.floats(1, 50))
def test_theorem_4_is_its_corollary_at_alpha_1_and_worse_below(rounds, alpha, gain):
    heavy = theorem4_rate(rounds, gain, norm=1.0, noise_moment=4.0, alpha=alpha, delta=0.01)
    light = theorem4_rate(rounds, gain, norm=1.0, noise_moment=4.0, alpha=1.0, delta=0.01)
    assert heavy >= light * (1 - 1e-12)
    assert corollary1_rate(rounds, gain, epsilon=1.0, **UPPER) == pytest.approx(light)


def test_lower_orders_lie_below_upper_ones():
    for epsilon, rounds in product((0.1, 1.0, 3.0), (10**3, 10**5)):
        below = lower_rate(rounds, epsilon).value
        gain = log(rounds) ** 2
        assert below < min(
            rate(rounds, gain, epsilon=epsilon, **UPPER)
            for rate in (theorem2_rate, theorem3_rate, corollary1_rate)
        )


def test_replays_and_refusals():
    assert (replays(1000, 0.01), replays(10_000, 0.01)) == (334, 389)
    assert replays(10, 1.0) == int(24 * log(40 * e)) + 1
    for wrong in (
        lambda: theorem2_rate(1, 1.0, epsilon=1.0, **UPPER),
        lambda: theorem3_rate(10, 0.0, epsilon=1.0, **UPPER),
        lambda: theorem4_rate(10, 1.0, norm=1.0, noise_moment=1.0, alpha=0.0, delta=0.1),
        lambda: theorem2_rate(10, 1.0, epsilon=1.0, accuracy=1.0, **UPPER),
    ):
        with pytest.raises(InputError):
            wrong()
