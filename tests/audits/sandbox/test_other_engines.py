"""Totals of another engine: its parts, whatever they are, sum to the table's, and come back as a manifest."""

import datetime
import json
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from audits.sandbox import other_engines
from audits.sandbox.table_parts import TableWork
from dpaccount.errors import InputError
from tests.audits.certificate.test_tables import claim_on, opened, reads, table
from tests.audits.sandbox.test_table_parts import PERSONS, asked, claimed, real_digests
from tests.depth import deep
from tests.looped import looped

READ = "column = 'y'\nscale = 3\ncount_scale = 3"


def begun(folder):
    table(folder)
    claim = claimed(folder)
    frame = pd.read_csv(folder / "t.csv", dtype=str, keep_default_na=False).drop(columns="unread")
    return claim, other_engines.begin(claim.path), frame.sort_values(list(frame.columns))


def parts_of(frame, count):
    """Return the frames of the parts, as Spark's repartition by person makes them."""
    home = frame["who"].map(lambda who: int(who[1:]) % count)
    return [frame[home == k] for k in range(count)]


def sums(summer, frames, batch=7):
    """Return what one call for the part of each frame gives, its rows in batches."""
    given = [[f.iloc[k : k + batch] for k in range(0, len(f), batch)] for f in frames]
    shipped = pickle.loads(pickle.dumps(summer))  # noqa: S301 - our own
    return [next(iter(shipped.of_frames(each))).to_dict("records")[0] for each in given]


@deep
def test_the_totals_of_parts_are_those_of_the_table_in_their_order(tmp_path):
    claim, summer, frame = begun(tmp_path)
    frame.to_csv(tmp_path / "t.csv", index=False)  # in the order that the parts have
    whole = asked(claim, TableWork())
    for count in (1, 3, 7):
        found = sums(summer, parts_of(frame, count))
        assert np.sum([each["totals"] for each in found], axis=0).tolist() == whole.sums.tolist()
        assert sum(each["units"] for each in found) == whole.units == 32


def test_a_manifest_of_another_engine_is_taken_whole_or_not_at_all(tmp_path):
    claim, summer, frame = begun(tmp_path)
    found, work = sums(summer, parts_of(frame, 4)), TableWork(folder=tmp_path / "w", other=True)
    summer.keep(found, tmp_path / "w")
    digests = real_digests(claim)
    taken = asked(claim, work, digests=digests)
    assert taken.sums.tolist() == np.sum([each["totals"] for each in found], axis=0).tolist()
    assert (tmp_path / "w" / "manifest.jsonl").stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match=r"there are parts of other work|another partitions"):
        summer.keep(found, tmp_path / "w")
    with pytest.raises(InputError, match="manifest and this release differ in partitions, engine"):
        asked(claim, TableWork(folder=tmp_path / "w"), digests=digests)
    path = tmp_path / "w" / "manifest.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(InputError, match="the other engine's manifest lacks 1 of 4 parts"):
        asked(claim, work, digests=digests)
    table(tmp_path, seed=2)
    with pytest.raises(InputError, match="manifest and this release differ in data"):
        asked(claim, work, digests=real_digests(claim))
    with pytest.raises(InputError, match="No such file"):
        asked(claim, TableWork(folder=tmp_path / "none", other=True))


def test_a_person_in_two_parts_is_refused(tmp_path):
    """The broken engine: it divides rows, and each part counts a person up to the bound."""
    claim, summer, frame = begun(tmp_path)
    summer.keep(sums(summer, [frame.iloc[::2], frame.iloc[1::2]]), tmp_path / "w")
    with pytest.raises(InputError, match="some persons have rows in two parts"):
        asked(claim, TableWork(folder=tmp_path / "w", other=True), digests=real_digests(claim))


SPOILT = [
    (lambda part: {**part, "totals": part["totals"][:1]}, "other totals than this claim's"),
    (lambda part: {**part, "totals": []}, "other totals than this claim's"),
    (lambda part: {**part, "marks": ""}, "not one mark for each of its persons"),
    (lambda part: {**part, "units": part["units"] - 1}, "not one mark for each of its persons"),
    (lambda part: {**part, "totals": [each + 0.5 for each in part["totals"]]}, "has not the totals"),
    (lambda part: {**part, "totals": [2**62] * 2}, "has not the totals"),
    (lambda part: {**part, "units": -1}, "has not the totals"),
    (lambda part: {**part, "units": 16.0}, "has not the totals"),
    (lambda part: {"totals": part["totals"], "units": 16}, "has not the totals"),
]


def test_parts_that_are_not_what_came_back_are_refused(tmp_path):
    claim, summer, frame = begun(tmp_path)
    found, digests = sums(summer, parts_of(frame, 2)), real_digests(claim)

    def taken(parts, folder):
        summer.keep(parts, folder)
        return asked(claim, TableWork(folder=folder, other=True), digests=digests)

    assert taken(found, tmp_path / "w").units == 32
    for number, (spoil, said) in enumerate(SPOILT):
        with pytest.raises(InputError, match=said):
            taken([spoil(each) for each in found], tmp_path / str(number))


def test_a_manifest_with_numbers_that_are_no_totals_is_refused(tmp_path):
    claim, summer, frame = begun(tmp_path)
    summer.keep(sums(summer, parts_of(frame, 2)), tmp_path / "w")
    path = tmp_path / "w" / "manifest.jsonl"
    header, first, second = path.read_text().splitlines()
    for name, value in (("units", 16.5), ("units", "16"), ("totals", [0.5, 1]), ("part", 0.5)):
        path.write_text("\n".join([header, json.dumps({**json.loads(first), name: value}), second, ""]))
        with pytest.raises(InputError, match="no manifest of totals"):
            asked(claim, TableWork(folder=tmp_path / "w", other=True), digests=real_digests(claim))


