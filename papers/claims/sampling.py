"""From scores of simulated runs to a lower bound on ε, at a stated confidence."""

import math
from fractions import Fraction
from typing import Any

from audits.attack.rules import plan_threshold
from bandits.statistics.arrays import Floats

RISK = Fraction(1, 100)
TRIALS = 20_000
MAX_RUNS = 1_000_000  #: runs per world where a large ε has to be seen


def trials_for(epsilon: Fraction) -> int:
    """Return how many runs can show ε: about 40 e^ε, within limits."""
    return int(min(MAX_RUNS, max(TRIALS, 40 * math.exp(min(float(epsilon), 20.0)))))


def attack(held: Floats, out: Floats, epsilon: Fraction, delta: Fraction) -> dict[str, Any]:
    """Return the lower bound on ε at δ from scores of both worlds, threshold chosen on their first halves."""
    half = len(held) // 2
    # Chosen and judged on different runs, or the confidence would not be what is stated.
    rule, _ = plan_threshold(held[:half], out[:half], delta, RISK, half)
    bound = rule.measure(held[half:], out[half:], delta, RISK)
    return {
        "trials": 2 * half,
        "confidence": float(1 - RISK),
        "hits": bound.hits,
        "alarms": bound.alarms,
        "epsilon_lower": bound.epsilon_lower,
        "delta": float(delta),
        "refuted": bound.epsilon_lower > epsilon,
    }
