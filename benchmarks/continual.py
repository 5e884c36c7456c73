"""Continual release: time per round of factorisations beside a plain tree; their errors are notes.

An error is the root mean square times the sensitivity.  With --long a million rounds, of those whose memory
does not grow with them.
"""

import math
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.rows import BenchmarkRow, BenchmarkSetting, Rows
from dpaccount.noise.samplers import Integers, Rehearsal
from mechanisms.continual import factors, tree_sums
from mechanisms.continual.factor_sums import Buffers, FactorSums, History, Sums, Window
from mechanisms.continual.tree_sums import HonakerSums, TreeSums

WIDTH = 256
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


def rows(setting: BenchmarkSetting) -> Rows:
    rounds = 10**6 if setting.long else 1024
    weights, depth = factors.sqrt_toeplitz(rounds), tree_sums.levels(rounds)
    plain, refined = partial(TreeSums, depth=depth), partial(HonakerSums, depth=depth)
    kinds: dict[str, tuple[Callable[[Noisy], Sums], float, float]] = {
        "tree": (plain, tree_sums.error(rounds, depth, refined=False), depth),
        "Honaker": (refined, tree_sums.error(rounds, depth, refined=True), depth),
    }
    toeplitz = {"banded, 64": weights[:64], "banded, 256": weights[:256]}
    for name, own in (toeplitz if setting.long else {"sqrt-Toeplitz": weights, **toeplitz}).items():
        history = factored(lambda width, kind, own=own: Window(own, width, kind))
        kinds[name] = history, factors.toeplitz_error(own, rounds), float(factors.column_squared(own))
    for count in (3, 6):
        column = factors.decaying(factors.buffers(rounds, count), rounds)
        error, squared = factors.toeplitz_error(column, rounds), float((column**2).sum())
        kinds[f"buffered, {count}"] = decaying(rounds, count), error, squared
    first = None
    for name, (make, error, squared) in kinds.items():
        quiet, noisy = run(make, rounds)
        first = first or quiet
        note = f"error {error * math.sqrt(squared):.3f}; with rehearsal noise {noisy * 1e6:.0f} µs"
        what = f"{name}, {rounds} rounds of {WIDTH} numbers"
        yield BenchmarkRow(what, quiet * 1e6, "µs a round", "the tree", first * 1e6, note)
