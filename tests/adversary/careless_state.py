"""Careless: something of an earlier run is still there in a later one."""

import contextvars
import functools
import os
import sys
import threading
import weakref
from datetime import UTC, datetime
from typing import ClassVar

import numpy as np
from careless import Author

from mechanisms.subject import View


@functools.cache
def _axis(columns):
    return {}


class CachedRange(Author):
    """Takes the range of a plot's axis from the first data that it sees, in a cache of the module."""

    why: ClassVar[str] = "runs before it"

    def play(self, data, noise, coins):
        axis = _axis(data.shape[1])
        axis.setdefault("high", data.max())
        return View(public={"sum": self.noisy(data, noise), "axis": np.array([axis["high"]])})


class RunningMaximum(Author):
    """Remembers the largest values of all in a list that belongs to the class."""

    largest: ClassVar[list] = []

    def play(self, data, noise, coins):
        if len(self.largest) < 2:
            self.largest.extend(data[:, 0].tolist())
        return View(public={"sum": self.noisy(data, noise), "capacity": np.array([max(self.largest)])})


def _smoothed(value, seen=[]):  # noqa: B006  # the mistake
    seen.append(value)
    return float(np.mean(seen[:3]))


class DefaultArgument(Author):
    """Smooths the mean over the first runs, in the default value of an argument."""

    def play(self, data, noise, coins):
        return View(public={"sum": self.noisy(data, noise), "trend": np.array([_smoothed(data.mean())])})


def _tracker():
    best = []

    def track(value):
        best[:] = best or [value]
        return best[0]

    return track


_track = _tracker()


class Closure(Author):
    """Keeps the first maximum in a closure."""

    def play(self, data, noise, coins):
        return View(public={"sum": self.noisy(data, noise), "unit": np.array([_track(data.max())])})


_local = threading.local()


class ThreadLocal(Author):
    """Keeps the first minimum for each thread."""

    def play(self, data, noise, coins):
        _local.low = getattr(_local, "low", data.min())
        return View(public={"sum": self.noisy(data, noise), "low": np.array([_local.low])})


_context = contextvars.ContextVar("mean")


class ContextVariable(Author):
    """Keeps the first mean in a context variable, to scale later runs by it."""

    def play(self, data, noise, coins):
        if _context.get(None) is None:
            _context.set(data.mean())
        return View(public={"sum": self.noisy(data, noise), "scale": np.array([_context.get()])})


class Environment(Author):
    """Hands the range on to child processes in the environment, and reads it back."""

    def play(self, data, noise, coins):
        os.environ.setdefault("CARELESS_HIGH", str(data.max()))
        return View(public={"sum": self.noisy(data, noise), "high": np.array(os.environ["CARELESS_HIGH"])})


class ForeignModule(Author):
    """Leaves its maximum in somebody else's module."""

    def play(self, data, noise, coins):
        holder = sys.modules["json"]
        holder.careless_high = getattr(holder, "careless_high", data.max())
        return View(public={"sum": self.noisy(data, noise), "high": np.array([holder.careless_high])})


_weak = weakref.WeakKeyDictionary()


class WeakKeys(Author):
    """Keeps a first value in a weak table under its class, which never goes away."""

    def play(self, data, noise, coins):
        first = _weak.setdefault(type(self), float(data[0, 0]))
        return View(public={"sum": self.noisy(data, noise), "first": np.array([first])})


_data = {}


class CachedMethod(Author):
    """Caches a method on an instance that equals every other of the same parameters."""

    @functools.lru_cache  # noqa: B019  # the mistake
    def spread(self):
        return float(np.ptp(_data["now"]))

    def play(self, data, noise, coins):
        _data["now"] = data
        return View(public={"sum": self.noisy(data, noise), "spread": np.array([self.spread()])})


_count = [0]


class EveryFiftieth(Author):
    """Shows the exact sum every 50th time, to see how well it does."""

    def play(self, data, noise, coins):
        _count[0] += 1
        shown = self.total(data) if _count[0] % 50 == 0 else self.noisy(data, noise) * 0
        self.noisy(data, noise) if _count[0] % 50 == 0 else None
        return View(public={"sum": shown})


_warm = []


class FirstRun(Author):
    """Shows the exact sum the first time that a process runs it, to calibrate a display."""

    def play(self, data, noise, coins):
        noisy = self.noisy(data, noise)
        _warm.append(1)
        return View(public={"sum": self.total(data) if len(_warm) == 1 else noisy})


_rng = np.random.default_rng(7)


class SharedGenerator(Author):
    """Adds jitter from a generator of the module that has moved on by as much as there were large rows."""

    def play(self, data, noise, coins):
        _rng.random(int((data > 50).sum()))
        return View(public={"sum": self.noisy(data, noise), "jitter": np.array([_rng.random()])})


class KeepsForReport(Author):
    """Keeps exact figures in the instance for its report: a relative error and the oldest."""

    why: ClassVar[str] = "what play kept"

    def play(self, data, noise, coins):
        noisy = self.noisy(data, noise)
        object.__setattr__(self, "summary", {"error": int(noisy[0] - self.total(data)[0]), "top": data.max()})
        return View(public={"sum": noisy})

    def report(self, view):
        return self.summary


_summary = {}


class KeepsForReportElsewhere(Author):
    """The same, in a table of the module."""

    why: ClassVar[str] = "the report"

    def play(self, data, noise, coins):
        _summary["top"] = float(data.max())
        return View(public={"sum": self.noisy(data, noise)})

    def report(self, view):
        return {"sum": int(view.public["sum"][0]), **_summary}


class ReaderRemembers(Author):
    """The reader drops rows and the report says how many: what reads never reports, so it fails always."""

    verdict: ClassVar[str] = "wrong request"
    why: ClassVar[str] = "dropped"

    def read(self, path):
        object.__setattr__(self, "dropped", 3)
        return np.zeros((self.rows, 1))

    def report(self, view):
        return {"sum": int(view.public["sum"][0]), "left_out": self.dropped}

    def evaluate(self, data, view, coins):
        return {}


class ReportsOwn(Author):
    """Reports what belongs to single units: a count of the rows above a line."""

    def play(self, data, noise, coins):
        above = (data[:, 0] > 50).astype(np.int64)
        return View(own={"above": above}, public={"sum": self.noisy(data, noise)})

    def report(self, view):
        return {"above": int(view.own["above"].sum())}


class LocalMonth(Author):
    """Counts a visit more where its month is another one by the machine's clock: nowhere here, but elsewhere."""

    highest: ClassVar[float] = 31_536_000.0
    why: ClassVar[str] = "with TZ=Pacific/Auckland"

    def total(self, data):
        at = data[:, 0].astype(np.int64).tolist()
        months = [{datetime.fromtimestamp(each, zone).month for zone in (UTC, None)} for each in at]
        return np.array([sum(10 if len(each) == 1 else 120 for each in months)])
