"""Estimates from training scores of how often later scores will exceed each threshold.

Scores that are log-likelihood ratios imply these rates (`likelihood_rates`).  For learned scores there are
two estimates.  `counted_rates` assumes nothing, but the best of many thresholds is biased upwards, so choices
among them are judged at a small risk.  `modelled_rates` fits one logistic curve of the side on the score and
weights every training run by it: little selection bias, and correct where scores are log-likelihood ratios
up to scale.  All of this only plans; other runs certify.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dpaccount.noise.samplers import Floats

CUTS = 400  #: thresholds tried on training runs
CAREFUL = 1e-3  #: the risk at which choices by counts are judged
SPREAD = 20.0  #: standardised scores are clipped to ± this
CLIPPED_AT = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0)  #: quantiles at which curves are clipped
CLIPPING = 2.0  #: log-likelihood that a curve must gain for each end at which it is clipped
GROUPS = 128  #: groups of scores to which curves are fitted


@dataclass(frozen=True)
class Rates:
    """Chances of two events for every cut: score ≥ cut, for the left, and score ≤ cut, for the right.

    A row for each event: `hits` on its own side, `alarms` on the other.
    """

    hits: Floats
    alarms: Floats


def cuts_of(left: Floats, right: Floats, most: int = CUTS) -> Floats:
    """Return thresholds worth trying: all scores, or quantiles that are denser towards both ends."""
    pooled = np.unique(np.concatenate([left, right]))
    if len(pooled) > most:
        tail = np.geomspace(1 / len(pooled), 0.1, most // 4)
        ranks = np.concatenate([np.linspace(0, 1, most // 2), tail, 1 - tail])
        pooled = np.unique(np.quantile(pooled, ranks, method="nearest"))
    return pooled


def counts_at_or_above(scores: Floats, cuts: Floats) -> NDArray[np.int64]:
    """Return how many scores are at or above each cut."""
    return len(scores) - np.searchsorted(np.sort(scores), cuts, side="left")


def counted_rates(left: Floats, right: Floats, cuts: Floats) -> Rates:
    """Return the observed rates, with half a wrong guess added so that a count of 0 is not a rate of 0."""
    above = [counts_at_or_above(side, cuts) for side in (left, right)]
    below = [counts_at_or_above(-side, -cuts) for side in (right, left)]
    sizes = np.array([[len(left) + 1], [len(right) + 1]])
    hits, alarms = np.stack([above[0], below[0]]), np.stack([above[1], below[1]])
    return Rates(hits / sizes, (alarms + 0.5) / sizes[::-1])


def modelled_rates(left: Floats, right: Floats, cuts: Floats) -> Rates:
    """Return the rates under a logistic curve in the score, clipped at two of its quantiles.

    The log-likelihood ratio of Gaussian noise is linear, that of Laplace noise is linear between two points
    and constant beyond, and that of an event is a step.  The likelihood chooses (Akaike 1974).
    """
    pooled = np.concatenate([left, right])
    deviations = pooled - np.median(pooled)
    size = float(np.quantile(np.abs(deviations), 0.8)) or float(np.abs(deviations).max()) or 1.0
    x = np.clip(deviations / size, -SPREAD, SPREAD)
    # A straight line shows .55 of ε for Laplace noise in a thousand runs a side, a clipped one .75.
    ends = np.unique(np.quantile(x, CLIPPED_AT, method="nearest"))
    low, high = np.array([*combinations(ends, 2)] or [(ends[0], ends[0])]).T
    groups = np.unique(np.quantile(x, np.linspace(0, 1, GROUPS + 1)[1:], method="nearest"))
    place = np.searchsorted(groups, x)
    sides = [np.bincount(part, minlength=len(groups)) for part in (place[: len(left)], place[len(left) :])]
    runs = sides[0] + sides[1]
    known = np.clip(np.bincount(place, x) / np.maximum(runs, 1), low[:, None], high[:, None])
    middle = (known @ runs / len(x))[:, None]
    spread = np.sqrt((known - middle) ** 2 @ runs / len(x))[:, None]
    spread[spread == 0] = 1.0
    known = (known - middle) / spread
    base, slope = np.full((len(low), 1), np.log(len(left) / len(right))), np.zeros((len(low), 1))
    for _ in range(12):
        chance = 1 / (1 + np.exp(-np.clip(base + slope * known, -40, 40)))
        miss, weight = sides[0] - runs * chance, runs * chance * (1 - chance) + 1e-9
        total = weight.sum(axis=1, keepdims=True)
        steps = (miss * known).sum(axis=1, keepdims=True) - 0.01 * slope
        slope += np.clip(steps / ((weight * known**2).sum(axis=1, keepdims=True) + 0.01), -1, 1)
        base += np.clip(miss.sum(axis=1, keepdims=True) / total, -1, 1)
    odds = base + slope * known
    likelihood = -(np.logaddexp(0, -odds) @ sides[0] + np.logaddexp(0, odds) @ sides[1])
    best = int(np.argmax(likelihood - CLIPPING * ((low > ends[0]) * 1 + (high < ends[-1]))))
    standard = (np.clip(x, low[best], high[best]) - middle[best]) / spread[best]
    return _weighted_rates(pooled, base[best] + slope[best] * standard, cuts)


def likelihood_rates(left: Floats, right: Floats, cuts: Floats) -> Rates:
    """Return the rates if scores are log-likelihood ratios and both sides are equally likely.

    Every training run then informs both sides: a score s is from the left with probability 1/(1+e⁻ˢ).
    """
    pooled = np.concatenate([left, right])
    return _weighted_rates(pooled, pooled, cuts)


def _weighted_rates(pooled: Floats, odds: Floats, cuts: Floats) -> Rates:
    """Return the rates from runs that are on the left with these log-odds."""
    chance = 1 / (1 + np.exp(-np.clip(odds, -40, 40)))
    order = np.argsort(pooled)
    weights = np.stack([chance[order], 1 - chance[order]])
    below = np.concatenate([np.zeros((2, 1)), np.cumsum(weights, axis=1)], axis=1)
    below /= below[:, -1:]
    first = np.searchsorted(pooled[order], cuts, side="left")
    after = np.searchsorted(pooled[order], cuts, side="right")
    hits, alarms = (np.stack([1 - below[k, first], below[1 - k, after]]) for k in (0, 1))
    return Rates(hits, alarms)


def effective_runs(runs: int, trained: int) -> int:
    """Return how many runs to judge a choice by: training counts err too (harmonic sum of both numbers)."""
    return max(runs * trained // (runs + trained), 1)
