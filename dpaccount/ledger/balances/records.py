"""Records by name (scopes, cohorts, open reservations, period, year), authenticated as a Merkle trie.

A sparse binary trie over the SHA-256 of names.  A node with one record below it holds that record;
any other holds the digests of its halves, and the digest of a node is SHA-256 of its text.  So the
root depends only on the records, reading or changing one of n touches about log₂ n nodes, and a
text that was changed in the file is detected: the root's digest is part of the line of balances
that entries hold.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, Protocol

from dpaccount.documents import canonical
from dpaccount.errors import InputError
from dpaccount.ledger.balances import ranges
from dpaccount.ledger.balances.budget import read_limit
from dpaccount.ledger.balances.segment_tree import changed, text_digest

DEPTH: Final = 42  #: of the trie: names whose digests share these first bits share a node
PERIOD, YEAR, SCOPES = 1, 2, 3  #: areas of trees; area 0 is the register, areas from 3 on are scopes
MOST_AREAS: Final = 2**20  #: including the trees of the period and the year
_NAME: Final = re.compile("period|year|scopes|reservation [1-9][0-9]{0,17}|(scope|cohort) [a-z0-9._/-]+")
Record = tuple[str, Any]
Inner = tuple[str, str]


class Nodes(Protocol):
    """A store of nodes: a transaction of a ledger, or a temporary file."""

    def node(self, node: int, /) -> Any:
        """Return the stored text of a node, or None."""

    def put(self, nodes: dict[int, str | None], /) -> None:
        """Write nodes; None deletes one."""

    def drop(self, low: int, high: int, /) -> None:
        """Delete the nodes from `low` to `high`."""


class Overlay:
    """Nodes as `fetch` reads them, under changes that are not written yet (None: deleted)."""

    def __init__(self, fetch: Callable[[int], Any]) -> None:
        self.changed: dict[int, str | None] = {}
        self._gone: list[tuple[int, int]] = []
        self._fetch = fetch

    def node(self, node: int, /) -> Any:
        """Return the text of a node, or None."""
        if node in self.changed:
            return self.changed[node]
        dropped = self._gone and any(low <= node <= high for low, high in self._gone)
        return None if dropped else self._fetch(node)

    def put(self, nodes: dict[int, str | None], /) -> None:
        """Change nodes; None deletes one."""
        self.changed.update(nodes)

    def drop(self, low: int, high: int, /) -> None:
        """Delete the nodes from `low` to `high`."""
        for gone in [one for one in self.changed if low <= one <= high]:
            del self.changed[gone]
        self._gone.append((low, high))

    def keep(self, nodes: Nodes) -> None:
        """Write the changes to a store, and begin anew."""
        for low, high in self._gone:
            nodes.drop(low, high)
        nodes.put(self.changed)
        self.changed, self._gone = {}, []


class Register:
    """Records by name; their nodes have negative numbers, next to those of the trees."""

    def __init__(self, digest: str, nodes: Overlay) -> None:
        self.digest, self._nodes = digest, nodes
        self._known: dict[tuple[int, str], list[Record] | Inner] = {}  #: cache of verified nodes

    def get(self, name: str) -> Any:
        """Return the value of a name, or None; raises `LedgerError` for a node that was changed."""
        node, digest, way = 1, self.digest, _way(name)
        while True:
            content = self._opened(node, digest)
            if isinstance(content, list):
                return dict(content).get(name)
            side = _side(way, node)
            node, digest = 2 * node + side, content[side]

    def put(self, name: str, value: Any) -> None:
        """Set the value of a name; None deletes the record."""
        self.digest = self._put(1, self.digest, name, value)

    def items(self) -> Iterator[Record]:
        """Yield all records, in the order of their names' digests."""
        left = [(1, self.digest)]
        while left:
            node, digest = left.pop()
            content = self._opened(node, digest)
            if isinstance(content, list):
                yield from content
            else:
                left += [(2 * node + 1, content[1]), (2 * node, content[0])]

    def _put(self, node: int, digest: str, name: str, value: Any) -> str:
        content = self._opened(node, digest)
        if isinstance(content, list):
            kept = {**dict(content), name: value}
            return self._spread(node, sorted(record for record in kept.items() if record[1] is not None))
        side = _side(_way(name), node)
        halves = list(content)
        halves[side] = self._put(2 * node + side, halves[side], name, value)
        return self._joined(node, (halves[0], halves[1]))

    def _spread(self, node: int, records: list[Record]) -> str:
        """Write these records below a node: a single one at the node, more of them in its halves."""
        if len(records) <= 1 or node.bit_length() > DEPTH:
            return self._stored(node, canonical(records).decode() if records else None)
        halves = [
            self._spread(2 * node + side, [one for one in records if _side(_way(one[0]), node) == side])
            for side in (0, 1)
        ]
        return self._stored(node, " ".join(halves))

    def _joined(self, node: int, halves: Inner) -> str:
        """Write a node with these halves; if a single record is left below, the node holds that record."""
        for side in (0, 1):
            below = None if halves[1 - side] else self._opened(2 * node + side, halves[side])
            if isinstance(below, list):
                self._stored(2 * node + side, None)
                return self._spread(node, below)
        return self._stored(node, " ".join(halves))

    def _opened(self, node: int, digest: str) -> list[Record] | Inner:
        """Return the records at a node, or the digests of its halves."""
        if not digest:
            return []
        if node.bit_length() > DEPTH + 1:
            raise changed()
        if (node, digest) not in self._known:
            self._known[node, digest] = self._read(node, digest)
        return self._known[node, digest]

    def _read(self, node: int, digest: str) -> list[Record] | Inner:
        """Read, verify and parse a node."""
        text = self._nodes.node(-node)
        if not isinstance(text, str) or text_digest(text) != digest:
            raise changed()
        if text.startswith("["):
            try:
                records = [(name, value) for name, value in json.loads(text)]
            except (ValueError, TypeError, RecursionError):  # of many brackets
                raise changed() from None
            if not all(_is_record(*record) for record in records):
                raise changed()
            return records
        left, _, right = text.partition(" ")
        return left, right

    def _stored(self, node: int, text: str | None) -> str:
        self._nodes.changed[-node] = text
        return "" if text is None else text_digest(text)


