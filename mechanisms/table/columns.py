"""A declared table: its columns, their public domains, and the numeric code of a cell.

A cell is text (of a CSV file) or a value (of Parquet, Arrow or Python).  Whatever it is, it has a code,
a finite number: for numbers the value within its bounds, for dates the number of the day (1 is 0001-01-01),
for categories the place among the declared values, for booleans 0 or 1; text has several, which spell it.
So a code depends on no other cell.
"""

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import Final, Protocol
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.noise.samplers import Floats
from mechanisms.table.cells import HIGHEST, number_of, numbers_of, text_of, value_of, values_of
from mechanisms.table.reading import USUAL_DIALECT, ArrowCells, Dialect

COLUMN_KINDS: Final = ("number", "integer", "category", "text", "boolean", "date")
NUMERIC_KINDS: Final = ("number", "integer")
ORDERED_KINDS: Final = (*NUMERIC_KINDS, "date")  #: those with bounds
#: by its sign what a comparison of codes says, and its sign where the sides are exchanged
COMPARISONS: Final[dict[str, tuple[Callable[[Floats, float | Floats], NDArray[np.bool_]], str]]] = {
    ">=": (operator.ge, "<="),
    "<=": (operator.le, ">="),
    "==": (operator.eq, "=="),
    "!=": (operator.ne, "!="),
    ">": (operator.gt, "<"),
    "<": (operator.lt, ">"),
}
#: of a field that descriptions of earlier studies do not have: it is stated where it is not the default
SINCE_SCHEMA_2: Final = {"stated": "unless default"}
NOWHERE: Final = -1.0  #: the code of a category's cell that is none of its values, where there is no "other"
NO_CELL: Final = -2.0  #: the code of a category's missing cell, where it counts as none of these
OTHER: Final = "other"
NULL: Final = "null"  #: in expressions, a value that is missing
LONGEST_TEXT: Final = 240  #: bytes that may be declared
COLUMN_NAME: Final = re.compile(r"[^\x00-\x1f]{1,200}")
MINUS: Final = "\u2212"  #: as typographers write it
DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
ENDLESS: Final = frozenset({"infinity", "-infinity"})  #: dates of PostgreSQL and DuckDB
_DAY: Final = r"-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
FAR_DAY: Final = re.compile(rf"-?[1-9][0-9]{{4,6}}{_DAY}(?![0-9])")
BEFORE_CHRIST: Final = re.compile(rf"[0-9]{{1,7}}{_DAY}(?![0-9]).* ?\(?BC\)?")

_TRUE, _FALSE = frozenset({"true", "t", "yes", "y", "1"}), frozenset({"false", "f", "no", "n", "0"})


def _told(value: object) -> str:
    """Return a value as a study's file writes it."""
    return (
        str(value).lower()
        if isinstance(value, bool)
        else repr(value)
        if isinstance(value, str)
        else str(value)
    )


