"""Arm means: one release names the right arm of a log, and its intervals hold the truth."""

from fractions import Fraction

import numpy as np
import pytest

from audits.certificate.make import AuditBudget, certify
from audits.claim import read_claim
from audits.hypothesis_tests.search import gather
from audits.subjects.catalogue import subject_of
from bandits import arm_means
from bandits.arm_means import ArmMeans
from bandits.logged.logged_trials import record_coins
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import ADD_REMOVE, REPLACE_ONE, point
from mechanisms.subject import View
from tests.bandits import shop_logs
from tests.bandits.shop_logs import CONVERSIONS, DELTA, EVEN, UNEVEN
from tests.depth import deep
from tests.looped import looped


def test_reports_without_noise_are_the_means():
    subject, _, reading = shop_logs.on_table(ArmMeans, "shop_log/arm-means.toml")
    rows = reading.encode(np.array([[0, 1.0], [0, 0], [3, 1], [3, 1], [2, 0], [-1, 1], [1, 1], [1, 0]] * 50))
    report = subject.report(subject.play(rows, NoNoise(), 0))
    assert {arm: mean["mean"] for arm, mean in report["means"].items()} == {
        "plain": 0.5, "photos": 0.5, "reviews": 0.0, "bundle": 1.0
    }  # fmt: skip
    assert report["best_arm"] == "bundle"


def test_under_add_remove_the_same_noise_costs_less():
    spent = [
        ArmMeans(relation=each).proof(DELTA).conclusion.curve.epsilon for each in (REPLACE_ONE, ADD_REMOVE)
    ]
    assert spent[1] < spent[0] < 1


@looped(
    "wrong",
    [
        {"arms": "ab"}, {"arms": ("a",), "logging": (Fraction(1, 2),) * 2}, {"sigma": Fraction(1, 3)},
        {"chance": Fraction(0)}, {"reward": " "}, {"rows": 0}, {"steps": 64, "arms": tuple("abcd")},
    ],
)  # fmt: skip
def test_parameters_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InputError):
        ArmMeans(**wrong)


def analyses(shares, seeds):
    changes = shop_logs.declaring(shares)
    subject, _, reading = shop_logs.on_table(ArmMeans, "shop_log/arm-means.toml", changes)
    theorem = subject.proof(DELTA)
    for seed in seeds:
        rows = reading.encode(shop_logs.shop_rows(seed, shares))
        yield subject.report(subject.play(rows, rehearse(theorem, Rehearsal(seed)), seed))


@deep
@pytest.mark.statistical(1e-3)  # 400 intervals of 95 %, of which 90 % hold
@pytest.mark.parametrize("shares", [EVEN, UNEVEN])
def test_it_names_the_right_variant_of_a_hundred_logs(shares):
    reports = list(analyses(shares, range(100)))
    assert sum(each["best_arm"] == "bundle" for each in reports) == 100
    assert held(reports) >= 0.9
    assert sum(each["share_warning"] is not None for each in reports) <= 5


def held(reports):
    """Return the share of intervals that hold the true conversion."""
    return np.mean(
        [m["low"] <= CONVERSIONS[arm] <= m["high"] for each in reports for arm, m in each["means"].items()]
    )


@deep
@pytest.mark.statistical(1)  # no run may fail
def test_on_the_insurance_trial_it_names_the_right_plan_in_500_runs():
    subject, data = shop_logs.insurance(ArmMeans)
    theorem = subject.proof(DELTA)
    views = (subject.play(data, rehearse(theorem, Rehearsal(seed)), seed) for seed in range(500))
    assert {subject.report(view)["best_arm"] for view in views} == {"coins50"}


def farthest_removal(subject, rows):
    """Return what every removed row moves the exact release by, as a set of vectors."""
    whole = subject.query(rows, 1)
    return {
        tuple((whole - subject.query(np.delete(rows, at, axis=0), 1)).tolist()) for at in range(len(rows))
    }


def coming_and_going(**fields):
    """Return a subject of rows that come and go, and rows of which many are equal."""
    rng, subject = np.random.default_rng(0), ArmMeans(rows=60, relation=ADD_REMOVE, **fields)
    chances = rng.choice([0.25, 0.6, 1.0], 60)
    rows = np.column_stack([np.zeros(60), rng.integers(-1, 2, 60), chances, rng.choice([0, 0.3, 0.9], 60)])
    return subject, subject.domain().clamped(rows)


