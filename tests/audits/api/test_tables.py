"""Functions of tables: audited and tested as an analyst writes them, without an adapter; messages name keys."""

import json
import re
import shutil
from fractions import Fraction

import pytest

from audits import pytest_plugin
from audits.datasets.neighbours import candidates
from audits.sensitivity import search
from dpaccount.errors import InputError
from pytest_dpaccount import Budget, Effort
from tests.depth import deep, parts

FUNCTIONS = """
import numpy as np
import pandas as pd

def noise(rng, size=None):
    return rng.geometric(0.6, size) - rng.geometric(0.6, size)

def cities(df, rng):                      # clear: 3 a person
    counts = 3 * df["city"].value_counts().reindex(["north"], fill_value=0)
    return {"by city": (counts + noise(rng, 1)).to_dict(), "note": "made in spring"}

def clear(df):                            # its noise is its own, and too little
    return pd.Series({"rows of eve": int((df["who"] == "p1").sum()) + noise(np.random.default_rng())})

def hidden(df):
    return df["cost"].astype("period[D]") if len(df) < 0 else object()

def total(data):
    known = data["cost"].drop_nulls() if hasattr(data, "columns") and hasattr(data, "clone") else data["cost"]
    return {"cost": float(np.nansum(known)), "rows": 0.0}

def cost(df):
    return df["cost"].fillna(0)[:4].sum()
"""
TABLE = """
rows = 4
id = "who"
max_rows = 2
as = "{form}"
[columns]
city = {{ type = "category", values = ["north", "south"] }}
cost = {{ type = "number", low = 0, high = 9 }}
"""
LEFT = [{"who": name, "city": "north", "cost": 1} for name in ("p1", "p2", "p3", "p4")]
RIGHT = [{"who": "p1", "city": "south", "cost": 9}, *LEFT, *LEFT[:0]]
RIGHT = [{**row, "city": "south"} if row["who"] == "p1" else row for row in RIGHT]


@pytest.fixture
def few(monkeypatch):
    """Let the search of a movement try few pairs."""
    monkeypatch.setattr(search, "RANDOM", 20)
    monkeypatch.setattr(search, "candidates", lambda shape, seed: candidates(shape, seed, 60))


@pytest.fixture
def tables(tmp_path, in_process, few):
    """Write the functions and a table's columns; return the options that name them."""
    (tmp_path / f"own{tmp_path.name}.py".replace("-", "_")).write_text(FUNCTIONS)
    module = f"own{tmp_path.name}".replace("-", "_")

    def words(name, form="pandas", *more):
        (tmp_path / "table.toml").write_text(TABLE.format(form=form))
        return [f"{module}:{name}", "--columns", "table.toml", *more]

    return words


PAIR = ("--left", json.dumps(LEFT), "--right", json.dumps(RIGHT), "--trials", "400", "--epsilon", "1")


@deep
def test_a_broken_function_is_refuted_with_the_rows_that_differ_and_the_keys(dpaccount, tables):
    code, out, _ = dpaccount("audit", *tables("cities"), *PAIR, "--json")
    found = json.loads(out)
    assert (code, found["verdict"]) == (1, "REFUTED")
    assert found["witness"]["left"] == [{"who": "p1", "city": "north", "cost": 1.0}]
    assert [row["city"] for row in found["witness"]["right"]] == ["south", "south"]
    assert found["witness"]["unit"] == "p1"
    assert len(found["witness"]["other_rows"]) == 3
    assert "result['by city']['" in found["attack"]
    code, out, _ = dpaccount("audit", *tables("cities"), *PAIR)
    assert code == 1
    assert "p2" not in out
    assert "who p1, city south, cost 9.0" in out


@deep
def test_a_function_of_the_data_alone_draws_its_own_noise(dpaccount, tables):
    code, out, _ = dpaccount("audit", *tables("clear"), *PAIR, "--json")
    found = json.loads(out)
    assert (
        (code, found["verdict"]) == (3, "NOT ATTACKED") if found["epsilon_power"] <= 1 else (0, "NOT REFUTED")
    )
    assert "rng" not in " ".join(found["witness"]["findings"])
    assert "draws from elsewhere" in " ".join(found["witness"]["findings"])


