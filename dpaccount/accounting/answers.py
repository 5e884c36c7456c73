"""The answers of `account` and `calibrate`, exactly as they are printed.

Seconds are measured here and nowhere below: no bound depends on the clock.
"""

import math
import time
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpaccount.accounting.accountant import GAP, STANDARD_DELTAS, Accountant
from dpaccount.accounting.worst_unit import Worst
from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.exact import Number, printed, shown
from dpaccount.numerics.work_budget import ANSWER, allowance
from dpaccount.plan.plan_file import read_plan

if TYPE_CHECKING:
    from dpaccount.accounting.calibrate import Calibration
    from dpaccount.schemas.costs import CalibrationAnswer

ACCOUNT = "dpaccount/account/1"


@allowance(ANSWER)
def account_answer(
    place: Place,
    *,
    delta: Fraction | None = None,
    epsilon: Fraction | None = None,
    gap: Fraction | None = None,
    group: int | None = None,
) -> dict[str, Any]:
    """Return what the events in `place` cost: ε at `delta`, δ at `epsilon`, or a summary of both.

    `place`: a plan document, with its file for messages.
    `delta`: in [0, 1]; `epsilon`: at least 0.  At most one of them; without either ε is given at four δ.
    `gap`: the width above 0 that is sought, relative to max(1, ε) or to δ; 1e-6 where it is None.
    `group`: how many units are protected at once, at least 1; one where it is None.

    Raises `InputError` naming the place in the document, or the option that is out of range.
    """
    begun = time.perf_counter()
    accountant = Accountant(read_plan(place), _group(group))
    width = _gap(gap)
    answer: dict[str, Any] = {"schema": ACCOUNT}
    if delta is not None and epsilon is not None:
        raise InputError("--delta and --epsilon are both given", "give one of them")
    if delta is not None:
        worst = accountant.worst_epsilon(_within("--delta", delta, 1), width)
        answer |= {"delta": shown(delta), "epsilon": worst.bounds.as_json(), **_worst_unit_fields(worst)}
    elif epsilon is not None:
        worst = accountant.worst_delta(_within("--epsilon", epsilon, None), width)
        answer |= {"epsilon": shown(epsilon), "delta": worst.bounds.as_json(), **_worst_unit_fields(worst)}
    else:
        answer |= summary(accountant, width)
    answer |= scalars(accountant)
    if assumed := accountant.plan.assumptions():
        answer["assumptions"] = assumed
    answer["seconds"] = round(time.perf_counter() - begun, 6)
    return answer


def summary(accountant: Accountant, gap: Fraction = GAP) -> dict[str, Any]:
    """Return pure ε where it exists and ε at a few standard δ, with the worst unit at the first δ."""
    found = {at: accountant.worst_epsilon(at, gap) for at in STANDARD_DELTAS}
    first = found[STANDARD_DELTAS[0]]
    return {
        "pure": _upper(accountant.pure()),
        "epsilons": [
            {"delta": shown(Fraction(at)), "epsilon": worst.bounds.as_json()} for at, worst in found.items()
        ],
        **_worst_unit_fields(first),
    }


def scalars(accountant: Accountant) -> dict[str, Any]:
    """Return the zCDP ρ and the GDP μ of the worst unit, rounded up; null where there is none."""
    mu2 = accountant.gdp()
    return {"zcdp": _upper(accountant.zcdp()), "gdp": None if mu2 is None else _root(mu2)}


def _worst_unit_fields(worst: Worst) -> dict[str, Any]:
    return {"worst_unit": worst.unit, "method": worst.method}


def _upper(value: Number | None) -> float | str | None:
    return None if value is None else printed(value, up=True)


def _root(square: Fraction) -> float | str:
    """Return √square rounded up, by integers: ⌈√(n·4^k/d)⌉/2^k."""
    if square == 0:
        return 0.0
    shift = 2 * max(0, 128 + square.denominator.bit_length() - square.numerator.bit_length())
    floor = math.isqrt((square.numerator << shift) // square.denominator)
    ceiling = floor + (floor * floor != square * 2**shift)
    return printed(Fraction(ceiling, 1 << (shift // 2)), up=True)


def _within(option: str, value: Fraction, most: int | None) -> Fraction:
    if value < 0 or (most is not None and value > most):
        bounds = "at least 0" if most is None else f"in [0, {most}]"
        raise InputError(f"{option} {shown(value)} is out of range", f"it must be {bounds}")
    return value


def _gap(gap: Fraction | None) -> Fraction:
    if gap is None:
        return GAP
    if gap <= 0:
        raise InputError(f"--gap {shown(gap)} is out of range", "it must be above 0")
    return gap


def _group(group: int | None) -> int:
    if group is None:
        return 1
    if group < 1:
        raise InputError(f"--group {shown(Fraction(group))} is out of range", "it must be at least 1")
    return group


def calibrate_answer(
    name: str,
    *,
    epsilon: Fraction,
    delta: Fraction,
    sensitivity: Fraction = Fraction(1),
    count: int = 1,
    rounds: int | None = None,
) -> "CalibrationAnswer":
    """Return the least noise (or largest parameter) that is proved to meet (epsilon, delta).

    Raises `InputError` where the event has no such parameter, or a number is out of range.
    """
    from msgspec.structs import replace

    from dpaccount.accounting.calibrate import calibrate  # which `account` does without

    begun = time.perf_counter()
    found = calibrate(name, epsilon, delta, sensitivity=sensitivity, count=count, rounds=rounds)
    return replace(_calibrated(found, delta, begun), event=name)


def calibrate_plan_answer(place: Place, *, epsilon: Fraction, delta: Fraction) -> "CalibrationAnswer":
    """Return the same for the one number that is written ``"?"`` in a document of events.

    Raises `InputError` where there is none or more than one, or it has no such value.
    """
    from msgspec.structs import replace

    from dpaccount.accounting.calibrate import settle, unknown_in

    begun = time.perf_counter()
    unknown = unknown_in(place)
    return replace(_calibrated(settle(unknown, epsilon, delta), delta, begun), at=unknown.at)


def _calibrated(found: "Calibration", delta: Fraction, begun: float) -> "CalibrationAnswer":
    from msgspec import convert

    from dpaccount.schemas.costs import CalibrationAnswer
    from dpaccount.schemas.fields import AtDelta, BoundEnds

    return CalibrationAnswer(
        parameter=found.parameter,
        value=found.text,
        proved=AtDelta(convert(found.bounds.as_json(), BoundEnds), shown(delta)),
        seconds=round(time.perf_counter() - begun, 6),
    )