@pytest.mark.parametrize("fields", [{"steps": 16}, {"chance": Fraction(1, 4)}], ids=str)
def test_a_row_that_goes_moves_a_declared_vector_whatever_the_coins_of_the_others(fields, monkeypatch):
    """Coins by place are the broken twin: a row that goes gives all later ones other coins."""
    subject, rows = coming_and_going(**fields)
    declared = set(subject.counts.points())
    assert farthest_removal(subject, rows) <= declared
    by_place = lambda data, seed, many: np.random.default_rng(seed).random((len(data), many))  # noqa: E731
    monkeypatch.setattr(arm_means, "record_coins", by_place)
    assert not farthest_removal(subject, rows) <= declared


@pytest.mark.statistical(4e-6)  # within 5 standard deviations
def test_coins_of_equal_rows_differ_and_are_uniform():
    rows = np.tile([0.0, 1.0, 1.0, 0.3], (20_000, 1))
    coins = record_coins(rows, 7, 2)
    assert coins.shape == (20_000, 2)
    assert np.abs(coins.mean(axis=0) - 0.5).max() < 5 * np.sqrt(1 / 12 / 20_000)
    assert np.abs((coins < 0.1).mean(axis=0) - 0.1).max() < 5 * 0.3 / np.sqrt(20_000)
    assert abs(np.corrcoef(coins.T)[0, 1]) < 5 / np.sqrt(20_000)
    assert (record_coins(rows[::-1], 7, 2) == coins).all()
    assert record_coins(rows[:0], 7, 2).shape == (0, 2)


@deep
@pytest.mark.parametrize(
    "subject",
    [
        ArmMeans(rows=6, strata=("x", "y"), steps=4, chance=Fraction(1, 4)),
        ArmMeans(rows=6, arms=("a", "b", "c"), steps=16, relation=ADD_REMOVE),
    ],
    ids=repr,
)
def test_strata_thinned_records_and_rewards_that_are_numbers_keep_the_hypotheses(subject):
    evidence, _ = gather(subject, Proved(subject.proof(DELTA)), examples=60, seed=2, files=[])
    assert [each.counterexample for each in evidence] == [None] * len(evidence)


def test_an_arm_that_the_noise_drowns_is_never_named():
    """Of c a noisy 6 people remain, all of whom seem to have converted; no mean of it is known."""
    subject = ArmMeans(arms=("a", "b", "c"), rows=4000)
    counts, c_alone = np.array([2000.0, 2000.0, 6.0]), np.array([0.0, -3.0, 6.0])
    report = subject.report(View(public={"sums": np.array([-1960.0, -1900.0, 6.0]), "counts": counts}))
    assert (report["best_arm"], report["margin"]["over"]) == ("b", "a")
    assert report["best_probability"] < 0.9  # c may be better
    report = subject.report(View(public={"sums": c_alone, "counts": c_alone}))
    assert [report[name] for name in ("best_arm", "best_probability", "margin")] == [None] * 3
    one = subject.report(View(public={"sums": c_alone, "counts": np.array([900.0, -3.0, 6.0])}))
    assert (one["best_arm"], one["margin"]) == ("a", None)


@deep
@pytest.mark.statistical(1e-3)  # in 600 logs 130 name the rare arm; ranked by its noise it was 370
def test_a_rarely_logged_arm_is_not_taken_for_the_best():
    """1 % of 1000 sessions are about as many as the noise; all that is known is that a and b convert little."""
    rng, subject = np.random.default_rng(11), ArmMeans(arms=("a", "b", "c"), rows=1000)
    shares, named = (0.495, 0.495, 0.01), []
    for _ in range(600):
        people, noise = rng.multinomial(1000, shares), np.rint(rng.normal(0, 8.46875, (2, 3)))
        sums = 2 * rng.binomial(people, 0.01) - people + noise[0]
        named.append(subject.report(View(public={"sums": sums, "counts": people + noise[1]}))["best_arm"])
    assert named.count("c") <= 200  # a third: the arms are equal


def test_shares_that_the_counts_contradict_are_reported():
    subject = ArmMeans(arms=("a", "b"), rows=4000)
    view = View(public={"sums": np.array([0.0, 100.0]), "counts": np.array([1800.0, 2200.0])})
    assert "a was logged for 45.0%" in subject.report(view)["share_warning"]
    fine = View(public={"sums": np.array([0.0, 100.0]), "counts": np.array([1980.0, 2020.0])})
    assert subject.report(fine)["share_warning"] is None


@deep
@pytest.mark.statistical(0.05)  # that a correct claim is refuted
def test_the_example_without_a_table_is_certified():
    claim = read_claim(shop_logs.EXAMPLES / "shop_log" / "arm-means-of-rows.toml")
    subject = subject_of(claim)
    epsilon, _ = point(subject.proof(claim.guarantee.delta))
    assert epsilon <= claim.guarantee.epsilon <= epsilon + Fraction(1, 500)
    assert certify(claim, subject, AuditBudget(quick=True))[0].verdict == "CERTIFIED"
