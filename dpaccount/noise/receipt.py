"""Receipts: proof that a theorem was paid for, and the only way to noise.

A receipt takes the private value and returns it with noise; the law is read from the theorem's
leaf, so code cannot draw less than was proved.  Every (key, part) is served once, and no more
parts than the proof pays for.
"""

import threading
from collections.abc import Callable, Hashable
from typing import NoReturn, Protocol

import numpy as np

from dpaccount.errors import ReceiptError
from dpaccount.noise import process
from dpaccount.noise.laws import Law, draw, draw_cells
from dpaccount.noise.leaves import Leaf
from dpaccount.noise.proved import Proved
from dpaccount.noise.samplers import Integers, Rehearsal, Sampler, Secure, in_range
from dpaccount.proof import Theorem

_SEAL = object()


Mark = Callable[[int, int], None]  #: told how many draws are made with the next, and how many are paid for


class Noise(Protocol):
    """What code that releases needs: a `Receipt`, or a stand-in for simulations without noise."""

    def noisy(self, key: str, part: Hashable, values: Integers) -> Integers:
        """Return what the leaf `key` proves private of integer values (grid units), in the same shape."""

    def noisy_symmetric(self, key: str, part: Hashable, matrix: Integers) -> Integers:
        """Return a symmetric integer matrix with symmetric noise."""

    def noisy_cells(self, key: str, part: Hashable, cells: Integers) -> Integers:
        """Return the cells that a stable histogram shows, each a row: the numbers of its name, its count."""


class NoiseSource:
    """A `Noise` with one method for its three ways to draw, of which `how` is the name."""

    def noisy(self, key: str, part: Hashable, values: Integers) -> Integers:
        """Answer as `Noise` says."""
        return self._answer("noisy", key, part, values)

    def noisy_symmetric(self, key: str, part: Hashable, matrix: Integers) -> Integers:
        """Answer as `Noise` says."""
        return self._answer("noisy_symmetric", key, part, matrix)

    def noisy_cells(self, key: str, part: Hashable, cells: Integers) -> Integers:
        """Answer as `Noise` says."""
        return self._answer("noisy_cells", key, part, cells)

    def _answer(self, how: str, key: str, part: Hashable, values: Integers) -> Integers:
        raise NotImplementedError


class NoNoise:
    """Returns values as they are: for the non-private line of an experiment, never for a release."""

    def noisy(self, key: str, part: Hashable, values: Integers) -> Integers:
        """Return the values."""
        return in_range(values)

    noisy_symmetric = noisy_cells = noisy


