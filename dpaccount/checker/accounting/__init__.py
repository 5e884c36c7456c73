"""A certificate of what a plan costs: every class of units, in both directions, inferred again.

The confirmed end is the one that is proved here; the tight enclosure beside it is what the accountant says.
"""

import json
from datetime import date
from fractions import Fraction
from typing import Any

from .. import certificate
from ..derivation import listed
from ..documents import (
    BROKEN,
    Rejected,
    Work,
    brief,
    canonical,
    check_members,
    digest,
    ensure,
    integer,
    items,
    parse,
    text,
    unbroken,
)
from ..intervals import at_most
from .bounds import chained
from .methods import METHODS as METHODS
from .methods import holds, symmetric
from .plan import classes
from .releases import real

SCHEMA = "dpaccount/account-certificate/1"
MEMBERS = ("schema", "plan", "question", "tight", "confirmed", "derivation", "digest")
MAX_WORK = 45_000_000  # about eight seconds
LAST, CHAIN = "worst-unit", "group-chain"
EXIT = {**certificate.EXIT, "CONFIRMED": 0}


def examined(raw: bytes, at: date | None = None, *, derivation: bool = False) -> tuple[str, str]:
    """Return the verdict of any valid document, and what was confirmed in words.

    Raises `Rejected` naming what fails, or `Unreadable`.
    """
    # Looked for as bytes, unless it may be written with escapes: nearly all documents are parsed once.
    if derivation or (SCHEMA.encode() not in raw and b"\\" not in raw):
        return certificate.judged(raw, at, derivation=derivation)
    document = parse(raw)
    schema = document.get("schema") if isinstance(document, dict) else None
    return judged(document) if schema == SCHEMA else certificate.judged(raw, at)


def to_read(raw: bytes) -> dict[str, list[dict[str, Any]]]:
    """Return the reading list of a valid document: its rules, and the files that they need."""
    document = json.loads(raw)
    if document.get("schema") != SCHEMA:
        return certificate.to_read(raw)
    rules = {**METHODS, LAST: infer_units, CHAIN: infer}
    used = {step["rule"] for step in document["derivation"]}
    return listed({name: rules[name] for name in sorted(used)}, __name__)


def judged(document: dict[str, Any]) -> tuple[str, str]:
    """Return CONFIRMED, and what is; raise `Rejected` naming what does not follow, or why nothing is.

    Where the digest is another one, it says also which step does not follow.
    """
    Work.begin(MAX_WORK)
    with unbroken():
        check_members(document, MEMBERS)
        body = {name: value for name, value in document.items() if name != "digest"}
        same, other = document["digest"] == digest(body), "the document's digest does not match its content"
        try:
            answer = _followed(document)
        except Rejected as why:
            raise Rejected(str(why) if same else f"{other}; {why}") from None
        ensure(same, other)
        return answer


def _followed(document: dict[str, Any]) -> tuple[str, str]:
    asked, value, group = question(document["question"])
    confirmed, steps = document["confirmed"], items(document["derivation"])
    if confirmed.get("upper") is None:
        check_members(confirmed, ("upper", "why"))
        raise Rejected(f"nothing is confirmed: {brief(text(confirmed['why']))}")
    check_members(confirmed, ("upper",))
    lower, higher = tight(document["tight"])
    upper = real(text(confirmed["upper"]), "confirmed.upper")
    ensure(lower is None or lower <= upper, "the tight lower end is above what is confirmed")
    epsilon, delta = (upper, value) if asked == "delta" else (value, upper)
    ensure(delta <= 1, "delta is above 1")
    count = infer(document["plan"], group, steps, epsilon, delta)
    ensure(higher is not None and higher <= upper, "the tight upper end is above what is confirmed")
    at = document["question"][asked]
    answer = "delta" if asked == "epsilon" else "epsilon"
    given = any(each.get("event") == "dominating_pair" for each in document["plan"]["events"])
    trust = ", if each dominating_pair dominates its release, as the plan says" if given else ""
    units = f" for any {group} units" if group > 1 else ""
    said = f"{answer} at most {confirmed['upper']} at {asked} {at}{units}{trust}: {count} steps follow"
    return "CONFIRMED", said


