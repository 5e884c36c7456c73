"""Arm means: one release names the right arm of a log, and its intervals hold the truth."""

from fractions import Fraction

import numpy as np
import pytest

from dpaccount.documents import parse_toml
from dpaccount.errors import InputError
from dpaccount.noise.receipt import NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import ADD_REMOVE, REPLACE_ONE
from mechanisms.arm_means import ArmMeans
from mechanisms.subject import View
from mechanisms.table.binding import Promise
from mechanisms.table.declaration import read_table
from mechanisms.table.rows import read_rows

DELTA = Fraction(1, 10**6)
CONVERSIONS = {"plain": 0.10, "photos": 0.11, "reviews": 0.12, "bundle": 0.15}


@pytest.fixture(scope="module")
def shop(root_examples):
    """Return the claim's parameters and table for the shop's log."""
    place = parse_toml((root_examples / "shop_log" / "arm-means.toml").read_text(), "arm-means.toml")
    return place.child("subject").child("parameters"), read_table(place.child("data"))


def test_reports_without_noise_are_the_means(shop):
    subject, reading = ArmMeans.on_table(shop[1], shop[0], Promise(REPLACE_ONE, Fraction(1), DELTA))
    rows = reading.encode(np.array([[0, 1.0], [0, 0], [3, 1], [3, 1], [2, 0], [-1, 1], [1, 1], [1, 0]]))
    said = subject.report(subject.play(rows, NoNoise(), 0))
    assert {arm: mean["mean"] for arm, mean in said["means"].items()} == {
        "plain": 0.5, "photos": 0.5, "reviews": 0.0, "bundle": 1.0
    }  # fmt: skip
    assert said["best_arm"] == "bundle"


def test_under_add_remove_the_same_noise_costs_less():
    spent = [ArmMeans(relation=each).proof(DELTA).conclusion.curve.epsilon for each in (REPLACE_ONE, ADD_REMOVE)]
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


@pytest.mark.statistical  # seeded
@pytest.mark.parametrize("shares", [(0.25, 0.25, 0.25, 0.25), (0.2, 0.2, 0.2, 0.4)])
def test_it_names_the_right_variant_of_every_log(shop, shop_rows, shares):
    """20 logs; a hundred with the slow tests."""
    said = analyses(shop, shop_rows, shares, range(20))
    assert [each["best_arm"] for each in said] == ["bundle"] * 20
    assert held(said) >= 0.9


@pytest.mark.slow
@pytest.mark.statistical  # seeded; 400 intervals of 95 % hold fewer than 90 % once in ten thousand
@pytest.mark.parametrize("shares", [(0.25, 0.25, 0.25, 0.25), (0.2, 0.2, 0.2, 0.4)])
def test_a_hundred_logs(shop, shop_rows, shares):
    said = analyses(shop, shop_rows, shares, range(100))
    assert sum(each["best_arm"] == "bundle" for each in said) == 100
    assert held(said) >= 0.9
    assert sum(each["share_warning"] is not None for each in said) <= 5


def analyses(shop, shop_rows, shares, seeds):
    place, table = shop
    subject, reading = ArmMeans.on_table(table, place, Promise(REPLACE_ONE, Fraction(1), DELTA))
    theorem, found = subject.proof(DELTA), []
    for seed in seeds:
        view = subject.play(reading.encode(shop_rows(seed, shares)), rehearse(theorem, Rehearsal(seed)), seed)
        found.append(subject.report(view))
    return found if shares == (0.25,) * 4 else [{**each, "share_warning": None} for each in found]


def held(said):
    """Return the share of intervals that hold the true conversion."""
    return np.mean(
        [m["low"] <= CONVERSIONS[arm] <= m["high"] for each in said for arm, m in each["means"].items()]
    )


@pytest.mark.slow
@pytest.mark.statistical  # seeded
def test_on_the_insurance_trial_it_names_the_right_plan_in_500_runs(root_examples):
    place = parse_toml((root_examples / "plan_finder" / "claim.toml").read_text(), "claim.toml")
    table = read_table(place.child("data"))
    promise = Promise(REPLACE_ONE, Fraction(1), DELTA)
    subject, reading = ArmMeans.on_table(table, place.child("subject").child("parameters"), promise)
    data = read_rows(root_examples / "plan_finder" / "insurance_trial.csv", table, reading, REPLACE_ONE)
    theorem = subject.proof(DELTA)
    best = {
        subject.report(subject.play(data, rehearse(theorem, Rehearsal(seed)), seed))["best_arm"]
        for seed in range(500)
    }
    assert best == {"coins50"}


def test_shares_that_the_counts_contradict_are_reported():
    subject = ArmMeans(arms=("a", "b"), rows=4000)
    view = View(public={"sums": np.array([0.0, 100.0]), "counts": np.array([1800.0, 2200.0])})
    assert "a was logged for 45.0%" in subject.report(view)["share_warning"]
    fine = View(public={"sums": np.array([0.0, 100.0]), "counts": np.array([1980.0, 2020.0])})
    assert subject.report(fine)["share_warning"] is None
