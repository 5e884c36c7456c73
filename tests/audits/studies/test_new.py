"""`new` writes what its user says; of the file it reads the header, and nothing of a row reaches an output."""

import io
import math
import re
import sys
import tomllib
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from audits.claim import read_claim
from audits.studies.new import NewStudy, begun, in_words, write
from dpaccount.errors import DpaccountError, InputError
from tests.depth import deep, examples
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
    wrong = {0: "nobody", 1: "1.000", 2: "5000", 4: "integer 5 to 1", 5: "category", 7: "0", 8: "mean of all"}
    lines = [
        line for at, right in enumerate(answers) for line in (*([wrong[at]] if at in wrong else []), right)
    ]
    terminal = io.StringIO("".join(f"{line}\n" for line in lines))
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    code, _, err = dpaccount("new", "visits.csv")
    assert code == 0, err
    assert (visits / "study.toml").read_text() == text
    assert (
        "ε = 1: an attacker who knows all other units is right about one at most 73.11 % of the time" in err
    )
    for said in (
        "the header has patient",
        "write a whole number such as 400",
        "exchange them",
        "declares no column",
        "give more than 0",
        "no column 'of all'",
    ):
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


@examples(10, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        ({"unit": ["nobody"]}, "no column 'nobody'; the header has patient, day, age"),
        ({"max-units": ["0"]}, "--max-units is '0'"),
        ({"max-units": ["1.000"]}, "--max-units is '1.000'; write a whole number such as 400"),
        ({"max-units": ["10000000000"]}, "--max-units is"),
        ({"max-contributions": ["1001"]}, "--max-contributions is"),
        ({"max-units": []}, "--max-units is missing"),
        ({"unit": []}, "--unit is missing"),
        ({"epsilon": []}, "--epsilon is missing"),
        ({"column": [], "statistic": []}, "--column is missing"),
        ({"epsilon": ["0"]}, "ε is 0; give more than 0"),
        ({"epsilon": ["nan"]}, "--epsilon"),
        ({"epsilon": ["1e9"]}, "ε is 1000000000"),
        ({"delta": ["1"]}, "δ is 1; give less than 1"),
        ({"column": ["age: integer 5 to 1"]}, "exchange them"),
        ({"column": ["age: whole 0 to 1"]}, "declares no column; say integer 0 to 110"),
        ({"column": ["age: number 0 to inf"]}, "high"),
        ({"column": ["age: number 0 to 3000,5"]}, "high"),
        ({"column": ['age: number 0 to 1,missing=0.5,decimal=","']}, "high"),
        ({"column": ["age: boolean", "age: text"]}, "declared twice"),
        ({"column": ["height: number 0 to 3"]}, "no column 'height'; the header has patient, day, age"),
        ({"statistic": ["average age"]}, "say count, sum, mean"),
        ({"statistic": ["quantile age"]}, "say count, sum, mean"),
        ({"statistic": ["median day"]}, "no column 'day' is declared"),
        ({"statistic": ["mean age", "mean  age"]}, "two statistics"),
        ({"statistic": ["mean age of all"]}, "no column 'age of all'"),
        ({"statistic": ["!"]}, "is no statistic"),
        ({"statistic": ["count city of birth"]}, "say for example mean minutes by city"),
        ({"encoding": ["utf-7"]}, "encoding is"),
        ({"separator": ["x"]}, "separator is"),
        ({"unit": ["-"]}, "--max-contributions goes with"),
    ],
)
def test_wrong_words_write_nothing(dpaccount, visits, other, said):
    code, out, err = dpaccount("new", "visits.csv", *options(**other))
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert said in err
    assert [file.name for file in visits.iterdir()] == ["visits.csv"]


ROWS = [
    "anna,68",
    "68;19.02.2024;M",
    "b,1e5",
    "b,12:30",
    "b,\u22125",
    "b,€5",
    "b,2024-01",
    "b,true",
    "a@b.org,b",
    "a,,b",
]


@looped("first", [*ROWS, "", "name,sex\rSECRETanna,f\r", "name," + "x" * 2**20])
def test_a_first_line_that_is_no_header_is_not_shown(tmp_path, first):
    path = tmp_path / "t.csv"
    path.write_text(f"{first}\nb,c\n", encoding="utf-8", newline="")
    with pytest.raises(InputError, match="looks like a row") as error:
        begun(path, "utf-8", None)
    assert not any(cell in str(error.value) for cell in ("anna", "68", "SECRET", "xxx"))


@looped("first, separator", [("a;b, c;d", ";"), ("a\tb", "\t"), ('"a, x"|b', "|"), ("a", ",")])
def test_the_header_says_what_stands_between_cells(tmp_path, first, separator):
    path = tmp_path / "t.csv"
    path.write_text(f"{first}\n")
    study = begun(path, "utf-8", None)
    assert study.dialect.separator == separator
    path.write_text("age,age\n")
    with pytest.raises(InputError, match="two columns of one name"):
        begun(path, "utf-8", None)


