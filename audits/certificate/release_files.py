"""The files of released numbers: release.json, release.csv and release.svg."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from audits.certificate.folder import write_tables
from audits.reports.tables import APART, Row, rows_of
from dpaccount.accounting.profile import svg_of
from dpaccount.documents import csv_text

FILES = ("release.json", "release.csv", "release.svg")  #: what `write_release` writes
MOST_DRAWN = 60  #: maximum numbers in a plot


def answer(certificate: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the answer of `dpaccount release`: the release, its accuracy, and its certificate.

    `release` is null where nothing was released.
    """
    report = (certificate["release"] or {"report": None})["report"]
    return {
        "schema": "dpaccount/release/1",
        "verdict": certificate["verdict"],
        "certificate": str(path),
        "release": None if report is None else {k: v for k, v in report.items() if k not in APART},
        **{name: (report or {}).get(name, {}) for name in APART},
        "releasable": certificate["releasable"],
    }


def write_release(answer: dict[str, Any], folder: Path) -> None:
    """Write release.json, and where numbers were released release.csv and release.svg, into `folder`."""
    files = {"release.json": json.dumps(answer, indent=1, ensure_ascii=False) + "\n"}
    if rows := list(rows_of(answer["release"], answer["labels"], answer["accuracy"])):
        cells = ((row.name, row.place, row.value, row.low, row.high) for row in rows)
        files["release.csv"] = csv_text([("name", "place", "value", "low", "high"), *cells])
        if find_spec("matplotlib") is None:  # the release is made and charged
            sys.stderr.write("no picture: matplotlib is not installed; pip install 'dpaccount[plot]'\n")
        else:
            files["release.svg"] = picture(rows)
    write_tables(folder, files)


def picture(rows: list[Row]) -> str:
    """Return a picture of the first numbers with their intervals, as SVG."""
    drawn = rows[:MOST_DRAWN]
    names = [f"{row.name} {row.place}".strip().replace("$", r"\$") for row in drawn]

    def draw(axes: Any) -> None:
        for place, row in enumerate(drawn):
            axes.plot(row.value, place, "o", color="C0")
            if row.low is not None and row.high is not None:
                axes.hlines(place, row.low, row.high, color="C0")
        axes.set_yticks(range(len(drawn)), names)
        axes.invert_yaxis()
        axes.grid(axis="x", alpha=0.3)

    return svg_of(draw, (7, 1 + 0.28 * len(drawn)), layout="constrained")
