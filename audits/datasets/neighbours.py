"""Neighbouring datasets of a user's function: of arrays, of tables."""

import numpy as np
from hypothesis import strategies as st

from audits.datasets import frame_pairs, named_pairs
from audits.datasets.bases import Pair, named_datasets
from audits.datasets.domain_pairs import records
from audits.datasets.frame import Frame
from audits.datasets.shape import Neighbourhood, Shape

SMALL = 64  #: numbers; every entry of a dataset this small is drawn by itself


def candidates(shape: Neighbourhood, seed: int, most: int = 800) -> list[Pair]:
    """Return up to `most` different pairs that are worth trying, what differs most first."""
    if isinstance(shape, Frame):
        return frame_pairs.candidates(shape, seed, most)
    return named_pairs.candidates(_array(shape), seed, most)


def random_pairs(shape: Neighbourhood, seed: int, count: int) -> list[Pair]:
    """Return pairs drawn at random."""
    if isinstance(shape, Frame):
        return frame_pairs.random_pairs(shape, seed, count)
    return named_pairs.random_pairs(_array(shape), seed, count)


def neighbouring(shape: Neighbourhood) -> st.SearchStrategy[Pair]:
    """Return a strategy for pairs of neighbours."""
    if isinstance(shape, Frame):
        return frame_pairs.neighbouring(shape)
    return _of_arrays(_array(shape))


def _array(shape: Neighbourhood) -> Shape:
    if not isinstance(shape, Shape):
        raise TypeError("give a neighbourhood of arrays or of tables")
    return shape


def _of_arrays(shape: Shape) -> st.SearchStrategy[Pair]:
    """Return a strategy for pairs of neighbouring arrays, biased to boundaries."""
    added = shape.adjacency.rows_vary

    @st.composite
    def draw_pair(draw: st.DrawFn) -> Pair:
        rows = shape.rows
        if added:
            ends = sorted({1, min(2, shape.rows), shape.rows, shape.rows + 1})
            rows = draw(st.one_of(st.sampled_from(ends), st.integers(1, shape.rows + 1)))
        left = draw(datasets(shape, rows))
        unit = draw(st.one_of(st.sampled_from(sorted({0, rows - 1})), st.integers(0, rows - 1)))
        if added:
            return _pair(shape, left, np.delete(left, unit, axis=0))
        right = left.copy()
        right[unit] = draw(record(shape))
        if shape.radius is not None:
            moved = right[unit] - left[unit]
            far = float(np.linalg.norm(moved))
            if far > shape.radius:
                right[unit] = left[unit] + moved * (shape.radius / far) * (1 - 1e-12)
            if shape.integer:
                right[unit] = np.trunc(right[unit] - left[unit]) + left[unit]
        return _pair(shape, left, right)

    return draw_pair()


def _pair(shape: Shape, left: np.ndarray, right: np.ndarray) -> Pair:
    return Pair(shape.data(left), shape.data(right), "drawn")


@st.composite
def datasets(draw: st.DrawFn, shape: Shape, rows: int) -> np.ndarray:
    """Return records, one a row: named ones, one record repeated, or every entry drawn."""
    kinds = ["named", "equal", "drawn"] if rows * shape.width <= SMALL else ["named", "equal"]
    match draw(st.sampled_from(kinds)):
        case "named":
            rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
            return draw(st.sampled_from(named_datasets(shape, rows, rng)))[1].copy()
        case "equal":
            return np.tile(draw(record(shape)), (rows, 1))
        case _:
            return np.array([draw(record(shape)) for _ in range(rows)])


def record(shape: Shape) -> st.SearchStrategy[np.ndarray]:
    """Return a strategy for one record: every entry at a bound, a landmark, or anywhere within."""
    return records(shape.domain()).map(lambda entries: np.array(entries, dtype=np.float64))
