"""Neighbouring datasets of a user's function: of arrays, of tables."""

from audits.datasets import frame_pairs, named_pairs
from audits.datasets.bases import Pair
from audits.datasets.frame import Frame
from audits.datasets.shape import Neighbourhood


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
