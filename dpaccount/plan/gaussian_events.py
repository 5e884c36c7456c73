"""Events whose curve is that of a Gaussian pair: noise, whatever is μ-GDP, and continual releases."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpaccount.errors import InputError
from dpaccount.exact import exact_argument, shown
from dpaccount.numerics.closed import toeplitz
from dpaccount.plan.event_base import (
    ONE,
    Amount,
    Cover,
    Event,
    GaussianEvent,
    Real,
    RealRows,
    Reals,
    Stream,
    event_kind,
)


@event_kind
class Gaussian(GaussianEvent):
    """Gaussian noise of standard deviation `sigma` on a value of ℓ2 sensitivity `sensitivity`.

    `sigma` is absolute, in the unit of the value: where the sensitivity is 1 it is what others call the noise
    multiplier.  Neighbours under the plan's relation move the value by at most `sensitivity` in ℓ2, in
    each of the `count` releases.  `cover` are the first and last unit that they touch (None: all).
    """

    name = "gaussian"
    grows = "sensitivity"
    sigma: Real
    sensitivity: Real = ONE

    def movement(self) -> tuple[Fraction, Fraction]:
        """Return μ², twice."""
        square = (self.sensitivity / self.sigma) ** 2
        return square, square


@event_kind
class Gdp(GaussianEvent):
    """Any mechanism of Gaussian DP with `mu`.

    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "gdp"
    grows = "mu"
    mu: Real

    def movement(self) -> tuple[Fraction, Fraction]:
        """Return μ², twice."""
        return self.mu**2, self.mu**2


MOST_MOVES = 256  #: of a mixture


@event_kind
class GaussianMixture(Event):
    """Gaussian noise of deviation `sigma` that a unit moves by one of `moves`, by chance (add-remove only).

    With probability `weights`[i] one unit more or less moves the value by at most `moves`[i] in l2, whatever
    the data are; moves are lengths, at least 0, and the weights sum to 1.  The noise does not depend on which
    it was, and nobody sees it.
    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "gaussian_mixture"
    sigma: Real
    moves: Reals
    weights: Reals

    def _check(self) -> None:
        for key in ("moves", "weights"):
            given = listed(self.name, key, getattr(self, key))
            if min(given, default=Fraction(0)) < 0:
                right = "give its length" if key == "moves" else "a probability is at least 0"
                raise InputError(f"{key} holds {shown(min(given))}", right, self.name)
            object.__setattr__(self, key, given)
        if len(self.moves) != len(self.weights) or len(self.moves) > MOST_MOVES:
            wrong = f"{len(self.moves)} moves and {len(self.weights)} weights"
            raise InputError(wrong, f"give a weight for each move, at most {MOST_MOVES}", self.name)
        # Never normalised: only the user knows whether what is missing is rounding or a move left out.
        if sum(self.weights) != 1:
            wrong = f"the weights sum to {shown(sum(self.weights, Fraction(0)))}, not to 1"
            raise InputError(wrong, 'write fractions as text, such as "1/3"', self.name)

    def parts(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return (weight, move/σ) of the moves that happen, by rising moves, each once."""
        found = dict.fromkeys(sorted(self.moves), Fraction(0))
        for weight, move in zip(self.weights, self.moves, strict=True):
            found[move] += weight
        return tuple((weight, move / self.sigma) for move, weight in found.items() if weight)

    def _mu_squared(self) -> Fraction:
        """Return that of the longest move: trade-off functions are jointly convex."""
        return self.parts()[-1][1] ** 2

    def _pure(self) -> Amount:
        return None if self.parts()[-1][1] else Fraction(0)


@event_kind
class MatrixFactorisation(Stream):
    """Continual release of prefix sums by A = B·C with C of a `kind`, √Toeplitz; one participation per unit.

    `sigma` is the noise of one entry of C·x + z, over `rounds` rounds from `start` on; `sensitivity` is how
    far one round moves a sum, in ℓ2.
    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

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
            raise InputError(f"unknown kind {self.kind!r}", "known here: sqrt-toeplitz", self.name)

    def squares(self, k: int) -> tuple[Fraction, Fraction]:
        """Return bounds on the squared norm of k columns together."""
        return toeplitz.group_squares(self.rounds, k)

    def pieces(self) -> tuple[tuple[Cover | None, int, Event], ...]:
        """Return the event on its rounds: each is charged the longest column."""
        # One piece, not one for each round: a piece for each column would make classes of single units.
        return (((self.start, self.start + self.rounds - 1), 1, self),)

    def met_at(self, unit: int) -> Event:
        """Return a factorisation of the rounds from `unit` on, whose first column is the unit's own."""
        return replace(self, start=unit, rounds=self.start + self.rounds - unit)


