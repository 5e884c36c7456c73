"""Record and replay of noise calls: broken twins are found with their lines, sound ones are not accused."""

import inspect
import json
import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import convert, to_builtins

from audits.api import tracing
from audits.datasets.bases import Pair
from audits.datasets.forms import Given
from audits.trace.findings import CallSite, PlannedNoise, Traced, planned_noise
from audits.trace.paired_runs import PairTrace, trace_pair
from audits.trace.patches import NOISE, generator, noise, patched
from audits.trace.tape import Tape, distance
from dpaccount.errors import InputError
from dpaccount.plan.events import Gaussian, Laplace, Plan, PoissonSubsampled, RandomAllocation, Sequence
from tests.audits.trace import traced
from tests.depth import deep
from tests.looped import looped
from tests.planted import dp_sgd

GRID = [np.array(rows) for rows in ([0, 0, 0], [0, 0, 3], [3, 3, 3], [3, 3, 0], [1, 2, 3], [1, 2, 0])]
PAIRS = [(one, other) for one in GRID for other in GRID if (one != other).sum() == 1]
ALLOWED = {"laplace": 1.0, "gaussian": 1.0, "other": None}


def notes_of(found):
    return [said for _, said in found.notes.values()]


def findings_of(function, allowed=ALLOWED):
    found = Traced(allowed)
    for number, (left, right) in enumerate(PAIRS):
        trace = trace_pair(function, Given(left), Given(right), [1, number], again=number == 0)
        found.gather(convert(to_builtins(trace), PairTrace), Pair(left, right, "grid"))
    found.resolve_unsure()
    return [said for _, said, _ in found.findings.values()], found


@looped(
    "name",
    ["count", "total", "located", "own_noise", "standard_library", "in_place", "histogram", "noisy_max", "two_halves",
     "response"],
)  # fmt: skip
def test_sound_functions_are_not_accused(name):
    findings, found = findings_of(getattr(traced, name))
    assert findings == []
    seen = [place.moved for place in found.places.values()]
    assert (max(filter(None, seen), default=0) > 0) == (name != "response")


@deep
@pytest.mark.parametrize("name", ["above_threshold", "winner_and_others", "both_rounded"])
def test_noisy_values_that_the_result_may_not_show_are_no_finding_nor_said_to_be_well(
    name, dpaccount, folder
):
    findings, found = findings_of(getattr(traced, name))
    assert findings == []
    assert any("too much if the result shows" in said for said in notes_of(found))
    assert dpaccount("trace", f"traced:{name}", *WORDS)[0] == 3


