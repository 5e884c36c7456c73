"""Receipts: evidence that a theorem was paid for, and the only way to draw its noise.

A receipt takes a private value and returns it with noise.  The distribution comes from the theorem's
leaf, so code cannot add less noise than was proved.  Every (key, part) is served once, and at most as
many parts as the proof pays for.
"""

import threading
from collections.abc import Callable, Hashable
from typing import NoReturn

import numpy as np

from dpaccount.errors import ReceiptError
from dpaccount.noise import process
from dpaccount.noise.laws import Law, draw, draw_cells
from dpaccount.noise.leaves import Leaf
from dpaccount.noise.proved import Proved
from dpaccount.noise.samplers import Integers, Rehearsal, Sampler, Secure, in_range
from dpaccount.proof import Theorem

_SEAL = object()


#: called with the number of draws including the next, and the number paid for
Mark = Callable[[int, int], None]


class Noise:
    """The interface through which mechanisms draw noise: a `Receipt`, or a substitute in tests.

    Where a class has no methods of its own all three call `_answer`, with the method's name as `how`.
    """

    __slots__ = ()

    def noisy(self, key: str, part: Hashable, values: Integers) -> Integers:
        """Return the private release of integer values (grid units) by the leaf `key`, in the same shape."""
        return type(self)._answer(self, "noisy", key, part, values)

    def noisy_symmetric(self, key: str, part: Hashable, matrix: Integers) -> Integers:
        """Return a symmetric integer matrix with symmetric noise."""
        return type(self)._answer(self, "noisy_symmetric", key, part, matrix)

    def noisy_cells(self, key: str, part: Hashable, cells: Integers) -> Integers:
        """Return the cells that a stable histogram shows; a row has the numbers of a name, then the count."""
        return type(self)._answer(self, "noisy_cells", key, part, cells)

    def _answer(self, how: str, key: str, part: Hashable, values: Integers) -> Integers:
        raise NotImplementedError


class NoNoise(Noise):
    """Returns values without noise: for the non-private baseline of an experiment, never for a release."""

    def _answer(self, how: str, key: str, part: Hashable, values: Integers) -> Integers:
        """Return the values."""
        return in_range(values)


class Receipt(Noise):
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
        self._process = process.identity()
        self._leaves, self._laws, self._draws = proved.leaves, proved.laws, proved.draws
        self._drawn = 0
        self._gate = threading.Lock()  # two threads never get one part twice
        self._served: dict[str, set[Hashable]] = {key: set() for key in self._leaves}
        self._numbers: dict[str, int] = dict.fromkeys(self._leaves, 0)
        self._branches: dict[str, int] = {}

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise ReceiptError("a receipt cannot be copied or pickled; draw with it where it was charged")

    def noisy(self, key: str, part: Hashable, values: Integers) -> Integers:
        """Return the private release of integer `values` (grid units) by leaf `key`, in the same shape.

        `dpaccount.noise.laws` describes releases of sums, scores, symbols and counts.  Raises `ReceiptError`
        for a key that is not in the proof, a part served before, or more parts than were paid for.
        """
        given = np.asarray(values)  # convert once: `__array__` may return something else next time
        noise = self._serve(key, part, given.size)
        if noise.kind == "symmetric":
            raise ReceiptError(f"the leaf {key!r} is symmetric; use noisy_symmetric")
        return draw(noise, given, self._sampler)

    def noisy_symmetric(self, key: str, part: Hashable, matrix: Integers) -> Integers:
        """Return a symmetric integer matrix with symmetric noise, of twice the variance on the diagonal."""
        given = np.asarray(matrix)
        rows = (given.shape or (1,))[0]
        noise = self._serve(key, part, rows * (rows + 1) // 2)
        if noise.kind != "symmetric":
            raise ReceiptError(f"the leaf {key!r} is not symmetric; use noisy")
        return draw(noise, given, self._sampler)

    def noisy_cells(self, key: str, part: Hashable, cells: Integers) -> Integers:
        """Return the cells of unknown names that a stable histogram shows; see `draw_cells`."""
        given = np.asarray(cells)
        return draw_cells(self._serve(key, part, given.size), given, self._sampler)

    def recall(self, key: str, part: Hashable, numbers: int) -> None:
        """Count a part of `numbers` numbers that an earlier process drew, so it cannot be drawn again."""
        self._serve(key, part, numbers)

    def _serve(self, key: str, part: Hashable, numbers: int) -> Law:
        if self._process != process.identity():  # before the lock, which may be locked for ever in a fork
            raise ReceiptError(
                "this receipt belongs to the process that charged it; draw there, or charge here anew"
            )
        if self.releasable:
            process.outside_tasks()
        if key not in self._leaves:
            raise ReceiptError(f"this proof pays for {', '.join(self._leaves)}; it has no leaf {key!r}")
        with self._gate:
            # A part counts as served before its size is checked and before its noise is drawn: whatever fails
            # after that is spent, and never drawn a second time.
            self._check_branch(self._leaves[key])
            noise = self._serve_once(key, part)
            self._check_room(self._leaves[key], numbers)
            self._drawn += 1
            drawn = self._drawn
        self._mark(drawn, self._draws)
        return noise

    def _check_branch(self, leaf: Leaf) -> None:
        """Refuse a second part of a mixture: the proof pays for the most expensive part, not for all."""
        for mixture, part in leaf.branch:
            if self._branches.setdefault(mixture, part) != part:
                raise ReceiptError(
                    f"{leaf.key!r} belongs to another part of a mixture than the one that was drawn"
                )

    def _check_room(self, leaf: Leaf, numbers: int) -> None:
        """Refuse more numbers than the proof covers, in a release or in a whole stream.

        The rounding error of a buffered stream is proved for `width` numbers of each release, the distance
        of a fine Gaussian for `coordinates` numbers.
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
        if not _can_name(part):
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
        served.add(part)  # before the draw, so that a draw that fails counts as spent
        return self._laws[key]


def rehearse(theorem: Theorem | Proved, sampler: Sampler) -> Receipt:
    """Return a receipt without a charge, for synthetic data; raises `ReceiptError` for a secure sampler.

    Pass a `Proved` to read the theorem only once for many rehearsals.
    """
    if sampler.releasable:
        raise ReceiptError("a rehearsal draws rehearsal noise; charge a ledger for secure noise")
    return Receipt(_SEAL, theorem if isinstance(theorem, Proved) else Proved(theorem), sampler, 0)


def prepared(theorem: Theorem) -> Proved:
    """Return a theorem prepared for drawing; raises `ReceiptError` if its noise cannot be drawn."""
    proved = Proved(theorem)
    rehearse(proved, Rehearsal(0))
    return proved


def issue(proved: Proved, entry: int, mark: Mark) -> Receipt:
    """Return the receipt of a committed charge, with secure noise; only for `Ledger.charge`.

    `mark` is called before every draw, so that the ledger can record it durably.
    """
    return Receipt(_SEAL, proved, Secure(), entry, mark)


def _can_name(part: Hashable) -> bool:
    """Return whether a value identifies a part: it is hashable and equal to itself (NaN is not)."""
    try:
        return hash(part) == hash(part) and bool(part == part)  # noqa: PLR0124
    except (TypeError, ValueError):
        return False
