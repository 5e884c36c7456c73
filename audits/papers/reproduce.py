"""The tables and figures of the papers, beside sound algorithms of ours: `dpaccount reproduce`.

Every private cell carries a derivation that the independent checker has inferred again.  Noise is the
seeded rehearsal's and data are made up, so nothing from here is releasable.
"""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from audits.papers.dubey import figures
from audits.papers.reproduction import Cell, Floats, Reproduction
from dpaccount.errors import InputError
from dpaccount.exact import rounded

MOST_TRIALS, MOST_ROUNDS = 1000, 100_000


def reproductions() -> list[Reproduction]:
    """Return all that can be reproduced."""
    return list(figures.REPRODUCTIONS)


def find(name: str) -> Reproduction:
    """Return one by name; raises `InputError` with the known names."""
    known = {each.name: each for each in reproductions()}
    if name not in known:
        raise InputError(f"unknown reproduction {name[:60]!r}; known: {', '.join(known)}")
    return known[name]


def reproduce(
    name: str, *, trials: int | None = None, rounds: int | None = None, jobs: int = 1, seed: int = 0
) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Return the answer of `dpaccount reproduce` and, by cell, the cumulative regret [trials, rounds]."""
    started, spent = time.perf_counter(), time.process_time()
    made = find(name)
    count, horizon = trials or made.trials, rounds or made.rounds
    if not 2 <= count <= MOST_TRIALS or not 32 <= horizon <= MOST_ROUNDS:
        raise InputError(f"trials lie in 2 ... {MOST_TRIALS} and rounds in 32 ... {MOST_ROUNDS}")
    cells = made.cells(horizon)
    carried = [None if cell.subject is None else certificate(cell.subject) for cell in cells]
    runs, inside = _all([partial(cell.play, seed + k) for cell in cells for k in range(count)], jobs)
    rows, curves = [], {}
    for index, cell in enumerate(cells):
        regret = np.cumsum(np.array(runs[index * count : (index + 1) * count]), axis=1)
        curves[_label(cell.row)] = regret
        rows.append(_row(cell, regret[:, -1], carried[index]))
    answer = {
        "schema": "dpaccount/reproduction/1",
        "name": name,
        "source": made.source,
        "trials": count,
        "rounds": horizon,
        "seed": seed,
        "assumed": list(made.assumed),
        "rows": rows,
        "exponents": _exponents(rows),
        "releasable": False,
        "seconds": round(time.perf_counter() - started, 1),
        "cpu_seconds": round(time.process_time() - spent + (inside if jobs > 1 else 0), 1),
    }
    return answer, curves


def _all(runs: Sequence[Callable[[], Floats]], jobs: int) -> tuple[list[Floats], float]:
    """Run everything, and count the processors' seconds; results do not depend on the number of jobs."""
    if jobs == 1:
        found = [_timed(run) for run in runs]
    else:
        from joblib import Parallel, delayed, parallel_config

        with parallel_config("loky", inner_max_num_threads=1):  # processes share the cores already
            found = Parallel(n_jobs=jobs, batch_size=1)(delayed(_timed)(run) for run in runs)
    return [regret for regret, _ in found], sum(seconds for _, seconds in found)


def _timed(run: Callable[[], Floats]) -> tuple[Floats, float]:
    started = time.process_time()
    regret = run()
    return regret, time.process_time() - started


def certificate(subject: Any) -> dict[str, Any]:
    """Return what is proved of a subject at its δ, inferred again by the checker."""
    from dpaccount import checker
    from dpaccount.proof.derivation import point, write
    from dpaccount.proof.search import private

    theorem = subject.proof(subject.delta)
    steps = write(theorem)
    checker.check_derivation(steps)  # raises where a step does not follow
    epsilon, delta = point(theorem)
    return {
        "epsilon": rounded(epsilon, up=True),
        "delta": rounded(delta, up=True),
        "observer": private(theorem).observer,
        "noise": str(subject.noise_scale),
        "steps": len(steps),
        "digest": steps[-1]["digest"],
        "checked": True,
    }


