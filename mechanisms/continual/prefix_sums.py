"""Base of the mechanisms for prefix sums: settings, proofs, runs, and how far their estimates may be off."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Floats, Integers, root_up
from dpaccount.proof import REPLACE_ONE, Theorem, assume_ball, assume_tree, factorised, linear, nodes
from mechanisms.continual import factors
from mechanisms.continual.factors import WEIGHT_BITS
from mechanisms.continual.sums import (
    FactorSums,
    History,
    HonakerSums,
    Sums,
    TreeSums,
    levels,
    variance_from_below,
)
from mechanisms.shared import accuracy, confidence, grid
from mechanisms.shared.gaussian_noise import gaussian, unchanged
from mechanisms.subject import Domain, Rows, View, shown, wide


@dataclass(frozen=True)
class Spread:
    """Every round's estimate is off by a sum Σw·X of noise, in steps: Σw²·s² and Σ|w|, a number a round.

    `draws` lists standard deviations s and how many numbers are drawn with each; `floors` bounds what
    does not come from noise, by round.
    """

    variances: Floats
    weights: Floats
    draws: tuple[tuple[float, int], ...]
    floors: float = 0.0

    def reach(self, columns: int, alpha: Fraction) -> Floats:
        """Return simultaneous error bounds for all rounds, with failure probability `alpha`."""
        numbers = len(self.variances) * columns
        by_root, by_weight = confidence.combined(self.draws, numbers, alpha)
        sums: Floats = by_root * np.sqrt(self.variances) + (by_weight + self.floors) * self.weights
        return sums * (1 + 1e-9)  # up by more than floats err


def tree_terms(rounds: int, depth: int) -> Floats:
    """Return the number of noisy nodes summed in each prefix, for a tree of `depth` levels."""
    top = depth - 1
    return np.array(
        [(t & (1 << top) - 1).bit_count() + (t >> top) for t in range(1, rounds + 1)], dtype=float
    )


def tree(rounds: int, scale: float, columns: int) -> Spread:
    """Return the spread of a binary tree: as many nodes as the round's number has ones."""
    terms = tree_terms(rounds, levels(rounds))
    return Spread(scale**2 * terms, terms, ((scale, rounds * columns),))


def honaker(rounds: int, scale: float, columns: int) -> Spread:
    """Return the spread of a tree whose nodes are refined from below; all weights are positive."""
    top = levels(rounds) - 1
    # Refining weighs halves against a node's own noise with the weights that `HonakerSums` uses; here the sum
    # of their absolute values is followed, as the tail bound needs it.
    weight = [1.0]
    for level in range(top):
        w = 2 * variance_from_below(level)
        weight.append((w + 2 * weight[-1]) / (w + 1))

    def total(each: list[float]) -> Floats:
        low = [sum(v for j, v in enumerate(each[:top]) if t >> j & 1) for t in range(1, rounds + 1)]
        return np.array(low) + each[top] * (np.arange(1, rounds + 1) >> top)

    squares = [variance_from_below(level) for level in range(top + 1)]
    return Spread(scale**2 * total(squares), total(weight), ((scale, 2 * rounds * columns),))


def restarting(epochs: Iterator[float], rounds: int, columns: int) -> Spread:
    """Return the spread of trees for epochs of 1, 2, 4, … rounds, one noise each: finished ones add up."""
    variances, weights, draws = [np.zeros(1)], [np.zeros(1)], []
    for epoch, scale in enumerate(epochs):
        terms = tree_terms(min(2**epoch, rounds - 2**epoch + 1), levels(2**epoch))
        variances.append(variances[-1][-1] + scale**2 * terms)
        weights.append(weights[-1][-1] + terms)
        draws.append((scale, len(terms) * columns))
    return Spread(np.concatenate(variances[1:]), np.concatenate(weights[1:]), tuple(draws))


def toeplitz(
    history: Callable[[int, type], History],
    rounds: int,
    scale: float,
    columns: int,
    *,
    bits: int,
    floors: float = 0.0,
) -> Spread:
    """Return the spread of A·C⁻¹ for a Toeplitz factor over 2^`bits`, from its response to one unit.

    `history`: makes the state of the factor, of a width and a type of numbers; `rounds`: how many there are.
    `scale`: standard deviation of the noise in a row; `columns`: the numbers of a row.
    `floors`: a bound on what rounding down adds in a round.
    """
    memory, inverse = history(1, np.float64), np.zeros(rounds)
    for t in range(rounds):
        value = ((t == 0) * 2.0**bits - memory.past()) / memory.diagonal()
        memory.push(value)
        inverse[t] = value[0]
    column = np.cumsum(inverse)
    variances, weights = scale**2 * np.cumsum(column**2), np.cumsum(np.abs(column))
    return Spread(variances, weights, ((scale, rounds * columns),), floors)


def explicit(factor: Integers, scale: float, columns: int) -> Spread:
    """Return the spread of A·C⁻¹ for an explicit factor."""
    from scipy.linalg import solve_triangular

    real = factor / 2.0**WEIGHT_BITS
    inverse = solve_triangular(real.T, np.tril(np.ones(real.shape)).T, lower=False).T
    squares, weights = (inverse**2).sum(axis=1), np.abs(inverse).sum(axis=1)
    return Spread(scale**2 * squares, weights, ((scale, len(real) * columns),))


