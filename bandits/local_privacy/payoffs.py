"""What a learner may assume of the numbers that it receives, and how wide its bounds therefore are.

Theory's constants are those of the theorems.  Practical ones are of the same order (Zhou & Tan 2020, §5):
λ = c/s² is what a Gaussian prior of deviation s = B/2 makes of noise of second moment c, and a bound lies a
constant number of s·σ̃ above the mean.
"""

from dataclasses import dataclass

import numpy as np

from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import one_of
from dpaccount.errors import InputError, out_of_range

CONSTANTS = ("theory", "practical")
FAILURE = 0.01  #: δ of the regret bounds: k = 334 at T = 10³ and 389 at 10⁴ follow from it
ACCURACY = 0.5  #: ε of Definition 2, of the dictionary
PRIOR = 0.5  #: prior deviation of the function in practical constants, in units of B
TIE_TOLERANCE = 1e-9  #: bounds so near the best one, relative to what they are made of, share it


@dataclass(frozen=True)
class Payoffs:
    """What is known beforehand of messages y = f(x) + noise, all of it public.

    `bound` is B, at least every |f(x)| and f's norm.  `moment` is v and `noise_moment` c, bounds on
    E|y|^(1+α) and E|y − f(x)|^(1+α) for the `order` α in (0, 1].  The tail is sub-Weibull (5) if
    `tail_power` θ is given: P(|y| > `start` + `scale`·(ln τ)^θ) ≤ 1/τ; a `scale` of 0 says |y| ≤ `start`.
    `clip` is what people are asked to clip rewards at, None for not at all.
    """

    bound: float
    moment: float
    noise_moment: float
    order: float = 1.0
    start: float = 0.0
    scale: float = 0.0
    tail_power: float | None = None
    clip: float | None = None

    def __post_init__(self) -> None:
        numbers = (self.bound, self.moment, self.noise_moment, self.start, self.scale, self.tail_power or 0.0)
        if not all(np.isfinite(numbers)) or min(numbers) < 0 or min(self.bound, self.moment) <= 0:
            raise out_of_range("finite B > 0, v > 0, c >= 0, and a tail of numbers of at least 0")
        if not 0 < self.order <= 1:
            raise InputError(f"the order alpha is {self.order:g}", "it lies in (0, 1]")
        if self.clip is not None and not 0 < self.clip < np.inf:
            raise out_of_range("a clip above 0 and finite, or none")

    @property
    def sure(self) -> bool:
        """Return whether |y| ≤ `start` always."""
        return self.tail_power is not None and self.scale == 0

    @property
    def spread(self) -> float:
        """Return s = B/2, the prior deviation of practical constants."""
        return PRIOR * self.bound

    def ridge(self, constants: str) -> float:
        """Return λ: 1 in theory's constants, c/s² in practical ones (√ and α < 1: c in units of a square)."""
        one_of("constants", constants, CONSTANTS)
        if constants == "theory":
            return 1.0
        return max(float(self.noise_moment ** (2 / (1 + self.order))) / self.spread**2, 1e-6)


def best(bounds: Floats, rng: np.random.Generator) -> int:
    """Return the place of the largest bound; ties up to rounding fall by coins."""
    near = bounds >= bounds.max() - TIE_TOLERANCE * np.abs(bounds).max()
    return int(np.argmax(np.where(near, rng.random(len(bounds)), -1.0)))