def _row(cell: Cell, final: Floats, carried: dict[str, Any] | None) -> dict[str, Any]:
    mean = float(final.mean())
    return {
        **cell.row,
        "published": cell.published,
        "regret": round(mean, 2),
        "standard_error": round(float(final.std(ddof=1)) / math.sqrt(len(final)), 2),
        "ratio_to_published": None if cell.published is None else round(mean / cell.published, 3),
        "proved": carried,
        "verdict": cell.verdict,
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
    found = []
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
            found.append({key: value for key, value in entry.items() if key != "function" or value})
    return found


# ------------------------------------------------------------------ for people


def table(answer: dict[str, Any]) -> str:
    """Return an answer as text."""
    lines = [f"{answer['name']}: {answer['source']}"]
    lines += [f"{answer['trials']} trials of {answer['rounds']} rounds; rehearsal noise, not releasable"]
    lines += [f"{answer['seconds']:.0f} s, of the processors {answer['cpu_seconds']:.0f} s"]
    lines += [f"assumed: {text}" for text in answer["assumed"]]
    lines.append(f"{'':<72} {'published':>9} {'regret':>9} {'s.e.':>7}  proved")
    for row in answer["rows"]:
        named = {k: row[k] for k in ("function", "algorithm", "alpha", "delta") if row.get(k) is not None}
        printed = "-" if row["published"] is None else f"{row['published']:g}"
        proved = row["proved"]
        shown = "not private" if proved is None else f"({proved['epsilon']:.6g}, {proved['delta']:.6g})"
        verdict = (
            "" if row["verdict"] is None else f"  {row['verdict']['claim']}: {row['verdict']['verdict']}"
        )
        label = " ".join(
            f"{key}={value}" if key != "algorithm" else str(value) for key, value in named.items()
        )
        lines.append(
            f"{label:<72} {printed:>9} {row['regret']:>9.1f} {row['standard_error']:>7.1f}  {shown}{verdict}"
        )
    for entry in answer["exponents"]:
        said = "" if entry["published"] is None else f" (published {entry['published']})"
        where = entry.get("function", "")
        lines.append(
            f"exponent in alpha {entry['alpha'][0]:g} to {entry['alpha'][1]:g}, {where} {entry['algorithm']}"
            f" delta={entry['delta']}: {entry['measured']}{said}"
        )
    return "\n".join(lines)


def write_out(folder: Path, answer: dict[str, Any], curves: dict[str, Floats]) -> None:
    """Write `summary.json`, `curves.csv` and `regret.svg` (means with bands of two standard errors)."""
    import csv
    import json

    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.json").write_text(json.dumps(answer, indent=1, ensure_ascii=False), encoding="utf-8")
    rounds = answer["rounds"]
    marks = np.unique(np.linspace(1, rounds, min(rounds, 200)).astype(int)) - 1
    figure, axes = plt.subplots(figsize=(9, 6))
    with (folder / "curves.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["cell", "round", "mean", "standard_error"])
        for label, regret in curves.items():
            mean = regret.mean(axis=0)[marks]
            error = regret.std(axis=0, ddof=1)[marks] / math.sqrt(len(regret))
            (line,) = axes.plot(marks + 1, mean, label=label)
            axes.fill_between(
                marks + 1, mean - 2 * error, mean + 2 * error, alpha=0.2, color=line.get_color()
            )
            writer.writerows(
                [label, int(t) + 1, f"{m:.4f}", f"{e:.4f}"]
                for t, m, e in zip(marks, mean, error, strict=True)
            )
    axes.set(xlabel="round", ylabel="cumulative regret", title=answer["name"])
    axes.legend(fontsize=6)
    figure.savefig(folder / "regret.svg")
    plt.close(figure)
