"""What training scores say about the runs to come: how often a score will be beyond a threshold.

Where scores are log-likelihood ratios, they say it themselves.  Where they were learned, two estimates.
Counts assume nothing, and the luckiest of many thresholds looks better than it is, so choices among
them are judged at a small risk.  The other fits one logistic curve to which side a score is on and
weighs every training run by it: hardly any luck, right where scores are log-likelihood ratios up to
scale.  All of this only plans; other runs certify.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CUTS = 400  #: thresholds tried on training runs
CAREFUL = 1e-3  #: the risk at which counts must be good
SPREAD = 20.0  #: scores further out, in typical sizes, count like this


@dataclass(frozen=True)
class Rates:
    """Chances for every cut: score ≥ cut on the left and on the right, score ≤ cut on the right and left."""

    left: Floats
    not_left: Floats
    right: Floats
    not_right: Floats


def cuts_of(held: Floats, out: Floats, most: int = CUTS) -> Floats:
    """Return thresholds worth trying: all scores, or quantiles that are denser towards both ends."""
    pooled = np.unique(np.concatenate([held, out]))
    if len(pooled) > most:
        tail = np.geomspace(1 / len(pooled), 0.1, most // 4)
        ranks = np.concatenate([np.linspace(0, 1, most // 2), tail, 1 - tail])
        pooled = np.unique(np.quantile(pooled, ranks, method="nearest"))
    return pooled


def reaching(scores: Floats, cuts: Floats) -> NDArray[np.int64]:
    """Return how many scores are at or above each cut."""
    return len(scores) - np.searchsorted(np.sort(scores), cuts, side="left")


def counted(held: Floats, out: Floats, cuts: Floats) -> Rates:
    """Return the rates that were seen; half a wrong guess more, so that an empty count is no certainty."""
    n, m = len(held) + 1, len(out) + 1
    return Rates(
        reaching(held, cuts) / n,
        (reaching(out, cuts) + 0.5) / m,
        reaching(-out, -cuts) / m,
        (reaching(-held, -cuts) + 0.5) / n,
    )


def modelled(held: Floats, out: Floats, cuts: Floats) -> Rates:
    """Return the rates under a logistic curve in the score."""
    pooled = np.concatenate([held, out])
    place = np.median(pooled)
    size = float(np.quantile(np.abs(pooled - place), 0.8)) or float(np.abs(pooled - place).max()) or 1.0
    x = np.clip((pooled - place) / size, -SPREAD, SPREAD)
    sides = np.repeat([1.0, 0.0], [len(held), len(out)])
    base, slope = np.log(len(held) / len(out)), 0.0
    for _ in range(12):
        chance = 1 / (1 + np.exp(-np.clip(base + slope * x, -40, 40)))
        weight = chance * (1 - chance) + 1e-9
        pull, curve = ((sides - chance) * x).sum() - 0.01 * slope, (weight * x * x).sum() + 0.01
        slope += float(np.clip(pull / curve, -1, 1))
        base += float(np.clip((sides - chance).sum() / weight.sum(), -1, 1))
    return _weighed(pooled, base + slope * x, cuts)


def weighed(held: Floats, out: Floats, cuts: Floats) -> Rates:
    """Return the rates where scores are log-likelihood ratios, and either side as likely as the other.

    Every training run then tells about both sides: a score s is from the left with chance 1/(1+e⁻ˢ).
    """
    pooled = np.concatenate([held, out])
    return _weighed(pooled, pooled, cuts)


def _weighed(pooled: Floats, odds: Floats, cuts: Floats) -> Rates:
    chance = 1 / (1 + np.exp(-np.clip(odds, -40, 40)))
    order = np.argsort(pooled)
    weights = np.stack([chance[order], 1 - chance[order]])
    below = np.concatenate([np.zeros((2, 1)), np.cumsum(weights, axis=1)], axis=1)
    below /= below[:, -1:]
    first = np.searchsorted(pooled[order], cuts, side="left")
    after = np.searchsorted(pooled[order], cuts, side="right")
    return Rates(1 - below[0, first], 1 - below[1, first], below[1, after], below[0, after])


def fewer(runs: int, trained: int) -> int:
    """Return the runs at whose bound to judge a choice: training counts err as much as those to come."""
    return max(runs * trained // (runs + trained), 1)
