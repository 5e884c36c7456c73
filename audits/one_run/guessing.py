"""Bounds from one run: m canaries, each included by a fair coin of its own, guessed from their scores.

The rule is fixed before the coins are seen: r guesses, "in" for the highest scores and "out" for
the lowest, no guess for the others.  The scores are a function of what the run released.  C guesses
are right.

Theorem (after Mahloujifar, Melis & Chaudhuri 2025).  Let the run be f-DP in every coin, in both
directions, and F(x) = 1 − f(x), which is concave with F(0) ≥ 0.  Put a(c) = E[C; C ≥ c]/m and b(c)
= E[r − C; C ≥ c]/m. Then a(c) ≤ F(b(c − 1)) for c = 1, …, r.

Proof.  Fix canary i and the other coins, and let C′ count the right guesses among the others.  The
events {guess i = s, C′ ≥ c − 1} have at most F of their probability under the other coin, so P(i
right, C′ ≥ c − 1) ≤ F(P(i wrong, C′ ≥ c − 1)), by concavity also on average over the other coins
and both values s.  If i is right, C = C′ + 1; if i is wrong, C = C′.  Average over all i, by
concavity once more; Σ P(i right, C ≥ c) = E[C; C ≥ c] and Σ P(i wrong, C ≥ c − 1) = E[r − C; C ≥ c
− 1].  ∎

So the probabilities p(j) = P(C = j) obey linear constraints on a, with b(c − 1) ≥ F⁻¹(a(c)).  The
least total Σ p(j) with P(C ≥ v) = τ has the tail at v, and every p(c − 1) below as small as its
constraint allows: mass moved from one count to the next lower one adds to b and takes from a in all
constraints below, so the constraints are met with less.  If that total exceeds 1, no such law
exists; scaling by λ < 1 keeps the constraints, F being concave, so P(C ≥ v) < τ, and observing C ≥
v refutes the claim at error τ.

For points (ε, δ) there is a second test (Steinke, Nasr & Jagielski 2023, with a smaller loss for
δ).  Given the release and the earlier coins, a guess is right with probability at most s + e, where
s = e^ε/(1 + e^ε) and e = (1 − s)(p₊ − e^ε p₋)₊/(p₊ + p₋) for the densities p± of the release under
the two coins; under the release's law (p₊ + p₋)/2 its mean is at most (1 − s)δ.  With one uniform
per coin, C ≤ G + N: G ~ Bin(r, s), and N counts the coins that are right on account of e, so E[N] ≤
B = m(1 − s)δ.  N may depend on G, so P(C ≥ v) ≤ P(G ≥ v) + max Σ x(g) over 0 ≤ x(g) ≤ P(G = g), Σ
(v − g) x(g) ≤ B, which is filled from g = v − 1 down.

Each test refutes from some count on.  With r fixed, the one that refutes from fewer right guesses
on is known beforehand, so the better of the two has the same error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from audits.tradeoff import MAX_EPSILON, CurveClaim, MuClaim, PointClaim
from dpaccount.noise.samplers import Floats
from dpaccount.numerics.bisection import bisect, least_integer

RunClaim = MuClaim | PointClaim | CurveClaim  #: claims that one run can be held against
LEVEL_WIDTH = 1e-6  #: to which a level is found
SUM_ROUNDING = 1e-10  #: relative; above the error of sums and tails in double precision


@dataclass(frozen=True)
class Guesses:
    """The outcome of one rule: `right` of `made` guesses, among `canaries`."""

    canaries: int
    made: int
    right: int

    def sentence(self) -> str:
        """Describe the evidence in words."""
        return f"{self.right} of {self.made} guesses right among {self.canaries} canaries"


def by_score(scores: Floats, included: NDArray[np.bool_], seed: int) -> NDArray[np.bool_]:
    """Return the coins in the order of the scores; ties are broken by the seed."""
    ties = np.random.default_rng([seed, 13]).permutation(len(scores))
    return included[np.lexsort((ties, scores))]


def guess(ordered: NDArray[np.bool_], each: int) -> Guesses:
    """Guess "in" for the `each` highest scores and "out" for the `each` lowest, from the coins by score."""
    right = int(ordered[len(ordered) - each :].sum()) + int((~ordered[:each]).sum())
    return Guesses(len(ordered), 2 * each, right)


def refutes(guesses: Guesses, needed: Callable[[float], float], risk: float) -> bool:
    """Return whether this many right guesses have probability below `risk` under a trade-off function.

    `needed` is F⁻¹, rounded down: the least probability under one coin of an event with the given
    one under the other.
    """
    m, r, v = guesses.canaries, guesses.made, guesses.right
    if v == 0:
        return False
    total = risk
    right, wrong = risk * v / m, risk * (r - v) / m
    for count in range(v - 1, -1, -1):
        missing = needed(right * (1 - SUM_ROUNDING)) * (1 - SUM_ROUNDING) - wrong
        if missing > 0:
            share = missing * m / (r - count)
            total += share
            right, wrong = right + share * count / m, wrong + missing
        if total > 1 + SUM_ROUNDING:
            return True
        if missing <= 0:  # nothing changes from here on
            return False
    return False


def refutes_point(guesses: Guesses, epsilon: float, delta: float, risk: float) -> bool:
    """Return whether this many right guesses have probability below `risk` under (ε, δ), by a binomial."""
    from scipy.special import betainc, expit

    r, v = guesses.made, guesses.right
    if v == 0:
        return False
    s, budget = float(expit(epsilon)), guesses.canaries * float(expit(-epsilon)) * delta
    counts = np.arange(v + 1)
    tails = np.where(counts == 0, 1.0, betainc(np.maximum(counts, 1), r - counts + 1.0, s))  # P(G ≥ g)
    total = float(tails[v])
    for lower in range(v - 1, -1, -1):
        if budget <= 0 or total > risk:
            break
        mass = min(float(tails[lower] - tails[lower + 1]), budget / (v - lower))
        total, budget = total + mass, budget - mass * (v - lower)
    return total * (1 + SUM_ROUNDING) + 1e-11 <= risk


def falls(guesses: Guesses, claim: RunClaim, level: float, risk: float) -> bool:
    """Return whether the guesses refute that the claim holds at this level."""
    if isinstance(claim, PointClaim) and refutes_point(guesses, level, float(claim.delta), risk):
        return True
    return refutes(guesses, lambda power: claim.needed(level, power), risk)


@lru_cache(maxsize=10_000)
def level_below(guesses: Guesses, claim: RunClaim, risk: float) -> float:
    """Return the largest level (μ, ε at a δ, or an excess of ε) that is refuted, rounded down."""
    if not falls(guesses, claim, 0.0, risk):
        return 0.0
    low, high = 0.0, 1.0
    while high < MAX_EPSILON and falls(guesses, claim, high, risk):
        low, high = high, 2 * high
    return bisect(lambda level: not falls(guesses, claim, level, risk), low, high, width=LEVEL_WIDTH)[0]


def least_refuting(canaries: int, guessed: int, claim: RunClaim, level: float, risk: float) -> int:
    """Return the least number of right guesses that refutes the claim at a level; made + 1 if none does."""

    def fell(right: int) -> bool:
        return falls(Guesses(canaries, guessed, right), claim, level, risk)

    return least_integer(fell, -1, guessed + 1)
