"""The upper measure of random allocation: each unit takes part in one of t steps, drawn uniformly.

With (P₁, Q₁) the pair of a step and Y = dP₁/dQ₁, the odds of an epoch are the mean S of t independent Y_i
under Q (docs/numerics.md): removing the unit costs E(S − x)₊, adding it E(1 − xS)₊.  Weights w at places
s ≥ 0 bound a variable Y where, for all real x,

    removed:  E(Y − x)₊ ≤ lost + Σ w(s − x)₊,        added:  E(x − Y)₊ ≤ Σ w(x − s)₊.

Of independent variables the products of weights at the sums of places bound the sum: E(A + B − x)₊ ≤ E_A of
B's bound at x − A, and so on.  Both sides rise with w; where a weight is split onto two places with its mean
kept, both rise, as the functions are convex.  Weights are whole, in parts of 10^D.
"""

from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from ..documents import check_members, ensure, integer, items, spend
from ..intervals import Interval, exact, multiply, number
from .measures import ONE, Atoms, UpperMeasure, gathered

MAX_BITS = 48
MAX_OCTAVES = 2000
MAX_WEIGHTS = 400_000  # of one run

Run = tuple[int, list[int]]  #: weights at first, first + 1, … times a spacing
EMPTY: Run = (0, [])


class PlaceWeights(NamedTuple):
    """Weights at 0 and, by e, at multiples of 2^e units; and the mean that is lost."""

    zero: int
    runs: dict[int, Run]
    lost: int

    def mass(self, scale: int) -> int:
        """Return the sum of the weights: about 1, or rounding up has too few digits, and numbers grow."""
        mass = self.zero + sum(sum(weights) for _, weights in self.runs.values())
        ensure(mass <= 2 * scale, "too few digits for so many steps")
        return mass


class PlaceLimits(NamedTuple):
    """The unit of places, digits of weights, and what is moved right and left of a sum, in parts of 10^D."""

    unit: Fraction
    digits: int
    right: int
    left: int


def merged(a: Run, b: Run) -> Run:
    """Add two runs of one spacing."""
    if not a[1] or not b[1]:
        return a if a[1] else b
    low, high = min(a[0], b[0]), max(a[0] + len(a[1]), b[0] + len(b[1]))
    ensure(high - low < MAX_WEIGHTS, "more places than this checker keeps")
    spend(high - low)
    weights_of_both = [0] * (high - low)
    for first, weights in (a, b):
        for k, weight in enumerate(weights, first - low):
            weights_of_both[k] += weight
    return low, weights_of_both


