"""Noisy prefix sums by a banded factor whose batches are sampled: each unit's rounds lie a band apart."""

from collections import Counter
from fractions import Fraction
from typing import Any

from dpaccount.errors import InputError
from dpaccount.numerics.closed import toeplitz
from dpaccount.plan.event_base import ONE, Amount, Event, Real, RealRows, Reals, event_kind
from dpaccount.plan.gaussian_events import NONE, check_factor

BANDED: Any = "banded-toeplitz"


@event_kind
class BandedPoisson(Event):
    """Training by noisy sums C·G + Z on Poisson samples of rate `rate` from one of `parts` parts in turn.

    Each unit is in one part, fixed without regard to the others; round i of `rounds` draws from the units of
    part i mod `parts` alone, each by itself.  C is lower-triangular and has no entry further than
    `parts` − 1 below its diagonal, or it is refused: the first `bands` diagonals of √Toeplitz
    (``banded-toeplitz``), a ``toeplitz`` one of these `coefficients`, or a ``matrix`` of these `rows`, each up
    to its diagonal.  Z has deviation `sigma`; a drawn unit moves a round's sum by at most `sensitivity` in ℓ2.
    It is run `count` times on the units of `cover`, the first and the last (None: all); add-remove only.

    What one unit pays: for each `parts` rounds in turn a Poisson sample of Gaussian noise, moved by the longest
    of their columns (Choquette-Choo et al. 2023, arXiv 2306.08153, Theorem 4, where all have the longest one's
    length).  A unit's rounds i are `parts` apart, and column i of C ends before row i + `parts`: each row holds at
    most one of them.  Take the rows i to i + `parts` − 1 of one, all earlier results and the samples of other
    units given; their gradients are functions of the rows before, and subtracting what they add, row by row, is
    a bijection.  It leaves Z + b·C_i ⊗ g, where b is 1 with probability `rate`, independent of all else, and g,
    ‖g‖ ≤ `sensitivity`, is a function of earlier results: a Poisson sample of Gaussian noise that is moved by
    ‖C_i‖·‖g‖.  Such pairs compose adaptively, and δ is jointly convex over the other units' samples.  Equal
    gradients of that length attain it, if one part has the longest column of each turn.
    """

    name = "banded_poisson"
    rounds: int
    sigma: Real
    rate: Real
    parts: int
    sensitivity: Real = ONE
    mechanism: str = BANDED
    bands: int = 1
    coefficients: Reals = NONE
    rows: RealRows = NONE

    def _check(self) -> None:
        check_factor(self, ("banded-toeplitz", "toeplitz", "matrix"))
        width = toeplitz.bands_of(self.bands, self.coefficients, self.rows)
        if width > toeplitz.MOST_COEFFICIENTS:
            raise InputError(f"{width} bands are too many", f"at most {toeplitz.MOST_COEFFICIENTS}", self.name)
        if width > self.parts:
            wrong = f"the factor has {width} bands, and there are {self.parts} parts"
            raise InputError(wrong, "use at least as many parts as bands: a unit's rounds would meet", self.name)

    def squares(self) -> tuple[Counter[Fraction], bool]:
        """Return μ² of each round that may hold a unit, counted, and whether a unit of some part meets them all."""
        held = toeplitz.columns_in_turn(self.rounds, self.parts, self.bands, self.coefficients, self.rows)
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
