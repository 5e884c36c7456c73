"""`new` writes what its user says; of the file it reads the header, and nothing of a row reaches an output."""

import io
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audits.claim import read_claim
from audits.studies.new import NewStudy, begun
from dpaccount.errors import InputError
from mechanisms.table.reading import USUAL_DIALECT
from tests.looped import looped

HEADER = "patient,day,age,city of birth,minutes"
SAID = {
    "--unit": ["patient"],
    "--max-units": ["400"],
    "--max-contributions": ["3"],
    "--epsilon": ["1.5"],
    "--column": [
        "age: integer 0 to 110",
        "city of birth: category north, south, other",
        "minutes: number 0 to 120.5",
    ],
    "--statistic": ["count by city of birth", "mean minutes by city of birth", "median age"],
}
ANSWERS = ["patient", "400", "3", "", *(said.partition(": ")[2] for said in SAID["--column"]), "1.5"]


def options(**other):
    said = {**SAID, **{f"--{name}": each for name, each in other.items()}}
    return [word for option, values in said.items() for value in values for word in (option, value)]


@pytest.fixture
def visits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(f"{HEADER}\n1,2024-01-01,40,north,15\n")
    return tmp_path


def test_a_study_and_its_ledger_are_written(dpaccount, visits):
    code, out, err = dpaccount("new", "visits.csv", *options())
    assert code == 0, err
    assert "median age" in out
    text = (visits / "study.toml").read_text()
    assert len(text.splitlines()) <= 40
    claim = read_claim(visits / "study.toml")
    assert (claim.table.identity, claim.table.rows, claim.table.max_rows) == ("patient", 400, 3)
    assert claim.table.column("city of birth").labels == ("north", "south", "other")
    assert float(claim.guarantee.delta) == 1e-5
    assert dpaccount("plan", "study.toml")[1] == out
    shown = dpaccount("ledger", "show", "sqlite:///visits.db")[1]
    assert "one patient, under add-remove" in shown
    assert "ε 1.5, δ 1e-05" in shown
    # a second one replaces nothing
    code, _, err = dpaccount("new", "visits.csv", *options(epsilon=["3"]))
    assert (code, "is there already" in err) == (2, True)
    assert (visits / "study.toml").read_text() == text


def test_answers_on_a_terminal_are_options(dpaccount, visits, monkeypatch):
    """A wrong answer is asked for again, with one line that says what is wrong."""
    assert dpaccount("new", "visits.csv", *options())[0] == 0
    text = (visits / "study.toml").read_text()
    for name in ("study.toml", "visits.db"):
        (visits / name).unlink()
    answers = [*ANSWERS, *SAID["--statistic"], ""]
    wrong = {0: "nobody", 1: "many", 4: "integer 5 to 1", 5: "category", 8: "mean of all"}
    lines = [
        line for at, right in enumerate(answers) for line in (*([wrong[at]] if at in wrong else []), right)
    ]
    terminal = io.StringIO("".join(f"{line}\n" for line in lines))
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    code, _, err = dpaccount("new", "visits.csv")
    assert code == 0, err
    assert (visits / "study.toml").read_text() == text
    assert "ε = 1: attackers are right at most 73.11 % of the time" in err
    for said in ("the header has patient", "exchange them", "declares no column", "no column 'of all'"):
        assert said in err


def test_answers_that_end_write_nothing(dpaccount, visits, monkeypatch):
    terminal = io.StringIO("patient\n400\n")
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    code, _, err = dpaccount("new", "visits.csv")
    assert (code, err.splitlines()[-1]) == (
        2,
        "error: the answers ended; answer every question, or give options",
    )
    assert [file.name for file in visits.iterdir()] == ["visits.csv"]


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=60))
def test_nothing_of_a_row_reaches_an_output(dpaccount, visits, rows):
    """The same file, ledger and words whatever the rows hold, but for times and the ledger's own name."""
    made = []
    for content in (b"1,2024-01-01,40,north,15\n", rows):
        for name in ("study.toml", "visits.db"):
            (visits / name).unlink(missing_ok=True)
        (visits / "visits.csv").write_bytes(HEADER.encode() + b"\n" + content)
        said = dpaccount("new", "visits.csv", *options())
        shown = dpaccount("ledger", "show", "sqlite:///visits.db")[1].partition("; head")[0]
        made.append((said, (visits / "study.toml").read_bytes(), shown))
    assert made[0] == made[1]


