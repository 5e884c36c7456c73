"""Logged randomised trials on a table: which arm a record was given, by what chance, and what it earned.

A record is a row (cell, arm, chance, reward).  The cell is its context or stratum, the arm's number is −1
where the arm is not declared, the chance is that of this record's arm if a column holds it.
Everything declared is public; a row is a function of its own cells alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bandits.logged.arm_counts import MOST_CELLS, most_steps
from bandits.statistics.arrays import Floats
from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.noise.samplers import Integers
from mechanisms.subject import Domain, Rows
from mechanisms.table.bind_columns import Cells, cells_of
from mechanisms.table.columns import NUMERIC_KINDS, OTHER, Column, Table
from mechanisms.table.rows import Reading

Words = NDArray[np.uint64]

CELL, ARM, CHANCE, REWARD = range(4)  #: columns of a row
KEYS: Final = ("arm", "logging", "reward", "positions", "offers", "prior", "context", "cuts")
WHOLE: Final = ("all",)  #: the one cell of a trial without contexts
SHARE_ROUNDING: Final = Fraction(1, 100)  #: by which declared shares may miss a sum of 1


@dataclass(frozen=True)
class LoggedTrial:
    """What a claim declares of a trial, and how its rows are read.

    `logging` has the arms' shares, which add up to 1, and `chance` is the least that a record's own column
    may hold, 1 where there is no such column.  A reward in [0, 1] has `steps` steps, one if it is boolean.
    """

    arms: tuple[str, ...]
    cells: tuple[str, ...]
    logging: tuple[Fraction, ...]
    chance: Fraction
    positions: tuple[Fraction, ...]
    reward: str
    steps: int
    reading: Reading


def read_trial(place: Place, table: Table, more: tuple[str, ...] = ()) -> LoggedTrial:
    """Return the trial that a claim's parameters declare on a table; `more` names a subject's own keys.

    Raises `InputError` with the key that is wrong, and for several rows of one person.
    """
    keys = place.table(("arm", "reward"), (*KEYS[1:], *more))
    if table.max_rows > 1:
        raise place.wrong("it takes one row a person", "let one row of a person count")
    arm = table.named_at(keys["arm"])
    arms = tuple(label for label in _labels(arm, keys["arm"]) if not (arm.other and label == OTHER))
    if len(arms) < 2:
        raise keys["arm"].wrong(f"{arm.name} has one value", "two or more arms belong in a trial")
    positions = tuple(each.number() for each in keys["positions"].items()) if "positions" in keys else ()
    if positions and len(positions) != len(arms):
        raise keys["positions"].wrong(
            f"found {len(positions)} positions", f"give one for each of {len(arms)} arms"
        )
    named = keys.get("context", keys.get("strata"))
    if named is not None and "context" in keys and "strata" in keys:
        raise keys["strata"].wrong("both context and strata are given", "give one of them")
    contexts = _contexts(table, named, keys.get("cuts"), len(arms))
    cells = tuple(", ".join(each) for each in product(*(own.labels for own in contexts.values()))) or WHOLE
    if named is not None and len(set(cells)) < len(cells):
        raise named.wrong("two cells have the same name", "give values without commas")
    logging, chance = _logging(keys.get("logging"), table, arms)
    reward = _reward(keys["reward"], table, positions, arms, len(arms) * max(len(cells), 1))
    return LoggedTrial(
        arms=arms,
        cells=cells if contexts else WHOLE,
        logging=logging,
        chance=Fraction(1) if chance is None else Fraction(chance.low or 0),
        positions=positions,
        reward=reward.text,
        steps=reward.steps,
        reading=_reading(arm, len(arms), contexts, chance, reward),
    )


def trial_domain(rows: int, cells: int, arms: int, chance: Fraction, steps: int) -> Domain:
    """Return the domain of rows; without a declared arm or context a row is a zero record."""
    low, high = (-1.0, -1.0, float(chance), 0.0), (cells - 1.0, arms - 1.0, 1.0, 1.0)
    return Domain(rows, low, high, (True, True, False, steps == 1), missing=(-1.0, -1.0, 1.0, 0.0))


def taking_part(data: Rows, chance: Fraction, coins: Floats) -> NDArray[np.bool_]:
    """Return which rows of the domain count: of a declared arm and context, and kept by their coin.

    Where a column holds each record's chance p, it is kept with probability `chance`/p, so that all arms
    are as if they had been drawn with the same chance.  `coins` are uniform in [0, 1).
    """
    inside = (data[:, CELL] >= 0) & (data[:, ARM] >= 0)
    if chance < 1:
        inside &= coins * data[:, CHANCE] < float(chance)
    return inside


def record_coins(data: Rows, seed: int, purposes: int) -> Floats:
    """Return the public coins of every record, uniform in [0, 1): [records, `purposes`].

    For rows without public slots, which come and go: a coin is a function of the seed, of the content of
    its row, and of how many equal rows precede it.  So adding a row changes no other row's coin.
    The mixing is SplitMix64's (Steele, Lea & Flood 2014); the counting of equal rows is exact.
    """
    # Not a generator: it deals coins out in the order of rows, so one more row would move all later coins.
    words = np.ascontiguousarray(data, dtype=np.float64).view(np.uint64)
    mixed = np.full(len(words), seed % 2**64, dtype=np.uint64)
    for word in (*words.T, _equal_before(words)):
        mixed = _mixed(mixed ^ word)
    coins = [_mixed(mixed ^ np.uint64(purpose + 1)) >> np.uint64(11) for purpose in range(purposes)]
    return np.stack(coins, axis=1) / 2.0**53


def _equal_before(words: Words) -> Words:
    """Return how many equal rows precede each row."""
    counts = np.zeros(len(words), dtype=np.uint64)
    order = np.lexsort(words.T)  # stable
    apart = np.concatenate([[True], (np.diff(words[order], axis=0) != 0).any(axis=1)])[: len(words)]
    places = np.arange(len(words))
    counts[order] = places - np.maximum.accumulate(np.where(apart, places, 0))
    return counts


def _mixed(words: Words) -> Words:
    """Return SplitMix64's next output for every state; integers wrap."""
    z = words + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


