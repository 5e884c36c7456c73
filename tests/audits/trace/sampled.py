"""Training on samples that are no Poisson samples of rate .3: a sum with Gaussian noise in every step."""

import os

import numpy as np

RATE, STEPS = 0.3, 8


def _released(data, rng, chosen):
    return [float(data[chosen(rng.random(len(data)), step)].sum() + rng.normal()) for step in range(STEPS)]


def poisson(data, rng):
    return _released(data, rng, lambda draws, step: draws < RATE)


def first_row_always(data, rng):
    return _released(data, rng, lambda draws, step: (draws < RATE) | (np.arange(len(draws)) == 0))


def all_rows_in_step_five(data, rng):
    return _released(data, rng, lambda draws, step: (draws < RATE) | (step == 4))


def all_or_none(data, rng):
    return _released(data, rng, lambda draws, step: np.full(len(draws), draws[:1].min(initial=1) < RATE))


def row_by_row(data, rng):
    sums = []
    for _ in range(STEPS):
        sums.append(float(sum(row for row in data if rng.random() < RATE) + rng.normal()))
    return sums


def smallest_noise(data, rng):
    noise = [rng.laplace() for _ in range(5)]
    return data.sum() + min(noise, key=abs)


def ends_on_high(data, rng):
    if data[-1] > 0.9:
        os._exit(1)
    return data.sum() + rng.laplace()
