"""Lattices above a law, and how far above: losses spread onto nodes.

A loss l between two nodes is split onto both so that its mass under P and under Q is kept: it becomes l + N
with E[e^{−N} | l] = 1. As (1 − xe^{−l})₊ is convex in e^{−l} the curve rises, and by little. Say that N has
*spread v* if E[e^{λN} | l] ≤ e^{λ(λ+1)v/2} for all λ outside (−1, 0).

- Two points h apart have v = h²/4: with E e^{−N} = 1, Hoeffding's lemma bounds E N by h²/8 and so E e^{λN}
  by e^{λ(λ+1)h²/8}, λ ≥ 0; λ ≤ −1 is the same under Q, where E e^N = 1.
- Spreads add up in a composition, and where nodes are merged later (their new N depends on the past).
- Sampling keeps them: on a sample N becomes ln(1 − ρ + ρe^N), where ρ ∈ [0, 1] is how likely the unit is in
  it given l, and (1 − ρ + ρe^N)^a ≤ 1 − ρ + ρe^{aN} for a ≥ 1 and a ≤ 0, as these powers are convex.

**How far the curve rises.** For one l and y = ε − l the rise is G(y) = E(1 − e^{y−N})₊ − (1 − e^y)₊. For y ≥
0 and s > 0, with κ(s) = s^s/(s+1)^{s+1} the maximum of (1 − e^{−x})e^{−sx},

    G(y) ≤ κ(s)E e^{s(N−y)} ≤ κ(s)e^{s(s+1)v/2 − sy} = κ(s) e^{y/2} e^{vz²/2 − v/8 − zy},  z = s + 1/2,

and z = y/v + 1/√v, where κ(s) ≤ κ(1/√v − 1/2) as κ falls, gives

    G(y) ≤ κ(1/√v − 1/2) e^{1/2 − v/8} · e^{y/2 − y²/(2v)}.

For y < 0 the complement G(y) = e^y G_rev(−y) gives the same. The law of l is not known, that of l + N is.
From E N ∈ [0, v/2] and E N² ≤ E e^N + E e^{−N} − 2 ≤ e^v − 1, Jensen's inequality and x²/4v − |x|/4 ≥ −v/16,
for x = l − ε and v ≤ 1,

    e^{−x/2 − x²/(2v)} ≤ e^{1/4 + 9v/16} · E e^{−(x+N)/2 − (x+N)²/(4v)}.

So with X = l + N − ε the whole rise is at most κ(1/√v − 1/2) e^{3/4 + v/2} · E e^{−X/2 − X²/(4v)}, about
2.8·v times the density at ε. Mass that was moved otherwise (tails), or that rounding added, raises the curve
by at most itself.
"""

import math
from fractions import Fraction

from flint import arb, fmpz

from dpaccount.numerics.bisection import solve
from dpaccount.numerics.intervals import ball, ceil_of, floor_of, precision
from dpaccount.numerics.lattice.lattice import Masses
from dpaccount.numerics.work_budget import spend


