"""Quantiles that the exponential mechanism chooses among the ends of equal cells of their column."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.special import log_ndtr

from dpaccount.errors import InputError
from dpaccount.noise.laws import double_up
from dpaccount.noise.samplers import Integers
from dpaccount.numerics.closed.gdp_of_release import mu_squared
from dpaccount.proof import Theorem, assume_range, exponential, to_gdp, to_pure
from dpaccount.relation import adjacency
from mechanisms.shared import confidence
from mechanisms.statistics.draws import BRANCHES, LEVELS, Draw
from mechanisms.statistics.statistic import Statistic


def check_alone(statistics: Sequence[Statistic], law: str) -> None:
    """Refuse a choice beside Gaussian noise: no rule adds the cost of both but as (ε, δ)."""
    listed = [what for what in statistics if not what.unlisted]
    chosen = [what.name for what in listed if what.chosen]
    if law == "gaussian" and 0 < len(chosen) < len(listed):
        raise InputError(
            f"{chosen[0]} is chosen by the exponential mechanism, beside Gaussian noise",
            'take law = "laplace", method = "levels", or a study of medians and quantiles alone',
        )


def proof(draw: Draw, scale: Fraction, relation: str, law: str) -> Theorem:
    """Return the theorem of one choice of a `scale` in ranks, pure or Gaussian as the law of the study is."""
    width = draw.norm if adjacency(relation).rows_vary else draw.reach
    moves = assume_range(draw.key, width * draw.choice, relation, "movement")
    one = exponential(moves, 1 / (scale * draw.choice), draw.key)
    return to_pure(one) if law == "laplace" else to_gdp(one, mu_squared(width / scale / 2))


def scores(what: Statistic, counts: Integers) -> Integers:
    """Return the scores of the ends of all cells: −|rows below an end − q·rows|, in units of 1/denominator.

    A row more moves each by q or 1 − q, up or down: their range by no more than twice the larger.  A replaced
    row moves those below each end by at most 1, or comes or goes by `where`: their range by no more than 2.
    """
    below, q = np.append(np.zeros(1, dtype=np.int64), np.cumsum(counts)), what.rank
    off: Integers = below * q.denominator - int(below[-1]) * q.numerator
    return -np.abs(off)


def ranks(what: Statistic, scale: Fraction, level: Fraction) -> float:
    """Return how many ranks farther off the choice may be than the best candidate.

    This is the utility theorem of McSherry & Talwar 2007, on integer scores.
    """
    unit, others = what.rank.denominator, BRANCHES**LEVELS
    steps = confidence.choice(1 / (scale * unit), others, confidence.missed(level), flip=False)
    return double_up(Fraction(steps, unit))


def range_of(mu: float) -> float:
    """Return about the η of which η-bounded range is μ-GDP: Φ(μ/2) = 1/(1 + e^(−η/2))."""
    return 2 * float(log_ndtr(mu / 2) - log_ndtr(-mu / 2))
