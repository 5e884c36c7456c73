"""A table as a claim declares it: what contradicts itself, or its copies in the document, is rejected."""

import pytest

from audits.consistency.agreement import check_columns, check_table, check_witness, labels_shown
from dpaccount.checker.certificate.tables import (
    bounds_of,
    check_bounds,
    check_column,
    check_declared,
    check_following,
    check_tables,
    counted,
    labels_of,
    read_off,
)
from dpaccount.checker.documents import Rejected
from tests.looped import looped

R, A = "replace-one", "add-remove"
X, Y = {"type": "number", "low": -3, "high": 1}, {"type": "number", "low": 0, "high": 4}
WARD = {"type": "category", "values": ["A", "B"], "other": True}
NOTE = {"type": "text", "length": 6}
COLUMNS = {"x": X, "y": Y, "ward": WARD, "seen": {"type": "boolean"}, "note": NOTE}
COLUMNS |= {"age": {"type": "integer", "low": 1, "high": 3}, "long": {**NOTE, "length": 7}}


def refused(check, *args, **named):
    try:
        check(*args, **named)
    except Rejected:
        return True
    return False


@looped(
    ("table", "fine"),
    [
        ({}, True),
        ({"rows": 10**9}, True),
        ({"rows": 40.0}, True),
        ({"id": "who", "max_rows": 1000}, True),
        ({"max_rows": 1}, True),
        ({"rows": None}, False),
        ({"columns": None}, False),
        ({"columns": {}}, False),
        ({"columns": {"x": {**X, "low": 2}}}, False),
        ({"rows": 10**9 + 1}, False),
        ({"rows": 2.5}, False),
        ({"rows": "inf"}, False),
        ({"id": "who", "max_rows": 1001}, False),
        ({"max_rows": 2}, False),
        ({"id": "who", "max_rows": 1.5}, False),
    ],
)
def test_a_declaration_contradicts_itself_nowhere(table, fine):
    table = {
        name: value for name, value in {"rows": 40, "columns": {"x": X}, **table}.items() if value is not None
    }
    assert refused(check_declared, table) is not fine


def test_a_table_without_a_declaration_is_none():
    check_declared({"file": "t.csv"})
    assert counted({"rows": 40, "max_rows": 2.0}) == (40, 2)
    assert counted({}) == (1, 1)


@looped(
    ("column", "fine"),
    [
        (X, True),
        ({**X, "high": -3}, True),
        ({**X, "missing": 0.5}, True),
        ({**X, "missing": 0, "missing_cells": "refuse"}, True),
        ({**X, "low": -(10**15), "high": 10**15}, True),
        ({**X, "high": -4}, False),
        ({**X, "missing": 2}, False),
        ({**X, "missing": -4}, False),
        ({**X, "high": 10**15 + 1}, False),
        ({**X, "low": -(10**15) - 1}, False),
        ({**X, "high": "inf"}, False),
        ({**X, "length": 3}, False),
        ({**X, "type": "numbers"}, False),
        ({"type": "integer", "low": 0, "high": 4, "missing": 2}, True),
        ({"type": "integer", "low": 0.5, "high": 4, "missing": 2}, False),
        ({"type": "integer", "low": 0, "high": 4.5, "missing": 2}, False),
        ({"type": "integer", "low": 0, "high": 4, "missing": 2.5}, False),
        (WARD, True),
        ({**WARD, "missing": "B"}, True),
        ({**WARD, "missing": "other"}, True),
        ({**WARD, "missing": "C"}, False),
        ({**WARD, "other": False, "missing": "other"}, False),
        ({**WARD, "values": ["A", "other"]}, False),
        ({**WARD, "values": ["A", "other"], "other": False}, True),
        ({**WARD, "values": []}, False),
        ({**WARD, "values": ["A", "A"]}, False),
        ({**WARD, "values": ["A", " B"]}, False),
        ({**WARD, "values": ["A", ""]}, False),
        (NOTE, True),
        ({"type": "text", "missing": "none"}, True),
        ({**NOTE, "length": 240}, True),
        ({**NOTE, "length": 1}, True),
        ({**NOTE, "length": 241}, False),
        ({**NOTE, "length": 0}, False),
        ({**NOTE, "missing": 3}, False),
        ({"type": "boolean", "missing": True}, True),
        ({"type": "boolean", "missing": 1}, False),
        ({"type": "boolean", "missing": "true"}, False),
    ],
)
def test_a_column_is_of_its_kind(column, fine):
    assert refused(check_column, "c", column) is not fine


