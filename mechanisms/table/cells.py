"""What a cell says, whatever file it is in: its text, also as numbers, and whose row it is.

A computer writes one whole number as 7, 7.0 or 7e0, as its column has gaps or not; one truth value as true
or True; one day with or without midnight.  Each of these has one text here, and names one person.

A text as whole numbers has six bytes in each, so that an unlisted cell has a name made of numbers; it is cut
to a public number of bytes, at a character.  Different texts of that length have different numbers.
"""

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Final
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

ABSENT: Final = ("NAType", "NaTType")  #: classes of pandas' missing cells, which compare to nothing
NUMBER_CELL: Final = re.compile(r"([+-]?)([0-9]*+)(\.?)([0-9]*+)(?:[eE]([+-]?)([0-9]{1,9}))?")
NUMERIC: Final = "+-.0123456789"  #: how a number begins
BYTES: Final = 6  #: of a number, which a double holds exactly
HIGHEST: Final = 2.0 ** (8 * BYTES) - 1
_PLACES: Final = 256 ** np.arange(BYTES - 1, -1, -1, dtype=np.int64)
FLAGS: Final = {"true": 1, "false": 0}
NOBODY: Final = frozenset({"", "nan", "na", "n/a", "<na>", "none", "null", "nat"})  #: ways to write a gap
LOST: Final = 2.0**53  #: from which on a number that was held in double precision has lost its last digits
MOST_DIGITS: Final = 60  #: digits of a whole number that is written out


def text_of(cell: object) -> str:
    """Return a cell as a category's value is written, empty where it is missing.

    Whole numbers have no point, exponent or plus sign; numbers that begin with further zeros, such as
    postal codes, and others are left as they are.
    """
    text = _bare(cell)
    if text and text[0] in NUMERIC:
        digits = text.lstrip("+-")
        found = None if digits[0:1] == "0" and digits[1:2].isdigit() else _number(text)
        plain = found is not None and "e-" not in found[0] and (found[1] or digits.isdigit())
        return found[0] if found is not None and plain else text
    return text.lower() if text.lower() in FLAGS else text


def identity_of(cell: object) -> int | str | None:
    """Return whose row a cell in the column of identities says it is: rows without one are one person's, "".

    Equal numbers are one identity however they are written, with leading zeros, too; so are truth values and
    0 or 1, and texts that are equal after NFKC.  None is nobody's: a number that was held in double
    precision and is beyond 2^53 may be that of several persons, of whom each has an identity elsewhere.
    A number that 64 bits do not hold is returned as text.
    """
    if type(cell) is int and -(2**63) <= cell < 2**64:
        return cell
    text = _bare(cell)
    text = text if text.isascii() else normalize("NFKC", text).strip()
    low = text.lower() if len(text) <= 5 else text
    if low in NOBODY:
        return ""
    found = _number(text) if text[0] in NUMERIC else None
    if found is None:
        return FLAGS.get(low, text)
    number, computed = found
    if computed and abs(float(text)) >= LOST:
        return None
    integer = int(number) if len(number) <= 20 and "e" not in number else 2**64
    return integer if -(2**63) <= integer < 2**64 else number


def shown(cell: object) -> str:
    """Return any cell as text that is read alike, empty where it has none: an error would reveal it."""
    try:
        lost = isinstance(cell, float | np.floating) and abs(float(cell)) >= LOST
        return _bare(cell) if lost else text_of(cell)
    except Exception:  # of a class of the user's own
        return ""


def _bare(cell: object) -> str:
    """Return a cell as text without spaces around it, in Unicode's composed form; moments without zeros."""
    if isinstance(cell, str):
        text = cell.strip()
    elif cell is None or type(cell).__name__ in ABSENT or _is_nan(cell):
        return ""
    else:
        text = (cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)).strip()
    if not text.isascii():
        return normalize("NFC", text)
    if text[4:5] == text[7:8] == "-" and text[10:11] in ("T", " ") and text[-1].isdigit():
        with suppress(ValueError):
            return str(datetime.fromisoformat(text)).removesuffix(" 00:00:00")
    return text


def _is_nan(cell: object) -> bool:
    return isinstance(cell, float | np.floating | Decimal) and math.isnan(cell)


def _number(text: str) -> tuple[str, bool] | None:
    """Return the one way to write a number, and whether a computer writes doubles as this text.

    Digits around an e, as in 12e45, may be a code: no computer writes a number so.
    """
    match = NUMBER_CELL.fullmatch(text)
    if match is None or not (match[2] or match[4]):
        return None
    sign, whole, point, part, way, power = match.groups()
    part = part.rstrip("0")
    digits = (whole + part).lstrip("0")
    bare = digits.rstrip("0")
    size = int(way + power if power else 0) - len(part) + len(digits) - len(bare)
    computed = bool(point or way) or (power is not None and len(whole) == 1)
    if not bare:
        return "0", computed
    if size >= 0 and len(bare) + size <= MOST_DIGITS:
        bare, size = bare + "0" * size, 0
    return f"{sign.strip('+')}{bare}{f'e{size}' if size else ''}", computed


# ------------------------------------------------------------------ texts as numbers


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
