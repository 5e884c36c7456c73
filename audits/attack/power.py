"""What an attack could have shown at all: with too few runs even data in the clear refute nothing."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from audits.attack.e_process import Won
from audits.attack.membership_guessing import Guess, Guessed, epsilon_below
from audits.attack.planning import Floats
from audits.attack.thresholds import CountedBound, LowerBound, Rule, clopper_pearson

EVERY = Guess(1.0, -1.0)  #: a guess at the side of every run


def verdict_of(lower: float, could: float, epsilon: Fraction) -> str:
    """Return REFUTED, NOT REFUTED, or NOT ATTACKED where the runs could have shown no ε above the claim."""
    if lower > epsilon:
        return "REFUTED"
    return "NOT REFUTED" if could > epsilon else "NOT ATTACKED"


def against(scores: Floats, coins: NDArray[np.int64]) -> Floats:
    """Return the scores of all runs that were planned: those not made speak for the other side.

    `coins` say the side of each planned run, 0 for left.  To count them so keeps a bound valid,
    whatever it was that ended the runs: it is at most what all runs would have given.
    """
    missing = coins[len(scores) :]
    return np.concatenate([scores, np.where(missing == 0, -np.inf, np.inf)])


def power(rule: Rule, coins: NDArray[np.int64], made: int, delta: Fraction, risk: Fraction) -> float:
    """Return the ε that is shown where each of the runs `made` tells its side, as total leakage would."""
    whole = against(np.where(coins[:made] == 0, np.inf, -np.inf), coins)
    best = EVERY if isinstance(rule, Guess) else rule
    return best.measure(whole[coins == 0], whole[coins == 1], delta, risk).epsilon_lower


def power_of(reached: LowerBound) -> float:
    """Return the largest ε that as many runs as a bound rests on could have shown."""
    delta, risk = reached.delta, reached.risk
    if isinstance(reached, CountedBound):
        full, empty = np.ones(reached.runs), np.zeros(reached.other_runs)
        return clopper_pearson(full, empty, 0.5, delta, risk, reached.direction).epsilon_lower
    if not isinstance(reached, Guessed | Won):
        raise TypeError(f"no power is known for {type(reached).__name__}")
    n = reached.runs
    shown = epsilon_below(n, n, n, float(delta), float(risk))
    return max(shown, reached.epsilon_lower)


def judged(reached: LowerBound, epsilon: Fraction, *, blind: bool = False) -> dict[str, object]:
    """Return the members of an audit's answer that say what was shown and what could have been.

    Where the score is `blind` to a part of what is shown, the runs could show no more than they did.
    """
    could = reached.epsilon_lower if blind else power_of(reached)
    return {
        "epsilon_lower": reached.epsilon_lower,
        "epsilon_power": could,
        "refuted": reached.epsilon_lower > epsilon,
        "verdict": verdict_of(reached.epsilon_lower, could, epsilon),
    }
