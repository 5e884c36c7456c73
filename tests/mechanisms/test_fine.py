"""Gaussian noise on a grid: the distance from rounded noise, and the choice between two proofs."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpaccount.errors import RuleError
from dpaccount.proof.derivation import point, walk
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.shared.gaussian_noise import distance
from mechanisms.symmetric_gaussian import SymmetricGaussian
from tests.looped import looped

F = Fraction
DELTA = F(1, 10**6)


@looped("scale", [1.0, 1.5, 2.0, 5.0, 20.0])
def test_the_distance_bounds_the_true_total_variation_closely(scale):
    """At coarse grids, where the term matters: computed by summing both laws."""
    x = np.arange(-int(12 * scale) - 2, int(12 * scale) + 3)
    discrete = np.exp(-(x**2) / (2 * scale**2))
    rounded = stats.norm.cdf((x + 0.5) / scale) - stats.norm.cdf((x - 0.5) / scale)
    true = np.abs(discrete / discrete.sum() - rounded).sum() / 2
    bound = float(distance(F(scale), F(1), 1))
    assert true <= bound <= true * (1 + 1.2 / scale)


def test_distances_add_over_coordinates_and_fall_with_the_square_of_the_step():
    one = distance(F(8), F(1, 2**10), 1)
    assert distance(F(8), F(1, 2**10), 5) == 5 * one
    assert distance(F(8), F(1, 2**11), 1) == pytest.approx(one / 4, rel=1e-3)


def rules(theorem):
    return {part.rule for part in walk(theorem)}


def test_the_better_proof_is_taken():
    fine, coarse = GaussianSum(bits=20), GaussianSum(bits=0)
    assert "fine_gaussian" in rules(fine.proof(DELTA))
    assert "discrete_gaussian" in rules(coarse.proof(DELTA))
    assert point(fine.proof(DELTA)) < point(coarse.proof(DELTA))
    assert "fine_gaussian" in rules(SymmetricGaussian().proof(DELTA))


def test_finer_grids_never_cost_more():
    costs = [point(GaussianSum(bits=bits).proof(DELTA))[0] for bits in (0, 4, 8, 12, 16, 20, 24)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == pytest.approx(1.0607, abs=1e-4)  # the tight Gaussian curve of μ = ¼
    assert costs[0] == pytest.approx(1.1429, abs=1e-4)  # zCDP


def test_gaussian_noise_proves_nothing_at_delta_zero():
    with pytest.raises(RuleError):
        GaussianSum().proof(F(0))
    with pytest.raises(RuleError):
        SymmetricGaussian().proof(F(0))
