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
from dataclasses import dataclass
from fractions import Fraction

from dpaccount.accounting.accountant import GAP
from dpaccount.accounting.calibration.first_guess import first_guess
from dpaccount.accounting.calibration.least_noise import (
    COARSE_GAP,
    NoBracketError,
    first_met,
    from_there_on,
    least_noise,
    smooth,
)
from dpaccount.accounting.calibration.parameters import CLOSED
from dpaccount.accounting.calibration.unknown import MAX_COUNT, Unknown, named, plans_of
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure, Exact, exact_argument
from dpaccount.numerics.bisection import least_integer
from dpaccount.numerics.fourier.contours import shared
from dpaccount.numerics.work_budget import CALIBRATION, OutOfReach, allowance, exhausted, granted, steps_done
from dpaccount.plan.event_base import Event, walk
from dpaccount.plan.events import DiscreteGaussian, Plan

FINE = Fraction(1, 10**9)  #: width of enclosures that the search asks for
ROUGH = COARSE_GAP, Fraction(1, 10**5), Fraction(1, 10**7)  #: widths that are asked for before the close one
APART = 4  #: times its width that a cost is away from the target where the search need not know it better
CLOSE_COUNT = 10**6  #: releases of which no enclosure in closed form is narrower than an ordinary answer
SLOW = CALIBRATION / 60  #: work of an answer of which a close search would need too many
FAR = Fraction(2) ** 16  #: times a first guess, or a part of it, where a search has gone astray
MORE = Fraction(11, 10), Fraction(3, 2), Fraction(4), Fraction(64)  #: times the noise that was found

Costing = Callable[..., Enclosure]  #: (value, gap) ↦ ε at the target's δ


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
        bounds = whole.worst_epsilon(delta, gap or reach).bounds
        wide = bounds.lower is not None and bounds.lower < (1 - COARSE_GAP / 10) * bounds.upper
        if wide and steps_done() - begun > granted(SLOW):
            reach = COARSE_GAP  # the rest of the search is as coarse
        return bounds

    calibration = search(unknown, cost, epsilon, delta, lambda: reach > FINE)
    lower, upper = calibration.bounds.lower, calibration.bounds.upper
    if unknown.named and lower is not None and upper - lower > upper / 10**6 + FINE:
        raise InputError(
            f"{unknown.at} cannot be calibrated closely at these magnitudes", "ask for less extreme numbers"
        )
    return calibration


def search(
    unknown: Unknown,
    cost: Costing,
    target: Fraction,
    delta: Fraction,
    coarse: Callable[[], bool],
    work: float = CALIBRATION,
    aim: str = "epsilon or delta",
) -> Calibration:
    """Return the number whose cost is proved to be at most a target.

    `cost`: (value, gap) ↦ an enclosure; `delta`: the search begins where (target, delta) would be met.
    `coarse`: whether costs are too expensive for a close search; `work`: a limit on its steps.
    `aim`: what the target is called in errors.
    """

    def within_work(value: Fraction, gap: Fraction | None = None) -> Enclosure:
        if exhausted():
            raise InputError(
                f"{unknown.at or 'it'} could not be calibrated within {granted(work):,.0f} steps of work",
                f"ask for a smaller plan or a larger {aim}",
            )
        return cost(value, gap)

    try:
        # One search asks dozens of similar questions, which share contours and values of transforms.
        with allowance(work), shared():
            if unknown.whole:
                return _whole(unknown, within_work, target, aim)
            return _real(unknown, within_work, target, delta, coarse)
    except NoBracketError as found:
        which, size = ("any", "smaller") if found.any_meets else ("no", "larger")
        raise InputError(f"{which} noise meets this target", f"ask for a {size} {aim}") from None
    except OutOfReach:  # the search went on to numbers that nothing can be computed with
        raise InputError(
            f"no {unknown.key} that can be computed with meets this target",
            f"ask for a larger {aim}",
        ) from None


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
            bounds = self.cost(value, ROUGH[k])
            if bounds.lower is None:
                break
            if bounds.upper != math.inf:
                upper = Fraction(bounds.upper)
                thin = FINE * max(Fraction(1), upper)
                if upper - Fraction(bounds.lower) <= max(thin, abs(upper - self.target) / APART):
                    self.first = max(k - 1, 0)
                    return bounds
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

    needed, strayed = _Needed(cost, epsilon, coarse), unknown.key != "value"

    def loss(noise: Fraction) -> Enclosure:
        nonlocal strayed
        if not (strayed or start < noise * FAR < start * FAR**2):
            strayed = True
            _check_direction(unknown, cost(number(start / 256), GAP), cost(number(start * 4), GAP))
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
                    "calibrate a number of which more costs less, or with grows=True more",
                )
    return Calibration(unknown.key, *first_met(cost, number(noise), epsilon, up=unknown.falls))


def _check_direction(unknown: Unknown, here: Enclosure, further: Enclosure) -> None:
    """Raise `InputError` where the cost rises in what was said to be noise."""
    if further.upper <= here.upper:
        return
    if unknown.falls:
        raise InputError("the cost grows with the number, so that no least one is enough", "give grows=True")
    raise InputError(
        "the cost falls as the number grows, so that no largest one is enough", "leave grows out"
    )


def _whole(unknown: Unknown, cost: Costing, epsilon: Fraction, aim: str) -> Calibration:
    """Return the largest (least) whole number whose cost is proved to be at most ε."""
    first = max(int(unknown.least), 1)

    def fits(value: int) -> bool:
        """Say whether a value is on the side of small ones: affordable, or where the cost falls, not yet."""
        return bool(cost(Fraction(value), GAP).upper <= epsilon) is not unknown.falls

    if not fits(first):
        if unknown.falls:  # the least value that there is is enough
            return Calibration(unknown.key, Fraction(first), str(first), cost(Fraction(first), GAP))
        raise InputError(f"not even {unknown.key} = {first} meets this target", f"ask for a larger {aim}")
    most = MAX_COUNT if unknown.most is None else int(unknown.most)
    low, step = first, 1
    while fits(min(low + step, most)):
        low, step = min(low + step, most), 2 * step
        if low == most and unknown.most is not None:
            return Calibration(unknown.key, unknown.most, str(most), cost(unknown.most, GAP))
        if low == most:
            which = "no" if unknown.falls else "any"
            raise InputError(f"{which} {unknown.key} up to 2^63 meets this target", "ask for another one")
    beyond = least_integer(lambda number: not fits(number), low, min(low + step, most))
    best = beyond if unknown.falls else beyond - 1
    return Calibration(unknown.key, Fraction(best), str(best), cost(Fraction(best), GAP))


def _may_rise(plan: Plan, epsilon: Fraction) -> bool:
    """Say whether more noise may cost more: discrete Gaussian noise, at a large ε if it is all there is."""
    first, *others = parts = [part for event in plan.events for part in walk(event)]
    if isinstance(first, DiscreteGaussian) and not others:
        return 2 * epsilon > first.sensitivity * first.count
    return any(isinstance(part, DiscreteGaussian) for part in parts)
