"""What noisy sums of blocks say of the arms' means: intervals, and evidence of their order.

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

    @property
    def gain(self) -> float:
        """Return by how much what is summed moves with a reward, per unit."""
        return self.bits.gain if self.bits else 1.0

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

    def order(self, blocks: Iterable[Block] = (), *, at_end: bool = False) -> ArmOrder:
        """Return the evidence of these blocks on the arms' order.

        With `at_end`, of all of them together: where answers may come in later sums, those of a block before
        that are not yet what its people's rewards add up to.
        """
        known = ArmOrder(self.arms, self.tilts(), 2.0**-CONTRIBUTION_BITS)
        for block in blocks:
            known.add(*block, compare=not at_end)
        if at_end:
            known.compare()
        return known

    def totals(self, blocks: Iterable[Block]) -> tuple[Floats, Floats, Floats]:
        """Return by arm its people, its noises, and the noisy sum of its rewards less ½ each."""
        people, noises, rest = (np.zeros(self.arms) for _ in range(3))
        for arm, counted, released, noisy in blocks:
            people[arm] += counted
            noises[arm] += noisy
            rest[arm] += released - counted / 2
        return people, noises, rest

    def intervals(
        self, blocks: Iterable[Block], level: Fraction, told: tuple[Floats, float] | None = None
    ) -> tuple[Floats, Floats]:
        """Return both ends of intervals in [0, 1] of all arms' means, which hold together with `level`.

        `told` is the noisy number of answers by arm, and the scale of its Laplace noise: means are then of
        those who answered, their true number lies between two ends, and an interval is the worst over both.
        Without it, everybody counts.
        """
        people, noises, rest = self.totals(blocks)
        reach = np.full(self.arms, np.inf)
        missed = confidence.missed(level) / (1 if told is None else 2)
        fewest = most = people
        if told is not None:
            # P(|X| > r) of discrete Laplace noise is below e^(−r/scale); half of what may be missed is its.
            far = (
                told[1] * (log(self.arms) + log(missed.denominator) - log(missed.numerator)) * (1 + 1e-9) + 1
            )
            fewest, most = np.clip(told[0] - far, 0, people), np.clip(told[0] + far, 0, people)
        rarity = log(2 * TILTS * self.arms) + log(missed.denominator) - log(missed.numerator)
        for tilt, growth in self.tilts():
            reach = np.minimum(reach, (rarity + tilt**2 * most / 8 + growth * noises) / tilt)
        gain = self.gain
        # rewards are rounded to the grid, and what is above in floating point
        reach = reach * (1 + 1e-9) + most * 2.0**-CONTRIBUTION_BITS
        some, all_ = np.maximum(fewest, 1), np.maximum(most, 1)
        low = 0.5 + np.minimum((rest - reach) / some, (rest - reach) / all_) / gain
        high = 0.5 + np.maximum((rest + reach) / some, (rest + reach) / all_) / gain
        low, high = np.where(fewest > 0, low, 0.0), np.where(fewest > 0, high, 1.0)
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
