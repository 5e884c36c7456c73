"""Named synthetic datasets (bases), and pairs of neighbours over them.

Corners, equal rows, one outlier, ties, sorted columns, few values: typical cases in which declared
sensitivities or branches fail.  A witness names its base, so that it can be reproduced.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from audits.datasets.shape import Data, Shape
from dpaccount.documents import sha256
from dpaccount.relation import radius_of, squared_distance
from mechanisms.subject import Domain, Rows

SHAPES = (0.05, 0.3, 1.0, 3.0, 8.0)  #: parameters of beta distributions
ON_WALK = "any, one record oddly different"  #: base of a pair whose results move as few others on a walk do
BACKGROUNDS = ("low", "high", "uniform")  #: of a crowd
BASES = ("low", "high", "middle", "corners", "uniform", "spread", "few", "tenths", "skewed")
DRAWN = ("corners", "uniform", "spread", "few", "tenths", "skewed", "crowd")  #: by a seed


@dataclass(frozen=True)
class Pair:
    """Two neighbouring datasets, `left` and `right`.

    `base` names how the unchanged records were made: if `unit` (1-based; 0: unknown) is given, which is
    replaced or removed on the right, the others are those of ``dataset(domain, base, seed)``.
    """

    left: Data
    right: Data
    base: str
    seed: int = 0
    unit: int = 0

    @property
    def squared_distance(self) -> Fraction | None:
        """Return the squared ℓ2 distance of the changed record, exactly; None if it is missing."""
        if len(self.left) != len(self.right) or not self.unit:
            return None
        here, there = (side[self.unit - 1].tolist() for side in (self.left, self.right))
        return squared_distance(here, there)

    def neighbours(self, relation: str) -> bool:
        """Return whether the record moves within the relation's radius, if it has one."""
        radius, far = radius_of(relation), self.squared_distance
        return radius is None or (far is not None and far <= radius**2)


@dataclass(frozen=True)
class Exemplified(Domain):
    """A domain with example tables, named by their digests."""

    examples: tuple[tuple[str, Rows], ...] = field(default=(), compare=False)

    @staticmethod
    def of(domain: Domain, tables: Iterable[Rows]) -> Domain:
        """Return the domain with example tables, if there are any."""
        named = tuple((f"example {sha256(rows.tobytes())[:16]}", rows) for rows in tables)
        return Exemplified(**{**vars(domain), "examples": named}) if named else domain


class _Box:
    """The ranges of a domain's columns as arrays, and records made from them."""

    def __init__(self, domain: Domain) -> None:
        self.low, self.high, self.rows = np.array(domain.low), np.array(domain.high), domain.rows
        self.integer = np.array(domain.integer, dtype=bool)
        self.size, self.place = (self.rows, len(self.low)), np.arange(self.rows)[:, None]

    def equal(self, record: Rows) -> Rows:
        return np.broadcast_to(record, self.size)

    def low_where(self, condition: NDArray[np.bool_]) -> Rows:
        return np.where(condition, self.low, self.high)

    def between(self, share: Rows) -> Rows:
        """Return values at these shares of the range; integers are equally likely, the largest too."""
        rows: Rows = self.low + (self.high - self.low + self.integer) * share
        # Rounding may take low + (high − low) above high.
        return np.where(self.integer, np.minimum(np.floor(rows), self.high), np.minimum(rows, self.high))

    def in_turn(self, values: int) -> Rows:
        """Return records in which each column cycles through its values (`values` of them if it is real)."""
        distinct = np.where(self.integer, np.minimum(self.high - self.low + 1, self.rows), values)
        place = self.place % np.maximum(distinct, 1)
        return self.between(np.where(self.integer, (place + 0.5) / distinct, place / max(values - 1, 1)))


def between(domain: Domain, share: Rows) -> Rows:
    """Return records at these shares of every column's range; integers are equally likely."""
    return _Box(domain).between(share)


