"""Training runs and numbers written "?": what is found is enough, a little less is not, and curves are bounds."""

import csv
import doctest
import io
import json
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpaccount
from audits import cli
from dpaccount.accounting import training
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.calibration import calibrate as calibration
from dpaccount.accounting.calibration.calibrate import calibrate, settle
from dpaccount.accounting.calibration.unknown import unknown_in
from dpaccount.accounting.training import Training, curve_csv, least_sigma, steps_of
from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from dpaccount.numerics.fourier import contours
from dpaccount.plan.events import Gaussian, Laplace, Plan, PoissonExamples, RandomAllocation, Shuffled
from tests.depth import deep, examples
from tests.looped import looped

RUN = Training(examples=60000, batch=256, sigma="1.1", steps=14063)
CHEAP = {"event": "gaussian", "sigma": 10, "count": 4}


@deep
@pytest.mark.parametrize("module", [training, calibration])
def test_its_examples(module):
    assert doctest.testmod(module).failed == 0


@deep
@pytest.mark.parametrize("page", ["training", "dp-ftrl"])
def test_the_page_runs(root, page):
    found = doctest.testfile(str(root / "docs" / f"{page}.md"), module_relative=False)
    assert (found.failed, found.attempted > 4) == (0, True)


@deep
@given(st.integers(1, 10**6), st.integers(1, 10**6), st.fractions(Fraction(1, 100), 100))
def test_steps_cover_the_epochs_and_one_less_does_not(batch, more, epochs):
    examples = batch + more
    steps = steps_of(epochs, examples, batch)
    assert steps * batch >= epochs * examples > (steps - 1) * batch


@deep
def test_the_noise_of_a_target_is_the_least():
    found = least_sigma(RUN, 2, 1e-5)
    assert found.bounds.upper <= 2
    less = Training(60000, 256, found.value * (1 - Fraction(1, 10**9)), 14063)
    assert less.epsilon(1e-5).lower > 2


@deep
def test_a_run_is_made_from_passes_and_a_target():
    terms = {"sampling": "shuffle", "relation": "replace-one"}
    assert dpaccount.sgd(60, 20, epochs=2, sigma=3, **terms) == Training(60, 20, 3, 6, **terms)
    run = dpaccount.sgd(60, 20, steps=3, target_epsilon=2, delta="1e-5", **terms)
    assert run.sigma == least_sigma(Training(60, 20, 1, 3, **terms), 2, "1e-5").value
    assert run.epsilon("1e-5").upper <= 2


@deep
@pytest.mark.parametrize("target", [400, 1000])
def test_a_target_where_no_cost_is_known_closely_is_met_within_a_thousandth(target):
    """So little noise that costs are known to some 10^−4: no more digits are sought than they have."""
    found = least_sigma(Training(10000, 100, 1, 1000), target, "1e-5")
    assert target * 0.998 < found.bounds.lower <= found.bounds.upper <= target
    assert Training(10000, 100, found.value, 1000).epsilon("1e-5").upper <= target


@looped(
    "wrong",
    [
        {"sigma": 1},
        {"sigma": 1, "epochs": 1, "steps": 3},
        {"epochs": 1},
        {"epochs": 1, "sigma": 1, "target_epsilon": 1, "delta": "1e-5"},
        {"epochs": 1, "sigma": 1, "delta": "1e-5"},
        {"epochs": 1, "target_epsilon": 1},
        {"steps": 0, "sigma": 1},
    ],
)
def test_a_run_that_is_not_said_once_is_refused(wrong):
    with pytest.raises(InputError):
        dpaccount.sgd(60, 20, **wrong)


@deep
def test_points_that_share_transforms_are_the_points_alone():
    """Both enclose the same number, so they intersect; the shared ones are as narrow."""
    for steps, shared in RUN.curve(1e-5, points=3):
        alone = Accountant(RUN.plan(steps)).epsilon(1e-5)
        assert shared.lower <= alone.upper
        assert alone.lower <= shared.upper
        assert shared.upper - shared.lower < Fraction(1, 10**12)


@examples(4, 4)
@given(
    rate=st.fractions(Fraction(1, 1000), Fraction(1, 3), max_denominator=1000),
    sigma=st.fractions(Fraction(8, 10), 5, max_denominator=50),
    count=st.integers(60, 3000),
    delta=st.sampled_from(["1e-3", "1e-5", "1e-9"]),
)
@deep
def test_sharing_never_breaks_an_enclosure(rate, sigma, count, delta):
    plan = Training(rate.denominator, rate.numerator, sigma, count).plan()
    alone = Accountant(plan).epsilon(delta)
    with contours.shared():
        for more in (count, count + 1):  # the second one is answered from what the first one left
            run = Training(rate.denominator, rate.numerator, sigma, more)
            found = Accountant(run.plan()).epsilon(delta)
            other = alone if more == count else Accountant(run.plan()).epsilon(delta)
            assert max(found.lower, other.lower) <= min(found.upper, other.upper)


