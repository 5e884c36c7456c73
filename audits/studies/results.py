"""The plan of a study, the tables that it released, and both as text for a terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from msgspec import UNSET

from audits.certificate.folder import folder_for, write_tables
from audits.certificate.summary import summary
from audits.claim import Claim
from audits.hypothesis_tests.smoke_test import check_size, of_few_rows
from audits.reports.tables import shown_table, study_of, tables
from audits.subjects.catalogue import subject_of
from dpaccount.documents import csv_text, plain, text_table
from dpaccount.errors import InputError
from dpaccount.noise.laws import double_up
from dpaccount.proof import REPLACE_ONE, point
from dpaccount.schemas.claim import (
    PlannedStatistic,
    StatisticNoise,
    StudyPlan,
    StudyRelease,
    StudyTable,
    StudyTotal,
)
from mechanisms.noisy_statistics import planned
from mechanisms.statistics.calibration import StatisticRequest
from mechanisms.statistics.statistic import NUMBERS, RANKS_COLUMN, file_name
from mechanisms.table.bind_columns import Promise
from mechanisms.table.user_level import ByPerson

AVERAGED = ("mean", "variance", "stddev")
PRIVATE_DIVISOR = (
    "Cells of {} may be missing, so that means divide by a private count; `missing` declares a value for them"
)
USUAL_DELTA = Fraction(1, 100_000)
LARGE_DELTA = (
    "delta = {:.6g} is large: publishing all rows of each of the {:,} units with that probability, of {:.3g}"
    " units on average, would satisfy it; values far below 1 in {:,} are usual"
)


def plan(claim: Claim) -> StudyPlan:
    """Return the noise and the expected accuracy of every statistic; reads no data, charges nothing.

    Raises `InputError` for a study that `release` would refuse for its size.
    """
    study, promise, full, table = study_of(claim), claim.guarantee, subject_of(claim), claim.table
    if table is None:
        raise InputError("a study reads a declared table", "declare [data.columns]")
    check_size(of_few_rows(full, promise.delta))
    total = Promise(promise.relation, promise.epsilon, promise.delta)
    asked = planned(study.statistics, table.rows, table.max_rows, total, study.law)[1]
    at, parts = 0, []
    for each, amount in asked:
        scales = study.scales[at : at + len(each.draws)]
        at += len(each.draws)
        shown = (study.threshold(each.what),) if each.what.unlisted else ()
        alone = replace(study, statistics=(each.what,), scales=scales, thresholds=shown)
        subject: Any = replace(full, mechanism=alone) if isinstance(full, ByPerson) else alone
        width = each.half_width(amount)
        parts.append(
            PlannedStatistic(
                name=each.what.name,
                noise=StatisticNoise(each.law, _in_units(each, scales)),  # type: ignore[arg-type]
                epsilon=double_up(point(subject.proof(promise.delta))[0]),
                half_width=width,
                group_size=each.group_size,
                too_noisy_below=shown[0] if shown else each.smallest_group(amount),
            )
        )
    notes = list(_notes(claim, [each for each, _ in asked]))
    total_of = StudyTotal(float(promise.epsilon), float(promise.delta))
    return StudyPlan(claim.name, total_of, parts, ".\n".join(notes) or UNSET)


def _notes(claim: Claim, asked: Sequence[StatisticRequest]) -> Iterator[str]:
    """Yield what choices of a study cost, and what a large δ allows."""
    delta, rows = claim.guarantee.delta, claim.table.rows if claim.table else 1
    lost, of_one = delta * rows, claim.table.max_rows if claim.table else 1
    if delta > USUAL_DELTA or lost >= 1:
        yield LARGE_DELTA.format(float(delta), rows, float(lost), rows)
    if of_one > 1:
        yield f"{of_one} rows of a unit count; with a smaller max_contributions most noise is less"
    if 0 < sum(bool(each.what.unlisted) for each in asked) < len(asked):
        yield "Counts of unlisted values take half of δ, and the others then have Gaussian noise"
    public = claim.guarantee.relation == REPLACE_ONE and claim.table is not None and not claim.table.identity
    lacking = [each.what for each in asked if public and each.what.what in AVERAGED and each.what.needed]
    if names := sorted({what.column.name for what in lacking if not (what.by or what.where) and what.column}):
        yield PRIVATE_DIVISOR.format(", ".join(names))
    if any(each.group_size and each.what.where for each in asked):
        yield "Where rows are left out by `where`, intervals of means and variances are wider"


def _in_units(asked: StatisticRequest, scales: tuple[Any, ...]) -> dict[str, float]:
    """Return each draw's scale in the units of what is summed, under the last part of its key."""
    converted = {}
    for draw, scale in zip(asked.draws, scales, strict=True):
        part, unit = draw.key.rpartition("/")[2], 1.0
        column = asked.what.per if part == "per" else asked.what.column
        if part in ("sum", "per") and column is not None:
            low, high = column.bounds
            unit = (high - low) / 2 if asked.what.what == "mean" else max(abs(low), abs(high))
        converted[part] = float(scale) * unit
    return converted


def file_names(claim: Claim) -> list[str]:
    """Return the files that a release of a study writes, one for each statistic."""
    claims = (*(asked for asked, _ in claim.earlier), claim)
    return [f"{file_name(what.name)}.csv" for each in claims for what in study_of(each).statistics]


def written_release(claim: Claim, certificate: dict[str, Any], folder: Path) -> StudyRelease:
    """Return what `dpaccount release` prints of a study, once a CSV file of each statistic is written.

    The files are named after the statistics, spaces as hyphens; `folder` has the certificate, too.
    """
    proved = {key: certificate["proved"][key] for key in ("epsilon", "delta")}
    rows, may = tables(claim, certificate), bool(certificate["releasable"])
    before = dict[str, str]()
    if rows:  # what earlier editions released comes first, unchanged
        earlier = [(tables(asked, document), document["digest"]) for asked, document in claim.earlier]
        before = {name: digest for shown, digest in earlier for name in shown}
        rows = {
            name: each for some in (*(shown for shown, _ in earlier), rows) for name, each in some.items()
        }
    folder = folder_for(certificate, folder)
    write_tables(folder, {f"{file_name(name)}.csv": written(each) for name, each in rows.items()})
    path = str(folder / "certificate.json")
    return StudyRelease(claim.name, certificate["verdict"], proved, rows, path, may, before)


def written(each: StudyTable) -> str:
    """Return a statistic's rows as CSV; texts that a spreadsheet would take for a formula are quoted.

    What the exponential mechanism chose has its bound on the rank error in every row.
    """
    bound = {} if each.ranks is None else {RANKS_COLUMN: each.ranks}
    names = (each.rows or [dict.fromkeys(NUMBERS)])[0] | bound
    return csv_text([names, *((row | bound).values() for row in each.rows)])


# ------------------------------------------------------------------ for a terminal


MOST_SHOWN = 40  #: rows of a statistic on a terminal; its file has them all


def release_as_text(certificate: dict[str, Any], release: StudyRelease) -> str:
    """Return the verdict, and each statistic as a table with its 95 % interval."""
    unreleased = {**certificate, "release": None}
    parts = [summary(unreleased, release.certificate)]
    for name, each in release.statistics.items():
        table = shown_table(name, each)
        more = f"\n… {len(table.rows) - MOST_SHOWN} more rows" if len(table.rows) > MOST_SHOWN else ""
        parts.append(
            f"\n{plain(release.title(name))}\n{text_table(table.head, table.rows[:MOST_SHOWN])}{more}"
        )
    return "\n".join(parts)
