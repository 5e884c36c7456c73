"""The upper measure of one release, in either direction, from its dominating pair or an upper curve.

`spacing` is how far losses lie apart that a law with a density is split onto.  Sources of the pairs:
docs/numerics.md.  Every pair here costs the same in both directions, but for tables.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ..distributions import upper_tail
from ..documents import ensure
from ..intervals import Interval, Pair
from . import upper
from .measures import MAX_ATOMS, NONE, ONE, Atoms, MeasureCell, UpperMeasure, gathered, of_tails, split

UNIT: Pair = (ONE, ONE)


def one_release(i: Interval, kind: str, numbers: Any, spacing: Fraction, *, back: bool) -> UpperMeasure:
    """Return the measure of (P, Q), or `back` of (Q, P), of a release that is on no sample.

    Without a spacing it has finitely many losses, each of which is an atom.
    """
    if kind == "table":
        return table(i, *(reversed(numbers) if back else numbers))
    ensure(kind in KINDS, f"no measure is known of {kind}")
    return KINDS[kind](i, spacing, *numbers)


def nodes(low: Fraction, high: Fraction, spacing: Fraction) -> Iterator[Fraction]:
    """Yield the multiples of the spacing from at most `low` to at least `high`."""
    first, last = math.floor(low / spacing), math.ceil(high / spacing)
    ensure(last - first < MAX_ATOMS, "more losses than this checker lists")
    return (k * spacing for k in range(first, last + 1))


# ------------------------------------------------------------------ laws with a density


class NormalTails:
    """P(μN > t) at exact t, each |t| once."""

    def __init__(self, i: Interval, square: Fraction) -> None:
        """Remember μ, rounded outward."""
        self.i, self.mu = i, i.sqrt(i.of(square))
        self.known: dict[Fraction, Pair] = {}

    def at(self, t: Fraction) -> Pair:
        """Enclose it."""
        if abs(t) not in self.known:
            self.known[abs(t)] = upper_tail(self.i, self.i.div(self.i.of(abs(t)), self.mu))
        tail = self.known[abs(t)]
        return tail if t >= 0 else self.i.sub(UNIT, tail)


def reach(i: Interval, square: Fraction) -> Fraction:
    """Return how far N(0, μ²) is from 0 at most, but for a mass below that of the last digit."""
    return upper.root(square) * (math.isqrt(5 * i.digits) + 1)


def gaussian(i: Interval, spacing: Fraction, square: Fraction) -> UpperMeasure:
    """The loss is N(μ²/2, μ²) under P and N(−μ²/2, μ²) under Q."""
    far, half, tails = reach(i, square), square / 2, NormalTails(i, square)
    losses = [*nodes(half - far, half + far, spacing)]
    there, back = ([tails.at(t + shift) for t in losses] for shift in (-half, half))
    return of_tails(i, [i.exp(i.of(t)) for t in losses], there, back)


def laplace(i: Interval, spacing: Fraction, most: Fraction) -> UpperMeasure:
    """P(loss > t) = 1 − e^{(t−ε)/2}/2 and Q(loss > t) = e^{−(t+ε)/2}/2 for −ε ≤ t < ε, and then 0.

    The masses ½ at ε and e^{−ε}/2 at −ε are atoms.
    """
    inner = [t for t in nodes(-most, most, spacing) if -most < t < most]
    losses = [-most, *inner, most]
    two = i.of(2)
    there = [i.sub(i.of(1), i.div(i.exp(i.of((t - most) / 2)), two)) for t in losses]
    back = [i.div(i.exp(i.of(-(t + most) / 2)), two) for t in losses]
    rest = of_tails(i, [i.exp(i.of(t)) for t in losses], there, back)  # loses the mass at the largest loss
    top = (i.exp(i.of(most))[1], there[-1][1])
    return UpperMeasure(gathered(i, [*rest.atoms, top]), NONE)


# ------------------------------------------------------------------ finitely many losses


def table(i: Interval, p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> UpperMeasure:
    """Two laws, outcome by outcome."""
    atoms, lost = Atoms(), NONE
    for there, back in zip(p, q, strict=True):
        if back and there:
            atoms.append((i.of(there / back)[1], i.of(there)[1]))
        else:
            lost = i.up.add(lost, i.of(there)[1])
    return UpperMeasure(gathered(i, atoms), lost)


def response(i: Interval, _: Fraction, epsilon: Fraction, answers: int) -> UpperMeasure:
    """Losses ε, −ε and 0 in the ratio e^ε : 1 : k − 2."""
    odds, inverse = i.exp(i.of(epsilon)), i.exp(i.of(-epsilon))
    total = i.add(odds, i.of(answers - 1))
    atoms = [(odds[1], i.div(odds, total)[1]), (inverse[1], i.div(UNIT, total)[1])]
    if answers > 2:
        atoms.append((ONE, i.div(i.of(answers - 2), total)[1]))
    return UpperMeasure(gathered(i, atoms), NONE)


def approximate(i: Interval, spacing: Fraction, epsilon: Fraction, delta: Fraction) -> UpperMeasure:
    """A failure of probability δ, else randomised response (Kairouz, Oh & Viswanath 2015)."""
    rest = response(i, spacing, epsilon, 2) if epsilon else UpperMeasure([(ONE, ONE)], NONE)
    kept = i.of(1 - delta)[1]
    return UpperMeasure([(z, i.up.multiply(p, kept)) for z, p in rest.atoms], i.of(delta)[1])


def geometric(i: Interval, spacing: Fraction, scale: Fraction, shift: int) -> UpperMeasure:
    """Two-sided geometric noise r^{|x|}(1 − r)/(1 + r), r = e^{−1/scale}, against the same moved by s.

    The loss is (s − 2x)/scale for 0 ≤ x ≤ s; x < 0 and x > s have the losses of the ends.
    """
    lies = i.div(UNIT, i.add(UNIT, i.exp(i.of(-1 / scale))))  # P(x ≤ 0)

    def right(x: int) -> Pair:
        """P(noise > x)."""
        tail = i.mul(i.exp(i.of(-Fraction(abs(x + 1) if x >= 0 else -x) / scale)), lies)
        return tail if x >= 0 else i.sub(UNIT, tail)

    def loss(x: int) -> Fraction:
        return Fraction(shift - 2 * min(max(x, 0), shift)) / scale

    return _along(i, spacing, loss, right, shift, (0, shift))


def discrete_gaussian(i: Interval, spacing: Fraction, sigma: Fraction, shift: int) -> UpperMeasure:
    """Discrete Gaussian noise against the same moved by s: the loss is (s/σ²)(s/2 − x)."""
    tails, reach = _gaussian_tails(i, sigma)

    def right(x: int) -> Pair:
        """P(noise > x): of both ends by symmetry."""
        if x < 0:
            return i.sub(UNIT, right(-x - 1))
        return tails[x + 1] if x <= reach else (NONE, tails[-1][1])

    def loss(x: int) -> Fraction:
        return Fraction(shift) / sigma**2 * (Fraction(shift, 2) - x)

    return _along(i, spacing, loss, right, shift, (-reach, reach + shift))


@lru_cache(maxsize=8)
def _gaussian_tails(i: Interval, sigma: Fraction) -> tuple[list[Pair], int]:
    """Return P(noise ≥ x) for x = 0, 1, …, and the last x; the sum beyond it is below a geometric one."""
    variance = sigma**2
    reach = math.isqrt(int(2 * variance * 5 * i.digits // 2)) + 2
    ensure(reach < MAX_ATOMS, "more losses than this checker lists")
    weights = [i.exp(i.of(Fraction(-x * x) / (2 * variance))) for x in range(reach + 2)]
    ratio = i.exp(i.of(Fraction(-(reach + 1)) / variance))
    beyond = i.div(weights[reach + 1], i.sub(UNIT, ratio))
    sums = [(NONE, beyond[1])]
    for weight in reversed(weights[: reach + 1]):
        sums.append(i.add(sums[-1], weight))
    sums.reverse()
    total = i.sub(i.add(sums[0], sums[0]), UNIT)  # x = 0 counts once
    return [i.div(each, total) for each in sums], reach


def _along(
    i: Interval,
    spacing: Fraction,
    loss: Callable[[int], Fraction],
    right: Callable[[int], Pair],
    shift: int,
    ends: tuple[int, int],
) -> UpperMeasure:
    """Return the measure of noise on the integers, whose loss falls along them, by runs of integers.

    A run is as long as the spacing allows, one integer at least.  What lies left of the first integer is
    lost where the loss rises on; what lies right of the last one is put there.
    """
    first, last = ends
    stride = max(1, math.floor(spacing / (loss(first) - loss(first + 1))))
    ensure((last - first) // stride < MAX_ATOMS, "more losses than this checker lists")
    odds = lru_cache(maxsize=4)(lambda x: i.exp(i.of(loss(x))))
    left, beyond = i.sub(UNIT, right(first - 1))[1], right(last)[1]
    rises = loss(first - 1) > loss(first)
    atoms = [(odds(last)[1], beyond), (odds(first)[1], NONE if rises else left)]
    for x in range(first, last + 1, stride):
        end = min(x + stride - 1, last)
        p, q = (i.sub(right(x - 1 - by), right(end - by)) for by in (0, shift))
        atoms += split(i, MeasureCell(odds(end), odds(x), p, q))
    return UpperMeasure(gathered(i, atoms), left if rises else NONE)


KINDS: dict[str, Callable[..., UpperMeasure]] = {
    "laplace": laplace,
    "response": response,
    "approximate": approximate,
    "geometric": geometric,
    "discrete-gaussian": discrete_gaussian,
    **upper.CURVES,
}
