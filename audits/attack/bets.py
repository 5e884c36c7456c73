"""Bets on runs: an e-process, which tests a claim with optional stopping (valid at any stopping time).

A fair coin chooses the side of every run, and a rule fixed before the run guesses it or abstains.
Under (ε, δ)-differential privacy P(right guess) ≤ e^ε P(wrong guess) + δ′, with δ′ = δ if both sides
are guessed and δ/2 if only one is (`audits.attack.rules`), so the pay-off

    X = 1 (correct guess),  −e^ε (wrong guess),  0 (no guess);  minus δ′ in every run

has expectation at most 0, and wealth ∏ (1 + l·X), 0 ≤ l ≤ 1/(e^ε + δ′), is a nonnegative
supermartingale: it ever reaches 1/α with probability at most α (Ville 1939).  The stakes l and the rule
may depend on earlier runs, and the runs may end for any reason, such as a time limit.  With the same stakes
the wealth decreases in ε, so the largest ε at which it still reaches 1/α (all stakes allowed) is a bound.

With a few hundred runs, a separate training set would leave too few for certification.  Bets need none: each
run is scored and bet on before it is learned from.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from audits.attack.confirmation import STRONG
from audits.attack.pair_search import Trial
from audits.attack.planning import Rates, counted_rates, cuts_of, modelled_rates
from audits.attack.rules import EVERY, BetRefutation, Guess, Threshold, every_guess, guess_at
from audits.attack.runs import THIN, TRAIN, Challenge, room_for
from audits.sandbox.crew import Crew
from audits.sandbox.outcomes import Outcome
from audits.scores.learned_scores import Learned, best_score
from audits.tradeoff import MAX_EPSILON
from dpaccount.noise.samplers import Floats
from dpaccount.numerics.bisection import bisect

RUNS_PER_STAKE = 50  #: runs between changes of the stake
TRUSTED = 200  #: maximum weight of training rates, in runs
CUTS = 40  #: thresholds tried for learned bets
STAKES = np.linspace(0.02, 0.98, 25)  #: fractions of the largest allowed stake that are tried
# With more runs the coin shows more, by a score learned on some of them.  With fewer, learned bets refuted a
# function whose noise is missing in two runs of five in 31 attacks of 60, where the coin did in 16; other
# functions fell as often.
BET_ON_ALL = 500  #: runs below which every run is bet on
FEW_SHARE = Fraction(4, 5)  #: share of the risk that bets on few runs take
AGAIN = 1.25  #: growth factor of the number of runs between two fits of the score


class Bets:
    """Bets on runs in order, each by a rule that is fixed or learned from earlier runs.

    They take the `share` of the risk: most of it if runs are few, since counts show little then.
    """

    def __init__(
        self, trial: Trial, challenge: Challenge, fixed: tuple[Learned, Threshold] | None = None
    ) -> None:
        self._trial, self._challenge = trial, challenge
        self.share = FEW_SHARE if fixed is None else Fraction(1, 2)
        self._learned: Learned | None = None
        self._next = 0  #: runs at which the score is learned again
        claim = float(challenge.epsilon), challenge.delta, min(challenge.risk, STRONG) * self.share
        self._bettor, self._perfect = (Bettor(EVERY, *claim, (0.0, 1.0)) for _ in range(2))
        self._left, self._right = list(trial.left), list(trial.right)
        if fixed is not None:
            self._next = sys.maxsize
            self._follow(fixed[0], guess_of(fixed[1]))

    @property
    def learning(self) -> bool:
        """Return whether the rule is learned from earlier runs."""
        return self._next < sys.maxsize

    def train(self, crew: Crew, runs: int) -> None:
        """Make runs, each on a side chosen by a coin, and bet on all but the first, which alternate."""
        trial, seed = self._trial, self._challenge.seed
        trial.hand_to(crew)
        sides = np.random.default_rng([seed, 8]).integers(0, 2, max(runs, 0))
        sides[: 2 * TRAIN] = np.arange(len(sides[: 2 * TRAIN])) % 2  # no bets on these
        begun = crew.seconds_left()
        outcomes = crew.run_in_time([(int(side), seed, 4, n) for n, side in enumerate(sides)])
        if outcomes:
            trial.pace = max((begun - crew.seconds_left()) / len(outcomes), 1e-7)
        fixed = max(2 * TRAIN - 2 * len(trial.left), 0)
        for start, end in ((0, fixed), (fixed, len(outcomes))):
            self.feed(outcomes[start:end], sides[start:end][: len(outcomes[start:end])] == 0)
        trial.left, trial.right = list(self._left), list(self._right)

    def feed(self, outcomes: Sequence[Outcome], lefts: NDArray[np.bool_]) -> BetRefutation | None:
        """Bet on further runs, then learn from them; return a refutation that stops the attack, if any."""
        start = 0
        while start < len(outcomes):
            runs = len(self._left) + len(self._right)
            if runs >= self._next and min(len(self._left), len(self._right)) >= TRAIN:
                self._learn(runs)
            end = min(start + max(self._next - runs, 1), len(outcomes))
            part, on_left = outcomes[start:end], lefts[start:end]
            if self._learned is not None:
                self._perfect.feed(np.where(on_left, np.inf, -np.inf), on_left, stop=False)
                won = self._bettor.feed(self._learned.score.of(part), on_left, stop=self._challenge.early)
                if won is not None:
                    return won
            for outcome, left in zip(part if self.learning else (), on_left, strict=self.learning):
                (self._left if left else self._right).append(outcome)
            start = end
        return None

    def _learn(self, runs: int) -> None:
        self._next = int(runs * AGAIN) + 1
        claimed, delta = float(self._challenge.epsilon), self._challenge.delta

        def growth(left: Floats, right: Floats) -> float:
            return plan_bet(left, right, claimed, delta)[1]

        most = max(room_for(max(len(each.numbers) for each in (*self._left, *self._right))), THIN)
        left, right = self._left[:most], self._right[:most]
        learned = best_score(left, right, growth, self._trial.moved)
        self._follow(learned, plan_bet(learned.left, learned.right, claimed, delta)[0])

    def _follow(self, learned: Learned, rule: Guess) -> None:
        self._learned = learned
        self._bettor.follow(rule, learned.left, learned.right)
        self._perfect.follow(EVERY, np.ones(len(learned.left)), -np.ones(len(learned.right)))

    @property
    def rule(self) -> tuple[Learned, Guess] | None:
        """Return the score and the rule that were learned last; None for a fixed rule."""
        return (self._learned, self._bettor.rule) if self.learning and self._learned is not None else None

    def shown(self, risk: Fraction) -> BetRefutation | None:
        """Return the bound of the bets so far, at their share of a risk, if it is above the claim."""
        return self._bettor.won(risk * self.share)

    def power(self, risk: Fraction) -> BetRefutation | None:
        """Return the bound if every run had revealed its side; None for a fixed rule."""
        return self._perfect.won(risk * self.share) if self.learning else None


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
            payoffs = win - _factor(self.claimed) * loss - self._delta_prime
            logs = np.log1p(stake * payoffs)
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

    @property
    def _delta_prime(self) -> float:
        return self.rule.delta_prime(self.delta)

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
        # With half a loss added, a rule that was never wrong yet does not stake all on being right again.
        delta_prime, factor = self._delta_prime, _factor(self.claimed)
        stakes = np.linspace(0, 1 / (factor + delta_prime), 200)[1:-1]  # growth is flat at its best
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
    mean = Rates((seen.hits + curve.hits) / 2, (seen.alarms + curve.alarms) / 2)
    win, loss, one_sided, no_rule = every_guess(mean)
    factor, delta_prime = _factor(claimed), np.where(one_sided, float(delta) / 2, float(delta))
    growth = np.full(win.shape, -np.inf)
    for part in STAKES:
        stake = part / (factor + delta_prime)
        growth = np.maximum(growth, _growth(stake, win / 2, loss / 2, factor, delta_prime))
    growth[no_rule] = -np.inf
    best = np.unravel_index(np.argmax(growth), growth.shape)
    return guess_at(cuts, best), float(growth[best])
