"""`account` and `calibrate`: what events cost, and the noise that a budget needs."""

from fractions import Fraction
from pathlib import Path

from audits.cli.options import Json, Number, Source, lines, number, required, show, source, whole
from dpaccount.documents import parse_json


def account(
    events: Source,
    *,
    delta: Number = None,
    epsilon: Number = None,
    gap: Number = None,
    group: Number = None,
    profile: Path | None = None,
    json_: Json = False,
) -> int:
    """Say what a sequence of events costs: an enclosure of epsilon at DELTA, or of delta at EPSILON.

    Parameters
    ----------
    events
        A JSON file of schema dpaccount/events/1, or - for standard input.
    gap
        Tighten until upper - lower is at most this (relative above epsilon 1; relative for delta).
    group
        Protect so many units at once.
    profile
        Also write delta(epsilon) to this .csv or .svg file.
    """
    from dpaccount.accounting.answers import account_answer

    place = parse_json(source(events), events)
    answer = account_answer(
        place,
        delta=number(delta, "--delta"),
        epsilon=number(epsilon, "--epsilon"),
        gap=number(gap, "--gap"),
        group=whole(group, "--group"),
    )
    if profile is not None:
        from dpaccount.accounting.accountant import Accountant
        from dpaccount.accounting.profile import write_profile
        from dpaccount.plan.plan_file import read_plan

        write_profile(Accountant(read_plan(place), whole(group, "--group") or 1), profile)
    show(answer, json_, lines)
    return 0


def calibrate(
    event: str,
    *,
    epsilon: Number,
    delta: Number,
    sensitivity: Number = None,
    count: Number = None,
    rounds: Number = None,
    json_: Json = False,
) -> int:
    """Find the least noise of an EVENT that is proved to meet (EPSILON, DELTA).

    Parameters
    ----------
    event
        An event of `account` that has a scale: gaussian, laplace, tree, matrix_factorisation, ...
    sensitivity
        How far neighbours move the value (default 1).
    count
        How many releases share the budget (default 1).
    rounds
        For tree and matrix_factorisation: the rounds of the stream.
    """
    from dpaccount.accounting.answers import calibrate_answer

    moved = number(sensitivity, "--sensitivity")
    answer = calibrate_answer(
        event,
        epsilon=required(epsilon, "--epsilon"),
        delta=required(delta, "--delta"),
        sensitivity=Fraction(1) if moved is None else moved,
        count=whole(count, "--count") or 1,
        rounds=whole(rounds, "--rounds"),
    )
    show(answer, json_, lines)
    return 0
