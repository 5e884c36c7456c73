"""Shuffled k-ary randomised responses: losses and masses, for any data of the others and for alike ones.

Each of n units sends one report: its value, with odds p = e^ε against each other value.  Seen is how often
each value is sent.  One unit's value changes from 0 to 1.  As δ is jointly convex, the others' values may be
fixed; swapping 0 and 1 swaps the directions, so the largest curve over all data is the same in both.

*Two values.* Let g = (p − e^t)/(p + 1), h = (pe^t − 1)/(p + 1).  If i of the others hold 1, the number of
ones that they send is a sum of two binomials, with log-concave masses f.  With the unit's own, P − e^tQ is
gf(s − 1) − hf(s) at s ones, which is positive from the first a on where f(a − 1)/f(a) ≥ h/g:

    δ(t) = gf(a − 1) − (e^t − 1)(f(a) + f(a + 1) + …), the largest over i, which changes with t.

*More values.* With probability γ = k/(p + k − 1) a report is uniform, whatever the data; otherwise it is true
(Balle, Bell, Gascón & Nissim 2019).  Tell which of the others sent the truth: they drop out.  Left are N ~
Bin(n − 1, γ) uniform reports and the unit's own: a times 0, b times 1, m times others has k(pa + b + m)/((p +
k − 1)(N + 1)) times its mass for N + 1 uniform reports, as in `numerics.clones`.  With s = a + b ~ Bin(N + 1,
2/k), a ~ Bin(s, ½) and θ = ((pe^t − 1)s + (e^t − 1)(N + 1 − s))/((p − 1)(1 + e^t)),

    δ(t) = γ(p − 1)(1 + e^t) E (a − θ)₊/(N + 1).

Anybody may add a uniform report, so fewer of them cost no less: N is rounded down to one of few numbers.

*Points.* All are sums of positive numbers, but for one difference; bounds on rounding errors and on what is
cut off are added.  In e^t the curve is convex: chords between points lie above it, as does their lower hull.
"""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb, ctx

from dpaccount.numerics.clones import MOST_USERS, clones
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import kept, spend

MOST_REPORTS = 10_000  #: counted here; further ones cost no more
LOSSES = Fraction(1, 2**30), 16  #: ε for which floats will do
MOST_VALUES = 10**6  #: likewise
ERROR = 1e-11  #: relative, of masses and their sums: thousands of roundings of 2^−53
CUT_OFF = 90  #: −log of what is cut off at either end of a law
FAINT = 1e-44  #: masses that are cut off, too
CLOSE_POINTS, CLOSE_REACH, FAR_POINTS = 600, 15, 100  #: points within 15 deviations of the loss, and beyond
BLANKETS = 24  #: numbers N

Row = Any  #: an array of floats
Point = tuple[Fraction, arb]  #: t ≥ 0 and an upper bound on δ(t), exact


def of_any(epsilon: Fraction, categories: int, users: int) -> list[tuple[arb, arb]]:
    """Return the loss 0 and rising ones, the kinks of a curve above that of any data, with masses under P.

    ε within `LOSSES`, 2 to `MOST_VALUES` values, at least two users.
    """
    points = _points(epsilon, categories, users)
    with precision(ctx.prec + 256):
        slopes = [*(_slope(left, right) for left, right in pairwise(points)), arb(0)]
        middle = 1 - points[0][1] + 2 * slopes[0]  # the slope at −0 is that of the other direction
        atoms = [(arb(0), middle.max(arb(0)))]
        for (t, _), (before, after) in zip(points[1:], pairwise(slopes), strict=True):
            atoms.append((ball(t), (after - before) * ball(t).exp()))
    return atoms


def of_alike(epsilon: Fraction, categories: int, users: int) -> list[tuple[arb, arb]]:
    """Return the loss 0 and the positive ones, with masses under P, if all others hold a third value.

    Looked at is but by how much more often 0 is sent than 1. With A = 1/(p + k − 1), that of the others has
    the masses T of (A + (1 − 2A)z + Az²)^{n − 1}, which the equation for the derivative gives from the end
    on, and P(d) = A(pT(d − 1) + T(d + 1) + (k − 2)T(d)).
    """
    others, p, k = users - 1, ball(epsilon).exp(), categories
    spend(users)
    a = 1 / (p + k - 1)
    law = [arb(0), arb(0), a**others]  # of d = −n − 1, −n, …, 0
    for j in range(others):
        law.append(((p + k - 3) * (others - j) * law[-1] + (2 * others - j + 1) * law[-2]) / (j + 1))
    atoms = [(arb(0), a * ((p + 1) * law[-2] + (k - 2) * law[-1]))]
    for far, here, near in zip(law, law[1:], law[2:], strict=False):
        back, excess = a * (near + p * far + (k - 2) * here), a * (p - 1) * (near - far)
        atoms.append(((excess / back).log1p(), back + excess))
    return atoms


