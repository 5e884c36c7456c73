"""Eigenvectors that every machine finds alike, and roots that need none.

Eigenvectors of equal eigenvalues may be any basis of their space, and of any sign: libraries, and one library
with other threads, choose differently.  Public grids are symmetric, so that equal eigenvalues are the rule,
and what is released or drawn along such axes has to mean the same wherever a run is resumed or repeated.
"""

from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np

from bandits.statistics.arrays import Floats
from dpaccount.errors import InputError

EQUAL: Final = 1e-12  #: of the eigenvalue that is largest in absolute value; nearer ones count as equal


def settled_eigh(matrix: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues of a symmetric matrix from large to small, and for each its axis as a column.

    Axes of equal eigenvalues are a fixed public matrix projected to their space, orthonormalised by columns.
    Raises `InputError` for a matrix that is not finite.
    """
    if not np.isfinite(matrix).all():
        raise InputError("a matrix with NaN or infinities has no axes")
    values, vectors = np.linalg.eigh(matrix)
    values, fixed = values[::-1], _fixed(len(values))
    signs = np.where(fixed[:, 0] @ vectors < 0, -1.0, 1.0)
    vectors = (vectors * signs)[:, ::-1]
    starts = np.flatnonzero(np.diff(values) < -EQUAL * np.abs(values).max()) + 1
    for first, end in pairwise([0, *starts.tolist(), len(values)]):
        if end - first > 1:
            vectors[:, first:end] = _settled(vectors[:, first:end], fixed)
    return values, vectors


def eigenfeatures(kernel: Floats, least: float, most: int | None = None) -> Floats:
    """Return F with FFᵀ the kernel, but for eigenvalues up to `least` of the first, or beyond `most`."""
    values, vectors = settled_eigh(kernel)
    kept = np.flatnonzero(values > least * values[0])[:most]
    return vectors[:, kept] * np.sqrt(values[kept])


def symmetric_root(matrices: Floats) -> Floats:
    """Return V√ΛVᵀ of each matrix VΛVᵀ of a stack [..., n, n], Λ < 0 as 0: no basis enters it."""
    values, vectors = np.linalg.eigh(matrices)
    return (vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]) @ np.swapaxes(vectors, -1, -2)


@lru_cache(maxsize=8)
def _fixed(size: int) -> Floats:
    return np.random.default_rng(1).normal(size=(size, size))


def _settled(space: Floats, fixed: Floats) -> Floats:
    """Return the orthonormal basis of a space that does not depend on the one given."""
    axes, triangle = np.linalg.qr(space.T @ fixed[:, : space.shape[1]])
    signs = np.where(np.diag(triangle) < 0, -1.0, 1.0)
    return space @ (axes * signs)
