"""What limits private bandits: each mechanism is compared with itself on an easier problem.

Late answers are compared with a run that starts 30 people later and gets each answer at once; silence, with
a run on those who answer; rare rewards, with a belief that uses the true second moments of every phase,
which are never released, and with less noise; a learned kernel, with the right one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from bandits.arm_phases import ArmPhases
from bandits.learning.contextual import Learner
from bandits.local_posterior import LEARNED, LocalPosterior
from bandits.phased_gp_ucb import REWARD_NOISE, PhaseBelief, PhasedGpUcb
from bandits.simulation.simulated_people import People, WorldLaw, simulated_people
from bandits.space.points import grid
from benchmarks.chosen_bandits import joint_share, played_share, regret_row
from benchmarks.rows import Rows
from dpaccount.noise.receipt import Noise, rehearse
from dpaccount.noise.samplers import Rehearsal

SEEDS = range(7000, 7100)
HALF, DELTA = Fraction(1, 2), Fraction(1, 10**5)


class TrueMoments(PhaseBelief):
    """Takes Σg(1, φ)ᵀ and Σggᵀ of the people who answered in a phase, in place of simulated ones.

    A reward's mean square about its mean, b(1 − b) at a base rate b, is then what is left of the error.
    """

    def __init__(self, subject: PhasedGpUcb, weights: np.ndarray) -> None:
        self._fresh = lambda: np.zeros((2, subject.features.size + 1, subject.features.size + 1))
        self._true = self._fresh()
        self._left = float(subject.base * (1 - subject.base)) / REWARD_NOISE
        super().__init__(subject, weights)

    def contribution(self, features: np.ndarray, reward: float | None) -> np.ndarray:
        """Return g·(y − ½), and count who answered."""
        if reward is not None:
            g = self.directions(features)
            self._true += np.outer(g, np.append(1.0, features)), self._left * np.outer(g, g)
        return super().contribution(features, reward)

    def _simulate(self, people: int) -> None:
        self._shapes.append(self._true[0])
        self._spreads.append(self._true[1])
        self._true = self._fresh()


@dataclass(frozen=True)
class Told(PhasedGpUcb):
    """Knows second moments: not private."""

    def learner(self, noise: Noise) -> Learner:
        """Return the learner, with the belief that knows."""
        made = super().learner(noise)
        made.belief = TrueMoments(self, made.belief._weights)
        return made


def late_and_silent(people: int = 1024, seeds: range = SEEDS, behind: int = 30) -> Rows:
    """Yield regret at ε = 3 in the paper's worlds, over that of uniform choices."""
    shares: dict[str, list[float]] = {}
    made = PhasedGpUcb(rounds=people, epsilon=Fraction(3), delta=DELTA, delays=True)
    half, expects = replace(made, answering=HALF), replace(made, late=Fraction(behind))
    short = replace(made, rounds=people - behind, sigma=made.noise_scale)
    for seed in seeds:
        world, rng = simulated_people(people, 25, 2, seed), np.random.default_rng([seed, 1])
        late = np.minimum(rng.geometric(1 / (behind + 1), people) - 1, people)
        silent = np.where(rng.random(people) < 0.5, 0, people)
        everyone, answer = np.arange(people), np.flatnonzero(silent == 0)
        few = replace(made, rounds=len(answer))
        for what, bandit, delays, who, before in (
            ("nobody late", made, 0 * late, everyone, 0),
            ("30 people late", made, late, everyone, 0),
            ("30 people late, as expected", expects, late, everyone, 0),
            ("30 people at random, then nobody late", short, 0 * late, everyone[behind:], behind),
            ("half silent, as expected", half, silent, everyone, 0),
            ("half silent, not expected", made, silent, everyone, 0),
            ("those who answer, alone", few, 0 * late, answer, 0),
        ):
            some = People(world.points[who], world.means[who], world.rewards[who])
            noise = rehearse(bandit.proof(bandit.delta), Rehearsal(seed))
            played = bandit.play(np.column_stack([some.records(), delays[who]]), noise, seed).own["action"]
            share = (before + len(who) * some.share(played)) / (before + len(who))
            shares.setdefault(what, []).append(share)
    yield from (regret_row(what, each, "nobody late", shares["nobody late"]) for what, each in shares.items())


def clicks(people: int = 1024, seeds: range = SEEDS) -> Rows:
    """Yield regret at (1, 10⁻⁵) in smooth worlds of base rate .06, which the bandit knows."""
    law = WorldLaw("squared-exponential", 1.0, 0.06)
    public = {"rounds": people, "epsilon": Fraction(1), "delta": DELTA, "base": Fraction(3, 50)}
    made = PhasedGpUcb(**public)
    told = Told(**public, sigma=made.noise_scale)
    runners = {
        "clicks": made,
        "clicks, true moments": told,
        "clicks, true moments and a third of the noise": replace(told, sigma=told.noise_scale / 3),
        "clicks, true moments and hardly any noise": replace(told, sigma=Fraction(1, 100)),
    }

    def share(bandit: PhasedGpUcb, seed: int) -> float:
        return joint_share(bandit, law.people(people, 25, 2, seed), seed)

    yield from beside_first(runners, share, seeds)


