"""The noise that a theorem pays for: which keys may be drawn, with which distribution, how often.

Trusted like the rules: the checker verifies what a derivation proves, not what a run draws.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any

from dpaccount.errors import RuleError
from dpaccount.proof import Covered, Rounds, Theorem, walk

STREAMED = ("factorised", "buffered", "stream_l1")  #: rules whose rows share one bound


@dataclass(frozen=True)
class Leaf:
    """One noise that a theorem pays for: its key, its distribution, and the number of releases (`draws`).

    `rounds` releases share one bound (a factorised stream).  `branch` has (mixture, part) for every
    mixture above the leaf: only one part of a mixture may be drawn.  `norm` is that of the query's
    sensitivity; `width` is the maximum size of a release of a buffered stream.
    """

    key: str
    rule: str
    parameters: dict[str, Any]
    draws: int
    rounds: int = 1
    branch: tuple[tuple[str, int], ...] = ()
    norm: str = ""
    width: int | None = None


def leaves(theorem: Theorem) -> list[Leaf]:
    """Return the noise that `theorem` pays for.

    A leaf under `nodes` is drawn once for every cover, one on a factorised stream once for every round.
    Raises `RuleError` if the noise of a buffered stream is on another grid than its rounding.
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
        cells = len(getattr(part.premises[0].conclusion, "cells", ()))
        found = found[-cells:]  # the premises under both relations are about the same noise
    return list(chain.from_iterable(found))


def _width(leaf: Theorem) -> int | None:
    """Return the maximum size of a row of a buffered stream, which is rounded to its grid; else None."""
    stream = next((part.witness for part in walk(leaf) if part.rule == "buffered"), None)
    if stream is None:
        return None
    step, grid = stream["step"], leaf.witness.get("grid", stream["step"])
    if Fraction(step) != Fraction(grid):
        raise RuleError(f"a stream is floored to steps of {step}; its noise is on {grid}: give both one step")
    return int(stream["width"])


def rows(leaf: Theorem) -> int:
    """Return how many releases share the bound of a leaf: the rounds of a factorised stream, or 1."""
    made = [part.premises[1].conclusion for part in walk(leaf) if part.rule in STREAMED]
    return max((fact.rounds for fact in made if isinstance(fact, Rounds)), default=1)
