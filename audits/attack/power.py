"""The power of an attack: the largest ε that its number of runs could show, had each revealed its side."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from audits.attack.e_process import BetRefutation
from audits.attack.membership_guessing import Guess, Guessed, largest_rejected
from audits.attack.planning import Floats
from audits.attack.thresholds import CountedBound, Threshold, clopper_pearson
from audits.tradeoff import EventClaim
from dpaccount.schemas.fields import Audited

#: ε at `delta` is at least `epsilon_lower`, wrong with probability at most `risk`
LowerBound = CountedBound | Guessed | BetRefutation
Rule = Threshold | Guess  #: is fixed on training runs, then measured on others
#: from training scores (left, right), δ, risk and the runs a side to come: a rule and the bound expected
Planner = Callable[[Floats, Floats, Fraction, Fraction, int], tuple[Rule, float]]
EVERY = Guess(1.0, -1.0)  #: a guess at the side of every run


def verdict_of(lower: float, could: float, epsilon: Fraction) -> Audited:
    """Return REFUTED, NOT REFUTED, or NOT ATTACKED if the runs could show no ε above the claim."""
    if lower > epsilon:
        return "REFUTED"
    return "NOT REFUTED" if could > epsilon else "NOT ATTACKED"


def with_missing_runs(scores: Floats, coins: NDArray[np.int64]) -> Floats:
    """Return the scores of all planned runs, with missing ones counted as evidence for the other side.

    `coins` has the side of each planned run, 0 for left.  The bound stays valid however the
    runs ended: it is at most the one that all runs would have given.
    """
    missing = coins[len(scores) :]
    return np.concatenate([scores, np.where(missing == 0, -np.inf, np.inf)])


def leakage_bound(
    rule: Rule, coins: NDArray[np.int64], runs: int, delta: Fraction, risk: Fraction
) -> LowerBound:
    """Return the bound if each of `runs` runs reveals its side, as total leakage would."""
    whole = with_missing_runs(np.where(coins[:runs] == 0, np.inf, -np.inf), coins)
    best = EVERY if isinstance(rule, Guess) else rule
    return best.measure(whole[coins == 0], whole[coins == 1], delta, risk)


def leaked_bound(reached: LowerBound) -> LowerBound:
    """Return the bound that the runs behind `reached` would give if each of them revealed its side."""
    if isinstance(reached, CountedBound):
        full, empty = np.ones(reached.runs), np.zeros(reached.other_runs)
        return clopper_pearson(full, empty, 0.5, reached.delta, reached.risk, reached.direction)
    n = reached.runs
    shown = largest_rejected(n, n, n, float(reached.delta), float(reached.risk))
    return replace(reached, epsilon_lower=max(shown, reached.epsilon_lower))


def level_shown(reached: LowerBound, claim: EventClaim | None) -> float:
    """Return a bound in the claim's unit: ε if `claim` is None, else the level of its trade-off curve."""
    if claim is None:
        return reached.epsilon_lower
    if not isinstance(reached, CountedBound):
        raise TypeError(f"{type(reached).__name__} has no counts to hold a curve against")
    return claim.lower(reached.power, reached.false_alarm)
