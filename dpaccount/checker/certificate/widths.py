"""Intervals of a study's counts and sums are as wide as the noise needs, for all numbers at once.

Doubles are enough, since what is off by no more than a millionth is let pass.
"""

import math
from typing import Any

from ..documents import ensure, integer
from .draws import ends, least_moves
from .shapes import exact_of

COUNTED, STEP, LET_PASS, FARTHEST_END = ("count", "histogram", "top"), 2.0**-24, 1 + 1e-6, 1e300


def check_widths(report: dict[str, Any], held: dict[str, Any]) -> None:
    """Verify that no interval of a count or a sum is narrower than its noise allows.

    Ends of counts are whole and not negative, so a count of 0 may be of any noise below it.
    """
    scales = iter(held["scales"])
    for each in held["statistics"]:
        moves, what = least_moves(each, exact=held["exact_rows"]), each["what"]
        drawn = [exact_of(next(scales), "scales") or 0 for _ in moves]
        around = report.get("accuracy", {}).get(each["name"])
        if around is None or what not in (*COUNTED, "sum"):
            continue
        about, size, scale = f"the interval of {each['name'][:40]!r}", moves[0].size, float(drawn[0])
        lists = [report[each["name"]], around["low"], around["high"]]
        fine = all(type(values) is list and len(values) == (size or len(lists[0])) for values in lists)
        flat: list[Any] = [x for values in lists for x in values] if fine else [None]
        fine = all(type(x) in (int, float) and abs(x) < FARTHEST_END for x in flat)
        level = exact_of(around["level"], "level") or 0
        ensure(fine and 0 < level < 1 and scale > 1 / FARTHEST_END, f"{about} is of other numbers")
        laplace, step = not size or held["law"] == "laplace", STEP if what == "sum" else 1.0
        rounded = 0.0 if laplace else 1.5  # other noise is no integer: it is rounded, and so are ends
        unit = 1.0 if what != "sum" else max(abs(float(end)) for end in ends(each["column"]))
        rare = float(1 - level) * LET_PASS / (size or integer(held["rows"]))
        for found, low, high in zip(*lists, strict=True):
            sides = [high - found + rounded]
            if low > 0:
                sides += [found - low + rounded, (high - low) / 2 + rounded * 2 / 3]
            half = min(sides) if found > 0 else FARTHEST_END
            half = min(high - found, found - low) / unit if what == "sum" else half
            good = low <= found <= high and missed(half, scale, step if laplace else 0.0) <= rare
            ensure(good, f"{about} is narrower than its noise allows")


def missed(half: float, scale: float, step: float) -> float:
    """Return how likely Laplace noise on a grid, or Gaussian noise (0.0), reaches beyond `half`."""
    if step == 0.0:
        return math.erfc(half / scale / math.sqrt(2))
    return 2 * math.exp(-(half // step + 1) * step / scale) / (1 + math.exp(-step / scale))
