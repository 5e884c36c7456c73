"""The modeler (Algorithm 2 of Kharkovskii, Dai & Low 2020): GP-UCB over released rows, by their indices.

It sees released rows and answers, nothing else, so whatever is proved of the release covers all that it does.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from bandits.outsourced_optimisation.kernels import MAX_KERNEL_NUMBER, RowKernel, squared_distances
from bandits.outsourced_optimisation.likelihood import fitted
from bandits.outsourced_optimisation.posterior import RowPosterior
from bandits.statistics.arrays import Floats
from dpaccount.errors import InputError

DELTA = 0.025  #: δ′ = δ_ucb/2 of section 4
WIDTH = 3.0  #: deviations of the noise-aware modeler
EARLY, LATE = 0.5, -1.0  #: that it adds to its width where the number of queries is known
EXPLORED = 0.6  #: share of the queries after which deviations fall from the early to the late ones
FITS = (4, 8, 16, 32, 64, 128, 256, 512)  #: answers after which hyper-parameters are learnt again


def beta(candidates: int, t: int, delta: float = DELTA) -> float:
    """Return β_t = 2 ln(n t² π²/(6δ′)) of line 3, for the t-th query, from 1."""
    return 2 * math.log(candidates * t**2 * math.pi**2 / (6 * delta))


@dataclass(frozen=True)
class Acquisition:
    """How the next row is chosen: by the paper's β_t, or by a `width`.

    With `unseen` no row is asked twice: the noise in a row does not differ the second time.  With `rounds`,
    the number of all queries, the width is half a deviation more at first and falls to one less at the end:
    what is found last cannot be followed up.
    """

    width: float | None = None
    unseen: bool = False
    rounds: int | None = None

    def __post_init__(self) -> None:
        if self.rounds is not None and self.rounds < 1:
            raise InputError(f"rounds is {self.rounds}", "at least one query belongs there")

    def deviations(self, candidates: int, t: int) -> float:
        """Return how many deviations are added to the mean at the t-th query, from 1."""
        if self.width is None:
            return math.sqrt(beta(candidates, t))
        if self.rounds is None:
            return self.width
        gone = ((t - 1) / self.rounds - EXPLORED) / (1 - EXPLORED)
        return self.width + EARLY + (LATE - EARLY) * min(max(gone, 0.0), 1.0)


AS_PUBLISHED = Acquisition()
NOISE_AWARE = Acquisition(WIDTH, unseen=True)


@dataclass
class Modeler:
    """Ask for the index of a row, tell its answer.

    `points` [n, d] are the released rows, `kernel` the covariance with the noise that is in them, `noise` the
    variance of an answer and `mean` that of the prior.  The first row is `first`, drawn by the caller:
    before any answer all rows are alike.  With `learn`, length, scale and mean are those of largest
    marginal likelihood of the answers, from the fourth on.
    """

    points: Floats
    kernel: RowKernel
    first: int
    rule: Acquisition = NOISE_AWARE
    noise: float = 1e-5
    mean: float = 0.0
    learn: bool = False
    posterior: RowPosterior = field(init=False)

    def __post_init__(self) -> None:
        """Start from the prior; refuse rows that are no finite table."""
        if self.points.ndim != 2 or not len(self.points) or not np.isfinite(self.points).all():
            raise InputError("the released rows are no table of finite numbers", "give rows of equal length")
        self._check(self.first)
        self.posterior = RowPosterior(self.points, self.kernel, self.noise, self.mean)

    def ask(self) -> int:
        """Return the index of the row to query next: the same one until an answer is given."""
        asked = self.posterior.asked
        if not asked:
            return self.first
        bounds = self.posterior.bounds(self.rule.deviations(len(self.points), len(asked) + 1))
        if self.rule.unseen:
            if len(asked) >= len(self.points):
                raise InputError(
                    f"all {len(self.points)} rows have been asked", "there is nothing left to ask"
                )
            bounds[asked] = -np.inf
        return int(np.argmax(bounds))

    def tell(self, index: int, answer: float) -> None:
        """Learn the answer at a row; raises `InputError` for an index or an answer that cannot be."""
        self.check(index, answer)
        self.posterior.tell(index, answer)
        if self.learn and len(self.posterior.asked) in FITS:
            self._fit()

    def check(self, index: int, answer: float) -> None:
        """Refuse an index that is out of range or was answered before, and an answer that is no number."""
        self._check(index)
        if self.rule.unseen and index in self.posterior.asked:
            raise InputError(f"row {index} was answered before", "a row is asked once")
        if not math.isfinite(answer):
            raise InputError(f"the answer is {answer}", "give a finite number")
        if abs(answer) > MAX_KERNEL_NUMBER:
            raise InputError(f"the answer is {answer:g}", "give a number of size at most 1e100")

    def _check(self, index: int) -> None:
        if not 0 <= index < len(self.points):
            raise InputError(f"there is no row {index}", f"rows are numbered 0 to {len(self.points) - 1}")

    def _fit(self) -> None:
        old = self.posterior
        asked = self.points[old.asked]
        if not squared_distances(asked, asked).any():
            return  # one point tells of no length; the next fit may
        self.kernel, self.mean = fitted(asked, np.array(old.answers), self.noise, self.kernel.spread)
        self.posterior = RowPosterior(self.points, self.kernel, self.noise, self.mean)
        # A new length changes all covariances, so that every answer has to be learned again.
        for index, answer in zip(old.asked, old.answers, strict=True):
            self.posterior.tell(index, answer)
