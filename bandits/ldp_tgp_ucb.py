"""LDP-TGP-UCB: kernel bandit on private messages that are truncated once."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from bandits.local_privacy.payoffs import Payoffs
from bandits.local_privacy.published import PublishedGpUcb
from bandits.local_privacy.tgp import TruncatedGpUcb
from dpaccount.errors import InputError


@dataclass(frozen=True)
class LdpTgpUcb(PublishedGpUcb):
    """Algorithm 2 on the messages of a channel; truncation comes after it, and is free.

    Without privacy, a reward's noise may be said to be sub-Weibull: P(|η| > `tail_scale`·(ln τ)^θ) ≤ 1/τ with
    θ the `tail_power`, so that rewards are truncated at B + `tail_scale`·(ln t)^θ.
    """

    source: ClassVar[str] = "Zhou & Tan 2020, Algorithm 2 and Theorem 3; clip before the channel is ours"

    tail_power: Fraction | None = None
    tail_scale: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Validate the parameters, before any charge."""
        super().__post_init__()
        if self.tail_power is None and self.tail_scale != 1:
            raise InputError("tail_scale is that of a tail whose tail_power is given", "give both or neither")
        if self.tail_power is not None and (
            self.privacy == "local" or min(self.tail_power, self.tail_scale) <= 0
        ):
            raise InputError(
                "tail_power and tail_scale are above 0 and describe rewards that no channel protects",
                "leave them out with privacy 'local'",
            )

    @cached_property
    def payoffs(self) -> Payoffs:
        """Return the learner's assumptions about its messages, with the declared tail."""
        known = super().payoffs
        if self.tail_power is None:
            return known
        power, scale = float(self.tail_power), float(self.tail_scale)
        return replace(known, start=float(self.bound), scale=scale, tail_power=power)

    def learner(self, coins: int) -> TruncatedGpUcb:
        """Return the learner, which chooses points."""
        return TruncatedGpUcb(self.space.kernel, self.payoffs, self.constants, coins)
