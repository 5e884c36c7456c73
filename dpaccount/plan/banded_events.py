"""Noisy prefix sums by a banded factor whose batches are sampled: each unit's rounds lie a band apart."""

from collections import Counter
from fractions import Fraction

from dpaccount.errors import InputError
from dpaccount.exact import exact_argument
from dpaccount.numerics.closed import toeplitz
from dpaccount.plan.event_base import ONE, Amount, Event, Real, RealRows, Reals, event_kind
from dpaccount.plan.gaussian_events import NONE, read_rows


@event_kind
class BandedPoisson(Event):
    """Training by noisy sums C·G + Z on Poisson samples from one of `parts` parts in turn.

    Each unit is in one part, fixed without regard to the others; round i of `rounds` draws each unit
    of part i mod `parts` by itself, with probability `rate`.  C is lower-triangular, and refused if it
    has an entry `parts` or more below its diagonal: a matrix of these `rows`, each up to its diagonal,
    a Toeplitz one of these `coefficients`, or, without either, the first `parts` diagonals of √Toeplitz.
    Z has deviation `sigma`; a drawn unit moves a round's sum by at most `sensitivity` in ℓ2.
    It is run `count` times on the units of `cover`, the first and the last (None: all; add-remove only).

    A unit pays for each turn of `parts` rounds a Poisson sample of Gaussian noise, moved by the longest
    of their columns (Choquette-Choo et al. 2023, arXiv 2306.08153, Theorem 4, with the longest of all).
    Its rounds i are `parts` apart, and column i of C ends before row i + `parts`: each row holds at
    most one of them.  Take the rows from i up to there, all earlier results and the samples of other
    units given: the others' gradients are functions of the rows before, and subtracting what they
    add, row by row, is a bijection.  It leaves Z + b·C_i ⊗ g, where b is 1 with probability `rate`,
    independent of all else, and g, ‖g‖ ≤ `sensitivity`, is a function of earlier results: Gaussian
    noise on a Poisson sample, moved by ‖C_i‖·‖g‖.  Such pairs compose adaptively, and δ is jointly convex
    over the others' samples.  Equal gradients attain it if one part has every turn's longest column.
    """

    name = "banded_poisson"
    rounds: int
    sigma: Real
    rate: Real
    parts: int
    sensitivity: Real = ONE
    coefficients: Reals = NONE
    rows: RealRows = NONE

    def _check(self) -> None:
        given = tuple(exact_argument(self.name, each) for each in self.coefficients)
        object.__setattr__(self, "coefficients", given)
        rows = read_rows(self)
        if given and rows:
            raise InputError("coefficients and rows are both given", "leave one out", self.name)
        width = max((k + 1 for row in rows for k, x in enumerate(reversed(row)) if x), default=0)
        width = max((k + 1 for k, x in enumerate(given) if x), default=width)
        if width > self.parts:
            wrong = f"the factor has {width} bands, and there are {self.parts} parts"
            right = "use at least as many parts as bands: a unit's rounds would meet"
            raise InputError(wrong, right, self.name)
        if max(len(given), 0 if rows or given else self.parts) > toeplitz.MOST_COEFFICIENTS:
            most = f"at most {toeplitz.MOST_COEFFICIENTS} are bounded"
            raise InputError("too many coefficients", most, self.name)

    def squares(self) -> tuple[Counter[Fraction], bool]:
        """Return μ² of the worst round of each turn, counted, and whether some part has them all."""
        held = toeplitz.columns_in_turn(self.rounds, self.parts, self.coefficients, self.rows)
        scale = (self.sensitivity / self.sigma) ** 2
        return Counter({square * scale: times for square, times in held[0].items()}), held[1]

    def _pure(self) -> Amount:
        return None if self._mu_squared() else Fraction(0)

    def _zcdp(self) -> Amount:
        return self._mu_squared() / 2

    def _mu_squared(self) -> Fraction:
        """Return that of a unit that is drawn each time: trade-off functions are jointly convex."""
        if self.rate == 0:
            return Fraction(0)
        return sum((square * times for square, times in self.squares()[0].items()), Fraction(0))