# ------------------------------------------------------------------ the declaration


def _labels(column: Column, place: Place) -> tuple[str, ...]:
    if column.kind in ("number", "text"):
        raise place.wrong(
            f"{column.name} is a {column.kind}", "a category's values are the arms and contexts"
        )
    with place.placing():
        return cells_of(column, None).labels


def _contexts(table: Table, place: Place | None, cuts: Place | None, arms: int) -> dict[str, Cells]:
    """Return the columns of contexts and their cells: their values, or the intervals between `cuts`."""
    named = [] if place is None else [place] if isinstance(place.value, str) else list(place.items())
    columns = [table.named_at(each) for each in named]
    given = {} if cuts is None else cuts.table((), tuple(column.name for column in columns))
    cells_by_name = {}
    for each, column in zip(named, columns, strict=True):
        if column.name in given:
            cells_by_name[column.name] = _intervals(column, given[column.name])
        else:
            _labels(column, each)
            cells_by_name[column.name] = cells_of(column, None)
    total = prod(len(cells.labels) for cells in cells_by_name.values())
    if place is not None and arms * total > MOST_CELLS:  # before they are listed, which may be long
        raise place.wrong(
            f"{arms} arms in {total} cells", f"at most {MOST_CELLS} of both together have a proof"
        )
    return cells_by_name


def _intervals(column: Column, place: Place) -> Cells:
    """Return a number column's declared range, cut here; an interval holds its lower end."""
    cuts = [each.number() for each in place.items()]
    low, high = column.low, column.high
    if column.kind not in NUMERIC_KINDS or low is None or high is None:
        raise place.wrong(
            f"{column.name} is no number with bounds", "leave its cuts out, or declare low and high"
        )
    edges = [low, *cuts, high]
    if any(float(before) >= float(after) for before, after in pairwise(edges)):
        raise place.wrong("cuts do not rise within the column's bounds", f"they lie between {low} and {high}")
    cells = cells_of(column, tuple(edges))
    return Cells(tuple(f"{column.name} {label}" for label in cells.labels), cells.place)


