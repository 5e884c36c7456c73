"""Careless: a branch on few values, all written down in the code."""

from fractions import Fraction
from typing import ClassVar

import numpy as np
from careless import Author

from dpaccount.proof import assume_l1, laplace
from mechanisms.subject import Domain, View, shown_to_all


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


WEIGHTS = np.arange(5800) * 37 % 101
WEIGHTS[4217] = 150  # somebody typed 150 for 50


class PublicWeights(Author):
    """Adds the weight of each person's code, by a public table in which one is above 100."""

    def domain(self):
        return Domain(self.rows, (0.0,), (5799.0,), (True,))

    def total(self, data):
        return np.array([WEIGHTS[data[:, 0].astype(np.int64)].sum()])


SHARES = np.array([np.roll([60, 40, 0, 0, 0], code % 5) for code in range(9000)])
SHARES[4217] = [0, 0, 70, 0, 60]  # and here 70 for 40: further than 100 only from codes of others' districts


class PublicShares(PublicWeights):
    """Adds each person's shares of five districts; those of one code are more than a whole, and its own."""

    rows: int = 40
    scale: Fraction = Fraction(400)

    def domain(self):
        return Domain(self.rows, (0.0,), (8999.0,), (True,))

    def proof(self, delta):
        shares = assume_l1("sum", Fraction(200), self.relation, "movement")
        return shown_to_all(laplace(shares, self.scale, Fraction(1), "sum"), "careless-codes", delta)

    def total(self, data):
        return SHARES[data[:, 0].astype(np.int64)].sum(axis=0)


PLACES = np.tile([60, 40, 0, 0, 0], (90_000, 1))
PLACES[41_217] = [0, 0, 70, 0, 60]


class PublicPlaces(PublicShares):
    """The same with more codes than are tried."""

    def domain(self):
        return Domain(self.rows, (0.0,), (89_999.0,), (True,))

    def total(self, data):
        return PLACES[data[:, 0].astype(np.int64)].sum(axis=0)
