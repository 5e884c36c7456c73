"""The insurance trial as a replay environment: plans, rewards, and the file's rows.

Replay of logged randomised data (Li, Chu, Langford & Wang 2011) in which every person keeps a public
slot: a person's logged plan and the slot's own coin give the pair of plans offered there, and the
record counts only if the policy recommends the logged plan.
"""

import csv
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError

PLANS = ("free", "coins25", "coins50", "coins95")
SHARES = np.array([0.0, 0.25, 0.5, 0.95])  #: what the family pays of each bill
DEDUCTIBLE = 4  #: logged under a plan whose share is not a number: keeps its slot, with a zero record
CODES = {name: index for index, name in enumerate((*PLANS, "deductible"))}

#: Declared probabilities of the four logged plans, and of each offered pair: public constants, not
#: counted from the file (a count would let one person move everybody's coins).
LOGGED = np.array([0.451, 0.270, 0.090, 0.189])
PAIRS = {(0, 1): 0.458, (0, 2): 0.138, (0, 3): 0.306, (1, 2): 0.026, (1, 3): 0.056, (2, 3): 0.016}
ON_PLANS = 0.7364  #: declared share of people logged on one of the four plans
MAX_VISITS = 1000
MAX_SPENDING = 10_000_000.0

COLUMNS = ("plan", "md_visits", "spending_usd")  #: of the file, and of a row in this order
REWARDS = ("under-60", "seen")


def _pair_matrix() -> NDArray[np.float64]:
    matrix = np.zeros((len(PLANS), len(PLANS)))
    for (first, second), probability in PAIRS.items():
        matrix[first, second] = matrix[second, first] = probability
    return matrix


#: symmetric, zero on the diagonal
PAIR_MATRIX = _pair_matrix()
#: cumulative P(other plan | logged plan) = P{a, o}/(2p_a), one row per logged plan.  Given the pair,
#: each of its plans was the logged one with probability ½, so keeping a record if its plan was
#: recommended is unbiased.
PARTNERS = np.cumsum(PAIR_MATRIX / PAIR_MATRIX.sum(axis=1, keepdims=True), axis=1)
PARTNERS[:, -1] = 1.0


def column(data: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Return one of the `COLUMNS` of rows."""
    return data[:, COLUMNS.index(name)]


def rewards(data: NDArray[np.float64], kind: str) -> NDArray[np.int64]:
    """Return each person's reward in {0, 1} under the plan they were logged on.

    ``seen``: saw a doctor.  ``under-60``: saw a doctor, and neither the plan nor the family paid more
    than $60 in the year.
    """
    plan, visits, spending = (column(data, name) for name in COLUMNS)
    share = np.append(SHARES, 0.0)[plan.astype(np.int64)]
    good = visits >= 1
    if kind == "under-60":
        good = good & ((1 - share) * spending <= 60) & (share * spending <= 60)
    return good.astype(np.int64)


def read(path: Path, slots: int) -> NDArray[np.float64]:
    """Return rows (plan code, visits, spending) of a trial file of exactly `slots` people, a line each.

    Raises `InputError` for what is public: no readable file, a missing column, another number of people.
    Nothing else is refused, since that would tell: a cell that is missing or no number is NaN, an unknown
    plan too, and a line never changes another's row.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'unreadable'}; give a readable data file") from None
    header, *lines = text.removesuffix("\n").split("\n")
    names = _cells(header)
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise InputError(f"{path}: no column {', '.join(missing)}; needed: {', '.join(COLUMNS)}")
    if len(lines) != slots:
        raise InputError(f"{path}: {len(lines)} people; the public number of slots is {slots}")
    return np.array([_row(names, _cells(line)) for line in lines])


def _cells(line: str) -> list[str]:
    """Return a line's cells; none where it cannot be taken apart."""
    try:
        return next(csv.reader([line.removesuffix("\r")]), [])
    except csv.Error:
        return []


def _row(names: list[str], cells: list[str]) -> tuple[float, float, float]:
    record = dict(zip(names, cells, strict=False))
    plan, visits, spending = (record.get(name, "") for name in COLUMNS)
    return float(CODES.get(plan, math.nan)), _number(visits), _number(spending)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
