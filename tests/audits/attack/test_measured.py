"""Green means measured: a run that gives nothing, or too few runs to show anything, never counts as holding."""

import json
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits import pytest_plugin
from audits.api.arguments import Arguments, terms_of
from audits.attack import black_box
from audits.attack import runs as planned
from audits.attack.black_box import attack
from audits.attack.confirmation import leakage_bound, leaked_bound, verdict_of, with_missing_runs
from audits.attack.pair_search import Stuck
from audits.attack.rules import BetRefutation, Guess, Threshold
from audits.attack.runs import Challenge, asked_of, runs_within
from audits.datasets.bases import Pair
from audits.datasets.named_pairs import candidates
from audits.datasets.shape import Shape
from audits.sandbox.crew import TimeUp
from audits.sensitivity import search
from audits.subjects.code import Code
from dpaccount.errors import InputError
from pytest_dpaccount import Budget, Effort
from tests.depth import deep

NOTHING = {  # what the first run does, as the error says it
    "raises": "raises ValueError: no data",
    "exits": "exits: goodbye",
    "raises_lines": "raises ValueError: two lines  [2J",
    "no_result": "returns None",
    "not_a_number": "returns NaN",
    "nans": "returns NaN",
    "a_thing": "returns an object of type object",
    "things": "returns list2",
    "generator": "returns an object of type generator",
    "nothing_in_turn": "r",
    "wrong_signature": "raises ",
    "wrong_arguments": "raises TypeError",
}
SOUND = ["constant", "empty", "huge", "prints", "raises_on_half", "nan_on_half"]

CLAIM = """
schema = "dpaccount/claim/1"
name = "idle"
[guarantee]
model = "central"
unit = "one row"
relation = "replace-one"
epsilon = {epsilon}
[subject]
use = "idle_functions:{name}"
[subject.data]
shape = [3]
low = 0
high = 1
dtype = "int"
left = [0, 0, 0]
right = [1, 0, 0]
[audit]
trials = {trials}
"""


@pytest.fixture
def claimed(root, tmp_path, in_process, monkeypatch):
    monkeypatch.setattr(search, "RANDOM", 50)
    (tmp_path / "idle_functions.py").write_text((root / "tests/planted/idle_functions.py").read_text())

    def write(name, epsilon=1, trials=600):
        (tmp_path / "claim.toml").write_text(CLAIM.format(name=name, epsilon=epsilon, trials=trials))
        return "claim.toml"

    return write


def one_error(err):
    (line,) = (line for line in err.splitlines() if line.startswith("error: "))
    return line


def query(dpaccount, name, *more):
    words = ["--norm", "l1", "--bound", "1", "--shape", "3", "--low=0", "--high=1", "--dtype", "int"]
    return dpaccount("sensitivity", f"idle_functions:{name}", *words, *more, "--json")


# ------------------------------------------------------------------ the table of strange functions


@deep(quick_every=2)
@pytest.mark.parametrize("name", NOTHING)
def test_what_gives_nothing_on_every_run_is_a_wrong_request(dpaccount, claimed, name):
    for command in ("audit", "certify"):
        words = ["--claim", claimed(name)] if command == "audit" else [claimed(name)]
        code, out, err = dpaccount(command, *words, "--json")
        assert (code, out) == (2, ""), command
        assert NOTHING[name] in one_error(err)
        assert "on every run" in one_error(err)
    code, out, err = query(dpaccount, name)
    assert (code, out) == (2, "")
    assert NOTHING[name] in one_error(err)


@deep
@pytest.mark.parametrize("name", ["number", "Other", "absent"])
def test_what_is_no_function_is_a_wrong_request(dpaccount, claimed, root, tmp_path, monkeypatch, name):
    monkeypatch.undo()  # real processes: they tell what it is
    monkeypatch.chdir(tmp_path)
    claimed(name)
    for command, *words in (["audit", "--claim", "claim.toml"], ["certify", "claim.toml"]):
        code, out, err = dpaccount(command, *words, "--json")
        assert (code, out) == (2, "")
        one_error(err)
    code, out, err = query(dpaccount, name)
    assert (code, out) == (2, "")
    assert " is a " not in one_error(err) or "is a class without proof and play" in err


