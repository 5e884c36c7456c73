"""Neighbouring datasets of a domain, biased to the places where sensitivities break.

Corners, equal rows, one outlier, first and last unit, sign flips: found by naming them, where
uniform search would need hundreds of examples.  The strategies are Hypothesis's, so that a
counterexample shrinks to a plain one and is reproducible.
"""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from dpaccount.kernel import ADD_REMOVE
from mechanisms.subject import Domain, Rows

OTHERS = ("mirrored", "negated", "one column", "any")
BASES = ("low", "high", "middle", "corners", "uniform", "spread")


@dataclass(frozen=True)
class Pair:
    """Two neighbouring datasets: `unit` (1-based) is replaced, or is missing on the right.

    The other rows are ``dataset(domain, base, seed)``, so that a witness can name them.
    """

    left: Rows
    right: Rows
    unit: int
    base: str
    seed: int


def pairs(domain: Domain, relation: str) -> st.SearchStrategy[Pair]:
    """Return a strategy for neighbouring pairs under ``replace-one`` or ``add-remove``."""

    @st.composite
    def draw_pair(draw: st.DrawFn) -> Pair:
        base = draw(st.sampled_from(BASES))
        seed = draw(st.integers(0, 2**32 - 1)) if base in ("corners", "uniform", "spread") else 0
        rows = draw(sizes(domain.rows)) if relation == ADD_REMOVE else domain.rows
        left = dataset(replace(domain, rows=rows), base, seed)
        unit = draw(st.one_of(st.sampled_from([1, rows]), st.integers(1, rows)))
        here = np.array(draw(records(domain)))
        left[unit - 1] = here
        right = left.copy()
        if relation == ADD_REMOVE:
            return Pair(left, np.delete(right, unit - 1, axis=0), unit, base, seed)
        right[unit - 1] = _other(domain, here, draw(st.sampled_from(OTHERS)), draw(records(domain)))
        return Pair(left, right, unit, base, seed)

    return draw_pair()


def sizes(most: int) -> st.SearchStrategy[int]:
    """Return a strategy for the larger size of a pair: the whole, the smallest ones, or any between."""
    few = sorted({most, 1, min(2, most), min(3, most)}, reverse=True)
    return st.one_of(st.just(most), st.sampled_from(few), st.integers(1, most))


def _other(domain: Domain, here: Rows, kind: str, drawn: list[float]) -> Rows:
    """Return the record that takes the place of `here`: its opposite in a way that often matters, or any."""
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


def records(domain: Domain) -> st.SearchStrategy[list[float]]:
    """Return a strategy for one record: every column at a boundary, a landmark, or anywhere within."""
    columns = zip(domain.low, domain.high, domain.integer, strict=True)
    return st.tuples(*(_values(low, high, whole=whole) for low, high, whole in columns)).map(list)


def _values(low: float, high: float, *, whole: bool) -> st.SearchStrategy[float]:
    marks = {
        low,
        high,
        (low + high) / 2,
        *(x for x in (0.0, 1.0, -1.0, low + 1, high - 1) if low <= x <= high),
    }
    if whole:
        places = sorted({float(np.floor(mark)) for mark in marks if low <= np.floor(mark)})
        return st.one_of(st.sampled_from(places), st.integers(int(low), int(high)).map(float))
    inner = st.floats(low, high, allow_nan=False, allow_infinity=False)
    return st.one_of(st.sampled_from(sorted(marks)), inner)


def dataset(domain: Domain, base: str, seed: int) -> Rows:
    """Return a made-up dataset: one corner everywhere, random corners, or uniform or log-spread values."""
    low, high = np.array(domain.low), np.array(domain.high)
    shape = (domain.rows, len(low))
    rng = np.random.default_rng(seed)
    match base:
        case "low":
            rows = np.broadcast_to(low, shape).copy()
        case "high":
            rows = np.broadcast_to(high, shape).copy()
        case "middle":
            rows = np.broadcast_to((low + high) / 2, shape).copy()
        case "corners":
            rows = np.where(rng.random(shape) < 0.5, low, high)
        case "uniform":
            rows = low + (high - low) * rng.random(shape)
        case _:  # spread over orders of magnitude above the low end, where bounds are generous
            rows = low + (high - low) * 10.0 ** (-8 * rng.random(shape))
    whole = np.array(domain.integer, dtype=bool)
    rows[:, whole] = np.floor(rows[:, whole])
    return rows
