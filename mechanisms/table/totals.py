"""Exact totals of a table in one pass: the rows that count are summed batch by batch, and none is kept.

TableTotals are integers on a grid: those of parts add up to the same numbers, whatever the parts
are and in whatever order they are done.  A part has all rows of its persons, or some batches where
each row is a unit.

Or the rows are divided by unit into one file for each part, in one pass: a part then reads its rows alone.
A row is kept as the key of its unit and the codes of the columns that are read, in the order of the
table: eight bytes each.  The files are as private as the table.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Floats, Integers
from mechanisms.subject import Additive, Domain, Rows, View
from mechanisms.table.cells import width as text_width
from mechanisms.table.columns import Table
from mechanisms.table.kept_rows import Digests, KeptRows
from mechanisms.table.persons import INTEGER, Keys, PersonCounters, keys_of, mixed, runs_of
from mechanisms.table.reading import BATCH, ArrowCells, Batch, DataFile, batches
from mechanisms.table.rows import Reading, codes_of, digests_in

BLOCK: Final = 1000  #: rows of a table without identities that belong to one part
MOST_NUMBERS: Final = 2**23  #: of the rows that a mechanism sums at once
MOST_MARKS: Final = 2**24  #: about as many persons are compared between files; of more, a sample
Codes = Callable[[NDArray[np.int64]], Floats]  #: row numbers of a batch ↦ their codes


@dataclass(frozen=True)
class KeyedRows:
    """The keys of the units of some rows, and what gives the digests and codes of some of them."""

    keys: Keys
    digests: Callable[[NDArray[np.int64]], Digests]
    codes: Codes

    def held(self) -> "KeyedRows":
        """Return them with the digests and codes of all."""
        every = np.arange(len(self.keys))
        return KeyedRows(self.keys, self.digests(every).__getitem__, self.codes(every).__getitem__)

    @staticmethod
    def of(codes: Floats) -> "KeyedRows":
        """Return rows of which only the codes matter."""
        nothing = np.zeros((len(codes), 2), dtype=np.uint64)
        return KeyedRows(nothing, nothing.__getitem__, codes.__getitem__)


@dataclass(frozen=True)
class TablePart:
    """Part `number`, from 0, of `of` parts; `secret` keys the hash of identities, the same for all.

    `by_file`: the part is one of `of` files, which is declared to hold all rows of its persons.
    """

    number: int
    of: int
    secret: bytes
    by_file: bool = False


@dataclass(frozen=True)
class TableTotals:
    """The exact totals of some units' rows that count, and how many units these are.

    `marks` are those of the persons of a part `by_file`: a person of two parts has the same
    mark in both.
    """

    sums: Integers
    units: int
    marks: bytes = b""


@dataclass(frozen=True)
class Summed:
    """The totals of `mechanism`'s query over a declared table.

    `marked`: the reading puts a 1 before each row, which the mechanism does not take.
    """

    mechanism: Additive
    domain: Domain
    table: Table
    reading: Reading
    marked: bool = False

    def of(self, files: Sequence[DataFile], part: TablePart) -> TableTotals:
        """Return the totals of a part of some files, whose rows are in this order.

        Raises `InputError` for what is public: the files and their headers.
        """
        if part.by_file:
            files, part = files[part.number : part.number + 1], TablePart(0, 1, part.secret, by_file=True)
        return self.of_batches(lambda: self.batches_of(files), part)

    def batches_of(self, files: Iterable[DataFile]) -> Iterator[Batch]:
        """Yield the columns that are read of some files, in their order."""
        for file in files:
            yield from batches(file, self.names, self.table.names, self.table.dialect)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns that are read, with that of identities; at least one.

        Where a digest chooses the rows that count, all declared ones are.
        """
        table = self.table
        if table.identity is not None and table.by_digest:
            return tuple(dict.fromkeys((*self.reading.names, *table.in_file)))
        identity = () if table.identity is None else (table.identity,)
        return tuple(dict.fromkeys((*self.reading.names, *identity))) or table.names[:1]

    @property
    def by_digest(self) -> bool:
        """Return whether a digest chooses the rows of a unit that count."""
        return self.table.identity is not None and self.table.by_digest

    @property
    def width(self) -> int:
        """Return how many totals there are."""
        return len(self._query(np.zeros((0, len(self.domain.low)))))

    def of_batches(self, read: Callable[[], Iterable[Batch]], part: TablePart) -> TableTotals:
        """Return the totals of a part of some batches of rows, which may be `read` twice."""
        return self.of_keyed(lambda: self.keyed(read(), part.secret), part)

    def of_stream(self, several: Iterable[Batch], part: TablePart) -> TableTotals:
        """Return the totals of a part of some batches that are read once.

        Where a digest chooses the rows that count, the codes of all are held.
        """
        once = self.keyed(several, part.secret)
        if not self.by_digest:
            return self.of_keyed(lambda: once, part)
        held = [rows.held() for rows in once]
        return self.of_keyed(lambda: held, part)

    def keyed(self, several: Iterable[Batch], secret: bytes) -> Iterator[KeyedRows]:
        """Yield the keys of the units of each batch's rows, and what gives digests and codes of some of them.

        The unit is the person, or the row: its number, whatever batches it is read in.
        """
        rows = 0
        for batch in several:
            if self.table.identity is not None:
                keys = keys_of(batch[self.table.identity], secret)
            else:
                keys = np.full((len(batch[self.names[0]]), 2), INTEGER)
                keys[:, 0] = np.arange(rows, rows := rows + len(keys))
            yield KeyedRows(keys, partial(self._digests, batch), partial(self._codes, batch))

    def parts_of(self, keys: Keys, part: TablePart) -> NDArray[np.int64]:
        """Return the part of each unit, the same one in all parts and on all machines."""
        if self.table.identity is None:
            blocks: NDArray[np.int64] = keys[:, 0].astype(np.int64) // BLOCK % part.of
            return blocks
        bits = mixed(keys, int.from_bytes(part.secret[:8]))
        return (bits >> np.uint64(1)).astype(np.int64) % part.of

    def of_keyed(self, read: Callable[[], Iterable[KeyedRows]], part: TablePart) -> TableTotals:
        """Return the totals of a part of some batches of `keyed` rows, which are `read` again if need be.

        That is where a digest chooses the rows that count, and a unit has more than that.
        """
        total, units = self._query(np.zeros((0, len(self.domain.low)))), 0
        most, bounded = self.table.max_rows, self.table.identity is not None
        persons = PersonCounters(most + self.by_digest, -(-self.table.rows // part.of))
        for rows in read():
            here = np.flatnonzero(self._here(rows.keys, part))
            if bounded:
                here = here[persons.keep(rows.keys[here])]
            if persons.most <= most:
                units += len(here)
                total = total + self._summed(rows, here)
        if not bounded:
            return TableTotals(total, units)
        if persons.most > most:
            total = self._of_kept(read(), persons, part)
        marks = self._marks(persons.keys(), part.secret) if part.by_file else b""
        return TableTotals(total, persons.number, marks)

    def _of_kept(self, several: Iterable[KeyedRows], persons: PersonCounters, part: TablePart) -> Integers:
        """Return the totals where some of the `persons` have more rows than count."""
        total = self._query(np.zeros((0, len(self.domain.low))))
        kept = KeptRows(self.table.max_rows)
        for rows in several:
            here = np.flatnonzero(self._here(rows.keys, part) & (rows.keys[:, 1] != 0))
            beyond = persons.beyond(rows.keys[here], self.table.max_rows)
            total = total + self._summed(rows, here[~beyond])
            some = here[beyond]
            kept.add(rows.keys[some], rows.digests(some), rows.codes(some))
        for codes in kept.parts():
            total = total + self._summed(KeyedRows.of(codes), np.arange(len(codes)))
        return total

    def _summed(self, rows: KeyedRows, some: NDArray[np.int64]) -> Integers:
        """Return the totals of some rows, a bounded number of them at once."""
        total = self._query(np.zeros((0, len(self.domain.low))))
        at_once = max(1, MOST_NUMBERS // len(self.domain.low))
        for few in np.array_split(some, len(some) // at_once + 1):
            total = total + self._sums(rows.codes(few))
        return total

    def _here(self, keys: Keys, part: TablePart) -> NDArray[np.bool_]:
        """Return which rows are of units that are in the part: all rows of a person are in one."""
        return np.ones(len(keys), dtype=bool) if part.of == 1 else self.parts_of(keys, part) == part.number

    def _marks(self, keys: Keys, secret: bytes) -> bytes:
        """Return 64 random-looking bits of each key: of a sample where persons are many."""
        marks = mixed(keys, int.from_bytes(secret[8:16]))
        if self.table.rows > MOST_MARKS:
            marks = marks[marks < np.uint64(2**64 * MOST_MARKS // self.table.rows)]
        return marks.astype("<u8").tobytes()

    def _codes(self, batch: Batch, rows: NDArray[np.int64]) -> Floats:
        names = self.reading.names or self.names[:1]
        return codes_of({name: _some(batch[name], rows) for name in names}, self.table, self.reading.names)

    def _digests(self, batch: Batch, rows: NDArray[np.int64]) -> Digests:
        return digests_in({name: _some(batch[name], rows) for name in self.table.names}, self.table)

    def _sums(self, codes: Floats) -> Integers:
        blocks = self.reading.blocks
        if blocks is None or not hasattr(self.mechanism, "contributions") or any(self.domain.integer):
            return self._query(self.reading.encode(codes)[:, int(self.marked) :])
        places, rows = blocks(codes)
        low, high = (np.reshape(ends, (-1, rows.shape[1])) for ends in (self.domain.low, self.domain.high))
        there = places >= 0
        group, rows = places[there].astype(np.int64), rows[there]
        sums = np.zeros(low.shape, dtype=np.int64)
        if len(group):
            order, first = runs_of(group)
            group = group[order]
            each = self.mechanism.contributions(np.clip(rows[order], low[group], high[group]))
            sums[group[first]] = np.add.reduceat(each, first, axis=0)
        return sums.ravel()

    def _query(self, rows: Rows) -> Integers:
        return self.mechanism.query(self.domain.clamped(rows))


def _some(cells: Sequence[object], rows: NDArray[np.int64]) -> Sequence[object]:
    if isinstance(cells, np.ndarray):
        return cells[rows]
    if isinstance(cells, ArrowCells):
        return cells.taken(rows)
    return [cells[row] for row in rows.tolist()]


@dataclass(frozen=True)
class FromTotals:
    """A run of a mechanism that is given exact totals in place of rows."""

    mechanism: Additive
    totals: Integers

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Publish the totals; `data` has no rows."""
        return self.mechanism.publish(self.totals.copy(), noise)


BYTES_HELD: Final = 2**26  #: bytes of rows that are held before they are written
KEY_WORDS: Final = 2  #: words of a key, and of the digests by which rows are chosen


def divide(
    what: Summed,
    files: Sequence[DataFile],
    part: TablePart,
    folder: Path,
    check: Callable[[], None] = lambda: None,
) -> list[str]:
    """Write the rows of each of the parts to its own file in an empty `folder`; return their digests.

    `part` is any one of the parts; `check` is called before rows are written, and may raise.  Raises
    `InputError` for what is public, as `Summed.of` does, and `OSError` where the folder cannot be
    written.
    """
    digests = [hashlib.sha256() for _ in range(part.of)]
    held: list[list[bytes]] = [[] for _ in digests]
    size = 0

    def write() -> None:
        check()
        for number, blocks in enumerate(held):
            with (folder / str(number)).open("ab") as file:
                for block in blocks:
                    file.write(block)
                    digests[number].update(block)
            blocks.clear()

    for rows in what.keyed(what.batches_of(files), part.secret):
        every = np.arange(len(rows.keys))
        chosen = [rows.digests(every)] if what.by_digest else []
        words = np.hstack([rows.keys, *chosen, rows.codes(every).view(np.uint64)])
        numbers = what.parts_of(rows.keys, part)
        # a stable sort is quicker on short integers
        order = np.argsort(numbers.astype(np.uint16) if part.of <= 2**16 else numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=part.of))[:-1]
        for blocks, some in zip(held, np.split(words[order], ends), strict=True):
            if len(some):
                blocks.append(some.astype("<u8").tobytes())
        size += words.nbytes
        if size > BYTES_HELD:
            write()
            size = 0
    write()
    return [digest.hexdigest() for digest in digests]


def totals_of_rows(what: Summed, part: TablePart, folder: Path, digest: str) -> TableTotals:
    """Return the totals of a part whose rows `divide` wrote; raises `InputError` for other rows."""
    path = folder / str(part.number)
    return what.of_keyed(lambda: _rows(path, what, digest), part)


def _rows(path: Path, what: Summed, digest: str) -> Iterator[KeyedRows]:
    first = KEY_WORDS * (1 + what.by_digest)  #: word of the codes
    columns = [what.table.column(name) for name in what.reading.names]
    width = first + sum(text_width(column.bytes) if column.kind == "text" else 1 for column in columns)
    read = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BATCH * 8 * width):
            read.update(block)
            if len(block) % (8 * width):
                break  # it was cut: so its digest differs, too
            words = np.frombuffer(block, dtype="<u8").reshape(-1, width)
            codes = words[:, first:].view(np.float64)
            yield KeyedRows(words[:, :KEY_WORDS], words[:, KEY_WORDS:first].__getitem__, codes.__getitem__)
    if read.hexdigest() != digest:
        raise InputError("the rows of a part are not as they were written", "start again", path)
