"""How a query follows its row: judged exactly, at any distance, and on near pairs and far ones."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.datasets.bases import Pair
from audits.datasets.domain_pairs import pairs, stepping
from audits.datasets.records import records
from audits.datasets.tours import by_unit, star
from audits.hypothesis_tests.checks import Modulus, check_of, untested
from audits.hypothesis_tests.search import gather, search
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.proof import assume_lipschitz, centred, gaussian, k_norm, moved
from dpaccount.relation import REPLACE_ONE, adjacency, bounded_row, radius_of
from mechanisms.gaussian_rows import GaussianRows
from mechanisms.subject import Domain
from tests.depth import deep, examples
from tests.looped import looped

F = Fraction
RADIUS = bounded_row(F(1, 4))
DOMAIN = Domain(4, (-1.0, 0.0), (1.0, 3.0), (False, False))


@deep
@given(st.fractions(0, 9), st.fractions(0, 9), st.fractions(0, 3), st.fractions(0, 3), st.fractions(0, 9))
def test_no_root_is_needed_to_compare(size, way, factor, slack, reach):
    """For lengths that are fractions themselves the comparison is that of the lengths."""
    holds = size <= min(factor * way + slack, reach)
    assert (Modulus(factor, slack, reach).wrong(size**2, way**2) is None) == holds
    assert (Modulus(factor, slack, reach).wrong(size**2, None) is None) == (size <= reach)


def test_a_movement_a_little_too_large_is_seen():
    modulus = Modulus(F(1), F(1, 8), F(100))
    assert modulus.wrong(F(2) + F(1, 64) + F(3, 8), F(2)) is not None  # (√2 + 1/8)² is 2.3691…
    assert modulus.wrong(F(2) + F(1, 64) + F(35, 100), F(2)) is None


@deep
@examples(300)
@given(pairs(DOMAIN, RADIUS, (0.5,)))
def test_pairs_of_a_radius_are_neighbours_in_the_domain(pair):
    assert pair.neighbours(RADIUS)
    assert pair.squared_distance <= F(1, 16)
    assert DOMAIN.contains(pair.left)
    assert DOMAIN.contains(pair.right)
    assert (pair.left != pair.right).any(axis=1).sum() <= 1


def test_named_pairs_of_a_radius_are_neighbours_and_reach_it():
    some = records(DOMAIN, (0.5, 1.0), (), ())[::9]
    found = [*star(DOMAIN, RADIUS, "uniform", 2, some), *by_unit(DOMAIN, RADIUS, "low", [1, 2])]
    found += stepping(DOMAIN, RADIUS)
    assert all(pair.neighbours(RADIUS) for pair in found)
    assert max(pair.squared_distance for pair in found) > F(1, 16) * (1 - F(1, 10**6))
    assert not all(pair.neighbours(RADIUS) for pair in by_unit(DOMAIN, REPLACE_ONE, "low", [1, 2]))


@deep
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
    st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
)
def test_pulling_ends_within_the_radius_exactly(here, other):
    found = adjacency(RADIUS).nearest(np.array(here), np.array(other))
    assert Pair(np.array([here]), found[None], "", unit=1).squared_distance <= F(1, 16)


@looped(
    "text",
    [
        "bounded-row",
        "bounded-row, radius 0",
        "bounded-row, radius 2/4",
        "bounded-row, radius -1",
        REPLACE_ONE,
    ],
)
def test_other_words_are_no_radius(text):
    assert radius_of(text) is None
    assert radius_of(bounded_row(F(3, 4))) == F(3, 4)


@dataclass(frozen=True)
class Whole(GaussianRows):
    """Reads whole numbers, between which there is no way."""

    def domain(self):
        wide = super().domain()
        return Domain(wide.rows, wide.low, wide.high, (True,) * self.columns)


def test_whole_numbers_are_no_convex_set():
    subject = Whole(unit=F(1), rows=3)
    with pytest.raises(InputError, match="a column of the domain is whole"):
        gather(subject, Proved(subject.proof(F(1, 100))), examples=5, seed=1, files=[])


@deep
def test_the_pair_under_attack_is_one_of_neighbours_though_others_are_tried():
    subject = GaussianRows(unit=F(1, 8), rows=3)
    proved = Proved(subject.proof(F(1, 100)))
    checks = [check_of(proved, each)[0] for each in proved.hypotheses]
    seen = search(subject, proved, checks, examples=10, seed=1, sweep=True)
    assert seen.best.pair.neighbours(subject.relation)
    assert max(seen.worst) > 1  # replaced rows move much further
    assert not any(seen.failing)


def test_a_query_that_is_transformed_after_has_no_test():
    points = assume_lipschitz("rows", F(1), F(1), F(9), "movement")
    plain = Proved(k_norm(moved(points, F(1)), F(1), F(2), F(1, 4), "row"))
    assert check_of(plain, plain.hypotheses[0])[1] == "at most 1 times its row's move plus 1, at most 9"
    changed = Proved(gaussian(centred(moved(points, F(1)), 4), F(1), "row"))
    by_rule = {each.rule: check_of(changed, each) for each in changed.hypotheses}
    assert by_rule["assume_lipschitz"] == (untested, "no release of rows is tested")