@kept(8)
def _points(epsilon: Fraction, categories: int, users: int) -> list[Point]:
    """Return points at rising t from 0 to ε whose chords in e^t are convex and lie above the curve."""
    high, few = float(epsilon), min(users, MOST_REPORTS)
    p, among = math.exp(high), min(users, MOST_USERS)
    near = min(CLOSE_REACH * math.expm1(high) * math.sqrt(2 / ((p + categories - 1) * among)), 0.99 * high)
    at = np.concatenate([np.linspace(0, near, CLOSE_POINTS), np.linspace(near, high, FAR_POINTS)[1:-1]])
    bounds = _of_bits(epsilon, few, at) if categories == 2 else _of_blanket(epsilon, categories, few, at)
    cut = 16 * p * p * math.exp(-CUT_OFF)
    others, found = clones(epsilon, users), []
    for t, value in zip(map(Fraction, at.tolist()), map(arb, (bounds + cut).tolist()), strict=True):
        close = categories == 2 and users == few and value > 10**4 * cut  # no clones do better
        found.append((t, value if close else others.delta(t).min(value).upper()))
    return _hull([*found, (epsilon, arb(0))])


def _of_bits(epsilon: Fraction, users: int, at: Row) -> Row:
    """Return bounds at each t for two values, but for what is cut off."""
    high, e, best = float(epsilon), np.expm1(at), np.zeros_like(at)
    odds = math.exp(high)
    g, h = -odds * np.expm1(at - high) / (odds + 1), np.expm1(at + high) / (odds + 1)
    with precision(128):
        truth = 1 / ((-ball(epsilon)).exp() + 1)
        for ones in range((users + 1) // 2):
            law = np.convolve(_binomial(ones, truth)[1], _binomial(users - 1 - ones, truth)[1][::-1])
            spend(len(law) / 16)
            for f in (law, law[::-1]):  # as many of the others hold 1, or 0
                above = np.append(np.cumsum(f[::-1])[::-1], 0.0)
                # Rounding might end the search too late; too early, it leaves out but a rounding.
                a = 1 + np.searchsorted(np.maximum.accumulate(f[:-1] / f[1:]), h / g * (1 - ERROR))
                rounded = ERROR * (g * f[a - 1] + (e + h) * above[a])
                best = np.maximum(best, g * f[a - 1] - e * above[a] + rounded)
    return best


def _of_blanket(epsilon: Fraction, categories: int, users: int, at: Row) -> Row:
    """Return bounds at each t for more than two values, but for what is cut off."""
    high, e, total = float(epsilon), np.expm1(at), np.zeros_like(at)
    both = math.expm1(high) * (2 + e)
    each, fixed = (np.expm1(at + high) - e) / both * (1 - ERROR), e / both * (1 - ERROR)
    with precision(128):
        share = categories / (ball(epsilon).exp() + categories - 1)
        first, law = _binomial(users - 1, share)
        stride = -(-len(law) // BLANKETS)
        for start in range(0, len(law), stride):
            reports, weight = first + start + 1, law[start : start + stride].sum()
            fewest, seen = _binomial(reports, arb(2) / categories)
            for s, mass in enumerate(seen, fewest):
                least, masses = _binomial(s, arb(1) / 2)
                spend(1 + len(masses) / 64)
                tails = np.append(np.cumsum(masses[::-1])[::-1], [0.0, 0.0])  # P(a ≥ least), …
                sums = np.cumsum(tails[::-1])[::-1]
                theta = each * s + fixed * reports
                a = np.minimum(np.maximum(theta.astype(np.int64) + 1 - least, 0), len(masses))
                total += weight * mass / reports * ((a + least - theta) * tails[a] + sums[a + 1])
    return total * float(share.mid()) * both * (1 + ERROR)


def _binomial(trials: int, chance: arb) -> tuple[int, Row]:
    """Return a least number and the masses of Bin(trials, chance) from it on, by ratios from the mode.

    By Hoeffding's bound e^−`CUT_OFF` is cut off at each end.
    """
    mode, reach = min(trials, int((trials + 1) * float(chance.mid()))), math.isqrt(CUT_OFF * trials // 2) + 3
    least, most = max(0, mode - reach), min(trials, mode + reach)
    log = ball(trials + 1).lgamma() - ball(mode + 1).lgamma() - ball(trials - mode + 1).lgamma()
    top = float((log + mode * chance.log() + (trials - mode) * (1 - chance).log()).exp().mid())
    number = np.arange(least + 1, most + 1)
    rise = (trials + 1 - number) / number * float((chance / (1 - chance)).mid())
    left, right = rise[: mode - least], rise[mode - least :]
    law = top * np.concatenate([np.cumprod(1 / left[::-1])[::-1], [1.0], np.cumprod(right)])
    return least + int(np.argmax(law > FAINT)), law[law > FAINT]


def _slope(left: Point, right: Point) -> arb:
    """Return the slope of a chord in e^t."""
    return (right[1] - left[1]) / (ball(left[0]).exp() * ball(right[0] - left[0]).expm1())


def _hull(found: list[Point]) -> list[Point]:
    """Return the lower convex hull of points in e^t, as one with those of the other direction at −t."""
    hull: list[Point] = []
    with precision(256):
        for t, bound in reversed(found):
            value = bound
            while hull:
                if t == 0:  # below the chord from −t₁ to t₁
                    after, x = hull[-1][1], ball(hull[-1][0]).exp()
                    value = value.min(after + (1 - after) * (x - 1) / (x + 1)).upper()
                if len(hull) == 1 or _slope((t, value), hull[-1]) < _slope(hull[-1], hull[-2]):
                    break
                hull.pop()
            hull.append((t, value))
    return hull[::-1]
