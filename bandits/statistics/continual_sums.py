"""Continual release of one sum of statistics: which stream, its proof, and how noisy its prefixes are.

A stream turns a theorem about one noisy sum, or about a stable query, into one about all prefix sums.
Vectors may use any stream; symmetric matrices the trees, whose every release is noised by itself.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate

import numpy as np

from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.first_moments import CONTRIBUTION_BITS
from dpaccount.errors import InputError, RuleError
from dpaccount.noise.receipt import Noise
from dpaccount.proof import (
    Theorem,
    assume_covers,
    assume_rounds,
    assume_tree,
    buffered,
    factorised,
    linear,
    nodes,
)
from mechanisms.continual import factors, prefix_sums
from mechanisms.continual.sums import (
    Buffers,
    FactorSums,
    HonakerSums,
    Sums,
    TreeSums,
    Window,
    variance_from_below,
)
from mechanisms.shared import grid
from mechanisms.shared.gaussian_noise import gaussian, unchanged
from mechanisms.symmetric_gaussian import STEP

STREAMS = ("tree", "honaker", "sqrt-toeplitz", "buffered-toeplitz", "separate")
ROOM = 60  #: bits that the rows of a stream may take
BUFFERS = 6  #: sums that decay: with so many a stream errs less than with √Toeplitz rows


class StreamedRows:
    """Noisy rows of C·x, for a posterior that takes them as they are; `weights` is C [n, n].

    C is lower triangular, in integers; x are the exact sums of the rounds.
    """

    def __init__(self, weights: Integers, release: Callable[[int, Integers], Integers]) -> None:
        self.weights, self._release = weights, release
        self._sums: list[Integers] = []

    def add(self, exact: Integers) -> Integers:
        """Add the next round's sum, and return the noisy row that ends with it."""
        number = len(self._sums)
        self._sums.append(exact)
        row = np.tensordot(self.weights[number, : number + 1], np.array(self._sums), axes=1)
        return self._release(number, row)


class SeparateSums:
    """Prefix sums of rounds that are released one by one: each person is in one of them."""

    def __init__(self, release: Callable[[int, Integers], Integers]) -> None:
        self._release, self.rounds = release, 0
        self._sum: Integers = np.zeros((), dtype=np.int64)

    def add(self, value: Integers) -> Integers:
        """Release the next round's noisy value, and return the sum of all."""
        self._sum = self._sum + self._release(self.rounds, value)
        self.rounds += 1
        return self._sum

    def release(self) -> Integers:
        """Return the latest sum."""
        return self._sum


def stays_exact(stream: str, rounds: int, people: int, everybody: int) -> None:
    """Refuse rounds of so many people whose rows would not stay exact; a person's values are at most ½.

    Where late answers count, `everybody` may answer in one round, and a row's weights are at most 1.
    """
    late, room = everybody if takes_late(stream) else 0, 2 ** (ROOM + 1 - CONTRIBUTION_BITS)
    if max(people * widest(stream, rounds), late * 2**factors.WEIGHT_BITS) > room:
        raise InputError(
            f"sums of {max(people, late)} people do not stay exact in {stream} rows", "take fewer"
        )


def vector_proof(
    stream: str,
    person: Theorem,
    sigma: Fraction,
    ends: Sequence[int],
    numbers: int,
    delta: Fraction,
    *,
    late: bool = False,
) -> Theorem:
    """Return the least (ε, `delta`) of all prefix sums of vectors of `numbers`, a round for each of `ends`.

    `stream`: one of `STREAMS`.
    `person`: the theorem that one person's contribution lies in a ball.
    `sigma`: standard deviation of the noise per coordinate of a released node or row, in the values' units.
    `ends`: the last person of every round, which sums those after the round before it: one, or a batch.
    `numbers`: the length of a vector; its values lie on the grid of `first_moments`.
    `late`: a person enters any one round, which only their own data choose; this costs a ball's contributions
    nothing (docs/proofs.md).  Raises `RuleError` for a stream that has no rule for that.
    """
    if late and not takes_late(stream):
        raise RuleError(f"no rule covers late answers in the sums of {stream}")
    query, step, rounds = linear(person), grid.step(CONTRIBUTION_BITS), len(ends)
    if stream == "sqrt-toeplitz":
        rows, finer = _toeplitz_rows(person, tuple(ends), late), step / 2**factors.WEIGHT_BITS
        return gaussian(rows, sigma, finer, numbers * rounds, "sums", delta, unchanged)
    entered = _entered(str(person.witness["query"]), ends)
    if stream == "buffered-toeplitz":
        finer, pairs = step / 2**factors.DECAY, factors.buffers(rounds, BUFFERS)
        far = float(person.conclusion.high) ** 0.5 * 2  # type: ignore[union-attr]  # a ball's
        most = factors.buffered_movement_squared(pairs, rounds, numbers, far, finer)
        rows = buffered(query, entered, numbers, pairs, factors.DECAY, finer, most)
        return gaussian(rows, sigma, finer, numbers * rounds, "sums", delta, unchanged)
    if stream == "separate":
        rounds_of = list(zip([1, *(end + 1 for end in ends)], ends, strict=False))
        tree = assume_covers(str(person.witness["query"]), rounds_of, "movement")
    else:
        tree = _tree(str(person.witness["query"]), ends)
    return gaussian(query, sigma, step, numbers, "sums", delta, lambda one: nodes(one, tree))


