"""Every option that `dpaccount subjects NAME` lists is said in a claim, does something, and is certified.

The kernel bandits' are run by `test_subject_options`, as sessions.
"""

import json
import re
import tomllib
from fractions import Fraction

import numpy as np
import pytest
from msgspec.structs import fields

from audits.certificate import make
from audits.claim import read_claim
from audits.hypothesis_tests.replay import Recorder
from audits.subjects.catalogue import listed, subject_of
from dpaccount.errors import InputError
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof.derivation import write
from dpaccount.schemas.study import StatisticTable
from papers.kharkovskii.curate import PUBLISHED as UNSOUND
from tests.audits.cli.subject_runs import BANDITS, MECHANISMS, TRIALS, toml
from tests.audits.cli.test_subject_options import RUNS as KERNEL_BANDITS
from tests.audits.studies.test_studies import EVERY, WORDS

STUDY = "noisy-statistics"
KEYS = {field.name for field in fields(StatisticTable)} - {"name", "what"}
CLAIM = """
schema = "dpaccount/claim/1"
name = "options"
[guarantee]
model = "{model}"
unit = "one row"
relation = "{relation}"
{radius}
epsilon = 25
delta = 1e-6
[subject]
use = "{name}"
[subject.parameters]
{parameters}
[audit]
trials = 60
"""
DELTA = Fraction(1, 10**6)
ALL = MECHANISMS | BANDITS
CASES = [
    pytest.param(
        name, changed, id=f"{name}-{'-'.join(changed)}", marks=pytest.mark.slow if name in BANDITS else ()
    )
    for name, each in ALL.items()
    for changed in each.runs
]
cases = pytest.mark.parametrize(("name", "changed"), CASES)


def written(folder, name, said, model="central"):
    """Write a claim that says these parameters; a unit is the radius of its relation."""
    said = dict(said)
    unit = said.pop("unit", None)
    path = folder / "claim.toml"
    text = CLAIM.format(
        model=ALL[name].model if name in ALL else model,
        name=name,
        relation="bounded-row" if unit else said.get("relation", "?").replace("?", "replace-one"),
        radius=f"radius = {unit}" if unit else "",
        parameters="".join(f"{key} = {toml(value)}\n" for key, value in said.items()),
    )
    path.write_text(text)
    return path


def seen(path):
    """Return what is proved, added up and shown by a claim, always of the same people and coins; or its refusal."""
    try:
        subject = subject_of(read_claim(path))
    except InputError as refusal:
        return str(refusal)
    theorem, domain = subject.proof(DELTA), subject.domain()
    noise = Recorder(rehearse(theorem, Rehearsal(1)))
    people = np.random.default_rng(3).uniform(-1, 3, (domain.rows, len(domain.low)))
    view = subject.play(domain.clamped(people), noise, 1)
    shown = [*noise.exact.values(), *view.own.values(), *view.public.values()]
    return write(theorem)[-1]["digest"], [np.asarray(each).tolist() for each in shown]


@cases
def test_it_does_something(tmp_path, name, changed):
    """Without it the proof, or what is added up or shown, is another."""
    small, known = ALL[name].small, listed(name)["parameters"]
    found = seen(written(tmp_path, name, small | changed))
    assert not isinstance(found, str), found
    for option, value in changed.items():
        rest = small | {key: each for key, each in changed.items() if key != option}
        if rest.get(option, known[option]["default"]) != value:
            assert seen(written(tmp_path, name, rest)) != found, option


@pytest.mark.slow(one_in=12)
@pytest.mark.statistical  # seeded; a claim so far above what is proved is never refuted
@cases
def test_a_claim_that_says_it_is_certified(dpaccount, monkeypatch, tmp_path, name, changed):
    """With few tries of each hypothesis; `test_catalogued` has many."""
    monkeypatch.setattr(make, "EXAMPLES", 8)
    said = ALL[name].small | ALL[name].certified | changed
    code, out, err = dpaccount("certify", written(tmp_path, name, said), "--json", "--jobs", 1)
    assert code == 0, err
    certificate = json.loads(out)
    assert certificate["verdict"] == "CERTIFIED"
    found = certificate["subject"]["parameters"]
    assert {key: number(found[key]) for key in said} == {key: number(each) for key, each in said.items()}


def number(said):
    """Return a number as claims and certificates mean it, and words as they are."""
    try:
        return Fraction(str(said))
    except ValueError:
        return said


UNPROVED = [(name, said) for name, each in ALL.items() for said in each.unproved]


@pytest.mark.parametrize(("name", "said"), UNPROVED)
def test_of_what_is_for_comparison_nothing_is_certified(dpaccount, tmp_path, name, said):
    code, out, err = dpaccount("certify", written(tmp_path, name, ALL[name].small | said))
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].endswith("nothing is proved of that")


REFUSED = [
    ("fixed-map", {"bits": -1}, "bits is -1; it lies in 0 ... 30"),
    ("row-sketch", {"bits": -1}, "bits is -1; it lies in 0 ... 30"),
    (
        "ldp-gp-ucb",
        {"kernel": "delays-by-hour", "points": 41, "lengthscale": 0.3},
        "'delays-by-hour' has points of its own, and no length scale",
    ),
    ("jdp-gp-ucb", {"nodes_per_axis": 999_999}, "nodes_per_axis is 999999; it lies in 1 ... 4096"),
]


