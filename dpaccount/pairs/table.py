"""Pairs with finitely many losses, listed with their masses: a table given by its probabilities."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import ClassVar

from flint import arb, ctx

from dpaccount.forks import cached_property
from dpaccount.numerics.bisection import Ends
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.fourier.discrete_transforms import TableTransform, kept_losses
from dpaccount.numerics.fourier.transforms import Transform
from dpaccount.numerics.intervals import accurate, ball, ceil_of, floor_of, precision
from dpaccount.numerics.lattice import composing
from dpaccount.numerics.lattice.lattice import Grid, Masses
from dpaccount.numerics.work_budget import spend
from dpaccount.pairs.pair import Atoms, ExactPair


@dataclass(frozen=True)
class LossTable(ExactPair):
    """A pair with finitely many losses."""

    closed_curve: ClassVar[bool] = True

    @abstractmethod
    def losses(self) -> Atoms:
        """Return the finite losses, each with its mass under P, at the precision of the moment."""

    @abstractmethod
    def infinite_mass(self) -> Fraction:
        """Return the mass of P at an infinite loss."""

    def listed(self) -> bool:
        """Return whether losses are few enough to be listed one by one."""
        return True

    def least_infinite_mass(self) -> Fraction:
        """Return the mass of P at an infinite loss."""
        return self.infinite_mass()

    def ceiling(self) -> arb | None:
        """Return the largest loss; None where some mass is at an infinite one."""
        if self.infinite_mass():
            return None
        return max((at for at, _ in kept_losses(self, ctx.prec)), key=lambda at: float(at.mid()))

    def ends(self) -> Ends | None:
        """Return the least and the largest finite loss."""
        with precision(256):
            losses = [at for at, _ in self.losses()] or [arb(0)]
            return floor_of(reduce(arb.min, losses)), ceil_of(reduce(arb.max, losses))

    def delta(self, t: Fraction) -> arb:
        """Return δ(t) = P(L = ∞) + E(1 − e^{t−L})₊ at the precision of the moment."""
        at, kept = ball(t), kept_losses(self, ctx.prec)
        spend(len(kept))
        total = ball(self.infinite_mass())
        for loss, mass in kept:
            total += mass * (-(at - loss).expm1()).max(arb(0))
        return total

    def own_curve(self, bits: int) -> Curve:
        """Return the curve as a sum over the losses."""
        return lambda t: accurate(lambda: self.delta(t), bits, max(96, bits + 32))

    def summed_transform(self) -> Transform | None:
        """Return the sum over the losses, where they are listed."""
        return TableTransform(self) if self.listed() else None

    def moment(self, s: arb) -> arb:
        """Return M(s) over the finite losses."""
        return TableTransform(self).value(s)

    def lattice(self, grid: Grid, depth: int) -> Masses:
        """Return the listed losses on a lattice, else those of the curve."""
        if not self.listed():
            return super().lattice(grid, depth)
        return composing.of_table(self.losses, lambda: ball(self.infinite_mass()), grid)

    def add_moments(self, total: Moments, count: int) -> bool:
        """Return False: the curve is as quick."""
        return False


@dataclass(frozen=True)
class TablePair(LossTable):
    """A pair of distributions on the same outcomes, given by their exact probabilities."""

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
    rank: ClassVar[int] = 5

    def __hash__(self) -> int:
        """Return the hash of both distributions, which may have thousands of outcomes: once."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.p, self.q))

    @cached_property
    def odds(self) -> dict[Fraction, Fraction]:
        """Return the mass under P of every p/q that is neither 0 nor infinite."""
        masses: dict[Fraction, Fraction] = {}
        for a, b in zip(self.p, self.q, strict=True):
            if a and b:
                masses[a / b] = masses.get(a / b, Fraction(0)) + a
        return masses

    @property
    def symmetric(self) -> bool:
        """Return whether (Q, P) has the same losses with the same masses."""
        return self.odds == self.reversed().odds and self.infinite_mass() == self.reversed().infinite_mass()

    def reversed(self) -> "TablePair":
        """Return the pair of the other direction."""
        return replace(self, p=self.q, q=self.p)

    def losses(self) -> Atoms:
        """Return the finite losses, each with its mass under P."""
        # The exact difference from 1, as the logarithm of odds near 1 would keep few of its digits.
        return tuple((ball(odds - 1).log1p(), ball(mass)) for odds, mass in self.odds.items())

    def infinite_mass(self) -> Fraction:
        """Return the mass of P where Q has none."""
        return self._failing

    @cached_property
    def _failing(self) -> Fraction:
        return sum((a for a, b in zip(self.p, self.q, strict=True) if not b), Fraction(0))

    def without_infinite_mass(self) -> "TablePair":
        """Return the outcomes that both distributions allow."""
        kept = [(a, b) for a, b in zip(self.p, self.q, strict=True) if a and b]
        return replace(self, p=tuple(a for a, _ in kept), q=tuple(b for _, b in kept))
