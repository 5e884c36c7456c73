"""Proves a bound on a query's sensitivity by branch and bound over all pairs of neighbours.

The query is evaluated in ball arithmetic (`balls`) on whole boxes of pairs: the changed record before and
after, and all others.  Three enclosures of a movement f(z, x′) − f(z, x) are intersected: the difference of
both values; the slope in the changed record times x′ − x (mean value theorem); and the mean value form of
the movement itself around the middle of the box, whose slopes in the other records are f's mixed second
derivatives (bends) times x′ − x.  If a slope has one sign, the movement is largest at one end (Hansen &
Walster 2004, sections 8 and 12).  The box with the largest bound is halved next, until all bounds are within
the declared one, the middle of a box is a counterexample, or the work budget is spent.  It is counted in
boxes, not in seconds, so the same search ends with the same numbers on every machine.

The proof is about the query in real arithmetic.  In the middle of every box the balls are compared with
a floating-point run, to detect code that treats balls differently from numbers.
"""

import heapq
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from flint import arb

from audits.datasets.shape import Data, Shape
from audits.sensitivity import balls
from audits.sensitivity.balls import Ball, Undecided, Unsupported, accepting_balls, array
from dpaccount.schemas.results import ProofStatus

BOXES = 20_000
#: boxes per second of the time limit, times the numbers of a pair; a third of a common core's speed, so
#: that the search ends before the process is killed
NUMBERS_PER_SECOND = 1000
MOST_NUMBERS = 64  #: maximum numbers in a pair
AGREE = 1e-6  #: relative tolerance between balls and floating point
FLOAT_SLACK = Fraction(1, 10**9)  #: relative slack on the declared bound, for rounding in the query

Query = Callable[[Any], Any]
Ends = tuple[float, float]


@dataclass(frozen=True)
class Proof:
    """How a search ended.

    `status` is ``proved`` (no pair moves by more than `upper`, which is within the bound),
    ``refuted`` (`left` and `right` do) or ``undecided`` (the largest movement lies between `lower`
    and `upper`; `why` says what stopped the search).
    """

    status: ProofStatus
    lower: float
    upper: float
    boxes: int
    why: str = ""
    left: Data | None = None
    right: Data | None = None


@dataclass(frozen=True)
class PairBox:
    """A box of pairs, and the objective on it.

    Record `row` of `rows` is replaced, or `removed`.  `box` has the ends of the changed record's
    entries, of their replacements, then of all others.  The objective is the movement of the result's
    `entry` times `sign`, or the norm of the movement if `entry` is None.
    """

    rows: int
    row: int
    removed: bool
    entry: int | None
    sign: int
    box: tuple[Ends, ...]


@dataclass(frozen=True)
class BoundedPart:
    """A part, reduced to where the movement can be largest; its bound, its slopes, and a movement in it."""

    part: PairBox
    upper: float
    slopes: tuple[arb, ...]
    reached: float


def boxes_for(shape: Shape, seconds: float) -> int:
    """Return the maximum number of boxes for a time limit of `seconds`, in 1 … `BOXES`."""
    return min(max(int(NUMBERS_PER_SECOND * seconds / ((shape.rows + 1) * shape.width)), 1), BOXES)


def prove(query: Query, shape: Shape, norm: str, bound: Fraction, *, boxes: int = BOXES) -> Proof:
    """Search for a proof that `query` moves by at most `bound` (one part in 1e9 more is allowed).

    At most `boxes` are bounded.  `norm` is l1, l2 or linf; `shape` defines data and neighbours.  The result
    is undecided for a query that cannot be evaluated on balls; `why` says which operation it uses.
    """
    numbers = (shape.rows + 1) * shape.width
    if numbers > MOST_NUMBERS:
        why = f"a pair has {numbers} numbers; at most {MOST_NUMBERS} are searched: describe smaller data"
        return Proof("undecided", 0.0, math.inf, 0, why)
    with accepting_balls(query), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # the query may divide by 0 on some data
        try:
            return _search(Movement(query, shape, norm), bound, boxes)
        except Unsupported as does:
            why = f"balls cannot tell: the query {does}; use arithmetic and NumPy's elementary functions"
        except Undecided as kind:
            why = f"balls cannot tell even on one dataset: the query needs {kind} to be decided"
        return Proof("undecided", 0.0, math.inf, 0, why)


