"""What the published algorithms on local rewards share: constants, and what they assume of messages."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from bandits.local_privacy.channels import LaplaceChannel
from bandits.local_privacy.payoffs import CONSTANTS, Payoffs
from bandits.local_privacy.subject import LocalRewards
from bandits.statistics.calibration import one_of
from dpaccount.errors import InputError, out_of_range


@dataclass(frozen=True)
class PublishedGpUcb(LocalRewards):
    """Local rewards with the `constants` of a theorem, ``theory``, or ``practical`` ones of the same order.

    `noise_moment` is c ≥ E|η|^(1+α) of a reward's own noise; left out, R^(1+α).  An `order` α below 1 is for
    heavy tails and goes without privacy only: messages of a channel have a second moment.
    """

    constants: str = "practical"
    order: Fraction = Fraction(1)
    noise_moment: Fraction | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("constants", self.constants, CONSTANTS)
        if not 0 < self.order <= 1:
            raise InputError(f"the order alpha is {float(self.order):g}", "it lies in (0, 1]")
        if self.order < 1 and self.privacy == "local":
            raise InputError(
                "messages of a channel have a second moment", "give order = 1 with privacy 'local'"
            )
        if self.noise_moment is not None and self.noise_moment < 0:
            raise out_of_range("noise_moment >= 0")
        if self.bound == 0:
            raise InputError("the bound B is 0, so there is nothing to learn", "needed bound > 0")

    @cached_property
    def payoffs(self) -> Payoffs:
        """Return what the learner may assume of its messages, from public parameters only."""
        order, bound = float(self.order), float(self.bound)
        own = (
            float(self.noise_bound) ** (1 + order) if self.noise_moment is None else float(self.noise_moment)
        )
        if self.privacy == "local":
            return self._of_messages(bound, own)
        # E|f + η|^(1+α): the square has no cross term; below it, |a + b|^p ≤ 2^(p−1)(|a|^p + |b|^p)
        moment = (1 if order == 1 else 2**order) * (bound ** (1 + order) + own)
        sure = 1.0 if self.noise_moment is None else None
        return Payoffs(bound, moment, own, order, start=self.reach, tail_power=sure)

    def _of_messages(self, bound: float, own: float) -> Payoffs:
        """Return the assumptions about messages, of mean f: |f| ≤ B and |η| ≤ R, so nothing is clipped."""
        units = np.linspace(-1, 1, 33)
        channel = self.by.variance(units)
        moment = self.reach**2 * float((units**2 + channel).max())
        noise = min(moment, own + self.reach**2 * float(channel.max()))
        if isinstance(self.by, LaplaceChannel):
            start, scale = self.reach, self.reach * float(self.by.scale)
        else:
            start, scale = self.reach * self.by.largest, 0.0
        return Payoffs(bound, moment, noise, start=start, scale=scale, tail_power=1.0, clip=self.reach)
