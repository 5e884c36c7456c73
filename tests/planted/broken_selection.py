"""Choosing among candidates: noisy maxima and the exponential mechanism, right and wrong.

The records are rows of 0 and 1, one column a candidate; scores are column sums, of sensitivity 1,
not monotone under replacement.  All claim ε = 1.
"""

import numpy as np
from numpy.typing import NDArray

Data = NDArray[np.int64]


def noisy_max(data: Data, rng: np.random.Generator) -> int:
    """Report-noisy-max with Laplace noise of scale 2/ε: the index alone (Dwork & Roth 2014).  Sound."""
    return int(np.argmax(data.sum(axis=0) + rng.laplace(0, 2.0, data.shape[1])))


def noisy_max_half(data: Data, rng: np.random.Generator) -> int:
    """Report-noisy-max with scale 1/ε: the factor 2 for scores that are not monotone is missing."""
    return int(np.argmax(data.sum(axis=0) + rng.laplace(0, 0.5, data.shape[1])))


def noisy_max_value(data: Data, rng: np.random.Generator) -> float:
    """Show the maximum instead of its index (Ding et al. 2018, NoisyMax 1b)."""
    return round(float(np.max(data.sum(axis=0) + rng.laplace(0, 1.0, data.shape[1]))), 2)


def noisy_max_exponential_value(data: Data, rng: np.random.Generator) -> float:
    """Show the maximum with one-sided noise (Ding et al. 2018, NoisyMax 2b)."""
    return round(float(np.max(data.sum(axis=0) + rng.exponential(2.0, data.shape[1]))), 2)


def exponential(data: Data, rng: np.random.Generator) -> int:
    """Choose with probability proportional to exp(ε·score/2) (McSherry & Talwar 2007).  Sound."""
    return _chosen(data, rng, 0.5)


def exponential_twice(data: Data, rng: np.random.Generator) -> int:
    """Choose with exp(ε·score): the factor 2 of the normalisation is missing."""
    return _chosen(data, rng, 1.0)


def permute_and_flip(data: Data, rng: np.random.Generator) -> int:
    """Permute-and-flip (McKenna & Sheldon 2020).  Sound."""
    scores = data.sum(axis=0)
    for candidate in rng.permutation(len(scores)):
        if rng.random() <= np.exp((scores[candidate] - scores.max()) / 2):
            return int(candidate)
    return int(np.argmax(scores))


def _chosen(data: Data, rng: np.random.Generator, factor: float) -> int:
    scores = data.sum(axis=0)
    weights = np.exp(factor * (scores - scores.max()))
    return int(rng.choice(len(scores), p=weights / weights.sum()))
