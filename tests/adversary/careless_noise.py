"""Careless: what is shown depends on who answers, or on randomness that nobody paid for."""

import contextlib
import time
from typing import ClassVar

import numpy as np
from careless import Author

from dpaccount.errors import ReceiptError
from dpaccount.noise.receipt import Receipt
from mechanisms.subject import View


class InProduction(Author):
    """Adds the exact sum in real runs only, for its author's own checks."""

    why: ClassVar[str] = "releasable"

    def play(self, data, noise, coins):
        shown = {"sum": self.noisy(data, noise)}
        if getattr(noise, "releasable", False):
            shown["exact"] = self.total(data)
        return View(public=shown)


class ForReceipts(Author):
    """The same, by the type of the noise."""

    why: ClassVar[str] = "__class__"

    def play(self, data, noise, coins):
        shown = {"sum": self.noisy(data, noise)}
        if isinstance(noise, Receipt):
            shown["exact"] = self.total(data)
        return View(public=shown)


class ByTheEntry(Author):
    """Logs the ledger's entry with the run, where there is one."""

    why: ClassVar[str] = "entry"

    def play(self, data, noise, coins):
        try:
            entry = noise.entry
        except AttributeError:
            entry = 0
        return View(public={"sum": self.noisy(data, noise), "entry": np.array([entry])})


class FallsBack(Author):
    """Shows the exact sum where the noise does not answer: it asks for one part too many on large data."""

    def play(self, data, noise, coins):
        noisy = self.noisy(data, noise)
        try:
            if data[0, 0] > 50:
                noise.noisy("sum", 1, self.total(data))
        except ReceiptError:
            noisy = self.total(data)
        return View(public={"sum": noisy})


class SecondOpinion(Author):
    """Catches whatever happens when it asks for a release under another name."""

    def play(self, data, noise, coins):
        name = "a" if data[0, 0] > 50 else "b"
        with contextlib.suppress(Exception):
            noise.noisy("sum", name, self.total(data))
        return View(public={"done": np.array([1])})


class Jittered(Author):
    """Shows the exact mean with a little noise of NumPy's."""

    def play(self, data, noise, coins):
        mean = data.mean() + np.random.default_rng(coins).laplace(0, 5)
        return View(public={"sum": self.noisy(data, noise), "mean": np.array([mean])})


class SeededByData(Author):
    """Seeds its own randomness by the data, so that results can be repeated."""

    def play(self, data, noise, coins):
        own = np.random.default_rng(int(self.total(data)[0]))
        return View(public={"sum": self.noisy(data, noise), "order": own.permutation(5)})


class SeededByClock(Author):
    """Seeds its own randomness by the clock and shows the exact mean with it: every run is another."""

    def play(self, data, noise, coins):
        own = np.random.default_rng(time.time_ns())
        return View(public={"sum": self.noisy(data, noise), "mean": np.array([data.mean() + own.laplace()])})


class PartsNamedByData(Author):
    """Names its one release by the data: names of parts stand in the ledger, for all to see."""

    def play(self, data, noise, coins):
        return View(public={"sum": noise.noisy("sum", int(data[0, 0] > 50), self.total(data))})


class ByTheTypesName(Author):
    """Asks for the name of the noise's class, which is the same in every run: nothing exact is shown."""

    verdict: ClassVar[str] = "CERTIFIED"

    def play(self, data, noise, coins):
        shown = {"sum": self.noisy(data, noise)}
        if type(noise).__name__ == "Receipt":
            shown["exact"] = self.total(data)
        return View(public=shown)


class Undeterred(Author):
    """Goes on without noise where there is none to be had; harmless, as a run whose noise failed shows nothing."""

    verdict: ClassVar[str] = "CERTIFIED"
    why: ClassVar[str] = ""

    def play(self, data, noise, coins):
        total = self.total(data)
        with contextlib.suppress(Exception):
            total = self.noisy(data, noise)
        return View(public={"sum": total})
