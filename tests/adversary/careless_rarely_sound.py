"""Odd, rare and sound: what looks like one of the mistakes of `careless_rarely.py` and is none."""

import datetime as dt
from fractions import Fraction
from typing import ClassVar

import numpy as np
from careless import Author, Cells, Diary, Guests, Poll, Shop, Survey
from careless_sound import Sound

from mechanisms.subject import Domain, View


class ThirteenBecomesTwelve(Sound, Cells):
    """Changes a noisy number for another."""

    def play(self, data, noise, coins):
        shown = noise.noisy("counts", 0, self.counts(data))
        return View(public={"counts": np.where(shown == 13, 12, shown)})


class FirstOfEqualNoise(Sound, Cells):
    """Names the fullest cell by noisy counts; of equal ones the first."""

    def play(self, data, noise, coins):
        shown = noise.noisy("counts", 0, self.counts(data))
        return View(public={"first": np.array(max(range(self.cells), key=lambda cell: shown[cell]))})


class Repeats(Sound, Diary):
    """Shows zero in place of a third equal noisy round."""

    def play(self, data, noise, coins):
        shown = self.released(self.values(data), noise)
        for t in range(2, len(shown)):
            if shown[t] == shown[t - 1] == shown[t - 2]:
                shown[t] = 0
        return View(public={"rounds": shown})


class DrawsADesign(Sound, Author):
    """Draws, once in four hundred, another way to show the same."""

    def play(self, data, noise, coins):
        shown, test = self.noisy(data, noise), np.random.default_rng(coins).integers(0, 400) == 0
        return View(public={"sum": -shown if test else shown, "test": np.array(test)})


class LeavesOneOut(Sound, Author):
    """Draws a row, now and then, which counts zero."""

    def play(self, data, noise, coins):
        rng, values = np.random.default_rng(coins), np.floor(np.clip(data[:, 0], 0, 100))
        if rng.random() < 0.02:
            values[rng.integers(len(values))] = 0
        return View(public={"sum": noise.noisy("sum", 0, np.array([int(values.sum())]))})


class Birthdays(Sound, Cells):
    """Counts the month in which a birthday is kept in a year without a leap day."""

    cells: int = 12

    def domain(self):
        return Domain(self.rows, (693_596.0,), (738_000.0,), (True,))  # 1900 to 2021

    def counts(self, data):
        days = [dt.date.fromordinal(int(day)) for day in data[:, 0]]
        months = [3 if (day.month, day.day) == (2, 29) else day.month for day in days]
        return np.bincount(months, minlength=13)[1:]


class ClockHours(Sound, Cells):
    """Counts seconds by the hour of a clock that goes forward and back."""

    cells: int = 24

    def domain(self):
        return Domain(self.rows, (1_577_836_800.0,), (1_735_689_599.0,), (True,))

    def counts(self, data):
        from zoneinfo import ZoneInfo

        hours = [dt.datetime.fromtimestamp(int(s), ZoneInfo("Europe/Berlin")).hour for s in data[:, 0]]
        return np.bincount(hours, minlength=24)


CODES = sorted([*range(1000, 6000), 2718, 3141])


class Listed(Sound, Cells):
    """Counts codes that a list has, whether once or twice."""

    cells: int = 5

    def domain(self):
        return Domain(self.rows, (900.0,), (5999.0,), (True,))

    def counts(self, data):
        known = set(CODES)
        return np.bincount([c // 1000 - 1 for c in data[:, 0].astype(int) if c in known], minlength=5)


class WardIsCrowded(Sound, Survey):
    """Stops counting a ward after fourteen of its rows: each row moves the sum by itself alone."""

    box: ClassVar[tuple] = ((0, 50, False), (0, 6, True), (0, 1, False))
    rows: int = 40

    def total(self, data):
        best = np.sort(np.floor(np.clip(data[data[:, 1] == 3, 0], 0, 50)))[::-1]
        return np.array([int(best[:14].sum())])


class Different(Sound, Author):
    """Sums the different numbers: one row adds at most one and takes at most one."""

    def total(self, data):
        return np.array([int(np.unique(np.floor(np.clip(data[:, 0], 0, 100))).sum())])


class NoisyEven(Sound, Guests):
    """Says whether the noisy sum is that of twenty rows at a quarter."""

    def play(self, data, noise, coins):
        shown = self.noisy(data, noise)
        return View(public={"sum": shown, "even": shown == 500})


class NoisyCombination(Sound, Diary):
    """Opens at a combination of noisy rounds."""

    def play(self, data, noise, coins):
        shown = self.released(self.values(data), noise)
        opened = any(shown[t : t + 3].tolist() == [8, 2, 5] for t in range(len(shown)))
        return View(public={"rounds": shown, "open": np.array(opened)})


class EveryOtherPerson(Sound, Poll):
    """Turns the answers of people with an even number."""

    def symbols(self, data):
        symbols = data[:, 0].astype(np.int64)
        symbols[::2] = self.cells - 1 - symbols[::2]
        return symbols


class ByTheDozenExactly(Sound, Author):
    """Divides and multiplies by the number of rows, exactly."""

    rows: int = 49

    def total(self, data):
        return np.array([int(Fraction(int(super().total(data)[0]), self.rows) * self.rows)])


class SortedOrder(Sound, Cells):
    """Shows counts in the order of names, which a set has held."""

    def play(self, data, noise, coins):
        shown = noise.noisy("counts", 0, self.counts(data))
        names = {f"ward {cell}" for cell in data[:, 0].astype(int).tolist()}
        names |= {f"ward {cell}" for cell in range(self.cells)}
        return View(public={"counts": np.array([shown[int(name[5:])] for name in sorted(names)])})


class ThisYear(Sound, Author):
    """Shows the year in which it runs."""

    def play(self, data, noise, coins):
        return View(public={"sum": self.noisy(data, noise), "year": np.array(dt.date.today().year)})


class TriesEmptyArms(Sound, Shop):
    """Prefers arms whose noisy pulls are one."""

    def choose(self, scores, row, tie):
        return int(np.argmax(np.where(scores == 1, 2, scores)) + tie) % 3


class PublicFillValue(Sound, Cells):
    """Masks small noisy counts, and fills them by one number."""

    def play(self, data, noise, coins):
        shown = noise.noisy("counts", 0, self.counts(data))
        return View(public={"counts": np.ma.masked_less(shown, 5)})


class FieldsOfManyNames(Sound, Author):
    """Has fields that are called like words of a claim."""

    unit: int = 16
    radius: int = 3
    seed: int = 4
    column: int = 0

    def total(self, data):
        return super().total(data) // self.unit * self.unit // self.radius