def test_what_cannot_be_compared_is_a_wrong_request(dpaccount, tables):
    code, out, err = dpaccount("audit", *tables("hidden"), *PAIR, "--json")
    assert (code, out) == (2, "")
    assert re.search(
        r"^error: .* returns an object of type object .*; make it return numbers or text", err, re.MULTILINE
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--shape", "3"), "--columns describes a table; leave --shape"),
        (("--left", "[]"), "give both --left and --right"),
        (("--left", "[", "--right", "[]"), "--left: line 1"),
        (("--left", "gone.json", "--right", "[]"), "gone.json: No such file"),
        (("--left", "[]", "--right", "[]"), "no neighbours"),
        (("--left", '[{"who": "p1", "city": "west", "cost": 1}]', "--right", "[]"), "no value of city"),
    ],
)
def test_wrong_options_are_one_line(dpaccount, tables, more, said):
    if said == "no neighbours":
        more = ("--left", json.dumps(LEFT), "--right", json.dumps(LEFT[1:]))
    for command in (("audit", "--epsilon", "1"), ("sensitivity", "--norm", "l1", "--bound", "1")):
        code, out, err = dpaccount(command[0], *tables("cities"), *command[1:], *more, "--json")
        assert (code, out) == (2, "")
        (line,) = (line for line in err.splitlines() if line.startswith("error: "))
        assert said in line


