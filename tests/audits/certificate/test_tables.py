"""A claim on a table: every mechanism runs on a file by its claim alone; private cells are never refused.

docs/tables.md is followed literally.
"""

import csv
import json
import os
import random
import re
import shutil
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from audits.certificate import release
from audits.certificate.document import refused_by_checker
from audits.claim import read_claim
from audits.sandbox.private_data import rows_of
from audits.subjects.catalogue import BoundClaim, find, on_table, subject_of
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import point
from mechanisms.subject.isolation import played
from mechanisms.table.rows import read_rows
from tests.depth import deep, examples
from tests.mechanisms.catalogued import mechanisms

MECHANISMS = [entry.name for entry in mechanisms()]
COLUMNS = """
x = { type = "number", low = 0, high = 0.5 }
y = { type = "number", low = -0.5, high = 0.5, missing = 0 }
city = { type = "category", values = ["north", "south"], other = true }
seen = { type = "boolean" }
paid = { type = "boolean", missing = false }
"""
READ = {
    "cells": 'column = "city"',
    "number": 'column = "y"',
    "numbers": 'columns = ["x", "y"]',
    "votes": 'columns = ["seen", "paid"]',
    "persons": 'columns = ["city"]',
    "trial": 'arm = "city"\nreward = "seen"',
    "statistics": """
[[subject.parameters.statistic]]
name = "seen by city"
what = "count"
by = ["city"]
where = "seen == true"
[[subject.parameters.statistic]]
name = "mean of y"
what = "mean"
column = "y"
""",
}
ROWS = 64


def claim_on(
    folder,
    use,
    read,
    *,
    relation="replace-one",
    rows=ROWS,
    about="",
    epsilon=100,
    model="central",
    delta=1e-6,
    name="t",
):
    path = folder / "claim.toml"
    path.write_text(
        f"""
schema = "dpaccount/claim/1"
name = "{name}"
[guarantee]
model = "{model}"
unit = "one row"
relation = "{relation}"
epsilon = {epsilon}
delta = {delta}
[subject]
use = "{use}"
[subject.parameters]
{read}
[data]
file = "t.csv"
ledger = "sqlite:///t.db"
rows = {rows}
{about}
[data.columns]{COLUMNS}
[audit]
trials = 200
"""
    )
    return path


def table(folder, rows=ROWS, seed=1):
    rng = random.Random(seed)
    with (folder / "t.csv").open("w", newline="") as file:
        written = csv.writer(file)
        written.writerow(["who", "x", "y", "city", "seen", "paid", "unread"])
        for row in range(rows):
            city, seen = rng.choice(["north", "south", "west", ""]), rng.choice(["true", "false", "?"])
            written.writerow([f"p{row % 32}", rng.random() / 2, rng.random() - 0.5, city, seen, "no", "…"])


def opened(dpaccount, relation):
    """Open a ledger with room for everything."""
    budget = ("--epsilon", 1000, "--delta", "1e-3", "--unit", "one row", "--relation", relation)
    assert dpaccount("ledger", "init", "sqlite:///t.db", *budget, "--measure", "approximate")[0] == 0


def reads(name):
    return READ[find(name).made_by.reads]


def test_every_mechanism_says_what_it_reads():
    assert {find(name).made_by.reads for name in MECHANISMS} <= set(READ)


@deep(quick_every=4)
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_runs_on_a_table_by_claim_alone(tmp_path, name):
    table(tmp_path)
    relation = "replace-one" if name != "stable-histogram" else "add-remove"
    claim = read_claim(claim_on(tmp_path, name, reads(name), relation=relation))
    subject, reading = on_table(claim, find(name).made_by)
    rows = read_rows(claim.data_file, claim.table, reading, relation)
    subject.domain().admit(rows, subject.relation)
    proved = Proved(subject.proof(claim.guarantee.delta))
    assert proved.relation == relation
    view = played(subject, subject.domain().clamped(rows), rehearse(proved, Rehearsal(1)), 0)
    shown = {**view.public, **view.own}
    assert shown
    for interval in subject.accuracy(view).values():
        assert (np.array(interval["low"]) <= np.array(interval["high"])).all()


