"""Eigenvectors that every machine finds alike.

Those of equal eigenvalues may be any basis of their space, and of any sign: libraries, and one library with
other threads, choose differently.  Public grids are symmetric, so that equal eigenvalues are the rule, and
what is released along such axes has to mean the same wherever a run is resumed or repeated.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
EQUAL: Final = 1e-12  #: of the largest eigenvalue; nearer ones count as equal


def settled_eigh(matrix: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues from large to small, and for each its axis as a column.

    Axes of equal eigenvalues are a fixed public matrix projected to their space, orthonormalised by columns.
    """
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1], vectors[:, ::-1]
    fixed = np.random.default_rng(1).normal(size=vectors.shape)
    starts = np.flatnonzero(np.diff(values) < -EQUAL * abs(values[0])) + 1
    found = [_settled(space, fixed) for space in np.split(vectors, starts, axis=1)]
    return values, np.concatenate(found, axis=1)


def _settled(space: Floats, fixed: Floats) -> Floats:
    """Return the orthonormal basis of a space that does not depend on the one given."""
    inside = space.T @ fixed[:, : space.shape[1]]
    axes, triangle = np.linalg.qr(inside)
    signs = np.where(np.diag(triangle) < 0, -1.0, 1.0)
    found: Floats = space @ (axes * signs)
    return found
