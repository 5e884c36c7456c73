"""What public rehearsals choose, beside simple private bandits, on worlds of ten laws."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from bandits.arm_phases import ArmPhases
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.selection.rehearsals import baselines, choose
from bandits.simulation.simulated_people import WORLD_LAWS, People, WorldLaw
from bandits.space.points import Axis, Space
from benchmarks.rows import BenchmarkRow, Rows
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal

OWN_RATE = WorldLaw("matern-3/2")  #: what is rehearsed where base rates are told: the rate, not the kernel
#: worlds, number of candidates and coordinates, and what rehearsals are told: nothing, or the base rate
CHOSEN_IN = (
    ("the paper's", WorldLaw(), 25, 2, WORLD_LAWS),
    ("Matérn 3/2, length .5", WorldLaw("matern-3/2", 0.5), 25, 2, WORLD_LAWS),
    ("smooth, length 2", WorldLaw("squared-exponential", 2.0), 25, 2, WORLD_LAWS),
    ("linear", WorldLaw("linear"), 25, 2, WORLD_LAWS),
    ("linear, one coordinate", WorldLaw("linear"), 25, 1, WORLD_LAWS),
    ("linear, four coordinates", WorldLaw("linear"), 25, 4, WORLD_LAWS),
    (
        "clicks, base rate .06",
        WorldLaw("squared-exponential", 1.0, 0.06),
        25,
        2,
        (replace(OWN_RATE, base=0.06),),
    ),
    (
        "waiting, base rate .8",
        WorldLaw("squared-exponential", 1.0, 0.8),
        25,
        2,
        (replace(OWN_RATE, base=0.8),),
    ),
    (
        "revenue, base rate .3",
        WorldLaw("squared-exponential", 1.0, 0.3),
        25,
        2,
        (replace(OWN_RATE, base=0.3),),
    ),
)


def chosen(people: int = 1024, seeds: range = range(7000, 7024)) -> Rows:
    """Yield regret of what rehearsals choose at (1, 10⁻⁵), beside the best of simple private baselines.

    The note has the baseline and the paired difference.  Revenue is lognormal of deviation 1, at most 1.
    """
    budget = {"epsilon": Fraction(1), "delta": Fraction(1, 10**5), "rounds": people}
    for what, law, candidates, dimension, laws in CHOSEN_IN:
        shape = {"candidates": candidates, "dimension": dimension}
        choice = choose("joint", **budget, **shape, laws=laws)
        simple = [MomentGpUcb(**budget, **shape, **each) for each in baselines(people, dimension)]
        shares = []
        for seed in seeds:
            world = law.people(people, candidates, dimension, seed)
            if what.startswith("revenue"):
                world = revenue(world, seed)
            shares.append([joint_share(bandit, world, seed) for bandit in (choice.bandit, *simple)])
        yield beside_simple(f"{what}: {choice.subject}", shares, ("phases", "one release", "a histogram"))
    names = tuple(str(arm) for arm in range(10))
    space = Space(names, np.linspace(0, 1, 10).tobytes(), (Axis("arm"),))
    choice = choose("reward", **budget, space=space, laws=(WorldLaw("unrelated"),))
    simple = [MomentGpUcb(**budget, space=space, **each) for each in baselines(people, 1)]
    simple.append(ArmPhases(rounds=people, arms=10))
    shares = []
    for seed in seeds:
        world = WorldLaw("unrelated").people(people, 10, 1, seed, space)
        first = played_share(choice.bandit, world.rewards, world.means[0], seed)
        rest = [joint_share(bandit, world, seed) for bandit in simple[:-1]]
        last = played_share(simple[-1], world.rewards, world.means[0], seed)
        shares.append([first, *rest, last])
    names = ("phases", "one release", "a histogram", "arms by Thompson")
    yield beside_simple(f"10 fixed arms: {choice.subject}", shares, names)


def joint_share(bandit, world: People, seed: int) -> float:
    """Return a run's regret over that of uniform choices, where people bring their points."""
    noise = rehearse(bandit.proof(bandit.delta), Rehearsal(seed))
    return world.share(bandit.play(bandit.domain().clamped(world.records()), noise, seed).own["action"])


def revenue(world: People, seed: int) -> People:
    """Return these people with rewards min(m·exp(z − ½), 1), z normal, in place of chances m."""
    drawn = np.random.default_rng([seed, 2]).normal(size=world.means.shape)
    means = np.maximum(world.means, 1e-9)
    at = np.log(means)
    paid = means * ndtr(-at - 0.5) + ndtr(at - 0.5)
    return People(world.points, paid, np.minimum(means * np.exp(drawn - 0.5), 1.0))


def beside_simple(what: str, found: list[list[float]], names: tuple[str, ...]) -> BenchmarkRow:
    """Return a row of our regret beside the simple baseline of least, with the paired difference."""
    shares = np.array(found)
    best = 1 + int(np.argmin(shares[:, 1:].mean(axis=0)))
    apart = shares[:, 0] - shares[:, best]
    note = f"difference {apart.mean():+.3f} ± {apart.std(ddof=1) / math.sqrt(len(apart)):.3f}"
    row = f"regret, {what}"
    return BenchmarkRow(
        row, float(shares[:, 0].mean()), "of uniform", names[best - 1], float(shares[:, best].mean()), note
    )


def regret_row(what: str, shares: list[float], beside: str, others: list[float]) -> BenchmarkRow:
    """Return a row of mean regrets over those of uniform choices, with the standard error in its note."""
    value, other = float(np.mean(shares)), float(np.mean(others))
    error = f"± {np.std(shares, ddof=1) / math.sqrt(len(shares)):.3f}"
    return BenchmarkRow(f"regret, {what}", value, "of uniform", beside, other, error)


def played_share(bandit, data, means, seed: int) -> float:
    """Return a run's regret over that of uniform choices, at public points with these means."""
    noise = rehearse(bandit.proof(bandit.delta), Rehearsal(seed))
    public = bandit.play(bandit.domain().clamped(data), noise, seed).public
    lost = means.max() - means[public["arms"] if "arms" in public else public["points"]]
    return float(lost.mean() / (means.max() - means.mean()))
