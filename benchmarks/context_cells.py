"""Private contexts of public data sets: `context-histogram` beside simple histograms.

Digits, wine and cancer of scikit-learn 1.9.1: an action is a class, and pays 1 where it is the record's.  A
third of the records is the public sample, without classes; people are drawn from the others.
"""

from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from itertools import product
from statistics import fmean

import numpy as np

from bandits.context_histogram import ContextHistogram
from bandits.private_prediction.context_cells import cells_of
from bandits.private_prediction.public_grid import PublicContexts
from bandits.space.points import Axis, Space
from bandits.space.reading import of_table
from benchmarks.chosen_bandits import regret_row
from benchmarks.rows import BenchmarkRow, Rows
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal

SEEDS = range(90_000, 90_048)
#: least deviations of Gaussian noise for a movement of 1 at (ε, 10⁻⁵), rounded down (Balle & Wang 2018)
SIGMAS = {Fraction(1, 2): 7.03, Fraction(1): 3.73, Fraction(3): 1.39}
SETS = {"digits": 8, "wine": 4, "breast_cancer": 4}  #: and how many principal axes a context has


def classes(name: str, people: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the public sample and people's contexts in [0, 1], and their classes."""
    from sklearn import datasets  # pip install scikit-learn

    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    rng = np.random.default_rng([seed, 1])
    x = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9) if name != "digits" else x / 16
    order = rng.permutation(len(x))
    public, private = np.split(order, [len(x) // 3])
    axes = np.linalg.svd(x[public] - x[public].mean(axis=0), full_matrices=False)[2][: SETS[name]]
    at = x @ axes.T
    at = (at - at[public].min(axis=0)) / np.ptp(at[public], axis=0).max()
    who = rng.choice(private, people)
    return at[public], at[who], y[who]


def offered(public: np.ndarray, actions: int) -> Space:
    """Return the actions, and a public sample as their contexts."""
    points = np.unique(public, axis=0)
    axes = tuple(Axis(str(axis)) for axis in range(points.shape[1]))
    names = tuple(map(str, range(len(points))))
    return replace(of_table(list(range(actions))), contexts=Space(names, points.tobytes(), axes))


def histogram(
    cells: int,
    law: str,
    public: np.ndarray,
    at: np.ndarray,
    rewards: np.ndarray,
    epsilon: Fraction,
    seed: int,
) -> np.ndarray:
    """Return the actions of uniform play for a quarter of the people, and then of the best by one release."""
    rng, (people, actions) = np.random.default_rng([seed, 3]), rewards.shape
    known = PublicContexts(len(np.unique(public, axis=0)), offered(public, actions))
    tree = cells_of(known)
    cell = tree.groups(cells)[tree.of[known.cell_of(at)]]
    played, some = rng.integers(0, actions, people), people // 4
    sums = np.zeros((cells, actions))
    np.add.at(sums, (cell[:some], played[:some]), rewards[np.arange(some), played[:some]] - 0.5)
    if law == "laplace":
        sums += rng.laplace(0, float(1 / epsilon), sums.shape)
    else:
        sums += rng.normal(0, SIGMAS[epsilon], sums.shape)
    played[some:] = sums.argmax(axis=1)[cell[some:]]
    return played


def real_contexts(seeds: range = SEEDS) -> Rows:
    """Yield shares of uniform play's regret, beside the best of four simple histograms."""
    if find_spec("sklearn") is None:
        yield BenchmarkRow(
            "regret on digits, wine and cancer", None, "", "", None, "pip install scikit-learn"
        )
        return
    for name, people, epsilon in product(SETS, (500, 5000), SIGMAS):
        ours: list[float] = []
        simple: dict[tuple[int, str], list[float]] = {}
        for seed in seeds:
            public, at, of = classes(name, people, seed)
            rewards = np.eye(of.max() + 1)[of]
            actions = rewards.shape[1]
            bandit = ContextHistogram(rounds=people, epsilon=epsilon, space=offered(public, actions))
            noise = rehearse(bandit.proof(bandit.delta), Rehearsal(seed))
            played = bandit.play(np.hstack([at, rewards]), noise, seed).own["action"]
            chance = 1 - 1 / actions
            ours.append((1 - rewards[np.arange(people), played].mean()) / chance)
            for each in product((8, 24), ("laplace", "gaussian")):
                played = histogram(*each, public, at, rewards, epsilon, seed)
                lost = (1 - rewards[np.arange(people), played].mean()) / chance
                simple.setdefault(each, []).append(lost)
        best = min(simple, key=lambda each: fmean(simple[each]))
        cells, law = best
        what = f"{name}, T = {people}, epsilon = {float(epsilon):g}"
        yield regret_row(what, ours, f"a histogram of {cells} cells, {law}", simple[best])
