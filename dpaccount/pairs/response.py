"""Randomised response, which dominates every ε-DP mechanism where it has two answers."""

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from dpaccount.numerics.closed import moments
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.fourier.discrete_transforms import ResponseTransform
from dpaccount.numerics.intervals import ball
from dpaccount.pairs.discrete import AtomPair


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

    def add_moments(self, total: Moments, count: int) -> bool:
        """Add the mean, and ε² as the width of a loss in [−ε, ε]."""
        mean, top = moments.atoms(self.epsilon, self.k)
        return self._add_bounded(total, count, mean, top, ball(self.epsilon))

    def peak(self) -> tuple[arb, arb]:
        """Return the largest loss and its mass."""
        return ball(self.epsilon), moments.atoms(self.epsilon, self.k)[1]
