"""Upper measures of noise on a Poisson sample: a row is replaced, or a group is moved (docs/numerics.md).

Noise R without the row, moved by ±s with it: P = (1 − q)R + qR₊ and Q = (1 − q)R + qR₋ are worst.  The loss
rises along the line, and both directions cost the same.
"""

import math
from fractions import Fraction

from ..documents import ensure
from ..intervals import ZERO, Interval, Pair
from .measures import NONE, UpperMeasure, gathered, of_tails
from .pairs import UNIT, NormalTails, nodes, reach
from .releases import Releases

MAX_SHIFT = 20_000


def replaced(i: Interval, spacing: Fraction, rate: Fraction, on: Releases) -> UpperMeasure:
    """Return the measure for Gaussian noise, or one other release."""
    if on.mu_squared:  # like a unit in one dataset alone and another in the other
        return sampled_group(i, spacing, rate, (1, 1), on.mu_squared)
    kind, numbers = on.others[0][0][:2]
    if kind == "laplace":
        return laplace(i, spacing, rate, *numbers)
    scale, shift = numbers if kind == "geometric" else (1 / numbers[0], 1)
    return geometric(i, rate, scale, shift)


def mixed(i: Interval, rate: Fraction, without: Pair, inside: Pair) -> Pair:
    """Enclose (1 − q)·without + q·inside."""
    return i.add(i.mul(i.of(1 - rate), without), i.mul(i.of(rate), inside))


def sampled_group(
    i: Interval, spacing: Fraction, rate: Fraction, units: tuple[int, int], square: Fraction
) -> UpperMeasure:
    """Return the measure of units on Poisson samples, some in one dataset alone, some in the other.

    P = Σ Bin(a, q)(j) N(jμ, 1) and Q = Σ Bin(b, q)(j) N(−jμ, 1) are worst (docs/numerics.md, Groups on
    Poisson samples); the odds rise along the line.
    """
    far, tails = reach(i, square) + max(units) * square, NormalTails(i, square)
    odds, there, back = list[Pair](), list[Pair](), list[Pair]()
    for v in nodes(-far, far, spacing):
        up, down = (
            drawn(i, rate, [i.exp(i.of(j * way * v - j * j * square / 2)) for j in range(each + 1)])
            for each, way in zip(units, (1, -1), strict=True)
        )
        odds.append(i.div(up, down))
        there.append(drawn(i, rate, [tails.at(v - j * square) for j in range(units[0] + 1)]))
        back.append(drawn(i, rate, [tails.at(v + j * square) for j in range(units[1] + 1)]))
    return of_tails(i, odds, there, back)


def drawn(i: Interval, rate: Fraction, values: list[Pair]) -> Pair:
    """Enclose the mean of the values for 0, 1, … units drawn, of one fewer units than values."""
    total, units = ZERO, len(values) - 1
    for j, value in enumerate(values):
        chance = math.comb(units, j) * rate**j * (1 - rate) ** (units - j)
        total = i.add(total, i.mul(i.of(chance), value))
    return total


def laplace(i: Interval, spacing: Fraction, rate: Fraction, most: Fraction) -> UpperMeasure:
    """Noise of scale 1 moved by `most`: beyond that on either side the odds are constant."""

    def tail(x: Fraction) -> Pair:
        half = i.div(i.exp(i.of(-abs(x))), i.of(2))
        return half if x >= 0 else i.sub(UNIT, half)

    inner = [x for x in nodes(-most, most, spacing / 2) if -most < x < most]
    at = [-most, *inner, most]
    odds = []
    for x in at:
        up, down = (mixed(i, rate, UNIT, i.exp(i.of(abs(x) - abs(x - by)))) for by in (most, -most))
        odds.append(i.div(up, down))
    there, back = ([mixed(i, rate, tail(x), tail(x - by)) for x in at] for by in (most, -most))
    rest = of_tails(i, odds, there, back)
    return UpperMeasure(gathered(i, [*rest.atoms, (odds[-1][1], there[-1][1])]), NONE)


def geometric(i: Interval, rate: Fraction, scale: Fraction, shift: int) -> UpperMeasure:
    """Two-sided geometric noise, integer by integer; beyond the shift the odds are constant."""
    ensure(shift <= MAX_SHIFT, "more losses than this checker lists")
    ratio = i.exp(i.of(-1 / scale))
    whole = i.add(UNIT, ratio)
    middle, ends = i.div(i.sub(UNIT, ratio), whole), i.div(UNIT, whole)
    atoms = []
    for x in range(-shift, shift + 1):
        mass = i.mul(i.exp(i.of(-abs(x) / scale)), ends if abs(x) == shift else middle)
        up, down = (
            mixed(i, rate, UNIT, i.exp(i.of((abs(x) - abs(x - by)) / scale))) for by in (shift, -shift)
        )
        atoms.append((i.div(up, down)[1], i.mul(mass, up)[1]))
    return UpperMeasure(gathered(i, atoms), NONE)