def test_cells_and_bounds_of_a_column():
    assert bounds_of(X) == (-3, 1)
    assert bounds_of({"type": "boolean"}) == (0, 1)
    assert labels_of(WARD, None) == ["A", "B", "other"]
    assert labels_of({**WARD, "other": False}, None) == ["A", "B"]
    assert labels_of({"type": "boolean"}, None) == ["false", "true"]
    assert labels_of(COLUMNS["age"], None) == ["1", "2", "3"]
    assert labels_of({"type": "category", "values": ["A"]}, None) == ["A"]
    assert labels_of(X, [-3, 0, 0.5, 1]) == ["[-3, 0)", "[0, 0.5)", "[0.5, 1]"]
    assert labels_of(X, None) is None
    assert len(labels_of({"type": "integer", "low": 1, "high": 10_000}, None) or ()) == 10_000
    assert labels_of({"type": "integer", "low": 0, "high": 10_000}, None) is None


def test_parameters_that_columns_fix():
    bounds, one = {"low": -3, "high": 4}, {"low": -3, "high": 1, "bounds": "-3 1"}
    names = [f"{group}, {name}" for group in ("A", "B", "other") for name in "xy"]
    cells, both = ["A", "B", "other"], {"candidates": 2, "questions": 2, "bounds": "-3 1; 0 4"}
    crossed = [f"{group}, {seen}" for group in cells for seen in ("false", "true")]
    by = {"columns": ["x", "y"], "by": "ward"}
    for args, held, fixed, labels in (
        ({"column": "x"}, {}, one, {"columns": ["x"]}),
        ({"columns": ["x", "y"]}, {}, {**bounds, **both}, {"columns": ["x", "y"]}),
        (by, {}, {**bounds, "candidates": 6, "questions": 6}, {"columns": names}),
        ({"column": "ward"}, {}, {"cells": 3}, {"cells": cells}),
        ({"columns": ["ward", "seen"]}, {}, {"cells": 3, "keys": 2}, {"cells": cells}),
        ({"column": "x"}, {"reward": 3}, one, {"columns": ["x"]}),
        ({"column": "seen", "by": "ward"}, {"cells": 6}, {"cells": 6}, {"cells": crossed}),
        ({"columns": ["note", "note"]}, {"text": 6}, {"text": 6, "keys": 2}, None),
    ):
        assert read_off(args, held, COLUMNS) == fixed
        assert labels_shown(args, held, COLUMNS) == labels
    fixed = read_off({"columns": ["y", "x"]}, {"reward": 3}, COLUMNS)
    assert (fixed["reward"], fixed["candidates"], fixed["bounds"]) == (3, 1, "0 4")
    for args, held in (
        ({"column": "x"}, {"cells": 2}),
        ({"column": "seen", "by": "x"}, {"cells": 2}),
        ({"column": "note"}, {}),
        ({"columns": ["note", "long"]}, {"text": 6}),
        ({"columns": ["note", "ward"]}, {"text": 6}),
    ):
        assert refused(read_off, args, held, COLUMNS)


@looped(
    ("radius", "fine"), [("5", True), ("5.000001", False), ("4.999999", False), ("-5", False), ("5e6", False)]
)
def test_a_radius_is_the_longest_that_bounds_allow(radius, fine):
    assert refused(read_off, {"columns": ["x", "y"]}, {"radius": radius}, COLUMNS) is not fine
    assert not refused(read_off, {"columns": ["x", "y"], "radius": 2}, {"radius": radius}, COLUMNS)
    nothing = {"zero": {"type": "number", "low": 0, "high": 0}}
    assert refused(read_off, {"column": "zero"}, {"radius": radius}, nothing)
    assert not refused(read_off, {"column": "zero"}, {"radius": 0}, nothing)


