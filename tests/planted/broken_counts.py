"""Counts, sums, means and histograms, right and wrong.  All claim ε = 1 (δ as the test's table says)."""

import numpy as np
from numpy.typing import NDArray

from audits.subjects.broken import geometric

Data = NDArray[np.int64]
BINS = 4


def clamped_count(data: Data, rng: np.random.Generator) -> int:
    """Clamp a count to what a count may be: post-processing.  Sound."""
    return int(np.clip(data.sum() + geometric(rng, 1.0), 0, 10))


def truncated_geometric(data: Data, rng: np.random.Generator) -> int:
    """Draw the noise within ±4: counts five away from the truth never appear, and tell."""
    while True:
        noise = int(geometric(rng, 1.0))
        if abs(noise) <= 4:
            return int(data.sum()) + noise


def laplace_on_grid(data: NDArray[np.float64], rng: np.random.Generator) -> float:
    """Sum records rounded to a grid of 1/256 with geometric noise on the grid.  Sound."""
    total = np.round(np.clip(data, 0, 1) * 256).astype(np.int64).sum()
    return int(total + geometric(rng, 256.0)) / 256


def unclipped(data: NDArray[np.float64], rng: np.random.Generator) -> float:
    """Sum rewards that are said to lie in [0, 1] and do not: nothing clips them."""
    total = np.round(data * 256).astype(np.int64).sum()
    return int(total + geometric(rng, 256.0)) / 256


def floating_gaussian(data: NDArray[np.float64], rng: np.random.Generator) -> float:
    """Add Gaussian noise in floating point (Jin et al. 2022); σ = 4.22 gives (1, 1e-5) in the reals."""
    return float(np.clip(data, 0, 1).sum() + rng.normal(0, 4.22))


def rounded_gaussian(data: Data, rng: np.random.Generator) -> int:
    """Add Gaussian noise, σ = 4.22, to a whole number and round: post-processing.  Sound."""
    return int(np.rint(data.sum() + rng.normal(0, 4.22)))


def histogram(data: Data, rng: np.random.Generator) -> NDArray[np.int64]:
    """Count values 0 … 3 with noise of scale 2: a replaced record moves two bins.  Sound."""
    return np.bincount(data, minlength=BINS)[:BINS] + geometric(rng, 2.0, BINS)


def histogram_seen(data: Data, rng: np.random.Generator) -> dict[str, int]:
    """Show only bins that someone is in: the keys are the data (Korolova et al. 2009 on why a threshold)."""
    values, counts = np.unique(data, return_counts=True)
    noisy = counts + geometric(rng, 1.0, len(counts))
    return {str(value): int(count) for value, count in zip(values, noisy, strict=True)}


def mean_of_private_size(data: Data, rng: np.random.Generator) -> float:
    """Divide a noisy sum by the true number of records, which add-remove makes private."""
    return int(data.sum() + geometric(rng, 1.0)) / max(len(data), 1)


def deviations(data: Data, rng: np.random.Generator) -> int:
    """Sum squared deviations from the mean with the bound for a fixed mean, (h − l)²/4 = 4 on [0, 4]."""
    total = ((data - data.mean()) ** 2).sum() if len(data) else 0.0
    return int(np.rint(total)) + int(geometric(rng, 4.0))


def randomised_response(data: Data, rng: np.random.Generator) -> list[str]:
    """Show every answer, each kept with probability e/(1+e) (Warner 1965).  Sound."""
    return _answers(data, rng, np.e / (1 + np.e))


def randomised_response_loose(data: Data, rng: np.random.Generator) -> list[str]:
    """Keep with probability e²/(1+e²): the exponent of two answers for one."""
    return _answers(data, rng, np.e**2 / (1 + np.e**2))


def _answers(data: Data, rng: np.random.Generator, kept: float) -> list[str]:
    flips = rng.random(len(data)) >= kept
    return ["yes" if bit else "no" for bit in (data > 0) ^ flips]


def sampled_raw(data: Data, rng: np.random.Generator) -> NDArray[np.int64] | None:
    """Publish everything once in a hundred times, claimed for δ = 1e-5 (a bad event that is too likely)."""
    return data if rng.random() < 0.01 else None
