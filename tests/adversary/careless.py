"""What the careless authors of this folder share: sound sums, streams, answers and bandits to be spoilt."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.proof import (
    ADD_REMOVE,
    REPLACE_ONE,
    assume_ball,
    assume_cell,
    assume_clipped,
    assume_covers,
    assume_view,
    billboard,
    discrete_gaussian,
    laplace,
    linear,
    nodes,
)
from dpaccount.proof.search import approximate
from mechanisms.local import tables
from mechanisms.subject import Domain, View, shown, shown_to_all


@dataclass(frozen=True)
class Author:
    """A sum of numbers in [0, 100] with discrete Laplace noise, ε = ½.

    `verdict` is what its class must get, `why` a part of the reason, `promise` what its claim says else.
    """

    source: ClassVar[str] = "tests"
    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE
    verdict: ClassVar[str] = "REFUTED"
    why: ClassVar[str] = ""
    promise: ClassVar[dict] = {}
    highest: ClassVar[float] = 100.0

    rows: int = 20
    scale: Fraction = Fraction(200)

    def __init_subclass__(cls):
        """Make every author's class a frozen dataclass, as the decorator does that an author writes."""
        super().__init_subclass__()
        dataclass(frozen=True)(cls)

    def domain(self):
        return Domain(self.rows, (0.0,), (self.highest,), (False,))

    def proof(self, delta):
        row = assume_clipped("sum", Fraction(0), Fraction(100), self.relation, "movement")
        name = type(self).__module__.replace("_", "-")
        return shown_to_all(laplace(linear(row), self.scale, Fraction(1), "sum"), name, delta)

    def total(self, data):
        return np.array([np.floor(np.clip(data[:, 0], 0, 100)).astype(np.int64).sum()])

    def noisy(self, data, noise):
        return noise.noisy("sum", 0, self.total(data))

    def play(self, data, noise, coins):
        return View(public={"sum": self.noisy(data, noise)})


class Survey(Author):
    """The same of the first of several columns.

    `box` has the least and the largest value of each, and whether it is whole.
    """

    box: ClassVar[tuple] = ((0, 100, False), (0, 100, False))

    def domain(self):
        low, high, whole = zip(*self.box, strict=True)
        return Domain(self.rows, tuple(map(float, low)), tuple(map(float, high)), whole)


class Guests(Author):
    """The sum where rows come and go: there are at most `rows`."""

    relation: ClassVar[str] = ADD_REMOVE
    promise: ClassVar[dict] = {"relation": ADD_REMOVE}
    rows: int = 100


class Cells(Author):
    """Counts of `cells` public cells, with noise for a row that leaves one and enters another: ε = ½."""

    rows: int = 100
    cells: int = 6
    scale: Fraction = Fraction(4)

    def domain(self):
        return Domain(self.rows, (0.0,), (self.cells - 1.0,), (True,))

    def proof(self, delta):
        cell = assume_cell("counts", self.relation, "movement")
        name = type(self).__module__.replace("_", "-")
        return shown_to_all(laplace(linear(cell), self.scale, Fraction(1), "counts"), name, delta)

    def counts(self, data):
        return np.bincount(data[:, 0].astype(np.int64), minlength=self.cells)

    def play(self, data, noise, coins):
        return View(public={"counts": noise.noisy("counts", 0, self.counts(data))})


class Diary(Author):
    """A number in [0, 10] for each of `rows` rounds, each with Laplace noise of its own: ε = ½."""

    rows: int = 32
    highest: ClassVar[float] = 20.0
    scale: Fraction = Fraction(20)

    def proof(self, delta):
        row = assume_clipped("rounds", Fraction(0), Fraction(10), self.relation, "movement")
        rounds = assume_covers("rounds", [(t, t) for t in range(1, self.rows + 1)], "movement")
        leaf = laplace(linear(row), self.scale, Fraction(1), "round")
        return shown(approximate(nodes(leaf, rounds), delta), type(self).__module__.replace("_", "-"))

    def values(self, data):
        return np.floor(np.clip(data[:, 0], 0, 10)).astype(np.int64)

    def released(self, values, noise):
        return np.concatenate([noise.noisy("round", t, values[t : t + 1]) for t in range(len(values))])

    def play(self, data, noise, coins):
        return View(public={"total": np.cumsum(self.released(self.values(data), noise))})


class Poll(Author):
    """One of `cells` answers of each of `rows` people, randomised by themselves: ε = 1, local."""

    promise: ClassVar[dict] = {"model": "local", "epsilon": Fraction(1)}
    rows: int = 24
    cells: int = 4

    def domain(self):
        return Domain(self.rows, (0.0,), (self.cells - 1.0,), (True,))

    @property
    def table(self):
        size, truth = self.cells, tables.ratio(Fraction(1))
        weights = [[truth if i == j else Fraction(1) for j in range(size)] for i in range(size)]
        return tables.weighted(weights)

    def proof(self, delta):
        name = type(self).__module__.replace("_", "-")
        return tables.proof(name, self.table, Fraction(1), self.rows, delta)

    def symbols(self, data):
        return data[:, 0].astype(np.int64)

    def play(self, data, noise, coins):
        answers = tables.answers(self.symbols(data), noise)
        return View(public={"answers": answers, "counts": np.bincount(answers, minlength=self.cells)})


class Shop(Author):
    """A bandit of three arms in batches of `batch`.

    A person has a whole context of 0 … 3, and what each arm would pay, from 0 to 1.  Only a batch's noisy
    sums and pulls are learned from: ε < 2, joint.
    """

    promise: ClassVar[dict] = {"model": "joint", "epsilon": Fraction(2), "delta": Fraction(1, 10**6)}
    rows: int = 40
    batch: int = 8
    unit: int = 16  #: what a reward of 1 counts
    sigma: Fraction = Fraction(128)

    def domain(self):
        return Domain(self.rows, (0.0,) * 4, (3.0, 1.0, 1.0, 1.0), (True, False, False, False))

    def batches(self):
        return [(first + 1, first + self.batch) for first in range(0, self.rows, self.batch)]

    def proof(self, delta):
        # what was pulled, and what it paid: a vector of length at most √2·unit
        person = assume_ball("pulls", Fraction(23), self.relation, "movement")
        batches = assume_covers("pulls", self.batches(), "movement")
        leaf = discrete_gaussian(linear(person), self.sigma**2, Fraction(1), "batch")
        view = assume_view(type(self).__module__.replace("_", "-"), "others", "replay")
        return billboard(approximate(nodes(leaf, batches), delta), view)

    def choose(self, scores, row, tie):
        """Return the arm that a person is shown."""
        return int((np.argmax(scores) + row[0] + tie) % 3)

    def paid(self, row, arm):
        """Return what a person adds."""
        found = np.zeros(6, dtype=np.int64)
        found[arm], found[3 + arm] = self.unit, int(self.unit * row[1 + arm])
        return found

    def play(self, data, noise, coins):
        ties = np.random.default_rng(coins).integers(0, 2, len(data))
        scores, total, actions = np.zeros(3), np.zeros(6), []
        for number, (first, last) in enumerate(self.batches()):
            exact = np.zeros(6, dtype=np.int64)
            for t in range(first - 1, last):
                actions.append(self.choose(scores, data[t], ties[t]))
                exact += self.paid(data[t], actions[-1])
            total += noise.noisy("batch", number, exact)
            scores = total[3:] / np.maximum(total[:3], 1)
        return View(own={"action": np.array(actions)}, public={"scores": scores})
