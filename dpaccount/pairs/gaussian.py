"""The Gaussian pair: the closed curve and the moments of additive Gaussian noise."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from flint import arb

from dpaccount.numerics.bisection import Ends
from dpaccount.numerics.closed import gaussian
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.intervals import ball, between
from dpaccount.numerics.lattice.lattice import Grid
from dpaccount.pairs.pair import CommonSupport, ExactPair, Symmetric, Unbounded


@dataclass(frozen=True)
class GaussianPair(Symmetric, CommonSupport, Unbounded, ExactPair):
    """All Gaussian noise of a composition, of μ² in [low, high] together.

    It has no transform: a product of transforms has one μ² for all Gaussians (`contours.Product`).
    """

    mu2: Ends
    rank: ClassVar[int] = 0

    def own_curve(self, bits: int) -> Curve:
        """Return the closed curve."""
        mu2 = self.mu2
        return lambda t: gaussian.delta(t, mu2, bits)

    def lattice_curve(self, grid: Grid, depth: int) -> Curve:
        """Return the closed curve at one precision."""
        return partial(gaussian.delta_plain, mu2=self.mu2, bits=grid.bits + 64)

    def moment(self, s: arb) -> arb:
        """Return e^{s(s+1)μ²/2}."""
        return (s * (s + 1) * between(*self.mu2) / 2).exp()

    def add_moments(self, total: Moments, count: int) -> bool:
        """Add the mean μ²/2 and the variance μ²."""
        low, high = (count * ball(end) for end in self.mu2)
        total.above += high / 2
        total.width_above += high
        total.below += low / 2
        total.width_below += low
        total.reaches_mean(low / 2)
        return True
