"""Functions to trace: sound ones, and broken twins of them."""

import math
import random

import numpy as np
from numpy.random import laplace as unseen  # noqa: F401  # imported by name, it is not followed

MADE = np.random.default_rng()
P = 1 - math.exp(-1.0)


def counts(data):
    return np.array([(data == k).sum() for k in range(4)])


# ------------------------------------------------------------------ sound at ε = 1 (Laplace) or μ = 1, 0 to 3


def count(data, rng):
    return int((data > 1).sum() + rng.geometric(P) - rng.geometric(P))


def total(data, rng):
    return float(data.sum()) + rng.laplace(scale=3)


def located(data, rng):
    return rng.laplace(data.sum(), 3.0)


def own_noise(data):
    return data.sum() + 3 * np.random.laplace()  # noqa: NPY002


def standard_library(data):
    return float(data.sum()) + random.gauss(0, 3.0)


def in_place(data, rng):
    released = counts(data).astype(float)
    released += rng.normal(0, math.sqrt(2), 4)
    return released


def histogram(data, rng):
    return counts(data) + rng.laplace(scale=2, size=4)


def noisy_max(data, rng):
    return int(np.argmax(counts(data) + rng.laplace(scale=2, size=4)))


def two_halves(data, rng):
    return [data.sum() + rng.laplace(scale=6), data.sum() + rng.laplace(scale=6)]


def response(data, rng):
    return [int(value) if rng.random() < 0.7 else 0 for value in data]


# ------------------------------------------------------------------ sound, by more than composition


def above_threshold(data, rng):
    threshold, said = 30 + rng.laplace(scale=2), []
    for k in range(8):
        said.append([k, bool((data > k / 3).sum() + rng.laplace(scale=4) >= threshold)])
        if said[-1][1]:
            break
    return said


def winner_and_others(data, rng):
    best = int(np.argmax((data > 1).sum() + np.arange(4) + rng.laplace(scale=2, size=4)))
    return [(best + k) % 4 for k in range(4)]


# ------------------------------------------------------------------ sound, and not followed: noise with an offset


def from_zero(data, rng):
    return int((data > 1).sum() + ((rng.geometric(P) - 1) - (rng.geometric(P) - 1)))


def offset(data, rng):
    return float(data.sum()) + (rng.laplace(scale=3) + 0.5)


def located_offset(data, rng):
    return float(data.sum()) + rng.laplace(0.5, 3.0)


def whole(data, rng):
    return int((data > 1).sum()) + int(rng.geometric(P) - 1) - int(rng.geometric(P) - 1)


# ------------------------------------------------------------------ noise that is computed with


def added_to_the_noise(data, rng):
    out = rng.laplace(scale=2, size=4)
    out += counts(data)
    return out


def scaled_elsewhere(data, rng):
    noise = rng.laplace(scale=3)
    _width = noise * 0.01
    return data.sum() + noise


def two_laplace(data, rng):
    return data.sum() + (rng.laplace(scale=0.1) + rng.laplace(scale=3))


def small_beside_large(data, rng):
    noise = rng.laplace(scale=0.03)
    _width = noise * 100
    return data.sum() + noise


def difference_unused(data, rng):
    one, other = rng.exponential(3), rng.exponential(3)
    _difference = one - other
    return data.sum() + one


def without_its_noise(data, rng):
    noise = rng.laplace(scale=3, size=3)
    noise[:] = 0
    return data.sum() + noise


def noise_alone(data, rng):
    noise = rng.laplace(scale=3)
    return data.sum() + noise if data.max() > 2 else noise


def shuffled(data, rng):
    order = np.arange(len(data))
    rng.shuffle(order)
    return data[order[:4]].sum() + rng.laplace(scale=7)


def permuted(data, rng):
    return data[rng.permutation(len(data))[:4]].sum() + rng.laplace(scale=7)


def chosen(data, rng):
    return data[rng.choice(len(data), 4, replace=False)].sum() + rng.laplace(scale=7)


def shuffle(data):
    random.shuffle(data)
    return data


def by_position(data, rng):
    return [data[k::8].sum() + rng.normal(0, 1) for k in range(8)]


def in_order(data, rng):
    order = rng.permutation(len(data))
    return [data[order[k::8]].sum() + rng.normal(0, 1) for k in range(8)]


# ------------------------------------------------------------------ broken


def small_scale(data, rng):
    return float(data.sum()) + rng.laplace(scale=2)


def small_located(data, rng):
    return rng.laplace(data.sum(), 2.0)


def divided(data, rng):
    return data.sum() + rng.laplace(scale=6) / 3


def histogram_of_one(data, rng):
    return counts(data) + rng.laplace(scale=1, size=4)


def both_whole(data, rng):
    return [data.sum() + rng.laplace(scale=3), data.sum() + rng.laplace(scale=3)]


def both_rounded(data, rng):
    return [round(float(each)) for each in both_whole(data, rng)]


def small_gauss(data):
    return float(data.sum()) + random.gauss(0, 1.0)


def fixed(data, rng):
    return data.sum() + np.random.default_rng(7).laplace(scale=3)


def one_noise(data, rng):
    noise = rng.laplace(scale=30)
    return [data.sum() + noise, data.max() + noise]


def spread_scale(data, rng):
    return data.sum() + rng.laplace(scale=3 + data.max())


def sometimes(data, rng):
    return data.sum() + rng.laplace(scale=3) if data.max() > 2 else float(0)


def in_the_clear(data, rng):
    return [data.sum() + rng.laplace(scale=3), float(data.max())]


def clear_beside_a_count(data, rng):
    return [(data > 1).sum() + rng.laplace(scale=1), float(data.max())]


def raises(data, rng):
    raise ValueError("no")


# ------------------------------------------------------------------ two layers of two numbers each, rows cut to 1


def layers(data):
    return (data / np.maximum(np.linalg.norm(data, axis=1, keepdims=True), 1)).sum(axis=0)


def one_draw_for_two_layers(data, rng):
    return layers(data) + np.tile(rng.normal(size=2), 2)


def one_draw_added_twice(data, rng):
    both, noise = layers(data), rng.normal(size=2)
    return np.concatenate([both[:2] + noise, both[2:] + noise])


def a_draw_for_each_layer(data, rng):
    return layers(data) + rng.normal(size=4)
