"""The tables and figures of the papers, compared with our sound algorithms: `dpaccount reproduce`.

Every private cell carries a derivation that the independent checker has inferred again.  Noise is the
seeded rehearsal's and data are made up, so nothing from here is releasable.
"""

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from audits.attack.runs import Progress, progress_counter, silent
from bandits.selection.rehearsals import played
from bandits.statistics.arrays import Floats
from dpaccount.accounting.profile import svg_of
from dpaccount.checker.derivation import check_derivation
from dpaccount.documents import csv_text
from dpaccount.errors import InputError
from dpaccount.exact import rounded
from dpaccount.work.run import Series, run
from dpaccount.work.workers import workers
from papers import claims as papers
from papers import reproduction
from papers.claims.parameters import Value
from papers.experiment_file import MOST_ROUNDS, MOST_TRIALS, read_reproduction
from papers.outcome_folder import replacing
from papers.reproduction import CUMULATIVE_REGRET, Cell, Reproduction

PAPERS = Path(reproduction.__file__).parent  #: whose folders have files of tables and figures
MANY_CURVES = 100  #: curves for whose legend no best place is looked for
FAR = 200  #: where last values are further apart than this, a figure has a logarithmic axis


def reproductions() -> list[Reproduction]:
    """Return all that can be reproduced."""
    papers = ("dubey", "zhou", "kharkovskii", "pavlovic")
    files = [sorted((PAPERS / paper).glob("*.toml"), key=lambda path: path.stem) for paper in papers]
    return [read_reproduction(path) for of_a_paper in files for path in of_a_paper]


def find(name: str) -> Reproduction:
    """Return one by name; raises `InputError` with the known names."""
    known = {each.name: each for each in reproductions()}
    if name not in known:
        raise InputError(f"unknown reproduction {name[:60]!r}", f"known: {', '.join(known)}")
    return known[name]


