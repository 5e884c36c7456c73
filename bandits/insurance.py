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


def rewards(data: NDArray[np.float64], kind: str) -> NDArray[np.int64]:
    """Return each person's reward in {0, 1} under the plan they were logged on.

    ``seen``: saw a doctor.  ``under-60``: saw a doctor, and neither the plan nor the family paid more
    than $60 in the year.
    """
    plan, visits, spending = data[:, 0].astype(np.int64), data[:, 1], data[:, 2]
    share = np.append(SHARES, 0.0)[plan]
    good = visits >= 1
    if kind == "under-60":
        good = good & ((1 - share) * spending <= 60) & (share * spending <= 60)
    return good.astype(np.int64)


def read(path: Path, slots: int) -> NDArray[np.float64]:
    """Return rows (plan code, visits, spending) of a trial file of exactly `slots` people.

    Raises `InputError` naming the line for a missing column, an unknown plan, a number that is not
    finite or outside its declared range, a truncated row, or another number of people.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            wanted = ("plan", "md_visits", "spending_usd")
            missing = [name for name in wanted if name not in (reader.fieldnames or ())]
            if missing:
                raise InputError(f"{path}: no column {', '.join(missing)}; needed: {', '.join(wanted)}")
            rows = [_row(record, f"{path}: line {reader.line_num}") for record in reader]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'unreadable'}; give a readable data file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except csv.Error as error:
        raise InputError(f"{path}: {error}; give a CSV file") from None
    if len(rows) != slots:
        raise InputError(f"{path}: {len(rows)} people; the public number of slots is {slots}")
    return np.array(rows)


def _row(record: dict[str | None, str | None], where: str) -> tuple[float, float, float]:
    if None in record or None in record.values():
        raise InputError(f"{where}: wrong number of fields; give one for every column of the header")
    plan = str(record["plan"])
    if plan not in CODES:
        raise InputError(f"{where}: unknown plan {plan[:40]!r}; known: {', '.join(CODES)}")
    visits = _number(str(record["md_visits"]), "md_visits", MAX_VISITS, where)
    if visits != math.floor(visits):
        raise InputError(f"{where}: md_visits is {visits}; a count of visits is whole")
    return CODES[plan], visits, _number(str(record["spending_usd"]), "spending_usd", MAX_SPENDING, where)


def _number(text: str, name: str, most: float, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(
            f"{where}: {name} is {text[:40]!r}; a number in [0, {most:g}] belongs here"
        ) from None
    if not 0 <= value <= most:  # NaN fails too
        raise InputError(f"{where}: {name} is {text[:40]!r}; it must lie in [0, {most:g}]")
    return value
