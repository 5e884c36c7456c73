"""The power of an attack: the largest ε that its number of runs could show, had each revealed its side."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from audits.attack.e_process import BetRefutation
from audits.attack.membership_guessing import Guess, Guessed, largest_rejected
from audits.attack.planning import Floats
from audits.attack.thresholds import CountedBound, LowerBound, Rule, clopper_pearson

EVERY = Guess(1.0, -1.0)  #: a guess at the side of every run


def verdict_of(lower: float, could: float, epsilon: Fraction) -> str:
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
    if not isinstance(reached, Guessed | BetRefutation):
        raise TypeError(f"no power is known for {type(reached).__name__}")
    n = reached.runs
    shown = largest_rejected(n, n, n, float(reached.delta), float(reached.risk))
    return replace(reached, epsilon_lower=max(shown, reached.epsilon_lower))
