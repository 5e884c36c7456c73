"""`account` and `calibrate`: what events cost, and the noise that a budget needs."""

import math
from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from audits.cli.options import (
    File,
    Json,
    Number,
    Source,
    Whole,
    lines,
    number,
    required,
    say,
    show,
    source,
    whole,
)
from dpaccount.documents import parse_json
from dpaccount.errors import InputError


def account(  # noqa: PLR0913 - options
    events: Source,
    *,
    delta: Number = None,
    epsilon: Number = None,
    gap: Number = None,
    group: Whole = None,
    profile: File | None = None,
    certificate: File | None = None,
    work: Number = None,
    json_: Json = False,
) -> int:
    """Compute the cost of a sequence of events: epsilon at DELTA, or delta at EPSILON.

    Example: `dpaccount account events.json --delta 1e-5`

    Parameters
    ----------
    events
        A JSON file of schema dpaccount/events/1, or - for standard input.
    delta
        From 0 to 1: compute epsilon at this delta.
    epsilon
        At least 0: compute delta at this epsilon.
    gap
        Tighten until upper - lower is at most this (relative above epsilon 1; relative for delta).
    group
        Protect any group of this many units (default 1).
    profile
        Also write delta(epsilon) to this .csv or .svg file.
    certificate
        Also write a certificate, from which dpaccount check re-derives an upper bound on the answer.
    work
        Do at most this many times the usual work before a simpler bound is given (default 1).
    """
    from dpaccount.accounting.answers import account_answer

    place = parse_json(source(events), events)
    share, loss, units = number(delta, "--delta"), number(epsilon, "--epsilon"), whole(group, "--group")
    if certificate is not None and (share is None) == (loss is None):
        raise InputError("a certificate answers one question", "give --delta or --epsilon")
    with _work(work):
        answer = account_answer(place, delta=share, epsilon=loss, gap=number(gap, "--gap"), group=units)
        if profile is not None:
            from dpaccount.accounting.accountant import Accountant
            from dpaccount.accounting.profile import write_profile
            from dpaccount.plan.plan_file import read_plan

            write_profile(Accountant(read_plan(place), units or 1), profile)
    if certificate is not None:
        from audits.accounts.certificate import written_certificate

        asked = "epsilon" if loss is None else "delta"
        document = written_certificate(
            certificate, place.value, answer[asked], delta=share, epsilon=loss, group=units or 1
        )
        answer[asked] = document["tight"]
        answer["confirmed"] = document["confirmed"]
    show(answer, json_, lines)
    _remark_on_gap(answer, number(gap, "--gap"), relative=loss is not None)
    return 0


def _remark_on_gap(answer: dict[str, Any], gap: Fraction | None, *, relative: bool) -> None:
    """Say on standard error where an answer is wider than it was asked to be, as far as doubles show.

    It is valid all the same.
    """
    asked = answer.get("epsilons", [answer])
    for enclosure in asked if gap is not None else ():
        ends = enclosure["delta" if relative else "epsilon"]
        lower, upper = ends["lower"], ends["upper"]
        at = "" if enclosure is answer else f" at delta {enclosure['delta']}"
        if lower is None:
            say(f"note: --gap does not apply{at}: no lower end is known")
            continue
        if lower == upper:
            continue
        width = float(upper) - float(lower)  # of the printed ends, each rounded outward
        most = float(gap or 0) * (float(upper) if relative else max(1.0, float(upper)))
        if math.isinf(width) or width > most + 2 * math.ulp(float(upper)):
            say(f"note: --gap is not reached{at}: upper - lower is {width:.2g}; --work allows for more work")


def calibrate(  # noqa: PLR0913 - options
    event: Annotated[str, Parameter(allow_leading_hyphen=True)],
    *,
    epsilon: Number,
    delta: Number,
    sensitivity: Number = None,
    count: Whole = None,
    rounds: Whole = None,
    certificate: File | None = None,
    work: Number = None,
    json_: Json = False,
) -> int:
    """Find the least noise of an EVENT, or the number written "?" in a file, that meets (EPSILON, DELTA).

    Example: `dpaccount calibrate gaussian --epsilon 1 --delta 1e-6 --count 4`

    For a file, `dpaccount calibrate plan.json --epsilon 1 --delta 1e-6`, where one number is "?".

    Parameters
    ----------
    event
        An event of `account` that has a scale: gaussian, laplace, tree, matrix_factorisation, ...; or a file
        of events, or - for standard input, with one "?".
    epsilon
        The target, at least 0.
    delta
        The target, from 0 to 1.
    sensitivity
        How far neighbours move the value (default 1).
    count
        How many releases share the budget (default 1).
    rounds
        For tree and matrix_factorisation: the rounds of the stream.
    certificate
        Also write a certificate, from which dpaccount check re-derives an upper bound on the cost.
    work
        Do at most this many times the usual work before a simpler bound is given (default 1).
    """
    from msgspec import convert
    from msgspec.structs import asdict, replace

    from dpaccount.accounting.answers import calibrate_answer, calibrate_plan_answer
    from dpaccount.accounting.calibrate import PARAMETERS, plan_of, unknown_in
    from dpaccount.schemas.fields import Confirmed

    target, share = required(epsilon, "--epsilon"), required(delta, "--delta")
    if event == "-" or event.endswith(".json") or (event not in PARAMETERS and Path(event).is_file()):
        if (sensitivity, count, rounds) != (None, None, None):
            raise InputError("the file states --sensitivity, --count and --rounds", "leave them out")
        place = parse_json(source(event), event)
        with _work(work):
            answer = calibrate_plan_answer(place, epsilon=target, delta=share)
        make = unknown_in(place).make
    else:
        given, times = number(sensitivity, "--sensitivity"), whole(count, "--count") or 1
        moved, stream = Fraction(1) if given is None else given, whole(rounds, "--rounds")
        with _work(work):
            answer = calibrate_answer(
                event, epsilon=target, delta=share, sensitivity=moved, count=times, rounds=stream
            )
        make = plan_of(event, sensitivity=moved, count=times, rounds=stream)
    if certificate is not None:
        from audits.accounts.certificate import written_certificate

        plan, tight = make(Fraction(answer.value)).as_json(), asdict(answer.proved.epsilon)
        confirmed = written_certificate(certificate, plan, tight, delta=share)["confirmed"]
        answer = replace(answer, confirmed=convert(confirmed, Confirmed))
    show(answer, json_, lines)
    return 0


def _work(text: Number) -> AbstractContextManager[None]:
    """Return the block in which every limit of work is multiplied by `--work`."""
    from dpaccount.numerics.work_budget import MOST_FACTOR, raised

    factor = number(text, "--work")
    if factor is not None and not 0 < factor <= MOST_FACTOR:
        raise InputError("--work is out of range", f"it must be above 0 and at most {MOST_FACTOR:,}")
    return raised(1.0 if factor is None else float(factor))
