"""Continual release that survives crashes: every node or row is charged, drawn and kept before it is shown.

A released value is kept in the ledger under its own key.  A process that starts again plays the same
stream: what was kept is read back and costs nothing, what was never charged is charged, and what was
drawn but not kept (it may have been seen) is refused, never drawn again.
"""

from collections.abc import Callable, Hashable

import numpy as np

from dpaccount.errors import LedgerError, ReceiptError
from dpaccount.ledger.ledger import Ledger
from dpaccount.noise.samplers import Integers
from dpaccount.proof import Cover, Theorem


class DurableNodes:
    """Releases nodes of a tree from a ledger: a callable (node, exact) ↦ noisy, for `TreeSums` and others.

    `leaf` proves one node's release under `key`, for any exact value; `cover_of(node)` names the
    rounds that a node sums, which are what its charge covers.  `name` tells this stream from others of
    the same ledger.  Every node is one charge: the ledger composes them, round by round.
    """

    def __init__(
        self, ledger: Ledger, leaf: Theorem, key: str, name: str, cover_of: Callable[[Hashable], Cover]
    ) -> None:
        self._ledger, self._leaf, self._key, self._name = ledger, leaf, key, name
        self._cover_of = cover_of

    def __call__(self, node: Hashable, exact: Integers) -> Integers:
        """Return the node's released value: kept from an earlier run, or charged, drawn and kept now.

        Raises `RefusedError` where no budget is left, and `ReceiptError` for a node whose noise was drawn
        by a run that ended before it was kept.
        """
        place, cover = f"{self._name}/{node}", self._cover_of(node)
        state = self._ledger.run_state(place)
        if state.kept is not None:
            value = np.array(state.kept["value"], dtype=np.int64)
            if value.shape != exact.shape:
                raise LedgerError(f"{place} was released with shape {value.shape}; this is another stream")
            return value
        if state.drawing:
            raise ReceiptError(
                f"another run is drawing the noise of {place}; let it end, or begin a new stream"
            )
        if state.lost:
            raise ReceiptError(
                f"the noise of {place} was drawn by a run that ended before it was kept; begin a new stream"
            )
        receipt = self._ledger.charge(self._leaf, self._name, cover, place)
        noisy = receipt.noisy(self._key, node, exact)
        self._ledger.keep_release(receipt.entry, {"value": noisy.tolist()})
        return noisy


def rounds_of(node: tuple[int, int]) -> Cover:
    """Return the rounds [first, last] that node (j, k) of a tree sums: k·2^j + 1 … (k+1)·2^j."""
    level, index = node
    return index * 2**level + 1, (index + 1) * 2**level
