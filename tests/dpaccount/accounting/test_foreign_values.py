"""193 values that the test suites of other libraries expect, asked of this one.

A row of `foreign_values.json`: whose test, what is asked of which events, their value and tolerance, and
whether it is the value (=), an upper bound (<=) or one direction only (>=).  Rows with a note are not the
value; the note says why.
"""

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from dpaccount import Accountant
from dpaccount.accounting.calibration.calibrate import settle
from dpaccount.accounting.calibration.unknown import unknown_in
from dpaccount.documents import parse_json
from dpaccount.exact import Enclosure
from dpaccount.plan.plan_file import read_plan
from tests.depth import deep

ROWS = json.loads((Path(__file__).parent / "foreign_values.json").read_text(encoding="utf-8"))


def ours(row):
    document = {"schema": "dpaccount/events/1", "relation": row["relation"], "events": row["events"]}
    place = parse_json(json.dumps(document).encode(), "plan.json")
    if row["asks"].startswith("calibrate"):
        found = settle(unknown_in(place), *map(Fraction, row["at"])).value
        return [1 / found if row["asks"] == "calibrate inverse" else found] * 2
    whole = Accountant(read_plan(place))
    if row["asks"] == "mu2":
        return [whole.gdp()] * 2
    found: Enclosure = getattr(whole, row["asks"])(row["at"])
    return found.lower, found.upper


def agrees(row):
    theirs, within, (low, high) = float(row["theirs"]), row["within"], ours(row)
    above = high == theirs or float(high) >= theirs - within
    below = float(high if low is None else low) <= theirs + within or low == theirs == math.inf
    return {"=": above and below, "<=": float(high) <= theirs + within, ">=": above}[row["is"]]


def test_there_are_as_many_as_before():
    assert len(ROWS) == 193
    assert sum("note" in row for row in ROWS) <= 7


@deep
@pytest.mark.parametrize("first", range(10))
def test_values_agree_or_the_error_is_stated(first):
    wrong = [row for row in ROWS[first::10] if agrees(row) == ("note" in row)]
    assert not wrong
