"""Experiments of a file: every algorithm with all its parameters, in every world, with the same seeds.

Noise is a rehearsal's, so nothing from here is releasable.  What is made of the trials follows from the
file, its data and the code alone: no clock enters it.
"""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from audits.attack.runs import Progress, silent
from audits.cli.options import say
from bandits.statistics.arrays import Floats
from dpaccount.documents import csv_text
from papers.experiment_file import ExperimentPlan
from papers.outcome_folder import replacing
from papers.reproduce import done, drawn
from papers.reproduction import Cell

DECIMALS = 6

# ------------------------------------------------------------------ the answer


def run_experiment(
    experiment: ExperimentPlan, jobs: int | None = None, progress: Progress = silent
) -> tuple[dict[str, Any], list[Floats]]:
    """Return the answer of `dpaccount run`, and each row's cumulative regret [trials, rounds]."""
    played, carried = done(experiment.name, experiment.cells, experiment.seeds, jobs, progress)
    measure = experiment.cells[0].summary
    curves = [measure.curves(each) for each in played]
    finals = [curve[:, -1] for curve in curves]
    rows = [
        {
            **cell.row,
            **_mean("value", final),
            "median": round(float(np.median(final)), DECIMALS),
            "proved": proved,
        }
        for cell, final, proved in zip(experiment.cells, finals, carried, strict=True)
    ]
    answer = {
        "schema": "dpaccount/run/1",
        "name": experiment.name,
        "trials": len(experiment.seeds),
        "seed": experiment.seeds.start,
        "measure": measure.name,
        "rows": rows,
        "pairs": list(_pairs(experiment.cells, finals)),
        "releasable": False,
    }
    return answer, curves


def _mean(name: str, values: Floats) -> dict[str, float]:
    error = float(values.std(ddof=1)) / sqrt(len(values))
    return {name: round(float(values.mean()), DECIMALS), "standard_error": round(error, DECIMALS)}


def _pairs(cells: tuple[Cell, ...], finals: list[Floats]) -> Iterator[dict[str, Any]]:
    """Yield, of every two runs in one world, how much more the second regrets, trial by trial."""
    for one, other in combinations(range(len(cells)), 2):
        # Both met the same people, so that the difference varies less than either regret does.
        if cells[one].row["world"] == cells[other].row["world"]:
            yield {"rows": [one, other], **_mean("difference", finals[other] - finals[one])}


def text(answer: dict[str, Any]) -> str:
    """Return an answer for people: every row, and its difference to the best of its world."""
    lines = [f"{answer['name']}: {answer['trials']} trials; rehearsal noise, not releasable"]
    best = dict[str, int]()
    for number, row in enumerate(answer["rows"]):
        if row["world"] not in best or row["value"] < answer["rows"][best[row["world"]]]["value"]:
            best[row["world"]] = number
    apart = {tuple(pair["rows"]): pair for pair in answer["pairs"]}
    width = max(len(_label(row)) for row in answer["rows"])
    lines.append(f"{answer['measure']:<{width}} {'mean':>12} {'s.e.':>10}   to the best: mean, s.e.   proved")
    for number, row in enumerate(answer["rows"]):
        first, second = sorted((number, best[row["world"]]))
        pair = apart.get((first, second))
        sign = 1 if number == second else -1
        more = "-" if pair is None else f"{sign * pair['difference']:.6g} ± {pair['standard_error']:.3g}"
        proved = row["proved"]
        shown = "not private" if proved is None else f"({proved['epsilon']:.6g}, {proved['delta']:.6g})"
        lines.append(
            f"{_label(row):<{width}} {row['value']:>12.6g} {row['standard_error']:>10.3g}"
            f"   {more:>22}   {shown}"
        )
    return "\n".join(lines)


def _settings(row: dict[str, Any]) -> dict[str, Any]:
    """Return the keys that name a row: those before its value."""
    named = list(row)[: list(row).index("value")]
    return {key: row[key] for key in named}


def _label(row: dict[str, Any]) -> str:
    world, algorithm, *rest = _settings(row).items()
    return " ".join([world[1], algorithm[1], *(f"{key}={value}" for key, value in rest)])


# ------------------------------------------------------------------ the folder


def write_results(folder: Path, answer: dict[str, Any], curves: list[Floats]) -> None:
    """Write the summary, the results as CSV and, with the extra `tables`, as Parquet, curves and a picture.

    The results have a line for each trial of each row.  All files are replaced, or none
    (`documents.replacing`).
    """
    keys_of = dict.fromkeys(key for row in answer["rows"] for key in _settings(row))
    table: dict[str, list[Any]] = {key: [] for key in (*keys_of, "seed", "regret")}
    for row, curve in zip(answer["rows"], curves, strict=True):
        settings = _settings(row)
        for number, final in enumerate(curve[:, -1]):
            for key in keys_of:
                table[key].append(None if settings.get(key) is None else str(settings[key]))
            table["seed"].append(answer["seed"] + number)
            table["regret"].append(float(final))
    labels, files = [_label(row) for row in answer["rows"]], ("results.csv", "results.parquet")
    with replacing(folder, *files, "curves.csv", "regret.svg", "summary.json") as new:
        text = csv_text([table, *zip(*table.values(), strict=True)])
        (new / "results.csv").write_text(text, encoding="utf-8", newline="")
        if find_spec("pyarrow") is None:
            say("no results.parquet: pyarrow is not installed; pip install 'dpaccount[tables]'")
        else:
            import pyarrow as pa
            from pyarrow import parquet

            parquet.write_table(pa.table(table), new / "results.parquet")
        drawn(new, answer["name"], answer["measure"], dict(zip(labels, curves, strict=True)))
        text = json.dumps(answer, indent=1, ensure_ascii=False) + "\n"
        (new / "summary.json").write_text(text, encoding="utf-8")
