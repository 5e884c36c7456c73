"""The plan of a study, and the tables that it released."""

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

from audits.certificate.figures import cell_text
from audits.claim import STUDY, Claim
from audits.subjects.catalogue import subject_of
from dpaccount.documents import OWN, atomically
from dpaccount.errors import InputError
from dpaccount.noise.laws import double_up
from dpaccount.proof.derivation import point
from dpaccount.schemas.study import (
    PlannedStatistic,
    StatisticNoise,
    StudyPlan,
    StudyRelease,
    StudyTable,
    StudyTotal,
)
from mechanisms.noisy_statistics import NoisyStatistics, planned_for
from mechanisms.statistics.calibration import StatisticRequest
from mechanisms.statistics.estimates import table
from mechanisms.statistics.statistic import NUMBERS, file_name
from mechanisms.table.user_level import ByPerson, named


def is_study(claim: Claim) -> bool:
    """Return whether a claim is about a study."""
    return claim.use == STUDY


def study_of(claim: Claim) -> NoisyStatistics:
    """Return the study that a claim is about; raises `InputError` for any other claim."""
    found = named(subject_of(claim)) if is_study(claim) else None
    if not isinstance(found, NoisyStatistics):
        raise InputError("this is no study", "give a file of schema dpaccount/study/1", claim.path)
    if claim.guarantee.model != "central":
        raise InputError(
            f"guarantee.model is {claim.guarantee.model!r}", "a study's is central: leave it out", claim.path
        )
    return found


def plan(claim: Claim) -> StudyPlan:
    """Return the noise and the expected accuracy of every statistic; reads no data, charges nothing."""
    study, promise = study_of(claim), claim.guarantee
    asked, at = planned_for(study, claim.table, promise.relation, promise.epsilon, promise.delta), 0
    found = []
    for each, amount in asked:
        scales = study.scales[at : at + len(each.draws)]
        at += len(each.draws)
        shown = (study.threshold(each.what),) if each.what.unlisted is not None else ()
        alone = replace(study, statistics=(each.what,), scales=scales, thresholds=shown)
        subject: Any = alone
        if claim.table is not None and claim.table.max_rows > 1:
            subject = ByPerson(alone, claim.table.rows, claim.table.max_rows, promise.relation)
        width = each.half_width(amount)
        found.append(
            PlannedStatistic(
                name=each.what.name,
                noise=StatisticNoise(each.law, _in_units(each, scales)),  # type: ignore[arg-type]
                epsilon=double_up(point(subject.proof(promise.delta))[0]),
                half_width=width,
                group_size=each.group_size,
                too_noisy_below=shown[0] if shown else each.smallest_group(amount),
            )
        )
    return StudyPlan(claim.name, StudyTotal(float(promise.epsilon), float(promise.delta)), found)


def _in_units(asked: StatisticRequest, scales: tuple[Any, ...]) -> dict[str, float]:
    """Return each draw's scale in the units of what is summed, under the last part of its key."""
    found = {}
    for draw, scale in zip(asked.draws, scales, strict=True):
        part, unit = draw.key.rpartition("/")[2], 1.0
        if part == "sum" and asked.what.column is not None:
            low, high = asked.what.column.bounds
            unit = (high - low) / 2 if asked.what.what == "mean" else max(abs(low), abs(high))
        found[part] = float(scale) * unit
    return found


def tables(claim: Claim, certificate: dict[str, Any]) -> dict[str, StudyTable]:
    """Return the released rows of every statistic; none where nothing was released."""
    made = certificate["release"]
    if made is None:
        return {}
    report, accuracy = made["report"], made["report"]["accuracy"]
    found = {}
    for what in study_of(claim).statistics:
        ends = accuracy[what.name]
        texts = report.get(f"{what.name}/texts", ())
        found[what.name] = StudyTable(table(what, (report[what.name], ends["low"], ends["high"]), texts))
    return found


def answer(claim: Claim, certificate: dict[str, Any], path: Path) -> StudyRelease:
    """Return what `dpaccount release` prints of a study."""
    proved = {key: certificate["proved"][key] for key in ("epsilon", "delta")}
    rows, may = tables(claim, certificate), bool(certificate["releasable"])
    if rows:  # what earlier editions released stands first, as it was
        earlier = [tables(*pair) for pair in claim.earlier]
        rows = {name: each for some in (*earlier, rows) for name, each in some.items()}
    return StudyRelease(claim.name, certificate["verdict"], proved, rows, str(path), may)


def write_tables(found: StudyRelease, folder: Path) -> None:
    """Write one CSV file for each released statistic, named after it, spaces as hyphens."""
    try:
        for name, each in found.statistics.items():
            atomically(folder / f"{file_name(name)}.csv", written(each), mode=OWN)
    except OSError as error:
        raise InputError(
            str(error.strerror or "unwritable"), "name a folder that can be written", folder
        ) from None


def written(each: StudyTable) -> str:
    """Return a statistic's rows as CSV; texts that a spreadsheet would take for a formula are quoted."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(cell_text(name) for name in (each.rows or [dict.fromkeys(NUMBERS)])[0])
    for row in each.rows:
        lines.writerow(cell_text(value) if isinstance(value, str) else value for value in row.values())
    return out.getvalue()
