"""Contextual bandit that learns while it serves: noisy sums of rewards by cell of contexts and by action.

Phases of people are shown actions by what earlier phases released.  At its end, a phase releases one noisy
sum for each action in each group of cells; the more people it has, the more groups there are.  A person's
reward is in one of them, in the phase in which it is answered.  Which one it is follows from their own
context, delay and public coin, and from earlier releases.  So along every history replacing a person takes at
most ½ from one sum and adds ½ to one, and Laplace noise of scale 1/ε is pure ε for the whole run.  People see
their own actions, which follow from earlier releases and their own context: joint privacy.

How many people of a group are shown an action is not released: its expectation under the public contexts
stands in.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, sqrt
from typing import TYPE_CHECKING, ClassVar, Final, Self

import numpy as np

from bandits.learning.arrivals import Actions, Answered, Course, name_of, paid, replay, with_delays
from bandits.learning.contextual import SEVERAL, together
from bandits.private_prediction.public_grid import PublicContexts, count_offers
from bandits.space.points import Space
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.first_moments import CONTRIBUTION_BITS, HALF
from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.proof import (
    REPLACE_ONE,
    Cover,
    Theorem,
    assume_clipped,
    assume_rounds,
    assume_view,
    billboard,
    laplace,
    stream_l1,
)
from dpaccount.proof.search import approximate
from mechanisms.shared import grid
from mechanisms.subject import Domain, Rows, View

if TYPE_CHECKING:
    from bandits.private_prediction.context_cells import ContextCells

FIRST_WORTH: Final = 8  #: people of the first phase for every action, in deviations of the noise
PHASE_GROWTH: Final = HALF  #: of a phase over the people before it
MOST_ACTIONS: Final = 1000
FEWEST: Final = 8  #: people of a phase
SHARPNESS: Final = 4  #: rewards of a group and action vary by 1/SHARPNESS of the noise's variance
FEWEST_GROUPS: Final = 6  #: of cells
EXPLORE: Final = 0.1  #: the first draws spread by this much of the posterior's deviation, the last by none
SMALLEST, LARGEST = Fraction(1, 10**6), 10**6  #: of epsilon


@dataclass(frozen=True)
class ContextHistogram:
    """Show one of `actions` to each of `rounds` people; a row is a context and what each action would pay.

    Rewards are clipped to [`lowest`, `highest`], which are public, and NaN counts as their middle.  Contexts
    are rounded to `contexts` cells of [0, 1]; with a `space`, actions are its points, and contexts those that
    it declares, with their law and `dimension`.  A wrong law costs accuracy, never privacy.
    With `delays` a record ends with a number more: how many people ask before this one answers, `rounds` or
    NaN for never.  In a session that is seen as it happens; the proof is the same.
    """

    source: ClassVar[str] = "ours; Dwork et al. 2006 (histogram), Thompson 1933, Ward 1963 (cells)"
    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE
    delta: ClassVar[Fraction] = Fraction(0)

    rounds: int = 1024
    actions: int = 8
    contexts: int = 32
    dimension: int = 1
    lowest: Fraction = Fraction(0)
    highest: Fraction = Fraction(1)
    epsilon: Fraction = Fraction(1)
    delays: bool = False
    space: Space | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        count_offers(self, self.space)
        if self.space is not None and self.space.contexts is not None:
            self.space.counts(self, "dimension", self.space.contexts.dimension)
        if not all(type(number) is int for number in (self.rounds, self.actions, self.contexts)):
            raise InputError("rounds, actions and contexts are whole numbers")
        if not 2 <= self.actions <= MOST_ACTIONS or not FEWEST <= self.rounds <= 10**6:
            raise InputError(
                f"actions is {self.actions} and rounds is {self.rounds}",
                f"needed 2 ... {MOST_ACTIONS} actions and {FEWEST} ... 1000000 rounds",
            )
        if not isinstance(self.epsilon, Fraction) or not SMALLEST <= self.epsilon <= LARGEST:
            raise InputError(f"epsilon is {str(self.epsilon)[:40]}", f"it lies in 1e-6 ... {LARGEST}")
        if type(self.delays) is not bool:
            raise InputError(f"delays is {str(self.delays)[:40]}", "it is true or false")
        if not isinstance(self.lowest, Fraction) or not isinstance(self.highest, Fraction):
            raise InputError("lowest and highest are fractions", "give the public bounds of a reward")
        grid.spanned(self.lowest, self.highest)
        if self.dimension != self.public.numbers:
            raise InputError(f"dimension is {self.dimension}", f"a context has {self.public.numbers} numbers")

    # -------------------------------------------------------------- public constants

    @cached_property
    def public(self) -> PublicContexts:
        """Return the public contexts."""
        return PublicContexts(self.contexts, self.space)

    @property
    def cells(self) -> "ContextCells":
        """Return the cells of contexts, and their groups."""
        from bandits.private_prediction.context_cells import cells_of  # late: `list` imports every subject

        return cells_of(self.public)

    @cached_property
    def batches(self) -> list[Cover]:
        """Return the people of every phase."""
        noise = sqrt(2) / float(self.epsilon)
        first = min(ceil(FIRST_WORTH * self.actions * noise), self.rounds // 4)
        return together(self.rounds, max(first, FEWEST), PHASE_GROWTH)

    def groups(self, people: int) -> Integers:
        """Return the group of every cell in a phase of `people`."""
        count = int(SHARPNESS * people * self.epsilon**2 / (8 * self.actions))
        return self.cells.groups(max(count, FEWEST_GROUPS))

    def member(self, rounds: int) -> Self:
        """Return this bandit on at most `rounds` people, who may be late, but on several phases of them."""
        rounds = min(self.rounds, max(rounds, SEVERAL * FEWEST))
        return replace(self, rounds=rounds, delays=True)

    # -------------------------------------------------------------- data and proof

    def domain(self) -> Domain:
        """Return rows of a context and a reward for each action; with `delays`, when it is answered."""
        low, high = float(self.lowest), float(self.highest)
        wide = high - low
        ends = (low - wide,) * self.actions, (high + wide,) * self.actions
        plain = self.public.rows(self.rounds, *ends)
        return with_delays(plain) if self.delays else plain

    def proof(self, delta: Fraction) -> Theorem:
        """One clipped number a person, in one sum, whichever; own actions read the sums: billboard."""
        sums = len(self.batches) * len(self.cells) * self.actions
        return in_one_sum(name_of(self), sums, self.epsilon, delta)

    # -------------------------------------------------------------- the run

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once, in order; everyone sees the sums, a person their own action."""
        contexts, rest = data[:, : self.public.numbers], data[:, self.public.numbers :]
        delays = rest[:, -1].astype(np.int64) if self.delays else None
        return replay(self.course(noise, coins), contexts, paid(rest[:, : self.actions]), delays)

    def course(self, noise: Noise, coins: int) -> "HistogramCourse":
        """Return a run for people who come one by one."""
        return HistogramCourse(self, noise, coins)

    def added(self, rewards: Floats) -> Integers:
        """Return clipped rewards, from −½ (`lowest`) to ½ (`highest`), in grid units; NaN adds 0."""
        low, high = float(self.lowest), float(self.highest)
        within = np.clip(np.where(np.isnan(rewards), (low + high) / 2, rewards), low, high)
        return grid.clipped((within - low) / (high - low) - 0.5, -HALF, HALF, CONTRIBUTION_BITS)

    def report(self, view: View) -> dict[str, object]:
        """Return the best action of every context, and the guarantee's assumptions."""
        return {
            "best_action": np.asarray(view.public["values"]).argmax(axis=1).tolist(),
            "privacy_rests_on": [
                "rewards clipped to public bounds",
                "each answer in one sum, of the phase in which it comes",
                "phases that end by the number of people who have asked",
            ],
            "concern_utility_only": ["the law of contexts", "late and missing answers", "noise in rewards"],
        }


