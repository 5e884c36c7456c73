"""Factors, trees and continual sums: exact without noise, with the error and the columns that are stated."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import toeplitz

from benchmarks import continual
from dpaccount.errors import InputError, RuleError
from dpaccount.proof import point
from mechanisms.binary_tree import BinaryTree
from mechanisms.buffered_toeplitz import BufferedToeplitz
from mechanisms.continual import factors
from mechanisms.continual import sums as running
from mechanisms.continual.sums import AllRows, Buffers, FactorSums, Restarting, TreeSums, Window, levels
from tests.depth import deep, examples
from tests.looped import looped

T = 1024


def formed(history, rounds):
    """Return the factor whose rows a memory forms, as an integer matrix."""
    memory, factor = history(rounds, np.int64), np.zeros((rounds, rounds), dtype=np.int64)
    for t, unit in enumerate(np.eye(rounds, dtype=np.int64)):
        factor[t] = memory.past() + memory.diagonal() * unit
        memory.push(unit)
    return factor


def histories(rounds):
    """Return every kind of memory for a horizon, by name."""
    weights = factors.sqrt_toeplitz(rounds)
    return {
        "sqrt-toeplitz": lambda width, kind: Window(weights, width, kind),
        "banded": lambda width, kind: Window(weights[: max(rounds // 3, 1)], width, kind),
        "optimal": lambda width, kind: AllRows(factors.optimal(rounds), width, kind),
    }


@deep
@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
@examples(25, 25)
def test_without_noise_rows_and_prefix_sums_are_exact(rounds, seed):
    values = np.random.default_rng(seed).integers(-1000, 1000, (rounds, 2))
    for history in histories(rounds).values():
        rows = []
        sums = FactorSums(history, 2, lambda t, row, rows=rows: rows.append(row) or row)
        for t, value in enumerate(values):
            assert np.abs(sums.add(value) - values[: t + 1].sum(axis=0)).max() < 1e-6
            assert np.array_equal(sums.release(), sums.release())
        assert (np.array(rows) == formed(history, rounds) @ values).all()


def test_toeplitz_weights_are_the_real_ones_rounded_down():
    for k, weight in enumerate(factors.sqrt_toeplitz(400).tolist()):
        real = Fraction(math.comb(2 * k, k), 4**k) * 2**factors.WEIGHT_BITS
        assert real - 2 <= weight <= real
    assert factors.sqrt_toeplitz(400)[0] == 2**factors.WEIGHT_BITS


def buffered(rounds, count=6):
    pairs = factors.buffers(rounds, count)
    return lambda width, kind: Buffers(pairs, width, kind)


@deep
@given(st.integers(1, 300), st.integers(2, 9), st.integers(0, 2**32 - 1))
@examples(25, 25)
def test_buffers_decay_in_integers_by_less_than_a_step_too_much(rounds, count, seed):
    """Row by row against exact fractions: each floor loses less than one, which then decays too."""
    values, pairs = (
        np.random.default_rng(seed).integers(-(2**30), 2**30, rounds),
        factors.buffers(rounds, count),
    )
    memory, exact, one = Buffers(pairs, 1, np.int64), [Fraction(0)] * len(pairs), 2**factors.DECAY
    lost = sum(Fraction(one, one - decay) for _, decay in pairs)
    for value in values.tolist():
        assert 0 <= sum(exact) - int(memory.past()[0]) <= lost
        memory.push(np.array([value]))
        exact = [
            Fraction(math.floor(b * decay * 2**40), one * 2**40) + w * value
            for (w, decay), b in zip(pairs, exact, strict=True)
        ]


@given(st.integers(1, 64), st.integers(0, 2**32 - 1))
@examples(25)
def test_buffered_sums_without_noise_are_sums_up_to_floors(rounds, seed):
    values = np.random.default_rng(seed).integers(-1000, 1000, (rounds, 2))
    sums = FactorSums(buffered(rounds), 2, lambda t, row: row)
    for t, value in enumerate(values):
        assert np.abs(sums.add(value) - values[: t + 1].sum(axis=0)).max() < 1e-4


def test_buffers_approximate_the_integral_of_their_coefficients():
    real = np.concatenate([[1.0], np.cumprod([(2 * k - 1) / (2 * k) for k in range(1, 400)])])
    assert np.abs(continual.buffered_column(factors.buffers(10**6, 64), 400) / real - 1).max() < 0.05


def test_exact_column_norms_agree_with_fractions():
    weights = factors.sqrt_toeplitz(30)
    assert continual.column_squared(weights) == continual.longest_column_squared(
        toeplitz(weights, np.zeros(30, dtype=np.int64))
    )
    squares = sum(Fraction(int(w), 2**factors.WEIGHT_BITS) ** 2 for w in weights)
    assert continual.column_squared(weights) == squares
    exact = sum(Fraction(math.comb(2 * k, k), 4**k) ** 2 for k in range(30))
    assert exact * (1 - Fraction(1, 10**5)) <= squares <= exact


def product(error, squared):
    """Return root mean square error times sensitivity, for noise of deviation 1."""
    return error * math.sqrt(squared)


def test_error_times_sensitivity_at_1024_rounds():
    """The published figures: 3.1 for √Toeplitz, 5.65 for Honaker's estimate, 7.42 for the plain tree."""
    weights = factors.sqrt_toeplitz(T)
    assert product(continual.toeplitz_error(weights, T), continual.column_squared(weights)) <= 3.2
    decaying = continual.buffered_column(factors.buffers(T, 6), T)
    assert product(continual.toeplitz_error(decaying, T), (decaying**2).sum()) <= 3.09
    banded = weights[:256]
    assert product(continual.toeplitz_error(banded, T), continual.column_squared(banded)) <= 3.3
    depth = running.levels(T)  # a round lies in one node of every level
    assert depth == 10
    assert product(continual.tree_error(T, depth, refined=True), depth) <= 5.7
    assert product(continual.tree_error(T, depth, refined=False), depth) <= 7.1
    assert product(continual.tree_error(T, 11, refined=False), 11) == pytest.approx(
        7.41692, abs=1e-5
    )  # with the root


