"""What the property tests construct: places in time, odd entries of tables, series, totals; nobody's field."""

import os
import sys
import time
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from audits.claim import read_claim
from audits.datasets.bases import dataset, times
from audits.datasets.tours import each_value, wide_columns
from audits.hypothesis_tests.elsewhere import ZONES, other_zone
from audits.hypothesis_tests.judge import _signs
from audits.hypothesis_tests.search import run_tours
from audits.sandbox.fork import in_fork
from audits.subjects.catalogue import subject_made
from audits.subjects.code_constants import extreme_rows, landmarks, odd_numbers
from mechanisms.sparse_vector import SparseVector
from mechanisms.subject import Domain, View
from mechanisms.subject.isolation import NotPlain, hidden

ADVERSARY = Path(__file__).parents[2] / "adversary"
DAY, EPOCH = 86_400, date(1970, 1, 1).toordinal()


@pytest.mark.parametrize("length", [1, 24, 1440, DAY, 1000 * DAY])
def test_leap_days_and_clock_changes_of_a_column_of_times_are_tried_in_any_unit(length):
    found = set(times(0, 20_453 * length + length - 1))
    leap = [(date(year, 2, 29).toordinal() - EPOCH) * length for year in range(1972, 2026, 4)]
    assert set(leap) <= found
    change = (date(2025, 10, 26).toordinal() - EPOCH) * length + length // 24
    assert length == 1 or {change - 1, change} <= found
    assert times(0, 120) == times(0, 1) == times(-1e300, 1e300) == []


def test_entries_that_are_there_twice_or_weigh_more_are_odd():
    codes = np.sort(np.r_[np.arange(500.0), 17, 230])
    assert set(odd_numbers(codes)) == set(odd_numbers(codes.tolist())) == {17, 230}
    assert set(odd_numbers([f"W-{code:.0f}" for code in codes])) == {17, 230}
    assert set(odd_numbers({code: 1 + (code == 41) for code in range(500)})) == {41}
    assert set(odd_numbers([(code, 1 + (code == 41)) for code in range(500)])) == {41}
    assert list(odd_numbers(np.arange(500) % 7)) == list(odd_numbers({"a": 1, "b": 2})) == []


def test_places_of_unusual_rows_of_a_long_array_are_known():
    shares = np.tile([60, 40, 0], (70_000, 1))
    shares[41_217], shares[52_000], shares[63_001] = [70, 0, 60], [1, 0, 0], [40, 30, 30]
    assert set(extreme_rows(shares)) >= {41_217, 52_000, 63_001}
    assert set(extreme_rows(shares[:, 0] * 1.0)) >= {41_217, 52_000}
    assert [*extreme_rows(shares[:5]), *extreme_rows([*shares]), *extreme_rows(np.array("a"))] == []


def test_one_row_takes_each_value_of_a_whole_column():
    domain = Domain(7, (0.0, -2.0, 0.0, 0.0), (9.0, 9000.0, 9.0, 2e4), (False, True, True, True))
    tried = dict(each_value(domain))
    assert [*tried] == [1, 2]
    assert tried[1][:, 1].tolist() == [*range(-2, 9001)]
    assert len(np.unique(tried[1][:, [0, 2, 3]], axis=0)) == 1
    assert all(domain.contains(records[:7]) for records in tried.values())
    assert wide_columns(domain) == [(3, 20_001)]
    for high in (9_999.0, 10_000.0):  # a column is tried or named, or has two values
        one = Domain(7, (0.0, 0.0), (high, 1.0), (True, True))
        assert [column for column, _ in (*each_value(one), *wide_columns(one))] == [0]


@pytest.mark.parametrize("width", [1, 2, 5, 7])
def test_the_largest_difference_of_signed_sums_is_the_largest_l1_distance(width):
    values = np.random.default_rng(width).normal(size=(20, width))
    distances = np.abs(values[:, None] - values).sum(axis=2)
    assert np.ptp(values @ _signs(width).T, axis=0).max() == pytest.approx(distances.max())
    assert len(_signs(width)) <= len(_signs(40)) == 64


@pytest.mark.parametrize(
    ("zone", "there"),
    [
        ("UTC", ("NZST", "NZDT", 12)),
        ("Europe/Berlin", ("NZST", "NZDT", 12)),
        ("Pacific/Auckland", ("NST", "NDT", 20)),
        (ZONES[0].rule, ("NST", "NDT", 20)),
        ("America/St_Johns", ("NZST", "NZDT", 12)),
    ],
)
def test_runs_elsewhere_have_other_clocks_and_leave_this_process_its_own(zone, there, monkeypatch):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    here, other = time.tzname, other_zone()
    assert in_fork(lambda: [other.move(), *time.tzname, time.localtime(0).tm_hour])[1:] == [*there]
    assert time.tzname == here
    assert os.environ["TZ"] == zone
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("zone", ZONES, ids=lambda zone: zone.name)
def test_a_zone_is_known_by_its_rule_where_no_zones_are_installed(zone):
    def west(name):
        os.environ["TZ"] = name
        time.tzset()
        return [time.timezone, *(time.localtime(month * 30 * DAY).tm_isdst for month in range(620, 660))]

    names = in_fork(lambda: [west(zone.name), west(zone.rule)])
    assert names[0] == names[1]
    assert names[0][0] == zone.west


