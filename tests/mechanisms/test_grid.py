"""Grids: rows on them, Gaussian noise as near to rounded noise as is proved, what a row adds at most."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from audits.claim import read_claim
from audits.subjects.catalogue import entries, find, make, subject_of
from dpaccount.errors import InputError, RuleError
from dpaccount.proof import point, walk
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.shared.gaussian_noise import distance
from mechanisms.shared.grid import clipped, in_ball, step
from mechanisms.subject import Additive
from mechanisms.symmetric_gaussian import SymmetricGaussian
from mechanisms.table.user_level import named
from tests.audits.certificate.test_tables import claim_on, reads
from tests.depth import deep
from tests.looped import looped

anything = st.floats(allow_nan=True, allow_infinity=True)


@deep
@given(arrays(np.float64, 5, elements=anything), st.integers(0, 30))
def test_clipped_values_lie_in_the_interval_exactly(values, bits):
    low, high = Fraction(-1, 3), Fraction(5, 7)
    for unit in clipped(values, low, high, bits):
        assert low <= int(unit) * step(bits) <= high


@deep
@given(
    arrays(np.float64, (3, 4), elements=anything),
    st.sampled_from([Fraction(1), Fraction(1, 3), Fraction(7)]),
    st.integers(0, 25),
)
def test_rows_lie_in_the_ball_exactly(rows, radius, bits):
    for row in in_ball(rows, radius, bits):
        assert sum(int(v) ** 2 for v in row) <= (radius * 2**bits) ** 2


def test_values_inside_are_kept_to_the_grid():
    assert clipped(np.array([0.25, -0.75, 0.3]), Fraction(-1), Fraction(1), 2).tolist() == [1, -3, 1]
    assert in_ball(np.array([[0.6, 0.0]]), Fraction(1), 4).tolist() == [[9, 0]]


def test_ranges_without_grid_points_or_beyond_integers_are_refused():
    with pytest.raises(InputError, match="finer"):
        clipped(np.zeros(1), Fraction(1, 3), Fraction(2, 5), 1)
    with pytest.raises(InputError, match="coarser"):
        clipped(np.zeros(1), Fraction(0), Fraction(2**40), 40)


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


SUMS = [
    entry.name
    for entry in entries()
    if entry.layer == "mechanisms" and (issubclass(entry.made_by, Additive) or entry.name == "arm-means")
]


def rows_of(domain, rng):
    """Return rows with the ends of the domain, and their middles, among uniform ones."""
    low, high = np.array(domain.low), np.array(domain.high)
    share = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], (300, len(low)))
    share[100:] = rng.random((200, len(low)))
    share[:2] = np.array([[0.0], [1.0]])
    return domain.clamped(low + share * (high - low))


def assert_largest(mechanism, rng, loose=2):
    rows = rows_of(mechanism.domain(), rng)
    each = np.array([np.abs(mechanism.query(rows[k : k + 1])).max() for k in range(len(rows))])
    assert each.max() <= mechanism.largest <= loose * each.max() + 1
    assert np.abs(mechanism.query(rows)).max() <= len(rows) * mechanism.largest


@deep(quick_every=2)
@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_no_row_adds_more_than_the_largest(tmp_path, name, relation):
    claim = read_claim(claim_on(tmp_path, name, reads(name), relation=relation))
    assert_largest(named(subject_of(claim)), np.random.default_rng(1))


@looped("name", sorted({*SUMS} - {"arm-means"}))  # that one follows from a table
def test_no_row_adds_more_than_the_largest_of_the_example(name):
    assert_largest(make(find(name).made_by, None, examples=True), np.random.default_rng(2))


def statistic(what, members):
    return f'[[subject.parameters.statistic]]\nname = "{what}"\nwhat = "{what}"\n{members}\n'


STUDIES = [
    statistic(what, f'column = "{column}"\n{by}')
    for what, column in (("sum", "y"), ("sum", "x"), ("mean", "x"), ("variance", "y"), ("median", "y"))
    for by in ("", 'by = ["city"]')
]
STUDIES += [statistic("regression", 'column = "y"\non = ["x"]'), statistic("count", 'by = ["city", "seen"]')]


@deep(quick_every=2)
@pytest.mark.parametrize("members", STUDIES)
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_no_row_adds_more_than_the_largest_of_a_statistic(tmp_path, members, delta, relation):
    claim = read_claim(
        claim_on(tmp_path, "noisy-statistics", members, relation=relation, delta=delta, epsilon=10)
    )
    study = named(subject_of(claim))
    assert_largest(study, np.random.default_rng(3), 4)  # norms of vectors, in each number
