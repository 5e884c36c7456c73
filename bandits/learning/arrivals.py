"""People in public slots, batch by batch: a dataset is replayed and arrivals are served by the same course.

A batch is a range of slots whose people are all shown what was learned from the batches before it.  When it
is closed, what its people told is added up exactly and released; a slot that nobody came to, or whose
person did not answer, adds zero.  Which slots a batch has is public, from a bandit's parameters alone.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpaccount.noise.receipt import Noise
from dpaccount.proof import Cover
from mechanisms.subject import Domain, Rows, Subject, View

Floats = NDArray[np.float64]
Actions = NDArray[np.int64]
Shown = NDArray[Any]  #: an action, or what a person's own device chooses by
Answered = NDArray[np.bool_]  #: by slot of a batch: whether its person told something

#: any reward, as it is told: a bandit that clips rewards by what it has learned does so when it adds them up
TOLD = Domain(1, (-(2.0**20),), (2.0**20,), (False,))


class Course(Protocol):
    """One run of a bandit over people in order; all that it learns passes through its noise."""

    @property
    def batches(self) -> Sequence[Cover]:
        """Return the slots [first, last] of every batch, all slots in order."""

    @property
    def context(self) -> Domain | None:
        """Return what a person brings, as one row; None if everyone is offered the same."""

    @property
    def candidates(self) -> int:
        """Return how many candidates a person brings, each with as many coordinates; 0 where none."""

    @property
    def reward(self) -> Domain:
        """Return what a person tells, as one row: a reward, or the numbers of a message."""

    @property
    def last_is_read(self) -> bool:
        """Return whether the last batch's sum is shown; else it is not computed."""

    def ask(self, context: Floats | None) -> Shown:
        """Return what the person of the next slot is shown: the index of a candidate, or of a point."""

    def close(self, rewards: Floats, answered: Answered) -> None:
        """Learn from the batch under way: a reward, or row, for every slot, read where it was told."""

    def view(self) -> View:
        """Return what was shown so far, a row of `own` for each slot that was asked for."""


@runtime_checkable
class Checked(Protocol):
    """A course whose people tell messages that their devices made."""

    def check(self, message: float) -> None:
        """Refuse what no device sends, before it is noted; raises `InputError`."""


class Live(Subject, Protocol):
    """A bandit that people may come to one by one; `play` is the same course over a whole dataset."""

    @property
    def delta(self) -> Fraction:
        """Return the δ of its proof."""

    def course(self, noise: Noise, coins: int) -> Course:
        """Return a run that has served nobody; public coins are seeded by `coins`."""


#: the first slot of a batch (from 0), and what its people were shown ↦ what they tell
Pays = Callable[[int, list[Any]], Floats]


def replay(course: Course, contexts: Rows | None, pays: Pays) -> View:
    """Serve everyone of a dataset, in order, each of whom answers; return what is shown."""
    for first, last in course.batches:
        slots = range(first - 1, last)
        shown = [course.ask(None if contexts is None else contexts[t]) for t in slots]
        rewards = pays(first - 1, shown)
        if last < course.batches[-1][1] or course.last_is_read:
            course.close(rewards, np.ones(len(shown), dtype=np.bool_))
    return course.view()
