"""LDP-MoMA-GP-UCB: kernel bandit where k people answer for each point, and one of k regressions counts."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from bandits.local_privacy.moma import MedianOfMeansGpUcb, replays
from bandits.local_privacy.published import PublishedGpUcb
from bandits.local_privacy.subject import name_of
from dpaccount.errors import InputError
from dpaccount.proof import Theorem
from mechanisms.subject import Domain

USERS = ("new", "same")


@dataclass(frozen=True)
class LdpMomaGpUcb(PublishedGpUcb):
    """Algorithm 3 on the messages of a channel: every point is played by `people` people, one message each.

    `people` is k; left out, it is that of `constants`.  Every replay is answered by a new person, in a row of
    their own.  With `users` ``same`` one person answers all of an epoch: a row an epoch, charged k·ε.
    """

    source: ClassVar[str] = "Zhou & Tan 2020, Algorithm 3 and Theorem 4; clip before the channel is ours"

    people: int | None = None
    users: str = "new"

    def __post_init__(self) -> None:
        """Validate the parameters, before any charge."""
        super().__post_init__()
        if self.users not in USERS:
            raise InputError(f"users is {self.users[:40]!r}", f"known: {', '.join(USERS)}")
        if not 1 <= self.replays <= self.rounds:
            raise InputError(
                f"an epoch takes {self.replays} people and there are {self.rounds}: needed 1 <= k <= rounds"
            )

    @property
    def replays(self) -> int:
        """Return k, the people an epoch."""
        return replays(self.rounds, self.constants) if self.people is None else self.people

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the certificate's warnings about people who answer more than once."""
        if self.users == "new":
            return (
                f"Epsilon is a person's who answers once; who answered all {self.replays} replays of an epoch"
                f" would pay {self.replays} times epsilon (dpaccount claims zhou-moma --set users=same).",
            )
        return (f"A person answers all {self.replays} replays of an epoch, and pays for each.",)

    def row(self, slot: int) -> int:
        """Return the row that answers each slot: one per slot, or one per epoch."""
        return slot if self.users == "new" else slot // self.replays

    def domain(self) -> Domain:
        """Return one row a person: the reward of every point, also beyond the clip."""
        every = super().domain()
        return Domain(self.row(self.rounds - 1) + 1, every.low, every.high, every.integer)

    def _messages(self, delta: Fraction) -> Theorem:
        each = 1 if self.users == "new" else self.replays
        return self.by.proof(name_of(self), self.rounds, delta, self.constants_from, each)

    def learner(self, coins: int) -> MedianOfMeansGpUcb:
        """Return the learner, which chooses points."""
        return MedianOfMeansGpUcb(
            self.space.kernel, self.payoffs, self.rounds, self.constants, coins, self.replays
        )
