"""One unknown number of a plan: the least noise, or the most of anything else, proved to meet a target.

The target is (ε, δ), or a bound on what an attacker learns (`risk`).

In a file of events the number is written ``"?"``; in Python it is the argument of a function that makes an
event or a plan.

>>> from dpaccount.plan.events import Gaussian
>>> calibrate(lambda sigma: Gaussian(sigma=sigma, count=4), epsilon=1, delta=1e-6)
value 8.449357778682 costs ε = 1 (±4e-12)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from dpaccount.accounting.accountant import GAP, Accountant
from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure, Exact, exact_argument, to_decimal
from dpaccount.numerics.bisection import bisect, crossing, least_integer
from dpaccount.numerics.closed import gaussian, renyi
from dpaccount.numerics.fourier.contours import shared
from dpaccount.numerics.intervals import ball, between, log_float
from dpaccount.numerics.work_budget import (
    CALIBRATION,
    OutOfReach,
    allowance,
    exhausted,
    granted,
    steps_done,
)
from dpaccount.plan.event_base import RANGES, Event, walk
from dpaccount.plan.events import VOCABULARY, DiscreteGaussian, Plan
from dpaccount.plan.plan_file import read_plan
from dpaccount.relation import Relation

DIGITS = 13  #: significant digits of the value
FINE = Fraction(1, 10**9)  #: width of enclosures that the search asks for
COARSE_GAP = Fraction(1, 10**3)  #: width that is asked for where closer ones take too much work
ROUGH = COARSE_GAP, Fraction(1, 10**5), Fraction(1, 10**7)  #: widths that are asked for before the close one
APART = 4  #: times its width that a cost is away from the target where the search need not know it better
MOST_SCANNED = 200  #: at which costs that need not fall are looked at

CLOSE_COUNT = 10**6  #: releases of which no enclosure in closed form is narrower than an ordinary answer
MAX_COUNT = 1 << 63  #: rounds of a stream, and releases: as many as a ledger can number

#: The parameter of each event that can be calibrated.
PARAMETERS = {
    **dict.fromkeys(("gaussian", "discrete_gaussian", "tree", "matrix_factorisation"), "sigma"),
    **dict.fromkeys(("laplace", "discrete_laplace"), "scale"),
    **dict.fromkeys(("pure", "randomized_response", "exponential", "permute_and_flip"), "epsilon"),
    "bounded_range": "eta",
    "zcdp": "rho",
    "gdp": "mu",
}

#: Those whose cost is a formula, at any count.
CLOSED = ("gaussian", "gdp", "tree", "matrix_factorisation", "zcdp", "exponential", "bounded_range")

UNKNOWN = "?"
FALLS = ("sigma", "scale", "k", "population", "separation", "steps")  #: keys of which more costs less
FIXED = {  #: keys whose number cannot be sought, and why
    "times": "the bound is for whole epochs of steps/times; count may be sought",
    "bins": "what more of them cost is not known to be less",
    "start": "it says where a stream begins, not how much it costs",
    "cover": "it says who pays, not how much",
    "points": "an order says where a divergence is taken; the epsilon beside it may be sought",
    "p": "probabilities add up to 1, so none is free by itself",
    "q": "probabilities add up to 1, so none is free by itself",
    "weights": "they add up to 1, so none is free by itself",
    "parts": "a factor may have as many bands; sigma or rate may be sought",
    "rows": "a bound may fall while an entry grows; sigma may be sought",
    "coefficients": "a bound may fall while a coefficient grows to the next one; the last one may be sought",
}
SOUGHT = (*(name for name in RANGES if name not in FIXED), "the epsilon of a point", "the last coefficient")
SLOW = CALIBRATION / 60  #: work of an answer of which a close search would need too many
MORE = Fraction(11, 10), Fraction(3, 2), Fraction(4), Fraction(64)  #: times the noise that was found


@dataclass(frozen=True, repr=False)
class Calibration:
    """A value that is proved to meet the target, and the ε that it costs at the target's δ."""

    parameter: str
    value: Fraction
    text: str
    bounds: Enclosure
    of: str = "ε"  #: what `bounds` are of

    def __repr__(self) -> str:
        """Return the value and what it costs; `text` has all its digits."""
        sign = "" if self.bounds.lower is None else "= "
        return f"{self.parameter} {self.text} costs {self.of} {sign}{self.bounds!r}"

    def __float__(self) -> float:
        """Return the nearest double: what to simulate with; `value` is what is proved."""
        return float(self.value)


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
        return settle(named(of, moved, count, rounds, group), target, share)
    return settle(Unknown("value", "", plans_of(of), not grows, group=group), target, share)


