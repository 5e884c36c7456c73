"""Every option that `dpaccount list NAME` lists of a bandit is said in a claim, does something, is certified.

The kernel bandits' are run by `test_subject_options`, as sessions.
"""

import json

import pytest

from audits.certificate import make
from audits.claim import read_claim
from audits.subjects.catalogue import listed, subject_of
from tests.audits.cli.subject_runs import (
    does_something,
    is_certified,
    marked,
    needed,
    refusal,
    refuses_a_wrong_word,
    words_of,
    written,
)
from tests.bandits.subject_runs import BANDITS, TRIALS
from tests.bandits.test_subject_options import RUNS as KERNEL_BANDITS
from tests.depth import deep

#: the curator's is run by `test_curate`, as it has no proof
UNPROVED_SUBJECT = "po-curator"
cases = pytest.mark.parametrize(("name", "runs", "changed"), marked(BANDITS, deep))


@cases
def test_it_does_something(tmp_path, name, runs, changed):
    does_something(tmp_path, name, runs, changed)


@deep
@pytest.mark.statistical(0.05)  # of any sound claim; one so far above what is proved is never refuted
@pytest.mark.parametrize(("name", "runs", "changed"), marked(BANDITS))
def test_a_claim_that_says_it_is_certified(dpaccount, monkeypatch, tmp_path, name, runs, changed):
    is_certified(dpaccount, monkeypatch, tmp_path, name, runs, changed)


UNPROVED = [(name, said) for name, each in BANDITS.items() for said in each.unproved]


@pytest.mark.parametrize(("name", "said"), UNPROVED)
def test_of_what_is_for_comparison_nothing_is_certified(dpaccount, tmp_path, name, said):
    claim = written(tmp_path, name, BANDITS[name].small | said, BANDITS[name].model)
    code, out, err = dpaccount("certify", claim)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].endswith("nothing is proved of that")


REFUSED = [
    (
        "local-posterior",
        {"kernel": "delays-by-hour", "points": 41, "lengthscale": 0.3},
        "'delays-by-hour' has points of its own, and no length scale",
    ),
    ("jdp-gp-ucb", {"nodes_per_axis": 999_999}, "nodes_per_axis is 999999; it lies in 1 ... 4096"),
    ("fixed-map", {"bits": -1}, "bits is -1; it lies in 0 ... 30"),
]


@pytest.mark.parametrize(("name", "said", "why"), REFUSED)
def test_numbers_that_make_no_sense_are_one_sentence(dpaccount, tmp_path, name, said, why):
    assert why in refusal(dpaccount, written(tmp_path, name, needed(name) | said, model_of(name)))


def model_of(name):
    return BANDITS[name].model if name in BANDITS else "central"


def runs_of(name):
    if name in KERNEL_BANDITS:
        return KERNEL_BANDITS[name][2]
    return [*BANDITS[name].runs, *BANDITS[name].unproved] if name in BANDITS else []


@deep(quick_every=3)
@pytest.mark.parametrize(("name", "option", "run"), list(words_of(("bandits", "papers"), runs_of)))
def test_a_wrong_word_is_one_sentence_and_the_right_ones_are_all_in_runs(
    dpaccount, tmp_path, name, option, run
):
    known = refuses_a_wrong_word(dpaccount, tmp_path, name, option, model_of(name))
    assert known is None or name in TRIALS or known <= run


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


@deep
@pytest.mark.statistical(0.05)  # that a sound claim is refuted
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
    code, out, _ = dpaccount("subjects", "--json")
    assert code == 0
    for subject in json.loads(out):
        name, options = subject["name"], set(subject["parameters"])
        if name in BANDITS:
            assert set().union(*BANDITS[name].runs, *BANDITS[name].unproved) == options, name
        elif subject["layer"] in ("bandits", "papers"):
            assert name in (*KERNEL_BANDITS, *TRIALS, UNPROVED_SUBJECT) or not options, name