@dataclass(frozen=True)
class Column:
    """One declared column.

    `low` and `high` bound numbers, integers and dates (as numbers of days); `values` are a category's, in
    the order of their codes, and with `other` all else counts as one more; `missing` is what a cell counts
    as that is missing or of another type: by default `low`, false, empty text, or for a category "other",
    else no value at all.  With `gaps` it counts as nothing: it has a code of its own, below all others, and
    is unknown to conditions and left out of statistics.  Of a text at most `length` bytes count, in UTF-8.
    `schema` is that of the study: from 2 on a category's cell is compared with its values as text and then as
    a number, and one that is none of them never counts as `missing`.
    Raises `InputError` for declarations that contradict themselves.
    """

    name: str
    kind: str
    low: Fraction | None = None
    high: Fraction | None = None
    values: tuple[str, ...] = ()
    other: bool = False
    missing: Fraction | str | bool | None = None
    length: int | None = None
    gaps: bool = field(default=False, metadata=SINCE_SCHEMA_2)
    schema: int = field(default=1, metadata=SINCE_SCHEMA_2)

    def __post_init__(self) -> None:
        """Refuse what declares no column."""
        if COLUMN_NAME.fullmatch(self.name) is None:
            raise InputError("a column's name is empty, long or has control characters", "give the header's")
        if self.name == NULL and self.schema > 1:
            raise InputError("a column is named null, which is a missing cell", "rename it")
        if self.kind not in COLUMN_KINDS:
            raise InputError(f"{self.name} has the type {self.kind!r}", f"known: {', '.join(COLUMN_KINDS)}")
        if self.kind in ORDERED_KINDS:
            self._check_number()
        elif self.low is not None or self.high is not None:
            raise InputError(f"{self.name} has bounds", "only numbers, integers and dates have")
        if self.kind == "category":
            self._check_category()
        elif self.values or self.other:
            raise InputError(f"{self.name} has values", "only categories have")
        if self.length is not None and self.kind != "text":
            raise InputError(f"{self.name} has a length", "only text has")
        if not 1 <= self.bytes <= LONGEST_TEXT:
            raise InputError(f"{self.name} has the length {self.length}", f"give 1 to {LONGEST_TEXT} bytes")
        if self.gaps and self.missing is not None:
            raise InputError(f"{self.name} has gaps, and a value for them", "leave missing out")
        wanted = {"boolean": bool, "text": str}.get(self.kind)
        if wanted is not None and self.missing is not None and not isinstance(self.missing, wanted):
            raise InputError(f"missing is {_told(self.missing)}", f"a {self.kind} belongs there", self.name)

    def _check_number(self) -> None:
        if self.low is None or self.high is None:
            raise InputError(f"{self.name} has no bounds", "give low and high, what a cell may be")
        if self.low > self.high:
            ends = self.written(self.low), self.written(self.high)
            raise InputError(f"low {ends[0]} is above high {ends[1]}", "exchange them", self.name)
        if max(abs(self.low), abs(self.high)) > Fraction(10) ** 15:
            raise InputError(f"{self.name} has bounds beyond 1e15", "give what a cell may be")
        integral = all(Fraction(end).denominator == 1 for end in (self.low, self.high))
        if self.kind == "integer" and not integral:
            raise InputError(f"{self.name} is an integer with broken bounds", "give whole ones")
        given = self.missing
        if given is None:
            return
        if isinstance(given, bool | str):
            raise InputError(f"missing is {_told(given)}", "a number belongs there", self.name)
        if not self.low <= given <= self.high:
            ends = self.written(self.low), self.written(self.high)
            raise InputError(
                f"missing is {self.written(given)}, outside [{ends[0]}, {ends[1]}]",
                "give one inside",
                self.name,
            )
        if self.kind == "integer" and Fraction(given).denominator != 1:
            raise InputError(f"missing is {given}", "a whole number belongs there", self.name)

    def _check_category(self) -> None:
        same = text_of if self.schema == 1 else str
        if not self.values or len(set(map(same, self.values))) != len(self.values):
            raise InputError(f"{self.name} is a category without values, or with one twice", "list each once")
        if any(not value or value.strip() != value for value in self.values):
            raise InputError(f"{self.name} has an empty value, or one with spaces around", "write it bare")
        if self.other and OTHER in self.values:
            raise InputError(f"{self.name} has a value {OTHER!r} beside `other`", "leave one out")
        known = (*self.values, OTHER) if self.other else self.values
        if self.missing is not None and self.missing not in known:
            raise InputError(f"missing is {_told(self.missing)}", f"known: {', '.join(known)}", self.name)

    # ------------------------------------------------------------------ the meaning of codes

    def written(self, end: Fraction) -> object:
        """Return a bound as it is declared: of a date its day."""
        return date.fromordinal(int(end)) if self.kind == "date" else end

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the values of codes 0, 1, … of a category or boolean; else nothing."""
        if self.kind == "boolean":
            return ("false", "true")
        return (*self.values, OTHER) if self.other else self.values

    @property
    def bytes(self) -> int:
        """Return how many bytes of a text count."""
        return 48 if self.length is None else self.length

    @property
    def gap(self) -> float:
        """Return the code of a missing cell that counts as nothing; of a text all its codes are 0."""
        if self.kind == "text":
            return 0.0
        return NO_CELL if self.kind == "category" else self.bounds[0] - 1

    def is_gap(self, codes: Floats) -> NDArray[np.bool_]:
        """Return which cells are missing and count as nothing; none where there are no gaps."""
        if not self.gaps:
            return np.zeros(len(codes), dtype=bool)
        if self.kind == "text":
            return np.asarray(~codes.reshape(len(codes), -1).any(axis=1))
        return np.asarray(codes < (NOWHERE if self.kind == "category" else self.bounds[0]))

    @property
    def range(self) -> tuple[float, float]:
        """Return the least and the largest code, that of a missing cell too."""
        low, high = self.bounds
        return (self.gap if self.gaps else low), high

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the least and the largest code of a cell that is there."""
        if self.kind in ORDERED_KINDS:
            return float(self.low or 0), float(self.high or 0)
        if self.kind == "text":
            return 0.0, HIGHEST
        nowhere = self.kind == "category" and not self.other and (self.missing is None or self.schema > 1)
        return (NOWHERE if nowhere else 0.0), float(len(self.labels) - 1)

    @property
    def default(self) -> float:
        """Return the code of a cell that is missing or of another type."""
        if self.gaps:
            return self.gap
        given = self.missing
        if self.kind in ORDERED_KINDS:
            return float(self.low or 0) if given is None else float(given)
        if self.kind == "boolean":
            return float(bool(given))
        if given is None:
            return float(len(self.values)) if self.other else NOWHERE
        return float(self.labels.index(str(given)))

    def codes(self, cells: Iterable[object]) -> Floats:
        """Return each cell's code (of text, a row of codes), independently; never fails."""
        if self.kind in NUMERIC_KINDS:
            return self.bounded(_numbers(cells))
        if isinstance(cells, ArrowCells):
            return self._codes(cells.values)[cells.places]
        if isinstance(cells, np.ndarray):
            # Each distinct cell is read once: a column of categories has few.
            values, places = np.unique(cells, return_inverse=True)
            return self._codes(values_of(values))[places]
        return self._codes(cells)

    def _codes(self, cells: Iterable[object]) -> Floats:
        if self.kind == "date":
            return self.bounded(np.fromiter(map(day_number, cells), dtype=np.float64))
        if self.kind == "boolean":
            default = self.default
            return np.fromiter((_flag(cell, default) for cell in cells), dtype=np.float64)
        if self.kind == "text":
            return numbers_of((text_of(cell) or str(self.missing or "") for cell in cells), self.bytes)
        if self.schema > 1:
            return np.fromiter(map(self._place, map(value_of, cells)), dtype=np.float64)
        unknown = float(len(self.values)) if self.other else NOWHERE if self.missing is None else self.default
        place = dict.fromkeys(("", "nan", "NaN"), self.default)  # as Parquet, pandas and Polars write a gap
        place |= {text_of(value): float(index) for index, value in enumerate(self.labels)}
        return np.fromiter((place.get(text_of(cell), unknown) for cell in cells), dtype=np.float64)

    def _place(self, cell: object) -> float:
        """Return the code of a category's cell: by its text as written, by that of its value, as a number."""
        text = text_of(cell)
        ways = (cell.strip() if isinstance(cell, str) else text, text, number_of(text))
        places = (known[way] for known, way in zip(_places(self.labels), ways, strict=True) if way in known)
        if (place := next(places, None)) is not None:
            return float(place)
        if text.lower() in ("", "nan"):  # as Parquet, pandas and Polars write a gap
            return self.default
        return float(len(self.values) if self.other else NOWHERE)

    def bounded(self, numbers: Floats) -> Floats:
        """Return numbers within the bounds; NaN, and broken ones of an integer, are the default."""
        low, high = self.bounds
        inside: Floats = np.clip(numbers, low, high)
        wrong = np.isnan(numbers)
        if self.kind == "integer":
            wrong |= numbers != np.floor(numbers)
        if wrong.any():
            inside[wrong] = self.default
        return inside


