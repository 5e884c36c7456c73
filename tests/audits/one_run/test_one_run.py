"""One run with canaries: bounds that hold, what they show, and what is refused."""

import json
from fractions import Fraction as F  # noqa: N817
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_matrix

from audits.one_run import CurveClaim, MuClaim, PointClaim, audit_canaries
from audits.one_run.audit import _accuracy, _most_right, power, rules_for
from audits.one_run.guessing import Guesses, by_score, falls, guess, least_refuting, level_below
from audits.one_run.healthy import healthy, sentence
from dpaccount.accounting.accountant import Accountant
from dpaccount.errors import InputError
from dpaccount.plan.events import Gaussian, Gdp, Plan, PoissonSubsampled
from tests.depth import deep, parts
from tests.looped import looped

RISK = 0.05


def canaries(m, mu, seed):
    rng = np.random.default_rng(seed)
    included = rng.random(m) < 0.5
    return included, mu * included + rng.normal(size=m)


# ------------------------------------------------------------------ validity


def most_likely(m, points, least):
    """Return the largest P(C ≥ least) of any mechanism that meets all points, by a linear program."""
    worlds = list(product((0, 1), repeat=m))
    outputs = worlds  # what is guessed of each coin
    size = len(worlds) * len(outputs)
    pairs = [
        (a, b)
        for a in range(len(worlds))
        for b in range(len(worlds))
        if sum(np.not_equal(worlds[a], worlds[b])) == 1
    ]
    slack = len(pairs) * len(points) * len(outputs)
    rows = lil_matrix((slack + len(pairs) * len(points), size + slack))
    limits = np.zeros(rows.shape[0])
    row = column = 0
    for a, b in pairs:
        for epsilon, delta in points:
            first = column
            for t in range(len(outputs)):  # P(t|a) − e^ε P(t|b) ≤ slack
                rows[row, a * len(outputs) + t] = 1
                rows[row, b * len(outputs) + t] = -np.exp(epsilon)
                rows[row, size + column] = -1
                row, column = row + 1, column + 1
            rows[row, size + first : size + column] = 1
            limits[row] = delta
            row += 1
    total = lil_matrix((len(worlds), size + slack))
    gain = np.zeros(size + slack)
    for a, coins in enumerate(worlds):
        for t, guesses in enumerate(outputs):
            total[a, a * len(outputs) + t] = 1
            if sum(np.equal(coins, guesses)) >= least:
                gain[a * len(outputs) + t] = 1 / len(worlds)
    found = linprog(-gain, rows.tocsr(), limits, total.tocsr(), np.ones(len(worlds)), method="highs")
    assert found.status == 0
    return -found.fun


@looped("point", [(0.5, 0.0), (0.5, 0.05), (0.1, 0.2), (1.5, 0.01)])
@looped("m", [1, 2, 3])
def test_no_mechanism_at_all_is_refuted_more_often_than_the_risk(m, point):
    claim = PointClaim(F(str(point[0])), F(str(point[1])))
    for least in range(1, m + 1):
        worst = most_likely(m, [point], least)
        assert not falls(Guesses(m, m, least), claim, point[0], worst - 1e-6)
        if point[1] == 0:  # and no test could do better
            assert falls(Guesses(m, m, least), claim, point[0], worst + 1e-6)


def test_a_curve_bounds_every_mechanism_that_meets_it():
    points = ((0.0, 0.2), (0.3, 0.1), (1.0, 0.02))
    claim = CurveClaim(tuple((F(str(e)), F(str(d))) for e, d in points))
    for least in (2, 3):
        worst = most_likely(3, points, least)
        assert not falls(Guesses(3, 3, least), claim, 0.0, worst - 1e-6)
        assert falls(Guesses(3, 3, least), claim, 0.0, 1.3 * worst)


def test_the_rules_share_the_whole_risk_however_many_canaries_there_are():
    for m in (10, 11, 25, 1000, 499_999, 500_000, 10**7):
        rules = rules_for(m, MuClaim(F(1, 10)), RISK)
        assert sum(rule.risk for rule in rules) == pytest.approx(RISK, rel=1e-12)
        assert len({rule.each for rule in rules}) == len(rules)
        assert all(1 <= 2 * rule.each <= m for rule in rules)


