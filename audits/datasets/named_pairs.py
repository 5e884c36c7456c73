"""Neighbouring pairs worth trying on a function that nothing is known about.

Named, not drawn: corners, equal rows, one outlier, the middle of a sorted column, ties, sign flips,
empty and nearly empty datasets.  Where sensitivities and branches go wrong, one of these shows it.
"""

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from audits.datasets.bases import ON_WALK, Pair, between, named_datasets, times
from audits.datasets.shape import Shape
from mechanisms.subject import Rows

MAX_PAIR_NUMBERS = 20_000_000  #: in all pairs together
FEWEST = 12  #: pairs, however large
VALUES = 20  #: of one record, between its bounds
SIZES = 48  #: numbers of rows, and of high ones, of which all are tried; of more, a choice
WALK, WALK_NUMBERS = 1500, 1_000_000  #: values of one record; numbers of their datasets
TURNS = 4  #: of counts of high rows, for each of a base's pairs

Move = tuple[int, Rows, Rows]  #: a unit, its row on the left and, if that is near enough, on the right


def candidates(shape: Shape, seed: int, most: int = 800) -> list[Pair]:
    """Return up to `most` different pairs (fewer where they are large), every base in turn."""
    return different(_by_base(shape, seed), shape.rows * shape.width, most)