@lru_cache(maxsize=256)
def _places(labels: tuple[str, ...]) -> list[dict[str | None, int]]:
    """Return the place of each label by its text as written, by that of its value, and as a number.

    Where two labels are one value, such as the codes 250.0 and 250.00, neither is found by it.
    """
    found: list[dict[str | None, int]] = []
    ways: tuple[Callable[[str], str | None], ...] = (str, text_of, number_of)
    for way in ways:
        keys = list(map(way, labels))
        often = Counter(keys)
        found.append({key: k for k, key in enumerate(keys) if key is not None and often[key] == 1})
    return found


def read_columns(place: Place, others: tuple[str, ...] = (), schema: int = 1) -> tuple[Column, ...]:
    """Return the columns that ``[data.columns]`` declares, in the order of their names.

    `schema` is that of the study: from 2 on a column without `missing` has gaps.

    Keys that are `others` may be there, and say nothing of the column itself.
    Keys of TOML and JSON tables have no order, and a sealed document does not keep it.  Raises
    `InputError` with the key that is wrong.
    """
    if not isinstance(place.value, dict) or not place.value:
        raise place.wrong(
            "no column is declared", 'write COLUMN_NAME = { type = "number", low = 0, high = 1 }'
        )
    return tuple(_column(name, place.child(name), others, schema) for name in sorted(place.value))


