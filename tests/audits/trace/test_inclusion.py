"""Which rows are in the sums of a run, held against Poisson samples: error level and power."""

import itertools
import json
import math
import shutil

import numpy as np
import pytest

from audits.datasets.shape import Shape
from audits.trace import inclusion
from audits.trace.inclusion import (
    ChosenCells,
    compare_with_poisson,
    conditions,
    log_evidence,
    most_conditions,
    probes,
    seeds_needed,
)
from tests.audits.trace import sampled
from tests.depth import deep
from tests.looped import looped

ROWS = 6


@deep
@looped("ordered", [True, False])
@looped("rate", [0.1, 0.4, 0.75])
def test_every_product_has_mean_one_under_poisson_samples(rate, ordered):
    """By enumeration of two runs; so their mean reaches 10⁶ with probability 10⁻⁶ at most."""
    mean = weight = 0.0
    for bits in itertools.product([0, 1], repeat=8):
        probability = math.prod(rate if bit else 1 - rate for bit in bits)
        runs = list(np.array(bits, dtype=bool).reshape(2, 2, 2))
        every = conditions(runs, ordered=ordered)
        for each in every:
            mean += probability * (math.exp(log_evidence(each, rate)) - 1)
        weight += probability
        assert len({each.condition for each in every}) == len(every) <= most_conditions(2, 2)
    assert weight == pytest.approx(1)
    assert mean == pytest.approx(0, abs=1e-12)


def test_more_inclusions_are_more_evidence_and_a_lower_rate_is_none():
    for rate in (0.1, 0.5):
        sizes = [log_evidence(ChosenCells("", 40, inside), rate) for inside in range(41)]
        assert sizes == sorted(sizes)
        assert log_evidence(ChosenCells("", 40, int(40 * rate)), rate) < 0


