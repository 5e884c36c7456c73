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
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Final
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

ABSENT: Final = ("NAType", "NaTType")  #: classes of pandas' missing cells, which compare to nothing
#: what ends a program; of a cell any other error is that of its class (polars panics)
FATAL: Final = (KeyboardInterrupt, SystemExit, MemoryError)
NUMBER_CELL: Final = re.compile(r"([+-]?)([0-9]*+)(\.?)([0-9]*+)(?:[eE]([+-]?)([0-9]{1,9}))?")
NUMERIC: Final = "+-.0123456789"  #: how a number begins
BYTES: Final = 6  #: of a number, which a double holds exactly
HIGHEST: Final = 2.0 ** (8 * BYTES) - 1
_PLACES: Final = 256 ** np.arange(BYTES - 1, -1, -1, dtype=np.int64)
FLAGS: Final = {"true": 1, "false": 0}
NOBODY: Final = frozenset({"", "nan", "na", "n/a", "<na>", "none", "null", "nat"})  #: ways to write a gap
LOST: Final = 2.0**53  #: from which on a number that was held in double precision has lost its last digits
MOST_DIGITS: Final = 60  #: digits of a whole number that is written out


Value = str | bool | int | float | Decimal | date | None  #: of a cell; None is a missing one


def value_of(cell: object) -> Value:
    """Return a cell as one of Python's own values, by itself; None where it has none.

    Whatever the class of a cell raises is a missing cell: an error would reveal it.  A number of single
    precision is the shortest decimal that reads back as it, as programs write it.
    """
    if cell is None or type(cell) in (str, int, float, bool):
        return cell  # type: ignore[return-value]
    try:
        if type(cell).__name__ in ABSENT or (isinstance(cell, Decimal) and cell.is_nan()):
            return None
        if isinstance(cell, np.float32 | np.float16 | Fraction):
            return float(cell) if isinstance(cell, Fraction) else float(str(cell))
        if isinstance(cell, np.generic):
            return value_of(cell.item())
        if isinstance(cell, bytes | bytearray):
            return cell.decode("utf-8", "replace")
        if isinstance(cell, str | Decimal | date):
            return cell
        return str(cell)
    except FATAL:
        raise
    except BaseException:
        return None


def values_of(cells: Iterable[object]) -> Iterable[Value]:
    """Return cells as Python's own values, in whatever way they were held.

    A reader holds a column without gaps otherwise than one with: another row's gap would change what this
    one counts as.
    """
    if isinstance(cells, np.ndarray) and (cells.dtype.kind in "biu" or cells.dtype == np.float64):
        listed: list[Value] = cells.tolist()
        return listed
    return map(value_of, cells)


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


def number_of(text: str) -> str | None:
    """Return the one way to write the number that a text is; None for a text that is none.

    One that begins with further zeros, such as a postal code, is none.
    """
    digits = text.lstrip("+-")
    found = None if digits[0:1] == "0" and digits[1:2].isdigit() else _number(text)
    return None if found is None else found[0]


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
    """Return any cell as a text that is read alike; texts are never written otherwise."""
    value = value_of(cell)
    if isinstance(value, str):
        return value
    lost = isinstance(value, float) and abs(value) >= LOST
    return _bare(value) if lost else text_of(value)


def _bare(cell: object) -> str:
    """Return a cell as text without spaces around it, in Unicode's composed form; moments without zeros."""
    value = value_of(cell)
    if value is None or _is_nan(value):
        return ""
    text = str(value).strip()
    if not text.isascii():
        return normalize("NFC", text)
    if text[4:5] == text[7:8] == "-" and text[10:11] in ("T", " ") and text[-1].isdigit():
        with suppress(ValueError):
            return str(datetime.fromisoformat(text)).removesuffix(" 00:00:00")
    return text


def _is_nan(cell: object) -> bool:
    return isinstance(cell, float) and math.isnan(cell)


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
