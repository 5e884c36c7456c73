"""A theorem written down: a linear list of steps that the stand-alone checker infers again.

A step is ``{"rule", "from", "with", "gives", "digest"}``; `from` holds the indices of earlier steps,
and the digest is taken over the step's canonical JSON with its premises' digests in their place.
A wrong step is caught when it is checked; the list of hypotheses is trusted.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from dpaccount.documents import digest
from dpaccount.errors import RuleError
from dpaccount.relation import written_relation

from .judgements import Approximate, Curve, Judgement, Private, Pure, Renyi
from .theorem import Theorem


@dataclass(frozen=True)
class Hypothesis:
    """Something that the code must do for a theorem to apply, and the evidence it points to."""

    rule: str
    query: str
    because: str
    statement: dict[str, Any]
    digest: str  #: of its step in the written derivation


def write(theorem: Theorem) -> list[dict[str, Any]]:
    """Return the derivation of `theorem`, premises before conclusions, equal steps once."""
    steps: list[dict[str, Any]] = []
    index_of: dict[str, int] = {}
    index_of_theorem: dict[int, int] = {}
    for part in walk(theorem):
        premises = [index_of_theorem[id(premise)] for premise in part.premises]
        given = {name: _written(value) for name, value in part.witness.items()}
        step = {"rule": part.rule, "from": premises, "with": given, "gives": as_json(part.conclusion)}
        # Premises by digest and not by place, so that a step has one digest wherever it stands.
        chained = {**step, "from": [steps[index]["digest"] for index in premises]}
        chain = digest(chained)
        if chain not in index_of:
            index_of[chain] = len(steps)
            steps.append({**step, "digest": chain})
        index_of_theorem[id(part)] = index_of[chain]
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


def digest_of(theorem: Theorem) -> str:
    """Return the digest of the last step, which fixes the whole derivation."""
    return str(write(theorem)[-1]["digest"])


def as_json(fact: Judgement) -> list[Any]:
    """Return a judgement as the list that a step's ``gives`` holds; exact numbers are strings."""
    word = {"relation": written_relation(fact.relation)} if isinstance(fact, Private) else {}
    return [type(fact).__name__, *map(_written, (vars(fact) | word).values())]


def curve_json(curve: Curve) -> list[Any]:
    """Return a curve as JSON: its measure and its exact parameters."""
    measure = re.sub("(?<=[a-z])(?=[A-Z])", "-", type(curve).__name__).lower()
    values = curve.points if isinstance(curve, Renyi) else vars(curve).values()
    return [measure, *map(_written, values)]


def _written(value: object) -> object:
    match value:
        case tuple():
            return [_written(item) for item in value]
        case Fraction() | str():  # a relation is written as its word
            return str(value)
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