def test_a_person_who_is_a_number_in_one_part_and_a_text_in_another_is_one(tmp_path):
    claim, summer, _ = begun(tmp_path)
    parts = [summer.totals([batch(who=[7])]), summer.totals([batch(who=["7"])])]
    summer.keep(parts, tmp_path / "w")
    with pytest.raises(InputError, match="some persons have rows in two parts"):
        asked(claim, TableWork(folder=tmp_path / "w", other=True), digests=real_digests(claim))


class Unwritable:
    def __str__(self):
        raise ValueError("HIV")


DAY = datetime.date(2020, 1, 2)
ODD = [
    *(
        [3, "HIV"],
        [b"HIV", "north"],
        [2**70, 1],
        [DAY, "HIV"],
        [datetime.date(1, 1, 1), pd.Timestamp(2020, 1, 2)],
    ),
    *([{"HIV": 1}, {"HIV": 2}], [["HIV"], [1]], ["\ud800 HIV", "north"], [Unwritable(), 1], [pd.NaT, "HIV"]),
    *([True, "HIV"], [Decimal("1.5"), Decimal("NaN")], [1.5, 2**70], [None, pd.NA], [1j, {1}]),
]


@pytest.fixture(scope="module")
def summer(tmp_path_factory):
    return begun(tmp_path_factory.mktemp("begun"))[1]


@pytest.mark.parametrize("name", ["who", "x", "y", "city", "seen", "paid", "unread"])
@looped("cells", ODD)
def test_no_cell_of_a_frame_is_refused_or_quoted(monkeypatch, summer, name, cells):
    """And each counts as it does alone: what a cell counts as is not decided by another row's.

    That the code is the same is not asked of every frame here.
    """
    monkeypatch.setattr(other_engines, "digests_of", lambda *_: summer.digests)
    rows = {"who": ["p1", "p2"], "x": [0.1] * 2, "y": [0.1] * 2, "city": ["north"] * 2}
    rows |= {"seen": [True] * 2, "paid": [True] * 2}
    frame = pd.DataFrame({**rows, name: pd.Series(cells, dtype=object)})
    (both,), alone = sums(summer, [frame]), sums(summer, [frame.iloc[:1], frame.iloc[1:]])
    assert both["totals"] == np.sum([each["totals"] for each in alone], axis=0).tolist()


def test_a_frame_with_two_columns_of_one_name_is_refused(tmp_path):
    _, summer, frame = begun(tmp_path)
    with pytest.raises(InputError, match="appears twice"):
        sums(summer, [pd.concat([frame, frame[["x"]]], axis=1)])


def batch(**columns):
    cells = {"x": [0.1], "y": [0.1], "city": ["north"], "seen": [True], "paid": [True], **columns}
    return pa.RecordBatch.from_pydict(cells)


@pytest.mark.parametrize(
    ("batches", "said"),
    [
        ([batch(who=[1.0])], "who is double; give all its cells as integers, without gaps, or as text"),
        ([batch()], "no column who"),
        ([batch(who=[[1]])], "the column who is nested"),
    ],
)
def test_batches_without_exact_identities_are_refused(tmp_path, batches, said):
    """Pandas makes floats of integers with gaps, and those beyond 2^53 lose digits."""
    _, summer, _ = begun(tmp_path)
    with pytest.raises(InputError, match=said):
        summer.totals(batches)


def test_one_person_has_one_mark_however_it_is_spelled(tmp_path):
    _, summer, _ = begun(tmp_path)
    spelled = [[1], ["1"], ["1.0"], pa.array(["+1"]).dictionary_encode(), [Decimal("1.00")], [b"1e0"]]
    parts = [summer.totals([batch(who=who)]) for who in spelled]
    assert {(part["units"], part["marks"]) for part in parts} == {(1, parts[0]["marks"])}


def test_other_code_and_no_sums_are_refused(tmp_path):
    _, summer, _ = begun(tmp_path)
    for name in ("code", "pyarrow"):
        digests = {**summer.digests, name: "x"}
        other = other_engines.PartSummer(summer.bound, digests, bytes(32))
        with pytest.raises(InputError, match=f"this machine has other {name} than"):
            other.totals([])
    with pytest.raises(InputError, match="quantile adds no noise to sums"):
        other_engines.begin(claim_on(tmp_path, "quantile", reads("quantile")))


@deep
def test_a_release_from_another_engine_says_so(tmp_path, dpaccount):
    table(tmp_path)
    path = claim_on(tmp_path, "clipped-mean", READ, relation="add-remove", rows=40, about=PERSONS)
    opened(dpaccount, "add-remove")
    _, summer, frame = begun(tmp_path)
    summer = other_engines.begin(path)
    summer.keep(sums(summer, parts_of(frame, 3)), tmp_path / "w")
    code, out, err = dpaccount("release", path, "--json", "--quick", "--engine", "other", "--work", "w")
    assert code == 0, err
    told = json.loads((tmp_path / json.loads(out)["certificate"]).read_text())["hazards"]
    assert any("came from another engine" in each for each in told)
    assert any("part of the table" in each for each in told)
    code, _, err = dpaccount("release", path, "--engine", "other")
    assert (code, "--engine other has parts of its own; give it --work alone" in err) == (2, True)
