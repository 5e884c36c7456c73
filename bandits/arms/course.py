"""One run of `arm-phases`: which arm a block plays, how many people it has, which sum an answer enters."""

from collections import deque
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from bandits.arms.adversary import Leader
from bandits.arms.beliefs import REWARD_VARIANCE
from bandits.arms.design import ArmDesign
from bandits.learning.arrivals import Actions, Answered, Course
from bandits.statistics.arrays import Floats, Integers
from dpaccount.noise.receipt import Noise
from dpaccount.proof import Cover
from mechanisms.subject import Domain, View

EXPLORE = 0.8  #: the first draws spread by this much of the posterior's deviation, the last by none
TRIES = 16  #: times as many people as it takes to try every arm once, from where on that is worth while
RARE = 0.5  #: of √n: an arm worth fewer rewards of n people comes first where the best is looked for


class ArmCourse(Course):
    """A run of blocks; the belief of an arm knows the noise of its sums."""

    reward = Domain(1, (0.0,), (1.0,), (False,), (0.5,))

    def __init__(self, subject: ArmDesign, noise: Noise, coins: int) -> None:
        self._subject, self._noise, self.space = subject, noise, subject.space
        self.slots, self.takes_late = subject.rounds, subject.takes_late
        self.batches: list[Cover] = []  #: until the block under way
        self.uncounted: set[int] = set()
        self.sums: list[Integers] = []
        self._fixed = subject.blocks() if subject.law == "shuffled" else None
        self._coins = np.random.default_rng(coins)  # apart from the noise
        self.shuffled = subject.bits.size if self._fixed else 0
        self._belief = subject.prior()
        # Every arm is tried if that takes a small part of the run.
        self._hope = min(subject.rounds / (TRIES * subject.unknown * subject.first), 1.0)
        #: last person of a block, and what was learned of it
        self._learned: deque[tuple[int, int, int, float, float]] = deque()
        self._shown: list[int] = []
        self._of: list[int] = []  #: arms of blocks
        self._closed = 0
        self._people = [0] * subject.arms  #: whom an arm's closed blocks have counted
        self._late: list[list[float]] = [[] for _ in range(subject.arms)]  #: answers no sum has yet
        self._answers = np.zeros(subject.arms, dtype=np.int64)  #: those who answered less those who did not
        self._told: list[Integers] = []  #: the same, with noise
        self._evidence = subject.statement.order() if subject.index == "top-two" else None
        self._leader = Leader(subject.against_adversary) if subject.index == "adversarial" else None
        self._offered: Floats | None = None  #: to the first person of the block under way; None says all arms
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
        arm, begins = self._of[-1], len(self._shown) + 1 == self.batches[-1][0]
        if begins:
            self._offered = context
        if context is not None and arm not in context:
            arm = self._best(context)
            if begins:
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
        if self._leader is not None:
            return self._leader.scores(self._coins)
        if self._subject.index == "thompson":
            # Exploration at the end pays off for nobody, so draws narrow to the mean. Arms that change must
            # be explored throughout: with a memory, the spread stays.
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
            arm = self._shown[slot - 1]
            self._late[arm].append(reward)
            self._answers[arm] += 2

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
            self._answers[arm] += 2 * int((answered & counted).sum()) - people
        total, noises = self._subject.seen(people, len(slots), float(self.sums[-1][0]))
        if self._evidence is not None:
            self._evidence.add(arm, people, total, noises)
        noise, rest = self._subject.noise_deviation**2, total - people / 2
        if self.shuffled:
            bits = self._subject.bits
            noise = len(slots) * (REWARD_VARIANCE + bits.variance) - people * REWARD_VARIANCE
            rest /= bits.gain
        if self._leader is not None:
            self._leader.learn(arm, rest, self._offered)
        self._learn(arm, people, rest, noise, last)
        self._closed += 1
        if last < self.slots:
            self._begin()

    def _release(self, arm: int, rewards: Floats, counted: Answered) -> None:
        """Release the sum of these rewards and of the arm's late answers, none of which waits any more."""
        late, self._late[arm] = self._late[arm], []
        told, known = np.append(rewards, late), np.append(counted, np.ones(len(late), np.bool_))
        self.sums.append(self._noise.noisy("block", len(self.sums), self._subject.added(told, known)))

    def finish(self) -> None:
        """Release a last sum of every arm, of answers that came after its last block, and their number."""
        if not self.takes_late or len(self.sums) > self._closed:
            return
        for arm in range(self._subject.arms):
            self._release(arm, np.zeros(0), np.zeros(0, np.bool_))
            if self._subject.counts:
                self._told.append(self._noise.noisy("answers", arm, self._answers[[arm]]))

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
        if self._told:
            shown["answers"] = np.concatenate(self._told)
        if self._evidence is not None:
            arm, error = self._evidence.best()
            shown |= {"best": np.array([arm]), "error": np.array([error])}
        return View(public=shown)
