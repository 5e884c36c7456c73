"""Studies as tables of text for a terminal: their plans, and what they released."""

from typing import Any

from audits.certificate.summary import summary
from audits.reports.tables import shown_table
from audits.reports.terminal import grid
from dpaccount.documents import plain
from dpaccount.schemas.claim import StudyPlan, StudyRelease

MOST_SHOWN = 40  #: rows of a statistic on a terminal; its file has them all


def planned(plan: StudyPlan) -> str:
    """Return a plan as a table: noise, cost and expected accuracy of every statistic."""
    return f"{plan.title}\n{grid(plan.head, plan.rows)}"


def released(certificate: dict[str, Any], release: StudyRelease) -> str:
    """Return the verdict, and each statistic as a table with its 95 % interval."""
    unreleased = {**certificate, "release": None}
    parts = [summary(unreleased, release.certificate)]
    for name, each in release.statistics.items():
        table = shown_table(name, each)
        more = f"\n… {len(table.rows) - MOST_SHOWN} more rows" if len(table.rows) > MOST_SHOWN else ""
        parts.append(f"\n{plain(release.title(name))}\n{grid(table.head, table.rows[:MOST_SHOWN])}{more}")
    return "\n".join(parts)
