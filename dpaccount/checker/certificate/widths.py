"""The intervals of a study's counts and sums are as wide as the noise that was drawn needs at their level.

Bounds are for all numbers of a statistic at once: each may miss with the level's rest over their number.
Doubles are enough, since what is off by no more than a millionth is let pass.
"""

import math
from typing import Any

from ..documents import ensure, integer
from .draws import ends, least_moves
from .shapes import exact_of

COUNTED = ("count", "histogram", "top")
STEP = 2.0**-24  # of the grid of sums
LET_PASS = 1 + 1e-6
LARGEST = 1e300


def check_widths(report: dict[str, Any], held: dict[str, Any]) -> None:
    """Verify that no interval of a count or a sum is narrower than its noise allows, or misses its number.

    Ends of counts are whole, and 0 or more: a number near 0 may be of noise far below it, and says nothing.
    """
    scales = iter(held["scales"])
    for each in held["statistics"]:
        moves = least_moves(each, exact=held["exact_rows"])
        drawn = [exact_of(next(scales), "scales") or 0 for _ in moves]
        scale = float(drawn[0])
        around = report.get("accuracy", {}).get(each["name"])
        if around is None or each["what"] not in (*COUNTED, "sum"):
            continue
        about, size = f"the interval of {each['name'][:40]!r}", moves[0].size
        lists = [numbers(values, about) for values in (report[each["name"]], around["low"], around["high"])]
        same = {len(values) for values in lists} == {size or len(lists[0])}
        ensure(same, f"{about} is of another number of numbers")
        many = size or integer(held["rows"])
        law = "gaussian" if size and held["law"] == "gaussian" else "laplace"
        level = exact_of(around["level"], "level") or 0
        ensure(0 < level < 1 and scale > 1 / LARGEST, f"{about} has no level, or no noise")
        unit = 1.0 if each["what"] != "sum" else max(abs(float(end)) for end in ends(each["column"]))
        for found, low, high in zip(*lists, strict=True):
            ensure(low <= found <= high, f"{about} does not contain it")
            if each["what"] == "sum":
                half = min(high - found, found - low) / unit
            elif low > 0:
                half = (high - low) / 2 + 1
            elif found > 0:
                half = high - found + 1.5
            else:
                continue
            rare = missed(half, scale, law, STEP if each["what"] == "sum" else 1.0) * many
            ensure(rare <= float(1 - level) * LET_PASS, f"{about} is narrower than its noise allows")


def missed(half: float, scale: float, law: str, step: float) -> float:
    """Return the probability that noise on multiples of a step reaches further than `half`."""
    if law == "gaussian":  # its grid is far finer than its deviation
        return math.erfc(half / scale / math.sqrt(2))
    return 2 * math.exp(-(half // step + 1) * step / scale) / (1 + math.exp(-step / scale))


def numbers(values: Any, about: str) -> list[float]:
    """Return a list of finite numbers; rejects anything else."""
    fine = type(values) is list and all(type(x) in (int, float) and abs(x) < LARGEST for x in values)
    ensure(fine, f"{about} is of numbers")
    return [float(x) for x in values]
