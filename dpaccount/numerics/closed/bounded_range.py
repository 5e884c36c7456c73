"""Bounded range: the exact worst case of k mechanisms, chosen adaptively.

A mechanism is η-bounded-range (BR) where its losses on a pair of neighbours lie in an interval of length η.
The worst such pair for any one interval [t − η, t], 0 ≤ t ≤ η, is a generalised randomised response: loss t
with probability p(t) = (e^{η−t} − 1)/(e^{η−t} − e^{−t}) = (e^η − e^t)/(e^η − 1), else t − η (Dong, Durfee &
Rogers 2020, section 4).
When every t may depend on earlier answers, the optimum obeys

    δ_k(ε) = sup_{0≤t≤η} p δ_{k−1}(ε − t) + (1 − p) δ_{k−1}(ε − t + η),    δ_0(ε) = (1 − e^ε)₊

(section 6 there), and it is larger than the optimum over t's fixed beforehand (section 5), which is attained
with all of them equal.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from flint import arb

from dpaccount.exact import rounded
from dpaccount.numerics.intervals import accurate, ball, ceil_of, floor_of, log_float, precision

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

CELLS = 1024  #: grid cells per η, at most
WORK = 5 * 10**7  #: elementary steps that one table may take
LEAST_CELLS = 8
UP = 1 + 2.0**-50  #: covers three roundings to nearest, 2^−53 each, in a sum of products of positive numbers
MIN_POSITIVE = 1e-300  #: added where products may underflow
RANGE_BITS = 160


class Adaptive:
    """Upper bounds on δ_k(ε) at the nodes ε = ih, |i| ≤ width, of a grid of h = η/cells.

    In x = e^ε every δ_k is convex, 1 at x = 0, and falls: a chord between nodes lies above it, and so does
    its last value beyond the last node. On a cell of t where both chords are straight, the supremum is that
    of A/u + B + Cu over u = e^{−t}: at an end if A ≥ 0, else no more than |A|(u₀ − u₁)²/(4u₁³(e^η − 1)) above
    the ends, and −A is at most the left chord's value at x = 0. All of this is a sum of products of positive
    numbers, so that floats rounded up by 2^−50 at a time stay above it.
    """

    def __init__(self, eta: Fraction, count: int, reach: Fraction, cells: int) -> None:
        self.step = eta / cells
        self.width = min(count * cells, math.ceil(reach / self.step))
        with precision(RANGE_BITS):
            self._prepare(eta, cells)
            nodes = range(-self.width, self.width + 1)
            start = [_up(-(ball(i * self.step).expm1())) if i < 0 else 0.0 for i in nodes]
        # Vectors of floats rounded up, not balls: a table takes up to `WORK` steps, too many to take one by
        # one.
        self.values = np.array(start)
        for _ in range(count):
            self.values = self._next(self.values, cells)

    def _prepare(self, eta: Fraction, cells: int) -> None:
        whole = ball(eta).expm1()
        risen = [ball(j * self.step).expm1() / whole for j in range(cells)] + [arb(1)]  # 1 − p(jh)
        self.leave = [_up(chance) for chance in risen]
        self.stay = [_up(1 - chance) for chance in risen]
        growth = ball(self.step).expm1()
        self.bend = [_up(growth**2 * ball((j + 1) * self.step).exp() / (4 * whole)) for j in range(cells)]
        self.rise = math.nextafter(float(floor_of(growth)), 0.0)
        below = [rounded(floor_of((-ball(i * self.step)).exp()), up=False) for i in range(1, cells + 1)]
        self.left = np.array(below[::-1])  # e^{−ih}: how far left of the first node, in x

    def _next(self, values: Floats, cells: int) -> Floats:
        """Return the node values of one more mechanism."""
        first = values[0]
        beyond = (1.0 - (1.0 - first) * (1 - 2.0**-50) * self.left) * UP if first < 1 else np.ones(cells)
        whole = np.concatenate([np.minimum(beyond, 1.0), values, np.full(cells, values[-1])])
        whole = np.maximum.accumulate(whole[::-1])[::-1]  # roundings may break the fall
        # the value at x = 0 of each cell's chord, the cell left of node i at index i
        drop = whole[:-1] - whole[1:]
        crossing = np.concatenate([[1.0], (whole[:-1] + drop / self.rise * UP) * UP])
        size = values.size

        def at(j: int) -> Floats:
            """Return the bracket at t = jh, rounded up."""
            near, far = whole[cells - j : cells - j + size], whole[2 * cells - j : 2 * cells - j + size]
            return (self.stay[j] * near + self.leave[j] * far) * UP + MIN_POSITIVE

        best = here = at(0)
        for j in range(cells):
            after = at(j + 1)
            over = crossing[cells - j : cells - j + size] * self.bend[j] * UP
            best = np.maximum(best, (np.maximum(here, after) + over) * UP)
            here = after
        return np.minimum(best, 1.0)

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return an upper bound on δ_k(ε), ε ≥ 0: the chord's height, or the last node's."""
        cell = math.floor(epsilon / self.step)
        if cell >= self.width:
            return Fraction(self.values[-1])
        a, b = (Fraction(self.values[self.width + cell + j]) for j in (0, 1))
        with precision(RANGE_BITS):
            share = (ball(epsilon - cell * self.step)).expm1() / ball(self.step).expm1()
            return min(Fraction(1), ceil_of(ball(a) - (ball(a) - ball(b)) * share))

    def epsilon(self, target: Fraction) -> Fraction | None:
        """Return an ε ≥ 0 with δ_k(ε) ≤ target; None where the table ends above it."""
        fits = [i for i in range(self.width + 1) if Fraction(self.values[self.width + i]) <= target]
        if not fits:
            return None
        if fits[0] == 0:
            return Fraction(0)
        a, b = (Fraction(self.values[self.width + fits[0] - j]) for j in (1, 0))
        with precision(RANGE_BITS):
            share = (ball(a) - ball(target)) / (ball(a) - ball(b))
            inside = ceil_of((share * ball(self.step).expm1()).log1p())
        return (fits[0] - 1) * self.step + min(inside, self.step)


