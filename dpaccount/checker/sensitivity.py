"""How far a sum moves between neighbours, and how public transformations change that.

Common rules come first: sums, centred and factorised queries; then single ones.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from .curves import lengths
from .documents import Rejected, anything, brief, ensure, integer, natural, spend
from .facts import ANYONE, Contribution, Lipschitz, Optional, Rounds, Shifts, Stable, rule, unit
from .intervals import Interval, Pair, added, at_most, number, outer_supremum, positive, power_of
from .relation import REPLACED, keeps_count, moving, replaced

Vectors = tuple[tuple[int, ...], ...]
MAX_MOVES = 5_000_000  # coordinates of differences that are listed
MAX_ROWS = 256  # of a matrix whose columns are compared in pairs
TRANSFORMS = ("joint", "centred", "factorised", "buffered", "stream_l1")  # public, before a query's noise


# ------------------------------------------------------------------ sums


# Source: docs/proofs.md.  Trap: 2r² for a replaced record in a ball: its two vectors may be opposite, at a
# squared distance of 4r². Or a stated bound that is not compared with the supremum.
@rule(Contribution, bound_squared=Optional(number))
def linear(person: Contribution, bound_squared: Fraction | None = None) -> Stable:
    """A sum moves as far as one unit's vector, or as two of them differ."""
    norm, bound = furthest_sum(person)
    fits = (person.kind == "outer" and person.high > 1) == (bound_squared is not None)
    ensure(fits, "a bound is stated for outer products with rewards above 1")
    if bound_squared is not None:
        ensure(bound_squared >= outer_supremum(person.high), "the stated bound is too small")
        bound = bound_squared
    return Stable(person.query, norm, bound, person.relation)


def furthest_sum(person: Contribution) -> tuple[str, Fraction]:
    """Return the norm in which a sum of such contributions is bounded, and its bound."""
    a, b, two = person.low, person.high, replaced(person.relation)
    match person.kind:
        case "interval":
            return "l1", b - a if two else max(abs(a), abs(b))
        case "ball":
            return "l2-squared", 4 * b if two else b
        case "cell":
            return "l1", b + b if two else b
        case "rank-one":  # sup over norms ≤ 1 and the angle: (1+B²)²·2 up to B = 1, (2B)²·2 from there on
            return "frobenius-squared", 2 * (2 * b) ** 2 if b >= 1 else 2 * (1 + b * b) ** 2
        case "outer":
            return "frobenius-squared", 2 * (1 + b * b) ** 2
        case "points":
            return "l2-squared", Fraction(max(lengths(moves_of(person.points, person.relation))))
    raise Rejected(f"no bound is known for contributions of kind {person.kind}")


# Source: elementary.  Trap: as many cells as one record has: a replaced one leaves its cells and enters as
# many others.
@rule(Contribution)
def differences(person: Contribution) -> Shifts:
    """A sum of integer points moves by one of their differences."""
    if person.kind == "cell":
        most = int(furthest_sum(person)[1])
        return Shifts(person.query, tuple((1,) * changed for changed in range(most + 1)), person.relation)
    ensure(person.kind == "points", "only a finite set of integer points has a list of differences")
    return Shifts(person.query, moves_of(person.points, person.relation), person.relation)


