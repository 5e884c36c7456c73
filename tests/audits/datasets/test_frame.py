"""Tables for functions: what they get is what was declared, and neighbours differ by one person's rows."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.datasets.described import paired, read_data
from audits.datasets.forms import FORMS, MISSING, Given
from audits.datasets.frame import Frame
from audits.datasets.frame_pairs import bases, persons
from audits.datasets.neighbours import candidates, random_pairs
from dpaccount.documents import parse_json, parse_toml
from dpaccount.errors import InputError
from mechanisms.table import Column, Table
from tests.depth import deep, examples
from tests.loading import import_subject
from tests.looped import looped

ROOT = Path(__file__).parents[3]
VISITS = ROOT / "examples" / "pandas_function" / "visits.toml"
COLUMNS = (
    Column("age", "integer", low=0, high=110),
    Column("city", "category", values=("north", "south"), other=True),
    Column("seen", "boolean"),
    Column("note", "text"),
    Column("cost", "number", low=-1, high=100),
)
ONE_ROW = Frame(Table(COLUMNS, 5), "pandas", (True,) * 5, "replace-one")
PERSONS = replace(ONE_ROW, table=Table(COLUMNS, 5, "patient", 3), gaps=(True, False, True, True, True))
FRAMES = [
    replace(frame, relation=way) for frame in (ONE_ROW, PERSONS) for way in ("replace-one", "add-remove")
]


def within(frame, data):
    """Say whether a dataset keeps to the declaration, read from the cells that the function would get."""
    many = {}
    for row in frame.layout.rows(data):
        who = row.get("patient", len(many))
        many[who] = many.get(who, 0) + 1
        for column, gaps in zip(frame.table.columns, frame.gaps, strict=True):
            cell = row[column.name]
            if cell is None:
                assert gaps
            elif column.kind in ("number", "integer"):
                assert column.low <= cell <= column.high
                assert column.kind == "number" or type(cell) is int
            elif column.kind == "category":
                assert cell in column.values or column.other
            else:
                assert type(cell) is (bool if column.kind == "boolean" else str)
    assert all(count <= frame.table.max_rows for count in many.values())
    assert len(many) <= frame.rows
    return len(many)


def check(frame, pair):
    """A pair keeps to the declaration, and differs by one person, whoever reads it."""
    sizes = within(frame, pair.left), within(frame, pair.right)
    assert frame.neighbours(pair.left, pair.right)
    if frame.relation == "replace-one":
        assert sizes == (frame.rows, frame.rows)
    else:
        assert abs(sizes[0] - sizes[1]) == 1
    sides = [frame.layout.dataset(side) for side in (pair.left, pair.right)]
    if frame.table.identity is None:
        return
    changed = [
        who
        for who in set(sides[0]["patient"]) | set(sides[1]["patient"])
        if not sides[0][sides[0]["patient"] == who]
        .reset_index(drop=True)
        .equals(sides[1][sides[1]["patient"] == who].reset_index(drop=True))
    ]
    assert len(changed) == 1
    rest = [side[side["patient"] != changed[0]].reset_index(drop=True) for side in sides]
    assert rest[0].equals(rest[1])  # the others, in the same order


@deep
@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: f"{frame.table.identity}-{frame.relation}")
def test_pairs_are_neighbours_within_the_declaration(frame, depth):
    found = [*candidates(frame, depth.seed(1), 40), *random_pairs(frame, depth.seed(1), 30)]
    assert len({(pair.left.tobytes(), pair.right.tobytes()) for pair in found}) > 40
    for pair in found:
        check(frame, pair)


@deep
def test_every_declared_value_a_missing_cell_and_other_texts_are_tried():
    seen = {column.name: set() for column in COLUMNS}
    for pair in candidates(PERSONS, 1, 200):
        for row in PERSONS.layout.rows(np.concatenate([pair.left, pair.right])):
            for name, cells in seen.items():
                cells.add(row[name])
    assert {0, 110, None} <= seen["age"]
    assert {"north", "south"} < seen["city"]
    assert None not in seen["city"]
    assert seen["seen"] == {True, False, None}
    assert {-1.0, 100.0, 0.0, None} <= seen["cost"]
    assert len(seen["note"]) > 2


@given(st.integers(0, 2**32 - 1))
@examples(20)
def test_records_and_datasets_say_the_same(seed):
    pair = random_pairs(PERSONS, seed, 3)[0]
    assert np.array_equal(PERSONS.data(PERSONS.records(pair.left)), pair.left)


@deep
def test_a_persons_rows_stand_apart_and_come_earlier_when_there_are_more():
    frame = read_data(parse_toml(VISITS.read_bytes(), str(VISITS)), "replace-one", None).shape
    orders = set()
    for pair in candidates(frame, 1, 60):
        for side in (pair.left, pair.right):
            owners = side[:, 0].tolist()
            orders.add(tuple(dict.fromkeys(owners)))
    assert len(orders) > 3  # who comes first depends on rows
    runs = 1 + int((np.diff(side[:, 0]) != 0).sum())
    assert runs > 2 * len(set(owners)) or len(owners) < 2 * frame.rows


@deep
@pytest.mark.parametrize("change", ["two persons", "another order", "a person more", "too few"])
def test_what_differs_by_more_than_a_person_is_no_neighbour(change):
    left = next(pair.left for pair in candidates(PERSONS, 1, 20) if len(pair.left) > 8)
    right = left.copy()
    if change == "two persons":
        for who in (0.0, 1.0):
            right[right[:, 0] == who, 1] = 7.0
    elif change == "another order":
        right = right[::-1]
    elif change == "a person more":
        right = right[right[:, 0] != 0]
    else:
        right = right[~np.isin(right[:, 0], (0, 1))]
    assert not PERSONS.neighbours(left, right)
    added = replace(PERSONS, relation="add-remove")
    assert added.neighbours(left, right) is (change == "a person more")


# ------------------------------------------------------------------ forms


def matrix(frame, cells):
    """Return rows of one column, `cells` its codes."""
    return np.column_stack([np.arange(len(cells)), *[cells] * len(frame.table.columns)])


@looped("form", FORMS)
def test_types_follow_from_the_declaration_and_never_from_cells(form):
    columns = tuple(column for column in COLUMNS if form != "array" or column.kind != "text")
    for gaps in (True, False):
        frame = Frame(Table(columns, 3), form, (gaps,) * len(columns), "replace-one")
        holes = [[1.0, 0.0, 1.0], [MISSING, 1.0, 0.0], [MISSING] * 3, []] if gaps else [[1.0, 0.0, 1.0], []]
        kinds = set()
        for cells in holes:
            made = frame.layout.dataset(matrix(frame, cells))
            if form == "array":
                kinds.add((made.dtype, made.shape[1:]))
            else:
                names = made if form == "dict" else made.columns
                kinds.add(tuple((name, str(made[name].dtype)) for name in names))
        assert len(kinds) == 1


def test_a_data_frame_is_what_reading_a_file_gives():
    frame = replace(ONE_ROW, gaps=(True, True, False, True, True))
    rows = [[0, 40, 0, 1, 0, 2.5], [1, MISSING, MISSING, 0, MISSING, MISSING]]
    made = frame.layout.dataset(np.array(rows, dtype=float))
    text = "age,city,seen,note,cost\n40,north,True,somewhere else,2.5\n,,False,,\n"
    pd.testing.assert_frame_equal(made, pd.read_csv(io.StringIO(text)))
    polars = replace(frame, form="polars").layout.dataset(np.array(rows, dtype=float))
    assert polars.equals(pl.read_csv(io.StringIO(text.replace("True", "true").replace("False", "false"))))


@looped("form", FORMS)
def test_a_run_gets_a_copy_and_changes_are_noticed(form):
    frame = Frame(Table(COLUMNS[:1], 3, "clone"), form, (True,), "replace-one")
    given_ = Given(frame.layout.dataset(matrix(frame, [3.0, MISSING, 5.0])))
    one, two = given_.fresh(), given_.fresh()
    assert not given_.changed(one)
    if form == "array":
        one[0, 1] = 4
    elif form == "dict":
        one["age"][0] = 4
    elif form == "pandas":
        one["more"] = 1
    else:
        one[0, "age"] = 4
    assert given_.changed(one)
    assert not given_.changed(two)


@deep
@pytest.mark.parametrize("form", FORMS)
def test_the_python_that_is_printed_makes_the_dataset(form):
    columns = tuple(column for column in COLUMNS if form != "array" or column.kind != "text")
    gaps = tuple(column.kind != "boolean" for column in columns)
    frame = Frame(Table(columns, 5, "patient", 3), form, gaps, "replace-one")
    for pair in candidates(frame, 1, 12):
        made = eval(frame.literal(pair.left), {"np": np, "pd": pd, "pl": pl})  # noqa: S307
        assert not Given(frame.layout.dataset(pair.left)).changed(made)


# ------------------------------------------------------------------ queries


def moved(query, left, right):
    """Return the ℓ1 movement of a query; infinite where keys or lengths differ."""
    one, two = query(left), query(right)
    if isinstance(one, pd.Series) and list(one.index) != list(two.index):
        return np.inf
    return float(np.abs(np.subtract(two, one)).sum()) if np.shape(one) == np.shape(two) else np.inf


PLANTED = import_subject("frame_functions:BOUNDS", [str(ROOT / "tests" / "planted")])


@deep
@pytest.mark.parametrize("name", sorted(PLANTED))
def test_the_first_pairs_tell_planted_queries_from_sound_ones(name):
    query = import_subject(f"frame_functions:{name}", [str(ROOT / "tests" / "planted")])
    frame = read_data(parse_toml(VISITS.read_bytes(), str(VISITS)), "replace-one", None).shape
    bound, sound = PLANTED[name]
    worst = 0.0
    for pair in candidates(frame, 1, 30):
        worst = max(worst, moved(query, *map(frame.layout.dataset, (pair.left, pair.right))))
        if worst > bound:
            break
    assert (worst <= bound) is sound
    assert worst > bound / 2


# ------------------------------------------------------------------ what is refused

TABLE = "rows = 4\n{more}\n[columns]\n{columns}\n"
AGE = 'age = { type = "number", low = 0, high = 9 }'


def described(more="", columns=AGE, relation="replace-one"):
    return read_data(parse_toml(TABLE.format(more=more, columns=columns), "t.toml"), relation, None)


@looped(
    ("more", "columns", "relation", "said"),
    [
        ("low = 0", AGE, "replace-one", "low: this describes an array"),
        ('as = "spark"', AGE, "replace-one", "known here: array, dict, pandas, polars"),
        ("max_rows = 2", AGE, "replace-one", "max_rows goes with id"),
        ("", 'age = { type = "number", low = 0 }', "replace-one", "columns.age: age has no bounds"),
        (
            "",
            'age = { type = "number", low = 0, high = 9, missing_cells = 1 }',
            "replace-one",
            "missing_cells",
        ),
        ('as = "array"', 'note = { type = "text" }', "replace-one", "note is text"),
        ("", AGE, "bounded-row", "describe an array by shape"),
        ('id = "age"', AGE, "replace-one", "declare what is read"),
        ("left = []", AGE, "replace-one", "a pair has two sides"),
        ("left = [{age = 10}]\nright = [{age = 1}]", AGE, "replace-one", "left/0"),
        ("left = [{age = 1}]\nright = [{ages = 1}]", AGE, "replace-one", "unknown key 'ages'"),
        (
            "left = [{age = 1}, {age = 2}]\nright = [{age = 3}, {age = 4}]",
            AGE,
            "replace-one",
            "no neighbours",
        ),
    ],
)
def test_wrong_declarations_are_one_clear_sentence(more, columns, relation, said):
    with pytest.raises(InputError) as error:
        described(more, columns, relation)
    assert said.replace("/", ".") in str(error.value)
    assert str(error.value).startswith("t.toml")
    assert "; " in str(error.value)


def test_missing_cells_are_as_declared():
    columns = "\n".join(
        [
            'a = { type = "number", low = 0, high = 9 }',
            'b = { type = "number", low = 0, high = 9, missing = 3 }',
            'c = { type = "number", low = 0, high = 9, missing = 3, missing_cells = true }',
            'd = { type = "number", low = 0, high = 9, missing_cells = false }',
        ]
    )
    assert described(columns=columns).shape.gaps == (True, False, True, False)


def test_a_written_pair_keeps_its_names_texts_and_order():
    columns = AGE + '\ncity = { type = "category", values = ["north"], other = true }'
    frame = described('id = "who"\nmax_rows = 2\nas = "dict"', columns).shape
    left = '[{"who": "eve", "age": 3, "city": "Oslo"}, {"who": "bob", "age": null, "city": "north"}]'
    found = paired(frame, *(parse_json(each, "pair") for each in (left, left.replace("3", "4.5"))))
    made = found.shape.layout.dataset(found.pair[0])
    assert made["who"].tolist() == ["eve", "bob"]
    assert made["city"].tolist() == ["Oslo", "north"]
    assert made["age"][0] == 3
    assert np.isnan(made["age"][1])
    shown = found.shape.shown(*found.pair)
    assert shown["left"] == [{"who": "eve", "age": 3.0, "city": "Oslo"}]
    assert shown["right"] == [{"who": "eve", "age": 4.5, "city": "Oslo"}]
    assert (shown["unit"], shown["rows"]) == ("eve", [[0], [0]])
    assert shown["other_rows"] == [{"who": "bob", "age": None, "city": "north"}]


@deep
def test_the_rows_that_differ_and_the_others_make_both_sides_again():
    for frame in FRAMES:
        for pair in candidates(frame, 2, 30):
            shown = frame.shown(pair.left, pair.right)
            for side, key, places in zip(
                (pair.left, pair.right), ("left", "right"), shown["rows"], strict=True
            ):
                others, own = iter(shown["other_rows"]), iter(shown[key])
                made = [next(own if k in places else others) for k in range(len(side))]
                assert made == frame.layout.rows(side)
                assert len(shown[key]) <= frame.table.max_rows


def test_bases_have_names_of_their_own():
    said = [base.sentence() for base in bases(PERSONS)]
    assert len(set(said)) == len(said) > 30
    assert all(rows.shape[1] == len(COLUMNS) for rows in persons(PERSONS).values())