def in_one_sum(subject: str, sums: int, epsilon: Fraction, delta: Fraction) -> Theorem:
    """Return what `sums` of phases cost: one clipped number a person, in one of them, whichever."""
    person = assume_clipped("phase", -HALF, HALF, REPLACE_ONE, "movement")
    entered = assume_rounds("phase", sums, "movement", 2, sums)
    leaf = laplace(stream_l1(person, entered), 1 / epsilon, grid.step(CONTRIBUTION_BITS), "phase")
    return billboard(approximate(leaf, delta), assume_view(subject, "others", "replay"))


class HistogramCourse(Course):
    """A run over people with a context each; their actions are shown to them alone.

    No action uses the last phase's answers.
    """

    candidates, last_is_read, takes_late = 1, False, True

    def __init__(self, subject: ContextHistogram, noise: Noise, coins: int) -> None:
        from bandits.private_prediction.cell_belief import CellBelief  # late, like the cells

        public, low, high = subject.public, float(subject.lowest), float(subject.highest)
        self.batches, self.space, self.context = subject.batches, public.law, public.rows(1, (), ())
        self.reward = Domain(1, (low,), (high,), (False,), ((low + high) / 2,))
        self._subject, self._noise, self._public, self._cells = subject, noise, public, subject.cells
        self._belief = CellBelief(self._cells, subject.actions)
        self._policy = np.random.default_rng([coins, 1])
        # a coin of the own slot says which action it is, so that nobody's data move another's
        self._slots: Floats = np.random.default_rng([coins, 2]).random(subject.rounds)
        self._shown = np.full((len(self._cells), subject.actions), 1 / subject.actions)
        self._groups = subject.groups(self.batches[0][1])
        self._people: list[tuple[int, int]] = []  #: cell and action of everybody
        self._late: list[tuple[int, float]] = []  #: slot and reward of answers that no sum has yet
        self._sums: list[Integers] = []

    def ask(self, context: Floats | None) -> Actions:
        """Return an action drawn by the chances of the phase."""
        brought = np.asarray(context, dtype=np.float64).ravel()
        cell = int(self._cells.of[self._public.cell(brought)])
        below = np.cumsum(self._shown[cell])
        action = int(np.searchsorted(below, self._slots[len(self._people)] * below[-1], side="right"))
        action = min(action, self._subject.actions - 1)
        self._people.append((cell, action))
        return np.array(action, dtype=np.int64)

    def add_late(self, slot: int, reward: float) -> None:
        """Keep an earlier phase's answer for the sum, at the end of this one, of its own cell and action."""
        self._late.append((slot, reward))

    def close(self, rewards: Floats, answered: Answered) -> None:
        """Release the sums of the phase under way, learn from them, and choose the chances of the next."""
        first, last = self.batches[len(self._sums)]
        told = [(first + t, float(rewards[t])) for t in np.flatnonzero(answered).tolist()]
        told, self._late = told + self._late, []
        exact = np.zeros((int(self._groups.max()) + 1, self._subject.actions), dtype=np.int64)
        if told:
            cells, actions = np.array([self._people[slot - 1] for slot, _ in told]).T
            added = self._subject.added(np.array([reward for _, reward in told]))
            np.add.at(exact, (self._groups[cells], actions), added)
        released = self._noise.noisy("phase", len(self._sums), exact.ravel())
        self._sums.append(released)
        sums = released.reshape(exact.shape) / 2.0**CONTRIBUTION_BITS
        noise = 2 / float(self._subject.epsilon) ** 2
        self._belief.learn(last - first + 1, self._shown, self._groups, sums, noise)
        # exploration at the end pays off for nobody
        self._shown = self._belief.chances(EXPLORE * (1 - last / self._subject.rounds), self._policy)
        if last < self._subject.rounds:
            _, until = self.batches[len(self._sums)]
            self._groups = self._subject.groups(until - last)

    def view(self) -> View:
        """Return own actions, and for all the sums and the expected reward of every context and action."""
        low, wide = float(self._subject.lowest), float(self._subject.highest - self._subject.lowest)
        return View(
            own={"action": np.array([action for _, action in self._people], dtype=np.int64)},
            public={
                "sums": np.concatenate([*self._sums, np.zeros(0, dtype=np.int64)]).astype(np.int64),
                "values": low + wide * self._belief.means()[self._cells.of],
            },
        )