@deep
@pytest.mark.parametrize("name", SOUND)
def test_what_gives_something_is_measured(dpaccount, claimed, name):
    code, out, _ = dpaccount("audit", "--claim", claimed(name), "--json")
    answer = json.loads(out)
    assert (code, answer["verdict"]) == (0, "NOT REFUTED")
    assert answer["trials"] > 0
    assert answer["epsilon_power"] > 1
    code, out, _ = dpaccount("certify", claimed(name), "--json")
    reason = json.loads(out)["proved"]["reason"]
    assert code == 3
    assert "sensitivity --prove" in reason
    assert "add-a-mechanism" in reason
    code, out, _ = query(dpaccount, name)
    assert (code, json.loads(out[out.index("{") :])["refuted"]) == (0, False)


@deep
def test_what_gives_no_answer_is_not_attacked(dpaccount, claimed):
    code, out, _ = dpaccount("audit", "--claim", claimed("hangs"), "--json")
    assert (code, json.loads(out)["verdict"]) == (3, "NOT ATTACKED")
    code, out, _ = dpaccount("certify", claimed("hangs"), "--json")
    assert code == 3
    assert "no answer" in json.loads(out)["proved"]["reason"]
    code, out, err = query(dpaccount, "hangs")
    assert code == 3
    assert "no answer" in err


@deep
def test_runs_that_fail_now_and_then_are_counted(dpaccount, claimed):
    _, out, _ = dpaccount("audit", "--claim", claimed("raises_on_half"), "--json")
    findings = json.loads(out)["witness"]["findings"]
    (said,) = (finding for finding in findings if "runs raise ValueError" in finding)
    failed, of, runs, rest = said.replace(",", "").split(" ", 3)
    assert (of, rest) == ("of", "runs raise ValueError: unlucky")
    assert 0.3 < int(failed) / int(runs) < 0.7


def test_queries_that_fail_now_and_then_are_counted(dpaccount, claimed, tmp_path):
    claimed("raises")
    text = (
        "def partly(data):\n    if data.sum() == 0: raise ValueError('empty')\n    return float(data.sum())\n"
    )
    (tmp_path / "partly.py").write_text(text)
    words = ["--norm", "l1", "--bound", "9", "--shape", "3", "--low=0", "--high=1"]
    code, out, err = dpaccount("sensitivity", "partly:partly", *words, "--json")
    assert (code, json.loads(out)["worst"]) == (1, "inf")
    assert "runs raise ValueError: empty" in err


# ------------------------------------------------------------------ the fixtures


EFFORT = Effort(trials=600, seconds=60.0, seed=1)
TERMS = {"epsilon": 1, "shape": (1,), "low": 0, "high": 1, "dtype": "int", "seconds": 60}
QUERY = {"norm": "l1", "bound": 1, "shape": (3,), "low": 0, "high": 1, "dtype": "int", "seconds": 60}


@pytest.fixture
def planted(root, monkeypatch, in_process):
    import importlib

    monkeypatch.syspath_prepend(str(root / "tests" / "planted"))
    return importlib.import_module("idle_functions")


@deep
@pytest.mark.parametrize("name", [*NOTHING, "number", "Other"])
def test_a_test_of_what_gives_nothing_is_an_error(planted, monkeypatch, name):
    budget, function = Budget(Fraction(1, 20)), getattr(planted, name)
    if name == "Other":
        monkeypatch.undo()
    for call in (
        lambda: pytest_plugin.private(function, dict(TERMS), EFFORT, budget),
        lambda: pytest_plugin.query(function, dict(QUERY), EFFORT, budget),
    ):
        with pytest.raises(InputError, match=re.escape(NOTHING.get(name, "function"))) as raised:
            call()
        assert "\n" not in str(raised.value)
    assert budget.spent == 0


@deep
def test_a_test_of_too_few_runs_fails_and_spends_nothing(planted):
    budget = Budget(Fraction(1, 20))
    first = budget.share()
    for terms, trials in (({**TERMS, "epsilon": 12}, 600), ({**TERMS, "seconds": 60}, 600)):
        function = planted.leaks if terms["epsilon"] == 12 else planted.hangs
        with pytest.raises(pytest.fail.Exception, match="NOT ATTACKED"):
            pytest_plugin.private(function, terms, replace(EFFORT, trials=trials), budget)
    assert (budget.claims, budget.spent, budget.share()) == (0, 0, first)
    with pytest.raises(pytest.fail.Exception, match="not measured"):
        pytest_plugin.query(planted.hangs, dict(QUERY), EFFORT, budget)
    with pytest.raises(pytest.fail.Exception, match="not \\(1, 0\\)-private"):
        pytest_plugin.private(planted.leaks, dict(TERMS), EFFORT, budget)
    assert (budget.claims, budget.spent) == (1, Fraction(1, 1000))


