"""The transform of Gaussian noise with random allocation.

One of t steps, drawn uniformly, holds the unit: P is the uniform mixture of N(μe_i, I) over i, Q = N(0, I),
and dP/dQ = S is a mean of t independent log-normals. Removing the unit has M(s) = E_Q S^{1+s} = H(1 + s),
adding it M(s) = H(−s) (`mean_powers`).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import acb, arb, ctx

from dpaccount.numerics.allocation.mean_powers import (
    MOST_POWER,
    LogNormals,
    MeanPowers,
    moment_bound,
    moments,
    order,
)
from dpaccount.numerics.fourier.transforms import Decay, OfOdds
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import SECOND, OutOfReach, kept, over_limit

ESTIMATE_BITS = 96  #: of powers with real exponents, of which bounds and estimates are made
#: Of real powers that are computed closely; beyond them bounds by whole moments will do, which are quicker.
RANGES = (
    *((-(4.0 ** (k + 1)), -(4.0**k)) for k in (4, 3, 2)),
    *((-16.0, 0.0), (0.0, 4.0), (4.0, 8.0), (8.0, 12.0)),
)
ALWAYS = (0.0, 4.0)  #: the range that is computed also where it is expensive
CHEAP = 0.2 * SECOND  #: steps that other ranges may take
ACCURATE = 20  #: bits of a value that is better than a bound
MOST_TILT = 350.0, 1000.0  #: of contours, for a unit that is removed and one that is added


@dataclass(frozen=True)
class AllocatedDecay(Decay):
    """A Gaussian of variance μ²/t is an independent part of the loss."""

    variance: Fraction

    def far(self, t: arb) -> arb:
        """Return e^{−t²μ²/(2t)} for the number of steps t."""
        return (-t * t * ball(self.variance) / 2).exp()


@dataclass(frozen=True)
class AllocatedGaussianTransform(OfOdds):
    """Gaussian noise of μ² = `mu2` in `steps` steps, one of which holds the unit; `added`: the direction."""

    steps: int
    mu2: Fraction

    @property
    def law(self) -> LogNormals:
        """Return the law of the odds, which are averaged over the steps."""
        return LogNormals(self.steps, self.mu2)

    def value(self, s: arb) -> arb:
        """Return M(s) for real s; of large |s| a ball that reaches up to a bound."""
        a = self.power(s)
        with precision(max(ctx.prec, ESTIMATE_BITS)):
            powers = _real_powers(self.law, float(a.mid()))
            found = arb("nan") if powers is None else powers.line(arb(a), arb(0), 1)[0].real
            if found.rel_accuracy_bits() >= ACCURATE:
                return found
            most = 0 if a < 0 else int(a.upper().ceil().unique_fmpz()) + 2
            return arb(0).union(moment_bound(self.law, arb(a), most).exp())

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s), by sums in floats."""
        try:
            return count * _float_log(self.law, self.power(s))
        except OutOfReach:
            # One power out of reach rules out this line only; an exhausted budget must end the search.
            if over_limit():
                raise
            return math.inf

    def most_tilt(self) -> float:
        """Return the largest c of contours."""
        return MOST_TILT[self.added]

    def work(self, c: float, bits: int) -> float:
        """Return roughly how many steps of work one node on Re s = c takes."""
        return 0.05 * bits * self.weight(c)

    def weight(self, c: float) -> float:
        """Return the cost of a node relative to the simplest: more derivatives, more work."""
        return 1 + order(self.power(c)) / 4

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count; adding a unit mirrors the line, so it is conjugated."""
        a = self.power(c)
        centre = float(a.mid())
        powers = MeanPowers(self.law, centre, centre, float((h * count).upper()), ctx.prec)
        values = powers.line(a, h, count, self.value(c).upper())
        return [value.conjugate() for value in values] if self.added else values

    def decay(self, c: arb, depth: float) -> Decay:
        """Return the decay of the Gaussian part."""
        return AllocatedDecay(self.mu2 / self.steps)


def _real_powers(law: LogNormals, a: float) -> MeanPowers | None:
    """Return the `MeanPowers` that know H at real powers near a; None where bounds and estimates will do."""
    near = next(((low, high) for low, high in RANGES if low <= a <= high), None)
    return None if near is None else _in_range(law, *near)


@kept(64)
def _in_range(law: LogNormals, low: float, high: float) -> MeanPowers | None:
    if (low, high) != ALWAYS and MeanPowers.work(law, low, high, 0.0, ESTIMATE_BITS) > CHEAP:
        return None
    return MeanPowers(law, low, high, 0.0, ESTIMATE_BITS)


@lru_cache(maxsize=1 << 12)
def _rows(powers: MeanPowers, whole: int) -> Any:
    import numpy as np

    return [np.array(row) for row in powers.logs(whole)]


@kept(1 << 14)
def _float_log(law: LogNormals, a: float) -> float:
    import numpy as np

    powers = _real_powers(law, a)
    if powers is None:
        return _between_moments(law, a)
    whole = order(a)
    nodes, logs = _rows(powers, whole)
    terms = (whole - a) * nodes + logs
    top = terms.max()
    found = float(top + np.log(np.exp(terms - top).sum()) - math.lgamma(whole - a))
    return min(found, _between_moments(law, a)) if a < 0 else found


def _between_moments(law: LogNormals, a: float) -> float:
    """Return an estimate of log H(a) for large |a|: a cubic through whole moments, or the bound."""
    if a < 0:
        return -a * float(law.mu2) / 2 + a * a * float(law.mu2) / 2 / law.steps
    low = max(1, math.floor(a))
    if low + 3 > MOST_POWER:
        return math.inf
    ends = [float(value.mid()) for value in moments(law, low + 2)[low - 1 : low + 3]]
    x = a - low
    weights = (
        -x * (x - 1) * (x - 2) / 6,
        (x + 1) * (x - 1) * (x - 2) / 2,
        -(x + 1) * x * (x - 2) / 2,
        (x + 1) * x * (x - 1) / 6,
    )
    return sum(weight * end for weight, end in zip(weights, ends, strict=True))