@deep
def test_a_curve_rises_and_is_written():
    points = RUN.curve("1e-5", points=4)
    uppers = [bounds.upper for _, bounds in points]
    assert uppers == sorted(uppers)
    rows = list(csv.DictReader(io.StringIO(curve_csv(RUN, points))))
    assert [int(row["steps"]) for row in rows] == [3515, 7031, 10547, 14063]
    assert all(Fraction(row["epsilon_upper"]) >= upper for row, upper in zip(rows, uppers, strict=True))


@deep
def test_shuffled_passes_are_bounded_without_amplification():
    run = Training(examples=1000, batch=300, sigma=2, steps=10)  # three full batches a pass: four passes
    passes = Plan("replace-one", Gaussian(sigma=2, sensitivity=2, count=4))
    assert run.shuffled(1e-5) == Accountant(passes).epsilon(1e-5)
    assert "not a bound for batches of a shuffled pass" in run.statement(1e-5)
    assert run.shuffled(1e-5).upper > run.epsilon(1e-5).upper


@deep
def test_samples_of_fixed_size_are_counted_under_replace_one():
    run = Training(examples=1000, batch=10, sigma=2, steps=10, sampling="fixed-size")
    assert run.plan().relation == "replace-one"
    found = run.epsilon(1e-5)
    assert found.lower < found.upper < Fraction(3, 2) * found.lower
    assert "replacing one training example" in run.statement(1e-5, found)


SMALL = {"examples": 1000, "batch": 100, "sigma": 2, "steps": 40}


@deep
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_shuffled_run_lies_between_random_allocation_and_passes_in_any_order(relation):
    run = Training(**SMALL, sampling="shuffle", relation=relation)
    moved = 2 if relation == "replace-one" else 1
    noise = Gaussian(sigma=2, sensitivity=moved)
    found = run.epsilon(1e-5)
    assert found.upper == Accountant(Plan(relation, noise * 4)).epsilon(1e-5).upper
    least = Plan("add-remove", RandomAllocation(steps=10, of=noise, count=4))
    assert found.lower == Accountant(least).epsilon(1e-5).lower < found.upper
    said = run.statement(1e-5)
    assert "every example draws one of the 10 steps of each pass independently" in said
    assert ("leaves its place empty" in said) == (relation == "add-remove")


def test_random_allocation_of_a_run_is_its_event():
    run = Training(**SMALL, sampling="random-allocation")
    event = RandomAllocation(steps=10, of=Gaussian(sigma=2), count=4)
    assert run.plan() == Plan("add-remove", event)
    assert steps_of(4, 1000, 100, "random-allocation") == 40
    assert steps_of(4, 1050, 100, "random-allocation") == 40


@deep
def test_random_allocation_of_a_run_costs_less_than_poisson_samples():
    run = Training(**SMALL, sampling="random-allocation")
    assert run.epsilon(1e-5).upper < Training(**SMALL).epsilon(1e-5).upper  # less than Poisson samples
    points = run.curve(1e-5, points=3)
    assert [steps for steps, _ in points] == [10, 20, 40]


@deep
def test_the_noise_that_random_allocation_needs():
    run = Training(**SMALL, sampling="random-allocation")
    found = least_sigma(run, 1, 1e-5)
    assert found.bounds.upper <= 1
    less = Training(
        **{**SMALL, "sigma": found.value * (1 - Fraction(1, 10**6))}, sampling="random-allocation"
    )
    assert less.epsilon(1e-5).lower > 1


@looped(
    ("changes", "message"),
    [
        ({"sampling": "random-allocation", "steps": 41}, "41 steps are no whole passes of 10; use 50 or 40"),
        ({"sampling": "shuffle", "steps": 9}, "use 10"),
        ({"sampling": "random-allocation", "relation": "replace-one"}, "counted under add-remove"),
        ({"sampling": "without-replacement", "relation": "add-remove"}, "counted under replace-one"),
    ],
)
def test_a_sampling_has_its_passes_and_relations(changes, message):
    with pytest.raises(InputError, match=message):
        Training(**{**SMALL, **changes})
    with pytest.raises(InputError, match="not whole"):
        steps_of("1.5", 1000, 100, "shuffle")


