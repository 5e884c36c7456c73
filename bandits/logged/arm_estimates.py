"""Estimates from noisy sums and counts by arm: means, intervals, the best arm, a check of shares.

Everything here reads releases and public numbers only.  A sum S of 2y − 1 and a count K, both with noise of
deviation σ, give Y = (S + K)/2 successes.  For a mean θ, Y − θK = S/2 + (½ − θ)K has the variance
Kθ(1 − θ) + σ²(¼ + (½ − θ)²): sampling (at most; a reward that is a number varies less) and privacy noise.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bandits.statistics.arrays import Floats

LEVEL: Final = 0.95  #: of intervals
Z: Final = NormalDist().inv_cdf((1 + LEVEL) / 2)
FALSE_WARNINGS: Final = 0.002  #: how often true shares are called wrong, at most


def mean_of(sums: Floats, counts: Floats) -> Floats:
    """Return the mean rewards, within [0, 1]; ½ where the count is below 1."""
    known = counts >= 1
    means: Floats = np.where(known, (sums + counts) / 2 / np.where(known, counts, 1), 0.5)
    return np.clip(means, 0.0, 1.0)


def above_noise(counts: Floats, sigma: float) -> NDArray[np.bool_]:
    """Return which counts are above the noise: for the others the `interval` is all of [0, 1]."""
    return (counts > 0) & (counts**2 + Z**2 * (np.maximum(counts, 0) - sigma**2) > 0)


def noise_variance(mean: Floats, counts: Floats, sigma: float) -> Floats:
    """Return the variance of means for the privacy noise."""
    return sigma**2 * (0.25 + (0.5 - mean) ** 2) / np.maximum(counts, 1.0) ** 2


def sampling_variance(mean: Floats, counts: Floats) -> Floats:
    """Return the variance of means for who was in the trial, at most; 0 and 1 are not taken for sure."""
    known = np.maximum(counts, 1.0)
    shrunk = (mean * known + 1) / (known + 2)
    return shrunk * (1 - shrunk) / known


def interval(total: float, count: float, sigma: float) -> tuple[float, float]:
    """Return where the mean lies, noise and sampling together: all θ with |Y − θK| within z deviations.

    A quadratic in θ, as Wilson 1927 has it for proportions and Fieller 1954 for quotients; [0, 1] where
    the noise drowns the count.
    """
    z2, ups, people = Z**2, (total + count) / 2, max(count, 0.0)
    square = count**2 + z2 * (people - sigma**2)
    linear = -2 * ups * count - z2 * (people - sigma**2)
    constant = ups**2 - z2 * sigma**2 / 2
    root = linear**2 - 4 * square * constant
    if count <= 0 or square <= 0 or root < 0:
        return 0.0, 1.0
    ends = ((-linear + side * sqrt(root)) / (2 * square) for side in (-1, 1))
    low, high = (min(max(end, 0.0), 1.0) for end in ends)
    return low, high


def table(arms: Sequence[str], sums: Floats, counts: Floats, sigma: float) -> dict[str, dict[str, float]]:
    """Return each arm's mean and interval, to six digits, the interval rounded outwards."""
    means = mean_of(sums, counts)
    rows = {}
    for at, arm in enumerate(arms):
        low, high = interval(float(sums[at]), float(counts[at]), sigma)
        ends = {"low": floor(low * 1e6) / 1e6, "high": ceil(high * 1e6) / 1e6}
        rows[arm] = {"mean": round(float(means[at]), 6), **ends}
    return rows


def chance_of_best(means: Floats, deviations: Floats) -> Floats:
    """Return how likely each arm is the best, its mean being normal about `means`, independently."""
    from scipy.special import ndtr

    wide = np.maximum(deviations, 1e-12)
    points = np.linspace(-6, 6, 601)
    weight = np.exp(-(points**2) / 2)
    weight /= weight.sum()
    at = means[:, None, None] + wide[:, None, None] * points  # [arm, other, point]
    beaten = ndtr((at - means[:, None]) / wide[:, None])
    beaten[np.diag_indices(len(means))] = 1.0
    chances = (weight * beaten.prod(axis=1)).sum(axis=1)
    return chances / chances.sum()


def share_warning(
    logged: Floats, noise: float, declared: Sequence[Fraction], arms: Sequence[str]
) -> str | None:
    """Return which declared shares the noisy counts of all records by arm contradict, in words, or None.

    `logged` are the counts, each with noise of variance `noise`.  An arm's count, less its share of the
    whole, is compared with its deviation; true shares are called wrong at most twice in a thousand logs.
    """
    shares = np.array([float(share) for share in declared])
    total = float(logged.sum())
    if total <= 0:
        return None
    spread = (1 - shares) ** 2 + shares**2 * (len(shares) - 1)
    deviation = np.sqrt(total * shares * (1 - shares) + noise * spread)
    far = np.abs(logged - total * shares) / np.maximum(deviation, 1e-12)
    # Bonferroni over the arms, and both sides of each.
    limit = NormalDist().inv_cdf(1 - FALSE_WARNINGS / (2 * len(shares)))
    wrong = [
        f"{arm} was logged for {logged[a] / total:.1%} ± {deviation[a] / total:.1%}, declared {shares[a]:.1%}"
        for a, arm in enumerate(arms)
        if far[a] > limit
    ]
    return "; ".join(wrong) or None
