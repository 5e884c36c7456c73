"""The one door to REFUTED from statistics: a first rejection counts if it is strong or fresh runs confirm it.

A claim is first tested at the risk α that the stated confidence leaves, by a test that was fixed before its
runs were seen.  If it is rejected, then

- the same runs are measured at the risk f/2, f = `FALSE_ALARM`: a rejection is *strong*, and counts; else
- the same test is measured on fresh runs at the risk β = min(α/5, f/2α): a rejection there counts.

A true claim is strongly rejected with probability at most f/2.  Given all that came before, fresh runs reject
it with probability at most β, so both tests do with at most αβ ≤ f/2.  Together: it is refuted with
probability at most f (and at most α), however the pair and the test were chosen, and whenever time ended,
since runs that are missing count against the attack.  Of k `points` each has the risk α/k, f/2k is strong,
and β = min(α/5k, f/2α): the sums over the points are the same.  Results that were drawn once, and those of a
proof's attack, have no fresh runs: then only a rejection at f/k counts.

The bound shown is the first one where that does not reject, and that of the fresh runs where they decide.
After a strong rejection it is the first one at 4α/5 where fresh runs could have decided, else at α.  It is
above the true ε with probability at most α: if the claim is true, only where the first one at α is; if not,
with probability at most 4α/5 after strong rejections, and α/5 on fresh runs.

Below: the power of an attack, the largest ε that its number of runs could show, had each revealed its side.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from audits.attack.rules import (
    EVERY,
    CountedBound,
    Guess,
    LowerBound,
    Rule,
    Threshold,
    clopper_pearson,
    largest_rejected,
)
from audits.tradeoff import EventClaim
from dpaccount.noise.samplers import Floats
from dpaccount.schemas.fields import Audited

FALSE_ALARM = Fraction(1, 1000)  #: maximum probability that a true claim is refuted
STRONG = FALSE_ALARM / 2  #: risk at which a rejection needs no confirmation
KEPT = Fraction(4, 5)  #: share of the risk that the first bound keeps where fresh runs may decide
FRESH = 2  #: fresh runs for each certifying run: they lose nothing at a fifth of the risk

Shown = TypeVar("Shown")


def judged(
    at: Callable[[Fraction], Shown],
    beyond: Callable[[Shown], bool],
    risk: Fraction,
    fresh: Callable[[Fraction], Shown] | None = None,
    *,
    points: int = 1,
    kept: Fraction = Fraction(1),
) -> Shown:
    """Return what to show, which is `beyond` the claim only where that is confirmed.

    `at` and `fresh` give what the first runs and fresh ones show at a risk; `risk` is that of one point.
    """
    first, strong = at(risk), (FALSE_ALARM if fresh is None else STRONG) / points
    if risk <= strong or not beyond(first):
        return first
    weaker = at(strong)
    if beyond(weaker):
        return at(risk * kept)
    return weaker if fresh is None else fresh(min(risk * (1 - KEPT), strong / risk))


def exceeds(reached: LowerBound, epsilon: Fraction, curve: EventClaim | None) -> bool:
    """Return whether a bound is above a claim: ε, or the level of a curve."""
    return level_shown(reached, curve) > (epsilon if curve is None else curve.level)


def could_show(
    reached: LowerBound, beyond: Callable[[LowerBound], bool], points: int = 1, most: int | None = None
) -> LowerBound:
    """Return the bound that the runs behind `reached` would give if each revealed its side, as judged.

    Of those on the event's side, at most `most` could be told from others.
    """

    def at(risk: Fraction) -> LowerBound:
        return leaked_bound(replace(reached, risk=risk), most)

    return judged(at, beyond, reached.risk, points=points)


# ------------------------------------------------------------------ power: what these runs could have shown


def verdict_of(lower: float, could: float, epsilon: Fraction, *, in_time: bool = True) -> Audited:
    """Return REFUTED, NOT REFUTED, or NOT ATTACKED: the runs could show no ε above the claim, or time ended.

    So the same seed and number of runs never give NOT REFUTED on one machine and REFUTED on another.
    """
    if lower > epsilon:
        return "REFUTED"
    return "NOT REFUTED" if in_time and could > epsilon else "NOT ATTACKED"


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
    revealed = with_missing_runs(np.where(coins[:runs] == 0, np.inf, -np.inf), coins)
    best = EVERY if isinstance(rule, Guess) else rule
    return best.measure(revealed[coins == 0], revealed[coins == 1], delta, risk)


def leaked_bound(reached: LowerBound, most: int | None = None) -> LowerBound:
    """Return the bound that the runs behind `reached` would give if each, or `most`, revealed its side."""
    if isinstance(reached, CountedBound):
        seen = (reached.runs if most is None else most, reached.runs)
        rule = Threshold(reached.threshold, reached.direction)
        return clopper_pearson(seen, (0, reached.other_runs), reached.delta, reached.risk, rule)
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
