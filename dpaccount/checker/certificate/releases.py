"""What was released, and who paid: it was certified, and figures follow from the charge, or the total."""

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from ..curves import MOST_NEAR, NEAR, Approximate, BoundedRange, Pure, check_left, check_measure
from ..derivation import NOISE, unconverted
from ..documents import Rejected, brief, ensure, integer
from ..facts import ANYONE, Fact, Private, apply
from ..relation import ADDED
from .draws import LEVELS, STUDY, LeastMove, chosen, ends, is_choice, least_moves, maybe, names_of, unlisted
from .replaced import neighbours_of
from .shapes import exact_of
from .widths import LET_PASS, OF_INTERVALS, ROUNDED, SQUARE, DrawnNoise, Table, check_widths, noise_of

SUM_ROUNDING = Fraction(1, 2**40)  # more than rounding to doubles adds to a sum
ENDS = {"low", "high", "level", "of"}  # of the interval of a reported number
READ = ("before", "after", "rest")
OF_SCALES = Fraction(1, 1000)  # more than rounding changes an amount
FINEST = Fraction(1, 32)  # steps of scales of unlisted counts
NOTICED = 1000  # a charge that is a larger share of what was spent before shows in every measure


def check_release(document: dict[str, Any], facts: list[Fact]) -> None:
    """Verify that what was released was certified, of these data by this code, and is marked as it is."""
    release, data = document["release"], document["claim"].get("data", {})
    certified = document["verdict"] == "CERTIFIED"
    ensure(document["releasable"] == certified, "what is certified is releasable, and nothing else")
    if release is None:
        return
    ensure(certified and bool(data), "a release goes with a certified claim that names its data")
    integer(release["ledger_entry"])  # an entry of its ledger
    ensure(release["code"] == document["subject"]["code"], "the release is by other code than the subject's")
    public = data.get("public", False)
    ensure(public or release["evaluation"] is None, "an evaluation without noise is of public data only")
    if document["subject"]["use"] == STUDY:
        check_reported(release["report"], document["subject"]["parameters"]["statistics"])
        check_shown(release["report"], document["subject"]["parameters"])
        check_widths(release["report"], document["subject"]["parameters"])
        check_choices(release["report"], document["subject"]["parameters"])
    if "budget" in release:
        steps = document["proved"]["derivation"]
        paid = [facts[-1], unconverted(steps, facts)] if facts else [None]
        check_budget(release["budget"], document["guarantee"], paid)


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


def check_budget(budget: dict[str, Any], promise: dict[str, Any], paid: list[Fact | None]) -> None:
    """Verify that a ledger that paid counts the claim's neighbours and units, and that its figures add up.

    It paid for what is proved, `paid[0]`, or for what that was converted from.
    Others may have charged between the readings before and after.
    """
    same = (budget["relation"], budget["unit"]) == (neighbours_of(promise), promise["unit"])
    ensure(same, f"the ledger that paid counts {brief(budget['relation'])}, of {brief(budget['unit'])}")
    uppers = [exact_of(budget[when]["upper"], when) for when in READ]
    lowers = [exact_of(budget[when]["lower"] or 0, when) for when in READ]
    before, after, rest = uppers
    whole, delta = exact_of(budget["epsilon"], "epsilon"), exact_of(budget["delta"], "delta")
    final = paid[0]
    if not isinstance(final, Private) or not isinstance(final.curve, Approximate):
        raise Rejected("a charge is of what is proved")
    cost, allowed, everyone = final.curve.epsilon, final.curve.delta, final.units in (None, ANYONE)
    if whole is None or delta is None or before is None or after is None or rest is None:
        raise Rejected("a ledger's figures are finite: what has no end fits no budget")
    widths = [a - b for a, b in zip(uppers, lowers, strict=True) if a is not None and b is not None]
    ensure(len(widths) == len(READ) and min(widths) >= 0, "the budget has a lower end above the upper one")
    plain = budget["measure"] in ("pure", "approximate")
    slack = SUM_ROUNDING * (whole if plain else whole + 1)
    ensure(before <= after + slack, "less is spent after the charge than before")
    ensure(max(after, rest) <= whole + slack, "more is spent, or left, than the whole budget")
    if everyone and cost * NOTICED >= before:
        ensure(cost == 0 or before < after, "something is charged, and nothing was spent")
    ensure(plain or budget["measure"] in ("gdp", "zcdp", NEAR, "either"), "the ledger has no known measure")
    check_left({name: exact_of(most, name) for name, most in budget.get("left", {}).items()}, whole, delta)
    within = budget["measure"] == "approximate" and allowed <= delta
    curves = [fact.curve for fact in paid if isinstance(fact, Private)]
    pure = [curve for curve in curves if isinstance(curve, Pure | BoundedRange)]
    right = allowed == 0 or within or pure or not plain  # paid before it was converted to (ε, δ)
    ensure(bool(right) and delta < 1, "the delta of the charge is not within the ledger's")
    ensure(plain or delta != 0, f"nothing is within delta 0 in {brief(budget['measure'])}")
    if plain:  # its amounts are sums of ε
        cost = cost if allowed == 0 or within else max(pure[0])
        least_after = before + cost if everyone else max(before, cost)
        ensure(after + slack >= least_after, "less is spent than before and by the charge together")
        ensure(abs(after + rest - whole) <= slack, "what is spent and what is left are not the whole budget")
        ensure(max(widths) <= slack, "sums are known, and an end of the budget is not")
    else:
        check_measure(budget["measure"], after, delta, curves)
        ensure(budget["measure"] == "gdp" or not any(lowers[:2]), "no lower end of ρ's ε is known")
        ensure(budget["measure"] != NEAR or whole <= MOST_NEAR, f"{NEAR} takes ε up to {MOST_NEAR}")


