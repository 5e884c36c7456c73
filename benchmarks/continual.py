"""Continual release: error, memory and time per round of factorisations against a plain tree.

Run: python benchmarks/continual.py            (1024 rounds, 256 numbers, rehearsal noise)
     python benchmarks/continual.py 1000000    (that many rounds, buffered and banded only, in one process)
"""

import math
import resource
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

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


def table(rounds: int) -> None:
    weights, depth = factors.sqrt_toeplitz(rounds), tree_sums.levels(rounds)
    plain, refined = partial(TreeSums, depth=depth), partial(HonakerSums, depth=depth)
    kinds: dict[str, tuple[Callable[[Noisy], Sums], float, float]] = {
        "tree": (plain, tree_sums.error(rounds, depth, refined=False), depth),
        "Honaker": (refined, tree_sums.error(rounds, depth, refined=True), depth),
    }
    for name, own in (
        ("sqrt-Toeplitz", weights),
        ("banded, 64", weights[:64]),
        ("banded, 256", weights[:256]),
    ):
        history = factored(lambda width, kind, own=own: Window(own, width, kind))
        kinds[name] = history, factors.toeplitz_error(own, rounds), float(factors.column_squared(own))
    for count in (3, 6):
        column = factors.decaying(factors.buffers(rounds, count), rounds)
        error, squared = factors.toeplitz_error(column, rounds), float((column**2).sum())
        kinds[f"buffered, {count}"] = decaying(rounds, count), error, squared
    first = 0.0
    print(f"{rounds} rounds of {WIDTH} numbers; error is root mean square times sensitivity")
    print(f"{'':16}{'error':>8}{'µs a round':>12}{'with noise':>12}{'to the tree':>13}")
    for name, (make, error, squared) in kinds.items():
        quiet, noisy = run(make, rounds)
        first = first or quiet
        shown = (
            f"{error * math.sqrt(squared):8.3f}{quiet * 1e6:12.1f}{noisy * 1e6:12.1f}{quiet / first:13.2f}"
        )
        print(f"{name:16}{shown}")


def long(rounds: int) -> None:
    for name, make in (
        ("buffered, 6", decaying(rounds, 6)),
        ("banded, 64", factored(lambda width, kind: Window(factors.sqrt_toeplitz(rounds)[:64], width, kind))),
        ("tree", TreeSums),
    ):
        quiet, noisy = run(make, rounds)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        times = f"{quiet * 1e6:8.1f} µs a round, {noisy * 1e6:.1f} with noise"
        print(f"{name:12}{times}, peak memory of the process {peak:.0f} MB", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        long(int(sys.argv[1]))
    else:
        table(1024)
