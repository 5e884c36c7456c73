"""Sums of samples with Gaussian noise, in eight steps: of Poisson samples of rate .3, and of others."""

import os

import numpy as np

RATE, STEPS = 0.3, 8
OTHER = np.random.default_rng(7)


def _released(data, rng, chosen):
    sums = []
    for step in range(STEPS):
        chosen_rows = data[chosen(rng.random(len(data)), step)]
        sums.append(float(chosen_rows.sum() + rng.normal()))
    return sums


def poisson(data, rng):
    return _released(data, rng, lambda draws, step: draws < RATE)


def first_row_always(data, rng):
    return _released(data, rng, lambda draws, step: (draws < RATE) | (np.arange(len(draws)) == 0))


def all_rows_in_step_five(data, rng):
    return _released(data, rng, lambda draws, step: (draws < RATE) | (step == 4))


def all_or_none(data, rng):
    return _released(data, rng, lambda draws, step: np.repeat(draws[:1] < RATE, len(draws)))


def row_by_row(data, rng):
    return [float(sum(x for x in data if rng.random() < RATE) + rng.normal()) for _ in range(STEPS)]


def smallest_noise(data, rng):
    noise = [rng.laplace() for _ in range(5)]
    return data.sum() + min(noise, key=abs)


def ends_on_high(data, rng):
    if data[-1] > 0.9:
        os._exit(1)
    return data.sum() + rng.laplace()


def noise_twice(data, rng):
    samples = [data[rng.random(len(data)) < 0.5] for _ in range(4)]
    return [float(rows.sum() + rng.normal()) for rows in samples for _ in range(2)]


def other_generator(data, rng):
    samples = [data[OTHER.random(len(data)) < 0.5] for _ in range(4)]
    return [float(rows.sum() + rng.normal()) for rows in samples]
