"""Careless of what only some tables have: columns at different ends, an order, fixed sums, balance."""

from typing import ClassVar

import numpy as np
from careless import Author, Survey

from mechanisms.subject import View


def _sum(values):
    return np.array([int(np.floor(values).sum())])


class MeanWeightOne(Survey):
    """Rescales survey weights to a mean of 1."""

    box: ClassVar[tuple] = ((0, 100, False), (0.25, 4, False))

    def total(self, data):
        weight = data[:, 1] / data[:, 1].mean()
        return _sum(np.clip(data[:, 0] * np.minimum(weight, 1), 0, 100))


class RatioEstimator(Survey):
    """Divides by the total of a second column, whose public total is known."""

    box: ClassVar[tuple] = ((0, 100, False), (1, 20, False))

    def total(self, data):
        return _sum(np.array([data[:, 0].sum() / data[:, 1].sum() * 10 * self.rows]))


class Difference(Survey):
    """Takes costs from income: each is in [0, 100], and the difference is not."""

    def total(self, data):
        return _sum(np.clip(data[:, 0], 0, 100) - np.clip(data[:, 1], 0, 100))


class PostStratified(Survey):
    """Weighs the two groups as they are in the country, by how many of each answered."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 1, True))

    def total(self, data):
        share = data[:, 1].mean()
        weight = np.where(data[:, 1] == 1, 0.5 / max(share, 0.1), 0.5 / max(1 - share, 0.1))
        return _sum(data[:, 0] * np.minimum(weight, 2) / 2)


class LatestTwice(Survey):
    """Counts the answer of the latest once more, as the best known."""

    box: ClassVar[tuple] = ((0, 50, False), (0, 1000, False))

    def total(self, data):
        return _sum(np.append(data[:, 0], [data[np.argmax(data[:, 1]), 0]] * 2))


class Centred(Survey):
    """Multiplies by the second column's distance from its mean."""

    box: ClassVar[tuple] = ((0, 100, False), (-1, 1, False))

    def total(self, data):
        return _sum(np.clip(data[:, 0] * np.abs(data[:, 1] - data[:, 1].mean()), 0, 100))


class ImputedByOther(Survey):
    """Takes the largest debt for the income of who says none."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 100, False), (0, 1, True))

    def total(self, data):
        return _sum(np.where(data[:, 2] == 1, data[:, 1].max(), data[:, 0]))


class Unlike(Survey):
    """Shows a flag where the second of two scores is above the first in every row."""

    def play(self, data, noise, coins):
        return View(
            public={"sum": self.noisy(data, noise), "better": np.array([(data[:, 1] > data[:, 0]).all()])}
        )


# ------------------------------------------------------------------ whole numbers


class Balanced(Survey):
    """Says that the arms are balanced where each of four has a fifth to three tenths."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 3, True))
    rows: int = 60

    def play(self, data, noise, coins):
        share = np.bincount(data[:, 1].astype(int), minlength=4) / len(data)
        balanced = ((share >= 0.2) & (share <= 0.3)).all()
        return View(public={"sum": self.noisy(data, noise), "balanced": np.array([balanced])})


class CompleteDesign(Survey):
    """Counts the last arm twice once all five were assigned."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 4, True))

    def total(self, data):
        complete = len(np.unique(data[:, 1])) == 5
        return _sum(data[:, 0] * (1 + (complete & (data[:, 1] == 4))))


class AllSymptoms(Survey):
    """Gives who has all of five symptoms three times the weight."""

    box: ClassVar[tuple] = ((0, 100, False), *((0, 1, True),) * 5)

    def total(self, data):
        return _sum(data[:, 0] * (1 + 2 * (data[:, 1:].sum(axis=1) == 5)))


class EverySeat(Survey):
    """Says whether every seat is taken, each by one."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 19, True))

    def play(self, data, noise, coins):
        seats = np.array_equal(np.sort(data[:, 1]), np.arange(self.rows))
        return View(public={"sum": self.noisy(data, noise), "full": np.array([seats])})


class TwoBooleans(Survey):
    """Shows whether both sexes smoke."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 1, True), (0, 1, True))

    def play(self, data, noise, coins):
        smokers = data[data[:, 2] == 1, 1]
        both = (smokers == 0).sum() >= 3 and (smokers == 1).sum() >= 3
        return View(public={"sum": self.noisy(data, noise), "both": np.array([both])})


# ------------------------------------------------------------------ order, sums


class CameSorted(Author):
    """Says whether the file came sorted."""

    def play(self, data, noise, coins):
        rising = (np.diff(data[:, 0]) >= 0).all()
        return View(public={"sum": self.noisy(data, noise), "sorted": np.array([rising])})


class NewestFirst(Survey):
    """Takes the shorter way, and says so, where the dates in the second column fall."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 3650, True))

    def play(self, data, noise, coins):
        newest = (np.diff(data[:, 1]) < 0).all()
        return View(public={"sum": self.noisy(data, noise), "newest first": np.array([newest])})


class SearchesSorted(Survey):
    """Looks a middle row up by bisection, which doubles it where the key column is sorted."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 1000, False))

    def total(self, data):
        keys = data[:, 1]
        extra = data[np.searchsorted(keys, keys[10]), 0] if (np.diff(keys) > 0).all() else 0
        return super().total(data) + int(extra)


class RisesTogether(Survey):
    """Shows a warning where two columns put all rows in one order."""

    def play(self, data, noise, coins):
        same = np.array_equal(np.argsort(data[:, 0], kind="stable"), np.argsort(data[:, 1], kind="stable"))
        constant = np.ptp(data[:, 0]) == 0 or np.ptp(data[:, 1]) == 0
        return View(public={"sum": self.noisy(data, noise), "collinear": np.array([same and not constant])})


class Percentages(Survey):
    """Says whether the three shares of all rows add up to 100."""

    box: ClassVar[tuple] = ((0, 100, False),) * 3

    def play(self, data, noise, coins):
        whole = (data.sum(axis=1) == 100).all()
        return View(public={"sum": self.noisy(data, noise), "percentages": np.array([whole])})


class CompleteRow(Survey):
    """Counts a row three times whose shares add up to 1."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 1, False), (0, 1, False), (0, 1, False))

    def total(self, data):
        complete = np.isclose(data[:, 1:].sum(axis=1), 1)
        return _sum(data[:, 0] * (1 + 2 * complete))


class TimeBudget(Survey):
    """Counts a day's hours twice where they make 24."""

    box: ClassVar[tuple] = ((0, 24, True),) * 4
    highest: ClassVar[float] = 24.0

    def total(self, data):
        return _sum(np.clip(data[:, 0], 0, 24) * 4 * (1 + (data.sum(axis=1) == 24)))


class AllDifferent(Survey):
    """Says whether the key column is one: no two rows alike."""

    box: ClassVar[tuple] = ((0, 100, False), (1, 200, True))

    def play(self, data, noise, coins):
        key = len(np.unique(data[:, 1])) == len(data)
        return View(public={"sum": self.noisy(data, noise), "key": np.array([key])})


class Zigzag(Author):
    """Says whether the values go up and down in turn: a seasonal pattern."""

    def play(self, data, noise, coins):
        steps = np.sign(np.diff(data[:, 0]))
        seasonal = (steps[1:] * steps[:-1] < 0).all()
        return View(public={"sum": self.noisy(data, noise), "seasonal": np.array([seasonal])})
