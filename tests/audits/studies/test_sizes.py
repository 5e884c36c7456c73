"""Studies on both sides of every limit of size: all kinds of statistics are released, and tests cost the same."""

from fractions import Fraction

import numpy as np
import pytest

import dpaccount as dp
from audits.hypothesis_tests.smoke_test import FEW_NUMBERS, MAX_DATASET_NUMBERS, of_few_rows
from audits.subjects.catalogue import subject_of
from dpaccount.ledger.ledger import init
from mechanisms.stable_histogram import StableHistogram
from tests.depth import deep, parts

LIMITS = (FEW_NUMBERS, MAX_DATASET_NUMBERS)
MOST = 10**9  #: units of a declared table
#: law, whether there are unlisted texts, relation, rows of a unit
WAYS = {
    "gaussian": ("gaussian", False, "add-remove", 1),
    "laplace": ("laplace", False, "add-remove", 1),
    "texts": (None, True, "add-remove", 1),
    "persons": ("gaussian", False, "add-remove", 3),
    "texts of persons": (None, True, "add-remove", 2),
    "replaced": ("gaussian", False, "replace-one", 1),
    "replaced, laplace": ("laplace", False, "replace-one", 1),
}


def table(way, units, rows=300):
    """Return a table of some rows with every kind of statistic."""
    law, texts, relation, most = WAYS[way]
    rng = np.random.default_rng(1)
    frame = {"w": rng.uniform(0, 100, rows), "v": rng.uniform(-1, 1, rows), "p": np.arange(rows) // most}
    frame["g"] = np.array(list("ab"))[rng.integers(0, 2, rows)]
    columns = {"w": (0, 100), "v": (-1, 1), "g": ["a", "b"]}
    if texts:
        frame["t"], columns["t"] = np.array(["often"] * rows), {"type": "text", "length": 8}
    every = dp.Table(
        {name: list(column) for name, column in frame.items()},
        unit=None if relation == "replace-one" else "p",
        protects="one",
        epsilon=8,
        delta=0 if law == "laplace" else "1e-6",
        law=law,
        ledger="sqlite:///l.db",
        columns=columns,
        max_units=units,
        max_contributions=most,
        relation=relation,
        sections={"audit": {"trials": 60}},
    )
    every = (
        every.count().count(by="g", name="by g").count(where="w > 9", name="some").sum("w").sum("v", by="g")
    )
    every = every.mean("w").mean("v", by="g").mean("w", where="v > 0", name="mean of some").variance("w")
    every = (
        every.variance("v", by="g")
        .histogram("v", bins=(-1, 0, 1))
        .top("g", 1)
        .median("w")
        .regression("w", ["v"])
    )
    every = every.quantile("w", Fraction(9, 10)).quantile(
        "v", Fraction(1, 4), method="exponential", name="chosen"
    )
    return every.count(by="t", name="texts").top("t", 1, name="top texts") if texts else every


def width(way):
    """Return how many numbers a unit has."""
    return len(subject_of(table(way, 10).study.claim).domain().low)


#: a way, a limit of numbers of a table (None: a declared table of `MOST`) and how many units above it
CASES = [(way, limit, more) for way in WAYS for limit in LIMITS for more in (0, 1)]
CASES += [(way, None, 0) for way in WAYS if WAYS[way][2] == "add-remove"]  # replace-one has units for rows


@deep
@parts(4)  # half a minute each: four cases at a time
def test_every_kind_of_statistic_is_released_on_both_sides_of_a_limit(depth, tmp_path, monkeypatch):
    for way, limit, more in depth.drawn(CASES, 1):
        units = MOST if limit is None else limit // width(way) + more
        is_released(way, units, tmp_path, monkeypatch)


def is_released(way, units, folder, monkeypatch):
    """Release every kind of statistic of a table with so many units."""
    monkeypatch.chdir(folder)
    relation = WAYS[way][2]
    init("sqlite:///l.db", epsilon=8, delta="1e-6", unit="one", relation=relation, measure="approximate")
    study = table(way, units, units if relation == "replace-one" else 300)
    found = study.release(quick=True)
    assert found.verdict == "CERTIFIED"
    for statistic in study.statistics:
        rows = found[statistic["name"]]
        assert rows or statistic["name"] == "texts"
        assert all(row["low"] is None or row["low"] <= row["estimate"] <= row["high"] for row in rows)


@deep
@pytest.mark.parametrize("way", WAYS)
def test_what_is_tested_is_of_one_size_however_many_units_are_declared(way):
    """Else a test of 80,000 units would cost more than one of a million."""
    for units in (10_000, 80_000, 10**6, MOST):
        claim = table(way, units).study.claim
        tested = of_few_rows(subject_of(claim), claim.guarantee.delta).domain()
        assert FEW_NUMBERS / 2 <= tested.rows * len(tested.low) <= FEW_NUMBERS


def test_counts_of_unlisted_keys_are_tested_on_few_rows():
    for text in (0, 8):
        subject = StableHistogram(Fraction(4), 200, rows=10**6, text=text)
        tested = of_few_rows(subject, Fraction(1, 10**6)).domain()
        assert FEW_NUMBERS / 2 <= tested.rows * len(tested.low) <= FEW_NUMBERS
