"""Released counts made consistent: whole, none negative, and all tables add up to the same totals.

Counts of the same rows are tables of one joint table.  That is fitted to all of them, each weighted by its
noise (Hay, Rastogi, Miklau & Suciu 2010, with counts kept at 0 or more), rounded, and added up again.  This
is post-processing: it reads what was released, costs nothing, and leaves the released tables as they are.
"""

from itertools import groupby
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from dpaccount.errors import InputError
from mechanisms.noisy_statistics import NoisyStatistics
from mechanisms.statistics.statistic import CELLED, Statistic

MAX_JOINT_CELLS: Final = 4_000  #: of a joint table
OUTSIDE: Final = None  #: the label of rows in none of a column's cells
Rows = list[dict[str, Any]]
Axes = dict[tuple[str, tuple[Any, ...]], list[str | None]]


def consistent(study: NoisyStatistics, tables: dict[str, Rows]) -> dict[str, Rows]:
    """Return the counts and histograms of a study that are listed in full, each with a consistent estimate.

    `tables` has the released rows of every statistic.  Raises `InputError` for too large a joint table.
    """
    counted = [what for what in study.statistics if what.what in ("count", "histogram") and not what.unlisted]
    adjusted: dict[str, Rows] = {}
    for _, group in groupby(sorted(counted, key=_rows_of), key=_rows_of):
        adjusted |= _fitted(study, list(group), tables)
    return {what.name: adjusted[what.name] for what in counted}


def _rows_of(what: Statistic) -> str:
    return what.where.strip()


def _axes_of(what: Statistic) -> Axes:
    """Return the labels of every column by which rows are counted, and of those in none of its cells."""
    axes: Axes = {}
    for column, cells in zip(what.by, what.group_cells, strict=True):
        axes[column.name, ()] = [*cells.labels, *([OUTSIDE] if column.bounds[0] < 0 or column.gaps else [])]
    if what.what in CELLED and what.column is not None:
        outside = bool(what.bins) or what.column.bounds[0] < 0 or what.column.gaps
        axes[what.column.name, what.bins] = [*what.cell_labels, *([OUTSIDE] if outside else [])]
    return axes


def _fitted(study: NoisyStatistics, group: list[Statistic], tables: dict[str, Rows]) -> dict[str, Rows]:
    axes: Axes = {key: labels for what in group for key, labels in _axes_of(what).items()}
    shape = tuple(len(labels) for labels in axes.values())
    if (size := int(np.prod(shape, dtype=np.int64))) > MAX_JOINT_CELLS:
        names = ", ".join(name for name, _ in axes)
        raise InputError(
            f"the joint table of {names} has {size} cells",
            f"at most {MAX_JOINT_CELLS}: use fewer columns",
        )
    places = np.indices(shape).reshape(len(shape), size)
    scales = {draw.key: float(scale) for draw, scale in zip(study.draws, study.scales, strict=True)}
    sums, targets, at = [], [], {}
    for what in group:
        cells = _cells(what, axes, places)
        weight = 1 / scales[f"{what.name}/count"]
        inside = np.arange(len(tables[what.name]))[:, None] == cells
        sums.append(inside * weight)
        targets.append(np.array([row["estimate"] for row in tables[what.name]]) * weight)
        at[what.name] = inside
    # Non-negative least squares: a plain fit gives negative cells, which no table of rows has.
    joint = _rounded(nnls(np.vstack(sums), np.concatenate(targets))[0])
    return {
        name: [
            {key: value for key, value in row.items() if key not in ("low", "high")}
            | {"estimate": int(count)}
            for row, count in zip(tables[name], inside @ joint, strict=True)
        ]
        for name, inside in at.items()
    }


def _cells(what: Statistic, axes: Axes, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cell of a statistic that each cell of the joint table counts in, −1 for none."""
    cells, there = np.zeros(places.shape[1], dtype=np.int64), np.ones(places.shape[1], dtype=bool)
    order = list(axes)
    for key, labels in _axes_of(what).items():
        listed = len(labels) - (labels[-1] is OUTSIDE)
        place = places[order.index(key)]
        there &= place < listed
        cells = cells * listed + np.minimum(place, listed - 1)
    return np.where(there, cells, -1)


def _rounded(joint: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole numbers whose sum is that of the given ones, rounded: largest remainders go up."""
    rounded = np.floor(joint).astype(np.int64)
    more = round(float(joint.sum())) - int(rounded.sum())
    up = np.argsort(rounded - joint, kind="stable")[:more]
    rounded[up] += 1
    return rounded
