"""One run of `context-histogram`: whom a phase shows what, and which sum an answer enters."""

from typing import TYPE_CHECKING, Final

import numpy as np

from bandits.learning.arrivals import Actions, Answered, Course
from bandits.private_prediction.cell_belief import CellBelief
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.first_moments import CONTRIBUTION_BITS
from dpaccount.noise.receipt import Noise
from mechanisms.subject import Domain, View

if TYPE_CHECKING:
    from bandits.context_histogram import ContextHistogram

EXPLORE: Final = 0.1  #: the first draws spread by this much of the posterior's deviation, the last by none


class HistogramCourse(Course):
    """A run over people with a context each; their actions are shown to them alone.

    No action uses the last phase's answers.
    """

    candidates, last_is_read, takes_late = 1, False, True

    def __init__(self, subject: "ContextHistogram", noise: Noise, coins: int) -> None:
        public, low, high = subject.public, float(subject.lowest), float(subject.highest)
        self.batches, self.space = subject.batches, public.law
        self.context = Domain(1, (-0.5,) * public.numbers, (1.5,) * public.numbers, (False,) * public.numbers)
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
        sums, noise = (
            released.reshape(exact.shape) / 2.0**CONTRIBUTION_BITS,
            2 / float(self._subject.epsilon) ** 2,
        )
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
