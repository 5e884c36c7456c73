"""Experiments of a file: every algorithm with all its parameters, in every world, with the same seeds.

Noise is a rehearsal's, so nothing from here is releasable.  What is made of the trials follows from the
file, its data and the code alone: no clock enters it.
"""

import csv
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from itertools import combinations, product
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from audits.attack.runs import Progress, silent
from audits.claim import NAME, as_written, inside
from audits.papers.experiment_worlds import WORLDS, LogWorld, TrialWorld, trial
from audits.papers.reproduce import MOST_ROUNDS, MOST_TRIALS, done, drawn
from audits.subjects import catalogue
from bandits.logged_policy import LoggedPolicy
from bandits.papers.reproduction import CUMULATIVE_REGRET, Cell
from bandits.statistics.arrays import Floats
from dpaccount.documents import Place, parse_toml, read_bytes, replacing
from dpaccount.errors import InputError
from dpaccount.relation import REPLACE_ONE
from dpaccount.schemas.experiment import EXPERIMENT, AlgorithmTable, ExperimentFile, WorldTable
from dpaccount.schemas.fields import keys
from mechanisms.table.bind_columns import Promise
from mechanisms.table.declaration import KEYS as TABLE_KEYS
from mechanisms.table.declaration import read_table
from mechanisms.table.rows import read_rows

BY_CHANCE = "uniform"  #: the algorithm that chooses uniformly, in every world
MAX_EXPERIMENT_CELLS = 1000
DECIMALS = 6
LOG_EPSILON, LOG_DELTA = Fraction(1), Fraction(1, 10**6)  #: defaults of a policy on a log


@dataclass(frozen=True)
class ExperimentPlan:
    """A file: its name, the seeds of its trials, and its cells, whose rows begin with the world's name."""

    name: str
    seeds: range
    cells: tuple[Cell, ...]


# ------------------------------------------------------------------ the file


def read_experiment(path: Path) -> ExperimentPlan:
    """Return the experiment in a TOML file; raises `InputError` naming what is unknown or out of range."""
    place = parse_toml(read_bytes(path), str(path))
    needed, optional = keys(ExperimentFile)
    top = place.table(("schema", *needed), optional)
    top["schema"].text(EXPERIMENT)
    rounds = top["rounds"].integer(2, MOST_ROUNDS) if "rounds" in top else None
    first = top["seed"].integer(0, 10**6) if "seed" in top else 0
    trials = top["trials"].integer(2, MOST_TRIALS)
    cells = []
    for at in top["world"].items():
        entries = at.table(*keys(WorldTable))
        world, name = _world(entries, at, rounds, path.parent), _name(entries)
        for each in top["algorithm"].items():
            cells += [replace(cell, row={"world": name, **cell.row}) for cell in _cells(each, world, at)]
            if len(cells) > MAX_EXPERIMENT_CELLS:
                raise each.wrong(f"more than {MAX_EXPERIMENT_CELLS} runs of trials", "split the file")
    if not cells:
        raise place.wrong("no world or no algorithm", "give a [[world]] and an [[algorithm]]")
    rows = [json.dumps(cell.row) for cell in cells]
    if twice := next((row for row in rows if rows.count(row) > 1), None):
        raise place.wrong(f"two runs are the same: {twice}", "name them apart, by name")
    return ExperimentPlan(_name(top), range(first, first + trials), tuple(cells))


def _name(entries: dict[str, Place]) -> str:
    """Return the name of a table, which is by default what it uses."""
    place = entries.get("name", entries.get("use"))
    text = "" if place is None else place.text()
    if place is not None and NAME.fullmatch(text) is None:
        raise place.wrong(f"the name {text[:70]!r} is not allowed", f"names match {NAME.pattern}")
    return text


def _world(entries: dict[str, Place], place: Place, rounds: int | None, folder: Path) -> TrialWorld:
    kind = WORLDS[entries["use"].text(*WORLDS)]
    if kind is LogWorld:
        return _log(
            place.table(("use", "file", "log", "rows", "columns"), ("name", *TABLE_KEYS)), place, folder
        )
    numbers, texts = ("candidates", "dimension", "arms"), ("surface", "kernel")
    known = [key for key in (*numbers, *texts) if key in kind.__dataclass_fields__]
    place.table(("use",), ("name", *known))
    if rounds is None:
        raise place.wrong("the number of people is missing", "give rounds at the top of the file")
    given = {
        key: entries[key].integer(1, 1000) if key in numbers else entries[key].text()
        for key in known
        if key in entries
    }
    try:
        world: TrialWorld = kind(rounds=rounds, **given)
        world.by_chance(0)  # refuses what makes no people
    except InputError as error:
        raise place.placed(error) from None
    return world


def _log(given: dict[str, Place], place: Place, folder: Path) -> LogWorld:
    table = read_table(place)
    policy, reading = LoggedPolicy.on_table(table, given["log"], Promise(REPLACE_ONE, LOG_EPSILON, LOG_DELTA))
    rows = read_rows(inside(folder, given["file"]), table, reading, REPLACE_ONE)
    return LogWorld(rows, policy)


