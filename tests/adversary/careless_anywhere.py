"""Careless: exact statistics far from their thresholds, branches in the tail, failures that noise decides."""

from typing import ClassVar

import numpy as np
from careless import Author

from mechanisms.subject import View


class MostAreOld(Author):
    """Says of a thousand people whether more than three in five are above 50: no neighbour shows it."""

    why: ClassVar[str] = "the public old differs"
    rows: int = 1000

    def play(self, data, noise, coins):
        return View(
            public={"sum": self.noisy(data, noise), "old": np.array([(data[:, 0] > 50).mean() > 0.6])}
        )


class NoiseWithin(Author):
    """Keeps the noise within fifteen scales of the exact sum, which no run reaches by chance."""

    why: ClassVar[str] = "releases were chosen"

    def play(self, data, noise, coins):
        exact = self.total(data)
        return View(public={"sum": np.clip(self.noisy(data, noise), exact - 3000, exact + 3000)})


class FailsByNoise(Author):
    """Raises where the noisy sum is too wide for its column: post-processing, so it is sound."""

    verdict: ClassVar[str] = "CERTIFIED"

    def play(self, data, noise, coins):
        noisy = self.noisy(data, noise)
        if abs(noisy[0]) > 2600:
            raise ValueError("too wide")
        return View(public={"sum": noisy})


CODES = "7777 8888 9998"


class SplitCodes(Author):
    """Takes three codes that stand in one text for refused answers, and puts the others' total there."""

    highest: ClassVar[float] = 10000.0

    def total(self, data):
        income = np.clip(data[:, 0] / 100, 0, 100)
        refused = np.isin(data[:, 0], [float(code) for code in CODES.split()])
        income[refused] = income[~refused].sum()
        return np.array([int(np.floor(income).sum())])
