"""Bits from people's devices, shown in batches by a shuffler in random order: only how many are 1.

A device rounds a number in [0, 1] to a bit by a coin, and sends that bit with chance `truth`, else the
other one.  The others' bits hide it as clones of it (rule `shuffled`): what is shown is (ε, δ)-DP as long as
a batch has `size` bits or more, while a bit by itself is ε₀-DP, against the shuffler too.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError, RuleError
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, Sampler, Secure
from dpaccount.numerics.bisection import least_integer
from dpaccount.proof import REPLACE_ONE, Theorem, assume_points, shuffled
from mechanisms.shared.tables import Table

TRUTH_BITS = 12  #: a truth is a multiple of 2^−12, an ε one of 2^−12 of a message's own
MOST_COUNTED = 10_000  #: bits of a batch that its proof counts


@dataclass(frozen=True)
class ShuffledBits:
    """The most telling bits of which `size` or more, shuffled, are proved (`epsilon`, `delta`)-DP.

    Raises `InputError` where there are none.
    """

    epsilon: Fraction
    delta: Fraction
    size: int

    @property
    def truth(self) -> Fraction:
        """Return the chance that a bit is sent as it is."""
        return _truth(self)

    @property
    def table(self) -> Table:
        """Return the chances of what is sent, by bit."""
        return _table(self.truth)

    @property
    def local_epsilon(self) -> Fraction:
        """Return ε₀, rounded up: what a message costs whoever sees it by itself."""
        ratio = float(self.truth / (1 - self.truth))
        return Fraction(math.ceil(math.log(ratio) * 2**TRUTH_BITS * (1 + 1e-12)), 2**TRUTH_BITS)

    @property
    def gain(self) -> float:
        """Return by how much a number moves the expected bit, per unit."""
        return float(2 * self.truth - 1)

    @property
    def variance(self) -> float:
        """Return what a message adds to the variance of its number's own bit."""
        return float(self.truth * (1 - self.truth) / (2 * self.truth - 1) ** 2)

    def leaf(self, key: str, delta: Fraction) -> Theorem:
        """Return the theorem of one batch at `delta`: ε at the subject's own, else about the least."""
        local = self.local_epsilon
        if delta == self.delta and self.epsilon <= local:
            return _leaf(self, self.truth, self.epsilon, delta, key)

        def enough(part: int) -> bool:
            return _holds(lambda: _leaf(self, self.truth, local * part / 2**TRUTH_BITS, delta, key))

        return _leaf(
            self, self.truth, local * least_integer(enough, 0, 2**TRUTH_BITS) / 2**TRUTH_BITS, delta, key
        )

    def sent(
        self, noise: Noise, key: str, batch: int, numbers: NDArray[np.float64], coins: np.random.Generator
    ) -> Integers:
        """Return a batch's messages as a simulated shuffler shows them, of simulated devices."""
        bits = (coins.random(len(numbers)) < numbers).astype(np.int64)
        return noise.noisy(key, batch, bits)

    def message(self, number: float, coins: Sampler | None = None) -> int:
        """Return the bit that a device sends: 1 or 0, by secure coins of its own, by default the system's.

        `number` is clipped to [0, 1], NaN is ½; it is the chance of the bit that is sent as it is with chance
        `truth`.  A device sends one message, and remembers that it did.
        """
        if isinstance(number, bool) or not isinstance(number, Real):
            raise InputError("a reward is one number", "give a number from 0 to 1")
        own, truth = coins or Secure(), int(self.truth * 2**TRUTH_BITS)
        chance = 0.5 if number != number else min(max(float(number), 0.0), 1.0)  # noqa: PLR0124
        bit = own.below(2**53) < chance * 2.0**53
        return int(bit == (own.below(2**TRUTH_BITS) < truth))

    def shuffle(self, messages: Sequence[int | None], coins: Sampler | None = None) -> list[int]:
        """Return a batch's messages in no order, the shuffler's part; of who sent none (None), a fair coin's.

        So their number is public.  Raises `InputError` for fewer than `size`, and for what is no message.
        """
        own, sent = coins or Secure(), messages if isinstance(messages, Sequence | np.ndarray) else []
        return in_order([own.below(2) if each is None else each for each in sent], self.size)


def in_order(messages: Sequence[int], fewest: int) -> list[int]:
    """Return the messages of a batch, sorted; raises `InputError` for what is none, and for too few."""
    if not isinstance(messages, Sequence | np.ndarray) or isinstance(messages, str):
        raise InputError("no list of bits", "give a list of 0 and 1")
    if len(messages) < fewest:
        raise InputError(f"found {len(messages)} bits, which are private among {fewest} or more")
    if not all(type(each) in (int, np.int64) and each in (0, 1) for each in messages):
        raise InputError("a device's message is 0 or 1", "give `bits.message` of a reward, not the reward")
    # Sorted: an order would tell whose bit is whose.
    return sorted(map(int, messages))


def _table(truth: Fraction) -> Table:
    return ((truth, 1 - truth), (1 - truth, truth))


def _leaf(bits: ShuffledBits, truth: Fraction, epsilon: Fraction, delta: Fraction, key: str) -> Theorem:
    own = assume_points(key, [(0,), (1,)], REPLACE_ONE, "movement")
    return shuffled(own, _table(truth), min(bits.size, MOST_COUNTED), epsilon, delta, key)


@lru_cache(maxsize=64)
def _truth(bits: ShuffledBits) -> Fraction:
    def too_much(part: int) -> bool:
        truth = Fraction(part, 2**TRUTH_BITS)
        return not _holds(lambda: _leaf(bits, truth, bits.epsilon, bits.delta, "bits"))

    # A bit that is true half of the time says nothing, so the search starts there.
    half = 2 ** (TRUTH_BITS - 1)
    most = least_integer(too_much, half, 2**TRUTH_BITS) - 1
    if most <= half:
        raise InputError(f"no bit is proved to meet ε = {float(bits.epsilon):.3g}", "give a larger epsilon")
    return Fraction(most, 2**TRUTH_BITS)


def _holds(prove: Callable[[], Theorem]) -> bool:
    try:
        prove()
    except RuleError:
        return False
    return True