def _is_record(name: object, value: object) -> bool:
    """Return whether a value has the fields that records of this name have."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return False
    shape = _SHAPES[name.partition(" ")[0]]
    if not isinstance(shape, dict):
        return bool(shape(value))
    if not isinstance(value, dict) or value.keys() != shape.keys():
        return False
    return all(fits(value[key]) for key, fits in shape.items())


def _is_whole(value: object, least: int = 0, beyond: int = 2**63) -> bool:
    return type(value) is int and least <= value < beyond


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isascii()


def _are_ranges(value: object) -> bool:
    try:
        return bool(ranges.read(value))
    except InputError:
        return False


def _is_limit(value: object, beyond: float = math.inf) -> bool:
    try:
        return 0 <= read_limit(value) < beyond
    except (InputError, ValueError, ArithmeticError):
        return False


#: the fields of records by the first word of their name, or a check of the value itself
_SHAPES: Final[dict[str, Any]] = {
    "cohort": {"units": _are_ranges, "charged": lambda value: type(value) is bool},
    "period": {"number": _is_whole, "entry": _is_whole, "root": _is_text},
    "reservation": {"body": _is_text, "open": _are_ranges},
    "scope": {
        "area": partial(_is_whole, least=SCOPES, beyond=MOST_AREAS),
        "period": _is_whole,
        "root": _is_text,
        "epsilon": _is_limit,
        "delta": partial(_is_limit, beyond=1),
    },
    "scopes": partial(_is_whole, beyond=MOST_AREAS),
    "year": {"year": _is_whole, "root": lambda value: value is None or _is_text(value)},
}


def _way(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])


def _side(way: int, node: int) -> int:
    """Return the half of a node that a name belongs to: the next bit of its digest."""
    return way >> (64 - node.bit_length()) & 1
