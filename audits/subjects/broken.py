"""Mechanisms to try an audit on: four that break their claim, each by another mistake, and two that keep it.

Users see by them what a refutation looks like and how many runs it takes.  They are plain functions
``f(data, rng)`` with NumPy's noise: something to attack, nothing to release with.  What each claims is in
`audits.subjects.catalogue`; the audits themselves are tested on many more (`tests/planted/broken_*.py`).

A file of its own, with nothing but NumPy, since the processes that run a function import its module.
"""

import numpy as np
from numpy.typing import NDArray

Data = NDArray[np.int64]
THRESHOLD, MOST_POSITIVES = 5, 2  #: of the sparse vector technique


def geometric(rng: np.random.Generator, scale: float, size: int | None = None) -> NDArray[np.int64]:
    """Return two-sided geometric noise: integers k with weight exp(−|k|/scale) (Ghosh et al. 2009)."""
    p = 1 - np.exp(-1 / scale)
    return np.asarray(rng.geometric(p, size) - rng.geometric(p, size))


def geometric_count(data: Data, rng: np.random.Generator) -> int:
    """Count the ones with two-sided geometric noise.  Sound."""
    return int(data.sum() + geometric(rng, 1.0))


def fixed_seed(data: Data, rng: np.random.Generator) -> int:
    """Draw from a generator with a fixed seed."""
    return int(data.sum() + geometric(np.random.default_rng(20240101), 1.0))


def floating_laplace(data: NDArray[np.float64], rng: np.random.Generator) -> float:
    """Add Laplace noise in floating point: low bits show what was added to (Mironov 2012)."""
    return float(np.clip(data, 0, 1).sum() + rng.laplace(0, 1.0))


def histogram_half(data: Data, rng: np.random.Generator) -> NDArray[np.int64]:
    """Take scale 1, right under add-remove, claimed under replace-one."""
    return np.bincount(data, minlength=4)[:4] + geometric(rng, 1.0, 4)


def svt_1(data: Data, rng: np.random.Generator) -> list[bool]:
    """Algorithm 1, theirs: threshold noise 2/ε, query noise 4c/ε.  Sound."""
    return _above(data, rng, query=4.0 * MOST_POSITIVES, most=MOST_POSITIVES)


def svt_5(data: Data, rng: np.random.Generator) -> list[bool]:
    """Algorithm 5 (Stoddard et al. 2014): no noise on queries, no limit on positives."""
    return _above(data, rng, query=0.0, most=1000)


def _above(data: Data, rng: np.random.Generator, *, query: float, most: int) -> list[bool]:
    """Compare column sums with a noisy threshold, as Lyu, Su & Li 2017 write it (Figure 1)."""
    threshold = THRESHOLD + rng.laplace(0, 2.0)
    shown: list[bool] = []
    for value in data.sum(axis=0):
        shown.append(bool(value + (rng.laplace(0, query) if query else 0.0) >= threshold))
        if sum(shown) >= most:
            break
    return shown
