"""A subject as a user would write one: nothing is broken here, and nothing is registered."""

from dataclasses import dataclass

from dpaccount.proof import assume_view, post_process
from mechanisms.laplace_sum import LaplaceSum


@dataclass(frozen=True)
class OwnSum(LaplaceSum):
    """The Laplace sum under another name."""

    def proof(self, delta):
        return post_process(super().proof(delta).premises[0], assume_view("own-sum", "everyone", "replay"))
