"""Sums of exponentials at equidistant points: Σ_j w_j e^{inh ℓ_j} for all n < count at once."""

import math
from collections.abc import Sequence

from flint import acb, acb_mat, arb, ctx

from dpaccount.numerics.work_budget import affordable, spend

Points = Sequence[tuple[acb, acb]]  #: (weight w, exponent ℓ); either may be real


def along(points: Points, h: arb, count: int) -> list[acb]:
    """Return the sums for n < count as one product of matrices of exponentials.

    With n = m·b + r the exponential is a product of one over r and one over m.
    """
    cost = work(len(points), ctx.prec) * count
    affordable(cost)
    block = max(1, math.isqrt(count))
    rows = -(-count // block)
    inner, outer = [], []
    for weight, at in points:
        spend(0.5 + (block + rows) / 10)
        turn = acb(0, 1) * h * at
        inner.append([weight * power for power in _powers(turn.exp(), block)])
        outer.append(_powers((block * turn).exp(), rows))
    spend(cost)
    return list((acb_mat(outer).transpose() * acb_mat(inner)).entries()[:count])


def work(points: int, bits: int) -> float:
    """Return roughly how many steps of work one node takes."""
    return points * max(bits, 80) * 1e-4


def _powers(base: acb, count: int) -> list[acb]:
    """Return base^n, n < count; by halves, as n multiplications in a row would lose half a bit each."""
    found = [acb(1), base]
    for n in range(2, count):
        found.append(found[n // 2] * found[n - n // 2])
    return found[:count]
