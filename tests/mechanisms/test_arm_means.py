"""Arm means: one release names the right arm of a log, and its intervals hold the truth."""

from fractions import Fraction

import numpy as np
import pytest

from audits.evidence.search import gather
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import ADD_REMOVE, REPLACE_ONE
from mechanisms.arm_means import ArmMeans
from mechanisms.subject import View
from tests.mechanisms import shop_logs
from tests.mechanisms.shop_logs import CONVERSIONS, DELTA, EVEN, UNEVEN


def test_reports_without_noise_are_the_means():
    subject, _, reading = shop_logs.on_table(ArmMeans, "shop_log/arm-means.toml")
    rows = reading.encode(np.array([[0, 1.0], [0, 0], [3, 1], [3, 1], [2, 0], [-1, 1], [1, 1], [1, 0]]))
    said = subject.report(subject.play(rows, NoNoise(), 0))
    assert {arm: mean["mean"] for arm, mean in said["means"].items()} == {
        "plain": 0.5, "photos": 0.5, "reviews": 0.0, "bundle": 1.0
    }  # fmt: skip
    assert said["best_arm"] == "bundle"


def test_under_add_remove_the_same_noise_costs_less():
    spent = [
        ArmMeans(relation=each).proof(DELTA).conclusion.curve.epsilon for each in (REPLACE_ONE, ADD_REMOVE)
    ]
    assert spent[1] < spent[0] < 1


@pytest.mark.parametrize(
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


@pytest.mark.statistical  # seeded
@pytest.mark.parametrize("shares", [EVEN, UNEVEN])
def test_it_names_the_right_variant_of_every_log(shares):
    """20 logs; a hundred with the slow tests."""
    said = list(analyses(shares, range(20)))
    assert [each["best_arm"] for each in said] == ["bundle"] * 20
    assert held(said) >= 0.85


@pytest.mark.slow
@pytest.mark.statistical  # seeded; 400 intervals of 95 % hold fewer than 90 % less than once in a thousand
@pytest.mark.parametrize("shares", [EVEN, UNEVEN])
def test_a_hundred_logs(shares):
    said = list(analyses(shares, range(100)))
    assert sum(each["best_arm"] == "bundle" for each in said) == 100
    assert held(said) >= 0.9
    assert sum(each["share_warning"] is not None for each in said) <= 5


def held(said):
    """Return the share of intervals that hold the true conversion."""
    return np.mean(
        [m["low"] <= CONVERSIONS[arm] <= m["high"] for each in said for arm, m in each["means"].items()]
    )


@pytest.mark.slow
@pytest.mark.statistical  # seeded
def test_on_the_insurance_trial_it_names_the_right_plan_in_500_runs():
    subject, data = shop_logs.insurance(ArmMeans)
    theorem = subject.proof(DELTA)
    views = (subject.play(data, rehearse(theorem, Rehearsal(seed)), seed) for seed in range(500))
    assert {subject.report(view)["best_arm"] for view in views} == {"coins50"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "subject",
    [
        ArmMeans(rows=6, strata=("x", "y"), steps=4, chance=Fraction(1, 4)),
        ArmMeans(rows=6, arms=("a", "b", "c"), steps=16, relation=ADD_REMOVE),
    ],
    ids=repr,
)
def test_strata_thinned_records_and_rewards_that_are_numbers_keep_the_hypotheses(subject):
    found, _ = gather(subject, Proved(subject.proof(DELTA)), examples=60, seed=2, files=[])
    assert [each.counterexample for each in found] == [None] * len(found)


def test_shares_that_the_counts_contradict_are_reported():
    subject = ArmMeans(arms=("a", "b"), rows=4000)
    view = View(public={"sums": np.array([0.0, 100.0]), "counts": np.array([1800.0, 2200.0])})
    assert "a was logged for 45.0%" in subject.report(view)["share_warning"]
    fine = View(public={"sums": np.array([0.0, 100.0]), "counts": np.array([1980.0, 2020.0])})
    assert subject.report(fine)["share_warning"] is None
