"""Our accounting beside dp-accounting and prv-accountant: time, width and error, in one run.

usage: .venv/bin/python benchmarks/accounting.py [--out accounting.svg]

The peers live in an environment of their own, made once under the user's cache directory (dp-accounting
may downgrade numpy). Their ε is compared with our enclosure, which both directions of the relation enter.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import venv
from fractions import Fraction
from pathlib import Path

from dpaccount.accountant import Accountant
from dpaccount.events import Gaussian, Laplace, Plan, PoissonSubsampled, RandomizedResponse, Relation

PEERS = ("dp-accounting==0.6.0", "prv-accountant==0.2.0")
REPEATS = 3

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
    from prv_accountant import privacy_random_variables as prv_kinds
    GaussianMechanism, LaplaceMechanism = prv_kinds.GaussianMechanism, prv_kinds.LaplaceMechanism
    sampled = prv_kinds.PoissonSubsampledGaussianMechanism(sampling_probability=.01, noise_multiplier=1.)
    prvs = {
        "Gaussian 1, 1e-5": (GaussianMechanism(1.), 1, 1e-5),
        "Gaussian 1, 1e-12": (GaussianMechanism(1.), 1, 1e-12),
        "10000 Gaussian 100": (GaussianMechanism(100.), 10000, 1e-5),
        "1000 Laplace 100": (LaplaceMechanism(mu=.01), 1000, 1e-6),
        "1000 sampled Gaussian": (sampled, 1000, 1e-5), "10000 sampled Gaussian": (sampled, 10000, 1e-5),
    }
    for name, (prv, count, delta) in prvs.items():
        try:
            begun = time.perf_counter()
            made = PRVAccountant(
                prvs=[prv], max_self_compositions=[count], eps_error=.01, delta_error=delta / 1000)
            low, _, high = made.compute_epsilon(delta, [count])
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


def measure_ours() -> dict[str, list[float]]:
    found = {}
    for name, (relation, events, delta) in ROWS.items():
        times = []
        for _ in range(REPEATS):
            begun = time.perf_counter()
            bounds = Accountant(Plan(relation, events)).epsilon(delta)
            times.append(time.perf_counter() - begun)
        found[name] = [
            float(bounds.lower),
            float(bounds.upper),
            min(times),
            float(bounds.upper - bounds.lower),
        ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("accounting.svg"))
    out = parser.parse_args().out
    done = subprocess.run(
        [peers_python(), "-c", THEIRS, str(REPEATS)], capture_output=True, text=True, check=True
    )
    theirs = json.loads(done.stdout.splitlines()[-1])
    ours = measure_ours()
    print(f"{'row':<26}{'ε':>16}{'width':>9}{'s':>8}   peer: error, s, time ratio")
    for name, (low, high, seconds, width) in ours.items():
        line = f"{name:<26}{high:>16.12f}{width:>9.1e}{seconds:>8.3f}"
        for peer, (below, above, spent) in theirs.get(name, {}).items():
            error = max(abs(above - high), abs(below - low))
            line += f"   {peer}: {error:.1e}, {spent:.3f}, {spent / seconds:.2g}×"
        print(line)
    wins = sum(ours[n][2] <= theirs[n]["dp-accounting"][2] for n in ours)
    widest = max(found[3] for found in ours.values())
    print(f"within dp-accounting's time on {wins} of {len(ours)} rows; widest {widest:.1e}")
    draw(ours, theirs, out)
    print(f"drawn: {out}", file=sys.stderr)


def draw(ours: dict[str, list[float]], theirs: dict[str, dict[str, list[float]]], out: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), sharey=True)
    names = list(ours)
    for at, name in enumerate(names):
        low, high, seconds, width = ours[name]
        left.plot(max(width, 1e-17), at, "ks")
        right.plot(seconds, at, "ks")
        for mark, peer in zip("ox", ("dp-accounting", "prv-accountant"), strict=True):
            if peer in theirs.get(name, {}):
                below, above, spent = theirs[name][peer]
                left.plot(max(abs(above - high), abs(below - low), 1e-17), at, mark, color="tab:red")
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