@deep
@pytest.mark.statistical(0.05)  # one sound claim
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_is_released_on_a_table_by_claim_alone(tmp_path, dpaccount, name):
    table(tmp_path)
    relation = "replace-one" if name != "stable-histogram" else "add-remove"
    model = {"local-mean": "local", "randomised-response": "local"}.get(name, "central")
    claim = claim_on(tmp_path, name, reads(name), relation=relation, model=model)
    opened(dpaccount, relation)
    code, out, err = dpaccount("release", claim, "--json", "--quick")
    found = json.loads(out)
    assert (code, found["verdict"], found["releasable"]) == (0, "CERTIFIED", True), err
    assert found["statistics" if name == "noisy-statistics" else "release"]
    assert dpaccount("check", found["certificate"])[0] == 0


@deep
@pytest.mark.statistical(0.05)  # one sound claim
@pytest.mark.parametrize(
    ("use", "read"),
    [
        ("laplace-sum", 'column = "u"\nscale = 1'),
        ("clipped-mean", 'column = "v"\nscale = 1'),
        ("gaussian-sum", 'columns = ["u", "v"]\nsigma = 40'),
        ("quantile", 'column = "v"'),
        ("laplace-sum", 'column = "u"\nlow = "1/9"\nhigh = 0.3\nscale = "3/2"'),
        (
            "histogram",
            'column = "city"\nsigma = 1',
        ),  # δ at ε/2 = 400 is nought, whatever rounding makes of it
    ],
)
def test_bounds_and_numbers_of_any_spelling_are_certified(tmp_path, dpaccount, use, read):
    """0.7 and 1/3 are no doubles: cells are clipped to the nearest one, and the checker says so too."""
    table(tmp_path)
    text = (
        claim_on(tmp_path, use, read, epsilon=800)
        .read_text()
        .replace('file = "t.csv"\nledger = "sqlite:///t.db"\n', "")
    )
    columns = (
        'u = { type = "number", low = 0, high = 0.7 }\nv = { type = "number", low = "1/3", high = 99.99 }\n'
    )
    (tmp_path / "claim.toml").write_text(text.replace("[data.columns]", f"[data.columns]\n{columns}"))
    code, out, err = dpaccount("certify", tmp_path / "claim.toml", "--json", "--quick")
    found = json.loads(out)
    assert (code, found["verdict"]) == (0, "CERTIFIED"), out + err
    assert refused_by_checker(found) is None


@deep
@pytest.mark.statistical(0.05)  # one sound claim
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("about", ["", 'id = "who"\nmax_rows = 2\n'], ids=["rows", "persons"])
def test_texts_that_nobody_listed_are_counted(tmp_path, dpaccount, relation, about):
    """What many rows have is shown by its name, what few have is not; the certificate can be checked."""
    words = ["flu"] * 150 + ["Übelkeit, stark"] * 100 + [f"rare {k}" for k in range(20)] + [""] * 30
    with (tmp_path / "t.csv").open("w", newline="") as file:
        written = csv.writer(file)
        written.writerow(["who", "x", "y", "city", "seen", "paid", "note"])
        written.writerows([f"p{row}", 0, 0, "north", "no", "no", word] for row, word in enumerate(words))
    read = 'column = "note"\nscale = 2\nthreshold = 60'
    claim = claim_on(tmp_path, "stable-histogram", read, relation=relation, rows=300, about=about, epsilon=4)
    claim.write_text(claim.read_text().replace("[data.columns]", '[data.columns]\nnote = { type = "text" }'))
    opened(dpaccount, relation)
    code, out, err = dpaccount("release", claim, "--json", "--quick")
    assert code == 0, out + err
    found = json.loads(out)
    assert (found["verdict"], found["releasable"]) == ("CERTIFIED", True), found
    shown = dict(zip(found["release"]["cells"], found["release"]["counts"], strict=True))
    assert shown.keys() == {"flu", "Übelkeit, stark"}  # threshold and noise: P(another) < e^-9
    assert abs(shown["flu"] - 150) < 45
    assert dpaccount("check", found["certificate"])[0] == 0
    again = json.loads(dpaccount("release", claim, "--json", "--quick")[1])
    assert again["release"] == found["release"]


