"""Logged policy: which arm serves people best, learned from a randomised log under joint privacy.

Every record is a public slot.  Its logged arm and the slot's own coins give an offer and, by a
policy that is a function of earlier releases, a recommendation.  The slot adds (2y − 1, 1) to the
sum and count of its arm if that arm is recommended, and else a 1 to the number of skipped records:
all in its own slot, so that no other slot shifts.  Given the releases before its batch, a
contribution depends on its own record and coins only, and replacing it moves its batch's release by
at most 2 in the ℓ2 norm.

Where pairs are offered, the arm with the larger upper confidence bound is recommended; where the
whole set is, arms with the probabilities of Thompson sampling.  In the last batch the final policy
is only measured, and everyone counts.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import ClassVar, Final, Self

import numpy as np

from bandits.learning.arm_posterior import ArmPosterior, ArmPrior, posterior, sampled
from bandits.logged import arm_estimates as estimates
from bandits.logged.arm_counts import ArmCounts, least_sigma
from bandits.logged.logged_trials import SHARE_ROUNDING, WHOLE, normalised, read_trial, trial_domain
from bandits.simulation.replay import Offer, Offers, Replay
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.calibration import one_of
from dpaccount.documents import Place
from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise, NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import REPLACE_ONE, Cover, Theorem, assume_covers, assume_view, billboard, nodes
from dpaccount.proof.search import approximate
from mechanisms.subject import Domain, Rows, View
from mechanisms.table.bind_columns import Promise
from mechanisms.table.columns import Table
from mechanisms.table.rows import Reading

MAX_SLOTS, MAX_BATCHES = 10_000_000, 512
BATCHES, SHARE = 7, 10  #: batches before the last, and one's part of the slots: a tenth
DEVIATIONS: Final = 1.0  #: of the upper confidence bounds, in posterior deviations
DRAWS: Final = 4000  #: for the shares of Thompson sampling
SPREAD: Final = 1.3  #: of these draws at first, in posterior deviations; narrower locks in on a wrong arm
DROWNED: Final = 4  #: deviations of its noise, below which a cell's count says nothing of its mean
REHEARSALS: Final = 100  #: over which the cost of privacy is averaged
PRIORS: Final = ("exchangeable", "positions")


@dataclass(frozen=True)
class LoggedPolicy:
    """Learn from a log of `slots` records which of `arms` to recommend, in each of `contexts`.

    A row is (context, arm, chance, reward), contexts and arms numbered from 0; with −1 or NaN for either it
    takes no part.  `logging` has the arms' shares (equal ones if left empty), `offers` the offered pairs with
    their probabilities (the whole set if left empty), `chance` the least probability with which a record may
    say that its arm was drawn.  With the `prior` ``positions`` arms at near `positions` are alike.  Rewards
    lie in [0, 1] and have `steps` steps, one where they are true or false.  What is left after `batches`
    batches of `batch` slots is the last batch.
    """

    source: ClassVar[str] = "ours; replay of Li et al. 2011, GP-UCB of Srinivas et al. 2010, Thompson 1933"
    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE

    arms: tuple[str, ...] = ("a", "b", "c", "d")
    contexts: tuple[str, ...] = WHOLE
    logging: tuple[Fraction, ...] = ()
    offers: tuple[Offer, ...] = ()
    positions: tuple[Fraction, ...] = ()
    prior: str = "exchangeable"
    chance: Fraction = Fraction(1)
    reward: str = "reward"
    steps: int = 1
    slots: int = 1000
    batch: int | None = None
    batches: int | None = None
    # At this noise the exact curve has δ = 9.772e-7 at ε = 1.
    sigma: Fraction = Fraction(271, 32)

    def __post_init__(self) -> None:
        if not all(isinstance(each, tuple) for each in (self.arms, self.contexts, self.logging, self.offers)):
            raise InputError(
                "arms, contexts, shares and offers follow from a table", "declare [data.columns]"
            )
        one_of("prior", self.prior, PRIORS)
        needed = len(self.arms) if self.prior == "positions" else 0
        if len(self.arms) < 2 or len(self.logging) not in (0, len(self.arms)) or len(self.positions) < needed:
            raise InputError("shares and positions are one for each arm", "needed two arms or more")
        if not 0 < self.chance <= 1 or not self.reward.strip():
            raise out_of_range("0 < chance <= 1 and a reward")
        self.counts.check_sigma(self.sigma)
        size, number = self.plan
        if not 2 <= self.slots <= MAX_SLOTS or number > MAX_BATCHES:
            raise out_of_range(f"2 to {MAX_SLOTS} slots and at most {MAX_BATCHES} batches")
        if size < 1 or number < 1 or size * number >= self.slots:
            raise InputError(
                f"{number} batches of {size} leave nothing of {self.slots} slots", "keep some for the last"
            )

    @classmethod
    def on_table(cls, table: Table, parameters: Place, promise: Promise) -> tuple[Self, Reading]:
        """Return the bandit on a declared table, with the least noise that meets a claim."""
        if promise.relation != REPLACE_ONE:
            raise parameters.wrong("a slot is a person's, and replaced", 'the relation must be "replace-one"')
        trial = read_trial(parameters, table, ("batch", "batches"))
        given = {key: parameters.child(key) for key in parameters.value}
        offers = _pairs(given["offers"], trial.arms, trial.logging) if "offers" in given else ()
        prior = given["prior"].text(*PRIORS) if "prior" in given else PRIORS[0]
        if prior == "positions" and not trial.positions:
            raise given["prior"].wrong("no positions are given", "give positions, one number per arm")
        with parameters.placing():
            counts = ArmCounts(len(trial.arms), len(trial.cells), trial.steps, passed=True)
            policy = cls(
                arms=trial.arms,
                contexts=trial.cells,
                logging=trial.logging,
                offers=offers,
                positions=trial.positions,
                prior=prior,
                chance=trial.chance,
                reward=trial.reward,
                steps=trial.steps,
                slots=table.rows,
                batch=given["batch"].integer(1) if "batch" in given else None,
                batches=given["batches"].integer(1) if "batches" in given else None,
                sigma=least_sigma(counts, promise.epsilon, promise.delta),
            )
        return policy, trial.reading

    # -------------------------------------------------------------- public constants

    @property
    def counts(self) -> ArmCounts:
        """Return the statistic that every batch releases."""
        return ArmCounts(len(self.arms), len(self.contexts), self.steps, passed=True)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Return the declared shares of the arms."""
        return self.logging or (Fraction(1, len(self.arms)),) * len(self.arms)

    @property
    def offered(self) -> Offers:
        """Return the offers of the slots."""
        return Offers(self.shares, self.offers)

    @property
    def plan(self) -> tuple[int, int]:
        """Return (slots per batch, number of batches before the last)."""
        size = max(self.slots // SHARE, 1) if self.batch is None else self.batch
        number = min(BATCHES, max(self.slots - 1, 1)) if self.batches is None else self.batches
        return size, number

    def covers(self) -> list[Cover]:
        """Return which slots every release covers; the last one covers all that are left."""
        size, number = self.plan
        learning = [(size * (b - 1) + 1, size * b) for b in range(1, number + 1)]
        return [*learning, (size * number + 1, self.slots)]

    # -------------------------------------------------------------- data and proof

    def domain(self) -> Domain:
        """Return rows of context, arm, chance and reward."""
        return trial_domain(self.slots, len(self.contexts), len(self.arms), self.chance, self.steps)

    def proof(self, delta: Fraction) -> Theorem:
        """One release a slot, moved by (2), (1, 1), (1, 1, 1) or (1, 1, 1, 1): the worst exact curve.

        Everyone's recommendation reads the releases and their own slot's record and coins: joint DP by the
        billboard rule.
        """
        covers = assume_covers("arm-sums", self.covers(), "movement")
        batches = nodes(self.counts.leaf(self.sigma, "arm-sums"), covers)
        return billboard(approximate(batches, delta), assume_view("logged-policy", "others", "replay"))

    # -------------------------------------------------------------- the run

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Replay the log; people see their own offer and recommendation, everyone the rest."""
        replay = Replay(self.domain().clamped(data), self.offered, self.counts, self.chance, coins)
        covers, recommended = self.covers(), np.full(self.slots, -1, dtype=np.int64)
        values = np.zeros((len(self.contexts), len(self.arms)))
        policies, released = [self.offered.indifferent(len(self.contexts))], []
        for b, (first, last) in enumerate(covers):
            now, final = slice(first - 1, last), b == len(covers) - 1
            recommended[now] = replay.recommend(now, policies[b])
            exact = replay.totals(now, recommended, everyone=final)
            released.append(noise.noisy("arm-sums", b, exact))
            if not final:
                belief = self._belief(np.array(released))
                values = belief.mean()
                policies.append(self._next(belief, b + 1, coins))
        own = {"recommended": recommended}
        if replay.other is not None:
            own["offered_beside"] = np.where(replay.inside, replay.other, -1)
        return View(
            own=own,
            public={"policies": np.array(policies), "values": values, "arm-sums": np.array(released)},
        )

    def _belief(self, released: Integers) -> ArmPosterior:
        """Return the posterior of the arms' means, from releases alone."""
        positions = tuple(map(float, self.positions)) if self.prior == "positions" else ()
        prior = ArmPrior(len(self.arms), len(self.contexts), positions)
        sums, counts, _ = self.counts.parts(released)
        return posterior(prior, sums, counts, float(self.sigma))

    def _next(self, belief: ArmPosterior, number: int, coins: int) -> Floats:
        """Return the policy of batch `number`, from 0: the last one is greedy."""
        size, batches = self.plan
        if number == batches:
            return self.offered.greedy(belief.mean())
        if self.offers:
            return belief.mean() + DEVIATIONS * belief.deviation()
        rng = np.random.default_rng([coins, 0, number])  # apart from the slots' own coins
        drawn = belief.draws(DRAWS, SPREAD * (1 - size * number / self.slots), rng)
        best = drawn.argmax(axis=2)  # [draws, contexts]
        counted = [np.bincount(best[:, c], minlength=len(self.arms)) for c in range(best.shape[1])]
        return np.array(counted) / DRAWS

    # -------------------------------------------------------------- what it says

    def report(self, view: View) -> dict[str, object]:
        """Return the arms in the final policy's order, and its value with both of its errors.

        If the noisy counts contradict a declared share, there is a warning and no best arm.
        """
        values = np.asarray(view.public["values"])
        released = np.asarray(view.public["arm-sums"])
        sums, counts, _ = self.counts.parts(released[-1])
        people = np.maximum(counts.sum(axis=1), 0.0)
        weights = people / people.sum() if people.sum() > 0 else np.full(len(people), 1 / len(people))
        overall = weights @ values
        wide = float(self.sigma) * sqrt(len(self.contexts))
        warning = self._warning(released)
        policy = self.offered.played(np.asarray(view.public["policies"])[-1])
        value, noise_sd, sampling_sd = self._value(policy, sums, counts)
        report: dict[str, object] = {
            "best_arm": None if warning else self.arms[int(np.argmax(overall))],
            "best_probability": self._sure(released[:-1], weights),
            "order": self._order(overall),
            "value": value,
            "value_noise_sd": noise_sd,
            "value_sampling_sd": sampling_sd,
            "value_over": "the offered pairs" if self.offers else "people who are offered every arm",
            "share_warning": warning,
            "means": estimates.table(self.arms, sums.sum(axis=0), counts.sum(axis=0), wide),
        }
        if len(self.contexts) > 1:
            report["order_in"] = {name: self._order(values[c]) for c, name in enumerate(self.contexts)}
            before = weights @ self._belief(released[:-1]).mean()
            report["context_gain"] = self._gain(policy, before, sums, counts)
        return report

    def _gain(self, policy: Floats, overall: Floats, sums: Floats, counts: Floats) -> dict[str, object]:
        """Return the gain of a policy by contexts over the best single one, on the measuring batch.

        Both were chosen from the releases before the one that measures them.  The mean of a cell whose count
        the noise drowns may be anything.
        """
        # The comparison is with the best single policy, not with chance: a gain over chance would be credited
        # to contexts that do nothing.
        for_all = self.offered.greedy(np.repeat(overall[None, :], len(self.contexts), axis=0))
        changed = policy - self.offered.played(for_all)
        gain, noise_sd, sampling_sd = self._value(changed, sums, counts)
        people = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        drowned = np.abs(changed) * (counts < DROWNED * float(self.sigma))
        anything = float((people / people.sum() * drowned).sum())
        reach = 1.96 * sqrt(noise_sd**2 + sampling_sd**2) + anything  # the normal interval of 95 %
        interval = {
            "gain": gain,
            "low": round(gain - reach, 6),
            "high": round(gain + reach, 6),
            "level": 0.95,
        }
        known = "contexts help" if gain > reach else "contexts harm" if gain < -reach else "nothing is seen"
        return {**interval, "over": self._order(overall), "says": known}

    def _sure(self, released: Integers, weights: Floats) -> float:
        """Return the probability that the first arm is best, by the final policy's posterior."""
        belief = self._belief(released)
        best = np.einsum("nca,c->na", sampled(belief, DRAWS), weights).argmax(axis=1)
        first = int(np.argmax(weights @ belief.mean()))
        return round(float((best == first).mean()), 3)

    def _order(self, values: Floats) -> list[str]:
        return [self.arms[a] for a in np.argsort(-values, kind="stable")]

    def _warning(self, released: Integers) -> str | None:
        """Compare the counts of all records, kept or skipped, with the declared shares."""
        _, counts, passed = self.counts.parts(released)
        # A policy picks which records are kept, so only kept and skipped ones together show the logged
        # shares.
        logged = counts.sum(axis=(0, 1)) + passed[:-1].sum(axis=0)  # the last batch skips no record
        numbers = len(counts) * len(self.contexts) + len(passed) - 1
        return estimates.share_warning(logged, numbers * float(self.sigma) ** 2, self.shares, self.arms)

    def _value(self, played: Floats, sums: Floats, counts: Floats) -> tuple[float, float, float]:
        """Return the mean reward per person, and its deviations for noise and for sampling.

        `played` [contexts, arms] says how often an arm is recommended, or how much more often.
        """
        sigma, means = float(self.sigma), estimates.mean_of(sums, counts)
        people = np.maximum(counts.sum(axis=1), 1.0)
        weights = people / people.sum()
        each = (played * means).sum(axis=1)
        value, size = float(weights @ each), people.sum()
        # Contexts earn differently, and their sizes are estimates.
        apart = float(weights @ (each - value) ** 2)
        used = (weights[:, None] * played) ** 2
        noise = (used * estimates.noise_variance(means, counts, sigma)).sum()
        noise += sigma**2 * len(self.arms) * ((each - value) ** 2).sum() / size**2
        sampling = (used * estimates.sampling_variance(means, counts)).sum() + apart / size
        return round(value, 6), round(sqrt(noise), 6), round(sqrt(sampling), 6)

    def evaluate(self, data: Rows, view: View, coins: int) -> dict[str, object]:
        """Return privacy's utility cost, and the reward and regret of run, uniform and best policy.

        This reads the data without noise: for public data only, outside the guarantee.
        """
        return {"privacy_cost": self._cost(data, coins), **self.regret(data, view, coins)}

    def regrets(self, data: Rows, view: View | None, coins: int) -> Floats:
        """Return every slot's regret, as `regret` sums it; without a view, that of uniform choices."""
        replay = Replay(self.domain().clamped(data), self.offered, self.counts, self.chance, coins)
        return replay.regrets(None if view is None else np.asarray(view.own["recommended"]))

    def regret(self, data: Rows, view: View, coins: int) -> dict[str, float]:
        """Return what a run's recommendations earn, from the arms' means in this very data, without noise."""
        replay = Replay(self.domain().clamped(data), self.offered, self.counts, self.chance, coins)
        return replay.evaluate(np.asarray(view.own["recommended"]))

    def _cost(self, data: Rows, coins: int) -> str:
        """Say how much reward the noise takes, on average over rehearsals: one run's own luck is larger."""
        quiet, theorem = replace(self, sigma=Fraction(1, 512)), self.proof(Fraction(1, 10**6))
        lost, best = [], []
        for seed in range(coins, coins + REHEARSALS):
            noisy = self.regret(data, self.play(data, rehearse(theorem, Rehearsal(seed)), seed), seed)
            plain = self.regret(data, quiet.play(data, NoNoise(), seed), seed)
            lost.append(plain["mean_reward"] - noisy["mean_reward"])
            best.append(noisy["mean_reward_best"] - noisy["mean_reward_uniform"])
        share = float(np.mean(lost)) / max(float(np.mean(best)), 1e-12)
        error = np.std(lost, ddof=1) / sqrt(REHEARSALS)
        return (
            f"{np.mean(lost):.4f} ± {error:.4f} reward per person, {share:.0%} of what learning could gain"
            f" over the uniform policy (mean of {REHEARSALS} rehearsals)"
        )


def _pairs(place: Place, arms: tuple[str, ...], logging: tuple[Fraction, ...]) -> tuple[Offer, ...]:
    """Return the offered pairs; raises `InputError` if they contradict the shares of the arms."""
    rows = [list(each.items()) for each in place.items()]
    for row, each in zip(rows, place.items(), strict=True):
        if len(row) != 3:
            raise each.wrong(f"found {len(row)} members", 'write ["ARM", "OTHER ARM", PROBABILITY]')
    pairs = [tuple(arms.index(end.text(*arms)) for end in row[:2]) for row in rows]
    if any(first == second for first, second in pairs) or len({frozenset(p) for p in pairs}) < len(pairs):
        raise place.wrong("a pair appears twice, or is one arm", "list each pair of two arms once")
    if missing := set(range(len(arms))) - {end for pair in pairs for end in pair}:
        raise place.wrong(f"{arms[min(missing)]} stands in no pair", "offer every arm beside another")
    shares = normalised([row[2].positive() for row in rows], place)
    for arm, name in enumerate(arms):
        half = sum((s for pair, s in zip(pairs, shares, strict=True) if arm in pair), Fraction(0)) / 2
        if abs(half - logging[arm]) > SHARE_ROUNDING:
            right = f"half of its pairs' {float(2 * half):.4g} must be its share {float(logging[arm]):.4g}"
            raise place.wrong(f"the pairs contradict the logging of {name}", right)
    return tuple((a, b, share) for (a, b), share in zip(pairs, shares, strict=True))
