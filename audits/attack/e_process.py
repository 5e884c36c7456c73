"""An e-process: a bet against a claim with optional stopping (valid at any stopping time).

Every run is on a side chosen by a fair coin, and a rule that is fixed before guesses it for some results.
Under (ε, δ)-differential privacy P(right guess) ≤ e^ε P(wrong guess) + δ′, with δ′ = δ where both sides
are guessed and δ/2 where only one is (`audits.attack.membership_guessing`), so the pay-off

    X = 1 (guessed rightly),  −e^ε (wrongly),  0 (not guessed);  less δ′ in every run

has expectation at most 0, and wealth ∏ (1 + l·X), 0 ≤ l ≤ 1/(e^ε + δ′), is a nonnegative
supermartingale: it ever reaches 1/α with probability at most α (Ville 1939).  The stakes l and the rule
may follow the runs made before; whatever ends the runs, a time limit too, is allowed.  With the same stakes
the wealth falls in ε, so the largest ε at which it still reaches 1/α, all stakes allowed, is a lower bound.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from audits.attack.membership_guessing import Guess, guess_at
from audits.attack.planning import Floats, counted, cuts_of, modelled, weighed
from audits.attack.thresholds import Threshold, better
from audits.tradeoff import MAX_EPSILON

RUNS_PER_STAKE = 50  #: runs between changes of the stake
TRUSTED = 200  #: runs that training rates count as, at most
CUTS = 40  #: thresholds tried between two bets
STAKES = np.linspace(0.02, 0.98, 25)  #: parts of the largest stake that are tried


@dataclass(frozen=True)
class Won:
    """The claim (`claimed`, δ) fell after `runs` runs; ε is above `epsilon_lower`."""

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
    risk: Fraction
    expected: tuple[float, float]  #: training rates of right guesses and of wrong ones
    trained: int = TRUSTED  #: training runs, on both sides together

    def __post_init__(self) -> None:
        """Start with a wealth of 1."""
        self._wins, self._losses, self._runs, self._before = 0, 0, 0, 0
        self._log_wealth = 0.0
        #: stake; δ′; counts of win, loss, neither
        self._stakes: list[tuple[float, float, NDArray[np.int64]]] = []

    def follow(self, rule: Guess, held: Floats, out: Floats) -> None:
        """Bet on another rule's guesses from now on; it may be learned from any runs made before.

        `held` and `out` are its scores of such runs on the left and on the right.
        """
        self.rule, self.expected, self.trained = rule, _rates(rule, held, out), len(held) + len(out)
        self._before += self._runs
        self._wins, self._losses, self._runs = 0, 0, 0

    def feed(self, scores: Floats, lefts: NDArray[np.bool_], *, stop: bool = True) -> Won | None:
        """Bet on further runs; return the result at the first one with which the claim falls.

        Without `stop` all runs are bet on, and `won` says what they show.
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
            self._stakes.append((stake, self._bad, counts))
            self._runs += last
            self._wins, self._losses = self._wins + int(counts[0]), self._losses + int(counts[1])
            self._log_wealth = float(path[last - 1])
            if len(reached):
                return self._shown(self._largest())
        return None

    def _shown(self, lower: float) -> Won:
        wealth = math.exp(min(self._log_wealth, 700))
        return Won(self.delta, lower, self.risk, self._before + self._runs, wealth, self.rule)

    def _payoffs(self, win: NDArray[np.bool_], loss: NDArray[np.bool_]) -> Floats:
        return win - _factor(self.claimed) * loss - self._bad

    @property
    def _bad(self) -> float:
        both = math.isfinite(self.rule.upper) and math.isfinite(self.rule.lower)
        return float(self.delta) if both else float(self.delta) / 2

    def won(self) -> Won | None:
        """Return the largest ε at which the bets so far break a claim, if it is above the claimed one."""
        lower = self._largest() if any(stake > 0 for stake, _, _ in self._stakes) else 0.0
        return self._shown(lower) if lower > self.claimed else None

    def _stake(self) -> float:
        """Return the stake that grows wealth fastest at the rates seen so far, on the careful side."""
        weight = float(min(self.trained, TRUSTED))
        n = self._runs + weight
        win = (self._wins + weight * self.expected[0]) / n
        loss = (self._losses + weight * self.expected[1] + 0.5) / n
        bad, factor = self._bad, _factor(self.claimed)
        stakes = np.linspace(0, 1 / (factor + bad), 200)[1:-1]
        growth = _growth(stakes, win, loss, factor, bad)
        best = int(np.argmax(growth))
        return float(stakes[best]) if growth[best] > 0 else 0.0

    def _largest(self) -> float:
        """Return the largest ε at which the same stakes reach 1/risk, rounded down."""
        need = -math.log(self.risk)
        most = max(self._stakes, key=lambda each: each[0])[0]
        bad = max(bad for _, bad, _ in self._stakes)
        top = min(math.log(1 / most - bad) - 1e-9, MAX_EPSILON) if most > 0 else self.claimed
        low, high = self.claimed, max(top, self.claimed)

        def wealth(epsilon: float) -> float:
            return math.fsum(
                float(counts @ np.log1p(np.maximum(stake * _moves(epsilon, bad), -1 + 1e-15)))
                for stake, bad, counts in self._stakes
            )

        while high - low > 1e-9:
            middle = (low + high) / 2
            low, high = (middle, high) if wealth(middle) >= need else (low, middle)
        return low


