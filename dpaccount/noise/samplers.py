"""Integer samplers: OpenDP's secure ones, and a seeded rehearsal sampler for synthetic data.

Values are integers in grid units; the scale is a double, used exactly.  Code uses samplers only
through a `Receipt`, which takes the scale from a proved theorem.  A secure draw takes about 10 µs.
"""

import math
import secrets
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaccount.errors import ReceiptError
from dpaccount.precision import precision

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LIMIT = 2**62  #: exclusive bound on values, so that value plus noise cannot overflow
MAX_COMPARED_SINGLY = 64  #: array size up to which Python compares faster than NumPy


class Secure:
    """OpenDP's exact samplers over the operating system's randomness; cannot be seeded."""

    releasable = True

    def gaussian(self, values: Integers, scale: float) -> Integers:
        """Return values plus noise of mass ∝ exp(−x²/(2·scale²)) (Canonne et al. 2020, by OpenDP)."""
        return np.array(_opendp("gaussian", scale)(values.tolist()), dtype=np.int64)

    def laplace(self, values: Integers, scale: float) -> Integers:
        """Return values plus discrete Laplace noise, mass ∝ exp(−|x|/scale) (by OpenDP)."""
        return np.array(_opendp("laplace", scale)(values.tolist()), dtype=np.int64)

    def choose(self, scores: Integers, scale: float, kind: str) -> int:
        """Return a candidate, of weight ∝ exp(score/scale) or by permute-and-flip (by OpenDP).

        It has the largest of scores plus Gumbel or exponential noise, compared exactly.
        """
        return int(_opendp(kind, scale)(scores.tolist()))

    def k_norm(self, values: Integers, scale: float) -> Integers:
        """Return a vector plus noise v on ℤᵈ, mass ∝ exp(−‖v‖₂/scale), by rejection from Laplace noise.

        ‖v‖₁ ≤ √d·‖v‖₂, so with a Laplace scale L ≥ √d·scale the ratio exp(‖v‖₁/L − ‖v‖₂/scale) is at
        most 1: the acceptance probability of v.  The number of trials does not depend on the values.
        """
        wide = root_up(len(values) * Fraction(scale) ** 2)
        while True:
            noise = self.laplace(np.zeros_like(values), wide)
            if happens(partial(_acceptance, noise.tolist(), scale, wide)):
                return values + noise

    def below(self, bound: int) -> int:
        """Return a uniform integer of 0 … bound − 1 (by the standard library's `secrets`)."""
        return secrets.randbelow(bound)


class Rehearsal:
    """Seeded NumPy noise for simulations and audits; its results are not releasable.

    Up to scale 4096 Gaussian noise follows the discrete distribution to double precision; beyond, it
    is continuous and rounded.
    """

    releasable = False

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._rng = np.random.default_rng(seed)

    def gaussian(self, values: Integers, scale: float) -> Integers:
        """Return values plus discrete Gaussian noise."""
        if scale > 4096:
            return values + np.rint(self._rng.normal(0, scale, values.shape)).astype(np.int64)
        support, cumulative = _table(scale)
        return values + support[np.searchsorted(cumulative, self._rng.random(values.shape), side="right")]

    def laplace(self, values: Integers, scale: float) -> Integers:
        """Return values plus discrete Laplace noise, a difference of two geometric variables."""
        success = -math.expm1(-1 / scale)
        first, second = self._rng.geometric(success, (2, *values.shape))
        noise: Integers = (first - second).astype(np.int64)
        return values + noise

    def choose(self, scores: Integers, scale: float, kind: str) -> int:
        """Return the largest of scores plus Gumbel or exponential noise."""
        draw = self._rng.gumbel if kind == "exponential" else self._rng.exponential
        return int(np.argmax((scores - scores.max()) / scale + draw(size=scores.shape)))

    def k_norm(self, values: Integers, scale: float) -> Integers:
        """Return a vector plus noise, by the same rejection in floating point."""
        wide = math.sqrt(len(values)) * scale
        while True:
            noise = self.laplace(np.zeros_like(values), wide)
            excess = np.abs(noise).sum() / wide - np.linalg.norm(noise) / scale
            if self._rng.random() < math.exp(excess):
                return values + noise

    def below(self, bound: int) -> int:
        """Return a uniform integer of 0 … bound − 1; of a large bound its first 62 bits are random."""
        return (
            int(self._rng.integers(bound)) if bound < 2**62 else int(self._rng.random() * 2**53) * bound >> 53
        )