class Receipt:
    """What `charge` returns; `noisy`, `noisy_symmetric` and `noisy_cells` spend it."""

    def __init__(
        self,
        seal: object,
        proved: Proved,
        sampler: Sampler,
        entry: int,
        mark: Mark = lambda _draws, _most: None,  # a rehearsal marks nothing
    ) -> None:
        if seal is not _SEAL:
            raise ReceiptError("a Receipt comes from charging a ledger; charge the theorem first")
        self.entry = entry
        self.releasable = sampler.releasable
        self._sampler, self._mark = sampler, mark
        self._process = process.this()
        self._leaves, self._laws, self._draws = proved.leaves, proved.laws, proved.draws
        self._drawn = 0
        self._gate = threading.Lock()  # two threads never get one part twice
        self._served: dict[str, set[Hashable]] = {key: set() for key in self._leaves}
        self._numbers: dict[str, int] = dict.fromkeys(self._leaves, 0)
        self._branches: dict[str, int] = {}

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise ReceiptError("a receipt cannot be copied or pickled; draw with it where it was charged")

    def noisy(self, key: str, part: Hashable, values: Integers) -> Integers:
        """Return what leaf `key` proves private of integer `values` (grid units), in the same shape.

        What comes back for sums, scores, symbols and counts is said in `dpaccount.noise.laws`.  Raises
        `ReceiptError` for a key that the proof has not, a part served before, or one too many.
        """
        given = np.asarray(values)  # once: what converts itself could do otherwise the second time
        noise = self._serve(key, part, given.size)
        if noise.kind == "symmetric":
            raise ReceiptError(f"the leaf {key!r} is symmetric; use noisy_symmetric")
        return draw(noise, given, self._sampler)

    def noisy_symmetric(self, key: str, part: Hashable, matrix: Integers) -> Integers:
        """Return a symmetric integer matrix with symmetric noise, on the diagonal of twice the variance."""
        given = np.asarray(matrix)
        rows = (given.shape or (1,))[0]
        noise = self._serve(key, part, rows * (rows + 1) // 2)
        if noise.kind != "symmetric":
            raise ReceiptError(f"the leaf {key!r} is not symmetric; use noisy")
        return draw(noise, given, self._sampler)

    def noisy_cells(self, key: str, part: Hashable, cells: Integers) -> Integers:
        """Return what a stable histogram shows of cells that only the data name, as `draw_cells` says."""
        given = np.asarray(cells)
        return draw_cells(self._serve(key, part, given.size), given, self._sampler)

    def recall(self, key: str, part: Hashable, numbers: int) -> None:
        """Count a part of so many numbers that was drawn and kept before: it is never drawn from here."""
        self._serve(key, part, numbers)

    def _serve(self, key: str, part: Hashable, numbers: int) -> Law:
        if self._process != process.this():  # before any lock, which a fork may have left held
            raise ReceiptError(
                "this receipt belongs to the process that charged it; draw there, or charge here anew"
            )
        if self.releasable:
            process.outside_tasks()
        if key not in self._leaves:
            raise ReceiptError(f"this proof pays for {', '.join(self._leaves)}; it has no leaf {key!r}")
        with self._gate:
            self._check_branch(self._leaves[key])
            noise = self._serve_once(key, part)
            self._check_room(self._leaves[key], numbers)
            self._drawn += 1
            drawn = self._drawn
        self._mark(drawn, self._draws)
        return noise

    def _check_branch(self, leaf: Leaf) -> None:
        """Refuse a second part of a mixture: the proof pays for the worst of them, not for all."""
        for mixture, part in leaf.branch:
            if self._branches.setdefault(mixture, part) != part:
                raise ReceiptError(
                    f"{leaf.key!r} belongs to another part of a mixture than the one that was drawn"
                )

    def _check_room(self, leaf: Leaf, numbers: int) -> None:
        """Refuse more numbers than a distance is proved for: of a release, or of a whole stream.

        Floors of a buffered stream are counted for so many numbers of each release.
        """
        if leaf.width is not None and numbers > leaf.width:
            raise ReceiptError(f"{leaf.key!r} is proved for rows of {leaf.width} numbers, found {numbers}")
        if leaf.rule != "fine_gaussian":
            return
        streamed = leaf.rounds > 1
        self._numbers[leaf.key] = numbers + (self._numbers[leaf.key] if streamed else 0)
        most = int(leaf.parameters["coordinates"])
        if self._numbers[leaf.key] > most:
            raise ReceiptError(f"{leaf.key!r} is proved for {most} numbers, found {self._numbers[leaf.key]}")

    def _serve_once(self, key: str, part: Hashable) -> Law:
        served = self._served[key]
        if not _itself(part):
            raise ReceiptError(f"{part!r} cannot name a part; give a number, a text, or a tuple of these")
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


def rehearse(theorem: Theorem | Proved, sampler: Sampler) -> Receipt:
    """Return a receipt that no budget paid for: made-up data and a rehearsal sampler only.

    Who rehearses often reads the theorem once and gives what was `Proved`.
    """
    if sampler.releasable:
        raise ReceiptError("a rehearsal draws rehearsal noise; charge a ledger for secure noise")
    return Receipt(_SEAL, theorem if isinstance(theorem, Proved) else Proved(theorem), sampler, 0)


def prepared(theorem: Theorem) -> Proved:
    """Return a theorem prepared for drawing; raise `ReceiptError` if its noise cannot be drawn."""
    proved = Proved(theorem)
    rehearse(proved, Rehearsal(0))
    return proved


def issue(proved: Proved, entry: int, mark: Mark) -> Receipt:
    """Return the receipt of a committed charge, of secure noise: for `Ledger.charge` only.

    `mark` is called before every draw, so that the ledger can mark it durably.
    """
    return Receipt(_SEAL, proved, Secure(), entry, mark)


def _itself(part: Hashable) -> bool:
    """Say whether a part can be told from others: hashable, and equal to itself, which NaN is not."""
    try:
        return hash(part) == hash(part) and bool(part == part)  # noqa: PLR0124
    except (TypeError, ValueError):
        return False
