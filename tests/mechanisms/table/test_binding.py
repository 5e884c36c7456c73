"""What a mechanism is on a table follows from the declared columns; each row's place from that row alone."""

from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.documents import Place
from dpaccount.errors import InputError
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.histogram import Histogram
from mechanisms.laplace_vector import LaplaceVector
from mechanisms.quantile import Quantile
from mechanisms.second_moments import SecondMoments
from mechanisms.sparse_vector import SparseVector
from mechanisms.stable_histogram import StableHistogram
from mechanisms.symmetric_gaussian import SymmetricGaussian
from mechanisms.table import Column, Table
from mechanisms.table.bind_columns import bind
from tests.depth import deep
from tests.looped import looped

F = Fraction
TABLE = Table(
    (
        Column("age", "number", F(0), F(110), missing=F(40)),
        Column("loss", "number", F(-3), F(1, 2)),
        Column("visits", "integer", F(2), F(5)),
        Column("city", "category", values=("north", "south"), other=True),
        Column("kind", "category", values=("x", "y")),
        Column("seen", "boolean"),
        Column("note", "text"),
        Column("word", "text"),
        Column("short", "text", length=6),
    ),
    rows=50,
)


def bound(made_by, relation="replace-one", **parameters):
    return bind(made_by, Place(parameters, "claim.toml"), TABLE, 50, relation)


def test_what_follows_from_a_table():
    assert bound(Histogram, column="city")[0] == {"cells": 3, "rows": 50, "relation": "replace-one"}
    assert bound(Histogram, column="visits")[0]["cells"] == 4
    assert bound(Histogram, column="seen", by="kind")[0]["cells"] == 4
    quantile = bound(Quantile, column="loss")[0]
    assert quantile == {"low": -3, "high": F(1, 2), "rows": 50}
    assert bound(SparseVector, columns=["seen", "visits"])[0]["questions"] == 2
    vector = bound(LaplaceVector, columns=["age", "loss"])[0]
    assert (vector["low"], vector["high"], vector["columns"]) == (-3, 110, 2)
    assert bound(GaussianSum, columns=["seen", "loss"], by="city")[0]["columns"] == 6
    joint = bound(SymmetricGaussian, columns=["seen", "loss"])[0]
    assert (joint["columns"], joint["reward"]) == (1, 3)


@deep
@given(ends=st.lists(st.tuples(st.fractions(-9, 9), st.fractions(-9, 9)), min_size=1, max_size=4))
def test_a_radius_covers_every_row_and_little_more(ends):
    columns = tuple(Column(f"c{i}", "number", min(pair), max(pair)) for i, pair in enumerate(ends))
    place = Place({"columns": [column.name for column in columns]}, "claim.toml")
    radius = bind(GaussianSum, place, Table(columns, 5), 5, "add-remove")[0]["radius"]
    assert radius**2 >= sum(max(abs(a), abs(b)) ** 2 for a, b in ends)
    longest = sum(
        max(abs(F(end)) for end in column.bounds) ** 2 for column in columns
    )  # of doubles, as codes are
    assert radius**2 >= longest
    assert radius == 0 or (radius - F(1, 10**6)) ** 2 < longest


def rows_of(reading, **cells):
    codes = [TABLE.column(name).codes(cells[name]) for name in reading.names]
    return reading.encode(np.stack(codes, axis=1))


def test_cells_of_values_bins_and_groups():
    _, reading = bound(Histogram, column="age", bins=[0, 18, 65])
    assert reading.labels["cells"] == ("[0, 18)", "[18, 65]")
    assert rows_of(reading, age=[0, 17.9, 18, 65, 66, "x"]).ravel().tolist() == [0, 0, 1, 1, -1, 1]
    _, reading = bound(Histogram, column="visits")
    assert reading.labels["cells"] == ("2", "3", "4", "5")
    assert rows_of(reading, visits=[2, 9, "?"]).ravel().tolist() == [0, 3, 0]
    _, reading = bound(Histogram, column="seen", by="kind")
    assert reading.labels["cells"] == ("x, false", "x, true", "y, false", "y, true")
    rows = rows_of(reading, seen=["yes", "no", "yes"], kind=["x", "y", "z"])
    assert rows.ravel().tolist() == [1, 2, -1]