def test_pairs_are_tried_at_every_public_coin_that_code_may_name():
    tried, subject = dict[int, int](), SparseVector()
    marks = replace(landmarks(subject), numbers=tuple(map(float, range(5, 50))))
    judge = SimpleNamespace(
        seen=SimpleNamespace(),
        subject=subject,
        along=lambda tour, coins: tried.setdefault(coins, sum(1 for _ in tour)),  # of the first tour
        **dict.fromkeys(("along_coins", "along_records", "along_values", "along_walk"), lambda *_: None),
    )
    run_tours(judge, subject.domain(), subject.relation, marks, [], 3)
    assert set(tried) == {0, 1, 3, *range(5, 50)}
    assert min(tried.values()) > 0


@pytest.mark.parametrize(("high", "said"), [(9.0, ""), (20_000.0, "not each of 20001 values of column 1")])
def test_a_column_that_is_not_tried_whole_is_named(high, said):
    nothing = ("along", "along_coins", "along_records", "along_values", "along_walk")
    judge = SimpleNamespace(
        seen=SimpleNamespace(), subject=SparseVector(), **dict.fromkeys(nothing, lambda *_: None)
    )
    domain = Domain(7, (0.0, 0.0), (1.0, high), (False, True))
    run_tours(judge, domain, "replace-one", landmarks(judge.subject), [], 3)
    assert said in judge.seen.skipped
    assert ("values of column" in judge.seen.skipped) == bool(said)


@pytest.mark.parametrize("low", [-121.0, 0.0, 3.0])
def test_a_column_has_the_total_and_consecutive_rows_the_series(low):
    domain = Domain(12, (low, 0.0), (241.0, 9.0), (False, True))
    for total in range(200):
        rows = dataset(domain, f"total {total} 0", 1)
        assert (rows[:, 0] - max(low, 0)).sum() == total
        assert domain.contains(rows)
    rows = dataset(domain, "series 4 1 3.0,1.0,4.0 uniform", 1)
    assert rows[4:7, 1].tolist() == [3, 1, 4]
    assert (dataset(domain, "alike 3 5.0,2.0 uniform", 1)[:3] == [5, 2]).all()


@pytest.mark.parametrize(
    "name", ["unit", "radius", "reward", "seed", "column", "delays", "epsilon", "relations"]
)
def test_a_field_of_the_author_keeps_the_authors_value(name):
    sys.path.append(str(ADVERSARY))
    from careless import Author

    made = type("Made", (Author,), {"__annotations__": {name: int}, name: 16})
    assert getattr(subject_made(read_claim(ADVERSARY / "claim.toml"), made), name) == 16


def _with(shown, **attributes):
    for name, value in attributes.items():
        setattr(shown, name, value)
    return shown


def _carriers(exact):
    """Return arrays that show zeros, with a number behind them."""
    zeros, both = np.zeros(2), np.array([0, 0, exact], dtype=float)
    objects = np.array([0, 0, exact], dtype=object)
    ours = type("Ours", (np.ndarray,), {})
    return {
        "fill value": np.ma.array(zeros, mask=False, fill_value=exact),
        "masked": np.ma.array([0, exact], mask=[False, True]),
        "memory": both[:2],
        "objects": objects[:2],
        "bytes": np.frombuffer(both.tobytes(), np.float64, 2),
        "strides": np.lib.stride_tricks.as_strided(both, (2,), (8,)),
        "attribute": _with(zeros.view(ours), note=[{"exact": exact}]),
        "metadata": np.zeros(2, dtype=np.dtype(float, metadata={"exact": exact})),
        "number": _with(type("Number", (int,), {})(0), note=exact),
    }


@pytest.mark.parametrize("name", sorted(_carriers(0)))
def test_what_hides_behind_shown_values_is_compared(name):
    one, two, again = (hidden(View(public={"x": _carriers(exact)[name]})) for exact in (1, 2, 1))
    assert str(one) == str(again) != str(two)


def test_what_cannot_be_compared_is_refused():
    ours = _with(np.zeros(1).view(type("Ours", (np.ndarray,), {})), note=object())
    with pytest.raises(NotPlain):
        hidden(View(public={"x": ours}))