def _moves(epsilon: float, bad: float) -> Floats:
    """Return the pay-offs of a win, a loss, and neither."""
    return np.array([1 - bad, -math.exp(epsilon) - bad, -bad])


def _rates(rule: Guess, held: Floats, out: Floats) -> tuple[float, float]:
    """Return how often a rule is right and wrong on these scores of the left and the right."""
    right = float((held >= rule.upper).mean() + (out <= rule.lower).mean()) / 2
    return right, float((held <= rule.lower).mean() + (out >= rule.upper).mean()) / 2


def _factor(claimed: float | Fraction) -> float:
    """Return e^claimed, capped at a value that no number of runs refutes."""
    return math.exp(min(claimed, 700))


def _growth(
    stakes: Floats, win: Floats | float, loss: Floats | float, factor: float, bad: Floats | float
) -> Floats:
    """Return the expected growth of log wealth per run, at these chances of winning and losing."""
    rest = np.maximum(1 - win - loss, 0)
    return (
        win * np.log1p(stakes * (1 - bad))
        + loss * np.log1p(-stakes * (factor + bad))
        + rest * np.log1p(-stakes * bad)
    )


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


def guess_of(event: Threshold) -> Guess:
    """Return the guess at the side on which an event should be seen."""
    left = event.direction == "left"
    return Guess(event.cut, -math.inf) if left else Guess(math.inf, -event.cut)


def bettor_of(
    rule: Threshold | Guess, held: Floats, out: Floats, claimed: Fraction, delta: Fraction, risk: Fraction
) -> Bettor:
    """Return bets on a rule's guesses, at stakes that fit how often they are right in training."""
    rule = guess_of(rule) if isinstance(rule, Threshold) else rule
    return Bettor(rule, float(claimed), delta, risk, _rates(rule, held, out), len(held) + len(out))


def plan_bet(held: Floats, out: Floats, claimed: float, delta: Fraction) -> tuple[Guess, float]:
    """Return the guesses on which bets against `claimed` promise to grow fastest, and by how much a run.

    Rates are means of the counts and of a logistic curve: few runs say little alone.
    """
    cuts = cuts_of(held, out, CUTS)
    seen, curve = counted(held, out, cuts), modelled(held, out, cuts)
    left, not_left, right, not_right = (
        np.append((getattr(seen, name) + getattr(curve, name)) / 2, 0.0)
        for name in ("left", "not_left", "right", "not_right")
    )
    places = np.arange(len(left))
    never = places == len(cuts)
    one_sided = never[:, None] | never[None, :]
    factor = _factor(claimed)
    bad = np.where(one_sided, float(delta) / 2, float(delta))
    win, loss = (left[:, None] + right[None, :]) / 2, (not_left[:, None] + not_right[None, :]) / 2
    growth = np.full(win.shape, -np.inf)
    for part in STAKES:
        stake = part / (factor + bad)
        growth = np.maximum(growth, _growth(stake, win, loss, factor, bad))
    contradict = (places[:, None] <= places[None, :]) & ~one_sided
    growth[contradict | (never[:, None] & never[None, :])] = -np.inf
    best = int(np.argmax(growth))
    return guess_at(cuts, best), float(growth.flat[best])