def different(makers: Iterable[Iterator[Pair]], numbers: int, most: int) -> list[Pair]:
    """Return up to `most` pairs, from every maker in turn; a dataset has `numbers` numbers."""
    room = min(most, max(MAX_PAIR_NUMBERS // (2 * numbers), FEWEST))
    by_digest: dict[tuple[int, int], Pair] = {}
    for pair in itertools.chain.from_iterable(itertools.zip_longest(*makers)):
        if pair is not None:
            sides = sorted((hash(pair.left.tobytes()), hash(pair.right.tobytes())))
            by_digest.setdefault((sides[0], sides[1]), pair)
        if len(by_digest) >= room:
            break
    return list(by_digest.values())


def walk(shape: Shape, seed: int) -> list[Pair]:
    """Return pairs with one left side in which a record takes many values, those of calendars first."""
    rng = np.random.default_rng([seed, 19])
    rows, domain = named_datasets(shape, shape.rows, rng)[-1][1], shape.domain()
    values = between(domain, rng.random((min(WALK, WALK_NUMBERS // rows.size), shape.width)))
    for column, (low, high) in enumerate(zip(domain.low, domain.high, strict=True)):
        marks = [*times(low, high), *(low + each for each in spread(int(high - low)) if shape.integer)]
        values[: len(marks), column] = marks[: len(values)]
    if shape.adjacency.rows_vary:
        longer = (np.insert(rows, 0, value, axis=0) for value in values)
        return [Pair(shape.data(rows), shape.data(each), ON_WALK) for each in longer]
    moves = ((0, rows[0], value) for value in values)
    return list(_changed(shape, rows, moves, ON_WALK))


def random_pairs(shape: Shape, seed: int, count: int) -> list[Pair]:
    """Return pairs drawn at random: every entry at a corner, on a decimal grid, anywhere, or repeated."""
    rng = np.random.default_rng([seed, 13])
    domain = shape.domain()
    low, high = np.array(domain.low), np.array(domain.high)

    def drawn(rows: int) -> Rows:
        size = (rows, shape.width)
        kind = rng.integers(0, 4, size) if rng.random() < 0.5 else np.full(size, rng.integers(0, 4))
        place = np.where(kind == 0, rng.integers(0, 2, size), rng.random(size))
        place = np.where(kind == 1, np.round(place, 1), place)
        if rows:
            place = np.where(kind == 3, place[0], place)
        entries = low + (high - low) * place
        return np.clip(np.round(entries) if shape.integer else entries, low, high)

    pairs: list[Pair] = []
    for _ in range(count):
        if shape.adjacency.rows_vary:
            sizes = (1, 2, shape.rows, shape.rows + 1, int(rng.integers(1, shape.rows + 2)))
            size = min(sizes[rng.integers(len(sizes))], shape.rows + 1)
            rows, unit = drawn(size), int(rng.integers(size))
            shorter = np.delete(rows, unit, axis=0)
            pairs.append(Pair(shape.data(rows), shape.data(shorter), "random"))
            continue
        rows, unit = drawn(shape.rows), int(rng.integers(shape.rows))
        pairs += _changed(shape, rows, [(unit, rows[unit], drawn(1)[0])], "random")
    return pairs


def _by_base(shape: Shape, seed: int) -> list[Iterator[Pair]]:
    rng = np.random.default_rng([seed, 7])
    if not shape.adjacency.rows_vary:
        known = named_datasets(shape, shape.rows, rng)
        pairs = (_replaced(shape, rows, name, turn % 2) for turn, (name, rows) in enumerate(known))
        return [*pairs, _everywhere(shape, known), *_counted(shape)]
    sizes = dict.fromkeys((shape.rows, 0, 1, shape.rows - 1))  # the smaller side of a pair
    known = [each for size in sizes for each in named_datasets(shape, size, rng)]
    others = (_of_size(shape, size, seed) for size in spread(shape.rows) if size not in sizes)
    return [*(_added(shape, rows, name) for name, rows in known), *others, *_counted(shape)]


def spread(most: int) -> list[int]:
    """Return whole numbers from 0 to `most`: powers and numbers beside them first, then others."""
    powers = {base**k + d for base in (2, 10) for k in range(20) for d in (-1, 0, 1)}
    few = range(most + 1) if most <= SIZES else np.linspace(0, most, SIZES).astype(int).tolist()
    return list(dict.fromkeys([*sorted((each for each in powers if each <= most), reverse=True), *few]))


def _of_size(shape: Shape, size: int, seed: int) -> Iterator[Pair]:
    """Yield pairs whose smaller side has a number of rows at which something may happen."""
    known = named_datasets(shape, size, np.random.default_rng([seed, 7, size]))
    for pairs in zip(*(_added(shape, rows, name) for name, rows in reversed(known)), strict=False):
        yield from pairs


def _counted(shape: Shape) -> list[Iterator[Pair]]:
    """Return makers of pairs in which one more row is high, for every number of high rows, or a choice."""
    domain = shape.domain()
    low, high = np.array(domain.low), np.array(domain.high)

    def pairs(counts: list[int]) -> Iterator[Pair]:
        for count in counts:
            rows = np.where(np.arange(shape.rows)[:, None] < count, high, low)
            if shape.adjacency.rows_vary:
                longer = np.insert(rows, count, high, axis=0)
                yield Pair(shape.data(longer), shape.data(rows), f"{count} high, {len(rows)} rows")
            else:
                yield from _changed(shape, rows, [(count, rows[count], high)], f"{count} high")

    # A branch on a count is met at one number of rows alone, which no choice of named tables would contain.
    counts = spread(shape.rows - 1)
    return [pairs(counts[turn::TURNS]) for turn in range(TURNS)]


def records(shape: Shape) -> list[Rows]:
    """Return records at which things happen: corners, zero, the middle, one column alone, mixed signs."""
    domain = shape.domain()
    low, high = np.array(domain.low), np.array(domain.high)
    zero, middle = np.clip(0.0, low, high), (low + high) / 2
    candidates = [low, high, zero, middle]
    if shape.width > 1:
        even = np.arange(shape.width) % 2 == 0
        candidates += [np.where(even, low, high), np.where(even, high, low)]
        for j in dict.fromkeys((0, shape.width - 1)):
            for base, end in ((low, high), (zero, high), (high, low)):
                one = base.copy()
                one[j] = end[j]
                candidates.append(one)
    candidates.append(np.clip(low + 1, low, high))
    kept = [np.floor(record) if shape.integer else record for record in candidates]
    return list({record.tobytes(): record for record in kept}.values())


def _units(rows: Rows) -> list[int]:
    """Return the places of records to change: first, last, where a sorted column steps, the middle."""
    if not len(rows):
        return []
    steps = np.flatnonzero((np.diff(rows, axis=0) != 0).any(axis=1))
    middle = [int(steps[0]), int(steps[0]) + 1] if len(steps) else []
    return list(dict.fromkeys([0, len(rows) - 1, *middle, len(rows) // 2]))


def _replaced(shape: Shape, rows: Rows, name: str, first: int) -> Iterator[Pair]:
    """Return pairs of a base, beginning at unit `first`: few runs see the beginning of all bases alone."""
    known = records(shape)
    swaps = list(itertools.combinations(range(len(known)), 2))
    swaps.sort(key=lambda swap: -float(np.abs(known[swap[0]] - known[swap[1]]).sum()))  # opposites first
    units = _units(rows)
    moves = [(unit, rows[unit], other) for unit in [*units[first:], *units[:first]] for other in known]
    moves += [(0, known[a], known[b]) for a, b in swaps]
    return _changed(shape, rows, moves, name)


def _everywhere(shape: Shape, known: list[tuple[str, Rows]]) -> Iterator[Pair]:
    """Yield pairs whose changed record takes every value in turn (of a few): a branch may be at any."""
    domain = shape.domain()
    low, high = np.array(domain.low), np.array(domain.high)
    steps = int(min(max(high - low), VALUES)) if shape.integer else VALUES
    values = [low + (high - low) * k / max(steps, 1) for k in range(steps + 1)]
    for name, rows in dict([known[0], known[-1]]).items():  # all equal, and all different
        others = (np.round(value) if shape.integer else value for value in values)
        yield from _changed(shape, rows, ((0, rows[0], other) for other in others), name)


def _changed(shape: Shape, rows: Rows, moves: Iterable[Move], name: str) -> Iterator[Pair]:
    """Yield pairs that differ in a unit's row; the other is pulled within the radius, if there is one."""
    for unit, here, other in moves:
        pulled = shape.adjacency.nearest(here, other)
        left, right = rows.copy(), rows.copy()
        left[unit], right[unit] = here, here + np.trunc(pulled - here) if shape.integer else pulled
        if not np.array_equal(left, right):
            yield Pair(shape.data(left), shape.data(right), name)


def _added(shape: Shape, rows: Rows, name: str) -> Iterator[Pair]:
    for record in records(shape):
        for unit in dict.fromkeys((len(rows), 0, len(rows) // 2)):
            longer = np.insert(rows, unit, record, axis=0)
            yield Pair(shape.data(longer), shape.data(rows), f"{name}, {len(rows)} rows")
