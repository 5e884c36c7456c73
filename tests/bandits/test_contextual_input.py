"""Bad input for predictors and logged policies: one sentence, exit code 2, and nothing is charged."""

import json
from pathlib import Path

import numpy as np
import pytest

from bandits.logged.logged_trials import ARM, CELL, read_trial, taking_part
from dpaccount.documents import parse_toml
from mechanisms.table.columns import read_table
from mechanisms.table.rows import read_rows
from tests.depth import deep

HEAD = """
schema = "dpaccount/claim/1"
name = "bad"
[guarantee]
model = "joint"
unit = "person"
relation = "replace-one"
epsilon = 1
delta = 1e-6
[audit]
trials = 200
"""
LOG = """
[data]
file = "log.csv"
ledger = "sqlite:///log.db"
rows = 6
[data.columns]
segment = { type = "category", values = ["a", "b"] }
age = { type = "number", low = 0, high = 100 }
variant = { type = "category", values = ["x", "y"] }
chance = { type = "number", low = 0.2, high = 0.8 }
likely = { type = "number", low = 0, high = 1.5 }
converted = { type = "boolean" }
[subject]
use = "logged-policy"
[subject.parameters]
arm = "variant"
reward = "converted"
"""
ROWS = """segment,age,variant,chance,likely,converted
a,10,x,0.5,1,true
b,20,y,0.5,1,false
a,30,gold,0.5,1,true
b,40,,0.5,1,true
a,50,x,0.5,1,true
b,60,y,0.5,1,false
"""


@pytest.fixture
def ledger(dpaccount, tmp_path):
    """Return what counts the entries of the log's ledger."""
    (tmp_path / "log.csv").write_text(ROWS)
    budget = ["--epsilon", 5, "--delta", "1e-5", "--unit", "person", "--relation", "replace-one"]
    assert dpaccount("ledger", "init", "sqlite:///log.db", *budget, "--measure", "approximate")[0] == 0
    return lambda: json.loads(dpaccount("ledger", "show", "sqlite:///log.db", "--json")[1])["entries"]


def refused(result, said):
    code, out, err = result
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("error: ")
    assert said in line


@deep(quick_every=2)
@pytest.mark.parametrize(
    ("logging", "said"),
    [
        ("[0.5, 0.6]", "add up to 1.1; they must add up to 1"),
        ("[1.5, -0.5]", "it must be above 0"),
        ("[1, 0]", "it must be above 0"),
        ("[nan, 0.5]", "not a finite decimal number"),
        ("[inf, 0.5]", "not a finite decimal number"),
        ("[0.5, 0.25, 0.25]", "give one for each of 2 arms"),
        ("[]", "give one for each of 2 arms"),
        ("0.5", "give a list"),
        ('"segment"', "segment is no chance"),
        ('"likely"', "likely is no chance"),
        ('"nobody"', "no column 'nobody'"),
    ],
)
def test_shares_that_are_none_are_refused_before_any_charge(dpaccount, ledger, logging, said):
    Path("claim.toml").write_text(HEAD + LOG + f"logging = {logging}\n")
    refused(dpaccount("certify", "claim.toml"), said)
    assert ledger() == 0
    assert not Path("certificates").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('offers = [["x", "y", 0.9]]', "add up to 0.9"),
        ('offers = [["x", "y", -1]]', "it must be above 0"),
        ('offers = [["x", "gold", 1]]', "known here: x, y"),
        ('context = "age"\ncuts = { age = [18, 18.00000000000000001] }', "do not rise"),
        ('context = "age"\ncuts = { age = [nan] }', "not a finite decimal number"),
    ],
)
def test_other_declarations_of_a_log_are_refused_before_any_charge(dpaccount, ledger, more, said):
    Path("claim.toml").write_text(HEAD + LOG + more + "\n")
    refused(dpaccount("certify", "claim.toml"), said)
    assert ledger() == 0


def test_a_record_of_an_undeclared_arm_is_a_zero_record(tmp_path):
    """Neither refused, which would tell of it, nor counted: "gold" and an empty cell."""
    (tmp_path / "log.csv").write_text(ROWS)
    place = parse_toml(LOG + 'context = "segment"\n', "claim.toml")
    table = read_table(place.child("data"))
    trial = read_trial(place.child("subject").child("parameters"), table)
    rows = read_rows(tmp_path / "log.csv", table, trial.reading, "replace-one")
    assert rows[:, ARM].tolist() == [0, 1, -1, -1, 0, 1]
    assert rows[:, CELL].tolist() == [0, 1, 0, 1, 0, 1]
    assert taking_part(rows, trial.chance, np.zeros(6)).tolist() == [True, True, False, False, True, True]


SMALL = "actions = 4\ncontexts = 4\n"
ALL = ("usca", "function-release")


@pytest.mark.parametrize(
    ("use", "parameters", "said"),
    [
        *((use, "actions = 0", "the action grid is empty") for use in ALL),
        *((use, "contexts = 0", "needed contexts >= 1") for use in ALL),
        *((use, SMALL + "epsilon = 0", "epsilon > 0") for use in ALL),
        *((use, SMALL + "epsilon = -1", "epsilon > 0") for use in ALL),
        *((use, SMALL + "epsilon = nan", "not a finite decimal number") for use in ALL),
        *((use, SMALL + "rounds = 1", "rounds") for use in ALL),
        *((use, SMALL + "lengthscale = 0", "it is above 0") for use in ALL),
        ("usca", SMALL + "predictions = 0", "predictions is 0"),
        ("usca", SMALL + "noise_variance = 0", "tau is the noise variance, 0; it is above 0"),
        ("usca", SMALL + "noise_variance = -1", "it is above 0"),
        ("usca", SMALL + 'tau = "-1"', "known: noise-variance, public"),
        ("usca", SMALL + "gamma = 1", "points are known that gain"),
        ("usca", SMALL + "gamma = -1", "points are known that gain"),
        ("usca", SMALL + 'Z = "z.npy"', "unknown key 'Z'"),  # it is points of public coins; no input has it
    ],
)
def test_parameters_of_predictors_that_make_no_sense_are_one_sentence(dpaccount, use, parameters, said):
    claim = f'{HEAD}[subject]\nuse = "{use}"\n[subject.parameters]\n{parameters}\n'
    Path("claim.toml").write_text(claim)
    refused(dpaccount("certify", "claim.toml"), said)
    assert not Path("certificates").exists()