@looped("rounds", [1, 2, 16, 64])
def test_the_optimal_factor_is_better_than_the_toeplitz_one(rounds):
    best, weights = factors.optimal(rounds), factors.sqrt_toeplitz(rounds)
    assert (np.triu(best, 1) == 0).all()
    lower = product(continual.factor_error(best), continual.longest_column_squared(best))
    assert (
        lower
        <= product(continual.toeplitz_error(weights, rounds), continual.column_squared(weights)) * 1.0001
    )


def test_the_optimal_factor_meets_its_lower_bound():
    """Weak duality: ‖A·D‖_* ≤ ‖A·C⁻¹‖_F·‖C·D‖_F bounds every factor from below, for any D = diag(v)^½ ≥ 0."""
    best, prefix = factors.optimal(64), np.tril(np.ones((64, 64)))
    dual = np.ones(64)  # any v ≥ 0 gives a bound
    for _ in range(100):
        half = np.sqrt(dual)
        values, vectors = np.linalg.eigh(half[:, None] * (prefix.T @ prefix) * half)
        dual = np.diag((vectors * np.sqrt(values)) @ vectors.T).copy()
    half = np.sqrt(dual)
    nuclear = np.sqrt(np.linalg.eigvalsh(half[:, None] * (prefix.T @ prefix) * half)).sum()
    bound = nuclear / math.sqrt(dual.sum() * 64)
    reached = product(continual.factor_error(best), continual.longest_column_squared(best))
    assert bound <= reached <= bound * 1.0005


@looped(("rounds", "buffers"), [(2**30, 2), (2**26, 2), (10**6, 6), (2, 64), (1, 6)])
def test_buffered_proofs_verify_their_own_bound_at_any_length(rounds, buffers):
    """Decays that differ from 1 by little; the rule is stricter than the estimate's rounding."""
    theorem = BufferedToeplitz(rounds=rounds, buffers=buffers).proof(Fraction(1, 10**6))
    assert point(theorem)[0] < 6


def test_wide_noise_and_long_ratios_are_refused_with_the_parameters():
    with pytest.raises(InputError, match="use fewer bits"):
        BufferedToeplitz(sigma=Fraction(160_000))
    with pytest.raises(InputError, match="use fewer bits"):
        BinaryTree(sigma=Fraction(10) ** 400)


def test_absurd_parameters_prove_nothing_or_all_but_break_nothing():
    tiny = Fraction(1, 10**400)
    assert point(BinaryTree(radius=tiny).proof(Fraction(1, 10**6)))[0] <= Fraction(1, 10**6)
    for subject in (
        BufferedToeplitz(sigma=tiny),
        BinaryTree(sigma=tiny, radius=Fraction(1, 10**20), rounds=1),
    ):
        with pytest.raises(RuleError):
            subject.proof(Fraction(1, 10**6))


