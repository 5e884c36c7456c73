"""Lower bounds on ε with stated confidence, from counts of one event on either side (Clopper & Pearson)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from audits.attack.planning import (
    CAREFUL,
    Floats,
    counted_rates,
    cuts_of,
    effective_runs,
    likelihood_rates,
    modelled_rates,
)

Levels = Callable[[Floats, Floats], Floats]  #: from confidence ends of an event's rates to what they show


@dataclass(frozen=True)
class CountedBound:
    """A bound from counts.

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

    def sentence(self) -> str:
        """Return the evidence in words."""
        return (
            f"score >= {self.threshold!r} on the {self.direction}, seen {self.hits} of {self.runs}"
            f" against {self.alarms} of {self.other_runs}"
        )


@dataclass(frozen=True)
class Threshold:
    """The event {score ≥ cut} on the left, or {−score ≥ cut} on the right."""

    cut: float
    direction: str = "left"

    def measure(self, left: Floats, right: Floats, delta: Fraction, risk: Fraction) -> CountedBound:
        """Return the bound of Clopper and Pearson from the event's counts."""
        if self.direction == "right":
            left, right = -right, -left
        return clopper_pearson(left, right, self.cut, delta, risk, self.direction)


def clopper_pearson(
    left: Floats, right: Floats, threshold: float, delta: Fraction, risk: Fraction, direction: str
) -> CountedBound:
    """Return the bound from the event {score ≥ threshold} (Clopper & Pearson 1934).

    With probability at least 1 − risk: P(event | left) ≥ p₁ and P(event | right) ≤ p₂, hence
    e^ε ≥ (p₁ − δ)/p₂.  The threshold must have been fixed before these scores were seen.
    """
    hits, alarms = int((left >= threshold).sum()), int((right >= threshold).sum())
    power = float(lower_end(hits, len(left), float(risk) / 2))
    false_alarm = float(upper_end(alarms, len(right), float(risk) / 2))
    lower = log_below((Fraction(power) - delta) / Fraction(false_alarm))
    return CountedBound(
        delta, lower, risk, hits, len(left), alarms, len(right), power, false_alarm, threshold, direction
    )


def log_below(ratio: Fraction) -> float:
    """Return a lower bound on ln(ratio), or 0 if that is negative."""
    if ratio <= 1:
        return 0.0
    return max(math.log(ratio) * (1 - 1e-12) - 1e-12, 0.0)  # below the exact logarithm: a ulp is 1e-16


def lower_end(hits: Floats | float, runs: float, risk: float) -> Floats:
    """Return the lower Clopper–Pearson end: the p at which P(`hits` or more) = `risk`; 0 if no hits.

    It is rounded down by one part in 1e9, to cover scipy's error; the checker sums the tail exactly.
    """
    from scipy.special import betaincinv

    some = np.maximum(hits, 1e-9)
    ends: Floats = np.where(np.asarray(hits) > 0, betaincinv(some, runs - some + 1, risk), 0.0)
    return ends * (1 - 1e-9)


def upper_end(hits: Floats | float, runs: float, risk: float) -> Floats:
    """Return the upper Clopper–Pearson end: the p at which P(`hits` or fewer) = `risk`, rounded up."""
    from scipy.special import betainccinv

    few = np.minimum(hits, runs - 1e-9)
    most = np.minimum(betainccinv(few + 1, runs - few, risk) * (1 + 1e-9), 1.0)
    return np.where(np.asarray(hits) < runs, most, 1.0)


def choose_threshold(left: Floats, right: Floats, delta: Fraction, risk: Fraction) -> float:
    """Return the threshold with the best Clopper–Pearson bound on training scores.

    A poor choice does no harm, since other scores certify it.
    """
    return best_threshold(left, right, levels_at(delta), risk, len(left))[0]


