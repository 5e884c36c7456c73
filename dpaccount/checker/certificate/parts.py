"""What a claim states of one statistic's part of the total: its epsilon, accuracy or share."""

import math
from fractions import Fraction

from ..curves import Approximate
from ..derivation import NOISE
from ..documents import Rejected, brief, ensure, integer
from ..facts import Fact, apply
from ..relation import ADDED
from .draws import LeastMove, ends, least_moves, unlisted
from .shapes import exact_of, maybe
from .widths import LET_PASS, ROUNDED, Noise, Table, noise_of

OF_SCALES = Fraction(1, 1000)  # more than rounding changes an amount
FINEST = Fraction(1, 32)  # steps of scales of unlisted counts


def check_parts(document: Table, facts: list[Fact]) -> None:
    """Verify that that statistics cost, are as accurate, and share the total, as stated."""
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
            least = half_width(each, held, noise_of(each, moves, drawn, held))
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
    vary, most = held["relation"] == ADDED, Fraction(0)
    amount = Fraction(0)
    for move, scale in zip(moves, drawn, strict=True):
        if held["law"] == "gaussian" and not free:
            amount += (move.come if vary else move.replaced) / scale**2
        elif move.interval is not None:
            low, high = move.interval
            amount += (max(-low, high) if vary else high - low) / scale
        else:
            amount += move.cells * (1 if vary else 2) / scale
        most = max(most, FINEST / scale if free else Fraction(0))
    return amount * (1 - OF_SCALES) / share, amount * (1 + OF_SCALES + 2 * most) / share


def half_width(each: Table, held: Table, noise: list[Noise]) -> float:
    """Return the least half-width of 95 % intervals; of a mean in a group of average size."""
    what, reach = each["what"], [one.reach for one in noise]
    if what in ("count", "histogram", "top"):
        return reach[0]
    ensure(what in ("sum", "mean", "variance"), f"a {brief(what)} has no accuracy")
    low, high = map(float, ends(each["column"]))
    if what == "sum":
        return (reach[0] + integer(held["rows"]) * ROUNDED) * max(abs(low), abs(high))
    groups, half = noise[0].groups, (high - low) / 2
    size, off = max(integer(held.get("persons", held["rows"])) // groups, 1), sum(reach[1:])
    wide = sum(reach) if what == "mean" else reach[0] / 1.6 + 2 * reach[0] + 2.5 * off
    per_row = wide * size / (size**2 - off**2) if off < size else math.inf
    return min(per_row, 1) * half if what == "mean" else min(per_row, 0.5) * half**2
