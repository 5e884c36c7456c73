"""Bandit with a few public arms: blocks of people play one arm each, and release one noisy number.

A block's arm is the best of a draw from the posterior (Thompson 1933), whose spread fades over the
rounds.  The sum of y − ½ over its people is released with noise.  Who is in which block, which arm it plays
and when it ends follow from earlier releases and public coins, never from answers.  An answer that is late
enters the next block of the same arm.  So along every history a person's number is in one sum at most:
replacing it takes at most ½ from one sum and adds ½ to one, and Laplace noise of scale 1/ε is pure ε for
the whole run, all arms and sums included.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, log, sqrt
from typing import Any, ClassVar, Final

import numpy as np

from bandits.learning.arm_beliefs import REWARD_VARIANCE, ApartBelief, ArmBelief, LinearBelief
from bandits.learning.arrivals import Actions, Answered, Course, paid, replay
from bandits.learning.contextual import SEVERAL, Calibrated, together
from bandits.learning.shuffled_bits import ShuffledBits
from bandits.space.points import Space
from bandits.statistics.arm_sums import ArmSums, Block
from bandits.statistics.arrays import Floats, Integers
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
    assume_rounds,
    factorised,
    laplace,
    linear,
    nodes,
    stream_l1,
)
from dpaccount.proof.search import approximate
from mechanisms.shared import accuracy, grid
from mechanisms.shared.gaussian_noise import gaussian, unchanged
from mechanisms.subject import Domain, Rows, View, shown

LAWS: Final = ("laplace", "gaussian", "shuffled")
FOR_REGRET: Final = ("thompson", "imed")
INDICES: Final = (*FOR_REGRET, "elimination", "top-two")
BELIEFS: Final = ("apart", "linear")
#: of a block over the people before it, if the first block has fewer; the second for the best arm
BLOCK_GROWTH, BEST_GROWTH = Fraction(1, 32), Fraction(1, 24)
WORTH, BEST_WORTH = 6.0, 30.0  #: deviations of the noise that the first block has people for
SMALLEST, LARGEST = Fraction(1, 2**20), 10**6  #: of ε and σ
EXPLORE = 0.8  #: the first draws spread by this much of the posterior's deviation, the last by none
ROOM = 16  #: times as many people as it takes to try every arm once, from where on that is worth while
RARE = 0.5  #: of √n: an arm worth fewer rewards of n people comes first where the best is looked for


@dataclass(frozen=True)
class ArmPhases(Calibrated):
    """Show one of `arms` to each of `rounds` people; a row is what each arm would pay, in [0, 1].

    `law` is the noise of a block's sum: "laplace" of scale 1/`epsilon`, pure, or "gaussian" of
    deviation `sigma` (left out, the least that is proved to meet (`epsilon`, `delta`)).  A block
    has `block` people at least, and no more than half of those that its arm has had, where that is more.
    With `delays` a record ends with a number more: how many people ask before this one answers, `rounds`
    or NaN for never.  In a session that is seen as it happens; the proof is the same.
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
    delays: bool = False

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
        if self.delays and not self.takes_late:
            raise InputError("this bandit takes no late answers", "leave delays out")
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

    @property
    def takes_late(self) -> bool:
        """Return whether an answer that is late enters the next block of its arm.

        Not if a shuffler shows a block's bits, as their number is seen; nor in a search for the best arm,
        whose error is of people who have all answered.
        """
        return self.law != "shuffled" and self.index != "top-two"

    def member(self, rounds: int) -> "ArmPhases":
        """Return this bandit on at most `rounds` people, who may be late, but on several blocks of them."""
        same = self.block if self.law != "shuffled" else self.bits.size  # which its noise follows
        fewest = max(SEVERAL * same, 2 * self.arms)
        rounds = min(self.rounds, max(rounds, fewest))
        return replace(self, rounds=rounds, block=same, delays=self.takes_late)

    # -------------------------------------------------------------- who is in which block

    @cached_property
    def first(self) -> int:
        """Return how many people the first block has, and every later one at least."""
        worth = BEST_WORTH if self.index == "top-two" else WORTH
        unknown = self.arms if self._points is None else min(self.arms, self._points.dimension + 1)
        # As large as the noise asks for, but never so large that the run ends before every unknown mean is
        # tried twice.
        first = min(worth * self.noise_deviation, self.rounds / (2 * unknown))
        return max(ceil(first), self.block, 2 if self.law == "shuffled" else 1)

    @property
    def growth(self) -> Fraction:
        """Return a block's size over the people before it, at most."""
        return BEST_GROWTH if self.index == "top-two" else BLOCK_GROWTH

    def size(self, before: int, people: int) -> int:
        """Return the size of a block after `before` people, of whom its arm has had `people`."""
        if self.memory is not None:
            before = min(before, self.memory)
        most = int(self.growth * before)
        return max(self.first, most if self.index == "top-two" else min(most, people // 2))

    @property
    def most_sums(self) -> int:
        """Return how many sums a run releases at most: of blocks, and one of late answers for each arm."""
        return ceil(self.rounds / self.block) + self.arms

    def blocks(self) -> list[Cover]:
        """Return the people [first, last] of every block of shuffled bits: fixed before the run."""
        covers = list[Cover]()
        for begin, end in self._together(self.first, self.growth):
            few = covers and end - begin + 1 < self.first
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
        """Return one row per person: what each arm would pay, in [0, 1], NaN as ½; with `delays`, when."""
        arms, late = self.arms, 1 if self.delays else 0
        never = float(self.rounds)
        low, high = (0.0,) * (arms + late), (1.0,) * arms + (never,) * late
        nothing = (0.5,) * arms + (never,) * late
        return Domain(self.rounds, low, high, (False,) * arms + (True,) * late, nothing)

    def proof(self, delta: Fraction) -> Theorem:
        """One clipped number a person, in one sum, whichever; everyone sees arms and sums."""
        if self.law == "gaussian":
            return shown(self._sums(self.noise_scale, delta), "arm-phases")
        if self.law == "shuffled":
            blocks = assume_covers("block", self.blocks(), "movement")
            return shown(nodes(self.bits.leaf("block", delta), blocks), "arm-phases")
        inside = assume_clipped("block", -HALF, HALF, REPLACE_ONE, "movement")
        query = stream_l1(inside, self._entered())
        leaf = laplace(query, self.noise_scale, grid.step(CONTRIBUTION_BITS), "block")
        return shown(approximate(leaf, delta), "arm-phases")

    def _entered(self) -> Theorem:
        """Return that a person enters one sum at most, which earlier releases and the own delay choose."""
        return assume_rounds("block", self.most_sums, "movement", 2, self.most_sums)

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        """Return the theorem of Gaussian noise."""
        inside = linear(assume_ball("block", HALF, REPLACE_ONE, "movement"))
        query = factorised(inside, self._entered(), [[1]])
        step, sums = grid.step(CONTRIBUTION_BITS), self.most_sums
        return gaussian(query, sigma, step, sums, "block", delta, unchanged)

    def added(self, rewards: Floats, answered: Answered) -> Integers:
        """Return the exact sum of clip(y, 0, 1) − ½, one number in grid units; no answer adds 0."""
        paid = np.where(answered & ~np.isnan(rewards), rewards, 0.5) - 0.5
        return grid.clipped(paid[:, None], -HALF, HALF, CONTRIBUTION_BITS).sum(axis=0)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once, in order; everyone sees arms and sums."""

        def sent(first: int, chosen: list[Actions]) -> Floats:
            rewards = told(first, chosen)
            block = len(course.sums)
            return self.bits.sent(noise, "block", block, rewards, tosses).astype(np.float64)

        # tosses round rewards to bits, apart from a rehearsal's noise
        told, course, tosses = paid(data), self.course(noise, coins), np.random.default_rng((coins, 17))
        delays = np.where(np.isnan(data[:, -1]), self.rounds, data[:, -1]) if self.delays else None
        late = None if delays is None else delays.astype(np.int64)
        return replay(course, None, sent if self.law == "shuffled" else told, late)

    def course(self, noise: Noise, coins: int) -> "ArmCourse":
        """Return a run for people who come one by one."""
        return ArmCourse(self, noise, coins)

    # -------------------------------------------------------------- what the sums say

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return intervals of the arms' mean rewards, all of which hold with probability `level`.

        Of rewards clipped to [0, 1] that have one mean an arm and are independent of the past, given the arm
        and what is on offer; who does not answer counts with ½, and who was shown another arm than their
        block's does not count.  They hold although arms are chosen by earlier sums, for a run that ends when
        released numbers say so.  Where late answers count, they are of a run that has ended.
        """
        low, high = self.statement.intervals(self.released(view), level)
        of = "the arms' mean rewards, ½ without an answer"
        return {"means": accuracy.interval(low, high, level, of)}

    def report(self, view: View) -> dict[str, object]:
        """Return what an experiment asks: an arm with its error, and all that may be the best.

        With a `memory` nothing is known, as arms have no one mean.  The chance that a wrong arm is
        named with an error of α or less, at any time, is at most α.
        """
        if self.memory is not None:
            return {}
        evidence = self.statement.order(self.released(view))
        arm, error = evidence.best()
        may_be = evidence.may_be_best(Fraction(1, 20))
        return {"best": arm, "error": error, "may_be_best": may_be}

    @property
    def statement(self) -> ArmSums:
        """Return what the noise of sums is, by which they say something of the means."""
        bits = self.bits if self.law == "shuffled" else None
        return ArmSums(self.arms, self.law, 0.0 if bits else float(self.noise_scale), bits)

    def released(self, view: View) -> Iterator[Block]:
        """Yield of every released sum its arm, the people counted, their noisy rewards, and its noises.

        Shuffled bits stand for the rewards.
        """
        if self.memory is not None:
            raise InputError("with a memory, arms have no one mean", "leave memory out")
        for name in ("arms", "ends", "sums", "uncounted"):
            if name not in view.public:
                raise InputError(f"a view has no {name}", "give what `play`, or a session, shows to all")
        played, ends, sums = (view.public[name].tolist() for name in ("arms", "ends", "sums"))
        if self.takes_late and len(sums) != len(ends) + self.arms:
            raise InputError("answers may still come, and would count", "end the run, and give what it shows")
        uncounted, before = np.unique(view.public["uncounted"]), 0
        for last, released in zip(ends, sums, strict=False):  # the block under way has no sum yet
            others = int(np.diff(np.searchsorted(uncounted, (before + 1, last + 1)))[0])
            people = last - before - others
            yield played[before], people, *self.seen(people, last - before, released)
            before = last
        for arm, released in enumerate(sums[len(ends) :]):
            yield arm, 0, *self.seen(0, 0, released)

    def seen(self, people: int, slots: int, released: float) -> tuple[float, int]:
        """Return the noisy sum of the `people` rewards (or bits) of a block, and how many noises it has."""
        if self.law != "shuffled":
            return released / 2.0**CONTRIBUTION_BITS + people / 2, 1
        coins = slots - people
        return released - coins / 2, coins


class ArmCourse(Course):
    """A run of blocks; the belief of an arm knows the noise of its sums."""

    reward = Domain(1, (0.0,), (1.0,), (False,), (0.5,))

    def __init__(self, subject: ArmPhases, noise: Noise, coins: int) -> None:
        self._subject, self._noise, self.space = subject, noise, subject.space
        self.slots, self.takes_late = subject.rounds, subject.takes_late
        self.batches: list[Cover] = []  #: until the block under way
        self.uncounted: set[int] = set()
        self.sums: list[Integers] = []
        self._fixed = subject.blocks() if subject.law == "shuffled" else None
        self._coins = np.random.default_rng(coins)  # apart from the noise
        self.shuffled = subject.bits.size if self._fixed else 0
        self._belief = subject.prior()
        # all arms are tried where that takes a small part of the run
        self._hope = min(subject.rounds / (ROOM * subject.arms * subject.first), 1.0)
        #: last person of a block, and what was learned of it
        self._learned: deque[tuple[int, int, float, float, float]] = deque()
        self._shown: list[int] = []
        self._of: list[int] = []  #: arms of blocks
        self._closed = 0
        self._people = [0] * subject.arms  #: whom an arm's closed blocks have counted
        self._late: list[list[float]] = [[] for _ in range(subject.arms)]  #: answers no sum has yet
        self._evidence = subject.statement.order() if subject.index == "top-two" else None
        self._begin()

    def _begin(self, among: Floats | None = None) -> None:
        """Choose the arm of the next block, and how many people it has, from released numbers alone."""
        arm, before = self._best(among), self.batches[-1][1] if self.batches else 0
        last = min(before + self._subject.size(before, self._people[arm]), self.slots)
        self.batches.append(self._fixed[len(self.batches)] if self._fixed else (before + 1, last))
        self._of.append(arm)

    def ask(self, context: Floats | None = None) -> Actions:
        """Return the arm of this person's block, from 0; another one, not counted, if it is not on offer.

        What is on offer is public, and so is who is not counted.
        """
        arm = self._of[-1]
        if context is not None and arm not in context:
            arm = self._best(context)
            if len(self._shown) + 1 == self.batches[-1][0]:
                self._of[-1] = arm  # the block's first person, who says which arm it is
            else:
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
            fading = sqrt(self._hope) * EXPLORE * (1 - len(self._shown) / self._subject.rounds)
            width = fading if self._subject.memory is None else EXPLORE / 2
            return self._belief.draw(width, self._hope, self._coins)
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

    def add_late(self, slot: int, reward: float) -> None:
        """Keep the answer of an earlier block's person for the next sum of the same arm."""
        if slot not in self.uncounted:
            self._late[self._shown[slot - 1]].append(reward)

    def close(self, rewards: Floats, answered: Answered) -> None:
        """Release the sum of the block under way, and learn from it."""
        first, last = self.batches[-1]
        slots = np.arange(first, last + 1)  # a missing answer counts, a slot that no one took does not
        counted = (slots <= len(self._shown)) & ~np.isin(slots, list(self.uncounted))
        arm, people = self._of[-1], int(counted.sum())
        if self.shuffled:
            self.sums.append(rewards.sum(keepdims=True).astype(np.int64))  # bits, which have their noise
        else:
            self._release(arm, rewards, answered & counted)
        total, noises = self._subject.seen(people, len(slots), float(self.sums[-1][0]))
        if self._evidence is not None:
            self._evidence.add(arm, people, total, noises)
        noise, rest = self._subject.noise_deviation**2, total - people / 2
        if self.shuffled:
            bits = self._subject.bits
            noise = len(slots) * (REWARD_VARIANCE + bits.variance) - people * REWARD_VARIANCE
            rest /= bits.gain
        self._learn(arm, people, rest, noise, last)
        self._closed += 1
        if last < self.slots:
            self._begin()

    def _release(self, arm: int, rewards: Floats, counted: Answered) -> None:
        """Release the sum of these rewards and of the late answers of the arm, none of which waits any more."""
        late, self._late[arm] = self._late[arm], []
        told, known = np.append(rewards, late), np.append(counted, np.ones(len(late), np.bool_))
        self.sums.append(self._noise.noisy("block", len(self.sums), self._subject.added(told, known)))

    def finish(self) -> None:
        """Release a last sum of every arm, of answers that came after its last block."""
        if not self.takes_late or len(self.sums) > self._closed:
            return
        for arm in range(self._subject.arms):
            self._release(arm, np.zeros(0), np.zeros(0, np.bool_))

    def _learn(self, arm: int, people: int, rest: float, noise: float, last: int) -> None:
        """Add what a block says; take off what is older than the memory."""
        self._belief.learn(arm, people, rest, noise)
        self._people[arm] += people
        memory = self._subject.memory
        if memory is None:
            return
        self._learned.append((last, arm, people, rest, noise))
        while self._learned[0][0] <= last - memory:
            _, arm, people, rest, noise = self._learned.popleft()
            self._belief.learn(arm, -people, -rest, -noise)
            self._people[arm] -= people

    def view(self) -> View:
        """Return everybody's arm, the sums in grid units, last people of their blocks, and who is in none.

        A search for the best arm also shows it, with its error.
        """
        sums = np.concatenate([*self.sums, np.zeros(0, dtype=np.int64)]).astype(np.int64)
        ends = [min(last, len(self._shown)) for _, last in self.batches[: self._closed]]
        of_people = {"arms": self._shown, "ends": ends, "uncounted": sorted(self.uncounted)}
        shown: dict[str, Any] = {name: np.array(value, dtype=np.int64) for name, value in of_people.items()}
        shown["sums"] = sums
        if self._evidence is not None:
            arm, error = self._evidence.best()
            shown |= {"best": np.array([arm]), "error": np.array([error])}
        return View(public=shown)
