"""A study's release: what it reports, its intervals, and the accuracy or the share of each statistic."""

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from audits.consistency.draws import (
    LEVELS,
    SQUARE,
    LeastMove,
    chosen,
    ends,
    is_choice,
    least_moves,
    maybe,
    names_of,
    unlisted,
)
from audits.consistency.widths import (
    LET_PASS,
    OF_INTERVALS,
    ROUNDED,
    DrawnNoise,
    check_widths,
    noise_of,
)
from dpaccount.checker.certificate.shapes import exact_of
from dpaccount.checker.certificate.tables import STUDY, Table
from dpaccount.checker.documents import brief, ensure, integer
from dpaccount.checker.relation import ADDED

ENDS = {"low", "high", "level", "of"}  # of the interval of a reported number
OF_SCALES = Fraction(1, 1000)  # more than rounding changes an amount
FINEST = Fraction(1, 32)  # steps of scales of unlisted counts


def check_study_release(document: Table) -> None:
    """Verify that a study's release reports the statistics listed, with intervals as wide as their noise."""
    if document["release"] is None or document["subject"]["use"] != STUDY:
        return
    report, held = document["release"]["report"], document["subject"]["parameters"]
    check_reported(report, held["statistics"])
    check_shown(report, held)
    check_widths(report, held)
    check_choices(report, held)


def check_reported(report: dict[str, Any], described: list[dict[str, Any]]) -> None:
    """Verify that a study reports the statistics that it lists, their intervals, and nothing else."""
    names = {each["name"] for each in described}
    numbers = {name for each in described for name in names_of(each)}
    around = report.get("accuracy", {})
    ensure(report.keys() - {"accuracy"} == numbers, "a release reports other statistics than are listed")
    ensure(type(around) is dict and around.keys() == names, "intervals are of other statistics than listed")
    for each in described:
        interval, own = around[each["name"]], ENDS | ({"ranks"} if chosen(each) else set())
        ensure(
            type(interval) is dict and interval.keys() == own, f"{brief(each['name'])} has no such interval"
        )