def scaled(a: Run, weight: int, digits: int) -> Run:
    """Multiply weights, rounding up."""
    return (a[0], [-(-w * weight // 10**digits) for w in a[1]]) if weight and a[1] else EMPTY


def halved(a: Run) -> Run:
    """Double the spacing: half of what lies between two places goes to either."""
    first, weights = a
    if not weights:
        return a
    spend(len(weights))
    low = first // 2
    halves = [0] * ((first + len(weights)) // 2 - low + 1)
    for k, weight in enumerate(weights, first - 2 * low):
        halves[k // 2] += weight if k % 2 == 0 else (weight + 1) // 2
        if k % 2:
            halves[k // 2 + 1] += (weight + 1) // 2
    return low, halves


def convolved(a: Run, b: Run, digits: int) -> Run:
    """Multiply weights at sums of places, rounding up."""
    if not a[1] or not b[1]:
        return EMPTY
    return a[0] + b[0], multiply(a[1], b[1], digits)


def settled(zero: int, runs_of: dict[int, Run], lost: int, bits: int) -> PlaceWeights:
    """Bring runs into form: what lies beyond 2^bits spacings goes to the next coarser one."""
    runs, carried, e = dict[int, Run](), EMPTY, 0
    while e <= max(runs_of, default=0) or carried[1]:
        ensure(e < MAX_OCTAVES, "places too far apart for this checker")
        spend(10)
        first, weights = merged(runs_of.get(e, EMPTY), carried)
        cut = max(0, min((1 << bits) - first, len(weights)))
        kept, carried = (first, weights[:cut]), halved((first + cut, weights[cut:]))
        if kept[1]:
            runs[e] = kept
        e += 1
    return PlaceWeights(zero, runs, lost)


def together(a: PlaceWeights, b: PlaceWeights, fine: PlaceLimits, bits: int) -> PlaceWeights:
    """Bound the sum of two independent variables; the smaller place takes the spacing of the larger one."""
    scale, digits, runs_of = 10**fine.digits, fine.digits, dict[int, Run]()
    _, mass = a.mass(scale), b.mass(scale)
    low, below = EMPTY, EMPTY
    for e in range(max([*a.runs, *b.runs], default=0) + 1):
        spend(40)
        one, two = a.runs.get(e, EMPTY), b.runs.get(e, EMPTY)
        through = merged(below, two)
        if a is b:
            parts = [convolved(one, merged(below, through), digits)]
        else:
            parts = [convolved(one, through, digits), convolved(low, two, digits)]
        parts += [scaled(one, b.zero, digits), scaled(two, a.zero, digits)]
        whole = EMPTY
        for part in parts:
            whole = merged(whole, part)
        runs_of[e] = whole
        low, below = halved(merged(low, one)), halved(through)
    lost = b.lost - (-mass * a.lost // scale)
    return settled(-(-a.zero * b.zero // scale), runs_of, lost, bits)


def shortened(a: PlaceWeights, fine: PlaceLimits, copies: int, *, back: bool) -> PlaceWeights:
    """Move rare ends: where a unit is removed to 0, their mean being lost; where it is added, down.

    (s − x)₊ ≤ s + (0 − x)₊, and (x − s)₊ rises where s falls: to 0, or to a lower place of the same run (runs
    of different spacings overlap).
    """
    zero, lost, runs = a.zero, a.lost, dict(a.runs)
    top_of, bottom_of = fine.unit.as_integer_ratio()
    for top in (True, False):
        down = back and top
        left = (fine.left if down else fine.right) * copies
        for e in sorted(runs, reverse=top):
            first, weights = runs[e]
            spend(len(weights) // 4)
            begin, end, moved = 0, len(weights), 0
            while end - begin > down:
                k = end - 1 if top else begin
                cost = weights[k] if back else -(-(first + k << e) * weights[k] * top_of // bottom_of)
                if cost > left:
                    break
                left, moved = left - cost, moved + weights[k]
                lost += 0 if back else cost
                begin, end = (begin, k) if top else (k + 1, end)
            runs[e] = first + begin, weights[begin:end]
            if down:
                runs[e][1][-1] += moved
            else:
                zero += moved
            if end - begin > down:
                break
    return PlaceWeights(zero, {e: run for e, run in runs.items() if run[1]}, lost)


def summed(once: PlaceWeights, steps: int, fine: PlaceLimits, bits: list[int], *, back: bool) -> PlaceWeights:
    """Bound a sum of so many copies, by repeated doubling."""
    ensure(len(bits) == steps.bit_length() - 1, "one number of bits for each doubling")
    square, result, copies, held = once, once if steps & 1 else None, 1, 1
    for level, size in enumerate(bits, 1):
        copies *= 2
        square = shortened(together(square, square, fine, size), fine, copies, back=back)
        if steps >> level & 1:
            held = copies if result is None else held + copies
            whole = square if result is None else together(result, square, fine, size)
            result = square if result is None else shortened(whole, fine, held, back=back)
    return result or square


def placed(i: Interval, inner: UpperMeasure, fine: PlaceLimits, bits: int, *, back: bool) -> PlaceWeights:
    """Bound Y by an upper measure: of (P₁, Q₁) weights p/z at z, or of (Q₁, P₁) weights p at 1/z.

    E(Y − x)₊ is 1 − x for x < 0: what the weights lack of 1 lies at 0.
    """
    scale, weights_at = 10**fine.digits, dict[int, dict[int, int]]()
    zero = total = 0
    for z, p in inner.atoms:
        spend(40)
        place = exact(i.down.divide(ONE, z) if back else z) / fine.unit
        weight = _ceiling(exact(p if back else i.up.divide(p, z)) * scale)
        low = place.numerator // place.denominator
        e = max(0, low.bit_length() - bits)
        ensure(e < MAX_OCTAVES, "places too far apart for this checker")
        low >>= e
        share = (place / (1 << e) - low) * weight
        high = share.numerator // share.denominator if back else _ceiling(share)
        total += weight
        places = weights_at.setdefault(e, {})
        for k, part in ((low, weight - high), (low + 1, high)):
            places[k] = places.get(k, 0) + part
    lost = _ceiling(exact(inner.lost) * scale)
    zero += lost if back else max(0, scale - total)
    runs = dict[int, Run]()
    for e, places in weights_at.items():
        first, last = min(places), max(places)
        ensure(last - first < MAX_WEIGHTS, "more places than this checker keeps")
        spend(last - first)
        runs[e] = first, [places.get(k, 0) for k in range(first, last + 1)]
    return settled(zero, runs, 0 if back else lost, bits)


def allocated(
    i: Interval, inner: UpperMeasure, steps: int, witness: Any, spread: int, *, back: bool
) -> UpperMeasure:
    """Return the measure of an epoch, or `back` of adding the unit; `inner` is that of a step.

    `witness` says the unit of places, the digits of weights, what may be moved, and how many bits places have
    at first, after each doubling and at last; `spread` is a limit on digits.
    """
    check_members(witness, ("unit", "digits", "moved", "bits"))
    digits = integer(witness["digits"], 1)
    ensure(digits <= spread, "more digits than this checker takes")
    bits = [integer(each, 2) for each in items(witness["bits"])]
    ensure(len(bits) >= 2 and max(bits) <= MAX_BITS, "places of too many bits")
    right, left = (int(number(each) * 10**digits) for each in items(witness["moved"]))
    ensure(right >= 0 and left >= 0, "a mass that is moved is at least 0")
    unit = number(witness["unit"])
    ensure(unit > 0, "the unit must be above 0")
    fine = PlaceLimits(unit, digits, right, left)
    whole = summed(placed(i, inner, fine, bits[0], back=back), steps, fine, bits[1:-1], back=back)
    whole = settled(whole.zero, whole.runs, whole.lost, bits[-1])
    scale, mean, zero, atoms = Decimal(10) ** digits, unit / steps, whole.zero, Atoms()
    for e, (first, weights) in whole.runs.items():
        spend(50 * len(weights))
        for k, weight in enumerate(weights, first):
            at, mass = i.of(mean * (k << e)), i.up.divide(Decimal(weight), scale)
            if k == 0:
                zero += weight
            elif back:
                atoms.append((i.up.divide(ONE, at[0]), mass))
            else:
                atoms.append((at[1], i.up.multiply(mass, at[1])))
    lost = Decimal(zero) if back else i.up.divide(Decimal(whole.lost), Decimal(steps))
    return UpperMeasure(gathered(i, atoms), i.up.divide(lost, scale))


def _ceiling(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