def drawn(kind, seed, runs=100, steps=8, rate=0.3):
    rng = np.random.default_rng(seed)
    every = []
    for _ in range(runs):
        inside = rng.random((ROWS, steps)) < rate
        if kind == "a row always":
            inside[2] = True
        elif kind == "a step with all":
            inside[:, 3] = True
        elif kind == "all or none":
            inside[:] = inside[0]
        elif kind == "two rows together":
            inside[3] = inside[1]
        elif kind == "moved on":  # a row is in where the next row was in the step before
            draws = rng.random(ROWS + steps) < rate
            inside = np.array([draws[k : k + steps] for k in range(ROWS)])
        elif kind == "one sample":
            inside[:] = inside[:, :1]
        elif kind == "fixed size":
            inside = rng.random((ROWS, steps)).argsort(axis=0).argsort(axis=0) < 2
        elif kind == "epochs":
            order = rng.random((ROWS, steps // 3 + 1))
            inside = np.array([(order[:, t // 3] * 3).astype(int) == t % 3 for t in range(steps)]).T
        every.append(inside)
    return every


@pytest.mark.parametrize(
    ("kind", "rate"),
    [("a row always", 0.3), ("a step with all", 0.3), ("all or none", 0.3), ("one sample", 0.3),
     ("two rows together", 0.3), ("moved on", 0.3), ("fixed size", 0.34), ("epochs", 0.34)],
)  # fmt: skip
def test_samples_that_are_not_poisson_are_found(kind, rate):
    for seed in range(3):
        finding, _ = compare_with_poisson(drawn(kind, seed), rate, ordered=True)
        assert finding is not None


def test_poisson_samples_of_no_larger_rate_are_not_accused():
    for seed in range(20):  # a false alarm has probability 10⁻⁶ each
        assert compare_with_poisson(drawn("poisson", seed), 0.3, ordered=True) == (None, [])
        assert compare_with_poisson(drawn("poisson", seed), 0.4, ordered=True)[0] is None


def test_too_few_runs_and_rows_that_are_not_seen_are_notes():
    needed = seeds_needed(ROWS, 8, 0.3)
    for runs, noted in ((needed - 1, True), (needed, False)):
        finding, notes = compare_with_poisson(drawn("poisson", 1, runs), 0.3, ordered=True)
        assert finding is None
        assert any("cannot show" in said for said in notes) == noted
    hidden = drawn("poisson", 1)
    for each in hidden:
        each[4] = False
    finding, notes = compare_with_poisson(hidden, 0.3, ordered=True)
    assert finding is None
    assert ["row 5: seen in less than half" in said for said in notes] == [True]


def test_a_cell_that_is_always_in_is_a_finding_after_as_many_runs_as_are_needed():
    for rate in (0.05, 0.3, 0.8):
        runs = drawn("poisson", 2, seeds_needed(ROWS, 8, rate), rate=rate)
        for each in runs:
            each[3, 5] = True
        assert compare_with_poisson(runs, rate, ordered=True)[0] is not None
    assert inclusion.UNLIKELY == 1e-6


def test_each_row_is_replaced_alone_and_stays_in_the_domain():
    for columns in (None, 2):
        low, high = (0.0,) * (columns or 1), (3.0,) * (columns or 1)
        shape = Shape(5, columns, low, high, False, "add-remove")
        (base,), *rows = probes(shape, 1)
        assert len(rows) == 5
        for k, datasets in enumerate(rows):
            for data in datasets:
                others = np.arange(5) != k
                assert np.array_equal(data[others], base[others])
                assert shape.domain().contains(shape.records(data))
            assert any((data[k] != base[k]).any() for data in datasets)


WORDS = ["--shape", "4", "--low=-1", "--high", "1", "--json"]


@deep
@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("poisson", 0, None),
        ("first_row_always", 1, "row 1 is in"),
        ("all_rows_in_step_five", 1, "step 5 is in"),
        ("all_or_none", 1, "earlier ones in the same step is in"),
        ("row_by_row", 3, "draws for each row by itself"),
    ],
)
def test_a_plan_is_held_against_every_row(dpaccount, root, tmp_path, name, code, said):
    shutil.copy(root / "tests" / "audits" / "trace" / "sampled.py", tmp_path)
    of = {"event": "gaussian", "sigma": 1}
    event = {"event": "poisson_subsampled", "rate": sampled.RATE, "count": sampled.STEPS, "of": of}
    plan = {"schema": "dpaccount/events/1", "relation": "add-remove", "events": [event]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    exit_code, out, _ = dpaccount("trace", f"sampled:{name}", "--plan", "plan.json", *WORDS)
    answer = json.loads(out)
    assert exit_code == code, answer
    assert said is None or any(said in each for each in answer["findings"] + answer["notes"])


SUBSAMPLED = {"event": "poisson_subsampled", "rate": 0.5, "count": 4}
NORMAL = {"event": "gaussian", "sigma": 1}


@deep
@pytest.mark.parametrize(
    ("name", "events", "said"),
    [
        ("noise_twice", [{**SUBSAMPLED, "of": {**NORMAL, "count": 2}}], "share a sample"),
        ("noise_twice", [{**SUBSAMPLED, "count": 9, "of": NORMAL}], "share a sample"),
        ("other_generator", [{**SUBSAMPLED, "of": NORMAL}], "was not seen"),
        ("noise_twice", [NORMAL, {**SUBSAMPLED, "of": {**NORMAL, "count": 2}}], "several"),
    ],
)
def test_samples_that_are_shared_or_not_followed_are_notes(dpaccount, root, tmp_path, name, events, said):
    shutil.copy(root / "tests" / "audits" / "trace" / "sampled.py", tmp_path)
    plan = {"schema": "dpaccount/events/1", "relation": "add-remove", "events": events}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    code, out, _ = dpaccount("trace", f"sampled:{name}", "--plan", "plan.json", *WORDS)
    answer = json.loads(out)
    assert (code, answer["findings"]) == (3, [])
    assert any(said in each for each in answer["notes"])


@deep
@pytest.mark.parametrize(
    ("name", "said"), [("smallest_noise", "is added to nothing"), ("ends_on_high", "of 60 the function ends")]
)
def test_what_was_not_judged_is_not_exit_zero(dpaccount, root, tmp_path, name, said):
    shutil.copy(root / "tests" / "audits" / "trace" / "sampled.py", tmp_path)
    words = ["--relation", "replace-one", "--epsilon", "2", *WORDS]
    code, out, _ = dpaccount("trace", f"sampled:{name}", *words)
    assert code == 3
    assert any(said in each for each in json.loads(out)["notes"])
