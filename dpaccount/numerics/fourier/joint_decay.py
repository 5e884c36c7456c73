"""How the transform of many pairs of bounded losses falls, where that of each one comes back again and again.

ψ = |M(c + it)/M(c)|² of one pair is E cos t(L − L′) under the tilted law, so |ψ″| ≤ 2 Var L ≤ 2b² where
|L| ≤ b: on a cell of width h it exceeds the larger end by at most h²b²/4. Products of these bounds over all
pairs fall like a Gaussian at first. Further out some of the pairs are enough, as their losses differ.
"""

import math
from collections.abc import Iterable
from typing import Any

from flint import arb

from dpaccount.numerics.fourier.transforms import Counted, Decay, Transform
from dpaccount.numerics.work_budget import kept, spend

LEAST_PAIRS, LEAST_COPIES = 8, 64  #: different pairs, and together: few come back before any smoothing helps
FLOAT_SLACK = 1e-8  #: of ψ: more than floats err where t·b is at most `MOST_TURN`
MOST_TURN = 1e6
NEAR, NEAR_CELL = 30.0, 0.5  #: deviations of t where all pairs are looked at, and the cells there
FAR_CELL = 0.3  #: the width of cells beyond, times the largest loss and the root of its count
FAR_OUT = 8  #: times the frequency where pairs are settled, up to which they are tabulated
MOST_FAR_CELLS = 100_000
MOST_VALUES = 4e6  #: beyond, of all pairs: so many that one in some is looked at
VALUES = 200  #: in a step of work


class JointDecay(Decay):
    """Bounds on ∏ψ^{n/2} in cells of [0, end], and on all cells from each one on.

    Where all pairs are settled at `end`, the last bound holds beyond it too.
    """

    def __init__(self, parts: Counted, c: float, end: float) -> None:
        import numpy as np

        most = [_largest(part) for part in parts]
        deviation = math.sqrt(sum(n * b * b for b, (_, n) in zip(most, parts, strict=True)))
        middle = min(NEAR / deviation, end)
        wide = min(FAR_CELL / max(b * math.sqrt(n) for b, (_, n) in zip(most, parts, strict=True)), end)
        near = np.linspace(0, middle, math.ceil(middle * deviation / NEAR_CELL) + 2)
        far = np.linspace(middle, end, math.ceil((end - middle) / wide) + 2)
        some = sorted(parts, key=_largest)
        some = some[:: math.ceil(len(some) * len(far) / MOST_VALUES)]
        spend((len(parts) * len(near) + len(some) * len(far)) / VALUES)
        logs = np.concatenate([_cells(parts, c, near), _cells(some, c, far)])
        self.edges = np.append(near, far[1:])
        self.end = float(self.edges[-1])
        self.lasts = _settled(parts, c) <= self.end
        self.logs = np.maximum.accumulate(logs[::-1])[::-1] * (1 - 1e-9)

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


def _largest(part: tuple[Transform, int]) -> float:
    return part[0].bound() or 0.0


def _settled(parts: Counted, c: float) -> float:
    """Return from where on the squares of all these pairs bound what follows; infinite where some do not."""
    ends = [each.settled(c) for each, _ in parts]
    return max(math.inf if end is None else end for end in [*ends, 1 / max(map(_largest, parts))])


def _cells(parts: Iterable[tuple[Transform, int]], c: float, t: Any) -> Any:
    """Return log ∏ψ^{n/2} at most, in each cell between two t."""
    import numpy as np

    width, found = np.diff(t), np.zeros(len(t) - 1)
    for factor, count in parts:
        squares, most = factor.squares(c, t), factor.bound() or 0.0
        high = np.maximum(squares[:-1], squares[1:]) + width * width * most * most / 4 + FLOAT_SLACK
        found += count / 2 * np.log(np.minimum(high, 1.0))
    return found


@kept(8)
def joint_decay(parts: Counted, c: float, end: float) -> JointDecay | None:
    """Return the table of some pairs up to `end`, kept: contours ask for it again; None: too long a one.

    Where all pairs are settled, it need not be longer.
    """
    end = min(end, FAR_OUT * _settled(parts, c))
    most = max(map(_largest, parts))
    often = max(n for _, n in parts)
    if not end * most < min(MOST_TURN, MOST_FAR_CELLS * FAR_CELL / math.sqrt(often)):
        return None
    return JointDecay(parts, c, end)


def joined(parts: Counted) -> tuple[Counted, Counted]:
    """Return the pairs whose decay is known jointly, none where they are few, and the others."""
    sides: tuple[list[Any], list[Any]] = [], []
    for part in parts:
        sides[part[0].bound() is None].append(part)
    own, others = map(tuple, sides)
    enough = len(own) >= LEAST_PAIRS and sum(n for _, n in own) >= LEAST_COPIES
    return (own, others) if enough else ((), parts)
