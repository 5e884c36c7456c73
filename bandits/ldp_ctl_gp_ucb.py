"""GP-UCB on the Laplace channel as printed: no clip, so private only if no reward exceeds B + R.

Zhou & Tan 2020 add Laplace noise of scale 2(B + R)/ε to each reward.  B bounds the mean reward and
R the noise; if a reward may be larger, as with unbounded noise, two of them are further
apart than 2(B + R), and the guarantee fails.  The claim must declare a bound on rewards; the
hypothesis reward-within-B-plus-R, which is then tested, is the condition.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import isnan
from typing import ClassVar

from bandits.learning.arrivals import name_of
from bandits.local_privacy.channels import laplace_answer, laplace_proof
from bandits.local_privacy.gp_ucb import LdpGpUcb
from bandits.statistics.arrays import Floats
from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import Theorem
from mechanisms.subject import EXAMPLE, Domain, wide

WIDEST = 2.0**30  #: of B + R: what 64 bits hold with noise; it provides no privacy


@dataclass(frozen=True)
class LdpCtlGpUcb(LdpGpUcb):
    """GP-UCB whose people add Laplace noise of scale 2(B + R)/`epsilon` to a reward that is not clipped.

    `rewards_within` is how far from 0 a reward can be: the claim's word, without a default.  With more than
    B + R the proof's hypothesis is false.
    """

    source: ClassVar[str] = "Zhou & Tan 2020, CTL; sound only if no reward is beyond B + R"
    status: ClassVar[str] = "published"
    channels: ClassVar[tuple[str, ...]] = ("laplace",)

    channel: str = "laplace"
    rewards_within: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(3)})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rewards_within <= 0:
            raise out_of_range("rewards_within > 0")

    def domain(self) -> Domain:
        """Return one row a person: the reward of every point, within the claim's bound."""
        return wide(self.rounds, self.points, float(self.rewards_within))

    def _messages(self, delta: Fraction) -> Theorem:
        scale = 2 / self.epsilon  # in units of B + R
        return laplace_proof("reward-within-B-plus-R", name_of(self), scale, self.rounds, delta)

    def message(self, noise: Noise, slot: int, shown: Floats, reward: float, coin: float) -> float:
        """Return the reward, in units of B + R, plus noise; NaN counts as 0."""
        if self.privacy == "none":
            return super().message(noise, slot, shown, reward, coin)
        unit = 0.0 if isnan(reward) else min(max(reward / self.reach, -WIDEST), WIDEST)
        return laplace_answer(noise, slot, unit, coin)
