"""Rewards of a logged trial, read from text: a column, or comparisons of columns joined by ``and``.

A comparison has a number, or a value in quotes, on one side and one column on the other, times numbers,
``position`` and ``(1 - position)``, where the position is that of the arm in the record.  Nothing else is
read and nothing is evaluated as code.  A record's reward depends on that record and declarations alone.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from mechanisms.table.columns import COMPARISONS, NUMERIC_KINDS, Column

Floats = NDArray[np.float64]

POSITION: Final = "position"
MAX_CONDITION_LENGTH: Final = 2000  #: characters of a condition
MAX_NUMBER: Final = Fraction(10) ** 15  #: number in a condition, and product of numbers, as a column's bounds
RIGHT: Final = (
    "write a column, or comparisons joined by and, such as "
    '"visits >= 1 and (1 - position) * spending <= 60"; names with spaces go in backquotes'
)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?|\.\d+)|(?P<name>[^\W\d]\w*)|`(?P<quoted>[^`]+)`"
    r"|\"(?P<text>[^\"]*)\"|'(?P<single>[^']*)'|(?P<sign>>=|<=|==|!=|[><*()-]))"
)


@dataclass(frozen=True)
class Comparison:
    """One comparison: `column` times the arm's entry of `weights`, against `limit`.

    `weights` has one number for every arm; `limit` is a number, or the code of a category's value.
    """

    column: str
    weights: tuple[Fraction, ...]
    sign: str
    limit: Fraction

    def holds(self, codes: Floats, arm: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for every record, with the code of its column and its arm, whether the comparison holds."""
        weights = np.array([float(weight) for weight in self.weights])
        return COMPARISONS[self.sign][0](weights[arm] * codes, float(self.limit))


