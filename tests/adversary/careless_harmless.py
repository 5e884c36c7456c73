"""Odd and sound: certified where the claim is true, and never refuted."""

import functools
from fractions import Fraction
from typing import ClassVar

import numpy as np
from careless import Author

from mechanisms.subject import View


class InPlace(Author):
    """Sorts the data in place: it has a copy.  The certificate says that it writes to it."""

    verdict: ClassVar[str] = "CERTIFIED"
    why: ClassVar[str] = "writes to the data"

    def play(self, data, noise, coins):
        data.sort(axis=0)
        return super().play(data, noise, coins)


class NotMissing(Author):
    """Shows how many values are no NaN: there is none, since what is missing was replaced before."""

    verdict: ClassVar[str] = "CERTIFIED"

    def play(self, data, noise, coins):
        there = np.isfinite(data[:, 0]).sum()
        return View(public={"mean": self.noisy(data, noise) / there, "n": np.array([there])})


class TextLabel(Author):
    """Names the unit of the sum in a text."""

    verdict: ClassVar[str] = "CERTIFIED"

    def play(self, data, noise, coins):
        return View(public={"sum": self.noisy(data, noise), "unit": np.array("EUR")})


class ObjectLabel(Author):
    """Names it in an array of objects."""

    verdict: ClassVar[str] = "CERTIFIED"

    def play(self, data, noise, coins):
        label = np.array(["EUR", None, 3, 0.5], dtype=object)
        return View(public={"sum": self.noisy(data, noise), "label": label})


class MaskedNoise(Author):
    """Hides noisy numbers by a mask that the noisy numbers make: nothing exact is behind it."""

    verdict: ClassVar[str] = "CERTIFIED"

    def play(self, data, noise, coins):
        noisy = self.noisy(data, noise)
        return View(public={"sum": np.ma.array(noisy, mask=noisy < 500)})


class PlainNumbers(Author):
    """Shows Python's own number and text."""

    verdict: ClassVar[str] = "CERTIFIED"

    def play(self, data, noise, coins):
        return View(public={"sum": int(self.noisy(data, noise)[0]), "unit": "EUR"})


class Silent(Author):
    """Draws and shows nothing of it: 0-DP, whatever its proof says."""

    verdict: ClassVar[str] = "CERTIFIED"

    def play(self, data, noise, coins):
        self.noisy(data, noise)
        return View(public={"done": np.array([1])})


class SilentBeyondItsProof(Silent):
    """The same with too little noise for the claim: not proved, and not refuted."""

    verdict: ClassVar[str] = "UNPROVEN"
    scale: Fraction = Fraction(50)


class Coarse(Author):
    """Shows a sign that is hardly ever another: its releases alone would refute the claim."""

    verdict: ClassVar[str] = "UNPROVEN"
    scale: Fraction = Fraction(50)

    def play(self, data, noise, coins):
        return View(public={"sign": np.sign(self.noisy(data, noise) - 10**6)})


@functools.cache
def _table(size):
    return np.sqrt(np.arange(size))


class PublicCache(Author):
    """Caches a table of public numbers in its module."""

    verdict: ClassVar[str] = "CERTIFIED"

    def play(self, data, noise, coins):
        return View(public={"sum": self.noisy(data, noise), "table": _table(4)})


class HashedOrder(Author):
    """Orders its parts by a set of public names: another order in another process, the data has no say."""

    verdict: ClassVar[str] = "CERTIFIED"

    def play(self, data, noise, coins):
        names = {name: np.array([i]) for i, name in enumerate({"north", "south", "east"})}
        return View(public={"sum": self.noisy(data, noise), **names})


class Reported(Author):
    """Reports what the view says."""

    verdict: ClassVar[str] = "CERTIFIED"

    def report(self, view):
        return {"sum": int(view.public["sum"][0]), "per_row": float(view.public["sum"][0]) / self.rows}


class CopiesOfItself(Author):
    """Keeps what it needs for the run in the instance, from its first line to its last."""

    verdict: ClassVar[str] = "CERTIFIED"

    def play(self, data, noise, coins):
        object.__setattr__(self, "now", self.total(data))
        return View(public={"sum": noise.noisy("sum", 0, self.now)})
