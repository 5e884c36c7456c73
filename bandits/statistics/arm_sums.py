"""What noisy sums of blocks say of the arms' means: intervals that hold at any time, and evidence of their order.

For every λ of a public set exp(λ(S − nμ) − λ²n/8 − Jψ(λ)) is a supermartingale, S an arm's sum over n people
in J noisy sums, λ²/8 Hoeffding's bound for a reward and ψ a bound of the logarithm of the noise's moment
generating function (Ville's inequality).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import log, log1p

import numpy as np

from bandits.learning.shuffled_bits import ShuffledBits
from bandits.statistics.arrays import Floats
from bandits.statistics.best_arm import ArmOrder
from bandits.statistics.first_moments import CONTRIBUTION_BITS
from mechanisms.shared import confidence

TILTS = 12  #: exponential martingales an arm's interval is the intersection of
Block = tuple[int, int, float, int]  #: arm, people, noisy sum of their rewards, how many noises it has


@dataclass(frozen=True)
class ArmSums:
    """The noise of `arms` arms' sums: of Laplace noise its scale, of Gaussian its deviation, or the bits."""

    arms: int
    law: str
    scale: float
    bits: ShuffledBits | None

    def tilts(self) -> Iterator[tuple[float, float]]:
        """Yield λ and ψ(λ): −ln(1 − λ²/ε²) or λ²σ²/2.

        Discrete noise has a smaller one, since (cosh √x − 1)/x rises with x.
        """
        scale = 0.0 if self.bits else self.scale * (1 + 1e-12)
        for place in range(TILTS):
            # Laplace noise has no moment generating function from λ = 1/scale on: the largest λ stays below
            # that.
            tilt = 0.8 * 2.0**-place / max(scale, 0.25)
            at = tilt**2 / 4 if self.bits else (tilt * scale) ** 2  # a fair coin's, at most
            yield tilt, (-log1p(-at) if self.law == "laplace" else at / 2) * (1 + 1e-9)

    def order(self, blocks: Iterable[Block] = ()) -> ArmOrder:
        """Return the evidence of these blocks on the arms' order."""
        known = ArmOrder(self.arms, self.tilts(), 2.0**-CONTRIBUTION_BITS)
        for block in blocks:
            known.add(*block)
        return known

    def intervals(self, blocks: Iterable[Block], level: Fraction) -> tuple[Floats, Floats]:
        """Return both ends of intervals in [0, 1] of all arms' means, which hold together with `level`."""
        people, noises, total = (np.zeros(self.arms) for _ in range(3))
        for arm, counted, released, noisy in blocks:
            people[arm] += counted
            noises[arm] += noisy
            total[arm] += released
        reach = np.full(self.arms, np.inf)
        missed = confidence.missed(level)
        rarity = log(2 * TILTS * self.arms) + log(missed.denominator) - log(missed.numerator)
        for tilt, growth in self.tilts():
            reach = np.minimum(reach, (rarity + tilt**2 * people / 8 + growth * noises) / tilt)
        known, gain = np.maximum(people, 1), self.bits.gain if self.bits else 1.0
        mean = 0.5 + (total / known - 0.5) / gain
        # rewards are rounded to the grid, and what is above in floating point
        reach = (reach / known * (1 + 1e-9) + 2.0**-CONTRIBUTION_BITS) / gain
        low, high = np.where(people, mean - reach, 0.0), np.where(people, mean + reach, 1.0)
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

