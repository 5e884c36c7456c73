"""Bets on runs: by a fixed rule, or, if runs are few, by a rule that is learned from the earlier runs.

With a few hundred runs, a separate training set would leave too few for certification.  Bets need none
(`audits.attack.e_process`): each run is scored and bet on before it is learned from.
"""

import sys
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from audits.attack.confirmation import STRONG
from audits.attack.e_process import BetRefutation, Bettor, guess_of, plan_bet
from audits.attack.membership_guessing import Guess
from audits.attack.pair_search import Trial
from audits.attack.planning import Floats
from audits.attack.power import EVERY
from audits.attack.runs import THIN, TRAIN, Challenge, room_for
from audits.attack.thresholds import Threshold
from audits.sandbox.crew import Crew
from audits.sandbox.outcomes import Outcome
from audits.scores.learned_scores import Learned, best_score

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