def wrong_kernels(people: int = 5000, seeds: range = SEEDS) -> Rows:
    """Yield regret of local learners at ε = 1, B = R = 1 and uniform noise, whose default kernel is wrong.

    The needle is exp(−(x − c)²/(2·.02²)), c uniform, at 100 points of [0, 1]; arms are uniform in [−1, 1].
    With the right kernel, also as `explore` and `keep` were best at seeds from 300.
    """
    at = grid(100).points[:, 0]
    for what, points, length, tuned in (
        ("a needle of width .02", 100, Fraction(1, 50), {"explore": HALF, "keep": HALF}),
        ("40 independent arms", 40, Fraction(1, 200), {"explore": HALF}),
    ):
        public = {"rounds": people, "points": points, "bound": Fraction(1), "noise_bound": Fraction(1)}
        right = LocalPosterior(**public, lengthscale=length)
        runners = {
            f"{what}, default kernel": LocalPosterior(**public),
            f"{what}, learned": LocalPosterior(**public, kernel=LEARNED),
            f"{what}, right kernel": right,
            f"{what}, right kernel, tuned": replace(right, **tuned),
        }

        def share(bandit: LocalPosterior, seed: int, points: int = points) -> float:
            rng = np.random.default_rng(seed)
            needle = points == 100
            means = np.exp(-(((at - rng.random()) / 0.02) ** 2) / 2) if needle else rng.uniform(-1, 1, 40)
            return played_share(bandit, means + rng.uniform(-1, 1, (people, 1)), means, seed)

        yield from beside_first(runners, share, seeds)


def needle_told(people: int = 5000, seeds: range = range(90_000, 90_048)) -> Rows:
    """Yield regret on the needle of `wrong_kernels` where all but its place is told, by the exact posterior.

    People answer by the same bit at ε = 1, of a reward clipped to ±1.25, as `local-posterior` begins.  Noise
    is known to be uniform.  A point is that of a draw of the place, or the one of least squared regret over
    information (Russo & Van Roy 2018).
    """
    at, places, clip = grid(100).points[:, 0], np.linspace(0, 1, 201), 1.25
    noises = (np.arange(400) + 0.5) / 200 - 1

    def needles(centre: np.ndarray) -> np.ndarray:
        return np.exp(-(((at[:, None] - centre) / 0.02) ** 2) / 2)

    def chances(means: np.ndarray) -> np.ndarray:
        kept = np.clip((means[..., None] + noises) / clip, -1, 1).mean(axis=-1)
        return 0.5 + 0.5 * np.tanh(0.5) * kept

    def unsure(chance: np.ndarray) -> np.ndarray:
        return -chance * np.log(chance) - (1 - chance) * np.log(1 - chance)

    means = needles(places)
    known, lost = chances(means), means.max(axis=0) - means
    shares: dict[str, list[float]] = {"by draws": [], "by regret and information": []}
    for seed in seeds:
        for how, found in shares.items():
            rng = np.random.default_rng([seed, 12])
            true = needles(rng.random(1))[:, 0]
            bits, logs, played = chances(true), np.zeros(len(places)), []
            for _ in range(people):
                belief = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
                if how == "by draws":
                    point = int(means[:, rng.choice(len(places), p=belief)].argmax())
                else:
                    told = unsure(known @ belief) - unsure(known) @ belief
                    point = int(((lost @ belief) ** 2 / np.maximum(told, 1e-15)).argmin())
                played.append(point)
                one = rng.random() < bits[point]
                logs += np.log(known[point] if one else 1 - known[point])
            found.append(float((true.max() - true[played]).mean() / (true.max() - true.mean())))
    for how, found in shares.items():
        yield regret_row(
            f"a needle of width .02, told but for its place, {how}", found, "by draws", shares["by draws"]
        )


#: what arms pay, by how they are drawn; ε; people; how many ask before an answer, on average
ARMS = (
    ("10 arms, 40 people late", lambda rng: rng.uniform(0.2, 0.8, 10), 1, 5000, 40),
    ("10 arms, 40 people late", lambda rng: rng.uniform(0.2, 0.8, 10), 1, 500, 40),
    ("10 arms", lambda rng: rng.uniform(0.2, 0.8, 10), 1, 4096, 0),
    ("50 arms, one is .5 and the others .2", lambda rng: rng.permutation([0.5] + [0.2] * 49), 3, 5000, 0),
    ("200 arms, Beta(2, 4)", lambda rng: rng.beta(2, 4, 200), 3, 5000, 0),
)


def public_arms(seeds: range = range(90_000, 90_048)) -> Rows:
    """Yield regret of `arm-phases` at pure ε, beside the same with almost no noise."""
    for what, draw, epsilon, people, behind in ARMS:
        shares: tuple[list[float], list[float]] = ([], [])
        for seed in seeds:
            rng = np.random.default_rng([seed, 11])
            means = draw(rng)
            rewards = (rng.random((people, len(means))) < means).astype(float)
            delays = np.minimum(rng.geometric(1 / (behind + 1), (people, 1)) - 1, people)
            for found, noise in zip(shares, (Fraction(epsilon), Fraction(1000)), strict=True):
                bandit = ArmPhases(rounds=people, arms=len(means), epsilon=noise, delays=True)
                found.append(played_share(bandit, np.hstack([rewards, delays]), means, seed))
        name = f"{what}, T = {people}, epsilon = {epsilon}"
        yield regret_row(name, shares[0], "the same at epsilon = 1000", shares[1])


def beside_first(runners: dict, share: Callable[..., float], seeds: Sequence[int]) -> Rows:
    """Yield the regret of every runner, compared with the first one's."""
    found = {name: [share(bandit, seed) for seed in seeds] for name, bandit in runners.items()}
    first = next(iter(found))
    yield from (regret_row(name, each, first, found[first]) for name, each in found.items())
