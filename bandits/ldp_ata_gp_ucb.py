"""LDP-ATA-GP-UCB: kernel bandit on private messages that are truncated anew in every feature and round."""

from dataclasses import dataclass
from typing import ClassVar

from bandits.local_privacy.ata import AdaptivelyTruncatedGpUcb
from bandits.local_privacy.published import PublishedGpUcb


@dataclass(frozen=True)
class LdpAtaGpUcb(PublishedGpUcb):
    """Algorithm 1 on the messages of a channel; truncation comes after it, and is free."""

    source: ClassVar[str] = "Zhou & Tan 2020, Algorithm 1 and Theorem 2; clip before the channel is ours"

    def learner(self, coins: int) -> AdaptivelyTruncatedGpUcb:
        """Return the learner, which chooses points."""
        return AdaptivelyTruncatedGpUcb(self.space.kernel, self.payoffs, self.rounds, self.constants, coins)
