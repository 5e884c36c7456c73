"""Sums of scores: what k of t steps of Gaussian noise cost at least, drawn uniformly for each unit.

A step's result z, N(μ, 1) where it holds the unit and N(0, 1) elsewhere, is rounded to a whole number, its
score; of all t scores nothing is kept but the range that their sum lies in.  What is kept follows from
the results, so the pair of its laws costs no more, in both directions and composed.  Whichever steps hold
the unit, the sum has one law: that of k scores of N(μ, 1) and t − k of N(0, 1).

So all choices below are sound, and floats make them.  With Y = e^{μz − μ²/2}, the odds are the k-th
coefficient of Π (1 + xY_i), up to a constant: around its saddle point x ≈ k/(t − k), their logarithm is near
a sum of ln(1 + xY_i).  A score is the cell of that number.
"""

import math
from fractions import Fraction
from itertools import pairwise

from flint import arb, arb_poly

from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import OutOfReach, bearable, kept

MOST_STEPS = 1 << 24
MOST_SCORES = 256
PLACES = 1 << 13  #: of the sum, which is kept modulo so many
REACH = 6  #: deviations around both means of a step beyond which results share a score
SPREAD = 20  #: deviations of the sum that have places
FINE = 24  #: ranges of sums to a deviation
DEPTH = 200  #: no range has a mass below 2^−DEPTH


@kept(16)
def sum_laws(steps: int, times: int, mu2: Fraction, bits: int) -> tuple[tuple[arb, arb], ...]:
    """Return the masses of ranges of the sum, with the unit in `times` < `steps` steps and without it.

    To `bits` bits.  Raises `OutOfReach` at extreme magnitudes.
    """
    bearable(steps, MOST_STEPS)
    cuts, deviation, shift = _scores(steps, times, math.sqrt(mu2))
    places = min(PLACES, math.ceil(shift + SPREAD * deviation) + 2 * MOST_SCORES)
    with precision(bits + DEPTH + 128):
        without, held = _masses(cuts, arb(0)), _masses(cuts, ball(mu2).sqrt())
        rest = _power(without, steps - times, places)
        p, q = (_modulo(rest * _power(part, times, places), places) for part in (held, without))
        mean = steps * sum(place * float(mass) for place, mass in enumerate(without.coeffs()))
        first = round(mean + shift / 2) + places // 2  # as far from both means as there is
        found, range_ = [(arb(0), arb(0))], (arb(0), arb(0))
        for place in range(first, first + places):
            range_ = range_[0] + p[place % places], range_[1] + q[place % places]
            if place % max(1, int(deviation / FINE)) == 0 and min(map(float, range_)) > 2.0**-DEPTH:
                found, range_ = [*found, range_], (arb(0), arb(0))
        last = found.pop()
        return (*found[1:], (last[0] + range_[0], last[1] + range_[1]))


def _scores(steps: int, times: int, mu: float) -> tuple[list[float], float, float]:
    """Return where results pass to the next score, the sum's deviation, and how far the unit moves it."""
    shift = math.log(times / (steps - times)) - mu * mu / 2

    def value(z: float) -> float:
        return max(mu * z + shift, 0.0) + math.log1p(math.exp(-abs(mu * z + shift)))

    low, high, spread = value(-REACH), value(mu + REACH), (value(1) - value(-1)) / 2
    whole, added = math.sqrt(steps) * spread, times * (value(mu) - value(0))
    step = max(spread / 2, (high - low) / MOST_SCORES, (added + SPREAD * whole) / PLACES)
    if not step > 1e-12 * high:
        raise OutOfReach("scores of steps are too close to each other")
    ends = [k * step for k in range(math.floor(low / step) + 1, math.floor(high / step) + 1)]
    cuts = {(end + math.log(-math.expm1(-end)) - shift) / mu for end in ends}
    return sorted(cuts), whole / step, added / step


def _masses(cuts: list[float], mean: arb) -> arb_poly:
    """Return the masses of the cells between cuts of a normal variable."""
    above = [arb(1), *(((arb(cut) - mean) / arb(2).sqrt()).erfc() / 2 for cut in cuts), arb(0)]
    return arb_poly([high - low for high, low in pairwise(above)])


def _power(base: arb_poly, exponent: int, places: int) -> arb_poly:
    """Return base^exponent, powers of the variable modulo `places`."""
    found = arb_poly([1])
    for digit in f"{exponent:b}":
        found = _modulo(found * found * (base if digit == "1" else 1), places)
    return found


def _modulo(poly: arb_poly, places: int) -> arb_poly:
    # At most two products of fewer than `places` coefficients: three times as many.
    return poly.truncate(places) + poly.right_shift(places).truncate(places) + poly.right_shift(2 * places)
