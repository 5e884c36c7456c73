"""Means by arm of a logged trial: one release of sums and counts, with intervals and the best arm.

The simple private analysis of an experiment.  Every record is in one release, so the noise is as
small as possible; no policy is learned.  Start here if you have the whole log.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import ClassVar, Self

import numpy as np

from bandits.logged import arm_estimates as estimates
from bandits.logged.arm_counts import ArmCounts, least_sigma
from bandits.logged.logged_trials import (
    ARM,
    CELL,
    REWARD,
    WHOLE,
    read_trial,
    record_coins,
    taking_part,
    trial_domain,
)
from dpaccount.documents import Place
from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, root_up
from dpaccount.proof import REPLACE_ONE, Theorem
from mechanisms.shared import accuracy, confidence
from mechanisms.subject import Additive, Domain, Rows, View, known_relation, shown_to_all
from mechanisms.table.bind_columns import Promise
from mechanisms.table.columns import Table
from mechanisms.table.rows import Reading


@dataclass(frozen=True)
class ArmMeans(Additive):
    """Release the sum of rewards and the number of records for each of `arms`, by `strata`.

    A row is (stratum, arm, chance, reward), arms and strata numbered from 0; −1 is a record that counts
    nowhere, and so is NaN.  `logging` has the declared shares of the arms, equal ones if left empty, and
    `chance` is the least chance that a record may state; 1 where it states none.  Rewards lie in [0, 1]
    and have `steps` steps, one where they are true or false.
    """

    source: ClassVar[str] = "Canonne, Kamath & Steinke 2020; intervals of Wilson 1927 and Fieller 1954"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "trial"

    # At this noise the exact curve has δ = 9.772e-7 at ε = 1.
    sigma: Fraction = Fraction(271, 32)
    arms: tuple[str, ...] = ("a", "b")
    strata: tuple[str, ...] = WHOLE
    logging: tuple[Fraction, ...] = ()
    chance: Fraction = Fraction(1)
    reward: str = "reward"
    steps: int = 1
    rows: int = 100
    relation: str = REPLACE_ONE

    def __post_init__(self) -> None:
        known_relation(self.relation)
        if not isinstance(self.arms, tuple) or not isinstance(self.strata, tuple):
            raise InputError("arms and strata follow from a table", "declare [data.columns]")
        if not isinstance(self.logging, tuple) or len(self.logging) not in (0, len(self.arms)):
            raise out_of_range("one share of logging for every arm")
        if self.rows < 1 or not 0 < self.chance <= 1 or not self.reward.strip():
            raise out_of_range("rows >= 1, 0 < chance <= 1 and a reward")
        self.counts.check_sigma(self.sigma)
        if self.rows * self.counts.unit >= 2**52:
            raise InputError(
                f"at most {2**52 // self.counts.unit - 1} rows of such rewards can be summed exactly"
            )

    @classmethod
    def on_table(cls, table: Table, parameters: Place, promise: Promise) -> tuple[Self, Reading]:
        """Return the mechanism on a declared table, with the least noise that meets the claim."""
        trial = read_trial(parameters, table, ("strata",))
        ours = {
            "arms": trial.arms,
            "strata": trial.cells,
            "logging": trial.logging,
            "chance": trial.chance,
            "reward": trial.reward,
            "steps": trial.steps,
            "rows": table.rows,
            "relation": promise.relation,
        }
        with parameters.placing():
            counts = ArmCounts(len(trial.arms), len(trial.cells), trial.steps, relation=promise.relation)
            mechanism = cls(sigma=least_sigma(counts, promise.epsilon, promise.delta), **ours)  # type: ignore[arg-type]
        labels = mechanism.labels()
        return mechanism, replace(trial.reading, labels={"sums": labels, "counts": labels})

    @property
    def counts(self) -> ArmCounts:
        """Return the statistic that is released."""
        return ArmCounts(len(self.arms), len(self.strata), self.steps, relation=self.relation)

    def labels(self) -> tuple[str, ...]:
        """Return the labels of the entries of the released sums and counts."""
        if self.strata == WHOLE:
            return self.arms
        return tuple(f"{stratum}, {arm}" for stratum in self.strata for arm in self.arms)

    def domain(self) -> Domain:
        """Return rows of stratum, arm, chance and reward."""
        return trial_domain(self.rows, len(self.strata), len(self.arms), self.chance, self.steps)

    @property
    def largest(self) -> int:
        """Return the largest magnitude that a row adds to a total, in the units of the noise."""
        return self.counts.unit

    def query(self, data: Rows, coins: int = 0) -> Integers:
        """Return the exact sums and counts in grid units; coins round rewards and thin records.

        A coin is a function of its own row and its number among equal ones: rows that come and go leave
        all others where they are.
        """
        records = self.domain().clamped(data)
        draws = record_coins(records, coins, 2)
        part = taking_part(records, self.chance, draws[:, 0])
        rewards = self.counts.rounded(records[:, REWARD], draws[:, 1])
        cell, arm = (records[part, column].astype(np.int64) for column in (CELL, ARM))
        return self.counts.totals(cell, arm, rewards[part], None)

    def proof(self, delta: Fraction) -> Theorem:
        """One arm's sum and count a record: moves of (2), (1, 1) and (1, 1, 1, 1)."""
        return shown_to_all(self.counts.leaf(self.sigma, "arm-sums"), "arm-means", delta)

    @property
    def adds_up(self) -> bool:
        """Return whether records' contributions depend on no coin, and so not on their order."""
        return self.chance == 1 and self.steps == 1

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the noisy sums of 2y − 1 and counts, in records."""
        return self.publish(self.query(data, coins), noise)

    def publish(self, totals: Integers, noise: Noise) -> View:
        """Release noisy sums and counts, given the exact ones."""
        released = noise.noisy("arm-sums", 0, totals)
        sums, counts, _ = self.counts.parts(released)
        return View(public={"sums": sums.ravel(), "counts": counts.ravel()})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of all sums and counts."""
        unit, alpha = self.counts.unit, confidence.missed(level) / self.counts.size
        reach = confidence.gaussian(root_up((self.sigma * unit) ** 2), alpha)
        intervals: dict[str, object] = {}
        for name, shown in view.public.items():
            part, wide = (shown.astype(np.int64), reach) if unit == 1 else (shown, reach / unit)
            intervals[name] = accuracy.around(part, wide, level, f"the {name} by arm")
        return intervals

    # ------------------------------------------------------------------ report

    def report(self, view: View) -> dict[str, object]:
        """Return the arms' means with 95 % intervals for noise and sampling, the best arm and how sure it is.

        `best_probability` takes means for normal and independent; `margin` is by how much the best leads.
        An arm whose count the noise drowns is not named and counts as ½, give or take; where that is all
        of them (or all but one) there is no best arm (or no margin).
        Strata are added up: the arm was drawn by the same shares in all of them.
        """
        shape = (len(self.strata), len(self.arms))
        sums, counts = (np.asarray(view.public[name]).reshape(shape) for name in ("sums", "counts"))
        # The noises of the strata add up, so the total's deviation grows with the root of their number.
        wide = float(self.sigma) * sqrt(len(self.strata))
        total, people = sums.sum(axis=0), counts.sum(axis=0)
        # A count that is mostly noise gives any mean at all: such an arm may not be called the best.
        counted = estimates.above_noise(people, wide)
        means = np.where(counted, estimates.mean_of(total, people), 0.5)
        variance = estimates.noise_variance(means, people, wide) + estimates.sampling_variance(means, people)
        best, second = (int(arm) for arm in np.argsort(-np.where(counted, means, -1.0), kind="stable")[:2])
        sure = float(estimates.chance_of_best(means, np.sqrt(variance))[best])
        lead, reach = (
            float(means[best] - means[second]),
            estimates.Z * sqrt(variance[best] + variance[second]),
        )
        report: dict[str, object] = {
            "best_arm": self.arms[best] if counted[best] else None,
            "best_probability": round(sure, 6) if counted[best] else None,
            "margin": {
                "over": self.arms[second],
                "mean": round(lead, 6),
                "low": round(lead - reach, 6),
                "high": round(lead + reach, 6),
            }
            if counted[second]
            else None,
            "means": estimates.table(self.arms, total, people, wide),
            "share_warning": estimates.share_warning(people, wide**2, self.shares, self.arms),
        }
        report |= {name: shown.tolist() for name, shown in view.public.items()}
        if len(self.strata) > 1:
            by, arms, sigma = zip(self.strata, sums, counts, strict=True), self.arms, float(self.sigma)
            report["strata"] = {name: estimates.table(arms, s, k, sigma) for name, s, k in by}
        return report

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Return the declared shares of the arms."""
        return self.logging or (Fraction(1, len(self.arms)),) * len(self.arms)
