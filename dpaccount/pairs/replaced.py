"""Pairs of a row that is replaced in a Poisson sample.

It lies at +sensitivity in one dataset and at −sensitivity in the other. With z± = 1 − q + q·(the odds of
noise moved by ± the sensitivity), the pair is (z₊R, z₋R) over the noise R (docs/numerics.md).
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb

from dpaccount.numerics.bisection import Ends, least_integer
from dpaccount.numerics.closed import sampled_curves
from dpaccount.numerics.closed.sampled_curves import Curve, least_log_ratio
from dpaccount.numerics.closed.sampling import shrunk
from dpaccount.numerics.fourier.replaced_gaussian import ReplacedGaussianTransform
from dpaccount.numerics.fourier.sampled_laplace import ReplacedLaplaceTransform
from dpaccount.numerics.intervals import ball, ceil_of, precision
from dpaccount.numerics.work_budget import bearable
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.discrete import GeometricPair, ResponsePair, laplace_losses
from dpaccount.pairs.laplace import LaplacePair
from dpaccount.pairs.pair import (
    MAX_LISTED,
    Atoms,
    CommonSupport,
    LossPair,
    OfSample,
    Sampling,
    Symmetric,
    TransformPair,
    Unbounded,
    UnknownEnds,
)
from dpaccount.pairs.table import LossTable


@dataclass(frozen=True)
class ReplacedRow(Symmetric, OfSample):
    """A pair of a row that is replaced in a Poisson sample of rate `rate`; both directions are one."""

    rate: Fraction
    closed_curve: ClassVar[bool] = True

    def sampling(self) -> Sampling:
        """Return an upper bound: a sample that holds both rows or none."""
        return Sampling(self.rate, self.whole(), exact=False)


@dataclass(frozen=True)
class ReplacedGaussian(Unbounded, ReplacedRow, TransformPair):
    """Gaussian noise of μ² = `mu2`."""

    mu2: Fraction
    rank: ClassVar[int] = 6

    def whole(self) -> Composition:
        """Return the Gaussian pair of twice the shift."""
        return Composition((4 * self.mu2, 4 * self.mu2))

    def own_curve(self, bits: int) -> Curve:
        """Return the closed curve."""
        return sampled_curves.on_replaced_gaussian(self.rate, self.mu2, bits)

    def transform(self) -> ReplacedGaussianTransform:
        """Return the transform by quadrature."""
        return ReplacedGaussianTransform(self.rate, self.mu2)


@dataclass(frozen=True)
class ReplacedLaplace(UnknownEnds, ReplacedRow, TransformPair):
    """Laplace noise of largest loss `loss`."""

    loss: Fraction
    rank: ClassVar[int] = 7

    def whole(self) -> Composition:
        """Return the Laplace pair of twice the shift."""
        return Composition.of(LaplacePair(2 * self.loss))

    def ceiling(self) -> arb:
        """Return ln(1 + q(e^loss − 1)) − ln w."""
        return shrunk(ball(self.loss), ball(self.rate)) - least_log_ratio(self.rate, self.loss)

    def own_curve(self, bits: int) -> Curve:
        """Return the closed curve."""
        inner = LaplacePair(self.loss).curve(bits)
        return sampled_curves.on_replaced_laplace(self.rate, self.loss, inner, bits)

    def transform(self) -> ReplacedLaplaceTransform:
        """Return the transform by quadrature."""
        return ReplacedLaplaceTransform(self.rate, self.loss)


@dataclass(frozen=True)
class ReplacedGeometric(ReplacedRow, CommonSupport, LossTable):
    """Two-sided geometric noise of scale `scale`, moved by `shift`.

    The noise is r^{|x|}(1 − r)/(1 + r), r = e^{−1/scale}; with the row at +shift and at −shift it is moved so
    far either way, and every x ≥ shift has the same two odds, as has every x ≤ −shift.
    """

    scale: Fraction
    shift: int
    rank: ClassVar[int] = 8

    def whole(self) -> Composition:
        """Return the geometric pair of twice the shift."""
        return Composition.of(GeometricPair(self.scale, 2 * self.shift))

    def listed(self) -> bool:
        """Return whether losses are few enough to be listed one by one."""
        return self.shift <= MAX_LISTED

    def ceiling(self) -> arb:
        """Return the largest loss, that of every x ≥ shift."""
        return self._loss(self.shift)

    def bracketing_pairs(self) -> tuple[ReplacedLaplace, ReplacedLaplace] | None:
        """Return Laplace noise that costs no more, and no less, where losses are too many to be listed."""
        if self.listed():
            return None
        low, high = laplace_losses(self.scale, self.shift)
        return ReplacedLaplace(self.rate, low), ReplacedLaplace(self.rate, high)

    def ends(self) -> Ends:
        """Return the least and the largest loss."""
        with precision(256):
            most = ceil_of(self.ceiling())
        return -most, most

    def _loss(self, x: int) -> arb:
        """Return ln z₊(x)/z₋(x), which rises with x."""
        up, down = (
            (ball(self.rate) * ball((abs(x) - abs(x - way * self.shift)) / self.scale).expm1()).log1p()
            for way in (1, -1)
        )
        return up - down

    def delta(self, t: Fraction) -> arb:
        """Return δ(t) by the tails of three geometric laws, right of the first integer of a loss above t."""
        if t < 0:
            return -ball(t).expm1() + ball(t).exp() * self.delta(-t)
        if not self._loss(self.shift) > ball(t):
            return arb(0)
        r, q = (-1 / ball(self.scale)).exp(), ball(self.rate)

        def right_of(x: int) -> arb:
            tail = ball(-Fraction(x if x > 0 else 1 - x) / self.scale).exp() / (1 + r)
            return tail if x > 0 else 1 - tail

        def beyond(x: int) -> arb:
            there, back = (q * right_of(x - way * self.shift) for way in (1, -1))
            return there - ball(t).exp() * back - (1 - q) * ball(t).expm1() * right_of(x)

        # losses that overlap t may be on either side: the union covers both
        surely = self._first(lambda loss: bool(loss > ball(t)))
        maybe = self._first(lambda loss: not loss < ball(t))
        bearable(surely - maybe, 1)
        return beyond(surely).union(beyond(maybe))

    def _first(self, above: Callable[[arb], bool]) -> int:
        """Return the first integer whose loss is above."""
        return least_integer(lambda x: above(self._loss(x)), -self.shift - 1, self.shift)

    def losses(self) -> Atoms:
        """Return ln z₊(x)/z₋(x) with the mass that P = z₊·R has there, x from −shift to shift."""
        bearable(self.shift, MAX_LISTED)
        q, r = ball(self.rate), ball(-1 / self.scale).exp()
        end = ball(-self.shift / self.scale).exp() / (1 + r)
        inner = [ball(-abs(x) / self.scale).exp() * (1 - r) / (1 + r) for x in range(self.shift)]
        steps = [Fraction(2 * x - self.shift) / self.scale for x in range(self.shift + 1)]
        odds = [(q * ball(t).expm1()).log1p() for t in steps]  # of the row that lies on the side of x
        atoms = []
        for x in range(self.shift + 1):
            mass, loss = (end if x == self.shift else inner[x]), odds[x] - odds[0]
            atoms.append((loss, mass * odds[x].exp()))
            if x:
                atoms.append((-loss, mass * odds[0].exp()))
        return tuple(atoms)


def replaced(pair: LossPair, rate: Fraction) -> LossPair:
    """Return the pair of a row that is replaced in a Poisson sample of this noise; raises `TypeError`."""
    match pair:
        case LaplacePair(loss):
            return ReplacedLaplace(rate, loss)
        case GeometricPair(scale, shift):
            return ReplacedGeometric(rate, scale, shift)
        case ResponsePair(epsilon, 2):  # pure ε: geometric noise moved by one step
            return ReplacedGeometric(rate, 1 / epsilon, 1)
    raise TypeError(f"no pair is known for a row that is replaced in a sample of {pair}")
