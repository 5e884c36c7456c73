"""How a file writes the cells of a column, where that is not how this package writes them.

Everything is declared; nothing is inferred from rows.  A cell is read by itself: what one row holds changes
no other cell.  A cell that is not written as declared is missing; it is never an error, which would reveal
it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cached_property, partial
from typing import Final
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.noise.samplers import Floats
from mechanisms.table.cells import text_of, values_of
from mechanisms.table.columns import DIALECT, ENDLESS, MINUS, NUMERIC_KINDS, Column, Table, read_table
from mechanisms.table.reading import ArrowCells, Dialect

DECIMALS: Final = (".", ",")
#: between thousands, and the characters that count as it
THOUSANDS: Final = {".": ".", ",": ",", "'": "'’", " ": " \u00a0\u202f", "_": "_"}
#: of a date, and what is written there; years of two digits are of 1969 to 2068, as in POSIX
PARTS: Final = {
    "%d": "[0-9]{1,2}",
    "%m": "[0-9]{1,2}",
    "%b": "[A-Za-z]{3,9}",
    "%Y": "[0-9]{4}",
    "%y": "[0-9]{2}",
}
MEANINGS: Final = {"%d": "day", "%m": "month", "%b": "month", "%Y": "year", "%y": "year"}
MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
CENTURY: Final = 69  #: the first year of two digits that is of the last century
MOST_FORMATS: Final = 10
SPACES: Final = " \t\u00a0\u2009\u202f"  #: between a number and its unit
BRACKETS: Final = "()[]{}<>"
SIGNS: Final = f"+-{MINUS}"
NEGATIVES: Final = ("()", "-")  #: in brackets, or with the sign behind
LONGEST_CELL: Final = 1000  #: characters; of a text so many count, and what is longer is no number or date
MOST_MAPPED: Final = 10_000
FARTHEST: Final = Fraction(10**15)  #: of a bound
ALL_ENDS: Final = {"date": (Fraction(1), Fraction(date.max.toordinal()))}
#: keys of a column's declaration, and the types of columns that take them
WRITING: Final = {
    "strip": ("number", "integer", "category", "text", "boolean", "date"),
    "map": ("number", "integer", "category", "text", "boolean", "date"),
    "fold": ("category", "text"),
    "decimal": NUMERIC_KINDS,
    "thousands": NUMERIC_KINDS,
    "negative": NUMERIC_KINDS,
    "date_format": ("date",),
}


@dataclass(frozen=True)
class Spelling:
    """How the cells of `column` are written.

    From both ends of a cell the characters of `strip` are removed, and white space.  With `fold`, letters
    count alike in either case.  A cell that `map` lists then reads as what it says there, and "" is missing.
    Others are numbers with the given `decimal` mark, and with `thousands` between groups of three digits; the
    sign is before or behind what is removed, or as `negative` says: brackets, or a minus sign at the end.  Or
    they begin with a date in one of `date_format`.  Only texts are: a number of a Parquet
    file is one.
    Raises `InputError` for what contradicts itself, or the column.
    """

    column: Column
    strip: str = ""
    map: tuple[tuple[str, str], ...] = ()
    fold: bool = False
    decimal: str = "."
    thousands: str = ""
    negative: str = ""
    date_format: str | tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what does not go together."""
        if self.decimal not in DECIMALS:
            raise InputError(f"decimal is {self.decimal[:9]!r}", "known: " + " ".join(DECIMALS))
        if self.thousands and self.thousands not in THOUSANDS:
            raise InputError(
                f"thousands is {self.thousands[:9]!r}", f"known: {', '.join(map(repr, THOUSANDS))}"
            )
        if self.thousands == self.decimal:
            raise InputError(f"thousands and decimal are both {self.decimal!r}", "give two different marks")
        if self.negative and self.negative not in NEGATIVES:
            raise InputError(
                f"negative is {self.negative[:9]!r}", f"known: {', '.join(map(repr, NEGATIVES))}"
            )
        if len(self.date_formats) > MOST_FORMATS:
            raise InputError(f"date_format has {len(self.date_formats)} formats", f"at most {MOST_FORMATS}")
        for form in self.date_formats:
            self._check_date_format(form)
        self._check_strip()
        twice = [label for label in self.column.values if self._known[self._key(label)] != label]
        if twice:
            raise InputError(f"the value {twice[0]!r} differs from another by case alone", "leave fold out")
        if len(self.map) > MOST_MAPPED:
            raise InputError(f"map has {len(self.map)} cells", f"at most {MOST_MAPPED}")
        if len(self._mapped) < len(self.map) or "" in self._mapped:
            raise InputError("map has a cell twice, or an empty one", "list each once")
        read = [value for _, value in self.map if value]
        for value, lost in zip(read, unread(self.column, read).tolist(), strict=True):
            if lost:
                right = f"give a {self.column.kind} as it is declared"
                raise InputError(f"map reads a cell as {value[:40]!r}", right)

    def _check_strip(self) -> None:
        """Refuse to remove what a value begins or ends with, or what would leave another number."""
        ends = f"0123456789.,{SIGNS}" if self.column.kind in (*NUMERIC_KINDS, "date") else ""
        ends += "".join(label[:1] + label[-1:] for label in self.column.values)
        ends += "truefalsyno10" if self.column.kind == "boolean" else ""
        if self.column.kind in NUMERIC_KINDS and (marks := [mark for mark in self.strip if mark in BRACKETS]):
            right = 'leave it out; say negative = "()" where brackets mean a minus sign'
            raise InputError(f"strip has {marks[0]!r}, and a number in brackets may be negative", right)
        wrong = [mark for mark in self.strip if mark in ends]
        if wrong:
            raise InputError(f"strip has {wrong[0]!r}, with which a value begins or ends", "leave it out")

    def _check_date_format(self, form: str) -> None:
        literal = re.sub("%[dmbYy]", "", form)
        named = sorted(MEANINGS.get(part, part) for part in re.findall("%.?", form))
        if named != ["day", "month", "year"] or re.search("[0-9]", literal):
            right = "give %d, %m or %b, and %Y or %y, once each, as in %d.%m.%Y"
            raise InputError(f"date_format is {form[:30]!r}", right)
        if form.strip().strip(self.strip) != form:
            raise InputError(f"date_format {form[:30]!r} begins or ends with what is removed", "leave it out")

    def codes(self, cells: Iterable[object]) -> Floats:
        """Return each cell's code, as `Column.codes` does; never fails."""
        if isinstance(cells, ArrowCells):  # once a distinct cell
            return self.column.codes(list(map(self.read, cells.values)))[cells.places]
        return self.column.codes(list(map(self.read, values_of(cells))))

    def read(self, cell: object) -> object:
        """Return a cell as it would be written if nothing was declared.

        "" is none that is written as declared, and None one that is declared to be missing.
        """
        bare = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell
        text = self._stripped(bare) if isinstance(bare, str) else None
        if text is not None and len(text) > LONGEST_CELL:
            text = text[:LONGEST_CELL] if self.column.kind in ("text", "category") else ""
        key = self._key(bare if text is None else text)
        # Listed cells come first: a code for a missing one, such as 999, is a number, too.
        if key in self._mapped:
            return self._mapped[key] or None
        if key in self._known:
            return self._known[key]
        if text is None:
            return bare
        if self.notation is not None:
            return self.notation(text)
        return key if self.fold else text

    def _stripped(self, cell: str) -> str:
        """Return a text without what is removed from its ends; of a number the sign comes first."""
        marks = self.strip + SPACES
        text = cell.strip().strip(marks)
        if self.column.kind not in NUMERIC_KINDS or not (self.strip or self.negative):
            return text
        if text[:1] and text[0] in SIGNS:  # -$5.00
            return text[0] + text[1:].lstrip(marks)
        inner = ""
        if self.negative == "()" and text[:1] == "(" and text[-1] == ")":
            inner = text[1:-1].strip(marks)
        elif self.negative == "-" and text[-1:] in ("-", MINUS):
            inner = text[:-1].rstrip(marks)
        # Two signs, and brackets around a sign, are not what anybody declared.
        return f"-{inner}" if inner and inner[0] not in SIGNS else text

    def _key(self, cell: object) -> str:
        """Return what cells that are read alike have in common."""
        if isinstance(cell, str) and self.notation is not None:
            return cell  # 1.000 is not 1 where a point stands between thousands
        text = text_of(cell)
        return normalize("NFC", text.casefold()) if self.fold else text

    @property
    def date_formats(self) -> tuple[str, ...]:
        """Return the formats of dates that are tried, in this order."""
        return (self.date_format,) if isinstance(self.date_format, str) else self.date_format

    @cached_property
    def _mapped(self) -> dict[str, str]:
        by_key = self.fold and self.column.kind == "text"  # else one value would have two spellings
        return {self._key(cell): self._key(read) if by_key else read for cell, read in self.map}

    @cached_property
    def _known(self) -> dict[str, str]:
        """Return the column's values, by what cells of them have in common."""
        labels = self.column.labels if self.column.kind == "category" else ()
        return {self._key(label): label for label in labels}

    @cached_property
    def notation(self) -> Callable[[str], object] | None:
        """Return what reads a text in the notation that is declared, if one is."""
        if self.date_formats:
            return partial(_day, [_pattern(form) for form in self.date_formats])
        if self.decimal == "." and not self.thousands:
            return None
        marks = re.escape(THOUSANDS.get(self.thousands, ""))
        # Without groups of three, 1,5 would be 15 where a comma stands between thousands.
        groups = ""
        if marks:  # in India, but for the last group, of two digits
            groups = f"|[0-9]{{1,3}}(?:[{marks}][0-9]{{3}})+"
            groups += f"|[0-9]{{1,2}}(?:[{marks}][0-9]{{2}})+[{marks}][0-9]{{3}}"
        part = f"(?:{re.escape(self.decimal)}([0-9]*))?"
        return partial(_number, re.compile(f"([-+{MINUS}]?)([0-9]*{groups}){part}([eE][-+]?[0-9]{{1,9}})?"))


