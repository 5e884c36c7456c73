"""Recording, replaying, and the likelihood ratio of known noise."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from audits.datasets.bases import Pair, dataset
from audits.datasets.domain_pairs import pairs
from audits.hypothesis_tests.checks import size_of
from audits.hypothesis_tests.replay import ReplayError, Run, differing, log_ratio, record, replay
from audits.hypothesis_tests.search import gather
from dpaccount.noise.laws import Law
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from mechanisms.binary_tree import BinaryTree
from mechanisms.exponential import Exponential
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.subject import Domain, View
from tests.depth import deep

DELTA = Fraction(1, 10**6)


def test_log_ratios_are_those_of_the_densities():
    released, here, there = np.array([3, -1]), np.array([0, 0]), np.array([1, 2])
    run, other = Run({("k", 0): here}, {("k", 0): released}, View()), Run({("k", 0): there}, {}, View())
    gauss = log_ratio(run, other, {"k": Law("gaussian", 2.0)})
    assert gauss == pytest.approx((((3 - 1) ** 2 + (-1 - 2) ** 2) - (3**2 + 1)) / 8)
    assert log_ratio(run, other, {"k": Law("laplace", 2.0)}) == pytest.approx((2 + 3 - 3 - 1) / 2)


def test_symmetric_log_ratio_counts_every_entry_once():
    """Off-diagonal variance σ², diagonal 2σ², from scipy's densities."""
    from scipy.stats import norm

    released = np.array([[2, 1], [1, -3]])
    zero, moved = np.zeros((2, 2), dtype=np.int64), np.array([[1, 2], [2, 0]])
    run, other = Run({("k", 0): zero}, {("k", 0): released}, View()), Run({("k", 0): moved}, {}, View())
    sd = np.array([[2**0.5, 1], [1, 2**0.5]]) * 3
    upper = np.triu_indices(2)
    exact = (norm.logpdf(released, zero, sd) - norm.logpdf(released, moved, sd))[upper].sum()
    assert log_ratio(run, other, {"k": Law("symmetric", 3.0)}) == pytest.approx(exact)


def test_a_replay_of_the_same_data_moves_nothing():
    subject = BinaryTree(rounds=9)
    data = dataset(subject.domain(), "uniform", 1)
    run = record(subject, data, rehearse(subject.proof(DELTA), Rehearsal(1)), 0)
    again = replay(subject, data, run, 0)
    assert differing(run, again, 1) is None
    assert log_ratio(run, again, {"node": Law("gaussian", 1.0)}) == 0


@dataclass(frozen=True)
class Stopper(GaussianSum):
    """Planted: releases only if the data says so."""

    def play(self, data, noise, coins):
        return super().play(data, noise, coins) if data[0, 0] > 0 else View()


@deep
def test_a_data_dependent_release_is_a_mismatch():
    subject = Stopper(rows=3)
    rich, poor = np.full((3, 3), 1.0), np.full((3, 3), -1.0)
    theorem = subject.proof(DELTA)
    run = record(subject, rich, rehearse(theorem, Rehearsal(1)), 0)
    with pytest.raises(ReplayError, match="never releases"):
        replay(subject, poor, run, 0)
    silent = record(subject, poor, rehearse(theorem, Rehearsal(1)), 0)
    with pytest.raises(ReplayError, match="releases 'sum'"):
        replay(subject, rich, silent, 0)
    found, _ = gather(subject, Proved(theorem), examples=60, seed=1, files=[])
    assert all(entry.status == "refuted" for entry in found)


class OneChoiceOrTwo(Exponential):
    """Planted: chooses twice, if the data says so; all scores are 0."""

    def play(self, data, noise, coins):
        scores = np.zeros((2, 4) if self.query(data)[0] else (4,), dtype=np.int64)
        return View(public={"choices": np.array([noise.noisy("choice", 0, scores).size])})


@pytest.mark.parametrize("first", [0, 1])
def test_a_neighbour_with_another_number_of_choices_is_a_mismatch(first):
    subject, data = OneChoiceOrTwo(rows=1), [np.zeros((1, 4)), np.ones((1, 4))]
    run = record(subject, data[first], rehearse(subject.proof(DELTA), Rehearsal(1)), 0)
    with pytest.raises(ReplayError, match="shape"):
        replay(subject, data[1 - first], run, 0)


@given(move=arrays(np.int64, st.tuples(st.integers(1, 3), st.integers(1, 3)), elements=st.integers(-9, 9)))
def test_the_range_of_several_choices_is_that_of_sums_over_all_their_outcomes(move):
    """By enumeration; the range of all scores together is too small, and passes a row that moves two."""
    sums = [sum(scores) for scores in product(*move.tolist())]
    assert size_of("range", move.ravel().tolist(), move.shape[-1]) == max(sums) - min(sums)


def view(own=None, public=None):
    return Run({}, {}, View(own=own or {}, public=public or {}))


def test_views_differ_by_what_others_see_only():
    base = view(own={"action": np.array([1, 2, 3])}, public={"x": np.array([1.0, np.nan])})
    own = view(own={"action": np.array([1, 9, 3])}, public={"x": np.array([1.0, np.nan])})
    assert differing(base, own, 2) is None
    assert "unit 2 differs" in differing(base, own, 1)
    public = view(own={"action": np.array([1, 2, 3])}, public={"x": np.array([1.5, np.nan])})
    assert "public x" in differing(base, public, 2)
    removed = view(own={"action": np.array([1, 3])}, public={"x": np.array([1.0, np.nan])})
    assert differing(base, removed, 2) is None
    assert differing(base, removed, 1) is not None
    assert differing(base, view(), 1) is not None


DOMAIN = Domain(5, (0.0, -2.0), (1.0, 3.0), (True, False))


@given(pairs(DOMAIN, "replace-one"))
def test_replace_one_pairs_differ_in_one_row_within_the_domain(pair: Pair):
    assert DOMAIN.contains(pair.left)
    assert DOMAIN.contains(pair.right)
    changed = np.flatnonzero((pair.left != pair.right).any(axis=1)) + 1
    assert set(changed) <= {pair.unit}


@given(pairs(DOMAIN, "add-remove"))
def test_add_remove_pairs_miss_one_row(pair: Pair):
    assert len(pair.right) == len(pair.left) - 1
    assert (np.delete(pair.left, pair.unit - 1, axis=0) == pair.right).all()


@deep
def test_the_search_reaches_the_declared_sensitivity():
    """The bound is tight, so a search that is biased to boundaries must attain it."""
    subject = LaplaceSum(rows=4, relation="add-remove", low=Fraction(-1), high=Fraction(3))
    found, suspect = gather(subject, Proved(subject.proof(DELTA)), examples=60, seed=1, files=[])
    assert {entry.worst for entry in found if entry.query == "laplace-sum"} >= {"9"}
    assert suspect.distance > 0