def _column(name: str, place: Place, others: tuple[str, ...], schema: int) -> Column:
    keys = ("low", "high", "values", "other", "missing", "length", *others)
    table = place.table(("type",), (*keys, "gaps") if schema > 1 else keys)
    kind = table["type"].text(*COLUMN_KINDS)
    ends = [key for key in ("low", "high", *(["missing"] * (kind == "date"))) if key in table]
    given: dict[str, object] = {key: _end(table[key], kind) for key in ends}
    if "values" in table:
        given["values"] = tuple(each.text() for each in table["values"].items())
    if "other" in table:
        given["other"] = table["other"].flag()
    if "length" in table:
        given["length"] = table["length"].integer()
    if "missing" in table and kind != "date":
        value = table["missing"].value
        given["missing"] = value if isinstance(value, bool | str) else table["missing"].number()
    if schema > 1:
        given |= {"schema": schema, "gaps": _has_gaps(name, table)}
    with place.placing():
        return Column(name, kind, **given)  # type: ignore[arg-type]


def _has_gaps(name: str, table: Mapping[str, Place]) -> bool:
    """Return whether a missing cell counts as nothing: unless a value is declared for it."""
    gaps = table["gaps"].flag() if "gaps" in table else "missing" not in table
    if gaps and "missing" in table:
        raise table["gaps"].wrong(f"{name} has gaps, and a value for them", "leave gaps or missing out")
    if not gaps and "missing" not in table:
        what = f"{name} has no gaps, and no value for a missing cell"
        raise table["gaps"].wrong(what, "say what one counts as: missing = …")
    return gaps


def _end(place: Place, kind: str) -> Fraction:
    """Return a bound of a column as a number, of a date its day's."""
    if kind != "date":
        return place.real()
    day = day_number(place.text())
    if math.isnan(day):
        raise place.wrong(f"{place.text()[:40]!r} is no date", "write YYYY-MM-DD")
    return Fraction(day)


def day_number(cell: object) -> float:
    """Return the number of a date, or of a text that begins with one; NaN for what is none.

    Days beyond the calendar, as databases have them, are infinitely far.
    """
    value = value_of(cell)
    if not isinstance(value, str):
        return float(value.toordinal()) if isinstance(value, date) else math.nan
    text = value.strip()
    if text.lower() in ENDLESS or FAR_DAY.match(text) is not None:
        return -math.inf if text.startswith("-") else math.inf
    if BEFORE_CHRIST.fullmatch(text) is not None:
        return -math.inf
    match = DATE.match(text)
    try:
        return math.nan if match is None else float(date.fromisoformat(match[0]).toordinal())
    except ValueError:
        return math.nan


def _numbers(cells: Iterable[object]) -> Floats:
    if isinstance(cells, ArrowCells):
        numbers = cells.numbers()
        return _numbers(cells.values)[cells.places] if numbers is None else numbers.copy()
    if isinstance(cells, np.ndarray) and (cells.dtype.kind in "iu" or cells.dtype == np.float64):
        return cells.astype(np.float64, copy=False)
    return np.fromiter(map(_number, cells), dtype=np.float64)


def _number(cell: object) -> float:
    """Return a cell as a number, NaN for what is none, as truth values are."""
    value = value_of(cell)
    if value is None or isinstance(value, bool | date):
        return math.nan
    if isinstance(value, str):
        if "_" in value:  # as Python writes numbers, and no file
            return math.nan
        value = value.replace(MINUS, "-")
    try:
        return float(value)
    except ValueError:
        return math.nan
    except OverflowError:  # an integer beyond the doubles
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def _flag(cell: object, default: float) -> float:
    text = text_of(cell).lower()
    return 1.0 if text in _TRUE else 0.0 if text in _FALSE else default


MAX_ROWS = 10**9
MOST_OF_ONE = 1000  #: rows of one person that may count

#: of ``[data]``: names in certificates, and in files, which may have either
FILE_WORDS = {"rows": "max_units", "id": "unit_column", "max_rows": "max_contributions"}
KEYS = (*FILE_WORDS, "columns")
DIALECT: Final = ("separator", "encoding")  #: keys of ``[data]``, for CSV files


class Written(Protocol):
    """How a file writes the cells of a column: see `mechanisms.table.spelling.Spelling`."""

    @property
    def column(self) -> Column:
        """The column that is written."""

    @property
    def notation(self) -> Callable[[str], object] | None:
        """What reads a number or date of the file's own notation; None where it is the usual one."""

    def codes(self, cells: Iterable[object]) -> Floats:
        """Return the code of each cell."""

    def read(self, cell: object) -> object:
        """Return what a cell means, for the column to read."""