def _logging(
    place: Place | None, table: Table, arms: tuple[str, ...]
) -> tuple[tuple[Fraction, ...], Column | None]:
    """Return the arms' shares, and the column of a record's own chance, if one is named."""
    equal = (Fraction(1, len(arms)),) * len(arms)
    if place is None or place.value == "uniform":
        return equal, None
    if isinstance(place.value, str):
        column = table.named_at(place)
        low, high = column.low, column.high
        if column.kind not in NUMERIC_KINDS or low is None or high is None or not 0 < low <= high <= 1:
            raise place.wrong(
                f"{column.name} is no chance", "declare a number with 0 < low and high at most 1"
            )
        return equal, column
    shares = tuple(each.positive() for each in place.items())
    if len(shares) != len(arms):
        raise place.wrong(
            f"found {len(shares)} shares", f"give one for each of {len(arms)} arms, in their order"
        )
    return normalised(shares, place), None


def normalised(shares: Sequence[Fraction], place: Place) -> tuple[Fraction, ...]:
    """Return shares that add up to 1, from written ones that nearly do."""
    total = sum(shares, Fraction(0))
    if abs(total - 1) > SHARE_ROUNDING:
        raise place.wrong(f"the shares add up to {float(total):.4g}", "they must add up to 1")
    return tuple(share / total for share in shares)


# ------------------------------------------------------------------ the reward of a record


@dataclass(frozen=True)
class _Reward:
    """A reward: the columns that it reads, and its value from their codes and the arm."""

    text: str
    steps: int
    columns: tuple[str, ...]
    value: Callable[[Mapping[str, Floats], Integers], Floats]


def _reward(
    place: Place, table: Table, positions: tuple[Fraction, ...], arms: tuple[str, ...], places: int
) -> _Reward:
    text = place.text()
    named = next((column for column in table.columns if column.name == text.strip()), None)
    others = [column for column in table.columns if column is not named]
    try:
        from bandits.logged.reward_expressions import condition  # late: few logs have conditions

        read, met = condition(text, others, positions, len(arms))
    except InputError as error:
        if named is None:
            raise place.placed(error) from None
        steps = _steps(named, place, places)
        return _Reward(text, steps, (named.name,), lambda codes, _: codes[named.name])
    if named is not None:
        raise place.wrong(f"{text[:60]!r} is a condition, and the name of a column", "rename the column")
    return _Reward(text, 1, read, lambda codes, arm: met(codes, arm).astype(np.float64))


def _steps(column: Column, place: Place, places: int) -> int:
    if column.kind == "boolean":
        return 1
    low, high = column.low, column.high
    if column.kind not in NUMERIC_KINDS or low is None or high is None or low < 0 or high > 1:
        right = f'let it lie in [0, 1], or compare it, as in "{column.name} >= 1"'
        raise place.wrong(f"{column.name} is no reward", right)
    return 1 if column.kind == "integer" else most_steps(places)


def _reading(
    arm: Column, arms: int, contexts: dict[str, Cells], chance: Column | None, reward: _Reward
) -> Reading:
    """Return how codes become rows."""
    extra = [] if chance is None else [chance.name]
    names = list(dict.fromkeys([arm.name, *contexts, *extra, *reward.columns]))  # each once
    places = [(names.index(name), cells) for name, cells in contexts.items()]

    def encode(codes: Floats) -> Floats:
        by_name = {name: codes[:, at] for at, name in enumerate(names)}
        placed = cells_of(arm, None).place(by_name[arm.name])
        number = np.where(placed < arms, placed, -1.0)
        cell = np.zeros(len(codes))
        for at, cells in places:
            own = cells.place(codes[:, at])
            cell = np.where((cell < 0) | (own < 0), -1.0, cell * len(cells.labels) + own)
        rows = np.ones((len(codes), 4))
        rows[:, CELL], rows[:, ARM] = cell, number
        if chance is not None:
            rows[:, CHANCE] = by_name[chance.name]
        # A record of an undeclared arm (−1) counts nowhere, so any arm's reward will do for it.
        rows[:, REWARD] = reward.value(by_name, np.maximum(number, 0).astype(np.int64))
        return rows

    return Reading(tuple(names), encode, (-1.0, -1.0, 1.0, 0.0))
