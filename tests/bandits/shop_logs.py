"""The examples' claims and made-up shop logs, for tests of both analyses of a log."""

from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from dpaccount.documents import parse_toml
from dpaccount.proof import REPLACE_ONE
from mechanisms.table.bind_columns import Promise
from mechanisms.table.columns import read_table
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


SEGMENTS = np.array([[0.10, 0.14, 0.11], [0.14, 0.10, 0.11]])  #: conversions by segment and variant
SEGMENT_CLAIM = """
[data]
file = "sessions.csv"
ledger = "sqlite:///shop.db"
rows = 20000
[data.columns]
returning = { type = "boolean" }
variant = { type = "category", values = ["plain", "photos", "reviews"] }
converted = { type = "boolean" }
[subject]
use = "logged-policy"
[subject.parameters]
arm = "variant"
logging = "uniform"
reward = "converted"
context = "returning"
"""


def segment_log(made_by, seed):
    """Return the subject of that claim and a log where every segment has a best variant of its own."""
    place = parse_toml(SEGMENT_CLAIM, "segments.toml")
    table, promise = read_table(place.child("data")), Promise(REPLACE_ONE, Fraction(1), DELTA)
    subject, _ = made_by.on_table(table, place.child("subject").child("parameters"), promise)
    rng = np.random.default_rng([31, seed])
    segment, arm = rng.integers(0, 2, ROWS), rng.integers(0, 3, ROWS)
    converted = rng.random(ROWS) < SEGMENTS[segment, arm]
    return subject, np.column_stack([segment, arm, np.ones(ROWS), converted]).astype(np.float64)


CUT = [  #: of the insurance example's claim: contexts of six intervals
    ("md_visits = {", "age_years = { type = 'number', low = 0, high = 120 }\nmd_visits = {"),
    ("spending_usd = {", "income_usd = { type = 'number', low = 0, high = 100000 }\nspending_usd = {"),
    (
        'arm = "plan"',
        'arm = "plan"\ncontext = ["age_years", "income_usd"]\ncuts = { age_years = [18, 40], income_usd = [7000] }',
    ),
]


def insurance(made_by, reward=None, changes=()):
    """Return the insurance example's subject and rows; `reward` in place of the claim's."""
    changes = [*changes, *([] if reward is None else [('reward = "', f'reward = "{reward}" # ')])]
    subject, table, reading = on_table(made_by, "plan_finder/claim.toml", changes)
    file = EXAMPLES / "plan_finder" / "insurance_trial.csv"
    return subject, read_rows(file, table, reading, REPLACE_ONE)
