"""Time and memory of TGP, ATA and MoMA by number of rounds, side by side, and against naive refits.

usage: OMP_NUM_THREADS=1 .venv/bin/python -P benchmarks/local_bandits.py [--rounds 1000 10000]

-P keeps bandits.py beside this file off the import path.

Processor time of the learners alone, on 100 points and messages at ε = 1.  "of ATA" is a run's share of ATA's
time in the same run of this program: what the paper calls reduced complexity.  A naive refit solves anew,
from all plays, what the learner keeps.  State is the size of the learner when pickled.
"""

import argparse
import math
import pickle
import time

import numpy as np

from bandits.ldp_ata_gp_ucb import AdaptivelyTruncatedGpUcb
from bandits.ldp_moma_gp_ucb import MedianOfMeansGpUcb, median_choice
from bandits.ldp_tgp_ucb import TruncatedGpUcb
from bandits.learning.nystrom import embedding
from bandits.local_privacy.payoffs import Payoffs
from bandits.simulation.points import grid

POINTS, CLIP = 100, 5.0
BIT = CLIP * (math.e + 1) / (math.e - 1)  #: Duchi's answer at ε = 1
LAPLACE = 2 * CLIP
LAWS = {
    "duchi": Payoffs(bound=4.0, moment=BIT**2, noise_moment=BIT**2, start=BIT, tail_power=1.0, clip=CLIP),
    "laplace": Payoffs(
        bound=4.0,
        moment=17 + 2 * LAPLACE**2,
        noise_moment=1 + 2 * LAPLACE**2,
        start=CLIP,
        scale=LAPLACE,
        tail_power=1.0,
        clip=CLIP,
    ),
}
MEANS = 4 * np.sin(7 * np.linspace(0, 1, POINTS))


def learners(kernel, law: str, rounds: int, constants: str) -> dict:
    payoffs = LAWS[law]
    return {
        "TGP": TruncatedGpUcb(kernel, payoffs, constants, 1),
        "ATA": AdaptivelyTruncatedGpUcb(kernel, payoffs, rounds, constants, 1),
        "MoMA": MedianOfMeansGpUcb(kernel, payoffs, rounds, constants, 1),
    }


def answers(law: str, rounds: int):
    """Return a function that answers for a round and point."""
    rng = np.random.default_rng(2)
    uniform, laplace = rng.random(rounds), rng.laplace(0, LAPLACE, rounds)
    if law == "laplace":
        return lambda t, point: MEANS[point] + laplace[t]
    return lambda t, point: BIT if uniform[t] < 0.5 + MEANS[point] / (2 * BIT) else -BIT


def played(learner, law: str, rounds: int) -> tuple[float, list[tuple[int, float]]]:
    """Return processor seconds of a whole run, and what was played and told."""
    answer, history = answers(law, rounds), []
    started = time.process_time()
    for t in range(rounds):
        point = learner.ask().point
        value = answer(t, point)
        learner.tell(point, value, None)
        history.append((point, value))
    return time.process_time() - started, history


def naive(name: str, kernel, learner, history) -> float:
    """Return processor seconds of one refit from all plays."""
    points, values = (np.array(each) for each in zip(*history, strict=True))
    started = time.process_time()
    if name == "TGP":
        seen = kernel[np.ix_(points, points)] + learner.table.ridge * np.eye(len(points))
        np.linalg.solve(seen, np.column_stack([values, kernel[points]]))
    else:
        people = 1 if name == "ATA" else learner.people
        epochs = len(points) // people
        whole = points[: epochs * people : people]
        phi = embedding(kernel, np.isin(np.arange(POINTS), whole))
        rows = phi[whole]
        inner = rows.T @ rows + np.eye(phi.shape[1])
        if name == "ATA":
            eigen, vectors = np.linalg.eigh(inner)
            products = ((vectors / np.sqrt(eigen)) @ (vectors.T @ rows.T)) * values
            np.where(np.abs(products) <= learner.cut(), products, 0.0).sum(axis=1)
        else:
            theta = np.linalg.solve(inner, rows.T @ values[: epochs * people].reshape(epochs, people))
            median_choice(theta.T @ np.linalg.cholesky(inner), np.zeros(people))
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, nargs="+", default=[1000, 3000, 10_000])
    parser.add_argument("--kernel", nargs="+", default=["squared-exponential", "matern-5/2"])
    parser.add_argument("--constants", nargs="+", default=["practical", "theory"])
    parser.add_argument("--naive", type=int, default=2000, help="rounds up to which refits are timed")
    arguments = parser.parse_args()
    heads = f"{'seconds':>8} {'µs a round':>11} {'of ATA':>7} {'naive refit':>12} {'state kB':>9}"
    print(f"{'':44} {'T':>7} {heads}")
    for name in arguments.kernel:
        kernel = grid(name, 0.2, POINTS).kernel
        for law in LAWS:
            for constants in arguments.constants:
                for rounds in arguments.rounds:
                    table(f"{name}, {law}, {constants}", kernel, law, constants, rounds, arguments.naive)


def table(title: str, kernel, law: str, constants: str, rounds: int, limit: int) -> None:
    found = {}
    for name, learner in learners(kernel, law, rounds, constants).items():
        seconds, history = played(learner, law, rounds)
        refit = naive(name, kernel, learner, history) if rounds <= limit else math.nan
        found[name] = (seconds, refit, len(pickle.dumps(learner)) / 1000)
    for name, (seconds, refit, state) in found.items():
        each = seconds / rounds
        times = f"{refit / each:>10.0f} ×" if refit == refit else f"{'':>12}"  # noqa: PLR0124
        print(
            f"{title + ', ' + name:44} {rounds:>7} {seconds:>8.2f} {each * 1e6:>11.0f} "
            f"{seconds / found['ATA'][0]:>7.2f} {times} {state:>9.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
