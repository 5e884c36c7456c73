"""Studies as tables of text for a terminal: their plans, and what they released."""

import math
from typing import Any

from audits.certificate.summary import summary
from audits.reports.grid import grid, short
from dpaccount.checker import plain
from dpaccount.schemas.study import PlannedStatistic, StudyPlan, StudyRelease

MOST_SHOWN = 40  #: rows of a statistic on a terminal; its file has them all


def planned(plan: StudyPlan) -> str:
    """Return a plan as a table: noise, cost and expected accuracy of every statistic."""
    rows = [
        [
            each.name,
            ", ".join(f"{part} {short(scale, scale)}" for part, scale in each.noise.scales.items()),
            short(each.epsilon, each.epsilon),
            expected(each),
            "" if each.too_noisy_below is None else str(each.too_noisy_below),
        ]
        for each in plan.statistics
    ]
    laws = " or ".join(dict.fromkeys(each.noise.law for each in plan.statistics))
    head = ["statistic", f"{laws} noise", "ε alone", "95% ±", "too noisy below"]
    total = f"{plan.name}: total ε = {plan.total.epsilon:g}, δ = {plan.total.delta:g}; nothing is charged"
    return f"{total}\n{grid(head, rows)}"


def expected(each: PlannedStatistic) -> str:
    """Return the half-width of a statistic's intervals, and of groups of what size it is."""
    if each.half_width is None:
        return "depends on the data"
    of = "" if each.group_size is None else f" for {each.group_size} rows"
    return short(each.half_width, each.half_width) + of


def released(certificate: dict[str, Any], found: StudyRelease) -> str:
    """Return the verdict, and each statistic as a table with its 95 % interval."""
    made = {**certificate, "release": None}
    parts = [summary(made, found.certificate)]
    for name, each in found.statistics.items():
        keys = [key for key in (each.rows or [{}])[0] if key not in ("estimate", "low", "high")]
        rows = [[*(plain(str(row[key])) for key in keys), *numbers(row)] for row in each.rows[:MOST_SHOWN]]
        more = f"\n… {len(each.rows) - MOST_SHOWN} more rows" if len(each.rows) > MOST_SHOWN else ""
        parts.append(f"\n{plain(name)}\n{grid([*keys, 'estimate', '95% interval of the noise'], rows)}{more}")
    return "\n".join(parts)


def numbers(row: dict[str, Any]) -> list[str]:
    """Return an estimate and its interval, to the digits that the noise leaves; ends are rounded outwards."""
    low, high = row["low"], row["high"]
    if low is None or high is None:
        return [f"{row['estimate']:.4g}", "none is proved"]
    half = (high - low) / 2
    place = 0 if half <= 0 else 1 - math.floor(math.log10(half))
    ends = math.floor(low * 10.0**place) / 10.0**place, math.ceil(high * 10.0**place) / 10.0**place
    return [short(row["estimate"], half), f"{short(ends[0], half)} … {short(ends[1], half)}"]
