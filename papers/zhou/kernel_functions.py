"""Functions in the span of a kernel on a finite set: the synthetic data of Zhou & Tan 2020, section 5.1.

f = Σ aᵢ k(·, xᵢ) with 100 centres xᵢ uniform among the points and aᵢ uniform on [−1, 1], drawn anew for every
seed.  A person's noise is the same whatever point they are given.
"""

import numpy as np

from bandits.simulation.potential_rewards import PotentialRewards
from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import one_of
from dpaccount.errors import out_of_range

CENTRES = 100
NOISES = ("uniform", "student")
MOMENT_OF_STUDENT = 3.0  #: E η² of Student's t with 3 degrees of freedom


def kernel_function(kernel: Floats, rounds: int, seed: int, noise: str = "uniform") -> PotentialRewards:
    """Return f and `rounds` people's rewards on points whose kernel matrix is `kernel`.

    B is max |f| over the points, at most the norm of f.  ``uniform``: noise on [−1, 1], R = 1.  ``student``:
    t with 3 degrees of freedom, E y² ≤ v = B² + 3 and E η² = c = 3; its noise has no bound, and R is NaN.
    """
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or rounds < 1:
        raise out_of_range("a square kernel matrix and rounds >= 1")
    one_of("noise", noise, NOISES)
    rng = np.random.default_rng([seed, 11 + NOISES.index(noise)])  # apart from a run's coins and noise
    centres = rng.integers(0, len(kernel), CENTRES)
    means = kernel[:, centres] @ rng.uniform(-1, 1, CENTRES)
    eta = rng.uniform(-1, 1, rounds) if noise == "uniform" else rng.standard_t(3, rounds)
    limit = 1.0 if noise == "uniform" else float("nan")
    # The paper takes B from f itself; privacy would need a public bound.
    return PotentialRewards(means, means + eta[:, None], float(np.abs(means).max()), limit)
