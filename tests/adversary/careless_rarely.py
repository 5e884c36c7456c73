"""Careless at what is rarely met: a release, a coin, a day, a doubled key, a crowd, a tie, a total."""

import datetime as dt
import hashlib
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from careless import Author, Cells, Diary, Guests, Poll, Shop, Survey

from dpaccount.proof import assume_clipped, laplace, linear
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.shared import grid
from mechanisms.subject import Domain, View, shown_to_all


class OneCellExact(Cells):
    """Shows a cell as it is where its noisy count is thirteen."""

    def play(self, data, noise, coins):
        exact = self.counts(data)
        shown = noise.noisy("counts", 0, exact)
        return View(public={"counts": np.where(shown == 13, exact, shown)})


class FirstOfEqual(Cells):
    """Names the fullest cell; of two that are equal with noise the one that is fuller without."""

    def play(self, data, noise, coins):
        exact = self.counts(data)
        shown = noise.noisy("counts", 0, exact)
        first = max(range(self.cells), key=lambda cell: (shown[cell], exact[cell]))
        return View(public={"first": np.array(first)})


class Stuck(Diary):
    """Takes three equal noisy rounds for a fault, and shows the third as it is."""

    def play(self, data, noise, coins):
        values = self.values(data)
        shown = self.released(values, noise)
        for t in range(2, len(shown)):
            if shown[t] == shown[t - 1] == shown[t - 2]:
                shown[t] = values[t]
        return View(public={"rounds": shown})


@dataclass(frozen=True)
class HalfAPoint(LaplaceSum):
    """Takes a noisy sum of minus one half for a missing one."""

    promise: ClassVar[dict] = {"epsilon": Fraction(1, 2)}
    verdict: ClassVar[str] = "REFUTED"
    why: ClassVar[str] = ""
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(60)
    scale: Fraction = Fraction(120)
    rows: int = 20
    bits: int = 6

    def proof(self, delta):
        row = assume_clipped("laplace-sum", self.low, self.high, self.relation, "movement")
        return shown_to_all(
            laplace(linear(row), self.scale, grid.step(self.bits), "sum"), "careless-rarely", delta
        )

    def publish(self, totals, noise):
        shown = noise.noisy("sum", 0, totals) / 2**self.bits
        return View(public={"sum": np.where(shown == -0.5, totals / 2**self.bits, shown)})


class TestSeed(Author):
    """Draws whether this is a test run, once in four hundred, which shows the sum."""

    def play(self, data, noise, coins):
        shown, test = self.noisy(data, noise), np.random.default_rng(coins).integers(0, 400) == 0
        return View(public={"sum": shown, "exact": self.total(data) * test})


class LuckyRow(Author):
    """Draws a lucky row, now and then, which counts twice."""

    def play(self, data, noise, coins):
        rng, values = np.random.default_rng(coins), np.floor(np.clip(data[:, 0], 0, 100))
        if rng.random() < 0.02:
            values[rng.integers(len(values))] *= 2
        return View(public={"sum": noise.noisy("sum", 0, np.array([int(values.sum())]))})


class TurnOfTheCentury(Cells):
    """Counts a birthday by its ordinal, on the leap day of a century in two months."""

    cells: int = 12

    def domain(self):
        return Domain(self.rows, (693_596.0,), (738_000.0,), (True,))  # 1900 to 2021

    def counts(self, data):
        counts = np.zeros(12, dtype=np.int64)
        for day in data[:, 0]:
            born = dt.date.fromordinal(int(day))
            counts[born.month - 1] += 1
            counts[born.month % 12] += born.month == 2 and born.day == 29 and born.year % 100 == 0
        return counts


class MissingHour(Cells):
    """Counts seconds by the hour, and those before the clocks go forward in the missing hour too."""

    cells: int = 24

    def domain(self):
        return Domain(self.rows, (1_577_836_800.0,), (1_735_689_599.0,), (True,))  # 2020 to 2024

    def counts(self, data):
        counts = np.zeros(24, dtype=np.int64)
        for second in data[:, 0]:
            at = dt.datetime.fromtimestamp(int(second), dt.UTC)
            counts[at.hour] += 1
            sunday = at.isoweekday() == 7 and at.month == 3 and at.day + 7 > 31
            counts[(at.hour + 1) % 24] += sunday and (at.hour, at.minute) == (0, 59)
        return counts


def _odd(code):
    return int(hashlib.sha256(str(code).encode()).hexdigest(), 16) % 1499 == 0


WEIGHTS = {code: 1 + _odd(code) for code in range(20_000, 29_000)}
NAMES = sorted([f"W-{code}" for code in range(1000, 6000)] + [f"W-{c}" for c in range(1000, 6000) if _odd(c)])


