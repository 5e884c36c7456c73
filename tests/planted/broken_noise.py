"""Mistakes about the noise: reused, seeded, too small for a stream, left out on a branch, scaled by data."""

import numpy as np
from numpy.typing import NDArray

from audits.subjects.broken import geometric

Data = NDArray[np.int64]


def reused_noise(data: Data, rng: np.random.Generator) -> NDArray[np.int64]:
    """Add one draw to both columns: their difference is exact (ε = 1 is claimed for each, 2 in all)."""
    return np.asarray(data.sum(axis=0) + geometric(rng, 1.0))


def separate_noise(data: Data, rng: np.random.Generator) -> NDArray[np.int64]:
    """Add a draw of its own to each column, ε = 1 each, 2 in all.  Sound."""
    return np.asarray(data.sum(axis=0) + geometric(rng, 1.0, data.shape[1]))


def tree(data: Data, rng: np.random.Generator) -> list[int]:
    """Release all node sums of a binary tree over 8 records, noise of scale 4 = levels/ε.  Sound."""
    return _nodes(data, rng, 4.0)


def tree_leaf(data: Data, rng: np.random.Generator) -> list[int]:
    """Calibrate every node to one release, although a record is in four of them."""
    return _nodes(data, rng, 1.0)


def tree_prefixes(data: Data, rng: np.random.Generator) -> list[int]:
    """Add noise for log₂ 8 releases to every prefix sum: the first record is in all eight of them."""
    return [int(total) for total in np.cumsum(data) + geometric(rng, 3.0, len(data))]


def tree_shared(data: Data, rng: np.random.Generator) -> list[int]:
    """Draw one noise a level: nodes of a level differ by exact sums."""
    nodes = []
    for width in (1, 2, 4, 8):
        sums = data.reshape(-1, width).sum(axis=1)
        nodes += [int(total) for total in sums + geometric(rng, 4.0)]
    return nodes


def _nodes(data: Data, rng: np.random.Generator, scale: float) -> list[int]:
    sums = np.concatenate([data.reshape(-1, width).sum(axis=1) for width in (1, 2, 4, 8)])
    return [int(total) for total in sums + geometric(rng, scale, len(sums))]


def outer_product(data: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Release Σ xxᵀ, ‖x‖ ≤ 1, with Gaussian noise for ℓ2 sensitivity √2: (1, 1e-5), σ = 3.73·√2.  Sound."""
    return _outer(data, rng, 3.7307 * np.sqrt(2) * 1.003)


def outer_product_short(data: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Calibrate to ½, the most that an entry off the diagonal can be: σ = 3.73/2."""
    return _outer(data, rng, 3.7307 / 2)


def _outer(data: NDArray[np.float64], rng: np.random.Generator, sigma: float) -> NDArray[np.float64]:
    norms = np.maximum(np.linalg.norm(data, axis=1, keepdims=True), 1.0)
    unit = data / norms
    grid = 1024.0  # rounding down keeps the norm of a record's part at most 1
    total = np.trunc(np.einsum("ni,nj->nij", unit, unit) * grid).sum(axis=0) / grid
    return np.rint((total + rng.normal(0, sigma, total.shape)) * grid) / grid


def branch(data: Data, rng: np.random.Generator) -> int:
    """Add noise only where the count is small: a large one "hides" anybody."""
    count = int(data.sum())
    return count if count > 7 else count + int(geometric(rng, 1.0))


def spread_noise(data: Data, rng: np.random.Generator) -> int:
    """Scale the noise by the range of the data that were seen, not of what they may be."""
    span = float(data.max() - data.min())
    return int(data.sum()) + (int(geometric(rng, span)) if span else 0)


def local_median(data: Data, rng: np.random.Generator) -> int:
    """Scale the noise to the median's local sensitivity (Nissim et al. 2007 on why it must be smooth)."""
    ordered = np.sort(data)
    middle = len(ordered) // 2
    local = float(max(ordered[middle + 1] - ordered[middle], ordered[middle] - ordered[middle - 1], 0))
    return int(ordered[middle]) + (int(geometric(rng, local)) if local else 0)


def projection(data: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Project the records at random and add nothing (Blocki et al. 2012 need the spectrum to be large)."""
    directions = rng.standard_normal((len(data), 2))
    return np.round(data.T @ directions, 6)


def shuffled(data: Data, rng: np.random.Generator) -> NDArray[np.int64]:
    """Publish the records in random order."""
    return rng.permutation(data)
