"""Events whose curve is that of a Gaussian pair: noise, whatever is μ-GDP, and continual releases."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from dpaccount.errors import InputError
from dpaccount.numerics.closed.toeplitz import group_squares, tree_squares
from dpaccount.plan.event_base import ONE, Cover, Event, GaussianPair, Real, Stream, event_kind


@event_kind
class Gaussian(GaussianPair):
    """Gaussian noise of standard deviation `sigma` on a value of ℓ2 sensitivity `sensitivity`.

    `sigma` is absolute, in the unit of the value: where the sensitivity is 1 it is what others call the noise
    multiplier.  Neighbours under the plan's relation move the value by at most `sensitivity` in ℓ2, in
    each of the `count` releases.  `cover` are the first and last unit that they touch (None: all).
    """

    name = "gaussian"
    grows = "sensitivity"
    sigma: Real
    sensitivity: Real = ONE

    def _mu_squared(self) -> Fraction:
        return (self.sensitivity / self.sigma) ** 2


@event_kind
class Gdp(GaussianPair):
    """Any μ-GDP mechanism."""

    name = "gdp"
    grows = "mu"
    mu: Real

    def _mu_squared(self) -> Fraction:
        return self.mu**2


@event_kind
class MatrixFactorisation(Stream):
    """Continual release of prefix sums by A = B·C with C = √Toeplitz; one participation per unit."""

    name = "matrix_factorisation"
    uneven = True
    rounds: int
    sigma: Real
    sensitivity: Real = ONE
    kind: str = "sqrt-toeplitz"
    start: int = 1

    def _check(self) -> None:
        super()._check()
        if self.kind != "sqrt-toeplitz":
            raise InputError(f"{self.name}: unknown kind {self.kind!r}; known here: sqrt-toeplitz")

    def squares(self, k: int) -> tuple[Fraction, Fraction]:
        """Return bounds on the squared norm of k columns together."""
        return group_squares(self.rounds, k)

    def pieces(self) -> tuple[tuple[Cover | None, int, Event], ...]:
        """Return the event on its rounds: each is charged the longest column."""
        return (((self.start, self.start + self.rounds - 1), 1, self),)

    def met_at(self, unit: int) -> Event:
        """Return a factorisation of the rounds from `unit` on, whose first column is the unit's own."""
        return replace(self, start=unit, rounds=self.start + self.rounds - unit)


@event_kind
class Tree(Stream):
    """A binary tree of independent Gaussian node noises over `rounds` rounds from `start` on.

    `sigma` is the noise of one node, `sensitivity` how far one round moves a sum; rounds are the units.
    """

    name = "tree"
    rounds: int
    sigma: Real
    sensitivity: Real = ONE
    start: int = 1

    def classes(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield (nodes, cover) for each run of rounds under equally many complete nodes.

        The rounds split by the binary digits of their number; a run of 2^j of them lies under
        the j + 1 complete nodes that it contains or is contained in, because a larger node over
        it would reach beyond the last round (Chan, Shi & Song 2011).
        """
        first = self.start
        for level in range(self.rounds.bit_length() - 1, -1, -1):
            if self.rounds >> level & 1:
                yield level + 1, (first, first + (1 << level) - 1)
                first += 1 << level

    def squares(self, k: int) -> tuple[Fraction, Fraction]:
        """Return Σ (rounds of the group under a node)², at most: one for each level where k is 1."""
        moves = Fraction(tree_squares(self.rounds, k))
        return moves, moves

    def pieces(self) -> tuple[tuple[Cover | None, int, Event], ...]:
        """Return the nodes over each run of rounds under equally many of them."""
        node = Gaussian(sigma=self.sigma, sensitivity=self.sensitivity)
        return tuple((cover, depth * self.count, node) for depth, cover in self.classes())
