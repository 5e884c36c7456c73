"""One unknown number of a plan: the least noise, or the most of anything else, that meets (ε, δ).

In a file of events the number is written ``"?"``; in Python it is the argument of a function that makes an
event or a plan.

>>> from dpaccount.plan.events import Gaussian
>>> calibrate(lambda sigma: Gaussian(sigma=sigma, count=4), epsilon=1, delta=1e-6)
value 8.449357778682 costs ε = 1 (±4e-12)
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpaccount.accounting import calibrate as named
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.calibrate import COARSE_GAP, FINE, GAP, Calibration
from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure, Exact, exact_argument
from dpaccount.numerics.bisection import least_integer
from dpaccount.numerics.fourier.contours import shared
from dpaccount.numerics.work_budget import (
    CALIBRATION,
    OutOfReach,
    allowance,
    exhausted,
    granted,
    steps_done,
)
from dpaccount.plan.event_base import RANGES, Event, walk
from dpaccount.plan.events import DiscreteGaussian, Plan
from dpaccount.plan.plan_file import read_plan
from dpaccount.relation import Relation

UNKNOWN = "?"
FALLS = ("sigma", "scale", "k", "population", "separation", "steps")  #: keys of which more costs less
FIXED = {  #: keys whose number cannot be sought, and why
    "times": "the bound is for whole epochs of steps/times; count may be sought",
    "start": "it says where a stream begins, not how much it costs",
    "cover": "it says who pays, not how much",
    "points": "an order says where a divergence is taken; the epsilon beside it may be sought",
    "p": "probabilities add up to 1, so none is free by itself",
    "q": "probabilities add up to 1, so none is free by itself",
    "parts": "a factor may have as many bands; sigma or rate may be sought",
    "rows": "a bound may fall while an entry grows; sigma may be sought",
    "coefficients": "a bound may fall while a coefficient grows to the next one; the last one may be sought",
}
SOUGHT = (*(name for name in RANGES if name not in FIXED), "the epsilon of a point", "the last coefficient")
MAX_COUNT = named.MAX_COUNT
SLOW = CALIBRATION / 60  #: work of an answer of which a close search would need too many
MORE = Fraction(11, 10), Fraction(3, 2), Fraction(4), Fraction(64)  #: times the noise that was found


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
    group: int = 1

    def accountant(self, value: Fraction) -> Accountant:
        """Return what the plan costs with the number set."""
        return Accountant(self.make(value), self.group)


def calibrate(
    of: str | Callable[[Fraction], Event | Plan],
    epsilon: Exact,
    delta: Exact,
    *,
    sensitivity: Exact = 1,
    count: int = 1,
    rounds: int | None = None,
    grows: bool = False,
    group: int = 1,
) -> Calibration:
    """Return the least noise that is proved to meet (epsilon, delta).

    `of`: a function that makes an event or a plan from the unknown number, or the name of an event, such as
    gaussian, whose noise or largest ε is sought.
    `epsilon`: the target, at least 0; `delta`: in [0, 1).
    `sensitivity`: of a named event, above 0, in the unit of its noise.
    `count`: how often a named event is released; `rounds`: of a named stream.
    `grows`: the cost of the function's plans rises with the number, so that the largest is returned.
    `group`: how many units are protected at once, at least 1.

    Raises `InputError` if there is no such number.
    """
    target, share = exact_argument("epsilon", epsilon), exact_argument("delta", delta)
    if isinstance(of, str):
        moved = exact_argument("sensitivity", sensitivity)
        make = named.plan_of(of, sensitivity=moved, count=count, rounds=rounds)
        parameter, falls = named.PARAMETERS[of]
        found = settle(Unknown(parameter, of, make, falls, group=group), target, share)
        lower, upper = found.bounds.lower, found.bounds.upper
        if lower is not None and upper - lower > upper / 10**6 + FINE:
            raise InputError(
                f"{of} cannot be calibrated closely at these magnitudes", "ask for less extreme numbers"
            )
        return found
    made = of  # for the function below, of a narrower type

    def plan(value: Fraction) -> Plan:
        found = made(value)
        return found if isinstance(found, Plan) else Plan(Relation.REPLACE_ONE, found)

    return settle(Unknown("value", "", plan, not grows, group=group), target, share)


def unknown_in(place: Place) -> Unknown:
    """Return the one number written ``"?"`` in a document of events; raises `InputError` for none or two."""
    found = list(_marked(place.value, ()))
    if len(found) != 1:
        many = "no number" if not found else f"{len(found)} numbers"
        raise place.wrong(f'{many} written "?"', 'write "?" for the one number to find')
    steps = found[0]
    at = "/" + "/".join(map(str, steps))
    key = _key(place.value, steps)
    if key not in RANGES or key in FIXED:
        why = FIXED.get(key, "that is no number of an event")
        raise place.wrong(f'{at} is written "?": {why}', f"it may stand for {', '.join(SOUGHT)}")
    least, most, whole = RANGES[key]
    beside = _at(place.value, steps[:-1])
    if key == "size" and isinstance(beside.get("population"), int):
        most = beside["population"]
    if key == "population" and isinstance(beside.get("size"), int):
        least = beside["size"]

    def make(value: Fraction) -> Plan:
        said: Any = int(value) if whole else value
        return read_plan(replace(place, value=_with(place.value, steps, said)))

    label = "coefficient" if "coefficients" in steps[-2:-1] else key
    return Unknown(
        label, at, make, key in FALLS, whole, Fraction(least or 0), None if most is None else Fraction(most)
    )


def _key(document: Any, steps: tuple[str | int, ...]) -> str:
    """Return what the number at a place is: a key of an event, also where it stands in a list of numbers.

    The epsilon of a point of Rényi divergence raises the cost, as any epsilon does.  So does the last
    coefficient of a Toeplitz factor: while coefficients fall the cost is a sum of their products, and beyond
    it is a larger bound.  It is counted as a ``sensitivity``, a number of at least 0.
    """
    name = next((str(step) for step in reversed(steps) if isinstance(step, str)), "")
    depth = len(steps) - 1 - max((i for i, step in enumerate(steps) if isinstance(step, str)), default=0)
    if name == "points" and depth == 2 and steps[-1] == 1:
        return "epsilon"
    if name == "coefficients" and depth == 1 and steps[-1] == len(_at(document, steps[:-1])) - 1:
        return "sensitivity"
    return name


def _marked(value: Any, steps: tuple[str | int, ...]) -> "list[tuple[str | int, ...]]":
    if value == UNKNOWN:
        return [steps]
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [found for key, member in members for found in _marked(member, (*steps, key))]


def _at(value: Any, steps: tuple[Any, ...]) -> Any:
    return _at(value[steps[0]], steps[1:]) if steps else value


def _with(value: Any, steps: tuple[Any, ...], said: Any) -> Any:
    """Return a document with the value at `steps` replaced."""
    if not steps:
        return said
    copied = value.copy()
    copied[steps[0]] = _with(value[steps[0]], steps[1:], said)
    return copied


def settle(unknown: Unknown, epsilon: Fraction, delta: Fraction) -> Calibration:
    """Return the number, as a decimal that is proved to meet the target; a billionth more may not be.

    A bound from above alone can be met more closely than it is tight: the number is then the least by that
    bound.
    """
    if not 0 <= delta < 1:
        raise InputError("the target delta is out of range", "it must be at least 0 and below 1")
    if epsilon < 0:
        raise InputError("the target epsilon is out of range", "it must be at least 0")

    reach = FINE

    def cost(value: Fraction, gap: Fraction | None = None) -> Enclosure:
        nonlocal reach
        if exhausted():
            raise InputError(
                f"{unknown.at or 'it'} could not be calibrated within {granted(CALIBRATION):,.0f} steps"
                " of work",
                "ask for a smaller plan or a larger delta",
            )
        whole = unknown.accountant(value)
        if any(e.count > named.CLOSE_COUNT and e.name not in named.CLOSED for e in whole.plan.events):
            gap = GAP
        begun = steps_done()
        found = whole.worst_epsilon(delta, gap or reach).bounds
        wide = found.lower is not None and found.lower < (1 - COARSE_GAP / 10) * found.upper
        if wide and steps_done() - begun > granted(SLOW):
            reach = COARSE_GAP  # the rest of the search is as coarse
        return found

    try:
        # One search asks dozens of similar questions, which share contours and values of transforms.
        with allowance(CALIBRATION), shared():
            if unknown.whole:
                return _whole(unknown, cost, epsilon)
            return _real(unknown, cost, epsilon, delta, lambda: reach > FINE)
    except OutOfReach:  # the search went on to numbers that nothing can be computed with
        raise InputError(
            f"no {unknown.key} that can be computed with meets this target",
            "ask for a larger epsilon or delta",
        ) from None


Costing = Callable[..., Enclosure]  #: (value, gap) ↦ ε at the target's δ


def _real(
    unknown: Unknown, cost: Costing, epsilon: Fraction, delta: Fraction, coarse: Callable[[], bool]
) -> Calibration:
    """Return the least (or largest) decimal of `DIGITS` digits whose cost is proved to be at most ε."""
    if unknown.most is not None and cost(unknown.most, GAP).upper <= epsilon:
        return _found(unknown, unknown.most, str(unknown.most), cost(unknown.most))
    least = None if unknown.most is None else 1 / unknown.most  # in noise: below it nothing is allowed

    def number(noise: Fraction) -> Fraction:
        return noise if unknown.falls else 1 / noise

    def loss(noise: Fraction) -> Enclosure:
        if least is not None and noise < least:
            return Enclosure(least, Fraction(1 << 64))
        return cost(number(noise))

    if least is None:
        start = _start(unknown.make(Fraction(1)), epsilon, delta)
    else:  # the cost of next to nothing is next to nothing, so that one is enough
        start = max(Fraction(1), 2 * least) if epsilon > 0 and delta > 0 else Fraction(1)
    noise = named.least(loss, epsilon, delta, start, coarse)
    if unknown.falls and _may_rise(unknown.make(noise), epsilon):
        end = named.smooth(lambda at: unknown.accountant(at).zcdp(), noise, epsilon, delta)
        noise = named.from_there_on(loss, noise, end, epsilon)
    if unknown.key == "value":  # of a function of one's own nothing is known
        for more in MORE:
            if loss(noise * more).upper > epsilon:
                raise InputError(
                    f"the cost is not monotone: {float(number(noise)):.6g} meets the target, and"
                    f" {float(number(noise * more)):.6g} does not",
                    "calibrate a number of which more costs less (grows: more)",
                )
    text = named.decimal(number(noise), up=unknown.falls)
    return _found(unknown, *named.first_met(cost, text, epsilon, up=unknown.falls))


def _whole(unknown: Unknown, cost: Costing, epsilon: Fraction) -> Calibration:
    """Return the largest (least) whole number whose cost is proved to be at most ε."""
    first = max(int(unknown.least), 1)

    def fits(value: int) -> bool:
        """Say whether a value is on the side of small ones: affordable, or where the cost falls, not yet."""
        found = bool(cost(Fraction(value), GAP).upper <= epsilon)
        return found is not unknown.falls

    if not fits(first):
        if unknown.falls:  # the least value that there is is enough
            return _found(unknown, Fraction(first), str(first), cost(Fraction(first), GAP))
        raise InputError(
            f"not even {unknown.key} = {first} meets this target", "ask for a larger epsilon or delta"
        )
    most = MAX_COUNT if unknown.most is None else int(unknown.most)
    low, step = first, 1
    while fits(min(low + step, most)):
        low, step = min(low + step, most), 2 * step
        if low == most and unknown.most is not None:
            return _found(unknown, unknown.most, str(most), cost(unknown.most, GAP))
        if low == most:
            what = "any" if not unknown.falls else "no"
            raise InputError(f"{what} {unknown.key} up to 2^63 meets this target", "ask for another one")
    beyond = least_integer(lambda number: not fits(number), low, min(low + step, most))
    best = beyond if unknown.falls else beyond - 1
    return _found(unknown, Fraction(best), str(best), cost(Fraction(best), GAP))


def _found(unknown: Unknown, value: Fraction, text: str, bounds: Enclosure) -> Calibration:
    return Calibration(unknown.key, value, text, bounds)


def _start(plan: Plan, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return about the noise that is enough, of one event known by name from the plan for noise 1; else 1."""
    once = plan.events[0]
    known = len(plan.events) == 1 and once.name in named.PARAMETERS
    return named.guess(once, epsilon, delta) if known else Fraction(1)


def _may_rise(plan: Plan, epsilon: Fraction) -> bool:
    """Say whether more noise may cost more: discrete Gaussian noise, at a large ε if it is all there is."""
    first, *others = parts = [part for event in plan.events for part in walk(event)]
    if isinstance(first, DiscreteGaussian) and not others:
        return 2 * epsilon > first.sensitivity * first.count
    return any(isinstance(part, DiscreteGaussian) for part in parts)
