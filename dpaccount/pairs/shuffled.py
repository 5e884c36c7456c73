"""The pair of shuffled reports of an ε-DP randomiser."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb

from dpaccount.numerics.clones import clones
from dpaccount.numerics.closed import sampled_curves
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.intervals import ball
from dpaccount.pairs.discrete import ResponsePair
from dpaccount.pairs.pair import CommonSupport, ExactPair, Symmetric, UnknownEnds


@dataclass(frozen=True)
class ShuffledPair(Symmetric, CommonSupport, UnknownEnds, ExactPair):
    """`users` ≥ 2 shuffled reports, each of an `epsilon`-DP randomiser, of which one user's data changes.

    No randomiser attains it (`numerics.clones`).  Losses end at ±ε, but so rarely that spans are sought on
    the curve.
    """

    users: int
    epsilon: Fraction
    rank: ClassVar[int] = 14
    closed_curve: ClassVar[bool] = True

    def ceiling(self) -> arb:
        """Return ε, the loss where all coins seen are heads."""
        return ball(self.epsilon)

    def largest(self) -> Fraction:
        """Return ε."""
        return self.epsilon

    def own_curve(self, bits: int) -> Curve:
        """Return the curve of the clones, to the bits of their table."""
        return sampled_curves.two_sided(lambda t: clones(self.epsilon, self.users).delta(t), bits)

    def moment(self, s: arb) -> arb:
        """Return the largest moment of an ε-DP mechanism, which bounds this one."""
        return ResponsePair(self.epsilon).moment(s)

    def add_moments(self, total: Moments, count: int) -> bool:
        """Add ε²/2-zCDP, which every ε-DP mechanism has."""
        found = self.epsilon**2
        total.only_above(count * ball(found / 2), count * ball(found))
        return True
