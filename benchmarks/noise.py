"""Draws per second of every kind of noise: secure (OpenDP, exact) and rehearsal (NumPy) side by side.

Run: python benchmarks/noise.py
"""

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from dpaccount.noise.laws import Law, draw
from dpaccount.noise.samplers import Rehearsal, Sampler, Secure

COIN = ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4)))
#: what is drawn, the private value, how many draws one call makes
CASES = {
    "discrete Laplace, scale 2^20": (Law("laplace", 2.0**20), np.zeros(2000, dtype=np.int64), 2000),
    "discrete Gaussian, sigma 16.9": (Law("gaussian", 16.9), np.zeros(2000, dtype=np.int64), 2000),
    "discrete Gaussian, sigma 2^23": (Law("gaussian", 2.0**23), np.zeros(2000, dtype=np.int64), 2000),
    "symmetric Gaussian, 32 x 32": (Law("symmetric", 2.0**23), np.zeros((32, 32), dtype=np.int64), 528),
    "exponential, 10 candidates": (Law("exponential", 2.0), np.arange(10), 1),
    "permute-and-flip, 10 candidates": (Law("permute-and-flip", 2.0), np.arange(10), 1),
    "randomised response": (Law("table", table=COIN), np.zeros(2000, dtype=np.int64), 2000),
    "sparse vector, 2000 numbers": (Law("sparse-vector", 16.0, 4.0, 1), np.full(2000, -400), 2001),
    "K-norm, 2 dimensions": (Law("k-norm", 64.0), np.zeros(2, dtype=np.int64), 1),
    "K-norm, 5 dimensions": (Law("k-norm", 64.0), np.zeros(5, dtype=np.int64), 1),
}


def per_second(call: Callable[[], object], draws: int, least: float = 0.5) -> float:
    """Return draws per second of processor time, over at least `least` seconds."""
    call()
    begun, calls = time.process_time(), 0
    while time.process_time() - begun < least:
        call()
        calls += 1
    return draws * calls / (time.process_time() - begun)


def main() -> None:
    samplers: tuple[Sampler, Sampler] = Secure(), Rehearsal(1)
    print(f"{'draws per second':34}{'secure':>12}{'rehearsal':>12}{'ratio':>8}")
    for name, (law, value, draws) in CASES.items():
        secure, rehearsal = (per_second(partial(draw, law, value, each), draws) for each in samplers)
        print(f"{name:34}{secure:12,.0f}{rehearsal:12,.0f}{rehearsal / secure:8.0f}")


if __name__ == "__main__":
    main()
