"""Tables of a certificate's release, with rounded and exact numbers."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from audits.claim import STUDY, Claim, claim_at
from audits.reports.pictures import Bar
from audits.subjects.catalogue import subject_of
from dpaccount.documents import flat, parse_json, plain
from dpaccount.errors import InputError
from dpaccount.exact import to_digits, to_noise
from dpaccount.schemas.claim import StudyTable
from mechanisms.noisy_statistics import NoisyStatistics
from mechanisms.statistics.estimates import table
from mechanisms.statistics.statistic import NUMBERS, Statistic
from mechanisms.table.user_level import named

APART = ("accuracy", "labels")  #: members of a report that are not released numbers
SHOWN: tuple[str, str] = ("estimate", "95% interval of the noise")
SAMPLED: tuple[str, str] = ("estimate", "95% interval of noise and sampling")  #: of means of arms
REPORTED: tuple[str, str] = ("estimate", "interval that the code reports")  #: of a user's own code


class Rounded(str):
    """A rounded number, and the `exact` one that a page shows when the pointer rests on it."""

    __slots__ = ("exact",)

    exact: str


@dataclass(frozen=True)
class Row:
    """One released number: its array, its label there, its interval for the noise alone."""

    name: str
    place: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ReleasedTable:
    """A released statistic: rows of text under a head, its lines in a chart, and what it is `of`."""

    name: str
    head: list[str]
    rows: list[list[str]]
    bars: list[Bar]
    of: str = ""


def definition(what: Statistic) -> str:
    """Return in words what a statistic computes, since its name may not say it."""
    column = plain(what.column.name) if what.column else ""
    kind = {
        "count": "number of rows",
        "quantile": f"{', '.join(to_digits(rank, up=None) for rank in what.ranks)} quantile of {column}",
        "histogram": f"number of rows by {column}",
        "top": f"the {what.k} most frequent values of {column}",
        "regression": f"linear regression of {column} on {', '.join(plain(each.name) for each in what.on)}",
    }.get(what.what, f"{what.what} of {column}")
    groups = f" by {', '.join(plain(each.name) for each in what.by)}" if what.by else ""
    return f"{kind}{groups}{f' where {plain(what.where)}' if what.where else ''}"


def shown_table(name: str, study: StudyTable, head: tuple[str, str] = SHOWN) -> ReleasedTable:
    """Return a released statistic for a person: ends of intervals are rounded outwards."""
    keys = [key for key in (study.rows or [{}])[0] if key not in NUMBERS]
    rows = [[*(plain(str(row[key])) for key in keys), *numbers(row, study.ranks)] for row in study.rows]
    bars = [
        Bar(", ".join(plain(str(row[key])) for key in keys), row["low"], row["high"], row["estimate"])
        for row in study.rows
        if row["low"] is not None and row["high"] is not None
    ]
    return ReleasedTable(name, [*keys, *head], rows, bars)


def numbers(row: Mapping[str, Any], ranks: float | None = None) -> list[str]:
    """Return an estimate and its interval, to the digits that the noise leaves; ends are rounded outwards.

    Where there are `ranks` at most in between they are said instead.
    """
    low, high, value = row["low"], row["high"], row["estimate"]
    if low is None or high is None:
        words = "none is proved"
        if ranks is not None:
            most = to_noise(ranks, ranks, up=True)
            words = f"none; at most {most} ranks farther off than the best candidate"
        return [rounded(to_digits(value, up=None, digits=6), value), words]
    half = (high - low) / 2
    if all(float(each).is_integer() for each in (low, high, value)):
        half = max(half, 10.0)  # counts are shown as whole numbers
    ends = to_noise(low, half, up=False), to_noise(high, half, up=True)
    return [rounded(to_noise(value, half), value), rounded(" … ".join(ends), f"{low} … {high}")]


def rounded(text: str, exact: object) -> Rounded:
    """Return a rounded number with its exact one."""
    number = Rounded(text)
    number.exact = str(exact)
    return number


def released_tables(certificate: Mapping[str, Any]) -> list[ReleasedTable]:
    """Return what was released, each statistic or array as a table; of any valid certificate of a release."""
    if certificate["claim"]["subject"]["use"] == STUDY:
        try:
            claim = claim_at(parse_json(json.dumps(certificate["claim"]), "claim"), Path("claim"))
            known = {what.name: definition(what) for what in study_of(claim).statistics}
            statistics = tables(claim, dict(certificate))
            return [replace(shown_table(name, each), of=known[name]) for name, each in statistics.items()]
        except (InputError, KeyError):  # a study of another version: its arrays have no labels
            pass
    report = certificate["release"]["report"]
    shown = {name: each for name, each in report.items() if name not in APART}
    rows = list(rows_of(shown, report.get("labels", {}), report.get("accuracy", {})))
    rows = [row for row in rows if row.place or row.low is not None]  # others are listed as text
    by_name = REPORTED if ":" in certificate["claim"]["subject"]["use"] else SAMPLED
    listing = []
    for name, group in groupby(rows, key=lambda row: row.name):
        listed = [{"": row.place, "estimate": row.value, "low": row.low, "high": row.high} for row in group]
        head = by_name if isinstance(shown[name], dict) else SHOWN
        listing.append(shown_table(_label(name), StudyTable(listed), head))
    drawn = {row.name for row in rows}
    texts = [[_label(name), _words(each)] for name, each in shown.items() if name not in drawn]
    return [*([ReleasedTable("released values", ["", ""], texts, [])] if texts else []), *listing]


#: of released values whose names say too little to a reader
LABELS = {
    "best_probability": "probability that it is the best",
    "order": "order by the model, which combines all estimates",
    "value_over": "value is the mean over",
}


def _label(name: str) -> str:
    return LABELS.get(name) or re.sub(" sd$", " (standard deviation)", name.replace("_", " "))


def _words(value: Any) -> str:
    if isinstance(value, list):
        return " > ".join(map(str, value))
    if isinstance(value, float):
        return rounded(to_digits(value, up=None, digits=6), value)
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def rows_of(
    report: Mapping[str, Any] | None, labels: Mapping[str, Any], accuracy: Mapping[str, Any]
) -> Iterator[Row]:
    """Yield every released number, with its interval where the answer's shape has one."""
    listed = [list(names) for names in labels.values()]
    for name, value in (report or {}).items():
        if isinstance(value, dict):  # answers by name, which hold their own interval
            yield from _by_name(name, value)
            continue
        values = _numbers(value)
        interval = accuracy.get(name, {})
        low, high = _numbers(interval.get("low", [])), _numbers(interval.get("high", []))
        ends = list(zip(low, high, strict=True)) if len(low) == len(high) == len(values) else []
        # Some intervals are of another thing than the number, such as of the ranks of a choice.
        around = ends if all(a <= v <= b for v, (a, b) in zip(values, ends, strict=False)) else []
        names = next((each for each in listed if len(each) == len(values)), None)
        for place, number in enumerate(values):
            where = names[place] if names else str(place) if len(values) > 1 else ""
            yield Row(name, where, number, *(around[place] if around else (None, None)))


