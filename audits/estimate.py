"""From counts to a lower bound on ε that holds with stated confidence."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bound:
    """ε at `delta` is at least `epsilon_lower`, wrong with probability at most `risk`.

    The event, chosen beforehand, was seen in `hits` of `runs` on one dataset and in `alarms` of
    `other_runs` on its neighbour; `power` and `false_alarm` are one-sided Clopper–Pearson ends, at
    risk/2 each, rounded outward.
    """

    delta: Fraction
    epsilon_lower: float
    risk: Fraction
    hits: int
    runs: int
    alarms: int
    other_runs: int
    power: float
    false_alarm: float
    threshold: float
    direction: str


def clopper_pearson(
    held: Floats, out: Floats, threshold: float, delta: Fraction, risk: Fraction, direction: str
) -> Bound:
    """Return the bound from the event {score ≥ threshold} (Clopper & Pearson 1934).

    With probability at least 1 − risk: P(event | held) ≥ p₁ and P(event | out) ≤ p₂, hence
    e^ε ≥ (p₁ − δ)/p₂.  The threshold must have been fixed before these scores were seen.
    """
    hits, alarms = int((held >= threshold).sum()), int((out >= threshold).sum())
    power = _lower_end(hits, len(held), float(risk) / 2)
    false_alarm = _upper_end(alarms, len(out), float(risk) / 2)
    lower = _epsilon(power, false_alarm, delta)
    return Bound(
        delta, lower, risk, hits, len(held), alarms, len(out), power, false_alarm, threshold, direction
    )


def _epsilon(power: float, false_alarm: float, delta: Fraction) -> float:
    ratio = (Fraction(power) - delta) / Fraction(false_alarm)
    if ratio <= 1:
        return 0.0
    return max(math.log(ratio) * (1 - 1e-12) - 1e-12, 0.0)  # below the exact logarithm: a ulp is 1e-16


def _lower_end(hits: int, runs: int, risk: float) -> float:
    if hits == 0:
        return 0.0
    from scipy.stats import beta

    # one part in 1e9 outward covers the error of scipy's quantile; the checker sums the tail exactly
    return float(beta.ppf(risk, hits, runs - hits + 1)) * (1 - 1e-9)


def _upper_end(hits: int, runs: int, risk: float) -> float:
    if hits == runs:
        return 1.0
    from scipy.stats import beta

    return min(float(beta.ppf(1 - risk, hits + 1, runs - hits)) * (1 + 1e-9), 1.0)


def choose_threshold(held: Floats, out: Floats, delta: Fraction, risk: Fraction) -> float:
    """Return the threshold with the best Clopper–Pearson bound on training scores.

    Candidates are quantiles of both samples; the choice may be poor without harm, since other
    scores certify it.
    """
    pooled = np.unique(np.concatenate([held, out]))
    if len(pooled) > 400:
        pooled = np.unique(
            np.quantile(pooled, np.concatenate([np.linspace(0, 1, 300), 1 - np.geomspace(1e-5, 0.1, 100)]))
        )
    scored = [
        (clopper_pearson(held, out, float(cut), delta, risk, "").epsilon_lower, float(cut)) for cut in pooled
    ]
    best = max(scored)
    if best[0] > 0:
        return best[1]
    gaps = [((held >= cut).mean() - (out >= cut).mean(), float(cut)) for cut in pooled]
    return max(gaps)[1]
