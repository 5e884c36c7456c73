"""Channels of the local model: how one person's bounded number becomes one private message.

A number in [−1, 1] is clipped, put on one of finitely many places and answered by a randomiser;
what comes back is unbiased for the place.  With a coin the place is unbiased for the number too: of
the two places around it the coin may choose the upper one.  Privacy does not depend on
the coin, which may be public, and nothing of what the number is relative to: whatever it is, its
place is one of the table's.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, floor
from typing import Final

import numpy as np

from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import one_of
from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import (
    REPLACE_ONE,
    Theorem,
    assume_clipped,
    assume_covers,
    assume_view,
    laplace,
    linear,
    local,
    local_view,
)
from dpaccount.proof.search import approximate
from mechanisms.shared import tables
from mechanisms.shared.tables import TABLES

CHANNELS: Final = (*TABLES, "laplace")
KEY: Final = "answer"
LAPLACE_GRID_BITS: Final = 20  #: Laplace noise is drawn on multiples of 2^−20 of the clip


def channel(name: str, epsilon: Fraction, steps: int = 8) -> "Channel":
    """Return the named channel; raises `InputError` if it is unknown, or ε is out of range."""
    one_of("channel", name, CHANNELS)
    if not 0 < epsilon <= 30:
        raise out_of_range("epsilon in (0, 30]")
    return LaplaceChannel(epsilon) if name == "laplace" else TableChannel(name, epsilon, steps)


def bounded(unit: float) -> float:
    """Return a number clipped to [−1, 1]; NaN counts as 0."""
    return 0.0 if unit != unit else min(max(unit, -1.0), 1.0)  # noqa: PLR0124


class TableChannel(tables.TableOfNumbers):
    """Messages by a table of outcomes, which a learner receives one by one."""

    @property
    def largest(self) -> float:
        """Return the largest absolute value that a message can have."""
        return float(np.abs(self.values).max())

    def send(self, noise: Noise, slot: int, unit: float, coin: float = 0.5) -> float:
        """Return one person's message of `unit`, which is clipped to [−1, 1]; NaN counts as 0.

        `slot` names the person, `coin` is uniform on [0, 1); over coins and noise the expected message is
        the clipped number.
        """
        at = floor(bounded(unit) * self.steps + coin) + self.steps
        place = np.array([min(max(at, 0), 2 * self.steps)], dtype=np.int64)
        return float(self.values[noise.noisy(KEY, slot, place)[0]])

    def sends(self, message: float) -> bool:
        """Return whether the message is the number of an outcome, up to rounding."""
        return bool(np.isclose(self.values, message, rtol=1e-9, atol=0).any())

    def variance(self, unit: Floats) -> Floats:
        """Return the variance of a message: between two places its mean square is between theirs."""
        inside = np.clip(unit, -1, 1)
        squares = np.array([float(square) for square in self.moments[1]])
        places = np.linspace(-1, 1, len(squares))
        return np.interp(inside, places, squares) - inside**2


@dataclass(frozen=True)
class LaplaceChannel:
    """Laplace noise of scale 2/ε on multiples of 2^−20, after the clip (Dwork et al. 2006)."""

    epsilon: Fraction
    largest = float("inf")

    @property
    def scale(self) -> Fraction:
        """Return the noise's scale: two numbers in [−1, 1] are at most 2 apart."""
        return 2 / self.epsilon

    def proof(
        self, name: str, messages: int, delta: Fraction, source: str = "public", each: int = 1
    ) -> Theorem:
        """Return local DP of `messages`, `each` of them a person."""
        return laplace_proof(name, name, self.scale, messages, delta, source, each)

    def send(self, noise: Noise, slot: int, unit: float, coin: float = 0.5) -> float:
        """Return one person's message of `unit`, as a `TableChannel` does."""
        return laplace_answer(noise, slot, bounded(unit), coin)

    def variance(self, unit: Floats) -> Floats:
        """Return the variance of discrete Laplace noise: 2r/(1 − r)² square steps, r = e^(−1/s)."""
        step = 2.0**-LAPLACE_GRID_BITS
        rate = step / float(self.scale)
        noise = 2 * exp(-rate) * (step / expm1(-rate)) ** 2
        return np.full(np.shape(unit), noise)

    def sends(self, message: float) -> bool:
        """Return whether it is a multiple of 2^−20; a raw reward on this grid is not detected."""
        return (message * 2.0**LAPLACE_GRID_BITS).is_integer()


#: One private message of a number in [−1, 1].
Channel = TableChannel | LaplaceChannel


def laplace_proof(
    query: str,
    name: str,
    scale: Fraction,
    messages: int,
    delta: Fraction,
    source: str = "public",
    each: int = 1,
) -> Theorem:
    """Return the theorem for Laplace noise on numbers in [−1, 1]: ε = 2/`scale` a message.

    `query`, `name`: the certificate's names of the number and of the view.
    `messages`, `each`: messages in all, and of one person, one after another.
    `delta`: that of the theorem, at least 0; `source`: the origin of the constants that scale a number.
    """
    number = assume_clipped(query, Fraction(-1), Fraction(1), REPLACE_ONE, "movement", source)
    own = assume_covers(query, tables.one_by_one(messages, each), "movement")
    message = local(laplace(linear(number), scale, Fraction(1, 2**LAPLACE_GRID_BITS), KEY), own)
    return local_view(approximate(message, delta), assume_view(name, "everyone", "replay"))


def laplace_answer(noise: Noise, slot: int, number: float, coin: float) -> float:
    """Return a number, on the grid by a coin, plus the noise of `laplace_proof`."""
    scaled = number * 2.0**LAPLACE_GRID_BITS
    whole = floor(scaled)
    # `scaled + coin` would be rounded, so that 1 became 1 + step for coins near 1
    at = np.array([whole + (scaled - whole + coin >= 1 and scaled > whole)], dtype=np.int64)
    return float(noise.noisy(KEY, slot, at)[0]) / 2.0**LAPLACE_GRID_BITS
