"""Studies as tables of text for a terminal: their plans, and what they released."""

from typing import Any

from audits.certificate.summary import summary
from audits.reports.grid import grid
from dpaccount.checker import plain
from dpaccount.exact import to_noise
from dpaccount.schemas.study import StudyPlan, StudyRelease, StudyTable
from mechanisms.statistics.statistic import NUMBERS

MOST_SHOWN = 40  #: rows of a statistic on a terminal; its file has them all


def planned(plan: StudyPlan) -> str:
    """Return a plan as a table: noise, cost and expected accuracy of every statistic."""
    return f"{plan.title}\n{grid(plan.head, plan.rows)}"


def released(certificate: dict[str, Any], found: StudyRelease) -> str:
    """Return the verdict, and each statistic as a table with its 95 % interval."""
    made = {**certificate, "release": None}
    parts = [summary(made, found.certificate)]
    for name, each in found.statistics.items():
        head, rows = shown_table(each)
        more = f"\n… {len(rows) - MOST_SHOWN} more rows" if len(rows) > MOST_SHOWN else ""
        parts.append(f"\n{plain(name)}\n{grid(head, rows[:MOST_SHOWN])}{more}")
    return "\n".join(parts)


def shown_table(found: StudyTable) -> tuple[list[str], list[list[str]]]:
    """Return a released statistic's rows for a person, after the names of their columns."""
    keys = [key for key in found.rows[0] if key not in NUMBERS]
    rows = [[*(str(row[key]) for key in keys), *numbers(row)] for row in found.rows]
    return [*keys, "estimate", "95% interval of the noise"], rows


def numbers(row: dict[str, Any]) -> list[str]:
    """Return an estimate and its interval, to the digits that the noise leaves; ends are rounded outwards."""
    low, high = row["low"], row["high"]
    if low is None or high is None:
        return [f"{row['estimate']:.4g}", "none is proved"]
    half = (high - low) / 2
    ends = to_noise(low, half, up=False), to_noise(high, half, up=True)
    return [to_noise(row["estimate"], half), " … ".join(ends)]