@event_kind
class Tree(Stream):
    """A binary tree of independent Gaussian node noises over `rounds` rounds from `start` on.

    `sigma` is the noise of one node, `sensitivity` how far one round moves a sum; rounds are the units.
    It is run `count` times on the units of `cover`, the first and the last (None: all).
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
        moves = Fraction(toeplitz.tree_squares(self.rounds, k))
        return moves, moves

    def pieces(self) -> tuple[tuple[Cover | None, int, Event], ...]:
        """Return the nodes over each run of rounds under equally many of them."""
        node = Gaussian(sigma=self.sigma, sensitivity=self.sensitivity)
        return tuple((cover, depth * self.count, node) for depth, cover in self.classes())


FACTORS = ("tree", "sqrt-toeplitz", "banded-toeplitz", "toeplitz", "matrix")
NONE: Any = ()


def _members(name: str, what: str, values: Any) -> Iterable[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{what} is {str(values)[:40]!r}", "give a list", name)
    return values


def listed(name: str, what: str, values: Any) -> tuple[Fraction, ...]:
    """Return the exact numbers of a list, called `what`; raise `InputError` for anything else."""
    return tuple(exact_argument(name, each) for each in _members(name, what, values))


def read_rows(event: Any) -> tuple[tuple[Fraction, ...], ...]:
    """Return the rows of an event's matrix, read; raise `InputError` where they do not fit its rounds."""
    rows = tuple(listed(event.name, "a row", row) for row in _members(event.name, "rows", event.rows))
    object.__setattr__(event, "rows", rows)
    if len(rows) > toeplitz.MOST_WRITTEN:
        raise InputError("too many rows", f"at most {toeplitz.MOST_WRITTEN} are bounded", event.name)
    if rows and [len(row) for row in rows] != [*range(1, event.rounds + 1)]:
        right = "give one for each round, up to the diagonal: the first has one number"
        raise InputError(f"the rows do not fit {event.rounds} rounds", right, event.name)
    return rows


@event_kind
class DpFtrl(GaussianEvent):
    """Training by noisy prefix sums (DP-FTRL) over `rounds` steps, of which a unit enters several.

    What is released is C·G + Z: G the steps' sums, Z independent noise of standard deviation `sigma`, C the
    factor that `mechanism` names: the nodes of a binary ``tree``, ``sqrt-toeplitz``, its first `bands`
    diagonals as ``banded-toeplitz``, a ``toeplitz`` one of these `coefficients`, or a lower-triangular
    ``matrix`` of these `rows`, each up to its diagonal.  A unit enters at most
    `participations` steps, each at least `separation` after its last one, whichever the data are, and moves
    a step's sum by at most `sensitivity` in l2.  Gradients may depend on what was released before (Denisov
    et al. 2022).
    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "dp_ftrl"
    grows = "sensitivity"
    rounds: int
    sigma: Real
    participations: int
    separation: int
    sensitivity: Real = ONE
    mechanism: str = "tree"
    bands: int = 1
    coefficients: Reals = NONE
    rows: RealRows = NONE

    def _check(self) -> None:
        if self.mechanism not in FACTORS:
            raise InputError(
                f"unknown mechanism {self.mechanism!r}", f"known here: {', '.join(FACTORS)}", self.name
            )
        # Read once: events that are spelled differently must be equal, and hash alike, where their numbers
        # are.
        given = listed(self.name, "coefficients", self.coefficients)
        object.__setattr__(self, "coefficients", given)
        if (self.mechanism == "toeplitz") != bool(given):
            raise InputError(
                f"{self.name}: coefficients belong to the mechanism toeplitz, which has at least one"
            )
        if (self.mechanism == "matrix") != bool(read_rows(self)):
            raise InputError(f"{self.name}: rows belong to the mechanism matrix, one for each round")
        if self.bands != 1 and self.mechanism != "banded-toeplitz":
            raise InputError("bands belong to the mechanism banded-toeplitz", "leave them out", self.name)
        met = toeplitz.most_participations(self.rounds, self.participations, self.separation)
        size, most = (
            (met, toeplitz.MOST_MET) if self.mechanism == "tree" else (self.rounds, toeplitz.MOST_ROUNDS)
        )
        if size > most or len(given) > toeplitz.MOST_COEFFICIENTS:
            raise InputError("too many steps or coefficients", f"at most {most} are bounded", self.name)

    def movement(self) -> tuple[Fraction, Fraction]:
        """Return bounds on μ²: the largest square that a unit moves in all steps, over the noise's."""
        scale = (self.sensitivity / self.sigma) ** 2
        given = self.rows if self.mechanism == "matrix" else self.coefficients
        low, high = _squared_sensitivity(
            self.mechanism, self.rounds, self.participations, self.separation, self.bands, given
        )
        return low * scale, high * scale


@lru_cache(maxsize=256)
def _squared_sensitivity(
    mechanism: str, rounds: int, k: int, b: int, bands: int, coefficients: tuple[Any, ...]
) -> tuple[Fraction, Fraction]:
    if mechanism == "tree":
        return toeplitz.tree_squared_sensitivity(rounds, k, b)
    if mechanism == "matrix":
        return toeplitz.matrix_squared_sensitivity(coefficients, k, b)
    if mechanism == "toeplitz":
        return toeplitz.toeplitz_squared_sensitivity(coefficients, rounds, k, b)
    return toeplitz.sqrt_toeplitz_squared_sensitivity(
        rounds, k, b, bands if mechanism == "banded-toeplitz" else None
    )