@dataclass(frozen=True)
class Table:
    """A declared table.

    Without `identity`, the name of a column, a row is a unit and `rows` counts rows; with it the rows of
    one identity are one person's, `rows` counts persons, and at most `max_rows` of a person count.
    Under replace-one that number is public, and so is who is in the table; under add-remove it is the
    most there may be.  The `derived` columns are in no file: they follow from the others.  `dialect` and
    `spellings` say how files, and cells of some columns, are written, where that is not as usual.  The
    rows of a person that count are the first ones; or with `by_digest` those with the least digests, in the
    columns of the `first` edition (none: in all).
    """

    columns: tuple[Column, ...]
    rows: int
    identity: str | None = None
    max_rows: int = 1
    derived: tuple[Column, ...] = ()
    dialect: Dialect = USUAL_DIALECT
    spellings: tuple[Written, ...] = ()
    by_digest: bool = False
    first: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what declares no table."""
        if not 1 <= self.rows <= MAX_ROWS:
            raise InputError(f"rows is {self.rows}", f"needed 1 to {MAX_ROWS}")
        if self.identity is None and self.max_rows != 1:
            raise InputError("max_rows goes with id", "name the column of identities")
        if not 1 <= self.max_rows <= MOST_OF_ONE:
            raise InputError(f"max_rows is {self.max_rows}", f"needed 1 to {MOST_OF_ONE}")
        known: dict[str, str] = {}
        for name in (*(column.name for column in self.every), *([self.identity] if self.identity else [])):
            other = known.setdefault(normalize("NFKC", name), name)
            if other != name:
                what = f"the columns {other!r} and {name!r} are one name after Unicode's normalisation NFKC"
                raise InputError(what, "rename one, in the data too")

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the declared columns, which the file must have."""
        return tuple(column.name for column in self.columns)

    @property
    def in_file(self) -> tuple[str, ...]:
        """Return the names of all columns that are read: the declared ones, and that of the units."""
        return tuple(dict.fromkeys((*self.names, *([self.identity] if self.identity else []))))

    @property
    def every(self) -> tuple[Column, ...]:
        """Return all columns, those that are derived too."""
        return (*self.columns, *self.derived)

    def column(self, name: str) -> Column:
        """Return the column of this name; raises `InputError` with those there are."""
        for column in self.every:
            if column.name == name:
                return column
        names = ", ".join(column.name for column in self.every)
        raise InputError(f"no column {name[:60]!r} is declared", f"declared: {names}")

    def codes(self, name: str, cells: Iterable[object]) -> Floats:
        """Return the code of each cell that a file has in a column; never fails."""
        return (self.spelling(name) or self.column(name)).codes(cells)

    def spelling(self, name: str) -> Written | None:
        """Return how the cells of a column are written, where that is not as usual."""
        return next((each for each in self.spellings if each.column.name == name), None)

    def named_at(self, place: Place) -> Column:
        """Return the column that a claim names at a place."""
        with place.placing():
            return self.column(place.text())


def word(place: Place, kept: str) -> str:
    """Return the key by which ``[data]`` says what is `kept` in certificates, or by which it would."""
    given, said = place.value.keys(), FILE_WORDS[kept]
    if {kept, said} <= given:
        raise place.wrong(f"both {said} and {kept} are given", f"say {said}")
    return kept if kept in given or (said not in given and FILE_WORDS.keys() & given) else said


def read_table(place: Place, others: tuple[str, ...] = ()) -> Table:
    """Return the table that ``[data]`` declares by `KEYS`; raises `InputError` with the key that is wrong.

    A column may have keys that are `others`, which say nothing of it here.  From schema 2 of studies on
    (``schema``), a cell may be missing, and rows of a unit count by their digests.
    """
    schema = place.child("schema").integer(2, 2) if "schema" in place.value else 1
    rows, owner, most = (word(place, kept) for kept in FILE_WORDS)
    for key, right in (("columns", "declare the table's columns"), (rows, "give it")):
        if key not in place.value:
            raise place.wrong(f"the key {key!r} is missing", right)
    columns = read_columns(place.child("columns"), others, schema)
    identity = place.child(owner).text() if owner in place.value else None
    units = place.child(rows).integer(1, MAX_ROWS)
    limit = place.child(most).integer(1, MOST_OF_ONE) if most in place.value else 1
    if identity is None and limit != 1:
        raise place.child(most).wrong(f"{most} goes with {owner}", "name the column of identities")
    with place.placing():
        return Table(columns, units, identity, limit, by_digest=schema > 1)