def _cells(place: Place, world: TrialWorld, at: Place) -> Iterator[Cell]:
    """Yield an algorithm's runs in a world: one for each combination of its listed parameters."""
    entries = place.table(*keys(AlgorithmTable))
    use, name, given = entries["use"].text(), _name(entries), entries.get("parameters", place)
    if use == BY_CHANCE:
        if "parameters" in entries:
            raise given.wrong("uniform choices have no parameters", "leave them out")
        yield Cell({"algorithm": name}, partial(trial, world, None))
        return
    made_by = catalogue.find(use).made_by
    if not issubclass(made_by, world.serves):
        known = [each.name for each in catalogue.entries() if issubclass(each.made_by, world.serves)]
        right = f"there: {', '.join(known)}, {BY_CHANCE}"
        raise entries["use"].wrong(f"{use} does not play in the world {at.value['use']}", right)
    values = given.value if "parameters" in entries else {}
    if not isinstance(values, dict):
        raise given.wrong("this is no table of parameters", "write [algorithm.parameters]")
    for key in values:
        if key in world.given:
            raise given.child(key).wrong(f"{key} follows from the world", "leave it out")
        if values[key] == []:
            raise given.child(key).wrong("an empty list", "give a value, or several")
    lists = [value if isinstance(value, list) else [value] for value in values.values()]
    for chosen in product(*lists):
        one = dict(zip(values, chosen, strict=True))
        yield _cell(world, made_by, name, Place(one, given.file, given.at, toml=True))


def _cell(world: TrialWorld, made_by: type[Any], name: str, place: Place) -> Cell:
    """Return one run; raises `InputError` for parameters that make no bandit, or one without a proof."""
    row = {"algorithm": name, **as_written(place.value)}
    if isinstance(world, LogWorld):
        policy, delta = _policy(world, place)
        return Cell(row, partial(trial, replace(world, delta=delta), policy), subject=policy, delta=delta)
    known = world.given
    merged = Place({**place.value, **known}, place.file, place.at, toml=True)
    bandit: Any = catalogue.make(made_by, merged)
    if getattr(bandit, "privacy", None) == "none":
        return Cell(row, partial(trial, world, bandit))
    try:
        # the least σ is written in, so that workers need not search for it; other noise follows epsilon
        if hasattr(bandit, "sigma") and getattr(bandit, "law", "gaussian") == "gaussian":
            bandit = replace(bandit, sigma=bandit.noise_scale)
    except InputError as error:
        raise place.placed(error) from None
    return Cell(row, partial(trial, world, bandit), subject=bandit, delta=bandit.delta)


def _policy(world: LogWorld, place: Place) -> tuple[Any, Fraction]:
    entries = place.table((), ("epsilon", "delta", "batch", "batches"))
    epsilon = entries["epsilon"].positive() if "epsilon" in entries else LOG_EPSILON
    delta = entries["delta"].real(0, 1) if "delta" in entries else LOG_DELTA
    batches: dict[str, Any] = {key: entries[key].integer(1) for key in ("batch", "batches") if key in entries}
    try:
        sigma = world.policy.counts.least_sigma(epsilon, delta)
        return replace(world.policy, sigma=sigma, **batches), delta
    except InputError as error:
        raise place.placed(error) from None


# ------------------------------------------------------------------ the answer


def run_experiment(
    experiment: ExperimentPlan, jobs: int | None = None, progress: Progress = silent
) -> tuple[dict[str, Any], list[Floats]]:
    """Return the answer of `dpaccount run`, and each row's cumulative regret [trials, rounds]."""
    played, carried = done(experiment.name, experiment.cells, experiment.seeds, jobs, progress)
    curves = [CUMULATIVE_REGRET.curves(each) for each in played]
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
        "measure": CUMULATIVE_REGRET.name,
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
    with replacing(
        folder, "results.csv", "results.parquet", "curves.csv", "regret.svg", "summary.json"
    ) as new:
        _write_results(new, answer, curves)


def _write_results(folder: Path, answer: dict[str, Any], curves: list[Floats]) -> None:
    keys_of = dict.fromkeys(key for row in answer["rows"] for key in _settings(row))
    table: dict[str, list[Any]] = {key: [] for key in (*keys_of, "seed", "regret")}
    for row, curve in zip(answer["rows"], curves, strict=True):
        settings = _settings(row)
        for number, final in enumerate(curve[:, -1]):
            for key in keys_of:
                table[key].append(None if settings.get(key) is None else str(settings[key]))
            table["seed"].append(answer["seed"] + number)
            table["regret"].append(float(final))
    with (folder / "results.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    if find_spec("pyarrow") is None:
        sys.stderr.write("no results.parquet: pyarrow is not installed; pip install 'dpaccount[tables]'\n")
    else:
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table(table), folder / "results.parquet")
    labels = [_label(row) for row in answer["rows"]]
    drawn(folder, answer["name"], answer["measure"], dict(zip(labels, curves, strict=True)))
    text = json.dumps(answer, indent=1, ensure_ascii=False) + "\n"
    (folder / "summary.json").write_text(text, encoding="utf-8")
