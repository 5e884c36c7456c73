"""The noisy tree of Dubey 2021, simulated, and attacked at a pair by the likelihood ratio of its nodes."""

import math
from typing import Any

import numpy as np

from bandits.statistics.arrays import Floats
from papers.claims.dubey.rank_one import FarthestPair
from papers.claims.parameters import Values
from papers.claims.sampling import attack, trials_for


def record_matrix(features: Floats, reward: float) -> Floats:
    """Return vvᵀ of one record."""
    row = np.append(features, reward)
    return np.outer(row, row)


def noisy_nodes(matrix: Floats, sigma: float, times: int, runs: int, rng: np.random.Generator) -> Floats:
    """Return [runs, size, size]: the sum of `times` nodes that hold `matrix`, each with noise (ν + νᵀ)/√2."""
    nu = rng.normal(0, sigma * math.sqrt(times), (runs, *matrix.shape))  # a sum of independent normals
    return times * matrix + (nu + nu.transpose(0, 2, 1)) / math.sqrt(2)


def tree_attack(
    p: Values, movement: FarthestPair, times: int, sigma: float, seed: int, *, corner: bool = True
) -> dict[str, Any]:
    """Attack the noisy nodes at the pair of `movement` with the likelihood ratio, <sum of nodes, A>.

    `p`: the claim's parameters, of which α and β are attacked.
    `times`: the nodes that hold the record; `sigma`: the noise of a node off the diagonal.
    `corner`: whether y² is released too.
    """
    rng = np.random.default_rng(seed)
    cosine = float(movement.cosine)
    left = record_matrix(np.array([1.0, 0.0]), movement.rewards[0])
    right = record_matrix(np.array([cosine, math.sqrt(max(0.0, 1 - cosine**2))]), movement.rewards[1])
    shift = left - right
    if not corner:
        shift[-1, -1] = 0.0
    runs, scores = trials_for(p["alpha"]), []
    for world in (left, right):
        # In batches, as a million matrices with all that is made of them take hundreds of megabytes.
        parts = [
            np.einsum("tij,ij->t", noisy_nodes(world, sigma, times, min(100_000, runs - at), rng), shift)
            for at in range(0, runs, 100_000)
        ]
        scores.append(np.concatenate(parts))
    return {
        "attack": "likelihood ratio of the noisy nodes",
        **attack(scores[0], scores[1], p["alpha"], p["beta"]),
    }
