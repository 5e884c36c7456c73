"""What charges cost, computed in processes of their own: few at once, one of each token, while it waits."""

import asyncio
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from asyncio import Lock, Semaphore
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Timer
from typing import Any, Final
from weakref import WeakValueDictionary

from dpaccount import proof
from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from dpaccount.ledger import requests
from dpaccount.ledger.balances.budget import Budget
from dpaccount.ledger.balances.step_functions import Cover
from dpaccount.ledger.requests import Request
from dpaccount.plan.plan_file import read_plan
from service.access import NotAllowedError

AT_ONCE: Final = 2  #: processes
WAITING: Final = 64  #: requests of one token; others are asked to come again
SECONDS: Final = 30.0  #: for which one price is computed
#: whose price is a formula: events of a plan, rules of a theorem
EVENTS: Final = {"pure", "laplace", "discrete_laplace", "gaussian", "gdp", "zcdp", "approximate"}
RULES: Final = {"assume_clipped", "assume_cell", "linear", "laplace"}
FEW: Final = 4  #: of them, each on a range of units
MOST_PLAIN: Final = 2000  #: bytes of their JSON
KEPT: Final = 16  #: prices of what was asked last


@dataclass(frozen=True)
class Priceable:
    """A plan or theorem as JSON, for a method of `Ledger` with this budget; what is equal has one price."""

    budget: Budget
    call: str
    text: bytes
    units: tuple[Cover, ...] | None = None
    rounds: int | None = None
    cover: Cover | None = None
    reads: int | None = None

    @property
    def plain(self) -> bool:
        """Return whether it is a few draws of noise with formulas, computed sooner than passed on."""
        if len(self.text) > MOST_PLAIN:
            return False
        try:
            said = json.loads(self.text)
            parts, name, known = said, "rule", RULES
            if self.call != "charge_theorem":
                parts, name, known = said["events"], "event", EVENTS
            return len(parts) * len(self.units or "1") <= FEW and known.issuperset(one[name] for one in parts)
        except (LookupError, TypeError, ValueError, RecursionError):
            return False


@lru_cache(KEPT)
def price(asked: Priceable) -> Request:
    """Return the request to charge it, whose purpose is not said yet; raises as `Ledger` does."""
    if asked.call == "charge_theorem":
        theorem = proof.read(json.loads(asked.text))
        return requests.of_theorem(asked.budget, theorem, "price", asked.cover, asked.reads)
    plan = read_plan(parse_json(asked.text, "plan"))
    if asked.call == "reserve_plan":
        return requests.of_rounds(asked.budget, plan, asked.rounds, "price", None)
    plan = plan if asked.units is None else requests.for_units(plan, list(asked.units))
    return requests.of_plan(asked.budget, plan, "price")


class PriceWorker:
    """A process that computes prices one after another, behind all that answers at once.

    It writes nothing into the log, also where the service is killed while it begins.
    """

    def __init__(self) -> None:
        code = f"import sys; sys.path[:] = {sys.path!r}; from service.pricing import work; work()"
        self._ended = False
        words, pipe = [sys.executable, "-c", code], subprocess.PIPE
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)

    def does(self, asked: Priceable) -> Request:
        """Return a price; raises `InputError` for one that takes too long, `EOFError` if it has ended."""
        there: Any = self._process.stdin
        back: Any = self._process.stdout
        end, alarm = time.monotonic() + SECONDS, Timer(SECONDS, self.end)
        alarm.start()
        try:
            pickle.dump(asked, there)
            there.flush()
            found: Request | Exception = pickle.load(back)  # noqa: S301 - of our own process
        except (EOFError, OSError, pickle.UnpicklingError):
            back.close()
            with suppress(OSError):  # what it was not given
                there.close()
            if time.monotonic() < end:
                raise EOFError from None
            found = InputError(
                "the charge takes too long to be priced here", "charge it on the ledger itself"
            )
        finally:
            alarm.cancel()
        if isinstance(found, Exception):
            raise found
        return found

    def end(self) -> None:
        """End the process, whatever it computes."""
        self._ended = True  # also while the system still ends it
        self._process.kill()
        self._process.wait()

    @property
    def lives(self) -> bool:
        """Return whether it can be asked again."""
        return not self._ended and self._process.poll() is None


def work() -> None:
    """Answer a `PriceWorker` until it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service ends it
    getattr(os, "nice", int)(5)  # Windows has none
    with suppress(EOFError, OSError):
        while True:
            asked: Priceable = pickle.load(sys.stdin.buffer)  # noqa: S301
            found: Request | Exception
            try:
                found = price(asked)
            except Exception as error:
                found = error
            pickle.dump(found, sys.stdout.buffer)
            sys.stdout.flush()


class Prices:
    """The queue of what is to be priced."""

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[str, Lock] = WeakValueDictionary()
        self._waiting: Counter[str] = Counter()
        self._free, self._threads = Semaphore(AT_ONCE), ThreadPoolExecutor(AT_ONCE)

    async def of(
        self, who: str, asked: Priceable, then: Callable[[Request], Awaitable[Any]] | None = None
    ) -> Any:
        """Return a price in its token's turn, or what is `then` done with it.

        If the task is cancelled, nothing computes it any more.
        """
        if asked.plain and then is None:
            return await self._found(asked)
        if self._waiting[who] >= WAITING:
            raise NotAllowedError(503, f"{WAITING} charges of this token wait for their price; ask again")
        self._waiting[who] += 1
        try:
            turn = self._turns.setdefault(who, Lock())
            async with turn:
                found = await self._found(asked)
                return found if then is None else await then(found)
        finally:
            self._waiting -= Counter([who])

    async def _found(self, asked: Priceable) -> Request:
        if asked.plain:
            return replace(await asyncio.to_thread(price, asked), asked=time.monotonic())
        async with self._free:
            return await self._computed(asked)

    async def _computed(self, asked: Priceable) -> Request:
        worker = next(
            filter(lambda one: one.lives, iter(lambda: _IDLE.pop() if _IDLE else PriceWorker(), None))
        )
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._threads, worker.does, asked)
            return replace(found, asked=time.monotonic())
        except (EOFError, OSError):
            worker.end()
            raise NotAllowedError(503, "the price could not be computed; ask again") from None
        except asyncio.CancelledError:
            worker.end()
            raise
        finally:
            if worker.lives:
                _IDLE.append(worker)


_IDLE: Final[list[PriceWorker]] = []  #: processes that wait