def test_too_long_optimal_factors_are_refused():
    with pytest.raises(InputError, match="256"):
        factors.optimal(257)


@pytest.mark.statistical(1)  # noise of a few rounds is in the sums of many
@looped("name", ["sqrt-toeplitz", "banded", "buffered", "optimal", "honaker", "tree"])
def test_measured_errors_are_the_stated_ones(name):
    rounds, width = 48, 2000
    rng = np.random.default_rng(1)
    scale = 2.0**factors.WEIGHT_BITS * 1000

    def release(part, row):
        return row + np.rint(scale * rng.standard_normal(width)).astype(np.int64)

    if name in ("tree", "honaker"):
        depth = 4  # so that several nodes of the highest level add up
        sums = {"tree": running.TreeSums, "honaker": running.HonakerSums}[name](release, depth)
        stated = continual.tree_error(rounds, depth, refined=name == "honaker") * scale
    elif name == "buffered":
        sums = FactorSums(buffered(rounds), width, lambda t, row: row + (release(t, row) - row) * 2**8)
        stated = (
            continual.toeplitz_error(continual.buffered_column(factors.buffers(rounds, 6), rounds), rounds)
            * 1000
        )
    else:
        history = histories(rounds)[name]
        sums = FactorSums(history, width, release)
        stated = continual.factor_error(formed(history, rounds)) * 1000
    zero = np.zeros(width, dtype=np.int64)
    squares = [np.mean(sums.add(zero) ** 2.0) for _ in range(rounds)]
    assert math.sqrt(np.mean(squares)) == pytest.approx(stated, rel=0.02)


@deep
@given(st.lists(st.integers(-100, 100), min_size=1, max_size=40))
def test_restarts_and_honaker_are_exact_without_noise(values):
    seen = []

    def make(epoch, rounds):
        return running.TreeSums(lambda node, exact: seen.append((epoch, rounds, node)) or exact)

    restarting, honaker = (
        Restarting(make),
        running.HonakerSums(lambda node, exact: exact, len(values) % 4 + 1),
    )
    for t, value in enumerate(values, start=1):
        total = sum(values[:t])
        assert int(restarting.add(np.array([value]))[0]) == int(restarting.release()[0]) == total
        assert honaker.add(np.array([value]))[0] == pytest.approx(total)
        assert honaker.rounds == restarting.rounds == t
    assert all(rounds == 2**epoch and (k + 1) * 2**level <= rounds for epoch, rounds, (level, k) in seen)
    assert len(seen) == len(set(seen))


@deep
@given(st.integers(1, 130))
def test_honaker_releases_every_complete_node_once(rounds):
    seen = []
    sums = running.HonakerSums(lambda node, exact: seen.append(node) or exact)
    for _ in range(rounds):
        sums.add(np.array([1]))
    assert sorted(seen) == sorted((j, k) for j in range(8) for k in range(rounds >> j))


@deep
@given(st.lists(st.integers(-100, 100), min_size=1, max_size=70), st.integers(1, 8))
def test_without_noise_every_prefix_is_exact_and_nodes_are_the_dyadic_sums(values, depth):
    seen = {}

    def release(node, exact):
        seen[node] = int(exact[0])
        return exact

    tree, top = TreeSums(release, depth), depth - 1
    for t, value in enumerate(values, start=1):
        assert int(tree.add(np.array([value]))[0]) == sum(values[:t])
    for (level, k), total in seen.items():
        assert total == sum(values[k * 2**level : (k + 1) * 2**level])
        assert level == top or (level < top and k % 2 == 0)


@given(st.integers(0, 9))
def test_a_lone_root_is_left_out(k):
    """2^k rounds take k levels and have no node of all of them; one round more takes another level."""
    assert levels(2**k) == max(k, 1)
    assert levels(2**k + 1) == k + 1


@deep
@given(st.integers(1, 200))
def test_every_prefix_has_as_many_noises_as_its_number_has_ones(rounds):
    tree = TreeSums(lambda node, exact: exact + 1)
    for t in range(1, rounds + 1):
        assert int(tree.add(np.array([0]))[0]) == bin(t).count("1")
    assert Fraction(tree.rounds) == rounds