@deep
def test_users_of_several_examples_are_their_event():
    run = Training(**SMALL, examples_per_user=3)
    drawn = PoissonExamples(rate="1/10", examples=3, of=Gaussian(sigma=2), count=40)
    assert run.plan() == Plan("add-remove", drawn)
    assert run.plan(7) == Plan("add-remove", replace(drawn, count=7))
    assert Training(**SMALL, examples_per_user=1) == Training(**SMALL)
    assert run.described()["examples_per_user"] == 3
    assert "examples_per_user" not in Training(**SMALL).described()
    bounds = run.epsilon("1e-5", 4)
    assert Training(**SMALL).epsilon("1e-5", 4).upper < bounds.lower
    said = run.statement("1e-5", bounds)
    assert "adding or removing one user with up to 3 training examples" in said
    assert "one user is replaced" in said
    assert run.shuffled("1e-5").lower > Training(**SMALL).shuffled("1e-5").upper  # each moves a sum


@looped(
    ("changes", "message"),
    [
        ({"examples_per_user": 0}, "0 is out of range"),
        ({"examples_per_user": 1001}, "1001 is out of range"),
        ({"examples_per_user": 2.5}, "2.5 is out of range"),
        ({"examples_per_user": 300}, "300 examples of a unit are too many"),
        ({"relation": "replace-one", "examples_per_user": 2}, "use poisson under add-remove"),
        ({"sampling": "shuffle", "examples_per_user": 2}, "not counted for shuffle"),
        ({"sampling": "random-allocation", "examples_per_user": 2}, "not counted for random-allocation"),
    ],
)
def test_users_are_counted_on_poisson_samples_alone(changes, message):
    with pytest.raises(InputError, match=message):
        Training(**{**SMALL, **changes}).plan()


