"""The interface of a mechanism or bandit, used to prove, run and attack it.

A subject is one public frozen dataclass per file; its name is the file's name with hyphens.  Its
fields are its parameters.  There is no registry: `audits.subjects.catalogue` discovers the files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import RELATIONS, Theorem, assume_view, post_process
from dpaccount.proof.search import approximate
from dpaccount.relation import kind_of

Rows = NDArray[np.float64]

#: A parameter without a default, such as a public bound, names in its field's metadata under this key
#: the value that examples take; a claim and a release must state it.
EXAMPLE: Final = "example"


@dataclass(frozen=True)
class Domain:
    """The possible datasets: `rows` records (one unit each), every column within [low, high].

    The bounds are public and hold for all possible data, not only for the observed data.
    Under add-remove any number of rows up to `rows` may occur.  `missing` replaces NaN in each
    column: it is public too, 0 by default, and clamped like any other value.
    """

    rows: int
    low: tuple[float, ...]
    high: tuple[float, ...]
    integer: tuple[bool, ...]
    missing: tuple[float, ...] = ()

    def contains(self, data: Rows) -> bool:
        """Return whether `data` has the right columns, all finite and within bounds."""
        if data.ndim != 2 or data.shape[1] != len(self.low) or not np.isfinite(data).all():
            return False
        integers = data[:, np.array(self.integer, dtype=bool)]
        within = (data >= self.low).all() and (data <= self.high).all()
        return bool(within and (integers == np.floor(integers)).all())

    @property
    def nothing(self) -> tuple[float, ...]:
        """Return the replacement of NaN in each column: an empty row."""
        return self.missing or (0.0,) * len(self.low)

    def clamped(self, data: Rows) -> Rows:
        """Return values clamped to their columns' bounds, whole if required; NaN is `missing`.

        Rows are processed independently, so neighbours stay neighbours.  An empty dataset is valid.  Raises
        `InputError` for rows of another width.
        """
        if not len(data):
            return np.zeros((0, len(self.low)))
        self._check_width(data)
        known = np.where(np.isnan(data), self.nothing, data)
        inside: Rows = np.clip(known, self.low, self.high)
        return np.where(np.array(self.integer, dtype=bool), np.floor(inside), inside)

    def _check_width(self, data: Rows) -> None:
        if data.ndim != 2 or (len(data) and data.shape[1] != len(self.low)):
            width = " × ".join(map(str, data.shape[1:])) or "no"
            raise InputError(f"data has {width} columns", f"needed rows of {len(self.low)} numbers")

    def admit(self, data: Rows, relation: str) -> None:
        """Validate the shape of data, before any charge; values are clamped, never rejected.

        If rows are replaced, or move, their number is public and must be `rows`.  Under add-remove
        it is private and may be anything from 0 to `rows`; exceeding this limit is an error, which
        reveals that it was exceeded, since dropping rows would let one row bring another in.  An
        empty dataset may have any columns.  Raises `InputError`.
        """
        self._check_width(data)
        if not kind_of(relation).rows_vary and len(data) != self.rows:
            raise InputError(f"data has {len(data)} rows", f"this mechanism is set up for {self.rows}")
        if len(data) > self.rows:
            raise InputError(f"data has more than {self.rows} rows, the public limit", "raise the limit")


def known_relation(relation: str) -> None:
    """Raise `InputError` for an adjacency relation for which no mechanism is proved."""
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
    """A run's output: `own` arrays have a row per unit, for its eyes only; `public` is for all."""

    own: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    public: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)


def released(view: View) -> dict[str, object]:
    """Return the public output, each array by its name as plain lists: a report without data."""
    return {name: shown.tolist() for name, shown in view.public.items()}


class Additive:
    """A mechanism that adds noise to a sum over rows, so that a table need never be whole in memory.

    `query` is what each row adds, summed: the queries of any parts of a table add up to that of the whole,
    exactly, in integers.  `publish` draws the noise and sees these totals only.
    """

    @property
    def adds_up(self) -> bool:
        """Return whether `query` is such a sum with these parameters."""
        return True

    @property
    def by_row(self) -> bool:
        """Return whether what a row adds depends on no other row: to sums, or to counts of unlisted cells."""
        return self.adds_up

    @property
    def largest(self) -> int:
        """Return the largest magnitude that a row adds to a total, in the units of the noise."""
        raise NotImplementedError

    def query(self, data: Rows) -> Integers:
        """Return the exact totals of some rows, in the units of the noise."""
        raise NotImplementedError

    def publish(self, totals: Integers, noise: Noise) -> View:
        """Release the output, given the exact totals of all rows."""
        raise NotImplementedError

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the totals of `data` with noise."""
        return self.publish(self.query(data), noise)


class Subject(Protocol):
    """The protocol of every catalogued mechanism and bandit."""

    source: ClassVar[str]  #: paper and theorem
    status: ClassVar[str]  #: sound, published or broken

    @property
    def relation(self) -> str:
        """Return which datasets are neighbours: ``replace-one``, ``add-remove``, or rows moved by a radius.

        For the last, written by `dpaccount.relation.bounded_row`, a subject may define
        ``replaced(delta)``:  its theorem for replaced rows, from the same hypotheses and for the
        same noise.  It may list additional warnings for its certificate as ``warnings``.
        """

    def domain(self) -> Domain:
        """Return the domain: which data the subject takes."""

    def proof(self, delta: Fraction) -> Theorem:
        """Return the theorem about this subject at (ε, `delta`), with the least ε that is proved."""

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Run on `data`, drawing all noise through `noise`; `coins` seeds the public coins."""


#: What a mechanism reads of a table, by its `reads`.
READS: Final = {
    "cells": "one column, or `keys` of them: a cell, from 0 to `cells` − 1; others as in its docstring",
    "number": "one column of numbers, clipped to [`low`, `high`] where it has these parameters",
    "numbers": "several columns of numbers: `columns`, and one more where it has a `reward`",
    "votes": "one column of whole numbers for each of its `candidates` or `questions`",
    "statistics": "the columns of its ``[[statistic]]`` tables, which its `on_table` takes from a claim",
    "trial": "the columns of a logged trial, which its `on_table` takes from a claim",
}


class Tabular(Subject, Protocol):
    """A mechanism that can be run on a table: it declares what it reads and how accurate it is.

    Rows are units, in any order; a stream (with `rounds`) reads them in the order of its rounds.  A
    subject without `reads` cannot be run on a table.  `per_row` is true if an empty row still
    counts (since the mechanism divides by the public number of rows, or everyone answers).
    """

    reads: ClassVar[str]  #: one of `READS`

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return intervals that cover the noise alone, under the names of the parts of the view.

        Each is {"low": …, "high": …, "level": …, "of": …}, with ends in the shape of the part.
        With probability at least `level` over the noise, all of them contain what `of` names:
        usually the output without noise, after clipping and rounding to the grid.  Parts that
        estimate nothing have none.  Reads the view and public parameters only.  Raises `InputError`
        for a level outside of (0, 1).
        """