@dataclass(frozen=True)
class Condition:
    """Comparisons that must all hold."""

    comparisons: tuple[Comparison, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that are read, each once."""
        return tuple(dict.fromkeys(each.column for each in self.comparisons))

    def holds(self, codes: Mapping[str, Floats], arm: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for every record whether all comparisons hold; `arm` is 0 or more."""
        flags: NDArray[np.bool_] = np.ones(len(arm), dtype=bool)
        for each in self.comparisons:
            flags &= each.holds(codes[each.column], arm)
        return flags


def condition(text: str, columns: Sequence[Column], positions: Sequence[Fraction], arms: int) -> Condition:
    """Return the condition that `text` states about `columns`, for `arms` arms at their `positions`.

    Raises `InputError` with the wrong part of the text and what would be right.
    """
    if not text.strip() or len(text) > MAX_CONDITION_LENGTH:
        raise InputError(f"the reward has {len(text)} characters", RIGHT)
    return _Reader(_tokens(text), {each.name: each for each in columns}, tuple(positions), arms).condition()


@dataclass(frozen=True)
class _Side:
    """A product: numbers by arm, times a column if any; or a quoted text."""

    weights: tuple[Fraction, ...]
    column: Column | None = None
    text: str | None = None


def _bare(side: _Side) -> None:
    """Refuse a factor on a column that is a boolean, or is compared with a value in quotes."""
    if side.column is not None and set(side.weights) != {1}:
        raise InputError(f"{side.column.name} is multiplied without being compared with a number", RIGHT)


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise InputError(f"the reward has {text[at:].strip()[:20]!r}, which is not read", RIGHT)
        kind = str(match.lastgroup)
        kind, at = {"single": "text", "quoted": "column"}.get(kind, kind), match.end()
        tokens.append((kind, str(match.group(str(match.lastgroup)))))
    return tokens


class _Reader:
    """Reads tokens from left to right."""

    def __init__(
        self,
        tokens: list[tuple[str, str]],
        columns: Mapping[str, Column],
        positions: tuple[Fraction, ...],
        arms: int,
    ) -> None:
        self._tokens, self._columns, self._positions, self._arms = tokens, columns, positions, arms

    def condition(self) -> Condition:
        parts = [self._comparison()]
        while self._tokens:
            if self._next() != ("name", "and"):
                raise InputError("the reward joins comparisons by something else than and", RIGHT)
            parts.append(self._comparison())
        for each in parts:
            if max(map(abs, (*each.weights, each.limit))) > MAX_NUMBER:
                raise InputError(f"the reward has a number beyond {float(MAX_NUMBER):g}", RIGHT)
        return Condition(tuple(parts))

    def _next(self) -> tuple[str, str]:
        if not self._tokens:
            raise InputError("the reward ends too early", RIGHT)
        return self._tokens.pop(0)

    def _comparison(self) -> Comparison:
        left = self._side()
        if left.column is not None and (not self._tokens or self._tokens[0] == ("name", "and")):
            if left.column.kind != "boolean":
                raise InputError(f"{left.column.name} is no boolean", "compare it with a number")
            _bare(left)
            return Comparison(left.column.name, left.weights, "==", Fraction(1))
        kind, sign = self._next()
        if kind != "sign" or sign not in COMPARISONS:
            raise InputError(f"the reward has {sign[:20]!r} where a comparison belongs", RIGHT)
        right = self._side()
        if left.column is None:
            left, sign, right = right, COMPARISONS[sign][1], left
        if right.text is not None:
            _bare(left)
        if left.column is None or right.column is not None:
            raise InputError("a comparison has one column, on one side", RIGHT)
        return self._against(left.column, left.weights, sign, right)

    def _against(self, column: Column, weights: tuple[Fraction, ...], sign: str, right: _Side) -> Comparison:
        if right.text is not None:
            if right.text not in column.labels or sign not in ("==", "!="):  # numbers and text have none
                known = ", ".join(column.labels) or "it has none to compare with"
                raise InputError(
                    f"{column.name} {sign} {right.text[:60]!r} is not read", f"its values: {known}"
                )
            return Comparison(column.name, weights, sign, Fraction(column.labels.index(right.text)))
        if column.kind not in (*NUMERIC_KINDS, "boolean"):
            raise InputError(f"{column.name} is a {column.kind}", "compare it with a value in quotes, by ==")
        if len(set(right.weights)) != 1:
            raise InputError("the position is on the column's side", RIGHT)
        return Comparison(column.name, weights, sign, right.weights[0])

    def _side(self) -> _Side:
        side = self._factor()
        while self._tokens and self._tokens[0] == ("sign", "*"):
            self._tokens.pop(0)
            other = self._factor()
            if side.text is not None or other.text is not None or (side.column and other.column):
                raise InputError("a product has one column, and numbers", RIGHT)
            weights = tuple(a * b for a, b in zip(side.weights, other.weights, strict=True))
            side = _Side(weights, side.column or other.column)
        return side

    def _factor(self) -> _Side:
        kind, word = self._next()
        if kind == "number":
            return _Side((Fraction(word),) * self._arms)
        if (kind, word) == ("sign", "-") and self._tokens and self._tokens[0][0] == "number":
            return _Side((-Fraction(self._next()[1]),) * self._arms)
        if kind == "text":
            return _Side((Fraction(1),) * self._arms, text=word)
        if (kind, word) == ("sign", "("):
            return self._parenthesis()
        if (kind, word) == ("name", POSITION) and POSITION not in self._columns:
            return _Side(self._where())
        if kind in ("name", "column") and word in self._columns:
            return _Side((Fraction(1),) * self._arms, self._columns[word])
        if kind in ("name", "column"):
            known = ", ".join(self._columns)
            raise InputError(
                f"the reward names {word[:60]!r}, which is no declared column", f"declared: {known}"
            )
        raise InputError(f"the reward has {word!r} where a column or a number belongs", RIGHT)

    def _parenthesis(self) -> _Side:
        """Read ``(NUMBER - position)``, after its first parenthesis."""
        words = [self._next() for _ in range(4)]
        shape = [words[0][0], *(word for _, word in words[1:])]
        if shape != ["number", "-", POSITION, ")"]:
            raise InputError("the reward has a parenthesis that is not (1 - position)", RIGHT)
        return _Side(tuple(Fraction(words[0][1]) - position for position in self._where()))

    def _where(self) -> tuple[Fraction, ...]:
        if len(self._positions) != self._arms:
            raise InputError("the reward reads the arm's position", "give positions, one number per arm")
        return self._positions
