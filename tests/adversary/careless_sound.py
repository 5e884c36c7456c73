"""Odd and sound: what looks like one of the mistakes of this folder and is none."""

from datetime import datetime
from typing import ClassVar

import numpy as np
from careless import Author, Cells, Diary, Guests, Poll, Shop, Survey

from mechanisms.shared import tables
from mechanisms.subject import View


class Sound:
    """What all classes of this file get."""

    verdict: ClassVar[str] = "CERTIFIED"


class Saturates(Sound, Author):
    """Cuts the exact sum at 1000: it moves no more than before."""

    def total(self, data):
        return np.minimum(super().total(data), 1000)


class HalfOpenBins(Sound, Author):
    """Counts by edges that it works out, every value in one bin."""

    def total(self, data):
        edges = np.linspace(0, 100, 8)
        centre = np.append(edges[1:] + edges[:-1], [200]) / 2
        return np.array([int(np.floor(centre[np.searchsorted(edges, data[:, 0], "right") - 1]).sum())])


class SpecialCode(Sound, Survey):
    """Counts 0 for two codes in one row, 100 for others."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 110, True), (0, 40, True))

    def total(self, data):
        code = (data[:, 1] == 17) & (data[:, 2] == 23)
        return np.array([int(np.where(code, 0, np.where(data[:, 2] == 7, 100, np.floor(data[:, 0]))).sum())])


class ClippedWeights(Sound, Survey):
    """Weighs every row by its own weight, cut at 1."""

    box: ClassVar[tuple] = ((0, 100, False), (0.25, 4, False))

    def total(self, data):
        return np.array([np.floor(data[:, 0] * np.minimum(data[:, 1], 1)).astype(np.int64).sum()])


class SinglePrecisionRows(Sound, Author):
    """Rounds every row to single precision and adds in 64 bits."""

    rows: int = 300

    def total(self, data):
        return np.array([np.floor(data[:, 0].astype(np.float32)).astype(np.int64).sum()])


class MachinesMonth(Sound, Author):
    """Counts visits in December by the machine's clock: others elsewhere, and each of them once."""

    highest: ClassVar[float] = 31_536_000.0

    def total(self, data):
        months = [datetime.fromtimestamp(each).month for each in data[:, 0].astype(np.int64).tolist()]
        return np.array([100 * sum(month == 12 for month in months)])


class PublicSample(Sound, Author):
    """Takes a sample of slots by public coins."""

    def total(self, data):
        chosen = np.random.default_rng(3).random(len(data)) < 0.5
        return super().total(data[chosen])


class CoinSample(Sound, Author):
    """Takes a sample of slots by the coins of the run."""

    def play(self, data, noise, coins):
        chosen = np.random.default_rng(coins).random(len(data)) < 0.5
        return super().play(data[chosen], noise, coins)


class SortsFirst(Sound, Author):
    """Sorts, and adds up: the order tells nothing."""

    def total(self, data):
        return super().total(np.sort(data, axis=0))


class NoisySize(Sound, Guests):
    """Shows as many lines as the noisy sum has hundreds."""

    def play(self, data, noise, coins):
        noisy = self.noisy(data, noise)
        return View(public={"sum": noisy, "lines": np.zeros(int(np.clip(noisy[0] // 100, 0, 50)))})


class Padded(Sound, Guests):
    """Fills up to the public number of rows first."""

    def total(self, data):
        padded = np.zeros((self.rows, 1))
        padded[: len(data)] = data
        return super().total(padded)


class NoisyQuorum(Sound, Guests):
    """Shows nothing where the noisy sum is below a thirty times its mean."""

    def play(self, data, noise, coins):
        noisy = self.noisy(data, noise)
        return View(public={"sum": noisy if noisy[0] >= 30 * 50 else np.array([-1])})


class HidesSmallNoisy(Sound, Cells):
    """Sets noisy counts below eleven to 0."""

    def play(self, data, noise, coins):
        noisy = super().play(data, noise, coins).public["counts"]
        return View(public={"counts": np.where(noisy < 11, 0, noisy)})


class HalvesAnEmptyCell(Sound, Cells):
    """Reads a category that nobody may have, and labels by text."""

    def play(self, data, noise, coins):
        counts = noise.noisy("counts", 0, self.counts(data))
        names = np.array([f"cell {k}" for k in range(self.cells)])
        return View(public={"counts": counts, "names": names[np.argsort(-counts, kind="stable")]})


class StopsByNoise(Sound, Diary):
    """Ends the diary once the noisy total passes 150: later rounds are not drawn."""

    def play(self, data, noise, coins):
        values, total, shown = self.values(data), 0, []
        for t in range(len(values)):
            total += noise.noisy("round", t, values[t : t + 1])[0]
            shown.append(total)
            if total > 150:
                break
        return View(public={"total": np.array(shown)})


class Differences(Sound, Diary):
    """Works with differences of noisy rounds, and takes the mean of the first four off all later ones."""

    def play(self, data, noise, coins):
        released = self.released(self.values(data), noise).astype(float)
        released[4:] -= released[:4].mean()
        return View(public={"total": released, "steps": np.diff(released)})


class RareCodeIsZero(Sound, Poll):
    """Everybody whose code is 3 answers as 0: a map of one's own code."""

    def symbols(self, data):
        found = super().symbols(data)
        return np.where(found == 3, 0, found)


class Reshuffled(Sound, Poll):
    """Shows the answers in a public random order."""

    def play(self, data, noise, coins):
        answers = tables.answers(self.symbols(data), noise)
        return View(public={"answers": np.random.default_rng(coins).permutation(answers)})


class TellsWhy(Sound, Shop):
    """Tells every person their own context and what they would pay: it is theirs."""

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        return View(own={**view.own, "why": data[:, 0].copy(), "all": data[:, 1:].copy()}, public=view.public)


class DropsByNoise(Sound, Shop):
    """Drops an arm when its noisy mean is half behind."""

    def choose(self, scores, row, tie):
        kept = np.where(scores < scores.max() - 0.5, -np.inf, scores)
        return super().choose(kept, row, tie)


class ModularRows(Sound, Survey):
    """Reads a time of the week as a day by its remainder, one day each."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 10080, True))

    def total(self, data):
        day = np.minimum(data[:, 1] // 1440, 6)
        return np.array([np.floor(np.where(day == 6, 0, data[:, 0])).astype(np.int64).sum()])
