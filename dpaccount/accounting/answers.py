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
    from dpaccount.accounting.calibration.unknown import Unknown
    from dpaccount.accounting.risk_targets import RiskTarget
    from dpaccount.schemas.costs import CalibrationAnswer

ACCOUNT = "dpaccount/account/1"
NONE = Fraction(0)


@allowance(ANSWER)
def account_answer(
    place: Place,
    *,
    delta: Fraction | None = None,
    epsilon: Fraction | None = None,
    order: Fraction | None = None,
    gap: Fraction | None = None,
    group: int | None = None,
) -> dict[str, Any]:
    """Return what the events in `place` cost: ε at `delta`, δ at `epsilon`, or a summary of both.

    `order`: above 1, for the Rényi divergence at it.

    `place`: a plan document, with its file for messages.
    `delta`: in [0, 1]; `epsilon`: at least 0.  At most one of the three; without any ε is given at four δ.
    `gap`: the width above 0 that is sought, relative to max(1, ε) or to δ; 1e-6 where it is None.
    `group`: how many units are protected at once, at least 1; one where it is None.

    Raises `InputError` naming the place in the document, or the option that is out of range.
    """
    begun = time.perf_counter()
    units = 1 if group is None else _checked("--group", group, group >= 1, "at least 1")
    accountant = Accountant(read_plan(place), int(units))
    width = GAP if gap is None else _checked("--gap", gap, gap > 0, "above 0")
    answer: dict[str, Any] = {"schema": ACCOUNT}
    asked = {"--delta": delta, "--epsilon": epsilon, "--order": order}
    given = [option for option, value in asked.items() if value is not None]
    if order is not None and gap is not None:
        raise InputError("--gap goes with --delta and --epsilon", "leave it out: an order is one sum")
    if len(given) > 1:
        raise InputError(f"{' and '.join(given[:2])} are both given", "give one of them")
    if delta is not None:
        worst = accountant.worst_epsilon(_checked("--delta", delta, 0 <= delta <= 1, "in [0, 1]"), width)
        answer |= {"delta": shown(delta), "epsilon": worst.bounds.as_json(), **_worst_unit_fields(worst)}
    elif epsilon is not None:
        worst = accountant.worst_delta(_checked("--epsilon", epsilon, epsilon >= 0, "at least 0"), width)
        answer |= {"epsilon": shown(epsilon), "delta": worst.bounds.as_json(), **_worst_unit_fields(worst)}
    elif order is not None:
        worst = accountant.worst_renyi(order)
        answer |= {"order": shown(order), "renyi": worst.bounds.as_json(), **_worst_unit_fields(worst)}
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


def risk_fields(
    accountant: Accountant, delta: Fraction | None = None, rate: Fraction | None = None
) -> dict[str, Any]:
    """Return what an attacker learns at most: advantage, rates, belief from even odds, μ and its distance.

    `delta`: the distance is a thousandth of it where it is above 0; `rate`: one more false-positive rate.
    """
    from dpaccount.accounting.risk import DISTANCE, REPORTED_RATES

    asked = sorted({*REPORTED_RATES, rate or REPORTED_RATES[0]})
    found = accountant.risk(delta / 1000 if delta else DISTANCE, asked)
    rates = [
        {
            "false_positive_rate": shown(rate),
            "true_positive_rate": _upper(found.true_positives(rate)),
            "belief": _upper(found.belief(rate)),
        }
        for rate in asked
    ]
    return {
        "advantage": _upper(found.advantage.upper),
        "rates": rates,
        "mu": None if found.mu is None else found.mu.as_json(),
        "distance": shown(found.distance),
        "sentence": found.sentence(),
    }


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


def _checked(option: str, value: Fraction | int, fits: bool, bounds: str) -> Fraction:  # noqa: FBT001
    if not fits:
        raise InputError(f"{option} {shown(Fraction(value))} is out of range", f"it must be {bounds}")
    return Fraction(value)


def calibration_answer(
    unknown: "Unknown",
    target: "RiskTarget | None" = None,
    *,
    epsilon: Fraction = NONE,
    delta: Fraction = NONE,
) -> "CalibrationAnswer":
    """Return the least noise (or largest parameter) proved to meet (epsilon, delta), or a risk target.

    `unknown`: of an event by its name (`unknown.named`), or written ``"?"`` in a document (`unknown_in`).
    Raises `InputError` where it has no such value, or a number is out of range.
    """
    from msgspec import UNSET, convert

    from dpaccount.accounting.calibration.calibrate import settle
    from dpaccount.accounting.risk_targets import settle_risk
    from dpaccount.schemas.costs import CalibrationAnswer, RiskAnswer
    from dpaccount.schemas.fields import AtDelta, BoundEnds

    begun = time.perf_counter()
    found = settle(unknown, epsilon, delta) if target is None else settle_risk(unknown, target)
    proved: Any = UNSET
    risk: Any = UNSET
    if target is None:
        proved = AtDelta(convert(found.bounds.as_json(), BoundEnds), shown(delta))
    else:
        risk = convert(risk_fields(unknown.accountant(found.value), rate=target.at), RiskAnswer)
    return CalibrationAnswer(
        event=unknown.at if unknown.named else UNSET,
        at=UNSET if unknown.named else unknown.at,
        parameter=found.parameter,
        value=found.text,
        proved=proved,
        risk=risk,
        seconds=round(time.perf_counter() - begun, 6),
    )