def moves_of(points: Vectors, relation: str) -> Vectors:
    """Return all differences that a replaced (or added) record can make, up to order and signs."""
    others = points if replaced(relation) else ((0,) * len(points[0]),)
    size = len(points) * len(others) * len(points[0])
    spend(size // 3)
    ensure(size <= MAX_MOVES, "more differences than this checker lists")
    moves = {
        tuple(sorted((abs(x - y) for x, y in zip(a, b, strict=True)), reverse=True))
        for a, b in product(points, others)
    }
    return tuple(sorted(tuple(v for v in move if v) for move in moves))


# Source: docs/proofs.md.  Trap: the factor alone: rounding to a grid adds `slack` to every movement.
@rule(Lipschitz, radius=Optional(positive))
def moved(rows: Lipschitz, radius: Fraction | None = None) -> Stable:
    """The movement of a Lipschitz query: by a radius of its row, or by `reach` for a replaced row."""
    reach = rows.reach
    if radius is None:
        return Stable(rows.query, "l2-squared", reach * reach, REPLACED)
    follows = rows.slack + radius * rows.factor
    bound = reach * reach if reach < follows else follows * follows
    return Stable(rows.query, "l2-squared", bound, moving(radius))


# ------------------------------------------------------------------ rows and rounds


def untransformed(vector: Stable, rounds: Rounds) -> Fraction:
    """Return the squared ℓ2 bound of a query that these rounds are of, and that is its raw form."""
    bound = vector.within("l2-squared")
    ensure(vector.units is None, "the query is transformed already")
    same = rounds.query == vector.query
    ensure(same, f"the rounds are of {brief(rounds.query)}, not of {brief(vector.query)}")
    return bound


def one_round(rounds: Rounds) -> None:
    """Verify that a unit enters one round."""
    ensure(rounds.times == 1, "a unit enters one round")


# Source: elementary: the row moves by v − v/n, each other row by −v/n.  Trap: v²(1 − 1/n)², which omits the
# other rows. Or a row that comes or goes, which changes n.
@rule(Stable, Rounds)
def centred(vector: Stable, rows: Rounds) -> Stable:
    """Subtracting the mean of n rows scales the movement of a replaced row by √(1 − 1/n)."""
    before, one_each = untransformed(vector, rows), rows.last == rows.rounds
    one_round(rows)
    stay = one_each and keeps_count(vector.relation)
    ensure(stay, "the number of rows must stay, and a unit be a row")
    bound = before * (1 - Fraction(1, rows.rounds))
    return Stable(vector.query, vector.norm, bound, vector.relation, (1, rows.rounds))


# Source: Li et al. 2015; Denisov et al. 2022 (adaptive queries); Choquette-Choo et al. 2023 (several rounds);
# docs/proofs.md.  Trap: the overlap of two rounds in one order only; k times the longest column for k².
# Rejected: differences of points in place, which are shorter: a replaced unit may enter other rounds.
@rule(Stable, Rounds, Optional(Contribution), matrix=anything, bits=natural)
def factorised(
    vector: Stable, rounds: Rounds, person: Contribution | None = None, *, matrix: Any, bits: int
) -> Stable:
    """A lower triangular matrix over 2^bits moves a stream by the longest column that a unit meets."""
    before = untransformed(vector, rounds)
    times = min(rounds.times, (rounds.rounds - 1) // rounds.apart + 1)
    ensure(bits <= 4096, "a matrix over at most 2^4096")
    factor = Fraction(stretch(matrix, rounds.rounds, times, rounds.apart), 4**bits)
    fits = (rounds.times > 1) == (person is not None)
    ensure(fits, "what a unit adds belongs to several participations, and only there")
    if person is None:
        return replace(vector, bound=before * factor, units=(1, rounds.last))
    bound = each_addition(vector, person) * factor
    relation = vector.relation + (f", {times} rounds {rounds.apart} apart" if times > 1 else "")
    return Stable(vector.query, vector.norm, bound, relation, ANYONE)


def stretch(rows: object, rounds: int, times: int, apart: int) -> int:
    """Bound the squared norm of a matrix of integers times unit contributions in `times` rounds."""
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise Rejected("a matrix of integers is needed")
    ensure(
        all(type(c) is int and abs(c) < 2**128 for row in rows for c in row), "a matrix of integers is needed"
    )
    spend(sum(map(len, rows)))
    if len(rows) == 1:
        ensure(0 < len(rows[0]) <= (2048 if times > 1 else 2**20), "too few or too many coefficients")
        spend(len(rows[0]) * (len(rows[0]) // 3 + times) if times > 1 else 0)
        return toeplitz(rows[0][:rounds], times, apart)
    shape = len(rows) == rounds and all(len(row) == k + 1 for k, row in enumerate(rows))
    ensure(shape, "a row ends at its diagonal")
    if times == 1 or rounds > MAX_ROWS:
        return times * times * int(max(sum(row[k] ** 2 for row in rows[k:]) for k in range(rounds)))
    spend(rounds**2 * (rounds // 6 + times))
    overlaps = [
        [abs(sum(row[i] * row[k] for row in rows[max(i, k) :])) for k in range(rounds)] for i in range(rounds)
    ]
    reach = [richest(each, times, apart)[-1] for each in overlaps]
    return richest(reach, times, apart)[-1]


def toeplitz(c: list[int], times: int, apart: int) -> int:
    """Return at least Σ of |overlaps| over all ordered pairs of `times` rounds that a unit enters.

    An overlap at a lag is a partial sum, where the stream ends early.  A round with l of the others before it
    and the rest after has at most the richest l lags on one side, and the richest others on the other side.
    """
    overlaps = [0] * len(c)
    for lag in range(len(c) if times > 1 else 1):
        part = 0
        for i in range(len(c) - lag):
            part += c[i] * c[i + lag]
            overlaps[lag] = max(overlaps[lag], abs(part))
    return times * overlaps[0] + 2 * sum(richest(overlaps[apart:], times - 1, apart))


def richest(values: list[int], times: int, apart: int) -> list[int]:
    """Return the largest sums of up to 1, 2, … `times` values, each `apart` or more places after the last."""
    best, sums = [0] * (len(values) + apart), list[int]()  # by the place from which on values are taken
    for _ in range(min(times, len(values) // apart + 1)):
        after, best = best, [0] * len(best)
        for k in range(len(values) - 1, -1, -1):
            best[k] = max(best[k + 1], values[k] + after[k + apart])
        sums.append(best[0])
    return sums + sums[-1:] * (times - len(sums))


def each_addition(query: Stable, person: Contribution) -> Fraction:
    """Return the squared bound on what a unit adds, or on twice that, whichever rounds it enters.

    A replaced unit may enter other rounds than before: by the triangle inequality the movement is at most
    that of its old rounds and of its new ones.
    """
    ensure(linear(person) == query, "the contribution is not what the query sums")
    ensure(person.kind in ("ball", "points"), f"needed a ball or points, found {person.kind}")
    length = person.high if person.kind == "ball" else Fraction(max(lengths(person.points)))
    return 4 * length if replaced(person.relation) else length


# Source: docs/proofs.md.  Trap: the width of the interval, or |high| alone: the old number leaves one sum and
# the new one enters another. Or a unit that may enter two rounds.
@rule(Contribution, Rounds)
def stream_l1(person: Contribution, rounds: Rounds) -> Stable:
    """Sums of numbers, one a round: a unit's number leaves one round's sum, and another enters one's.

    Which rounds, the unit's own data choose, so neither needs to be near the other.
    """
    same = rounds.query == person.query
    ensure(same, f"the rounds are of {brief(rounds.query)}, not of {brief(person.query)}")
    ensure(person.kind == "interval", f"needed a number of an interval, found {person.kind}")
    ensure(rounds.times > 1, "a unit enters a round that its data choose: state participations")
    ensure(rounds.apart >= rounds.rounds, "a unit enters one round at most")
    largest = max(abs(person.low), abs(person.high))
    bound = 2 * largest if replaced(person.relation) else largest
    return Stable(person.query, "l1", bound, person.relation, ANYONE)


# ------------------------------------------------------------------ single ones


# Source: docs/proofs.md.  Trap: the value at an end of the range of angles: up to reach 2 the worst angle is
# inside.
@rule(Contribution, weight=positive)
def joint(person: Contribution, weight: Fraction) -> Stable:
    """Σφφᵀ and √w·Σφy as one vector, at the worst angle of two records."""
    ensure(person.kind == "rank-one", f"needed a person's statistics without corner, found {person.kind}")
    reach = person.high**2 * weight
    # the squared movement of the pair at its worst angle, which is inside up to reach 2
    square = 2 + 2 * reach + reach * reach / 2 if reach <= 2 else 4 * reach
    return Stable(person.query, "l2-squared", square, person.relation)


# Source: Dvijotham et al. 2024; docs/proofs.md.  Trap: one step for each buffer: it is floored every round,
# and the errors add up to 1/(1 − λ) steps.
@rule(Stable, Rounds, width=unit, pairs=anything, bits=integer, step=positive, most=number)
def buffered(
    vector: Stable, rounds: Rounds, width: int, pairs: Any, bits: int, step: Fraction, most: Fraction
) -> Stable:
    """A stated bound on the squared movement of a stream with decaying buffers.

    A buffer is floored once a round, from two neighbouring values, so their difference errs by less than
    a step, and by less than the geometric sum of decays in all; without floors, row k after the change
    moves by Σ wλ^(k−1) of it, whose squares add up to geometric sums.
    """
    before, later = untransformed(vector, rounds), rounds.rounds - 1
    one_round(rounds)
    buffers = buffers_of(pairs, bits)
    floors = step * added(1 / (1 - decay) for _, decay in buffers)

    def moved(i: Interval) -> Pair:
        root = i.add(i.sqrt(decaying(i, before, buffers, later)), i.sqrt(i.of(floors**2 * later * width)))
        return i.mul(root, root)

    ensure(at_most(moved, most), "the stated bound is too small")
    return replace(vector, bound=most, units=(1, rounds.last))


def buffers_of(pairs: Any, bits: int) -> list[tuple[Fraction, Fraction]]:
    """Read the weights and decays of buffers, over 2^bits."""
    ensure(isinstance(pairs, list) and len(pairs) <= 64 and bits <= 64, "at most 64 buffers, over 2^64")
    ensure(all(isinstance(pair, list) and len(pair) == 2 for pair in pairs), "a buffer is [weight, decay]")
    buffers = [(Fraction(natural(w), 2**bits), Fraction(natural(f), 2**bits)) for w, f in pairs]
    ensure(all(decay < 1 for _, decay in buffers), "a decay is below 1")
    spend(2000 * len(buffers) ** 2)
    return buffers


def decaying(i: Interval, before: Fraction, buffers: list[tuple[Fraction, Fraction]], later: int) -> Pair:
    """Enclose the squared movement of all rounds from the change on, without floors."""
    total = i.of(before)
    for v, f in buffers:
        for w, g in buffers:
            left = i.sub(i.of(1), power_of(i, i.of(f * g), later))
            total = i.add(total, i.mul(i.of(before * v * w / (1 - f * g)), left))
    return total
