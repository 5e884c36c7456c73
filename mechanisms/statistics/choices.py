"""Quantiles that the exponential mechanism chooses among the ends of equal cells of their column."""

from fractions import Fraction
from math import ceil

import numpy as np
from scipy.special import log_ndtr

from dpaccount.noise.laws import double_up
from dpaccount.noise.samplers import Integers
from dpaccount.numerics.closed.gaussian import mu_squared
from dpaccount.proof import Theorem, assume_range, exponential, to_gdp, to_near_gdp, to_pure
from dpaccount.relation import adjacency
from mechanisms.shared import confidence
from mechanisms.statistics.draws import BRANCHES, LEVELS, Draw
from mechanisms.statistics.statistic import Statistic


def proof(draw: Draw, scale: Fraction, relation: str, law: str, *, beside_noise: bool) -> Theorem:
    """Return the theorem of the choices of a statistic, of a `scale` in ranks: pure, or Gaussian.

    The `law` of the study says which.  `beside_noise`: the study also has Gaussian noise on a grid, whose
    curve is near-Gaussian, so that this one is stated in the same way.
    """
    width = draw.norm if adjacency(relation).rows_vary else draw.reach
    moves = assume_range(draw.key, width * draw.choice, relation, "movement")
    one = exponential(moves, 1 / (scale * draw.choice), draw.key)
    if law == "laplace":
        return to_pure(one)
    gaussian = to_gdp(one, mu_squared(width / scale / 2))
    return to_near_gdp(gaussian) if beside_noise else gaussian


def scores(what: Statistic, counts: Integers) -> Integers:
    """Return the scores of the ends of all cells, in a row for each group, in units of 1/denominator.

    A score is −|rows below the end − q·rows|, of the rows of the group.
    """
    cells, q = counts.reshape(what.groups, -1), what.rank
    below = np.cumsum(np.pad(cells, ((0, 0), (1, 0))), axis=1)
    off: Integers = below * q.denominator - below[:, -1:] * q.numerator
    return -np.abs(off)


def ranks(what: Statistic, scale: Fraction, level: Fraction) -> float:
    """Return how many ranks farther off than the best candidate any group's choice may be.

    This is the utility theorem of McSherry & Talwar 2007, on integer scores, for all groups at once.
    """
    unit, others = what.rank.denominator, BRANCHES**LEVELS
    missed = confidence.missed(level) / what.groups
    steps = confidence.choice(1 / (scale * unit), others, missed, flip=False)
    return double_up(Fraction(steps, unit))


def smallest_group(what: Statistic, scale: Fraction, level: Fraction) -> int:
    """Return the number of rows below which a choice may be on the other side of all of a group's rows."""
    return ceil(ranks(what, scale, level) / min(what.rank, 1 - what.rank))


def range_of(mu: float) -> float:
    """Return about the η of which η-bounded range is μ-GDP: Φ(μ/2) = 1/(1 + e^(−η/2))."""
    return 2 * float(log_ndtr(mu / 2) - log_ndtr(-mu / 2))
