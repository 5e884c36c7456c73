"""Lower bounds on ε with stated confidence from runs: what estimators share, and counts.

An estimator is a `Rule`: fixed on training runs, then measured on others.  `Threshold` counts one
event on either side (Clopper & Pearson 1934); `coin_guesses` guesses which side a run came from.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from audits.attack.planning import CAREFUL, Floats, counted, cuts_of, fewer, modelled, weighed
from audits.tradeoff import EventClaim


class LowerBound(Protocol):
    """ε at `delta` is at least `epsilon_lower`, wrong with probability at most `risk`."""

    @property
    def delta(self) -> Fraction:
        """Return the δ of the bound."""

    @property
    def epsilon_lower(self) -> float:
        """Return the lower bound."""

    @property
    def risk(self) -> Fraction:
        """Return the probability that it is wrong."""

    def sentence(self) -> str:
        """Return the evidence in words: the event and its counts."""


class Rule(Protocol):
    """What an estimator fixes before it sees the certifying runs."""

    def measure(self, held: Floats, out: Floats, delta: Fraction, risk: Fraction) -> LowerBound:
        """Return the bound from the scores of runs on the left (`held`) and on the right (`out`)."""


#: from training scores (left, right), δ, risk and the runs a side to come: a rule and the bound expected
Planner = Callable[[Floats, Floats, Fraction, Fraction, int], tuple[Rule, float]]
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

    def measure(self, held: Floats, out: Floats, delta: Fraction, risk: Fraction) -> CountedBound:
        """Return the bound of Clopper and Pearson from the event's counts."""
        if self.direction == "right":
            held, out = -out, -held
        return clopper_pearson(held, out, self.cut, delta, risk, self.direction)


def clopper_pearson(
    held: Floats, out: Floats, threshold: float, delta: Fraction, risk: Fraction, direction: str
) -> CountedBound:
    """Return the bound from the event {score ≥ threshold} (Clopper & Pearson 1934).

    With probability at least 1 − risk: P(event | held) ≥ p₁ and P(event | out) ≤ p₂, hence
    e^ε ≥ (p₁ − δ)/p₂.  The threshold must have been fixed before these scores were seen.
    """
    hits, alarms = int((held >= threshold).sum()), int((out >= threshold).sum())
    power = float(lower_end(hits, len(held), float(risk) / 2))
    false_alarm = float(upper_end(alarms, len(out), float(risk) / 2))
    lower = log_below((Fraction(power) - delta) / Fraction(false_alarm))
    return CountedBound(
        delta, lower, risk, hits, len(held), alarms, len(out), power, false_alarm, threshold, direction
    )


def log_below(ratio: Fraction) -> float:
    """Return a lower bound on ln(ratio), or 0 if that is negative."""
    if ratio <= 1:
        return 0.0
    return max(math.log(ratio) * (1 - 1e-12) - 1e-12, 0.0)  # below the exact logarithm: a ulp is 1e-16


def lower_end(hits: Floats | float, runs: float, risk: float) -> Floats:
    """Return the p at which `hits` or more have probability `risk`, rounded down; 0 if no hits.

    One part in 1e9 outward covers the error of scipy's quantile; the checker sums the tail exactly.
    """
    from scipy.special import betaincinv

    some = np.maximum(hits, 1e-9)
    ends: Floats = np.where(np.asarray(hits) > 0, betaincinv(some, runs - some + 1, risk), 0.0)
    return ends * (1 - 1e-9)


def upper_end(hits: Floats | float, runs: float, risk: float) -> Floats:
    """Return the p at which `hits` or fewer have probability `risk`, rounded up; 1 where all are."""
    from scipy.special import betainccinv

    few = np.minimum(hits, runs - 1e-9)
    most = np.minimum(betainccinv(few + 1, runs - few, risk) * (1 + 1e-9), 1.0)
    return np.where(np.asarray(hits) < runs, most, 1.0)


def shown_by(reached: LowerBound, claim: EventClaim | None) -> float:
    """Return a bound in the unit of a claim: of ε where there is none, else by the ends of its counts."""
    if claim is None:
        return reached.epsilon_lower
    if not isinstance(reached, CountedBound):
        raise TypeError(f"{type(reached).__name__} has no counts to hold a curve against")
    return claim.lower(reached.power, reached.false_alarm)


