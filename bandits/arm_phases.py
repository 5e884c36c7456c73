"""Bandit with a few public arms: blocks of people play one arm each, and release one noisy number.

A block's arm is the best of a draw from the posterior (Thompson 1933), whose spread fades over the
rounds.  The sum of y − ½ over its people is released with noise.  Blocks are public ranges of
people, so a person is in one of them, whatever was released before.  Which arm it plays follows
from earlier releases and public coins: replacing a person's rewards moves one number by at most 1.
So Laplace noise of scale 1/ε is pure ε for the whole run, all arms and sums included (parallel
composition).
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import count
from math import ceil, log, sqrt
from typing import Any, ClassVar, Final

import numpy as np

from bandits.learning.arm_beliefs import ApartBelief, ArmBelief, LinearBelief
from bandits.learning.arrivals import Actions, Answered, Course, paid, replay
from bandits.learning.contextual import SEVERAL, Calibrated, together
from bandits.learning.shuffled_bits import ShuffledBits
from bandits.space.points import Space
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.best_arm import ArmOrder
from bandits.statistics.calibration import one_of, target
from bandits.statistics.first_moments import CONTRIBUTION_BITS, HALF
from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.proof import (
    REPLACE_ONE,
    Cover,
    Theorem,
    assume_ball,
    assume_clipped,
    assume_covers,
    laplace,
    linear,
    nodes,
)
from dpaccount.proof.search import approximate
from mechanisms.shared import accuracy, confidence, grid
from mechanisms.shared.gaussian_noise import gaussian
from mechanisms.subject import Domain, Rows, View, shown

LAWS: Final = ("laplace", "gaussian", "shuffled")
FOR_REGRET: Final = ("thompson", "imed")
INDICES: Final = (*FOR_REGRET, "elimination", "top-two")
BELIEFS: Final = ("apart", "linear")
#: of a block over the people before it, if the first block has fewer; the second for the best arm
BLOCK_GROWTH, BEST_GROWTH = Fraction(1, 32), Fraction(1, 24)
WORTH, BEST_WORTH = 6.0, 30.0  #: deviations of the noise that the first block has people for
SMALLEST, LARGEST = Fraction(1, 2**20), 10**6  #: of ε and σ
REWARD_VARIANCE = 0.25  #: of a reward in [0, 1], at most
EXPLORE = 0.8  #: the first draws spread by this much of the posterior's deviation, the last by none
RARE = 0.5  #: of √n: an arm worth fewer rewards of n people comes first where the best is looked for
TILTS = 12  #: exponential martingales an arm's interval is the intersection of


@dataclass(frozen=True)
class ArmPhases(Calibrated):
    """Show one of `arms` to each of `rounds` people; a row is what each arm would pay, in [0, 1].

    `law` is the noise of a block's sum: "laplace" of scale 1/`epsilon`, pure, or "gaussian" of
    deviation `sigma` (left out, the least that is proved to meet (`epsilon`, `delta`)).  A block
    has `block` people at least: many more than ask before an earlier person has answered.
    With "shuffled", everybody's device sends one private bit (`bits.message`), and a shuffler, who alone
    sees whose it is, shows a block's bits in no order; (`epsilon`, `delta`) is what these cost.  A session
    takes the bits of a block as they are shown; `play` simulates devices and shuffler by its noise.
    With a `space`, its points are the arms; a "linear" `belief` learns a constant and a linear function
    of their coordinates, or of the features of a kernel matrix, in place of every arm's mean apart.
    `index` says how a block's arm is chosen: by a draw from the posterior (Thompson 1933), or as the
    least of N(m* − m)²/2v + ln N, m the arm's posterior mean, m* the largest and N = v/(posterior
    variance) the rewards that it is worth, v a reward's variance (IMED, Honda & Takemura 2015).
    "elimination" plays what is known least of what may be the best, a step to a G-optimal design
    (Wynn 1970), on which Hanna, Girgis, Fragouli & Diggavi 2022 (arXiv 2207.03445) spend whole phases.
    "top-two" looks for the best arm (fixed confidence): an arm worth less than √n/2 rewards of n people
    (Garivier & Kaufmann 2016), or the arm of mean m*, or the one that is hardest to tell from it, whichever
    balances N*² = ΣN² (You, Qin, Wang & Yang 2023).  Once an arm is named with an error of 1 − `level` or
    less, everybody is shown it; with a `level` of 1, all `rounds` are spent on the search (fixed budget).
    With a `memory` (people), older rewards are forgotten, block by block: for arms whose
    means change.  Privacy costs the same for any `rounds`, which only "thompson" reads.
    """

    source: ClassVar[str] = "ours; Thompson 1933 on disjoint blocks, Dwork et al. 2006 (noise)"
    within: ClassVar[float] = 0.5  #: deviations of both arms that one is behind if "elimination" drops it

    rounds: int = 1024
    arms: int = 10
    block: int = 1
    index: str = "thompson"
    law: str = "laplace"
    delta: Fraction = Fraction(0)
    space: Space | None = None
    level: Fraction = Fraction(19, 20)
    memory: int | None = None
    belief: str = "apart"

    def __post_init__(self) -> None:
        if self.space is not None:
            self.space.counts(self, "arms", len(self.space))
        elif self.belief == "linear":
            raise InputError("a linear belief is about points", "give a space, whose points are the arms")
        if not all(type(number) is int for number in (self.rounds, self.arms, self.block)):
            raise InputError("rounds, arms and block are whole numbers")
        if not 2 <= self.arms <= 1000 or not 2 * self.arms <= self.rounds <= 10**7:
            raise InputError(
                f"arms is {self.arms} and rounds is {self.rounds}",
                "needed 2 ... 1000 arms and twice as many rounds, at most 10000000",
            )
        if not 1 <= self.block <= self.rounds:
            raise InputError(f"block is {self.block}", f"it lies in 1 ... {self.rounds}")
        if self.memory is not None and not (type(self.memory) is int and 1 <= self.memory <= 10**7):
            raise InputError(f"memory is {str(self.memory)[:40]}", "it lies in 1 ... 10000000")
        if self.memory is not None and self.index == "top-two":
            raise InputError("top-two looks for one best arm", "leave memory out")
        one_of("index", self.index, INDICES)
        one_of("belief", self.belief, BELIEFS)
        if not isinstance(self.level, Fraction) or not 0 < self.level <= 1:
            raise InputError(f"level is {str(self.level)[:40]}", "it is above 0, at most 1")
        self._check_noise()

    def _check_noise(self) -> None:
        one_of("law", self.law, LAWS)
        for name in ("epsilon", "delta", "sigma"):
            number, smallest = getattr(self, name), 0 if name == "delta" else SMALLEST
            fits = isinstance(number, Fraction) and smallest <= number <= LARGEST
            if not fits and (name, number) != ("sigma", None):
                right = f"it is a fraction in {float(smallest):.2g} ... {LARGEST}"
                raise InputError(f"{name} is {str(number)[:40]}", right)
        if self.sigma is not None and self.law != "gaussian":
            raise InputError("sigma is of Gaussian noise", "other noise follows epsilon")
        if self.law != "laplace" or self.delta:  # with Laplace noise, δ may be 0
            target(self.epsilon, self.delta)

    @cached_property
    def noise_scale(self) -> Fraction:
        """Return the scale 1/ε of Laplace noise; σ of Gaussian noise, given or calibrated; bits have none."""
        if self.law == "shuffled":
            raise InputError("shuffled bits have no noise of one scale", "ask for bits.truth")
        return 1 / self.epsilon if self.law == "laplace" else super().noise_scale

    @cached_property
    def noise_deviation(self) -> float:
        """Return the standard deviation of a block's noise, in rewards; of bits, about a first block's."""
        if self.law == "shuffled":
            return sqrt(-2 * log(self.delta)) / float(self.epsilon)
        return float(self.noise_scale) * (sqrt(2) if self.law == "laplace" else 1)

    @cached_property
    def bits(self) -> ShuffledBits:
        """Return the bits that devices send: private enough among those of the smallest block."""
        fewest = min(last - first + 1 for first, last in self.blocks())
        return ShuffledBits(self.epsilon, self.delta, fewest)

    @property
    def _points(self) -> Space | None:
        """Return the points of which means are a linear function; None where arms are apart."""
        return self.space if self.belief == "linear" else None

    def prior(self) -> ArmBelief:
        """Return the prior of the arms' means."""
        return ApartBelief(self.arms) if self._points is None else LinearBelief(self._points)

    def member(self, rounds: int) -> "ArmPhases":
        """Return this bandit on at most `rounds` people, but on several blocks of them."""
        same = self.block if self.law != "shuffled" else self.bits.size  # which its noise follows
        fewest = max(SEVERAL * same, 2 * self.arms)
        return replace(self, rounds=min(self.rounds, max(rounds, fewest)), block=same)

    def blocks(self) -> list[Cover]:
        """Return the people [first, last] of every block: public, from parameters alone."""
        search = self.index == "top-two"
        worth, growth = (BEST_WORTH, BEST_GROWTH) if search else (WORTH, BLOCK_GROWTH)
        unknown = self.arms if self._points is None else min(self.arms, self._points.dimension + 1)
        # As large as the noise asks for, but never so large that the run ends before every unknown mean is
        # tried twice.
        first = min(worth * self.noise_deviation, self.rounds / (2 * unknown))
        size = max(ceil(first), self.block, 2 if self.law == "shuffled" else 1)
        covers = list[Cover]()
        for begin, end in self._together(size, growth):
            few = self.law == "shuffled" and covers and end - begin + 1 < size
            covers.append((covers.pop()[0] if few else begin, end))  # no block has fewer bits than the first
        return covers

    def _together(self, size: int, growth: Fraction) -> list[Cover]:
        if self.memory is None:
            return together(self.rounds, size, growth)
        begun = together(min(self.memory, self.rounds), size, growth)
        size, before = max(last - first + 1 for first, last in begun), begun[-1][1]
        later = together(self.rounds - before, size)
        return begun + [(first + before, last + before) for first, last in later]

    def domain(self) -> Domain:
        """Return one row per person: what each arm would pay, in [0, 1]; NaN counts as ½."""
        arms = self.arms
        return Domain(self.rounds, (0.0,) * arms, (1.0,) * arms, (False,) * arms, (0.5,) * arms)

    def proof(self, delta: Fraction) -> Theorem:
        """One clipped number a person, in one block; everyone sees arms and sums."""
        if self.law == "gaussian":
            return shown(self._sums(self.noise_scale, delta, self.blocks()), "arm-phases")
        blocks = assume_covers("block", self.blocks(), "movement")
        if self.law == "shuffled":
            return shown(nodes(self.bits.leaf("block", delta), blocks), "arm-phases")
        inside = assume_clipped("block", -HALF, HALF, REPLACE_ONE, "movement")
        leaf = laplace(linear(inside), self.noise_scale, grid.step(CONTRIBUTION_BITS), "block")
        return shown(approximate(nodes(leaf, blocks), delta), "arm-phases")

    def _sums(self, sigma: Fraction, delta: Fraction, blocks: list[Cover] | None = None) -> Theorem:
        """Return the theorem of Gaussian noise; one block of everybody costs what all blocks do."""
        inside = linear(assume_ball("block", HALF, REPLACE_ONE, "movement"))
        covers = assume_covers("block", blocks or [(1, self.rounds)], "movement")
        step = grid.step(CONTRIBUTION_BITS)
        return gaussian(inside, sigma, step, 1, "block", delta, lambda one: nodes(one, covers))

    def added(self, rewards: Floats, answered: Answered) -> Integers:
        """Return the exact sum of clip(y, 0, 1) − ½, one number in grid units; no answer adds 0."""
        paid = np.where(answered & ~np.isnan(rewards), rewards, 0.5) - 0.5
        return grid.clipped(paid[:, None], -HALF, HALF, CONTRIBUTION_BITS).sum(axis=0)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once, in order; everyone sees arms and sums."""

        def sent(first: int, chosen: list[Actions]) -> Floats:
            rewards = told(first, chosen)
            return self.bits.sent(noise, "block", next(blocks), rewards, tosses).astype(np.float64)

        # tosses round rewards to bits, apart from a rehearsal's noise
        told, blocks, tosses = paid(data), count(), np.random.default_rng((coins, 17))
        return replay(self.course(noise, coins), None, sent if self.law == "shuffled" else told)

    def course(self, noise: Noise, coins: int) -> "ArmCourse":
        """Return a run for people who come one by one."""
        return ArmCourse(self, noise, coins)

    # -------------------------------------------------------------- what the sums say

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return intervals of the arms' mean rewards, all of which hold with probability `level`.

        Of rewards clipped to [0, 1] that have one mean an arm and are independent of the past,
        given the arm and what is on offer; who has not answered before their block closes counts with ½,
        and who was shown another arm than their block's does not count.  They hold although
        arms are chosen by earlier sums, and at any time: for every λ of a public set
        exp(λ(S − nμ) − λ²n/8 − Jψ(λ)) is a supermartingale, S an arm's sum over n people in J
        blocks, λ²/8 Hoeffding's bound for a reward and ψ a bound of the logarithm of the noise's
        moment generating function, −ln(1 − λ²/ε²) or λ²σ²/2 (Ville's inequality; discrete noise
        has a smaller one, since (cosh √x − 1)/x rises with x).
        """
        people, noises, total = (np.zeros(self.arms) for _ in range(3))
        for arm, counted, released, noisy in self.released(view):
            people[arm] += counted
            noises[arm] += noisy
            total[arm] += released
        reach = np.full(self.arms, np.inf)
        missed = confidence.missed(level)
        rarity = log(2 * TILTS * self.arms) + log(missed.denominator) - log(missed.numerator)
        for tilt, growth in self._tilts():
            reach = np.minimum(reach, (rarity + tilt**2 * people / 8 + growth * noises) / tilt)
        known, gain = np.maximum(people, 1), self.bits.gain if self.law == "shuffled" else 1.0
        mean = 0.5 + (total / known - 0.5) / gain
        # rewards are rounded to the grid, and what is above in floating point
        reach = (reach / known * (1 + 1e-9) + 2.0**-CONTRIBUTION_BITS) / gain
        low, high = np.where(people, mean - reach, 0.0), np.where(people, mean + reach, 1.0)
        of = "the arms' mean rewards, ½ without an answer"
        return {"means": accuracy.outwards(low, high, level, of)}

    def report(self, view: View) -> dict[str, object]:
        """Return what an experiment asks: an arm with its error, and all that may be the best.

        With a `memory` nothing is known, as arms have no one mean.  The chance that a wrong arm is
        named with an error of α or less, at any time, is at most α.
        """
        if self.memory is not None:
            return {}
        evidence = self._evidence(view)
        arm, error = evidence.best()
        may_be = evidence.may_be_best(Fraction(1, 20))
        return {"best": arm, "error": error, "may_be_best": may_be}

    def evidence(self) -> ArmOrder:
        """Return the evidence on the arms' order before any block."""
        return ArmOrder(self.arms, self._tilts(), 2.0**-CONTRIBUTION_BITS)

    def _evidence(self, view: View) -> ArmOrder:
        known = self.evidence()
        for block in self.released(view):
            known.add(*block)
        return known

    def released(self, view: View) -> Iterator[tuple[int, int, float, int]]:
        """Yield of every released block its arm, the people counted, the noisy sum of rewards and its noises.

        Shuffled bits stand for the rewards.
        """
        if self.memory is not None:
            raise InputError("with a memory, arms have no one mean", "leave memory out")
        for name in ("arms", "sums", "uncounted"):
            if name not in view.public:
                raise InputError(f"a view has no {name}", "give what `play`, or a session, shows to all")
        played, sums = np.asarray(view.public["arms"]), np.asarray(view.public["sums"])
        uncounted = np.unique(view.public["uncounted"])
        begun = [block for block in self.blocks() if block[0] <= len(played)]
        ended = begun[: len(sums)]  # the block under way has no sum yet
        for block, released in zip(ended, sums.tolist(), strict=True):
            first, last = block[0], min(block[1], len(played))
            others = int(np.diff(np.searchsorted(uncounted, (first, last + 1)))[0])
            people = last - first + 1 - others
            yield int(played[first - 1]), people, *self.seen(people, block, released)

    def seen(self, people: int, block: Cover, released: float) -> tuple[float, int]:
        """Return the noisy sum of the `people` rewards (or bits) of a block, and how many noises it has."""
        if self.law != "shuffled":
            return released / 2.0**CONTRIBUTION_BITS + people / 2, 1
        coins = block[1] - block[0] + 1 - people
        return released - coins / 2, coins

    def _tilts(self) -> Iterator[tuple[float, float]]:
        """Yield λ and a bound of the logarithm of the noise's moment generating function at λ."""
        scale = float(self.noise_scale) * (1 + 1e-12) if self.law != "shuffled" else 0.0
        for place in range(TILTS):
            # Laplace noise has no moment generating function from λ = 1/scale on: the largest λ stays below
            # that.
            tilt = 0.8 * 2.0**-place / max(scale, 0.25)
            at = (tilt * scale) ** 2 if self.law != "shuffled" else tilt**2 / 4  # a fair coin's, at most
            yield tilt, (-np.log1p(-at) if self.law == "laplace" else at / 2) * (1 + 1e-9)