def plans_of(of: Callable[[Fraction], Event | Plan]) -> Callable[[Fraction], Plan]:
    """Return a function that makes plans, of replace-one where it made an event."""

    def plan(value: Fraction) -> Plan:
        found = of(value)
        return found if isinstance(found, Plan) else Plan(Relation.REPLACE_ONE, found)

    return plan


def named(
    name: str, sensitivity: Fraction = Fraction(1), count: int = 1, rounds: int | None = None, group: int = 1
) -> Unknown:
    """Return the parameter of `count` events of this name as an unknown number.

    Raises `InputError` where the event has no such parameter.
    """
    if name not in PARAMETERS:
        raise InputError(f"{name!r} cannot be calibrated", f"known here: {', '.join(PARAMETERS)}")
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
    parameter = PARAMETERS[name]

    def make(value: Fraction) -> Plan:
        return Plan(Relation.REPLACE_ONE, kind(**{parameter: value, **fixed}))  # type: ignore[arg-type]

    return Unknown(parameter, name, make, parameter in FALLS, named=True, group=group)


def _check_in_range(name: str, value: int) -> None:
    """Refuse at once what would only be refused after a long search."""
    if not 1 <= value <= MAX_COUNT:
        raise InputError(f"the {name} is out of range", "it must be from 1 to 2^63")


# ---- the number written as unknown in a document


def unknown_in(place: Place) -> Unknown:
    """Return the one number written ``"?"`` in a document of events; raises `InputError` for none or two."""
    found = list(_marked(place.value, ()))
    if len(found) != 1:
        how_many = "no number" if not found else f"{len(found)} numbers"
        raise place.wrong(f'{how_many} written "?"', 'write "?" for the one number to find')
    steps = found[0]
    at = "/" + "/".join(map(str, steps))
    key = _key(place.value, steps)
    if key not in RANGES or key in FIXED:
        why = FIXED.get(key, "that is no number of an event")
        raise place.wrong(f'{at} is written "?": {why}', f"it may stand for {', '.join(SOUGHT)}")
    least, most, integer = RANGES[key]
    siblings = _at(place.value, steps[:-1])
    if key == "size" and isinstance(siblings.get("population"), int):
        most = siblings["population"]
    if key == "population" and isinstance(siblings.get("size"), int):
        least = siblings["size"]

    def make(value: Fraction) -> Plan:
        said: Any = int(value) if integer else value
        return read_plan(replace(place, value=_with(place.value, steps, said)))

    label = "coefficient" if "coefficients" in steps[-2:-1] else key
    return Unknown(
        label, at, make, key in FALLS, integer, Fraction(least or 0), None if most is None else Fraction(most)
    )


