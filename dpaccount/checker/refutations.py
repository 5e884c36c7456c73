"""How well two stated neighbours can be distinguished, and that a point therefore does not hold."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from .curves import gdp_delta
from .documents import Rejected, anything, ensure, items, spend, text
from .facts import Apart, Covered, Refuted, rule
from .hypotheses import hypothesis
from .intervals import ZERO, Interval, Pair, added, at_most, number, positive
from .relation import neighbours_of, relation_of, replaced


def observer_of(value: object) -> str:
    """Read who observes."""
    ensure(value in ("central", "joint", "local"), "unknown observer")
    return text(value)


def vector_of(value: object) -> list[Fraction]:
    """Read a vector."""
    return list(map(number, items(value)))


@hypothesis(kind=anything, left=vector_of, right=vector_of, relation=relation_of, observer=observer_of)
def assume_neighbours(
    query: str, kind: str, left: list[Fraction], right: list[Fraction], relation: str, observer: str
) -> Apart:
    """Two neighbours, and the movement of a query between them."""
    ensure(0 < len(left) == len(right), "two vectors of one length are needed")
    spend(60 * len(left) ** 2)
    ensure(replaced(relation) or not any(right), "the record that is absent contributes 0")
    ensure(kind in ("vector", "rank-one", "outer"), "the kind is vector, rank-one or outer")
    moves = [a - b for a, b in zip(left, right, strict=True)]
    if kind == "vector" and len(moves) == 1:
        return Apart(query, "number", (abs(moves[0]),), relation, observer)
    if kind == "vector":
        return Apart(query, "vector", (added(x * x for x in moves),), relation, observer)
    ensure(len(left) > 1 and replaced(relation), "features and a reward are replaced")
    square = matrices_apart(left, right, corner=kind == "outer")
    return Apart(query, "symmetric", (square,), relation, observer)


def matrices_apart(left: list[Fraction], right: list[Fraction], *, corner: bool) -> Fraction:
    """Return the squared distance of v vᵀ and w wᵀ, entry by entry, with the last corner or without."""
    size, last = Fraction(0), len(left) - 1
    for j in range(last + 1):
        for k in range(last + 1 if corner or j < last else last):
            size = added([size, (left[j] * left[k] - right[j] * right[k]) ** 2])
    return size


@hypothesis(likely=number, rarely=number, relation=neighbours_of, observer=observer_of)
def assume_event(query: str, likely: Fraction, rarely: Fraction, relation: str, observer: str) -> Apart:
    """An event: its least probability for one neighbour, and its largest for the other."""
    ensure(all(0 <= p <= 1 for p in (likely, rarely)), "a probability lies in [0, 1]")
    return Apart(query, "event", (likely, rarely), relation, observer)


# Source: elementary.  Trap: D² for D²/2 of a symmetric query, whose noise has twice the variance on the
# diagonal. Or Laplace noise on several releases, whose losses do not add up to those of one.
@rule(Apart, Covered, law=anything, scale=positive)
def apart(neighbours: Apart, covered: Covered, law: Any, scale: Fraction) -> Apart:
    """Noise on a query that moves: two Gaussian or two Laplace laws, and their distance."""
    same = neighbours.query == covered.query
    ensure(same, f"the covers are of {covered.query!r}, not of {neighbours.query!r}")
    size = neighbours.numbers[0]
    if law == "laplace":
        single = neighbours.law == "number" and covered.most == 1
        ensure(single, "Laplace noise is told apart on one release of a number")
        return replace(neighbours, law="laplace", numbers=(size / scale,))
    square = {"number": size * size, "vector": size, "symmetric": size / 2}.get(neighbours.law)
    if law != "gaussian" or square is None:
        raise Rejected(f"no law of noise {law!r} on {neighbours.law!r}")
    return replace(neighbours, law="gaussian", numbers=(covered.most * square / scale,))


# Source: elementary.  Trap: δ(ε) = δ, which refutes nothing.  Rejected: to count what intervals leave
# undecided.
@rule(Apart, epsilon=number, delta=number)
def refute(pair: Apart, epsilon: Fraction, delta: Fraction) -> Refuted:
    """A point that two laws exceed."""
    ensure(epsilon >= 0 and 0 <= delta <= 1, "epsilon must be at least 0 and delta in [0, 1]")
    ensure(pair.law in MINUS_DELTA, f"{pair.law!r} is not a pair of laws")
    # −δ(ε) ≤ −δ is decided strictly: equality is not a refutation
    least = delta + Fraction(1, 10**400)
    beaten = at_most(lambda i: MINUS_DELTA[pair.law](i, pair.numbers, epsilon), -least)
    ensure(beaten, f"δ({float(epsilon):.9g}) is not shown to exceed {float(delta):.6g}")
    return Refuted(pair.query, epsilon, delta, pair.relation, pair.observer)


# ------------------------------------------------------------------ −δ(ε) of a pair of laws


def event_delta(i: Interval, values: tuple[Fraction, ...], epsilon: Fraction) -> Pair:
    """Enclose e^ε q − p of an event of probability p under one law, q under the other."""
    likely, rarely = values
    return i.sub(i.mul(i.exp(i.of(epsilon)), i.of(rarely)), i.of(likely))


def laplace_delta(i: Interval, values: tuple[Fraction, ...], epsilon: Fraction) -> Pair:
    """Enclose −δ(ε) of Laplace laws of scale 1 that are moved by m: e^((ε−m)/2) − 1, at most 0."""
    return i.sub(i.exp(i.of(min(epsilon - values[0], Fraction(0)) / 2)), i.of(1))


def gaussian_delta(i: Interval, values: tuple[Fraction, ...], epsilon: Fraction) -> Pair:
    """Enclose −δ(ε) of N(0, 1) and N(μ, 1)."""
    return i.neg(gdp_delta(values[0], epsilon)(i)) if values[0] else ZERO


MINUS_DELTA: dict[str, Callable[[Interval, tuple[Fraction, ...], Fraction], Pair]] = {
    **{"event": event_delta, "laplace": laplace_delta, "gaussian": gaussian_delta},
}
