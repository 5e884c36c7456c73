"""The search for the least noise that meets a target, given what each noise costs."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from flint import arb

from dpaccount.accounting.accountant import GAP
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure, to_decimal
from dpaccount.numerics.bisection import bisect, crossing, least_integer
from dpaccount.numerics.closed import renyi
from dpaccount.numerics.intervals import ball, between

DIGITS = 13  #: significant digits of the value
COARSE_GAP = Fraction(1, 10**3)  #: width that is asked for where closer ones take too much work
MOST_SCANNED = 200  #: at which costs that need not fall are looked at
STEEP = 8  #: the power of its number with which a cost is thought to fall or rise at most (it may do more)
MAX_POWERS = 1 << 16  #: powers of two within which noise is sought (numbers in files end at 10^±5000)
FIRST_FACTORS = (Fraction(1025, 1024), Fraction(17, 16))  #: factors from the guess that are tried first


class NoBracketError(Exception):
    """Any noise meets the target (`any_meets`), or none does."""

    def __init__(self, any_meets: bool) -> None:  # noqa: FBT001
        super().__init__()
        self.any_meets = any_meets


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

    Raises `NoBracketError` where no noise is just enough.
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
    cost: Callable[..., Enclosure], value: Fraction, epsilon: Fraction, *, up: bool
) -> tuple[Fraction, str, Enclosure]:
    """Return the first decimal from a value on, `up` or down in doubled steps, that is proved to meet ε.

    Steps that are too short for the rest even of a steep cost are not tried.
    """
    text = str(to_decimal(value, DIGITS, up=up))
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
        text, step = str(to_decimal(value + (step if up else -step), DIGITS, up=up)), 2 * step


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
            raise NoBracketError(sign < 0)
    step = least_integer(lambda exponent: is_past(at(exponent)), step // 2, step)
    ends = at(step - 1), at(step)
    return min(ends), max(ends)
