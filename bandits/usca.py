"""USCA: uniform sampling with covariance approximation, as published (Pavlovic, Salgia & Zhao 2025).

Learners are shown uniform actions, the covariance is that of TK points of Z from the context generator,
K = ⌈T/γ_T⌉, and one prediction is drawn with weights ∝ exp(εμ̄/(2m)), m = 2B sup σ̄².  Actions and contexts
are on public grids, where the supremum is a maximum and the sampler exact; on a box,
`bandits.private_prediction.supremum` encloses it.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from bandits.private_prediction import covariance
from bandits.private_prediction.predictor import REACH, Predictor
from bandits.private_prediction.public_grid import Places, PublicGrid
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.calibration import one_of
from dpaccount.errors import InputError
from dpaccount.numerics.intervals import precision
from mechanisms.subject import View

if TYPE_CHECKING:
    from bandits.private_prediction.supremum import Supremum

RIDGES: Final = ("noise-variance", "public")
ENCLOSED: Final = 256  #: places of a grid on which the supremum is evaluated in balls, at most
PRIVACY: Final = (
    "rewards clipped at the bound that enters the exponent (Assumption 2.7 made true by clipping)",
    "Z drawn from the context generator, independently of records (Assumption 2.10)",
    "the supremum of the posterior variance: a maximum over the finite grid, enumerated",
    "an exact sampler of the exponential mechanism",
)
UTILITY: Final = (
    "eigenvalues decay polynomially, eigenfunctions are bounded (2.3)",
    "noise is sub-Gaussian (2.6)",
    "the reward function is Lipschitz (2.8)",
    "functions of the space are near their values on a discretisation (2.9)",
    "gamma bounds the information gain from above",
)


@dataclass(frozen=True)
class Usca(Predictor):
    """Predict at `predictions` contexts (published: one) after `rounds` people were shown uniform actions.

    `tau` is "noise-variance", the paper's own, then `noise_variance` times the bound squared, or "public",
    ours.  `gamma` bounds γ_T from above; left out, the least of our public upper bounds.
    """

    source: ClassVar[str] = "Pavlovic, Salgia & Zhao 2025, Algorithm 1; on public grids"
    doubled: ClassVar[int] = 4  # scores move by m up or down, and the exponent is ε/(2m)

    tau: str = "noise-variance"
    noise_variance: Fraction = Fraction(1, 10)
    gamma: Fraction | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("tau", self.tau, RIDGES)
        if not self.noise_variance > 0:
            raise InputError(f"tau is the noise variance, {float(self.noise_variance):g}", "it is above 0")
        if self.gamma is not None and self.gamma < (least := gained(self.grid, self.rounds, self.ridge)):
            raise InputError(
                f"gamma is {float(self.gamma):g}, and points are known that gain {least:.4g}",
                "give an upper bound of the information gain, or leave it out",
            )

    @property
    def ridge(self) -> float:
        """Return τ."""
        if self.tau == "noise-variance":
            return float(self.noise_variance * self.bound**2)
        share = 1 / float(self.noise_scale)
        return covariance.public_ridge(self.grid, self.rounds, float(self.bound), share, 4.0)

    @property
    def per_round(self) -> int:
        """Return K = ⌈T/γ_T⌉, points of Z for each round."""
        gamma = gain_bound(self.grid, self.rounds, self.ridge) if self.gamma is None else float(self.gamma)
        return ceil(self.rounds / max(gamma, 1e-12))

    def matrix(self, coins: int) -> Floats:
        """Return the posterior covariance c(w, w′) = φ(w)ᵀZ̃⁻¹φ(w′), Z̃ of public coins."""
        return _covariance(self.grid, self.rounds, self.per_round, self.ridge, coins)

    def table(self, matrix: Floats, cell: int) -> Integers:
        """Return the table of a cell, integers of −REACH … REACH: covariances in units of sup σ̄²/REACH."""
        # Towards 0, and clamped: no integer exceeds what Cauchy–Schwarz allows, whatever rounding did before.
        scaled = np.trunc(self.rows_of(matrix, cell) * (REACH / self.largest(matrix)))
        return np.clip(scaled, -REACH, REACH).astype(np.int64)

    def largest(self, matrix: Floats) -> float:
        """Return sup σ̄² over the grid; by Cauchy–Schwarz no covariance exceeds it."""
        return float(matrix.diagonal().max())

    def supremum(self, coins: int) -> "Supremum":
        """Return an enclosure of the published sup σ̄² (Lemma 3.1) in a run with these coins, in balls.

        It is not `largest`, the maximum that tables are in units of: its features leave small eigenvalues
        out.  Beyond `ENCLOSED` places only σ̄² ≤ 1/τ is used.
        """
        from bandits.private_prediction import supremum

        ridge = Fraction(self.ridge)
        if self.grid.places > ENCLOSED:
            return supremum.above_ridge(ridge)
        counts = _counts(self.grid, self.rounds, self.per_round, coins)
        points = self.grid.exact_points()
        held = [at for at, count in enumerate(counts) if count]
        weights = [Fraction(int(counts[at]), self.per_round) for at in held]
        with precision(supremum.PRECISION):
            there = [points[at] for at in held]
            posterior = supremum.PosteriorVariance(self.kernel, self.lengthscale, ridge, there, weights)
        return supremum.over_places(posterior, points)

    def report(self, view: View) -> dict[str, object]:
        """Return the choices, and which assumptions privacy rests on and which concern utility only."""
        return {
            "contexts": np.asarray(view.public["contexts"]).tolist(),
            "choices": np.asarray(view.public["choices"]).tolist(),
            "points_of_Z": self.rounds * self.per_round,
            "supremum": "in units of itself; every entry of a table is clamped to it",
            "privacy_rests_on": list(PRIVACY),
            "concern_utility_only": list(UTILITY),
        }


@lru_cache(maxsize=32)
def gain_bound(grid: PublicGrid, rounds: int, ridge: float) -> float:
    """Return the least of our upper bounds of γ_T on the grid."""
    from bandits.simulation.information_gain import feature_upper_bound, spectral_upper_bound

    size = grid.features(covariance.MIN_EIGENVALUE_SHARE).size
    return min(spectral_upper_bound(grid.gram(), rounds, ridge), feature_upper_bound(size, rounds, ridge))


@lru_cache(maxsize=32)
def gained(grid: PublicGrid, rounds: int, ridge: float) -> float:
    """Return what some T points gain, so at most γ_T: every place equally often, or a few chosen greedily."""
    from bandits.simulation.information_gain import gain, greedy_gain

    often = floor(rounds / grid.places)
    all_places = gain(often * grid.gram(), ridge) if often else 0.0
    return max(all_places, greedy_gain(grid.gram(), min(rounds, 40), ridge))


@lru_cache(maxsize=24)
def _covariance(grid: PublicGrid, rounds: int, per_round: int, ridge: float, coins: int) -> Floats:
    return covariance.by_features(grid, _counts(grid, rounds, per_round, coins), per_round, ridge)


def _counts(grid: PublicGrid, rounds: int, per_round: int, coins: int) -> Places:
    """Return how often Z holds each place."""
    rng = np.random.default_rng([coins, 4])  # apart from the coins of actions
    return covariance.drawn_counts(grid, rounds, per_round, rng)
