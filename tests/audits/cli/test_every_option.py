"""Every option that `dpaccount list NAME` lists of a mechanism is said in a claim, does something, is certified."""

import json
import tomllib

import pytest
from msgspec.structs import fields

from dpaccount.schemas.claim import StatisticTable
from tests.audits.cli.subject_runs import (
    MECHANISMS,
    does_something,
    is_certified,
    marked,
    refuses_a_wrong_word,
    words_of,
)
from tests.audits.studies.test_studies import EVERY, WORDS
from tests.depth import deep

STUDY = "noisy-statistics"
KEYS = {field.name for field in fields(StatisticTable)} - {"name", "what"}
LAYERS = ("mechanisms", "audits")
cases = pytest.mark.parametrize(("name", "runs", "changed"), marked(MECHANISMS))


@deep(quick_every=8)
@cases
def test_it_does_something(tmp_path, name, runs, changed):
    does_something(tmp_path, name, runs, changed)


@deep
@pytest.mark.statistical(0.05)  # a bound: one sound claim, far above what is proved
@cases
def test_a_claim_that_says_it_is_certified(dpaccount, monkeypatch, tmp_path, name, runs, changed):
    is_certified(dpaccount, monkeypatch, tmp_path, name, runs, changed)


def runs_of(name):
    return WORDS if name == STUDY else MECHANISMS[name].runs if name in MECHANISMS else []


@deep(quick_every=3)
@pytest.mark.parametrize(("name", "option", "run"), list(words_of(LAYERS, runs_of)))
def test_a_wrong_word_is_one_sentence_and_the_right_ones_are_all_in_runs(
    dpaccount, tmp_path, name, option, run
):
    model = MECHANISMS[name].model if name in MECHANISMS else "central"
    known = refuses_a_wrong_word(dpaccount, tmp_path, name, option, model)
    assert known is None or known <= run


def test_every_option_of_every_subject_is_in_a_run(dpaccount):
    """A study's parameters follow from its statistics, whose every key `test_studies` says in a run."""
    assert {key for said in EVERY.values() for key in tomllib.loads(said)} == KEYS
    code, out, _ = dpaccount("subjects", "--json")
    assert code == 0
    for subject in json.loads(out):
        name, options = subject["name"], set(subject["parameters"])
        if name in MECHANISMS:
            assert set().union(*MECHANISMS[name].runs) == options, name
        elif subject["layer"] in LAYERS:
            assert name == STUDY or not options, name
