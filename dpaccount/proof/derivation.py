"""A theorem written down: a linear list of steps that the stand-alone checker infers again.

A step is ``{"rule", "from", "with", "gives", "digest"}``; `from` holds the indices of earlier steps,
and the digest is taken over the step's canonical JSON with its premises' digests in their place.
Nothing here is trusted: a wrong step is caught when it is checked.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from dpaccount.documents import canonical
from dpaccount.errors import RuleError

from .judgements import Approximate, Covered, Curve, Judgement, Private, Pure, Renyi, Rounds
from .theorem import Theorem


@dataclass(frozen=True)
class Hypothesis:
    """Something that the code must do for a theorem to apply, and the evidence it points to."""

    rule: str
    query: str
    because: str
    statement: dict[str, Any]
    digest: str  #: of its step in the written derivation


@dataclass(frozen=True)
class Leaf:
    """One kind of noise that a theorem pays for: the key, the law, and how many releases it covers.

    `rounds` releases share one bound (a factorised stream); `branch` says which part of which mixtures
    the leaf stands in: of a mixture only one part may be drawn.  `norm` is that of the query's movement;
    a buffered stream says how many numbers a release has at most, its `width`.
    """

    key: str
    rule: str
    parameters: dict[str, Any]
    draws: int
    rounds: int = 1
    branch: tuple[tuple[str, int], ...] = ()
    norm: str = ""
    width: int | None = None


def write(theorem: Theorem) -> list[dict[str, Any]]:
    """Return the derivation of `theorem`, premises before conclusions, equal steps once."""
    steps: list[dict[str, Any]] = []
    index_of: dict[str, int] = {}
    index_of_theorem: dict[int, int] = {}
    for part in walk(theorem):
        premises = [index_of_theorem[id(premise)] for premise in part.premises]
        step = {"rule": part.rule, "from": premises, "with": part.witness, "gives": as_json(part.conclusion)}
        chained = {**step, "from": [steps[index]["digest"] for index in premises]}
        digest = "sha256:" + hashlib.sha256(canonical(chained)).hexdigest()
        if digest not in index_of:
            index_of[digest] = len(steps)
            steps.append({**step, "digest": digest})
        index_of_theorem[id(part)] = index_of[digest]
    return steps


def walk(theorem: Theorem) -> Iterator[Theorem]:
    """Yield every theorem that `theorem` rests on, premises first and itself last, each once."""
    seen: set[int] = set()
    stack = [(theorem, False)]
    while stack:
        part, ready = stack.pop()
        if ready:
            yield part
        elif id(part) not in seen:
            seen.add(id(part))
            stack.append((part, True))
            stack.extend((premise, False) for premise in reversed(part.premises))


def hypotheses(theorem: Theorem) -> list[Hypothesis]:
    """Return what the code must do for `theorem` to apply, each once, in the order of the derivation."""
    return [
        Hypothesis(step["rule"], step["with"]["query"], step["with"]["because"], step["with"], step["digest"])
        for step in write(theorem)
        if step["rule"].startswith("assume_")
    ]


def leaves(theorem: Theorem) -> list[Leaf]:
    """Return the noise that `theorem` pays for.

    A leaf under `nodes` is drawn once for every cover, one on a factorised stream once for every round.
    Raises `RuleError` where a partition states other noise for replaced records than for added ones, and
    where the noise of a buffered stream is on another grid than its floors.
    """
    return _leaves(theorem, 1, (), "")


def _leaves(part: Theorem, draws: int, branch: tuple[tuple[str, int], ...], place: str) -> list[Leaf]:
    if "key" in part.witness:
        parameters = {name: value for name, value in part.witness.items() if name != "key"}
        key, rounds, norm = part.witness["key"], rows(part), getattr(part.premises[0].conclusion, "norm", "")
        return [Leaf(key, part.rule, parameters, draws * rounds, rounds, branch, norm, _width(part))]
    for premise in part.premises:
        if isinstance(premise.conclusion, Covered):
            draws *= premise.conclusion.releases
    found = []
    for index, premise in enumerate(part.premises):
        chosen = (*branch, (place, index)) if part.rule == "mixture" else branch
        found.append(_leaves(premise, draws, chosen, f"{place}.{index}"))
    if part.rule == "partition":
        found = [_of_one_release(found[1:], part)]
    return [leaf for leaves_of in found for leaf in leaves_of]


def _of_one_release(cells: list[list[Leaf]], part: Theorem) -> list[Leaf]:
    """Return the leaves of a partition's cells, which are stated once for every relation."""
    names = len(getattr(part.premises[0].conclusion, "cells", ()))
    halves = [[leaf for found in half for leaf in found] for half in (cells[:-names], cells[-names:])]
    swaps, steps = halves
    if swaps and [_law(leaf) for leaf in swaps] != [_law(leaf) for leaf in steps]:
        raise RuleError("a partition is released once: both relations must state the same noise, key by key")
    return steps


def _law(leaf: Leaf) -> tuple[object, ...]:
    given = {name: value for name, value in leaf.parameters.items() if name not in ("bound", "epsilon")}
    return leaf.key, leaf.rule, given, leaf.draws, leaf.norm == "frobenius-squared"


def _width(leaf: Theorem) -> int | None:
    """Return how many numbers a row of a buffered stream has at most; its floors are steps of the grid."""
    stream = next((part.witness for part in walk(leaf) if part.rule == "buffered"), None)
    if stream is None:
        return None
    step, grid = stream["step"], leaf.witness.get("grid", stream["step"])
    if Fraction(step) != Fraction(grid):
        raise RuleError(f"a stream is floored to steps of {step}; its noise is on {grid}: give both one step")
    return int(stream["width"])


def rows(leaf: Theorem) -> int:
    """Return how many releases share the bound of a leaf: the rounds of a factorised stream, or 1."""
    made = [part.premises[1].conclusion for part in walk(leaf) if part.rule in ("factorised", "buffered")]
    return max((fact.rounds for fact in made if isinstance(fact, Rounds)), default=1)


def digest_of(theorem: Theorem) -> str:
    """Return the digest of the last step, which fixes the whole derivation."""
    return str(write(theorem)[-1]["digest"])


def as_json(fact: Judgement) -> list[Any]:
    """Return a judgement as the list that a step's ``gives`` holds; exact numbers are strings."""
    return [type(fact).__name__, *map(_written, vars(fact).values())]


def curve_json(curve: Curve) -> list[Any]:
    """Return a curve as JSON: its measure and its exact parameters."""
    measure = re.sub("(?<=[a-z])(?=[A-Z])", "-", type(curve).__name__).lower()
    values = curve.points if isinstance(curve, Renyi) else vars(curve).values()
    return [measure, *map(_written, values)]


def _written(value: object) -> object:
    match value:
        case Fraction():
            return str(value)
        case tuple():
            return [_written(item) for item in value]
        case str():
            return str(value)  # a relation is written as its word
        case None | int():
            return value
    return curve_json(cast("Curve", value))


def point(theorem: Theorem) -> tuple[Fraction, Fraction]:
    """Return (ε, δ) of a theorem that ends in one point or in pure DP; raises `RuleError` for others."""
    fact = theorem.conclusion
    if isinstance(fact, Private) and isinstance(fact.curve, Approximate):
        return fact.curve.epsilon, fact.curve.delta
    if isinstance(fact, Private) and isinstance(fact.curve, Pure):
        return fact.curve.epsilon, Fraction(0)
    raise RuleError(f"needed a statement at (ε, δ), found {fact}")
