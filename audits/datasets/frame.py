"""Synthetic tables for a user's function: columns as a claim declares them, and persons with several rows.

A record of the search is one person: number, number of rows, and the codes of `max_rows` rows.  A dataset
is a matrix of the table's rows in a public order that spreads a person's rows, so that code whose result
depends on who comes first, or on which rows count, is detected.  Without identities each row is a person.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from audits.datasets.forms import FORMS, MAX_NUMBERS, MISSING, NUMERIC, CodedColumn, Layout, Matrix
from dpaccount.errors import InputError
from dpaccount.noise.samplers import Floats
from dpaccount.relation import adjacency, kind_of, unlike
from mechanisms.table import Column, Table

#: values of text cells, and of other categories
TEXTS = ("somewhere else", "another, with a comma", "Zürich")
OTHERS = 2  #: number of these used in a category with `other`
SHOWN = 1000  #: maximum number of common rows that a witness lists


@dataclass(frozen=True)
class Frame:
    """Datasets of a declared table, and which two are neighbours.

    `gaps`: for each column, whether cells may be missing.  Under replace-one there are `table.rows`
    persons, who are public, each with at least one row; under add-remove at most that many.  `texts` are
    the values of undeclared texts, `owners` the persons' names.
    """

    table: Table
    form: str
    gaps: tuple[bool, ...]
    relation: str
    texts: tuple[str, ...] = TEXTS
    owners: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise InputError(f"as is {self.form[:60]!r}", f"known: {', '.join(FORMS)}")
        if kind_of(self.relation).has_radius:
            what = f"columns and {self.relation} do not go together"
            raise InputError(what, "describe an array by shape")
        if self.rows * self.width > MAX_NUMBERS:
            raise InputError(f"a table of more than {MAX_NUMBERS} cells", "describe a smaller one")
        texts = [each.name for each in self.table.columns if each.kind == "text"]
        if self.form == "array" and set(texts) - {self.table.identity}:
            raise InputError(f"{texts[0]} is text, which no array of numbers holds", 'say as = "dict"')
        if all(column.name == self.table.identity for column in self.table.columns):
            raise InputError(f"only the column {self.table.identity} is declared", "declare what is read")

    # ------------------------------------------------------------------ sizes

    @property
    def rows(self) -> int:
        """Return how many persons there are at most."""
        return self.table.rows

    @property
    def columns(self) -> int:
        """Return the number of declared columns."""
        return len(self.table.columns)

    @property
    def width(self) -> int:
        """Return the numbers in one record: who, how many rows, the cells of them."""
        return 2 + self.table.max_rows * self.columns

    # ------------------------------------------------------------------ records and datasets

    def data(self, records: Floats) -> Matrix:
        """Return persons as the rows of a table, in the public order."""
        most, persons = self.table.max_rows, len(records)
        there = np.arange(most) < records[:, 1:2]
        owners = np.repeat(records[:, :1], most, axis=1)
        cells = records[:, 2:].reshape(persons, most, self.columns) + 0.0  # one zero, not two
        flat: Matrix = np.concatenate([owners[:, :, None], cells], axis=2)[there]
        for place, column in enumerate(self.table.columns):
            if column.name == self.table.identity:
                flat[:, 1 + place] = 0.0  # the owner of a row is its first entry
        if self.table.identity is None:
            return flat
        # Spreading a person's rows exposes code that depends on who comes first, or on which rows count.
        keys = np.where(there, public_order(self.rows, most)[records[:, 0].astype(np.int64)], np.inf)
        return flat[np.argsort(np.sort(keys, axis=1)[there], kind="stable")]

    def records(self, data: Matrix) -> Floats:
        """Return a dataset as persons, in the order of their names."""
        most = self.table.max_rows
        if self.table.identity is None:
            return np.column_stack([data[:, :1], np.ones(len(data)), data[:, 1:]])
        order = np.argsort(data[:, 0], kind="stable")
        who, first, counts = np.unique(data[order, 0], return_index=True, return_counts=True)
        cells = np.zeros((len(who), most, self.columns))
        person = np.repeat(np.arange(len(who)), counts)
        cells[person, np.arange(len(data)) - first[person]] = data[order, 1:]
        return np.column_stack([who, counts, cells.reshape(len(who), most * self.columns)])

    def neighbours(self, left: Matrix, right: Matrix) -> bool:
        """Return whether all rows of one person differ, and no others."""
        if self.table.identity is None:
            return adjacency(self.relation).adjacent(left, right)
        a, b = set(left[:, 0]), set(right[:, 0])
        changed = self._changed(left, right)
        if len(changed) > 1 or (a != b) != adjacency(self.relation).rows_vary:
            return False
        one, two = (side[~np.isin(side[:, 0], list(changed))] for side in (left, right))
        return np.array_equal(one, two)

    def _changed(self, left: Matrix, right: Matrix) -> set[float]:
        """Return the persons whose rows differ."""
        each: set[float] = set(left[:, 0]) | set(right[:, 0])
        return {who for who in each if not np.array_equal(left[left[:, 0] == who], right[right[:, 0] == who])}

    # ------------------------------------------------------------------ cells

    def landmarks(self, column: int) -> list[float]:
        """Return special values of a record's entry (column), the simplest first."""
        if column < 2:
            return [1.0, float(self.table.max_rows)] if column and self.table.max_rows > 1 else []
        return self.cell_landmarks((column - 2) % self.columns)

    def cell_landmarks(self, place: int) -> list[float]:
        """Return special codes of a column, a missing cell last."""
        column = self.table.columns[place]
        if column.name == self.table.identity:
            return []
        low, high = self.ends(place)
        if column.kind in ("number", "integer"):
            middle = np.floor((low + high) / 2) if column.kind == "integer" else (low + high) / 2
            landmarks = [*(x for x in (0.0, 1.0, -1.0) if low <= x <= high), low, high, float(middle)]
        else:
            landmarks = [float(code) for code in range(min(self.codes(place), 8))]
            landmarks += [float(self.codes(place) - 1)]
        return list(dict.fromkeys([*landmarks, *([MISSING] if self.gaps[place] else [])]))

    def codes(self, place: int) -> int:
        """Return how many codes a category, a boolean or a text has."""
        column = self.table.columns[place]
        others = {"text": len(self.texts), "category": OTHERS if column.other else 0}
        return len(column.values) + others.get(column.kind, 2)

    def ends(self, place: int) -> tuple[float, float]:
        """Return the least and the largest code of a column; for a category, of its declared values."""
        column = self.table.columns[place]
        if column.kind == "text":
            return 0.0, len(self.texts) - 1.0
        return (0.0, len(column.values) - 1.0) if column.kind == "category" else column.bounds

    @cached_property
    def layout(self) -> Layout:
        """Return how a matrix of rows becomes the dataset that the function gets."""
        columns = tuple(map(self._coded, self.table.columns, self.gaps))
        names = [column.name for column in self.table.columns]
        identity = self.table.identity
        if identity is None:
            return Layout(self.form, columns)
        digits = len(str(self.rows))
        owners = self.owners or tuple(f"p{number:0{digits}d}" for number in range(1, self.rows + 1))
        return Layout(self.form, columns, identity, names.index(identity) if identity in names else 0, owners)

    def _coded(self, column: Column, gaps: bool) -> CodedColumn:  # noqa: FBT001
        if column.kind in NUMERIC:
            return CodedColumn(column.name, column.kind, (), gaps)
        if self.form == "array":  # of a category the place among its values, then among other texts
            return CodedColumn(column.name, "integer", (), gaps)
        return CodedColumn(column.name, column.kind, (*column.values, *self.texts), gaps)

    # ------------------------------------------------------------------ what a reader sees

    def literal(self, data: Matrix) -> str:
        """Return Python that makes a dataset."""
        return self.layout.literal(data)

    def shown(self, left: Matrix, right: Matrix) -> dict[str, object]:
        """Return two neighbours for a witness: the rows that differ on either side, and the common rows once.

        `rows` are the indices, from 0, of the differing rows on the left and on the right; `unit` is the
        person, or the index of the row; of more than `SHOWN` common rows only the number is given.
        """
        if self.table.identity is None:
            longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
            at = min(unlike(longer[: len(shorter)], shorter), default=len(shorter))
            unit: object = at
            places = [[at] if at < len(side) and (len(side) == len(longer)) else [] for side in (left, right)]
        else:
            who = self._changed(left, right)
            unit = next((self.layout.owners[int(each)] for each in who), None)
            places = [np.flatnonzero(np.isin(side[:, 0], list(who))).tolist() for side in (left, right)]
        same = np.delete(left, places[0], axis=0)
        return {
            "left": self.layout.rows(left[places[0]]),
            "right": self.layout.rows(right[places[1]]),
            "unit": unit,
            "rows": places,
            "other_rows": self.layout.rows(same) if len(same) <= SHOWN else len(same),
        }

    def named(self, owners: tuple[str, ...], texts: tuple[str, ...]) -> "Frame":
        """Return the same with other names of persons, and further texts."""
        return replace(self, owners=owners, texts=(*self.texts, *(t for t in texts if t not in self.texts)))


@lru_cache(maxsize=8)
def public_order(persons: int, most: int) -> Floats:
    """Return a place for every row that a person may have; they stand among those of the others."""
    return np.random.default_rng(2718).random((persons, most))


def first_to_last(persons: int, most: int) -> int:
    """Return the person whose first row moves farthest towards the front when all their rows are there."""
    order = public_order(persons, most)
    return int(np.argmax(order[:, 0] - order.min(axis=1)))
