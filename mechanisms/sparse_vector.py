"""Which of a stream of counts pass a public threshold, until a few have passed (sparse vector)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import out_of_range
from dpaccount.noise.laws import double_up
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import REPLACE_ONE, Theorem, assume_each, sparse_vector
from mechanisms.shared import accuracy, confidence
from mechanisms.shared.votes import votes
from mechanisms.subject import Domain, Rows, View, known_relation, shown_to_all


@dataclass(frozen=True)
class SparseVector:
    """Answer for each of `questions` counts whether it reaches `threshold`; stop after `limit` do.

    Every row adds 0 or 1 to each count (clipped and rounded down; NaN is 0).  The threshold gets
    Laplace noise once, of scale `threshold_scale`, and every count fresh noise of `scale`; noisy
    values are never shown.  Answers: 1 above, 0 below, −1 not answered any more.
    """

    source: ClassVar[str] = "Dwork, Naor et al. 2009; Lyu, Su & Li 2017, Algorithm 1"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "votes"

    threshold: int = 50
    threshold_scale: Fraction = Fraction(4)
    scale: Fraction = Fraction(16)
    limit: int = 2
    questions: int = 8
    rows: int = 100
    relation: str = REPLACE_ONE

    def __post_init__(self) -> None:
        known_relation(self.relation)
        if min(self.threshold_scale, self.scale) <= 0 or min(self.limit, self.questions, self.rows) < 1:
            raise out_of_range("threshold_scale > 0, scale > 0, limit, questions and rows >= 1")

    def domain(self) -> Domain:
        """Return one column per question that reaches beyond 0 and 1, so that rows are clipped."""
        size = self.questions
        return Domain(self.rows, (-1.0,) * size, (2.0,) * size, (True,) * size)

    def query(self, data: Rows) -> Integers:
        """Return how far every count is above the threshold."""
        return votes(data, 1) - self.threshold

    def proof(self, delta: Fraction) -> Theorem:
        """Every count moves by at most 1 between neighbours: pure ε for the whole stream."""
        counts = assume_each("counts", Fraction(1), self.relation, "movement")
        pure = sparse_vector(counts, self.threshold_scale, self.scale, self.limit, Fraction(1), "answers")
        return shown_to_all(pure, "sparse-vector", delta)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the answers."""
        return View(public={"answers": noise.noisy("answers", 0, self.query(data))})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of all counts: one that passed is not far below the threshold, and conversely.

        The threshold's noise has either sign, a count's matters in one direction only.  A count
        that is not answered has no bound.
        """
        alpha, answers = confidence.missed(level) / 2, view.public["answers"]
        reach = confidence.laplace(double_up(self.threshold_scale), alpha)
        reach += confidence.laplace(double_up(self.scale), 2 * alpha / self.questions)
        low = np.where(answers == 1, max(self.threshold - reach, 0), 0)
        high = np.where(answers == 0, min(self.threshold + reach - 1, self.rows), self.rows)
        return {"answers": accuracy.interval(low, high, level, "the counts")}
