"""Planted: the published bandits on local rewards, each broken in one place."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from bandits.ldp_ata_gp_ucb import LdpAtaGpUcb
from bandits.ldp_moma_gp_ucb import LdpMomaGpUcb
from bandits.ldp_tgp_ucb import LdpTgpUcb
from bandits.local_privacy.channels import bounded, laplace_answer


@dataclass(frozen=True)
class SamePersonReplayed(LdpMomaGpUcb):
    """One person answers all the replays of an epoch, and is charged for one."""

    loses: ClassVar[set[str]] = {"assume_covers"}

    def row(self, slot):
        return slot // self.replays


@dataclass(frozen=True)
class OneDrawAnEpoch(LdpMomaGpUcb):
    """The replays of an epoch share one draw of noise: differences between people are exact."""

    loses: ClassVar[set[str]] = {"assume_view"}

    drawn: list = field(default_factory=list, compare=False)

    def message(self, noise, slot, shown, reward, coin):
        _, centre, clip = shown.tolist()
        unit = bounded((reward - centre) / clip)
        sent = laplace_answer(noise, slot, unit, 0.5)
        if slot % self.replays == 0:
            self.drawn[:] = [sent - unit]
        return unit + self.drawn[0]


@dataclass(frozen=True)
class TruncatedBeforeTheChannel(LdpTgpUcb):
    """A reward above b_t is 0, and noise for [−(B + R), B + R] is added to all below: no clip to B + R."""

    loses: ClassVar[set[str]] = {"assume_clipped"}

    def message(self, noise, slot, shown, reward, coin):
        unit = reward / self.reach
        return laplace_answer(noise, slot, unit if abs(unit) <= 2 else 0.0, 0.5)


@dataclass(frozen=True)
class TruncatedByTheReward(LdpAtaGpUcb):
    """What is truncated is told by the reward itself: a message is 0 where the reward is large."""

    loses: ClassVar[set[str]] = {"assume_view"}

    def message(self, noise, slot, shown, reward, coin):
        sent = super().message(noise, slot, shown, reward, coin)
        return sent if abs(reward) <= self.reach / 2 else 0.0


LAPLACE = {"rounds": 6, "points": 4, "channel": "laplace", "bound": Fraction(1), "noise_bound": Fraction(1)}
SMALL = {
    SamePersonReplayed: {**LAPLACE, "people": 3},
    OneDrawAnEpoch: {**LAPLACE, "people": 3},
    TruncatedBeforeTheChannel: LAPLACE,
    TruncatedByTheReward: {**LAPLACE, "channel": "duchi"},
}