def test_a_table_in_a_library_that_is_not_there_is_a_wrong_request(dpaccount, tables, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = dpaccount("audit", *tables("cities", "polars"), "--epsilon", "1")
    assert code == 2
    assert "install dpaccount[frames]" in err


@deep
@pytest.mark.parametrize(("form", "bound", "code"), [("dict", 18, 0), ("polars", 17, 1), ("pandas", 17, 1)])
def test_the_sensitivity_of_a_query_of_a_table(dpaccount, tables, form, bound, code):
    ended, out, _ = dpaccount(
        "sensitivity",
        *tables("total", form),
        "--norm",
        "l1",
        "--bound",
        bound,
        "--relation",
        "add-remove",
        "--json",
    )
    found = json.loads(out)
    assert (ended, round(found["worst"], 9)) == (code, 18)
    assert found["refuted"] is bool(code)
    assert (found["left"] is None) is not bool(code)


@deep
@pytest.mark.parametrize(("name", "form"), [("cost", "pandas"), ("total", "dict"), ("total", "polars")])
def test_a_counterexample_is_printed_as_a_test_that_fails(
    dpaccount, tables, tmp_path, monkeypatch, name, form
):
    words = tables(name, form)
    code, out, _ = dpaccount("sensitivity", *words, "--norm", "l1", "--bound", "17")
    assert code == 1
    monkeypatch.syspath_prepend(str(tmp_path))
    held: dict = {}
    exec(out[out.index("import numpy") :], held)  # noqa: S102
    with pytest.raises(AssertionError):
        held[f"test_sensitivity_of_{name}"]()


@deep
def test_proofs_are_for_arrays(dpaccount, tables):
    code, _, err = dpaccount(
        "sensitivity", *tables("total", "dict"), "--norm", "l1", "--bound", "18", "--prove"
    )
    assert code == 2
    assert "--prove is for arrays" in err


# ------------------------------------------------------------------ pytest


def _cost(df):
    return df["cost"].fillna(0).sum()


def _noisy(df, rng):
    return {"cost": 9 * len(df) + int(rng.geometric(0.6) - rng.geometric(0.6))}


cost, noisy = _cost, _noisy
cost.__qualname__, noisy.__qualname__ = "cost", "noisy"
EFFORT = Effort(trials=400, seconds=60.0, seed=1)
TERMS = {"rows": 4, "columns": {"cost": {"type": "number", "low": 0, "high": 0.5}}}


@deep
def test_the_fixtures_take_the_same_declaration(in_process, few):
    budget = Budget(Fraction(1, 20))
    assert pytest_plugin.query(cost, {**TERMS, "norm": "l1", "bound": 0.5}, EFFORT, budget)["worst"] >= 0.5
    with pytest.raises(pytest.fail.Exception, match=r"pd\.DataFrame"):
        pytest_plugin.query(cost, {**TERMS, "norm": "l1", "bound": 0.25}, EFFORT, budget)
    pair = {"left": [{"cost": 0.25}, {"cost": None}], "right": [{"cost": None}]}
    terms = {**TERMS, **pair, "relation": "add-remove", "epsilon": 1}
    with pytest.raises(pytest.fail.Exception, match=r"result\['cost'\]"):
        pytest_plugin.private(noisy, terms, EFFORT, budget)
    for more in ({"low": 0}, {"as_": "spark"}, {"rows": 0}):
        with pytest.raises(InputError):
            pytest_plugin.query(cost, {**TERMS, **more, "norm": "l1", "bound": 1}, EFFORT, budget)


# ------------------------------------------------------------------ the example, and planted functions


def written(rows):
    """Return rows as TOML."""
    return json.dumps(rows).replace('":', '" =')


def copied(root, tmp_path):
    shutil.copytree(root / "examples" / "pandas_function", tmp_path, dirs_exist_ok=True)
    shutil.copy(root / "tests" / "planted" / "frame_functions.py", tmp_path)


@deep
def test_a_claim_about_a_table_is_certified_and_checked(root, tmp_path, dpaccount, in_process):
    copied(root, tmp_path)
    visits = [{"patient": "a", "age": 40, "city": city, "cost": 1} for city in ("north", "south")]
    sides = f"left = {written(visits[:1])}\nright = {written(visits)}\n"
    claim = (tmp_path / "claim.toml").read_text().replace("trials = 6000", "trials = 60")
    (tmp_path / "claim.toml").write_text(claim.replace('as = "pandas"\n', f'as = "pandas"\n{sides}'))
    code, out, _ = dpaccount("certify", "claim.toml", "--json")
    found = json.loads(out)
    assert (code, found["verdict"]) == (3, "UNPROVEN")
    assert found["claim"]["subject"]["data"]["columns"]["city"]["values"] == ["north", "south"]
    assert dpaccount("check", "certificates/visits-by-city/certificate.json")[0] == 3


@deep
@parts(3)
@pytest.mark.statistical(3e-3)  # three sound functions at level .001
def test_the_documents_commands_end_as_they_say(root, tmp_path, dpaccount, depth):
    copied(root, tmp_path)
    text = (root / "docs" / "auditing.md").read_text().partition("## Functions of a table")[2]
    table = re.search(r"```toml\n(.*?)```", text, re.DOTALL).group(1)
    assert table == (tmp_path / "visits.toml").read_text()
    claim = tmp_path / "claim.toml"
    claim.write_text(claim.read_text().replace("trials = 6000", "trials = 600"))
    commands = re.findall(r"^\$ dpaccount (.*?) +# exit (\d)$", text, re.MULTILINE)
    assert len(commands) == 3
    for words, code in depth.some(commands, 1):
        quick = ["--trials", "600", "--confidence", "0.999", "--seconds", "1e6"]
        quick = [] if words.startswith("certify") else quick
        assert dpaccount(*words.split(), *quick)[0] == int(code), words


PLANTED = (
    "mean_of_known_ages",
    "mean_of_all_rows",
    "two_visits_a_city",
    "visits_in_a_sample",
    "by_first_visit",
)


@deep  # minutes each
@pytest.mark.statistical(0.05)  # the sound one is refuted
@pytest.mark.parametrize("name", [*PLANTED, "by_patient"])
def test_planted_functions_of_tables_are_refuted(root, tmp_path, dpaccount, name):
    copied(root, tmp_path)
    code, out, _ = dpaccount(
        *("audit", f"frame_functions:noisy_{name}", "--columns", "visits.toml", "--epsilon", "1"),
        *("--trials", "2000", "--seed", "1", "--seconds", "1e6", "--json"),
    )
    assert json.loads(out)["verdict"] == ("REFUTED" if name in PLANTED else "NOT REFUTED")
    assert code == (name in PLANTED)


@deep
def test_results_are_named_by_their_keys_in_arrays_too(in_process, tmp_path, dpaccount):
    (tmp_path / "keyed.py").write_text(
        "def f(data, rng):\n    return {'mean': [0.0, float(data[0])], 'text': str(data[0])}\n"
    )
    code, out, _ = dpaccount(
        *("audit", "keyed:f", "--epsilon", "1", "--shape", "2", "--low=0", "--high=1", "--trials", "200"),
        *("--left", "[0, 0]", "--right", "[1, 0]", "--json"),
    )
    assert code == 1
    assert re.search(r"result\['mean'\]\[1\]|the text of result\['text'\]", json.loads(out)["attack"])
    assert json.loads(out)["witness"]["right"] == [1.0, 0.0]


def test_the_text_of_an_array_shows_the_rows_that_differ(in_process, tmp_path, dpaccount):
    (tmp_path / "plain.py").write_text("def f(data, rng):\n    return len(data)\n")
    words = ("audit", "plain:f", "--epsilon", "1", "--shape", "3", "--low=7", "--high=9", "--trials", "200")
    more = ("--left", "[7, 8, 9]", "--right", "[7, 9]", "--relation", "add-remove")
    _, out, _ = dpaccount(*words, *more)
    assert "left row 1: 8.0, right -," in out
