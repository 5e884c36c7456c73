"""Channels: unbiased, of the variance that they say, private by exact tables whatever is sent."""

from fractions import Fraction
from math import exp, inf, nan

import numpy as np
import pytest

from bandits.local_privacy.channels import CHANNELS, TABLES, LaplaceChannel, TableChannel, bounded, channel
from dpaccount.errors import InputError
from dpaccount.proof import point
from tests.depth import deep
from tests.looped import looped

EPSILONS = [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(30)]


class Places:
    """Noise that notes what is to be drawn and answers the place itself."""

    def __init__(self):
        self.seen = []

    def noisy(self, key, part, values):
        self.seen.append(int(values[0]))
        return values * 0


@looped("epsilon", EPSILONS)
@looped("name", TABLES)
def test_a_table_is_unbiased_and_within_its_ratio_exactly(name, epsilon):
    by = TableChannel(name, epsilon, 3)
    table, values = by.parts
    for place, row in enumerate(table):
        assert sum(row) == 1
        assert sum(p * v for p, v in zip(row, values, strict=True)) == Fraction(place - 3, 3)
    ratios = [max(column) / min(column) for column in zip(*table, strict=True)]
    assert float(max(ratios)) <= exp(float(epsilon))
    if name == "duchi":  # a bit, each way with at most e^ε/(1 + e^ε)
        assert max(max(row) for row in table) / (1 - max(max(row) for row in table)) == max(ratios)


@looped("name", TABLES)
def test_the_variance_is_that_of_place_and_answer_together(name):
    by = TableChannel(name, Fraction(1), 3)
    table, values = by.parts
    for unit in (Fraction(-1), Fraction(-1, 2), Fraction(0), Fraction(1, 6), Fraction(4, 5)):
        low = min(int((unit * 3) // 1), 2)
        upper = unit * 3 - low
        square = sum(
            share * p * v**2
            for share, row in ((1 - upper, table[low + 3]), (upper, table[low + 4]))
            for p, v in zip(row, values, strict=True)
        )
        assert by.variance(np.array([float(unit)]))[0] == pytest.approx(float(square - unit**2))


@looped(
    ("unit", "coin", "place"),
    [
        (nan, 0.0, 3),
        (nan, 0.99, 3),
        (inf, 0.99, 6),
        (-inf, 0.0, 0),
        (1e300, 0.5, 6),
        (1.0, 0.999, 6),
        (-1.0, 0.999, 0),
        (0.5, 0.4, 4),
        (0.5, 0.6, 5),
        (-0.5, 0.4, 1),
        (-0.5, 0.6, 2),
        (5e-324, 0.999, 3),
    ],
)
def test_what_is_sent_is_clipped_and_its_place_is_one_of_the_table(unit, coin, place):
    noise = Places()
    TableChannel("duchi", Fraction(1), 3).send(noise, 0, unit, coin)
    assert noise.seen == [place]


@deep
def test_over_coins_the_place_has_the_mean_of_the_number():
    noise, coins = Places(), (np.arange(1000) + 0.5) / 1000
    for coin in coins:
        TableChannel("duchi", Fraction(1), 3).send(noise, 0, 0.37, coin)
    assert np.mean(noise.seen) == pytest.approx(3 + 3 * 0.37, abs=1e-3)


@looped("unit", [nan, inf, -inf, 1e300, 2.0, -1.0])
def test_laplace_noise_is_added_to_a_clipped_number(unit):
    noise = Places()
    LaplaceChannel(Fraction(1)).send(noise, 0, unit, 0.25)
    assert noise.seen == [bounded(unit) * 2**20]
    assert abs(noise.seen[0]) <= 2**20


def test_laplace_variance_is_that_of_the_discrete_law():
    scale, x = 2.0, np.arange(-4000, 4001) / 64  # the same law on a coarser grid, summed
    mass = np.exp(-np.abs(x) / scale)
    direct = (mass * x**2).sum() / mass.sum()
    assert LaplaceChannel(Fraction(1)).variance(np.zeros(1))[0] == pytest.approx(direct, rel=1e-3)


@looped("epsilon", EPSILONS)
@looped("name", CHANNELS)
def test_every_channel_proves_its_own_epsilon_for_each_person(name, epsilon):
    theorem = channel(name, epsilon).proof("a-name", 5, Fraction(0))
    assert point(theorem) == (epsilon, 0)
    assert theorem.conclusion.observer == "local"


@looped("epsilon", [Fraction(0), Fraction(-1), Fraction(31)])
def test_an_epsilon_out_of_range_is_refused(epsilon):
    with pytest.raises(InputError, match="epsilon"):
        channel("duchi", epsilon)


def test_an_unknown_channel_is_refused():
    with pytest.raises(InputError, match="known: duchi, piecewise, hybrid, laplace"):
        channel("gauss", Fraction(1))


@looped("name", TABLES)
def test_an_epsilon_too_small_for_a_table_is_one_sentence(name):
    assert point(channel(name, Fraction(1, 10**9)).proof("a-name", 2, Fraction(0)))[0] == Fraction(1, 10**9)
    with pytest.raises(InputError, match="at least 1e-09"):
        channel(name, Fraction(1, 10**10)).proof("a-name", 2, Fraction(0))


@looped("coin", [1 - 2.0**-53, 1 - 1.5 * 2.0**-34, 1 - 2.0**-34, 0.5, 0.0])
def test_rounding_a_coin_takes_no_number_beyond_the_clip(coin):
    """2^20 + coin, in doubles, is 2^20 + 1 for coins near 1: then two numbers were more than 2 apart."""
    noise = Places()
    for unit in (1.0, -1.0, 0.0, 1 - 2.0**-53, -1 + 2.0**-53):
        LaplaceChannel(Fraction(1)).send(noise, 0, unit, coin)
    assert noise.seen[:3] == [2**20, -(2**20), 0]
    assert max(map(abs, noise.seen)) <= 2**20


def test_over_coins_a_number_on_the_fine_grid_has_its_mean():
    noise, unit = Places(), (12345.25) / 2**20
    for coin in (np.arange(400) + 0.5) / 400:
        LaplaceChannel(Fraction(1)).send(noise, 0, unit, coin)
    assert np.mean(noise.seen) == 12345.25


@looped("name", CHANNELS)
def test_a_channel_knows_its_own_messages(name):
    by = channel(name, Fraction(1))
    own = by.values.tolist() if name in TABLES else [0.0, -3 / 2**20, 17.5]
    assert all(by.sends(float(repr(message))) for message in own)
    assert not any(by.sends(reward) for reward in (0.73, -0.1, 1.2345))
