"""What a catalogued mechanism or bandit offers to those who prove, run and attack it.

A subject is one public frozen dataclass per file; its name is the file's name with hyphens.  Its
fields are its parameters.  Nothing is registered: `audits.subjects.catalogue` finds the files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.proof import ADD_REMOVE, RELATIONS, Theorem, assume_view, post_process
from dpaccount.proof.search import approximate

Rows = NDArray[np.float64]

#: A parameter without a default, such as a public bound, names in its field's metadata under this key
#: the value that examples take; a claim and a release must say it.
EXAMPLE: Final = "example"


@dataclass(frozen=True)
class Domain:
    """What a dataset may be: `rows` records (one unit each), every column within [low, high].

    The bounds are public and hold for any data that could occur, not for the data that was seen.
    Under add-remove any number of rows up to `rows` may occur.  `missing` is what NaN counts as in each
    column: public too, by default 0, and clamped like any other value.
    """

    rows: int
    low: tuple[float, ...]
    high: tuple[float, ...]
    integer: tuple[bool, ...]
    missing: tuple[float, ...] = ()

    def contains(self, data: Rows) -> bool:
        """Say whether `data` has the right columns, all finite and within bounds."""
        if data.ndim != 2 or data.shape[1] != len(self.low) or not np.isfinite(data).all():
            return False
        whole = data[:, np.array(self.integer, dtype=bool)]
        within = (data >= self.low).all() and (data <= self.high).all()
        return bool(within and (whole == np.floor(whole)).all())

    @property
    def nothing(self) -> tuple[float, ...]:
        """Return what NaN counts as in each column: a row with nothing in it."""
        return self.missing or (0.0,) * len(self.low)

    def clamped(self, data: Rows) -> Rows:
        """Return every value within its column's bounds, whole where it must be; NaN counts as `missing`.

        Each row by itself: neighbours stay neighbours.  No rows at all have the right columns.
        """
        if not len(data):
            return np.zeros((0, len(self.low)))
        known = np.where(np.isnan(data), self.nothing, data)
        inside: Rows = np.clip(known, self.low, self.high)
        return np.where(np.array(self.integer, dtype=bool), np.floor(inside), inside)

    def admit(self, data: Rows, relation: str) -> None:
        """Refuse data of a wrong shape, before anything is charged; values are clamped, not judged.

        Where rows are replaced, or move, their number is public and must be `rows`; under add-remove it is
        private and may be anything from 0 to `rows`, a limit that no data may exceed: that they do is
        told, since leaving rows out would let one row bring another in.  No rows at all may have any
        columns.  Raises `InputError`.
        """
        if data.ndim != 2 or (len(data) and data.shape[1] != len(self.low)):
            found = " × ".join(map(str, data.shape[1:])) or "no"
            raise InputError(f"data has {found} columns", f"needed rows of {len(self.low)} numbers")
        if relation != ADD_REMOVE and len(data) != self.rows:
            raise InputError(f"data has {len(data)} rows", f"this mechanism is set up for {self.rows}")
        if len(data) > self.rows:
            raise InputError(f"data has more than {self.rows} rows, the public limit", "raise the limit")


def known_relation(relation: str) -> None:
    """Refuse a relation that no mechanism is proved for; raises `InputError`."""
    if relation not in RELATIONS:
        raise InputError(f"relation is {relation!r}", f"known: {', '.join(RELATIONS)}")


def wide(rows: int, columns: int, reach: float) -> Domain:
    """Return a domain of real numbers in [−reach, reach], in every column."""
    return Domain(rows, (-reach,) * columns, (reach,) * columns, (False,) * columns)


def shown_to_all(theorem: Theorem, name: str, delta: Fraction) -> Theorem:
    """Return the theorem at (ε, `delta`), the least ε that is proved, about a view that everyone sees."""
    return shown(approximate(theorem, delta), name)


def shown(theorem: Theorem, name: str) -> Theorem:
    """Return a theorem at (ε, δ) about a view that everyone sees."""
    return post_process(theorem, assume_view(name, "everyone", "replay"))


@dataclass(frozen=True)
class View:
    """What a run shows: `own` has arrays with one row per unit, for that unit's eyes; `public` is for all."""

    own: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    public: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)


def released(view: View) -> dict[str, object]:
    """Return what everyone is shown, each array by its name as plain lists: a report without data."""
    return {name: shown.tolist() for name, shown in view.public.items()}


class Subject(Protocol):
    """The shape of every catalogued mechanism and bandit."""

    source: ClassVar[str]  #: paper and theorem
    status: ClassVar[str]  #: sound, published or broken

    @property
    def relation(self) -> str:
        """Return which datasets are neighbours: ``replace-one``, ``add-remove``, or rows moved by a radius.

        Of the last, as `dpaccount.relation.bounded_row` writes it, a subject may say by ``replaced(delta)``
        what it proves of replaced rows, from the same hypotheses and for the same noise.  What its
        certificate should warn of besides, it may list as ``warnings``.
        """

    def domain(self) -> Domain:
        """Return what data may be."""

    def proof(self, delta: Fraction) -> Theorem:
        """Return the theorem about this subject at (ε, `delta`), with the least ε that is proved."""

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Run on `data`, releasing through `noise`; public coins are seeded by `coins`."""


#: What a mechanism reads of a table, as its `reads` says.
READS: Final = {
    "cells": "one column, or `keys` of them: a cell, from 0 to `cells` − 1; others as its docstring says",
    "number": "one column of numbers, clipped to [`low`, `high`] where it has these parameters",
    "numbers": "several columns of numbers: `columns`, and one more where it has a `reward`",
    "votes": "one column of whole numbers for each of its `candidates` or `questions`",
    "trial": "the columns of a logged trial, which its `on_table` takes from a claim",
}


class Tabular(Subject, Protocol):
    """A mechanism that can be run on a table: one that says what it reads, and how accurate it is.

    Rows are units, in any order; a stream (one with `rounds`) reads them in the order of its rounds.  A
    subject without `reads` cannot be run on a table.  One for which a row with nothing in it is a row
    all the same (since it divides by their public number, or everyone answers) says so by a true `per_row`.
    """

    reads: ClassVar[str]  #: one of `READS`

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return intervals for the noise alone, under the names of the parts of the view that they are about.

        Each is {"low": …, "high": …, "level": …, "of": …}, with ends in the shape of the part.  With
        probability `level` at least, over the noise, all of them contain what `of` names: mostly what would
        be shown without noise, after clipping and the grid.  Parts that estimate nothing have none.
        It reads the view and public parameters only.  Raises `InputError` for a level beyond (0, 1).
        """