def reproduce(
    name: str,
    *,
    trials: int | None = None,
    rounds: int | None = None,
    jobs: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Return the answer of `dpaccount reproduce` and, by cell, the curves [trials, rounds].

    `name`: one of `reproductions`.
    `trials`, `rounds`: runs of every cell and rounds of a run; None: the reproduction's own.  What is
        chosen by rehearsals is rehearsed at so many rounds, and with fewer trials than its own at most so
        often, at least twice; the row's `because` says it.
    `jobs`: processes, if `joblib.parallel_config` sets no workers (`dpaccount.work.run`).
    `seed`: that of the first trial; the others follow.
    `progress`: called as rehearsals and trials end.
    """
    started = time.perf_counter()
    study = find(name)
    count, horizon = trials or study.trials, rounds or study.rounds
    if not 2 <= count <= MOST_TRIALS or not 32 <= horizon <= MOST_ROUNDS:
        raise InputError(f"trials lie in 2 ... {MOST_TRIALS} and rounds in 32 ... {MOST_ROUNDS}")
    seeds = range(seed, seed + count)
    with workers(jobs):  # what cells compute beforehand enters their trials
        few = count if count < study.trials else None  # the published choice is that of the whole race
        cells = study.cells(horizon, trials=few, progress=progress)
    rows, curves = [], {}
    for cell, runs, proved in zip(cells, *done(name, cells, seeds, jobs, progress), strict=True):
        curve = curves[_label(cell.row)] = cell.summary.curves(runs)
        details = {} if cell.details is None else cell.details(seeds, runs)
        rows.append({**_row(cell, curve[:, -1], proved), **details})
    answer = {
        "schema": "dpaccount/reproduction/1",
        "name": name,
        "source": study.source,
        "trials": count,
        "rounds": horizon,
        "seed": seed,
        "assumed": list(study.assumed),
        "measure": cells[0].summary.name,
        "rows": rows,
        "exponents": _exponents(rows),
        "sentences": [asdict(one) for one in study.sentences(rows)] if study.sentences else [],
        "releasable": False,
        "seconds": round(time.perf_counter() - started, 1),
    }
    return answer, curves


def done(
    name: str, cells: Sequence[Cell], seeds: range, jobs: int | None, progress: Progress
) -> tuple[list[Floats], list[dict[str, Any] | None]]:
    """Return every cell's trials [trials, rounds], and what is proved of its subject; None: not private."""
    with workers(jobs):
        carried = [None if cell.subject is None else certificate(cell.subject, cell.delta) for cell in cells]
        series = [Series(f"{name}: {_label(cell.row)}", partial(played, cell.play), seeds) for cell in cells]
        return run(series, progress_counter("playing", len(cells) * len(seeds), progress)), carried


def certificate(subject: Any, delta: Fraction | None = None) -> dict[str, Any]:
    """Return what is proved of a subject at `delta`, or its own δ, inferred again by the checker."""
    from dpaccount.proof import point, write
    from dpaccount.proof.search import private

    theorem = subject.proof(subject.delta if delta is None else delta)
    steps = write(theorem)
    check_derivation(steps)  # raises where a step does not follow
    epsilon, delta = point(theorem)
    return {
        "epsilon": rounded(epsilon, up=True),
        "delta": rounded(delta, up=True),
        "observer": private(theorem).observer,
        "noise": str(subject.noise_scale) if hasattr(subject, "noise_scale") else None,
        "steps": len(steps),
        "digest": steps[-1]["digest"],
        "checked": True,
    }


@cache
def verdict(name: str, *settings: tuple[str, Value]) -> dict[str, Any]:
    """Return what checking a paper's claim finds, in short."""
    check = papers.claim(name, dict(settings))
    return {"claim": name, "verdict": check["verdict"], "factor": check["factor"]}


def _row(cell: Cell, final: Floats, carried: dict[str, Any] | None) -> dict[str, Any]:
    mean, decimals = float(final.mean()), cell.summary.decimals
    value = round(mean, decimals)
    return {
        **cell.row,
        "published": cell.published,
        **({"regret": value} if cell.summary is CUMULATIVE_REGRET else {}),
        "value": value,
        "median": round(float(np.median(final)), decimals),
        "standard_error": round(float(final.std(ddof=1)) / math.sqrt(len(final)), decimals),
        "ratio_to_published": round(mean / cell.published, 3) if cell.published and cell.like else None,
        "proved": carried,
        "verdict": None if cell.claim is None else verdict(cell.claim[0], *cell.claim[1].items()),
    }


def _label(row: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in row.items() if value is not None)


def _exponents(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return −d ln regret/d ln α between neighbouring α of rows that are alike otherwise."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        if row.get("alpha") is not None:
            key = (row.get("function"), row["algorithm"], row["delta"])
            groups.setdefault(key, []).append(row)
    rates = []
    for (function, algorithm, delta), members in groups.items():
        ordered = sorted(members, key=lambda row: -row["alpha"])
        for more, less in pairwise(ordered):
            if more["alpha"] == less["alpha"]:
                continue
            span = math.log(more["alpha"] / less["alpha"])
            entry = {"function": function, "algorithm": algorithm, "delta": delta}
            entry["alpha"] = [more["alpha"], less["alpha"]]
            entry["measured"] = round(math.log(less["regret"] / more["regret"]) / span, 3)
            both = more["published"] is not None and less["published"] is not None
            entry["published"] = (
                round(math.log(less["published"] / more["published"]) / span, 3) if both else None
            )
            rates.append({key: value for key, value in entry.items() if key != "function" or value})
    return rates


# ------------------------------------------------------------------ for people


def table(answer: dict[str, Any]) -> str:
    """Return an answer as text."""
    lines = [f"{answer['name']}: {answer['source']}"]
    lines += [f"{answer['trials']} trials of {answer['rounds']} rounds; rehearsal noise, not releasable"]
    lines += [f"assumed: {text}" for text in answer["assumed"]]
    width = max([72, *(len(_named(row)) for row in answer["rows"])])
    head = f"{'published':>9} {'mean':>9} {'median':>9} {'s.e.':>7}  proved"
    lines.append(f"{answer['measure']:<{width}} {head}")
    lines += [_line(row, width) for row in answer["rows"]]
    for entry in answer["exponents"]:
        published = "" if entry["published"] is None else f" (published {entry['published']})"
        where = entry.get("function", "")
        lines.append(
            f"exponent in alpha {entry['alpha'][0]:g} to {entry['alpha'][1]:g}, {where} {entry['algorithm']}"
            f" delta={entry['delta']}: {entry['measured']}{published}"
        )
    for one in answer["sentences"]:
        verdict = {True: "confirmed", False: "not confirmed", None: "not decided"}[one["confirmed"]]
        lines.append(f'"{one["said"]}" ({one["where"]}): {verdict}: {one["numbers"]}')
    return "\n".join(lines)


def _named(row: dict[str, Any]) -> str:
    """Return the keys before `published`, which name a row."""
    keys = list(row)
    named = {key: row[key] for key in keys[: keys.index("published")] if row[key] is not None}
    return " ".join(f"{key}={value}" if key != "algorithm" else str(value) for key, value in named.items())


def _line(row: dict[str, Any], width: int) -> str:
    """Return a row as text; with the keys after `verdict` at its end."""
    keys = list(row)
    printed = "-" if row["published"] is None else f"{row['published']:g}"
    proved, verdict = row["proved"], row["verdict"]
    shown = "not private" if proved is None else f"({proved['epsilon']:.6g}, {proved['delta']:.6g})"
    ending = "" if verdict is None else f"  {verdict['claim']}: {verdict['verdict']}"
    ending += "".join(f"  {key} {row[key]}" for key in keys[keys.index("verdict") + 1 :])
    numbers = [_short(row["value"], 9), _short(row["median"], 9), _short(row["standard_error"], 7)]
    return f"{_named(row):<{width}} {printed:>9} {' '.join(numbers)}  {shown}{ending}"


def _short(number: float, width: int) -> str:
    """Return a number with one decimal, or with three digits where one decimal is too coarse."""
    return f"{number:>{width}.1f}" if abs(number) >= 10 or number == 0 else f"{number:>{width}.3g}"


def write_out(folder: Path, answer: dict[str, Any], curves: dict[str, Floats]) -> None:
    """Write `curves.csv`, `regret.svg` and `summary.json`, all of them or none (`documents.replacing`)."""
    with replacing(folder, "curves.csv", "regret.svg", "summary.json") as new:
        drawn(new, answer["name"], answer["measure"], curves)
        text = json.dumps(answer, indent=1, ensure_ascii=False)
        (new / "summary.json").write_text(text, encoding="utf-8")


def drawn(folder: Path, title: str, measure: str, curves: dict[str, Floats]) -> None:
    """Write `curves.csv` and `regret.svg`: means of [trials, rounds], with bands of two standard errors."""
    rows: list[tuple[object, ...]] = [("cell", "round", "mean", "standard_error")]

    def draw(axes: Any) -> None:
        for label, regret in curves.items():
            rounds = regret.shape[1]
            marks = np.unique(np.linspace(1, rounds, min(rounds, 200)).astype(int)) - 1
            mean = regret.mean(axis=0)[marks]
            error = regret.std(axis=0, ddof=1)[marks] / math.sqrt(len(regret))
            (line,) = axes.plot(marks + 1, mean, label=label)
            axes.fill_between(
                marks + 1, mean - 2 * error, mean + 2 * error, alpha=0.2, color=line.get_color()
            )
            points = zip(marks, mean, error, strict=True)
            rows.extend((label, int(t) + 1, Decimal(f"{m:.4f}"), Decimal(f"{e:.4f}")) for t, m, e in points)
        axes.set(xlabel="round", ylabel=measure, title=title)
        ends = [float(each[:, -1].mean()) for each in curves.values()]
        if min(ends) > 0 and max(ends) > FAR * min(ends):
            axes.set_yscale("log")
        # Where hundreds of curves leave the most room takes long to find.
        axes.legend(fontsize=6, loc="best" if len(curves) <= MANY_CURVES else "upper left")

    (folder / "regret.svg").write_text(svg_of(draw, (9, 6)), encoding="utf-8", newline="")
    (folder / "curves.csv").write_text(csv_text(rows), encoding="utf-8", newline="")
