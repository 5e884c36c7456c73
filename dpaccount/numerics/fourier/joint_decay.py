"""How the transform of many different pairs falls, or of one with many losses: each may come back.

ψ = |M(c + it)/M(c)|² of one pair is E cos t(L − L′) under the tilted law, so |ψ″| ≤ 2 Var L: on a cell of
width h it exceeds the larger end by at most h²Var L/4. Products of these bounds over all pairs fall like a
Gaussian at first. Further out some of the pairs are enough: their losses differ, or none of them comes back.
Copies of one pair need no others where it has many losses itself.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from flint import arb

from dpaccount.numerics.fourier.transforms import Counted, Decay, Transform
from dpaccount.numerics.work_budget import kept, spend

LEAST_PAIRS = 8  #: different pairs
LEAST_COPIES = 64  #: together, where losses are bounded: few come back before any smoothing helps
MOST_COPIES = 10**7  #: of one pair: beyond, what floats err in ψ would count
FLOAT_SLACK = 1e-8  #: of ψ: more than floats err where t·b is at most `MOST_TURN`
MOST_TURN = 1e6
CENTER, CENTER_CELL = 30.0, 0.5  #: deviations of t where all pairs are looked at, and the cells there
FAR_CELL = 0.3  #: the width of cells beyond, times the largest loss and the root of its count
FAR_OUT = 8  #: times the frequency where pairs are settled, up to which they are tabulated
MOST_FAR_CELLS = 100_000
MOST_VALUES = 4e6  #: beyond, of all pairs: so many that one in some is looked at
MOST_UNBOUNDED = 100  #: pairs of unbounded losses, which do not come back; beyond, one in some is enough
VALUES = 200  #: in a step of work
GRID = 1 << 20  #: nodes that the losses of one pair are split onto
OWN_CELL = 0.25  #: the width of cells there, times the deviation, where a decay to 1/e is resolved
MOST_MOVED = 0.4  #: the phase between two nodes up to which splitting hardly shows


class Tabulated(Decay):
    """Bounds in cells of [0, end]: `logs` of each and all that follow; beyond, only if it `lasts`."""

    edges: Any
    logs: Any
    end: float
    lasts = False

    def near(self, t: arb) -> arb:
        """Return a bound for all τ from t to `end`."""
        at = int(self.edges.searchsorted(float(t.lower()), side="right")) - 2  # one cell more than t is in
        return arb(float(self.logs[max(at, 0)])).exp() if t < self.end else self.far(t)

    def far(self, t: arb) -> arb:
        """Return a bound for all τ ≥ t."""
        if not self.lasts:
            return arb(1)
        return self.near(t) if t < self.end else arb(float(self.logs[-1])).exp()

    def reach(self, t: arb) -> arb | None:
        """Return where the table ends."""
        return None if self.lasts else arb(self.end)

    def _keep(self, edges: Any, logs: Any) -> None:
        import numpy as np

        self.edges, self.end = edges, float(edges[-1])
        self.logs = np.maximum.accumulate(logs[::-1])[::-1] * (1 - 1e-9)  # up: logs are below 0


class OwnDecay(Tabulated):
    """Bounds on |φ(t)|, φ = E e^{itL}, of one law of many losses, given as (weight, loss).

    Each loss is split onto two nodes of a grid of step g, its mean kept: φ moves by at most (tg)²/8,
    and is then a fast Fourier transform. With E L = 0, |φ″| ≤ Var L: on a cell of width h, |φ| exceeds
    the larger end by at most h²Var L/8. `depth` is the −log of |φ| that is worth resolving.
    """

    def __init__(self, points: Sequence[tuple[arb, arb]], depth: float) -> None:
        import numpy as np

        spend(len(points) + 4 * GRID / VALUES)
        total = sum((weight for weight, _ in points), arb(0))
        weights, losses = [weight / total for weight, _ in points], [at for _, at in points]
        mass, at = (np.array([float(x.mid()) for x in row]) for row in (weights, losses))
        unsure, moved = (max(float(x.rad()) for x in row) for row in (weights, losses))
        most = MOST_TURN / max(np.abs(at).max(), 1e-100)
        at -= mass @ at
        deviation = math.sqrt(mass @ at**2) * (1 + 1e-9)
        cell = min(OWN_CELL * math.sqrt(depth) / max(deviation, 1e-100), most)
        step = 2 * math.pi / (GRID * cell)
        place = at / step
        left = np.floor(place)
        split = ((left, mass * (1 - place + left)), (left + 1, mass * (place - left)))
        row = sum(np.bincount(np.mod(j, GRID).astype(int), m, GRID) for j, m in split)
        t = cell * np.arange(1 + int(min(MOST_MOVED / step, most) / cell))
        # The three terms added bound what the grid hides, the radii of the masses, and those of the losses.
        phi = np.abs(np.fft.rfft(row)[: len(t)]) + (t * step) ** 2 / 8 + len(mass) * unsure + t * moved
        high = np.maximum(phi[:-1], phi[1:]) + (cell * deviation) ** 2 / 8 + FLOAT_SLACK
        self._keep(t, np.log(np.minimum(high, 1.0)))


class JointDecay(Tabulated):
    """Bounds on ∏ψ^{n/2} in cells of [0, end].

    Where all pairs are settled at `end`, the last bound holds beyond it too.
    """

    def __init__(self, parts: Counted, c: float, end: float) -> None:
        import numpy as np

        deviation = math.sqrt(sum(n * factor.deviation(c) ** 2 for factor, n in parts))
        wide, last = _width(parts, c, end), settled(parts, c)
        middle = min(CENTER / deviation, end)
        near, edges = np.linspace(0, middle, math.ceil(middle * deviation / CENTER_CELL) + 2), [middle]
        while edges[-1] < end:  # beyond `last` squares fall, and cells may be of any width
            here = edges[-1]
            edges.append(1.25 * here if here >= last else min(here + min(here / 8, wide), last))
        some = sorted(parts, key=lambda part: part[0].deviation(c))
        some = some[:: math.ceil(len(some) * len(edges) / MOST_VALUES)]
        spend((len(parts) * len(near) + len(some) * len(edges)) / VALUES)
        logs = np.concatenate([_cells(parts, c, near), _cells(some, c, np.array(edges))])
        self._keep(np.append(near, edges[1:]), logs)
        self.lasts = last <= self.edges[-2]


def settled(parts: Counted, c: float) -> float:
    """Return from where on the squares of all these pairs bound what follows; infinite where some do not."""
    return max(*(factor.settled(c) for factor, _ in parts), 1 / max(f.deviation(c) for f, _ in parts))


def _width(parts: Counted, c: float, end: float) -> float:
    """Return the width of cells: half of the pairs are enough, but where some come back, copies together."""
    if settled(parts, c) <= end:
        return FAR_CELL / sorted(factor.deviation(c) for factor, _ in parts)[len(parts) // 2]
    return FAR_CELL / max(factor.deviation(c) * math.sqrt(n) for factor, n in parts)


def _cells(parts: Iterable[tuple[Transform, int]], c: float, t: Any) -> Any:
    """Return log ∏ψ^{n/2} at most, in each cell between two t."""
    import numpy as np

    width, found = np.diff(t), np.zeros(len(t) - 1)
    for factor, count in parts:
        squares, curve = factor.squares(c, t), (width * factor.deviation(c)) ** 2 / 4
        high = np.maximum(squares[:-1], squares[1:]) + curve
        high = np.where(t[:-1] < factor.settled(c), high, squares[:-1]) + FLOAT_SLACK
        found += count / 2 * np.log(np.minimum(high, 1.0))
    return found


@kept(8)
def joint_decay(parts: Counted, c: float, end: float) -> JointDecay | None:
    """Return the table of some pairs up to `end`, kept: contours ask for it again; None: too long a one.

    Where all pairs are settled, it need not be longer.
    """
    last = settled(parts, c)
    end = min(end, FAR_OUT * last)
    turns = min(end, last) * max(factor.deviation(c) for factor, _ in parts)
    few = turns < MOST_TURN and min(end, last) < MOST_FAR_CELLS * _width(parts, c, end)
    return JointDecay(parts, c, end) if few else None


def joined(parts: Counted) -> tuple[Counted, Counted]:
    """Return the pairs whose decay is known jointly, none where they are few, and the others.

    Of many pairs of unbounded losses some are in neither: |M(c + it)/M(c)| ≤ 1.
    """
    sides: tuple[list[Any], list[Any]] = [], []
    for part in parts:
        sides[part[0].bound() is None or part[1] > MOST_COPIES].append(part)
    own, others = map(tuple, sides)
    unbounded = sorted((part for part in own if part[0].bound() == math.inf), key=lambda part: -part[1])
    least = LEAST_COPIES if len(unbounded) < len(own) else LEAST_PAIRS
    if len(own) < LEAST_PAIRS or sum(n for _, n in own) < least:
        return (), parts
    some = unbounded[:: math.ceil(len(unbounded) / MOST_UNBOUNDED) or 1]
    return (*(part for part in own if part[0].bound() != math.inf), *some), others
