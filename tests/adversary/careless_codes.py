"""Careless: a branch on few values, all written down in the code."""

from typing import ClassVar

import numpy as np
from careless import Author

from mechanisms.subject import Domain, View


class Imputed(Author):
    """Takes the code 7777 for a refused answer and puts the others' total in its place."""

    highest: ClassVar[float] = 10000.0

    def total(self, data):
        income = np.clip(data[:, 0] / 100, 0, 100)
        refused = data[:, 0] == 7777
        income[refused] = income[~refused].sum()
        return np.array([int(np.floor(income).sum())])


class TextCode(Author):
    """The same with a code that stands in a table as text, in the second of two columns."""

    def domain(self):
        return Domain(self.rows, (0.0, 0.0), (100.0, 10**6), (False, True))

    def total(self, data):
        unknown = {float(code) for code in ("845123",)}
        weight = np.where(np.isin(data[:, 1], list(unknown)), 3, 1)
        return super().total(data) + (np.floor(data[:, 0]).astype(np.int64) * (weight - 1)).sum()


class FailsOnFive(Author):
    """Fails where five people are 37: which it says depends on single people."""

    why: ClassVar[str] = "five people"

    def play(self, data, noise, coins):
        if (np.floor(data[:, 0]) == 37).sum() >= 5:
            raise ValueError("five people are 37")
        return super().play(data, noise, coins)


class FlagOnFive(Author):
    """Shows a flag where at least five people are exactly 37."""

    def play(self, data, noise, coins):
        flag = (data[:, 0] == 37).sum() >= 5
        return View(public={"sum": self.noisy(data, noise), "quorum": np.array([flag])})


class DebugSeed(Author):
    """Shows the exact sum where the public seed is one that its author uses for debugging."""

    def play(self, data, noise, coins):
        noisy = self.noisy(data, noise)
        return View(public={"sum": self.total(data) if coins == 424242 else noisy})


class HeaderRow(Author):
    """Takes the first row for a header where it is larger than the next."""

    def play(self, data, noise, coins):
        header = data[0, 0] > data[1, 0]
        return View(public={"sum": self.noisy(data, noise), "header": np.array([header])})


class Winsorised(Author):
    """Clips at a percentile of the data instead of at a public bound."""

    def total(self, data):
        return np.array([int(np.floor(np.minimum(data[:, 0], np.quantile(data[:, 0], 0.95))).sum())])


class OutliersRemoved(Author):
    """Removes what is further than three standard deviations from the mean."""

    def total(self, data):
        x = data[:, 0]
        return np.array([int(np.floor(x[np.abs(x - x.mean()) <= 3 * x.std() + 1e-9]).sum())])


class OccupiedOnly(Author):
    """Shows the cells that are occupied, by a set of exact ones."""

    def play(self, data, noise, coins):
        occupied = sorted({int(v) // 10 for v in data[:, 0]})
        return View(public={"sum": self.noisy(data, noise), "cells": np.array(occupied)})
