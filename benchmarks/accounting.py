"""Our accounting beside dp-accounting and prv-accountant: time, width and error, in one run.

usage: .venv/bin/python benchmarks/accounting.py [--out accounting.svg]

The peers live in an environment of their own, made once under the user's cache directory (dp-accounting may
downgrade numpy); the first run needs the network. Errors are distances from our enclosure, which is proved;
it contains the worse direction of add-remove. dp-accounting gives an upper value only. Time at equal width is
ours where no more than dp-accounting's error is asked for. Afterwards: what size costs.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
import venv
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dpaccount.accounting.accountant import Accountant
from dpaccount.exact import Enclosure
from dpaccount.plan.events import (
    Event,
    Gaussian,
    Laplace,
    Plan,
    PoissonSubsampled,
    RandomizedResponse,
    Relation,
)

PEERS = ("dp-accounting==0.6.0", "prv-accountant==0.2.0")
REPEATS = 3
Found = dict[str, dict[str, list[float]]]  #: row → peer → [lower, upper, seconds]

SGM = PoissonSubsampled(rate="0.01", of=Gaussian(sigma=1))
MIXED = tuple(Gaussian(sigma=50 + Fraction(i, 5)) for i in range(500)) + tuple(
    Laplace(scale=100 + Fraction(i, 5)) for i in range(500)
)
ROWS = {
    "Gaussian 1, 1e-5": (Relation.REPLACE_ONE, (Gaussian(sigma=1),), "1e-5"),
    "Gaussian 1, 1e-12": (Relation.REPLACE_ONE, (Gaussian(sigma=1),), "1e-12"),
    "10000 Gaussian 100": (Relation.REPLACE_ONE, (Gaussian(sigma=100, count=10000),), "1e-5"),
    "1000 Laplace 100": (Relation.REPLACE_ONE, (Laplace(scale=100, count=1000),), "1e-6"),
    "1000 sampled Gaussian": (
        Relation.ADD_REMOVE,
        (PoissonSubsampled(rate="0.01", of=Gaussian(sigma=1), count=1000),),
        "1e-5",
    ),
    "10000 sampled Gaussian": (
        Relation.ADD_REMOVE,
        (PoissonSubsampled(rate="0.01", of=Gaussian(sigma=1), count=10000),),
        "1e-5",
    ),
    "500 + 500 unequal": (Relation.REPLACE_ONE, MIXED, "1e-6"),
    "200 randomised responses": (
        Relation.REPLACE_ONE,
        (RandomizedResponse(epsilon="0.1", count=200),),
        "1e-6",
    ),
}

THEIRS = """
import json, sys, time
import dp_accounting as dp
from dp_accounting.pld import pld_privacy_accountant as pld
from dp_accounting.pld import privacy_loss_distribution as pl

G, L = dp.GaussianDpEvent, dp.LaplaceDpEvent
sgm = lambda n: dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(.01, G(1.)), n)
mixed = dp.ComposedDpEvent([G(50 + .2 * i) for i in range(500)] + [L(100 + .2 * i) for i in range(500)])
rows = {
    "Gaussian 1, 1e-5": (G(1.), 1e-5), "Gaussian 1, 1e-12": (G(1.), 1e-12),
    "10000 Gaussian 100": (dp.SelfComposedDpEvent(G(100.), 10000), 1e-5),
    "1000 Laplace 100": (dp.SelfComposedDpEvent(L(100.), 1000), 1e-6),
    "1000 sampled Gaussian": (sgm(1000), 1e-5), "10000 sampled Gaussian": (sgm(10000), 1e-5),
    "500 + 500 unequal": (mixed, 1e-6),
}
def account(event, delta):
    accountant = pld.PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(event)
    return accountant.get_epsilon(delta)
def responses(_, delta):
    import math
    one = pl.from_randomized_response(2 / (1 + math.exp(.1)), 2)
    return one.self_compose(200).get_epsilon_for_delta(delta)
found = {}
for name, work in [*rows.items(), ("200 randomised responses", (None, 1e-6))]:
    run = responses if name.startswith("200") else account
    times = []
    for _ in range(int(sys.argv[1])):
        begun = time.perf_counter()
        epsilon = float(run(*work))
        times.append(time.perf_counter() - begun)
    found[name] = {"dp-accounting": [epsilon, epsilon, min(times)]}
try:
    from prv_accountant import PRVAccountant
    from prv_accountant import privacy_random_variables as kinds
    G, L = kinds.GaussianMechanism, kinds.LaplaceMechanism
    sampled = kinds.PoissonSubsampledGaussianMechanism(sampling_probability=.01, noise_multiplier=1.)
    unequal = [G(50 + .2 * i) for i in range(500)] + [L(mu=1 / (100 + .2 * i)) for i in range(500)]
    prvs = {
        "Gaussian 1, 1e-5": ([G(1.)], 1, 1e-5),
        "Gaussian 1, 1e-12": ([G(1.)], 1, 1e-12),
        "10000 Gaussian 100": ([G(100.)], 10000, 1e-5),
        "1000 Laplace 100": ([L(mu=.01)], 1000, 1e-6),
        "1000 sampled Gaussian": ([sampled], 1000, 1e-5),
        "10000 sampled Gaussian": ([sampled], 10000, 1e-5),
        "500 + 500 unequal": (unequal, 1, 1e-6),
        "200 randomised responses": ([kinds.PureDPMechanism(.1)], 200, 1e-6),
    }
    for name, (prv, count, delta) in prvs.items():
        try:
            begun = time.perf_counter()
            wide = .1 if len(prv) > 1 else .01
            made = PRVAccountant(
                prvs=prv, max_self_compositions=[count] * len(prv), eps_error=wide, delta_error=delta / 1000)
            low, _, high = made.compute_epsilon(delta, [count] * len(prv))
            found[name]["prv-accountant"] = [float(low), float(high), time.perf_counter() - begun]
        except Exception as error:
            print(name, "prv-accountant:", error, file=sys.stderr)