@pytest.mark.parametrize(("name", "said", "why"), REFUSED)
def test_numbers_that_make_no_sense_are_one_sentence(dpaccount, tmp_path, name, said, why):
    code, out, err = dpaccount("certify", written(tmp_path, name, needed(name) | said))
    assert (code, out) == (2, "")
    assert why in err
    assert len(err.splitlines()) == 1


# ------------------------------------------------------------------ words


def words():
    """Yield every option that takes one of several words: its subject, its name, and all words of its runs."""
    for subject in listed(None):
        name = subject["name"]
        runs = (
            KERNEL_BANDITS[name][2]
            if name in KERNEL_BANDITS
            else WORDS
            if name == STUDY
            else [*ALL[name].runs, *ALL[name].unproved]
            if name in ALL
            else []
        )
        for option, facts in subject["parameters"].items():
            if facts["type"] == "text" and option != "reward":
                yield name, option, {facts["default"], *(run[option] for run in runs if option in run)}


@pytest.mark.parametrize(("name", "option", "run"), list(words()))
def test_a_wrong_word_is_one_sentence_and_the_right_ones_are_all_in_runs(
    dpaccount, tmp_path, name, option, run
):
    claim = written(tmp_path, name, needed(name) | {option: "?"})
    code, out, err = dpaccount("certify", claim)
    (refusal,) = err.splitlines()
    assert (code, out) == (2, "")
    assert refusal.startswith(f"error: {claim}: subject.parameters")
    known = re.search(r"known(?: here)?: (.*)$", refusal)
    assert known is None or name in TRIALS or set(known[1].split(", ")) <= run


def needed(name):
    """Return the parameters without a default, at their examples."""
    facts = listed(name)["parameters"].items()
    return {option: float(Fraction(each["example"])) for option, each in facts if "example" in each}


# ------------------------------------------------------------------ tables


TABLE = """
[data]
rows = {rows}
[data.columns]
arm = {{ type = "category", values = [{arms}] }}
paid = {{ type = "boolean" }}
share = {{ type = "number", low = 0, high = 1 }}
chance = {{ type = "number", low = 0.25, high = 1 }}
new = {{ type = "boolean" }}
"""


def of_table(folder, name, said):
    """Write a claim on a made-up trial's table; return it and what its subject's fields are."""
    said = {"rows": 40, "arms": ("a", "b"), "arm": "arm", "reward": "paid"} | said
    table = TABLE.format(rows=said.pop("rows"), arms=", ".join(f'"{arm}"' for arm in said.pop("arms")))
    promise = {key: said.pop(key) for key in ("relation", "epsilon") if key in said}
    model = "central" if name == "arm-means" else "joint"
    text = written(folder, name, said, model).read_text().replace("[subject]", table + "[subject]", 1)
    text = text.replace("epsilon = 25", f"epsilon = {promise.get('epsilon', 1)}")
    text = text.replace("replace-one", promise.get("relation", "replace-one"))
    (folder / "claim.toml").write_text(text)
    return folder / "claim.toml"


@pytest.mark.parametrize("name", TRIALS)
def test_every_field_of_a_trial_follows_from_some_table(tmp_path, name):
    base = subject_of(read_claim(of_table(tmp_path, name, {})))
    follow = set()
    for said in TRIALS[name]:
        subject = subject_of(read_claim(of_table(tmp_path, name, said)))
        follow |= {field for field in vars(base) if getattr(subject, field) != getattr(base, field)}
    assert follow >= set(listed(name)["parameters"])


@pytest.mark.slow(one_in=3)
@pytest.mark.statistical  # seeded
@pytest.mark.parametrize(("name", "said"), [(name, said) for name, runs in TRIALS.items() for said in runs])
def test_a_claim_on_a_table_is_certified(dpaccount, monkeypatch, tmp_path, name, said):
    monkeypatch.setattr(make, "EXAMPLES", 8)
    code, out, err = dpaccount("certify", of_table(tmp_path, name, said), "--json", "--jobs", 1)
    assert code == 0, err
    assert json.loads(out)["verdict"] == "CERTIFIED"


@pytest.mark.parametrize("name", TRIALS)
def test_what_follows_from_a_table_is_not_said_without_one(dpaccount, tmp_path, name):
    follow = [option for option, facts in listed(name)["parameters"].items() if facts["type"] == "of a table"]
    assert len(follow) >= 3
    for option in follow:
        code, out, err = dpaccount("certify", written(tmp_path, name, {option: "abcd"}))
        assert (code, out) == (2, "")
        assert "this follows from a table; declare [data.columns]" in err
        assert len(err.splitlines()) == 1


# ------------------------------------------------------------------ all of them


def test_every_option_of_every_subject_is_in_a_run(dpaccount):
    """The published curator's is run by `test_curate`, as it has no proof.

    A study's parameters follow from its statistics, whose every key `test_studies` says in a run.
    """
    assert {key for said in EVERY.values() for key in tomllib.loads(said)} == KEYS
    code, out, _ = dpaccount("subjects", "--json")
    assert code == 0
    for subject in json.loads(out):
        name, options = subject["name"], set(subject["parameters"])
        if name in ALL:
            assert set().union(*ALL[name].runs, *ALL[name].unproved) == options, name
        else:
            assert name in (*KERNEL_BANDITS, *TRIALS, UNSOUND, STUDY) or not options, name
