"""Pairs of shuffled reports: of any ε-DP randomiser, and of randomised response with both ends."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

from flint import arb

from dpaccount.numerics import shuffled_bits
from dpaccount.numerics.clones import clones
from dpaccount.numerics.closed import sampled_curves
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.intervals import ball
from dpaccount.numerics.lattice.lattice import Grid, Masses
from dpaccount.numerics.work_budget import OutOfReach
from dpaccount.pairs.discrete import ResponsePair
from dpaccount.pairs.pair import CommonSupport, ExactPair, OneWay, Symmetric, UnknownEnds

MOST_BLOCKED = 100_000  #: users of whose bits every dataset is bounded; of more, the clones


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
class WorstBits(ShuffledPair):
    """Shuffled bits of randomised response: a curve above all datasets' (`numerics.shuffled_bits`)."""

    rank: ClassVar[int] = 17

    def own_curve(self, bits: int) -> Curve:
        """Return the bound at every t."""
        found = partial(shuffled_bits.worst_cost, self.epsilon, self.users)
        return sampled_curves.two_sided(lambda t: found(t) if t < self.epsilon else arb(0), bits)


@dataclass(frozen=True)
class OneDataset(OneWay, CommonSupport, UnknownEnds, ExactPair):
    """What is seen on two neighbours: all others hold what the unit has (k = 2), or what it never has.

    Seen is how many answer by the unit's value, `added` is the other direction.
    """

    users: int
    epsilon: Fraction
    k: int
    rank: ClassVar[int] = 18
    closed_curve: ClassVar[bool] = True

    def ceiling(self) -> arb:
        """Return the loss where all answer by what is counted."""
        p, q = shuffled_bits.chances(self.epsilon, self.k)
        return ((1 - q) / (1 - p)).log() if self.added else ball(self.epsilon)

    def own_curve(self, bits: int) -> Curve:
        """Return the curve, for t < 0 from that of the other direction."""

        def there(t: Fraction, *, added: bool) -> arb:
            law, u, v = shuffled_bits.sum_beside(self.epsilon, self.users, self.k, added=added)
            return shuffled_bits.cost(law, u, v, t)

        return lambda t: (
            there(t, added=self.added)
            if t >= 0
            else sampled_curves.complement(t, there(-t, added=not self.added), bits)
        )

    def moment(self, s: arb) -> arb:
        """Return the largest moment of an ε-DP mechanism."""
        return ResponsePair(self.epsilon).moment(s)

    def add_moments(self, total: Moments, count: int) -> bool:
        """Return False: those of `ShuffledPair` are known."""
        return False


@dataclass(frozen=True)
class ShuffledResponses(ShuffledPair):
    """Shuffled answers of randomised response with `k` outcomes: the worst dataset's, enclosed."""

    k: int
    rank: ClassVar[int] = 19

    def bracketing_pairs(self) -> tuple[OneDataset, ShuffledPair]:
        """Return the pair of two neighbours, and a curve above all: of any randomiser, for k > 2."""
        bits = self.k == 2 and self.users <= MOST_BLOCKED
        above = (WorstBits if bits else ShuffledPair)(self.users, self.epsilon)
        return OneDataset(self.users, self.epsilon, self.k), above

    def own_curve(self, bits: int) -> Curve:
        """Return balls from one dataset's cost to the bound."""
        one, worst = self.bracketing_pairs()
        ways = [one.curve(bits), one.reversed().curve(bits), worst.curve(bits)]
        return lambda t: ways[2](t).union(shuffled_bits.max_of([ways[0](t), ways[1](t)]))

    def lattice(self, grid: Grid, depth: int) -> Masses:
        """Raise `OutOfReach`: a lattice takes thin balls, which its `bracketing_pairs` have."""
        raise OutOfReach("only both ends of its curve are known")
