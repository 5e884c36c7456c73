"""Neighbouring datasets of a user's function: of arrays, of tables."""

from hypothesis import strategies as st

from audits.datasets import drawn_pairs, frame_pairs, named_pairs
from audits.datasets.bases import Pair
from audits.datasets.frame import Frame
from audits.datasets.shape import Neighbourhood, Shape


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
    return drawn_pairs.neighbouring(_array(shape))


def _array(shape: Neighbourhood) -> Shape:
    if not isinstance(shape, Shape):
        raise TypeError("a neighbourhood of arrays or of tables belongs here")
    return shape
