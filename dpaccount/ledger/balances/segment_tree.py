"""What units have spent: a sparse segment tree with range addition, authenticated as a Merkle tree.

A node of height h and index i covers the units i·2^h … (i+1)·2^h − 1.  Its text holds an edge for
each half: the amount that every unit of the half paid (a mark, which is never pushed down), the
largest amount that one unit of it paid on top (the peak), and the digest of the half's own node
(empty if all its units paid the same).  A node's digest is SHA-256 of its text, so the root's
digest fixes every mark, and a text that was changed in the file is detected.  A charge over a range
reads and writes at most two nodes per height.

Addition commutes: the tree depends on which charges were made, not on their order.  The root covers
the units below 2^height, the least power of two above the ends of all covers so far; `everyone` is
the amount that every unit paid, including units not seen yet.  Index 0 is unused; it mirrors unit
1.
"""

import hashlib
import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count, pairwise
from operator import is_
from typing import Any, Final, NamedTuple

from dpaccount.accounting.measures import Amounts
from dpaccount.errors import BudgetError, LedgerError, damaged
from dpaccount.forks import cached_property
from dpaccount.ledger.balances.step_functions import LAST_UNIT, Step, one_amount, plus, written, zero

HEIGHT = 63  #: units are below 2^63
DEPTH: Final = 12  #: of nodes below the root that are cached between transactions
CACHED_ROOTS: Final = 64  #: roots in the cache
#: nodes in the cache, of all trees, above which it is cleared
REMEMBERED: Final = 1 << (DEPTH + 2)
Mark = tuple[int, int, Amounts]  #: first and last unit, and what each of them pays
Fetch = Callable[[int], Any]  #: returns the stored text of a node, or None
#: nodes that were verified or written: their digests and halves
Opened = dict[int, tuple[str, "Edge", "Edge"]]


class TooLargeError(BudgetError):
    """An amount is too large to be stored; no budget allows it."""


class Paid:
    """Amounts with lazily cached text (formatting costs more than adding)."""

    __slots__ = ("_text", "amounts", "some")

    def __init__(self, amounts: Amounts, text: str | None = None) -> None:
        self.amounts, self._text = amounts, text
        self.some = any(amounts)  #: whether any amount is not 0

    @property
    def text(self) -> str:
        """Return the amounts as stored in nodes."""
        if self._text is None:
            try:
                self._text = written(self.amounts)
            except ValueError:  # more digits than Python writes
                raise TooLargeError("an amount has more than 4300 digits; charge less") from None
        return self._text


class Edge(NamedTuple):
    """One half of a node: its mark, its peak, the digest of its own node; their text, and mark + peak."""

    mark: Paid
    peak: Paid
    digest: str
    text: str
    top: Paid


@dataclass(frozen=True)
class Root:
    """The whole tree in one line, which the last entry of a commit holds."""

    height: int
    everyone: Paid
    edge: Edge

    @cached_property
    def text(self) -> str:
        """Return the line."""
        line = f"{self.height}|{self.everyone.text}|{self.edge.text}"
        if len(_ROOTS) >= CACHED_ROOTS:
            _ROOTS.clear()
        _ROOTS[line, len(self.everyone.amounts)] = self
        return line

    @property
    def peak(self) -> Amounts:
        """Return the largest total of each amount over all units."""
        return plus(self.everyone.amounts, self.edge.top.amounts)


def nothing(width: int) -> Root:
    """Return the empty tree, of `width` amounts per unit."""
    return Root(0, _nil(width), _empty(width))


def read(text: object, width: int) -> Root:
    """Parse `Root.text`; raises `ValueError` or `TypeError` for anything else."""
    if not isinstance(text, str):
        raise TypeError("not a root")
    cached = _ROOTS.get((text, width))
    if cached is not None:
        return cached
    height, everyone, *parts = text.split("|")
    root = Root(int(height), _read_sum(everyone, width), _edge(parts, width))
    spelled = all(written(one.amounts) == one.text for one in (root.everyone, root.edge.mark, root.edge.peak))
    if not spelled or not 0 <= root.height <= HEIGHT or root.text != text:  # `text` is cached
        raise ValueError("not a root")
    return root


