"""An upper bound on the law of the mean of t independent variables Y ≥ 0 of mean 1, for any t.

Weights w at places s bound a variable S where, for all real x,

    E(S − x)₊ ≤ lost + Σ w(s − x)₊    and    E(x − S)₊ ≤ Σ w(x − s)₊.

Chords of y ↦ E(Y − y)₊ between nodes give such weights for Y. Each step keeps both sides (docs/numerics.md,
"Many steps"): weights are rounded up; what lies between two places is split onto them with its mean kept; a
rare weight goes to a smaller place, its mean being lost; of independent variables weights multiply and
places add. Places are k·2^e units with k up to 2^bits or so, as those of floating-point numbers.
"""

import bisect
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from flint import arb, ctx, fmpz, fmpz_poly

from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.lattice.lattice import Grid, rounded_up, units
from dpaccount.numerics.work_budget import bearable, spend

LOST_DEPTH = 130  #: what is lost or moved at once is below 2^−LOST_DEPTH
SPLIT_SPREAD = 5e-5  #: what the splits for one level of doubling add to the variance, relatively
FEWEST_BITS, FAR_BITS = 5, 8  #: of places; and of those of rare large sums
MOST_OCTAVES = 3000
Run = tuple[int, fmpz_poly]  #: weights at first, first + 1, … times a spacing
Call = Callable[[arb], arb]  #: y ↦ E(Y − y)₊
EMPTY: Run = (0, fmpz_poly())


@dataclass(frozen=True)
class Weights:
    """Integer weights over 2^bits, by e at multiples of 2^e units; `rare` ones at 0; `lost` is in units."""

    runs: dict[int, Run]
    rare: int
    lost: int

    def total(self) -> int:
        """Return the sum of the weights."""
        return self.rare + sum(int(row(1)) for _, row in self.runs.values())

    def mean(self) -> int:
        """Return the sum of the weights times their places, in units."""
        return sum(int(first * row(1) + row.derivative()(1)) << e for e, (first, row) in self.runs.items())


@dataclass(frozen=True)
class MeanCurves:
    """The bound on a mean: E(S − x)₊ and E(x − S)₊ at any x, at the precision of the moment."""

    places: list[Fraction]
    weights: list[int]  #: sums of the weights left of each place, and of all, in parts of 2^bits
    means: list[Fraction]  #: the same sums of weights times places
    bits: int
    lost: Fraction

    def over(self, x: arb) -> arb:
        """Return a ball whose upper end bounds E(S − x)₊."""
        k = bisect.bisect_left(self.places, 1, key=lambda s: not ball(s) <= x)
        mean, weight = self.means[-1] - self.means[k] + self.lost, self.weights[-1] - self.weights[k]
        return (ball(mean) - (x - _slack(x)) * weight) / (1 << self.bits)

    def under(self, x: arb) -> arb:
        """Return a ball whose upper end bounds E(x − S)₊."""
        k = bisect.bisect_left(self.places, 1, key=lambda s: bool(ball(s) >= x))
        return ((x + _slack(x)) * self.weights[k] - ball(self.means[k])) / (1 << self.bits)


def _slack(x: arb) -> arb:
    """Return how far a place may be on the wrong side of x where that is not seen."""
    return 2 * x.rad() + x * arb(2) ** (4 - ctx.prec)


def log_normal_call(mu2: Fraction, y: arb) -> arb:
    """Return E(Y − y)₊ of Y = e^X, X ~ N(−μ²/2, μ²)."""
    if y == 0:
        return arb(1)
    mu, root = ball(mu2).sqrt(), arb(2).sqrt()
    z = (mu * mu / 2 + y.log()) / mu
    return (((z - mu) / root).erfc() - y * (z / root).erfc()) / 2


def response_call(epsilon: Fraction, y: arb) -> arb:
    """Return E(Y − y)₊ where Y is e^ε with probability 1/(1 + e^ε), and else e^{−ε}."""
    rise = ball(epsilon).exp()
    return ((rise - y).max(arb(0)) + rise * (1 / rise - y).max(arb(0))) / (1 + rise)


