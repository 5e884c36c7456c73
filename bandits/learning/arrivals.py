"""People in public slots, batch by batch: replay of a dataset and live arrivals share one course.

A batch is a range of slots whose people are all shown what was learned from earlier batches.  When
it is closed, its answers are summed exactly and released; an empty slot, or one without an answer,
adds zero.  The slots of a batch are public, from a bandit's parameters and earlier releases.  Where the
course takes late answers, they enter the sum of a later batch.
"""

from collections.abc import Callable, Container, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bandits.space.points import Space
from bandits.statistics.arrays import Floats, Integers
from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.proof import Cover
from mechanisms.subject import Domain, Rows, Subject, View

Actions = NDArray[np.int64]
Shown = NDArray[Any]  #: an action, or a device's parameters for choosing it
Answered = NDArray[np.bool_]  #: by slot of a batch: whether its person answered

#: any reward, before clipping: a bandit with learned clips applies them when it sums rewards
TOLD = Domain(1, (-(2.0**20),), (2.0**20,), (False,))


def with_delays(people: Domain) -> Domain:
    """Return a domain whose records end with a number more: how many people ask before this one answers.

    As many as there are, or NaN, means never.
    """
    never = float(people.rows)
    low, high = (*people.low, 0.0), (*people.high, never)
    return Domain(people.rows, low, high, (*people.integer, True), (*people.nothing, never))


class Course(Protocol):
    """One run of a bandit over people in order; all that it learns passes through its noise."""

    batches: Sequence[Cover]  #: slots [first, last] of batches in order, at least until the one under way
    context: Domain | None = None  #: of a context, as one row; None if all are offered the same
    candidates: int = 0  #: of a person, of equal dimension; 0 if none are brought
    space: Space | None = None  #: points that are offered; a context may say which of them are on offer
    uncounted: Container[int] = ()  #: slots whose answers are not learned from
    reward: Domain = TOLD  #: of an answer, as one row: a reward, or the numbers of a message
    by_device: bool = False  #: whether a person's own device chooses, and answers with a noisy message
    last_is_read: bool = True  #: whether the last batch's sum is shown; else it is not computed
    shuffled: int = 0  #: minimum bits of a batch, if a session takes shuffled bits only; else 0
    takes_late: bool = False  #: whether an answer that comes after its own batch enters a later sum
    slots: int = 0  #: of all batches; 0 if these are all known

    def ask(self, context: Floats | None) -> Shown:
        """Return what the person of the next slot is shown: the index of a candidate, or of a point.

        Where no candidates are brought, `context` has the places of `space` that are on offer.
        """

    def close(self, rewards: Floats, answered: Answered) -> None:
        """Learn from the current batch: a reward, or row, for every slot, used if `answered`."""

    def finish(self) -> None:
        """Release, after the last batch, what its late answers tell: by default nothing.  Done once."""
        return

    def add_late(self, slot: int, reward: float) -> None:
        """Take in the current batch the answer of an earlier one's slot, from 1; only if `takes_late`."""
        raise InputError(f"the answer of slot {slot} is late", "this bandit takes no late answers")

    def check(self, answer: float) -> None:
        """Raise `InputError` for a number that no device sends, before it is recorded."""
        return  # a reward may be any number

    def view(self) -> View:
        """Return the output so far, a row of `own` for each slot that was taken."""


class Live(Subject, Protocol):
    """A bandit that serves people one by one; `play` is the same course over a whole dataset."""

    @property
    def delta(self) -> Fraction:
        """Return the δ of its proof."""

    def course(self, noise: Noise, coins: int) -> Course:
        """Return a run that has not served anyone yet; public coins are seeded by `coins`."""


def name_of(subject: object) -> str:
    """Return a subject's name: its file's, with hyphens, as a certificate has it."""
    return type(subject).__module__.rpartition(".")[2].replace("_", "-")


#: the first slot of a batch (from 0), and what its people were shown ↦ what they tell
Pays = Callable[[int, list[Any]], Floats]


def paid(rewards: Rows) -> Pays:
    """Return what people tell: each their own row of `rewards`, at the place that they are shown."""
    return lambda first, shown: rewards[np.arange(first, first + len(shown)), np.array(shown)]


def replay(course: Course, contexts: Rows | None, pays: Pays, delays: Integers | None = None) -> View:
    """Serve everyone of a dataset, in order, each of whom answers; return what is shown.

    `delays` [people]: how many people ask before somebody answers; by default everybody answers at once.
    """
    waiting: dict[int, tuple[int, float]] = {}  #: who is late: by slot, when they answer, and what
    for first, last in course.batches:  # may grow, a batch at a time
        slots = range(first - 1, last)
        shown = [course.ask(None if contexts is None else contexts[t]) for t in slots]
        rewards, answered = pays(first - 1, shown), np.ones(len(shown), dtype=np.bool_)
        if last == course.batches[-1][1] and not course.last_is_read:
            break
        if delays is not None:
            for slot in [slot for slot, (comes, _) in waiting.items() if comes <= last]:
                course.add_late(slot, waiting.pop(slot)[1])
            comes = np.arange(first, last + 1) + delays[first - 1 : last]
            answered = comes <= last
            for t in np.flatnonzero(~answered).tolist():
                waiting[first + t] = int(comes[t]), float(rewards[t])
        course.close(rewards, answered)
    course.finish()
    return course.view()
