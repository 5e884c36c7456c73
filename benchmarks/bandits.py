"""Time of an update by number of features, and the error of feature maps by number of features.

usage: OPENBLAS_NUM_THREADS=1 .venv/bin/python -P benchmarks/bandits.py [--out features.svg]

-P keeps this file, which is named as the package, off the import path.

An update is one `tell` of GP-UCB; beside it the floor: reading and writing the triangle once.  An `ask`
scores 25 candidates; beside it the product of their features with a square matrix, alone.  The plot shows
why random Fourier features do not meet what a regret bound needs (an error of o(T^-4) from o(sqrt T)
features), while quadrature features do.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from bandits.learning.features import FourierFeatures, quadrature_features, squared_exponential
from bandits.learning.gp_ucb import GpUcb

SIZES = (64, 256, 1024)
POINTS = np.random.default_rng(0).uniform(-1, 1, (200, 2))


def microseconds(action, repeats: int) -> float:
    action()
    best = np.inf
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(repeats):
            action()
        best = min(best, time.perf_counter() - started)
    return best / repeats * 1e6


def updates() -> list[str]:
    rng = np.random.default_rng(1)
    names = ("features", "update", "floor", "ask", "product")
    lines = ["".join(f"{name:>10}" for name in names) + "   microseconds"]
    for size in SIZES:
        phi, learner = rng.normal(size=size) / np.sqrt(size), GpUcb(size)
        candidates, square = rng.normal(size=(25, size)), np.eye(size)
        triangle = np.ones(size * (size + 1) // 2)
        repeats = max(20, 200_000 // size**2 * 10)
        tell = microseconds(lambda one=learner, row=phi: one.tell(row, 0.1), repeats)
        floor = microseconds(lambda half=triangle: np.multiply(half, 1.0, out=half), repeats)
        ask = microseconds(lambda one=learner, rows=candidates: one.ask(rows), repeats)
        product = microseconds(lambda rows=candidates, whole=square: rows @ whole, repeats)
        lines.append(f"{size:>10}" + "".join(f"{spent:>10.1f}" for spent in (tell, floor, ask, product)))
    return lines


def errors() -> tuple[dict[int, float], dict[int, float]]:
    """Return the largest error over pairs of points by number of features: random, quadrature."""
    exact = squared_exponential(POINTS, POINTS, 1.0)

    def of(features) -> float:
        phi = features(POINTS)
        return float(np.abs(phi @ phi.T - exact).max())

    def random(count: int) -> FourierFeatures:  # Rahimi & Recht 2008
        frequencies = np.random.default_rng(3).normal(size=(count, 2))
        return FourierFeatures(frequencies, np.full(count, 1 / count))

    made = [random(count) for count in (8, 32, 128, 512, 2048)]
    quadrature = [quadrature_features(2, per_axis, 1.0) for per_axis in range(2, 13)]
    return {f.size: of(f) for f in made}, {f.size: of(f) for f in quadrature}


def plot(file: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots()
    for name, found in zip(("random", "quadrature"), errors(), strict=True):
        axes.loglog(list(found), list(found.values()), marker="o", label=name)
    axes.axhline(1024.0**-4, linestyle=":", label="T^-4, T = 1024")
    axes.axvline(1024.0**0.5, linestyle="--", label="sqrt T")
    axes.set(xlabel="features", ylabel="largest error on [-1, 1]^2")
    axes.legend()
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    print("\n".join(updates()))
    for name, found in zip(("random", "quadrature"), errors(), strict=True):
        print(f"{name:<11}" + "  ".join(f"{size}: {error:.1e}" for size, error in found.items()))
    if arguments.out is not None:
        plot(arguments.out)


if __name__ == "__main__":
    main()
