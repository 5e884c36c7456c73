"""An e-process: a bet against a claim with optional stopping (valid at any stopping time).

A fair coin chooses the side of every run, and a rule fixed before the run guesses it or abstains.
Under (ε, δ)-differential privacy P(right guess) ≤ e^ε P(wrong guess) + δ′, with δ′ = δ if both sides
are guessed and δ/2 if only one is (`audits.attack.membership_guessing`), so the pay-off

    X = 1 (correct guess),  −e^ε (wrong guess),  0 (no guess);  minus δ′ in every run

has expectation at most 0, and wealth ∏ (1 + l·X), 0 ≤ l ≤ 1/(e^ε + δ′), is a nonnegative
supermartingale: it ever reaches 1/α with probability at most α (Ville 1939).  The stakes l and the rule
may depend on earlier runs, and the runs may end for any reason, such as a time limit.  With the same stakes
the wealth decreases in ε, so the largest ε at which it still reaches 1/α (all stakes allowed) is a bound.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from audits.attack.membership_guessing import Guess, guess_at
from audits.attack.planning import Floats, counted_rates, cuts_of, modelled_rates
from audits.attack.thresholds import Threshold
from audits.tradeoff import MAX_EPSILON
from dpaccount.numerics.bisection import bisect

RUNS_PER_STAKE = 50  #: runs between changes of the stake
TRUSTED = 200  #: maximum weight of training rates, in runs
CUTS = 40  #: thresholds tried for learned bets
STAKES = np.linspace(0.02, 0.98, 25)  #: fractions of the largest allowed stake that are tried


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


@dataclass
class Bettor:
    """Bets against ε = `claimed` at δ; feed it runs in the order in which they were made."""

    rule: Guess
    claimed: float
    delta: Fraction
    risk: Fraction  #: at which `feed` stops
    expected: tuple[float, float]  #: training rates of correct and of wrong guesses
    trained: int = TRUSTED  #: number of training runs, both sides together

    def __post_init__(self) -> None:
        """Start with a wealth of 1."""
        self._wins, self._losses, self._runs, self._before = 0, 0, 0, 0
        self._log_wealth = 0.0
        #: stake; δ′; counts of win, loss, neither
        self._stakes: list[tuple[float, float, NDArray[np.int64]]] = []

    def follow(self, rule: Guess, left: Floats, right: Floats) -> None:
        """Bet by another rule from now on; it and its training scores may come from earlier runs."""
        self.rule, self.expected = rule, _rates(rule, left, right)
        self.trained = len(left) + len(right)
        self._before += self._runs
        self._wins, self._losses, self._runs = 0, 0, 0

    def feed(self, scores: Floats, lefts: NDArray[np.bool_], *, stop: bool = True) -> BetRefutation | None:
        """Bet on further runs; return the refutation at the first run that rejects the claim.

        Without `stop` all runs are bet on; `won` returns the result.
        """
        left, right = scores >= self.rule.upper, scores <= self.rule.lower
        for start in range(0, len(scores), RUNS_PER_STAKE):
            block = slice(start, start + RUNS_PER_STAKE)
            stake = self._stake()
            win = np.where(lefts[block], left[block], right[block])
            loss = np.where(lefts[block], right[block], left[block])
            logs = np.log1p(stake * self._payoffs(win, loss))
            path = self._log_wealth + np.cumsum(logs)
            reached = np.flatnonzero(path >= -math.log(self.risk)) if stop else np.zeros(0, dtype=np.int64)
            last = int(reached[0]) + 1 if len(reached) else len(logs)
            counts = np.array([win[:last].sum(), loss[:last].sum(), last - (win | loss)[:last].sum()])
            self._stakes.append((stake, self._delta_prime, counts))
            self._runs += last
            self._wins, self._losses = self._wins + int(counts[0]), self._losses + int(counts[1])
            self._log_wealth = float(path[last - 1])
            if len(reached):
                return self._result(self._largest_refuted(self.risk), self.risk)
        return None

    def _result(self, lower: float, risk: Fraction) -> BetRefutation:
        wealth = math.exp(min(self._log_wealth, 700))
        return BetRefutation(self.delta, lower, risk, self._before + self._runs, wealth, self.rule)

    def _payoffs(self, win: NDArray[np.bool_], loss: NDArray[np.bool_]) -> Floats:
        return win - _factor(self.claimed) * loss - self._delta_prime

    @property
    def _delta_prime(self) -> float:
        both = math.isfinite(self.rule.upper) and math.isfinite(self.rule.lower)
        return float(self.delta) if both else float(self.delta) / 2

    def won(self, risk: Fraction | None = None) -> BetRefutation | None:
        """Return the bound that all bets so far show at a risk, if it is above the claimed ε."""
        risk = self.risk if risk is None else risk
        lower = self._largest_refuted(risk) if any(stake > 0 for stake, _, _ in self._stakes) else 0.0
        return self._result(lower, risk) if lower > self.claimed else None

    def _stake(self) -> float:
        """Return the stake with the fastest growth at the rates seen so far, with half a loss added."""
        weight = float(min(self.trained, TRUSTED))
        n = self._runs + weight
        win = (self._wins + weight * self.expected[0]) / n
        loss = (self._losses + weight * self.expected[1] + 0.5) / n
        delta_prime, factor = self._delta_prime, _factor(self.claimed)
        stakes = np.linspace(0, 1 / (factor + delta_prime), 200)[1:-1]
        growth = _growth(stakes, win, loss, factor, delta_prime)
        best = int(np.argmax(growth))
        return float(stakes[best]) if growth[best] > 0 else 0.0

    def _largest_refuted(self, risk: Fraction) -> float:
        """Return the largest ε at which the same stakes reach 1/risk, rounded down."""
        need = -math.log(risk)
        most = max(self._stakes, key=lambda each: each[0])[0]
        delta_prime = max(delta_prime for _, delta_prime, _ in self._stakes)
        top = min(math.log(1 / most - delta_prime) - 1e-9, MAX_EPSILON) if most > 0 else self.claimed

        def kept(epsilon: float) -> bool:
            wealth = math.fsum(
                float(counts @ np.log1p(np.maximum(stake * _payoff_values(epsilon, delta_prime), -1 + 1e-15)))
                for stake, delta_prime, counts in self._stakes
            )
            return not wealth >= need

        return bisect(kept, self.claimed, max(top, self.claimed), width=1e-9)[0]


def _payoff_values(epsilon: float, delta_prime: float) -> Floats:
    """Return the pay-offs of a correct guess, a wrong guess, and no guess."""
    return np.array([1 - delta_prime, -math.exp(epsilon) - delta_prime, -delta_prime])


def _rates(rule: Guess, left_scores: Floats, right_scores: Floats) -> tuple[float, float]:
    """Return how often a rule guesses correctly, and how often wrongly, on these scores."""
    right = float((left_scores >= rule.upper).mean() + (right_scores <= rule.lower).mean()) / 2
    return right, float((left_scores <= rule.lower).mean() + (right_scores >= rule.upper).mean()) / 2


def _factor(claimed: float) -> float:
    """Return e^claimed, capped at a value that no number of runs refutes."""
    return math.exp(min(claimed, 700))


def _growth(
    stakes: Floats, win: Floats | float, loss: Floats | float, factor: float, delta_prime: Floats | float
) -> Floats:
    """Return the expected growth of log wealth per run, at these probabilities of a win and a loss."""
    rest = np.maximum(1 - win - loss, 0)
    return (
        win * np.log1p(stakes * (1 - delta_prime))
        + loss * np.log1p(-stakes * (factor + delta_prime))
        + rest * np.log1p(-stakes * delta_prime)
    )


def guess_of(event: Threshold) -> Guess:
    """Return the guess at the side on which an event should be seen."""
    left = event.direction == "left"
    return Guess(event.cut, -math.inf) if left else Guess(math.inf, -event.cut)


def plan_bet(
    left_scores: Floats, right_scores: Floats, claimed: float, delta: Fraction
) -> tuple[Guess, float]:
    """Return the guesses on which bets against `claimed` should grow fastest, and the growth per run.

    Rates are means of observed rates and of a logistic model's, since few runs are bet on.
    """
    cuts = cuts_of(left_scores, right_scores, CUTS)
    seen = counted_rates(left_scores, right_scores, cuts)
    curve = modelled_rates(left_scores, right_scores, cuts)
    left, not_left, right, not_right = (
        np.append((getattr(seen, name) + getattr(curve, name)) / 2, 0.0)
        for name in ("left", "not_left", "right", "not_right")
    )
    places = np.arange(len(left))
    never = places == len(cuts)
    one_sided = never[:, None] | never[None, :]
    factor = _factor(claimed)
    delta_prime = np.where(one_sided, float(delta) / 2, float(delta))
    win, loss = (left[:, None] + right[None, :]) / 2, (not_left[:, None] + not_right[None, :]) / 2
    growth = np.full(win.shape, -np.inf)
    for part in STAKES:
        stake = part / (factor + delta_prime)
        growth = np.maximum(growth, _growth(stake, win, loss, factor, delta_prime))
    contradict = (places[:, None] <= places[None, :]) & ~one_sided
    growth[contradict | (never[:, None] & never[None, :])] = -np.inf
    best = int(np.argmax(growth))
    return guess_at(cuts, best), float(growth.flat[best])
