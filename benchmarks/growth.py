"""How ε(δ) of a plan grows: `python -m benchmarks.growth [--only NAME …] [--limit SECONDS]`.

In the number of copies of an event, of different events, of covers, and in the digits of δ. Every point runs
in a process of its own: processor seconds of the answer, without imports and the making of the plan, and the
peak of its memory. The exponent is the slope of log seconds over log size, by least squares, over the last
two decades of size and the points of at least `LEAST` seconds; beyond the last point nothing is said.
"""

import argparse
import json
import math
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction

from dpaccount.plan import events as ev
from dpaccount.plan.events import Event, Gaussian, Laplace, Plan, Pure

LEAST = 0.01
COUNTS = [10**k for k in range(10)]
DIFFERENT = [10**k for k in range(5)]
COVERS = [10**k for k in range(7)]
DIGITS = [3, 10, 30, 100, 300]


def root(n: int) -> int:
    """Return a little more than √n: so much noise keeps ε about the same."""
    return 1 + math.isqrt(n)


def sample(event: Event, count: int = 1) -> Event:
    """Return an event on samples of a hundredth."""
    return ev.PoissonSubsampled(rate="0.01", of=event, count=count)


def each(kind: Callable[[Fraction], Event]) -> Callable[[int], list[Event]]:
    """Return `size` events of one kind with different parameters, scaled so that ε stays about the same."""
    return lambda size: [kind((1 + Fraction(k, size)) * root(size)) for k in range(size)]


def sliding(size: int) -> list[Event]:
    """Return events that cover ten units each, every unit ten of them, of thirteen kinds."""
    return [Gaussian(sigma=5 + k % 13, cover=(k + 1, k + 10)) for k in range(size)]


def apart(size: int) -> list[Event]:
    """Return an event for every unit, one of a hundred kinds."""
    return [Laplace(scale=5 + Fraction(k % 100, 7), cover=(k + 1, k + 1)) for k in range(size)]


Row = tuple[list[int], Callable[[int], list[Event]]]
PLANS: dict[str, Row] = {
    "count of Gaussians": (COUNTS, lambda n: [Gaussian(sigma=root(n), count=n)]),
    "count of Laplaces": (COUNTS, lambda n: [Laplace(scale=root(n), count=n)]),
    "count of ε-DP": (COUNTS, lambda n: [Pure(epsilon=Fraction(1, root(n)), count=n)]),
    "count of discrete Laplaces": (COUNTS, lambda n: [ev.DiscreteLaplace(scale=root(n), count=n)]),
    "count of discrete Gaussians": (COUNTS, lambda n: [ev.DiscreteGaussian(sigma=root(n), count=n)]),
    "count of sampled Gaussians": (COUNTS, lambda n: [sample(Gaussian(sigma=1 + root(n) / 1000), n)]),
    "count of sampled Laplaces": (COUNTS, lambda n: [sample(Laplace(scale=1 + root(n) / 1000), n)]),
    "different Gaussians": (DIFFERENT, each(lambda x: Gaussian(sigma=x))),
    "different Laplaces": (DIFFERENT, each(lambda x: Laplace(scale=x))),
    "different ε-DP": (DIFFERENT, each(lambda x: Pure(epsilon=1 / x))),
    "different sampled Gaussians": (DIFFERENT, each(lambda x: sample(Gaussian(sigma=x)))),
    "different sampled Laplaces": (DIFFERENT, each(lambda x: sample(Laplace(scale=x)))),
    "covers, ten at a unit": (COVERS, sliding),
    "covers, one at a unit": (COVERS, apart),
    "digits of δ, Gaussian": (DIGITS, lambda _: [Gaussian(sigma=1)]),
    "digits of δ, 100 Laplaces": (DIGITS, lambda _: [Laplace(scale=10, count=100)]),
    "digits of δ, 1000 sampled Gaussians": (DIGITS, lambda _: [sample(Gaussian(sigma=1), 1000)]),
    "digits of δ, 1000 sampled Laplaces": (DIGITS, lambda _: [sample(Laplace(scale=1), 1000)]),
    "digits of δ, 100 discrete Gaussians": (DIGITS, lambda _: [ev.DiscreteGaussian(sigma=10, count=100)]),
}


def measured(name: str, size: int) -> list[float]:
    """Return seconds, the peak of memory in MB, and the width (relative above 1) of one point."""
    from dpaccount.accounting.accountant import Accountant

    plan = Plan("add-remove", tuple(PLANS[name][1](size)))
    delta = Fraction(1, 10 ** (size if name.startswith("digits") else 6))
    begun = time.process_time()
    found = Accountant(plan).epsilon(delta)
    seconds = time.process_time() - begun
    width = float((found.upper - (found.lower or 0)) / max(1, found.upper))
    return [seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, width]


def exponent(points: dict[int, float]) -> float | None:
    """Return the slope of log seconds over log size; None of fewer than two points."""
    last = {n: seconds for n, seconds in points.items() if 100 * n >= max(points) and seconds >= LEAST}
    known = [(math.log(n), math.log(seconds)) for n, seconds in last.items()]
    if len(known) < 2:
        return None
    x, y = (sum(values) / len(known) for values in zip(*known, strict=True))
    return sum((a - x) * (b - y) for a, b in known) / sum((a - x) ** 2 for a, _ in known)


def main() -> None:
    """Print a line for every point, and the exponent of every row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(PLANS), metavar="NAME")
    parser.add_argument("--limit", type=int, default=120, help="processor seconds of one point")
    parser.add_argument("--point", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.point:
        signal.setitimer(signal.ITIMER_PROF, asked.limit)
        print(json.dumps(measured(asked.point[0], int(asked.point[1]))))
        return
    for name in asked.only:
        points: dict[int, float] = {}
        for size in PLANS[name][0]:
            words = [sys.executable, "-m", "benchmarks.growth", "--limit", str(asked.limit), "--point", name]
            done = subprocess.run([*words, str(size)], stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                print(
                    f"{name:36} {size:>10} not done in {asked.limit} s (exit {done.returncode})", flush=True
                )
                break
            points[size], peak, width = json.loads(done.stdout)
            print(f"{name:36} {size:>10} {points[size]:9.3f} s {peak:6.0f} MB  width {width:.0e}", flush=True)
        slope = exponent(points)
        print(f"{name:36}   exponent {'none: all quick' if slope is None else f'{slope:.2f}'}", flush=True)


if __name__ == "__main__":
    main()
