"""Pairs with losses on a rational grid: geometric and discrete Gaussian noise, randomised response.

Randomised response of two answers dominates every ε-DP mechanism.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb, ctx

from dpaccount.numerics.bisection import Ends
from dpaccount.numerics.closed import discrete_losses, moments
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.fourier.discrete_transforms import (
    AtomTransform,
    DiscreteGaussianTransform,
    GeometricTransform,
    ResponseTransform,
)
from dpaccount.numerics.fourier.sampled_atoms import DiscreteParts
from dpaccount.numerics.intervals import accurate, ball, ceil_of, precision
from dpaccount.numerics.lattice import exact_grids, lattice
from dpaccount.numerics.lattice.exact_grids import OnGrid
from dpaccount.numerics.lattice.lattice import Grid, Masses
from dpaccount.pairs.pair import (
    MAX_LISTED,
    RationalEnds,
    Symmetric,
    TransformPair,
    Unbounded,
)


class GridPair(TransformPair):
    """A pair whose losses lie on a rational grid, listed where they are few."""

    @abstractmethod
    def on_grid(self) -> OnGrid:
        """Return the pair on its grid."""

    @abstractmethod
    def listed(self) -> bool:
        """Return whether the losses that matter are few enough to be listed one by one."""

    @abstractmethod
    def delta(self, t: Fraction) -> arb:
        """Return δ(t) at the precision of the moment, for any number of losses."""

    def own_curve(self, bits: int) -> Curve:
        """Return the curve from the listed losses, else from their tails."""
        if self.listed():
            return exact_grids.compose(((self.on_grid(), 1),), -float(bits)).curve
        return lambda t: accurate(lambda: self.delta(t), bits, max(96, bits + 32))

    def lattice(self, grid: Grid, depth: int) -> Masses:
        """Return the listed losses on a lattice, else those of the curve."""
        return self.on_grid().base(grid) if self.listed() else super().lattice(grid, depth)


class AtomPair(Symmetric, RationalEnds, GridPair):
    """A symmetric pair with finitely many rational losses."""

    @abstractmethod
    def transform(self) -> AtomTransform:
        """Return the transform, which knows the losses."""

    def largest(self) -> Fraction:
        """Return the largest loss, which has a mass."""
        return self.transform().largest()

    def on_grid(self) -> OnGrid:
        """Return the losses on their grid."""
        atoms = self.transform()
        return OnGrid(atoms.step(), atoms.size(), lambda grid: lattice.atoms(grid, atoms.points()))

    def listed(self) -> bool:
        """Return whether losses are few enough to be listed one by one."""
        return self.transform().size() <= MAX_LISTED

    def delta(self, t: Fraction) -> arb:
        """Return δ(t) from the listed losses."""
        return sum((m() * (-ball(t - at).expm1()) for at, m in self.transform().points() if at > t), arb(0))

    def add_discrete(self, parts: DiscreteParts, count: int) -> bool:
        """Add the losses."""
        parts.atoms.append((self.transform(), count))
        return True

    @abstractmethod
    def mean_and_top(self) -> tuple[arb, arb]:
        """Return the mean loss, and the mass of the largest one."""

    def add_moments(self, total: Moments, count: int) -> bool:
        """Add the mean, and the square of the largest loss as the width."""
        (mean, top), most = self.mean_and_top(), self.ceiling()
        total.both(count * mean, count * most * most)
        total.reaches(count * most, (count * top.log()).exp())
        return True

    def peak(self) -> tuple[arb, arb]:
        """Return the largest loss and its mass."""
        return self.ceiling(), self.mean_and_top()[1]


def laplace_losses(scale: Fraction, shift: int) -> Ends:
    """Return the losses of Laplace pairs that cost no more, and no less, than geometric noise that is moved.

    They are shift/scale, and 2·shift·ln((1 + e^{1/scale})/2) rounded up (docs/numerics.md, "Groups").
    """
    with precision(256):
        more = 2 * shift * ((1 / ball(scale)).expm1() / 2).log1p()
        return shift / scale, ceil_of(more)


@dataclass(frozen=True)
class GeometricPair(AtomPair):
    """Two-sided geometric noise of scale `scale`, moved by `shift` ≥ 1 (discrete Laplace)."""

    scale: Fraction
    shift: int
    rank: ClassVar[int] = 0

    def transform(self) -> GeometricTransform:
        """Return the sum over the losses, in closed form where they are many."""
        return GeometricTransform(self.scale, self.shift)

    def delta(self, t: Fraction) -> arb:
        """Return δ(t) for a shift of any size: losses fall along the integers."""
        last = math.ceil((self.shift - t * self.scale) / 2) - 1
        r = (-1 / ball(self.scale)).exp()

        def up_to(x: int) -> arb:
            tail = (ball(-abs(x if x < 0 else x + 1) / self.scale)).exp() / (1 + r)
            return tail if x < 0 else 1 - tail

        if last < 0 or last >= self.shift:  # no loss is above t, or each is
            return arb(0) if last < 0 else -ball(t).expm1()
        return up_to(last) - ball(t).exp() * up_to(last - self.shift)

    def mean_and_top(self) -> tuple[arb, arb]:
        """Return the mean loss, and the mass of the largest one."""
        return moments.two_sided(self.scale, self.shift)


@dataclass(frozen=True)
class ResponsePair(AtomPair):
    """k-ary randomised response of `epsilon`; k = 2 dominates every ε-DP mechanism.

    Kairouz, Oh & Viswanath 2015 and 2016.
    """

    epsilon: Fraction
    k: int = 2

    @property
    def rank(self) -> int:  # type: ignore[override]
        """Return where the pair comes in the order of a composition."""
        return 1 if self.k == 2 else 2

    def transform(self) -> ResponseTransform:
        """Return the sum over two or three losses."""
        return ResponseTransform(self.epsilon, self.k)

    def mean_and_top(self) -> tuple[arb, arb]:
        """Return the mean loss, and the mass of the largest one."""
        return moments.atoms(self.epsilon, self.k)


@dataclass(frozen=True)
class DiscreteGaussianPair(Symmetric, Unbounded, GridPair):
    """Discrete Gaussian noise of scale `sigma` moved by `shift` ≥ 1."""

    sigma: Fraction
    shift: int
    rank: ClassVar[int] = 3

    def transform(self) -> DiscreteGaussianTransform:
        """Return the transform by theta functions."""
        return DiscreteGaussianTransform(self.sigma, self.shift)

    def on_grid(self) -> OnGrid:
        """Return the losses on their grid."""
        return exact_grids.of_gaussian(self.sigma, self.shift)

    def listed(self) -> bool:
        """Return whether the losses that matter are few enough to be listed one by one."""
        return 2 * discrete_losses.gaussian_reach(self.sigma, 200) <= MAX_LISTED

    def delta(self, t: Fraction) -> arb:
        """Return δ(t), of the half-line where the loss (shift/σ²)(shift/2 − x) is above t."""
        last = math.ceil(Fraction(self.shift, 2) - t * self.sigma**2 / self.shift) - 1
        tails = discrete_losses.gaussian_tails(self.sigma, ctx.prec)

        def up_to(x: int) -> arb:
            at = max(-x, x + 1)
            tail = tails[at] if at < len(tails) else arb(0).union(tails[-1].upper())
            return tail if x < 0 else 1 - tail

        return up_to(last) - ball(t).exp() * up_to(last - self.shift)

    def add_moments(self, total: Moments, count: int) -> bool:
        """Add the mean and the variance of the continuous Gaussian, which bound them."""
        mu2 = count * (self.shift / ball(self.sigma)) ** 2
        total.both(mu2 / 2, mu2)
        total.reaches_mean(mu2 / 2)
        return True

    def add_discrete(self, parts: DiscreteParts, count: int) -> bool:
        """Add the noise."""
        parts.noises.append((self.transform(), count))
        return True
