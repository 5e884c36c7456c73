"""The upper measure of shuffled reports of an ε-DP randomiser, by the pair of `dpaccount/numerics/clones.py`.

With p = e^ε and n reports, C ~ Bin(n − 1, 2/(p + 1)) fair coins are thrown, and one that is right with odds
p; C and the number of heads are seen.  For C = c, P(a or more) − xQ(a or more) is largest at the first a
above (c + 1)(px − 1)/((p − 1)(1 + x)).  That cost δ_c falls as c rises: a coin can be added afterwards.  So

    δ ≤ Σ_j (G_{j+1} − G_j) δ_{c_j},    0 = c_0 < c_1 < … < c_m,  G_0 = 0,  G_j ≥ P(C < c_j),  G_{m+1} = 1.
"""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import NamedTuple

from ..distributions import binomial_tail
from ..documents import ensure, spend
from ..intervals import Interval, Pair, exact
from .measures import NONE, ONE, UpperMeasure
from .upper import both_signs

MOST_USERS = 10**8  # more cost no more
APART, FAR = Fraction(1, 2), 4  # deviations between two numbers of clones, and how far they go above the mean


class FairCoins(NamedTuple):
    """Parts of P(heads ≥ x) from x = ⌈coins/2⌉ on, at most `error` too small each, out of `whole`."""

    coins: int
    parts: list[int]
    error: int
    whole: int

    def at_least(self, i: Interval, heads: int) -> Pair:
        """Enclose P(heads ≥ x)."""
        index = heads - (self.coins + 1) // 2
        part = self.parts[index] if index < len(self.parts) else 0
        low = i.down.divide(Decimal(part), Decimal(self.whole + 2 * self.error))
        return low, i.up.divide(Decimal(part + self.error), Decimal(self.whole))


def fair_coins(coins: int, digits: int) -> FairCoins:
    """Count outward from the middle, whose mass is taken as 1: that gives the sum of all as well."""
    x, mass, masses = (coins + 1) // 2, 10**digits, list[int]()
    while mass and x <= coins:
        masses.append(mass)
        mass = mass * (coins - x) // (x + 1)
        x += 1
    spend(len(masses))
    # each mass is at most as many units too small as it is steps away from the middle; what is left falls
    # faster than by (coins − x)/(x + 1)
    left = len(masses) * (x + 1) // (2 * x + 1 - coins) + 1 if x <= coins else 0
    parts = [*accumulate(reversed(masses))][::-1]
    whole = 2 * parts[0] - (masses[0] if coins % 2 == 0 else 0)
    return FairCoins(coins, parts, len(masses) ** 2 + left, whole)


def levels(i: Interval, trials: int, rate: Fraction) -> list[tuple[int, Decimal]]:
    """Return numbers of clones c_j, the largest first, each with G_{j+1} − G_j."""
    mean, deviation = trials * rate, Fraction(math.isqrt(math.ceil(trials * rate * 4)) + 1, 2)
    gap, tiny = max(1, math.floor(APART * deviation)), Decimal(10) ** -i.digits
    found = [(trials + 1, ONE)]
    for c in range(min(trials, math.floor(mean + FAR * deviation)), 0, -gap):
        up = c > mean
        tail = binomial_tail(i, trials, rate, c if up else c - 1, up=up)
        below = i.up.subtract(ONE, tail[0]) if up else tail[1]
        found.append((c, min(below, found[-1][1])))
        if below < tiny:
            break
    found.append((0, NONE))
    return [(c, i.up.subtract(above, below)) for (_, above), (c, below) in pairwise(found)]


def shuffled(i: Interval, step: Fraction, epsilon: Fraction, users: int) -> UpperMeasure:
    """Return the measure by the heights of its curve."""
    p = i.exp(i.of(epsilon))
    rate = Fraction(math.floor(exact(i.div(i.of(2), i.add(p, i.of(1)))[0]) * 2**80), 2**80)
    ensure(0 < rate < 1, "this checker has no measure of shuffled reports of such an epsilon")
    coins = [(fair_coins(c, i.digits), mass) for c, mass in levels(i, min(users, MOST_USERS) - 1, rate)]

    def curve(t: Fraction) -> Decimal:
        if t >= epsilon:
            return NONE
        x = i.exp(i.of(t))
        right, wrong = i.sub(p, x), i.sub(i.mul(p, x), i.of(1))
        cut = tuple(map(exact, i.div(wrong, i.mul(i.sub(p, i.of(1)), i.add(i.of(1), x)))))
        total = NONE
        for each, mass in coins:
            ends = [math.floor(max(Fraction(1, 2), end) * (each.coins + 1)) + 1 for end in cut]
            costs = [
                i.sub(i.mul(right, each.at_least(i, a - 1)), i.mul(wrong, each.at_least(i, a)))[1]
                for a in range(ends[0], ends[1] + 1)
            ]
            total = i.up.add(total, i.up.multiply(mass, max(NONE, *costs)))
        return i.up.divide(total, i.down.add(p[0], ONE))

    most, least = step, Decimal(10) ** (14 - i.digits)
    while most < epsilon and curve(most) > least:
        most *= 2
    return both_signs(i, step, min(most, epsilon), curve)
