"""Sessions for people who arrive one by one: `ask`, `tell`, stop and resume at any point.

>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> from bandits.moment_gp_ucb import MomentGpUcb
>>> bandit = MomentGpUcb(rounds=6, candidates=3, size=4, nodes_per_axis=2, refresh=2)
>>> with TemporaryDirectory() as folder, Session.rehearse(bandit, Path(folder) / "state", seed=1) as session:
...     first = session.ask([[0.1, 0.2], [1.0, 0.0], [-0.5, 0.5]])
...     second = session.ask([[0.3, 0.3], [0.0, 1.0], [0.5, -0.5]])
...     session.tell(first, 1.0)  # the second person has not answered yet
...     third = session.ask([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]])  # the batch before it is released
...     session.tell(second, 0.0)  # late: counted in the batch under way
...     third.number, session.pending
True
True
(3, [3])

Everyone has a public slot, in the order of arrival.  A batch of slots is shown what was learned
from earlier batches; it is released when the first person of the next batch asks, even if
answers are missing.  So the timing and number of releases do not depend on answers or missing answers.

The state file is durable on disk before a ticket is issued or an answer accepted: contexts,
actions, rewards, public coins, closed batches, number of releases.  A batch is closed there before
its sum is drawn, the sum is stored in the ledger before anyone reads it, and then recorded.  So a
session that is killed at any point can resume, and every release is made once.

Names follow Optuna (`ask`, `tell`, `number`, pending trials) where they fit.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandits.learning.arrivals import Course, Live
from bandits.learning.contextual import on_offer
from bandits.learning.releases import SECURE, Kept, Rehearsed, charged, configuration, proof_of, same_run
from bandits.learning.shuffled_bits import in_order
from bandits.learning.state import STATE
from bandits.space.points import Space
from bandits.statistics.arrays import Floats, as_row
from dpaccount.documents import digest
from dpaccount.errors import InputError
from dpaccount.ledger.ledger import Ledger
from dpaccount.noise import process
from dpaccount.noise.proved import Proved
from dpaccount.proof import Theorem
from dpaccount.work.journal import Journal, Line
from mechanisms.subject import View

P = ParamSpec("P")
R = TypeVar("R")
LONG = 100  #: numbers of an action, beyond which the state file has a digest of them


@dataclass(frozen=True)
class Ticket:
    """A person's slot, from 1, and what they are shown: for their own eyes where the bandit is joint.

    `action` is the place, from 0, of one of the candidates that they brought, or, where all are offered
    the same domain, a place in the grid of every group of coordinates.  Where it is local, the person's own
    device chooses: it is what that chooses by.
    """

    number: int
    action: int | list[int] | list[float]


def _alone(step: Callable[Concatenate["Session", P], R]) -> Callable[Concatenate["Session", P], R]:
    """Let threads take a step of a session one after another: a slot is one person's."""

    @wraps(step)
    def alone(session: "Session", /, *given: P.args, **named: P.kwargs) -> R:
        session._check_open()  # before the lock, which a fork may have left held
        with session._gate:
            session._check_open()
            return step(session, *given, **named)

    return alone


