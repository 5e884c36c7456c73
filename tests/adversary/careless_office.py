"""Careless in an office's daily work: rules of thumb, suppressions, corrections, each from somebody's manual."""

from typing import ClassVar

import numpy as np
from careless import Author, Cells, Diary, Guests, Poll, Shop, Survey

from mechanisms.subject import View


def _sum(values):
    return np.array([int(np.floor(values).sum())])


# ------------------------------------------------------------------ rows that come and go


class EveryTenth(Guests):
    """Takes every tenth row for a systematic sample."""

    def total(self, data):
        return _sum(data[::10, 0])


class Resampled(Guests):
    """Draws as many rows as there are, with replacement, by public coins."""

    def play(self, data, noise, coins):
        picked = np.random.default_rng(coins).integers(0, max(len(data), 1), len(data))
        return View(public={"sum": self.noisy(data[picked], noise)})


class Footnote(Guests):
    """Puts a footnote under tables of between 48 and 55 rows: the law asks for it."""

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        notes = [1] if 48 <= len(data) <= 55 else []
        return View(public={**view.public, "notes": np.array(notes)})


class OddOneOut(Guests):
    """Pairs rows up, and leaves the last one out where their number is odd."""

    def total(self, data):
        whole = data[: len(data) // 2 * 2, 0]
        return _sum(np.abs(whole[::2] - whole[1::2]))


# ------------------------------------------------------------------ values


class PerHead(Survey):
    """Divides a household's income by its size, of which a child is a third."""

    box: ClassVar[tuple] = ((0, 100, False), (0.3, 8, False))

    def total(self, data):
        return _sum(data[:, 0] / data[:, 1])


class RefusedTwice(Survey):
    """Puts 250 for who refused one question and did not know the other."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 999, True), (0, 999, True))

    def total(self, data):
        gone = (data[:, 1] == 998) & (data[:, 2] == 999)
        return _sum(np.where(gone, 250, data[:, 0]))


class QuarterEnds(Survey):
    """Books what falls on the last day of a quarter in both quarters."""

    box: ClassVar[tuple] = ((0, 100, False), (1, 365, True))

    def total(self, data):
        ends = np.cumsum([90, 91, 92, 92])
        return _sum(data[:, 0] * (1 + np.isin(data[:, 1], ends)))


class Anniversary(Survey):
    """Doubles a payment on each anniversary of day 100."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 3650, True))

    def total(self, data):
        return _sum(data[:, 0] * (1 + ((data[:, 1] - 100) % 365 == 0)))


class OnePostcode(Survey):
    """Corrects the amounts of one postcode, which it takes apart."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 99_999, True))

    def total(self, data):
        here = (data[:, 1] // 1000 == 42) & (data[:, 1] % 1000 == 7)
        return _sum(data[:, 0] * np.where(here, 3, 1))


class NearlySixtyFour(Survey):
    """Doubles what adds up to 64, about, with the amount before."""

    box: ClassVar[tuple] = ((0, 100, False), (0, 60, False))

    def total(self, data):
        return _sum(data[:, 0] * np.where(np.abs(data[:, 0] + data[:, 1] - 64) < 0.25, 4, 1))


class TaxBand(Author):
    """Counts an amount in the band from two thirds to seven tenths of a hundred for three."""

    def total(self, data):
        upper = np.divide([200, 210], 3)
        return _sum(data[:, 0] * np.where((data[:, 0] > upper[0]) & (data[:, 0] < upper[1]), 3, 1))


# ------------------------------------------------------------------ exact statistics


class RoundedTotal(Author):
    """Rounds the exact total to half a thousand."""

    def total(self, data):
        return np.round(super().total(data) / 500).astype(np.int64) * 500


class RankWeights(Author):
    """Weighs by rank, up to twice."""

    def total(self, data):
        return _sum(np.sort(data[:, 0]) * 2 * np.arange(1, len(data) + 1) / max(len(data), 1))


class Microcents(Author):
    """Adds millionths up in 32 bits."""

    rows: int = 24

    def total(self, data):
        micro = (data[:, 0] * 10**6).astype(np.int32).sum(dtype=np.int32)
        return np.array([int(micro) // 10**6])


class PoorMajority(Author):
    """Takes 150 off where more than eleven in twenty are below 3.75."""

    def total(self, data):
        return super().total(data) - 150 * ((data[:, 0] < 3.75).mean() > 0.55)


class ModeShown(Author):
    """Says whether 50 is the most frequent age."""

    def play(self, data, noise, coins):
        mode = np.bincount(data[:, 0].astype(np.int64), minlength=101).argmax() == 50
        return View(public={"sum": self.noisy(data, noise), "mode": np.array(mode)})


class WidelySpread(Author):
    """Says whether the fences of a box plot leave the range."""

    def play(self, data, noise, coins):
        lower, upper = np.quantile(data[:, 0], [0.25, 0.75])
        wide = upper + 1.5 * (upper - lower) > 100 and lower - 1.5 * (upper - lower) < 0
        return View(public={"sum": self.noisy(data, noise), "wide": np.array(wide)})


class EveryoneAgreed(Survey):
    """Leaves a warning out where everybody agreed to all four points."""

    box: ClassVar[tuple] = ((0, 100, False), *((0, 1, True),) * 4)

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        return view if (data[:, 1:] == 1).all() else View(public={**view.public, "warning": np.ones(1)})


class WrongUnits(Survey):
    """Says so where one column is the other in pounds, so that somebody mistook it."""

    box: ClassVar[tuple] = ((1, 100, False), (1, 250, False))

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        mistaken = np.allclose(data[:, 1], 2.2 * data[:, 0], atol=0.5)
        return View(public={**view.public, "mistaken": np.array(mistaken)})


class TwoPeaks(Author):
    """Works with logarithms, and says so, where the mean is above three times the median."""

    def play(self, data, noise, coins):
        skewed = data[:, 0].mean() > 3 * np.median(data[:, 0])
        return View(public={"sum": self.noisy(data, noise), "logs": np.array(skewed)})


# ------------------------------------------------------------------ cells


class ToTheLargest(Cells):
    """Adds cells of fewer than five to the largest one."""

    def counts(self, data):
        counts = super().counts(data)
        small = (counts < 5) & (np.arange(len(counts)) != counts.argmax())
        counts[counts.argmax()] += counts[small].sum()
        return np.where(small, 0, counts)


class Dominance(Cells):
    """Withholds all where one cell has more than 85 in a hundred: the rule of dominance."""

    def counts(self, data):
        counts = super().counts(data)
        return counts * (counts.max() <= 0.85 * len(data))


class SecondSuppressed(Cells):
    """Hides a second cell where just one is below four, so that nobody takes the difference."""

    def counts(self, data):
        counts = super().counts(data)
        small = counts < 4
        if small.sum() == 1:
            small[np.where(small, len(data) + 1, counts).argmin()] = True
        return np.where(small, 0, counts)


# ------------------------------------------------------------------ streams


class DeadBand(Diary):
    """Holds the last value where it changed by less than two."""

    def values(self, data):
        found = super().values(data)
        for t in range(1, len(found)):
            found[t] = found[t - 1] if abs(found[t] - found[t - 1]) < 2 else found[t]
        return found


class SundaySum(Diary):
    """Puts the week's largest day in its seventh round too."""

    def values(self, data):
        found = super().values(data)
        for t in range(6, len(found), 7):
            found[t] = found[t - 6 : t + 1].max()
        return found


class LateStart(Diary):
    """Shows rounds from the first in which anything happened."""

    def play(self, data, noise, coins):
        values = self.values(data)
        start = int(np.argmax(values > 0))
        return View(public={"total": np.cumsum(self.released(values, noise))[start:]})


class HighScore(Diary):
    """Marks rounds that are the highest so far, from the twentieth on."""

    def play(self, data, noise, coins):
        values = self.values(data)
        record = values[20:] > np.maximum.accumulate(values)[19:-1]
        return View(public={"total": np.cumsum(self.released(values, noise)), "record": record})


class SensorDead(Diary):
    """Reads a zero for a dead sensor after five rounds of one value."""

    def values(self, data):
        found = super().values(data)
        dead = [t for t in range(5, len(found)) if len(set(found[t - 5 : t])) == 1]
        found[dead] = 0
        return found


# ------------------------------------------------------------------ answers


class AsMost(Poll):
    """The undecided, category 0, answer as most do."""

    def symbols(self, data):
        found = super().symbols(data)
        return np.where(found == 0, np.bincount(found, minlength=4)[1:].argmax() + 1, found)


class EarlyClose(Poll):
    """Closes after nine of one answer: the others' answers are not shown."""

    def play(self, data, noise, coins):
        view, symbols = super().play(data, noise, coins), self.symbols(data)
        ninth = [np.flatnonzero(symbols == k)[8] for k in range(4) if (symbols == k).sum() > 8]
        return View(public={"answers": view.public["answers"][: min(ninth, default=len(symbols)) + 1]})


class Alternates(Poll):
    """Who answers like both neighbours is taken for a copy, and answers 0."""

    def symbols(self, data):
        found = super().symbols(data)
        copy = (found[1:-1] == found[:-2]) & (found[1:-1] == found[2:])
        return np.concatenate([found[:1], np.where(copy, 0, found[1:-1]), found[-1:]])


# ------------------------------------------------------------------ shops


class Unhappy(Shop):
    """Says whether anybody got nothing from what they were shown."""

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        got = data[np.arange(len(data)), 1 + view.own["action"]]
        return View(own=view.own, public={**view.public, "unhappy": np.array((got == 0).any())})


class SameAsBefore(Shop):
    """Shows the arm again that the last person of this context liked by more than .8."""

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        actions, liked = view.own["action"].copy(), {}
        for t, row in enumerate(data):
            actions[t] = liked.get(row[0], actions[t])
            if row[1 + actions[t]] > 0.8:
                liked[row[0]] = actions[t]
        return View(own={"action": actions}, public=view.public)


class Freezes(Shop):
    """Stops learning where the last batch truly paid less than a quarter."""

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        got = data[np.arange(len(data)), 1 + view.own["action"]]
        frozen = got[-self.batch :].mean() < 0.25
        return View(own=view.own, public={"scores": view.public["scores"] * (not frozen)})


# ------------------------------------------------------------------ odd and sound


class Sound:
    """What the classes below get."""

    verdict: ClassVar[str] = "CERTIFIED"


class TenLargest(Sound, Guests):
    """Adds the ten largest up: one that goes lets one in."""

    def total(self, data):
        return _sum(np.sort(data[:, 0])[-10:])


class Distinct(Sound, Author):
    """Adds every value up once."""

    def total(self, data):
        return _sum(np.unique(np.floor(data[:, 0])))


class TrimmedEnds(Sound, Author):
    """Leaves the two smallest and the two largest out."""

    def total(self, data):
        return _sum(np.floor(np.sort(data[:, 0])[2:-2]))


class FirstTen(Sound, Survey):
    """Adds up the ten with the earliest dates: one that is replaced lets one in."""

    box: ClassVar[tuple] = ((0, 100, True), (0, 365, False))

    def total(self, data):
        return _sum(data[np.lexsort((data[:, 0], data[:, 1]))[:10], 0])


class ByDigits(Sound, Author):
    """Keeps a row where the digits of its own value divide by seven."""

    def total(self, data):
        return _sum(data[(data[:, 0] * 1000).astype(np.int64) % 7 == 0, 0])


class TurnsAnswers(Sound, Poll):
    """Turns everybody's answer by their place: a map of one's own."""

    def symbols(self, data):
        return (super().symbols(data) + np.arange(len(data))) % 4
