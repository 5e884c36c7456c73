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
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count, pairwise
from operator import is_
from typing import Any, Final, NamedTuple

from dpaccount.accounting.measures import Amounts
from dpaccount.cached import cached_property
from dpaccount.errors import LedgerError, damaged
from dpaccount.ledger.spending import LAST_UNIT, Step, one_amount, plus, written, zero

HEIGHT = 63  #: units are below 2^63
DEPTH: Final = 12  #: below the root, to which what nodes say is kept in memory
FEW: Final = 64  #: roots that are kept in memory
#: of them in all, of several trees, before those of one more transaction
REMEMBERED: Final = 1 << (DEPTH + 2)
Mark = tuple[int, int, Amounts]  #: [first, last] and what each unit of it pays
Fetch = Callable[[int], Any]  #: the stored text of a node, or None
#: digests of nodes that were checked or made, and their halves
Opened = dict[int, tuple[str, "Edge", "Edge"]]


class Paid:
    """Amounts and their text, which is made where it is asked for, once: it is dearer than adding them."""

    __slots__ = ("_text", "amounts", "some")

    def __init__(self, amounts: Amounts, text: str | None = None) -> None:
        self.amounts, self._text = amounts, text
        self.some = any(amounts)  #: whether it is more than nothing

    def __eq__(self, other: object) -> bool:
        """Say whether they are the same amounts."""
        return isinstance(other, Paid) and self.amounts == other.amounts

    def __hash__(self) -> int:
        """Return a hash of the amounts."""
        return hash(self.amounts)

    @property
    def text(self) -> str:
        """Return the amounts as nodes hold them."""
        if self._text is None:
            try:
                self._text = written(self.amounts)
            except ValueError:  # beyond the digits that Python writes, which no sum of charges is
                raise changed() from None
        return self._text


class Edge(NamedTuple):
    """What all of a half paid, the most of one unit beyond it, the digest of its node; their text and sum."""

    mark: Paid
    peak: Paid
    digest: str
    text: str
    top: Paid


@dataclass(frozen=True)
class Root:
    """The whole tree in one line: it stands in every entry of the chain."""

    height: int
    everyone: Paid
    edge: Edge

    @cached_property
    def text(self) -> str:
        """Return the line."""
        made = f"{self.height}|{self.everyone.text}|{self.edge.text}"
        if len(_MADE) >= FEW:
            _MADE.clear()
        _MADE[made, len(self.everyone.amounts)] = self
        return made

    @property
    def peak(self) -> Amounts:
        """Return the most of each amount that a unit has spent."""
        return plus(self.everyone.amounts, self.edge.top.amounts)

    @property
    def level(self) -> bool:
        """Say whether all units have spent the same."""
        return not self.edge.top.some


def nothing(width: int) -> Root:
    """Return the tree of a ledger without charges, of `width` amounts."""
    return Root(0, _nil(width), _empty(width))


def read(text: object, width: int) -> Root:
    """Return the root that `Root.text` wrote; raises `ValueError` or `TypeError` for anything else."""
    if not isinstance(text, str):
        raise TypeError("not a root")
    made = _MADE.get((text, width))
    if made is not None:
        return made
    height, everyone, *parts = text.split("|")
    root = Root(int(height), _read_sum(everyone, width), _edge(parts, width))
    spelled = all(written(one.amounts) == one.text for one in (root.everyone, root.edge.mark, root.edge.peak))
    if not spelled or not 0 <= root.height <= HEIGHT or root.text != text:  # what has a text is remembered
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
        more = tuple(a - b if b else a for a, b in zip(amounts, everyone, strict=True))
        if any(one.numerator < 0 for one in more) or not 1 <= first < after < 2**HEIGHT:
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


def read_by(marks: list[Mark], height: int) -> set[int]:
    """Return the nodes that a charge of these marks may read in a tree of this height, and few others."""
    ends = {end for first, last, _ in marks for end in (first, last)}
    top = max([height, *(end.bit_length() for end in ends)])
    return {(1 << (HEIGHT - above)) + (end >> above) for end in ends for above in range(1, top + 1)}


