"""Shuffled answers of randomised response: what one user's bit costs among others' known bits.

A bit is sent as it is with chance p > ½, else the other one; q = 1 − p.  Of n users' bits it is seen how many
are 1.  The others hold k ones, and their bits add up to T.  If the unit adds a one with chance u on one
dataset and v < u on the other, then at x = e^t

    P(s) − xQ(s) = a·P(T = s − 1) − b·P(T = s),      a = u − xv,      b = x(1 − v) − (1 − u) > 0.

T is a sum of independent bits, so P(T = s)/P(T = s − 1) falls (log-concavity: Newton): the sign changes once,
and δ(t) = max_s a·P(T ≥ s − 1) − b·P(T ≥ s).  The other direction counts zeros, and has n − 1 − k for k.

*Others' bits.*  Which k is worst depends on how s falls between whole numbers: often k = n − 1, the others
all alike and as the unit on the first dataset, but not always (at n = 5, p = .6 and t = .1·ln(p/q) it is 1).
So the maximum over all k is bounded, not that of one: for k in low … high the bits of high − low others are
told, which can only cost more, and `low` ones and n − 1 − high zeros are left whatever k.  Blocks are narrow
near k = n − 1, of n/200, and at most n/64 wide.  Below 64 others, all are single.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from flint import arb, arb_poly

from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import OutOfReach, kept, spend

DEPTH = 160  #: bits at which the law of a sum is cut off
BITS = 2 * DEPTH  #: of all balls


@dataclass(frozen=True)
class BitSum:
    """The law of a sum of bits on neighbouring numbers, `lost` of it left out; tails are from each on."""

    masses: tuple[arb, ...]
    tails: tuple[arb, ...]
    lost: arb

    def delta(self, a: arb, b: arb) -> arb:
        """Return a ball around Σ_s (a·P(s − 1) − b·P(s))₊, 0 < a ≤ b.

        The maximum is where a·P(s − 1) begins to exceed b·P(s), or next to it where balls do not tell
        which.  Masses that are left out, wherever they are, add at most a times theirs, and take at most b
        times it.
        """
        masses, tails, size = self.masses, self.tails, len(self.masses)

        def falls(s: int) -> arb:  # by how much the next tail costs less, negative while it costs more
            return a * (masses[s - 1] if s else 0) - b * (masses[s] if s < size else 0)

        low, high = 0, size
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if falls(middle).mid() > 0 else (middle, high)
        if (high > 1 and not falls(high - 2) < 0) or (high < size and not falls(high + 1) > 0):
            raise OutOfReach("the masses of a sum of bits are too close to each other")
        near = [max(0, high - 1), high, min(size, high + 1)]
        costs = [a * tails[max(0, s - 1)] - b * tails[s] for s in near]
        return (max_of(costs) + (self.lost * a).union(-self.lost * b)).max(arb(0)).min(a)


def max_of(values: list[arb]) -> arb:
    """Return a ball around the largest of some numbers."""
    most = values[0]
    for value in values[1:]:
        most = most.max(value)
    return most


def bit_sum(ones: int, zeros: int, p: arb) -> BitSum:
    """Return the law of the sum of `ones` bits that are 1 with chance p, and `zeros` with chance 1 − p."""
    spend((ones + zeros) ** 0.5)
    masses = [*(arb_poly(_binomial(ones, p)) * arb_poly(_binomial(zeros, 1 - p)))]
    tiny = arb(2) ** -DEPTH
    kept_ones = [k for k, mass in enumerate(masses) if mass > tiny]
    masses = masses[kept_ones[0] : kept_ones[-1] + 1]
    tails = [arb(0), *accumulate(reversed(masses))][::-1]
    return BitSum(tuple(masses), tuple(tails), (1 - tails[0]).max(arb(0)).upper())


def _binomial(trials: int, chance: arb) -> list[arb]:
    """Return the masses of a binomial law around its mode, above about 2^−DEPTH."""
    mode = min(trials, int(float(chance) * (trials + 1)))
    odds, tiny = chance / (1 - chance), arb(2) ** (-2 * DEPTH)
    logs = [arb(n + 1).lgamma() for n in (trials, mode, trials - mode)]
    top = (logs[0] - logs[1] - logs[2] + mode * chance.log() + (trials - mode) * (1 - chance).log()).exp()
    up, down = [top], []
    for k in range(mode, trials):
        if up[-1] < tiny:
            break
        up.append(up[-1] * odds * (trials - k) / (k + 1))
    value = top
    for k in range(mode, 0, -1):
        if value < tiny:
            break
        value = value * k / (odds * (trials - k + 1))
        down.append(value)
    spend((len(up) + len(down)) / 16)
    return [*reversed(down), *up]


def blocks(others: int) -> Iterator[tuple[int, int]]:
    """Yield numbers of ones and of zeros that are left of `others`, one pair for each block of datasets."""
    high = others
    while high >= 0:
        width = max(others // 200, min((others - high) // 16, others // 64))
        low = max(0, high - width)
        yield low, others - high
        high = low - 1


def chances(epsilon: Fraction, k: int) -> tuple[arb, arb]:
    """Return the chance of the true one of k outcomes under randomised response, and of each other one."""
    odds = ball(epsilon).exp()
    return odds / (odds + k - 1), 1 / (odds + k - 1)


@kept(4)
def worst_sums(epsilon: Fraction, users: int) -> list[BitSum]:
    """Return a law for each block of datasets: the largest cost of these is no less than any dataset's."""
    with precision(BITS):
        p, _ = chances(epsilon, 2)
        return [bit_sum(ones, zeros, p) for ones, zeros in blocks(users - 1)]


@kept(8)
def sum_beside(epsilon: Fraction, users: int, k: int, *, added: bool) -> tuple[BitSum, arb, arb]:
    """Return T of one dataset, u and v: the others are all as the unit (k = 2), or third outcomes (k > 2).

    `added` is the other direction, by how many zeros are seen.
    """
    with precision(BITS):
        p, q = chances(epsilon, k)
        seen = p if k == 2 else q
        if added:
            return bit_sum(users - 1, 0, 1 - seen), 1 - q, 1 - p
        return bit_sum(users - 1, 0, seen), p, q


def cost(law: BitSum, u: arb, v: arb, t: Fraction) -> arb:
    """Return a ball around δ(t), t ≥ 0, beside the law of the others' sum."""
    spend(len(law.masses).bit_length())
    with precision(BITS):
        x = ball(t).exp()
        a, b = u - x * v, x * (1 - v) - (1 - u)
        return law.delta(a, b) if a > 0 else arb(0).union(a.upper().max(arb(0)))


def worst_cost(epsilon: Fraction, users: int, t: Fraction) -> arb:
    """Return a ball whose upper end bounds δ(t), t ≥ 0, of shuffled bits over all datasets."""
    with precision(BITS):
        p, q = chances(epsilon, 2)
    return max_of([cost(law, p, q, t) for law in worst_sums(epsilon, users)])