def share_wrong(m, claim, draw, runs):
    """Return how often the claim is refuted: by the counts from which each rule refutes it."""
    rules = rules_for(m, claim, RISK)
    least = [least_refuting(m, 2 * rule.each, claim, float(claim.level), rule.risk) for rule in rules]
    wrong = 0
    for seed in range(runs):
        ordered = by_score(*reversed(draw(seed)), seed)
        wrong += any(guess(ordered, rule.each).right >= k for rule, k in zip(rules, least, strict=True))
    return wrong / runs


def leaking(m, epsilon, delta):
    """Randomised response that shows a coin with probability δ: it meets (ε, δ) with equality."""

    def draw(seed):
        rng = np.random.default_rng(seed)
        included = rng.random(m) < 0.5
        kept = np.where(rng.random(m) < 1 / (1 + np.exp(-epsilon)), included, ~included)
        shown = rng.random(m) < delta
        return included, np.where(shown, 3.0 * (2 * included - 1.0), 2.0 * kept - 1)

    return draw


def tight(m):
    mu = 1.0
    cost = Accountant(Plan("replace-one", Gdp(mu=1)))
    return [
        (MuClaim(F(1)), lambda seed: canaries(m, mu, seed)),
        (PointClaim(F(1), F(str(float(cost.delta(1).upper) + 1e-9))), lambda seed: canaries(m, mu, seed)),
        (PointClaim(F(1), F(1, 10_000)), leaking(m, 1.0, 1e-4)),
        (PointClaim(F(1, 2), F(1, 50)), leaking(m, 0.5, 0.02)),
    ]


@parts(3)
@pytest.mark.statistical(6e-3)  # four tests, each of which fails at its level with probability 1.3e-3
def test_tight_claims_are_rarely_refuted(depth):
    simulations = 2000 if depth.whole else 400
    for m in depth.some([100, 200, 1000], 1):
        for claim, draw in tight(m):
            wrong = share_wrong(m, claim, draw, simulations)
            assert wrong <= RISK + 3 * np.sqrt(RISK * (1 - RISK) / simulations), m


def test_bounds_follow_the_guesses():
    claim = MuClaim(F(1))
    levels = [level_below(Guesses(200, 100, right), claim, RISK) for right in range(0, 101, 4)]
    assert levels == sorted(levels)
    assert levels[12] == 0 < levels[-1]
    for right in (70, 90):
        found = Guesses(200, 100, right)
        assert level_below(found, claim, 0.01) <= level_below(found, claim, 0.1)
        level = level_below(found, claim, RISK)
        assert least_refuting(200, 100, claim, level, RISK) == right
        assert least_refuting(200, 100, claim, level + 1e-5, RISK) == right + 1


def test_power_is_what_perfect_scores_show():
    for claim in (MuClaim(F(1)), PointClaim(F(1), F(1, 10**5))):
        included = np.random.default_rng(1).random(300) < 0.5
        found = audit_canaries(included, included * 1.0, claim)
        assert found.lower == pytest.approx(power(np.arange(300.0), found.rules, claim))
        assert found.verdict == "REFUTED"


def test_scores_of_which_most_are_equal_attack_nothing():
    included = np.random.default_rng(1).random(400) < 0.5
    for apart in (0, 3, 20):
        scores = np.where(np.arange(400) < apart, 1.0, 0.0)
        found = audit_canaries(included, scores, MuClaim(F(1)))
        assert (found.verdict, found.lower) == ("NOT ATTACKED", 0.0)


@deep
def test_no_coins_let_more_guesses_be_right_on_average_over_ties_than_power_counts():
    rng = np.random.default_rng(2)
    for _ in range(20):
        scores, each = np.sort(rng.integers(0, 3, 6).astype(float)), int(rng.integers(1, 4))
        most = max(
            np.mean([guess(by_score(scores, coins, seed), each).right for seed in range(40)])
            for coins in np.array([*product((False, True), repeat=6)])
        )
        allowed = _most_right(scores, each).right
        assert allowed - 1 <= most <= allowed + 0.35  # of 40 ways to break ties


