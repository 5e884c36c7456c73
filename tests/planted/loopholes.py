"""Subjects that tried ways to a false certificate; test_loopholes.py says what becomes of each."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpaccount.proof import (
    ADD_REMOVE,
    REPLACE_ONE,
    assume_ball,
    assume_covers,
    assume_rare,
    assume_tree,
    assume_view,
    compose,
    despite,
    discrete_gaussian,
    factorised,
    fine_gaussian,
    k_norm,
    linear,
    local,
    local_view,
    mixture,
    nodes,
    post_process,
)
from dpaccount.proof.search import approximate
from mechanisms.binary_tree import BinaryTree
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.shared import grid
from mechanisms.subject import View, shown

DELTA = Fraction(1, 10**6)


@dataclass(frozen=True)
class CentralAsLocal(GaussianSum):
    """Sums all rows, and calls the sum one person's message."""

    def proof(self, delta):
        inside = assume_ball("gaussian-sum", self.radius, self.relation, "movement")
        sum_of_all = discrete_gaussian(linear(inside), self.sigma**2, grid.step(self.bits), "sum")
        sent = local(sum_of_all, assume_covers("gaussian-sum", [(1, 1)], "movement"))
        return local_view(approximate(sent, delta), assume_view("gaussian-sum", "others", "replay"))


@dataclass(frozen=True)
class ManyPrefixes(BinaryTree):
    """Releases every prefix under made-up node names."""

    def play(self, data, noise, coins):
        values = grid.in_ball(data, self.radius, self.bits)
        shown = [noise.noisy("node", (40 + t, 0), values[: t + 1].sum(axis=0)) for t in range(self.rounds)]
        return View(public={"prefix-sums": np.array(shown)})


