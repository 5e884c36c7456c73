"""Bounding is tested on tables in which a person's rows stand apart; every way to get it wrong is found."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import numpy as np
import pytest

from audits.hypothesis_tests.search import check_bounding, gather, steps_between
from audits.subjects.catalogue import make
from dpaccount.documents import Place
from dpaccount.noise.proved import Proved
from mechanisms.clipped_mean import ClippedMean
from mechanisms.histogram import Histogram
from mechanisms.subject import Domain, View
from mechanisms.table import Column, Table
from mechanisms.table.cells import identity_of
from mechanisms.table.rows import bounded
from mechanisms.table.user_level import ByPerson, by_person
from tests.depth import deep

DELTA = Fraction(1, 10**6)
COLUMNS = (
    Column("age", "number", Fraction(0), Fraction(3)),
    Column("city", "category", values=("a", "b"), other=True),
)


def of(made_by, relation="replace-one", **parameters):
    table = Table(COLUMNS, 12, "who", 2)
    return by_person(made_by, Place(parameters, "claim.toml"), table, relation, make)[0]


def together(batches):
    """Return all rows as one batch."""
    owners, digests, rows = zip(*batches, strict=True)
    return [*chain(*owners)], np.concatenate(digests), np.concatenate(rows)


def after_grouping(batches, max_rows, default):
    """Count every row of a person: the bound comes too late."""
    return bounded(batches, 3 * max_rows, default)


def first_appearance(batches, max_rows, default):
    """Give slots in the order in which persons appear."""
    batches = list(batches)
    order, persons = bounded(batches, max_rows, default)
    seen = list(dict.fromkeys(str(identity_of(who)) for who in together(batches)[0]))
    return seen, persons[[order.index(who) for who in seen]]


def chosen_by_all(batches, max_rows, default):
    """Choose which rows of a person count by a number that everybody's rows decide."""
    owners, digests, rows = together(batches)
    if rows[:, 0].sum() % 2 >= 1:
        digests = ~digests
    return bounded([(owners, digests, rows)], max_rows, default)


def batch_by_batch(batches, max_rows, default):
    """Bound each batch by itself: of a person in several the last one counts."""
    found = {}
    for batch in batches:
        found |= dict(zip(*bounded([batch], max_rows, default), strict=True))
    order = sorted(found)
    return order, np.array([found[who] for who in order])


@deep
@pytest.mark.parametrize(
    "twin", [after_grouping, first_appearance, chosen_by_all, batch_by_batch], ids=lambda twin: twin.__name__
)
def test_a_wrong_bounding_is_found(twin):
    found = [
        check_bounding(of(made, relation, **given), examples=100, seed=1, bound=twin)[2]
        for made, relation, given in (
            (ClippedMean, "replace-one", {"column": "age"}),
            (Histogram, "replace-one", {"column": "city"}),
        )
    ]
    assert all(each is not None for each in found)
    assert all(each.wrong for each in found)


@deep
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_what_is_assumed_of_rows_and_of_persons_is_tested_where_it_belongs(relation):
    for made, given in ((ClippedMean, {"column": "age"}), (Histogram, {"column": "city"})):
        subject = of(made, relation, **given)
        proved = Proved(subject.proof(DELTA))
        found, suspect = gather(subject, proved, examples=24, seed=1, files=[])
        assert [each.step for each in found] == [each.digest for each in proved.hypotheses]
        assert {each.status for each in found} == {"tested"}
        about = {each.rule: each.relation for each in found}
        assert about.pop("assume_persons") == relation
        assert set(about.values()) == {subject.mechanism.relation}
        assert suspect.distance > 0


class Leaking(ByPerson):
    """Lets more of a person's rows through than it says."""

    def table(self, data):
        return np.concatenate([super().table(data)] * 2)


@deep
def test_more_rows_than_are_proved_for_are_found():
    subject = of(ClippedMean, column="age")
    leaking = Leaking(subject.mechanism, subject.rows, subject.max_rows, subject.relation)
    found, _ = gather(leaking, Proved(leaking.proof(DELTA)), examples=60, seed=1, files=[])
    assert {each.status for each in found if each.rule == "assume_persons"} == {"refuted"}


@dataclass(frozen=True)
class Narrow(Histogram):
    """Sums numbers as they are, which are 2 or 3 by its domain: a replaced one moves it by 1."""

    def domain(self):
        return Domain(self.rows, (2.0,), (3.0,), (True,))

    def query(self, data):
        return np.array([data.sum()]).astype(np.int64)


@deep
def test_a_row_beyond_the_domain_stands_for_nobody():
    """A number in [2, 3] moves by 1, or by 3 where a row that is not there counts as 0."""
    assert of(Narrow, column="city").mechanism.relation == "add-remove"
    wrong = ByPerson(Narrow(rows=24, cells=1), 12, 2, "replace-one")
    assert "beyond its domain" in check_bounding(wrong, examples=60, seed=1)[2].wrong


def test_steps_between_tables():
    rows = np.arange(6.0)[:, None]
    without = np.delete(rows, [2, 3], axis=0)
    assert steps_between(rows, without, coming_and_going=True) == 2
    assert steps_between(rows, rows, coming_and_going=True) == 0
    other = rows.copy()
    other[2:4] = 9
    assert steps_between(rows, other, coming_and_going=True) == 4
    assert steps_between(rows, other, coming_and_going=False) == 2
    assert steps_between(rows[:0], rows, coming_and_going=True) == 6
    assert steps_between(rows, without, coming_and_going=False) > 6


@dataclass(frozen=True)
class Quorum(Histogram):
    """Puts a line under tables of 17 rows and more."""

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        return View(public={**view.public, "line": np.array(len(data) >= 17)})


@deep
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_number_of_rows_that_the_code_asks_for_is_met_where_units_are_persons(relation):
    subject = ByPerson(Quorum(rows=24, cells=2, relation="add-remove"), 12, 2, relation)
    found, _ = gather(subject, Proved(subject.proof(DELTA)), examples=8, seed=1, files=[])
    assert {each.status for each in found if each.rule == "assume_view"} == {"refuted"}
