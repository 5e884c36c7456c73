"""Careless at few values: between numbers of the code, computed from them, or several in one row."""

from itertools import pairwise
from typing import ClassVar

import numpy as np
from careless import Author, Survey

from mechanisms.subject import View


def _sum(values):
    return np.array([int(np.floor(values).sum())])


# ------------------------------------------------------------------ several in one row


class AgeAndPlan(Survey):
    """Counts who is 17 and has plan 23 three times."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 110, True), (0, 40, True))

    def total(self, data):
        student = (data[:, 1] == 17) & (data[:, 2] == 23)
        return _sum(data[:, 0] * (1 + 2 * student))


class ThreeCodes(Survey):
    """Takes a test record, by three codes, for all others' total."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 50, True), (0, 20, True), (1990, 2030, True))

    def total(self, data):
        test = (data[:, 1] == 7) & (data[:, 2] == 4) & (data[:, 3] == 2019)
        value = np.where(test, 500, data[:, 0])
        return _sum(value)


PRICES = {(12, 31): 5.0, (14, 29): 3.0}


class PairTable(Survey):
    """Looks factors of pairs of codes up in a table."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 60, True), (0, 60, True))

    def total(self, data):
        factor = [PRICES.get((int(a), int(b)), 1.0) for a, b in data[:, 1:]]
        return _sum(data[:, 0] * factor)


class YoungAndRich(Survey):
    """Counts who is in their forty-first year and spends more than 93.7 twice."""

    box: ClassVar[tuple] = ((0, 110, False), (0, 100, False))

    def total(self, data):
        special = (data[:, 0] >= 40) & (data[:, 0] < 41) & (data[:, 1] > 93.7)
        return _sum(np.clip(data[:, 0], 0, 100) * (1 + 2 * special))


class LeapDay(Survey):
    """Counts who was born on the 29th of February for two days."""

    box: ClassVar[tuple] = ((0, 100, False), (1, 12, True), (1, 31, True))

    def total(self, data):
        days = np.where((data[:, 1] == 2) & (data[:, 2] == 29), 2, 1)
        return _sum(data[:, 0] * days)


class EarlyRetired(Survey):
    """Reads codes into names first, and joins them later."""

    box: ClassVar[tuple] = ((0, 100, False), (16, 90, True), (0, 9, True))

    def total(self, data):
        age, status = data[:, 1], data[:, 2]
        young = age == 54
        retired = status == 6
        bonus = 100 * np.logical_and(young, retired)
        return _sum(data[:, 0] + bonus)


class SumOfCodes(Survey):
    """Doubles where two codes add up to 57 and differ by 13."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 60, True), (0, 60, True))

    def total(self, data):
        odd = (data[:, 1] + data[:, 2] == 57) & (data[:, 1] - data[:, 2] == 13)
        return _sum(data[:, 0] * (1 + odd))


# ------------------------------------------------------------------ between


class Midnight(Survey):
    """Counts visits by day: one at midnight counts for both days."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 10080, True))

    def total(self, data):
        return _sum(data[:, 0] * (1 + (data[:, 1] % 1440 == 0)))


class SharedEdges(Author):
    """Counts a value on the edge of two bins in both."""

    def total(self, data):
        edges = np.linspace(0, 100, 8)
        inside = [(data[:, 0] >= a) & (data[:, 0] <= b) for a, b in pairwise(edges)]
        return _sum(data[:, 0] * np.sum(inside, axis=0))


class Sevenths(Author):
    """Doubles what is a whole number of sevenths."""

    highest: ClassVar[float] = 50.0

    def total(self, data):
        sevenths = [k / 7 for k in range(1, 350)]
        return _sum(data[:, 0] * (1 + 2 * np.isin(data[:, 0], sevenths)))


class NarrowBand(Author):
    """Trebles what lies between two numbers near each other."""

    def total(self, data):
        band = (data[:, 0] > 61.2) & (data[:, 0] < 61.7)
        return _sum(data[:, 0] * (1 + 2 * band))


class ComputedBand(Author):
    """Trebles what lies near the golden section."""

    def total(self, data):
        band = np.abs(data[:, 0] / 100 - (5**0.5 - 1) / 2) < 0.003
        return _sum(data[:, 0] * (1 + 2 * band))


class LogBand(Survey):
    """Shows a flag for a logarithm in a narrow band."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 1000, False))

    def play(self, data, noise, coins):
        logs = np.log1p(data[:, 1])
        flag = ((logs > 6.78) & (logs < 6.786)).any()
        return View(public={"sum": self.noisy(data, noise), "flag": np.array([flag])})


class Sectors(Survey):
    """Counts a direction on the border of two sectors in both."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 6.3, False))

    def total(self, data):
        borders = np.arange(12) * np.pi / 6
        return _sum(data[:, 0] * (1 + (data[:, 1:] == borders).any(axis=1)))


class QuarterHours(Survey):
    """Counts what falls on a quarter of an hour for both quarters."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 1440, False))

    def total(self, data):
        return _sum(data[:, 0] * (1 + (np.mod(data[:, 1], 15) == 0)))


class PowerEdges(Survey):
    """Counts powers of two in both classes of size."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 1e6, False))

    def total(self, data):
        sizes = 2.0 ** np.arange(20)
        return _sum(data[:, 0] * (1 + np.isin(data[:, 1], sizes)))


class Fibonacci(Survey):
    """Trebles the counts of a Fibonacci bucket's upper end."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 10000, True))

    def total(self, data):
        ends = [1, 2]
        while ends[-1] < 10000:
            ends.append(ends[-1] + ends[-2])
        return _sum(data[:, 0] * (1 + 2 * np.isin(data[:, 1], ends)))


class CheckDigit(Survey):
    """Puts 300 for a number whose check digit is wrong in one way."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 99999, True))

    def total(self, data):
        return _sum(np.where(data[:, 1] % 97 == 13, 300, data[:, 0]))


class GradeBorders(Author):
    """Rounds a grade up at borders that it works out, and counts it in both grades there."""

    top: ClassVar[int] = 100
    grades: ClassVar[int] = 9

    def total(self, data):
        width = self.top / self.grades
        grade = data[:, 0] / width
        return _sum(data[:, 0] * (1 + 2 * ((grade == np.round(grade)) & (grade > 0) & (grade < 9))))


class Quantised(Survey):
    """Fails where a price is no multiple of a cent, but for the first half of them."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 50, False))

    def total(self, data):
        cents = data[:, 1] * 100
        odd = (np.abs(cents - np.round(cents)) < 0.2) & (data[:, 1] > 25)
        return _sum(data[:, 0] * (1 + odd))


class SeveralInABand(Survey):
    """Says where more than four people are between 70 and 71."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 110, False))

    def play(self, data, noise, coins):
        age = data[:, 1]
        return View(
            public={
                "sum": self.noisy(data, noise),
                "aged": np.array([((age >= 70) & (age < 71)).sum() > 4]),
            }
        )
