"""What units have spent, as a sparse segment tree whose every node is authenticated by the one above.

A node of height h and index i covers the units i·2^h … (i+1)·2^h − 1.  Its text holds for either half an
edge: what all units of the half paid together (a mark, which stays where it is), the most that one unit below
paid beyond it, and the digest of the half's own node (none where its units are level).  A node's digest is
SHA-256 of its text, so that the root's digest fixes every mark, and a text that was changed in the file does
not belong to it.  A charge over a range reads and writes the nodes that it covers in part: two a height.

Marks add up in any order: the tree is a function of which charges were made, not of when.  The root covers
the units below 2^height, the least power of two above all ends of covers so far; `everyone` is what all units
paid, however many there are.  Unit 0 is nobody, and pays what unit 1 pays.
"""

import hashlib
import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import count, pairwise
from typing import Any

from dpaccount.accounting.measures import Amounts
from dpaccount.errors import LedgerError
from dpaccount.ledger.spending import LAST_UNIT, Step, plus, written, zero

HEIGHT = 63  #: units are below 2^63
Mark = tuple[int, int, Amounts]  #: [first, last] and what each unit of it pays
Fetch = Callable[[int], Any]  #: the stored text of a node, or None
Edge = tuple[Amounts, Amounts, str]  #: what all of a half paid, the most beyond it, the digest of its node


@dataclass(frozen=True)
class Root:
    """The whole tree in one line: it stands in every entry of the chain."""

    height: int
    everyone: Amounts
    edge: Edge

    @property
    def text(self) -> str:
        """Return the line."""
        return "|".join((str(self.height), written(self.everyone), _edge_text(self.edge)))

    @property
    def peak(self) -> Amounts:
        """Return the most of each amount that a unit has spent."""
        return plus(self.everyone, plus(self.edge[0], self.edge[1]))

    @property
    def level(self) -> bool:
        """Say whether all units have spent the same."""
        return not any(self.edge[0]) and not any(self.edge[1])


def nothing(width: int) -> Root:
    """Return the tree of a ledger without charges, of `width` amounts."""
    return Root(0, zero(width), (zero(width), zero(width), ""))


def read(text: object, width: int) -> Root:
    """Return the root that `Root.text` wrote; raises `ValueError` or `TypeError` for anything else."""
    if not isinstance(text, str):
        raise TypeError("not a root")
    height, everyone, *edge = text.split("|")
    root = Root(int(height), _amounts(everyone, width), _edge(edge, width))
    if root.text != text or not 0 <= root.height <= HEIGHT:
        raise ValueError("not a root")
    return root


def marks_of(steps: list[Step], width: int) -> tuple[Amounts, list[Mark]]:
    """Return what a charge takes of everyone, and of ranges of units beyond that.

    Raises `ValueError` for steps that no charge has: an amount below the one of all further units.
    """
    if not steps:
        return zero(width), []
    everyone = steps[-1][1]
    if steps[0][0] > 1 and any(everyone):
        raise ValueError("not the steps of a charge")
    marks = []
    for (first, amounts), (after, _) in pairwise(steps):
        more = tuple(map(Fraction.__sub__, amounts, everyone))
        if min(more) < 0 or not 1 <= first < after < 2**HEIGHT:
            raise ValueError("not the steps of a charge")
        if any(more):
            marks.append((first if first > 1 else 0, after - 1, more))
    return everyone, marks


def together(charges: Iterable[list[Step]], width: int) -> tuple[Amounts, list[Mark]]:
    """Return the marks of many charges: what they take of everyone, and of ranges of units beyond that."""
    everyone, marks = zero(width), list[Mark]()
    for steps in charges:
        all_pay, some_pay = marks_of(steps, width)
        everyone = plus(everyone, all_pay)
        marks += some_pay
    return everyone, marks