def _search(movement: "Movement", bound: Fraction, boxes: int) -> Proof:
    limit, count, lower, proved_upper = bound * (1 + FLOAT_SLACK), 0, 0.0, 0.0
    waiting: list[tuple[float, int, BoundedPart]] = []  # the largest bound first
    todo = [(math.inf, part) for part in movement.parts()]
    while todo or waiting:
        top = max([proved_upper, *(-each[0] for each in waiting[:1]), *(upper for upper, _ in todo)])
        if count >= boxes:
            return Proof("undecided", lower, top, count, f"the effort is spent after {count} boxes")
        if not todo:
            parent = heapq.heappop(waiting)[2]
            todo = [(parent.upper, part) for part in movement.halves(parent)]
            if not todo:
                return Proof("undecided", lower, top, count, "a single pair on which balls decide nothing")
            continue
        count += 1
        seen = movement.bounded(todo.pop()[1])
        if seen is None:
            continue
        lower = max(lower, seen.reached)
        if Fraction(seen.reached) > limit:
            return Proof("refuted", lower, math.inf, count, "", *movement.middle_pair(seen.part))
        if math.isfinite(seen.upper) and Fraction(seen.upper) <= limit:
            proved_upper = max(proved_upper, seen.upper)
        else:
            heapq.heappush(waiting, (-seen.upper, count, seen))
    return Proof("proved", lower, proved_upper, count)


