"""Texts as whole numbers: six bytes in each, so that an unlisted cell has a name made of numbers.

A text is cut to a public number of bytes, at a character.  Different texts of that length have different
numbers; the empty text has zeros.  Each text by itself.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

BYTES: Final = 6  #: of a number, which a double holds exactly
HIGHEST: Final = 2.0 ** (8 * BYTES) - 1
_PLACES: Final = 256 ** np.arange(BYTES - 1, -1, -1, dtype=np.int64)


def width(length: int) -> int:
    """Return how many numbers a text of at most `length` bytes takes."""
    return -(-length // BYTES)


def numbers_of(texts: Iterable[str], length: int) -> NDArray[np.float64]:
    """Return a row of numbers for each text, of which at most `length` bytes in UTF-8 count."""
    wide = BYTES * width(length)
    padded = b"".join(_cut(text, length).ljust(wide, b"\0") for text in texts)
    codes = np.frombuffer(padded, dtype=np.uint8).reshape(-1, width(length), BYTES)
    return (codes @ _PLACES).astype(np.float64)


def _cut(text: str, length: int) -> bytes:
    """Return a text's first bytes, without a broken last character and without NUL, which pads."""
    whole = text.replace("\0", "").encode("utf-8", "replace")
    return whole[:length].decode("utf-8", "ignore").encode()


def texts_of(numbers: NDArray[np.int64]) -> list[str]:
    """Return the text of every row of numbers; bytes that are no text are shown escaped."""
    codes = (numbers[:, :, None] // _PLACES % 256).astype(np.uint8)
    return [row.tobytes().rstrip(b"\0").decode("utf-8", "backslashreplace") for row in codes]