counts, geometric, UNJUDGED = traced.counts, 1 - np.exp(-1 / 3), "nothing that is claimed says how far"
# fmt: off
EXIT_0 = [
    lambda data, rng: data.sum() - (3 * rng.exponential() - 3 * rng.exponential()),
    lambda data, rng: data.sum() + rng.logistic(0, 3.0),
    lambda data, rng: counts(data) + rng.laplace(0, np.full(4, 2.0)),
    lambda data, rng: data.sum() + 11.3 * rng.standard_normal(),
    traced.added_to_the_noise,
    traced.scaled_elsewhere,
    traced.two_laplace,
    lambda data, rng: int(data.sum()) + rng.geometric(geometric) - rng.geometric(geometric),
]
EXIT_1 = {
    "declared sensitivity 0.01, measured 3": lambda data, rng: data.sum() + rng.exponential(0.01) - rng.exponential(0.01),
    "declared sensitivity 0.02, measured 3": lambda data, rng: data.sum() + rng.logistic(0, 0.02),
    "declared sensitivity 0.02, measured 2": lambda data, rng: counts(data) + rng.laplace(0, np.full(4, 0.02)),
    "declared sensitivity 0.03, measured 3": lambda data, rng: data.sum() + 0.03 * rng.standard_normal(),
    "declared sensitivity 0, measured 3": lambda data, rng: data.sum() + 0 * rng.laplace(scale=3),
    "added to several values": lambda data, rng: np.array([data.sum(), data.max()]) + rng.laplace(scale=30),
    "several values": lambda data, rng: np.array([data, data]) + rng.laplace(scale=30, size=(2, 1)),
    "added to several": lambda data, rng: [data.sum() + (z := rng.laplace(scale=3)), data.sum() - z],
    "is added to several values": lambda data, rng: [1000.0 + (z := rng.laplace(scale=30)), 2000.0 + data.max() + z],
    "declared sensitivity 3, measured 9": lambda data, rng: data.sum() + rng.laplace(scale=3, size=3),
    "declared sensitivity 0, measured": lambda data, rng: data.sum() + ((z := rng.laplace(scale=3)) - z),
    "declared sensitivity 0.03, measured": traced.small_beside_large,
    "although all noisy values are": lambda data, rng: [data.sum() + (rng.laplace() + rng.laplace(scale=3)), data.max()],
    "one noise value of": lambda data, rng: [data.sum() + (z := rng.laplace(scale=3)), data.sum() + 0.01 * z],
}
EXIT_3 = [
    (UNJUDGED, lambda data, rng: int(np.argmax(counts(data) + rng.gumbel(scale=4, size=4)))),
    (UNJUDGED, lambda data, rng: int(np.argmax(counts(data) + rng.gumbel(scale=0.02, size=4)))),
    (UNJUDGED, lambda data, rng: data.sum() + 0.01 * rng.standard_cauchy()),
    (UNJUDGED, lambda data, rng: counts(data) + rng.laplace(0, np.array([0.01, 0.02, 0.03, 0.04]))),
    ("is one-sided", lambda data, rng: int(data.sum()) + rng.geometric(geometric)),
    ("is one-sided", lambda data, rng: int(data.sum()) + rng.geometric(geometric) + rng.geometric(geometric)),
    ("spends ε = 2", lambda data, rng: (2 * data.sum() + rng.laplace(scale=6) + (data.sum() + rng.laplace(scale=3))) / 2),
    ("declared 1, measured 2, which is too", lambda data, rng: int(np.argmax(counts(data) + rng.laplace(size=4)))),
    ("may be a sample", lambda data, rng: data.sum() + (2 * int(rng.integers(2)) - 1) * rng.laplace(scale=0.01)),
    ("in the result itself", lambda data, rng: np.array([data.sum() + (z := rng.laplace(scale=3)), z])),
    ("in the result itself", lambda data, rng: [int(data.sum()) + (rng.geometric(geometric) - (z := rng.geometric(geometric))), z]),
    ("may explain it", lambda data, rng: data.sum() + (z := rng.laplace(scale=1000)) * z),
    ("may explain it", traced.without_its_noise),
    ("depends on random values", lambda data, rng: data.sum() + (z := rng.laplace(scale=1000)) * abs(z)),
    ("is one-sided", lambda data, rng: [data.sum() + rng.exponential(6), data.sum() - rng.exponential(6)]),
    ("is one-sided", lambda data, rng: [data.sum() + rng.exponential(6), 5.0 - rng.exponential(6)]),
    ("is one-sided", traced.difference_unused),
    ("is not whole", lambda data, rng: data.sum() / 7 + (rng.geometric(geometric) - rng.geometric(geometric))),
    ("not added as often", traced.noise_alone),
    ("part of several", lambda data, rng: [data.sum() + ((z := rng.laplace(scale=6)) - (y := rng.laplace(scale=6))), data.sum() + (y - z)]),
    (UNJUDGED, lambda data, rng: data.sum() + rng.laplace(scale=0.1) + rng.laplace(scale=3)),
    ("draws are not followed", lambda data, rng: [data.sum() + rng.laplace(scale=6), data.sum() + traced.unseen(scale=6)]),
    ("draws are not followed", lambda data, rng: [data.sum() + rng.laplace(scale=6), data.sum() + traced.MADE.laplace(scale=6)]),
    ("draws are not followed", lambda data, rng: data.sum() + traced.MADE.laplace(scale=3) + rng.laplace(scale=0.1)),
    ("not held against", lambda data, rng: [data.sum() + rng.laplace(scale=3), data.sum() + rng.normal(0, 11.3)]),
    ("", lambda data, rng: 7 + rng.laplace(scale=3)),  # nothing moves, as in code that keeps its first result
]
# fmt: on


