"""The answer of `calibrate`, exactly as it is printed."""

import time
from fractions import Fraction

from msgspec import convert
from msgspec.structs import replace

from dpaccount.accounting.calibrate import Calibration
from dpaccount.accounting.calibrate_plan import calibrate, settle, unknown_in
from dpaccount.documents import Place
from dpaccount.exact import shown
from dpaccount.schemas.costs import CalibrationAnswer
from dpaccount.schemas.fields import AtDelta, BoundEnds


def calibrate_answer(
    name: str,
    *,
    epsilon: Fraction,
    delta: Fraction,
    sensitivity: Fraction = Fraction(1),
    count: int = 1,
    rounds: int | None = None,
) -> CalibrationAnswer:
    """Return the least noise (or largest parameter) that is proved to meet (epsilon, delta).

    Raises `InputError` where the event has no such parameter, or a number is out of range.
    """
    begun = time.perf_counter()
    found = calibrate(name, epsilon, delta, sensitivity=sensitivity, count=count, rounds=rounds)
    return replace(_calibrated(found, delta, begun), event=name)


def calibrate_plan_answer(place: Place, *, epsilon: Fraction, delta: Fraction) -> CalibrationAnswer:
    """Return the same for the one number that is written ``"?"`` in a document of events.

    Raises `InputError` where there is none or more than one, or it has no such value.
    """
    begun = time.perf_counter()
    unknown = unknown_in(place)
    return replace(_calibrated(settle(unknown, epsilon, delta), delta, begun), at=unknown.at)


def _calibrated(found: Calibration, delta: Fraction, begun: float) -> CalibrationAnswer:
    return CalibrationAnswer(
        parameter=found.parameter,
        value=found.text,
        proved=AtDelta(convert(found.bounds.as_json(), BoundEnds), shown(delta)),
        seconds=round(time.perf_counter() - begun, 6),
    )