class SpentTree:
    """A tree that is read from stored nodes and grows in memory: `changed` holds what is to be stored.

    `opened` keeps what nodes say, for other trees of the same transaction: each row is read and checked once.
    What was remembered of an `area` spares reading the same text again.
    """

    def __init__(self, root: Root, fetch: Fetch, opened: Opened | None = None, area: int = 0) -> None:
        self.root = root
        self.changed: dict[int, str | None] = {}
        self._fetch, self._opened = fetch, {} if opened is None else opened
        self._known = _MEANT.get(area, {})
        self._width = len(root.everyone.amounts)
        self._level = _empty(self._width)

    def charge(self, steps: list[Step]) -> None:
        """Add a charge; raises `LedgerError` where a node that it needs is not the root's."""
        self.add(*marks_of(steps, self._width))

    def add(self, everyone: Amounts, marks: list[Mark]) -> None:
        """Add marks; negative ones take away what was added, and with it what only they made."""
        if any(everyone):
            self.root = Root(self.root.height, _plus(self.root.everyone, Paid(everyone)), self.root.edge)
        if marks:
            self._grow(max(last for _, last, _ in marks).bit_length())
            root, height = self.root, self.root.height
            wanted = [(first, last, Paid(amounts)) for first, last, amounts in marks]
            edge = self._edge_after(root.edge, 1 << (HEIGHT - height), height, 0, wanted)
            self.root = Root(height, root.everyone, edge)

    def shrink(self) -> None:
        """Let the root cover no more than its charges do, after some were taken away."""
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

    def leftmost(self, holds: Callable[[Amounts], bool]) -> tuple[int, Amounts]:
        """Return the first unit whose amounts satisfy `holds`, and them.

        `holds` must be true of the largest amounts of several units just where it is true of one of them,
        and be true of the root's peak.
        """
        return self.beyond(lambda amounts: not holds(amounts)) or (1, self.root.peak)

    def at(self, unit: int) -> Amounts:
        """Return what a unit has spent."""
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
        """Yield ranges of units with what each unit of them has spent, the largest `share` first.

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
        """Return the first unit whose amounts do not fit, and them; None where those of every unit do.

        What fits must fit with less of every amount.  Beyond `most` nodes the search ends at a range of units
        of which only the largest amounts together are known not to fit.
        """
        height, level, seen = self.root.height, self.root.everyone.amounts, 0
        waiting = [(1 << (HEIGHT - height), height, 0, level, self.root.edge)]
        while waiting:
            node, height, low, level, edge = waiting.pop()
            worst, seen = plus(level, edge.top.amounts), seen + 1
            if fits(worst):
                continue
            if not edge.digest or seen == most:
                return max(low, 1), worst
            left, right = self._halves(node, edge.digest)
            level, middle = plus(level, edge.mark.amounts), low + (1 << (height - 1))
            waiting.append((2 * node + 1, height - 1, middle, level, right))
            waiting.append((2 * node, height - 1, low, level, left))
        return None

    def _grow(self, height: int) -> None:
        """Let the root cover the units below 2^height: what it was becomes a left half."""
        while self.root.height < height:
            above, edge = self.root.height + 1, self.root.edge
            if edge.text != self._level.text:
                edge = self._over(1 << (HEIGHT - above), self._level.mark, edge, self._level)
            self.root = Root(above, self.root.everyone, edge)

    def _edge_after(
        self, edge: Edge, node: int, height: int, low: int, marks: list[tuple[int, int, Paid]]
    ) -> Edge:
        """Return the edge to a node of this height, whose units begin at `low`, with marks more."""
        mark, within, high = edge.mark, [], low + (1 << height) - 1
        for one in marks:
            if one[0] <= low and high <= one[1]:
                mark = _plus(mark, one[2])
            else:
                within.append(one)
        if not within:
            return _made(mark, edge.peak, edge.digest)
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
        if node >> HEIGHT:  # a unit has no halves
            raise changed()
        opened = self._opened.get(node)
        if opened is not None and opened[0] == digest:
            return opened[1], opened[2]
        text = self.changed[node] if node in self.changed else self._fetch(node)
        if not isinstance(text, str) or _digest(text) != digest:
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

    def _over(self, node: int, mark: Paid, left: Edge, right: Edge) -> Edge:
        """Keep a node and return the edge to it; a node that says nothing is dropped."""
        nothing = self._level.text
        if left.text == nothing and right.text == nothing:
            self.changed[node] = None
            return _made(mark, self._level.mark, "")
        self.changed[node] = text = f"{left.text}|{right.text}"
        digest = _digest(text)
        self._opened[node] = digest, left, right
        return _made(mark, _most(left.top, right.top), digest)


def remember(areas: dict[int, Opened], height: int) -> None:
    """Keep what nodes near the roots say, for who finds the same texts there in a later transaction."""
    near = 1 << max(0, HEIGHT + 1 + DEPTH - height)
    if sum(map(len, _MEANT.values())) >= REMEMBERED:
        _MEANT.clear()
    for area, opened in areas.items():
        said = {node: halves for node, halves in opened.items() if node < near}
        _MEANT.setdefault(area, {}).update(said)


_MADE: Final[dict[tuple[str, int], Root]] = {}  #: roots that were made here, by their text
_MEANT: Final[dict[int, Opened]] = {}  #: what nodes of an area said last


def changed() -> LedgerError:
    """Return the error to raise about a text that does not belong to the root, or says nothing."""
    return damaged("the ledger's totals were changed")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _made(mark: Paid, peak: Paid, digest: str) -> Edge:
    """Return an edge."""
    return Edge(mark, peak, digest, f"{mark.text}|{peak.text}|{digest}", _plus(mark, peak))


def _edge(parts: list[str], width: int) -> Edge:
    mark, peak, digest = parts
    return _made(_read_sum(mark, width), _read_sum(peak, width), digest)


@lru_cache(maxsize=8)
def _nil(width: int) -> Paid:
    return Paid(zero(width))


@lru_cache(maxsize=8)
def _empty(width: int) -> Edge:
    """Return the edge to units that spent nothing."""
    return _made(_nil(width), _nil(width), "")


def _plus(one: Paid, other: Paid) -> Paid:
    """Return the sum of two sums; of nothing and another it is that one."""
    if not one.some:
        return other
    return Paid(plus(one.amounts, other.amounts)) if other.some else one


def _most(one: Paid, other: Paid) -> Paid:
    """Return the larger of each amount."""
    if not other.some or one is other:
        return one
    amounts = tuple(map(_larger, one.amounts, other.amounts))
    if all(map(is_, amounts, one.amounts)):
        return one
    return other if all(map(is_, amounts, other.amounts)) else Paid(amounts)


def _larger(one: Fraction, other: Fraction) -> Fraction:
    """Return the larger; fractions compare themselves with many kinds of numbers, and are slow at it."""
    less = one.numerator * other.denominator < other.numerator * one.denominator
    return other if less else one


@lru_cache(maxsize=4096)
def _read_sum(text: str, width: int) -> Paid:
    """Return the amounts of a text whose digest was checked."""
    amounts = tuple(one_amount(word) for word in text.split(" "))
    if len(amounts) != width or min(amounts) < 0:
        raise ValueError("not the amounts of this measure")
    return Paid(amounts, text)