@looped(
    ("held", "centred", "fine"),
    [
        ({"low": 1, "high": 3}, False, True),
        ({"low": "0.9981", "high": 3, "bits": 1000}, False, True),
        ({"low": 1, "high": "3.002", "bits": 1000}, False, True),
        ({"low": 1, "high": "3.003"}, False, False),
        ({"low": 1, "high": "3.009", "bits": 8}, False, True),
        ({"low": 1, "high": 3, "bits": 1001}, False, False),
        ({"low": 3, "high": 1}, False, False),
        ({"low": 2, "high": 2}, False, False),
        ({"low": 5, "high": 7}, False, False),
        ({"low": 5, "high": 7}, True, True),
        ({"low": 5, "high": 8}, True, False),
        ({"radius": "1/2"}, False, True),
        ({"radius": 1}, False, False),
        ({"low": 7}, False, True),
    ],
)
def test_rows_are_clipped_as_is_proved(held, centred, fine):
    steps = [
        {"rule": "assume_clipped", "with": {"low": "1", "high": "3"}},
        {"rule": "assume_clipped", "with": {"low": "-30", "high": "60"}},
        {"rule": "assume_ball", "with": {"radius": "1/2"}},
        {"rule": "gaussian", "with": {"low": "5", "radius": "7"}},
    ]
    assert refused(check_bounds, held, steps, centred=centred) is not fine
    assert not refused(check_bounds, held, steps[3:], centred=centred)


def document(held=(), args=(), relation=R, rows=40, release=None, steps=(), **more):
    """Return the parts of a certificate that are about its table; `rows` of the witness."""
    return {
        "claim": {
            "subject": {"use": more.get("use", "clipped-sum"), "parameters": {"column": "x", **dict(args)}},
            "data": {"rows": 40, "id": "who", "max_rows": more.get("most", 1), "columns": COLUMNS},
        },
        "subject": {"parameters": {"column": "x", "rows": 40, "low": -3, "high": 1, **dict(held)}},
        "proved": {"derivation": list(steps)},
        "guarantee": {"relation": relation},
        "audit": rows and {"witness": {"rows": rows, "unit": 1, **more.get("pair", {})}},
        "release": release and {"report": release},
    }


TWICE = {"persons": 40, "max_rows": 2, "rows": 80}
CLIPPED = {"rule": "assume_clipped", "with": {"low": "-3", "high": "1"}}
SHOWN = {"rule": "laplace", "with": {"scale": "1", "key": "sum"}}
SEEN = {"coins": 0, "wrong": "nothing", "other_rows": {"base": "zeros", "seed": 0}}
PERSONS = {"rule": "assume_persons", "with": {"rows": A}}


@looped(
    ("changes", "fine"),
    [
        ({}, True),
        ({"rows": None}, True),
        ({"rows": 41}, False),
        ({"held": {"rows": 41}}, False),
        ({"held": {"low": -4}}, False),
        ({"held": {"low": -2}}, False),
        ({"held": {"low": -2}, "args": {"low": -2}}, True),
        ({"held": {"relation": R}}, True),
        ({"held": {"relation": A}}, False),
        ({"held": {"persons": 40}}, False),
        ({"held": {"persons": 40, "max_rows": 1}}, False),
        ({"steps": [PERSONS]}, False),
        ({"steps": [PERSONS], "held": {"persons": 40, "max_rows": 1, "relation": A}}, True),
        ({"steps": [PERSONS], "held": {"persons": 41, "max_rows": 1, "relation": A}}, False),
        ({"steps": [PERSONS], "held": {"persons": 40, "max_rows": 2, "relation": A}}, False),
        ({"steps": [PERSONS], "held": {"persons": 40, "max_rows": 1, "relation": R}}, False),
        ({"most": 2, "steps": [PERSONS], "held": TWICE}, True),
        ({"most": 2, "steps": [PERSONS], "held": {**TWICE, "rows": 40}}, False),
        ({"held": {"bounds": "-3 1"}}, True),
        ({"held": {"bounds": "-3 2"}}, False),
        ({"release": {"sum": 3, "labels": {"columns": ["x"]}}}, True),
        ({"release": {"sum": 3, "labels": {"columns": ["y"]}}}, False),
        ({"release": {"sum": 3}}, False),
        ({"most": 2, "steps": [PERSONS], "held": {**TWICE, "rounds": 80}}, True),
        ({"most": 2, "steps": [PERSONS], "held": {**TWICE, "rounds": 20}}, False),
        ({"args": {"column": None}, "held": {"slots": 40}}, True),
        ({"args": {"column": None, "arm": "ward"}, "held": {"arms": ["A", "B"], "slots": 40}}, True),
        ({"args": {"column": None, "arm": "ward"}, "held": {"arms": ["A", "B", "other"]}}, False),
        ({"use": "own:Class", "held": {"rows": 41, "low": 9, "persons": 3}}, True),
    ],
)
def test_what_follows_from_a_table_is_in_the_document(changes, fine):
    whole = document(**changes)
    parameters = whole["claim"]["subject"]["parameters"]
    if parameters["column"] is None:
        del parameters["column"]
    seen = refused(check_following, whole, whole["claim"]["data"]) or refused(check_columns, whole)
    assert seen is not fine


