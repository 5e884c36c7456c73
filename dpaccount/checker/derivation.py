"""A derivation, inferred again step by step; and the list of what to read to judge one."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from . import composition, conversions, hypotheses, noise, refutations, relation, sensitivity
from .curves import Approximate, BoundedRange, Lattice, Renyi
from .documents import BROKEN, Rejected, Work, brief, canonical, check_members, digest, ensure, spend, text
from .facts import RULES, Fact, Private, apply, as_wire, fact_of

MAX_STEPS = 300
MAX_PREMISES = 5000
MAX_KEY = 200  # characters of the key of a draw
FAMILIES = (hypotheses, sensitivity, noise, composition, conversions, refutations)  # which declare the rules
KEEPING = {"billboard", "local_view", "persons", "post_process", "replace_one", "group", "within"}
NOISE = {name for name, declared in RULES.items() if "key" in declared.members}

Step = dict[str, Any]
#: Names of noise and of filters; for each the query, how it was transformed, the law, and the covers.
Draws = Mapping[str, tuple[str, str, str, str]]


def infer(rule: str, premises: list[list[Any]], given: dict[str, Any]) -> list[Any]:
    """Return a rule's conclusion from premises and a witness, all in JSON form, or reject."""
    return as_wire(apply(rule, [fact_of(wire) for wire in premises], given))


class Inferred(NamedTuple):
    """What is known of a step."""

    fact: Fact
    drawn: Draws  #: all noise that it rests on
    transform: str  #: a digest of covers or of a query's transformations, empty for other steps
    digest: str  #: of the step and of all before it


def step(rule: str, premises: Sequence[Inferred], given: dict[str, Any]) -> Inferred:
    """Infer one step from those that it rests on, or reject."""
    facts, drawn = [each.fact for each in premises], [each.drawn for each in premises]
    fact = apply(text(rule), facts, given)
    check_named_noise(rule, facts, drawn)
    check_cells(rule, facts, drawn)
    check_plain_sum(rule, [each.transform for each in premises])
    chained = {
        "rule": rule,
        "from": [each.digest for each in premises],
        "with": given,
        "gives": as_wire(fact),
    }
    transform = transform_digest(rule, premises, given)
    return Inferred(fact, noise_of(rule, premises, given, fact), transform, digest(chained))


def check_derivation(steps: object) -> list[list[Any]]:
    """Infer every step again; return the conclusions, or reject naming the first step that fails."""
    return [as_wire(fact) for fact in conclusions(steps)]


def conclusions(steps: object) -> list[Fact]:
    """Return each step's fact, or reject naming the first that fails."""
    return [each.fact for each in inferred(steps)]


def inferred(steps: object) -> list[Inferred]:
    """Return what is known of each step, or reject naming the first that fails."""
    if not isinstance(steps, list) or not 0 < len(steps) <= MAX_STEPS:
        raise Rejected(f"the derivation should be a list of 1 to {MAX_STEPS} steps")
    Work.begin()
    done = list[Inferred]()
    for index, each in enumerate(steps):
        name = each.get("rule") if isinstance(each, dict) else None
        try:
            done.append(followed(each, done))
        except Rejected as why:
            raise Rejected(f"step {index} ({brief(name)}): {why}") from None
        except BROKEN as why:
            raise Rejected(f"step {index} ({brief(name)}): {type(why).__name__} while inferring it") from None
    return done


def followed(given: Any, done: list[Inferred]) -> Inferred:
    """Infer the next written step, and verify that it claims what is inferred, or reject."""
    check_members(given, ("rule", "from", "with", "gives", "digest"))
    before = premises_of(given, len(done))
    check_members(given["with"], given["with"])
    known = step(given["rule"], [done[k] for k in before], given["with"])
    wire = as_wire(known.fact)
    same = canonical(wire) == canonical(given["gives"])
    ensure(same, f"claims {brief(given['gives'])}, but proves {brief(wire)}")
    ensure(given["digest"] == known.digest, "its digest does not match")
    return known


def noise_of(rule: str, premises: Sequence[Inferred], given: dict[str, Any], fact: Fact) -> Draws:
    """Return the noise that a step rests on; verify that a key names one query, law and cover.

    a + X and b + X, shown together, reveal a − b; bounds and relations of one query may differ.
    """
    if rule in NOISE:
        drawn = (fact.subject, premises[0].transform, law_of(rule, premises[0].fact, given), "")
        return {name_of_draw(given["key"], MAX_KEY): drawn}
    if rule == "assume_filter":
        return {name_of_draw(given["query"], composition.MAX_SUBJECT): ("", "", rule, "")}
    merged: dict[str, Any] = {}
    parts = {id(each): each.drawn for each in premises}.values()
    spend(sum(map(len, parts)))
    for part in parts:
        for name, value in part.items():
            same = merged.setdefault(name, value) == value
            ensure(same, f"the key {brief(name)} names two draws")
    if rule in ("nodes", "local"):
        over = premises[1].transform
        return {name: (query, how, law, over) for name, (query, how, law, _) in merged.items()}
    return merged


def law_of(rule: str, query: Fact, given: dict[str, Any]) -> str:
    """Return a digest of the law of noise: its rule and numbers, but for bounds on the query."""
    numbers = {k: v for k, v in given.items() if k not in ("bound", "epsilon", "distance")}
    return digest([rule, numbers, getattr(query, "norm", "") == "frobenius-squared"])