def _number(pattern: re.Pattern[str], text: str) -> str:
    """Return a number in the notation of a pattern as others write it, "" for what is none."""
    match = pattern.fullmatch(text)
    if match is None:
        return ""
    sign, whole, part, power = match.groups("")
    return f"{sign.replace(MINUS, '-')}{re.sub('[^0-9]', '', whole)}.{part}{power}"


DateFormat = tuple[re.Pattern[str], list[str]]  #: what matches, and the parts in their order


def _pattern(form: str) -> DateFormat:
    pieces = re.split("(%[dmbYy])", form)
    pattern = "".join(f"({PARTS[piece]})" if piece in PARTS else re.escape(piece) for piece in pieces)
    if "" in pieces[2:-1:2]:  # nothing stands between two parts: then a day has two digits
        pattern = pattern.replace("{1,2}", "{2}")
    return re.compile(f"{pattern}(?![0-9])"), [piece for piece in pieces if piece in PARTS]


def _day(formats: list[DateFormat], text: str) -> object:
    """Return the date that a text begins with in the first of the formats that has one, or "" for none."""
    for pattern, names in formats:
        match = pattern.match(text)
        if match is not None and (day := _date(dict(zip(names, match.groups(), strict=True)))) is not None:
            return day
    return text if text.lower() in ENDLESS else ""


