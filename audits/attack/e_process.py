"""An e-process: a bet against a claim with optional stopping (valid at any stopping time).

Every run is on a side chosen by a fair coin.  Under (ε, δ)-differential privacy the event E, fixed
before the run, satisfies P(E) ≤ e^ε P′(E) + δ, so the pay-off

    X = 1 (left and E),  −e^ε (right and E),  0 (not E);  less δ/2 in every run

has expectation at most 0, and wealth ∏ (1 + l·X), 0 ≤ l ≤ 1/(e^ε + δ/2), is a nonnegative
supermartingale: it ever reaches 1/α with probability at most α (Ville 1939).  The stakes l may follow
the runs made before.  With the same stakes the wealth falls in ε, so the largest ε at which it still
reaches 1/α, all stakes allowed, is a lower bound.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from audits.attack.planning import Floats, cuts_of, weighed
from audits.attack.thresholds import Threshold, better
from audits.tradeoff import MAX_EPSILON

RUNS_PER_STAKE = 50  #: runs between changes of the stake


@dataclass(frozen=True)
class Won:
    """The claim (`claimed`, δ) fell after `runs` runs; ε is above `epsilon_lower`."""

    delta: Fraction
    epsilon_lower: float
    risk: Fraction
    runs: int
    wealth: float
    rule: Threshold

    def said(self) -> str:
        """Describe the evidence in words."""
        return (
            f"bets on score >= {self.rule.cut!r} on the {self.rule.direction} multiplied their stake"
            f" by {self.wealth:.4g} in {self.runs} runs"
        )


@dataclass
class Bettor:
    """Bets against ε = `claimed` at δ; feed it runs in the order in which they were made."""

    rule: Threshold
    claimed: float
    delta: Fraction
    risk: Fraction
    expected: tuple[float, float]  #: training rates of the event: where it should be seen, and elsewhere

    def __post_init__(self) -> None:
        """Start with a wealth of 1."""
        self._wins, self._losses, self._runs = 0, 0, 0
        self._log_wealth = 0.0
        self._stakes: list[tuple[float, NDArray[np.int64]]] = []  # stake; counts of win, loss, neither

    def feed(self, scores: Floats, lefts: NDArray[np.bool_]) -> Won | None:
        """Bet on further runs; return the result at the first one with which the claim falls."""
        if self.rule.direction == "right":
            scores, lefts = -scores, ~lefts
        seen = scores >= self.rule.cut
        for start in range(0, len(scores), RUNS_PER_STAKE):
            block = slice(start, start + RUNS_PER_STAKE)
            stake = self._stake()
            win, loss = seen[block] & lefts[block], seen[block] & ~lefts[block]
            logs = np.log1p(stake * self._payoffs(win, loss))
            path = self._log_wealth + np.cumsum(logs)
            reached = np.flatnonzero(path >= -math.log(self.risk))
            last = int(reached[0]) + 1 if len(reached) else len(logs)
            counts = np.array([win[:last].sum(), loss[:last].sum(), last - (win | loss)[:last].sum()])
            self._stakes.append((stake, counts))
            self._runs += last
            self._wins, self._losses = self._wins + int(counts[0]), self._losses + int(counts[1])
            self._log_wealth = float(path[last - 1])
            if len(reached):
                lower = self._largest()
                return Won(
                    self.delta, lower, self.risk, self._runs, math.exp(min(self._log_wealth, 700)), self.rule
                )
        return None

    def _payoffs(self, win: NDArray[np.bool_], loss: NDArray[np.bool_]) -> Floats:
        return win - _factor(self.claimed) * loss - float(self.delta) / 2

    def _stake(self) -> float:
        """Return the stake that grows wealth fastest at the rates seen so far, on the careful side."""
        weight = 200.0  # training rates count as this many runs
        n = self._runs + weight
        win = (self._wins + weight * self.expected[0] / 2) / n
        loss = (self._losses + weight * self.expected[1] / 2 + 0.5) / n
        bad, factor = float(self.delta) / 2, _factor(self.claimed)
        stakes = np.linspace(0, 1 / (factor + bad), 200)[1:-1]
        growth = _growth(stakes, win, loss, factor, bad)
        best = int(np.argmax(growth))
        return float(stakes[best]) if growth[best] > 0 else 0.0

    def _largest(self) -> float:
        """Return the largest ε at which the same stakes reach 1/risk, rounded down."""
        bad, need = float(self.delta) / 2, -math.log(self.risk)
        most = max(stake for stake, _ in self._stakes)
        top = min(math.log(1 / most - bad) - 1e-9, MAX_EPSILON) if most > 0 else self.claimed
        low, high = self.claimed, max(top, self.claimed)

        def wealth(epsilon: float) -> float:
            moves = np.array([1 - bad, -math.exp(epsilon) - bad, -bad])
            return math.fsum(
                float(counts @ np.log1p(np.maximum(stake * moves, -1 + 1e-15)))
                for stake, counts in self._stakes
            )

        while high - low > 1e-9:
            middle = (low + high) / 2
            low, high = (middle, high) if wealth(middle) >= need else (low, middle)
        return low


def _factor(claimed: float | Fraction) -> float:
    """Return e^claimed, capped at a value that no number of runs refutes."""
    return math.exp(min(claimed, 700))


def _growth(stakes: Floats, win: Floats | float, loss: Floats | float, factor: float, bad: float) -> Floats:
    """Return the expected growth of log wealth per run, at these chances of winning and losing."""
    rest = np.maximum(1 - win - loss, 0)
    grown: Floats = (
        win * np.log1p(stakes * (1 - bad))
        + loss * np.log1p(-stakes * (factor + bad))
        + rest * np.log1p(-stakes * bad)
    )
    return grown


def plan_known_bet(held: Floats, out: Floats, claimed: Fraction, delta: Fraction) -> Threshold:
    """Return the event on which bets against `claimed` grow fastest; scores are log-likelihood ratios."""
    cuts = cuts_of(held, out)
    rates = weighed(held, out, cuts)
    bad, factor = float(delta) / 2, _factor(claimed)
    stakes = np.linspace(0, 1 / (factor + bad), 100)[1:-1]
    left, right = (
        _growth(stakes, seen[:, None] / 2, elsewhere[:, None] / 2, factor, bad).max(axis=1)
        for seen, elsewhere in ((rates.left, rates.not_left), (rates.right, rates.not_right))
    )
    return better(cuts, left, right)[0]


def bettor_of(
    rule: Threshold, held: Floats, out: Floats, claimed: Fraction, delta: Fraction, risk: Fraction
) -> Bettor:
    """Return bets on a rule's event, at stakes that fit how often training runs (left, right) show it."""
    if rule.direction == "right":
        held, out = -out, -held
    rates = float((held >= rule.cut).mean()), float((out >= rule.cut).mean())
    return Bettor(rule, float(claimed), delta, risk, rates)
