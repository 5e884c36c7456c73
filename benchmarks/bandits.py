"""Time of an update by number of features, and the error of feature maps by number of features.

usage: OPENBLAS_NUM_THREADS=1 .venv/bin/python -P benchmarks/bandits.py [--out features.svg]
       [--rounds 1000000 [--secure]]

-P keeps this file, which is named as the package, off the import path.

An update is one `tell` of GP-UCB; beside it the floor: reading and writing the triangle once.  An `ask`
scores 25 candidates; beside it the product of their features with a square matrix, alone.  The plot shows
why random Fourier features do not meet what a regret bound needs (an error of o(T^-4) from o(sqrt T)
features), while quadrature features do.

A round of `jdp-gp-ucb` (64 features, 25 candidates, mean over 1024) stands beside one fit of scikit-learn's
Gaussian process at 1000 points, where that is installed.  With --rounds whole runs are measured, each in a
process of its own: `moment-gp-ucb` with 64 features, by decaying buffers over batches of 16 people, and
`phased-posterior` with 801, proof and people included; with simulated noise, or with --secure: charged to
a ledger, which marks every draw.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.learning.features import FourierFeatures, quadrature_features, squared_exponential
from bandits.learning.gp_ucb import GpUcb
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_posterior import PhasedPosterior
from bandits.simulation.simulated_people import simulated_people
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise.receipt import Receipt, rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import Theorem

SIZES = (64, 256, 1024)
WHOLE = ("moment-gp-ucb", "phased-posterior")
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
    names = ("features", "update", "floor", "ask", "product", "ratio")
    lines = ["".join(f"{name:>10}" for name in names) + "   microseconds"]
    for size in SIZES:
        phi, learner = rng.normal(size=size) / np.sqrt(size), GpUcb(size)
        candidates, square = rng.normal(size=(25, size)), np.eye(size)
        triangle = np.ones(size * (size + 1) // 2)
        repeats = max(20, 200_000 // size**2 * 10)
        tell = microseconds(lambda one=learner, row=phi: one.tell(row, 0.1), repeats)
        floor = microseconds(lambda half=triangle: np.multiply(half, 1.0, out=half), repeats)
        ask, product = 1e9, 1e9
        for _ in range(100):  # in short turns, as machines are busy at times
            ask = min(ask, microseconds(lambda one=learner, rows=candidates: one.ask(rows), repeats // 20))
            product = min(product, microseconds(lambda rows=candidates, of=square: rows @ of, repeats // 20))
        row = "".join(f"{spent:>10.1f}" for spent in (tell, floor, ask, product))
        lines.append(f"{size:>10}{row}{ask / product:>10.2f}")
    return lines


def refits() -> str:
    """Return the mean time of a private round beside one refit."""
    subject = JdpGpUcb(rounds=1024, nodes_per_axis=8, sigma=Fraction(8))
    people = simulated_people(1024, 25, 2, 1)
    course = subject.course(rehearse(subject.proof(subject.delta), Rehearsal(1)), 1)
    records = people.records()
    spent = 0.0
    for first, last in course.batches:
        started = time.process_time()
        shown = [course.ask(records[t, :50]) for t in range(first - 1, last)]
        rewards = records[np.arange(first - 1, last), 50 + np.array(shown)]
        if last < 1024:
            course.close(rewards, np.ones(len(shown), dtype=bool))
        spent += time.process_time() - started
    ours = spent / 1024 * 1e6
    said = f"jdp-gp-ucb, {subject.features.size} features: {ours:.0f} us a round"
    try:
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF
    except ImportError:
        return f"{said}; scikit-learn is not installed"
    points, values = people.points[:1000, 0], people.rewards[:1000, 0]

    def refit() -> None:
        model = GaussianProcessRegressor(RBF(1.0), alpha=0.25, optimizer=None).fit(points, values)
        model.predict(people.points[1000], return_std=True)

    theirs = microseconds(refit, 3)
    return f"{said}; a refit of scikit-learn at 1000: {theirs:.0f} us, {theirs / ours:.0f} times"


@contextmanager
def noise_of(theorem: Theorem, *, secure: bool) -> Iterator[Receipt]:
    """Give simulated noise, or secure noise of a ledger made for it."""
    if not secure:
        yield rehearse(theorem, Rehearsal(1))
        return
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/ledger.db"
        facts = {"unit": "person", "relation": "replace-one", "measure": "approximate"}
        init(url, epsilon=2, delta=Fraction(1, 10**5), **facts)
        with Ledger.open(url) as ledger:
            yield ledger.charge(theorem, "a benchmark")


def whole(name: str, rounds: int, *, secure: bool) -> str:
    """Run a bandit over so many people; return its time and the peak memory of this process."""
    started, at = time.process_time(), time.perf_counter()
    if name == "moment-gp-ucb":
        subject = MomentGpUcb(
            rounds=rounds, candidates=4, nodes_per_axis=8, size=64, stream="buffered-toeplitz", refresh=16
        )
        size = subject.features.size
        rng = np.random.default_rng(1)
        points = rng.uniform(-1, 1, (rounds, 8))
        mean = np.exp(-((points.reshape(rounds, 4, 2) - 0.3) ** 2).sum(axis=2))
        data = np.concatenate([points, rng.random((rounds, 4)) < mean], axis=1)
    else:
        subject = PhasedPosterior(surface="styblinski-tang-20", rounds=rounds)
        size, data = subject.model.size, np.random.default_rng(1).normal(0, 0.1, (rounds, 1))
    with noise_of(subject.proof(subject.delta), secure=secure) as noise:
        subject.play(data, noise, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    spent, took = time.process_time() - started, time.perf_counter() - at
    return (
        f"{name}, {size} features, {rounds} rounds: {spent:.0f} s ({took:.0f} s by the clock), {peak:.0f} MB"
    )


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
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--secure", action="store_true")
    parser.add_argument("--only", choices=WHOLE)
    arguments = parser.parse_args()
    if arguments.only:
        print(whole(arguments.only, arguments.rounds, secure=arguments.secure))
        return
    print("\n".join(updates()))
    print(refits())
    for name in WHOLE if arguments.rounds else ():
        again = [sys.executable, "-P", __file__, "--only", name, "--rounds", str(arguments.rounds)]
        again += ["--secure"] if arguments.secure else []
        print(subprocess.run(again, check=True, capture_output=True, text=True).stdout, end="")
    for name, found in zip(("random", "quadrature"), errors(), strict=True):
        print(f"{name:<11}" + "  ".join(f"{size}: {error:.1e}" for size, error in found.items()))
    if arguments.out is not None:
        plot(arguments.out)


if __name__ == "__main__":
    main()