@dataclass(frozen=True)
class HigherLevels(BinaryTree):
    """Declares the leaves only, and releases sums of two rounds too."""

    def proof(self, delta):
        tree = assume_tree("prefix-sums", self.rounds, "movement", 1)
        inside = linear(assume_ball("prefix-sums", self.radius, REPLACE_ONE, "movement"))
        leaf = discrete_gaussian(inside, self.sigma**2, grid.step(self.bits), "node")
        return shown(approximate(nodes(leaf, tree), delta), "higher-levels")

    def play(self, data, noise, coins):
        values = grid.in_ball(data, self.radius, self.bits)
        pairs = [
            noise.noisy("node", (1, k), values[2 * k : 2 * k + 2].sum(axis=0))
            for k in range(self.rounds // 2)
        ]
        return View(public={"prefix-sums": np.array(pairs)})


@dataclass(frozen=True)
class WrongRelation(GaussianSum):
    """Proved for replaced rows, tested on removed ones."""

    relation: str = ADD_REMOVE

    def proof(self, delta):
        return GaussianSum(rows=self.rows, relation=REPLACE_ONE).proof(delta)


@dataclass(frozen=True)
class Idle(GaussianSum):
    """Releases nothing of the rows."""

    def query(self, data):
        return super().query(data) * 0


@dataclass(frozen=True)
class Cached(GaussianSum):
    """Answers the replay from memory, so that nothing ever moves."""

    seen: ClassVar[dict[int, object]] = {}

    def play(self, data, noise, coins):
        return super().play(self.seen.setdefault(coins, data), noise, coins)


@dataclass(frozen=True)
class SignOfZero(GaussianSum):
    """Publishes a bit in the sign of a zero."""

    def play(self, data, noise, coins):
        shown = super().play(data, noise, coins)
        return View(public={**shown.public, "zero": np.copysign(0.0, data[0, 0])})


@dataclass(frozen=True)
class NanForAll(GaussianSum):
    """Shows everyone the same NaN: nothing is wrong with it."""

    def play(self, data, noise, coins):
        return View(
            own={"advice": np.full(len(data), np.nan)}, public=super().play(data, noise, coins).public
        )


@dataclass(frozen=True)
class TwoSums(GaussianSum):
    """Releases one query twice under two keys and pays for both: nothing is wrong with it."""

    def proof(self, delta):
        inside = linear(assume_ball("gaussian-sum", self.radius, REPLACE_ONE, "movement"))
        once = assume_covers("gaussian-sum", [(1, self.rows)], "movement")
        leaves = [discrete_gaussian(inside, self.sigma**2, grid.step(self.bits), key) for key in ("a", "b")]
        both = compose(*(nodes(leaf, once) for leaf in leaves))
        return post_process(approximate(both, delta), assume_view("gaussian-sum", "everyone", "replay"))

    def play(self, data, noise, coins):
        return View(public={key: noise.noisy(key, 0, self.query(data)) for key in ("a", "b")})


@dataclass(frozen=True)
class SaidTwice(TwoSums):
    """States one hypothesis in two steps of its proof: it is one all the same."""

    def proof(self, delta):
        def leaf(key):
            inside = linear(assume_ball("gaussian-sum", self.radius, REPLACE_ONE, "movement"))
            once = assume_covers("gaussian-sum", [(1, self.rows)], "movement")
            return nodes(discrete_gaussian(inside, self.sigma**2, grid.step(self.bits), key), once)

        whole = approximate(compose(leaf("a"), leaf("b")), delta)
        return post_process(whole, assume_view("gaussian-sum", "everyone", "replay"))


@dataclass(frozen=True)
class NoPoint(GaussianSum):
    """Ends its proof in zCDP."""

    def proof(self, delta):
        inside = linear(assume_ball("gaussian-sum", self.radius, REPLACE_ONE, "movement"))
        return discrete_gaussian(inside, self.sigma**2, grid.step(self.bits), "sum")


@dataclass(frozen=True)
class Lucky(LaplaceSum):
    """Leaves a rare event aside, which no test looks for."""

    def proof(self, delta):
        inner = super().proof(Fraction(0))
        return despite(inner, assume_rare("laplace-sum", "event", delta, "measured"), delta)


def ball_sum(subject):
    return linear(assume_ball("g", subject.radius, subject.relation, "movement"))


def seen(theorem, delta):
    return post_process(approximate(theorem, delta), assume_view("gaussian-sum", "everyone", "replay"))


@dataclass(frozen=True)
class NoView(GaussianSum):
    """Names its query like itself, assumes nothing of what it shows, and shows the rows."""

    def proof(self, delta):
        inside = linear(assume_ball("gaussian-sum", self.radius, self.relation, "movement"))
        return approximate(discrete_gaussian(inside, self.sigma**2, grid.step(self.bits), "sum"), delta)

    def play(self, data, noise, coins):
        noise.noisy("sum", 0, self.query(data))
        return View(public={"raw": data})


@dataclass(frozen=True)
class BothParts(GaussianSum):
    """Pays for the worst of two parts between which a coin is said to choose, and releases both."""

    def proof(self, delta):
        parts = [discrete_gaussian(ball_sum(self), self.sigma**2, grid.step(self.bits), key) for key in "ab"]
        return seen(mixture(*parts), delta)

    def play(self, data, noise, coins):
        return View(public={key: noise.noisy(key, 0, self.query(data)) for key in "ab"})


@dataclass(frozen=True)
class RowByRow(GaussianSum):
    """Proves one draw of long noise on a whole stream, and draws it row by row: √rounds times as much."""

    def proof(self, delta):
        stream = factorised(ball_sum(self), 100, [[1] * 100])
        return seen(k_norm(stream, Fraction(1, 1000), Fraction(21), grid.step(self.bits), "k"), delta)


@dataclass(frozen=True)
class Overwritten(GaussianSum):
    """Shows the mean without noise in an array that every run writes to."""

    @cached_property
    def shown(self):
        return np.zeros(self.columns)

    def play(self, data, noise, coins):
        noise.noisy("sum", 0, self.query(data))
        self.shown[:] = data.mean(axis=0)
        return View(public={"mean": self.shown})


@dataclass(frozen=True)
class Fitted(GaussianSum):
    """Keeps the mean of the first rows that it sees, and shows it without noise."""

    def play(self, data, noise, coins):
        if not hasattr(self, "mean"):
            object.__setattr__(self, "mean", data.mean(axis=0))
        return View(public={"sum": noise.noisy("sum", 0, self.query(data)), "mean": self.mean})


@dataclass(frozen=True)
class Boxed(GaussianSum):
    """Shows a row inside an object, which arrays compare by place only."""

    def play(self, data, noise, coins):
        noise.noisy("sum", 0, self.query(data))
        return View(public={"box": np.array([{"raw": data[0, 0]}], dtype=object)})


@dataclass(frozen=True)
class RawWhenFew(GaussianSum):
    """Shows the sum of few rows as it is."""

    relation: str = ADD_REMOVE

    def play(self, data, noise, coins):
        released = noise.noisy("sum", 0, self.query(data))
        return View(public={"sum": released if len(data) >= 3 else self.query(data)})


@dataclass(frozen=True)
class ForOneNumber(GaussianSum):
    """Proves the distance from continuous noise for one number and releases many."""

    def proof(self, delta):
        near = fine_gaussian(
            ball_sum(self), self.sigma**2, grid.step(self.bits), 1, Fraction(1, 10**9), "sum"
        )
        return seen(near, delta)
