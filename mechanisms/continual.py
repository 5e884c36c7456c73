"""What the factorisations of prefix sums have in common: their settings, proof and run."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np

from dpaccount.errors import InputError
from dpaccount.kernel import REPLACE_ONE, Theorem, assume_ball
from dpaccount.ledger.receipt import Noise
from dpaccount.rules import factorised, linear
from mechanisms import factors, grid
from mechanisms.fine import gaussian, unchanged
from mechanisms.streams import FactorSums, History
from mechanisms.subject import Rows, View, shown

MOST = 2**16  #: rounds of one factorisation; longer streams restart


class Settings(Protocol):
    """The parameters that every factorisation of prefix sums has."""

    @property
    def sigma(self) -> Fraction:
        """Return the noise's standard deviation, in the data's units."""

    @property
    def radius(self) -> Fraction:
        """Return the largest ℓ2 norm of a round's vector."""

    @property
    def rounds(self) -> int:
        """Return the horizon."""

    @property
    def columns(self) -> int:
        """Return the numbers of a vector."""

    @property
    def bits(self) -> int:
        """Return the grid: vectors lie on multiples of 2^−bits."""


def sensible(sigma: Fraction, radius: Fraction, rounds: int, columns: int, bits: int) -> None:
    """Refuse parameters that make no sense, or whose rows would outgrow 64 bits."""
    if min(sigma, radius) <= 0 or min(rounds, columns) < 1 or not 0 <= bits <= 40:
        raise InputError("needed sigma > 0, radius > 0, rounds >= 1, columns >= 1 and bits in 0 ... 40")
    if rounds > MOST:
        raise InputError(f"rounds is {rounds}; a proof holds one number a round, for at most {MOST}")
    if (rounds * radius + 40 * sigma) * 2 ** (bits + factors.BITS) >= 2**62:
        raise InputError("sums may outgrow 64 bits; use fewer bits")


def step(bits: int) -> Fraction:
    """Return the grid of released rows: weights times values."""
    return grid.step(bits + factors.BITS)


def proof(name: str, matrix: Sequence[Sequence[int]], settings: Settings, delta: Fraction) -> Theorem:
    """Prove from a ball: the factor stretches a round's vector by its longest column at most."""
    inside = assume_ball("stream", settings.radius, REPLACE_ONE, "movement")
    rows = factorised(linear(inside), settings.rounds, matrix, factors.BITS)
    numbers = settings.rounds * settings.columns
    noisy = gaussian(rows, settings.sigma, step(settings.bits), numbers, "row", delta, unchanged)
    return shown(noisy, name)


def play(history: Callable[[int, type], History], settings: Settings, data: Rows, noise: Noise) -> View:
    """Release the rows of C·x one by one; show the prefix sums, in the data's own units."""
    sums = FactorSums(history, settings.columns, lambda t, row: noise.noisy("row", t, row))
    values = grid.in_ball(data, settings.radius, settings.bits)
    prefixes = np.array([sums.add(value) for value in values])
    return View(public={"prefix-sums": prefixes * float(grid.step(settings.bits))})