def question(given: Any) -> tuple[str, Fraction, int]:
    """Return what is asked: at which δ, or at which ε; and for how many units at once."""
    name = "epsilon" if isinstance(given, dict) and "epsilon" in given else "delta"
    check_members(given, (name,), ("group",))
    at = real(text(given[name]), f"question.{name}", 0, 1 if name == "delta" else None)
    return name, at, integer(given.get("group", 1))


def tight(given: Any) -> tuple[Fraction | None, Fraction | None]:
    """Read the accountant's enclosure, and return its finite ends; they are not confirmed."""
    check_members(given, ("lower", "upper"))
    lower, upper = (
        None if v in (None, "inf") else real(v, "tight") for v in (given["lower"], given["upper"])
    )
    ensure(lower is None or upper is None or lower <= upper, "the tight ends are in the wrong order")
    return lower, upper


def infer(plan: Any, group: int, steps: list[Any], epsilon: Fraction, delta: Fraction) -> int:
    """Infer each step again; where the last one chains neighbours, the others are about one unit."""
    last = steps[-1] if steps else None
    if not isinstance(last, dict) or last.get("rule") != CHAIN:
        return infer_units(plan, group, steps, epsilon, delta)
    try:
        given = follow(last, {"group": group}, epsilon, delta)
        check_members(given, ("epsilon", "delta"))
        one, lost = (real(text(given[name]), name) for name in ("epsilon", "delta"))
        shown = group * one <= epsilon and at_most(lambda i: chained(i, one, lost, group), delta)
        ensure(shown, f"(ε, δ) = ({epsilon}, {delta}) does not follow for {group} units")
    except Rejected as why:
        raise Rejected(f"step {len(steps) - 1} ({CHAIN}): {why}") from None
    return infer_units(plan, 1, steps[:-1], one, lost) + 1


def infer_units(plan: Any, group: int, steps: list[Any], epsilon: Fraction, delta: Fraction) -> int:
    """Infer a step for each class of units and direction, in their order, and the last."""
    try:
        relation, units = classes(plan, group)
    except Rejected as why:
        raise Rejected(f"step {len(steps) - 1} ({LAST}): {why}") from None
    wanted = [
        (unit, way, on) for unit, on in units for way in (("both",) if symmetric(on) else ("there", "back"))
    ]
    for index, step in enumerate(steps):
        name = step.get("rule") if isinstance(step, dict) else None
        try:
            if index < len(wanted):
                unit, way, on = wanted[index]
                stated = {"unit": unit, "direction": way, "releases": on.written()}
                given = follow(step, stated, epsilon, delta)
                shown = holds(name, on, epsilon, delta, given, back=way == "back")
                ensure(shown, f"(ε, δ) = ({epsilon}, {delta}) does not follow")
            else:
                stated = {"relation": relation, "classes": len(units), "plan": digest(plan)}
                ensure(name == LAST and index == len(wanted), "no such step belongs here")
                ensure(follow(step, stated, epsilon, delta) == {}, "the last step takes nothing")
        except Rejected as why:
            raise Rejected(f"step {index} ({brief(name)}): {why}") from None
        except BROKEN as why:
            raise Rejected(f"step {index} ({brief(name)}): {type(why).__name__} while inferring it") from None
    ensure(len(steps) == len(wanted) + 1, f"needed {len(wanted) + 1} steps, found {len(steps)}")
    return len(steps)


def follow(step: Any, stated: dict[str, Any], epsilon: Fraction, delta: Fraction) -> dict[str, Any]:
    """Verify what a step is about and gives; return its witness."""
    check_members(step, ("rule", "of", "with", "gives"))
    same = canonical(step["of"]) == canonical(stated)
    ensure(same, f"it is of {brief(step['of'])}, but the plan says {brief(stated)}")
    gives = {"epsilon": str(epsilon), "delta": str(delta)}
    ensure(step["gives"] == gives, f"claims {brief(step['gives'])}, but the answer is {brief(gives)}")
    ensure(isinstance(step["with"], dict), "a witness should be a table")
    return dict(step["with"])
