"""The plan finder: which insurance plan serves people best, learned under joint differential privacy.

Every person is a public slot.  In slot i the logged plan a and the slot's own coin give an offered
pair; the policy, a function of earlier releases, recommends one of the two.  The slot contributes
m·(2y−1)·e_a ∈ {0, ±e₁, …, ±e₄}, where m says whether the recommended plan is the logged one and y is
the reward.  A person whose record is not kept contributes zero to their own slot, so rejection
moves nobody else: given the releases before its batch, a slot's contribution depends on its own
record and coin only, and moves the sums that contain it by at most 2.

Kernel GP-UCB over the plans' shares, refreshed per batch from noisy arm sums only.  How often each
plan was kept is never released: it is replaced by its expectation under the known policy.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bandits.worlds import insurance
from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise, NoNoise, rehearse
from dpaccount.noise.samplers import Integers, Rehearsal
from dpaccount.proof import (
    REPLACE_ONE,
    Cover,
    Theorem,
    assume_covers,
    assume_points,
    assume_view,
    billboard,
    differences,
    lattice_gaussian,
    nodes,
    parallel,
)
from dpaccount.proof.search import approximate
from mechanisms.subject import Domain, Rows, View

ARMS = len(insurance.PLANS)
#: prior covariance of an arm's mean minus one half: a common part and a smooth one over the share
_DISTANCE = insurance.SHARES[:, None] - insurance.SHARES[None, :]
_PRIOR = 0.15**2 + 0.1**2 * np.exp(-(_DISTANCE**2) / (2 * 0.35**2))
PRIOR_PRECISION = np.linalg.inv(_PRIOR)

MAX_SLOTS, MAX_BATCHES = 200_000, 512
SCHEDULES = ("tree", "phases")
REHEARSALS = 100  #: over which the cost of privacy is averaged
SIGMA = {"tree": Fraction(541, 32), "phases": Fraction(271, 32)}
WIDTH = {"tree": Fraction(3, 10), "phases": Fraction(1)}

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PlanFinder:
    """Private plan finder; `schedule` is ``tree`` (prefix sums) or ``phases`` (each sum used once).

    `batch` slots make a leaf of the tree, or a phase; what is left after `batches` of them is the
    last batch, on which the final policy is only measured.  `sigma` and `report_sigma` are standard
    deviations of discrete Gaussian noise on ℤ and must be doubles exactly; `width` is the confidence
    width of the upper confidence bound.
    """

    source: ClassVar[str] = (
        "ours; GP-UCB of Srinivas et al. 2010 over binary-tree sums (Dubey 2021, Algorithms 1-2)"
    )
    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE

    schedule: str = "tree"
    reward: str = "under-60"
    slots: int = 5630
    batch: int | None = None
    batches: int | None = None
    sigma: Fraction | None = None
    report_sigma: Fraction = Fraction(271, 32)
    width: Fraction | None = None

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense, before any charge."""
        if self.schedule not in SCHEDULES:
            raise InputError(f"schedule is {self.schedule!r}; known: {', '.join(SCHEDULES)}")
        if self.reward not in insurance.REWARDS:
            raise InputError(f"reward is {self.reward!r}; known: {', '.join(insurance.REWARDS)}")
        if min(self.noise_scale, self.report_sigma) <= 0:
            raise InputError("sigma and report_sigma must be above 0")
        if self.slots > MAX_SLOTS or self.plan[1] > MAX_BATCHES:
            raise InputError(f"at most {MAX_SLOTS} slots and {MAX_BATCHES} batches")
        if self.plan[0] < 1 or self.plan[1] < 1 or self.plan[0] * self.plan[1] >= self.slots:
            size, number = self.plan
            raise InputError(
                f"{number} batches of {size} leave nothing of {self.slots} slots; keep some for the last"
            )

    # -------------------------------------------------------------- public constants

    @property
    def noise_scale(self) -> Fraction:
        """Return the standard deviation on every arm sum."""
        return SIGMA[self.schedule] if self.sigma is None else self.sigma

    @property
    def plan(self) -> tuple[int, int]:
        """Return (slots per batch, number of batches before the last)."""
        size, number = (320, 15) if self.schedule == "tree" else (560, 7)
        return self.batch or size, self.batches or number

    def covers(self) -> list[Cover]:
        """Return which slots every released sum covers; release b − 1 is made when batch b ends.

        The tree releases the one node that ends there: 2^j batches, j the number of trailing zeros
        of b.  These are the nodes that prefixes are made of.
        """
        size, number = self.plan
        if self.schedule == "phases":
            return [(size * (b - 1) + 1, size * b) for b in range(1, number + 1)]
        return [(size * (b - (b & -b)) + 1, size * b) for b in range(1, number + 1)]

    def last(self) -> Cover:
        """Return the slots of the last batch."""
        return self.plan[0] * self.plan[1] + 1, self.slots

    # -------------------------------------------------------------- data and proof

    def domain(self) -> Domain:
        """Return what a record may be: plan code, visits, dollars; without a plan it is a zero record."""
        high = (float(insurance.DEDUCTIBLE), float(insurance.MAX_VISITS), insurance.MAX_SPENDING)
        missing = (float(insurance.DEDUCTIBLE), 0.0, 0.0)
        return Domain(self.slots, (0.0, 0.0, 0.0), high, (True, True, False), missing)

    def read(self, path: Path) -> Rows:
        """Return the rows of a trial file; NaN for what is missing in it."""
        return insurance.read(path, self.slots)

    def proof(self, delta: Fraction) -> Theorem:
        """Tree (or phases) on the first slots, report card on the last ones: the worse of the two.

        A slot is in at most ⌊log₂ batches⌋ + 1 nodes, or in one phase; the lattice curve of that many
        equal shifts by 2e₁, e₁ ± e₂ or e₁ is exact.  Everyone's recommendation reads the releases and
        their own slot's coins: joint DP by the billboard rule.
        """
        basis = [tuple(sign * int(i == j) for j in range(ARMS)) for i in range(ARMS) for sign in (1, -1)]
        sums = assume_points("arm-sums", [(0,) * ARMS, *basis], REPLACE_ONE, "movement")
        report = assume_points("report-card", [(0, 0), (1, 1), (-1, 1)], REPLACE_ONE, "movement")
        learning = nodes(
            lattice_gaussian(differences(sums), self.noise_scale**2, "arm-sums"),
            assume_covers("arm-sums", self.covers(), "movement"),
        )
        measuring = nodes(
            lattice_gaussian(differences(report), self.report_sigma**2, "report-card"),
            assume_covers("report-card", [self.last()], "movement"),
        )
        both = parallel(approximate(learning, delta), approximate(measuring, delta))
        return billboard(both, assume_view("plan-finder", "others", "replay"))

    # -------------------------------------------------------------- the run

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Replay the whole trial; people see their own pair and recommendation, everyone the rest."""
        slots = Slots(data, self.reward, coins)
        size, number = self.plan
        order = np.zeros(ARMS)  # batch 1: no preference, the slot's coin decides
        history: list[Observation] = []
        orders, recommended = [order], np.zeros(self.slots, dtype=np.int64)
        sums: list[Integers] = []
        for b, (first, last) in enumerate(self.covers(), start=1):
            now = slice(size * (b - 1), size * b)
            recommended[now] = slots.recommend(now, order)
            exact = slots.arm_sums(slice(first - 1, last), recommended)
            sums.append(noise.noisy("arm-sums", b - 1, exact))
            history.append(Observation(expected_kept(order) * size, sums[-1]))
            mean, deviation = self.posterior(history)
            width = float(WIDTH[self.schedule] if self.width is None else self.width)
            order = mean + (width * deviation if b < number else 0.0)
            orders.append(order)
        final = slice(self.last()[0] - 1, self.slots)
        recommended[final] = slots.recommend(final, order)
        card = noise.noisy("report-card", 0, slots.report(final, recommended))
        return View(
            own={"recommended": recommended, "pair": slots.pairs},
            public={"orders": np.array(orders), "arm-sums": np.array(sums), "report-card": card},
        )

    def posterior(self, history: list["Observation"]) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of every arm's value minus one half, given the releases.

        S̃/2 = N(θ + noise of kept rewards) + q·noise: R = N/4 + q(σ/2)² I, N the expected kept counts.
        """
        precision, weighted = PRIOR_PRECISION.copy(), np.zeros(ARMS)
        for counts, total, terms in self.observations(history):
            error = counts / 4 + terms * (float(self.noise_scale) / 2) ** 2
            precision += np.diag(counts * counts / error)
            weighted += counts * (total / 2) / error
        covariance = np.linalg.inv(precision)
        return covariance @ weighted, np.sqrt(np.diag(covariance))

    def observations(self, history: list["Observation"]) -> list[tuple[Floats, Floats, int]]:
        """Return (expected counts, noisy sum, number of noises in it): every phase, or the newest prefix."""
        if self.schedule == "phases":
            return [(o.kept, o.noisy.astype(np.float64), 1) for o in history]
        total, b, terms = np.zeros(ARMS), len(history), 0
        while b:  # the nodes that make up the prefix of b batches end at b, b − lowbit(b), …
            total += history[b - 1].noisy
            b, terms = b - (b & -b), terms + 1
        return [(np.sum([o.kept for o in history], axis=0), total, terms)]

    def report(self, view: View) -> dict[str, object]:
        """Return the private report card of a run: what may be published."""
        order = np.asarray(view.public["orders"])[-1]
        score, kept = (float(v) for v in np.asarray(view.public["report-card"]))
        first, last = self.last()
        expected = float(expected_kept(order).sum() * (last - first + 1))
        return {
            "best_plan": insurance.PLANS[int(np.argmax(order))],
            "order_of_plans": [insurance.PLANS[i] for i in np.argsort(-order, kind="stable")],
            "value_of_final_policy": round(0.5 + score / (2 * expected), 4),
            "noise_sd": round(float(self.report_sigma) / (2 * expected), 4),
            "people_measured_noisy": int(kept),
        }

    def evaluate(self, data: Rows, view: View, coins: int) -> dict[str, object]:
        """Return what privacy costs, and a run's reward and regret beside the uniform and the best policy.

        This reads the data without noise: for public data only, outside the guarantee.
        """
        return {"privacy_cost": self._cost(data, coins), **regret(data, self.reward, view, coins)}

    def _cost(self, data: Rows, coins: int) -> str:
        """Say how much reward the noise takes, on average over rehearsals: one run's own luck is larger."""
        quiet, theorem = replace(self, sigma=Fraction(1, 2**20)), self.proof(Fraction(1, 10**6))
        lost, best = [], []
        for seed in range(coins, coins + REHEARSALS):
            private = self.play(data, rehearse(theorem, Rehearsal(seed)), seed)
            noisy = regret(data, self.reward, private, seed)
            plain = regret(data, self.reward, quiet.play(data, NoNoise(), seed), seed)
            lost.append(plain["mean_reward"] - noisy["mean_reward"])
            best.append(noisy["mean_reward_best"] - noisy["mean_reward_uniform"])
        share, error = (
            float(np.mean(lost)) / max(float(np.mean(best)), 1e-12),
            np.std(lost, ddof=1) / sqrt(REHEARSALS),
        )
        return (
            f"{np.mean(lost):.4f} ± {error:.4f} reward a person, {share:.0%} of what learning could gain over"
            f" the uniform policy (mean of {REHEARSALS} rehearsals)"
        )


