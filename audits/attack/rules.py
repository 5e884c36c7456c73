"""Rules on scores, and the lower bounds on ε that they show, with a stated confidence.

A rule is fixed on training runs and measured on others.  There are two.

**Counts** of one event on either side (`Threshold`): Clopper & Pearson 1934.  Certificates and trade-off
curves need them: a checker sums their tails exactly, and two probabilities are all that a curve speaks of.

**The coin** (`Guess`): a fair coin chooses the dataset of each run, and the score guesses the coin.  It shows
more where both tails tell something (of Laplace noise with ε = 0.1 in 10,000 runs .66 of ε; counts .49).

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
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.attack.planning import (
    CAREFUL,
    CUTS,
    Rates,
    counted_rates,
    cuts_of,
    effective_runs,
    likelihood_rates,
    modelled_rates,
)
from audits.tradeoff import MAX_EPSILON
from dpaccount.noise.samplers import Floats
from dpaccount.numerics.bisection import bisect

TAIL_ROUNDING = 1e-13  #: absolute; of the differences of tails
TAIL_SLACK = 1e-6  #: relative; far above the error of scipy's binomial tails
GUESS_CUTS = 120  #: thresholds of which every pair is tried

Levels = Callable[[Floats, Floats], Floats]  #: from confidence ends of an event's rates to what they show
Expected = Callable[[Rates, int, float], Floats]  #: from rates, runs a side and risk to all bounds


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
        seen = (int((left >= self.cut).sum()), len(left)), (int((right >= self.cut).sum()), len(right))
        return clopper_pearson(*seen, delta, risk, self)


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

    def delta_prime(self, delta: Fraction) -> float:
        """Return δ′: what δ adds to the probability of a right guess."""
        both = math.isfinite(self.upper) and math.isfinite(self.lower)
        return float(delta) if both else float(delta) / 2

    def measure(self, left: Floats, right: Floats, delta: Fraction, risk: Fraction) -> Guessed:
        """Return the bound; a fair coin must have decided for every run which side it is on."""
        good = int((left >= self.upper).sum() + (right <= self.lower).sum())
        wrong = int((left <= self.lower).sum() + (right >= self.upper).sum())
        runs = len(left) + len(right)
        lower = largest_rejected(good, good + wrong, runs, self.delta_prime(delta), float(risk))
        return Guessed(delta, lower, risk, good, good + wrong, runs, self)


@dataclass(frozen=True)
class BetRefutation:
    """A lower bound from bets: after `runs` runs their wealth rejects every ε up to `epsilon_lower`."""

    delta: Fraction
    epsilon_lower: float
    risk: Fraction
    runs: int
    wealth: float
    rule: Guess

    def sentence(self) -> str:
        """Describe the evidence in words."""
        return (
            f"bets ({self.rule.sentence()}) multiplied their stake by {self.wealth:.4g} in {self.runs} runs"
        )


#: ε at `delta` is at least `epsilon_lower`, wrong with probability at most `risk`
LowerBound = CountedBound | Guessed | BetRefutation
Rule = Threshold | Guess  #: is fixed on training runs, then measured on others
#: from training scores (left, right), δ, risk and the runs a side to come: a rule and the bound expected
Planner = Callable[[Floats, Floats, Fraction, Fraction, int], tuple[Rule, float]]
EVERY = Guess(1.0, -1.0)  #: a guess at the side of every run


# ------------------------------------------------------------------ counts


def clopper_pearson(
    left: tuple[int, int], right: tuple[int, int], delta: Fraction, risk: Fraction, rule: Threshold
) -> CountedBound:
    """Return the bound from how often an event was seen, of how many runs (Clopper & Pearson 1934).

    With probability at least 1 − risk: P(event | left) ≥ p₁ and P(event | right) ≤ p₂, hence
    e^ε ≥ (p₁ − δ)/p₂.  The event, `rule`, must have been fixed before these runs were seen.
    """
    power, false_alarm = float(lower_end(*left, float(risk) / 2)), float(upper_end(*right, float(risk) / 2))
    ratio = (Fraction(power) - delta) / Fraction(false_alarm)
    # Below the exact logarithm: a ulp is 1e-16.
    lower = max(math.log(ratio) * (1 - 1e-12) - 1e-12, 0.0) if ratio > 1 else 0.0
    return CountedBound(delta, lower, risk, *left, *right, power, false_alarm, rule.cut, rule.direction)


def lower_end(hits: Floats | float, runs: float, risk: float) -> Floats:
    """Return the lower Clopper–Pearson end: the p at which P(`hits` or more) = `risk`; 0 if no hits.

    It is rounded down by one part in 1e9, to cover scipy's error; the checker sums the tail exactly.
    """
    from scipy.special import betaincinv

    some = np.maximum(hits, 1e-9)  # the function has no value at 0
    ends: Floats = np.where(np.asarray(hits) > 0, betaincinv(some, runs - some + 1, risk), 0.0)
    return ends * (1 - 1e-9)


def upper_end(hits: Floats | float, runs: float, risk: float) -> Floats:
    """Return the upper Clopper–Pearson end: the p at which P(`hits` or fewer) = `risk`, rounded up."""
    from scipy.special import betainccinv

    few = np.minimum(hits, runs - 1e-9)  # nor at all runs
    most = np.minimum(betainccinv(few + 1, runs - few, risk) * (1 + 1e-9), 1.0)
    return np.where(np.asarray(hits) < runs, most, 1.0)


# ------------------------------------------------------------------ the coin


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


# ------------------------------------------------------------------ choosing a rule


def levels_at(delta: Fraction) -> Levels:
    """Return the function from an event's rates on both sides to the ε at `delta` that they imply."""

    def levels(hit: Floats, alarm: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            values: Floats = np.log(np.maximum((hit - float(delta)) / alarm, 1e-12))
        return values

    return levels


def plan_threshold(
    left: Floats, right: Floats, delta: Fraction, risk: Fraction, runs: int, *, known: bool = False
) -> tuple[Threshold, float]:
    """Return the event with the best bound on ε expected of `runs` further runs a side, as `_best` does."""
    return plan_event(left, right, levels_at(delta), risk, runs, known=known)


def plan_event(
    left: Floats, right: Floats, levels: Levels, risk: Fraction, runs: int, *, known: bool = False
) -> tuple[Threshold, float]:
    """Return the more promising direction's threshold, and the level expected of it, as `_best` does."""

    def expected(rates: Rates, runs: int, risk: float) -> Floats:
        power = lower_end(runs * rates.hits.ravel(), runs, risk / 2)
        false_alarm = upper_end(runs * rates.alarms.ravel(), runs, risk / 2)
        return levels(power, false_alarm).reshape(rates.hits.shape)

    def gain(rates: Rates) -> Floats:
        return rates.hits - rates.alarms

    cuts = cuts_of(left, right, CUTS)
    (turned, place), value = _best(left, right, cuts, risk, runs, expected, gain, known=known)
    return Threshold(-float(cuts[place]), "right") if turned else Threshold(float(cuts[place])), value


def plan_guess(
    left: Floats, right: Floats, delta: Fraction, risk: Fraction, runs: int, *, known: bool = False
) -> tuple[Guess, float]:
    """Return the thresholds with the best bound expected of `runs` further runs a side, as `_best` does."""
    cuts = cuts_of(left, right, GUESS_CUTS)
    expected = partial(_guessing, delta=delta)
    place, value = _best(left, right, cuts, risk, runs, expected, _right_less_wrong, known=known)
    return guess_at(cuts, place), max(value, 0.0) if known else value


#: where scores are log-likelihood ratios
plan_known_threshold, plan_known_guess = partial(plan_threshold, known=True), partial(plan_guess, known=True)


def _best(
    left: Floats,
    right: Floats,
    cuts: Floats,
    risk: Fraction,
    runs: int,
    expected: Expected,
    gain: Callable[[Rates], Floats],
    *,
    known: bool,
) -> tuple[tuple[Any, ...], float]:
    """Return the place of the rule with the best bound expected, and a careful bound.

    If scores are `known` to be log-likelihood ratios, that is the bound itself.  Else it is what observed
    rates let expect at a small risk; it is not above 0 if no bound is, and then the largest `gain` decides.
    """
    if known:
        table = expected(likelihood_rates(left, right, cuts), runs, float(risk))
        return np.unravel_index(np.argmax(table), table.shape), float(table.max())
    seen = counted_rates(left, right, cuts)
    table = expected(modelled_rates(left, right, cuts), runs, float(risk))
    fewer = effective_runs(runs, min(len(left), len(right)))
    counts = expected(seen, fewer, min(float(risk), CAREFUL))
    careful = float(counts.max())
    if max(float(table.max()), careful) <= 0:  # too few runs for a bound: the largest difference of the rates
        table = np.where(np.isfinite(counts), gain(seen), -np.inf)
    elif careful > table.max():  # counts that show more than the curve expects refute the curve
        table = counts
    return np.unravel_index(np.argmax(table), table.shape), careful


def guess_at(cuts: Floats, place: tuple[Any, ...]) -> Guess:
    """Return the guess with thresholds at these places; beyond the last cut there is no threshold."""
    upper, lower = place
    return Guess(
        float(cuts[upper]) if upper < len(cuts) else math.inf,
        float(cuts[lower]) if lower < len(cuts) else -math.inf,
    )


def every_guess(rates: Rates) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the chances of right and of wrong guesses, summed over the sides, for every pair of thresholds.

    The last of each threshold means none.  And which pairs guess one side only, and which are no rules.
    """
    hits, alarms = (np.pad(part, ((0, 0), (0, 1))) for part in (rates.hits, rates.alarms))
    places = np.arange(hits.shape[1])
    never = places == places[-1]
    one_sided = never[:, None] | never[None, :]
    contradict = (places[:, None] <= places[None, :]) & ~one_sided  # upper must exceed lower
    no_rule = contradict | (never[:, None] & never[None, :])
    good, wrong = (part[0][:, None] + part[1][None, :] for part in (hits, alarms))
    return good, wrong, one_sided, no_rule


def _right_less_wrong(rates: Rates) -> Floats:
    good, wrong, *_ = every_guess(rates)
    return good - wrong


def _guessing(rates: Rates, runs: int, risk: float, delta: Fraction) -> Floats:
    """Return the bounds for every pair of thresholds (upper, lower); the last of each means none."""
    from scipy.special import betaincinv, ndtri

    good, wrong, one_sided, no_rule = every_guess(rates)
    correct, wrong = runs * good, runs * wrong
    mean = 2 * runs * np.where(one_sided, float(delta) / 2, float(delta))
    lost = np.where(mean > 0, np.ceil(mean - ndtri(risk / 2) * np.sqrt(mean)), 0.0)
    certain = np.maximum(correct - lost, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(certain > 0, betaincinv(np.maximum(certain, 1e-9), wrong + lost + 1, risk), 0.0)
        expected: Floats = np.log(np.maximum(share, 1e-12) / np.maximum(1 - share, 1e-12))
    expected[no_rule] = -np.inf
    return expected


def most_beyond(left: Floats, right: Floats, epsilon: float, delta: float) -> tuple[Threshold, float]:
    """Return the event that is beyond the claim by most standard deviations of P − e^ε·Q − δ, and these."""
    cuts, n = cuts_of(left, right), min(len(left), len(right))
    seen, factor = counted_rates(left, right, cuts), np.exp(min(epsilon, 50.0))
    alarms = factor * seen.alarms
    beyond = (seen.hits - alarms - delta) / np.sqrt((seen.hits + factor * alarms) / n)
    turned, place = np.unravel_index(np.argmax(beyond), beyond.shape)
    rule = Threshold(-float(cuts[place]), "right") if turned else Threshold(float(cuts[place]), "left")
    return rule, float(beyond.max())
