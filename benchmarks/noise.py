"""Time of a draw of every kind of noise: secure (OpenDP, exact) beside rehearsal noise (NumPy)."""

from fractions import Fraction
from functools import partial

import numpy as np

from benchmarks.rows import BenchmarkRow, BenchmarkSetting, Rows, in_turn
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


def rows(_: BenchmarkSetting) -> Rows:
    samplers: dict[str, Sampler] = {"secure": Secure(), "rehearsal": Rehearsal(1)}
    for name, (law, value, draws) in CASES.items():
        acts = {each: partial(draw, law, value, sampler) for each, sampler in samplers.items()}
        found = in_turn(acts, rounds=3, least=0.1)
        secure, rehearsal = (found[each] / draws * 1e6 for each in samplers)
        yield BenchmarkRow(name, secure, "µs a draw", "rehearsal noise", rehearsal)
