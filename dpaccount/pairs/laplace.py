"""The Laplace pair."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb

from dpaccount.numerics.closed import laplace, moments
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.fourier.transforms import LaplaceTransform
from dpaccount.numerics.intervals import ball
from dpaccount.numerics.lattice import connect_dots
from dpaccount.numerics.lattice.lattice import Grid, Masses
from dpaccount.pairs.pair import RationalEnds, Symmetric, TransformPair

MAX_POWERS = 4000  #: copies up to which truncated powers are computed
MAX_POWERS_LOSS = 60  #: and their largest loss together


@dataclass(frozen=True)
class LaplacePair(Symmetric, RationalEnds, TransformPair):
    """Laplace noise of largest loss `loss` = sensitivity/scale."""

    loss: Fraction
    rank: ClassVar[int] = 4
    closed_curve: ClassVar[bool] = True

    def largest(self) -> Fraction:
        """Return the largest loss, of mass ½."""
        return self.loss

    def own_curve(self, bits: int) -> Curve:
        """Return the closed curve."""
        loss = self.loss
        return lambda t: laplace.delta_single(t, loss, bits)

    def transform(self) -> LaplaceTransform:
        """Return the closed transform."""
        return LaplaceTransform(self.loss)

    def add_moments(self, total: Moments, count: int) -> bool:
        """Add the mean, and ε₀² as the width of a loss in [−ε₀, ε₀]."""
        loss = ball(self.loss)
        total.both(count * moments.laplace(self.loss), count * loss * loss)
        # a loss falls short of ε₀ by 1 on average at most: by 4n in n of them with probability 1/4 (Markov)
        total.reaches(count * loss - 4 * count, ball(3) / 4)
        return True

    def peak(self) -> tuple[arb, arb]:
        """Return the largest loss and its mass."""
        return ball(self.loss), ball(1) / 2

    def lattice(self, grid: Grid, depth: int) -> Masses:
        """Return the law of the loss with its atom on the last node."""
        return connect_dots.laplace(self.loss, grid)

    def copies(self, count: int) -> laplace.TruncatedPowers | None:
        """Return truncated powers of equal pairs, where they are few enough."""
        if count == 1 or (count <= MAX_POWERS and count * self.loss <= MAX_POWERS_LOSS):
            return laplace.TruncatedPowers(self.loss, count)
        return None
