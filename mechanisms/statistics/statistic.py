"""One statistic of a study: its kind, its columns, and the group of each row."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, Final
from unicodedata import normalize

import numpy as np

from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.exact import shown as exact_text
from dpaccount.noise.samplers import Floats, Integers
from dpaccount.schemas.claim import METHODS, STATISTICS
from mechanisms.shared import grid
from mechanisms.statistics.expressions import condition
from mechanisms.table.bind_columns import Cells, cells_of, edges_of
from mechanisms.table.cells import texts_of, width
from mechanisms.table.columns import NUMERIC_KINDS, Column, Table

VALUED: Final = (
    "sum",
    "mean",
    "ratio",
    "variance",
    "stddev",
    "median",
    "quantile",
)  #: of a column of numbers
RANKED: Final = ("median", "quantile")
OPEN_WIDTHS: Final = (*RANKED, "ratio", "stddev", "regression")  #: whose intervals' widths depend on the data
CELLED: Final = ("histogram", "top")  #: of one column's cells
STATISTIC_NAME: Final = re.compile(r"[A-Za-z0-9][\w %+,.()=-]{0,99}")  #: a file is called by it
MOST_BY: Final = 3  #: columns by which a statistic is grouped
MOST_GROUPS: Final = 10_000  #: of one statistic, cells of a histogram included
MOST_FEATURES: Final = 20  #: of a regression
LONGEST_FILE: Final = 200  #: bytes of a file's name
NUMBERS: Final = ("estimate", "low", "high")  #: columns of what is released, after those of `by`
RANKS_COLUMN: Final = "ranks"  #: in files, a bound on the rank error of a quantile that is chosen
MOST_STATISTICS: Final = 200
SPLITTING: Final = ("share", "accuracy", "epsilon")  #: ways to state a statistic's share
RESERVED: Final = ("accuracy", "labels")  #: names of other members of a release
RANK_COLUMN: Final = "q"  #: the rank, where a quantile has several
MOST_RANKS: Final = 100
FINEST_RANK: Final = 10**6  #: denominator of the rank of a quantile that is chosen
SMALLEST, LARGEST = Fraction(1, 10**15), Fraction(10**15)  #: shares and accuracies


@dataclass(frozen=True)
class Statistic:
    """A `what` of `STATISTICS`, of a `column`, `by` groups, of the rows that meet `where`.

    `bins` are the edges between cells of a histogram of numbers, `q` are a quantile's ranks and `method` says
    how it is found; `k` is how many cells a `top` lists, `on` are the features of a regression of `column`.
    A ratio is the sum of `column` over that of `per`, whose numbers are not negative.
    Of a study's total this statistic gets a `share` relative to the others', or what it needs for 95 %
    intervals of half-width `accuracy` (ranks, if it is chosen), or what costs `epsilon` alone, at the
    total's δ.
    A count by columns with a text among them, or a top of one, is of unlisted values.
    Raises `InputError` for what does not go together.
    """

    name: str
    what: str
    column: Column | None = None
    by: tuple[Column, ...] = ()
    where: str = ""
    declared: tuple[Column, ...] = ()  #: the columns that `where` may read
    bins: tuple[Fraction, ...] = ()
    q: tuple[Fraction, ...] = ()
    k: int | None = None
    method: str = ""
    on: tuple[Column, ...] = ()
    per: Column | None = None
    share: Fraction = Fraction(1)
    accuracy: Fraction | None = None
    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        """Refuse what is no statistic."""
        if self.what not in STATISTICS:
            raise InputError(f"what is {self.what[:40]!r}", f"known: {', '.join(STATISTICS)}")
        if STATISTIC_NAME.fullmatch(self.name) is None:
            raise InputError(
                f"a statistic is named {self.name[:40]!r}", f"names match {STATISTIC_NAME.pattern}"
            )
        if len(file_name(self.name).encode()) > LONGEST_FILE:
            raise InputError(f"the name {self.name[:40]!r} … is too long for a file", "write a shorter one")
        self._check_columns()
        self._check_terms()
        if self.groups * self.cells > MOST_GROUPS:
            raise InputError(
                f"{self.name} has {self.groups * self.cells} groups",
                f"group by columns of fewer values: at most {MOST_GROUPS} groups in all",
            )
        # Read once here: a wrong condition is refused when it is stated, and not when private rows are at
        # hand.
        _ = self._condition
        self._cells_by(each for each in self.unlisted if each.kind != "text")

    def _check_columns(self) -> None:
        column, what = self.column, self.what
        if (column is None) != (what == "count"):
            right = "leave column out" if what == "count" else "name its column"
            raise InputError(f"{self.name} is a {what}", right)
        if what in (*VALUED, "regression"):
            for each in (column, *self.on, *([self.per] if what == "ratio" else [])):
                if each is None or each.kind not in (*NUMERIC_KINDS, "boolean"):
                    named = "nothing" if each is None else f"{each.name}, a {each.kind}"
                    raise InputError(f"{self.name} is a {what} of {named}", "name a number or integer column")
                try:
                    grid.spanned(*map(Fraction, each.bounds))
                except InputError as error:
                    raise error.inside(each.name) from None
        if len(self.by) > MOST_BY or len({each.name for each in self.by}) < len(self.by):
            raise InputError(f"{self.name} is by {len(self.by)} columns", f"at most {MOST_BY}, each once")
        keys = [each.name for each in (*self.by, *([column] if column and what in CELLED else []))]
        keys += [RANK_COLUMN] if len(self.q) > 1 else []
        if len(set(keys)) < len(keys):
            raise InputError(f"{self.name} is a {what} of {keys[-1]} by {keys[-1]}", "leave that by out")
        if taken := [key for key in keys if key in (*NUMBERS, *([RANKS_COLUMN] if self.chosen else []))]:
            raise InputError(
                f"{self.name} has the column {taken[0]!r} beside its {taken[0]!r}", "rename that column"
            )

    def _check_terms(self) -> None:
        for given, kinds, what in (
            (bool(self.bins), CELLED, "bins are for a histogram or top"),
            (bool(self.q), ("quantile",), "q is for a quantile"),
            (self.k is not None, ("top",), "k is for a top"),
            (bool(self.on), ("regression",), "on is for a regression"),
            (self.per is not None, ("ratio",), "per is for a ratio"),
            (bool(self.method), RANKED, "method is for a median or quantile"),
        ):
            if given and self.what not in kinds:
                raise InputError(f"{self.name} is a {self.what}", f"{what}: leave it out")
        self._check_own_terms()
        most = MOST_GROUPS if self.unlisted else self.cells
        if self.what == "top" and not (self.k is not None and 1 <= self.k <= most):
            raise InputError(f"{self.name} is a top", f"give k, from 1 to its {most} cells")
        if self.what == "regression":
            names = [each.name for each in (*self.on, *([self.column] if self.column else []))]
            if not 1 <= len(self.on) <= MOST_FEATURES or len(set(names)) < len(names) or self.by:
                raise InputError(
                    f"{self.name} is a regression", f"give on, 1 to {MOST_FEATURES} other columns, without by"
                )
        for number, word in ((self.share, "share"), (self.accuracy, "accuracy"), (self.epsilon, "epsilon")):
            if number is not None and number <= 0:
                raise InputError(f"{self.name} has 0 or less as its {word}", "give a positive one")
            if number is not None and not SMALLEST <= number <= LARGEST:
                raise InputError(f"{self.name} has a bad {word}", "give one in [1e-15, 1e15]")
        if self.unlisted and self.bins:
            raise InputError(f"{self.name} counts unlisted values", "leave bins out")
        if self.accuracy is not None and self.what in OPEN_WIDTHS and not self.chosen:
            raise InputError(
                f"{self.name} is a {self.what}, whose interval depends on the data",
                "give an epsilon or a share instead",
            )

    def _check_own_terms(self) -> None:
        if self.what == "ratio" and self.per is None:
            raise InputError(f"{self.name} is a ratio", "give per, the column by whose sum it divides")
        if self.per is not None and self.per.bounds[0] < 0:
            raise InputError(f"{self.name} is per {self.per.name}, which may be negative", "declare low = 0")
        if self.what == "quantile" and not (self.q and all(0 < rank < 1 for rank in self.q)):
            raise InputError(f"{self.name} is a quantile", "give q between 0 and 1, such as q = 0.9")
        if list(self.q) != sorted(set(self.q)) or len(self.q) > MOST_RANKS:
            raise InputError(f"q of {self.name} does not rise", f"give at most {MOST_RANKS} different ones")
        if self.method and self.method not in METHODS:
            raise InputError(f"method is {self.method[:40]!r}", f"known: {', '.join(METHODS)}")
        if self.chosen and len(self.q) > 1:
            raise InputError(f"{self.name} has several q", "leave method out, or give each a statistic")
        if self.chosen and self.rank.denominator > FINEST_RANK:
            raise InputError(f"q of {self.name} has too many digits", "round it to six")

    # ------------------------------------------------------------------ which columns, which groups

    @property
    def chosen(self) -> bool:
        """Return whether the exponential mechanism chooses it among public candidates."""
        return self.method == "exponential"

    @property
    def rank(self) -> Fraction:
        """Return the rank of a median or quantile, between 0 and 1, the first of several."""
        return self.ranks[0]

    @property
    def ranks(self) -> tuple[Fraction, ...]:
        """Return all ranks of a quantile, or that of a median."""
        return self.q or (Fraction(1, 2),)

    @property
    def rank_labels(self) -> tuple[str, ...]:
        """Return what says the rank of a row where a quantile has several; else nothing."""
        return tuple(map(exact_text, self.q)) if len(self.q) > 1 else ()

    @property
    def _condition(self) -> Any:
        return condition(self.where, self.declared) if self.where.strip() else ((), None)

    @property
    def unlisted(self) -> tuple[Column, ...]:
        """Return the columns by whose values it counts rows, if those of one or more are unlisted."""
        columns = self.by if self.what == "count" else ()
        if self.what == "top" and self.column is not None and not self.by:
            columns = (self.column,)
        return columns if any(column.kind == "text" for column in columns) else ()

    @property
    def _listed(self) -> tuple[Column, ...]:
        return () if self.unlisted else self.by

    @property
    def group_cells(self) -> tuple[Cells, ...]:
        """Return the cells of each column by which it is grouped."""
        return self._cells_by(self._listed)

    def _cells_by(self, columns: Iterable[Column]) -> tuple[Cells, ...]:
        try:
            return tuple(_cells_of(each, ()) for each in columns)
        except InputError as error:
            right = "group by a category, a boolean, an integer of few values, or bins of a number"
            raise InputError(f"{self.name} is grouped, but {error.what}", right) from None

    @cached_property
    def cell_labels(self) -> tuple[str, ...]:
        """Return the labels of a histogram's or top's cells, one empty one for every other kind."""
        celled = self.what in CELLED and self.column is not None and not self.unlisted
        return self._cells.labels if celled else ("",)

    @property
    def valued(self) -> Column:
        """Return its column; raises `InputError` for a statistic without one."""
        if self.column is None:
            raise InputError(f"{self.name} has no column", "name one")
        return self.column

    @property
    def _cells(self) -> Cells:
        return _cells_of(self.valued, self.bins)

    @property
    def cells(self) -> int:
        """Return how many cells each group has: one, but for histograms and tops."""
        return len(self.cell_labels)

    @cached_property
    def groups(self) -> int:
        """Return how many groups there are: 1 without `by`."""
        return int(np.prod([len(each.labels) for each in self.group_cells], dtype=np.int64))

    @cached_property
    def keys(self) -> tuple[dict[str, str], ...]:
        """Return the values of the `by` columns in every group, in the order of groups."""
        names = [each.name for each in self._listed]
        return tuple(
            dict(zip(names, labels, strict=True))
            for labels in product(*(each.labels for each in self.group_cells))
        )

    @property
    def needed(self) -> tuple[Column, ...]:
        """Return the columns of which a row has to have a cell, to count: each sum of a ratio has its own."""
        of = [self.column, *self.on] if self.what in (*VALUED, "regression") and self.what != "ratio" else []
        return tuple(column for column in of if column is not None and column.gaps)

    @property
    def is_whole(self) -> bool:
        """Return whether every row counts in one group: their number follows from the table's."""
        return not self.by and not self.where.strip() and not self.needed

    def group_of(self, codes: Mapping[str, Floats]) -> Integers:
        """Return the group of each row, −1 for none: rows that miss the condition, or a value of `by`.

        So are rows without a cell that is needed.
        """
        size = len(next(iter(codes.values())))
        group: Integers = np.zeros(size, dtype=np.int64)
        there = np.ones(size, dtype=bool) if self._condition[1] is None else self._condition[1](codes)
        for column in self.needed:
            there = there & ~column.is_gap(codes[column.name])
        for column, cells in zip(self._listed, self.group_cells, strict=True):
            place = cells.place(codes[column.name])
            there = there & (place >= 0)
            group = group * len(cells.labels) + np.where(place >= 0, place, 0).astype(np.int64)
        return np.where(there, group, -1)

    def spelled(self, codes: Mapping[str, Floats]) -> Floats:
        """Return the unlisted values of each row as numbers; all 0 for a row that does not count.

        For a column of listed values the number is the value's position, from 1.
        """
        parts, there = [], self.group_of(codes) >= 0
        for column in self.unlisted:
            one = codes[column.name]
            if column.kind != "text":
                one = _cells_of(column, ()).place(one)[:, None] + 1
            parts.append(one)
            there = there & one.any(axis=1)
        return np.where(there[:, None], np.concatenate(parts, axis=1), 0)

    def texts(self, numbers: Integers) -> list[Any]:
        """Decode rows of `spelled` numbers: one text each, or one value for each column."""
        values, at = [], 0
        for column in self.unlisted:
            wide = width(column.bytes) if column.kind == "text" else 1
            part, at = numbers[:, at : at + wide], at + wide
            if column.kind == "text":
                values.append(texts_of(part))
            else:
                labels = _cells_of(column, ()).labels
                values.append([labels[place - 1] for place in part[:, 0]])
        return values[0] if len(values) == 1 else [list(each) for each in zip(*values, strict=True)]

    def cell_of(self, codes: Mapping[str, Floats]) -> Integers:
        """Return the cell of each row among all groups' cells, −1 for none."""
        group = self.group_of(codes)
        if self.what not in CELLED or self.column is None:
            return group
        cell = self._cells.place(codes[self.column.name])
        return np.where((group >= 0) & (cell >= 0), group * self.cells + cell, -1).astype(np.int64)

    def scaled(self, column: Column, codes: Mapping[str, Floats]) -> Floats:
        """Return a column's numbers from −1, its lower bound, to 1, its upper one."""
        low, high = column.bounds
        return np.clip((codes[column.name] - low) / (high - low) * 2 - 1, -1, 1)


