"""The least noise, or the largest privacy parameter, that is proved to meet (ε, δ)."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from flint import arb

from dpaccount import cost, sharper
from dpaccount import events as ev
from dpaccount.classes import classes
from dpaccount.errors import InputError
from dpaccount.exact import Bound, Enclosure
from dpaccount.numerics.balls import allowance, ball, between, spent
from dpaccount.numerics.solve import solve
from dpaccount.totals import Total, total_of

DIGITS = 13  #: significant digits of the value
FINE = Fraction(1, 10**9)
SECONDS = 15.0  #: of processor time

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

BY_EPSILON = ("exponential", "bounded_range")  #: whose ε(δ) is computed directly, in one table


@dataclass(frozen=True)
class Calibration:
    """A value that is proved to meet the target, and the ε that it costs at the target's δ."""

    parameter: str
    value: Fraction
    text: str
    bounds: Enclosure


def calibrate(
    name: str,
    epsilon: Fraction,
    delta: Fraction,
    *,
    sensitivity: Fraction = Fraction(1),
    count: int = 1,
    rounds: int | None = None,
) -> Calibration:
    """Return the least noise (or largest parameter) of `count` such events that meets (epsilon, delta).

    Raises `InputError` where the event has no such parameter or no noise is enough.
    """
    if name not in PARAMETERS:
        raise InputError(f"{name!r} cannot be calibrated; known here: {', '.join(PARAMETERS)}")
    parameter = PARAMETERS[name][0]
    if not 0 <= delta < 1:
        raise InputError("the target delta is out of range; it must be at least 0 and below 1")
    if epsilon < 0:
        raise InputError("the target epsilon is out of range; it must be at least 0")
    build = _builder(name, parameter, sensitivity, count, rounds)
    with allowance(SECONDS):
        return _calibrated(name, build, epsilon, delta)


def _calibrated(
    name: str, build: Callable[[Fraction], ev.Event], epsilon: Fraction, delta: Fraction
) -> Calibration:
    """Return the least noise, as a decimal that is proved to meet the target."""
    parameter, falls = PARAMETERS[name]

    def bounds_at(value: Fraction) -> Enclosure:
        return _worst(build(value), lambda total: sharper.epsilon(total, delta, FINE))

    def noise_of(value: Fraction) -> Fraction:
        return value if falls else 1 / value

    least = _least(name, build, noise_of, epsilon, delta)
    text = _decimal(noise_of(least), up=falls)
    while True:
        value = Fraction(text)
        bounds = bounds_at(value)
        if bounds.upper <= epsilon:
            _refuse_wide(name, bounds)
            return Calibration(parameter, value, text, bounds)
        step = Fraction(10) ** (Decimal(text).adjusted() - DIGITS + 1)
        text = _decimal(value + step if falls else value - step, up=falls)


def _refuse_wide(name: str, bounds: Enclosure) -> None:
    """Raise where the cost is known so roughly that much less noise may do."""
    if bounds.lower is not None and bounds.upper - bounds.lower > bounds.upper / 1000 + FINE:
        raise InputError(
            f"{name} cannot be calibrated closely at these magnitudes; ask for less extreme numbers"
        )


def _builder(
    name: str, parameter: str, sensitivity: Fraction, count: int, rounds: int | None
) -> Callable[[Fraction], ev.Event]:
    """Return value ↦ the event with its parameter set to it."""
    kind = ev.VOCABULARY[name]
    fixed: dict[str, object] = {"count": count}
    if "sensitivity" in kind.__dataclass_fields__:
        if sensitivity == 0:
            raise InputError("a sensitivity of 0 costs nothing; calibrate for one above 0")
        fixed["sensitivity"] = sensitivity
    elif sensitivity != 1:
        raise InputError(f"{name} has no sensitivity; leave it out")
    if "rounds" in kind.__dataclass_fields__:
        if rounds is None:
            raise InputError(f"{name} needs its number of rounds; give --rounds")
        fixed["rounds"] = rounds
    elif rounds is not None:
        raise InputError(f"{name} has no rounds; leave --rounds out")
    return lambda value: kind(**{parameter: value, **fixed})  # type: ignore[arg-type]


def _worst(event: ev.Event, evaluate: Callable[[Total], cost.Answer]) -> Enclosure:
    """Return the largest answer over the classes of units of one event; refuses when the time is over."""
    if spent():
        raise InputError(
            f"{event.name} could not be calibrated within {SECONDS:g} seconds; ask for a smaller count or a"
            " larger delta"
        )
    answers = [evaluate(total_of(found.items)).bounds for found in classes([event])]
    return max(answers, key=lambda bounds: bounds.upper)


def _least(
    name: str,
    build: Callable[[Fraction], ev.Event],
    noise_of: Callable[[Fraction], Fraction],
    epsilon: Fraction,
    delta: Fraction,
) -> Fraction:
    """Return the least noise x, within 1e-14 (1e-10 for bounded range), proved to meet the target."""

    def loss(noise: Fraction) -> Bound:
        return _worst(build(noise_of(noise)), lambda total: sharper.epsilon(total, delta, FINE)).upper

    def failure(noise: Fraction) -> Enclosure:
        return _worst(build(noise_of(noise)), lambda total: cost.delta(total, epsilon, FINE))

    def curve(noise: Fraction) -> arb:
        bounds = failure(noise)
        return between(Fraction(bounds.lower or bounds.upper), Fraction(bounds.upper))

    if delta > 0 and name not in BY_EPSILON:
        low, high = _bracket(lambda noise: failure(noise).upper <= delta)
        return solve(curve, delta, low, high, high / 10**14)[1]
    low, high = _bracket(lambda noise: loss(noise) <= epsilon)
    if delta > 0 and epsilon > 0:
        return solve(lambda noise: ball(Fraction(loss(noise))), epsilon, low, high, high / 10**10)[1]
    while high - low > high / 10**14:
        middle = (low + high) / 2
        low, high = (low, middle) if loss(middle) <= epsilon else (middle, high)
    return high


FARTHEST = 1 << 16  #: powers of two within which noise is sought (numbers in files end at 10^±5000)


def _bracket(enough: Callable[[Fraction], bool]) -> tuple[Fraction, Fraction]:
    """Return a noise that is not enough and one that is, a factor of two apart: by galloping exponents."""
    sign, step = (-1, 1) if enough(Fraction(1)) else (1, 1)

    def is_past(exponent: int) -> bool:
        return enough(Fraction(2) ** (sign * exponent)) == (sign > 0)

    while not is_past(step):
        step *= 2
        if step > FARTHEST:
            if sign < 0:
                raise InputError("any noise meets this target; ask for a smaller epsilon or delta")
            raise InputError("no noise meets this target; ask for a larger epsilon or a delta above 0")
    low = step // 2
    while step - low > 1:
        middle = (low + step) // 2
        low, step = (low, middle) if is_past(middle) else (middle, step)
    low = step - 1
    ends = Fraction(2) ** (sign * low), Fraction(2) ** (sign * step)
    return min(ends), max(ends)


def _decimal(value: Fraction, *, up: bool) -> str:
    """Return a decimal of 13 digits at least (at most) an exact value."""
    context = Context(prec=DIGITS, rounding=ROUND_CEILING if up else ROUND_FLOOR, Emin=-999999, Emax=999999)
    return str(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
