"""Upper measures: finite lists of losses that cost at least what a pair of laws costs.

A pair (P, Q) costs δ(x) = sup over events E of P(E) − xQ(E), for every x = e^ε ≥ 0.  A measure has atoms
(z, p), z = e^loss, and a mass `lost` at an infinite loss; its curve is D(x) = lost + Σ p(1 − x/z)₊.  It is an
upper measure of the pair where D(x) ≥ δ(x) for all x ≥ 0, in particular D(0) ≥ 1.  D rises with every z and
p, so that both may be rounded up.

Splitting (Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022, "connect the dots").  Let a part of the law of
the loss have mass p under P, q under Q, and all its odds in [u, v].  Its share of δ, t(x) = ∫(1 − x/z)₊, is
convex in x, at most p at 0, p − uq at u and 0 at v.  Atoms b at v and a at u with b(1 − u/v) ≥ p − uq and
a + b ≥ p have a curve that is straight between 0, u and v and no lower there: hence nowhere lower.

Composition: if D₁ ≥ δ₁ and D₂ ≥ δ₂ for all x ≥ 0 then the product of the measures (odds and masses multiply,
∞ absorbs) is an upper measure of the composition: ∫δ₂(x/z)dω₁ ≤ ∫D₂(x/z)dω₁ = ∫δ₁(x/z)dm₂ ≤ ∫D₁(x/z)dm₂
(Fubini).  Where the second release depends on the first one's outcome the same line holds for each outcome.
"""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from ..documents import ensure, spend
from ..intervals import Interval, Pair

ONE, NONE = Decimal(1), Decimal(0)
MAX_ATOMS = 200_000

Atoms = list[tuple[Decimal, Decimal]]  #: (odds, mass), both rounded up


class UpperMeasure(NamedTuple):
    """Atoms, and the mass at an infinite loss, rounded up."""

    atoms: Atoms
    lost: Decimal


class MeasureCell(NamedTuple):
    """A part of a law: its odds lie between two, each enclosed; its masses under P and Q, enclosed."""

    low: Pair
    high: Pair
    p: Pair
    q: Pair


def split(i: Interval, cell: MeasureCell) -> Atoms:
    """Return two atoms for a cell, or one where its odds are all one number."""
    spend(30)
    up, down, mass = i.up, i.down, cell.p[1]
    at = cell.low[1]
    top = cell.high[1]
    if mass <= 0:
        return []
    if at >= top:
        return [(at, mass)]
    # t(at) ≤ p − low·q, whichever number between its ends `low` is
    height = max(NONE, up.subtract(mass, down.multiply(cell.low[0], max(NONE, cell.q[0]))))
    gap = down.subtract(ONE, up.divide(at, top))
    ensure(gap > 0, "a cell is too narrow for this many digits")
    above = up.divide(height, gap)
    return [(at, max(NONE, up.subtract(mass, above))), (top, above)]


def of_tails(i: Interval, odds: list[Pair], there: list[Pair], back: list[Pair]) -> UpperMeasure:
    """Return the measure of a law by the tails of its loss at some losses, which rise.

    `there` and `back` enclose P(loss > t) and Q(loss > t).  What lies left of the first loss is put there,
    what lies right of the last one is lost.
    """
    ensure(len(odds) <= MAX_ATOMS, "more losses than this checker lists")
    first = i.up.subtract(ONE, there[0][0])
    atoms: Atoms = [(odds[0][1], max(NONE, first))]
    for k in range(len(odds) - 1):
        p, q = i.sub(there[k], there[k + 1]), i.sub(back[k], back[k + 1])
        atoms += split(i, MeasureCell(odds[k], odds[k + 1], p, q))
    return UpperMeasure(gathered(i, atoms), there[-1][1])


def gathered(i: Interval, atoms: Atoms) -> Atoms:
    """Return the atoms in the order of their odds, those of equal odds as one."""
    spend(2 * len(atoms))
    masses: dict[Decimal, Decimal] = {}
    for odds, mass in atoms:
        if mass:
            masses[odds] = i.up.add(masses[odds], mass) if odds in masses else mass
    return sorted(masses.items())


