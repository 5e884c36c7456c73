"""Group commit: threads of one process that charge at the same time share a commit.

The first thread leads: it writes all queued jobs in one transaction and commits for all of them.
Other threads queue meanwhile, and one of them leads next.  One wait for the disk serves many.

If a leader is interrupted (Ctrl-C), the next one first searches the chain for the entries already
made for a job, by digest (salted, hence unique): if found they were committed, else the job is
decided again.  So no thread waits forever, is charged twice, or gets a wrong result.
"""

import copy
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from dpaccount.errors import LedgerError
from dpaccount.ledger.stores.rows import CutError
from dpaccount.noise import process

MAX_CHARGES: Final = 1000  #: charges in one commit
AGAIN_SECONDS: Final = 60.0  #: how long `again` retries
PATIENCE: Final = 0.5  #: seconds after which a waiting thread checks without a notification


@dataclass(eq=False, kw_only=True)
class Job:
    """The charges of one thread (`size` of them); `done` once their outcome is known."""

    size: int
    error: Exception | None = field(default=None, init=False)
    done: bool = field(default=False, init=False)

    def fails(self, error: Exception) -> None:
        """Finish with a copy of `error`: each thread raises its own."""
        self.error, self.done = copy.copy(error), True


T = TypeVar("T")
J = TypeVar("J", bound=Job)


class Group(Generic[J]):
    """The queue of one process's jobs for one ledger; `commit` decides some in one transaction.

    `held` returns whether the calling thread already holds the lock that a commit needs.
    """

    def __init__(
        self, commit: Callable[[list[J]], None], held: Callable[[], bool] = process.holds_off_forks
    ) -> None:
        self._commit, self._held = commit, held
        self._turn = threading.Condition()
        self._waiting: list[J] = []  #: the queue; each thread removes its own job
        self._leader: J | None = None

    def ask(self, job: J) -> J:
        """Queue a job until done, leading if no thread leads; raise its error or return it."""
        process.outside_tasks()  # another thread may lead
        if self._held():  # queueing could deadlock: a leader may wait for this thread's lock
            self._commit_jobs([job])
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
                self._commit_jobs(self._next(job))
        finally:
            if self._leader is job:
                self._leader = None
            with self._turn:
                self._waiting.remove(job)
                self._turn.notify_all()

    def _next(self, mine: J) -> list[J]:
        """Return the leader's own job and the first queued ones, up to `MAX_CHARGES` charges."""
        with self._turn:
            others = [one for one in self._waiting if one is not mine and not one.done]
        jobs, room = [mine], MAX_CHARGES - mine.size
        for one in others:
            room -= one.size
            if room < 0:
                break
            jobs.append(one)
        return jobs

    def _commit_jobs(self, jobs: list[J]) -> None:
        try:
            again(lambda: self._commit(jobs))
        except LedgerError as error:
            for job in jobs:
                job.fails(error)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].fails(error)
                return
            for job in jobs:  # one job raised, and nothing was committed: retry one by one
                self._commit_jobs([job])
        else:
            for job in jobs:
                job.done = True


def again(act: Callable[[], T]) -> T:
    """Run a transaction; retry if the connection was cut before anything was changed."""
    end = time.monotonic() + AGAIN_SECONDS
    while True:
        try:
            return act()
        except CutError:
            if time.monotonic() > end:
                raise
