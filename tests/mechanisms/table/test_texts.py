"""Unlisted texts: each has numbers of its own, and they are counted as a public list would be."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.errors import InputError, ReceiptError
from dpaccount.noise.laws import side_by_side
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal
from mechanisms.stable_histogram import StableHistogram
from mechanisms.subject.isolation import played
from mechanisms.table import Column
from mechanisms.table import cells as texts
from tests.depth import deep, examples

WORDS = st.text(max_size=9)
LENGTHS = st.integers(1, 40)


def cut(text, length):
    """Return the longest beginning of a text within a number of bytes, a character at a time."""
    kept = ""
    for character in text.replace("\0", ""):
        if len((kept + character).encode()) > length:
            break
        kept += character
    return kept


@deep
@given(st.lists(WORDS, max_size=6), LENGTHS)
def test_numbers_spell_what_a_text_begins_with(words, length):
    codes = texts.numbers_of(words, length)
    assert codes.shape == (len(words), texts.width(length))
    assert (codes >= 0).all()
    assert (codes <= texts.HIGHEST).all()
    assert texts.texts_of(codes.astype(np.int64)) == [cut(word, length) for word in words]


@given(st.lists(st.integers(0, 2**48 - 1), min_size=2, max_size=2))
def test_numbers_that_are_no_text_are_shown_too(row):
    (shown,) = texts.texts_of(np.array([row]))
    assert isinstance(shown, str)
    shown.encode()


@deep
@given(st.lists(st.one_of(WORDS, st.none(), st.floats(), st.booleans()), min_size=1, max_size=6), st.data())
def test_a_cell_has_numbers_whatever_it_holds_and_whatever_others_are(cells, data):
    column = Column("note", "text", length=7)
    at = data.draw(st.integers(0, len(cells) - 1))
    whole = column.codes(cells)
    assert whole.shape == (len(cells), 2)
    assert (column.codes(cells[at : at + 1]) == whole[at]).all()


def test_what_is_missing_names_no_cell_or_what_is_declared():
    assert not Column("note", "text").codes([None, "", "  ", float("nan")]).any()
    column = Column("note", "text", missing="none", length=6)
    assert (column.codes([None, "", " "]) == column.codes(["none"])).all()


def counted(rows, length):
    """Return in how many rows each text is named."""
    return Counter(word for row in rows for word in {cut(each.strip(), length) for each in row} - {""})


ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "aa", "b", "é", "Ω", ""]), st.sampled_from(["a", "b", "ç", "xyz"])),
    max_size=30,
)


@deep
@examples(60, 60)
@given(ROWS, LENGTHS)
def test_every_row_counts_once_in_each_text_that_it_names(rows, length):
    histogram = StableHistogram(text=length, keys=2, rows=30, threshold=2)
    column = Column("note", "text", length=length)
    data = np.column_stack([column.codes([row[k] for row in rows]) for k in range(2)])
    view = played(histogram, histogram.domain().clamped(data), NoNoise(), 0)
    shown = dict(zip(view.public["cells"].tolist(), view.public["counts"].tolist(), strict=True))
    assert shown == counted(rows, length)


@deep
@examples(40, 40)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=200), st.integers(0, 10**6))
def test_texts_are_released_as_numbered_cells_are(cells, seed):
    """The same noise for the same counts: names in order are one law, however they are spelled."""
    names = ["", *"bcde"]
    codes = Column("note", "text", length=6).codes([names[cell] for cell in cells])
    listed = StableHistogram(cells=5, rows=200, threshold=20, scale=Fraction(2))
    unlisted = StableHistogram(text=6, rows=200, threshold=20, scale=Fraction(2))
    data = np.array(cells, dtype=float)[:, None]
    data[data == 0] = -1  # the empty text names nothing
    seen = []
    for histogram, rows in ((listed, data), (unlisted, codes)):
        proved = Proved(histogram.proof(Fraction(1, 100)))
        seen.append(played(histogram, rows, rehearse(proved, Rehearsal(seed)), 0).public)
    assert [names[cell] for cell in seen[0]["cells"]] == seen[1]["cells"].tolist()
    assert seen[0]["counts"].tolist() == seen[1]["counts"].tolist()


def test_cells_that_are_listed_twice_or_out_of_order_are_refused():
    proved = Proved(StableHistogram(text=6, rows=9).proof(Fraction(1, 100)))
    for cells in ([[1, 3], [1, 3]], [[2, 3], [1, 3]], [[1, -1]], [1, 2], [[1], [2]]):
        with pytest.raises(ReceiptError):
            rehearse(proved, Rehearsal(1)).noisy_cells("counts", 0, np.array(cells))
    receipt = rehearse(proved, Rehearsal(1))
    receipt.noisy_cells("counts", 0, np.array([[1, 3], [2, 0]]))
    with pytest.raises(ReceiptError, match="already drawn"):
        receipt.noisy_cells("counts", 0, np.array([[1, 3]]))


@deep
@given(st.lists(st.dictionaries(st.integers(0, 5), st.integers(1, 9)), min_size=1, max_size=3))
def test_counts_are_compared_name_by_name(tables):
    rows = [np.array(sorted(table.items()), dtype=np.int64).reshape(-1, 2) for table in tables]
    names = sorted(set().union(*tables))
    assert [row.tolist() for row in side_by_side(*rows)] == [
        [table.get(name, 0) for name in names] for table in tables
    ]


@pytest.mark.parametrize(("given", "words"), [({"length": 0}, "1 to 240"), ({"length": 241}, "1 to 240")])
def test_lengths_that_cannot_be_are_refused(given, words):
    with pytest.raises(InputError, match=words):
        Column("note", "text", **given)
    with pytest.raises(InputError, match="only text has"):
        Column("note", "boolean", length=3)
    with pytest.raises(InputError, match="text is 241"):
        StableHistogram(text=241)