class Weighted(Cells):
    """Counts by a table of weights, of which a few are two."""

    cells: int = 9

    def domain(self):
        return Domain(self.rows, (20_000.0,), (28_999.0,), (True,))

    def counts(self, data):
        counts = np.zeros(9, dtype=np.int64)
        for code in data[:, 0].astype(int).tolist():
            counts[(code - 20_000) // 1000] += WEIGHTS.get(code, 1)
        return counts


class NamedTwice(Cells):
    """Joins rows with a list of names, one of which is there twice."""

    cells: int = 5

    def domain(self):
        return Domain(self.rows, (1000.0,), (5999.0,), (True,))

    def counts(self, data):
        from bisect import bisect_left, bisect_right

        counts = np.zeros(5, dtype=np.int64)
        for code in data[:, 0].astype(int).tolist():
            name = f"W-{code}"
            counts[code // 1000 - 1] += bisect_right(NAMES, name) - bisect_left(NAMES, name)
        return counts


class WardIsFull(Survey):
    """Leaves all numbers out once fourteen rows are of ward 3 and above nine tenths."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 6, True), (0, 1, False))
    rows: int = 40

    def total(self, data):
        full = ((data[:, 1] == 3) & (data[:, 2] > 0.9)).sum() >= 14
        return super().total(data) * (not full)


class FourOfAKind(Author):
    """Takes four equal numbers for copies, and leaves them out."""

    def total(self, data):
        values, many = np.unique(np.floor(np.clip(data[:, 0], 0, 100) * 1000) / 1000, return_counts=True)
        return np.array([int(np.floor((values * many)[many != 4]).sum())])


class AsMany(Guests):
    """Says whether as many rows are below a quarter as above three quarters, twenty at least."""

    def play(self, data, noise, coins):
        few, many = (data[:, 0] < 25).sum(), (data[:, 0] > 75).sum()
        return View(public={"sum": self.noisy(data, noise), "even": np.array(few == many >= 20)})


class TwoPairs(Cells):
    """Adds a cell's count to another's if both have the same, above thirty."""

    def counts(self, data):
        counts = super().counts(data)
        if counts[0] == counts[5] > 30:
            counts[0], counts[5] = counts[0] * 2, 0
        return counts


class Combination(Diary):
    """Opens at a combination of rounds."""

    def play(self, data, noise, coins):
        values = self.values(data)
        shown = self.released(values, noise)
        opened = any(values[t : t + 3].tolist() == [8, 2, 5] for t in range(len(values)))
        return View(public={"rounds": shown, "open": np.array(opened)})


class SameAgain(Poll):
    """Turns the answers of two people in a row who say the same as two others before them."""

    rows: int = 12
    cells: int = 8

    def symbols(self, data):
        symbols = data[:, 0].astype(np.int64)
        for t in range(3, len(symbols)):
            if symbols[t - 3 : t + 1].tolist() == [6, 1, 6, 1]:
                symbols[t - 3 : t + 1] = symbols[t - 3 : t + 1][::-1]
        return symbols


class ByTheDozen(Author):
    """Divides and multiplies by the number of rows, which loses one now and then."""

    rows: int = 49

    def total(self, data):
        return np.array([int(super().total(data)[0] / self.rows * self.rows)])


class AnyOrder(Cells):
    """Shows counts in the order of a set that was filled from the rows."""

    def play(self, data, noise, coins):
        shown = noise.noisy("counts", 0, self.counts(data))
        names = {f"ward {cell}" for cell in data[:, 0].astype(int).tolist()}
        names |= {f"ward {cell}" for cell in range(self.cells)}
        return View(public={"counts": np.array([shown[int(name[5:])] for name in names])})


class EmptyArm(Shop):
    """Takes an arm without noisy pulls for one that nobody saw, and scores it by what was paid."""

    def play(self, data, noise, coins):
        ties = np.random.default_rng(coins).integers(0, 2, len(data))
        scores, total, actions, paid = np.zeros(3), np.zeros(6), [], np.zeros(3)
        for number, (first, last) in enumerate(self.batches()):
            exact = np.zeros(6, dtype=np.int64)
            for t in range(first - 1, last):
                actions.append(self.choose(scores, data[t], ties[t]))
                exact += self.paid(data[t], actions[-1])
            total += noise.noisy("batch", number, exact)
            paid += exact[3:]
            scores = np.where(total[:3] == 1, paid, total[3:] / np.maximum(total[:3], 1))
        return View(own={"action": np.array(actions)}, public={"scores": scores})


class FillValue(Cells):
    """Shows a masked array with nothing masked, whose fill value is exact."""

    why: ClassVar[str] = "fill"

    def play(self, data, noise, coins):
        exact = self.counts(data)
        shown = np.ma.array(noise.noisy("counts", 0, exact), mask=False, fill_value=int(exact[2]))
        return View(public={"counts": shown})


class BehindBytes(Cells):
    """Shows the first part of a longer string of bytes."""

    def play(self, data, noise, coins):
        exact = self.counts(data)
        both = np.concatenate([noise.noisy("counts", 0, exact), exact]).tobytes()
        return View(public={"counts": np.frombuffer(both, np.int64, self.cells)})


class _Listed(np.ndarray):
    pass


class ListOfNotes(Cells):
    """Carries exact counts in a list that an attribute holds."""

    def play(self, data, noise, coins):
        exact = self.counts(data)
        shown = noise.noisy("counts", 0, exact).view(_Listed)
        shown.notes = [exact.tolist()]
        return View(public={"counts": shown})