def regret(data: Rows, reward: str, view: View, coins: int) -> dict[str, float]:
    """Return what a run's recommendations earn, from the plans' means in this very data."""
    return Slots(data, reward, coins).evaluate(np.asarray(view.own["recommended"]))


@dataclass(frozen=True)
class Observation:
    """One release: expected kept counts of its own batch, the noisy sum over its cover."""

    kept: Floats
    noisy: Integers


class Slots:
    """The replay: offered pairs, kept records and sums, with one coin of its own for every slot."""

    def __init__(self, data: Rows, reward: str, coins: int) -> None:
        count = len(data)
        draws = np.random.default_rng(coins).random((count, 2))
        self.logged = data[:, 0].astype(np.int64)
        self.reward = insurance.rewards(data, reward)
        on_plans = self.logged < ARMS
        own = np.where(on_plans, self.logged, 0)
        other = (draws[:, :1] >= insurance.PARTNERS[own]).sum(axis=1)
        sorted_pair = np.stack([np.minimum(own, other), np.maximum(own, other)], axis=1)
        self.pairs = np.where(on_plans[:, None], sorted_pair, -1)
        self.coin = (draws[:, 1] < 0.5).astype(np.int64)

    def recommend(self, now: slice, order: Floats) -> NDArray[np.int64]:
        """Return the preferred plan of every offered pair; ties by the slot's coin; −1 where no pair is."""
        low, high = self.pairs[now].T
        gap = order[high] - order[low]
        upper = np.where(gap == 0, self.coin[now] == 1, gap > 0)
        return np.where(low < 0, -1, np.where(upper, high, low))

    def signed(
        self, now: slice, recommended: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which records are kept, and their rewards as ±1."""
        return recommended[now] == self.logged[now], 2 * self.reward[now] - 1

    def arm_sums(self, now: slice, recommended: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return Σ m(2y−1)e_a over the slots of `now`."""
        kept, sign = self.signed(now, recommended)
        arms = self.logged[now][kept]
        total: NDArray[np.int64] = np.zeros(ARMS, dtype=np.int64)
        np.add.at(total, arms, sign[kept])
        return total

    def report(self, now: slice, recommended: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (Σ m(2y−1), Σ m) over the slots of `now`."""
        kept, sign = self.signed(now, recommended)
        return np.array([sign[kept].sum(), kept.sum()], dtype=np.int64)

    def evaluate(self, recommended: NDArray[np.int64]) -> dict[str, float]:
        """Return rewards and regret against the plans' means in this very data, pair by pair."""
        people = np.bincount(self.logged, minlength=ARMS)[:ARMS]
        good = np.bincount(self.logged, self.reward, minlength=ARMS)[:ARMS]
        means = good / np.maximum(people, 1)  # a plan that nobody was logged on counts 0
        offered = self.pairs[:, 0] >= 0
        low, high = means[self.pairs[offered]].T
        best, played = np.maximum(low, high), means[recommended[offered]]
        uniform = float(np.abs(high - low).sum() / 2)
        kept = recommended == self.logged
        return {
            "mean_reward": float(played.mean()),
            "mean_reward_uniform": float(((low + high) / 2).mean()),
            "mean_reward_best": float(best.mean()),
            "regret_fraction_of_uniform": float((best - played).sum() / max(uniform, 1e-12)),
            "kept": float(kept.sum()),
            "mean_kept_reward": float(self.reward[kept].mean()) if kept.any() else 0.0,
        }


def expected_kept(order: Floats) -> Floats:
    """Return the expected kept count of every plan per slot, for a policy that prefers larger `order`.

    ρ₀·½·Σ_l P{k,l}[k preferred to l]; a tie counts one half.
    """
    gap = order[:, None] - order[None, :]
    prefers = np.where(gap == 0, 0.5, gap > 0)
    kept: Floats = insurance.ON_PLANS / 2 * (insurance.PAIR_MATRIX * prefers).sum(axis=1)
    return kept
