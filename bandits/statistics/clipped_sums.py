"""Sums of clipped residuals, spread over directions, and what their noisy release says of a linear model.

A person's residual y − ŷ is clipped at ±C and spread over a direction g of norm at most 1.  The sum
r = Σ g·clip(y − ŷ, ±C), in units of C and with noise, is a linear observation of the weights θ of y = φᵀθ.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import erf, exp, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from bandits.statistics.arrays import Floats, Integers
from mechanisms.shared import grid

OPTIONS = (0.3, 0.03, 0.1, 1.0)  #: of a reward's deviation about its mean; the first one until more is known
CONTRIBUTION_BITS = 24  #: contributions lie on multiples of 2^−24, in units of the clip C


@dataclass(frozen=True)
class Clip:
    """A clip at ±`bound`, its mean slope, and the variance of what it leaves of a residual."""

    bound: float
    slope: float
    variance: float

    def rest(self, unsure: float) -> float:
        """Return what predictions of variance `unsure` leave of the variance: v − κ²·unsure, at least v/5."""
        return max(self.variance - self.slope**2 * unsure, 0.2 * self.variance)


def clip_at(bound: float, width: float) -> Clip:
    """Return the clip of normal residuals of deviation `width` at ±`bound`."""
    return Clip(bound, erf(bound / (width * sqrt(2))), clipped_variance(bound / width) * width**2)


def clipped_variance(c: float) -> float:
    """Return E clip(Z, ±c)² of a standard normal Z: erf(c/√2) − 2cφ(c) + c²(1 − erf(c/√2))."""
    inside = erf(c / sqrt(2))
    return inside - 2 * c * exp(-(c**2) / 2) / sqrt(2 * pi) + c**2 * (1 - inside)


BOUNDS = np.geomspace(0.1, 3, 40)  #: clips to choose from, in units of the deviation
SLOPES = np.array([erf(c / sqrt(2)) for c in BOUNDS])
VARIANCES = np.array([clipped_variance(c) for c in BOUNDS])


def best_clip(width: float, noise: float, typical: float) -> Clip:
    """Return the clip of residuals of deviation `width` that leaves the least variance a slope.

    `noise` is the deviation of a released number in units of the clip and `typical` an eigenvalue of
    Σ ggᵀ: (C²·noise² + v(C)·typical)/κ(C)², v the clipped variance and κ = erf(C/(width·√2)).
    """
    cost = (BOUNDS**2 * noise**2 + VARIANCES * typical) / SLOPES**2  # in units of the width
    return clip_at(width * float(BOUNDS[np.argmin(cost)]), width)


def contributions(
    directions: Floats, residual: Floats, bound: float, answered: NDArray[np.bool_]
) -> Integers:
    """Return the exact sum of g·clip(residual, ±C)/C in grid units; each person's has norm at most 1.

    A reward that is no number has the residual of 0.  Who did not answer adds zero.
    """
    within = np.where(answered, np.clip(residual / bound, -1, 1), 0.0)
    return grid.in_ball(directions * within[:, None], Fraction(1), CONTRIBUTION_BITS).sum(0)


def typical(matrix: Floats) -> float:
    """Return a typical eigenvalue of a symmetric matrix, Σλ²/Σλ."""
    return float((matrix**2).sum() / np.trace(matrix))


class RewardNoise:
    """A reward's standard deviation about its mean: as known, or the likeliest of `OPTIONS` by releases."""

    def __init__(self, known: float | None) -> None:
        self.value = OPTIONS[0] if known is None else known
        # an option a factor e away from the first is e^−2 times as likely before anything is known
        self._likely = -2 * np.log(np.array(OPTIONS) / OPTIONS[0]) ** 2
        self.estimated = known is None

    def tell(self, beyond: Floats, rest: Floats, gram: Floats, bound: float, unsure: float) -> None:
        """Weigh what a row has `beyond` its prediction: N(0, `rest` + v/C²·Σggᵀ), v the rewards' as clipped.

        `gram` is Σggᵀ, `bound` the clip C and `unsure` the variance of what was predicted.
        """
        for place, option in enumerate(OPTIONS):
            own = clip_at(bound, sqrt(option**2 + unsure)).rest(unsure)
            law = rest + own / bound**2 * gram
            self._likely[place] -= (beyond @ np.linalg.solve(law, beyond) + np.linalg.slogdet(law)[1]) / 2
        self.value = OPTIONS[int(np.argmax(self._likely))]
