"""Samplers and receipts.  Statistical tests compare with exact laws at fixed seeds, or at 1e-9 error."""

import contextlib
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpaccount.errors import ReceiptError, RuleError
from dpaccount.noise.laws import law_of
from dpaccount.noise.leaves import leaves
from dpaccount.noise.receipt import Receipt, rehearse
from dpaccount.noise.samplers import LIMIT, Rehearsal, Secure, dyadic_up, exact_root, in_range, root_up
from dpaccount.proof import (
    assume_ball,
    assume_clipped,
    assume_covers,
    assume_points,
    assume_rank_one,
    buffered,
    compose,
    differences,
    discrete_gaussian,
    gaussian,
    k_norm,
    laplace,
    lattice_gaussian,
    linear,
    nodes,
)
from tests.depth import deep
from tests.looped import looped

F = Fraction


def theorem(draws=2):
    points = assume_points("sums", [(0, 0), (1, 0)], "replace-one", "t")
    leaf = lattice_gaussian(differences(points), F(16), "sums")
    return nodes(leaf, assume_covers("sums", [(1, 1)] * draws, "t"))


def zeros(n):
    return np.zeros(n, dtype=np.int64)


def chi_square_p(sample, weight, reach):
    """Return the p-value of a sample against mass ∝ weight(x) on |x| < reach, tails pooled."""
    x = np.arange(-reach, reach + 1)
    mass = weight(x) / weight(np.arange(-40 * reach, 40 * reach + 1)).sum()
    counts = np.array([(sample == v).sum() for v in x])
    expected = np.append(mass, 1 - mass.sum()) * len(sample)
    return stats.chisquare(np.append(counts, len(sample) - counts.sum()), expected).pvalue


@deep
@pytest.mark.statistical(2e-9)  # 1e-9 for each law; secure noise is new each time
@pytest.mark.parametrize("sampler", [Secure(), Rehearsal(1)], ids=["secure", "rehearsal"])
def test_samplers_follow_their_laws(sampler):
    scale = 3.25
    gauss = sampler.gaussian(zeros(20_000), scale)
    assert chi_square_p(gauss, lambda x: np.exp(-(x**2) / (2 * scale**2)), 8) > 1e-9
    lap = sampler.laplace(zeros(20_000), scale)
    assert chi_square_p(lap, lambda x: np.exp(-np.abs(x) / scale), 12) > 1e-9


@pytest.mark.statistical(1e-9)  # six standard errors of 1/√(2n)
def test_rehearsal_noise_of_large_scale_has_the_right_deviation():
    assert np.std(Rehearsal(2).gaussian(zeros(50_000), 1e9)) == pytest.approx(1e9, rel=0.02)


def test_rehearsals_repeat_and_secure_noise_is_the_only_releasable_one():
    assert (Rehearsal(7).gaussian(zeros(9), 5.0) == Rehearsal(7).gaussian(zeros(9), 5.0)).all()
    assert Secure.releasable is True
    assert Rehearsal.releasable is False


@deep
@given(st.fractions(min_value=F(1, 10**20), max_value=F(10**20)))
def test_roots_are_rounded_up_to_the_next_double(variance):
    root = root_up(variance)
    assert F(root) ** 2 >= variance > F(np.nextafter(root, 0)) ** 2
    assert exact_root(F(root) ** 2) == root


def test_only_squares_of_doubles_have_exact_roots():
    assert exact_root(F(541, 32) ** 2) == 16.90625
    assert exact_root(F("16.9") ** 2) is None
    assert dyadic_up(F("16.9")) == F(541, 32)


@looped("values", [np.array([0.5]), np.array([LIMIT]), np.array([-LIMIT]), np.array([True])])
def test_only_integers_in_range_are_released(values):
    with pytest.raises(ReceiptError):
        in_range(values)


# ------------------------------------------------------------------ receipts


def test_a_receipt_serves_each_part_once_and_no_more_than_was_paid():
    receipt = rehearse(theorem(draws=2), Rehearsal(0))
    assert receipt.noisy("sums", 0, zeros(2)).shape == (2,)
    with pytest.raises(ReceiptError, match="already drawn"):
        receipt.noisy("sums", 0, zeros(2))
    receipt.noisy("sums", "another", zeros(2))
    with pytest.raises(ReceiptError, match="pays for 2"):
        receipt.noisy("sums", 2, zeros(2))


def test_what_is_recalled_counts_as_drawn():
    receipt = rehearse(theorem(draws=2), Rehearsal(0))
    receipt.recall("sums", 0, 2)
    with pytest.raises(ReceiptError, match="already drawn"):
        receipt.noisy("sums", 0, zeros(2))
    receipt.noisy("sums", 1, zeros(2))
    for part in (1, 2):
        with pytest.raises(ReceiptError):
            receipt.recall("sums", part, 2)


def test_a_refused_value_has_spent_its_part():
    receipt = rehearse(theorem(), Rehearsal(0))
    with pytest.raises(ReceiptError, match="integers"):
        receipt.noisy("sums", 0, np.array([0.5]))
    with pytest.raises(ReceiptError, match="already drawn"):
        receipt.noisy("sums", 0, zeros(2))