def of_curve(i: Interval, step: Fraction, first: int, heights: list[Decimal]) -> UpperMeasure:
    """Connect the dots: return the measure whose curve is straight between heights at equidistant losses.

    Heights are upper bounds on the curve at e^{(first + k)·step}.  A chord between points above a convex
    curve is above it; left of the first one the chord starts at D(0) = 1, right of the last one D is
    constant, and the curve falls.
    """
    ensure(len(heights) <= MAX_ATOMS, "more losses than this checker lists")
    up, growth = i.up, i.sub(i.exp(i.of(step)), i.of(1))
    inverse = i.div(i.of(1), growth)
    atoms: Atoms = []
    for k, height in enumerate(heights):
        spend(60)
        before = up.subtract(heights[k - 1], height) if k else up.subtract(ONE, height)
        after = i.down.subtract(height, heights[k + 1]) if k + 1 < len(heights) else NONE
        # slope before less slope after, times x: of the first node 1/x is the whole way to 0
        bend = up.subtract(before, after) if k else after.copy_negate()
        mass = up.add(before, up.multiply(bend, inverse[1] if bend > 0 else inverse[0]))
        atoms.append((i.exp(i.of(step * (first + k)))[1], max(NONE, mass)))
    return UpperMeasure(gathered(i, atoms), max(NONE, heights[-1]))


# ------------------------------------------------------------------ Poisson samples


def removed(i: Interval, inner: UpperMeasure, rate: Fraction) -> UpperMeasure:
    """Return the measure of ((1 − q)Q + qP, Q): a unit is removed (Zhu, Dong & Wang 2022).

    It costs q·δ((x − 1 + q)/q) for x ≥ 1 − q and 1 − x below.  An atom (z, p) becomes one at Z = 1 − q + qz
    of mass pZ/z; what the measure lacks of mass 1 under Q is an atom at 1 − q.
    """
    up, q, rest = i.up, i.of(rate), i.of(1 - rate)
    atoms, weight = Atoms(), NONE
    spend(20 * len(inner.atoms))
    for z, p in inner.atoms:
        at = up.add(rest[1], up.multiply(q[1], z))
        atoms.append((at, up.multiply(p, up.divide(at, z))))
        weight = i.down.add(weight, i.down.divide(p, z))
    lacking = up.subtract(ONE, weight)
    if lacking > 0:
        atoms.append((rest[1], up.multiply(lacking, rest[1])))
    return UpperMeasure(gathered(i, atoms), up.multiply(q[1], inner.lost))


def added(i: Interval, inner: UpperMeasure, rate: Fraction) -> UpperMeasure:
    """Return the measure of (Q, (1 − q)Q + qP), a unit is added, from that of (Q, P).

    It costs r·δ(xq/r), r = 1 − x(1 − q), where r > 0: an atom (z, p) becomes one at 1/(1 − q + q/z) of the
    same mass, and what is lost has the finite odds 1/(1 − q).
    """
    up, down, q, rest = i.up, i.down, i.of(rate), i.of(1 - rate)
    spend(20 * len(inner.atoms))
    atoms = [(up.divide(ONE, down.add(rest[0], down.divide(q[0], z))), p) for z, p in inner.atoms]
    if inner.lost:
        ensure(rest[0] > 0, "what is lost of a whole sample stays lost")
        atoms.append((up.divide(ONE, rest[0]), inner.lost))
    return UpperMeasure(gathered(i, atoms), NONE)


def height(i: Interval, measure: UpperMeasure) -> Callable[[Pair], Decimal]:
    """Return x ↦ an upper bound on D(x), x > 0, by sums over the atoms from the right."""
    spend(10 * len(measure.atoms))
    sums: list[tuple[Decimal, Decimal, Decimal]] = []  # odds, Σp, Σp/z of the atoms from here on
    mass, weight = measure.lost, NONE
    for z, p in reversed(measure.atoms):
        mass, weight = i.up.add(mass, p), i.down.add(weight, i.down.divide(p, z))
        sums.append((z, mass, weight))
    sums.reverse()

    def value(x: Pair) -> Decimal:
        spend(60)
        low, high = 0, len(sums)
        while low < high:  # the first atom right of x; each one kept is right of its lower end
            middle = (low + high) // 2
            low, high = (low, middle) if sums[middle][0] > x[0] else (middle + 1, high)
        if low == len(sums):
            return measure.lost
        _, mass, weight = sums[low]
        return i.up.subtract(mass, i.down.multiply(x[0], weight))

    return value