@deep
def test_a_command_for_users(capsys, tmp_path):
    words = ("--batch", "100", "--sigma", "9", "--examples-per-user")
    events, document = str(tmp_path / "run.json"), str(tmp_path / "answer.json")
    found = told(capsys, *words, "3", "--events", events, "--certificate", document)
    assert found["examples_per_user"] == 3
    assert cli.run(["account", events, "--delta", "1e-5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == found["epsilon"]
    assert cli.run(["check", document]) == 0
    assert "whole number" in told(capsys, *words, "1.5")
    assert "leave one out" in told(capsys, *words, "3", "--mechanism", "tree")


def told(capsys, *words):
    with pytest.raises(SystemExit) as code:
        cli.main(["sgd", "--delta", "1e-5", "--steps", "40", "--examples", "1000", "--json", *words])
    found = capsys.readouterr()
    return json.loads(found.out) if code.value.code == 0 else found.err


def test_runs_on_the_same_data_add_up():
    """In every spelling, with events and plans beside them; their costs exceed each one's."""
    first, second = (Training(1000, 50, sigma, 400) for sigma in (2, 3))
    more = Gaussian(sigma=20)
    together = Accountant(Plan("add-remove", [*first.plan().events, *second.plan().events, more])).epsilon(
        "1e-5"
    )
    spelled = (
        first + second + more,
        [first, second, more],
        [more, first.plan(), second],
        first.plan() + second + [more],
    )
    assert {Accountant(each).epsilon("1e-5") for each in spelled} == {together}
    assert Accountant(first).epsilon("1e-5") == first.epsilon("1e-5")
    assert first.epsilon("1e-5").upper < together.lower
    tree = training.FtrlTraining(1000, 50, 20, 40)
    assert Accountant(first + tree).plan == first.plan() + tree.plan()


@pytest.mark.parametrize(
    ("parts", "options", "wrong"),
    [
        (lambda run: [run, 3], {}, "something that is no event"),
        (lambda run: [run, replace(run, relation="replace-one")], {}, "do not add up"),
        (lambda run: run, {"relation": "replace-one"}, "counted under add-remove, not replace-one"),
        (
            lambda run: [run, Shuffled(epsilon=1, population=9)],
            {},
            "shuffled has no meaning under add-remove",
        ),
    ],
)
def test_what_does_not_add_up_to_a_run_is_refused(parts, options, wrong):
    with pytest.raises(InputError, match=wrong):
        Accountant(parts(Training(1000, 50, 2, 400)), **options)


@deep
def test_the_names_of_the_field(capsys):
    first = told(capsys, "--batch-size", "100", "--noise-multiplier", "2")
    assert first == told(capsys, "--sample-rate", "1/10", "--sigma", "2")
    assert set(first) >= {"epsilon", "sampling", "relation", "statement", "source"}
    assert "leave one out" in told(capsys, "--batch", "100", "--sample-rate", "1/10", "--sigma", "2")
    assert "no whole batch" in told(capsys, "--sample-rate", "0.0333", "--sigma", "2")


@looped(
    "wrong",
    [{"batch": 0}, {"batch": 11}, {"steps": 0}, {"sigma": 0}, {"sampling": "shuffled"}, {"examples": 2.5}],
)
def test_what_is_no_run_is_refused(wrong):
    with pytest.raises(InputError):
        Training(**{"examples": 10, "batch": 2, "sigma": 1, "steps": 3, **wrong}).plan()


# ------------------------------------------------------------------ numbers written "?"


def asked(*events, relation="replace-one"):
    text = json.dumps({"schema": "dpaccount/events/1", "relation": relation, "events": events})
    return unknown_in(parse_json(text, "plan.json"))


def test_a_rate_that_may_be_one_is_one():
    lots = {"event": "poisson_subsampled", "rate": "?", "of": {"event": "gaussian", "sigma": 100}}
    assert settle(asked(lots, relation="add-remove"), Fraction(1), Fraction(1, 10**5)).value == 1


@looped(
    ("events", "said"),
    [
        ([CHEAP], "no number"),
        ([{"event": "gaussian", "sigma": "?", "count": "?"}], "2 numbers"),
        ([{"event": "?", "sigma": 1}], "may stand for"),
        ([{"event": "tree", "sigma": 1, "rounds": 3, "start": "?"}], "may stand for"),
        ([{"event": "rdp", "points": [["?", 1]]}], "may stand for"),
    ],
)
def test_other_question_marks_are_refused(events, said):
    with pytest.raises(InputError, match=rf"plan\.json: .*{said}"):
        asked(*events)


def test_a_target_that_nothing_meets_is_said():
    with pytest.raises(InputError, match="not even count = 1"):
        settle(asked({"event": "gaussian", "sigma": 1, "count": "?"}), Fraction(1), Fraction(1, 10**6))
    with pytest.raises(InputError, match="no noise meets"):
        settle(asked({"event": "gaussian", "sigma": "?"}), Fraction(1), Fraction(0))


@deep
def test_functions_are_calibrated_in_both_directions():
    least = calibrate(lambda scale: Laplace(scale=scale, count=3), 1, 1e-6)
    most = calibrate(lambda moved: Laplace(scale=1, sensitivity=moved, count=3), 1, 1e-6, grows=True)
    assert abs(least.value * most.value - 1) < Fraction(1, 10**9)
    assert float(least) == pytest.approx(least.value)
    assert calibrate("laplace", 1, 1e-6, count=3).value == pytest.approx(float(least))


# ------------------------------------------------------------------ the commands


@deep
def test_the_command_says_steps_epsilon_and_what_is_not_covered(capsys, tmp_path):
    words = [
        "sgd",
        "--examples",
        "60000",
        "--batch",
        "256",
        "--sigma",
        "1.1",
        "--epochs",
        "60",
        "--delta",
        "1/100000",
        "--json",
        "--events",
    ]
    assert cli.run([*words, str(tmp_path / "run.json")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] == 14063
    assert 2.38168 < found["epsilon"]["lower"] <= found["epsilon"]["upper"] < 2.3817
    assert found["epsilon"]["upper"] <= 2.382
    assert "(2.382, 1e-05)" in found["statement"]
    assert cli.run(["account", str(tmp_path / "run.json"), "--delta", "1e-5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == found["epsilon"]


@deep
@pytest.mark.parametrize(
    "words",
    [
        "--sigma 1 --steps 3 --target-epsilon 1",
        "--steps 3",
        "--sigma 1",
        "--sigma 1 --steps 3 --epochs 1",
        "--sigma 1 --steps 0",
        "--sigma 1 --epochs 0",
        "--sigma 1 --steps 3 --sampling shuffled",
        "--sigma 1 --steps 3 --curve curve.png",
    ],
)
def test_a_wrong_request_is_one_line(words, capsys):
    assert cli.run(["sgd", "--examples", "100", "--batch", "10", "--delta", "1e-5", *words.split()]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1


@deep
def test_a_plan_with_a_question_mark_is_calibrated(capsys, tmp_path):
    file = tmp_path / "plan.json"
    text = {
        "schema": "dpaccount/events/1",
        "relation": "replace-one",
        "events": [{"event": "gaussian", "sigma": "?"}],
    }
    file.write_text(json.dumps(text))
    assert cli.run(["calibrate", str(file), "--epsilon", "1", "--delta", "1e-6", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["at"], found["parameter"]) == (
        "dpaccount/calibration/1",
        "/events/0/sigma",
        "sigma",
    )
    assert found["proved"]["epsilon"]["upper"] <= 1
    assert cli.run(["calibrate", str(file), "--epsilon", "1", "--delta", "1e-6", "--count", "2"]) == 2


@looped("counts", [(60000, 0), (0, 256), (60000.0, 256), (60000, True), (-1, -1)])
def test_steps_of_no_examples_are_refused(counts):
    with pytest.raises(InputError, match="examples or batch"):
        steps_of(1, *counts)


def test_steps_of_any_length_are_refused_in_a_sentence():
    with pytest.raises(InputError, match="steps is out of range"):
        Training(examples=60000, batch=256, sigma=1, steps=steps_of("1e5000", 60000, 256))
