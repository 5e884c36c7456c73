"""Threads of one process that charge at once share a commit.

Whoever comes first leads: it takes all that waits into one transaction, and its commit is the commit of all.
Meanwhile others wait, and one of them leads next.  A commit that waits for its disk thus serves many.

A leader that is interrupted (Ctrl-C) hands over: whoever waits asks the chain first whether the entry that
was made for it stands there, by its digest, which is salted and nobody else's; what stands was committed, and
what does not is decided anew.  So nobody waits for ever, is charged twice, or is told what did not happen.
"""

import copy
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from dpaccount.errors import LedgerError
from dpaccount.ledger.storage.rows import CutError
from dpaccount.noise import process

TOGETHER: Final = 1000  #: charges in one commit
AGAIN_SECONDS: Final = 60.0
PATIENCE: Final = 0.5  #: seconds after which a waiting thread looks again by itself


@dataclass(eq=False, kw_only=True)
class Job:
    """What one thread asks for: so many charges, `done` once it is known what became of them."""

    size: int
    error: Exception | None = field(default=None, init=False)
    done: bool = field(default=False, init=False)

    def fails(self, error: Exception) -> None:
        """End with an error, a copy of it: each thread raises its own."""
        self.error, self.done = copy.copy(error), True


T = TypeVar("T")
J = TypeVar("J", bound=Job)


class Group(Generic[J]):
    """The jobs of one process that wait for one ledger; `commit` decides some in one transaction.

    `held` says whether the thread that asks holds what a commit needs.
    """

    def __init__(self, commit: Callable[[list[J]], None], held: Callable[[], bool] = process.held) -> None:
        self._commit, self._held = commit, held
        self._turn = threading.Condition()
        self._waiting: list[J] = []  #: each until its own thread takes it out
        self._leader: J | None = None

    def ask(self, job: J) -> J:
        """Wait until the job is done, leading others if nobody leads; raise its error, or return it."""
        if self._held():  # others may lead, and wait for what this thread holds
            self._together([job])
        else:
            self._queue(job)
        if job.error is not None:
            raise job.error
        return job

    def _queue(self, job: J) -> None:
        try:
            with self._turn:
                self._waiting.append(job)
                while not job.done and self._leader is not None:
                    self._turn.wait(PATIENCE)
                if not job.done:
                    self._leader = job
            if self._leader is job:
                self._together(self._next(job))
        finally:
            if self._leader is job:
                self._leader = None
            with self._turn:
                self._waiting.remove(job)
                self._turn.notify_all()

    def _next(self, mine: J) -> list[J]:
        """Return its own job and the first of those that wait, as many as one commit takes."""
        with self._turn:
            others = [one for one in self._waiting if one is not mine and not one.done]
        jobs, room = [mine], TOGETHER - mine.size
        for one in others:
            room -= one.size
            if room < 0:
                break
            jobs.append(one)
        return jobs

    def _together(self, jobs: list[J]) -> None:
        try:
            again(lambda: self._commit(jobs))
        except LedgerError as error:
            for job in jobs:
                job.fails(error)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].fails(error)
                return
            for job in jobs:  # one of them is to blame, and nothing was committed
                self._together([job])
        else:
            for job in jobs:
                job.done = True


def again(act: Callable[[], T]) -> T:
    """Do what writes, again where the connection was cut before anything was changed."""
    end = time.monotonic() + AGAIN_SECONDS
    while True:
        try:
            return act()
        except CutError:
            if time.monotonic() > end:
                raise
