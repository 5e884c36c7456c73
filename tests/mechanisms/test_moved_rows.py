"""Rows released one by one: proofs at a radius and of replaced rows, and what broken ones lose."""

import inspect
from fractions import Fraction

import numpy as np
import pytest

from audits.datasets.bases import Pair, dataset
from audits.hypothesis_tests.checks import check_of
from audits.hypothesis_tests.search import search
from audits.subjects.catalogue import example_values
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import point, write
from dpaccount.relation import REPLACE_ONE, bounded_row, radius_of
from mechanisms.gaussian_rows import GaussianRows
from mechanisms.k_norm import KNorm
from mechanisms.shared import grid, moved_rows
from tests.depth import deep
from tests.looped import looped
from tests.mechanisms.catalogued import mechanisms
from tests.planted import moved_rows_twins

F = Fraction
DELTA = F(1, 10**6)
MOVED = [KNorm, GaussianRows, *(entry.made_by for entry in mechanisms() if entry.name == "fixed-map")]
TWINS = [
    twin for _, twin in inspect.getmembers(moved_rows_twins, inspect.isclass) if twin.__dict__.get("loses")
]


@looped("made_by", MOVED)
def test_a_unit_costs_less_than_a_replaced_row_and_both_are_proved(made_by):
    costs = []
    for unit in (F(1, 100), F(1, 2), F(1), F(0)):
        subject = made_by(unit=unit)
        theorem = subject.proof(DELTA)
        assert theorem.conclusion.relation == subject.relation
        assert radius_of(subject.relation) == (unit or None)
        assert write(subject.replaced(DELTA)) == write(made_by(unit=F(0)).proof(DELTA))
        costs.append(point(theorem)[0])
    assert costs == sorted(costs)
    assert costs[0] < costs[-1] / 4


@looped("made_by", MOVED)
def test_a_unit_beyond_the_ball_costs_what_a_replaced_row_costs(made_by):
    far = made_by(unit=F(100)).proof(DELTA)
    assert point(far) == point(made_by().replaced(DELTA))
    assert far.conclusion.relation == bounded_row(F(100)) != REPLACE_ONE


def test_k_norm_costs_a_unit_with_its_grid():
    """rate·(r + γ√d), with the root and the projection's errors rounded up."""
    subject = KNorm(unit=F(1, 4), rate=F(2), columns=4, bits=6)
    exact = F(2) * (F(1, 4) + F(2, 64))
    assert exact <= point(subject.proof(F(0)))[0] <= exact + F(1, 10**8)


def test_a_negative_unit_is_refused():
    for made_by in MOVED:
        with pytest.raises(InputError, match="unit"):
            made_by(unit=F(-1))


@looped("columns", [1, 2, 3, 7, 16])
def test_rows_in_a_ball_follow_their_points_exactly(columns):
    """Exact fractions: near pairs, far ones, across the sphere, across zero and across steps of the grid."""
    rng = np.random.default_rng(columns)
    for bits, radius in ((2, F(1)), (6, F(3, 2)), (20, F(25)), (40, F(1, 3))):
        more = moved_rows.slack(radius, columns, bits)
        for _ in range(60):
            here = rng.normal(0, float(radius), columns) * rng.choice([1e-9, 0.3, 1, 5])
            there = here + rng.normal(0, 1, columns) * rng.choice([1e-12, 2.0**-bits, 0.1, 3]) * float(radius)
            pair = Pair(here[None], there[None], "", unit=1)
            units = grid.in_ball(np.stack([here, there]), radius, bits).tolist()
            moved = sum((F(a) - F(b)) ** 2 for a, b in zip(*units, strict=True)) * grid.step(bits) ** 2
            excess = moved - pair.squared_distance - more**2
            assert excess <= 0 or excess**2 <= 4 * more**2 * pair.squared_distance
            assert moved <= 4 * radius**2


def test_grids_need_their_term():
    """Two points nearer than a step, whose rows are √d steps apart."""
    here, there = np.full((1, 9), 0.25), np.full((1, 9), np.nextafter(0.25, 0))
    a, b = (grid.in_ball(side, F(10), 2) for side in (here, there))
    assert np.abs(a - b).sum() == 9


@deep
@pytest.mark.parametrize("made_by", [KNorm, GaussianRows])
def test_rows_keep_their_places(made_by):
    """With little noise every row is shown near where it is: no row is lost, and none is another's."""
    few = {"rows": 5} | ({"rate": F(10**4)} if made_by is KNorm else {"sigma": F(1, 200)})
    subject = made_by(**{**example_values(made_by), **few})
    data = dataset(subject.domain(), "uniform", 4)
    shown = subject.play(data, rehearse(subject.proof(F(1, 100)), Rehearsal(1)), 3).public["rows"]
    assert np.abs(shown - subject.query(data) * 2.0**-subject.bits).max() < 0.05


@deep
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_a_broken_one_loses_the_hypothesis_that_it_says(twin):
    """Its hypotheses are searched for 60 examples at most, at a radius where it has one."""
    claims_all = twin is moved_rows_twins.GaussianRowsReplacedForAUnit
    unit = {} if claims_all else {"unit": F(1)}
    subject = twin(**{**example_values(twin), "rows": 4, **unit})
    proved = Proved(subject.proof(DELTA))
    checks = [check_of(proved, each)[0] for each in proved.hypotheses]
    seen = search(subject, proved, checks, examples=60, seed=1, sweep=True)
    lost = {each.rule for each, failing in zip(proved.hypotheses, seen.failing, strict=True) if failing}
    assert twin.loses in lost, lost
