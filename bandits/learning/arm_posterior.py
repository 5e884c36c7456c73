"""What noisy sums and counts say of the arms' means: a Gaussian posterior that knows its noise.

Means are centred at the pooled mean θ₀ of all releases, so that they may lie far from ½.  A release gives
R = S/2 + (½ − θ₀)K = (θ − θ₀)K + noise, of variance Kθ₀(1 − θ₀) + σ²(¼ + (½ − θ₀)²): K is the noisy count
that stands beside the sum, no declared share enters.  How far arms differ is weighed by the releases too:
priors of several spreads, each by its marginal likelihood.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final

import numpy as np

from bandits.statistics.arrays import Floats
from bandits.statistics.axes import symmetric_root

SPREADS: Final = (0.04, 0.08, 0.16, 0.32, 0.64)  #: of the arms' means, in deviations of one reward
LEVEL: Final = 0.5  #: of their common part, in the same unit
OWN: Final = (0.1, 0.5, 0.9)  #: share of a spread that is each context's own, where there are several
REACH: Final = 0.37  #: length scale of the kernel over positions, in their range
EDGE: Final = 1e-3  #: pooled means nearer to 0 or 1 are taken for this


@dataclass(frozen=True)
class ArmPrior:
    """Prior of the means of `arms` arms in `cells` contexts, over `positions`; exchangeable without them."""

    arms: int
    cells: int = 1
    positions: tuple[float, ...] = ()


@lru_cache(maxsize=16)
def models(prior: ArmPrior) -> Floats:
    """Return the covariances of all models, for rewards of deviation 1: [models, places, places]."""
    arms = np.eye(prior.arms)
    if prior.positions:
        apart = np.subtract.outer(prior.positions, prior.positions)
        reach = REACH * max(float(np.abs(apart).max()), 1e-12)
        arms = np.exp(-((apart / reach) ** 2) / 2)
    same = np.eye(prior.cells)
    level = LEVEL**2 * np.kron(np.ones_like(same) if prior.cells == 1 else (1 + same) / 2, np.ones_like(arms))
    own = OWN if prior.cells > 1 else (0.0,)
    return np.array([level + s**2 * np.kron(1 - w + w * same, arms) for s, w in product(SPREADS, own)])


@dataclass(frozen=True, eq=False)
class ArmPosterior:
    """Mixture of Gaussian posteriors about `centre`: a weight, a mean and a covariance each.

    Arrays are [models], [models, places] and [models, places, places]; a place is context · arms + arm.
    """

    centre: float
    shape: tuple[int, int]
    weights: Floats
    means: Floats
    covariances: Floats

    def mean(self) -> Floats:
        """Return the expected means, [contexts, arms]."""
        return (self.centre + self.weights @ self.means).reshape(self.shape)

    def deviation(self) -> Floats:
        """Return how far the means may be from what is expected, [contexts, arms]."""
        within = np.diagonal(self.covariances, axis1=1, axis2=2)
        square = self.weights @ (within + self.means**2) - (self.weights @ self.means) ** 2
        return np.sqrt(np.maximum(square, 0.0)).reshape(self.shape)

    def draws(self, count: int, width: float, rng: np.random.Generator) -> Floats:
        """Return draws of the means, with a spread `width` times the posterior's: [count, contexts, arms]."""
        roots = symmetric_root(self.covariances)
        model = rng.choice(len(self.weights), count, p=self.weights)
        normal = rng.normal(size=(count, self.means.shape[1]))
        drawn = self.means[model] + width * np.einsum("nij,nj->ni", roots[model], normal)
        return (self.centre + drawn).reshape(count, *self.shape)


@lru_cache(maxsize=2)
def sampled(belief: ArmPosterior, count: int) -> Floats:
    """Return draws of a posterior, always the same ones: `posterior` gives equal releases one object."""
    return belief.draws(count, 1.0, np.random.default_rng(0))


def posterior(prior: ArmPrior, sums: Floats, counts: Floats, sigma: float) -> ArmPosterior:
    """Return the posterior given sums and counts, [releases, contexts, arms], with noise of `sigma`."""
    doubles = (np.asarray(part, dtype=np.float64).tobytes() for part in (sums, counts))
    return _posterior(prior, *doubles, sigma)


# An attack replays the same releases on the neighbouring dataset: one computation for both runs.
@lru_cache(maxsize=64)
def _posterior(prior: ArmPrior, sums_bytes: bytes, counts_bytes: bytes, sigma: float) -> ArmPosterior:
    shape = (-1, prior.cells, prior.arms)
    sums, counts = (np.frombuffer(part).reshape(shape) for part in (sums_bytes, counts_bytes))
    ups = (sums + counts) / 2
    centre = float(np.clip(ups.sum() / max(counts.sum(), 1.0), EDGE, 1 - EDGE))
    one = centre * (1 - centre)  # variance of one reward
    people = np.maximum(counts, 0.0)
    noise = np.maximum(people * one + sigma**2 * (0.25 + (0.5 - centre) ** 2), 1e-12)
    precision = (people**2 / noise).sum(axis=0).ravel()
    moment = (people * (ups - centre * counts) / noise).sum(axis=0).ravel()
    return _mixture(one * models(prior), precision, moment, centre, (prior.cells, prior.arms))


def _mixture(
    models: Floats, precision: Floats, moment: Floats, centre: float, shape: tuple[int, int]
) -> ArmPosterior:
    """Return the posteriors (C⁻¹ + D)⁻¹ of all models C and their weights, for observations of `precision` D.

    With R = D^½: (C⁻¹ + D)⁻¹ = C − CR(I + RCR)⁻¹RC, and the evidence is |I + RCR|^(−½)·exp(hᵀPh/2).
    """
    root = np.sqrt(precision)
    inner = np.eye(len(root)) + root[:, None] * models * root
    spread = models * root  # CR
    back = np.swapaxes(spread, 1, 2)
    covariance = models - spread @ np.linalg.inv(inner) @ back
    # Rounding leaves it a little asymmetric, and its symmetric root is taken later.
    covariance = (covariance + np.swapaxes(covariance, 1, 2)) / 2
    means = covariance @ moment
    evidence = (means @ moment - np.linalg.slogdet(inner)[1]) / 2
    weights = np.exp(evidence - evidence.max())
    return ArmPosterior(centre, shape, weights / weights.sum(), means, covariance)
