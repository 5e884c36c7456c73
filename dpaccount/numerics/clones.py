"""Shuffled reports of an ε-DP randomiser: the pair that dominates them, and its curve.

n units send a report each, all of the same randomiser; seen are the reports in random order. One
unit's data changes from 0 to 1, and nothing else does. Let p = e^ε, let r₀, r₁ be the densities of
that unit's report and r that of another one, D₀ = (r₀ − r₁)₊/β and D₁ = (r₁ − r₀)₊/β with β the
total variation.

*Clones* (Feldman, McMillan & Talwar 2021, 2023; Wang et al. 2023, arXiv 2304.05007). Let w = β(p +
1)/(p − 1) and (p − 1)(1 − w)J = p·min(r₀, r₁) − max(r₀, r₁). That is not negative by ε-DP, and its
integral is p(1 − β) − (1 + β), so w ≤ 1 and J is a density: what both reports have in common. Where
r₀ ≥ r₁, and likewise elsewhere,

    r₀ = w(pD₀ + D₁)/(p + 1) + (1 − w)J,      r₁ = w(D₀ + pD₁)/(p + 1) + (1 − w)J,
    r ≥ max(r₀, r₁)/p = w(D₀ + D₁)/(p + 1) + (1 − w)J/p.

So a report is drawn by a symbol: the unit's is 0, 1 or J, with the probabilities V₀ or V₁ of the
first line; another one's is 0, 1, J with those of the second line, W, and else ⊥, where the rest of
its own density is drawn. W is the same for all. So given how many have each symbol, those of ⊥ are
any of the others with equal probability, whatever the unit does, and the reports are drawn from
these numbers. They cost no less than the reports.

*Means.* Numbers k of the symbols have the probability M(k) Σ_s k_s V(s)/(nW(s)), where M is
multinomial: n draws from W. So δ(t) = E(Z̄)₊, with Z̄ the mean of n independent draws of Z = (V₀ −
e^t V₁)/W: p − e^t, 1 − pe^t, p(1 − e^t) and 0 with probabilities w/(p + 1), w/(p + 1), (1 − w)/p
and the rest. This law is a mixture of those for w = 1 and w = 0, of equal means. Let 0 ≤ t ≤ ε. At
w = 0, E(Z − s)₊ is 0 for s ≥ 0; −s(1 − 1/p) for s from p(1 − e^t) to 0, and at w = 1 at least
−sp/(p + 1), which is no less; and left of that E Z − s, the least for any law of that mean. So in
convex order Z is largest at w = 1, hence Z̄ is (a mean of independent ones: Shaked & Shanthikumar
2007, 3.A.12), and δ(t). For t > ε it is 0, and for t < 0 it follows from the other direction.

*The pair* is that of w = 1: C ~ Bin(n − 1, 2/(p + 1)) clones throw a fair coin each, and the unit
one that is right with odds p. Seen are C and the number a of heads of all C + 1 coins, b are tails:
e^L = (pa + b)/(a + pb). For n ≥ 2 no randomiser is known that attains it.

A clone more is a coin more, which anybody may add: the cost falls as C rises. So C may be replaced
by a smaller number: 2/(p + 1) is rounded down, and where clones are many C is rounded down to few
values, 0 left of all of them. The pair computed here is the one after this rounding, exactly: at
most some 1e-4 more in ε, relatively.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from flint import arb

from dpaccount.numerics.intervals import ball, ceil_of, floor_of, precision
from dpaccount.numerics.work_budget import kept, spend

DEPTH = 128  #: bits at which a tail is cut off, beyond those of e^ε
MOST_TAILS = 200_000  #: numbers that are kept for one pair, about
MOST_USERS = 10**9  #: more reports cost no more, and are counted as so many


#: All coins; ⌈clones/2⌉; the probability of so many clones; P(heads ≥ x) among them from there on.
Coins = tuple[int, int, int, list[int]]


@dataclass(frozen=True)
class Clones:
    """The pair of one number of users, in units of 2^−bits; tails are `error` units too small at most."""

    epsilon: Fraction
    bits: int
    error: int
    cells: tuple[Coins, ...]

    def delta(self, t: Fraction) -> arb:
        """Return a ball around δ(t), t ≥ 0.

        For C = c, P − e^tQ of a heads or more is (α − e^t(1 − α))F(a − 1) + (1 − α − e^tα)F(a) with
        α = e^ε/(e^ε + 1) and F(x) = P(Bin(c, ½) ≥ x), and is largest for the least a above (c + 1)x,
        x = (e^{ε+t} − 1)/((e^ε − 1)(1 + e^t)). With x rounded down by r an a that is too small may be taken,
        which loses at most 2(e^ε − 1)r in all.
        """
        if t >= self.epsilon:
            return arb(0)
        spend(len(self.cells) / 16)
        with precision(self.bits + 64):
            p, e = ball(self.epsilon).exp(), ball(t).exp()
            right, wrong = e * ball(self.epsilon - t).expm1(), ball(self.epsilon + t).expm1()
            share = wrong / (right + wrong)
            # x is at least ½; rounded below it, `beyond` would be negative and index the tails from their
            # other end.
            cut = max(math.floor(floor_of(share) * 2**self.bits), 1 << (self.bits - 1))
            first = second = 0
            for coins, least, mass, tails in self.cells:
                beyond = (cut * coins >> self.bits) - least
                if beyond < len(tails) - 1:
                    first += mass * tails[beyond]
                    second += mass * tails[beyond + 1]
            missed = 2 * (p - 1) * (share - cut * arb(2) ** -self.bits)
            found = (right * self._sum(first) - wrong * self._sum(second)) / (p + 1)
            return (found + arb(0).union(missed.upper())).max(arb(0)).min(right / (p + 1))

    def _sum(self, units: int) -> arb:
        unit = arb(2) ** -self.bits
        return (ball(units) * unit + arb(0).union(ball(self.error))) * unit


@kept(2)
def clones(epsilon: Fraction, users: int) -> Clones:
    """Return the pair of `users` reports, ε > 0 of moderate size."""
    users = min(users, MOST_USERS)
    depth = DEPTH + 2 * math.ceil(epsilon * Fraction(3, 2))  # e^ε is below 2^{3ε/2}
    bits = depth + DEPTH  # as many for rounding
    with precision(bits + 64):
        rate = math.floor(floor_of(2 / (ball(epsilon).exp() + 1)) * 2**bits)
    first, below = _below(users - 1, rate, bits, depth)
    most = first + len(below) - 1
    reach = math.isqrt(2 * depth * max(1, most) // 5) + 2  # of a tail, about: ln 2/2 is below 2/5
    mode, near = min(users - 1, users * rate >> bits), len(below) // 9 + 1  # three deviations
    stride = -(-len(below) * reach // (3 * MOST_TAILS))
    at = sorted({0, first, *_places(mode, first, near, -stride), *_places(mode, most + 1, near, stride)})
    ends = [*(below[c - first] for c in at[1:]), 1 << bits]
    cells, error = [], 0
    for c, start, end in zip(at, [0, *ends], ends, strict=False):
        tails, off = _tails(c, bits, depth)
        cells.append((c + 1, (c + 1) // 2, end - start, [*tails, 0]))
        error = max(error, off)
    return Clones(epsilon, bits, error, tuple(cells))


def _places(mode: int, stop: int, near: int, stride: int) -> Iterator[int]:
    """Yield numbers from the mode on, before `stop`: near it a stride apart, further out ever more."""
    at = mode
    while (stop - at) * stride > 0:
        yield at
        at += stride if abs(stride) == 1 else stride * (1 + (abs(at - mode) // near) ** 4)


def _below(trials: int, rate: int, bits: int, depth: int) -> tuple[int, list[int]]:
    """Return a first c, and P(Bin(trials, rate) < c) for it and those after it, in units and rounded up.

    About 2^−depth lies left of the first one, and right of the last one.
    """
    one = 1 << bits
    spend(math.isqrt(trials))
    mode = min(trials, (trials + 1) * rate >> bits)
    with precision(bits + 128):
        q = ball(Fraction(rate, one))
        log = _log_choose(trials, mode) + mode * q.log() + (trials - mode) * (1 - q).log()
        top = math.ceil(ceil_of(log.exp()) * one)
    limit = 1 << (bits - depth - 32)
    down, value, c = [], top, mode
    while c > 0 and value > limit:
        value = -(-value * c * (one - rate) // ((trials - c + 1) * rate))
        c -= 1
        down.append(value)
    left = 0
    if c > 0:  # from here on masses fall faster than by this factor
        fall = Fraction(c * (one - rate), (trials - c + 1) * rate)
        left = math.ceil(down.pop() / (1 - fall))
        c += 1
    up, value = [top], top
    for k in range(mode, trials):
        if value <= limit:
            break
        value = -(-value * (trials - k) * rate // ((k + 1) * (one - rate)))
        up.append(value)
    return c, [min(each, one) for each in accumulate([*reversed(down), *up[:-1]], initial=left)]


def _tails(clones: int, bits: int, depth: int) -> tuple[list[int], int]:
    """Return P(Bin(clones, ½) ≥ x) from x = ⌈clones/2⌉ on, rounded down, and by how many units at most."""
    x = (clones + 1) // 2
    with precision(bits + 128):
        value = math.floor(floor_of((_log_choose(clones, x) - clones * arb(2).log()).exp()) * 2**bits)
    masses = [value]
    while x < clones and value >> (bits - depth - 32):
        value = value * (clones - x) // (x + 1)
        x += 1
        masses.append(value)
    spend(len(masses) / 16)
    # each mass is at most as many units too small as it is away from the first one; beyond the last one they
    # fall faster than by (clones − x)/(x + 1)
    beyond = 0 if x == clones else (value + len(masses)) * (x + 1) // (2 * x + 1 - clones) + 1
    masses.reverse()
    return [*accumulate(masses)][::-1], len(masses) ** 2 + beyond


def _log_choose(n: int, k: int) -> arb:
    return ball(n + 1).lgamma() - ball(k + 1).lgamma() - ball(n - k + 1).lgamma()
