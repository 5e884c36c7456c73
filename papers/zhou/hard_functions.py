"""Functions that no local learner distinguishes: Zhou & Tan 2020, appendices A.1 and A.2, on [0, 1]^d, d ≤ 3.

One bump g of height 2Δ is moved to the middles of M cells, cubes of width w, so that no point is within Δ of
the best for two of them.  g(x) = 2Δ h(2ζx/w)/h(0), where h is the Fourier transform of the bump
H(z) = exp(−1/(1 − |z|²)) on the unit ball.  H is a function of |z|, so h is one of |x|; ζ is such that
|h(x)| < h(0)/2 where |x| > ζ.  A point outside of a cell has a coordinate, hence a distance, of more than w/2
from its middle: there g < Δ.  w is the least width that keeps the norm of g within B.

The norm: as h(x) = ∫ H(z) e^{2πix·z} dz, g has the transform ĝ(ξ) = 2Δ/h(0)·(w/2ζ)^d H(wξ/2ζ), and with the
kernel's spectral density S, also a function of |ξ|, ‖g‖² = ∫ ĝ²/S dξ.  With ξ = 2ζz/w, and spheres of area
A r^{d−1}, A = 2π^{d/2}/Γ(d/2), this is (2Δ/h(0))²·(w/2ζ)^d·A ∫₀¹ r^{d−1} H(r)²/S(2ζr/w) dr.  What is cut off
at the borders of [0, 1]^d has no larger norm.  M is ⌊1/w⌋^d: of the paper's ⌊w^{−d}⌋ cells, as many fit.

The gap: appendix A.4 gives E R_T ≥ TΔ(2 − C/M − C(e^ε − 1)·2Δ·√(T/M)) at α = v = 1, in which d enters by M
alone.  Where C/M ≤ ½, it is at least TΔ up to Δ = ½ (M/4C²(e^ε − 1)²T)^½, in every dimension.

Rewards follow law (11) at α = 1 and v = 1: sgn f/2Δ with probability 2Δ|f|, else 0.  Their mean is f and
E y² = |f|/2Δ ≤ 1; it is a law where Δ ≤ ½.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from math import exp, gamma, pi, sqrt

import numpy as np

from bandits.simulation.potential_rewards import PotentialRewards
from bandits.statistics.arrays import Floats
from dpaccount.errors import InputError, out_of_range
from dpaccount.numerics.bisection import bisect

HARD_KERNELS = ("squared-exponential", "matern-5/2")
SMOOTHNESS = 2.5  #: ν of the Matérn kernel
#: ζ by d: |h(x)| < h(0)/2 wherever |x| is at least that
HALF_WIDTHS = {1: 0.4465, 2: 0.4950, 3: 0.5385}
SLICES = 2048  #: of sums over [−1, 1]
WIDTHS = np.geomspace(1e-3, 0.5, 500)  #: that are tried


def spectral_density(kernel: str, lengthscale: float, frequencies: Floats, dimension: int = 1) -> Floats:
    """Return S at |ξ|, k(x) = ∫ S(ξ) e^{2πix·ξ} dξ (Rasmussen & Williams 2006, section 4.2)."""
    if kernel not in HARD_KERNELS or not lengthscale > 0:
        raise InputError(f"known kernels: {', '.join(HARD_KERNELS)}, of a lengthscale above 0")
    if kernel == "squared-exponential":
        scale = (sqrt(2 * pi) * lengthscale) ** dimension
        return scale * np.exp(-2 * (pi * lengthscale * frequencies) ** 2)
    nu, rate, half = SMOOTHNESS, 2 * SMOOTHNESS / lengthscale**2, dimension / 2
    scale = (2 * sqrt(pi)) ** dimension * gamma(nu + half) / gamma(nu) * rate**nu
    return scale * (rate + (2 * pi * frequencies) ** 2) ** -(nu + half)


def sphere(dimension: int) -> float:
    """Return the area of the unit sphere in d dimensions; 2 in one, for its two points."""
    return 2 * pi ** (dimension / 2) / gamma(dimension / 2)


@lru_cache(maxsize=1)
def _radii() -> tuple[Floats, Floats]:
    """Return points of [0, 1] and Gaussian weights for integrals over it."""
    nodes, weights = np.polynomial.legendre.leggauss(256)
    return (nodes + 1) / 2, weights / 2


@lru_cache(maxsize=3)
def _marginal(dimension: int) -> tuple[Floats, Floats]:
    """Return evenly spaced z₁ in [−1, 1] and the bump's integral over the other coordinates, above 0.

    With s² = 1 − z₁² it is s^{d−1}·A ∫₀¹ u^{d−2} exp(−1/s²(1 − u²)) du, A that of d − 1 dimensions.  It is
    smooth and all its derivatives vanish at ±1, so that sums over equal steps are integrals, up to what
    frequencies of half the number of steps and beyond have.
    """
    places = np.linspace(-1, 1, SLICES + 1)[1:-1]
    square = 1 - places**2
    if dimension == 1:
        height = np.exp(-1 / square)
    else:
        radii, weights = _radii()
        inner = np.exp(-1 / (square[:, None] * (1 - radii**2))) @ (weights * radii ** (dimension - 2))
        height = sphere(dimension - 1) * square ** ((dimension - 1) / 2) * inner
    kept = height > 1e-150
    return places[kept], height[kept]


def transform(at: Floats, dimension: int = 1) -> Floats:
    """Return h at distances from 0, largest there: the bump's Fourier transform, for |`at`| up to 900."""
    places, height = _marginal(dimension)
    return np.cos(2 * pi * at[..., None] * places) @ height * (2 / SLICES)