def _date(part: dict[str, str]) -> date | None:
    """Return the date of its parts; None where there is no such day."""
    name = part.get("%b", "").lower()
    months = [number for number, month in enumerate(MONTHS, 1) if name and month.startswith(name)]
    month = int(part["%m"]) if "%m" in part else months[0] if len(months) == 1 else 0
    short = int(part.get("%y", 0))
    year = int(part["%Y"]) if "%Y" in part else short + (1900 if short >= CENTURY else 2000)
    try:
        return date(year, month, int(part["%d"]))
    except ValueError:
        return None


def widest(column: Column) -> Column:
    """Return a number's, integer's or date's column with all bounds that may be."""
    low, high = ALL_ENDS.get(column.kind, (-FARTHEST, FARTHEST))
    return replace(column, low=low, high=high, missing=low, gaps=False)


def unread(column: Column, cells: Sequence[object]) -> NDArray[np.bool_]:
    """Return which cells say nothing that the column has, even out of its bounds."""
    if column.kind == "text":
        return np.array([text_of(cell) == "" for cell in cells], dtype=bool)
    if column.kind == "category":
        return replace(column, other=False, missing=None, gaps=False).codes(cells) < 0
    wide = column if column.kind == "boolean" else widest(column)
    ends = (False, True) if column.kind == "boolean" else (wide.low, wide.high)
    # What a cell is read as depends on what a missing one counts as, just where nothing is read.
    one, other = (replace(wide, missing=end, gaps=False).codes(cells) for end in ends)
    return one != other


def read_file_table(place: Place) -> Table:
    """Return the table that ``[data]`` declares, and how its files are written.

    Raises `InputError` with the key that is wrong.
    """
    given = {key: place.child(key).text() for key in DIALECT if key in place.value}
    with place.placing():
        dialect = Dialect(**given)
    table, declared = read_table(place, tuple(WRITING)), place.child("columns")
    spelled = [each for each in table.columns if declared.value[each.name].keys() & WRITING.keys()]
    return replace(
        table,
        dialect=dialect,
        spellings=tuple(_spelling(declared.child(each.name), each) for each in spelled),
    )


def _spelling(place: Place, column: Column) -> Spelling:
    words = {word: place.child(word) for word in WRITING if word in place.value}
    for word, given in words.items():
        if column.kind not in WRITING[word]:
            raise given.wrong(
                f"{column.name} is a {column.kind}", f"{word} is for {', '.join(WRITING[word])}"
            )
    apart = ("map", "fold", "date_format")
    terms: dict[str, object] = {w: each.text() for w, each in words.items() if w not in apart}
    if "date_format" in words:
        forms = words["date_format"]
        several = isinstance(forms.value, list)
        terms["date_format"] = tuple(each.text() for each in forms.items()) if several else forms.text()
    if "fold" in words:
        terms["fold"] = words["fold"].flag()
    if "map" in words:
        if isinstance(words["map"].value, dict) and not all(isinstance(c, str) for c in words["map"].value):
            raise words["map"].wrong("a cell is no text", "write each in quotes")
        listed = words["map"].table(
            (), tuple(words["map"].value) if isinstance(words["map"].value, dict) else ()
        )
        terms["map"] = tuple((cell, read.text()) for cell, read in listed.items())
    with place.placing():
        return Spelling(column, **terms)  # type: ignore[arg-type]