@deep
@pytest.mark.statistical(0.05)  # one sound claim
def test_a_release_is_kept_printed_again_and_checked(tmp_path, dpaccount):
    table(tmp_path)
    about = 'id = "who"\nmax_rows = 2\n'
    claim = claim_on(tmp_path, "histogram", 'column = "city"\nsigma = 8', rows=32, about=about, epsilon=3)
    opened(dpaccount, "replace-one")
    code, out, err = dpaccount("release", claim, "--json", "--quick", "--out", tmp_path / "out")
    first = json.loads(out)
    assert (code, first["schema"], first["verdict"]) == (0, "dpaccount/release/1", "CERTIFIED"), err
    counts, interval = first["release"]["counts"], first["accuracy"]["counts"]
    assert len(counts) == 3
    # a noisy count below 0 is of a count that is not
    assert all(a <= max(v, 0) <= b for a, v, b in zip(interval["low"], counts, interval["high"], strict=True))
    assert first["labels"] == {"cells": ["north", "south", "other"]}
    assert json.loads((tmp_path / "out" / "release.json").read_text()) == first
    assert "north" in (tmp_path / "out" / "release.csv").read_text()
    assert (tmp_path / "out" / "release.svg").read_text().startswith("<?xml")
    code, out, err = dpaccount("release", claim, "--json", "--quick", "--out", tmp_path / "out")
    assert (code, json.loads(out)["release"]) == (0, first["release"])
    assert "nothing drawn or charged" in err
    assert dpaccount("check", first["certificate"])[0] == 0
    (entry,) = [
        e
        for e in json.loads(Path(first["certificate"]).read_text())["sensitivity"]
        if e["rule"] == "assume_persons"
    ]
    assert entry["status"] == "tested"


@deep
@examples(25, 80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cells=st.lists(
        st.text(st.characters(blacklist_characters="\n", blacklist_categories=["Cs"]), max_size=30),
        min_size=8,
        max_size=8,
    )
)
def test_what_stands_in_a_line_is_never_refused(tmp_path, cells):
    (tmp_path / "t.csv").write_text("\n".join(["who,x,y,city,seen,paid", *cells, ""]), newline="\n")
    for read, use in (('column = "city"', "histogram"), ('columns = ["x", "y"]', "gaussian-sum")):
        claim = read_claim(claim_on(tmp_path, use, read, rows=8))
        subject = subject_of(claim)
        due = release.read(release.identify(claim, subject), subject)
        assert due.data.units == 8
        rows = rows_of(due.bound, claim.data_file)
        assert due.subject().domain().contains(rows)
        assert due.data.sums.tolist() == due.subject().query(rows).tolist()


@deep
def test_a_ledger_that_counts_another_unit_is_refused(tmp_path, dpaccount):
    table(tmp_path)
    claim = claim_on(tmp_path, "histogram", 'column = "city"')
    opened(dpaccount, "replace-one")
    claim.write_text(claim.read_text().replace('unit = "one row"', 'unit = "one patient"'))
    code, out, err = dpaccount("release", claim)
    assert (code, out) == (2, "")
    assert "the claim's unit is 'one patient', its ledger's 'one row'; give both the same text" in err
    assert json.loads(dpaccount("ledger", "show", "sqlite:///t.db", "--json")[1])["entries"] == 0


def refused(claim, match):
    claim = read_claim(claim)
    with pytest.raises(InputError, match=match) as error:
        release.prepare(claim, subject_of(claim))
    assert "\n" not in str(error.value)
    assert ";" in str(error.value)


@deep
def test_refusals_rest_on_public_facts(tmp_path):
    table(tmp_path)
    refused(
        claim_on(tmp_path, "histogram", 'column = "city"', rows=63), "found 64 rows; the claim declares 63"
    )
    refused(
        claim_on(tmp_path, "histogram", 'column = "city"', rows=63, relation="add-remove"), "more rows than"
    )
    about = 'id = "who"\nmax_rows = 2\n'
    refused(
        claim_on(tmp_path, "histogram", 'column = "city"', rows=31, about=about),
        "32 distinct values of 'who'",
    )
    refused(claim_on(tmp_path, "histogram", 'column = "city"', about='id = "whose"'), "no column whose")
    unread = claim_on(tmp_path, "histogram", 'column = "city"')
    unread.write_text(
        unread.read_text().replace("[data.columns]", '[data.columns]\nward = { type = "text" }')
    )
    refused(unread, "no column ward")
    refused(claim_on(tmp_path, "quantile", 'column = "y"', relation="add-remove"), "is about replace-one")
    refused(
        claim_on(tmp_path, "quantile", 'column = "y"', rows=32, about=about), "let one row of a person count"
    )
    refused(claim_on(tmp_path, "histogram", 'column = "city"\ncells = 9'), "cells follows from the table: 3")
    refused(claim_on(tmp_path, "histogram", 'column = "town"'), "no column 'town'")
    refused(claim_on(tmp_path, "histogram", ""), "no column is named")
    (tmp_path / "t.csv").unlink()
    os.mkfifo(tmp_path / "t.csv")
    refused(claim_on(tmp_path, "histogram", 'column = "city"'), "no file; give")
    (tmp_path / "t.csv").unlink()
    refused(claim_on(tmp_path, "histogram", 'column = "city"'), "No such file")