@pytest.mark.parametrize(
    ("code", "said", "function"),
    [
        *((0, "", each) for each in EXIT_0),
        *((1, *each) for each in EXIT_1.items()),
        *((3, *each) for each in EXIT_3),
    ],
)
def test_noise_is_judged_accused_or_said_not_to_be_judged(code, said, function):
    findings, found = findings_of(function)
    assert (len(findings) > 0) == (code == 1)
    assert any(said in each for each in [*findings, *notes_of(found), ""])
    assert tracing.exit_code(found.answer(SimpleNamespace(shown=lambda *_: {}))) == code


@pytest.mark.parametrize(
    ("name", "code"),
    [("one_draw_added_twice", 1), ("one_draw_for_two_layers", 1), ("a_draw_for_each_layer", 0)],
)
def test_what_moves_alike_in_the_farthest_pairs_moves_apart_in_others(name, code, dpaccount, folder):
    """Where a row of four ones comes or goes, the difference of two layers shows nothing."""
    words = ["--mu", "1", "--relation", "add-remove", "--shape", "6,4", "--low=-1", "--high", "1", "--json"]
    found, out, _ = dpaccount("trace", f"traced:{name}", *words)
    assert found == code
    said = json.loads(out)
    assert [("one noise value" in each) for each in said["findings"]] == [True] * code
    assert not any("differ by what did not change" in each for each in said["notes"])


@looped("name", ["shuffled", "permuted", "chosen"])
def test_samples_that_a_smaller_dataset_has_not_are_no_finding(name):
    found, rows = Traced(ALLOWED), np.arange(8.0)
    for number in range(6):
        trace = trace_pair(getattr(traced, name), Given(rows), Given(rows[:-1]), [number], again=False)
        found.gather(trace, Pair(rows, rows[:-1], "rows"))
    assert found.findings == {}
    assert any("may be a sample" in said for said in notes_of(found))
    assert any("fails on one side" in said for said in notes_of(found))


def test_picked_rows_are_those_of_the_dataset_itself():
    one, other = np.array([0.0, 0, 0]), np.array([0.0, 0, 3])
    for function in (
        lambda data, rng: rng.permutation(data)[:3].sum() + rng.laplace(scale=3),
        lambda data, rng: rng.choice(data, 3, replace=False).sum() + rng.laplace(scale=3),
        lambda data, rng: sum(traced.random.sample(list(data), 3)) + rng.laplace(scale=3),
        lambda data, rng: traced.shuffle(data).sum() + rng.laplace(scale=3),
    ):
        trace = trace_pair(function, Given(one), Given(other), [1], again=False)
        assert trace.calls[-1].moved == 3


def test_scales_of_a_vector_may_not_depend_on_the_data():
    findings, _ = findings_of(lambda data, rng: counts(data) + rng.laplace(0, [1, 2, 3, 0.1 + data.max()]))
    assert any("the scale of" in said for said in findings)


def test_gaussian_noise_is_not_judged_without_delta():
    findings, found = findings_of(EXIT_0[3], {**ALLOWED, "gaussian": None})
    assert (findings, len(found.notes)) == ([], 1)
    assert UNJUDGED in notes_of(found)[0]


@deep
def test_measurements_of_opendp_are_not_said_to_be_well(dpaccount, tmp_path):
    pytest.importorskip("opendp")
    (tmp_path / "opened.py").write_text(
        "import opendp.prelude as dp\n"
        "dp.enable_features('contrib')\n"
        "SPACE = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)\n"
        "NOISE = dp.m.make_laplace(*SPACE, scale=0.01)\n"
        "def total(data):\n"
        "    return NOISE(float(data.sum()))\n"
    )
    code, out, _ = dpaccount("trace", "opened:total", *WORDS)
    assert code == 3
    assert UNJUDGED in json.loads(out)["notes"][0]
    assert dpaccount("trace", "opened:total", *WORDS, "--sensitivity", "3")[0] == 0


@deep
def test_a_declared_sensitivity_does_not_replace_the_claim(dpaccount, folder, tmp_path):
    """The input moves by 3 as declared, and the scale is a hundredth of what ε = 1 needs."""
    (tmp_path / "small.py").write_text(
        "def total(data, rng):\n    return data.sum() + rng.laplace(scale=0.03)\n"
        "def some(data, rng):\n    return data[rng.random(len(data)) < 0.5].sum() + rng.laplace(scale=0.03)\n"
    )
    assert dpaccount("trace", "small:total", *WORDS, "--sensitivity", "3")[0] == 1
    assert dpaccount("trace", "small:some", *WORDS, "--sensitivity", "3")[0] == 3
    assert dpaccount("trace", "small:total", *WORDS[2:], "--sensitivity", "3")[0] == 0


