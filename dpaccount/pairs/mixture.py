"""The pair of Gaussian noise that a unit moves by one of several lengths, by chance."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from flint import arb

from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.gaussian_mixture import MixtureOnLine, MixtureTransform, Parts
from dpaccount.numerics.intervals import accurate, ball
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.pair import CommonSupport, ExactPair, OneWay, UnknownEnds


@dataclass(frozen=True)
class MixturePair(UnknownEnds, OneWay, CommonSupport, ExactPair):
    """(weight, move) of `parts`: by rising moves, over the noise's deviation, the last one above 0."""

    parts: Parts
    rank: ClassVar[int] = 26
    closed_curve: ClassVar[bool] = True

    @property
    def rate(self) -> Fraction:
        """Return the chance that anything moves."""
        return 1 - sum((w for w, m in self.parts if m == 0), Fraction(0))

    def ceiling(self) -> arb | None:
        """Return −ln w_0, the largest loss when a unit is added to noise that may not move; else none."""
        return -ball(1 - self.rate).log() if self.added and self.rate < 1 else None

    def own_curve(self, bits: int) -> Curve:
        """Return the curve of a mixture of Gaussians on a line, or that of its reverse."""
        mixture = MixtureOnLine(self.parts, self.added)
        return lambda t: accurate(lambda: mixture.delta(t), bits, max(96, bits + 32))

    def transform(self) -> MixtureTransform:
        """Return the transform by quadrature."""
        return MixtureTransform(self.rate, self.parts[-1][1] ** 2, self.parts, added=self.added)

    def moment(self, s: arb) -> arb:
        """Return an upper bound on M(s)."""
        return MixtureOnLine(self.parts).moment_bound(s)

    def add_moments(self, total: Moments, count: int) -> bool:
        """Add the moments of the longest move alone, which are no less."""
        mu2 = self.parts[-1][1] ** 2
        return Composition((mu2, mu2)).add_moments_of_sample(total, count)

    def resampled(self, rate: Fraction) -> "MixturePair":
        """Return the mixture on a Poisson sample: a unit that is not drawn moves nothing."""
        rest = 1 - rate * self.rate
        moved = tuple((rate * w, m) for w, m in self.parts if m)
        return replace(self, parts=((rest, Fraction(0)), *moved) if rest else moved)
