"""Rows released through maps: exact stretches, places, and what broken ones lose."""

import inspect
from fractions import Fraction

import numpy as np
import pytest

from audits.datasets.bases import dataset
from audits.hypothesis_tests.checks import check_of
from audits.hypothesis_tests.search import search
from audits.subjects.catalogue import example_values
from bandits import fixed_map
from bandits.fixed_map import FixedMap
from bandits.projection import Projection
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from tests.bandits.planted import mapped_rows_twins
from tests.depth import deep
from tests.looped import looped
from tests.mechanisms.test_exact import NEAR, assert_proved

F = Fraction
DELTA = F(1, 10**6)
TWINS = [twin for _, twin in inspect.getmembers(mapped_rows_twins, inspect.isclass) if "loses" in vars(twin)]


@looped(("columns", "dimension"), [(1, 1), (2, 2), (3, 2), (2, 5), (6, 6), (12, 3)])
def test_the_stretch_of_a_map_is_an_upper_bound_close_to_it(columns, dimension):
    for seed in range(5):
        steps = fixed_map.in_steps(np.random.default_rng(seed).standard_normal((columns, dimension)))
        near = np.linalg.norm(steps / 2**fixed_map.MAP_BITS, 2)
        bound = fixed_map.stretch_of(steps)
        assert near * (1 - 1e-12) < bound < near * (1 + 1e-6) + 1e-6
        exact = [[F(x, 2**fixed_map.MAP_BITS) for x in row] for row in steps.tolist()]
        for row in np.random.default_rng(seed + 9).integers(-9, 10, (20, columns)).tolist():
            image = [sum(x * m[j] for x, m in zip(row, exact, strict=True)) for j in range(dimension)]
            assert sum(y * y for y in image) <= bound**2 * sum(x * x for x in row)


def test_the_stretch_of_nothing_and_of_one_number():
    assert 0 < fixed_map.stretch_of(np.zeros((3, 2), dtype=np.int64)) < F(1, 10**8)
    assert F(3) <= fixed_map.stretch_of(np.array([[3 * 2**fixed_map.MAP_BITS]])) < F(3) + F(1, 10**7)


def test_an_orthonormal_map_stretches_by_one():
    for columns, dimension in ((3, 2), (2, 5), (4, 4)):
        stretch = fixed_map.stretch_of(FixedMap(columns=columns, dimension=dimension).map)
        assert F(99, 100) < stretch < F(101, 100)


def test_rows_keep_their_places():
    """With little noise every row is shown near where it is: no row is lost, and none is another's."""
    subject = FixedMap(rows=5, sigma=F(1, 200))
    data = dataset(subject.domain(), "uniform", 4)
    shown = subject.play(data, rehearse(subject.proof(F(1, 100)), Rehearsal(1)), 3).public
    assert np.abs(shown["rows"] - subject.query(data) * 2.0**-26).max() < 0.05


@deep
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_a_broken_one_loses_the_hypothesis_that_it_says(twin):
    """Its hypotheses are searched for 60 examples at most, at a radius where it has one."""
    unit = {"unit": F(1)} if hasattr(twin, "unit") else {}
    subject = twin(**{**example_values(twin), "rows": 4, **unit})
    proved = Proved(subject.proof(DELTA))
    checks = [check_of(proved, each)[0] for each in proved.hypotheses]
    seen = search(subject, proved, checks, examples=60, seed=1, sweep=True)
    lost = {each.rule for each, failing in zip(proved.hypotheses, seen.failing, strict=True) if failing}
    assert twin.loses in lost, lost


@deep
def test_the_true_divergence_of_noisy_rows_is_at_most_the_proof():
    few = Projection(rows=2, columns=1, bits=0, sigma=F(3), radius=NEAR)
    assert_proved(few, [(0.0,), (1.0,), (-1.0,)], (1e-3,))