@pytest.mark.parametrize("name", ["from_zero", "offset", "located_offset", "whole"])
def test_sound_functions_whose_noise_has_an_offset_are_not_accused_nor_said_to_be_well(
    name, dpaccount, folder
):
    findings, found = findings_of(getattr(traced, name))
    assert findings == []
    assert any("is added to what never moves" in said for said in notes_of(found))
    assert dpaccount("trace", f"traced:{name}", *WORDS)[0] == 3


@looped(
    ("name", "said"),
    [
        ("small_scale", "declared sensitivity 2, measured 3"),
        ("small_located", "declared sensitivity 2, measured 3"),
        ("divided", "declared sensitivity 2, measured 3"),
        ("histogram_of_one", "declared sensitivity 1, measured 2"),
        ("both_whole", "all laplace noise together spends ε = 2"),
        ("small_gauss", "declared sensitivity 1, measured 3"),
        ("fixed", "its seed is fixed"),
        ("one_noise", "is added to several values"),
        ("spread_scale", "the scale of"),
        ("sometimes", "noise calls depends on the data"),
        ("clear_beside_a_count", "the result moves (entry 1 by 3) although all noisy values are the same"),
        ("in_the_clear", "the result moves (entry 1 by 3) although all noisy values are the same"),
    ],
)
def test_broken_twins_are_found_with_their_lines(name, said):
    function = getattr(traced, name)
    findings, found = findings_of(function)
    assert any(said in finding for finding in findings), findings
    lines, first = inspect.getsourcelines(function)
    places = range(first, first + len(lines))
    assert all(file.endswith("traced.py") and line in places for _, file, line in found.places)


def test_noise_is_the_number_that_it_is():
    for value in (1.5, 3, np.array([1.0, -2.0]), np.float64(0.25)):
        tape = Tape()
        number, drawn = tape.drawn("x.laplace", 1.0, value, None)
        made = noise(drawn, tape, {number: 1.0})
        assert isinstance(made, NOISE)
        for expression in ("2 + v", "v + 2", "2 - v", "v - 2", "-v", "v * 3", "3 * v", "v / 2", "2 / v", "v > 1", "v + w",
                           "w + v", "w * v", "abs(v)", "v ** 2", "v + v", "np.exp(v)", "np.add(v, 1)"):  # fmt: skip
            for w in (np.float64(2.5), np.int64(2), 1.5, np.array([1.0, 2.0])):
                got, expected = (eval(expression, {"v": each, "w": w, "np": np}) for each in (made, value))  # noqa: S307
                assert np.array_equal(got, expected), expression


def test_patches_end_with_their_block():
    before = (np.random.default_rng, np.random.laplace, traced.random.gauss)
    with patched(Tape()):
        assert np.random.default_rng is not before[0]
    assert (np.random.default_rng, np.random.laplace, traced.random.gauss) == before


def test_a_taped_generator_draws_what_the_generator_draws():
    taped, plain = generator(Tape(), np.random.PCG64(3)), np.random.default_rng(np.random.PCG64(3))
    assert isinstance(taped, np.random.Generator)
    for draw in (
        "laplace(1, 2, 3)",
        "normal(size=4)",
        "integers(0, 9, 5)",
        "geometric(.3)",
        "permutation(6)",
        "random()",
    ):
        one, other = (eval(f"rng.{draw}", {"rng": rng}) for rng in (taped, plain))  # noqa: S307
        assert np.array_equal(one, other)


def test_distances():
    assert distance([1, 2], [4, 6], "gaussian") == 5
    assert distance([1, 2], [4, 6], "laplace") == 7
    assert distance([1.0], [np.nan], "laplace") == np.inf
    assert distance([np.inf], [np.inf], "laplace") == 0
    assert distance([1, 2], [1], "laplace") is None
    assert distance("a", 1, "laplace") is None


@pytest.fixture
def folder(tmp_path):
    shutil.copy(Path(traced.__file__), tmp_path / "traced.py")
    return tmp_path