def test_scores_that_seem_reversed_are_noted_and_change_no_bound():
    """Of 200 sets of scores that say nothing, one would be noted with probability 2e-4 at most."""
    rng = np.random.default_rng(3)
    included = rng.random(1000) < 0.5
    reversed_, blank = -20.0 * included + rng.normal(size=1000), rng.normal(size=1000)
    found = audit_canaries(included, reversed_, MuClaim(1))
    assert found.seems_reversed
    assert (found.lower, found.verdict) == (0, "NOT ATTACKED")  # with a note that it shows nothing
    assert found.power == audit_canaries(included, -reversed_, MuClaim(1)).power
    assert not audit_canaries(included, -reversed_, MuClaim(1)).seems_reversed
    for _ in range(200):
        rng.shuffle(blank)
        assert not audit_canaries(included, blank, MuClaim(1)).seems_reversed


def test_too_few_canaries_attack_nothing():
    found = audit_canaries([k % 2 == 0 for k in range(20)], np.arange(20.0), PointClaim(F(8)))
    assert found.verdict == "NOT ATTACKED"


def test_expected_accuracy_is_that_of_gaussian_scores():
    included, scores = canaries(100_000, 1.5, 1)
    top = included[np.argsort(scores)[-10_000:]].mean()
    assert _accuracy(1.5, 0.1) == pytest.approx(top, abs=0.01)


# ------------------------------------------------------------------ power

#: jax-privacy 2.0 on the same scores (1,000 canaries, δ = 1e-5, 95 %): the mean over seeds 0 to 3
#: of its best
#: strategy, `Split(seed=0)`, one-run and f-DP; the latter as the μ of its ε
PEER = {1.0: (1.39, 0.536), 2.0: (2.83, 1.052), 3.0: (3.84, 1.510)}


@looped("mu", PEER)
def test_bounds_are_at_least_those_of_a_peer(mu):
    cost = Accountant(Plan("replace-one", Gdp(mu=str(mu)))).epsilon("1e-5").upper
    points, levels = [], []
    for seed in range(4):
        included, scores = canaries(1000, mu, seed)
        points.append(
            audit_canaries(included, scores, PointClaim(F(str(round(float(cost), 3))), F(1, 10**5))).lower
        )
        levels.append(audit_canaries(included, scores, MuClaim(F(str(mu)))).lower)
    one_run, fdp = PEER[mu]
    assert np.mean(points) >= one_run
    assert np.mean(levels) >= fdp
    assert max(levels) < mu


# ------------------------------------------------------------------ beside a healthy run


@deep
@pytest.mark.statistical(0.01)  # a run as claimed is called suspicious
def test_half_the_noise_is_told_from_a_healthy_run_where_no_bound_refutes():
    claim = PointClaim(F(7), F(1, 10**5))
    plan = Plan("add-remove", PoissonSubsampled(rate="0.1", of=Gaussian(sigma=1), count=100))
    rng = np.random.default_rng(1)

    def run(sigma):
        included = rng.random(500) < 0.5
        times = rng.binomial(100, 0.1, 500)
        return included, included * times / (10 * sigma) + rng.normal(size=500)

    for sigma, odd in ((1.0, False), (0.3, True)):
        included, scores = run(sigma)
        found = audit_canaries(included, scores, claim)
        assert found.verdict != "REFUTED"
        comparison = healthy(included, scores, found, plan, RISK, 1)
        assert comparison.suspicious == odd
        assert ("look for missing clipping" in sentence(comparison, claim)) == odd
    included, scores = canaries(500, 1.0, 3)
    for other in (MuClaim(F(1)), PointClaim(F(4), F(1, 10**5)), PointClaim(F(1))):
        assert healthy(included, scores, audit_canaries(included, scores, other), None, RISK, 1) is not None


def test_a_plan_whose_scores_are_unknown_has_no_healthy_run():
    from dpaccount.plan.events import Pure

    included, scores = canaries(50, 1.0, 1)
    found = audit_canaries(included, scores, MuClaim(F(1)))
    assert healthy(included, scores, found, Plan("add-remove", Pure(epsilon=1)), RISK, 1) is None