@dataclass(frozen=True)
class PrefixSums:
    """Release the sum of the first t vectors after every round t ≤ `rounds`; a unit is one round.

    Vectors of `columns` numbers are clipped to ℓ2 norm `radius` and truncated to steps of 2^−`bits`;
    noise has standard deviation `sigma` per coordinate.
    """

    relation: ClassVar[str] = REPLACE_ONE
    reads: ClassVar[str] = "numbers"
    most: ClassVar[int] = 2**16  #: maximum rounds of one proof, which may have one number per round
    finer: ClassVar[int] = factors.WEIGHT_BITS  #: bits for the weights of a factor's rows

    sigma: Fraction = Fraction(8)
    radius: Fraction = Fraction(1)
    rounds: int = 64
    columns: int = 1
    bits: int = 16

    def __post_init__(self) -> None:
        """Refuse invalid parameters, and those whose sums would overflow 64 bits."""
        if min(self.sigma, self.radius) <= 0 or min(self.rounds, self.columns) < 1:
            raise out_of_range("sigma > 0, radius > 0, rounds >= 1 and columns >= 1")
        if self.rounds > self.most:
            raise InputError(
                f"rounds is {self.rounds}", f"a proof is for at most {self.most}: longer streams restart"
            )
        # nodes of restarting trees have more noise
        grid.room((self.reach() + 200 * self.sigma) * 2**self.finer, self.bits)

    def reach(self) -> Fraction:
        """Return an upper bound on an exact row, in the data's units."""
        return self.rounds * self.radius

    def domain(self) -> Domain:
        """Return rows well beyond the ball, so that clipping is exercised."""
        return wide(self.rounds, self.columns, 4 * float(self.radius))

    def shown(self, sums: Sums, data: Rows) -> View:
        """Run a stream through `sums`, a vector a round; show its prefix sums, in the data's own units."""
        prefixes = [sums.add(value) for value in grid.in_ball(data, self.radius, self.bits)]
        return View(public={"prefix-sums": np.array(prefixes) * float(grid.step(self.bits))})

    def spread(self) -> Spread:
        """Return how far the estimates of all rounds may be off, in steps of the noise."""
        raise NotImplementedError

    def step(self) -> Fraction:
        """Return a step of the noise, in the data's units: rows of factors have finer ones."""
        return grid.step(self.bits + self.finer)

    def scale(self, sigma: Fraction) -> float:
        """Return the standard deviation of the noise drawn for `sigma`, in steps."""
        return root_up((sigma / self.step()) ** 2)

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of all prefix sums of clipped vectors, all rounds at once."""
        reach = self.spread().reach(self.columns, confidence.missed(level)) * float(self.step())
        wide = reach[:, None] + float(self.reach()) * 2.0**-40  # of floating point along the stream
        of = "the prefix sums of clipped vectors"
        return {"prefix-sums": accuracy.around(view.public["prefix-sums"], wide, level, of)}


@dataclass(frozen=True)
class FactorRows(PrefixSums):
    """Prefix sums from the noisy rows of a factor, whose past rows a `History` applies."""

    def history(self, width: int, kind: type) -> History:
        """Return an empty history of rows of `width` numbers of the type `kind`."""
        raise NotImplementedError

    def floors(self) -> float:
        """Return a bound on what rounding down adds to an estimate, in steps of the noise."""
        return 0.0

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release row by row; show all prefix sums, in the data's own units."""
        rows = FactorSums(self.history, self.columns, lambda t, row: noise.noisy("row", t, row))
        return self.shown(rows, data)

    def spread(self) -> Spread:
        """Return how every estimate combines the rows' noise."""
        scale, floors = self.scale(self.sigma), self.floors()
        return toeplitz(self.history, self.rounds, scale, self.columns, bits=self.finer, floors=floors)


@dataclass(frozen=True)
class TreeNodes(PrefixSums):
    """Prefix sums from the noisy nodes of a tree, which `estimates` puts together."""

    named: ClassVar[str]
    estimates: ClassVar[type[TreeSums | HonakerSums]]

    sigma: Fraction = Fraction(16)
    bits: int = 20

    def proof(self, delta: Fraction) -> Theorem:
        """Every node is a noisy sum; a round lies in at most ⌈log₂ rounds⌉ of them."""
        inside = assume_ball("prefix-sums", self.radius, REPLACE_ONE, "movement")
        tree = assume_tree("prefix-sums", self.rounds, "movement", levels(self.rounds))
        wrap, numbers = partial(nodes, covered=tree), self.columns
        noisy = gaussian(linear(inside), self.sigma, self.step(), numbers, "node", delta, wrap)
        return shown(noisy, self.named)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release node by node; show all prefix sums, in the data's own units."""
        sums = self.estimates(lambda node, exact: noise.noisy("node", node, exact), levels(self.rounds))
        return self.shown(sums, data)

    def step(self) -> Fraction:
        """Return a step of a node."""
        return grid.step(self.bits)


def proof(name: str, matrix: Sequence[Sequence[int]], subject: PrefixSums, delta: Fraction) -> Theorem:
    """Prove from a ball: the factor stretches a vector by at most its largest column norm."""
    return row_proof(
        name, subject, delta, lambda v: factorised(v, subject.rounds, matrix, factors.WEIGHT_BITS)
    )


def row_proof(name: str, subject: PrefixSums, delta: Fraction, rows: Callable[[Theorem], Theorem]) -> Theorem:
    """Prove the noisy rows that `rows` derives from a stream of vectors in a ball."""
    stream = rows(linear(assume_ball("stream", subject.radius, REPLACE_ONE, "movement")))
    step, numbers = grid.step(subject.bits + subject.finer), subject.rounds * subject.columns
    return shown(gaussian(stream, subject.sigma, step, numbers, "row", delta, unchanged), name)