class Movement:
    """The movement of a query between neighbours, enclosed on boxes of pairs."""

    def __init__(self, query: Query, shape: Shape, norm: str) -> None:
        """Enclose the movement of `query` on data of a `shape` in a `norm` (l1, l2, linf)."""
        self.query, self.shape, self.norm, self.width = query, shape, norm, shape.width
        domain = shape.domain()
        self.ends = tuple(zip(map(float, domain.low), map(float, domain.high), strict=True))

    def parts(self) -> Iterator[PairBox]:
        """Yield boxes that cover all pairs, for every objective."""
        removed = self.shape.adjacency.rows_vary
        for rows in range(1, self.shape.rows + 2) if removed else (self.shape.rows,):
            box = self.ends * (rows if removed else rows + 1)
            count = len(self._plain(self.middle_pair(PairBox(rows, 0, removed, None, 1, box))[0]))
            alone = count == 1 or self.norm == "linf"
            # under replace-one, swapping the datasets changes the sign of the movement: one sign is enough
            signs = (1, -1) if removed and alone else (1,)
            for entry in range(count) if alone else (None,):
                for row in range(rows):
                    yield from (PairBox(rows, row, removed, entry, sign, box) for sign in signs)

    def halves(self, seen: BoundedPart) -> list[PairBox]:
        """Return the halves of a part, cut where this narrows the bound most; none for a single pair."""
        part = seen.part
        ends = [self.ends[k % self.width] for k in range(len(part.box))]
        gains = []
        for (low, high), domain, slope in zip(part.box, ends, seen.slopes, strict=True):
            width = high - low
            steep = float(slope.abs_upper()) if slope.is_finite() else 1.0 / (domain[1] - domain[0] or 1.0)
            gains.append(width * max(steep, 1e-9) if width > 0 else -1.0)
        place = int(np.argmax(gains))
        low, high = part.box[place]
        cut = _middle(low, high, integer=self.shape.integer)
        after = cut + 1 if self.shape.integer else cut
        if gains[place] <= 0 or not (
            low <= cut and after <= high and (low, high) not in ((low, cut), (after, high))
        ):
            return []
        return [_with(part, place, (low, cut)), _with(part, place, (after, high))]

    def bounded(self, part: PairBox) -> BoundedPart | None:
        """Return the bound of a part; None if no two neighbours are in it."""
        if self._beyond_radius(part):
            return None
        unknown = (balls.UNKNOWN,) * len(part.box)
        while True:
            try:
                value, slopes = self._enclosed(part)
            except Undecided:
                upper, slopes = math.inf, unknown
                break
            # A number fixed at its best end can make another one monotone, so this is repeated.
            shorter = self._at_ends(part, slopes)
            if shorter == part:
                upper = min(_above(self._movement_of(part, value)), self._radius_bound(part))
                break
            part = shorter
        try:
            middle = self._at_middle(part)
        except Undecided:
            return BoundedPart(part, upper, slopes, 0.0)
        here = [arb(m) for m in self._middles(part)]
        around = sum((s * (_ball(e) - m) for s, e, m in zip(slopes, part.box, here, strict=True)), middle)
        left, right = self.middle_pair(part)
        reached = _below(self._movement_of(part, middle)) if self.shape.neighbours(left, right) else 0.0
        return BoundedPart(part, min(upper, _above(self._movement_of(part, around))), slopes, reached)

    def middle_pair(self, part: PairBox) -> tuple[Data, Data]:
        """Return the two datasets in the middle of a box."""
        sides = [self._rows(part, self._middles(part), side) for side in (0, 1)]
        left, right = (self.shape.data(np.array(rows).reshape(-1, self.width)) for rows in sides)
        return left, right

    # ------------------------------------------------------------------ enclosures

    def _enclosed(self, part: PairBox) -> tuple[arb, tuple[arb, ...]]:
        """Return the objective on a part, and its slopes in every number of the box."""
        d = self.width
        before, after = self._run(part, "box", 0), self._run(part, "box", 1)
        if len(before) != len(after):
            raise Unsupported("gives results of different lengths")
        own, others = 0 if part.removed else d, len(part.box) - (d if part.removed else 2 * d)
        between = None if part.removed else self._between(part)
        moves = []
        for k, (a, b) in enumerate(zip(before, after, strict=True)):
            value = b.value - a.value
            left = a.slopes or (balls.ZERO,) * (d + others)
            right = b.slopes or (balls.ZERO,) * (own + others)
            shared = [y - x for x, y in zip(left[d:], right[own:], strict=True)]
            if between is not None:
                value = _intersection(value, between[k][0])
                shared = [_intersection(s, t) for s, t in zip(shared, between[k][1], strict=True)]
            moves.append(Ball(value, (*(-s for s in left[:d]), *right[:own], *shared), None))
        size = self._size(part, moves)
        return size.value, size.slopes or (balls.ZERO,) * len(part.box)

    def _between(self, part: PairBox) -> list[tuple[arb, list[arb]]] | None:
        """Return each entry's movement, and its slopes in the other records, by the mean value theorem."""
        d = self.width
        try:
            hull = self._run(part, "hull", 0)
        except Undecided:
            return None
        steps = [
            _ball(after) - _ball(before) for before, after in zip(part.box[:d], part.box[d:], strict=False)
        ]
        others = len(part.box) - 2 * d
        moves = []
        for ball in hull:
            slopes = ball.slopes or (balls.ZERO,) * (d + others)
            moved = sum((s * step for s, step in zip(slopes[:d], steps, strict=True)), balls.ZERO)
            shared = [balls.UNKNOWN] * others
            if ball.bends is not None:
                bends = ball.bends or (balls.ZERO,) * (d * (d + others))
                rows = [bends[c * (d + others) + d : (c + 1) * (d + others)] for c in range(d)]
                shared = [
                    sum((row[j] * step for row, step in zip(rows, steps, strict=True)), balls.ZERO)
                    for j in range(others)
                ]
            moves.append((moved, shared))
        return moves

    def _at_middle(self, part: PairBox) -> arb:
        """Return the objective in the middle of a box, after comparing balls with floating point there."""
        before, after = (self._run(part, "middle", side) for side in (0, 1))
        for data, on_balls in zip(self.middle_pair(part), (before, after), strict=True):
            plain, thin = self._plain(data), [ball.value for ball in on_balls]
            if len(plain) != len(thin) or not all(map(_agree, plain, thin)):
                raise Unsupported("gives another result on balls than on numbers")
        if len(before) != len(after):
            raise Unsupported("gives results of different lengths")
        return self._size(part, [b - a for a, b in zip(before, after, strict=True)]).value

    def _plain(self, data: Data) -> list[arb]:
        """Return the query's entries in floating point."""
        try:
            return [ball.value for ball in entries(self.query(data.copy()))]
        except Unsupported:
            raise
        except Exception as error:
            raise Unsupported(f"raises {type(error).__name__} on some data") from None

    def _size(self, part: PairBox, moves: Sequence[Ball]) -> Ball:
        """Return the objective: one entry's movement, or the norm of all (the ℓ2 norm squared)."""
        if part.entry is not None:
            return moves[part.entry] if part.sign > 0 else -moves[part.entry]
        terms = [balls.absolute(move) if self.norm == "l1" else balls.square(move) for move in moves]
        return balls.lifted(sum(terms[1:], terms[0]) if terms else 0)

    def _movement_of(self, part: PairBox, value: arb) -> arb:
        """Return the movement that corresponds to `_size`."""
        return value.nonnegative_part().sqrt() if part.entry is None and self.norm == "l2" else value

    def _radius_bound(self, part: PairBox) -> float:
        """Return a bound on the movement by a record within the radius: ‖J‖·radius (mean value theorem).

        ‖J‖₂ is at most √(‖J‖₁ ‖J‖∞), the largest sums of columns and of rows (Hölder).
        """
        if self.shape.radius is None:
            return math.inf
        try:
            hull = self._run(part, "hull", 0)
        except Undecided:
            return math.inf
        flat = (balls.ZERO,) * self.width
        steep = [[s.abs_upper() for s in (ball.slopes or flat)[: self.width]] for ball in hull]
        if part.entry is not None:
            norm = sum((s * s for s in steep[part.entry]), balls.ZERO).sqrt()
        else:
            rows = [sum(row, balls.ZERO) for row in steep]
            columns = [sum(column, balls.ZERO) for column in zip(*steep, strict=True)]
            norm = (reduce(arb.max, rows, balls.ZERO) * reduce(arb.max, columns, balls.ZERO)).sqrt()
            norm = norm * arb(len(hull)).sqrt() if self.norm == "l1" else norm
        return _above(norm * arb(self.shape.radius))

    def _run(self, part: PairBox, where: str, side: int) -> list[Ball]:
        """Return the query's entries before (0) or after (1) the change, on the box, its middle or the hull.

        On the hull the changed record ranges over both of its boxes, and second derivatives are computed.
        """
        d = self.width
        ends: Sequence[Ends] = part.box
        if where == "middle":
            ends = [(m, m) for m in self._middles(part)]
        elif where == "hull":
            hull = [
                (min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(part.box[:d], part.box[d:], strict=False)
            ]
            ends = [*hull, *part.box[d:]]
        rows = self._rows(part, list(range(len(ends))), side)  # the number of the box in each place
        changed = rows[part.row] if len(rows) == part.rows else []
        order = [*changed, *(k for row in rows for k in row if k not in changed)]
        count = 0 if where == "middle" else len(order)
        bends = (balls.ZERO,) * (d * count) if where in ("hull", "middle") else None
        enclosures = {}
        for place, k in enumerate(order):
            slopes = tuple(arb(int(j == place)) for j in range(count))
            enclosures[k] = Ball(_ball(ends[k]), slopes, bends, positive=ends[k][0] >= 0)
        shape = (len(rows),) if self.shape.columns is None else (len(rows), d)
        given = array([enclosures[k] for row in rows for k in row], shape)
        try:
            return entries(self.query(given))
        except (Unsupported, Undecided):
            raise
        except Exception as error:  # whatever the query makes of balls
            raise Unsupported(f"raises {type(error).__name__} on balls ({str(error)[:80]})") from None

    # ------------------------------------------------------------------ boxes

    def _rows(self, part: PairBox, numbers: Sequence[Any], side: int) -> list[list[Any]]:
        """Return the entries of every record of one side, from those of every number of the box."""
        d = self.width
        first = d if part.removed else 2 * d
        rows = [list(numbers[k : k + d]) for k in range(first, len(numbers), d)]
        if side == 0:
            rows.insert(part.row, list(numbers[:d]))
        elif not part.removed:
            rows.insert(part.row, list(numbers[d : 2 * d]))
        return rows

    def _middles(self, part: PairBox) -> list[float]:
        return [_middle(low, high, integer=self.shape.integer) for low, high in part.box]

    def _at_ends(self, part: PairBox, slopes: Sequence[arb]) -> PairBox:
        """Return the part with every number in which the objective is monotone fixed at its best end."""
        box = list(part.box)
        # with a radius, the pair at an end of the changed record may be no neighbours: keep its range
        free = 2 * self.width if self.shape.radius is not None else 0
        for k, slope in enumerate(slopes):
            low, high = box[k]
            if k >= free and low < high and slope.is_finite() and (slope >= 0 or slope <= 0):
                box[k] = (high, high) if slope >= 0 else (low, low)
        return replace(part, box=tuple(box))

    def _beyond_radius(self, part: PairBox) -> bool:
        """Return whether the changed record moves by more than the radius everywhere in the box."""
        if self.shape.radius is None:
            return False
        d = self.width
        steps = [_ball(b) - _ball(a) for a, b in zip(part.box[:d], part.box[d:], strict=False)]
        least = sum((step.abs_lower() * step.abs_lower() for step in steps), balls.ZERO)
        return bool(least > arb(self.shape.radius) * arb(self.shape.radius))


def entries(value: Any) -> list[Ball]:
    """Return the numbers of a result, in order, as balls."""
    if isinstance(value, dict):
        return [ball for member in value.values() for ball in entries(member)]
    if isinstance(value, list | tuple):
        return [ball for member in value for ball in entries(member)]
    if isinstance(value, np.ndarray):
        return [balls.lifted(member) for member in value.ravel().tolist()]
    return [balls.lifted(value)]


def _with(part: PairBox, place: int, ends: Ends) -> PairBox:
    return replace(part, box=(*part.box[:place], ends, *part.box[place + 1 :]))


def _middle(low: float, high: float, *, integer: bool) -> float:
    middle = low + (high - low) / 2
    return float(np.floor(middle)) if integer else middle


def _ball(ends: Ends) -> arb:
    return arb(ends[0]) if ends[0] == ends[1] else arb(ends[0]).union(arb(ends[1]))


def _intersection(a: arb, b: arb) -> arb:
    """Return the intersection of both enclosures; an uninformative one is ignored."""
    if not (a.is_finite() and b.is_finite()):
        return b if b.is_finite() else a
    if a.is_exact() or b.is_exact():
        return a if a.is_exact() else b
    if not a.overlaps(b):
        raise Unsupported("is not the same function each time it runs")
    return a.intersection(b)


def _agree(plain: arb, thin: arb) -> bool:
    if not (plain.is_finite() and thin.is_finite()):
        return True  # nothing is concluded from such a point
    return bool(abs(plain - thin) <= AGREE * (1 + abs(thin)))


def _above(x: arb) -> float:
    return math.nextafter(float(x.upper()), math.inf) if x.is_finite() else math.inf


def _below(x: arb) -> float:
    return max(math.nextafter(float(x.lower()), -math.inf), 0.0) if x.is_finite() else 0.0