@dataclass(frozen=True)
class HardFunctions:
    """`count` functions with peaks of height 2·`gap` at the middles of cells that are `width` wide."""

    gap: float
    width: float
    dimension: int = 1

    @property
    def count(self) -> int:
        """Return M."""
        return int(1 / self.width) ** self.dimension

    def middles(self) -> Floats:
        """Return where the functions have their peaks, [M, d]."""
        cells = np.indices((int(1 / self.width),) * self.dimension).reshape(self.dimension, -1).T
        return np.asarray((cells + 0.5) * self.width, dtype=np.float64)

    def value(self, number: int, points: Floats) -> Floats:
        """Return one of the functions, counted from 0, at points [n, d], or [n] on a line."""
        apart = points.reshape(-1, self.dimension) - self.middles()[number]
        away = 2 * HALF_WIDTHS[self.dimension] * np.linalg.norm(apart, axis=1) / self.width
        # Points of a grid share distances, and a distance is a sum of thousands of terms.
        each, where = np.unique(away, return_inverse=True)
        peak = transform(np.zeros(1), self.dimension)
        return (2 * self.gap * transform(each, self.dimension) / peak)[where]

    def rewards(self, points: Floats, rounds: int, seed: int) -> PotentialRewards:
        """Return people under one of the functions, drawn uniformly, with rewards by law (11).

        Every reward is 0 or ±1/2Δ: B = 2Δ, and B + R is that size.
        """
        size, coins = self.size(), np.random.default_rng([seed, 14])
        means = self.value(int(coins.integers(self.count)), points)
        hit = coins.random((rounds, 1)) < np.abs(means) / size
        return PotentialRewards(
            means, np.where(hit, np.sign(means) * size, 0.0), 2 * self.gap, size - 2 * self.gap
        )

    def size(self) -> float:
        """Return 1/2Δ, the size of a reward that is not 0; an error where (11) is no law."""
        if self.gap > 0.5:
            raise InputError(f"a gap of {self.gap:.4g} is above 1/2: law (11) is none")
        return 1 / (2 * self.gap)


def norms(kernel: str, lengthscale: float, gap: float, widths: Floats, dimension: int = 1) -> Floats:
    """Return the norm of g on the whole space for every width w, at least that of its part on [0, 1]^d."""
    radii, weights = _radii()
    height = np.exp(-1 / (1 - radii**2))
    kept, zeta = height > 1e-150, HALF_WIDTHS[dimension]
    radii, height, weights = radii[kept], height[kept], (weights * radii ** (dimension - 1))[kept]
    density = spectral_density(kernel, lengthscale, 2 * zeta * radii / widths[:, None], dimension)
    # A narrow bump has frequencies at which the density underflows: its norm is infinite, and it does not
    # fit.
    with np.errstate(divide="ignore", over="ignore"):
        shell = (height**2 / density) @ weights * sphere(dimension)
    return 2 * gap / transform(np.zeros(1), dimension) * np.sqrt(shell * (widths / (2 * zeta)) ** dimension)


def hard_functions(
    kernel: str, lengthscale: float, *, bound: float, gap: float, dimension: int = 1
) -> HardFunctions:
    """Return the most functions of gap Δ whose norm is at most `bound`; an error where there are not two."""
    if not min(bound, gap) > 0 or dimension not in HALF_WIDTHS:
        raise out_of_range("bound > 0, gap > 0 and a dimension of 1, 2 or 3")
    # The paper's widths keep the norm up to constants (after Scarlett et al. 2017): here it is integrated.
    fits = norms(kernel, lengthscale, gap, WIDTHS, dimension) <= bound
    if not fits.any():
        raise InputError(
            f"no two functions of gap {gap:.4g} have a norm of at most {bound:.4g}", "lower the gap"
        )
    return HardFunctions(gap, float(WIDTHS[int(fits.argmax())]), dimension)


@cache
def hardest(
    kernel: str, lengthscale: float, epsilon: float, rounds: int, dimension: int = 1
) -> HardFunctions:
    """Return the functions of appendix A.4's gap at α = 1, ½ min(½, M/4(e^ε − 1)²T)^½, norms at most 1.

    `kernel`, `lengthscale`: one of `HARD_KERNELS`, on [0, 1]^`dimension`.
    `epsilon`, `rounds`: of each message, and people T.
    The absolute constant C is not known and taken for 1.
    """
    if not epsilon > 0 or rounds < 1:
        raise out_of_range("epsilon > 0 and rounds >= 1")

    def too_wide(gap: float) -> bool:
        try:
            count = hard_functions(kernel, lengthscale, bound=1.0, gap=gap, dimension=dimension).count
        except InputError:  # there are not two
            return True
        return gap > min(0.5, count / (4 * (exp(epsilon) - 1) ** 2 * rounds)) ** 0.5 / 2

    # M falls as the gap rises: one gap fits.
    gap = bisect(too_wide, 0.0, 0.5, 40)[0]
    return hard_functions(kernel, lengthscale, bound=1.0, gap=gap, dimension=dimension)