# ------------------------------------------------------------------ input and output


@looped(
    ("included", "scores", "said"),
    [
        ([1, 0] * 10, [float("nan")] + [0.0] * 19, "canary 1 is NaN"),
        ([1, 0] * 10, [0.0] * 19, "20 coins and 19 scores"),
        ([1, 0], [0.0, 1.0], "2 canaries"),
        ([1] * 20, [0.0] * 20, "20 of 20 canaries are included"),
        ([1] * 95 + [0] * 5, [0.0] * 100, "fair coin"),
        ([2, 0] * 10, [0.0] * 20, "canary 1 has no coin"),
    ],
)
def test_canaries_that_carry_no_bound_are_refused(included, scores, said):
    with pytest.raises(InputError, match=said):
        audit_canaries(included, scores, MuClaim(F(1)))


def write(path, included, scores):
    lines = [f"{int(coin)},{score}" for coin, score in zip(included, scores, strict=True)]
    path.write_text("\n".join(["included,score", *lines]) + "\n")


@deep
def test_the_command_answers(dpaccount, tmp_path):
    write(tmp_path / "bad.csv", *canaries(400, 3.0, 1))
    write(tmp_path / "good.csv", *canaries(400, 1.0, 1))
    (tmp_path / "plan.json").write_text(json.dumps(Plan("replace-one", Gaussian(sigma=1)).as_json()))
    for words in (["--mu", "1"], ["--epsilon", "1", "--delta", "1e-5"], ["--plan", "plan.json"]):
        code, out, _ = dpaccount("audit", "--one-run", "bad.csv", *words, "--json")
        answer = json.loads(out)
        assert (code, answer["verdict"], answer["refuted"]) == (1, "REFUTED", True), words
        replaced = any("took the places of the canaries" in said for said in answer["witness"]["findings"])
        assert replaced == ("--plan" in words)
    code, out, _ = dpaccount("audit", "--one-run", "good.csv", "--mu", "1", "--json")
    answer = json.loads(out)
    assert (code, answer["verdict"], answer["runs"]) == (0, "NOT REFUTED", 1)
    assert 0 < answer["mu_lower"] < 1 < answer["mu_power"]
    assert not any("seem reversed" in said for said in answer["witness"]["findings"])
    assert not answer["healthy"]["suspicious"]
    included, scores = canaries(400, 3.0, 1)
    write(tmp_path / "turned.csv", included, -scores)
    code, out, err = dpaccount("audit", "--one-run", "turned.csv", "--mu", "1", "--json")
    assert (code, json.loads(out)["mu_lower"]) == (3, 0)
    assert "note: the scores seem reversed" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("included,score\n1,0.5\n,0.2\n", "line 3 has no 'included'"),
        ("included,score\n1,0.5\n0,nan\n", "line 3 of 'score' is NaN"),
        ("included,score\n1,0.5\nyes,0.1\n", "canary 2 has no coin"),
        ("score\n1\n2\n", "no column 'included'"),
        ("included,score\n", "no canaries"),
        ("included,score\n1,a\n", "a score is no number"),
        ("included,score\n1,0.5,3\n", "line 2 has 3 cells"),
    ],
)
def test_files_that_hold_no_canaries_are_refused(dpaccount, tmp_path, text, said):
    (tmp_path / "c.csv").write_text(text)
    code, out, err = dpaccount("audit", "--one-run", "c.csv", "--mu", "1", "--json")
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    "words",
    [
        ["--rho", "1"],
        ["--mu", "1", "--epsilon", "1"],
        [],
        ["--mu", "1", "--trials", "100"],
        ["subject", "--mu", "1"],
        ["--mu", "1", "--stop-early"],
        ["--mu", "-1"],
    ],
)
def test_what_does_not_go_together_is_refused(dpaccount, tmp_path, words):
    write(tmp_path / "c.csv", *canaries(100, 1.0, 1))
    code, out, err = dpaccount("audit", *words, "--one-run", "c.csv", "--json")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