def _few(box: _Box, rng: np.random.Generator) -> Rows:
    """Return records whose columns take 2 to 5 values."""
    values = box.between(rng.random((int(rng.integers(2, 6)), len(box.low))))
    return np.take_along_axis(values, rng.integers(0, len(values), box.size), axis=0)


def _skewed(box: _Box, rng: np.random.Generator) -> Rows:
    """Return values at one end, at both or in the middle; often coarse."""
    a, b = rng.choice(SHAPES, 2)
    return box.between(np.round(rng.beta(a, b, box.size), rng.choice((1, 2, 12))))


GENERATORS: dict[str, Callable[[_Box, np.random.Generator], Rows]] = {
    "low": lambda box, _: box.equal(box.low),
    "high": lambda box, _: box.equal(box.high),
    "zero": lambda box, _: box.equal(np.clip(0.0, box.low, box.high)),
    "half high": lambda box, _: box.low_where(box.place < box.rows // 2),
    "middle": lambda box, _: box.equal((box.low + box.high) / 2),
    "one high": lambda box, _: box.low_where(box.place != box.rows - 1),
    "one low": lambda box, _: box.low_where(box.place == box.rows - 1),
    "alternating columns": lambda box, _: box.equal(box.low_where(np.arange(len(box.low)) % 2 == 0)),
    "counting": lambda box, _: np.minimum(box.low + box.place, box.high),
    "in line": lambda box, rng: np.clip(box.between(rng.random(box.size))[:, :1], box.low, box.high),
    "in pairs": lambda box, rng: box.between(rng.random(box.size))[box.place[:, 0] // 2],
    "in turn": lambda box, _: box.in_turn(2),
    "more than half high": lambda box, _: box.low_where(box.place < (box.rows - 1) // 2),
    "fewer than half high": lambda box, _: box.low_where(box.place < box.rows // 2 + 1),
    "corners": lambda box, rng: box.low_where(rng.random(box.size) < 0.5),
    "uniform": lambda box, rng: box.between(rng.random(box.size)),
    "a quarter high": lambda box, _: box.low_where(box.place < box.rows - box.rows // 4),
    "a quarter low": lambda box, _: box.low_where(box.place < box.rows // 4),
    # over orders of magnitude above the low end, where bounds are generous
    "spread": lambda box, rng: box.between(10.0 ** (-8 * rng.random(box.size))),
    "even steps": lambda box, _: box.low + (box.high - box.low) * (box.place + 1) / (box.rows + 1),
    "falling": lambda box, _: box.low + (box.high - box.low) * (box.rows - box.place) / (box.rows + 1),
    "few": _few,
    "tenths": lambda box, rng: np.clip(np.round(box.between(rng.random(box.size)), 1), box.low, box.high),
    "skewed": _skewed,
}
#: names of some bases in answers about a user's own function
DISPLAY_NAMES = {"low": "all low", "high": "all high", "zero": "all zero", "middle": "all in the middle"}
DISPLAY_NAMES |= {"corners": "random corners", "spread": "near low"}
PLAIN = (DISPLAY_NAMES["zero"], DISPLAY_NAMES["low"])  #: prefixes of bases whose other rows contribute least


def crowd(count: int | str, mark: float, column: int, others: str) -> str:
    """Return the base in which the first `count` rows have `mark` in a column (from 0), over another base."""
    return f"crowd {count} {mark!r} {column} {others}"


def alike(count: int | str, record: Sequence[float], others: str) -> str:
    """Return the base in which the first `count` rows are the same record, over another base."""
    return f"alike {count} {','.join(map(repr, record))} {others}"


def dataset(domain: Domain, base: str, seed: int) -> Rows:
    """Return the synthetic dataset with this name; `seed` is used by random bases.

    In addition to `GENERATORS` there are: a `crowd`; rows `alike`; `series ROW COLUMN VALUES BASE`, values of
    consecutive rows; `total T COLUMN`, a column whose positive numbers have a total, as few as do not exceed
    the middle; `first N BASE, then BASE`; `last of N BASE`, the end of
    a longer one; `rising COLUMN BASE` and `falling COLUMN BASE`, sorted by a column; `ends BITS`, every
    column at one end; `sum TOTAL FREE`, rows with a fixed sum without the column FREE (−1: none); `example
    DIGEST`, repeated if it is too short.
    """
    kind, *words = base.split(maxsplit=2)
    rng = np.random.default_rng(seed)
    if base in GENERATORS:
        return _generated(domain, base, rng)
    match kind, words:
        case "crowd", [count, rest]:
            mark, column, others = rest.split(maxsplit=2)
            rows = dataset(domain, others, seed)
            rows[: int(count), int(column)] = float(mark)
        case "alike", [count, rest]:
            record, others = rest.split(maxsplit=1)
            rows = dataset(domain, others, seed)
            rows[: int(count)] = [float(value) for value in record.split(",")]
        case "series", [start, rest]:
            column, values, others = rest.split(maxsplit=2)
            rows = dataset(domain, others, seed)
            series = [float(value) for value in values.split(",")]
            rows[int(start) : int(start) + len(series), int(column)] = series
        case "total", [total, column]:
            rows, most = dataset(domain, "zero", seed), middle(domain, int(column))
            rows[:, int(column)] += np.clip(float(total) - most * np.arange(len(rows)), 0, most)
        case "first", [count, rest]:
            first, then = (dataset(domain, each, seed) for each in rest.split(", then ", maxsplit=1))
            rows = np.concatenate([first[: int(count)], then[int(count) :]])
        case "last", [_, rest]:
            held, longer = rest.split(maxsplit=1)
            data = dataset(replace(domain, rows=int(held)), longer, seed)
            return data[len(data) - domain.rows :]
        case (("rising" | "falling"), [column, others]):
            rows = dataset(domain, others, seed)
            order = np.argsort(rows[:, int(column)], kind="stable")
            rows = rows[order if kind == "rising" else order[::-1]]
        case "ends", [bits]:
            box = _Box(domain)
            low = [not int(bits) >> column & 1 for column in range(len(box.low))]  # may be over 64 columns
            rows = np.array(box.equal(box.low_where(np.array(low))))
        case "sum", [total, free]:
            rows = _summing(_Box(domain), float(total), int(free), rng)
        case "example", [_] if isinstance(domain, Exemplified):
            rows = np.resize(dict(domain.examples)[base], (domain.rows, len(domain.low)))
        case _:
            raise ValueError(f"no base is called {base!r}")
    return _floor_integers(domain, rows)


def middle(domain: Domain, column: int) -> float:
    """Return how far above zero the middle of a column is, or of its positive part."""
    low, high = domain.low[column], domain.high[column]
    zero = min(max(low, 0.0), high)
    far = (low + high) / 2 - zero if low + high > 2 * zero else (high - zero) / 2
    return float(np.floor(far)) if domain.integer[column] else far


def _summing(box: _Box, total: float, free: int, rng: np.random.Generator) -> Rows:
    """Return rows whose columns other than `free` sum exactly to `total`, if possible within the domain."""
    rows = np.floor(box.between(rng.random(box.size)) * 2**20) / 2**20
    others = [column for column in rng.permutation(len(box.low)).tolist() if column != free]
    for column in sorted(others, key=lambda column: not box.integer[column]):
        wanted = rows[:, column] + total - rows[:, others].sum(axis=1)
        wanted = np.floor(wanted) if box.integer[column] else wanted
        rows[:, column] = np.clip(wanted, box.low[column], box.high[column])
    return rows


def named_datasets(shape: Shape, rows: int, rng: np.random.Generator) -> list[tuple[str, Rows]]:
    """Return different datasets of `rows` records, by the names that answers have for them."""
    domain = shape.domain(rows)
    unequal: dict[bytes, tuple[str, Rows]] = {}
    for base in GENERATORS:
        if base not in ("few", "tenths", "skewed"):
            data = _generated(domain, base, rng)
            unequal.setdefault(data.tobytes(), (DISPLAY_NAMES.get(base, base), data))
    return list(unequal.values())


def _generated(domain: Domain, base: str, rng: np.random.Generator) -> Rows:
    return _floor_integers(domain, np.array(GENERATORS[base](_Box(domain), rng), dtype=np.float64))


def _floor_integers(domain: Domain, rows: Rows) -> Rows:
    integer = np.array(domain.integer, dtype=bool)
    rows[:, integer] = np.floor(rows[:, integer])
    return rows


# ------------------------------------------------------------------ places in time

EPOCH, FIRST_DAY, RECENT, LAST = (date(year, 1, 1).toordinal() for year in (1970, 1800, 1980, 2200))
#: (ordinal of the day that is 0, length of a day): ordinals, days of spreadsheets, all units since 1970
UNITS = (
    (0, 1),
    (date(1899, 12, 30).toordinal(), 1),
    *((EPOCH, n) for n in (1, 24, 1440, 86_400, 86_400_000)),
)
LEAST_DAYS, MOST_TIMES = 300, 500  #: days of a column of times; places of a column
SUNDAYS = ((3, 8), (3, 25), (10, 25), (11, 1))  #: clocks change on the first Sunday from these days on
HALF_HOURS = 24  #: of the day, in UTC, in which clocks of Europe and America change


def times(low: float, high: float) -> list[float]:
    """Return leap days, ends of months and hours when clocks change.

    The column's range has to be one that may be of days, or of times since 1970.
    """
    places: list[float] = []
    for zero, length in UNITS:
        first, last = (int(end // length) + zero for end in (low, high))
        if FIRST_DAY <= first <= last - LEAST_DAYS and RECENT <= last <= LAST:
            days, nights = _days(range(date.fromordinal(last).year, date.fromordinal(first).year - 1, -1))
            halves = [half * length // 48 - k for half in range(HALF_HOURS) for k in (0, 1)]
            starts = [(day.toordinal() - zero) * length for day in (*days, *nights)]
            places += [start + k for start in starts[: len(days)] for k in (0, length - 1)]
            places += [start + k for start in starts[len(days) :] for k in halves if length > 1]
    return list(dict.fromkeys(place for place in places if low <= place <= high))[:MOST_TIMES]


def _days(years: range) -> tuple[list[date], list[date]]:
    """Return days around leap days, and ends of the last years' months; and Sundays of clock changes."""
    days = [date(year, 3, 1) - timedelta(k) for year in years if year % 4 == 0 for k in range(3)]
    days += [
        date(year, month, 1) - timedelta(k) for year in years[:2] for month in range(1, 13) for k in (0, 1)
    ]
    firsts = [date(year, month, day) for year in years[:1] for month, day in SUNDAYS]
    return days, [day + timedelta(6 - day.weekday()) for day in firsts]


def marked_columns(domain: Domain, marks: tuple[float, ...]) -> list[tuple[int, float]]:
    """Return (column, mark) for every mark that a column may hold."""
    columns = enumerate(zip(domain.low, domain.high, domain.integer, strict=True))
    return [
        (column, mark)
        for column, (low, high, integer) in columns
        for mark in marks
        if low <= mark <= high and not (integer and mark != np.floor(mark))
    ]


def counts(rows: int, marks: tuple[float, ...], more: tuple[int, ...] = ()) -> list[int]:
    """Return how many records may share a mark: the numbers in the code, those next to them, and `more`."""
    asked = {int(mark) + near for mark in marks if mark == int(mark) for near in (-1, 0, 1)}
    return sorted(count for count in {rows, *more, *asked} if 0 < count <= rows)
