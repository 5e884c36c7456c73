"""DP-SGD in NumPy on rows of two numbers in [-1, 1]: correct, and with planted bugs.

Under add-remove: Poisson samples at rate .3, clipping at 1, Gaussian noise of σ = 2, eight steps of linear
regression through the origin.
"""

import numpy as np

RATE, CLIP, SIGMA, STEPS, EXPECTED = 0.3, 1.0, 2.0, 8, 3


def train(data, rng, *, clip="record", sigma=SIGMA, fresh=True, divide="expected"):
    weights = np.zeros(1)
    noise = None
    for _ in range(STEPS):
        batch = data[rng.random(len(data)) < RATE]
        gradients = (batch[:, :1] @ weights[:, None] - 3 * batch[:, 1:]) * batch[:, :1]
        if clip == "record":
            norms = np.maximum(np.abs(gradients) / CLIP, 1)
            total = (gradients / norms).sum(axis=0)
        elif clip == "batch":
            total = gradients.sum(axis=0)
            total = total / max(np.linalg.norm(total) / (CLIP * max(len(batch), 1)), 1)
        else:
            total = gradients.sum(axis=0)
        if fresh or noise is None:
            noise = sigma * CLIP * rng.normal(size=1)
        divisor = EXPECTED if divide == "expected" else max(len(batch), 1)
        weights = weights - (total + noise) / divisor
    return weights


def correct(data, rng):
    return train(data, rng)


def no_clipping(data, rng):
    return train(data, rng, clip=None)


def clipping_by_batch(data, rng):
    return train(data, rng, clip="batch")


def one_noise(data, rng):
    return train(data, rng, fresh=False)


def real_batch_size(data, rng):
    return train(data, rng, divide="real")


def half_the_noise(data, rng):
    return train(data, rng, sigma=SIGMA / 2)
