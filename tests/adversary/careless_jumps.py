"""Careless far from any neighbour that one would write down: a query jumps where something exact passes a line."""

from fractions import Fraction
from typing import ClassVar

import numpy as np
from careless import Author, Cells, Survey

from dpaccount.proof import assume_clipped, laplace, linear
from mechanisms.subject import View, shown_to_all


class ShortIntegers(Author):
    """Adds up in 16 bits, which wrap."""

    rows: int = 1500

    def total(self, data):
        return np.array([np.floor(data[:, 0]).astype(np.int16).sum(dtype=np.int16)]).astype(np.int64)


class ByteCounts(Cells):
    """Counts in bytes."""

    rows: int = 400

    def counts(self, data):
        return super().counts(data).astype(np.uint8).astype(np.int64)


class SmallShares(Cells):
    """Sets cells with fewer than one in twenty to 0 before the noise."""

    rows: int = 300

    def counts(self, data):
        counts = super().counts(data)
        return np.where(counts < 0.05 * len(data), 0, counts)


class LargestOnly(Cells):
    """Keeps the count of the largest cell, and no other."""

    rows: int = 90

    def counts(self, data):
        counts = super().counts(data)
        return np.where(counts == counts.max(), counts, 0)


class AboveTheMedian(Author):
    """Adds up what is above the median."""

    rows: int = 41

    def total(self, data):
        x = np.floor(data[:, 0])
        return np.array([int(x[x > np.median(x)].sum())])


class Recalibrated(Author):
    """Takes 5000 off where the mean is above 62.5: the scale must have been set wrong."""

    rows: int = 200

    def total(self, data):
        found = super().total(data)
        return found - 5000 * (data[:, 0].mean() > 62.5)


class SingleFloats(Author):
    """Adds up in single precision."""

    highest: ClassVar[float] = 99999.0
    scale: Fraction = Fraction(200000)
    rows: int = 400

    def proof(self, delta):
        row = assume_clipped("sum", Fraction(0), Fraction(99999), self.relation, "movement")
        return shown_to_all(laplace(linear(row), self.scale, Fraction(1), "sum"), "careless-jumps", delta)

    def total(self, data):
        whole = np.floor(data[:, 0]).astype(np.float32)
        return np.array([int(whole.sum(dtype=np.float32))])


class Crowded(Author):
    """Adds 700 once more than three in eight are above the middle."""

    rows: int = 120

    def total(self, data):
        crowded = (data[:, 0] > 50).mean() > 0.375
        return super().total(data) + 700 * crowded


class TooAlike(Author):
    """Takes numbers that hardly differ for a broken instrument's, and counts them as half."""

    rows: int = 50

    def total(self, data):
        return super().total(data) // (2 if data[:, 0].std() < 4 else 1)


class FifthLargest(Author):
    """Cuts all at the fifth largest."""

    rows: int = 60

    def total(self, data):
        x = np.floor(data[:, 0])
        return np.array([int(np.minimum(x, np.sort(x)[-5]).sum())])


class Product32(Author):
    """Multiplies by 20,000 in 32 bits on the way."""

    rows: int = 1200

    def total(self, data):
        scaled = super().total(data).astype(np.int32) * np.int32(20000)
        return scaled.astype(np.int64) // 20000


class DriftCorrected(Author):
    """Takes the first quarter's mean off the last quarter where they differ by more than 40."""

    rows: int = 80

    def total(self, data):
        x, quarter = np.floor(data[:, 0]), self.rows // 4
        drift = x[-quarter:].mean() - x[:quarter].mean()
        return np.array([int(x.sum() - (quarter * drift if drift > 40 else 0))])


class CorrelatedColumns(Survey):
    """Leaves a column out that is almost a copy of the other."""

    box: ClassVar[tuple] = ((0, 50, False), (0, 50, False))
    rows: int = 60

    def total(self, data):
        x, y = np.floor(data[:, 0]), np.floor(data[:, 1])
        spread = x.std() * y.std()
        copy = spread > 0 and ((x - x.mean()) * (y - y.mean())).mean() / spread > 0.9
        return np.array([int(x.sum() + (0 if copy else y.sum()))])


class Quarantine(Author):
    """Leaves out everything above the line once a tenth is above it."""

    rows: int = 200

    def total(self, data):
        x = np.floor(data[:, 0])
        return np.array([int(x[x <= 90].sum() if (x > 90).mean() >= 0.1 else x.sum())])


class SharesShown(Cells):
    """Shows which cells have more than one in seven."""

    rows: int = 210

    def play(self, data, noise, coins):
        large = self.counts(data) > len(data) / 7
        return View(public={**super().play(data, noise, coins).public, "large": large})


class MeanOfSquares(Author):
    """Halves all where the root of the mean square exceeds 70."""

    rows: int = 100

    def total(self, data):
        x = np.floor(data[:, 0])
        size = np.sqrt((x**2).mean())
        return np.array([int(x.sum()) // (2 if size > 70 else 1)])
