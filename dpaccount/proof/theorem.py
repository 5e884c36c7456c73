"""Theorems: `hypotheses ⊢ conclusion`, created by rules only, and how rules read their premises."""

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from types import MappingProxyType
from typing import Any, Final, NoReturn

from dpaccount.errors import RuleError

from .decide import need
from .judgements import Contribution, Judgement, Private, Stable

TRANSFORMS: Final = ("joint", "centred", "factorised", "buffered")  #: public, of a query before its noise
# It stops accidents, not intent: what others rely on is that the checker infers the written derivation anew.
_SEAL = object()


@dataclass(frozen=True, eq=False, repr=False)
class Theorem:
    """A proved judgement with the rule, premises and witness that proved it; created by rules only."""

    conclusion: Judgement
    rule: str
    premises: tuple["Theorem", ...]
    witness: Mapping[str, Any]  #: in tuples, hence immutable
    seal: InitVar[object] = None

    def __post_init__(self, seal: object) -> None:
        """Refuse everyone but the rules; keep a witness of its own."""
        if seal is not _SEAL:
            raise RuleError("a Theorem comes from a rule of the kernel; call the rule instead")
        own = {name: _frozen(value) for name, value in self.witness.items()}
        object.__setattr__(self, "witness", MappingProxyType(own))

    def __init_subclass__(cls) -> None:
        """Refuse subclasses."""
        raise RuleError("Theorem cannot be subclassed")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse pickling and copying: a theorem travels as a derivation, and is checked on arrival."""
        raise RuleError("a Theorem cannot be pickled or copied; write its derivation instead")

    def __repr__(self) -> str:
        """Show the conclusion and the rule."""
        return f"⊢ {self.conclusion}  [{self.rule}]"


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def proved(rule: str, conclusion: Judgement, premises: Sequence[Theorem] = (), **witness: Any) -> Theorem:
    """Make a theorem: for the rules of the trusted base only."""
    return Theorem(conclusion, rule, tuple(premises), witness, _SEAL)


def conclusion_of(theorem: Theorem, rule: str) -> Judgement:
    """Return a premise's conclusion; refuse anything but a theorem."""
    need(type(theorem) is Theorem, rule, f"a premise must be a Theorem, found {type(theorem).__name__}")
    return theorem.conclusion


def private(theorem: Theorem, rule: str) -> Private:
    """Return a privacy statement, refusing any other premise."""
    fact = conclusion_of(theorem, rule)
    if not isinstance(fact, Private):
        raise RuleError(f"{rule}: needed a privacy statement, found {type(fact).__name__}")
    return fact


def stable(theorem: Theorem, rule: str, norm: str) -> Stable:
    """Return a sensitivity in this norm, refusing any other premise."""
    fact = conclusion_of(theorem, rule)
    if not isinstance(fact, Stable) or fact.norm != norm:
        raise RuleError(f"{rule}: needed a bound in {norm}, found {fact}")
    return fact


def contribution_of(theorem: Theorem, rule: str, *kinds: str) -> Contribution:
    """Return the contribution of each unit; refuse other premises and kinds."""
    fact = conclusion_of(theorem, rule)
    if not isinstance(fact, Contribution) or (kinds and fact.kind not in kinds):
        raise RuleError(f"{rule}: needed a contribution {' or '.join(kinds)}, found {fact}")
    return fact


def plain_vector(query: Theorem, rule: str) -> Stable:
    """Return the movement of a vector in ℓ2, refusing one that is transformed already."""
    fact = stable(query, rule, "l2-squared")
    need(fact.units is None, rule, "the query is transformed already; transform the whole at once")
    return fact


def releases(theorem: Theorem) -> tuple[str, ...]:
    """Return the keys of all the noise that a theorem rests on, and the names of filters, sorted."""
    keys, seen, waiting = set(), {id(theorem)}, [theorem]
    while waiting:
        part = waiting.pop()
        if "key" in part.witness or part.rule == "assume_filter":
            keys.add(str(part.witness.get("key", part.witness.get("query"))))
        waiting += [premise for premise in part.premises if id(premise) not in seen]
        seen.update(map(id, part.premises))
    return tuple(sorted(keys))


Draws = dict[str, tuple[Any, ...]]  #: by key: the query of a draw, its law, its covers


def draws(parts: Sequence[Theorem], rule: str) -> Draws:
    """Return the draw under every key; refuse a key drawn on two queries, laws or covers.

    a + X and b + X, shown together, reveal a − b exactly; bounds and relations of one query may differ.
    """
    known: Draws = {}
    waiting: list[tuple[Theorem, Theorem | None]] = [(part, None) for part in parts]
    seen: set[tuple[int, int]] = set()
    while waiting:
        part, over = waiting.pop()
        if (id(part), id(over)) in seen:
            continue
        seen.add((id(part), id(over)))
        if part.rule in ("nodes", "local"):
            over = part.premises[1]
        if "key" in part.witness or part.rule == "assume_filter":
            name = str(part.witness.get("key", part.witness.get("query")))
            drawn = (_value(part), _law(part), None if over is None else _step(over))
            same = known.setdefault(name, drawn) == drawn
            need(same, rule, f"the key {name!r} names two draws; give each draw a key of its own")
        else:
            waiting += [(premise, over) for premise in part.premises]
    return known


def _law(noise: Theorem) -> tuple[object, ...]:
    """Return the law of noise: its rule and numbers, but for bounds on the query, and its symmetry."""
    if not noise.premises:
        return (noise.rule,)  # a filter, whose budget is another for other neighbours
    given = {k: v for k, v in noise.witness.items() if k not in ("bound", "epsilon", "distance")}
    return noise.rule, given, getattr(noise.premises[0].conclusion, "norm", "") == "frobenius-squared"


def _value(noise: Theorem) -> list[Any]:
    """Return the query of a draw: its name, and the public transformations of it."""
    if not noise.premises:
        return [noise.rule]  # a filter, which draws nothing itself
    query = noise.premises[0]
    steps: list[Any] = [getattr(query.conclusion, "query", "")]
    while query.rule in TRANSFORMS:
        steps.append((_step(query), [part.conclusion for part in query.premises[1:2]]))
        query = query.premises[0]
    return steps


def _step(part: Theorem) -> tuple[str, dict[str, Any]]:
    return part.rule, {k: v for k, v in part.witness.items() if k not in ("because", "most")}