def transform_digest(rule: str, premises: Sequence[Inferred], given: dict[str, Any]) -> str:
    """Return a digest of covers, or of a query's transformations so far; empty for other steps.

    Stated bounds and the reasons for hypotheses are not part of it.
    """
    if rule not in (*sensitivity.TRANSFORMS, "assume_covers", "assume_tree"):
        return ""
    numbers = {k: v for k, v in given.items() if k not in ("because", "most")}
    covers = [as_wire(each.fact) for each in premises[1:2]]
    return digest([rule, numbers, covers, [each.transform for each in premises[:1]]])


def premises_of(written: Step, index: int) -> list[int]:
    """Return the numbers of the earlier steps that a step rests on."""
    before = written["from"]
    spend(1000)
    fine = isinstance(before, list) and len(before) <= MAX_PREMISES
    ensure(fine, f"from should be a list of at most {MAX_PREMISES} earlier steps")
    spend(12 * len(before))
    for k in before:
        ensure(type(k) is int and 0 <= k < index, f"premise {k!r} is not an earlier step")
    return list(before)


def name_of_draw(name: object, most: int) -> str:
    """Read the name of a draw."""
    ensure(len(text(name)) <= most, f"the name of a draw has more than {most} characters")
    return text(name)


def check_named_noise(rule: str, premises: list[Fact], drawn: list[Draws]) -> None:
    """Verify that a view names the noise it reads, and a choice that of its parts."""
    if rule not in ("post_process", "billboard", "local_view", "mixture"):
        return
    spend(sum(len(name) for part in drawn for name in part) // 10 + sum(map(len, drawn)))
    names = {id(part): tuple(sorted(part)) for part in drawn}
    listed = [names[id(part)] for part in drawn]
    if rule == "mixture":
        ensure(premises[0].parts == tuple(listed[1:]), f"the choice is not among {brief(listed[1:3])}")
    else:
        paid = f"the view does not read {brief(listed[0])}, which is paid for"
        ensure(premises[1].releases == listed[0], paid)


def check_cells(rule: str, premises: list[Fact], drawn: list[Draws]) -> None:
    """Verify that a partition's cells draw one noise, which both relations speak of."""
    if rule == "partition" and len(premises) > 1 + (cells := len(premises[0].cells)):
        same = drawn[1 : 1 + cells] == drawn[1 + cells :]
        ensure(same, "a cell draws other noise for one relation than for the other")


def check_plain_sum(rule: str, transforms: list[str]) -> None:
    """Verify that a bound on what a unit adds is used on a plain, untransformed sum."""
    if rule == "factorised" and len(transforms) > 2:
        ensure(not transforms[0], "what a unit adds is known of a plain sum only")


def unconverted(steps: list[Step], facts: list[Fact], k: int = -1) -> Fact | None:
    """Return the fact before its conversion to (ε, δ), which ledgers charge if they can."""
    rule, before = steps[k]["rule"], steps[k]["from"]
    if rule == "to_approximate":
        return facts[before[0]]
    first = unconverted(steps, facts, before[0]) if rule in KEEPING else None
    if not isinstance(first, Private):
        return None
    if rule == "group" and isinstance(first.curve, Approximate | Renyi):
        return None
    if rule == "group" and isinstance(first.curve, BoundedRange | Lattice):
        first = apply("to_zcdp", [first], {})
    given = {name: each for name, each in steps[k]["with"].items() if name != "delta"}
    return apply(rule, [first, *(facts[one] for one in before[1:])], given)


def reachable(steps: list[Step]) -> Iterator[Step]:
    """Yield the steps that the last one rests on; of no steps none."""
    wanted = {len(steps) - 1}
    for index in range(len(steps) - 1, -1, -1):
        if index in wanted:
            wanted.update(steps[index]["from"])
            yield steps[index]


# ------------------------------------------------------------------ what to read


def reading_list(steps: list[Step], *start: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rules that the last step rests on, each with its file and line, and the files of the core.

    The core is this module, that on relations, the modules `start`, and all that these import from; what a
    rule calls is in its own file or in the core.
    """
    sources = {name: RULES[name].source for name in sorted({s["rule"] for s in reachable(steps)})}
    return listed(sources, __name__, relation.__name__, *start)


def listed(sources: dict[str, Any], *start: str) -> dict[str, list[dict[str, Any]]]:
    """Return rules with their files and lines, and the modules `start` with all that these import from.

    Files are named from the checker's folder, in the order of their imports.
    """
    wanted, waiting = set[str](), {*start}
    while waiting:
        wanted |= waiting
        held = [value for name in waiting for value in vars(sys.modules[name]).values()]
        homes = {str(getattr(value, "__module__", "")) for value in held}
        waiting = {home for home in homes if home.startswith(f"{__package__}.")} - wanted
    rules = [
        {"rule": name, "file": file_of(source.__module__), "line": source.__code__.co_firstlineno}
        for name, source in sources.items()
    ]
    files = [{"file": file_of(n), "lines": lines_of(n)} for n in list(sys.modules) if n in wanted]
    return {"rules": rules, "files": files}


def file_of(name: str) -> str:
    """Return the path of a module, relative to the checker's folder."""
    path = name.removeprefix(f"{__package__}.").replace(".", "/")
    return f"{path}/__init__.py" if hasattr(sys.modules[name], "__path__") else f"{path}.py"


def lines_of(name: str) -> int:
    """Return how many lines a module has."""
    loader: Any = sys.modules[name].__loader__
    return len(loader.get_source(name).splitlines())


def in_words(reading: dict[str, list[dict[str, Any]]]) -> str:
    """Return a reading list as lines."""
    rules = [f"  {entry['rule']:<20} {entry['file']}:{entry['line']}" for entry in reading["rules"]]
    files = [f"  {entry['file']:<24} {entry['lines']:4} lines" for entry in reading["files"]]
    return "\n".join(["Rules that the proof uses:", *rules, "Files that every rule needs:", *files]) + "\n"
