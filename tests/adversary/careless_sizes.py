"""Careless where rows come and go: something depends on how many there are, or on how many share a cell."""

from typing import ClassVar

import numpy as np
from careless import Cells, Guests

from dpaccount.proof import ADD_REMOVE
from mechanisms.subject import View


class EnoughRows(Guests):
    """Shows nothing where fewer than thirty people came."""

    def play(self, data, noise, coins):
        noisy = self.noisy(data, noise)
        return View(public={"sum": noisy if len(data) >= 30 else np.array([-1])})


class Reliable(Guests):
    """Says whether the sum is reliable: its smallest number of rows is a parameter."""

    minimum: int = 25

    def play(self, data, noise, coins):
        return View(
            public={"sum": self.noisy(data, noise), "reliable": np.array([self.minimum <= len(data)])}
        )


class Pages(Guests):
    """Shows an empty line for every page of forty rows."""

    def play(self, data, noise, coins):
        return View(public={"sum": self.noisy(data, noise), "pages": np.zeros(-(-len(data) // 40))})


class WholeBatches(Guests):
    """Leaves out the last rows, which fill no batch of sixteen."""

    def total(self, data):
        return super().total(data[: len(data) // 16 * 16])


class ThirdOfTheRoom(Guests):
    """Opens a second room, and says so, above a third of the places."""

    def play(self, data, noise, coins):
        rooms = 1 + (len(data) > self.rows // 3)
        return View(public={"sum": self.noisy(data, noise), "rooms": np.array([rooms])})


class PowerOfTwo(Guests):
    """Says which transform was used: a fast one where the number of rows is a power of two."""

    def play(self, data, noise, coins):
        n = len(data)
        kind = "radix-2" if n and n & (n - 1) == 0 else "general"
        return View(public={"sum": self.noisy(data, noise), "transform": np.array(kind)})


class Digits(Guests):
    """Rounds to as many digits as the number of rows has."""

    rows: int = 150

    def play(self, data, noise, coins):
        step = 10 ** len(str(len(data)))
        return View(public={"sum": np.round(self.noisy(data, noise) / step) * step})


class SmallCellsHidden(Cells):
    """Sets counts below eleven to 0 before the noise."""

    relation: ClassVar[str] = ADD_REMOVE
    promise: ClassVar[dict] = {"relation": ADD_REMOVE}

    def counts(self, data):
        counts = super().counts(data)
        return np.where(counts < 11, 0, counts)


class RoundedCells(Cells):
    """Rounds counts to multiples of five before the noise."""

    def counts(self, data):
        return (super().counts(data) + 2) // 5 * 5


class MergedCells(Cells):
    """Adds a cell of fewer than seven to the next one, where it is better protected."""

    def counts(self, data):
        counts = super().counts(data)
        for cell in range(self.cells - 1):
            if 0 < counts[cell] < 7:
                counts[cell + 1], counts[cell] = counts[cell + 1] + counts[cell], 0
        return counts


class FullCell(Cells):
    """Warns where a cell has more than forty of its hundred people."""

    def play(self, data, noise, coins):
        full = (self.counts(data) > 40).any()
        return View(public={**super().play(data, noise, coins).public, "crowded": np.array([full])})


class WholeYears(Guests):
    """Says whether the weeks are whole years."""

    rows: int = 120

    def play(self, data, noise, coins):
        whole = len(data) > 0 and len(data) % 52 == 0
        return View(public={"sum": self.noisy(data, noise), "whole": np.array([whole])})


class LargeEnough(Guests):
    """Publishes a breakdown, here an empty table, where more than 730 came."""

    rows: int = 2000

    def play(self, data, noise, coins):
        table = np.zeros((4 if len(data) > 730 else 0, 2))
        return View(public={"sum": self.noisy(data, noise), "breakdown": table})


class Scaled(Guests):
    """Scales the sum up to the room's hundred places."""

    def total(self, data):
        return super().total(data) * self.rows // max(len(data), 1)


class FailsWhenEmptyish(Guests):
    """Fails with fewer than six rows, for want of degrees of freedom."""

    def play(self, data, noise, coins):
        if len(data) < 6:
            raise ValueError("too few degrees of freedom")
        return super().play(data, noise, coins)


class Halves(Guests):
    """Compares the first half of the rows with the second: shows which is larger by a row count."""

    minimum_share: ClassVar[float] = 0.45

    def play(self, data, noise, coins):
        large = data[:, 0] > 50
        enough = large.sum() >= self.minimum_share * max(len(data), 1)
        return View(public={"sum": self.noisy(data, noise), "enough": np.array([enough])})