def _key(document: Any, steps: tuple[str | int, ...]) -> str:
    """Return the key of an event that holds the number at a place, alone or in a list of numbers.

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


# ---- the search


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
        whole = unknown.accountant(value)
        if any(e.count > CLOSE_COUNT and e.name not in CLOSED for e in whole.plan.events):
            gap = max(GAP, gap or GAP)
        begun = steps_done()
        found = whole.worst_epsilon(delta, gap or reach).bounds
        wide = found.lower is not None and found.lower < (1 - COARSE_GAP / 10) * found.upper
        if wide and steps_done() - begun > granted(SLOW):
            reach = COARSE_GAP  # the rest of the search is as coarse
        return found

    found = search(unknown, cost, epsilon, delta, lambda: reach > FINE)
    lower, upper = found.bounds.lower, found.bounds.upper
    if unknown.named and lower is not None and upper - lower > upper / 10**6 + FINE:
        raise InputError(
            f"{unknown.at} cannot be calibrated closely at these magnitudes", "ask for less extreme numbers"
        )
    return found


def search(
    unknown: Unknown,
    cost: "Costing",
    target: Fraction,
    delta: Fraction,
    coarse: Callable[[], bool],
    work: float = CALIBRATION,
) -> Calibration:
    """Return the number whose cost is proved to be at most a target.

    `cost`: (value, gap) ↦ an enclosure; `delta`: the search begins where (target, delta) would be met.
    `coarse`: whether costs are too expensive for a close search; `work`: a limit on its steps.
    """

    def within_work(value: Fraction, gap: Fraction | None = None) -> Enclosure:
        if exhausted():
            raise InputError(
                f"{unknown.at or 'it'} could not be calibrated within {granted(work):,.0f} steps of work",
                "ask for a smaller plan or a larger delta",
            )
        return cost(value, gap)

    try:
        # One search asks dozens of similar questions, which share contours and values of transforms.
        with allowance(work), shared():
            if unknown.whole:
                return _whole(unknown, within_work, target)
            return _real(unknown, within_work, target, delta, coarse)
    except OutOfReach:  # the search went on to numbers that nothing can be computed with
        raise InputError(
            f"no {unknown.key} that can be computed with meets this target",
            "ask for a larger epsilon or delta",
        ) from None


Costing = Callable[..., Enclosure]  #: (value, gap) ↦ ε at the target's δ


@dataclass
class _Needed:
    """Costs as closely as a search for a target needs them."""

    cost: Costing
    target: Fraction
    coarse: Callable[[], bool]
    first: int = 0  #: of the rough gaps, the one to begin with: just before the one that decided last

    def __call__(self, value: Fraction) -> Enclosure:
        """Return the first enclosure that is thin or far from the target, else the close one."""
        for k in range(self.first, 0 if self.coarse() else len(ROUGH)):
            found = self.cost(value, ROUGH[k])
            if found.lower is None:
                break
            if found.upper != math.inf:
                upper = Fraction(found.upper)
                thin = FINE * max(Fraction(1), upper)
                if upper - Fraction(found.lower) <= max(thin, abs(upper - self.target) / APART):
                    self.first = max(k - 1, 0)
                    return found
            self.first = k
        return self.cost(value)


def _real(
    unknown: Unknown, cost: Costing, epsilon: Fraction, delta: Fraction, coarse: Callable[[], bool]
) -> Calibration:
    """Return the least (or largest) decimal of `DIGITS` digits whose cost is proved to be at most ε."""
    if unknown.most is not None and cost(unknown.most, GAP).upper <= epsilon:
        return Calibration(unknown.key, unknown.most, str(unknown.most), cost(unknown.most))
    least = None if unknown.most is None else 1 / unknown.most  # in noise: below it nothing is allowed

    def number(noise: Fraction) -> Fraction:
        return noise if unknown.falls else 1 / noise

    needed = _Needed(cost, epsilon, coarse)

    def loss(noise: Fraction) -> Enclosure:
        if least is not None and noise < least:
            return Enclosure(least, Fraction(1 << 64))
        return needed(number(noise))

    def too_dear(noise: Fraction) -> bool:
        cost(number(noise))
        return coarse()

    if least is None:
        start = first_guess(unknown.make(Fraction(1)), epsilon, delta)
    else:  # the cost of next to nothing is next to nothing, so that one is enough
        start = max(Fraction(1), 2 * least) if epsilon > 0 and delta > 0 else Fraction(1)
    noise = least_noise(loss, epsilon, delta, start, too_dear)
    if unknown.falls and _may_rise(unknown.make(noise), epsilon):
        end = smooth(lambda at: unknown.accountant(at).zcdp(), noise, epsilon, delta)
        noise = from_there_on(loss, noise, end, epsilon)
    if unknown.key == "value":  # of a function of one's own nothing is known
        for more in MORE:
            if loss(noise * more).upper > epsilon:
                raise InputError(
                    f"the cost is not monotone: {float(number(noise)):.6g} meets the target, and"
                    f" {float(number(noise * more)):.6g} does not",
                    "calibrate a number of which more costs less (grows: more)",
                )
    text = decimal(number(noise), up=unknown.falls)
    return Calibration(unknown.key, *first_met(cost, text, epsilon, up=unknown.falls))


def _whole(unknown: Unknown, cost: Costing, epsilon: Fraction) -> Calibration:
    """Return the largest (least) whole number whose cost is proved to be at most ε."""
    first = max(int(unknown.least), 1)

    def fits(value: int) -> bool:
        """Say whether a value is on the side of small ones: affordable, or where the cost falls, not yet."""
        found = bool(cost(Fraction(value), GAP).upper <= epsilon)
        return found is not unknown.falls

    if not fits(first):
        if unknown.falls:  # the least value that there is is enough
            return Calibration(unknown.key, Fraction(first), str(first), cost(Fraction(first), GAP))
        raise InputError(
            f"not even {unknown.key} = {first} meets this target", "ask for a larger epsilon or delta"
        )
    most = MAX_COUNT if unknown.most is None else int(unknown.most)
    low, step = first, 1
    while fits(min(low + step, most)):
        low, step = min(low + step, most), 2 * step
        if low == most and unknown.most is not None:
            return Calibration(unknown.key, unknown.most, str(most), cost(unknown.most, GAP))
        if low == most:
            what = "any" if not unknown.falls else "no"
            raise InputError(f"{what} {unknown.key} up to 2^63 meets this target", "ask for another one")
    beyond = least_integer(lambda number: not fits(number), low, min(low + step, most))
    best = beyond if unknown.falls else beyond - 1
    return Calibration(unknown.key, Fraction(best), str(best), cost(Fraction(best), GAP))


def _may_rise(plan: Plan, epsilon: Fraction) -> bool:
    """Say whether more noise may cost more: discrete Gaussian noise, at a large ε if it is all there is."""
    first, *others = parts = [part for event in plan.events for part in walk(event)]
    if isinstance(first, DiscreteGaussian) and not others:
        return 2 * epsilon > first.sensitivity * first.count
    return any(isinstance(part, DiscreteGaussian) for part in parts)


def least_noise(
    loss: Callable[[Fraction], Enclosure],
    epsilon: Fraction,
    delta: Fraction,
    guess: Fraction,
    coarse: Callable[[Fraction], bool] = lambda noise: False,
) -> Fraction:
    """Return the least noise, within 1e-11 (`coarse`: 1e-4), whose ε is proved to be at most the target.

    `loss`: noise ↦ an enclosure of ε at `delta`, which falls as the noise grows.
    `epsilon`: the target, at least 0; `delta`: that of the costs, in [0, 1).
    `guess`: a noise above 0 to begin at.
    `coarse`: whether costs at such a noise are too expensive for a close search; asked once.
    """
    low, high = _bracket(lambda noise: loss(noise).upper <= epsilon, guess)
    rough = coarse(high)
    asked = dict[Fraction, Fraction]()

    def upper(noise: Fraction) -> Fraction:
        return Fraction(min(loss(noise).upper, 1 << 64))

    def curve(noise: Fraction) -> arb:
        bounds = loss(noise)
        asked[noise] = end = Fraction(min(bounds.upper, 1 << 64))
        return between(end if rough or bounds.lower is None else Fraction(min(bounds.lower, end)), end)

    if rough or (epsilon > 0 and delta > 0):
        width = high * COARSE_GAP / 10 if rough else high / 10**11
        at, step = crossing(curve, epsilon, low, high, width / 8, sure=True), width / 3
        # Up to where the upper end meets the target too, by the slope from a point that is not too near.
        _, near = min(((abs(x - at), x) for x in asked if abs(x - at) * 10**6 > at), default=(0, at))
        fall = abs((asked[near] - epsilon) / (near - at)) if near != at else Fraction(0)
        over = asked.get(at, epsilon) - epsilon
        while at < high:
            at += max(step, over * 5 / (4 * fall)) if fall else step
            step, over = 2 * step, upper(at) - epsilon
            if over <= 0:
                break
        return min(at, high)
    close = Fraction(1, 10**14 if delta == 0 else 10**10)
    return bisect(lambda noise: loss(noise).upper <= epsilon, low, high, relative=close)[1]


def smooth(
    zcdp: Callable[[Fraction], Fraction | None], noise: Fraction, epsilon: Fraction, delta: Fraction
) -> Fraction:
    """Return a noise from which on zCDP meets the target, as ρ falls with it; twice the noise without a ρ."""
    at = noise
    while (rho := zcdp(at)) is not None:
        bound = renyi.epsilon(lambda order, rho=rho: ball(order * rho), delta)  # type: ignore[misc]
        if bound is not None and bound <= epsilon:
            return at
        at *= Fraction(21, 20)
    return 2 * noise


def from_there_on(
    loss: Callable[[Fraction], Enclosure], noise: Fraction, end: Fraction, epsilon: Fraction
) -> Fraction:
    """Return the least noise such that, as far as is seen, all more up to `end` meets ε: this or a later one.

    Discrete Gaussian noise of a little more may cost more, while the least loss above ε stays the same one
    (where ε is above about .8 times the movement; docs/import-plans.md).  Peaks between points are sought:
    a close search, not a proof.
    """
    if end == noise:
        return noise
    points = [noise * Fraction(float(end / noise) ** (k / MOST_SCANNED)) for k in range(1, MOST_SCANNED + 1)]
    costs = [loss(noise).upper, *(loss(at).upper for at in points)]
    unmet = [at for at, cost in zip(points, costs[1:], strict=True) if cost > epsilon]
    for k in range(1, MOST_SCANNED):
        if costs[k] >= max(costs[k - 1], costs[k + 1], epsilon * Fraction(9, 10)) and costs[k] <= epsilon:
            low, high = points[k - 2] if k > 1 else noise, points[k]
            for _ in range(30):  # thirds: to (2/3)^30, 5e-6, of the bracket
                a, b = (2 * low + high) / 3, (low + 2 * high) / 3
                low, high = (a, high) if loss(a).upper < loss(b).upper else (low, b)
            unmet += [low] if loss(low).upper > epsilon else []
    if not unmet:
        return noise
    low = max(unmet)
    beyond = [at for at in points if at > low]
    if not beyond:
        raise InputError("no noise meets this target from there on", "ask for a larger epsilon or delta")
    return bisect(lambda at: loss(at).upper <= epsilon, low, beyond[0], relative=Fraction(1, 10**11))[1]


def first_met(
    cost: Callable[..., Enclosure], text: str, epsilon: Fraction, *, up: bool
) -> tuple[Fraction, str, Enclosure]:
    """Return the first value from a decimal on, `up` or down in doubled steps, that is proved to meet ε.

    Steps that are too short for the rest even of a steep cost are not tried.
    """
    step = Fraction(10) ** (Decimal(text).adjusted() - DIGITS + 1)
    while True:
        value = Fraction(text)
        upper = cost(value, GAP).upper
        # An ordinary answer must meet ε too: its upper end is further from the cost than those of the search.
        if upper <= epsilon and (bounds := cost(value)).upper <= epsilon:
            return value, text, bounds
        over = min(upper, 2 * epsilon) - epsilon
        while STEEP * step * epsilon < value * over:
            value, step = value + (step if up else -step), 2 * step
        text, step = decimal(value + (step if up else -step), up=up), 2 * step


def first_guess(plan: Plan, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return about the noise that is enough, of one event known by name, from the plan for noise 1; else 1.

    It is where a Gaussian of the event's ρ has that ε.
    ρ falls as the square of the noise, or as its first power (`zcdp`). The Gaussian one is near √ρ =
    ε/(√(ε + L) + √L), L = ln(1/δ), by zCDP's simple conversion. All in logarithms, for any magnitude.
    """
    unit = plan.events[0]
    rho = unit.zcdp() if len(plan.events) == 1 and unit.name in PARAMETERS else None
    if not (epsilon > 0 and delta > 0 and rho):
        return Fraction(1)
    depth, e = math.log(max(-log_float(delta), 1e-300)), log_float(epsilon)
    root = e - float(np.logaddexp(np.logaddexp(e, depth) / 2, depth / 2))  # ln √ρ of the target
    if abs(e) < 12 and abs(depth) < 8:
        root = _gaussian_root(root, epsilon, delta)
    bits = (log_float(rho) - 2 * root) / math.log(2) * (1.0 if unit.name == "zcdp" else 0.5)
    bits = max(-float(MAX_POWERS), min(float(MAX_POWERS), bits))
    return Fraction(2) ** math.floor(bits) * Fraction(2 ** (bits - math.floor(bits)))


