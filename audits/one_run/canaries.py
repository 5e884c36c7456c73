"""Reads the canaries of one run: a CSV file with the columns `included` (0 or 1) and `score`."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audits.samples.reading import file_bytes, numbers_of, read_csv
from dpaccount.documents import sha256
from dpaccount.errors import InputError
from dpaccount.noise.samplers import Floats

COINS = (
    "the run was made elsewhere: the bound holds if every canary was included by a fair coin of its own,"
    " and the scores follow from what the run released"
)
REVERSED = (
    "the scores seem reversed: higher ones should mean included, and included canaries have lower ones;"
    " with such scores this audit shows nothing"
)
REPLACED = (
    "the plan is under replace-one, which says nothing of a record that is left out: the bound holds if other"
    " records took the places of the canaries that were not included"
)


@dataclass(frozen=True)
class Canaries:
    """Coins and scores, and the digest of the file."""

    included: NDArray[np.bool_]
    scores: Floats
    digest: str


def read_canaries(path: Path) -> Canaries:
    """Return the canaries of a file; raises `InputError` for cells that are missing, NaN, or no coin."""
    raw = file_bytes(path)
    table = read_csv(path, raw, named=True)
    right = "give one line a canary, with the columns included (0 or 1) and score"
    for name in ("included", "score"):
        if name not in table.columns:
            raise InputError(f"there is no column {name!r}", right, path)
    coins, scores = (table.cells[table.columns.index(name)] for name in ("included", "score"))
    if not len(coins):
        raise InputError("there are no canaries", right, path)
    values = numbers_of(scores)
    if values is None:
        raise InputError("a score is no number", right, path)
    for place, coin in enumerate(coins, 1):
        if coin.strip() not in ("0", "1"):
            raise InputError(f"canary {place} has no coin: included is {coin[:40]!r}", right, path)
    return Canaries(np.array([coin.strip() == "1" for coin in coins]), values, sha256(raw))
