"""Coin, bets and the Gaussian fit of the benchmark: each holds as often as it says, and is not idle."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from audits.attack.bets import Bettor, plan_bet
from audits.attack.planning import likelihood_rates
from audits.attack.rules import (
    Guess,
    largest_rejected,
    most_beyond,
    plan_guess,
    plan_known_guess,
    plan_known_threshold,
    plan_threshold,
    tail_bound,
)
from benchmarks.audits import fit
from tests.depth import deep
from tests.looped import looped

RISK = Fraction(1, 20)


WAYS = (-1.0, 0.0, 1.0)  #: scores of a mechanism of three results
E = math.e


@deep
@pytest.mark.parametrize("peeks", [False, True])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 4)])
def test_bets_on_rules_that_follow_the_runs_before_gain_nothing(delta, peeks):
    """Exact, over all paths of three runs that are tight at (1, δ): wealth is 1 at most on average.

    Who learns from a run before the bet on it gains.
    """
    right = np.array([rare := 0.1, 0.9 - (often := E * rare + float(delta)), often])
    left = right[::-1]
    mean, some = 0.0, set()
    for path in itertools.product(range(6), repeat=3):
        bettor = Bettor(Guess(0.5, -0.5), 1.0, delta, RISK, (0.5, 0.1), 30)
        chance, lefts = 1.0, np.array([draw < 3 for draw in path])
        scores = np.array([WAYS[draw % 3] for draw in path])
        for k, draw in enumerate(path):
            chance *= float((left if lefts[k] else right)[draw % 3]) / 2
            held, out = scores[:k][lefts[:k]], scores[:k][~lefts[:k]]
            if peeks:
                rule = Guess(scores[k], -math.inf) if lefts[k] else Guess(math.inf, scores[k])
            else:
                rule = plan_bet(np.append(held, 1.0), np.append(out, -1.0), 1.0, delta)[0]
            bettor.follow(rule, np.full(9, 2.0), np.full(9, -2.0))
            bettor.feed(scores[k : k + 1], lefts[k : k + 1], stop=False)
            some.add(rule)
        mean += chance * math.exp(bettor._log_wealth)
    assert len(some) > 1
    assert mean > 1.2 if peeks else mean <= 1 + 1e-9


# ------------------------------------------------------------------ the coin


@looped(
    ("v", "r", "n", "s", "delta_prime"),
    [(50, 100, 1000, 0.5, 0), (80, 100, 1000, 0.6, 0.01), (20, 30, 10**5, 0.5, 1e-5), (5, 5, 100, 0.9, 0.5), (3, 2, 10, 0.5, 0.1)],
)  # fmt: skip
def test_tails_are_those_of_two_binomials(v, r, n, s, delta_prime):
    ways = np.arange(n + 1)
    exact = float(binom.pmf(ways, n, delta_prime) @ binom.sf(v - 1 - ways, r, s))
    assert exact <= tail_bound(v, r, n, s, delta_prime) <= exact * (1 + 1e-5) + 1e-12


@deep(quick_every=6)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("delta_prime", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("wrong", [0.01, 0.1, 0.25])
def test_the_coin_errs_no_more_often_than_stated(epsilon, delta_prime, wrong):
    """Exact, over all outcomes of 40 runs of a mechanism that is tight: right = e^ε wrong + δ."""
    right = math.exp(epsilon) * wrong + delta_prime
    if right + wrong > 1:
        pytest.skip("not a distribution")
    s, runs = 1 / (1 + math.exp(-epsilon)), 40
    law = multinomial(runs, [right, wrong, max(1 - right - wrong, 0.0)])
    failure = 0.0
    for v in range(runs + 1):
        for w in range(runs + 1 - v):
            if v + w > 0 and tail_bound(v, v + w, runs, s, delta_prime) <= 0.05:
                failure += float(law.pmf([v, w, runs - v - w]))
    assert failure <= 0.05


def test_the_coin_reaches_most_of_the_truth():
    """Randomised response at ε = 1: 10,000 runs on either side."""
    right = round(20_000 * math.e / (1 + math.e))
    assert 0.95 < largest_rejected(right, 20_000, 20_000, 0.0, 0.05) < 1
    assert largest_rejected(10_000, 20_000, 20_000, 0.0, 0.05) == 0
    assert largest_rejected(0, 0, 100, 0.0, 0.05) == 0


@deep
@pytest.mark.statistical(0.2)  # the bound is below .93 or above what was expected
def test_the_coin_guesses_on_both_sides_or_on_one():
    rng = np.random.default_rng(3)
    held, out = rng.laplace(0, 1, 20_000), rng.laplace(1, 1, 20_000)
    rule, expected = plan_guess(-held[:4000], -out[:4000], Fraction(0), RISK, 16_000)
    assert math.isfinite(rule.upper)
    assert math.isfinite(rule.lower)
    reached = rule.measure(-held[4000:], -out[4000:], Fraction(0), RISK)
    assert 0.93 < reached.epsilon_lower <= 1
    assert expected < reached.epsilon_lower
    one = Guess(0.0, -math.inf).measure(-held, -out, Fraction(1, 10), RISK)
    assert one.guessed < reached.runs
    with pytest.raises(ValueError, match="below"):
        Guess(0.0, 0.0)


# ------------------------------------------------------------------ bets


@deep
@pytest.mark.statistical(1e-4)  # 400 tight streams at level .05: more than 38 falls
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 50)])
def test_bets_fall_no_more_often_than_stated(delta):
    rng = np.random.default_rng(11)
    q = 0.2
    p = math.e * q + float(delta)
    falls = 0
    for _ in range(400):
        bettor = Bettor(Guess(0.5, -math.inf), 1.0, delta, RISK, ((p + 0.05) / 2, q / 2))
        lefts = rng.random(600) < 0.5
        seen = rng.random(600) < np.where(lefts, p, q)
        falls += bettor.feed(seen.astype(float), lefts) is not None
    assert falls <= 38


@deep
@pytest.mark.statistical(1e-4)  # of 150 tight streams, each ending when it suits the attack best, 20 fall
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 50)])
def test_bets_on_both_sides_keep_their_error_whatever_ends_the_runs(delta):
    """A right guess has probability e^ε times that of a wrong one and δ more, and a third is not guessed."""
    rng = np.random.default_rng(12)
    wrong = (2 / 3 - float(delta)) / (1 + math.e)
    falls = 0
    for _ in range(150):
        bettor = Bettor(Guess(0.5, -0.5), 1.0, delta, RISK, (0.5, 0.1), 30)
        lefts, draw = rng.random(300) < 0.5, rng.random(300)
        guess = np.where(draw < wrong, -1.0, np.where(draw < 2 / 3, 1.0, 0.0))
        scores = guess * np.where(lefts, 1, -1)
        cuts = (
            bettor.feed(scores[k : k + 50], lefts[k : k + 50], stop=False) or bettor.won()
            for k in range(0, 300, 50)
        )
        falls += any(won is not None for won in cuts)
    assert falls <= 19


@pytest.mark.statistical(0.01)  # none of 300 seeds
def test_bets_refute_early_and_their_bound_is_above_the_claim():
    rng = np.random.default_rng(5)
    lefts = rng.random(5000) < 0.5
    scores = np.where(lefts, rng.laplace(0, 1, 5000), rng.laplace(1, 1, 5000))
    won = Bettor(Guess(math.inf, 0.0), 0.5, Fraction(0), RISK, (0.25, 0.1)).feed(scores, lefts)
    assert won is None  # large scores are on the right: "right" bets on small ones
    won = Bettor(Guess(-0.2, -math.inf), 0.5, Fraction(0), RISK, (0.25, 0.1)).feed(-scores, lefts)
    assert won is not None
    assert 0.5 < won.epsilon_lower <= 1
    assert won.runs < 2500


@pytest.mark.statistical(0.01)  # medians of 15 streams, a third below what is asked
def test_bets_choose_the_event_that_pays():
    """Laplace with ε = 1, claimed ½, in units of runs until the claim falls; a huge claim never falls."""
    runs = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        lefts = rng.random(4000) < 0.5
        shown = rng.laplace(np.where(lefts, 0.0, 1.0), 1)
        scores = np.abs(shown - 1) - np.abs(shown)
        train = scores[:1000][lefts[:1000]], scores[:1000][~lefts[:1000]]
        shown = {}
        for claimed in (0.5, 1e4):
            rule = plan_bet(*train, claimed, Fraction(0))[0]
            bettor = Bettor(rule, claimed, Fraction(0), RISK, (0.0, 0.0))
            bettor.follow(rule, *train)
            shown[claimed] = bettor.feed(scores[1000:], lefts[1000:])
        runs.append(4000 if shown[0.5] is None else shown[0.5].runs)
        assert shown[1e4] is None
    assert np.median(runs) < 600


# ------------------------------------------------------------------ planning


def test_violations_are_told_from_their_absence():
    rng = np.random.default_rng(1)
    held, out = rng.normal(1, 1, 4000), rng.normal(0, 1, 4000)
    assert most_beyond(held, out, 0.5, 0.0)[1] > 4
    assert most_beyond(held, out, 5.0, 0.0)[1] < 2.5
    rare = np.zeros(4000)
    rare[:60] = 1  # 1.5 % of the runs on one side, none on the other
    for first, second, event in (
        (rare, 0 * rare, ("left", 1.0)),
        (0 * rare, -rare, ("right", 1.0)),
    ):
        rule, beyond = most_beyond(first, second, 1.0, 0.005)
        assert beyond > 4
        assert (rule.direction, rule.cut) == event
        assert most_beyond(first, second, 1.0, 0.014)[1] < 1
    held, out = (rng.random(4000) < chance for chance in (0.99, 0.5))
    rule, expected = plan_threshold(held * 1.0, out * 1.0, Fraction(0), RISK, 4000)
    assert rule.direction == "right"
    assert expected > 2.5


@deep
@pytest.mark.statistical(0.03)  # medians of 15 runs, far below which no seed of 100 came
def test_known_ratios_need_few_runs_to_choose_thresholds():
    """Gaussian, μ = 1, δ = 1e-5: ε = 4.377; 500 of 10,000 runs a side choose, and half of ε is certified."""
    delta, fractions = Fraction(1, 10**5), {"coin": [], "counts": []}
    for seed in range(15):
        rng = np.random.default_rng(seed)
        held, out = 0.5 - rng.normal(0, 1, 10_000), 0.5 - rng.normal(1, 1, 10_000)
        for name, planner in (("coin", plan_known_guess), ("counts", plan_known_threshold)):
            rule, expected = planner(held[:500], out[:500], delta, RISK, 9500)
            reached = rule.measure(held[500:], out[500:], delta, RISK).epsilon_lower
            fractions[name].append(reached / 4.377178)
            assert abs(expected - reached) < 0.5 * 4.377178
    assert np.median(fractions["coin"]) > 0.507
    assert np.median(fractions["counts"]) > 0.465


def test_known_ratios_weigh_every_run_on_both_sides():
    """A score of 3 is e³ times likelier on the left: 1/(1 + e³) of such runs are from the right."""
    cuts = np.array([-3.0, 3.0])
    rates = likelihood_rates(np.array([3.0] * 10), np.array([-3.0] * 10), cuts)
    near = 1 / (1 + math.exp(-3))
    assert np.allclose([rates.hits[0, 1], rates.alarms[0, 1]], [near, 1 - near])
    assert np.allclose([rates.hits[1, 0], rates.alarms[1, 0]], [near, 1 - near])
    assert rates.hits[0, 0] == rates.hits[1, 1] == 1


# ------------------------------------------------------------------ Gaussian


@deep
@pytest.mark.statistical(2e-4)  # 300 fits at level .05: more than 30 misses
def test_the_gaussian_fit_holds_where_its_assumption_does():
    rng = np.random.default_rng(4)
    fits = [fit(rng.normal(0.5, 1, 400), rng.normal(0, 1, 400), RISK).mu_lower for _ in range(300)]
    assert sum(lower > 0.5 for lower in fits) <= 30
    assert np.mean(fits) > 0.3
    assert fit(np.arange(50.0), np.arange(50.0), RISK).mu_lower == 0
