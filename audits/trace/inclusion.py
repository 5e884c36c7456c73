"""Tests whether the rows in the sums of a run are Poisson samples at the rate of a plan.

A run is recorded and replayed with each row in turn replaced: if the input of a noise call changes, the
row is in that sum.  Under the plan, given the earlier rows and all earlier steps, a row is included with
probability at most the rate q.  So for any rate r > q and any choice of cells (row, step) by what came
before, the product of r/q over cells that include the row and (1−r)/(1−q) over the others has mean at
most 1 (a nonnegative supermartingale).  So does an average of such products: it reaches 1/α with
probability at most α (Markov's inequality).
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.datasets.bases import dataset
from audits.datasets.shape import Data, Shape

ROWS_REPLACED, RUNS_REPLAYED = 64, 500
UNLIKELY = 1e-6  #: false-alarm rate for samples as planned
RATES = 8  #: number of rates r, evenly spaced above q, the last of them 1
EXPECTED = 60.0  #: inclusions of each row expected under the plan, so that half as many are significant

Cells = NDArray[np.bool_]  #: whether a row is in a sum, by row and step


def probes(shape: Shape, seed: int) -> list[list[Data]]:
    """Return a dataset and, for each of the first rows, datasets with it replaced: [[base], row 1, …]."""
    base = dataset(shape.domain(), "uniform", seed)
    names = ("low", "high", "alternating columns")
    others = [dataset(shape.domain(1), each, seed)[0] for each in names]
    datasets = [[shape.data(base)]]
    for row in range(min(shape.rows, ROWS_REPLACED)):
        datasets.append([])
        for record in others:
            changed = base.copy()
            changed[row] = record
            datasets[-1].append(shape.data(changed))
    return datasets


@dataclass(frozen=True)
class ChosenCells:
    """Cells chosen by what came before: how many they are, and how many include the row."""

    condition: str
    cells: int
    inside: int


def conditions(runs: list[Cells], *, ordered: bool) -> list[ChosenCells]:
    """Return counts by step and by cell; if `ordered` (each step has its own sample), also by history."""
    steps = max(run.shape[1] for run in runs)
    padded = [np.pad(run.astype(np.int64), ((0, 0), (0, steps - run.shape[1]))) for run in runs]
    stack = np.array(padded)
    real = np.array([[np.arange(steps) < run.shape[1]] * len(run) for run in runs])
    row, step = np.indices(stack.shape[1:])
    keys: list[tuple[str, Any]] = [("row {}", row + 1)] if ordered else []
    keys += [("step {}", step + 1), ("row {1} in step {0}", (row + 1) * 10**6 + step + 1)]
    if ordered:
        before = np.cumsum(stack, axis=1) - stack
        behind = np.cumsum(stack[:, ::-1], axis=1)[:, ::-1] - stack
        times = np.cumsum(stack, axis=2) - stack
        last = np.where(stack > 0, step + 1, 0)
        last = np.maximum.accumulate(np.pad(last, ((0, 0), (0, 0), (1, 0)))[:, :, :-1], axis=2)
        keys += [
            ("a row after {} earlier ones in the same step", before),
            ("a row before {} later ones in the same step", behind),
            ("a row that was in {} steps before", times),
            ("a row {} steps after it was in", step + 1 - last),
        ]
    shape, chosen = stack.shape, list[ChosenCells]()
    for condition, key in keys:
        chosen += _counted(condition, np.broadcast_to(key, shape)[real], stack[real])
    both = np.einsum("ajs,aks->jk", stack, stack).tolist()
    chosen += [
        ChosenCells(f"row {other + 1}, where row {one + 1} is,", both[one][one], both[one][other])
        for one in range(shape[1])
        for other in range(one + 1, shape[1])
        if ordered and both[one][one]
    ]
    earlier = stack[:, :, :-1] * real[:, :, 1:]
    cells = earlier.sum(axis=(0, 2)).tolist()
    next_in = np.einsum("ajs,aks->jk", earlier, stack[:, :, 1:]).tolist()
    chosen += [
        ChosenCells(f"row {j + 1}, one step after row {i + 1} was in,", cells[i], next_in[i][j])
        for i, j in itertools.permutations(range(shape[1]), 2)
        if ordered and cells[i]
    ]
    return chosen


def _counted(condition: str, keys: NDArray[np.int64], inside: NDArray[np.int64]) -> Iterator[ChosenCells]:
    values, places = np.unique(keys, return_inverse=True)
    cells, hits = np.bincount(places), np.bincount(places, inside)
    for value, count, hit in zip(values.tolist(), cells.tolist(), hits.tolist(), strict=True):
        yield ChosenCells(condition.format(value % 10**6, value // 10**6), count, int(hit))


def log_evidence(each: ChosenCells, rate: float) -> float:
    """Return the logarithm of the product, averaged over the rates r."""
    logs = []
    for k in range(1, RATES + 1):
        tried = rate + (1 - rate) * k / RATES
        outside = each.cells - each.inside
        if tried < 1 or not outside:
            without = outside * math.log((1 - tried) / (1 - rate)) if outside else 0.0
            logs.append(each.inside * math.log(tried / rate) + without)
    return float(np.logaddexp.reduce(logs)) - math.log(RATES)


def most_conditions(rows: int, steps: int) -> int:
    """Return the maximum number of `conditions`, over which the average is taken."""
    return (rows + 1) * (steps + 1) + rows * (3 * rows + 1) // 2 + 2 * steps


def seeds_needed(rows: int, steps: int, rate: float) -> int:
    """Return the number of runs in which an always included row is found and every row is expected enough."""
    parts = most_conditions(rows, steps)
    cells = (math.log(parts * RATES) - math.log(UNLIKELY)) / -math.log(rate)
    return math.ceil(max(cells, EXPECTED / (rate * steps)))


def compare_with_poisson(runs: list[Cells], rate: float, *, ordered: bool) -> tuple[str | None, list[str]]:
    """Return the finding against Poisson samples at this rate, if any, and notes on missing power."""
    tested = conditions(runs, ordered=ordered)
    logs = np.array([log_evidence(each, rate) for each in tested])
    parts = most_conditions(len(runs[0]), max(run.shape[1] for run in runs))
    # The sum over all conditions, not the largest: its mean is at most their number, however they depend.
    least, finding = math.log(parts) - math.log(UNLIKELY), None
    if np.logaddexp.reduce(logs) >= least:
        alone = np.flatnonzero(logs >= least)
        worst = tested[int(alone[0]) if len(alone) else int(np.argmax(logs))]  # the plainest first
        where = f"{worst.condition} is in {worst.inside} of {worst.cells} sums"
        finding = f"{where}, and the plan says a rate of {rate:g} by itself"
    notes = []
    rows, steps = runs[0].shape
    if len(runs) < seeds_needed(rows, steps, rate):
        notes.append(
            f"{len(runs)} runs cannot show whether rows are drawn one by one at a rate of {rate:g}:"
            f" {seeds_needed(rows, steps, rate)} can, so give more seconds or fewer rows"
        )
    else:
        cells = sum(run.shape[1] for run in runs)
        inside = sum(run.sum(axis=1) for run in runs)
        unseen = [str(k + 1) for k in np.flatnonzero(inside < rate * cells / 2)]
        if unseen:
            which = ", ".join(unseen)
            notes.append(f"row {which}: seen in less than half as many sums as the plan samples")
    return finding, notes