def _by_name(name: str, value: dict[str, Any]) -> Iterator[Row]:
    for place, each in value.items():
        if isinstance(each, dict) and {"mean", "low", "high"} <= each.keys():
            yield Row(name, place, each["mean"], each["low"], each["high"])


def _numbers(value: Any) -> list[float]:
    return [each for each in flat(value) if isinstance(each, int | float) and not isinstance(each, bool)]


def is_study(claim: Claim) -> bool:
    """Return whether a claim is about a study."""
    return claim.use == STUDY


def study_of(claim: Claim) -> NoisyStatistics:
    """Return the study that a claim is about; raises `InputError` for any other claim."""
    subject = named(subject_of(claim)) if is_study(claim) else None
    if not isinstance(subject, NoisyStatistics):
        raise InputError("this is no study", "give a file of schema dpaccount/study/2", claim.path)
    if claim.guarantee.model != "central":
        raise InputError(
            f"guarantee.model is {claim.guarantee.model!r}", "a study's is central: leave it out", claim.path
        )
    return subject


def tables(claim: Claim, certificate: dict[str, Any]) -> dict[str, StudyTable]:
    """Return the released rows of every statistic; none where nothing was released."""
    release = certificate["release"]
    if release is None:
        return {}
    report, accuracy = release["report"], release["report"]["accuracy"]
    study = {}
    for what in study_of(claim).statistics:
        ends = accuracy[what.name]
        texts = report.get(f"{what.name}/texts", ())
        rows = table(what, (report[what.name], ends["low"], ends["high"]), texts)
        study[what.name] = StudyTable(rows, ends.get("ranks"))
    return study
