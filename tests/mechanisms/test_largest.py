"""What a row adds to a total is at most `largest`, and some row adds about as much: totals beyond it are no rows'."""

import numpy as np
import pytest

from audits.claim import read_claim
from audits.subjects.catalogue import entries, find, make, subject_of
from mechanisms.subject import Additive
from mechanisms.table.user_level import named
from tests.audits.certificate.test_tables import claim_on, reads
from tests.looped import looped

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


@pytest.mark.parametrize("members", STUDIES)
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_no_row_adds_more_than_the_largest_of_a_statistic(tmp_path, members, delta, relation):
    claim = read_claim(
        claim_on(tmp_path, "noisy-statistics", members, relation=relation, delta=delta, epsilon=10)
    )
    study = named(subject_of(claim))
    assert_largest(study, np.random.default_rng(3), 4)  # norms of vectors, in each number
