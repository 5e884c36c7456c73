"""Hypothesis strategies for neighbouring datasets, biased towards cases in which sensitivities fail.

They prefer named bases, first and last unit, and opposite records, for which a uniform search would need
hundreds of examples.  Counterexamples shrink to simple ones and are reproducible.
"""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from audits.datasets.bases import BACKGROUNDS, BASES, DRAWN, Pair, counts, crowd, dataset, marked_columns
from dpaccount.relation import adjacency
from mechanisms.subject import Domain, Rows

SHARES = (1.0, 1.0, 0.5, 0.01, 1e-6)  #: fractions of the radius by which a record moves
HALVINGS = 12  #: number of powers of two, from 1 down
OTHERS = ("mirrored", "negated", "one column", "any")
SHARED_COUNTS = (1, 2, 3, 5)  #: records that share a value, as often as not


def pairs(domain: Domain, relation: str, marks: tuple[float, ...] = ()) -> st.SearchStrategy[Pair]:
    """Return a strategy for neighbouring pairs under a relation, as derivations name it.

    `marks` are numbers in the code: records take them as values, and several records share one.
    """
    places, near = marked_columns(domain, (*marks, *domain.low, *domain.high)), adjacency(relation)
    record = records(domain, marks)  # outside `draw_pair`: Hypothesis keeps every strategy it has drawn from

    @st.composite
    def draw_pair(draw: st.DrawFn) -> Pair:
        rows = draw(sizes(domain.rows)) if near.rows_vary else domain.rows
        base = draw(st.sampled_from((*BASES, "crowd")))
        if base == "crowd":
            column, mark = draw(st.sampled_from(places))
            several = draw(st.sampled_from(counts(rows, marks, SHARED_COUNTS)))
            base = crowd(several, mark, column, draw(st.sampled_from(BACKGROUNDS)))
        drawn = base.startswith(DRAWN)
        seed = draw(st.integers(0, 2**32 - 1)) if drawn else 0
        left = dataset(replace(domain, rows=rows), base, seed)
        unit = draw(st.one_of(st.sampled_from([1, rows]), st.integers(1, rows)))
        here = np.array(draw(record))
        left[unit - 1] = here
        if near.rows_vary:
            return Pair(left, near.neighbour(left, unit - 1, here), base, seed, unit)
        other = _other(domain, here, draw(st.sampled_from(OTHERS)), draw(record))
        if near.radius is not None:
            other = here + draw(st.sampled_from(SHARES)) * (near.nearest(here, other) - here)
        right = near.neighbour(left, unit - 1, np.clip(other, domain.low, domain.high))
        return Pair(left, right, base, seed, unit)

    return draw_pair()


def stepping(domain: Domain, relation: str) -> list[Pair]:
    """Return pairs of nearly equal rows, on both sides of a step of any dyadic grid in every number."""
    # A power of two is on every finer grid; what is slightly nearer to 0 is truncated to the step below.
    pairs = []
    for number in range(2 * HALVINGS):
        left, unit = dataset(domain, "uniform", number), 1 + number % domain.rows
        signs = np.where(np.arange(len(domain.low)) % 2 * (number % 2), -1.0, 1.0)
        here = np.clip(signs * 2.0 ** -(number // 2), domain.low, domain.high)
        left[unit - 1] = here
        right = adjacency(relation).neighbour(left, unit - 1, here * (1 - 2.0**-40))
        pairs.append(Pair(left, right, "uniform", number, unit))
    return pairs


def named_coins(seed: int, marks: tuple[float, ...]) -> list[int]:
    """Return seeds of public coins that code may treat specially: the claim's own, 0, numbers in the code."""
    asked = {int(mark) for mark in marks if mark == int(mark) and 0 <= mark < 2**32}
    return sorted({0, 1, seed, *asked})


def sizes(most: int) -> st.SearchStrategy[int]:
    """Return a strategy for the larger size of a pair: the maximum, the smallest ones, or any between."""
    few = sorted({most, 1, min(2, most), min(3, most)}, reverse=True)
    return st.one_of(st.just(most), st.sampled_from(few), st.integers(1, most))


def _other(domain: Domain, here: Rows, kind: str, drawn: list[float]) -> Rows:
    """Return the record that replaces `here`: an opposite of this kind, or any record."""
    low, high = np.array(domain.low), np.array(domain.high)
    match kind:
        case "mirrored":
            other: Rows = low + high - here
        case "negated":
            other = np.clip(-here, low, high)
        case "one column":
            other = here.copy()
            other[-1] = drawn[-1]
        case _:
            other = np.array(drawn)
    return other


def records(domain: Domain, marks: tuple[float, ...] = ()) -> st.SearchStrategy[list[float]]:
    """Return a strategy for one record: every column at a boundary, a landmark, or anywhere within."""
    columns = [*zip(domain.low, domain.high, domain.integer, strict=True)]
    values = {each: _values(*each[:2], marks, whole=each[2]) for each in {*columns}}
    return st.tuples(*(values[each] for each in columns)).map(list)


def _values(low: float, high: float, noted: tuple[float, ...], *, whole: bool) -> st.SearchStrategy[float]:
    known = (0.0, 1.0, -1.0, low + 1, high - 1, *noted)
    marks = {low, high, (low + high) / 2, *(x for x in known if low <= x <= high)}
    if whole:
        places = sorted({float(np.floor(mark)) for mark in marks if low <= np.floor(mark)})
        return st.one_of(st.sampled_from(places), st.integers(int(low), int(high)).map(float))
    inner = st.floats(low, high, allow_nan=False, allow_infinity=False)
    return st.one_of(st.sampled_from(sorted(marks)), inner)
