"""Membership guessing: a fair coin chooses the dataset of each run, and the score guesses the coin.

Under (ε, δ)-differential privacy guesses cannot be right too often.  Of N runs, r are guessed
(the score is in a set fixed beforehand), v of them correctly; the claim is rejected if

    P[Bin(r, s) + Bin(N, δ′) ≥ v] ≤ α,   s = e^ε/(1+e^ε),

with δ′ = δ if both sides are guessed and δ/2 if only one is.  The least ε that is not rejected
is a lower bound at confidence 1 − α.

Validity (one-run form of Steinke, Nasr & Jagielski 2023 for independent runs, with δ > 0).  Let a run
be guessed correctly with probability c, wrongly with w.  For the guess "left" on the event A and "right"
on B: c = (P(A) + P′(B))/2, w = (P′(A) + P(B))/2, so privacy gives c ≤ e^ε w + δ (with one event only,
δ/2).  Put a = max(0, c − e^ε w) ≤ δ′.  Draw independent R ~ Bern(a) and G ~ Bern((c+w−a)/(1−a)); guess
if R or G; be correct on R, and on G without R be correct with probability (c−a)/(c+w−a) ≤ s by a
further coin.  Then a run is guessed with probability c + w, correctly with a + (c − a) = c: this is
the distribution of the run.  Let M count the G.  M, the R and the further coins are independent, r ≥ M, and
v ≤ #R + Bin(M, s).  The critical value k(r) = min{k : P[Bin(r, s) + Bin(N, δ′) ≥ k] ≤ α} does not
decrease in r.  Hence P(v ≥ k(r)) ≤ P(#R + Bin(M, s) ≥ k(M)) = E_M P(Bin(M, s) + Bin(N, a) ≥ k(M) | M) ≤ α.
The bound holds over all runs, not conditionally on r.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from audits.attack.planning import (
    CAREFUL,
    Floats,
    Rates,
    counted_rates,
    cuts_of,
    effective_runs,
    likelihood_rates,
    modelled_rates,
)
from audits.tradeoff import MAX_EPSILON
from dpaccount.numerics.bisection import bisect

TAIL_ROUNDING = 1e-13  #: absolute; of the differences of tails
TAIL_SLACK = 1e-6  #: relative; far above the error of scipy's binomial tails


@dataclass(frozen=True)
class Guessed:
    """A bound from `right` of `guessed` guesses in `runs` runs."""

    delta: Fraction
    epsilon_lower: float
    risk: Fraction
    right: int
    guessed: int
    runs: int
    rule: "Guess"

    def sentence(self) -> str:
        """Return the evidence in words."""
        return f"{self.rule.sentence()}: {self.right} of {self.guessed} guesses right in {self.runs} runs"


@dataclass(frozen=True)
class Guess:
    """Guess left if the score is at least `upper`, right if it is at most `lower`, else abstain."""

    upper: float
    lower: float

    def __post_init__(self) -> None:
        """Refuse guesses that contradict each other."""
        if not self.lower < self.upper:
            raise ValueError(f"lower {self.lower} must be below upper {self.upper}")

    def sentence(self) -> str:
        """Return the rule in words."""
        sides = [f"left where the score >= {self.upper!r}"] if math.isfinite(self.upper) else []
        sides += [f"right where it is <= {self.lower!r}"] if math.isfinite(self.lower) else []
        return "guess " + ", ".join(sides)

    def measure(self, left_scores: Floats, right_scores: Floats, delta: Fraction, risk: Fraction) -> Guessed:
        """Return the bound; a fair coin must have decided for every run which side it is on."""
        right = int((left_scores >= self.upper).sum() + (right_scores <= self.lower).sum())
        wrong = int((left_scores <= self.lower).sum() + (right_scores >= self.upper).sum())
        runs = len(left_scores) + len(right_scores)
        both = math.isfinite(self.upper) and math.isfinite(self.lower)
        delta_prime = float(delta) if both else float(delta) / 2
        lower = largest_rejected(right, right + wrong, runs, delta_prime, float(risk))
        return Guessed(delta, lower, risk, right, right + wrong, runs, self)


def tail_bound(v: int, r: int, n: int, s: float, delta_prime: float) -> float:
    """Return an upper bound on P[Bin(r, s) + Bin(n, δ′) ≥ v]."""
    most = min(int(n * delta_prime + 12 * math.sqrt(n * delta_prime) + 100), n) if delta_prime > 0 else 0
    counts = np.arange(most + 1)
    tails = _binomial_tail(n, delta_prime, counts)
    masses = tails - np.append(tails[1:], 0.0)  # the last one is the mass of its whole tail
    total = float(masses @ _binomial_tail(r, s, v - counts))
    return min(total * (1 + TAIL_SLACK) + (TAIL_ROUNDING if delta_prime > 0 else 0.0), 1.0)


def _binomial_tail(n: int, p: float, k: NDArray[np.int64]) -> Floats:
    """Return P(Bin(n, p) ≥ k), as an incomplete beta function."""
    from scipy.special import betainc

    inside = np.clip(k, 1, max(n, 1))
    return np.where(k <= 0, 1.0, np.where(k > n, 0.0, betainc(inside, n - inside + 1.0, p)))


def largest_rejected(v: int, r: int, n: int, delta_prime: float, risk: float) -> float:
    """Return the largest ε, rounded down, that v correct guesses of r in n runs reject at `risk`."""
    if r == 0 or tail_bound(v, r, n, 0.5, delta_prime) > risk:
        return 0.0

    def kept(epsilon: float) -> bool:
        return not tail_bound(v, r, n, 1 / (1 + math.exp(-epsilon)), delta_prime) <= risk

    return bisect(kept, 0.0, MAX_EPSILON, width=1e-7)[0]


def plan_guess(
    left: Floats, right: Floats, delta: Fraction, risk: Fraction, runs: int
) -> tuple[Guess, float]:
    """Return the thresholds with the best bound expected of `runs` further runs a side, and a careful bound.

    The second is what observed rates let expect at a small risk; not above 0 if that is no bound.
    """
    cuts = cuts_of(left, right, 120)
    seen = counted_rates(left, right, cuts)
    curve = _expected(modelled_rates(left, right, cuts), runs, delta, float(risk))
    runs = effective_runs(runs, min(len(left), len(right)))
    counts = _expected(seen, runs, delta, min(float(risk), CAREFUL))
    expected, careful = float(curve.max()), float(counts.max())
    if max(expected, careful) <= 0:  # too few runs for a bound: maximise the gain
        return guess_at(cuts, int(np.argmax(np.where(np.isfinite(counts), _gain(seen), -np.inf)))), careful
    # counts that show more than the curve expects refute the curve
    return guess_at(cuts, int(np.argmax(counts if careful > expected else curve))), careful


def plan_known_guess(
    left: Floats, right: Floats, delta: Fraction, risk: Fraction, runs: int
) -> tuple[Guess, float]:
    """Return the thresholds and the expected bound if scores are log-likelihood ratios."""
    cuts = cuts_of(left, right, 120)
    expected = _expected(likelihood_rates(left, right, cuts), runs, delta, float(risk))
    best = int(np.argmax(expected))
    return guess_at(cuts, best), max(float(expected.flat[best]), 0.0)


def _gain(rates: Rates) -> Floats:
    """Return by how much right guesses outnumber wrong ones, for every pair of thresholds."""
    left, right = np.append(rates.left - rates.not_left, 0.0), np.append(rates.right - rates.not_right, 0.0)
    return left[:, None] + right[None, :]


def guess_at(cuts: Floats, place: int) -> Guess:
    """Return the pair of thresholds at a flat index; beyond the last cut there is no threshold."""
    i, j = divmod(place, len(cuts) + 1)
    return Guess(
        float(cuts[i]) if i < len(cuts) else math.inf, float(cuts[j]) if j < len(cuts) else -math.inf
    )


def _expected(rates: Rates, runs: int, delta: Fraction, risk: float) -> Floats:
    """Return the bounds for every pair of thresholds (upper, lower); the last of each means none."""
    from scipy.special import betaincinv, ndtri

    left, not_left, right, not_right = (
        np.append(part, 0.0) for part in (rates.left, rates.not_left, rates.right, rates.not_right)
    )
    correct = runs * (left[:, None] + right[None, :])
    wrong = runs * (not_left[:, None] + not_right[None, :])
    places = np.arange(len(left))
    never = places == len(left) - 1
    one_sided = never[:, None] | never[None, :]
    mean = 2 * runs * np.where(one_sided, float(delta) / 2, float(delta))
    lost = np.where(mean > 0, np.ceil(mean - ndtri(risk / 2) * np.sqrt(mean)), 0.0)
    certain = np.maximum(correct - lost, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(certain > 0, betaincinv(np.maximum(certain, 1e-9), wrong + lost + 1, risk), 0.0)
        expected: Floats = np.log(np.maximum(share, 1e-12) / np.maximum(1 - share, 1e-12))
    contradict = (places[:, None] <= places[None, :]) & ~never[:, None] & ~never[None, :]
    expected[contradict | (never[:, None] & never[None, :])] = -np.inf  # upper must exceed lower
    return expected