def check_choices(report: Table, held: Table) -> None:
    """Verify that chosen quantiles are candidates without an interval, and state enough ranks."""
    every = [move for each in held["statistics"] for move in least_moves(each, exact=held["exact_rows"])]
    scales = {move.key: (move, scale) for move, scale in zip(every, held["scales"], strict=True)}
    for each in filter(chosen, held["statistics"]):
        value, around, about = report[each["name"]], report["accuracy"][each["name"]], brief(each["name"])
        (low, high), (move, given) = ends(each["column"]), scales[f"{each['name']}/choice"]
        unknown = [None] * (move.size // 4**LEVELS)
        inside = type(value) is list and all(is_choice(x, low, high) for x in value)
        ensure(inside and len(value) == len(unknown), f"the choice of {about} is none of its candidates")
        ensure(around["low"] == around["high"] == unknown, f"{about} has an interval, which nothing proves")
        ensure(exact_of(around["level"], "level") == OF_INTERVALS, f"{about} is of another level")
        ranks, scale = (exact_of(x, "a number of ranks") or Fraction(0) for x in (around["ranks"], given))
        enough = float(ranks) * LET_PASS >= least_ranks(move, scale)
        ensure(enough, f"the choice of {about} is of fewer ranks than its scale allows")


def check_shown(report: dict[str, Any], held: dict[str, Any]) -> None:
    """Verify that each unlisted value is reported with a count that reaches its threshold."""
    names = [each["name"] for each in held["statistics"] if unlisted(each)]
    for name, least in zip(names, held.get("thresholds", []), strict=True):
        counts = report[name]
        several = type(counts) is list and len(counts) == len(report[f"{name}/texts"])
        shown = several and all((exact_of(each, "a count") or 0) >= integer(least) for each in counts)
        ensure(shown, f"{brief(name)} reports values whose counts do not reach the threshold")


# ------------------------------------------------------------------ each statistic's part of the total


def check_shares(document: Table) -> None:
    """Verify the accuracy or the share that is stated of each statistic of a proved study."""
    if not document["proved"]["derivation"] or document["subject"]["use"] != STUDY:
        return
    held = document["subject"]["parameters"]
    scales, shares = iter(held["scales"]), dict[bool, list[tuple[Fraction, Fraction]]]()
    for each in held["statistics"]:
        about = f"the statistic {brief(each['name'])}"
        moves = least_moves(each, exact=held["exact_rows"])
        drawn = [exact_of(next(scales), "scales") or Fraction(0) for _ in moves]
        epsilon, accuracy = (maybe(each[key], key) for key in ("epsilon", "accuracy"))
        if epsilon is not None:
            continue  # the checker has inferred what its draws cost
        if accuracy is not None:
            noise = noise_of(each, moves, drawn, held)
            least = least_ranks(moves[0], drawn[0]) if chosen(each) else half_width(each, held, noise)
            ensure(least <= float(accuracy) * LET_PASS, f"{about} is less accurate than is stated")
        else:
            free, share = unlisted(each), maybe(each["share"], "share") or Fraction(0)
            ensure(share > 0, f"{about} has no share")
            shares.setdefault(free, []).append(part_per_share(moves, drawn, held, share, free=free))
    for some in shares.values():
        equal = max(low for low, _ in some) <= min(high for _, high in some)
        ensure(equal, "the noise of statistics is not by their shares")


def part_per_share(
    moves: list[LeastMove], drawn: list[Fraction], held: Table, share: Fraction, *, free: bool
) -> tuple[Fraction, Fraction]:
    """Return the least and the largest amount (μ² or ε) of one share, by a statistic's noise."""
    vary, amount, most = held["relation"] == ADDED, Fraction(0), Fraction(0)
    for move, scale in zip(moves, drawn, strict=True):
        if move.choice:
            eta = float(come_of(move, vary=vary) / scale)
            amount += Fraction(gdp_of_range(eta) if held["law"] == "gaussian" else eta)
        elif held["law"] == "gaussian" and not free:
            amount += (move.come if vary else move.replaced) / scale**2
        elif move.interval is not None:
            low, high = move.interval
            amount += (max(-low, high) if vary else high - low) / scale
        else:
            amount += (move.l1[not vary] or move.cells * (1 if vary else 2)) / scale
        most = max(most, FINEST / scale if free else Fraction(0))
    return amount * (1 - OF_SCALES) / share, amount * (1 + OF_SCALES + 2 * most) / share


def least_ranks(move: LeastMove, scale: Fraction) -> float:
    """Return how many ranks farther than the best candidate's some group's choice is, at 95 %.

    Of 4^LEVELS others each is farther by r with odds of e^(−r/scale) against the best at most, and scores
    are whole multiples of 1/`choice` of a rank: r is the largest of these whose odds are still above.
    """
    missed = float(1 - OF_INTERVALS) / (move.size // 4**LEVELS)
    odds = (1 - missed) / missed * 4**LEVELS
    return max(math.ceil(float(scale) * move.choice * math.log(odds) * (1 - 1e-9)) - 1, 0) / move.choice


def come_of(move: LeastMove, *, vary: bool) -> Fraction:
    """Return how far the range of a choice's scores moves with a row, in ranks."""
    return Fraction(math.sqrt(move.come if vary else move.replaced))


def gdp_of_range(eta: float) -> float:
    """Return about the μ² of bounded range η."""
    return (2 * NormalDist().inv_cdf(1 / (1 + math.exp(-eta / 2)))) ** 2


def half_width(each: Table, held: Table, noise: list[DrawnNoise]) -> float:
    """Return the least half-width of 95 % intervals; of a mean in a group of average size."""
    what, reach = each["what"], [one.reach for one in noise]
    if what in ("count", "histogram", "top"):
        return reach[0]
    ensure(what in ("sum", "mean", "variance"), f"a {brief(what)} has no accuracy")
    (low, high), groups = map(float, ends(each["column"])), noise[0].groups
    if what == "sum":
        return (reach[0] + integer(held["rows"]) * ROUNDED) * max(abs(low), abs(high))
    half = (high - low) / 2
    size, off = max(integer(held.get("persons", held["rows"])) // groups, 1), sum(reach[1:])
    wide = sum(reach) if what == "mean" else reach[0] / float(SQUARE) + 2 * reach[0] + 2.5 * off
    per_row = wide * size / (size**2 - off**2) if off < size else math.inf
    return min(per_row, 1) * half if what == "mean" else min(per_row, 0.5) * half**2
