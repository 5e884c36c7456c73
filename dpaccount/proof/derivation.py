"""A theorem written down: a linear list of steps that the stand-alone checker infers again.

A step is ``{"rule", "from", "with", "gives", "digest"}``; `from` holds the indices of earlier steps,
and the digest is taken over the step's canonical JSON with its premises' digests in their place.
A wrong step is caught when it is checked; the list of hypotheses is trusted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaccount.checker.curves import Approximate, Pure
from dpaccount.checker.facts import Private, as_wire
from dpaccount.errors import RuleError

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
    steps: dict[str, dict[str, Any]] = {}
    places: dict[str, int] = {}
    for part in walk(theorem):
        known = part.known
        if known.digest not in steps:
            before = [places[premise.known.digest] for premise in part.premises]
            given = {name: _listed(value) for name, value in part.witness.items()}
            places[known.digest] = len(steps)
            body = {"rule": part.rule, "from": before, "with": given, "gives": as_wire(known.fact)}
            steps[known.digest] = {**body, "digest": known.digest}
    return list(steps.values())


def _listed(value: Any) -> Any:
    return list(map(_listed, value)) if isinstance(value, tuple) else value


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


def point(theorem: Theorem) -> tuple[Fraction, Fraction]:
    """Return (ε, δ) of a theorem that ends in one point or in pure DP; raises `RuleError` for others."""
    fact = theorem.conclusion
    if isinstance(fact, Private) and isinstance(fact.curve, Approximate):
        return fact.curve.epsilon, fact.curve.delta
    if isinstance(fact, Private) and isinstance(fact.curve, Pure):
        return fact.curve.epsilon, Fraction(0)
    raise RuleError(f"needed a statement at (ε, δ), found {fact}")