WORDS = ["--epsilon", "1", "--shape", "3", "--low", "0", "--high", "3", "--dtype", "int", "--left", "[0,0,0]"]
WORDS += ["--right", "[0,0,3]", "--json"]


def test_the_command_answers(dpaccount, folder):
    code, out, _ = dpaccount("trace", "traced:small_scale", *WORDS)
    answer = json.loads(out)
    line = inspect.getsourcelines(traced.small_scale)[1] + 1
    assert code == 1
    assert answer["noise"] == [
        {"call": "numpy.random.Generator.laplace", "file": "traced.py", "line": line, "scale": 2.0, "declared": 2.0, "moved": 3.0}
    ]  # fmt: skip
    assert answer["findings"] == [
        f"numpy.random.Generator.laplace at traced.py:{line}: declared sensitivity 2, measured 3",
        "all laplace noise together spends ε = 1.5, and 1 is claimed",
    ]
    assert answer["witness"]["right"] == [0, 0, 3]


@pytest.mark.parametrize(("name", "code"), [("total", 0), ("response", 3), ("raises", 2), ("absent", 2)])
def test_exit_codes(dpaccount, folder, name, code):
    assert dpaccount("trace", f"traced:{name}", *WORDS)[0] == code


def test_gaussian_noise_is_judged_by_epsilon_and_delta():
    request = tracing.TraceRequest("", None, 1, Fraction(1, 10**5), None, None)
    assert tracing.allowed(request, [])["gaussian"] == pytest.approx(0.26805, abs=1e-4)


@pytest.mark.parametrize(
    "words", [[], ["--epsilon", "1"], ["--epsilon", "-1"], ["--mu", "-1"], ["--delta", "2", "--mu", "1"]]
)
def test_requests_that_are_incomplete_are_refused(dpaccount, words):
    data = [] if words == ["--epsilon", "1"] else ["--shape", "3", "--low", "0", "--high", "1"]
    code, out, err = dpaccount("trace", "traced:total", *words, *data)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")


def sgd_findings(name, seeds=range(1, 4)):
    rows = np.array([[1.0, 1.0], [-1.0, 0.5], [0.5, -1.0], [1.0, -1.0]])
    pairs = [(rows, rows[:-1]), (rows[:1], rows[:0]), (rows[[0, 0, 0]], rows[[0, 0]])]
    found = Traced(dict.fromkeys(ALLOWED), sensitivity=dp_sgd.CLIP)
    for seed in seeds:
        for number, (left, right) in enumerate(pairs):
            trace = trace_pair(getattr(dp_sgd, name), Given(left), Given(right), [seed, number], again=True)
            found.gather(trace, Pair(left, right, "rows"))
    return [said for _, said, _ in found.findings.values()], notes_of(found), found


@looped(
    ("name", "said"),
    [
        ("no_clipping", "declared sensitivity 1, measured 4"),
        ("clipping_by_batch", "declared sensitivity 1, measured"),
        ("one_noise", "is added to several values"),
        ("real_batch_size", "the result moves"),
    ],
)
def test_planted_training_bugs_are_found(name, said):
    findings, notes, _ = sgd_findings(name)
    assert any(said in each for each in findings + notes), (findings, notes)


@deep
def test_sound_training_is_not_accused_and_the_noise_is_measured():
    findings, notes, found = sgd_findings("correct", range(1, 21))
    assert (findings, notes) == ([], [])
    assert [seen.scale for (call, _, _), seen in found.places.items() if "normal" in call] == [dp_sgd.SIGMA]
    _, _, found = sgd_findings("half_the_noise")
    assert [seen.scale for (call, _, _), seen in found.places.items() if "normal" in call] == [
        dp_sgd.SIGMA / 2
    ]


def test_samples_are_not_held_against_epsilon_alone():
    left, right = np.ones((2, 2)), np.ones((1, 2))
    found = Traced({"laplace": 0.01, "gaussian": 0.01, "other": None})
    trace = trace_pair(dp_sgd.correct, Given(left), Given(right), [1], again=False)
    found.gather(trace, Pair(left, right, "rows"))
    assert found.findings == {}
    assert any("may be a sample" in said for said in notes_of(found))