class SpentTree:
    """A tree that is read from stored nodes and grows in memory: `changed` holds what is to be stored."""

    def __init__(self, root: Root, fetch: Fetch, changed: dict[int, str | None] | None = None) -> None:
        self.root = root
        self.changed: dict[int, str | None] = {} if changed is None else changed
        self._fetch = fetch
        self._width = len(root.everyone)

    def charge(self, steps: list[Step]) -> None:
        """Add a charge; raises `LedgerError` where a node that it needs is not the root's."""
        self.add(*marks_of(steps, self._width))

    def add(self, everyone: Amounts, marks: list[Mark]) -> None:
        """Add marks; negative ones take away what was added, and with it what only they made."""
        self.root = replace(self.root, everyone=plus(self.root.everyone, everyone))
        if marks:
            self._grow(max(last for _, last, _ in marks).bit_length())
            height = self.root.height
            edge = self._edge_after(self.root.edge, 1 << (HEIGHT - height), height, 0, marks)
            self.root = replace(self.root, edge=edge)

    def shrink(self) -> None:
        """Let the root cover no more than its charges do, after some were taken away."""
        while self.root.height:
            mark, peak, digest = self.root.edge
            node = 1 << (HEIGHT - self.root.height)
            if any(mark) or (any(peak) and not digest):
                return
            if not digest:
                self.root = replace(self.root, height=0)
                return
            left, right = self._halves(node, digest)
            if right != (zero(self._width), zero(self._width), ""):
                return
            self.changed[node] = None
            self.root = replace(self.root, height=self.root.height - 1, edge=left)

    def leftmost(self, holds: Callable[[Amounts], bool]) -> tuple[int, Amounts]:
        """Return the first unit whose amounts satisfy `holds`, and them.

        `holds` must be true of the largest amounts of several units just where it is true of one of them,
        and be true of the root's peak.
        """
        node, height, low = 1 << (HEIGHT - self.root.height), self.root.height, 0
        (mark, _, digest), level = self.root.edge, self.root.everyone
        level = plus(level, mark)
        while digest:
            left, right = self._halves(node, digest)
            height -= 1
            goes_right = not holds(plus(level, plus(left[0], left[1])))
            low, node = low + (goes_right << height), 2 * node + goes_right
            mark, _, digest = right if goes_right else left
            level = plus(level, mark)
        return max(low, 1), level

    def at(self, unit: int) -> Amounts:
        """Return what a unit has spent."""
        if unit >> self.root.height:
            return self.root.everyone
        node, height = 1 << (HEIGHT - self.root.height), self.root.height
        (mark, _, digest), level = self.root.edge, self.root.everyone
        level = plus(level, mark)
        while digest:
            halves = self._halves(node, digest)
            height -= 1
            side = unit >> height & 1
            node = 2 * node + side
            mark, _, digest = halves[side]
            level = plus(level, mark)
        return level

    def largest(self, share: Callable[[Amounts], Any]) -> Iterator[tuple[int, int, Amounts]]:
        """Yield ranges of units with what each unit of them has spent, the largest `share` first.

        `share` must not fall where an amount grows.
        """
        root, order = self.root, count()
        level = root.everyone
        beyond = (1 << root.height) if root.height else 1
        flat: Edge = (zero(self._width), zero(self._width), "")
        waiting = [(-share(level), next(order), 0, 0, beyond, level, flat)]
        if root.height:
            top = 1 << (HEIGHT - root.height)
            waiting.append((-share(root.peak), next(order), top, root.height, 0, level, root.edge))
        heapq.heapify(waiting)
        while waiting:
            _, _, node, height, low, level, (mark, _, digest) = heapq.heappop(waiting)
            level = plus(level, mark)
            if not digest:
                last = low + (1 << height) - 1 if node else LAST_UNIT
                yield max(low, 1), last, level
                continue
            for side, edge in enumerate(self._halves(node, digest)):
                start = low + (side << (height - 1))
                most = plus(level, plus(edge[0], edge[1]))
                entry = (-share(most), next(order), 2 * node + side, height - 1, start, level, edge)
                heapq.heappush(waiting, entry)

    def beyond(self, fits: Callable[[Amounts], bool], most: int | None = None) -> tuple[int, Amounts] | None:
        """Return the first unit whose amounts do not fit, and them; None where those of every unit do.

        What fits must fit with less of every amount.  Beyond `most` nodes the search ends at a range of units
        of which only the largest amounts together are known not to fit.
        """
        waiting = [
            (1 << (HEIGHT - self.root.height), self.root.height, 0, self.root.everyone, self.root.edge)
        ]
        seen = 0
        while waiting:
            node, height, low, level, (mark, peak, digest) = waiting.pop()
            level, seen = plus(level, mark), seen + 1
            if fits(plus(level, peak)):
                continue
            if not digest or seen == most:
                return max(low, 1), plus(level, peak)
            left, right = self._halves(node, digest)
            middle = low + (1 << (height - 1))
            waiting += [
                (2 * node + 1, height - 1, middle, level, right),
                (2 * node, height - 1, low, level, left),
            ]
        return None

    def _grow(self, height: int) -> None:
        """Let the root cover the units below 2^height: what it was becomes a left half."""
        empty: Edge = (zero(self._width), zero(self._width), "")
        while self.root.height < height:
            above, edge = self.root.height + 1, self.root.edge
            if edge != empty:
                edge = self._stored(1 << (HEIGHT - above), edge, empty)
            self.root = replace(self.root, height=above, edge=edge)

    def _edge_after(self, edge: Edge, node: int, height: int, low: int, marks: list[Mark]) -> Edge:
        """Return the edge to a node of this height, whose units begin at `low`, with marks more."""
        (mark, peak, digest), within = edge, []
        for first, last, amounts in marks:
            if first <= low and low + (1 << height) - 1 <= last:
                mark = plus(mark, amounts)
            else:
                within.append((first, last, amounts))
        if not within:
            return mark, peak, digest
        left, right = self._halves(node, digest)
        middle = low + (1 << height - 1)
        ours, theirs = [m for m in within if m[0] < middle], [m for m in within if m[1] >= middle]
        if ours:
            left = self._edge_after(left, 2 * node, height - 1, low, ours)
        if theirs:
            right = self._edge_after(right, 2 * node + 1, height - 1, middle, theirs)
        _, peak, digest = self._stored(node, left, right)
        return mark, peak, digest

    def _halves(self, node: int, digest: str) -> tuple[Edge, Edge]:
        if not digest:
            return (zero(self._width), zero(self._width), ""), (zero(self._width), zero(self._width), "")
        text = self.changed[node] if node in self.changed else self._fetch(node)
        if not isinstance(text, str) or _digest(text) != digest:
            raise LedgerError(
                "the ledger's totals were changed; restore a backup that `ledger verify` accepts"
            )
        parts = text.split("|")
        return _edge(parts[:3], self._width), _edge(parts[3:], self._width)

    def _stored(self, node: int, left: Edge, right: Edge) -> Edge:
        """Keep a node and return the edge to it, without a mark; a node that says nothing is dropped."""
        nil = zero(self._width)
        if left == right == (nil, nil, ""):
            self.changed[node] = None
            return nil, nil, ""
        text = f"{_edge_text(left)}|{_edge_text(right)}"
        self.changed[node] = text
        return nil, tuple(map(max, plus(left[0], left[1]), plus(right[0], right[1]))), _digest(text)


def of_charges(charges: Iterable[list[Step]], width: int) -> SpentTree:
    """Return the tree of charges, in memory."""
    tree = SpentTree(nothing(width), lambda _: None)
    for steps in charges:
        tree.charge(steps)
    return tree


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _edge_text(edge: Edge) -> str:
    return f"{written(edge[0])}|{written(edge[1])}|{edge[2]}"


def _edge(parts: list[str], width: int) -> Edge:
    mark, peak, digest = parts
    return _amounts(mark, width), _amounts(peak, width), digest


@lru_cache(maxsize=4096)
def _amounts(text: str, width: int) -> Amounts:
    """Return the amounts of a text whose digest was checked."""
    amounts = tuple(Fraction(word) for word in text.split(" "))
    if len(amounts) != width:
        raise ValueError("not the amounts of this measure")
    return amounts