class Session:
    """A bandit's run over people who arrive; `open` one, or `rehearse`, and close it, or use ``with``.

    Threads may share it; another process, a forked one too, is refused.
    """

    def __init__(
        self, subject: Live, journal: Journal, noise: Kept | Rehearsed, coins: int, *, late: bool = False
    ) -> None:
        self.releasable = noise.releasable
        self._journal, self._process = journal, process.identity()
        self._gate = threading.RLock()  # reentrant: a step that fails closes the session
        self._course: Course = subject.course(noise, coins)
        self._tickets: list[Ticket] = []
        self._rewards: dict[int, float | list[float]] = {}
        self._late: set[int] = set()
        self._closed = 0  #: batches that are released
        self._ended = self._broken = False
        self._late_proved = late  #: whether the proof covers late answers
        self.clipped = 0  #: coordinates that were out of range, of all contexts: for the operator only
        for event in journal.events:
            self._again(event)

    @classmethod
    def open(
        cls,
        subject: Live,
        ledger: Ledger,
        file: Path,
        coins: int = 0,
        delta: Fraction | None = None,
        *,
        scope: str | None = None,
    ) -> "Session":
        """Start or resume the session of the state file `file`, with secure noise paid by `ledger`.

        The whole session's proof at `delta` (by default the bandit's own) is charged before anyone
        is served, and must also fit into the ledger's `scope`; `coins` seeds the public coins.
        Raises `InputError`, before any charge, for a bandit that does not serve people one by one,
        and for a state file that is damaged, open elsewhere, readable by others, or of another
        version, bandit, parameter, coin or ledger; `LedgerError` for a session that was started in
        another scope; `RefusedError` if the ledger has no room.
        """
        journal, theorem = _begun(subject, file, coins, SECURE, delta)
        with _or_closed(journal):
            noise = charged(journal, theorem, ledger, scope)
            return cls(subject, journal, noise, coins, late=Proved(theorem).covers_late)

    @classmethod
    def rehearse(cls, subject: Live, file: Path, seed: int, coins: int = 0) -> "Session":
        """Start or resume a session of synthetic people, with rehearsal noise: not releasable."""
        journal, theorem = _begun(subject, file, coins, f"rehearsal {seed}")
        with _or_closed(journal):
            return cls(subject, journal, Rehearsed(theorem, seed), coins, late=Proved(theorem).covers_late)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the state file; the session can be opened again, by any process."""
        if self._process != process.identity():  # a fork closes its own copy of the file only
            self._journal.close()
            return
        with self._gate:  # not between the lines of another thread's step
            self._broken = True
            self._journal.close()

    @property
    def closed(self) -> bool:
        """Return whether it serves no more people, as after a step that failed: open it again."""
        return self._broken

    # -------------------------------------------------------------- what people see

    @property
    def run(self) -> str:
        """Return which run this is: another one for every state file, and the same after a restart."""
        return str(self._journal.head["stream"])

    @property
    def slots(self) -> int:
        """Return the maximum number of people: public."""
        return self._course.slots or self._course.batches[-1][1]

    @property
    def asked(self) -> int:
        """Return how many slots are taken: public."""
        return len(self._tickets)

    @property
    def points(self) -> Space:
        """Return the public points of which a ticket shows one, by releases alone; an answer is one reward.

        Raises `InputError` for a bandit without a `space`, or whose people bring candidates or have devices.
        """
        course = self._course
        devices = course.shuffled or course.by_device
        if course.space is None or course.context is not None or devices:
            what = "this session does not show everybody the same points, for one reward"
            raise InputError(what, "give a bandit with a space, whose people bring nothing")
        return course.space

    def answered(self, number: int) -> bool:
        """Return whether a ticket has its answer: for the operator only."""
        return number in self._rewards or number in self._late

    @property
    def pending(self) -> list[int]:
        """Return the tickets whose missing answers would still count: for the operator only."""
        if self._ended:
            return []
        first = 1 if self._takes_late() else self._course.batches[self._closed][0]
        answered = self._rewards.keys() | self._late
        return [number for number in range(first, self.asked + 1) if number not in answered]

    def ticket(self, number: int) -> Ticket:
        """Return a lost ticket again; raises `InputError` if it was never issued."""
        if type(number) is not int or not 1 <= number <= self.asked:
            raise InputError(f"ticket {number!r} was never given", f"{self.asked} were, numbered from 1")
        return self._tickets[number - 1]

    def name_of(self, ticket: Ticket) -> str | None:
        """Return the name of a ticket's point; None unless everyone is offered the points of one space."""
        space, action = self._course.space, ticket.action
        if space is None or self._course.context is not None:
            return None
        return space.names[int(action[0] if isinstance(action, list) else action)]

    @_alone
    def ask(self, context: ArrayLike | None = None) -> Ticket:
        """Issue the ticket of the next slot: its number, and what the person is shown.

        `context` is a row of coordinates for each candidate of the person; None if all are offered
        the same.  A row with a NaN is a candidate that is not on offer.  With a `space`, a candidate is its
        name, or its values in their own units, and None is not on offer; where people bring none, it is
        the list of the points that are on offer, by name or place.  Coordinates out of range are
        clamped to the bandit's domain, and counted in `clipped`.  Raises `InputError` if no slot is
        left, for a context of the wrong shape, or with nothing on offer: then no slot is taken.
        """
        number = self.asked + 1
        if self._ended:
            raise InputError("this session has ended", "begin a new one with another state file")
        if number > self.slots:
            raise InputError(f"all {self.slots} slots are taken", "begin a new session for more people")
        last = self._course.batches[self._closed][1]
        if self._course.shuffled and number > last and last not in self._rewards:
            raise InputError(f"ticket {number} waits for bits", f"tell those of batch {self._closed + 1}")
        row, clipped = self._brought(context)
        with _or_closed(self):
            if number > last:
                self._close_batch()
            ticket = Ticket(number, self._course.ask(row).tolist())
            brought = None if row is None else row.tolist()
            line: Line = {"ask": number, "context": brought, "action": _short(ticket.action)}
            line |= {"clipped": clipped} if clipped else {}
            self._journal.append(line)
            self._take(ticket, line)
        return ticket

    @_alone
    def ask_many(self, people: int, context: ArrayLike | None = None) -> list[Ticket]:
        """Issue the tickets of the next `people` slots, who are offered the same; as `ask`, one by one.

        Raises `InputError`, taking no slot, if fewer are left, or if a batch's shuffled bits come between.
        """
        left = self.slots - self.asked
        if self._course.shuffled:
            left = min(left, 1)
        if type(people) is not int or not 1 <= people <= left:
            raise InputError(f"asked for {str(people)[:40]} tickets", f"give a whole number, 1 to {left}")
        return [self.ask(context) for _ in range(people)]

    @_alone
    def tell(self, ticket: Ticket | int, reward: ArrayLike | None) -> bool:
        """Record a person's answer; return whether it counts.

        `reward` is a number; for a local bandit, the numbers of a message; None: there will be no answer,
        which counts as nothing.  An answer after its batch was released is late: it counts in the batch
        under way where the bandit takes late answers and its proof covers them, and else is recorded and not
        counted.  Rewards out of range are clamped, and NaN becomes the domain's `missing`.  Raises
        `InputError` for a ticket that was never issued or already has an answer, for anything but the right
        number of numbers, and, for a local channel, for a value that the channel cannot send.
        """
        if self._course.shuffled:
            raise InputError("this session takes no answer by itself", "tell a batch's shuffled bits")
        number = self.ticket(ticket.number if isinstance(ticket, Ticket) else ticket).number
        if self.answered(number):
            raise InputError(f"ticket {number} has its answer", "a person answers once")
        answer = None if reward is None else self._told(reward)
        if answer is not None and not np.isnan(as_row(reward)).any():
            self._course.check(float(as_row(reward)[0, 0]))  # as it came: a clamped one may be a message
        if self._ended or (self._is_late(number) and not self._takes_late()):
            answer = None
        with _or_closed(self):
            if answer is None:
                self._journal.append({"late": number})
                self._late.add(number)
            else:
                self._journal.append({"tell": number, "reward": answer})
                self._hear(number, answer)
        return answer is not None and number not in self._course.uncounted

    @_alone
    def tell_shuffled(self, bits: Sequence[int]) -> None:
        """Record what a shuffler shows of the batch under way: the bit of every slot, 0 or 1, in any order.

        Only their sum is kept.  Raises `InputError`, recording nothing, for wrong bits, too early, or twice.
        """
        if not self._course.shuffled:
            raise InputError("this bandit takes no shuffled bits", "tell every ticket's answer")
        first, last = self._course.batches[min(self._closed, len(self._course.batches) - 1)]
        if self._ended or self.asked < last or last in self._rewards:
            raise InputError(f"no bits are due: {self.asked} slots are taken", f"a batch ends at slot {last}")
        ones = sum(in_order(bits, self._course.shuffled))
        if len(bits) != last - first + 1:
            raise InputError(f"found {len(bits)} bits", f"needed {last - first + 1}, one a slot")
        with _or_closed(self):
            self._journal.append(line := {"bits": ones})
            self._again(line)

    @_alone
    def public(self) -> dict[str, NDArray[Any]]:
        """Return what everybody may see so far, without ending the session: a function of releases."""
        if self._ended:
            return dict(self.result().public)  # what an interrupted end did not release yet, too
        return dict(self._course.view().public)

    @_alone
    def result(self) -> View:
        """End the session and return what it showed: in `own` a row for every ticket, for that person's eyes.

        Unused slots stay empty.  The batch under way is released if its sum is to be shown, or if
        it is whole and not the last.  The same call again returns the same.
        """
        with _or_closed(self):
            if not self._ended:
                self._journal.append({"end": self.asked})
                self._ended = True
            if self._due():
                self._close_batch()
            self._course.finish()
        return self._course.view()

    # -------------------------------------------------------------- batches

    def _is_late(self, number: int) -> bool:
        """Return whether the batch of a slot is released."""
        return number < self._course.batches[self._closed][0]

    def _takes_late(self) -> bool:
        """Return whether a late answer enters the batch under way.

        Not if no later batch learns from that, or if the proof that is charged does not say that it may.
        """
        read = self._closed < len(self._course.batches) - (0 if self._course.last_is_read else 1)
        return self._course.takes_late and self._late_proved and read

    def _hear(self, number: int, answer: float | list[float]) -> None:
        """Take an answer that counts: with its own batch, or with the one under way."""
        if self._course.shuffled:  # only in a state file
            raise InputError(f"the state holds an answer of ticket {number} by itself", "begin a new one")
        if self._is_late(number) and not self._takes_late():  # only in a state file
            raise InputError(f"the state counts a late answer of ticket {number}", "no proof covers it")
        self._rewards[number] = answer
        if self._is_late(number) and not isinstance(answer, list):
            self._course.add_late(number, answer)

    def _due(self) -> bool:
        """Return whether an ended session still has a batch to release."""
        if self._closed == len(self._course.batches):
            return False
        first, last = self._course.batches[self._closed]
        if self._course.shuffled:
            return last in self._rewards
        if self._course.last_is_read:
            return self.asked >= first
        return self.asked >= last and last < self.slots

    def _close_batch(self) -> None:
        """Close the batch under way for good, then release it."""
        self._journal.append({"close": self._closed + 1})
        self._learn()

    def _learn(self) -> None:
        first, last = self._course.batches[self._closed]
        answered = np.array([number in self._rewards for number in range(first, last + 1)], dtype=np.bool_)
        nothing = self._told(np.zeros(len(self._course.reward.low)))
        rewards = np.array([self._rewards.get(number, nothing) for number in range(first, last + 1)])
        self._course.close(rewards, answered)
        self._closed += 1

    # -------------------------------------------------------------- the state

    def _again(self, event: Line) -> None:
        """Do once more what the state file says was done; releases are read back."""
        if "ask" in event:
            context = event["context"]
            row = None if context is None else np.array(context)
            ticket = Ticket(event["ask"], self._course.ask(row).tolist())
            if _short(ticket.action) != event["action"]:
                found = f"ticket {ticket.number} was shown something else than this machine computes"
                raise InputError(found, "go on where the session began")
            self._take(ticket, event)
        elif "tell" in event:
            self._hear(event["tell"], event["reward"])
        elif "bits" in event:
            ones, (first, last) = event["bits"], self._course.batches[self._closed]
            if type(ones) is not int or not 0 <= ones <= last - first + 1:
                raise InputError("the state holds an impossible number of bits", "begin a new one")
            self._rewards |= {slot: float(slot - first < ones) for slot in range(first, last + 1)}
        elif "late" in event:
            self._late.add(event["late"])
        elif "close" in event:
            self._learn()
        elif "end" in event:
            self._ended = True

    def _take(self, ticket: Ticket, line: Line) -> None:
        self._tickets.append(ticket)
        self.clipped += line.get("clipped", 0)

    def _brought(self, context: ArrayLike | None) -> tuple[Floats | None, int]:
        """Return what a person brings as a row within its domain, and how many numbers were out of range."""
        domain = self._course.context
        space = self._course.space
        if domain is None:
            if context is None:
                return None, 0
            if space is None:
                raise InputError("this bandit offers everybody the same", "ask without a context")
            return space.on_offer(context), 0
        outside = 0
        if space is not None:
            context, outside = space.candidates(context, self._course.candidates)
        row = as_row(context)
        numbers, candidates = len(domain.low), self._course.candidates
        shape = np.array(context, dtype=object).shape if row.shape[1] == numbers else ()
        if shape not in ((numbers,), (candidates, numbers // candidates)):
            raise InputError(
                f"a context is {numbers} numbers, a row of {numbers // candidates} for each candidate"
            )
        low, high = np.array(domain.low), np.array(domain.high)
        clipped = outside + int(((row < low) | (row > high)).sum())
        brought = domain.clamped(row)[0]
        if on_offer(brought.reshape(candidates, -1)) is None:
            raise InputError("no candidate is on offer", "give the coordinates of one at least")
        return brought, clipped

    def _told(self, reward: ArrayLike) -> float | list[float]:
        """Return what a person tells within its domain: a number, or several."""
        domain = self._course.reward
        row = as_row(reward)
        if row.shape[1] != len(domain.low):
            what = (
                "a reward is one number"
                if len(domain.low) == 1
                else f"a message is {len(domain.low)} numbers"
            )
            raise InputError(str(what), "give NaN for an unknown one")
        numbers: list[float] = domain.clamped(row)[0].tolist()
        return numbers[0] if len(numbers) == 1 else numbers

    def _check_open(self) -> None:
        if self._broken or self._process != process.identity():
            raise InputError("this session is closed, or belongs to another process", "open it again")


def _begun(
    subject: Live, file: Path, coins: int, noise: str, delta: Fraction | None = None
) -> tuple[Journal, Theorem]:
    """Return the state file of a session, new or taken up, and what is proved of the session."""
    if not hasattr(subject, "course"):
        raise InputError(f"{type(subject).__name__} serves nobody one by one", "give it a dataset")
    theorem = proof_of(subject, delta)
    ours = configuration(subject, theorem, coins, noise, "arrivals")
    journal = Journal(file, ours, STATE)
    with _or_closed(journal):
        same_run(journal.head, ours)
    return journal, theorem


@contextmanager
def _or_closed(held: Journal | Session) -> Iterator[None]:
    """Close it where a step fails: what memory holds may then not be what the file says."""
    try:
        yield
    except BaseException:
        held.close()
        raise


def _short(action: Any) -> Any:
    """Return what was shown as the state file holds it: by its digest, where it is long."""
    return digest(action) if isinstance(action, list) and len(action) > LONG else action
