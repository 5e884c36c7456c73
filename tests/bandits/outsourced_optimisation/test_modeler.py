"""The modeler: its posterior is the exact one, its kernel the expectation that it says, its indices whole."""

import math

import numpy as np
import pytest

from bandits.outsourced_optimisation.kernels import RowKernel, scaled, squared_distances
from bandits.outsourced_optimisation.likelihood import fitted
from bandits.outsourced_optimisation.modeler import AS_PUBLISHED, NOISE_AWARE, Acquisition, Modeler, beta
from bandits.outsourced_optimisation.posterior import RowPosterior
from dpaccount.errors import InputError
from tests.depth import deep
from tests.looped import looped


def points(n=60, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * 3


@looped("spread", [0.0, 0.4, (0.1, 0.9)])
def test_the_posterior_is_that_of_the_textbook(spread):
    """By the n × n formulas of section 2, over more answers than the first room of rows holds."""
    rows, kernel, noise = points(), RowKernel(2.0, 1.7, spread), 0.01
    flat = kernel.flat(rows)
    full = kernel.of(squared_distances(flat, flat), 2)
    np.fill_diagonal(full, kernel.scale)
    rng, asked = np.random.default_rng(1), [*range(0, 55, 5), 0]
    answers, found = rng.normal(size=len(asked)), RowPosterior(rows, kernel, noise, 0.3)
    for index, answer in zip(asked, answers, strict=True):
        found.tell(index, float(answer))
    inner = np.linalg.inv(full[np.ix_(asked, asked)] + noise * np.eye(len(asked)))
    across = full[:, asked]
    assert np.allclose(found.means, 0.3 + across @ inner @ (answers - 0.3), atol=1e-8)
    assert np.allclose(
        found.variances, kernel.scale - np.einsum("ij,jk,ik->i", across, inner, across), atol=1e-8
    )


@pytest.mark.statistical(1e-8)
@pytest.mark.parametrize("spread", [0.3, (0.1, 0.6, 0.0)])
def test_the_kernel_of_noisy_rows_is_the_expectation_over_where_they_are(spread, depth):
    """Mean of 400 000 draws; the tolerance is over 6 of its standard deviations."""
    kernel, gap, rng = RowKernel(1.5, 2.0, spread), np.array([1.0, -0.5, 0.2]), depth.rng(2)
    moved = gap + rng.normal(size=(400_000, 3)) * np.sqrt(2 * np.asarray(spread))
    exact = 2.0 * np.exp(-(moved**2).sum(axis=1) / (2 * 1.5**2))
    flat = kernel.flat(gap)
    assert kernel.of(np.array([flat @ flat]), 3)[0] == pytest.approx(exact.mean(), abs=6 * exact.std() / 632)
    assert kernel.floor(3) == pytest.approx(2.0 - kernel.of(np.zeros(1), 3)[0])
    assert RowKernel(1.5, 2.0).floor(3) == 0


def test_the_paper_s_confidence():
    assert beta(10_000, 1) == pytest.approx(2 * math.log(10_000 * math.pi**2 / 0.15))
    assert beta(10_000, 50) > beta(10_000, 2)


def test_a_known_number_of_queries_widens_the_search_first_and_narrows_it_last():
    rule = Acquisition(3.0, unseen=True, rounds=50)
    widths = [rule.deviations(10_000, t) for t in range(1, 51)]
    assert widths[:31] == [3.5] * 31
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == pytest.approx(2 + 1.5 / 20)
    assert rule.deviations(10_000, 80) == 2  # asked more than was said
    assert Acquisition(3.0).deviations(10_000, 80) == 3
    with pytest.raises(InputError, match="rounds is 0"):
        Acquisition(3.0, rounds=0)


def test_asking_changes_nothing_and_no_row_is_asked_twice():
    rows = points(12)
    modeler = Modeler(rows, RowKernel(2.0), first=7)
    for t in range(12):
        index = modeler.ask()
        assert modeler.ask() == index
        modeler.tell(index, math.sin(t))
    assert sorted(modeler.posterior.asked) == list(range(12))
    with pytest.raises(InputError, match="all 12 rows have been asked"):
        modeler.ask()


def test_it_finds_the_best_row_of_a_smooth_function():
    rows = points(400)
    values = 3 * np.exp(-((rows - [1.0, 1.0]) ** 2).sum(axis=1) / 18)
    for rule in (AS_PUBLISHED, NOISE_AWARE):
        modeler = Modeler(rows, RowKernel(3.0), first=0, rule=rule)
        for _ in range(40):
            index = modeler.ask()
            modeler.tell(index, float(values[index]))
        assert values[modeler.posterior.asked].max() >= np.sort(values)[-3]


@looped(
    ("index", "answer", "said"),
    [
        (12, 1.0, "numbered 0 to 11"),
        (-1, 1.0, "numbered 0 to 11"),
        (3, math.nan, "finite number"),
        (7, 1.0, "once"),
    ],
)
def test_what_cannot_be_told_is_refused_and_changes_nothing(index, answer, said):
    modeler = Modeler(points(12), RowKernel(2.0), first=7)
    modeler.tell(7, 0.5)
    before = modeler.ask()
    with pytest.raises(InputError, match=said):
        modeler.tell(index, answer)
    assert modeler.ask() == before
    assert modeler.posterior.asked == [7]


def test_rows_that_are_no_table_are_refused():
    for rows in (np.array([[1.0, math.nan]]), np.zeros((0, 2)), np.zeros(3)):
        with pytest.raises(InputError, match="no table of finite numbers"):
            Modeler(rows, RowKernel(1.0), first=0)
    with pytest.raises(InputError, match="numbered 0 to 2"):
        Modeler(np.zeros((3, 1)), RowKernel(1.0), first=3)


def test_lengths_are_found_and_a_learner_that_learns_them_goes_on_with_all_answers():
    rows = points(150, seed=3)
    kernel = np.exp(-squared_distances(rows, rows) / (2 * 2.0**2))
    values = np.linalg.cholesky(kernel + 1e-8 * np.eye(150)) @ np.random.default_rng(4).normal(size=150)
    found, _ = fitted(rows, values, 1e-6, 0.0)
    assert 1.4 < found.length < 2.8
    modeler = Modeler(rows, RowKernel(20.0), first=0, learn=True)
    for _ in range(16):
        index = modeler.ask()
        modeler.tell(index, float(values[index]))
    assert modeler.kernel.length < 10
    assert len(modeler.posterior.asked) == 16
    with pytest.raises(InputError, match="one point"):
        fitted(np.zeros((4, 2)), np.arange(4.0), 1e-6, 0.0)


def test_coordinates_of_different_length_are_scaled_to_one():
    rows = points(5)
    assert np.allclose(scaled(rows, np.array([2.0, 0.5])), rows / [2.0, 0.5])
    for wrong in (np.array([1.0]), np.array([1.0, 0.0])):
        with pytest.raises(InputError, match="2 lengths above 0"):
            scaled(rows, wrong)


@deep
def test_memory_is_that_of_the_queries():
    """36 000 rows and 100 answers: no n × n matrix (10 GB) is made."""
    rows = points(36_000, 3)
    modeler = Modeler(rows, RowKernel(2.0), first=0)
    for t in range(100):
        modeler.tell(modeler.ask() if t < 3 else t * 100 + 7, math.cos(t))
    assert modeler.posterior._rows.nbytes <= 128 * 36_000 * 8
    assert 0 <= modeler.ask() < 36_000
