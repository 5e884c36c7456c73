"""What is said to be proved is what the Coq sources prove; every rule has a row.  No Coq is needed."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

from audits.reports import words
from audits.reports.words import by_machine
from dpaccount.checker.facts import RULES
from tests.formal import test_agreement
from tests.looped import looped

ROOT = Path(__file__).parents[2]
FORMAL = ROOT / "formal"


def loaded():
    spec = importlib.util.spec_from_file_location("formal", ROOT / ".ci" / "formal.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


formal = loaded()
MUTANTS = tomllib.loads((FORMAL / "mutants.toml").read_text())["mutant"]
ROWS = tomllib.loads((FORMAL / "rules.toml").read_text())["rule"]
SOURCES = formal.sources()


def test_every_rule_has_one_row():
    names = [row["name"] for row in ROWS]
    assert len(set(names)) == len(names)
    assert set(names) == set(formal.rules(SOURCES)) == set(RULES)
    listed = [
        line.split("`")[1]
        for line in (ROOT / "docs/rules.md").read_text().splitlines()
        if line.startswith("| R") and "`" in line
    ]
    assert set(listed) == set(RULES)


def test_a_row_names_the_theorem_that_stands_in_its_file():
    proofs = formal.proofs(SOURCES)
    assert {row["name"] for row in ROWS if row["theorem"]} == set(proofs)
    for row in ROWS:
        if row["theorem"]:
            assert proofs[row["name"]] == (row["theorem"], row["file"])
            assert row["theorem"] == f"{row['name']}_sound"  # as docs/formal.md says
            assert row["status"] in ("proved", "assumed", "defined")
            assert (row["status"] == "assumed") == row["reason"].startswith("rests on ")
        else:
            assert row["status"] == "inferred"
        if row["status"] == "defined":
            assert row["name"].startswith("assume_")


def test_what_a_theorem_assumes_is_written_in_one_file():
    said = (FORMAL / "Assumed.v").read_text()
    for row in ROWS:
        if row["status"] == "assumed":
            for name in row["reason"].removeprefix("rests on ").split(", "):
                assert f"Axiom {name} :" in said


def test_the_page_shows_the_rows_and_what_to_read():
    page = (ROOT / "docs" / "formal.md").read_text()
    assert formal.with_table(page, ROWS) == page
    lines = formal.to_read()
    assert sum(lines.values()) <= formal.MOST_READ == 1500
    assert lines["Facts.v"] == len((FORMAL / "Facts.v").read_text().splitlines())
    assert lines["base/Laws.v"] < 25
    named = set(re.findall(r"`(check_\w+_sound)`", page))
    assert named == {"check_certificate_sound", "check_account_sound"}
    assert named <= {name for text in SOURCES.values() for name in formal.THEOREM.findall(text)}


def test_a_list_of_reading_that_grows_is_refused(monkeypatch):
    monkeypatch.setattr(formal, "MOST_READ", 1000)
    with pytest.raises(SystemExit, match="lines to read, more than 1000"):
        formal.as_reading()
    monkeypatch.setattr(formal, "READ", {"Facts.v": "law nothing"})
    with pytest.raises(SystemExit, match=r"Facts\.v should define law nothing"):
        formal.to_read()


def test_the_page_counts_what_is_proved_and_names_the_rest():
    rows = [
        {"name": "a", "status": "proved", "theorem": "a_sound", "file": "f.v", "reason": ""},
        {"name": "b", "status": "assumed", "theorem": "b_sound", "file": "f.v", "reason": "rests on moons"},
        {"name": "c", "status": "inferred", "theorem": "", "file": "", "reason": "no proof yet"},
    ]
    table = formal.as_markdown(rows).splitlines()[2:]
    assert table == ["| proved | 1 of 3 | – |", "| assumed | `b` | moons |", "| inferred | `c` | – |"]


def test_nothing_is_left_open():
    assert formal.left_open(SOURCES) == []


@looped(
    "text",
    [
        'Extract Constant at_most => "true".',
        'Load "more.txt".',
        "Declare ML Module a.",
        "Proof. Admitted.",
        "admit.",
        "Axiom a : False.",
        "Parameter p : nat.",
        "Conjecture c : False.",
    ],
)
def test_what_is_left_open_is_found(text):
    assert formal.left_open({"core/Sound.v": text})
    assert formal.left_open({"core/Sound.v": formal.without_comments(f"(* {text} (* too *) *)")}) == []
    hidden = f'Definition a := "(*".\n{text}\nDefinition b := "*)".'
    assert formal.left_open({"core/Sound.v": formal.without_comments(hidden)})


def test_what_reports_say_of_rules_is_the_table(tmp_path, monkeypatch):
    assert formal.STATUSES.read_text() == formal.as_json(ROWS)
    some = {"compose": "proved", "gaussian": "assumed", "apart": "inferred", "assume_view": "defined"}
    rows = [{"name": name, "status": status, "reason": "rests on moons"} for name, status in some.items()]
    (tmp_path / formal.STATUSES.name).write_text(formal.as_json(rows))
    monkeypatch.setattr(words, "files", lambda package: tmp_path)
    assert by_machine(["compose", "assume_view"]) == "1 of 1 inference rules are proved in Coq."
    assert by_machine([*some, "unheard_of"]) == (
        "1 of 4 inference rules are proved in Coq; from assumed statements (moons): gaussian;"
        " on paper: apart, unheard_of."
    )


def infers(mutant):
    """Return the file that a mutant changes."""
    return f"{mutant['file'] if 'file' in mutant else mutant['family'] + '/Infer'}.v"


def test_every_proved_rule_has_a_mutant_that_stands_in_its_family():
    assert {mutant["rule"] for mutant in MUTANTS} >= {
        row["name"] for row in ROWS if row["status"] == "proved"
    }
    for mutant in MUTANTS:
        assert SOURCES[infers(mutant)].count(mutant["old"]) == 1, mutant["rule"]
        assert mutant["old"] != mutant["new"]
        assert f"{mutant['proof']}.v" in SOURCES


def test_agreement_is_tried_with_the_program_that_these_sources_build():
    """Else all of its tests would be skipped, as where nothing is built."""
    assert test_agreement.CHECKER == FORMAL / "check" / "checker"
    assert len(test_agreement.SOURCES) > 40
