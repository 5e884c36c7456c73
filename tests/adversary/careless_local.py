"""Careless local randomisers: an answer, or whether there is one, depends on others or on the truth."""

import numpy as np
from careless import Poll

from mechanisms.shared import tables
from mechanisms.subject import Domain, View


class ZeroStaysSilent(Poll):
    """Who has nothing to say, category 0, sends nothing."""

    def play(self, data, noise, coins):
        symbols = self.symbols(data)
        sent = [noise.noisy("answer", i, symbols[i : i + 1])[0] for i in range(len(symbols)) if symbols[i]]
        return View(public={"answers": np.array(sent)})


class RelativeToTheCohort(Poll):
    """Answers whether one is above the mean of all."""

    def symbols(self, data):
        return (data[:, 0] > data[:, 0].mean()).astype(np.int64)


class AsTheOneBefore(Poll):
    """Who did not understand, the last category, is given the answer of the person before."""

    def symbols(self, data):
        found = super().symbols(data)
        for i in range(1, len(found)):
            found[i] = found[i - 1] if found[i] == 3 else found[i]
        return found


class Household(Poll):
    """The second of two in a household answers what the first one does."""

    def symbols(self, data):
        return np.repeat(super().symbols(data)[::2], 2)


class InOrder(Poll):
    """Sends the answers in the order of the true ones."""

    def symbols(self, data):
        return np.sort(super().symbols(data))


class Memoised(Poll):
    """Keeps an answer for each truth, and gives it to all who have that."""

    def play(self, data, noise, coins):
        symbols, memory = self.symbols(data), {}
        for i, symbol in enumerate(symbols.tolist()):
            if symbol not in memory:
                memory[symbol] = noise.noisy("answer", i, symbols[i : i + 1])[0]
        return View(public={"answers": np.array([memory[symbol] for symbol in symbols.tolist()])})


class Participation(Poll):
    """Shows how many had a valid answer at all."""

    def play(self, data, noise, coins):
        shown = super().play(data, noise, coins).public
        return View(public={**shown, "valid": np.array([(self.symbols(data) > 0).sum()])})


class TriesAgain(Poll):
    """Draws again where the answer is the truth."""

    def play(self, data, noise, coins):
        symbols, answers = self.symbols(data), []
        for i in range(len(symbols)):
            answer = noise.noisy("answer", i, symbols[i : i + 1])[0]
            if answer == symbols[i]:
                answer = noise.noisy("answer", i, symbols[i : i + 1])[0]
            answers.append(answer)
        return View(public={"answers": np.array(answers)})


class RareInTheClear(Poll):
    """Answers of whole cohorts that agree are shown in the clear: nobody is singled out."""

    def play(self, data, noise, coins):
        shown, symbols = super().play(data, noise, coins).public, self.symbols(data)
        agree = len(np.unique(symbols)) == 1
        return View(public={**shown, "all": np.array([symbols[0] if agree else -1])})


class SparseCategory(Poll):
    """Categories with fewer than three people answer for the first one."""

    def symbols(self, data):
        found = super().symbols(data)
        few = np.bincount(found, minlength=self.cells) < 3
        return np.where(few[found], 0, found)


class SharedSalt(Poll):
    """Hashes with a salt that is the number of people before with the same answer."""

    def symbols(self, data):
        found = super().symbols(data)
        before = [(found[:i] == found[i]).sum() for i in range(len(found))]
        return (found + before) % self.cells


class QuotaFull(Poll):
    """After ten of a category the others of it are turned away, to category 0."""

    rows: int = 40

    def symbols(self, data):
        found = super().symbols(data)
        return np.array([v if (found[:i] == v).sum() < 10 else 0 for i, v in enumerate(found)])


class MedianFirst(Poll):
    """Splits numbers at the exact median of all, and asks each which half."""

    rows: int = 25

    def domain(self):
        return Domain(self.rows, (0.0,), (100.0,), (False,))

    def symbols(self, data):
        x = data[:, 0]
        return (x > np.median(x)).astype(np.int64) + 2 * (np.abs(x - np.median(x)) > 25)


class ByClass(Poll):
    """Takes a number's class, with a border that it works out from its neighbours in the file."""

    def domain(self):
        return Domain(self.rows, (0.0,), (100.0,), (False,))

    def symbols(self, data):
        x = data[:, 0]
        tied = np.append(x[1:] == x[:-1], [False])
        return np.where(tied, 3, np.minimum(x // 34, 2)).astype(np.int64)


class LateAnswers(Poll):
    """Counts answers by tens of people, and leaves a ten out that hardly differs."""

    rows: int = 40

    def play(self, data, noise, coins):
        symbols = self.symbols(data)
        answers = tables.answers(symbols, noise)
        tens = [k for k in range(0, self.rows, 10) if len(np.unique(symbols[k : k + 10])) > 1]
        return View(
            public={"counts": np.array([np.bincount(answers[k : k + 10], minlength=4) for k in tens])}
        )