def test_a_receipt_knows_its_keys_only():
    receipt = rehearse(theorem(), Rehearsal(0))
    with pytest.raises(ReceiptError, match="has no leaf 'other'"):
        receipt.noisy("other", 0, zeros(2))
    with pytest.raises(ReceiptError, match="symmetric"):
        receipt.noisy_symmetric("sums", 0, np.zeros((2, 2), dtype=np.int64))


def test_receipts_are_not_made_by_hand_and_rehearsals_take_no_secure_noise():
    with pytest.raises(ReceiptError, match="charging"):
        Receipt(object(), theorem(), Secure(), 1)
    with pytest.raises(ReceiptError, match="rehearsal"):
        rehearse(theorem(), Secure())


def test_the_law_is_read_from_the_leaf_and_never_rounded_down():
    ball = linear(assume_ball("q", F(1), "replace-one", "t"))
    grid = F(1, 2**20)
    (leaf,) = leaves(discrete_gaussian(ball, F(2), grid, "k"))
    found = law_of(leaf)
    assert found.kind == "gaussian"
    assert F(found.scale) ** 2 >= F(2) * 2**40
    clipped = linear(assume_clipped("q", F(0), F(1), "replace-one", "t"))
    (leaf,) = leaves(laplace(clipped, F(1, 3), grid, "k"))
    found = law_of(leaf)
    assert found.kind == "laplace"
    assert 0 <= F(found.scale) - F(2**20, 3) < F(1, 2**30)


@looped("make", ["continuous", "inexact", "twice"])
def test_what_cannot_be_drawn_is_refused_before_anything_is_drawn(make):
    ball = linear(assume_ball("q", F(1), "replace-one", "t"))
    moves = differences(assume_points("q", [(0,), (1,)], "replace-one", "t"))
    grid = discrete_gaussian(ball, F(1), F(1), "k")
    bad = {
        "continuous": lambda: gaussian(ball, F(1), "k"),
        "inexact": lambda: lattice_gaussian(moves, F("16.9") ** 2, "k"),
        "twice": lambda: compose(grid, grid),
    }[make]()
    with pytest.raises(ReceiptError):
        rehearse(bad, Rehearsal(0))


@deep
@pytest.mark.statistical(5e-5)  # two deviations, 4.4 standard errors each
def test_symmetric_noise_is_symmetric_with_a_doubled_diagonal():
    person = linear(assume_rank_one("q", F(1), "replace-one", "t"))
    leaf = discrete_gaussian(person, F(25), F(1), "k")
    whole = nodes(leaf, assume_covers("q", [(1, 1)] * 4000, "t"))
    receipt = rehearse(whole, Rehearsal(3))
    draws = np.array([receipt.noisy_symmetric("k", i, np.zeros((3, 3), dtype=np.int64)) for i in range(4000)])
    assert (draws == draws.transpose(0, 2, 1)).all()
    assert draws[:, 0, 1].std() == pytest.approx(5, rel=0.05)
    assert draws[:, 1, 1].std() == pytest.approx(5 * 2**0.5, rel=0.05)
    with pytest.raises(ReceiptError, match="symmetric matrix"):
        rehearse(whole, Rehearsal(3)).noisy_symmetric("k", 0, np.array([[0, 1], [2, 0]]))


@looped("kind", ["symmetric", "ball", "k-norm"])
def test_noise_that_64_bits_might_cut_is_refused(kind):
    """Cut noise added to a value wraps, and shows it."""
    ball, fine = linear(assume_ball("q", F(1), "replace-one", "t")), F(1, 2**52)
    theorem = {
        "symmetric": lambda: discrete_gaussian(
            linear(assume_rank_one("q", F(1), "replace-one", "t")), F(2**20), fine, "k"
        ),
        "ball": lambda: discrete_gaussian(ball, F(2**20), fine, "k"),
        "k-norm": lambda: k_norm(ball, F(1, 1024), F(2), fine, "k"),
    }[kind]()
    with pytest.raises(ReceiptError, match="too wide"):
        rehearse(theorem, Rehearsal(0))


def test_k_norm_noise_of_many_numbers_is_wider():
    ball = linear(assume_ball("q", F(1), "replace-one", "t"))
    receipt = rehearse(k_norm(ball, F(1), F(2), F(1, 2**50), "k"), Rehearsal(0))
    with pytest.raises(ReceiptError, match="too wide"):
        receipt.noisy("k", 0, zeros(2**12))


def test_a_buffered_stream_keeps_to_its_width_and_its_grid():
    ball = linear(assume_ball("q", F(1), "replace-one", "t"))
    stream = buffered(ball, 3, 2, [(1, 1)], 1, F(1, 16), F(9))
    receipt = rehearse(discrete_gaussian(stream, F(64), F(1, 16), "k"), Rehearsal(0))
    assert receipt.noisy("k", 0, zeros(2)).shape == (2,)
    with pytest.raises(ReceiptError, match="rows of 2 numbers, found 3"):
        receipt.noisy("k", 1, zeros(3))
    with pytest.raises(RuleError, match="give both one step"):
        rehearse(discrete_gaussian(stream, F(64), F(1, 8), "k"), Rehearsal(0))


def test_threads_never_get_one_part_twice():
    receipt = rehearse(theorem(draws=50), Rehearsal(0))
    got = []

    def draw():
        for part in range(50):
            with contextlib.suppress(ReceiptError):
                receipt.noisy("sums", part, zeros(2))
                got.append(part)

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(got) == list(range(50))
