"""The least noise, or the largest privacy parameter, that is proved to meet (ε, δ)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from flint import arb

from dpaccount.errors import InputError
from dpaccount.exact import Enclosure, to_decimal
from dpaccount.numerics.bisection import bisect, least_integer, solve
from dpaccount.numerics.closed import gaussian, renyi
from dpaccount.numerics.intervals import ball, between, log_float
from dpaccount.plan import events as ev
from dpaccount.plan.event_base import Event
from dpaccount.plan.events import Plan
from dpaccount.relation import Relation

DIGITS = 13  #: significant digits of the value
FINE = Fraction(1, 10**9)  #: width of enclosures that the search asks for
GAP = Fraction(1, 10**6)  #: width of an ordinary answer
COARSE_GAP = Fraction(1, 10**3)  #: width that is asked for where closer ones take too much work
MOST_SCANNED = 200  #: at which costs that need not fall are looked at

CLOSE_COUNT = 10**6  #: releases of which no enclosure in closed form is narrower than an ordinary answer
MAX_COUNT = 1 << 63  #: rounds of a stream, and releases: as many as a ledger can number

#: The parameter of each event that can be calibrated, and whether more of it costs less.
PARAMETERS: dict[str, tuple[str, bool]] = {
    "gaussian": ("sigma", True),
    "discrete_gaussian": ("sigma", True),
    "tree": ("sigma", True),
    "matrix_factorisation": ("sigma", True),
    "laplace": ("scale", True),
    "discrete_laplace": ("scale", True),
    "pure": ("epsilon", False),
    "randomized_response": ("epsilon", False),
    "exponential": ("epsilon", False),
    "permute_and_flip": ("epsilon", False),
    "bounded_range": ("eta", False),
    "zcdp": ("rho", False),
    "gdp": ("mu", False),
}

#: Those whose cost is a formula, at any count.
CLOSED = ("gaussian", "gdp", "tree", "matrix_factorisation", "zcdp", "exponential", "bounded_range")


@dataclass(frozen=True, repr=False)
class Calibration:
    """A value that is proved to meet the target, and the ε that it costs at the target's δ."""

    parameter: str
    value: Fraction
    text: str
    bounds: Enclosure

    def __repr__(self) -> str:
        """Return the value and what it costs; `text` has all its digits."""
        sign = "" if self.bounds.lower is None else "= "
        return f"{self.parameter} {self.text} costs ε {sign}{self.bounds!r}"

    def __float__(self) -> float:
        """Return the nearest double: what to simulate with; `value` is what is proved."""
        return float(self.value)


def plan_of(
    name: str, *, sensitivity: Fraction, count: int, rounds: int | None
) -> Callable[[Fraction], Plan]:
    """Return value ↦ the plan of `count` events of this name, their parameter set to it.

    Raises `InputError` where the event has no such parameter.
    """
    if name not in PARAMETERS:
        raise InputError(f"{name!r} cannot be calibrated", f"known here: {', '.join(PARAMETERS)}")
    if name not in CLOSED:
        _in_range("count", count)
    kind = ev.VOCABULARY[name]
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
        _in_range("number of rounds", rounds)
        fixed["rounds"] = rounds
    elif rounds is not None:
        raise InputError(f"{name} has no rounds", "leave --rounds out")
    return lambda value: Plan(Relation.REPLACE_ONE, kind(**{PARAMETERS[name][0]: value, **fixed}))  # type: ignore[arg-type]


def _in_range(name: str, value: int) -> None:
    """Refuse at once what would only be refused after a long search."""
    if not 1 <= value <= MAX_COUNT:
        raise InputError(f"the {name} is out of range", "it must be from 1 to 2^63")


def least(
    loss: Callable[[Fraction], Enclosure],
    epsilon: Fraction,
    delta: Fraction,
    guess: Fraction,
    coarse: Callable[[], bool] = lambda: False,
) -> Fraction:
    """Return the least noise, within 1e-11 (`coarse`: 1e-4), whose ε is proved to be at most the target.

    `loss`: noise ↦ an enclosure of ε at `delta`, which falls as the noise grows.
    `epsilon`: the target, at least 0; `delta`: that of the costs, in [0, 1).
    `guess`: a noise above 0 to begin at; `coarse`: whether costs are too dear for a close search, asked once.
    """
    low, high = _bracket(lambda noise: loss(noise).upper <= epsilon, guess)
    rough = coarse()

    def curve(noise: Fraction) -> arb:
        bounds = loss(noise)
        upper = Fraction(min(bounds.upper, 1 << 64))
        return between(upper if rough or bounds.lower is None else Fraction(min(bounds.lower, upper)), upper)

    if rough or (epsilon > 0 and delta > 0):
        return solve(curve, epsilon, low, high, high * COARSE_GAP / 10 if rough else high / 10**11)[1]
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
            for _ in range(30):
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

    It is met at the width of an ordinary answer, too, whose upper end is further from the cost than those
    of the search: steps that are too short for the rest even of a steep cost are not tried.
    """
    step = Fraction(10) ** (Decimal(text).adjusted() - DIGITS + 1)
    while True:
        value = Fraction(text)
        upper = cost(value, GAP).upper
        if upper <= epsilon and (bounds := cost(value)).upper <= epsilon:
            return value, text, bounds
        over = min(upper, 2 * epsilon) - epsilon
        while STEEP * step * epsilon < value * over:
            value, step = value + (step if up else -step), 2 * step
        text, step = decimal(value + (step if up else -step), up=up), 2 * step


def guess(unit: Event, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return about the noise that is enough: where a Gaussian of the event's ρ has that ε (`unit`: noise 1).

    ρ falls as the square of the noise, or as its first power (`zcdp`). The Gaussian one is near √ρ =
    ε/(√(ε + L) + √L), L = ln(1/δ), by zCDP's simple conversion. All in logarithms, for any magnitude.
    """
    rho = unit.zcdp()
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