@deep
def test_a_test_that_passes_says_how_many_runs_fail(planted):
    budget = Budget(Fraction(1, 20))
    assert (
        pytest_plugin.private(planted.raises_on_half, dict(TERMS), EFFORT, budget)["verdict"] == "NOT REFUTED"
    )
    assert any("runs raise ValueError: unlucky" in note for note in budget.notes)


# ------------------------------------------------------------------ few runs


PLAN = Challenge(Fraction(1), Fraction(0), 20_000, Fraction(1, 20), 1)


@deep
@given(most=st.integers(0, 200_000), trials=st.integers(10, 10**6), pairs=st.sampled_from([1, 2, 800]))
def test_a_budget_fits_and_keeps_half_for_what_counts(most, trials, pairs):
    plan = replace(PLAN, trials=trials)
    asked = asked_of(plan, pairs)
    try:
        budget = runs_within(most, plan, pairs)
    except TimeUp:
        assert most < 20
        return
    assert budget.cost <= most
    assert budget.certify >= min(asked.certify, most // 2)
    assert 4 <= budget.train <= asked.train
    if asked.cost <= most:
        assert budget == asked


def few_runs(in_process, root, name, cost, epsilon, pairs, **more):
    in_process.cost = cost
    crew = in_process(Code(f"idle_functions:{name}", (str(root / "tests" / "planted"),)), seconds=60)
    plan = replace(PLAN, epsilon=Fraction(epsilon), **more)
    found = attack(crew, pairs, plan, lambda _: None)
    assert crew.used <= 60
    return found


SHAPE = Shape(5, None, (0.0,), (1.0,), integer=False, relation="replace-one")
GIVEN = [Pair(np.zeros(5), np.array([1.0, 0, 0, 0, 0]), "given")]


@deep
@pytest.mark.parametrize("for_certificate", [False, True], ids=["coin", "counts"])
@pytest.mark.parametrize(
    ("cost", "pairs"), [(1.0, GIVEN), (0.25, GIVEN), (0.25, None), (0.05, None)], ids=str
)
def test_data_in_the_clear_are_refuted_however_slow(in_process, root, cost, pairs, for_certificate):
    pairs = candidates(SHAPE, 1) if pairs is None else pairs
    found = few_runs(in_process, root, "leaks", cost, 1, pairs, for_certificate=for_certificate)
    assert found.verdict(Fraction(1)) == "REFUTED"
    assert found.cut.startswith(f"cut by time: {found.runs} of 20000 runs")
    assert found.cut in found.findings


@deep
def test_wide_results_are_compared_on_fewer_runs_and_that_is_said(in_process, root, monkeypatch):
    """Where memory holds results of five numbers of 50 runs a side, 50 train: a cut like that of time."""
    whole = few_runs(in_process, root, "leaks", 0.0, 1, GIVEN, trials=600)
    assert whole.cut is None
    trained = []
    learned = black_box.best_score

    def counted(a, *others, **options):
        trained.append(len(a))
        return learned(a, *others, **options)

    monkeypatch.setattr(black_box, "best_score", counted)
    monkeypatch.setattr(planned, "MAX_CELLS_IN_MEMORY", 2 * 6 * 50)
    thinned = few_runs(in_process, root, "leaks", 0.0, 1, GIVEN, trials=600)
    assert trained == [50]
    assert thinned.runs == whole.runs - 2 * 50
    assert (
        thinned.cut
        == "cut by width: results of up to 5 numbers, of which 50 runs a side are compared at once"
    )
    assert thinned.cut in thinned.findings
    assert thinned.verdict(Fraction(1)) == "REFUTED"


@deep(quick_every=2)
@pytest.mark.parametrize("cost", [50.0, 14.0, 5.0, 2.0, 1.0, 0.25])
@pytest.mark.parametrize("pairs", [GIVEN, None], ids=["given", "search"])
def test_what_time_cuts_is_not_passed_and_it_is_said_what_would_be(in_process, root, cost, pairs, depth):
    seed = depth.seed(1)
    pairs = candidates(SHAPE, seed) if pairs is None else pairs
    for epsilon in (Fraction(1, 10), 1, 3):
        try:
            found = few_runs(in_process, root, "constant", cost, epsilon, pairs, seed=seed)
        except Stuck as stuck:
            assert "allow more seconds" in str(stuck)  # noqa: PT017
            continue
        assert found.verdict(Fraction(epsilon)) == "NOT ATTACKED"  # time cut it, whatever its power
        assert 0 < found.runs < 20000
        [advice] = [each for each in found.findings if each.startswith("time ended")]
        assert float(re.search(r"--seconds (\d+)", advice)[1]) > 60
        trials = re.search(r"--trials (\d+)", advice)
        if trials is not None and cost < 1:  # what is advised works
            told = few_runs(
                in_process, root, "constant", cost, epsilon, pairs, seed=seed, trials=int(trials[1])
            )
            assert told.cut is None
            expected = "NOT REFUTED" if told.power > epsilon else "NOT ATTACKED"
            assert told.verdict(Fraction(epsilon)) == expected


@deep
@pytest.mark.parametrize("early", [False, True])
def test_a_slow_clock_changes_what_an_attack_shows_only_where_that_is_said(in_process, root, early):
    """From runs that take no time to runs that take 30 ms: the same result, or it is cut by time."""
    terms = {"trials": 1800, "early": early}
    whole = few_runs(in_process, root, "raises_on_data", 0.0, 1, GIVEN, **terms)
    assert whole.cut is None
    found = [few_runs(in_process, root, "raises_on_data", 10**-k, 1, GIVEN, **terms) for k in (3, 2, 1.5)]
    assert [each.cut or replace(each, candidate=whole.candidate) for each in found][:2] == [whole, whole]
    assert found[2].cut.startswith("cut by time")


@deep
def test_a_search_that_time_cuts_says_so(in_process, root, monkeypatch):
    """Runs are slow only after the first ones, by which the search is planned."""

    def left(crew):
        return crew.seconds - max(crew.used - 400 * crew.cost, 0.0)

    monkeypatch.setattr(in_process, "_seconds_left", left)
    found = few_runs(in_process, root, "leaks", 0.01, 1, candidates(SHAPE, 1)[:6], trials=600)
    assert found.cut == "cut by time: the search for a pair (a run takes 0.01 s)"


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("for_certificate", [False, True])
@pytest.mark.parametrize("made", [0, 1, 50, 100, 1999])
@deep
def test_time_that_ends_while_certifying_shows_less(
    in_process, root, monkeypatch, made, for_certificate, early
):
    """Whatever the runs are that time does not allow, they count against the attack, and that is said."""
    asked = []

    def some(crew, plays):
        found = whole(crew, plays)
        if plays[0][2] == 6:  # a certifying run
            asked.append(len(plays))
            crew.used = crew.seconds
            return found[:made]
        return found

    whole = in_process.run_in_time
    monkeypatch.setattr(in_process, "run_in_time", some)
    plan = {"trials": 3000, "for_certificate": for_certificate, "early": early and not for_certificate}
    found = few_runs(in_process, root, "leaks", 0.0, 2, GIVEN, **plan)
    assert asked == [black_box.RUNS_PER_BET if plan["early"] else 2000]
    if early and made >= 100 and not for_certificate:  # bets may stop at any time
        assert found.verdict(Fraction(2)) == "REFUTED" or made == 100  # which may be too few to be sure
        return
    assert found.cut.startswith("cut by time")
    assert (found.verdict(Fraction(2)) == "REFUTED") == (made == 1999)
    assert found.verdict(Fraction(2)) == ("REFUTED" if made == 1999 else "NOT ATTACKED")


@deep
def test_the_command_line_limits_time(dpaccount, claimed, in_process):
    in_process.cost = 0.25
    words = ["audit", "--claim", claimed("leaks"), "--json", "--seconds"]
    assert dpaccount(*words, "60")[0] == 1
    code, out, _ = dpaccount(*words, "2.5")
    answer = json.loads(out)
    assert (code, answer["verdict"], answer["refuted"]) == (3, "NOT ATTACKED", False)
    assert answer["epsilon_power"] <= 1
    for bad in ("0", "-1", "1e9", "soon"):
        assert dpaccount(*words, bad)[0] == 2


@deep
@pytest.mark.parametrize("epsilon", ["0.5", 1, 4, 7, 12])
@pytest.mark.parametrize("trials", [10, 60, 600])
def test_exit_0_means_that_more_could_have_been_shown(dpaccount, claimed, epsilon, trials):
    code, out, _ = dpaccount("audit", "--claim", claimed("constant", epsilon, trials), "--json")
    answer = json.loads(out)
    assert {0: "NOT REFUTED", 3: "NOT ATTACKED"}[code] == answer["verdict"]
    assert (code == 0) == (answer["trials"] > 0 and answer["epsilon_power"] > float(epsilon))


@deep
@pytest.mark.parametrize(("trials", "shown"), [(100, "2.6"), (400, "4.0")])  # docs/auditing.md
def test_the_guide_says_what_few_runs_can_show(dpaccount, claimed, trials, shown):
    answer = json.loads(dpaccount("audit", "--claim", claimed("leaks", 9, trials), "--json")[1])
    assert f"{answer['epsilon_power']:.1f}" == shown


@deep
def test_a_certificate_says_that_its_runs_were_too_few(dpaccount, claimed):
    code, out, _ = dpaccount("certify", claimed("leaks", epsilon=9), "--json")
    reason = json.loads(out)["proved"]["reason"]
    assert code == 3
    assert "could have shown no more than ε = " in reason
    assert dpaccount("check", "certificates/idle/certificate.json")[1] != ""


# ------------------------------------------------------------------ power


RULES = [Threshold(0.5, "left"), Threshold(0.5, "right"), Guess(0.5, -0.5)]


@deep
@given(
    data=st.data(),
    rule=st.sampled_from(RULES),
    delta=st.sampled_from([Fraction(0), Fraction(1, 1000)]),
    planned=st.integers(1, 200),
)
def test_no_scores_show_more_than_the_power(data, rule, delta, planned):
    coins = np.array(data.draw(st.lists(st.integers(0, 1), min_size=planned, max_size=planned)))
    made = data.draw(st.integers(0, planned))
    scores = np.array(data.draw(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=made, max_size=made)))
    risk = Fraction(1, 20)
    could = leakage_bound(rule, coins, made, delta, risk).epsilon_lower
    whole = with_missing_runs(scores, coins)
    assert rule.measure(whole[coins == 0], whole[coins == 1], delta, risk).epsilon_lower <= could + 1e-6
    # runs that time cut can only lower what is shown
    fuller = np.concatenate([scores, data.draw(st.sampled_from([-1.0, 1.0])) * np.ones(planned - made)])
    shown = rule.measure(fuller[coins == 0], fuller[coins == 1], delta, risk).epsilon_lower
    cut = rule.measure(whole[coins == 0], whole[coins == 1], delta, risk).epsilon_lower
    assert cut <= shown + 1e-6


