"""Studies with derived columns, from one file: planned, released and checked; refused in one sentence."""

import json

import pytest

from audits.certificate import make
from audits.claim import read_claim
from audits.studies import results
from dpaccount import checker
from dpaccount.errors import InputError
from dpaccount.schemas.claim import StudyTable
from tests.audits.studies.test_studies import COUNT, HEAD, data, statistics, study  # noqa: F401
from tests.depth import deep

DERIVED = """
[data.derived]
older = "min(age + 1, 99)"
share = "x / max(age, 1)"
ages = "bins(age, 0, 18, 65, 110)"
grown = "age >= 18"
[audit]"""
SAID = statistics(
    COUNT + 'by = ["ages", "grown"]\nwhere = "older > 3 and ages != \'[0, 18)\'"',
    'name = "m"\nwhat = "mean"\ncolumn = "share"\nby = ["ages"]',
    'name = "q"\nwhat = "median"\ncolumn = "older"',
)


def head(old="", new=""):
    return HEAD.replace("[audit]", DERIVED.replace(old, new))


def test_a_study_of_derived_columns_is_planned(dpaccount, study):  # noqa: F811
    path = study(SAID, head())
    path.with_name("a.csv").touch()
    code, out, err = dpaccount("plan", path, "--json")
    assert (code, err) == (0, "")
    assert [each["name"] for each in json.loads(out)["statistics"]] == ["n", "m", "q"]
    found = results.study_of(read_claim(study(SAID, head())))
    assert [each.name for each in found.columns] == ["age", "x"]


def another_formula(document):
    document["claim"]["data"]["derived"]["grown"] = "age >= 21"
    return "otherwise than it is declared"


def a_formula_of_all_rows(document):
    document["claim"]["data"]["derived"]["grown"] = "age >= median(age)"
    return "the function median is not read"


def a_condition_of_all_rows(document):
    held = document["subject"]["parameters"]
    for listed in (
        document["claim"]["subject"]["parameters"]["statistic"],
        held["statistic"],
        held["statistics"],
    ):
        listed[0]["where"] = "older > median(older)"
    return "the function median is not read"


def more_reported(document):
    document["release"]["report"]["other"] = [999.0]
    return "reports other statistics than are listed"


@deep
def test_a_study_of_derived_columns_is_released_and_checked(dpaccount, study, data, monkeypatch, tmp_path):  # noqa: F811
    """A certificate in which a formula is another is invalid."""
    monkeypatch.setattr(make, "EXAMPLES", 3)
    code, out, err = dpaccount("release", study(SAID, head()), "--quick", "--jobs", 1, "--json")
    assert code == 0, err
    assert [row["ages"] for row in json.loads(out)["statistics"]["m"]["rows"]] == [
        "[0, 18)",
        "[18, 65)",
        "[65, 110]",
    ]
    path = tmp_path / "certificates" / "s" / "certificate.json"
    assert dpaccount("check", path)[0] == 0
    honest = path.read_text()
    for forge in (another_formula, a_formula_of_all_rows, a_condition_of_all_rows, more_reported):
        document = json.loads(honest)
        why = forge(document)
        body = {key: value for key, value in document.items() if key not in ("digest", "signature")}
        path.write_text(json.dumps({**document, "digest": checker.digest(body)}))
        code, out, err = dpaccount("check", path)
        assert (code, why in out + err) == (1, True), out + err


REFUSED = [
    ('"age >= 18"', '"age / x"', "data.derived.grown: 'age / x' may divide by 0"),
    ('"age >= 18"', '"age >= mean(x)"', "data.derived.grown: 'mean' is no declared column"),
    ('"age >= 18"', '"weight >= 18"', "'weight' is no declared column"),
    ('"age >= 18"', "3", "give a string"),
    ("grown =", "seen =", "seen is declared too"),
    ("grown =", "low =", "low is declared too"),
]


@pytest.mark.parametrize(("old", "new", "why"), REFUSED)
def test_a_wrong_formula_is_one_sentence(dpaccount, study, old, new, why):  # noqa: F811
    assert old in DERIVED
    code, out, err = dpaccount("plan", study(SAID, head(old, new)))
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert why in err


@pytest.mark.parametrize(
    ("low", "why"),
    [
        ('"2024-02-30"', "'2024-02-30' is no date; write YYYY-MM-DD"),
        ("2024", "give a string"),
        ('"2025-01-01"', "low 2025-01-01 is above high 2024-12-31"),
    ],
)
def test_a_date_is_declared_by_two_days(study, low, why):  # noqa: F811
    said = HEAD.replace("[audit]", f'day = {{ type = "date", low = {low}, high = "2024-12-31" }}\n[audit]')
    with pytest.raises(InputError) as error:
        read_claim(study(statistics(COUNT), said))
    assert why in str(error.value)


def test_only_studies_have_derived_columns(dpaccount, tmp_path):
    (tmp_path / "claim.toml").write_text(
        HEAD.replace("study/1", "claim/1")
        .replace("[audit]", DERIVED)
        .replace("[guarantee]", '[subject]\nuse = "count"\n[guarantee]\nmodel = "central"')
    )
    code, _, err = dpaccount("certify", tmp_path / "claim.toml")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "unknown key 'derived'" in err


@deep
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_values_that_nobody_listed_are_released(dpaccount, study, monkeypatch, tmp_path, relation):  # noqa: F811
    """All notes are one text; nobody listed the wards either, of which A, B and C are in use."""
    monkeypatch.setattr(make, "EXAMPLES", 3)
    lines = [f"{'ABC'[k % 3]},{k},1,true,…,3,A" for k in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["ward,age,x,seen,note,big,low", *lines, ""]))
    terms = ("--epsilon", 20, "--delta", "1e-5", "--unit", "one patient", "--relation", relation)
    assert dpaccount("ledger", "init", "sqlite:///b.db", *terms, "--measure", "approximate")[0] == 0
    said = statistics(COUNT + 'by = ["note"]', 'name = "t"\nwhat = "top"\ncolumn = "ward"\nk = 2\nshare = 2')
    declared = HEAD.replace(
        'ward = { type = "category", values = ["A", "B"] }', 'ward = { type = "text", length = 6 }'
    )
    declared = declared.replace('note = { type = "text" }', 'note = { type = "text", length = 6 }')
    for old, new in (("replace-one", relation), ("epsilon = 1\n", "epsilon = 12\n"), ("600", "60")):
        declared = declared.replace(old, new)
    code, out, err = dpaccount("release", study(said, declared), "--quick", "--jobs", 1, "--json")
    assert code == 0, err
    found = json.loads(out)["statistics"]
    assert [row["note"] for row in found["n"]["rows"]] == ["…"]
    assert {row["ward"] for row in found["t"]["rows"]} <= {"A", "B", "C"}
    path = tmp_path / "certificates" / "s" / "certificate.json"
    assert dpaccount("check", path)[0] == 0
    assert (path.parent / "n.csv").read_text().startswith("note,estimate,low,high\n…,")


def test_nothing_may_be_shown_of_values_that_nobody_listed():
    assert results.written(StudyTable([])) == "estimate,low,high\n"
