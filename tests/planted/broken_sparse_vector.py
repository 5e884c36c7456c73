"""The sparse vector technique as published: Algorithms 2, 3, 4 and 6 of Lyu, Su & Li (VLDB 2017), Figure 1.

The records are rows of 0 and 1, one column a query; a query is its column's sum, of sensitivity 1,
compared with the threshold `T`.  All but Algorithm 3 claim ε = `E`, those with a limit at `C` positives.
Algorithms 1 and 5 are in `audits.subjects.broken`.
"""

import numpy as np
from numpy.typing import NDArray

Data = NDArray[np.int64]
T, E, C = 5, 1.0, 2


def alg2(data: Data, rng: np.random.Generator) -> list[bool]:
    """Algorithm 2 (Dwork & Roth 2014): threshold noise 2c/ε, drawn anew after each positive.  Sound."""
    return _answers(data, rng, threshold=2 * C / E, query=4 * C / E, refresh=2 * C / E, most=C)


def alg3(data: Data, rng: np.random.Generator) -> list[float]:
    """Algorithm 3 (Roth's lecture notes 2011), c = 1, ε = 2: a positive shows the noisy value."""
    noisy_threshold = T + rng.laplace(0, 1.0)
    shown: list[float] = []
    for value in data.sum(axis=0):
        noisy = value + rng.laplace(0, 1.0)
        shown.append(round(float(noisy), 2) if noisy >= noisy_threshold else -1000.0)
        if noisy >= noisy_threshold:
            break
    return shown


def alg4(data: Data, rng: np.random.Generator) -> list[bool]:
    """Algorithm 4 (Lee & Clifton 2014): query noise 4/(3ε), whatever the number of positives."""
    return _answers(data, rng, threshold=4 / E, query=4 / (3 * E), refresh=0.0, most=5)


def alg6(data: Data, rng: np.random.Generator) -> list[bool]:
    """Algorithm 6 (Chen et al. 2015): query noise 2/ε, no limit on positives."""
    return _answers(data, rng, threshold=2 / E, query=2 / E, refresh=0.0, most=1000)


def _answers(
    data: Data, rng: np.random.Generator, *, threshold: float, query: float, refresh: float, most: int
) -> list[bool]:
    noisy_threshold = T + rng.laplace(0, threshold)
    shown: list[bool] = []
    for value in data.sum(axis=0):
        above = bool(value + (rng.laplace(0, query) if query else 0.0) >= noisy_threshold)
        shown.append(above)
        if sum(shown) >= most:
            break
        if above and refresh:
            noisy_threshold = T + rng.laplace(0, refresh)
    return shown
