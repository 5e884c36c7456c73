"""A column's name means one thing to each reader: as it is written, bare or in backquotes."""

from fractions import Fraction
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.consistency.formulas import every_column, where_reads
from dpaccount.checker.documents import Rejected, Work
from dpaccount.documents import Place
from dpaccount.errors import InputError
from mechanisms.statistics.expressions import condition, derived, derived_columns
from mechanisms.table.columns import Column, Table

ODD = ("a", "b", "a-b", "my col", "class", "µg", "μg", "ａ", "ﬁ", "naïve", "उम्र", "1", "True", "min", "n0", "x²", "a.b",
       "\N{OHM SIGN}", "Ω", "a ", "-", "> 1", '"a"', "#", "true", "x*(a)")  # fmt: skip
SHAPES = ("{} > 1", "{} - {} > 1", "min({}, {}) <= 1.5", "{} + {} * {} != 3", "({}) >= 2 and not {} > 1e-3", "{} == {}",
          "year({}) > 1", "f'{{{}}}' == {}", "{}.{} > 1", "{} > {} # {}", "abs({}, x={}) > 0")  # fmt: skip


#: Where Python's parser and a reader of quotes might see other texts: the name would be normalised.
HIDDEN = (
    "(a > 1 # ' \n and ａ > 2 # '\n)",
    '(a > 1 or """x"b""" == a or ａ > 1 or a == "z")',
    '(a > 1 # "\n or ａ > 1 # "\n)',
)


@pytest.mark.parametrize("text", HIDDEN)
def test_no_name_hides_from_the_reader_of_names(text):
    with pytest.raises(InputError):
        condition(text, declared(["a"]))
    with pytest.raises(Rejected):
        where_reads(text, as_document(["a"])["columns"])
    word = Column("word", "category", values=("#1", "two"))
    assert condition('word == "#1" or word=="two"', (word,))[0] == ("word",)


def declared(names):
    return tuple(Column(name, "integer", Fraction(-9), Fraction(9)) for name in names)


def as_document(names):
    return {"columns": {name: {"type": "integer", "low": -9, "high": 9} for name in names}}


@st.composite
def conditions(draw):
    names = draw(st.lists(st.sampled_from(ODD), min_size=1, max_size=5, unique=True))
    parts = [
        name if draw(st.booleans()) else f"`{name}`"
        for name in (draw(st.sampled_from(ODD)) for _ in range(3))
    ]
    return names, draw(st.sampled_from(SHAPES)).format(*parts)


@given(conditions())
def test_both_readers_read_the_same_columns_or_none(case):
    names, text = case
    try:
        read = list(condition(text, declared(names))[0])
    except InputError:
        read = None
    try:
        Work.begin()
        columns = as_document(names)["columns"]
        other = where_reads(text, columns)
    except Rejected:
        other = None
    assert read == other, (read, other)
    assert set(read or ()) <= {*names}


@given(st.lists(st.sampled_from(ODD), min_size=1, max_size=5, unique_by=lambda name: normalize("NFKC", name)),
       st.data())  # fmt: skip
def test_backquotes_name_any_column_and_no_other(names, data):
    name = data.draw(st.sampled_from(names))
    text = f"`{name}` > 1"
    codes = {each: np.array([5.0 if each == name else 0.0]) for each in names}
    if "1" in names:  # the text of a number is a column's name
        text = f"`{name}` > 2"
    read, holds = condition(text, declared(names))
    assert (read, holds(codes).tolist()) == ((name,), [True])
    assert where_reads(text, every_column(as_document(names))) == [name]
    column = derived("d", f"`{name}` * 2.0", declared(names))
    assert column.code({name: codes[name]}).tolist() == [10.0]


@pytest.mark.parametrize(("names", "text"), [
    (("a", "b", "a-b"), "a-b > 3"), (("a", "b", "a-b", "x"), "x*a-b > 3"), (("age", "18"), "age > 18"),
    (("age", "True"), "age > 1 and True"), (("a", "b", "a.b"), "a.b > 1"),
])  # fmt: skip
def test_an_expression_whose_text_is_a_declared_name_is_refused_by_both(names, text):
    with pytest.raises(InputError, match="is an expression, and the name of a column; write the column as `"):
        condition(text, declared(names))
    with pytest.raises(InputError, match="is an expression"):
        derived("d", text, declared(names))
    with pytest.raises(Rejected, match="is an expression, and the name of a column"):
        where_reads(text, every_column(as_document(names)))
    others = tuple(name for name in names if name not in ("a-b", "18", "True", "a.b"))
    if "." not in text and "True" not in text:
        assert set(condition(text, declared(others))[0]) == {*others}


@pytest.mark.parametrize(
    ("one", "other"), [("age", "ａｇｅ"), ("µg", "μg"), ("café", "cafe\N{COMBINING ACUTE ACCENT}")]
)
def test_names_that_agree_after_nfkc_are_refused(one, other):
    with pytest.raises(InputError, match="are one name after Unicode's normalisation NFKC; rename one"):
        Table(declared((one, other)), 10)
    with pytest.raises(InputError, match="are one name"):
        Table(declared((one,)), 10, other)
    more = derived_columns(Place({other: f"`{one}` + 1"}, "study"), declared((one,)))
    with pytest.raises(InputError, match="are one name"):
        Table(declared((one,)), 10, derived=more)
    for data in (as_document((one, other)), as_document((one,)) | {"id": other}):
        with pytest.raises(Rejected, match="two names of columns are one"):
            every_column(data)
    assert condition(f"{one} > 1", declared((one,)))[0] == (one,)
    with pytest.raises(InputError, match="is no declared column"):
        condition(f"{other} > 1", declared((one,)))