@deep
def test_an_input_that_is_no_number_on_one_side_moves_without_bound(dpaccount, tmp_path):
    (tmp_path / "odd.py").write_text(
        "import numpy as np\n"
        "def ratio(data, rng):\n"
        "    with np.errstate(all='ignore'):\n"
        "        return np.float64(1) / data.sum() + rng.laplace()\n"
    )
    code, out, _ = dpaccount("trace", "odd:ratio", *WORDS)
    assert code == 1
    assert json.loads(out)["noise"][0]["moved"] == "inf"
    assert dpaccount("trace", "odd:ratio", *WORDS[:-1])[0] == 1


# ------------------------------------------------------------------ against a plan


def write_plan(folder, rate="0.3", count=dp_sgd.STEPS):
    sampled = {"event": "poisson_subsampled", "rate": rate, "count": count}
    events = [{**sampled, "of": {"event": "gaussian", "sigma": dp_sgd.SIGMA}}]
    plan = {"schema": "dpaccount/events/1", "relation": "add-remove", "events": events}
    (folder / "plan.json").write_text(json.dumps(plan))


def traced_training(dpaccount, name, *words):
    """Return exit code and answer of a trace without a hint."""
    words = [*words, "--shape", "6,2", "--low=-1", "--high", "1", "--json"]
    code, out, _ = dpaccount("trace", f"dp_sgd:{name}", *words)
    return code, json.loads(out)


@pytest.fixture
def planted_path(root, tmp_path):
    shutil.copy(root / "tests" / "planted" / "dp_sgd.py", tmp_path)


@deep
@pytest.mark.parametrize(
    ("name", "rate", "said"),
    [
        ("no_clipping", "0.3", "declared sensitivity 1, measured 6"),
        ("clipping_by_batch", "0.3", "declared sensitivity 1, measured 5"),
        ("half_the_noise", "0.3", "declared sensitivity 0.5, measured 1"),
        ("one_noise", "0.3", "is added to several values"),
        ("real_batch_size", "0.3", "although all noisy values are the same"),
        ("correct", "0.15", "and the plan says a rate of 0.15"),
    ],
)
def test_all_planted_training_bugs_are_found_against_a_plan(
    dpaccount, tmp_path, planted_path, name, rate, said
):
    write_plan(tmp_path, rate)
    code, answer = traced_training(dpaccount, name, "--plan", "plan.json")
    assert code == 1
    assert any(said in each for each in answer["findings"]), answer["findings"]


@deep
@pytest.mark.parametrize(
    "claimed", [["--plan", "plan.json"], ["--sensitivity", "1", "--relation", "add-remove"]]
)
def test_correct_training_is_never_accused(dpaccount, tmp_path, planted_path, claimed, depth):
    """Rows of one side alone may come first: then draws are of other rows, which is no movement."""
    write_plan(tmp_path)
    for seed in map(depth.seed, range(4)):
        more = ["--seed", str(seed), "--seconds", "600"]
        code, answer = traced_training(dpaccount, "correct", *claimed, *more)
        assert (code, answer["findings"], answer["notes"]) == (0, [], []), seed


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"event": "zcdp", "rho": 1}, []),
        ({"event": "gaussian", "sigma": 1}, ["--mu", "1"]),
        ({"event": "gaussian", "sigma": 1}, ["--relation", "replace-one"]),
        (None, []),
    ],
)
def test_plans_that_trace_cannot_follow_are_refused(dpaccount, tmp_path, planted_path, plan, words):
    document = {"schema": "dpaccount/events/1", "relation": "add-remove", "events": [plan] if plan else []}
    (tmp_path / "plan.json").write_text(json.dumps(document))
    data = ["--shape", "3,2", "--low", "0", "--high", "1"]
    code, out, err = dpaccount("trace", "dp_sgd:correct", "--plan", "plan.json", *words, *data)
    assert (code, out, err.count("error: ")) == (2, "", 1)


def test_plans_with_other_samples_than_poisson_ones_are_refused():
    plan = Plan("add-remove", RandomAllocation(steps=3, of=Gaussian(sigma=1)))
    with pytest.raises(InputError, match="random_allocation; trace follows"):
        planned_noise(plan)