WRONG = {
    'file = "../t.csv"': "leaves the claim's directory",
    "rows = 0": r"data.rows: '0' is out of range",
    "rows = 5.5": "not whole",
    'id = "who"\nmax_rows = 0': r"data.max_rows: '0' is out of range",
    "max_rows = 2": "goes with id",
    "width = 3": "unknown key",
}


@pytest.mark.parametrize("line", WRONG, ids=WRONG.values())
def test_declarations_that_contradict_themselves(tmp_path, line):
    path = claim_on(tmp_path, "histogram", 'column = "city"')
    key = line.partition(" ")[0]
    kept = [each for each in path.read_text().splitlines() if not each.startswith(f"{key} =")]
    path.write_text("\n".join(kept).replace("[data]", f"[data]\n{line}"))
    with pytest.raises(InputError, match=WRONG[line]):
        read_claim(path)


@deep
def test_persons_whose_rows_are_replaced_move_nobody_else(tmp_path):
    about = 'id = "who"\nmax_rows = 2\n'
    table(tmp_path)
    claim = read_claim(claim_on(tmp_path, "clipped-mean", 'column = "y"', rows=32, about=about))
    made_by = find("clipped-mean").made_by
    before = rows_of(BoundClaim(claim, made_by), claim.data_file)
    lines = (tmp_path / "t.csv").read_text().splitlines()
    kept = [line for line in lines[1:] if not line.startswith("p7,")]
    kept.insert(40, "p7,0.4,0.4,north,true,no,")
    (tmp_path / "t.csv").write_text("\n".join([lines[0], *kept, ""]))
    after = rows_of(BoundClaim(claim, made_by), claim.data_file)
    changed = np.flatnonzero((before != after).any(axis=1))
    assert len(changed) == 1
    assert after[changed[0]].tolist() == [1, 0.4, -0.0]


@pytest.fixture
def page(root):
    return (root / "docs" / "tables.md").read_text()


def test_the_claim_of_the_page_is_that_of_the_example(root, page):
    (block,) = re.findall(r"```toml\n(schema.*?)```", page, re.DOTALL)
    folder = root / "examples" / "clinic_visits"
    assert tomllib.loads(block) == tomllib.loads((folder / "cities.toml").read_text())


@deep
@pytest.mark.parametrize("file", ["cities.toml", "ages-by-city.toml", "mean-minutes.toml", "minutes.toml"])
def test_the_claims_of_the_example_are_proved_and_not_much_less_would_be(root, page, file):
    claim = read_claim(root / "examples" / "clinic_visits" / file)
    epsilon, delta = point(subject_of(claim).proof(claim.guarantee.delta))
    assert epsilon <= claim.guarantee.epsilon <= epsilon * Fraction(11, 10)
    assert delta <= claim.guarantee.delta
    assert file in page


@deep
@pytest.mark.statistical(0.05)  # one sound claim
def test_the_commands_of_the_page_release(root, page, tmp_path, monkeypatch, dpaccount):
    shutil.copytree(root / "examples" / "clinic_visits", tmp_path / "visits")
    monkeypatch.chdir(tmp_path / "visits")
    (block,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    _, opened, released = block.strip().splitlines()
    words = re.findall(r'"[^"]*"|\S+', opened.removeprefix("dpaccount "))
    assert dpaccount(*(word.strip('"') for word in words))[0] == 0
    code, out, err = dpaccount(*released.removeprefix("dpaccount ").split(), "--json")
    found = json.loads(out)
    assert (code, found["verdict"], len(found["release"]["counts"])) == (0, "CERTIFIED", 3), err
