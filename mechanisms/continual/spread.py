"""Error bounds of prefix-sum estimates, from the noise draws they combine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpaccount.noise.samplers import Integers
from mechanisms.continual.factor_sums import History
from mechanisms.continual.factors import WEIGHT_BITS
from mechanisms.continual.tree_sums import levels, variance_from_below
from mechanisms.shared import confidence

Floats = NDArray[np.float64]


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
        return sums * (1 + 1e-9)


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