#: adds integer noise to values, or chooses a candidate
Sampler = Secure | Rehearsal


def _acceptance(noise: list[int], scale: float, wide: float, bits: int) -> arb:
    """Return the acceptance probability of a proposal, exp(‖v‖₁/wide − ‖v‖₂/scale), as a ball."""
    with precision(bits):
        length = arb(sum(v * v for v in noise)).sqrt()
        return (sum(map(abs, noise)) / arb(wide) - length / arb(scale)).exp()


def happens(chance: Callable[[int], arb]) -> bool:
    """Return True with exactly the probability that `chance` encloses at any precision (in bits).

    A uniform number is drawn 64 bits at a time until it is certainly on one side of the probability.
    """
    drawn, bits = 0, 0
    while True:
        drawn, bits = (drawn << 64) | secrets.randbits(64), bits + 64
        ball = chance(bits + 64)
        with precision(bits + 64):
            low, high = arb(drawn) / arb(2) ** bits, arb(drawn + 1) / arb(2) ** bits
            if bool(high <= ball):
                return True
            if bool(low >= ball):
                return False


@lru_cache(maxsize=16)
def _table(scale: float) -> tuple[Integers, NDArray[np.float64]]:
    reach = math.ceil(9 * scale) + 2
    support = np.arange(-reach, reach + 1, dtype=np.int64)
    weights = np.exp(-((support / scale) ** 2) / 2)
    cumulative = np.cumsum(weights / weights.sum())
    cumulative[-1] = 1.0
    return support, cumulative


@lru_cache(maxsize=64)
def _opendp(law: str, scale: float) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if law == "gaussian":
        return dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)
    if law == "laplace":
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    # the Gumbel maximum is the exponential mechanism, the exponential maximum is permute-and-flip
    measure = dp.zero_concentrated_divergence() if law == "exponential" else dp.max_divergence()
    return dp.m.make_noisy_max(domain, dp.linf_distance(T="i64"), measure, scale=scale)


def in_range(values: Integers) -> Integers:
    """Return the values as 64-bit integers, refusing other types and magnitudes from 2⁶² on."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise ReceiptError(f"noise is added to integers in grid units; found {array.dtype}")
    ends = (
        array.ravel().tolist() if array.size <= MAX_COMPARED_SINGLY else [int(array.max()), int(array.min())]
    )
    if ends and (max(ends) >= LIMIT or min(ends) <= -LIMIT):
        raise ReceiptError("a value is 2^62 or more in grid units; use a coarser grid")
    return array.astype(np.int64)


def root_up(variance: Fraction) -> float:
    """Return the least double whose exact square is at least `variance`."""
    low, high = variance.numerator, variance.denominator
    scale = 1 << max(0, 140 - low.bit_length() + high.bit_length())
    # The float is a start, and exact squares decide: one that is a little too small adds too little noise.
    near = math.isqrt(low * scale * scale // high) / scale
    while Fraction(near) ** 2 >= variance:
        near = math.nextafter(near, 0)
    while Fraction(near) ** 2 < variance:
        near = math.nextafter(near, math.inf)
    return near


def exact_root(variance: Fraction) -> float | None:
    """Return the double whose exact square is `variance`, or None."""
    near = root_up(variance)
    return near if Fraction(near) ** 2 == variance else None


def dyadic_up(value: Fraction, bits: int = 5) -> Fraction:
    """Return the least multiple of 2^−bits that is at least `value`: a scale that samplers take exactly."""
    return Fraction(math.ceil(value * 2**bits), 2**bits)