def mean_curves(call: Call, variance: float, low: float, far: float, steps: int) -> MeanCurves:
    """Return curves that bound those of the mean of `steps` independent variables.

    `call`: E(S − x)₊ of one variable S; `variance`: about what it varies by.
    `low`: ln of about the least value that matters of the largest variable.
    `far`: ln of about the largest value that matters of each one.
    """
    doublings, variance = steps.bit_length(), max(variance, sys.float_info.min)
    # Bits of the weights: large places count more.
    bits = LOST_DEPTH + 2 * doublings + 24 + math.ceil(far / math.log(2))
    grid = Grid(Fraction(1), bits, 1 << bits - LOST_DEPTH)
    small = math.ceil(6 - min(0.0, math.log2(variance) / 2, low / math.log(2)))  # −log₂ of the unit
    whole = once = _once(call, small, far, place_bits(1, variance), grid)
    copies = 1
    for bit in bin(steps)[3:]:
        for other in (None, once) if bit == "1" else (None,):
            copies = copies + 1 if other else 2 * copies
            usual = copies << small
            whole = _sum(whole, other or whole, grid, place_bits(copies, variance), usual)
            whole = _trimmed(whole, grid.tail * copies * usual // steps, grid.tail * usual, usual)
    return _curves(whole, steps << small, bits)


def place_bits(copies: int, variance: float) -> int:
    """Return bits such that splits add SPLIT_SPREAD to the variance of so many copies' sum."""
    return max(FEWEST_BITS, 1 + math.ceil(math.log2(copies / (6 * variance * SPLIT_SPREAD)) / 2))


def _once(call: Call, small: int, far: float, bits: int, grid: Grid) -> Weights:
    octaves = max(1, math.ceil(far / math.log(2)) + small - bits + 2)
    bearable(octaves, MOST_OCTAVES)
    spend(5 * (octaves + 1) * (1 << bits - 1))
    with precision(grid.bits + 64):
        nodes = [(0, k) for k in range(1 << bits)]
        nodes += [(e, k) for e in range(1, octaves) for k in range(1 << bits - 1, 1 << bits)]
        heights = [call(ball(Fraction(k << e, 1 << small))) for e, k in nodes]
        runs, before = dict[int, list[fmpz]](), arb(1)
        for at, (e, k) in enumerate(nodes):
            after = arb(0)
            if at + 1 < len(nodes):
                width = Fraction((nodes[at + 1][1] << nodes[at + 1][0]) - (k << e), 1 << small)
                after = (heights[at] - heights[at + 1]) / ball(width)
            runs.setdefault(e, []).append(fmpz(units(grid, before - after)))
            before = after
        lost = units(grid, heights[-1]) << small
    return Weights({e: (1 << bits - 1 if e else 0, fmpz_poly(row)) for e, row in runs.items()}, 0, lost)


def _sum(a: Weights, b: Weights, grid: Grid, bits: int, usual: int) -> Weights:
    """Bound the sum of two independent variables; the smaller place takes the spacing of the larger one.

    Places have so many bits, far beyond `usual` units, which is rare, fewer.
    """
    found, low, below, carried, e = dict[int, Run](), EMPTY, EMPTY, EMPTY, 0
    last = max([*a.runs, *b.runs])
    while e <= last or carried[1].length():
        one, two = a.runs.get(e, EMPTY), b.runs.get(e, EMPTY)
        through = _merged(below, two)
        first, exact = _merged(_times(one, through), _times(low, two))
        first, row = _merged((first, rounded_up(exact, grid)), carried)
        limit = max(min(1 << bits, 4 * usual >> e), 1 << min(bits, FAR_BITS))
        cut = max(0, limit - first)  # what lies beyond goes to the next coarser spacing
        carried = _halved((first + cut, row.right_shift(cut))) if row.length() > cut else EMPTY
        found[e] = first, row.truncate(cut)
        low, below, e = _halved(_merged(low, one)), _halved(through), e + 1
        spend(4 + exact.length() * grid.bits / 8000)
    rare = a.rare * b.total() + b.rare * a.total()
    lost = a.lost * b.total() + a.rare * b.mean() + b.rare * a.mean()
    runs = {e: run for e, run in found.items() if run[1].length()}
    return Weights(runs, -(-rare >> grid.bits), b.lost - (-lost >> grid.bits))


def _trimmed(a: Weights, left: int, right: int, usual: int) -> Weights:
    """Move rare weights at either end of each run down: to 0, and to the place below; their mean is lost.

    So many weights times units may be moved; a left one counts as at least `usual` units.
    """
    rare, lost, runs = a.rare, a.lost, dict[int, Run]()
    for e, (first, row) in a.runs.items():
        weights, low, moved, cost, top = [int(w) for w in row.coeffs()], 0, 0, 0, 0
        high, share = len(weights), left // len(a.runs)
        while low < high and (share := share - weights[low] * ((first + low << e) + usual)) >= 0:
            moved, low = moved + weights[low], low + 1
        rare, lost, share = rare + moved, lost + (moved * (first + low) << e), right // len(a.runs) >> e
        while low < high - 1 and (more := cost + weights[high - 1] * (first + high - 1)) <= share:
            high, cost, top = high - 1, more, top + weights[high - 1]
        lost += cost << e
        spend(len(weights) / 50)
        if low < high:
            runs[e] = first + low, fmpz_poly([*weights[low : high - 1], weights[high - 1] + top])
    return Weights(runs, rare, lost)


def _merged(a: Run, b: Run) -> Run:
    if not a[1].length() or not b[1].length():
        return a if a[1].length() else b
    first = min(a[0], b[0])
    return first, a[1].left_shift(a[0] - first) + b[1].left_shift(b[0] - first)


def _times(a: Run, b: Run) -> Run:
    return a[0] + b[0], a[1] * b[1]


def _halved(a: Run) -> Run:
    """Double the spacing: half of what lies between two places goes to either."""
    row = [fmpz(0)] * (a[0] % 2) + a[1].coeffs()
    odd = fmpz_poly(row[1::2])
    half = (odd + fmpz_poly([1] * odd.length())) // 2
    return a[0] // 2, fmpz_poly(row[::2]) + half + half.left_shift(1)


def _curves(a: Weights, scale: int, bits: int) -> MeanCurves:
    weights = {Fraction(0): a.rare}
    for e, (first, row) in a.runs.items():
        for k, weight in enumerate(row.coeffs(), first):
            place = Fraction(k << e, scale)
            weights[place] = weights.get(place, 0) + int(weight)
    places = sorted(weights)
    sums = list(accumulate((weights[place] for place in places), initial=0))
    means = list(accumulate((weights[place] * place for place in places), initial=Fraction(0)))
    return MeanCurves(places, sums, means, bits, Fraction(a.lost, scale))
