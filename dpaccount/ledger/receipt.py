"""Receipts: proof that a theorem was paid for, and the only way to noise.

A receipt takes the private value and returns it with noise; the law is read from the theorem's
leaf, so code cannot draw less than was proved.  Every (key, part) is served once, and no more
parts than the proof pays for.
"""

import threading
from collections.abc import Hashable
from fractions import Fraction
from typing import Protocol

import numpy as np

from dpaccount.derivation import Leaf, leaves
from dpaccount.errors import ReceiptError
from dpaccount.kernel import Theorem
from dpaccount.noise import Integers, Sampler, exact_root, in_range, root_up

_SEAL = object()


class Noise(Protocol):
    """What code that releases needs: a `Receipt`, or a stand-in for simulations without noise."""

    def noisy(self, key: str, part: Hashable, values: Integers) -> Integers:
        """Return integer values (grid units, any shape) with noise."""

    def noisy_symmetric(self, key: str, part: Hashable, matrix: Integers) -> Integers:
        """Return a symmetric integer matrix with symmetric noise."""


class NoNoise:
    """Returns values as they are: for the non-private line of an experiment, never for a release."""

    def noisy(self, key: str, part: Hashable, values: Integers) -> Integers:
        """Return the values."""
        return in_range(values)

    noisy_symmetric = noisy


class Receipt:
    """What `charge` returns; `noisy` and `noisy_symmetric` spend it."""

    def __init__(self, seal: object, theorem: Theorem, sampler: Sampler, entry: int) -> None:
        if seal is not _SEAL:
            raise ReceiptError("a Receipt comes from charging a ledger; charge the theorem first")
        self.theorem = theorem
        self.entry = entry
        self.releasable = sampler.releasable
        self._sampler = sampler
        self._leaves: dict[str, Leaf] = {}
        for leaf in leaves(theorem):
            if leaf.key in self._leaves:
                raise ReceiptError(f"two leaves share the key {leaf.key!r}; give each leaf its own")
            self._leaves[leaf.key] = leaf
        self._laws = {key: law_of(leaf) for key, leaf in self._leaves.items()}
        self._gate = threading.Lock()  # two threads never get one part twice
        self._served: dict[str, set[Hashable]] = {key: set() for key in self._leaves}

    def noisy(self, key: str, part: Hashable, values: Integers) -> Integers:
        """Return integer `values` (grid units, any shape) with the noise that leaf `key` proves.

        Raises `ReceiptError` for a key that the proof has not, a part served before, or one too many.
        """
        law, scale = self._serve(key, part)
        if self._leaves[key].rule == "symmetric_gaussian":
            raise ReceiptError(f"the leaf {key!r} is symmetric; use noisy_symmetric")
        exact = in_range(values)
        add = self._sampler.laplace if law == "laplace" else self._sampler.gaussian
        return add(exact.ravel(), scale).reshape(exact.shape)

    def noisy_symmetric(self, key: str, part: Hashable, matrix: Integers) -> Integers:
        """Return a symmetric integer matrix with symmetric noise, on the diagonal of twice the variance."""
        _, scale = self._serve(key, part)
        leaf = self._leaves[key]
        if leaf.rule != "symmetric_gaussian":
            raise ReceiptError(f"the leaf {key!r} is not symmetric; use noisy")
        exact = in_range(matrix)
        if exact.ndim != 2 or not np.array_equal(exact, exact.T):
            raise ReceiptError("noisy_symmetric takes a symmetric matrix")
        diagonal = root_up(2 * _grid_variance(leaf))
        rows, columns = np.triu_indices(len(exact), 1)
        noise = np.zeros_like(exact)
        noise[rows, columns] = self._sampler.gaussian(np.zeros(len(rows), dtype=np.int64), scale)
        noise += noise.T
        noise[np.diag_indices(len(exact))] = self._sampler.gaussian(
            np.zeros(len(exact), dtype=np.int64), diagonal
        )
        return exact + noise

    def _serve(self, key: str, part: Hashable) -> tuple[str, float]:
        if key not in self._leaves:
            raise ReceiptError(f"this proof pays for {', '.join(self._leaves)}; it has no leaf {key!r}")
        with self._gate:
            return self._serve_once(key, part)

    def _serve_once(self, key: str, part: Hashable) -> tuple[str, float]:
        served = self._served[key]
        if part in served:
            raise ReceiptError(
                f"noise for {key!r}, part {part!r}, was already drawn; a second draw is a second release:"
                " keep the first answer, or charge again"
            )
        if len(served) >= self._leaves[key].draws:
            raise ReceiptError(
                f"this proof pays for {len(served)} releases of {key!r}; charge again for {part!r}"
            )
        served.add(part)  # before the draw: a draw that fails is spent
        return self._laws[key]


def law_of(leaf: Leaf) -> tuple[str, float]:
    """Return the sampler and scale in grid units; refuses laws that no exact sampler has.

    A zCDP or pure leaf may be drawn with a scale rounded up, which only lowers its cost; an exact
    lattice curve is about one scale, which must be a double.
    """
    if leaf.rule == "lattice_gaussian":
        scale = exact_root(Fraction(leaf.parameters["variance"]))
        if scale is None:
            raise ReceiptError(
                f"the standard deviation of {leaf.key!r} must be a double; round it up to one first"
            )
        return "gaussian", scale
    if "grid" not in leaf.parameters:
        raise ReceiptError(
            f"the leaf {leaf.key!r} has continuous noise, which cannot be drawn exactly; prove it on a grid"
        )
    if leaf.rule == "laplace":
        return "laplace", _double_up(Fraction(leaf.parameters["scale"]) / Fraction(leaf.parameters["grid"]))
    return "gaussian", root_up(_grid_variance(leaf))


def _grid_variance(leaf: Leaf) -> Fraction:
    return Fraction(leaf.parameters["variance"]) / Fraction(leaf.parameters["grid"]) ** 2


def _double_up(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) >= value else float(np.nextafter(near, np.inf))


def rehearse(theorem: Theorem, sampler: Sampler) -> Receipt:
    """Return a receipt that no budget paid for: made-up data and a rehearsal sampler only."""
    if sampler.releasable:
        raise ReceiptError("a rehearsal draws rehearsal noise; charge a ledger for secure noise")
    return Receipt(_SEAL, theorem, sampler, 0)


def issue(theorem: Theorem, sampler: Sampler, entry: int) -> Receipt:
    """Return the receipt of a committed charge: for `Ledger.charge` only."""
    return Receipt(_SEAL, theorem, sampler, entry)
