"""The shapes that a certificate is made of: what each takes, and where it says that something else stands."""

import re

import pytest

from dpaccount.checker import Rejected
from dpaccount.checker.certificate.shapes import amount, closed, each, either, kind, listed, tabled, written

TABLE = closed({"a": kind(int)}, {"b": kind(str)})
WORD = re.compile("[a-z]+")

REFUSED = [
    (TABLE, {}, "x lacks a"),
    (TABLE, {"b": "text"}, "x lacks a"),
    (TABLE, {"a": 1, "c": 1}, "x has an unknown member c"),
    (TABLE, {"a": "1"}, "x.a has the wrong shape"),
    (TABLE, {"a": True}, "x.a has the wrong shape"),
    (TABLE, {"a": 1, "b": None}, "x.b has the wrong shape"),
    *((closed({}), value, "x should be a table") for value in ([], "", None, 5, [["a", 1]])),
    (closed({}), {"a": 1}, "x has an unknown member a"),
    *(
        (each(kind(int)), value, "x has the wrong shape")
        for value in ("12", "", None, 5, [1, "2"], {"a": "2"})
    ),
    *((listed(kind(int)), value, "x has the wrong shape") for value in ({}, {"a": 1}, "", None, [None])),
    *((tabled(kind(int)), value, "x has the wrong shape") for value in ([], [1], "", None, {"a": None})),
    *((written(WORD), value, "x should be text") for value in (None, 5, ["a"], {}, b"a")),
    *((written(WORD), value, "x is .*, which it cannot be") for value in ("", "A", "a ", "a\n", "a1")),
    *((written(("one", "two")), value, "x should be text") for value in (None, 1, ["one"])),
    *((written(("one", "two")), value, "x is .*, which it cannot be") for value in ("", "on", "three")),
    (amount(), "inf", "x should be finite"),
    *((amount(least), least - 1, f"x should be at least {least}") for least in (0, 3)),
    *((amount(), value, "x should be a number") for value in (True, None, [], "one")),
    (either(kind(int)), "1", "x has the wrong shape"),
    (either(kind(int)), False, "x has the wrong shape"),
]
TAKEN = [
    *((TABLE, value) for value in ({"a": 1}, {"a": 0, "b": ""})),
    (closed({}), {}),
    *((each(kind(int)), value) for value in ([], {}, [1, 2], {"a": 1})),
    *((listed(kind(int)), value) for value in ([], [1])),
    *((tabled(kind(int)), value) for value in ({}, {"a": 1})),
    *((written(WORD), value) for value in ("a", "word")),
    *((written(("one", "two")), value) for value in ("one", "two")),
    *((amount(least), least) for least in (0, 3)),
    *((amount(None, endless=True), value) for value in (-5, "inf", "-1/2")),
    *((either(kind(int)), value) for value in (None, 1)),
]


@pytest.mark.parametrize(("shape", "value", "why"), REFUSED)
def test_what_has_another_shape_is_refused_where_it_stands(shape, value, why):
    with pytest.raises(Rejected, match=f"^{why}$"):
        shape(value, "x")


@pytest.mark.parametrize(("shape", "value"), TAKEN)
def test_what_has_the_shape_is_taken(shape, value):
    assert shape(value, "x") is None
