"""What a certificate says was released, as tables of rounded numbers with their exact ones."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from audits.certificate.figures import APART, answer, rows_of
from audits.claim import claim_at
from audits.reports.pictures import Bar
from audits.studies import results
from dpaccount.checker import plain
from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from dpaccount.exact import to_digits, to_noise
from dpaccount.schemas.study import StudyTable
from mechanisms.statistics.statistic import NUMBERS

SHOWN: tuple[str, str] = ("estimate", "95% interval of the noise")


class Rounded(str):
    """A rounded number, and the `exact` one that a page shows when the pointer rests on it."""

    __slots__ = ("exact",)

    exact: str


@dataclass(frozen=True)
class ReleasedTable:
    """A released statistic: rows of text under a head, and its lines in a chart."""

    name: str
    head: list[str]
    rows: list[list[str]]
    bars: list[Bar]


def shown_table(name: str, found: StudyTable) -> ReleasedTable:
    """Return a released statistic for a person: ends of intervals are rounded outwards."""
    keys = [key for key in (found.rows or [{}])[0] if key not in NUMBERS]
    rows = [[*(plain(str(row[key])) for key in keys), *numbers(row)] for row in found.rows]
    bars = [
        Bar(", ".join(plain(str(row[key])) for key in keys), row["low"], row["high"], row["estimate"])
        for row in found.rows
        if row["low"] is not None and row["high"] is not None
    ]
    return ReleasedTable(name, [*keys, *SHOWN], rows, bars)


def numbers(row: Mapping[str, Any]) -> list[str]:
    """Return an estimate and its interval, to the digits that the noise leaves; ends are rounded outwards."""
    low, high, value = row["low"], row["high"], row["estimate"]
    if low is None or high is None:
        return [rounded(to_digits(value, up=None, digits=6), value), "none is proved"]
    half = (high - low) / 2
    ends = to_noise(low, half, up=False), to_noise(high, half, up=True)
    return [rounded(to_noise(value, half), value), rounded(" … ".join(ends), f"{low} … {high}")]


def rounded(text: str, exact: object) -> Rounded:
    """Return a rounded number with its exact one."""
    found = Rounded(text)
    found.exact = str(exact)
    return found


def released_tables(certificate: Mapping[str, Any]) -> list[ReleasedTable]:
    """Return what was released, each statistic or array as a table; of any valid certificate of a release."""
    if certificate["claim"]["subject"]["use"] == "noisy-statistics":
        try:
            claim = claim_at(parse_json(json.dumps(certificate["claim"]), "claim"), Path("claim"))
            found = results.tables(claim, dict(certificate))
            return [shown_table(name, each) for name, each in found.items()]
        except (InputError, KeyError):  # a study of another version: its arrays have no labels
            pass
    report = certificate["release"]["report"]
    rows = list(rows_of(answer(dict(certificate), Path())))
    tables = []
    for name, group in groupby(rows, key=lambda row: row.name):
        listed = [{"": row.place, "estimate": row.value, "low": row.low, "high": row.high} for row in group]
        tables.append(shown_table(name.replace("_", " "), StudyTable(listed)))
    drawn = {row.name for row in rows}
    others = {name: each for name, each in report.items() if name not in (*drawn, *APART)}
    texts = [
        [name.replace("_", " "), each if isinstance(each, str) else _words(each)]
        for name, each in others.items()
    ]
    return [*([ReleasedTable("released", ["", ""], texts, [])] if texts else []), *tables]


def _words(value: Any) -> str:
    return " > ".join(map(str, value)) if isinstance(value, list) else json.dumps(value, ensure_ascii=False)
