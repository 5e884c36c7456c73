"""Continual release: time per round of factorisations beside a plain tree; their errors are notes.

An error is the root mean square times the sensitivity.  With --long a million rounds, of those whose memory
does not grow with them.
"""

import math
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import BenchmarkRow, BenchmarkSetting, Rows
from dpaccount.noise.samplers import Integers, Rehearsal
from mechanisms.continual import factors
from mechanisms.continual.sums import (
    Buffers,
    FactorSums,
    History,
    HonakerSums,
    Sums,
    TreeSums,
    Window,
    levels,
    variance_from_below,
)

WIDTH = 256
Floats = NDArray[np.float64]
SCALE = 2.0**43  #: of the noise, in grid units: 8 in the data's units, 16 + 20 + 4 bits


class Noisy:
    """Rehearsal noise on every release, with the time that it takes apart."""

    def __init__(self) -> None:
        self._sampler, self.seconds = Rehearsal(1), 0.0

    def __call__(self, part: object, exact: Integers) -> Integers:
        """Return the value with noise."""
        begun = time.process_time()
        noisy = self._sampler.gaussian(exact, SCALE)
        self.seconds += time.process_time() - begun
        return noisy


def run(make: Callable[[Noisy], Sums], rounds: int) -> tuple[float, float]:
    """Return seconds per round without noise, and with it."""
    noise = Noisy()
    sums, value = make(noise), np.ones(WIDTH, dtype=np.int64)
    begun = time.process_time()
    for _ in range(rounds):
        sums.add(value)
    total = time.process_time() - begun
    return (total - noise.seconds) / rounds, total / rounds


def factored(history: Callable[[int, type], History]) -> Callable[[Noisy], Sums]:
    return lambda noise: FactorSums(history, WIDTH, noise)


def decaying(rounds: int, count: int) -> Callable[[Noisy], Sums]:
    pairs = factors.buffers(rounds, count)
    return factored(lambda width, kind: Buffers(pairs, width, kind))


# ------------------------------------------------------------------ errors and sensitivities


def buffered_column(pairs: list[tuple[int, int]], rounds: int) -> Floats:
    """Return the coefficients 1, Σw, Σwλ, … of a factor with decaying buffers, close to exactly."""
    coefficients = np.zeros(rounds)
    for weight, decay in pairs:
        coefficients[1:] += (
            weight / 2.0**factors.DECAY * (decay / 2.0**factors.DECAY) ** np.arange(rounds - 1)
        )
    coefficients[0] = 1.0
    return coefficients


def column_squared(weights: Integers) -> Fraction:
    """Return the squared ℓ2 norm of the first, longest column of a Toeplitz factor, exactly."""
    return Fraction(sum(int(w) ** 2 for w in weights), 4**factors.WEIGHT_BITS)


def longest_column_squared(factor: Integers) -> Fraction:
    """Return the largest squared ℓ2 norm of a column of an explicit factor, exactly."""
    return Fraction(max(sum(int(w) ** 2 for w in column) for column in factor.T), 4**factors.WEIGHT_BITS)


def toeplitz_error(weights: Integers | Floats, rounds: int) -> float:
    """Return the root mean square of the error A·C⁻¹·z over `rounds` rounds, for unit noise.

    B is Toeplitz with the coefficients of 1/((1 − x)·C(x)); C may be banded.
    """
    from scipy.signal import lfilter  # here, as that takes long to import

    unit = np.zeros(rounds)
    unit[0] = 1.0
    inverse = lfilter([1.0], weights[:rounds] / weights[0], unit)
    squares = np.cumsum(np.cumsum(inverse) ** 2)
    return math.sqrt(squares.mean())


def factor_error(factor: Integers) -> float:
    """Return the root mean square of the error A·C⁻¹·z over all rounds, for unit noise."""
    from scipy.linalg import solve_triangular

    real = factor / 2.0**factors.WEIGHT_BITS
    prefix = np.tril(np.ones(real.shape))
    real_error = solve_triangular(real.T, prefix.T, lower=False).T
    return float(np.linalg.norm(real_error) / math.sqrt(len(real)))


def tree_error(rounds: int, depth: int, *, refined: bool) -> float:
    """Return the root mean square error of all prefixes, for node noise of variance 1 on `depth` levels.

    A prefix is the sum of the nodes at the ones of its number, with independent noises, and of as many
    nodes of the highest level as it takes.
    """
    variances = [variance_from_below(level) if refined else 1.0 for level in range(depth)]
    counts = [sum(t >> level & 1 for t in range(1, rounds + 1)) for level in range(depth - 1)]
    counts.append(sum(t >> depth - 1 for t in range(1, rounds + 1)))
    return math.sqrt(sum(v * n for v, n in zip(variances, counts, strict=True)) / rounds)


def rows(setting: BenchmarkSetting) -> Rows:
    rounds = 10**6 if setting.long else 1024
    weights, depth = factors.sqrt_toeplitz(rounds), levels(rounds)
    plain, refined = partial(TreeSums, depth=depth), partial(HonakerSums, depth=depth)
    kinds: dict[str, tuple[Callable[[Noisy], Sums], float, float]] = {
        "tree": (plain, tree_error(rounds, depth, refined=False), depth),
        "Honaker": (refined, tree_error(rounds, depth, refined=True), depth),
    }
    toeplitz = {"banded, 64": weights[:64], "banded, 256": weights[:256]}
    for name, own in (toeplitz if setting.long else {"sqrt-Toeplitz": weights, **toeplitz}).items():
        history = factored(lambda width, kind, own=own: Window(own, width, kind))
        kinds[name] = history, toeplitz_error(own, rounds), float(column_squared(own))
    for count in (3, 6):
        column = buffered_column(factors.buffers(rounds, count), rounds)
        error, squared = toeplitz_error(column, rounds), float((column**2).sum())
        kinds[f"buffered, {count}"] = decaying(rounds, count), error, squared
    first = None
    for name, (make, error, squared) in kinds.items():
        quiet, noisy = run(make, rounds)
        first = first or quiet
        note = f"error {error * math.sqrt(squared):.3f}; with rehearsal noise {noisy * 1e6:.0f} µs"
        what = f"{name}, {rounds} rounds of {WIDTH} numbers"
        yield BenchmarkRow(what, quiet * 1e6, "µs a round", "the tree", first * 1e6, note)