def test_some_parameter_says_how_many_rows_there_are():
    whole = document()
    del whole["subject"]["parameters"]["rows"]
    with pytest.raises(Rejected, match="no parameter says how many rows"):
        check_following(whole, whole["claim"]["data"])


@looped(
    ("relation", "pair", "fine"),
    [
        (R, {"left": [1, 2], "right": [1, 3]}, True),
        (R, {"left": [1, 2], "right": [1, 2]}, False),
        (R, {"left": [1, 2], "right": [1]}, False),
        (R, {"left": [1, 2], "right": None}, False),
        (A, {"left": [1, 2], "right": None}, True),
        (A, {"left": [1, 2], "right": [1]}, False),
        (A, {"left": [1, 2], "right": None, "unit": 0}, False),
        (A, {"left": [1, 2], "right": None, "unit": 41}, False),
        (A, {"left": [1, 2], "right": None, "unit": 40}, True),
    ],
)
def test_an_attacked_pair_are_neighbours(relation, pair, fine):
    assert refused(check_witness, document(relation=relation, pair={**SEEN, **pair})) is not fine
    assert not refused(check_witness, document(rows=None))


FILE = {"file": "t.csv", "ledger": "sqlite:///t.db"}
OWN = {"columns": {"x": X}, "rows": 9}


@looped(
    ("data", "described", "fine"),
    [
        ({}, {}, True),
        ({**FILE, **OWN}, {}, True),
        ({**FILE, "scope": "a"}, {}, True),
        (OWN, {}, True),
        ({}, OWN, True),
        ({"file": "t.csv"}, {}, False),
        ({"ledger": "sqlite:///t.db"}, {}, False),
        ({"public": True}, {}, False),
        ({**OWN, "scope": "a"}, {}, False),
        ({"rows": 9}, {}, False),
        ({**OWN, "rows": 2.5}, {}, False),
        ({}, {**OWN, "rows": 2.5}, False),
        ({**FILE, **OWN, "join": {"t": {"columns": {"z": {**X, "low": 2}}}}}, {}, False),
    ],
)
def test_data_are_a_file_with_its_ledger_or_a_table(data, described, fine):
    """Without a proof; with one, a subject has no data of its own."""
    claim = {"data": data, "subject": {"use": "own:f", "data": described}}
    whole = {"claim": claim, "subject": {"parameters": {}}, "proved": {"derivation": []}}
    assert (refused(check_tables, whole) or refused(check_table, whole)) is not fine


@looped(
    ("changes", "fine"),
    [
        ({}, True),
        ({"steps": [CLIPPED, SHOWN]}, True),
        ({"steps": [{**CLIPPED, "with": {"low": "-3", "high": "2"}}, SHOWN]}, False),
        ({"rows": 41}, False),
        ({"pair": {"right": None}}, False),
        ({"held": {"rows": 41}}, False),
        ({"held": {"unit": 1}}, False),
        ({"args": {"column": "z"}, "held": {"column": "z"}}, False),
        ({"described": OWN}, False),
        ({"use": "clipped-mean"}, True),
        ({"use": "clipped-mean", "held": {"low": -4, "high": 0}, "args": {"low": -4, "high": 0}}, True),
    ],
)
def test_a_proved_table_is_checked_in_every_part(changes, fine):
    pair = {**SEEN, "left": [1, 2], "right": [1, 3], **changes.pop("pair", {})}
    described = changes.pop("described", {})
    whole = document(**{"steps": [CLIPPED, SHOWN], "pair": pair, **changes})
    whole["claim"]["data"] |= FILE
    whole["claim"]["subject"]["data"] = described
    assert (refused(check_tables, whole) or refused(check_table, whole)) is not fine