def levels_at(delta: Fraction) -> Levels:
    """Return the function from an event's rates on both sides to the ε at `delta` that they imply."""

    def levels(hit: Floats, alarm: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            values: Floats = np.log(np.maximum((hit - float(delta)) / alarm, 1e-12))
        return values

    return levels


def best_threshold(
    left: Floats, right: Floats, levels: Levels, risk: Fraction, runs: int
) -> tuple[float, float]:
    """Return the threshold with the best bound expected of `runs` further runs a side, and a careful bound.

    The second is what observed rates let expect at a small risk; not above 0 if that is no bound.
    """
    cuts = cuts_of(left, right)
    seen = counted_rates(left, right, cuts)
    curve = modelled_rates(left, right, cuts)
    of_curve = _expected(curve.left, curve.not_left, runs, levels, float(risk))
    runs = effective_runs(runs, min(len(left), len(right)))
    counts = _expected(seen.left, seen.not_left, runs, levels, min(float(risk), CAREFUL))
    expected, careful = float(of_curve.max()), float(counts.max())
    if max(expected, careful) <= 0:  # too few runs for a bound: maximise the difference of the rates
        return float(cuts[int(np.argmax(seen.left - seen.not_left))]), careful
    # counts that show more than the curve expects refute the curve
    return float(cuts[int(np.argmax(counts if careful > expected else of_curve))]), careful


def _expected(power: Floats, alarm: Floats, runs: int, levels: Levels, risk: float) -> Floats:
    """Return the bounds that these rates give in `runs` runs a side."""
    return levels(lower_end(runs * power, runs, risk / 2), upper_end(runs * alarm, runs, risk / 2))


def plan_threshold(
    left: Floats, right: Floats, delta: Fraction, risk: Fraction, runs: int
) -> tuple[Threshold, float]:
    """Return the more promising direction's threshold, and the bound on ε expected of it."""
    return plan_event(left, right, levels_at(delta), risk, runs)


def plan_event(
    left_scores: Floats, right_scores: Floats, levels: Levels, risk: Fraction, runs: int
) -> tuple[Threshold, float]:
    """Return the more promising direction's threshold, and the level expected of it."""
    left, of_left = best_threshold(left_scores, right_scores, levels, risk, runs)
    right, of_right = best_threshold(-right_scores, -left_scores, levels, risk, runs)
    if of_left >= of_right:
        return Threshold(left, "left"), of_left
    return Threshold(right, "right"), of_right


def plan_known_threshold(
    left: Floats, right: Floats, delta: Fraction, risk: Fraction, runs: int
) -> tuple[Threshold, float]:
    """Return the event and the bound on ε expected where scores are log-likelihood ratios."""
    return plan_known_event(left, right, levels_at(delta), risk, runs)


def plan_known_event(
    left_scores: Floats, right_scores: Floats, levels: Levels, risk: Fraction, runs: int
) -> tuple[Threshold, float]:
    """Return the event and the level expected where scores are log-likelihood ratios."""
    cuts = cuts_of(left_scores, right_scores)
    rates = likelihood_rates(left_scores, right_scores, cuts)
    left = _expected(rates.left, rates.not_left, runs, levels, float(risk))
    right = _expected(rates.right, rates.not_right, runs, levels, float(risk))
    if left.max() >= right.max():
        return Threshold(float(cuts[int(np.argmax(left))]), "left"), float(left.max())
    return Threshold(-float(cuts[int(np.argmax(right))]), "right"), float(right.max())


def violation(left: Floats, right: Floats, epsilon: float, delta: float) -> float:
    """Return how many standard deviations the best event is beyond the claim, on training scores."""
    cuts, n = cuts_of(left, right), min(len(left), len(right))
    seen, factor = counted_rates(left, right, cuts), np.exp(min(epsilon, 50.0))
    spread = np.sqrt((seen.left + factor**2 * seen.not_left) / n)
    return float(((seen.left - factor * seen.not_left - delta) / spread).max())
