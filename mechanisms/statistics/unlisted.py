"""Counts of unlisted texts: those in use get noise, and large counts are shown."""

import math
from fractions import Fraction

import numpy as np

from dpaccount.errors import RuleError
from dpaccount.noise.samplers import Integers
from dpaccount.proof import ADD_REMOVE, Theorem, assume_cell, group, replace_one, stable_histogram
from mechanisms.subject import Rows
from mechanisms.table.cells import HIGHEST

SAFE = 1 - 1e-9  #: of a δ, for what doubles round
FINEST = 32  #: scales are multiples of 1/32, which doubles are exactly


def counted(texts: Rows, keys: int = 1) -> Integers:
    """Return each text in use, as numbers, with how many rows name it; the empty one counts not.

    A row spells `keys` texts of equally many numbers, and counts once in each.
    """
    words = np.clip(np.floor(np.nan_to_num(texts, nan=0.0)), 0, HIGHEST).astype(np.int64)
    rows = np.repeat(np.arange(len(texts)), keys)
    named = np.column_stack([rows, words.reshape(len(texts) * keys, texts.shape[1] // keys)])
    once = np.unique(named[named[:, 1:].any(axis=1)], axis=0)  # a row counts once in a cell
    names, counts = np.unique(once[:, 1:], axis=0, return_counts=True)
    return np.column_stack([names, counts]).astype(np.int64)


def shown(
    key: str, scale: Fraction, threshold: int, delta: Fraction, relation: str, keys: int = 1
) -> Theorem:
    """Return the theorem of noisy counts that reach `threshold`; a row names `keys` cells.

    Under replace-one a row goes and another comes: twice the ε, and (1 + e^ε) times the δ.
    """
    cells = assume_cell(key, ADD_REMOVE, "movement", keys)
    if relation == ADD_REMOVE:
        return stable_histogram(cells, scale, threshold, delta, key)
    return replace_one(
        group(stable_histogram(cells, scale, threshold, _of_one(delta, keys / scale), key), 2, delta)
    )


def least_threshold(scale: Fraction, delta: Fraction, relation: str) -> int:
    """Return about the least threshold at which δ covers that a row shows its own text."""
    one = delta if relation == ADD_REMOVE else _of_one(delta, 1 / scale)
    ratio = math.log(float(one)) + math.log1p(math.exp(-1 / float(scale)))
    return 2 + max(0, math.ceil(-float(scale) * ratio * (1 + 1e-9)))


def delta_of_row(epsilon: Fraction, delta: Fraction, rows: int) -> Fraction:
    """Return a δ of one row with which groups of `rows` have `delta`: δ(e^ε − 1)/(e^kε − 1)."""
    most = min(float(epsilon), 600.0)
    return delta * Fraction(0.95 * math.expm1(most / rows) / math.expm1(most))


def _of_one(delta: Fraction, epsilon: Fraction) -> Fraction:
    """Return the δ of a row that comes or goes, for that of one that is replaced."""
    if epsilon > 500:
        raise RuleError("group: the noise is too little for a replaced row; raise scale")
    return delta * Fraction(SAFE / (1 + math.exp(epsilon)))