class ArmCourse(Course):
    """A run of blocks; an arm's posterior is normal, and knows the noise of its blocks."""

    reward = Domain(1, (0.0,), (1.0,), (False,), (0.5,))

    def __init__(self, subject: ArmPhases, noise: Noise, coins: int) -> None:
        self.batches = subject.blocks()
        self._subject, self._noise, self.space = subject, noise, subject.space
        self.uncounted: set[int] = set()
        self._coins = np.random.default_rng(coins)  # apart from the noise
        self.shuffled = subject.bits.size if subject.law == "shuffled" else 0
        self._belief = subject.prior()
        #: last person, arm, and what they add
        self._learned: deque[tuple[int, int, float, float]] = deque()
        self._shown: list[int] = []
        self._sums: list[Integers] = []
        self._arm = 0
        self._evidence = subject.evidence() if subject.index == "top-two" else None

    def ask(self, context: Floats | None = None) -> Actions:
        """Return the arm of this person's block, from 0; another one, not counted, if it is not on offer.

        What is on offer is public, and so is who is not counted.
        """
        if len(self._shown) == self.batches[len(self._sums)][0] - 1:
            self._arm = self._best(context)
        arm = self._arm
        if context is not None and arm not in context:
            arm = self._best(context)
            self.uncounted.add(len(self._shown) + 1)
        self._shown.append(arm)
        return np.array(arm, dtype=np.int64)

    def _best(self, among: Floats | None) -> int:
        places = np.arange(self._subject.arms) if among is None else among.astype(np.int64)
        scores = self._scores()
        if self._evidence is not None:
            arm, error = self._evidence.best()
            if Fraction(error) <= 1 - self._subject.level:
                scores[arm] = np.inf
        return int(places[np.argmax(scores[places])])

    def _scores(self) -> Floats:
        """Return one number for each arm, the largest of which is played, from public numbers."""
        if self._subject.index == "thompson":
            # What is found last serves nobody, so draws narrow to the mean. Arms that change must be tried
            # for ever: with a memory the spread stays.
            fading = EXPLORE * (1 - len(self._shown) / self._subject.rounds)
            return self._belief.draw(fading if self._subject.memory is None else EXPLORE / 2, self._coins)
        mean, worth = self._belief.means(), self._belief.precisions()
        if self._subject.index == "imed":
            return -(worth * (mean.max() - mean) ** 2 / 2 + np.log(worth))
        if self._subject.index == "elimination":
            reach = self._subject.within / np.sqrt(worth)
            return np.where(mean + reach >= (mean - reach).max(), 1 / worth, mean - mean.max() - 1)
        leader = int(mean.argmax())
        apart = (mean[leader] - mean) ** 2 / (1 / worth[leader] + 1 / worth) / 2
        scores: Floats = -(apart + np.log(worth))
        most = np.finfo(np.float64).max
        scores[leader] = most / 2 if 2 * worth[leader] ** 2 < (worth**2).sum() else -most
        scores[worth * REWARD_VARIANCE < RARE * sqrt(len(self._shown))] = most
        return scores

    def close(self, rewards: Floats, answered: Answered) -> None:
        """Release the sum of the block under way, and learn from it."""
        first, last = self.batches[len(self._sums)]
        slots = np.arange(first, last + 1)  # a missing answer counts, a slot that no one took does not
        counted = (slots <= len(self._shown)) & ~np.isin(slots, list(self.uncounted))
        block, known = len(self._sums), answered & counted
        if self.shuffled:
            released = rewards.sum(keepdims=True).astype(np.int64)  # bits, which have their noise
        else:
            released = self._noise.noisy("block", block, self._subject.added(rewards, known))
        self._sums.append(released)
        people = int(counted.sum())
        total, noises = self._subject.seen(people, (first, last), float(released[0]))
        if self._evidence is not None:
            self._evidence.add(self._arm, people, total, noises)
        # The sum is n·m plus this error, for a block of n people and an arm of mean m: it weighs n²/error.
        error, total = people * REWARD_VARIANCE + self._subject.noise_deviation**2, total - people / 2
        if self.shuffled:
            bits = self._subject.bits
            error, total = len(slots) * (REWARD_VARIANCE + bits.variance), total / bits.gain
        self._learn(self._arm, people**2 / error, people * total / error, last)

    def _learn(self, arm: int, precision: float, moment: float, last: int) -> None:
        """Add a block's part of the posterior; take off what is older than the memory."""
        self._belief.learn(arm, precision, moment)
        memory = self._subject.memory
        if memory is None:
            return
        self._learned.append((last, arm, precision, moment))
        while self._learned[0][0] <= last - memory:
            _, arm, precision, moment = self._learned.popleft()
            self._belief.learn(arm, -precision, -moment)

    def view(self) -> View:
        """Return everybody's arm, every block's sum in grid units, and the slots that are not in it.

        A search for the best arm also shows it, with its error.
        """
        sums = np.concatenate([*self._sums, np.zeros(0, dtype=np.int64)]).astype(np.int64)
        arms, uncounted = (np.array(each, dtype=np.int64) for each in (self._shown, sorted(self.uncounted)))
        shown: dict[str, Any] = {"arms": arms, "sums": sums, "uncounted": uncounted}
        if self._evidence is not None:
            arm, error = self._evidence.best()
            shown |= {"best": np.array([arm]), "error": np.array([error])}
        return View(public=shown)