# ------------------------------------------------------------------ each statistic's part of the total


def check_parts(document: Table, facts: list[Fact]) -> None:
    """Verify the epsilon, the accuracy or the share that is stated of each statistic of a proved study."""
    if not facts or document["subject"]["use"] != STUDY:
        return
    held, steps = document["subject"]["parameters"], document["proved"]["derivation"]
    scales, shares = iter(held["scales"]), dict[bool, list[tuple[Fraction, Fraction]]]()
    for each in held["statistics"]:
        about = f"the statistic {brief(each['name'])}"
        moves = least_moves(each, exact=held["exact_rows"])
        drawn = [exact_of(next(scales), "scales") or Fraction(0) for _ in moves]
        epsilon, accuracy = (maybe(each[key], key) for key in ("epsilon", "accuracy"))
        if epsilon is not None:
            met = costs_at_most(steps, facts, {move.key for move in moves}, epsilon)
            ensure(met, f"{about} costs more than its epsilon")
        elif accuracy is not None:
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


def costs_at_most(steps: list[Table], facts: list[Fact], keys: set[str], epsilon: Fraction) -> bool:
    """Return whether these draws alone cost at most `epsilon`, by the steps of the whole proof."""
    times = [1] * len(steps)  # how many times what a step proves is counted in the last one
    for k in range(len(steps) - 1, -1, -1):
        for before in steps[k]["from"]:
            grouped = steps[k]["rule"] == "group"
            times[before] = times[k] * (steps[k]["with"]["size"] if grouped else 1)
    kept: dict[int, Fact] = {}
    for k, step in enumerate(steps):
        rule, given = step["rule"], step["with"]
        parts = [kept[p] for p in step["from"] if p in kept]
        if rule in NOISE and given["key"] in keys:
            kept[k] = facts[k]
        elif parts and (rule == "post_process" or (rule == "compose" and len(parts) == 1)):
            kept[k] = parts[0]
        elif parts and rule == "compose":
            kept[k] = apply(rule, parts, given)
        elif parts:
            first, *others = step["from"]
            asked = {"epsilon": str(epsilon / times[k])} if rule == "to_approximate" else {}
            part = kept[first]._replace(subject=facts[first].subject)
            try:
                kept[k] = apply(rule, [part, *(facts[p] for p in others)], given | asked)
            except Rejected:
                return False
    curve = kept[len(steps) - 1].curve
    return isinstance(curve, Approximate) and curve.epsilon <= epsilon


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
    wide = sum(reach) if what == "mean" else reach[0] / SQUARE + 2 * reach[0] + 2.5 * off
    per_row = wide * size / (size**2 - off**2) if off < size else math.inf
    return min(per_row, 1) * half if what == "mean" else min(per_row, 0.5) * half**2
