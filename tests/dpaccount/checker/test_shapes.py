"""The shapes that a certificate is made of: what each takes, and where it says that something else stands."""

import re

import pytest

from dpaccount.checker import Rejected
from dpaccount.checker.certificate.shapes import (
    ENDS,
    amount,
    closed,
    day,
    each,
    either,
    kind,
    listed,
    moment,
    stated,
    tabled,
    written,
)
from dpaccount.checker.intervals import MAX_TEXT
from tests.looped import looped

SHAPES = {
    "empty": lambda: closed({}),
    "table": lambda: closed({"a": kind(int)}, {"b": kind(str)}),
    "each": lambda: each(kind(int)),
    "list": lambda: listed(kind(int)),
    "names": lambda: tabled(kind(int)),
    "word": lambda: written(re.compile("[a-z]+")),
    "one of": lambda: written(("one", "two")),
    "amount": amount,
    "from 3": lambda: amount(3),
    "any": lambda: amount(None, endless=True),
    "either": lambda: either(kind(int)),
    "stated": lambda: stated,
    "moment": lambda: moment,
    "ends": lambda: ENDS,
}
WRONG, NO_TEXT, NOT_THIS = "x has the wrong shape", "x should be text", "x is .*, which it cannot be"
REFUSED = [
    *(("table", value, "x lacks a") for value in ({}, {"b": "text"})),
    ("table", {"a": 1, "c": 1}, "x has an unknown member c"),
    *(("table", {"a": value}, "x.a has the wrong shape") for value in ("1", True, None, 1.0)),
    ("table", {"a": 1, "b": None}, "x.b has the wrong shape"),
    *(("empty", value, "x should be a table") for value in ([], "", None, 5, [["a", 1]])),
    ("empty", {"a": 1}, "x has an unknown member a"),
    *(("each", value, WRONG) for value in ("12", "", None, 5, [1, "2"], {"a": "2"})),
    *(("list", value, WRONG) for value in ({}, {"a": 1}, "", None, [None])),
    *(("names", value, WRONG) for value in ([], [1], "", None, {"a": None})),
    *(("word", value, NO_TEXT) for value in (None, 5, ["a"], {}, b"a")),
    *(("word", value, NOT_THIS) for value in ("", "A", "a ", "a\n", "a1")),
    *(("one of", value, NO_TEXT) for value in (None, 1, ["one"])),
    *(("one of", value, NOT_THIS) for value in ("", "on", "three")),
    ("amount", "inf", "x should be finite"),
    *(("amount", value, "x should be at least 0") for value in (-1, "-1/3")),
    ("from 3", 2, "x should be at least 3"),
    *(("amount", value, "x should be a number") for value in (True, None, [], "one")),
    *(("either", value, WRONG) for value in ("1", False)),
    ("amount", "1" * (MAX_TEXT + 1), "x should be a number"),
    *(("stated", value, "x is true, or left out") for value in (False, None, 1, "true")),
    ("moment", "2026-02-30T10:00:00Z", "x is .*, which is no date; write YYYY-MM-DD"),
    ("moment", "2019-12-31T10:00:00Z", "x is .*, before there were certificates"),
    ("ends", {"lower": "inf", "upper": 1}, "x.lower should be finite"),
]
TAKEN = [
    *(("table", value) for value in ({"a": 1}, {"a": 0, "b": ""})),
    ("empty", {}),
    *(("each", value) for value in ([], {}, [1, 2], {"a": 1})),
    *(("list", value) for value in ([], [1])),
    *(("names", value) for value in ({}, {"a": 1})),
    *(("word", value) for value in ("a", "word")),
    *(("one of", value) for value in ("one", "two")),
    *(("amount", value) for value in (0, "1/3")),
    ("from 3", 3),
    *(("any", value) for value in (-5, "inf", "-1/2")),
    *(("either", value) for value in (None, 1)),
    ("amount", "1" * MAX_TEXT),
    ("stated", True),
    ("moment", "2020-02-29T10:00:00Z"),
    *(("ends", {"lower": lower, "upper": "inf"}) for lower in (None, "1/2")),
]


@looped(("shape", "value", "why"), REFUSED)
def test_what_has_another_shape_is_refused_where_it_stands(shape, value, why):
    with pytest.raises(Rejected, match=f"^{why}$"):
        SHAPES[shape]()(value, "x")


@looped(("shape", "value"), TAKEN)
def test_what_has_the_shape_is_taken(shape, value):
    assert SHAPES[shape]()(value, "x") is None


def test_a_day_that_is_none_is_refused():
    for value in ("", "2026-13-01", "yesterday", "2026-1-1"):
        with pytest.raises(Rejected, match=r"^x is .*, which is no date; write YYYY-MM-DD$"):
            day(value, "x")
    assert day("2024-02-29T10:00", "x").isoformat() == "2024-02-29"
