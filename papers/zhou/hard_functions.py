"""Functions that no local learner distinguishes: Zhou & Tan 2020, appendices A.1 and A.2, on [0, 1].

One bump g of height 2Δ is moved to M places, so far apart that no point is within Δ of the best for two of
them.  g(x) = 2Δ h(2xζ/w)/h(0), h the Fourier transform of exp(−1/(1 − z²)) on [−1, 1], and ζ such that
h(x) < h(0)/2 beyond it: so g < Δ beyond w/2.  w is the least width that keeps the norm of g within B.

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
HALF_WIDTH = 0.4465  #: ζ: |h(x)| < h(0)/2 for every |x| above it
WIDTHS = np.geomspace(1e-3, 0.5, 500)  #: that are tried


def spectral_density(kernel: str, lengthscale: float, frequencies: Floats) -> Floats:
    """Return the kernel's density S, k(r) = ∫ S(ξ) e^{2πirξ} dξ (Rasmussen & Williams 2006, section 4.2)."""
    if kernel not in HARD_KERNELS or not lengthscale > 0:
        raise InputError(f"known kernels: {', '.join(HARD_KERNELS)}, of a lengthscale above 0")
    if kernel == "squared-exponential":
        return sqrt(2 * pi) * lengthscale * np.exp(-2 * (pi * lengthscale * frequencies) ** 2)
    nu, rate = SMOOTHNESS, 2 * SMOOTHNESS / lengthscale**2
    scale = 2 * sqrt(pi) * gamma(nu + 0.5) / gamma(nu) * rate**nu
    return scale * (rate + (2 * pi * frequencies) ** 2) ** -(nu + 0.5)


@lru_cache(maxsize=2)
def _bump(parts: int) -> tuple[Floats, Floats]:
    """Return evenly spaced places within [−1, 1] and the bump there, where its square is above 0.

    The bump is smooth and all its derivatives vanish at ±1, so that sums over equal steps are integrals, up
    to what frequencies of `parts`/2 and beyond have.
    """
    places = np.linspace(-1, 1, parts + 1)[1:-1]
    height = np.exp(-1 / (1 - places**2))
    kept = height > 1e-150
    return places[kept], height[kept]


def transform(at: Floats) -> Floats:
    """Return h: the bump's Fourier transform, largest at 0, for |`at`| up to 900."""
    places, height = _bump(2048)
    return np.cos(2 * pi * at[..., None] * places) @ height * (2 / 2048)


@dataclass(frozen=True)
class HardFunctions:
    """`count` functions with peaks of height 2·`gap` at the middles of cells that are `width` wide."""

    gap: float
    width: float

    @property
    def count(self) -> int:
        """Return M."""
        return int(1 / self.width)

    def value(self, number: int, points: Floats) -> Floats:
        """Return one of the functions, counted from 0, at points of [0, 1]."""
        away = 2 * HALF_WIDTH * (points - (number + 0.5) * self.width) / self.width
        return 2 * self.gap * transform(away) / transform(np.zeros(1))

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


def norms(kernel: str, lengthscale: float, gap: float, widths: Floats) -> Floats:
    """Return the norm of g on the whole line in the kernel's space, at least that of its part on [0, 1].

    ‖g‖² = (2Δ/h(0))²·(w/2ζ)·∫ H(z)²/S(2ζz/w) dz for every width w, H the bump and S the kernel's density.
    """
    places, height = _bump(256)
    density = spectral_density(kernel, lengthscale, 2 * HALF_WIDTH * places / widths[:, None])
    # A narrow bump has frequencies at which the density underflows: its norm is infinite, and it does not
    # fit.
    with np.errstate(divide="ignore", over="ignore"):
        square = (height**2 / density).sum(axis=1) * (2 / 256) * widths / (2 * HALF_WIDTH)
    return 2 * gap / transform(np.zeros(1)) * np.sqrt(square)


def hard_functions(kernel: str, lengthscale: float, *, bound: float, gap: float) -> HardFunctions:
    """Return the most functions of gap Δ whose norm is at most `bound`; an error where there are not two."""
    if not min(bound, gap) > 0:
        raise out_of_range("bound > 0 and gap > 0")
    # The paper's widths keep the norm up to constants (after Scarlett et al. 2017): here it is integrated.
    fits = norms(kernel, lengthscale, gap, WIDTHS) <= bound
    if not fits.any():
        raise InputError(
            f"no two functions of gap {gap:.4g} have a norm of at most {bound:.4g}", "lower the gap"
        )
    return HardFunctions(gap, float(WIDTHS[int(fits.argmax())]))


@cache
def hardest(kernel: str, lengthscale: float, epsilon: float, rounds: int) -> HardFunctions:
    """Return the functions of appendix A.4's gap at α = 1, ½ min(½, M/4(e^ε − 1)²T)^½, norms at most 1.

    `kernel`, `lengthscale`: one of `HARD_KERNELS`, on [0, 1].
    `epsilon`, `rounds`: of each message, and people T.
    The absolute constant C is not known and taken for 1.
    """
    if not epsilon > 0 or rounds < 1:
        raise out_of_range("epsilon > 0 and rounds >= 1")

    def too_wide(gap: float) -> bool:
        try:
            count = hard_functions(kernel, lengthscale, bound=1.0, gap=gap).count
        except InputError:  # there are not two
            return True
        return gap > min(0.5, count / (4 * (exp(epsilon) - 1) ** 2 * rounds)) ** 0.5 / 2

    # M falls as the gap rises: one gap fits.
    return hard_functions(kernel, lengthscale, bound=1.0, gap=bisect(too_wide, 0.0, 0.5, 40)[0])