def single_epsilon(eta: Fraction, target: Fraction) -> Fraction:
    """Return ε of one mechanism, rounded up, from δ(ε) = (e^{η/2} − e^{ε/2})²/(e^η − 1), the curve at k = 1.

    Attained at t = (η + ε)/2 (Dong, Durfee & Rogers 2020).
    """
    with precision(RANGE_BITS + 2 * target.denominator.bit_length()):
        root = (ball(eta) / 2).exp() - (ball(target) * ball(eta).expm1()).sqrt()
        return max(Fraction(0), ceil_of(2 * root.log())) if root > 1 else Fraction(0)


def single_delta(eta: Fraction, epsilon: Fraction) -> Fraction:
    """Return δ(ε), ε ≥ 0, of one mechanism, rounded up."""
    if epsilon >= eta:
        return Fraction(0)
    with precision(RANGE_BITS + 2 * max(eta, eta - epsilon).denominator.bit_length()):
        return ceil_of(((ball(eta) / 2).exp() - (ball(epsilon) / 2).exp()) ** 2 / ball(eta).expm1())


def table(eta: Fraction, count: int, target: Fraction) -> Adaptive | None:
    """Return upper bounds on the adaptive optimum for δ down to `target`; None where it takes too long.

    The number of cells is a power of two that depends on count and target, not on η: ε rises smoothly with η.
    """
    if not (0 < eta <= 30 and count <= 10**4 and Fraction(1, 10**250) < target < 1):
        return None
    depth = -log_float(target) + 14
    wide = min(float(count), count * float(eta) / 8 + math.sqrt(count * depth / 2))
    cells = CELLS
    while cells >= LEAST_CELLS and 2 * count * min(float(count), math.sqrt(count * depth)) * cells**2 > WORK:
        cells //= 2
    return Adaptive(eta, count, eta * math.ceil(wide), cells) if cells >= LEAST_CELLS else None


def _up(value: arb) -> float:
    return rounded(ceil_of(value), up=True)


def curve(eta: Fraction, bits: int) -> Callable[[Fraction], arb]:
    """Return the curve that dominates one η-bounded-range mechanism: (e^{η/2} − e^{ε/2})²/(e^η − 1), |ε| ≤ η.

    The largest of the curves of two-point losses {t, t − η}, attained at t = (η + ε)/2 (Dong, Durfee & Rogers
    2020).
    """

    def value(t: Fraction) -> arb:
        if t >= eta:
            return ball(0)
        if t <= -eta:
            return accurate(lambda: 1 - ball(t).exp(), bits)
        return accurate(lambda: ((ball(eta) / 2).exp() - (ball(t) / 2).exp()) ** 2 / ball(eta).expm1(), bits)

    return value
