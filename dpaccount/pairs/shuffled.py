"""The pairs of shuffled reports: of an ε-DP randomiser, and of k-ary randomised response."""

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
from dpaccount.pairs.pair import Atoms, CommonSupport, ExactPair, RationalEnds, Symmetric, UnknownEnds
from dpaccount.pairs.table import LossTable


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


@dataclass(frozen=True)
class ShuffledResponses(Symmetric, RationalEnds, CommonSupport, LossTable):
    """`users` ≥ 2 shuffled responses among `categories` values, one unit's data changed.

    A law above whatever the others' data are; or if they are `alike`, a third value (`numerics.responses`).
    """

    users: int
    epsilon: Fraction
    categories: int
    alike: bool
    rank: ClassVar[int] = 27

    def losses(self) -> Atoms:
        """Return the losses, whose masses at ±L have the ratio e^L."""
        from dpaccount.numerics.responses import of_alike, of_any

        law = of_alike if self.alike else of_any
        middle, *above = law(self.epsilon, self.categories, self.users)
        return (middle, *above, *((-loss, mass * (-loss).exp()) for loss, mass in above))

    def largest(self) -> Fraction:
        """Return ε."""
        return self.epsilon