def _gaussian_root(root: float, epsilon: Fraction, delta: Fraction) -> float:
    """Return ln √ρ at which a Gaussian has ε(δ) = epsilon, by a few secants from a guess (an estimate)."""

    def height(at: float) -> float:
        mu2 = 2 * Fraction(math.exp(2 * at))
        found = gaussian.epsilon(delta, (mu2, mu2), epsilon / 10**9)[1]
        return log_float(found / epsilon) if found else -1.0

    before, now = root, root + 0.05
    low, high = height(before), height(now)
    for _ in range(8):
        if low == high or abs(high) < 1e-9:
            break
        step = max(-1.0, min(1.0, (before - now) * high / (high - low)))
        before, low, now = now, high, now + step
        high = height(now)
    return now


STEEP = 8  #: the power of its number with which a cost is thought to fall or rise at most (it may do more)
MAX_POWERS = 1 << 16  #: powers of two within which noise is sought (numbers in files end at 10^±5000)
FIRST_FACTORS = (Fraction(1025, 1024), Fraction(17, 16))  #: factors from the guess that are tried first


def _bracket(enough: Callable[[Fraction], bool], guess: Fraction) -> tuple[Fraction, Fraction]:
    """Return a noise that is not enough and one that is, near each other: by galloping exponents."""
    sign, step = (-1, 1) if enough(guess) else (1, 1)

    def at(exponent: int) -> Fraction:
        return guess * Fraction(2) ** (sign * exponent)

    def is_past(noise: Fraction) -> bool:
        return enough(noise) == (sign > 0)

    last = guess
    # The guess is often as near as this; powers of two would first go far from it.
    for factor in FIRST_FACTORS:
        near = guess * factor if sign > 0 else guess / factor
        if is_past(near):
            return min(last, near), max(last, near)
        last = near
    while not is_past(at(step)):
        step *= 2
        if step > 2 * MAX_POWERS:
            if sign < 0:
                raise InputError("any noise meets this target", "ask for a smaller epsilon or delta")
            raise InputError("no noise meets this target", "ask for a larger epsilon or a delta above 0")
    step = least_integer(lambda exponent: is_past(at(exponent)), step // 2, step)
    ends = at(step - 1), at(step)
    return min(ends), max(ends)


def decimal(value: Fraction, *, up: bool) -> str:
    """Return a decimal of 13 digits at least (at most) an exact value."""
    return str(to_decimal(value, DIGITS, up=up))
