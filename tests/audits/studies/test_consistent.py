"""Consistent tables: whole, none negative, adding up, near what was released, and exact where nothing is noisy."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.studies.consistent import consistent
from dpaccount.errors import InputError
from mechanisms.noisy_statistics import planned
from mechanisms.statistics.estimates import table
from mechanisms.statistics.statistic import Statistic
from mechanisms.table.bind_columns import Promise
from mechanisms.table.columns import Column
from tests.depth import deep, examples

WARD = Column("ward", "category", values=("a", "b"))  # rows of neither are in no cell
SEEN = Column("seen", "boolean")
CITY = Column("city", "category", values=("n", "s"), other=True)
AGE = Column("age", "integer", Fraction(0), Fraction(99))
BINS = (Fraction(18), Fraction(65), Fraction(99))
STATISTICS = (
    Statistic("all", "count"),
    Statistic("ward", "count", by=(WARD,)),
    Statistic("mean", "mean", AGE),
    Statistic("ward and seen", "count", by=(WARD, SEEN), share=Fraction(3)),
    Statistic("ages", "histogram", AGE, bins=BINS, by=(SEEN,)),
    Statistic("seen", "count", where="seen", declared=(SEEN,)),
    Statistic("seen by city", "count", by=(CITY,), where="seen", declared=(SEEN,)),
)


def study():
    return planned(STATISTICS, 1000, 1, Promise("add-remove", Fraction(1), Fraction(1, 10**6)))[0]


def released(seed, noise):
    """Return released tables of 1,000 rows, some of no ward and some of no age among the bins."""
    rng = np.random.default_rng(seed)
    ward, seen, city = rng.integers(-1, 2, 1000), rng.integers(0, 2, 1000), rng.integers(0, 3, 1000)
    codes = {"ward": ward, "seen": seen, "city": city, "age": rng.integers(0, 100, 1000)}
    codes = {name: each.astype(float) for name, each in codes.items()}
    found = {}
    for what in STATISTICS:
        cells = what.cell_of(codes)
        size = what.groups * what.cells
        counts = np.bincount(cells[cells >= 0], minlength=size) + np.rint(rng.normal(0, noise, size))
        counts = np.maximum(counts, 0)
        found[what.name] = table(what, (counts.tolist(), (counts - 9).tolist(), (counts + 9).tolist()))
    return found


def totals(rows, *names):
    """Return the sums of a table by some of its columns."""
    found = {}
    for row in rows:
        key = tuple(row[name] for name in names)
        found[key] = found.get(key, 0) + row["estimate"]
    return found


@deep
@examples(20)
@given(st.integers(0, 2**32), st.sampled_from([0, 3, 30, 300]))
def test_all_tables_add_up(seed, noise):
    before = released(seed, noise)
    found = consistent(study(), before)
    assert list(found) == [what.name for what in STATISTICS if what.what != "mean"]
    for name, rows in found.items():
        assert all(isinstance(row["estimate"], int) and row["estimate"] >= 0 for row in rows)
        keys = [{key: row[key] for key in row if key != "estimate"} for row in rows]
        assert keys == [
            {k: row[k] for k in row if k not in ("estimate", "low", "high")} for row in before[name]
        ]
    assert totals(found["ward and seen"], "ward") == totals(found["ward"], "ward")
    assert sum(totals(found["ward"]).values()) <= found["all"][0]["estimate"]
    assert sum(totals(found["ages"]).values()) <= found["all"][0]["estimate"]
    assert sum(totals(found["seen by city"]).values()) == found["seen"][0]["estimate"]
    if noise == 0:
        for name, rows in found.items():
            off = [abs(a["estimate"] - b["estimate"]) for a, b in zip(rows, before[name], strict=True)]
            assert max(off) <= 4  # of rounding a joint table


def test_the_fit_is_nearer_the_truth_than_what_was_released():
    """Of wards, which two tables count, over 60 releases: one can be lucky."""
    of = [(released(seed, 0), released(seed, 30)) for seed in range(60)]
    squares = {"before": 0.0, "after": 0.0}
    for true, before in of:
        for kind, rows in (("before", before["ward"]), ("after", consistent(study(), before)["ward"])):
            right = [row["estimate"] for row in true["ward"]]
            squares[kind] += sum((row["estimate"] - n) ** 2 for row, n in zip(rows, right, strict=True))
    assert squares["after"] < 0.9 * squares["before"]


def test_a_joint_table_that_is_too_large_is_refused():
    every = [
        Statistic(f"by {c}", "count", by=(Column(c, "integer", Fraction(0), Fraction(99)),)) for c in "abc"
    ]
    large = planned(tuple(every), 1000, 1, Promise("add-remove", Fraction(1), Fraction(1, 10**6)))[0]
    with pytest.raises(InputError, match="the joint table of a, b, c has 1000000 cells; at most 4000"):
        consistent(large, {})


def test_labels_of_products_are_in_the_order_of_released_rows():
    rows = released(1, 0)["ward and seen"]
    assert [(row["ward"], row["seen"]) for row in rows] == list(product(("a", "b"), ("false", "true")))
