"""GP-UCB whose people answer through a local channel: the plain baseline of the local setting."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from bandits.local_privacy.gp_ucb import PointGpUcb, prior_of
from bandits.local_privacy.subject import LocalRewards
from dpaccount.errors import out_of_range


@dataclass(frozen=True)
class LdpGpUcb(LocalRewards):
    """GP-UCB on the answers of a local channel, each reward clipped to ±(B + R) before it.

    `width` times the posterior's deviation is the bonus.  With `privacy` ``none`` it is GP-UCB itself.
    """

    source: ClassVar[str] = "Srinivas et al. 2010 (GP-UCB); Duchi, Jordan & Wainwright 2018 (channel)"

    width: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Validate the parameters, before any charge."""
        super().__post_init__()
        if self.width < 0:
            raise out_of_range("width >= 0")

    def learner(self, coins: int) -> PointGpUcb:
        """Return the learner; a reward's own noise is at most R, so that its variance is at most R²."""
        prior = prior_of(self.space.kernel, float(self.bound))
        own = 0.0 if self.privacy == "local" and self.channel == "duchi" else float(self.noise_bound) ** 2 / 3
        return PointGpUcb(prior, own + 1e-9, float(self.width), coins)
