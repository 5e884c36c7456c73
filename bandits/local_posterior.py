"""Local optimisation from residuals: people report their reward's deviation from a prediction.

With the point the server shows a person μ(x), the posterior mean there, and a clip C: functions of
earlier messages and of coins.  Their device answers by the channel for clip(y − μ, ±C)/C, by
default in one bit.  Whatever μ and C are, the answer is drawn from one and the same table, so it is
ε-DP for every history; C does not enter the privacy, only the noise, which is in units of C.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from bandits.local_privacy.posterior import ResidualPosterior
from bandits.local_privacy.subject import LocalRewards
from dpaccount.errors import out_of_range


@dataclass(frozen=True)
class LocalPosterior(LocalRewards):
    """Thompson sampling over a posterior of private answers about residuals; `epsilon` per answer.

    `explore` is the spread of the first draws in posterior deviations, falling to none in the last round;
    a clip is R and `keep` deviations, at most B + R.
    """

    source: ClassVar[str] = "ours; Duchi, Jordan & Wainwright 2018 (channel), Thompson 1933 (draws)"
    constants_from: ClassVar[str] = "dp-output"

    explore: Fraction = Fraction(7, 10)
    keep: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Validate the parameters, before any charge."""
        super().__post_init__()
        if self.explore < 0 or self.keep <= 0:
            raise out_of_range("explore >= 0 and keep > 0")

    def learner(self, coins: int) -> ResidualPosterior:
        """Return the posterior before any answer."""
        return ResidualPosterior(
            self.space.features,
            (float(self.bound), float(self.noise_bound)),
            self.rounds,
            (float(self.explore), float(self.keep)),
            coins,
            one_bit=self.channel == "duchi",
        )
