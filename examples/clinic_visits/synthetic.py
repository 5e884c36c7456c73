"""Synthetic visits from released two-way counts, by Private-PGM (McKenna, Sheldon & Miklau 2019).

It reads what `dpaccount release two-way.toml` published, and nothing else.  So it is post-processing: the
certificate's (ε, δ) holds for the synthetic visits, too, and they are charged nothing.

    pip install mbi==2.0.0
    python synthetic.py two-way.toml certificates/two-way synthetic.csv
"""

import csv
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dpaccount as dp

NUMBERS = ("estimate", "low", "high")  #: columns of a released file that are no labels


@dataclass(frozen=True)
class Marginal:
    """A released table of counts: the `labels` of each column, the noisy `counts`, the noise's deviation."""

    labels: dict[str, list[str]]
    counts: np.ndarray[Any, Any]
    deviation: float


def marginals(study: dp.Study, folder: Path) -> list[Marginal]:
    """Return the tables of counts that a study released to a folder; reads no private data."""
    found = []
    for planned in study.plan().statistics:
        with (folder / f"{planned.name.replace(' ', '-')}.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        names = [name for name in rows[0] if name not in NUMBERS]
        labels = {name: sorted({row[name] for row in rows}) for name in names}
        counts = np.full([len(each) for each in labels.values()], np.nan)
        for row in rows:
            counts[tuple(labels[name].index(row[name]) for name in names)] = float(row["estimate"])
        if np.isnan(counts).any():
            raise ValueError(f"{planned.name} lacks a combination of labels")
        found.append(Marginal(labels, counts, planned.noise.scales["count"]))
    return found


def synthetic(tables: list[Marginal], iterations: int = 1000) -> list[dict[str, str]]:
    """Return records whose two-way tables are close to the noisy ones; as many as those say there are."""
    from mbi import Domain, LinearMeasurement, estimation

    labels = {name: each for table in tables for name, each in table.labels.items()}
    domain = Domain(labels, [len(each) for each in labels.values()])
    noisy = [LinearMeasurement(one.counts.flatten(), tuple(one.labels), one.deviation) for one in tables]
    model = estimation.MirrorDescent().estimate(domain, noisy, iters=iterations)
    codes = model.synthetic_data().to_dict()
    columns = [[labels[name][code] for code in codes[name]] for name in labels]
    return [dict(zip(labels, row, strict=True)) for row in zip(*columns, strict=True)]


def main(study: str, folder: str, out: str) -> None:
    """Write synthetic records to a CSV file."""
    records = synthetic(marginals(dp.Study.read(study), Path(folder)))
    with Path(out).open("w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        lines.writeheader()
        lines.writerows(records)
    print(f"{len(records)} synthetic records in {out}")


if __name__ == "__main__":
    main(*sys.argv[1:])
