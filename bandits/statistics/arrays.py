"""The types of arrays, and numbers as an array."""

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def as_row(given: ArrayLike | None) -> Floats:
    """Return numbers as one row, those beyond the doubles as infinite, masked ones as NaN.

    What are no numbers are none.
    """
    try:
        filled: Any = [] if given is None else given
        if "numpy.ma" in sys.modules:  # else nothing is masked, and its import takes long
            filled = np.ma.array(filled, dtype=object).filled(math.nan)
        numbers = [_double(value) for value in np.array(filled, dtype=object).ravel()]
        return np.array([numbers], dtype=np.float64).reshape(1, -1)
    except (TypeError, ValueError):
        return np.zeros((1, 0))


def _double(value: Any) -> float:
    try:
        masked = "numpy.ma" in sys.modules and value is np.ma.masked
        return math.nan if value is None or masked else float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
