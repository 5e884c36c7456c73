"""A subject as a user would write one: nothing is broken here, and nothing is registered."""

from dataclasses import dataclass

from dpaccount.curves import post_process
from dpaccount.kernel import assume_view
from mechanisms.laplace_sum import LaplaceSum


@dataclass(frozen=True)
class OwnSum(LaplaceSum):
    """The Laplace sum under another name."""

    def proof(self, delta):
        return post_process(super().proof(delta).premises[0], assume_view("own-sum", "everyone", "replay"))