def choose_threshold(held: Floats, out: Floats, delta: Fraction, risk: Fraction) -> float:
    """Return the threshold with the best Clopper–Pearson bound on training scores.

    A poor choice does no harm, since other scores certify it.
    """
    return promising(held, out, levels_at(delta), risk, len(held))[0]


def levels_at(delta: Fraction) -> Levels:
    """Return the level of an event's rates that is ε at `delta`."""

    def levels(hit: Floats, alarm: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            values: Floats = np.log(np.maximum((hit - float(delta)) / alarm, 1.0))
        return values

    return levels


def promising(held: Floats, out: Floats, levels: Levels, risk: Fraction, runs: int) -> tuple[float, float]:
    """Return the threshold with the best bound expected of `runs` further runs a side, and that bound."""
    cuts = cuts_of(held, out)
    seen, curve = counted(held, out, cuts), modelled(held, out, cuts)
    smooth = int(np.argmax(_expected(curve.left, curve.not_left, runs, levels, float(risk))))
    runs = fewer(runs, min(len(held), len(out)))
    careful = _expected(seen.left, seen.not_left, runs, levels, min(float(risk), CAREFUL))
    lucky = int(np.argmax(careful))
    of_smooth = float(_expected(seen.left, seen.not_left, runs, levels, float(risk))[smooth])
    best, expected = (smooth, of_smooth) if of_smooth >= careful[lucky] else (lucky, float(careful[lucky]))
    if expected <= 0:
        best = int(np.argmax(seen.left - seen.not_left))
    return float(cuts[best]), expected


def _expected(power: Floats, alarm: Floats, runs: int, levels: Levels, risk: float) -> Floats:
    """Return the bounds that these rates give in `runs` runs a side."""
    return levels(lower_end(runs * power, runs, risk / 2), upper_end(runs * alarm, runs, risk / 2))


def plan_threshold(
    held: Floats, out: Floats, delta: Fraction, risk: Fraction, runs: int
) -> tuple[Threshold, float]:
    """Return the more promising direction's threshold, and the bound on ε expected of it."""
    return plan_event(held, out, levels_at(delta), risk, runs)


def plan_event(
    held: Floats, out: Floats, levels: Levels, risk: Fraction, runs: int
) -> tuple[Threshold, float]:
    """Return the more promising direction's threshold, and the level expected of it."""
    left, of_left = promising(held, out, levels, risk, runs)
    right, of_right = promising(-out, -held, levels, risk, runs)
    if of_left >= of_right:
        return Threshold(left, "left"), of_left
    return Threshold(right, "right"), of_right


def plan_known_threshold(
    held: Floats, out: Floats, delta: Fraction, risk: Fraction, runs: int
) -> tuple[Threshold, float]:
    """Return the event and the bound on ε expected where scores are log-likelihood ratios."""
    return plan_known_event(held, out, levels_at(delta), risk, runs)


def plan_known_event(
    held: Floats, out: Floats, levels: Levels, risk: Fraction, runs: int
) -> tuple[Threshold, float]:
    """Return the event and the level expected where scores are log-likelihood ratios."""
    cuts = cuts_of(held, out)
    rates = weighed(held, out, cuts)
    left = _expected(rates.left, rates.not_left, runs, levels, float(risk))
    right = _expected(rates.right, rates.not_right, runs, levels, float(risk))
    return better(cuts, left, right)


def better(cuts: Floats, left: Floats, right: Floats) -> tuple[Threshold, float]:
    """Return the best cut and its value: large scores mean left, or small ones right."""
    if left.max() >= right.max():
        return Threshold(float(cuts[int(np.argmax(left))]), "left"), float(left.max())
    return Threshold(-float(cuts[int(np.argmax(right))]), "right"), float(right.max())


def violation(held: Floats, out: Floats, epsilon: float, delta: float) -> float:
    """Return how many standard deviations the best event is beyond the claim, on training scores."""
    cuts, n = cuts_of(held, out), min(len(held), len(out))
    seen, factor = counted(held, out, cuts), np.exp(min(epsilon, 50.0))
    spread = np.sqrt((seen.left + factor**2 * seen.not_left) / n)
    return float(((seen.left - factor * seen.not_left - delta) / spread).max())
