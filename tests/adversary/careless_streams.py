"""Careless under continual release: something of exact values goes on from one round to the next."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from careless import Diary

from mechanisms.binary_tree import BinaryTree
from mechanisms.continual import prefix_sums
from mechanisms.shared import grid
from mechanisms.sqrt_toeplitz import SqrtToeplitz
from mechanisms.subject import View

STREAM = {"epsilon": Fraction(100), "delta": Fraction(1, 10**6)}


class SkipsQuietRounds(Diary):
    """Releases nothing in a round in which nothing happened."""

    def released(self, values, noise):
        return np.array(
            [noise.noisy("round", t, values[t : t + 1])[0] if values[t] else 0 for t in range(len(values))]
        )


class StopsAtTheGoal(Diary):
    """Ends the diary once the exact total passes 150."""

    def play(self, data, noise, coins):
        values = self.values(data)
        released = self.released(values, noise)
        end = int(np.searchsorted(np.cumsum(values), 150)) + 1
        return View(public={"total": np.cumsum(released)[:end]})


class CarriesOver(Diary):
    """What a round has above ten goes to the next one, so that nothing is lost."""

    def values(self, data):
        found, rest = [], 0.0
        for value in data[:, 0]:
            found.append(min(value + rest, 10))
            rest = max(value + rest - 10, 0)
        return np.floor(found).astype(np.int64)


class ResetsOnAlarm(Diary):
    """Starts to count anew after three exact rounds of ten in a row."""

    def play(self, data, noise, coins):
        values = self.values(data)
        released, total, shown = self.released(values, noise), 0, []
        for t, one in enumerate(released):
            total = one if t >= 3 and (values[t - 3 : t] == 10).all() else total + one
            shown.append(total)
        return View(public={"total": np.array(shown)})


class WeekOverlap(Diary):
    """The last day of each week is the first of the next one's as well."""

    def values(self, data):
        values = super().values(data)
        starts = np.arange(7, len(values), 7)
        values[starts] = np.minimum(values[starts] + values[starts - 1], 20)
        return values


class BaselineOff(Diary):
    """Takes the mean of the first four rounds off all later ones."""

    def values(self, data):
        values = super().values(data)
        values[4:] -= int(values[:4].mean())
        return np.maximum(values, 0)


class Anomaly(Diary):
    """Marks rounds that stick out from the exact ones before."""

    def play(self, data, noise, coins):
        values = self.values(data)
        marks = [values[t] > values[:t].mean() + 3 * values[:t].std() for t in range(8, len(values))]
        return View(public={"total": np.cumsum(self.released(values, noise)), "odd": np.array(marks)})


class ClosingBalance(Diary):
    """Shows the exact total at the end, when the stream is over."""

    def play(self, data, noise, coins):
        values = self.values(data)
        shown = np.cumsum(self.released(values, noise))
        shown[-1] = values.sum()
        return View(public={"total": shown})


class CorrectsItself(Diary):
    """Adds to each round what the noise took away in the round before."""

    def released(self, values, noise):
        found, off = [], 0
        for t, value in enumerate(values):
            found.append(noise.noisy("round", t, np.array([value + off]))[0])
            off = int(np.clip(value - found[-1], -10, 10))
        return np.array(found)


class WaitsUntilItPays(Diary):
    """Collects rounds until they are worth a release, at fifteen."""

    def released(self, values, noise):
        found, open_ = [], 0
        for t, value in enumerate(values):
            open_ += int(value)
            full = open_ >= 15
            found.append(noise.noisy("round", t, np.array([open_ if full else 0]))[0])
            open_ = 0 if full else open_
        return np.array(found)


class LastRoundAgain(Diary):
    """Fills a missing reading, a zero, with the one before."""

    def values(self, data):
        values = super().values(data)
        for t in range(1, len(values)):
            values[t] = values[t] or values[t - 1]
        return values


class MonthEnd(Diary):
    """Closes a month after thirty rounds and carries the day of the closing into the next month."""

    rows: int = 64

    def values(self, data):
        values = super().values(data)
        for t in range(30, len(values), 30):
            values[t] += values[t - 1]
        return values


class OneRoundOnly(Diary):
    """Books round 41 twice, since its entry was lost once."""

    rows: int = 64

    def values(self, data):
        values = super().values(data)
        values[40] *= 2
        return values


class Delayed(Diary):
    """Shows rounds late, as many rounds as the first quiet spell was long."""

    def play(self, data, noise, coins):
        values = self.values(data)
        busy = np.flatnonzero(values)
        quiet = int(busy[0]) if len(busy) else len(values)
        return View(public={"total": np.roll(np.cumsum(self.released(values, noise)), quiet)})


class SameNoiseTwice(Diary):
    """Draws one round's noise for every two rounds."""

    def released(self, values, noise):
        found = []
        for t in range(0, len(values), 2):
            drawn = noise.noisy("round", t, values[t : t + 1])[0]
            found += [drawn, drawn - values[t] + values[t + 1]]
        return np.array(found)


@dataclass(frozen=True)
class Tree(BinaryTree):
    """A binary tree as its author declares it; sound."""

    promise: ClassVar[dict] = STREAM
    why: ClassVar[str] = ""
    named: ClassVar[str] = "careless-streams"
    verdict: ClassVar[str] = "CERTIFIED"
    rounds: int = 16


@dataclass(frozen=True)
class Factor(SqrtToeplitz):
    """A factorised stream as its author declares it; sound."""

    promise: ClassVar[dict] = STREAM
    why: ClassVar[str] = ""
    verdict: ClassVar[str] = "CERTIFIED"
    rounds: int = 16

    def proof(self, delta):
        return prefix_sums.proof("careless-streams", [self._weights().tolist()], self, delta)


@dataclass(frozen=True)
class RunningScale(Tree):
    """Divides every vector by the longest so far."""

    verdict: ClassVar[str] = "REFUTED"

    def play(self, data, noise, coins):
        length = np.maximum.accumulate(np.abs(data[:, 0]))
        return super().play(data / np.maximum(length, 1)[:, None], noise, coins)


@dataclass(frozen=True)
class ResetsTheTree(Tree):
    """Sets the exact sums back to nothing once they exceed five."""

    verdict: ClassVar[str] = "REFUTED"

    def play(self, data, noise, coins):
        values, total = grid.in_ball(data, self.radius, self.bits).astype(float) / 2**self.bits, 0.0
        for t in range(len(values)):
            total += float(values[t, 0])
            if total > 5:
                values[t], total = values[t] - total, 0.0
        return super().play(np.clip(values, -1, 1), noise, coins)


@dataclass(frozen=True)
class SmoothedFirst(Factor):
    """Smooths the values over three rounds before the stream."""

    verdict: ClassVar[str] = "REFUTED"

    def play(self, data, noise, coins):
        smooth = np.array([data[max(t - 2, 0) : t + 1].mean(axis=0) for t in range(len(data))])
        return super().play(smooth * 3, noise, coins)


@dataclass(frozen=True)
class ShowsItsLag(Factor):
    """Shows after how many rounds the exact sum first passed half of its end."""

    verdict: ClassVar[str] = "REFUTED"

    def play(self, data, noise, coins):
        sums = np.cumsum(np.clip(data[:, 0], -1, 1))
        half = int(np.argmax(sums > sums[-1] / 2))
        return View(public={**super().play(data, noise, coins).public, "half": np.array([half])})
