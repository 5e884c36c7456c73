"""Protection of a group of k rows protects a person of whom k rows count."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from audits.attack.white_box import targets
from audits.consistency.verdict import asserts
from audits.subjects.catalogue import make
from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.proof import REPLACE_ONE, assume_points, differences, lattice_gaussian
from dpaccount.proof.search import approximate
from mechanisms.clipped_mean import ClippedMean
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.histogram import Histogram
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.quantile import Quantile
from mechanisms.subject import View
from mechanisms.table import Column, Table
from mechanisms.table.user_level import ByPerson, by_person
from tests.depth import deep

F = Fraction
DELTA = F(1, 10**6)
AGE = Column("age", "number", F(1), F(3))
CITY = Column("city", "category", values=("a", "b"), other=True)


def of(made_by, relation=REPLACE_ONE, max_rows=3, **parameters):
    place = Place(parameters, "claim.toml")
    return by_person(made_by, place, Table((AGE, CITY), 20, "who", max_rows), relation, make)[0]


def test_rows_are_replaced_where_one_may_have_nothing_in_it_and_else_come_and_go():
    assert (of(Histogram, column="city").mechanism.relation, of(Histogram, column="city").steps) == (
        REPLACE_ONE,
        3,
    )
    assert (of(ClippedMean, column="age").mechanism.relation, of(ClippedMean, column="age").steps) == (
        "add-remove",
        6,
    )
    assert of(ClippedMean, "add-remove", column="age").steps == 3
    # a number in [1, 3] has no zero, so that a row with nothing in it would count
    assert of(LaplaceSum, column="age").mechanism.relation == "add-remove"
    with pytest.raises(InputError, match="let one row of a person count"):
        of(Quantile, column="age")


@deep
def test_a_histogram_of_persons_costs_at_least_what_its_shifts_do_and_little_more():
    subject = of(Histogram, column="city", sigma=F(16))
    proved, delta = Proved(subject.proof(DELTA)).point
    vectors = [(a, b, c) for a in range(4) for b in range(4 - a) for c in range(4 - a - b)]
    exact = lattice_gaussian(differences(assume_points("q", vectors, REPLACE_ONE, "t")), F(256), "q")
    least, _ = Proved(approximate(exact, DELTA)).point
    assert delta == DELTA
    assert least <= proved <= least * F(6, 5)


def test_pure_privacy_of_persons_is_so_many_times_that_of_rows():
    for relation, steps in ((REPLACE_ONE, 6), ("add-remove", 3)):
        subject = of(LaplaceSum, relation, column="age", scale=F(10))
        row, _ = Proved(subject.mechanism.proof(F(0))).point
        assert Proved(subject.proof(F(0))).point == (row * steps, 0)


@deep
def test_what_is_proved_grows_with_the_rows_of_a_person():
    epsilons = [
        Proved(of(GaussianSum, columns=["age"], max_rows=k, sigma=F(40)).proof(DELTA)).point[0]
        for k in (2, 3, 5)
    ]
    assert epsilons == sorted(epsilons)
    assert epsilons[0] < epsilons[-1]


def test_the_mechanism_gets_the_rows_that_count():
    subject = of(Histogram, column="city")
    data = np.array([[2, 0, 1, 2], [0, 1, 1, 1], [3, 2, 2, 2]], dtype=float)
    assert replace(subject, rows=3).table(data).ravel().tolist() == [0, 1, -1, -1, -1, -1, 2, 2, 2]
    coming = of(ClippedMean, column="age")
    assert replace(coming, rows=3).table(data).ravel().tolist() == [0, 1, 2, 2, 2]
    assert isinstance(subject, ByPerson)
    assert subject.domain().contains(np.tile(data[:1], (20, 1)))


def test_a_curve_for_rows_asserts_nothing_of_persons():
    """An attack on the proof of persons must not be judged by what one row costs; both programs agree."""
    subject = of(ClippedMean, column="age", scale=F(10), count_scale=F(10))
    of_rows, of_persons = Proved(subject.mechanism.proof(F(0))), Proved(subject.proof(F(0)))
    (target, *_) = targets(of_rows, F(1), F(0), 1)[1:]
    assert targets(of_persons, F(1), F(0), 1)[1:] == []
    point = {"limit": str(target.limit), "delta": str(target.delta)}
    assert asserts({"proved": {"derivation": of_rows.steps}}, point)
    assert not asserts({"proved": {"derivation": of_persons.steps}}, point)


class Bare:
    """A mechanism that says neither what it reports nor how accurate it is."""


def test_a_mechanism_that_says_no_accuracy_reports_what_it_shows():
    persons = ByPerson(Bare(), 5, 2, REPLACE_ONE)
    view = View(public={"sum": np.array([3])})
    assert (persons.report(view), persons.accuracy(view)) == ({"sum": [3]}, {})
