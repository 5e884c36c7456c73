"""How far a unit moves a continual release, squared, where noise is 1: trees and factorisations.

Sources of the bounds: docs/numerics.md, "Groups" and "One unit in several rounds".
"""

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ..distributions import pi
from ..documents import Rejected, ensure, items, spend
from ..intervals import Interval, added, exact
from .releases import real, whole

MAX_ROUNDS = 1 << 18  # of a factor whose columns are added up row by row
HEAD = 20_000  # columns of a square root that are added up; the others are bounded
DIGITS = 40
MOST_BANDS = 1024  # of a square root whose coefficients are written out


def tree_runs(rounds: int, start: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield (nodes, cover): the rounds split by the binary digits of their number.

    A run of 2^j rounds lies under the j + 1 complete nodes that it contains or is contained in.
    """
    first = start
    for level in range(rounds.bit_length() - 1, -1, -1):
        if rounds >> level & 1:
            yield level + 1, (first, first + (1 << level) - 1)
            first += 1 << level


def root_coefficients(up: Any, count: int) -> Iterator[Decimal]:
    """Yield upper bounds on C(2k, k)/4^k, k < count."""
    term = Decimal(1)
    for k in range(count):
        yield term
        term = up.divide(up.multiply(term, Decimal(2 * k + 1)), Decimal(2 * k + 2))


def root_square(rounds: int) -> Fraction:
    """Bound Σ_{k<rounds} c_k², c_k = C(2k, k)/4^k: beyond the head by c_k² < 1/(π(k + 1/4)).

    A sum of 1/(k + 1/4), which falls, is at most the integral from one earlier on.
    """
    i = Interval(DIGITS)
    head, total = min(rounds, HEAD), Decimal(0)
    spend(4 * head)
    for term in root_coefficients(i.up, head):
        total = i.up.fma(term, term, total)
    if rounds > head:
        ratio = i.ln(i.of(Fraction(4 * rounds - 3, 4 * head - 3)))
        total = i.up.add(total, i.div(ratio, i.of(pi(DIGITS)))[1])
    return exact(total)


def ftrl_square(given: Any) -> Fraction:
    """Bound what the worst pattern of rounds moves: `participations` of them, `separation` apart."""
    rounds, apart = whole(given["rounds"], "rounds"), whole(given["separation"], "separation")
    times = min(whole(given["participations"], "participations"), -(-rounds // apart))
    mechanism, bands = given.get("mechanism", "tree"), whole(given.get("bands", 1), "bands")
    ensure(bands == 1 or mechanism == "banded-toeplitz", "bands belong to banded-toeplitz")
    ensure("rows" not in given, "a matrix that is written out is beyond this checker")
    ensure(("coefficients" in given) == (mechanism == "toeplitz"), "coefficients belong to toeplitz")
    if mechanism == "tree":
        return Fraction(tree_square(rounds, times, apart))
    ensure(rounds <= MAX_ROUNDS, "too many rounds for this checker")
    i = Interval(DIGITS)
    if mechanism in ("sqrt-toeplitz", "banded-toeplitz"):
        width = rounds if mechanism == "sqrt-toeplitz" else min(bands, rounds)
        column = [*root_coefficients(i.up, width)]
    elif mechanism == "toeplitz":
        exact = [real(each, "a coefficient") for each in items(given["coefficients"])][:rounds]
        ensure(exact != [], "toeplitz has one coefficient at least")
        falling = all(a >= b for a, b in pairwise(exact))
        ensure(falling, "coefficients that rise are beyond this checker")
        column = [i.of(each)[1] for each in exact]
    else:
        raise Rejected("unknown mechanism")
    return spaced_square(i.up, column, rounds, times, apart)


def banded_columns(given: Any) -> list[tuple[Fraction, int]]:
    """Return the longest column's square in each turn of `parts` rounds, counted (docs/numerics.md).

    A unit's rounds are `parts` apart; no column reaches that far, so that their rows are disjoint.
    """
    rounds, parts = whole(given["rounds"], "rounds"), whole(given["parts"], "parts")
    turns = -(-rounds // parts)
    ensure("rows" not in given, "a matrix that is written out is beyond this checker")
    if "coefficients" in given:
        column = [real(each, "a coefficient", -(10**9)) for each in items(given["coefficients"])]
    else:
        ensure(parts <= MOST_BANDS, "more bands than this checker adds up")
        column = [Fraction(math.comb(2 * k, k), 4**k) for k in range(parts)]
    ensure(column != [] and not any(column[parts:]), "more bands than parts")
    ends = rounds, rounds - (turns - 1) * parts  # the last turn may be cut short
    whole_turn, last = (added(each**2 for each in column[:end]) for end in ends)
    return [(whole_turn, turns - 1), (last, 1)]


def spaced_square(up: Any, column: list[Decimal], rounds: int, times: int, apart: int) -> Fraction:
    """Bound |C_0 + C_b + C_2b + …|² of so many columns, of which this is the first."""
    total = Decimal(0)
    for row in range(rounds):
        held = range(max(0, row - len(column) + apart) // apart * apart, row + 1, apart)
        inside = [k for k in held if k < times * apart and row - k < len(column)]
        spend(4 + 2 * len(inside))
        value = Decimal(0)
        for k in inside:
            value = up.add(value, column[row - k])
        total = up.fma(value, value, total)
    return exact(total)


def tree_square(rounds: int, times: int, apart: int) -> int:
    """Bound Σ over complete nodes of (rounds of the pattern under it)²: on each level as many full ones."""
    squares = 0
    for level in range(rounds.bit_length()):
        whole_blocks, most = rounds >> level << level, -(-(1 << level) // apart)
        held = min(times, -(-whole_blocks // apart))
        squares += held // most * most**2 + (held % most) ** 2
    return squares