def test_nothing_is_replaced_and_half_of_nothing_is_left(visits, monkeypatch):
    """A study that appears meanwhile stays; where no ledger can be made there is no study."""
    study = begun(visits / "visits.csv", "utf-8", None)
    study = study.with_column("age", "integer 0 to 110")
    (visits / "study.toml").write_text("mine")
    with pytest.raises(InputError, match="File exists"):
        write(study)
    assert (visits / "study.toml").read_text() == "mine"
    (visits / "study.toml").unlink()
    (visits / "visits.db").write_text("mine")
    with pytest.raises(DpaccountError):
        write(study)
    assert sorted(file.name for file in visits.iterdir()) == ["visits.csv", "visits.db"]
    with pytest.raises(InputError, match="is there already"):
        begun(visits / "visits.csv", "utf-8", None)


@pytest.mark.parametrize("name", ['a\nlaw = "gaussian"\n#.csv', "a?b.csv", 'q".csv', "ä.csv", "study.csv"])
def test_a_name_of_a_file_says_nothing_else(tmp_path, name):
    path = tmp_path / name
    path.write_text("age\n1\n")
    if set(name) & set("\n?"):
        with pytest.raises(InputError, match="rename the file"):
            begun(path, "utf-8", None)
        return
    study = begun(path, "utf-8", None).with_column("age", "integer 0 to 110")
    document = tomllib.loads(study.text())
    assert document["data"]["file"] == name
    assert "law" not in document


def test_what_a_file_writes_is_declared_of_its_numbers_and_dates(dpaccount, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.csv").write_bytes("Tag;Kosten;Köln: x\n".encode("cp1252"))
    said = ["Tag: date 2024-01-01 to 2024-12-31", "Kosten: number 0 to 1e3", "Köln: x: category 8:00, 9:00"]
    words = [word for each in said for word in ("--column", each)]
    marks = ("--decimal", ",", "--thousands", ".", "--date-format", "%d.%m.%Y", "--encoding", "cp1252")
    total = ("--unit", "-", "--max-units", "9", "--epsilon", "1/3")
    code, _, err = dpaccount("new", "g.csv", *total, *words, *marks, "--statistic", "mean Kosten by Köln: x")
    assert code == 0, err
    data = tomllib.loads((tmp_path / "study.toml").read_text())["data"]
    assert (data["separator"], data["encoding"]) == (";", "cp1252")
    assert data["columns"] == {
        "Tag": {"type": "date", "low": "2024-01-01", "high": "2024-12-31", "date_format": "%d.%m.%Y"},
        "Kosten": {"type": "number", "low": 0, "high": 1000, "decimal": ",", "thousands": "."},
        "Köln: x": {"type": "category", "values": ["8:00", "9:00"]},
    }
    assert read_claim(tmp_path / "study.toml").guarantee.epsilon == Fraction(1, 3)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1), Fraction(7, 2)])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**7), Fraction(1, 4)])
def test_how_often_an_attacker_is_right_is_the_closed_form(epsilon, delta):
    """(e^ε + δ)/(1 + e^ε), rounded up: no less, and less than .01 points more."""
    said = float(re.search(r"at most (\S+) %", in_words(epsilon, delta))[1])
    exact = 100 * (math.exp(epsilon) + float(delta)) / (1 + math.exp(epsilon))
    assert exact - 1e-9 <= said <= exact + 0.0101


NAME = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=12)


@examples(100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NAME, st.lists(NAME, min_size=1, max_size=3, unique=True))
def test_names_and_values_of_any_spelling_are_read_back(tmp_path, name, values):
    """What was typed is what the file says, or it is refused: quotes, backslashes, signs of TOML."""
    study = NewStudy(tmp_path / "t.csv", (name,), max_units=5)
    try:
        study = study.with_said(f"{name}: category {', '.join(values)}")
        claim = study.claim()
    except InputError:
        return
    column = claim.table.columns[0]
    assert column.name == name
    assert [*column.values] == [v.strip() for v in ", ".join(values).split(",") if v.strip() != "other"]
    (tmp_path / "study.toml").write_text(study.text(), encoding="utf-8")
    assert read_claim(tmp_path / "study.toml").table == claim.table


@deep
def test_from_a_file_to_a_checked_table(dpaccount, visits):
    rows = [f"{k},2024-01-01,{k % 90},{'north' if k % 3 else 'south'},{k % 120}" for k in range(300)]
    (visits / "visits.csv").write_text("\n".join([HEADER, *rows]))
    assert dpaccount("new", "visits.csv", *options())[0] == 0
    code, out, err = dpaccount("release", "study.toml", "--quick")
    assert code == 0, err
    assert "mean minutes by city of birth" in out
    assert dpaccount("check", "certificates/visits/certificate.json")[0] == 0
