"""Another time zone: the subject's modules are imported there; what is found counts in a new process."""

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from audits.datasets.bases import Pair
from audits.hypothesis_tests import elsewhere
from audits.hypothesis_tests.checks import check_of
from audits.hypothesis_tests.elsewhere import (
    _differs,
    _imported_again,
    failing_elsewhere,
    more_runs,
)
from audits.hypothesis_tests.judge import SearchResult
from audits.hypothesis_tests.search import gather
from audits.sandbox import data_guard
from audits.sandbox.fork import in_fork
from audits.subjects.code_constants import landmarks
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from mechanisms.laplace_sum import LaplaceSum
from tests.depth import deep
from tests.loading import on_path

with on_path([str(Path(__file__).parents[2] / "adversary")]):
    import careless_zones as zones


def compared(subject, most=200):
    proved = Proved(subject.proof(Fraction(0)))
    checks = [check_of(proved, each)[0] for each in proved.hypotheses]
    return proved, checks, more_runs(subject, proved, subject.domain(), landmarks(subject))[:most]


def differing(made_by):
    """Return which of the runs differ in another zone, of a subject imported again, and as it is."""
    subject = made_by()
    _, _, runs = compared(subject)

    def there():
        elsewhere.other_zone().move()
        return [
            [number for number, each in enumerate(runs) if _differs(which, *each)]
            for which in (subject, _imported_again(subject))
        ]

    return in_fork(there)


@pytest.mark.parametrize(
    ("made_by", "kept", "imported"),
    [
        (zones.ZoneOfTheImport, False, True),
        (zones.ShortDay, True, True),
        (zones.FastOnUtc, True, False),
        (zones.FastByALibrary, True, True),
    ],
)
def test_a_subject_is_imported_again_in_the_other_zone(made_by, kept, imported):
    assert [bool(each) for each in differing(made_by)] == [kept, imported]


def test_what_cannot_be_imported_again_runs_as_it_is():
    class Local(zones.Clock):
        pass

    for subject in (LaplaceSum(low=0, high=1), Local()):
        assert _imported_again(subject) is subject
    assert sys.modules["careless_zones"] is zones


def test_a_process_that_ends_elsewhere_names_the_zone():
    proved, checks, runs = compared(subject := zones.EndsElsewhere(), 1)
    with pytest.raises(InputError, match="with TZ=Pacific/Auckland the subject's code ended its process"):
        failing_elsewhere(subject, proved, checks, runs, lambda _: pytest.fail("nothing is searched"))


def found_at(made_by, at):
    """Return what comes of a search that finds the pair in which one time is replaced by `at`."""
    subject = made_by()
    proved, checks, runs = compared(subject)
    left = np.full((subject.rows, 1), zones.START)
    right = left.copy()
    right[0] = at
    pair = Pair(left, right, "low", 0, 1)
    seen = SearchResult(1, [], [], failed_on=dict.fromkeys(range(len(checks)), (pair, 0)))
    return failing_elsewhere(subject, proved, checks, runs, lambda _: seen)


@deep
@pytest.mark.parametrize(
    ("made_by", "at", "said"),
    [
        (zones.ShortDay, 1_601_150_000, True),  # on 27 September 2020 clocks change there
        (zones.ZoneOfTheImport, 1_601_496_000, True),  # it is 1 October there, and 30 September here
        (zones.FastByALibrary, 1_601_496_000, False),
    ],
)
def test_a_new_process_confirms_what_is_found_or_it_is_not_said(made_by, at, said):
    elsewhere = found_at(made_by, at)
    found = [each.wrong for each in elsewhere.failing if each is not None]
    assert not elsewhere.open
    assert bool(found) == said
    assert all(each.startswith("with TZ=Pacific/Auckland: sum") for each in found)


def test_what_no_new_process_can_repeat_is_no_finding_and_not_said_to_be_well():
    nameless = type("Nameless", (zones.ShortDay,), {"__module__": "careless_zones"})
    found = found_at(nameless, 1_601_150_000)
    assert not any(found.failing)
    assert found.open == "With TZ=Pacific/Auckland a test fails, which no new process could repeat."


@deep
def test_a_hypothesis_is_untested_where_no_new_process_can_repeat_what_fails():
    nameless = type("Nameless", (zones.ShortDay,), {"__module__": "careless_zones"})()
    found, suspect = gather(nameless, Proved(nameless.proof(Fraction(0))), examples=200, seed=0, files=[])
    assert {each.status for each in found} == {"untested"}
    assert any("which no new process could repeat" in note for note in suspect.notes)


def test_a_new_process_guards_the_same_files(tmp_path):
    file = tmp_path / "private.csv"
    file.write_text("1")

    def there():
        data_guard.guard_again([(file.stat().st_dev, file.stat().st_ino)])
        with pytest.raises(PermissionError):
            file.read_text()
        return data_guard.guarded() == [(file.stat().st_dev, file.stat().st_ino)]

    assert in_fork(there)
