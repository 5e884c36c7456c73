"""Score matrices h(w, w′) = φ(w)ᵀZ⁻¹φ(w′) on a public grid, Z of public coins.

Z is independent of records: it is drawn from the context generator (Pavlovic et al. 2025, Assumption 2.10).
A Z of observed contexts would move with a record.
"""

from functools import lru_cache
from typing import Final

import numpy as np

from bandits.private_prediction.public_grid import Places, PublicGrid
from bandits.statistics.arrays import Floats
from dpaccount.errors import out_of_range

MIN_EIGENVALUE_SHARE: Final = 1e-6  #: eigenvalues below this share of the first are left out
SPREAD: Final = 0.3  #: mean square of f and of rewards, in units of the bound squared, as τ is chosen for
GUMBEL: Final = 1.28  #: deviation of the Gumbel noise that an exponential mechanism is the maximum of
STRONGER: Final = 3  #: of the τ of least error for the mean: what is chosen is the largest score


def by_features(grid: PublicGrid, counts: Places | Floats, per_round: int, ridge: float) -> Floats:
    """Return h of Z̃ = Σ counts·φφᵀ/K + τI, K = `per_round` points of Z for each round (Lemma 4.4).

    By eigenvalues, so that a τ far below the rounding of the sum still leaves a positive matrix.
    """
    phi = grid.features(MIN_EIGENVALUE_SHARE).phi
    values, axes = np.linalg.eigh((phi * counts[:, None]).T @ phi / per_round)
    turned = phi @ axes
    return (turned / (np.maximum(values, 0.0) + ridge)) @ turned.T


def drawn_counts(grid: PublicGrid, rounds: int, per_round: int, rng: np.random.Generator) -> Places:
    """Return how often each place is among TK points, actions uniform, contexts by the public law."""
    law = grid.weights()
    even = np.full(grid.places, 1 / grid.places) if law is None else law
    return rng.multinomial(rounds * per_round, even).astype(np.int64)


@lru_cache(maxsize=32)
def public_ridge(grid: PublicGrid, rounds: int, bound: float, epsilon: float, width: float) -> float:
    """Return τ from public quantities alone: three times the one of least forecast error.

    With g_j = 1/(Tλ_j + τ) and β = ΣTλ_j²g_j/Σλ_j, the error is
    √(v Σλ_j(Tλ_jg_j − β)² + v ΣTλ_j²g_j² + N²)/β, v = .3B² and N = 1.28·`width`·B·max_w Σφ_j(w)²g_j/ε:
    `width`·B·max_w … is what scores range within.
    """
    if not epsilon > 0:
        raise out_of_range("epsilon > 0")
    features = grid.features(MIN_EIGENVALUE_SHARE)
    squares, values = features.phi**2, features.eigenvalues / features.eigenvalues.sum()
    trace = float(features.eigenvalues.sum())

    def error(ridge: float) -> float:
        g = 1 / (rounds * trace * values + ridge)
        kept = rounds * trace * values * g
        slope = float((values * kept).sum())
        bias, sampling = (values * (kept - slope) ** 2).sum(), (kept * trace * values * g).sum()
        noise = GUMBEL * width * bound * float((squares @ g).max()) / epsilon
        return float(np.sqrt(SPREAD * bound**2 * (bias + sampling) + noise**2)) / slope

    return STRONGER * min(np.geomspace(0.1, 1e5, 121).tolist(), key=error)  # 20 a decade