def file_name(name: str) -> str:
    """Return the file name of a statistic, without its suffix."""
    return name.replace(" ", "-")


def check_names(names: list[str]) -> None:
    """Refuse reserved names of statistics, and two names with one file name."""
    if not 1 <= len(names) <= MOST_STATISTICS:
        raise InputError(f"found {len(names)} statistics", f"give 1 to {MOST_STATISTICS}")
    if taken := [name for name in names if name in RESERVED]:
        raise InputError(f"a statistic is called {taken[0]!r}", f"not {', '.join(RESERVED)}")
    files: dict[str, str] = {}
    for name in names:  # some file systems ignore case or Unicode normalisation
        file = normalize("NFKC", file_name(name)).casefold()
        if file in files:
            what = f"two statistics are called {name!r}"
            if files[file] != name:
                what = f"{files[file]!r} and {name!r} would be one file"
            raise InputError(what, "give each a name of its own")
        files[file] = name


@lru_cache(maxsize=256)  # not kept in a statistic, which is sent to other processes
def _cells_of(column: Column, bins: tuple[Fraction, ...]) -> Cells:
    return cells_of(column, bins or None)


def read_statistic(place: Place, table: Table) -> Statistic:
    """Return the statistic at a ``[[statistic]]`` of a document, on a declared table; raises `InputError`."""
    names = {field.name for field in fields(Statistic)} - {"name", "what", "declared"}
    given = place.table(("name", "what"), tuple(sorted(names)))
    terms: dict[str, Any] = {"name": given["name"].text(), "what": given["what"].text(*STATISTICS)}
    terms |= {key: table.named_at(given[key]) for key in ("column", "per") if key in given}
    for key in ("by", "on"):
        if key in given:
            terms[key] = tuple(map(table.named_at, given[key].items()))
    if "method" in given:
        terms["method"] = given["method"].text(*METHODS)
    if "where" in given:
        terms["where"] = given["where"].text()
        if not terms["where"].strip():
            raise given["where"].wrong("the condition is empty", "leave it out, or write one")
    if len(asked := [key for key in SPLITTING if key in given]) > 1:
        raise place.wrong(f"both {asked[0]} and {asked[1]} are given", "give one of them")
    if "bins" in given:
        terms["bins"] = edges_of(given["bins"])
    if "k" in given:
        terms["k"] = given["k"].integer()
    terms |= {key: given[key].real() for key in SPLITTING if key in given}
    if "q" in given:
        several = list(given["q"].items()) if isinstance(given["q"].value, list) else [given["q"]]
        terms["q"] = tuple(each.real() for each in several)
    with place.placing():
        read = condition(terms["where"], table.every)[0] if terms.get("where", "").strip() else ()
        return Statistic(declared=tuple(map(table.column, read)), **terms)
