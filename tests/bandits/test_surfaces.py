"""Test functions at their known optima, environments whose regret does not depend on the order of arms."""

import numpy as np
import pytest

from bandits.learning.contextual import pick
from bandits.simulation.simulated_people import People, simulated_people
from bandits.simulation.surfaces import (
    MICHALEWICZ_10_LEAST,
    STYBLINSKI_TANG_LEAST,
    camelback,
    michalewicz,
    styblinski_tang,
    surface,
)
from dpaccount.errors import InputError
from tests.depth import deep
from tests.looped import looped

MICHALEWICZ_AT = [
    *(2.202905520173, np.pi / 2, 1.284991570553, 1.923058469866, 1.720469772566),
    *(np.pi / 2, 1.454413971362, 1.756086520945, 1.655717416821, np.pi / 2),
]


@deep
def test_minima_are_where_they_are_known_to_be():
    at = np.array(0.0898420131003), np.array(-0.7126564030207)
    assert camelback(*at) == pytest.approx(-1.0316284534899, abs=1e-12)
    assert styblinski_tang(np.array(-2.9035340277712)) == pytest.approx(STYBLINSKI_TANG_LEAST, abs=1e-12)
    whole = sum(michalewicz(np.array(x), i) for i, x in enumerate(MICHALEWICZ_AT, start=1))
    assert whole == pytest.approx(MICHALEWICZ_10_LEAST[2], abs=1e-11)
    fine = np.linspace(-np.pi / 6, 7 * np.pi / 6, 400_001)
    least = sum(michalewicz(fine, i, power=1).min() for i in range(1, 11))
    assert least == pytest.approx(MICHALEWICZ_10_LEAST[1], abs=1e-6)
    assert least >= MICHALEWICZ_10_LEAST[1]


def test_grids_stay_below_the_maximum():
    assert 0.19 < surface("camelback").best <= 1.0316284534899 / 5
    assert surface("camelback").tables[0].min() == pytest.approx(-5.7333333333 / 5)
    for name in ("styblinski-tang-20", "styblinski-tang-20-textbook"):
        assert 0.99 < surface(name).best <= 1
    for name in ("michalewicz-10", "michalewicz-10-textbook"):
        assert 0.9 < surface(name).best <= 1
    assert surface("styblinski-tang-20").tables[0].min() == pytest.approx(-10 / 39.1661657037714 / 20)  # at 4
    with pytest.raises(InputError, match="known"):
        surface("branin")


def test_permuting_arms_leaves_regret_unchanged():
    """A policy that reads features only plays the same point wherever it stands, ties aside."""
    people = simulated_people(60, 8, 2, seed=4)
    order = np.argsort(np.random.default_rng(9).random(people.means.shape), axis=1)
    turned = (np.take_along_axis(each, order, axis=1) for each in (people.means, people.rewards))
    other = People(np.take_along_axis(people.points, order[:, :, None], axis=1), *turned)
    direction = np.array([0.3, -1.1])
    ties = np.zeros(8)
    regrets = []
    for each in (people, other):
        chosen = np.array([pick(points @ direction, ties) for points in each.points])
        regrets.append(each.regret(chosen))
    assert regrets[0] == pytest.approx(regrets[1])


@pytest.mark.statistical(5e-6)  # 4000 fair choices among 8: five standard errors are .026
def test_ties_fall_by_coins():
    coins = np.random.default_rng(0).random((4000, 8))
    chosen = np.array([pick(np.ones(8), row) for row in coins])
    share = np.bincount(chosen, minlength=8) / 4000
    assert np.abs(share - 1 / 8).max() < 0.026


@pytest.mark.statistical(1e-6)  # 800 fair choices among 4: five standard errors are .077
def test_the_good_candidate_may_stand_anywhere():
    people = simulated_people(800, 4, 2, seed=2)
    share = np.bincount(people.means.argmax(axis=1), minlength=4) / 800
    assert np.abs(share - 0.25).max() < 0.08


def test_rewards_of_negative_means_are_zero():
    people = simulated_people(300, 6, 2, seed=5)
    assert people.rewards[people.means < 0].sum() == 0


@looped("wrong", [(0, 5, 2), (5, 1, 2), (5, 5, 9)])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InputError):
        simulated_people(*wrong, seed=0)
