"""Counts over unknown keys: the cells with many people in a domain where most cells are empty."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, exact_root
from dpaccount.proof import ADD_REMOVE, Theorem
from mechanisms.shared import accuracy, confidence
from mechanisms.statistics import unlisted
from mechanisms.subject import Domain, Rows, View, known_relation, shown
from mechanisms.table.cells import HIGHEST, texts_of, width
from mechanisms.table.columns import LONGEST_TEXT


@dataclass(frozen=True)
class StableHistogram:
    """Release the counts of occupied cells whose noisy count reaches `threshold`.

    A row names `keys` cells at most, and counts once in each that it names.  Only cells in use get noise,
    so that a million empty ones cost no time, and cells need not be listed: with `text` a cell is a text
    of at most `text` bytes, spelled in a row by numbers (`mechanisms.table.cells`).  Discrete Laplace noise
    of `scale`, a double exactly since δ rises with it: (keys/scale, δ)-private under add-remove, where δ
    covers that a row shows one of its own cells.  Under replace-one a row goes and another comes: twice the
    ε, and (1 + e^ε) times the δ.  A number is rounded down; outside the `cells` (NaN and infinities too) it
    counts nowhere, nor does the empty text.
    """

    source: ClassVar[str] = "Korolova, Kenthapadi, Mishra & Ntoulas 2009; Bun, Nissim & Stemmer 2016"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "cells"
    by_row: ClassVar[bool] = True  #: a row counts by itself

    scale: Fraction = Fraction(1)
    threshold: int = 32
    cells: int = 50
    keys: int = 1
    rows: int = 100
    text: int = 0
    relation: str = ADD_REMOVE

    def __post_init__(self) -> None:
        known_relation(self.relation)
        if self.scale <= 0 or self.threshold < 2 or min(self.cells, self.rows) < 1:
            raise out_of_range("scale > 0, threshold >= 2, cells >= 1 and rows >= 1")
        if not 1 <= self.keys <= 64:
            raise InputError(f"keys is {self.keys}", "needed 1 ... 64 cells that a row may name")
        if not 0 <= self.text <= LONGEST_TEXT:
            raise InputError(
                f"text is {self.text}", f"needed 1 ... {LONGEST_TEXT} bytes, or 0 for numbered cells"
            )
        if exact_root(self.scale**2) is None:
            raise InputError(f"scale {self.scale} is no double", "round it, to a multiple of 1/32 say")

    def domain(self) -> Domain:
        """Return columns of integers, one beyond the cells on either side, or those that spell texts."""
        if self.text:
            size = self.keys * width(self.text)
            return Domain(self.rows, (0.0,) * size, (HIGHEST,) * size, (True,) * size)
        low, high, missing = (-1.0,) * self.keys, (float(self.cells),) * self.keys, (-1.0,) * self.keys
        return Domain(self.rows, low, high, (True,) * self.keys, missing)

    def query(self, data: Rows) -> Integers:
        """Return in how many rows each cell is named; of texts in use, each name and its count."""
        if self.text:
            return unlisted.counted(data, self.keys)
        named = np.sort(np.floor(np.nan_to_num(data, nan=-1.0)), axis=1)
        # A row that names a cell twice counts once: else it would move that count by 2, and the proof says 1.
        again = np.zeros(named.shape, dtype=bool)
        again[:, 1:] = named[:, 1:] == named[:, :-1]
        inside = (named >= 0) & (named < self.cells) & ~again
        return np.bincount(named[inside].astype(np.int64), minlength=self.cells).astype(np.int64)

    def proof(self, delta: Fraction) -> Theorem:
        """Every row adds 1 to a few cells; one of its own shows it with a small probability."""
        proved = unlisted.shown("counts", self.scale, self.threshold, delta, self.relation, self.keys)
        return shown(proved, "stable-histogram")

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the cells that are shown, and their noisy counts."""
        if self.text:
            shown = noise.noisy_cells("counts", 0, self.query(data))
            return View(
                public={"cells": np.array(texts_of(shown[:, :-1]), dtype=str), "counts": shown[:, -1]}
            )
        counts = noise.noisy("counts", 0, self.query(data))
        shown = np.flatnonzero(counts)
        return View(public={"cells": shown, "counts": counts[shown]})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of the counts that are shown, and of those of all other cells.

        Noise is drawn for as many cells as are in use: at most `keys` for every row.
        """
        most = self.keys * self.rows if self.text else min(self.cells, self.keys * self.rows)
        alpha = confidence.missed(level) / most
        reach, counts = confidence.laplace(float(self.scale), alpha), view.public["counts"]
        others = np.array(self.threshold - 1 + reach)
        return {
            "counts": accuracy.around(counts, reach, level, "the counts of the cells that are shown"),
            "others": accuracy.interval(0 * others, others, level, "the count of any other cell"),
        }
