"""Sums, each broken in one way, that test_planted.py audits."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpaccount.proof import assume_rare, despite
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.subject import View

DELTA = Fraction(1, 10**6)


@dataclass(frozen=True)
class Unclipped(LaplaceSum):
    """Planted: forgets to clip."""

    def query(self, data):
        return np.trunc(data[:, :1] * 2.0**self.bits).astype(np.int64).sum(axis=0)


@dataclass(frozen=True)
class HalfNoise(LaplaceSum):
    """Planted: releases twice the value and halves the answer, noise included."""

    def play(self, data, noise, coins):
        return View(public={"sum": noise.noisy("sum", 0, 2 * self.query(data)) / 2})


@dataclass(frozen=True)
class Counter(GaussianSum):
    """Planted: shows how many rows are large."""

    def play(self, data, noise, coins):
        shown = super().play(data, noise, coins)
        return View(public={**shown.public, "large": np.array((np.abs(data) > 1).sum())})


@dataclass(frozen=True)
class Raises(GaussianSum):
    """Planted: fails on some data."""

    def play(self, data, noise, coins):
        if data.max() > 3:
            raise ValueError("too large")
        return super().play(data, noise, coins)


@dataclass(frozen=True)
class ShowsOwn(GaussianSum):
    """Planted: a central mechanism that shows each row its own rounding; the world sees that too."""

    def play(self, data, noise, coins):
        return View(own={"rounded": np.rint(data)}, public=super().play(data, noise, coins).public)


@dataclass(frozen=True)
class Lucky(LaplaceSum):
    """Claims to fail only in a rare event, which no test looks for."""

    def proof(self, delta):
        inner = super().proof(Fraction(0))
        near = assume_rare("laplace-sum", "event", delta, "hope")
        return despite(inner, near, delta)
