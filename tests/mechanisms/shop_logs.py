"""The examples' claims and made-up shop logs, for tests of both analyses of a log."""

from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from dpaccount.documents import parse_toml
from dpaccount.proof import REPLACE_ONE
from mechanisms.table.binding import Promise
from mechanisms.table.declaration import read_table
from mechanisms.table.rows import read_rows

EXAMPLES = Path(__file__).parents[2] / "examples"
DELTA = Fraction(1, 10**6)
ROWS = 20_000
EVEN, UNEVEN = (0.25, 0.25, 0.25, 0.25), (0.2, 0.2, 0.2, 0.4)
CONVERSIONS = {"plain": 0.10, "photos": 0.11, "reviews": 0.12, "bundle": 0.15}


def on_table(made_by, claim, changes=()):
    """Return the subject of an example's claim at (1, 1e-6), its table and how it reads it."""
    text = (EXAMPLES / claim).read_text()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    place = parse_toml(text, claim)
    table = read_table(place.child("data"))
    promise = Promise(REPLACE_ONE, Fraction(1), DELTA)
    subject, reading = made_by.on_table(table, place.child("subject").child("parameters"), promise)
    return subject, table, reading


def declaring(shares):
    """Return the change of a shop's claim that declares these shares."""
    return [('logging = "uniform"', f"logging = {[round(float(share), 6) for share in shares]}")]


@cache
def shop_rows(seed, shares=EVEN):
    """Return the codes of a log's variants and conversions."""
    rng = np.random.default_rng([9, seed])
    arm = rng.choice(4, ROWS, p=shares)
    converted = rng.random(ROWS) < np.array(list(CONVERSIONS.values()))[arm]
    return np.column_stack([arm, converted]).astype(np.float64)


def insurance(made_by, reward=None):
    """Return the insurance example's subject and rows; `reward` in place of the claim's."""
    changes = [] if reward is None else [('reward = "', f'reward = "{reward}" # ')]
    subject, table, reading = on_table(made_by, "plan_finder/claim.toml", changes)
    file = EXAMPLES / "plan_finder" / "insurance_trial.csv"
    return subject, read_rows(file, table, reading, REPLACE_ONE)
