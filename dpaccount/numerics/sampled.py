"""The Poisson-subsampled Gaussian (placeholder of the transform; see below)."""

from dataclasses import dataclass
from fractions import Fraction

from dpaccount.numerics.factors import Factor


@dataclass(frozen=True)
class SampledGaussianFactor(Factor):
    """The Gaussian pair of μ² = `mu2` on a Poisson sample of rate `rate`."""

    rate: Fraction
    mu2: Fraction
    symmetric = False