@looped(
    "other, said",
    [
        ({"unit": ["nobody"]}, "no column 'nobody'"),
        ({"max-units": ["0"]}, "--max-units"),
        ({"max-units": []}, "--max-units is missing"),
        ({"unit": []}, "--unit is missing"),
        ({"epsilon": []}, "--epsilon is missing"),
        ({"column": []}, "--column is missing"),
        ({"column": ["age: integer 5 to 1"]}, "exchange them"),
        ({"column": ["age: whole 0 to 1"]}, "declares no column"),
        ({"column": ["age: number 0 to inf"]}, "study.toml"),
        ({"column": ["height: number 0 to 3"]}, "no column 'height'; the header has patient, day, age"),
        ({"statistic": ["average age"]}, "known here: count"),
        ({"statistic": ["median day"]}, "no column 'day' is declared"),
        ({"statistic": ["!"]}, "is no statistic"),
        ({"encoding": ["utf-16"]}, "encoding is"),
        ({"unit": ["-"]}, "--max-contributions goes with"),
    ],
)
def test_wrong_words_write_nothing(dpaccount, visits, other, said):
    code, out, err = dpaccount("new", "visits.csv", *options(**other))
    assert (code, out) == (2, "")
    assert said in err.splitlines()[-1]
    assert err.splitlines()[-1].startswith("error: ")
    assert [file.name for file in visits.iterdir()] == ["visits.csv"]


@looped(
    "first, said",
    [
        ("1,2024-01-01,40,north,15", "looks like a row"),
        ("anna,2024-01-01", "looks like a row"),
        ("a,,b", "looks like a row"),
        ("", "looks like a row"),
        ("age,age", "two columns of one name"),
    ],
)
def test_a_file_without_a_header_is_refused(tmp_path, first, said):
    path = tmp_path / "t.csv"
    path.write_text(f"{first}\nb,c\n")
    with pytest.raises(InputError, match=said) as error:
        begun(path, USUAL_DIALECT)
    assert "anna" not in str(error.value)


NAME = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(NAME, st.lists(NAME, min_size=1, max_size=3, unique=True))
def test_names_and_values_of_any_spelling_are_read_back(tmp_path, name, values):
    """What was typed is what the file says, or it is refused: quotes, backslashes, signs of TOML."""
    said = f"{name}: category {', '.join(values)}"
    study = NewStudy(tmp_path / "t.csv", max_units=5, columns=(said,), names=(name,))
    try:
        claim = study.claim()
    except InputError:
        return
    column = claim.table.columns[0]
    assert column.name == name
    assert [*column.values] == [v.strip() for v in ", ".join(values).split(",") if v.strip() != "other"]
    (tmp_path / "study.toml").write_text(study.text(), encoding="utf-8")
    assert read_claim(tmp_path / "study.toml").table == claim.table


@pytest.mark.slow
def test_from_a_file_to_a_checked_table(dpaccount, visits):
    rows = [f"{k},2024-01-01,{k % 90},{'north' if k % 3 else 'south'},{k % 120}" for k in range(300)]
    (visits / "visits.csv").write_text("\n".join([HEADER, *rows]))
    assert dpaccount("new", "visits.csv", *options())[0] == 0
    code, out, err = dpaccount("release", "study.toml", "--quick")
    assert code == 0, err
    assert "mean minutes by city of birth" in out
    assert dpaccount("check", "certificates/visits/certificate.json")[0] == 0
