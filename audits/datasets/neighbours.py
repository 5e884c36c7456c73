"""Neighbouring datasets of a user's function: of arrays, of tables."""

import numpy as np
from hypothesis import strategies as st

from audits.datasets import frame_pairs, named_pairs
from audits.datasets.bases import Pair
from audits.datasets.domain_pairs import pairs
from audits.datasets.frame import Frame
from audits.datasets.shape import Neighbourhood, Shape


def candidates(shape: Neighbourhood, seed: int, most: int = 800) -> list[Pair]:
    """Return up to `most` different pairs that are worth trying, what differs most first."""
    if isinstance(shape, Frame):
        return frame_pairs.candidates(shape, seed, most)
    return named_pairs.candidates(shape, seed, most)


def random_pairs(shape: Neighbourhood, seed: int, count: int) -> list[Pair]:
    """Return pairs drawn at random."""
    if isinstance(shape, Frame):
        return frame_pairs.random_pairs(shape, seed, count)
    return named_pairs.random_pairs(shape, seed, count)


def neighbouring(shape: Neighbourhood) -> st.SearchStrategy[Pair]:
    """Return a strategy for pairs of neighbours."""
    return frame_pairs.neighbouring(shape) if isinstance(shape, Frame) else _of_arrays(shape)


def _of_arrays(shape: Shape) -> st.SearchStrategy[Pair]:
    """Return a strategy for pairs of neighbouring arrays, biased to boundaries."""
    domain = shape.domain(shape.rows + shape.adjacency.rows_vary)

    def as_data(pair: Pair) -> Pair:
        right = pair.right
        if shape.integer and shape.radius is not None:
            right = pair.left + np.trunc(right - pair.left)
        return Pair(shape.data(pair.left), shape.data(right), "drawn")

    near = pairs(domain, str(shape.adjacency)).map(as_data)
    return near.filter(lambda pair: shape.neighbours(pair.left, pair.right))