class Excess:
    """A lattice above a law, prepared for evaluation: the curve lies between `lowest` and `highest`."""

    def __init__(self, made: Masses) -> None:
        self.made = made
        self.row = made.masses.coeffs()
        self.ratio = 1.0  #: how much wider than wanted what it proves is
        self.above, self.tilted = [fmpz(0)], [arb(0)]
        spend(len(self.row) / 2)
        with precision(made.grid.bits + 64):
            weight = (-ball(made.position(made.size - 1))).exp()
            growth = ball(made.grid.step).exp()
            for mass in reversed(self.row):
                self.above.append(self.above[-1] + mass)
                self.tilted.append(self.tilted[-1] + mass * weight)
                weight *= growth
        self.unit = fmpz(1) << made.grid.bits
        self.added = max(0, int(self.above[-1] + made.infinite - self.unit)) + made.moved

    def highest(self, t: Fraction) -> arb:
        """Return a ball around the lattice's D(t) = m_∞ + A_j − e^t B_j, sums over the nodes above t."""
        made = self.made
        with precision(made.grid.bits + 64):
            first = math.floor((t - made.origin) / made.grid.step) + 1 - made.first
            over = max(0, min(made.size - first, made.size))
            total = self.above[over] - ball(t).exp() * self.tilted[over] + made.infinite
            return total / self.unit

    def lowest(self, t: Fraction) -> arb:
        """Return a ball around a number that δ(t) is at least, 0 where nothing is known."""
        with precision(self.made.grid.bits + 64):
            return (self.highest(t) - (self.added + self.rise(t)) / self.unit).max(arb(0))

    def curve(self, t: Fraction) -> arb:
        """Return a ball around δ(t)."""
        return self.lowest(t).union(self.highest(t)).max(arb(0)).min(arb(1))

    def epsilon(self, target: Fraction, close: Fraction) -> tuple[Fraction, Fraction | None]:
        """Return an enclosure of ε(target), 0 < target < 1; None above where the bound is infinite.

        The ends are found up to close·max(1, ε) each.
        """
        if ceil_of(self.highest(Fraction(0))) <= target:
            return Fraction(0), Fraction(0)
        most = top = max(self.made.position(self.made.size - 1), Fraction(0))
        high = None
        if ceil_of(self.highest(top)) <= target:
            close *= max(Fraction(1), top)
            high = most = solve(self.highest, target, Fraction(0), top, close)[1]
        return self._below(target, most, close), high

    def _below(self, target: Fraction, most: Fraction, close: Fraction) -> Fraction:
        """Return a t < most with δ(t) > target, or 0: `lowest` need not fall, so it is sought from above."""
        away = 2 * close
        while away < most and not floor_of(self.lowest(most - away)) > target:
            away *= 2
        if away >= most:
            return Fraction(0)
        return solve(self.lowest, target, most - away, most, close)[0]

    def rise(self, t: Fraction) -> arb:
        """Return a bound, in units of mass, on how far spreading raised the curve at t."""
        made = self.made
        if not made.spread:
            return arb(0)
        if not made.spread <= 1:
            return arb(self.unit)
        # The bound at the head of this module, with v = 1 at most.
        v = ball(made.spread)
        s = 1 / v.sqrt() - arb(1) / 2
        kappa = (s * s.log() - (s + 1) * (s + 1).log()).exp()
        return kappa * (arb(3) / 4 + v / 2).exp() * (self._near(t) + made.moved * (v / 4).exp())

    def _near(self, t: Fraction) -> arb:
        """Return a bound on Σ m_j e^{−x/2 − x²/(4v)}, x = t_j − t, in units; the far nodes together."""
        made, v = self.made, self.made.spread
        reach = Fraction(math.sqrt(4 * v * (made.grid.bits + 16)))  # beyond, e^{−x²/4v} < e^{−bits−16}
        low = max(0, math.floor((t - reach - made.origin) / made.grid.step) - made.first)
        high = min(made.size, math.ceil((t + reach - made.origin) / made.grid.step) + 1 - made.first)
        total = max(self.above[-1], self.unit) * _far(reach, v)
        if low >= high:
            return total
        x, step, rate = ball(made.position(low) - t), ball(made.grid.step), ball(1 / (4 * v))
        # equidistant points: each weight is the last one times a ratio that falls geometrically
        weight = (-x / 2 - x * x * rate).exp()
        ratio = (-step / 2 - (2 * x + step) * step * rate).exp()
        fall = (-2 * step * step * rate).exp()
        spend((high - low) / 3)
        for mass in self.row[low:high]:
            total += mass * weight
            weight *= ratio
            ratio *= fall
        return total


def _far(reach: Fraction, v: Fraction) -> arb:
    """Return the largest e^{−x/2 − x²/(4v)} with |x| ≥ reach, which is at x = −reach where reach ≥ v."""
    x = ball(max(reach, v))
    return (x / 2 - x * x / (4 * ball(v))).exp()