def marks_of(steps: list[Step], width: int) -> tuple[Amounts, list[Mark]]:
    """Return a charge's cost for every unit, and its further costs for ranges of units.

    Raises `ValueError` for steps that no charge has: a unit that pays less than all later units do.
    """
    if not steps:
        return zero(width), []
    everyone = steps[-1][1]
    if steps[0][0] > 1 and any(everyone):
        raise ValueError("not the steps of a charge")
    marks = []
    for (first, amounts), (after, _) in pairwise(steps):
        more = tuple(a - b if b else a for a, b in zip(amounts, everyone, strict=True))
        if any(one.numerator < 0 for one in more) or not 1 <= first < after < 2**HEIGHT:
            raise ValueError("not the steps of a charge")
        if any(more):
            marks.append((first if first > 1 else 0, after - 1, more))
    return everyone, marks


def read_by(marks: list[Mark], height: int) -> set[int]:
    """Return the nodes, and few others, that adding these marks to a tree of this height may read."""
    ends = {end for first, last, _ in marks for end in (first, last)}
    top = max([height, *(end.bit_length() for end in ends)])
    return {(1 << (HEIGHT - above)) + (end >> above) for end in ends for above in range(1, top + 1)}


class SpentTree:
    """A tree that reads stored nodes and collects new ones in `changed`; None there deletes a node.

    `opened` caches verified nodes for all trees of one transaction, so that each row is read and
    verified once; the cache of an `area` saves parsing texts that did not change since the last
    transaction.
    """

    def __init__(self, root: Root, fetch: Fetch, opened: Opened | None = None, area: int = 0) -> None:
        self.root = root
        self.changed: dict[int, str | None] = {}
        self._fetch, self._opened = fetch, {} if opened is None else opened
        self._known = _MEANT.get(area, {})
        self._width = len(root.everyone.amounts)
        self._level = _empty(self._width)

    def add(self, everyone: Amounts, marks: list[Mark]) -> None:
        """Add marks; negative marks undo earlier ones.  Raises `LedgerError` for a node that was changed."""
        if any(everyone):
            self.root = Root(self.root.height, _plus(self.root.everyone, Paid(everyone)), self.root.edge)
        if marks:
            self._grow(max(last for _, last, _ in marks).bit_length())
            root, height = self.root, self.root.height
            wanted = [(first, last, Paid(amounts)) for first, last, amounts in marks]
            edge = self._edge_after(root.edge, 1 << (HEIGHT - height), height, 0, wanted)
            self.root = Root(height, root.everyone, edge)

    def shrink(self) -> None:
        """Reduce the root's height to what its charges need, after some were undone."""
        while self.root.height:
            height, everyone, edge = self.root.height, self.root.everyone, self.root.edge
            node = 1 << (HEIGHT - height)
            if edge.mark.some or (edge.peak.some and not edge.digest):
                return
            if not edge.digest:
                self.root = Root(0, everyone, edge)
                return
            left, right = self._halves(node, edge.digest)
            if right.text != self._level.text:
                return
            self.changed[node] = None
            self.root = Root(height - 1, everyone, left)

    def at(self, unit: int) -> Amounts:
        """Return the total of a unit."""
        node, height = 1 << (HEIGHT - self.root.height), self.root.height
        level, edge = self.root.everyone.amounts, self.root.edge
        if unit >> height:
            return level
        level = plus(level, edge.mark.amounts)
        while edge.digest:
            height -= 1
            side = unit >> height & 1
            edge, node = self._halves(node, edge.digest)[side], 2 * node + side
            level = plus(level, edge.mark.amounts)
        return level

    def largest(self, share: Callable[[Amounts], Any]) -> Iterator[tuple[int, int, Amounts]]:
        """Yield ranges of units with equal totals, and the total, in descending order of `share`.

        `share` must not fall where an amount grows.
        """
        root, order = self.root, count()
        level = root.everyone.amounts
        beyond = (1 << root.height) if root.height else 1
        waiting = [(-share(level), next(order), 0, 0, beyond, level, self._level)]
        if root.height:
            top = 1 << (HEIGHT - root.height)
            waiting.append((-share(root.peak), next(order), top, root.height, 0, level, root.edge))
        heapq.heapify(waiting)
        while waiting:
            _, _, node, height, low, level, edge = heapq.heappop(waiting)
            level = plus(level, edge.mark.amounts)
            if not edge.digest:
                last = low + (1 << height) - 1 if node else LAST_UNIT
                yield max(low, 1), last, level
                continue
            for side, half in enumerate(self._halves(node, edge.digest)):
                start = low + (side << (height - 1))
                most = plus(level, half.top.amounts)
                entry = (-share(most), next(order), 2 * node + side, height - 1, start, level, half)
                heapq.heappush(waiting, entry)

    def beyond(self, fits: Callable[[Amounts], bool], most: int | None = None) -> tuple[int, Amounts] | None:
        """Return the first unit whose amounts do not fit, and its amounts; None if those of every unit fit.

        `fits` must be monotone: amounts below some that fit also fit.  After `most` nodes the
        search stops at a range of units whose component-wise maximum does not fit, and returns unit 0
        and that.
        """
        height, level, seen = self.root.height, self.root.everyone.amounts, 0
        waiting = [(1 << (HEIGHT - height), height, 0, level, self.root.edge)]
        while waiting:
            node, height, low, level, edge = waiting.pop()
            worst, seen = plus(level, edge.top.amounts), seen + 1
            if fits(worst):
                continue
            if not edge.digest:
                return max(low, 1), worst
            if most is not None and seen >= most:
                return 0, worst
            left, right = self._halves(node, edge.digest)
            level, middle = plus(level, edge.mark.amounts), low + (1 << (height - 1))
            waiting.append((2 * node + 1, height - 1, middle, level, right))
            waiting.append((2 * node, height - 1, low, level, left))
        return None

    def _grow(self, height: int) -> None:
        """Raise the root to this height: the old root becomes the left half of the new one, and so on."""
        while self.root.height < height:
            above, edge = self.root.height + 1, self.root.edge
            if edge.text != self._level.text:
                edge = self._over(1 << (HEIGHT - above), self._level.mark, edge, self._level)
            self.root = Root(above, self.root.everyone, edge)

    def _edge_after(
        self, edge: Edge, node: int, height: int, low: int, marks: list[tuple[int, int, Paid]]
    ) -> Edge:
        """Return the edge to a node of this height, whose units begin at `low`, after adding marks."""
        # A mark that covers a whole node stays on the edge to it.  Pushed down to its units, as is usual in
        # such trees, it would rewrite everything below, and a charge of everybody all of the tree.
        mark, within, high = edge.mark, [], low + (1 << height) - 1
        for one in marks:
            if one[0] <= low and high <= one[1]:
                mark = _plus(mark, one[2])
            else:
                within.append(one)
        if not within:
            return _edge_of(mark, edge.peak, edge.digest)
        left, right = self._halves(node, edge.digest)
        middle = low + (1 << height - 1)
        ours, theirs = [m for m in within if m[0] < middle], [m for m in within if m[1] >= middle]
        if ours:
            left = self._edge_after(left, 2 * node, height - 1, low, ours)
        if theirs:
            right = self._edge_after(right, 2 * node + 1, height - 1, middle, theirs)
        return self._over(node, mark, left, right)

    def _halves(self, node: int, digest: str) -> tuple[Edge, Edge]:
        if not digest:
            return self._level, self._level
        if node >> HEIGHT:  # a single unit has no halves
            raise changed()
        opened = self._opened.get(node)
        if opened is not None and opened[0] == digest:
            return opened[1], opened[2]
        text = self.changed[node] if node in self.changed else self._fetch(node)
        if not isinstance(text, str) or text_digest(text) != digest:
            raise changed()
        known = self._known.get(node)
        if known is None or known[0] != digest:
            parts = text.split("|")
            try:
                known = digest, _edge(parts[:3], self._width), _edge(parts[3:], self._width)
            except (ValueError, ArithmeticError):
                raise changed() from None
        self._opened[node] = known
        return known[1], known[2]

    # Rejected in place of digests: a row that names the entry which wrote it, whose digest is in that entry.
    # The entry grows by 1 to 9 kB, and a row put back as an earlier entry wrote it is believed.
    def _over(self, node: int, mark: Paid, left: Edge, right: Edge) -> Edge:
        """Write a node and return the edge to it; a node whose halves are both empty is deleted."""
        nothing = self._level.text
        if left.text == nothing and right.text == nothing:
            self.changed[node] = None
            return _edge_of(mark, self._level.mark, "")
        self.changed[node] = text = f"{left.text}|{right.text}"
        digest = text_digest(text)
        self._opened[node] = digest, left, right
        return _edge_of(mark, _most(left.top, right.top), digest)


