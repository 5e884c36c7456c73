"""A cell's code is within the declared bounds and depends on no other cell, whatever its content."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.documents import parse_toml
from dpaccount.errors import InputError
from mechanisms.table import Column
from mechanisms.table.columns import read_columns
from tests.depth import deep
from tests.looped import looped

F = Fraction
COLUMNS = [
    Column("age", "number", F(0), F(110), missing=F(40)),
    Column("score", "number", F(-3), F(1, 2)),
    Column("visits", "integer", F(-2), F(7), missing=F(1)),
    Column("city", "category", values=("north", "south"), other=True),
    Column("plan", "category", values=("a", "1", "true"), missing="1"),
    Column("kind", "category", values=("x", "y")),
    Column("seen", "boolean", missing=True),
    Column("gone", "boolean"),
]
TEXTS = [Column("note", "text", missing="?"), Column("word", "text", length=5)]
CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=8),
    st.integers(),
    st.integers(10**300, 10**400),
    st.floats(),
    st.binary(max_size=3),
    st.sampled_from(
        ["north", "south ", "x", "1", "1.0", "true", "YES", "nan", "inf", "-inf", "7.5", " 3 ", ""]
    ),
)


@deep
@pytest.mark.parametrize("column", [*COLUMNS, *TEXTS], ids=lambda column: column.name)
@given(left=st.lists(CELLS, max_size=6), right=st.lists(CELLS, max_size=6))
def test_codes_are_bounded_and_each_is_its_cells_alone(column, left, right):
    codes = column.codes([*left, *right])
    low, high = column.bounds
    assert ((codes >= low) & (codes <= high)).all()
    assert np.array_equal(codes, np.concatenate([column.codes(left), column.codes(right)]))
    if column.kind != "number":
        assert np.array_equal(codes, np.floor(codes))


@deep
@given(numbers=st.lists(st.floats(), max_size=20))
def test_arrays_of_numbers_are_read_as_their_cells_are(numbers):
    for column in COLUMNS[:3]:
        assert np.array_equal(column.codes(np.array(numbers)), column.codes(numbers))


def test_what_a_cell_counts_as():
    age, score, visits, city, plan, kind, seen, gone = COLUMNS
    assert age.codes(["31", "300", "-1", "x", "", None, math.nan, math.inf]).tolist() == [
        *(31, 110, 0, 40, 40, 40, 40, 110)
    ]
    assert score.codes(["x"]).tolist() == [-3]
    assert visits.codes(["3", "3.0", "3.5", 9, True]).tolist() == [3, 3, 1, 7, 1]
    assert city.codes(["north", "south", "west", "", None, " south "]).tolist() == [0, 1, 2, 2, 2, 1]
    assert plan.codes(["a", 1, 1.0, "z", None]).tolist() == [0, 1, 1, 1, 1]
    assert kind.codes(["x", "z", None]).tolist() == [0, -1, -1]
    assert seen.codes(["true", "no", "F", 0, True, "?", None]).tolist() == [1, 0, 0, 0, 1, 1, 1]
    assert gone.codes(["?"]).tolist() == [0]


WRONG = {
    'a = { type = "number" }': "no bounds",
    'a = { type = "number", low = 2, high = 1 }': "exchange",
    'a = { type = "number", low = 0, high = 1, missing = 2 }': "outside",
    'a = { type = "number", low = 0, high = 1, missing = "x" }': "a number belongs",
    'a = { type = "number", low = 0, high = 1, values = ["x"] }': "only categories",
    'a = { type = "integer", low = 0, high = 1.5 }': "whole",
    'a = { type = "integer", low = 0, high = 2, missing = 0.5 }': "whole",
    'a = { type = "number", low = 0, high = 1e16 }': "beyond",
    'a = { type = "category" }': "without values",
    'a = { type = "category", values = ["x", "x"] }': "twice",
    'a = { type = "category", values = ["x "] }': "spaces",
    'a = { type = "category", values = [""] }': "empty",
    'a = { type = "category", values = ["other"], other = true }': "beside",
    'a = { type = "category", values = ["x"], missing = "y" }': "known: x",
    'a = { type = "category", values = ["x"], low = 0 }': "only numbers",
    'a = { type = "boolean", missing = "yes" }': "a boolean belongs",
    'a = { type = "boolean", missing = 0 }': "missing is 0; a boolean belongs",
    'a = { type = "text", missing = true }': "missing is true; a text belongs",
    'a = { type = "time" }': "known",
    'a = { type = "boolean", wide = 1 }': "unknown key",
    "": "no column",
}


@looped("text", WRONG)
def test_declarations_that_contradict_themselves_are_refused_in_one_sentence(text):
    with pytest.raises(InputError, match=WRONG[text]) as error:
        read_columns(parse_toml(text, "claim.toml"))
    assert str(error.value).startswith("claim.toml")
    assert ";" in str(error.value)
    assert "\n" not in str(error.value)