@lru_cache(maxsize=1)  # calibration asks again and again, and a million weights take a second
def _toeplitz_rows(person: Theorem, ends: tuple[int, ...], late: bool) -> Theorem:  # noqa: FBT001
    """Return the theorem about the rows of the square root, before their noise."""
    query, rounds = str(person.witness["query"]), len(ends)
    late_one = assume_rounds(query, rounds, "movement", 2, rounds) if late else None
    weights = factors.sqrt_toeplitz(rounds).tolist()
    return factorised(linear(person), late_one or _entered(query, ends), [weights], factors.WEIGHT_BITS)


def _entered(query: str, ends: Sequence[int]) -> int | Theorem:
    """Return how many rounds there are, or which people enter them where they are batches."""
    if ends[-1] == len(ends):
        return len(ends)
    return assume_rounds(query, len(ends), "movement", ends=list(ends))


def _tree(query: str, ends: Sequence[int]) -> Theorem:
    """Return which people the nodes of a binary tree over the rounds sum."""
    if ends[-1] == len(ends):
        return assume_tree(query, len(ends), "movement")
    edges = [0, *ends]
    nodes_of = ((k << j, k + 1 << j) for j in range(len(ends).bit_length()) for k in range(len(ends) >> j))
    covers = [(edges[start] + 1, edges[stop]) for start, stop in nodes_of]
    return assume_covers(query, covers, "movement")


def matrix_proof(person: Theorem, sigma: Fraction, covers: Theorem, size: int, delta: Fraction) -> Theorem:
    """Return the least (ε, `delta`) of sums of symmetric matrices of `size` rows, one for each cover.

    `person` is one person's contribution; `covers` says which rounds each release sums.
    """
    numbers, query = size * (size + 1) // 2, linear(person)
    return gaussian(query, sigma, STEP, numbers, "sums", delta, lambda one: nodes(one, covers))


def vector_sums(stream: str, noise: Noise, ends: Sequence[int], numbers: int) -> Sums:
    """Return prefix sums of integer vectors, in grid units; rows of factors are finer, which it undoes."""
    rounds = len(ends)
    if stream == "sqrt-toeplitz":
        history = partial(Window, factors.sqrt_toeplitz(rounds))
        return FactorSums(history, numbers, lambda t, row: noise.noisy("sums", t, row))
    if stream == "buffered-toeplitz":
        pairs = factors.buffers(rounds, BUFFERS)
        return FactorSums(partial(Buffers, pairs), numbers, lambda t, row: noise.noisy("sums", t, row))
    if stream == "separate":
        return SeparateSums(lambda number, value: noise.noisy("sums", number, value))
    firsts = list(accumulate((rounds >> level for level in range(rounds.bit_length())), initial=0))
    batches = ends[-1] != rounds  # whose nodes are named by their place among the covers

    def released(node: tuple[int, int], sums: Integers) -> Integers:
        return noise.noisy("sums", firsts[node[0]] + node[1] if batches else node, sums)

    return (TreeSums if stream == "tree" else HonakerSums)(released)


def matrix_sums(stream: str, noise: Noise) -> Sums:
    """Return prefix sums of symmetric integer matrices, in grid units."""
    kind = TreeSums if stream == "tree" else HonakerSums
    return kind(lambda node, sums: noise.noisy_symmetric("sums", node, sums))


def takes_late(stream: str) -> bool:
    """Return whether late answers may enter a stream's rows: no rule is known for those of others."""
    return stream == "sqrt-toeplitz"


def widest(stream: str, rounds: int) -> float:
    """Return how many times larger than a round's value a released row may be, in steps of its own grid.

    The square root's coefficients have the sum 2n·C(2n, n)/4^n ≤ 2√(n/π).
    """
    if stream == "sqrt-toeplitz":
        return 2 * math.sqrt(rounds / math.pi) * 2.0**factors.WEIGHT_BITS
    if stream == "buffered-toeplitz":
        one, total = 2.0**factors.DECAY, 2.0**factors.DECAY
        for weight, decay in factors.buffers(rounds, BUFFERS):
            total += weight / (1 - decay / one) * -math.expm1(rounds * math.log(decay / one))
        return total
    return float(rounds)


def deviation(stream: str, t: int, rounds: int) -> float:
    """Return the noise's standard deviation in the prefix of t of `rounds` rounds, for released noise of 1.

    Separate rounds add up.
    A tree adds one node for each one of t in binary; Honaker's estimate refines each from below; a
    Toeplitz factor C adds the squares of the first t coefficients of 1/((1 − x)·C(x)), which are those of C
    itself for the square root.
    """
    if t == 0:
        return 0.0
    if stream == "sqrt-toeplitz":
        return float(_toeplitz_deviations(1 << (t - 1).bit_length())[t - 1])
    if stream == "buffered-toeplitz":
        return float(_buffered_deviations(rounds)[t - 1])
    if stream == "separate":
        return math.sqrt(t)
    if stream == "tree":
        return math.sqrt(t.bit_count())
    return math.sqrt(sum(variance_from_below(j) for j in range(t.bit_length()) if t >> j & 1))


@lru_cache(maxsize=32)
def _toeplitz_deviations(rounds: int) -> Floats:
    weights = factors.sqrt_toeplitz(rounds) / 2.0**factors.WEIGHT_BITS
    return np.sqrt(np.cumsum(weights**2))


@lru_cache(maxsize=8)
def _buffered_deviations(rounds: int) -> Floats:
    history = partial(Buffers, factors.buffers(rounds, BUFFERS))
    return np.sqrt(prefix_sums.toeplitz(history, rounds, 1.0, 1, bits=factors.DECAY).variances)
