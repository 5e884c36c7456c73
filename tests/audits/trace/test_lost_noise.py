"""Noise that loses its type before it is added is followed: too little of it is found, enough of it is not."""

import math

import numpy as np
import pytest

from audits.datasets.forms import Given
from audits.trace.paired_runs import trace_pair
from tests.looped import looped

CONVERSIONS = {
    "int": int,
    "round": lambda x: round(float(x), 1),
    "floor": math.floor,
    "rint": np.rint,
    "astype": lambda x: np.float64(x).astype(np.int64),
    "div": lambda x: x // 0.5 * 0.5,
    "text": lambda x: float(str(float(x))),
    "int64": np.int64,
    "negative": lambda x: -int(x),
    "twice": lambda x: 2 * int(x),
}
LEFT, RIGHT = np.ones(20), np.array([4.0] + [1.0] * 19)


def traced(function):
    return trace_pair(function, Given(LEFT), Given(RIGHT), [1], again=True)


def added(convert, draw=lambda rng: rng.laplace(0, 2.0)):
    return lambda data, rng: float(int(data.sum()) + convert(draw(rng)))


@looped("name", CONVERSIONS)
def test_each_conversion_is_followed(name):
    found = traced(added(CONVERSIONS[name]))
    [call] = found.calls
    assert (call.moved, call.scale) == (3.0, 4.0 if name == "twice" else 2.0), name
    assert not found.findings + found.notes + found.unused, name
    assert found.shown, name


def test_arrays_and_differences_are_followed():
    def array(data, rng):
        return np.array([data.sum(), (data > 1).sum()]) + rng.laplace(0, 2.0, 2).astype(int)

    assert [call.moved for call in traced(array).calls] == [4.0]
    found = traced(lambda data, rng: int(data.sum()) + int(rng.geometric(0.3)) - int(rng.geometric(0.3)))
    assert not found.findings + found.notes
    assert max(call.moved or 0.0 for call in found.calls) == 3.0


@pytest.mark.parametrize(
    "function",
    [
        lambda data, rng: float(data.sum() * int(rng.laplace(0, 99.0))),  # the noise is scaled by the data
        lambda data, rng: float(data.sum() if int(rng.laplace(0, 2.0)) > -99 else 0.0),
        lambda data, rng: [float(data.sum()), int(rng.laplace(0, 2.0))],  # beside it
        lambda data, rng: min(float(data.sum() + int(rng.laplace(0, 2.0))), 99.0),
        lambda data, rng: float(data.sum() + int(rng.laplace(0, 2.0)) ** 2),
    ],
)
def test_what_is_no_sum_is_not_taken_for_one(function):
    found = traced(function)
    assert found.findings or found.notes or found.unsure
    assert not any(call.moved for call in found.calls)


def test_one_noise_on_two_values_is_found():
    def both(data, rng):
        noise = int(rng.laplace(0, 9.0))
        return [float(data.sum() + noise), float((data > 1).sum() + noise)]

    assert any("added to several values" in finding for finding in traced(both).findings)


def gone(noise):
    noise[1:] = noise[0]
    return noise


def halved(noise):
    noise[2:] = noise[:2]
    return noise


def filled(noise):
    noise.fill(noise[0])
    return noise


def sort(noise):
    noise.sort()
    return noise


SHARED = {
    "gone": gone,
    "halved": halved,
    "filled": filled,
    "list": lambda noise: np.array([noise.tolist()[0]] * 4),
    "whole": lambda noise: noise.astype(int)[[0, 1, 2, 0]],
}
MIXED = {
    "sort": sort,
    "mean": lambda noise: np.full(4, noise.mean()),
    "product": lambda noise: np.ones((4, 4)) @ noise / 4,
    "neighbours": lambda noise: (noise + np.roll(noise, 1)) / 2,
    "greatest": lambda noise: np.full(4, np.asarray(noise).max()),
}
OWN = {
    "reversed": lambda noise: noise[::-1],
    "permuted": lambda noise: -np.take(noise, [2, 0, 3, 1]),
    "list": lambda noise: np.array(noise.tolist()),
    "whole": lambda noise: noise.astype(np.int32),
    "rounded": lambda noise: np.round(noise, 1).reshape(2, 2).ravel(),
}


def totals(change, size=4):
    """Return a function that adds changed noise to totals of which the first alone moves."""
    return lambda data, rng: np.array([data.sum(), *[7.0] * (size - 1)]) + change(rng.normal(0, 9.0, size))


@looped("name", SHARED)
def test_one_noise_value_of_an_array_on_several_values_is_found(name):
    assert any("added to several values" in each for each in traced(totals(SHARED[name])).findings), name


@looped("name", MIXED)
def test_noise_of_several_values_is_not_taken_for_a_noise_value(name):
    found = traced(totals(MIXED[name]))
    assert found.notes or found.unsure, name
    assert not any(call.moved for call in found.calls), name


@looped("name", OWN)
def test_each_value_with_a_noise_value_of_its_own_is_not_accused(name):
    found = traced(totals(OWN[name]))
    assert [call.moved for call in found.calls] == [3.0], name
    assert not found.findings + found.notes + found.unused, name


def test_many_noise_values_are_told_apart():
    [call] = traced(totals(lambda noise: noise[::-1].astype(int), 300)).calls
    assert call.moved == 3.0
    assert traced(totals(lambda noise: noise[[*range(299), 0]], 300)).findings


def test_a_noisy_value_that_is_returned_twice_is_not_accused():
    def twice(data, rng):
        noisy = totals(lambda noise: noise[::-1])(data, rng)
        return [noisy, noisy]

    found = traced(twice)
    assert not found.findings
    assert found.notes


def test_clipped_noisy_values_are_followed():
    found = traced(lambda data, rng: np.clip(totals(lambda noise: noise[::-1])(data, rng), -1e6, 1e6))
    assert [call.moved for call in found.calls] == [3.0]