def remember(areas: dict[int, Opened], height: int) -> None:
    """Cache nodes near the roots for later transactions, which use them if the stored digest is the same."""
    near = 1 << max(0, HEIGHT + 1 + DEPTH - height)
    if sum(map(len, _MEANT.values())) >= REMEMBERED:
        _MEANT.clear()
    for area, opened in areas.items():
        nodes = {node: halves for node, halves in opened.items() if node < near}
        _MEANT.setdefault(area, {}).update(nodes)


_ROOTS: Final[dict[tuple[str, int], Root]] = {}  #: cache of roots, by their text
_MEANT: Final[dict[int, Opened]] = {}  #: cache of nodes, by area


def changed() -> LedgerError:
    """Return the error to raise for a node that does not match its digest, or cannot be parsed."""
    return damaged("the ledger's totals were changed")


def text_digest(text: str) -> str:
    """Return the digest of a stored text, which may hold bytes that are no text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _edge_of(mark: Paid, peak: Paid, digest: str) -> Edge:
    """Return an edge."""
    return Edge(mark, peak, digest, f"{mark.text}|{peak.text}|{digest}", _plus(mark, peak))


def _edge(parts: list[str], width: int) -> Edge:
    mark, peak, digest = parts
    return _edge_of(_read_sum(mark, width), _read_sum(peak, width), digest)


@lru_cache(maxsize=8)
def _nil(width: int) -> Paid:
    return Paid(zero(width))


@lru_cache(maxsize=8)
def _empty(width: int) -> Edge:
    """Return the edge to units that spent nothing."""
    return _edge_of(_nil(width), _nil(width), "")


def _plus(one: Paid, other: Paid) -> Paid:
    """Return the sum; an operand that is zero costs no addition."""
    if not one.some:
        return other
    return Paid(plus(one.amounts, other.amounts)) if other.some else one


def _most(one: Paid, other: Paid) -> Paid:
    """Return the component-wise maximum."""
    if not other.some or one is other:
        return one
    amounts = tuple(map(_larger, one.amounts, other.amounts))
    if all(map(is_, amounts, one.amounts)):
        return one
    return other if all(map(is_, amounts, other.amounts)) else Paid(amounts)


def _larger(one: Fraction, other: Fraction) -> Fraction:
    """Return the larger one (`Fraction`'s own comparison accepts many types and is slow)."""
    less = one.numerator * other.denominator < other.numerator * one.denominator
    return other if less else one


@lru_cache(maxsize=4096)
def _read_sum(text: str, width: int) -> Paid:
    """Parse amounts from a text whose digest was verified."""
    amounts = tuple(one_amount(word) for word in text.split(" "))
    if len(amounts) != width or min(amounts) < 0:
        raise ValueError("not the amounts of this measure")
    return Paid(amounts, text)