except ImportError as error:
    print(error, file=sys.stderr)
print(json.dumps(found))
"""


def peers_python() -> Path:
    """Return the interpreter of the peers' own environment, made where it is missing."""
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dpaccount-peers"
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS], check=True)
        (home / "ready").touch()
    return python


@dataclass(frozen=True)
class Ours:
    """Our enclosure and the seconds it took; `at_width` seconds where only the peer's error is asked for."""

    low: float
    high: float
    width: float
    seconds: float
    at_width: float


def timed(
    events: tuple[Event, ...], relation: Relation, delta: str, gap: Fraction
) -> tuple[Enclosure, float]:
    """Return the enclosure and the least of a few times."""
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        bounds = Accountant(Plan(relation, events)).epsilon(delta, gap)
        times.append(time.perf_counter() - begun)
    return bounds, min(times)


def measure_ours(theirs: Found) -> dict[str, Ours]:
    """Measure every row, at the ordinary width and at the width of dp-accounting's error."""
    found = {}
    for name, (relation, events, delta) in ROWS.items():
        bounds, seconds = timed(events, relation, delta, Fraction(1, 10**6))
        error = abs(theirs[name]["dp-accounting"][1] - float(bounds.upper))
        _, at_width = timed(events, relation, delta, Fraction(max(error, 1e-12)))
        width = float(bounds.upper - bounds.lower)
        found[name] = Ours(float(bounds.lower), float(bounds.upper), width, seconds, at_width)
    return found


def print_rows(ours: dict[str, Ours], theirs: Found) -> None:
    """Print a line for every row and peer: errors and times, and their ratios to ours."""
    print("| row | ε, upper end | our width | our s | peer | error | ÷ width | its s | ÷ ours at its width |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, own in ours.items():
        for peer, (below, above, seconds) in theirs[name].items():
            error = max(abs(above - own.high), abs(below - own.low))
            print(
                f"| {name} | {own.high:.12f} | {own.width:.1e} | {own.seconds:.3f} | {peer} | {error:.1e}"
                f" | {error / own.width:.0e} | {seconds:.3f} | {seconds / own.at_width:.2g} |"
            )


def print_scale() -> None:
    """Print what size costs: a million charges, a thousand mixtures, a billion releases."""
    node = Gaussian(sigma=20)
    covers = [(k << j, (k + 1) << j) for j in range(20) for k in range(1 << (19 - j))]
    charges = tuple(node.covering(first + 1, last) for first, last in covers)
    rng = random.Random(1)  # noqa: S311 - a made-up plan
    mixtures = []
    for _ in range(2000):
        first, noise = rng.randint(1, 20_000), Fraction(rng.randint(200, 400), 10)
        kind = Gaussian(sigma=noise) if rng.random() < 0.5 else Laplace(scale=noise)
        mixtures.append(kind.covering(first, first + rng.randint(1, 200)))
    billion = PoissonSubsampled(rate="1e-6", of=Gaussian(sigma=1), count=10**9)
    plans = {
        f"{len(charges)} charges over 2^19 units": Plan(Relation.REPLACE_ONE, charges),
        "2000 covers, 1000 different mixtures": Plan(Relation.REPLACE_ONE, tuple(mixtures)),
        "10^9 sampled Gaussians": Plan(Relation.ADD_REMOVE, (billion,)),
    }
    for name, plan in plans.items():
        begun = time.perf_counter()
        bounds = Accountant(plan).epsilon("1e-6")
        seconds = time.perf_counter() - begun
        width = float(bounds.upper - bounds.lower)
        print(f"{name}: ε ≤ {float(bounds.upper):.9f}, width {width:.0e}, {seconds:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("accounting.svg"))
    out = parser.parse_args().out
    done = subprocess.run(
        [peers_python(), "-c", THEIRS, str(REPEATS)], capture_output=True, text=True, check=True
    )
    theirs: Found = json.loads(done.stdout.splitlines()[-1])
    sys.stderr.write(done.stderr)
    ours = measure_ours(theirs)
    print_rows(ours, theirs)
    wins = sum(own.at_width <= theirs[name]["dp-accounting"][2] for name, own in ours.items())
    widest = max(own.width for own in ours.values())
    print(f"\nwithin dp-accounting's time on {wins} of {len(ours)} rows, widest {widest:.1e}")
    print(f"peers: {', '.join(PEERS)}\n")
    print_scale()
    draw(ours, theirs, out)
    print(f"drawn: {out}", file=sys.stderr)


def draw(ours: dict[str, Ours], theirs: Found, out: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), sharey=True)
    names = list(ours)
    for at, name in enumerate(names):
        own = ours[name]
        left.plot(max(own.width, 1e-17), at, "ks")
        right.plot(own.at_width, at, "ks")
        for mark, peer in zip("ox", ("dp-accounting", "prv-accountant"), strict=True):
            if peer in theirs.get(name, {}):
                below, above, spent = theirs[name][peer]
                left.plot(max(abs(above - own.high), abs(below - own.low), 1e-17), at, mark, color="tab:red")
                right.plot(spent, at, mark, color="tab:red")
    left.set_yticks(range(len(names)), names)
    for axes, label in ((left, "width or error in ε"), (right, "seconds")):
        axes.set_xscale("log")
        axes.set_xlabel(label)
        axes.grid(alpha=0.3)
    figure.suptitle("■ dpaccount   ● dp-accounting   × prv-accountant")
    figure.tight_layout()
    figure.savefig(out)


if __name__ == "__main__":
    main()
