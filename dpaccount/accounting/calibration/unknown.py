"""The unknown number of a plan: in a document, of an event by its name, or the argument of a function."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.calibration.parameters import CLOSED, NAMED, PARAMETERS, SOUGHT
from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.plan.event_base import RANGES, Event
from dpaccount.plan.events import VOCABULARY, Plan
from dpaccount.plan.plan_file import read_plan
from dpaccount.relation import Relation

UNKNOWN = "?"
MAX_COUNT = 1 << 63  #: rounds of a stream, and releases: as many as a ledger can number
Route = tuple[
    tuple[Any, str | int], ...
]  #: tables and lists from the outermost inwards, each with a key in it


@dataclass(frozen=True)
class Unknown:
    """A number that is asked for: its key and place, the plan with it set, and how the cost goes with it."""

    key: str
    at: str
    make: Callable[[Fraction], Plan]
    falls: bool
    whole: bool = False
    least: Fraction = Fraction(0)
    most: Fraction | None = None
    named: bool = False  #: it is that of an event by its name, known to be found closely
    group: int = 1

    def accountant(self, value: Fraction) -> Accountant:
        """Return the accountant of the plan with the number set."""
        return Accountant(self.make(value), self.group)


def plans_of(of: Callable[[Fraction], Event | Plan]) -> Callable[[Fraction], Plan]:
    """Return a function that makes plans, of replace-one where it made an event."""

    def plan(value: Fraction) -> Plan:
        made = of(value)
        return made if isinstance(made, Plan) else Plan(Relation.REPLACE_ONE, made)

    return plan


def named(
    name: str, sensitivity: Fraction = Fraction(1), count: int = 1, rounds: int | None = None, group: int = 1
) -> Unknown:
    """Return the parameter of `count` events of this name as an unknown number.

    Raises `InputError` where the event has no such parameter.
    """
    if name not in NAMED:
        raise InputError(f"{name!r} cannot be calibrated", f"known here: {', '.join(NAMED)}")
    if name not in CLOSED:
        _check_in_range("count", count)
    kind = VOCABULARY[name]
    fixed: dict[str, object] = {"count": count}
    if "sensitivity" in kind.__dataclass_fields__:
        if sensitivity == 0:
            raise InputError("a sensitivity of 0 costs nothing", "calibrate for one above 0")
        fixed["sensitivity"] = sensitivity
    elif sensitivity != 1:
        raise InputError(f"{name} has no sensitivity", "leave it out")
    if "rounds" in kind.__dataclass_fields__:
        if rounds is None:
            raise InputError(f"{name} needs its number of rounds", "give --rounds")
        _check_in_range("number of rounds", rounds)
        fixed["rounds"] = rounds
    elif rounds is not None:
        raise InputError(f"{name} has no rounds", "leave --rounds out")
    row = NAMED[name]

    def make(value: Fraction) -> Plan:
        return Plan(Relation.REPLACE_ONE, kind(**{row.key: value, **fixed}))  # type: ignore[arg-type]

    return Unknown(row.key, name, make, row.falls, named=True, group=group)


def _check_in_range(name: str, value: int) -> None:
    """Refuse at once what would only be refused after a long search."""
    if not 1 <= value <= MAX_COUNT:
        raise InputError(f"the {name} is out of range", "it must be from 1 to 2^63")


def unknown_in(place: Place) -> Unknown:
    """Return the one number written ``"?"`` in a document of events; raises `InputError` for none or two."""
    routes = list(_marked(place.value))
    if len(routes) != 1:
        how_many = f"{len(routes) or 'no'} number{'s' if routes else ''}"
        raise place.wrong(f'{how_many} written "?"', 'write "?" for the one number to find')
    route = routes[0]
    at = "/" + "/".join(str(step) for _, step in route)
    key = _key(route)
    siblings = route[-1][0] if route and isinstance(route[-1][0], dict) else {}
    row = PARAMETERS.get("batch" if "batch" in siblings and key in ("rate", "population") else key)
    if row is None or row.unsought:
        why = "that is no number of an event" if row is None else row.unsought
        right = f"it may stand for {', '.join(SOUGHT)}, the epsilon of a point, the last coefficient"
        raise place.wrong(f'{at} is written "?": {why}', right)
    least, most, integer = RANGES[key]
    if key == "size" and isinstance(siblings.get("population"), int):
        most = siblings["population"]
    if key == "population" and isinstance(siblings.get("size"), int):
        least = siblings["size"]

    def make(value: Fraction) -> Plan:
        document: Any = int(value) if integer else value
        for holder, step in reversed(route):
            document, inner = holder.copy(), document
            document[step] = inner
        return read_plan(replace(place, value=document))

    label = "coefficient" if "coefficients" in [step for _, step in route[-2:-1]] else key
    end = None if most is None else Fraction(most)
    return Unknown(label, at, make, row.falls, integer, Fraction(least or 0), end)


def _marked(value: Any, route: Route = ()) -> Iterator[Route]:
    if value == UNKNOWN:
        yield route
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, member in members:
        yield from _marked(member, (*route, (value, key)))


def _key(route: Route) -> str:
    """Return the key of an event that holds the number at a place, alone or in a list of numbers.

    The epsilon of a point of Rényi divergence raises the cost, as any epsilon does.  So does the last
    coefficient of a Toeplitz factor: while coefficients fall the cost is a sum of their products, and beyond
    it is a larger bound.  It is counted as a ``sensitivity``, a number of at least 0.
    """
    steps = [step for _, step in route]
    last = max((i for i, step in enumerate(steps) if isinstance(step, str)), default=0)
    name, *places = steps[last:] or [""]
    if name == "points" and len(places) == 2 and places[1] == 1:
        return "epsilon"
    if name == "coefficients" and places == [len(route[-1][0]) - 1]:
        return "sensitivity"
    return str(name)