def test_noise_of_a_plan_is_listed_by_ratio_with_its_count():
    inner = Sequence(of=(Gaussian(sigma=4, count=2), Laplace(scale=2)))
    plan = Plan("add-remove", [Gaussian(sigma=1), PoissonSubsampled(rate="0.1", of=inner, count=5)])
    assert [(each.family, each.ratio, each.rate, each.count) for each in planned_noise(plan)] == [
        ("gaussian", 1.0, 1.0, 1), ("laplace", 0.5, 0.1, 5), ("gaussian", 0.25, 0.1, 10)
    ]  # fmt: skip


def test_several_rates_are_not_judged_by_the_largest_alone():
    for rates, noted in (((0.2,), False), ((0.2, 0.1), True)):
        found = Traced(ALLOWED, [PlannedNoise("gaussian", 1.0, rate, 1) for rate in rates], drawn={"random"})
        found.check_rates()
        assert any("several sampling rates" in said for said in notes_of(found)) == noted


@looped(
    ("sizes", "plan", "expected"),  # of a plan: (ratio, count); expected: findings and notes
    [
        ([1, 0.01], [(1, 1), (0.01, 1)], (0, 0)),
        ([1, 1], [(1, 1), (0.01, 1)], (1, 0)),
        ([0.7, 0.7], [(1, 1), (0.01, 1)], (0, 1)),  # no further than the whole plan
        ([0.5, 0, 0.5, 0, 0], [(0.5, 5)], (0, 0)),
        ([0.5, 0, 0.1, 0, 0], [(0.5, 4)], (0, 1)),
        ([0.5, 0.5], [(0.5, 1)], (1, 1)),
        ([0.1, 0.1], [(0.5, 1)], (0, 2)),
    ],
)
def test_calls_are_held_against_those_of_the_plan_in_order_and_in_number(sizes, plan, expected):
    planned = [PlannedNoise("gaussian", ratio, 1.0, count) for ratio, count in plan]
    found, place = Traced(ALLOWED, planned), ("normal", "f.py", 1)
    found._check_in_order([("gaussian", size) for size in sizes], Pair(np.zeros(2), np.zeros(1), ""))
    found.places[place] = CallSite(1.0, "gaussian", 1.0)
    found.counts.append(Counter({place: len(sizes)}))
    found.check_counts()
    assert (len(found.findings), len(found.notes)) == expected


@deep
@pytest.mark.parametrize(
    ("name", "said"), [("by_position", "no draw that decides on a row"), ("in_order", "permutation may pick")]
)
def test_batches_that_are_no_poisson_samples_are_not_said_to_be_well(dpaccount, folder, name, said):
    write_plan(folder, "0.1", 10)
    words = ["--plan", "plan.json", "--shape", "20", "--low", "0", "--high", "1", "--json"]
    code, out, _ = dpaccount("trace", f"traced:{name}", *words)
    assert code != 0
    assert any(said in each for each in json.loads(out)["notes"])


@deep
@pytest.mark.parametrize("count", [1, 7])
def test_more_steps_than_the_plan_has_are_found(dpaccount, tmp_path, planted_path, count):
    write_plan(tmp_path, count=count)
    code, answer = traced_training(dpaccount, "correct", "--plan", "plan.json")
    assert code == (1 if count == 1 else 3)
    said = [*answer["findings"], *answer["notes"]]
    assert any(f"8 calls of gaussian noise in one run, and the plan has {count}" in each for each in said)


@deep
def test_every_call_may_not_be_the_noisiest_of_the_plan(dpaccount, tmp_path):
    (tmp_path / "twice.py").write_text(
        "def twice(data, rng):\n    return [data.sum() + rng.normal(), data.sum() + rng.normal()]\n"
    )
    events = [{"event": "gaussian", "sigma": sigma} for sigma in (100, 1)]
    plan = {"schema": "dpaccount/events/1", "relation": "replace-one", "events": events}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    words = ["--plan", "plan.json", "--shape", "3", "--low", "0", "--high", "1", "--json"]
    code, out, _ = dpaccount("trace", "twice:twice", *words)
    assert code == 1
    assert "moves 1 of its scale, and the plan allows 0.01" in json.loads(out)["findings"][0]
    plan["events"][0]["sigma"] = 1
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    assert dpaccount("trace", "twice:twice", *words)[0] == 0
    plan["events"][0]["cover"] = [1, 3]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    assert dpaccount("trace", "twice:twice", *words)[0] == 3
