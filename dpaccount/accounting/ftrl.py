"""What private training by noisy prefix sums costs: DP-FTRL, where every example takes part several times.

One step clips the gradient of every example of its batch to ℓ2 norm C and adds them up; the sums go through a
factor (a binary tree, or a Toeplitz matrix) and get independent Gaussian noise of standard deviation σC
(Kairouz et al. 2021; Denisov et al. 2022; Choquette-Choo et al. 2023).  Nothing is gained from chance, so
batches may be those of a fixed order; what counts is how often an example takes part, and how far apart.

>>> run = FtrlTraining(examples=60000, batch=256, sigma=20, steps=1170, mechanism="sqrt-toeplitz")
>>> run.participations, run.separation
(5, 234)
"""

from dataclasses import dataclass
from typing import Any, dataclass_transform

from dpaccount.accounting.accountant import Accountant
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure, Exact, as_exact, exact_argument, formatted, shown
from dpaccount.plan.event_base import Real, Spelled
from dpaccount.plan.events import DpFtrl, Plan
from dpaccount.relation import Relation, adjacency

MECHANISMS = ("tree", "sqrt-toeplitz", "banded-toeplitz")


@dataclass_transform(frozen_default=True)
def record(kind: type[Any]) -> type[Any]:
    """Make a frozen dataclass, whose numbers are given in any spelling and kept exactly."""
    return dataclass(frozen=True)(kind)


def check_batches(examples: int, batch: int, steps: int) -> None:
    """Refuse numbers that are those of no training run, with `InputError`."""
    for name, value in (("examples", examples), ("batch", batch), ("steps", steps)):
        if type(value) is not int or not 1 <= value < 1 << 63:
            raise InputError(f"{name} is out of range", "give a whole number from 1 to 2^63")
    if batch > examples:
        raise InputError("the batch exceeds the examples", "a batch is some of them")


ADD_REMOVE: Any = Relation.ADD_REMOVE


@record
class FtrlTraining:
    """So many `steps` on batches in an order that does not look at the data, released by `mechanism`.

    An example takes part at most `participations` times, at least `separation` steps apart.  Where 0 stands
    they are those of passes in one fixed order, whose last batch is left out if it is not full.
    """

    examples: int
    batch: int
    sigma: Real
    steps: int
    mechanism: str = "tree"
    participations: int = 0
    separation: int = 0
    bands: int = 1
    relation: Spelled[Relation, Relation | str] = ADD_REMOVE

    def __post_init__(self) -> None:
        """Refuse what is no training run, and fill in what a fixed order says."""
        check_batches(self.examples, self.batch, self.steps)
        if self.mechanism not in MECHANISMS:
            raise InputError(f"unknown mechanism {self.mechanism!r}", f"known here: {', '.join(MECHANISMS)}")
        if self.relation not in list(Relation):
            raise InputError(f"unknown relation {self.relation!r}", f"known here: {', '.join(Relation)}")
        object.__setattr__(self, "relation", Relation(self.relation))
        object.__setattr__(self, "sigma", exact_argument("sigma", self.sigma))
        object.__setattr__(self, "separation", self.separation or self.examples // self.batch)
        most = -(-self.steps // self.separation) if self.separation > 0 else 1
        object.__setattr__(self, "participations", self.participations or most)
        # Built once here, so that what the event refuses is refused now and not at the first question.
        self.plan()

    def plan(self) -> Plan:
        """Return the plan of all steps; an example that is replaced moves a sum by two clipping norms."""
        event = DpFtrl(
            rounds=self.steps,
            sigma=self.sigma,
            participations=self.participations,
            separation=self.separation,
            sensitivity=adjacency(self.relation).contributions,
            mechanism=self.mechanism,
            bands=self.bands,
        )
        return Plan(self.relation, event)

    def epsilon(self, delta: Exact) -> Enclosure:
        """Return the ε of the whole run at this δ."""
        return Accountant(self.plan()).epsilon(delta)

    def described(self) -> dict[str, Any]:
        """Return what the run is beside noise and steps."""
        banded = {"bands": self.bands} if self.mechanism == "banded-toeplitz" else {}
        times = {"participations": self.participations, "separation": self.separation}
        return {"mechanism": self.mechanism, **banded, **times}

    def statement(self, delta: Exact) -> str:
        """Return the sentences to put into a paper: what is private, and what must hold of the batches."""
        share = as_exact(delta)
        cost = formatted(self.epsilon(delta).upper, ".4g", up=True)
        replaced = self.relation == Relation.REPLACE_ONE
        moved = ("replacing" if replaced else "adding or removing") + " one training example"
        bands = f" of {self.bands} bands" if self.mechanism == "banded-toeplitz" else ""
        gone = "" if replaced else " (the batches of the others do not change)"
        return (
            f"Training is ({cost}, {shown(share)})-differentially private with respect to {moved}{gone}. This"
            f" holds if each example takes part in at most {self.participations} of {self.steps:,} steps,"
            f" each at least {self.separation} steps after its last one, in an order that does not depend on"
            " the data, gradients are clipped in l2 per example, and their sums are released by the"
            f" {self.mechanism} mechanism{bands} with independent Gaussian noise of {shown(self.sigma)} times"
            " the clipping norm. Epsilon is an upper bound, rounded up. No amplification by sampling is used."
            " The choice of hyperparameters on the same data is not counted."
        )
