"""What k of t steps of Gaussian noise cost at least, drawn uniformly for each unit, by sums of scores.

A result z, N(μ, 1) in a step with the unit and N(0, 1) elsewhere, becomes a whole score; the range of the sum
is kept.  It follows from the results, so the pair of its laws costs no more, in both directions and composed.
Whichever steps hold the unit, the sum has one law.  Floats choose: any scores are sound.  The odds are near
Π (1 + xY), Y = e^{μz − μ²/2}, x = k/(t − k) (a saddle point): a score is the cell of ln(1 + xY).
"""

import math
from fractions import Fraction
from itertools import pairwise

from flint import arb, arb_poly

from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import OutOfReach, bearable, kept

MOST_SUMMED = 1 << 24  #: steps
SCORES = 256  #: of a step, at most
SUM_PLACES = 1 << 13  #: the sum of scores is known modulo this, at most
ALIKE_FROM = 6  #: deviations around a step's means beyond which results share a score
SUM_REACH = 20  #: deviations of the sum that have places
RANGES = 24  #: ranges of sums to a deviation
LEAST_BITS = 200  #: of a range's mass


@kept(16)
def sum_laws(steps: int, times: int, mu2: Fraction, bits: int) -> tuple[tuple[arb, arb], ...]:
    """Return masses of ranges of the sum, to `bits` bits: the unit in `times` < `steps` steps, or none."""
    bearable(steps, MOST_SUMMED)
    cuts, deviation, shift = _scores(steps, times, math.sqrt(mu2))
    places = min(SUM_PLACES, math.ceil(shift + SUM_REACH * deviation) + 2 * SCORES)
    with precision(bits + LEAST_BITS + 128):
        without, held = _masses(cuts, arb(0)), _masses(cuts, ball(mu2).sqrt())
        rest = _power(without, steps - times, places)
        p, q = (_modulo(rest * _power(part, times, places), places) for part in (held, without))
        mean = steps * sum(place * float(mass) for place, mass in enumerate(without.coeffs()))
        first = round(mean + shift / 2) + places // 2  # as far from both means as there is
        found, range_ = [(arb(0), arb(0))], (arb(0), arb(0))
        for place in range(first, first + places):
            range_ = range_[0] + p[place % places], range_[1] + q[place % places]
            if place % max(1, int(deviation / RANGES)) == 0 and min(map(float, range_)) > 2.0**-LEAST_BITS:
                found, range_ = [*found, range_], (arb(0), arb(0))
        last = found.pop()
        return (*found[1:], (last[0] + range_[0], last[1] + range_[1]))


def _scores(steps: int, times: int, mu: float) -> tuple[list[float], float, float]:
    """Return where scores rise, the sum's deviation, and how far the unit moves it."""
    shift = math.log(times / (steps - times)) - mu * mu / 2

    def value(z: float) -> float:
        return max(mu * z + shift, 0.0) + math.log1p(math.exp(-abs(mu * z + shift)))

    low, high, spread = value(-ALIKE_FROM), value(mu + ALIKE_FROM), (value(1) - value(-1)) / 2
    whole, added = math.sqrt(steps) * spread, times * (value(mu) - value(0))
    step = max(spread / 2, (high - low) / SCORES, (added + SUM_REACH * whole) / SUM_PLACES)
    if not step > 1e-12 * high:
        raise OutOfReach("scores are too close")
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
