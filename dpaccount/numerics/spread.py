"""Lattices above a law, and how far above: losses spread onto nodes.

A loss l between two nodes is split onto both so that its mass under P and under Q is kept: it becomes l + N
with E[e^{−N} | l] = 1. As (1 − xe^{−l})₊ is convex in e^{−l} the curve rises, and by little. Say that N has
*spread v* if E[e^{λN} | l] ≤ e^{λ(λ+1)v/2} for all λ outside (−1, 0).

- Two points h apart have v = h²/4: with E e^{−N} = 1, Hoeffding's lemma bounds E N by h²/8 and so E e^{λN} by
  e^{λ(λ+1)h²/8}, λ ≥ 0; λ ≤ −1 is the same under Q, where E e^{N} = 1.
- Spreads add up in a composition, and where nodes are merged later (their new N depends on the past).

**How far the curve rises.** For one l and y = ε − l the rise is G(y) = E(1 − e^{y−N})₊ − (1 − e^y)₊. For y ≥ 0 and
s > 0, with κ(s) = s^s/(s+1)^{s+1} the maximum of (1 − e^{−x})e^{−sx},

    G(y) ≤ κ(s)E e^{s(N−y)} ≤ κ(s)e^{s(s+1)v/2 − sy} = κ(s) e^{y/2} e^{vz²/2 − v/8 − zy},  z = s + 1/2,

and z = y/v + 1/√v, where κ(s) ≤ κ(1/√v − 1/2) as κ falls, gives

    G(y) ≤ κ(1/√v − 1/2) e^{1/2 − v/8} · e^{y/2 − y²/(2v)}.

For y < 0 the complement G(y) = e^y G_rev(−y) gives the same bound. The law of l is not known, that of l + N is.
From E N ∈ [0, v/2] and E N² ≤ E e^N + E e^{−N} − 2 ≤ e^v − 1 (λ = 1), Jensen's inequality and x²/4v − |x|/4 ≥ −v/16,
for x = l − ε and v ≤ 1,

    e^{−x/2 − x²/(2v)} ≤ e^{1/4 + 9v/16} · E e^{−(x+N)/2 − (x+N)²/(4v)}.

So with X = l + N − ε the whole rise is at most κ(1/√v − 1/2) e^{3/4 + v/2} · E e^{−X/2 − X²/(4v)}: about 2.8·v times the
density at ε. Mass that was moved otherwise (tails), or that rounding added, raises the curve by at most itself.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb, fmpz, fmpz_poly

from dpaccount.numerics.balls import ball, bearable, ceil_of, precision, tick
from dpaccount.numerics.lattice import MOST_NODES, Grid, Lattice

RISE = 2.8  #: the rise over v times the density, about: κ(1/√v) e^{3/4} √(4πv)/v


def two_points(step: Fraction) -> Fraction:
    """Return the spread of a loss split onto two nodes one step apart."""
    return step * step / 4


def laplace(loss: Fraction, grid: Grid) -> Lattice:
    """Return Laplace noise of the given loss ε₀ spread onto −ε₀ + j·h, the atom at −ε₀ on the first node.

    The dots δ = 1 − e^{(t−ε₀)/2} connected: inside, m_j = tanh(h/4)e^{−ε₀+jh/2}; first e^{−ε₀}(1 + tanh(h/4))/2;
    the last two, beside and beyond the kink at ε₀, from the formulas of `numerics.dots`.
    """
    count = math.ceil(2 * loss / grid.step) + 1
    bearable(count, MOST_NODES)
    shift = grid.bits + 32 + 2 * int(1 + loss)
    with precision(shift + 64):
        half = ball(grid.step) / 4
        base = (-ball(loss)).exp()
        table = _exponentials(grid.step, shift, -(-count // 1024) * 1024)
        inside = _units(half.tanh() * base, shift)
        row = [((inside * power) >> (2 * shift - grid.bits)) + 1 for power in table[:count]]
        row[0] = _units(base * (1 + half.tanh()) / 2, grid.bits)
        dots = [(j, -((ball(-2 * loss + j * grid.step) / 2).expm1())) for j in range(count - 3, count - 1)]
        share = 1 / ball(grid.step).expm1()
        (_, before), (_, last) = dots
        row[-1] = _units((1 + share) * last, grid.bits)
        if count > 2:
            row[-2] = _units((1 + share) * (before - last) - share * last, grid.bits)
        else:
            row[0] = _units(1 - last - share * last, grid.bits)
    return Lattice(grid, -loss, 0, fmpz_poly(row), spread=two_points(grid.step))


@lru_cache(maxsize=8)
def _exponentials(step: Fraction, shift: int, count: int) -> list[fmpz]:
    """Return e^{jh/2} in units of 2^−shift, rounded up, j < count."""
    growth, value, found = (ball(step) / 2).exp(), arb(1), []
    for _ in range(count):
        tick()
        found.append(_units(value, shift))
        value *= growth
    return found


def _units(mass: arb, bits: int) -> fmpz:
    top = ceil_of(mass * (fmpz(1) << bits))
    return fmpz(max(0, -(-top.numerator // top.denominator)))


@dataclass
class Spread:
    """A lattice above a law, prepared for evaluation: δ lies between `curve` and what it rose by."""

    made: Lattice

    def __post_init__(self) -> None:
        """Sum the masses from the right, and their e^{−t}."""
        made = self.made
        row = made.masses.coeffs()
        self.row, self.above, self.tilted = row, [fmpz(0)], [arb(0)]
        with precision(made.grid.bits + 64):
            weight = (-ball(made.position(len(row) - 1))).exp()
            growth = ball(made.grid.step).exp()
            for mass in reversed(row):
                self.above.append(self.above[-1] + mass)
                self.tilted.append(self.tilted[-1] + mass * weight)
                weight *= growth
        unit = fmpz(1) << made.grid.bits
        self.added = max(0, int(self.above[-1] + made.infinite - unit)) + made.moved

    def curve(self, t: Fraction) -> arb:
        """Return a ball around δ(t): the lattice's D(t) = m_∞ + A_j − e^t B_j, and what it may have risen by."""
        made = self.made
        with precision(made.grid.bits + 64):
            first = math.floor((t - made.origin) / made.grid.step) + 1 - made.first
            over = max(0, min(made.size - first, made.size))
            total = self.above[over] - ball(t).exp() * self.tilted[over] + made.infinite
            low = total - self.added - self.rise(t)
            unit = fmpz(1) << made.grid.bits
            return (low.lower().max(arb(0)).union(total.upper()) / unit).min(arb(1))

    def rise(self, t: Fraction) -> arb:
        """Return a bound, in units of mass, on how far spreading raised the curve at t."""
        made = self.made
        if not made.spread:
            return arb(0)
        if not made.spread <= 1:
            return arb(2) ** made.grid.bits
        v = ball(made.spread)
        s = 1 / v.sqrt() - arb(1) / 2
        kappa = (s * s.log() - (s + 1) * (s + 1).log()).exp()
        return kappa * (arb(3) / 4 + v / 2).exp() * (self._near(t) + made.moved * (v / 4).exp())

    def _near(self, t: Fraction) -> arb:
        """Return a bound on Σ m_j e^{−x/2 − x²/(4v)}, x = t_j − t, in units; far nodes together."""
        made, v = self.made, self.made.spread
        reach = Fraction(math.sqrt(4 * v * (made.grid.bits + 16)))  # beyond, e^{−x²/4v} < e^{−bits−16}
        low = max(0, math.floor((t - reach - made.origin) / made.grid.step) - made.first)
        high = min(made.size, math.ceil((t + reach - made.origin) / made.grid.step) + 1 - made.first)
        rate = ball(1 / (4 * v))
        total = self.above[-1] * _far(reach, v)
        if low >= high:
            return total
        x = ball(made.position(low) - t)
        step = ball(made.grid.step)
        # the weights have constant second differences: each is the last one times a ratio that shrinks evenly
        weight = (-x / 2 - x * x * rate).exp()
        ratio = (-step / 2 - (2 * x + step) * step * rate).exp()
        shrink = (-2 * step * step * rate).exp()
        for mass in self.row[low:high]:
            total += mass * weight
            weight *= ratio
            ratio *= shrink
        return total


def _far(reach: Fraction, v: Fraction) -> arb:
    """Return the largest e^{−x/2 − x²/(4v)} with |x| ≥ reach, which is at x = −reach where reach ≥ v."""
    x = ball(max(reach, v))
    return (x / 2 - x * x / (4 * ball(v))).exp()