def test_a_row_may_name_cells_in_several_columns():
    given, reading = bound(StableHistogram, columns=["age", "loss"], bins=[-3, 0, 50])
    assert (given["cells"], given["keys"]) == (2, 2)
    assert rows_of(reading, age=[30, 110], loss=[-1, F(1, 4)]).tolist() == [[1, 0], [-1, 1]]
    with pytest.raises(InputError, match="kind has other cells than city"):
        bound(StableHistogram, columns=["city", "kind"])
    with pytest.raises(InputError, match="reads one column"):
        bound(Histogram, columns=["city", "kind"])


def test_cells_that_nobody_listed_are_texts():
    given, reading = bound(StableHistogram, column="note")
    assert given == {"text": 48, "keys": 1, "rows": 50, "relation": "replace-one"}
    assert reading.default == (0.0,) * 8
    assert bound(StableHistogram, columns=["note", "word"])[0]["keys"] == 2
    for made_by, parameters, wrong in (
        (Histogram, {"column": "note"}, "declare a category"),
        (StableHistogram, {"column": "note", "by": "city"}, "without by or bins"),
        (StableHistogram, {"columns": ["note", "city"]}, "city is no text as note is"),
        (StableHistogram, {"columns": ["note", "short"]}, "short is no text as note is"),
        (GaussianSum, {"columns": ["note", "age"]}, "declare a category"),
    ):
        with pytest.raises(InputError, match=wrong):
            bound(made_by, **parameters)


def test_every_column_has_its_own_interval():
    given = bound(SecondMoments, columns=["age", "loss"])[0]
    moments = SecondMoments(**given)
    assert moments.ends == [(0, 110), (-3, F(1, 2))]
    assert "per_row" not in given


def test_groups_of_sums_stand_in_blocks():
    _, reading = bound(GaussianSum, columns=["age", "seen"], by="city")
    rows = rows_of(reading, age=[30, 50], seen=["yes", "no"], city=["south", "west"])
    assert rows.tolist() == [[0, 0, 30, 1, 0, 0], [0, 0, 0, 0, 50, 0]]
    assert reading.labels["columns"][:3] == ("north, age", "north, seen", "south, age")


@deep
@given(
    cells=st.lists(st.tuples(st.floats(), st.text(max_size=6)), min_size=1, max_size=8), at=st.integers(0, 7)
)
def test_every_reading_is_row_by_row(cells, at):
    for parameters, made_by in (
        ({"column": "city", "by": "kind"}, Histogram),
        ({"column": "age", "bins": [1, 2, 30]}, Histogram),
        ({"columns": ["age", "loss"], "by": "city"}, GaussianSum),
        ({"column": "loss"}, Quantile),
    ):
        _, reading = bound(made_by, **parameters)
        of = [cells, cells[at % len(cells) :][:1]]
        whole, one = (
            rows_of(
                reading,
                age=[n for n, _ in c],
                loss=[n for n, _ in c],
                city=[t for _, t in c],
                kind=[t for _, t in c],
            )
            for c in of
        )
        assert np.isfinite(whole).all()
        assert np.array_equal(whole[at % len(cells)], one[0])


class Unread:
    """A class that reads no table."""

    name: ClassVar[str] = "unread"


WRONG = [
    (Unread, {"column": "age"}, "reads no table"),
    (Histogram, {}, "no column is named"),
    (Histogram, {"column": "town"}, "no column 'town' is declared"),
    (Histogram, {"column": "age"}, "no cells; give bins"),
    (Histogram, {"column": "note"}, "declare a category"),
    (Histogram, {"column": "age", "columns": ["age"]}, "give one of them"),
    (Histogram, {"columns": ["city", "kind"]}, "one column, found 2"),
    (Histogram, {"column": "city", "bins": [0, 1]}, "leave bins out"),
    (Histogram, {"column": "age", "bins": [1, 1]}, "do not rise"),
    (Histogram, {"column": "age", "bins": [1]}, "give 2 to"),
    (Histogram, {"column": "city", "by": "note"}, "no cells"),
    (Quantile, {"column": "city"}, "a number, integer or boolean"),
    (Quantile, {"column": "age", "by": "city"}, "leave by out"),
    (Quantile, {"column": "age", "bins": [0, 1]}, "leave them out"),
    (GaussianSum, {"columns": ["age", "city"]}, "a number, integer or boolean"),
    (SymmetricGaussian, {"columns": ["age", "loss"]}, "use second-moments"),
]


@looped(("made_by", "parameters", "match"), WRONG)
def test_columns_of_another_kind_are_refused_in_one_sentence(made_by, parameters, match):
    with pytest.raises(InputError, match=match) as error:
        bound(made_by, **parameters)
    assert str(error.value).startswith("claim.toml")
    assert ";" in str(error.value)
