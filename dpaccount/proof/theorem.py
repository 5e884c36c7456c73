"""Theorems: `hypotheses ⊢ conclusion`, each inferred by the checker, and how they are written down.

A derivation is a list of steps ``{"rule", "from", "with", "gives", "digest"}``; `from` holds the indices of
earlier steps, and the digest is that of the step's canonical JSON with its premises' digests in their place.
A wrong step is caught when it is checked; the list of hypotheses is trusted.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from dpaccount.checker.curves import Approximate, Pure, as_json
from dpaccount.checker.documents import BROKEN, Rejected, Work
from dpaccount.checker.facts import RULES, SIMPLE, Judgement, Optional, Private, as_wire, frozen
from dpaccount.checker.intervals import number, positive
from dpaccount.errors import RuleError
from dpaccount.forks import unforked

if TYPE_CHECKING:
    from dpaccount.checker.derivation import Inferred

# It stops accidents, not intent: what others rely on is that the checker infers the written derivation anew.
_SEAL = object()


@dataclass(frozen=True, eq=False, repr=False)
class Theorem:
    """A proved judgement with the rule, premises and witness that proved it; created by rules only."""

    rule: str
    premises: tuple["Theorem", ...]
    witness: Mapping[str, Any]  #: as derivations write it, in tuples, hence immutable
    known: "Inferred"  #: what the checker infers
    seal: InitVar[object] = None

    def __post_init__(self, seal: object) -> None:
        """Refuse everyone but the rules; keep a witness of its own."""
        if seal is not _SEAL:
            raise RuleError("a Theorem comes from a rule; call the rule instead")
        own = {name: frozen(value) for name, value in self.witness.items()}
        object.__setattr__(self, "witness", MappingProxyType(own))

    @property
    def conclusion(self) -> Judgement:
        """Return what is proved."""
        fact: Judgement = self.known.fact
        return fact

    @property
    def digest(self) -> str:
        """Return the digest of its last step, which fixes the whole derivation."""
        return self.known.digest

    def __init_subclass__(cls) -> None:
        """Refuse subclasses."""
        raise RuleError("Theorem cannot be subclassed")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse pickling and copying: a theorem travels as a derivation, and is checked on arrival."""
        raise RuleError("a Theorem cannot be pickled or copied; write its derivation instead")

    def __repr__(self) -> str:
        """Show the conclusion and the rule."""
        return f"⊢ {self.conclusion}  [{self.rule}]"


def inferred(rule: str, *premises: Theorem, **witness: Any) -> Theorem:
    """Return the theorem that the checker infers by a rule; a witness leaves out members that are None.

    Raises `RuleError` with what the checker says where the conclusion does not follow.
    """
    step = _step()
    others = [type(each).__name__ for each in premises if type(each) is not Theorem]
    if others:
        raise RuleError(f"{rule}: a premise must be a Theorem, found {', '.join(others)}")
    members = RULES[rule].members
    given = {
        name: _written(rule, name, value, members.get(name))
        for name, value in witness.items()
        if value is not None
    }
    # Each step has the work budget of a document; all steps together are limited when they are checked.
    Work.begin()
    try:
        known = step(rule, [each.known for each in premises], given)
        return Theorem(rule, premises, given, known._replace(drawn=MappingProxyType(known.drawn)), _SEAL)
    except Rejected as why:
        raise RuleError(f"{rule}: {why}") from None
    except BROKEN as why:
        raise RuleError(
            f"{rule}: a value has the wrong shape ({type(why).__name__}: {str(why)[:80]})"
        ) from None


@lru_cache(maxsize=1)
def _step() -> "Callable[..., Inferred]":
    """Return the checker's function, not imported at start-up: listing subjects proves nothing."""
    with unforked():
        from dpaccount.checker.derivation import step
    return step


def told(part: Theorem, name: str) -> Any:
    """Return a member of a conclusion, None where there is none: the rule says what it needs."""
    return getattr(getattr(part, "conclusion", None), name, None)


def exact(values: Sequence[Fraction | int]) -> list[Fraction | int]:
    """Return integers as fractions; what is not exact stays, and is refused later."""
    # Of this very type: to isinstance true and false are whole numbers, and no number of a proof.
    return [Fraction(value) if type(value) is int else value for value in values]


def _written(rule: str, name: str, value: Any, reader: Any) -> Any:
    """Return a value as derivations write it: exact numbers as texts, no floats."""
    if isinstance(reader, Optional):
        reader = reader.of
    exactly = reader in (number, positive)
    if isinstance(value, list | tuple):
        if SIMPLE.issuperset(map(type, value)):
            return list(value)
        return [_written(rule, name, each, None) for each in value]
    if type(value) is Fraction or (exactly and type(value) is int):
        return str(value)
    if exactly or not isinstance(value, int | str):
        raise RuleError(f"{rule}: {name} must be exact, found {type(value).__name__}")
    return value


def releases(theorem: Theorem) -> tuple[str, ...]:
    """Return the keys of all the noise that a theorem rests on, and the names of filters, sorted."""
    return tuple(sorted(theorem.known.drawn))


# ------------------------------------------------------------------ written down


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
            given = {name: as_json(value) for name, value in part.witness.items()}
            places[known.digest] = len(steps)
            body = {"rule": part.rule, "from": before, "with": given, "gives": as_wire(known.fact)}
            steps[known.digest] = {**body, "digest": known.digest}
    return list(steps.values())


def read(steps: Any) -> Theorem:
    """Return the theorem that a written derivation ends in, every step inferred anew.

    Raises `RuleError` with what the checker says where a step does not follow.
    """
    with unforked():
        from dpaccount.checker.derivation import inferred as infer_all
    try:
        known = infer_all(steps)
    except Rejected as why:
        raise RuleError(f"the derivation is refused: {why}") from None
    done: list[Theorem] = []
    for step, each in zip(steps, known, strict=True):
        premises, own = (done[k] for k in step["from"]), each._replace(drawn=MappingProxyType({**each.drawn}))
        done.append(Theorem(step["rule"], tuple(premises), step["with"], own, _SEAL))
    return done[-1]


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