def test_power_is_what_perfect_runs_show():
    risk, delta = Fraction(1, 20), Fraction(0)
    for rule in RULES:
        coins = np.arange(40) % 2
        perfect = rule.measure(np.full(20, 1.0), np.full(20, -1.0), delta, risk)
        assert leaked_bound(perfect).epsilon_lower == pytest.approx(perfect.epsilon_lower)
        assert leakage_bound(rule, coins, 40, delta, risk).epsilon_lower == pytest.approx(
            perfect.epsilon_lower
        )
        assert verdict_of(perfect.epsilon_lower, perfect.epsilon_lower, Fraction(1)) == "REFUTED"
    # a guess at every run needs ln(20)/ln(1 + 1/e) = 9.6 of them against ε = 1
    for runs, verdict in ((9, "NOT ATTACKED"), (10, "REFUTED")):
        bound = Guess(0.5, -0.5).measure(np.ones(runs // 2), -np.ones(runs - runs // 2), delta, risk)
        assert verdict_of(bound.epsilon_lower, leaked_bound(bound).epsilon_lower, Fraction(1)) == verdict
    assert Guess(0.5, -0.5).measure(np.ones(83), -np.ones(83), delta, risk).epsilon_lower > 4
    assert not Guess(0.5, -0.5).measure(np.ones(82), -np.ones(83), delta, risk).epsilon_lower > 4
    won = BetRefutation(delta, 1.5, risk, 300, 50.0, Guess(0.5, -np.inf))
    assert leaked_bound(won).epsilon_lower > 1.5
    assert verdict_of(0.0, 1.0, Fraction(1)) == "NOT ATTACKED"


def test_dotted_names_are_wrong_requests(dpaccount, tmp_path):
    (tmp_path / "claim.toml").write_text(
        CLAIM.format(name="f", epsilon=1, trials=60).replace("idle_functions:f", "a.b")
    )
    terms = ["--norm", "l1", "--bound", "1", "--shape", "3", "--low=0", "--high=1"]
    for words in (
        ["subjects", "a.b"],
        ["subjects", "tree.x"],
        ["audit", "a.b", "--epsilon", "1"],
        ["sensitivity", "a.b"],
        ["sensitivity", "a.b", *terms],
        ["certify", "claim.toml"],
        ["audit", "--claim", "claim.toml"],
    ):
        code, out, err = dpaccount(*words)
        assert (code, out) == (2, ""), words
        assert one_error(err) == err.strip()


def test_options_make_the_claim_that_they_say():
    asked = Arguments(epsilon=Fraction(1), terms=terms_of({"shape": 3, "low": 0, "high": 1})).request("m:f")
    assert asked.plan.seconds == 60
