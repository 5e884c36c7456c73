"""The same requests make the same chain: where time and salt stand still, heads are these, in every version.

A head that changes here is another format: ledgers that were written before would not be written so again.
Only the words of a refusal may change, which its entry holds.
"""

from contextlib import suppress
from fractions import Fraction
from itertools import count

import pytest

from dpaccount.errors import BudgetError
from dpaccount.ledger.journal import entries
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise import process
from dpaccount.plan.events import Gaussian, Plan, Pure, Relation
from tests.depth import deep

DELTA = {"pure": 0, "approximate": "1e-6", "gdp": "1e-6", "zcdp": "1e-6", "either": "1e-6"}
HEADS = {
    "pure": "sha256:9ebd5906ff1124b6f9f03cb452f99efc4177375e73c9f2233f5e0ac6f3cb7c05",
    "approximate": "sha256:d8a9304eef00f6e004d0e4401ced0f5442d8cb514ffb726d28e91b5d4a80dab0",
    "gdp": "sha256:269366036fdde107ae9f18de99efece0d519de63347fbbb59866e93cfeb97118",
    "zcdp": "sha256:672928ab49a2216b0edb338bb2fcd9b7e70f0855e5df341d3fd022beb41442cb",
    "either": "sha256:9b49a71a04d69b97029a8750fb27257589158f053fbea5b5416d8cf7b4a58bb3",
    "many": "sha256:f0d6d52b76362750508ef6495e6205dec0194e176f3796ea3205adf5ce9fa228",
    "one by one": "sha256:fde1ae75b2bb836fac4b62b38222ae83c857bf84cda5706e92f638c554034bb4",
    "team": "sha256:0e81f9cb264aa3b53b9287f3b3962d7df2fa9efe767b516f984e7625910d5634",
}


@pytest.fixture
def still(monkeypatch):
    """Let every entry be made at one moment, with a salt that is its number among those made."""
    numbers = count()
    monkeypatch.setattr(process, "name", lambda: "a process")
    monkeypatch.setattr(entries, "token_hex", lambda size: f"{next(numbers):0{2 * size}x}")
    monkeypatch.setattr(entries, "now", lambda: "2026-02-03T04:05:06+00:00")


def plans(measure: str) -> list[Plan]:
    """Return plans, whose amounts are exact, over everybody, single units, and ranges near and far."""
    pure, gaussian = measure in ("pure", "approximate", "zcdp"), measure not in ("pure", "approximate")
    listed = []
    for turn in range(60):
        first = turn * 7919 % 1000 + 1
        cover = [None, (first, first), (first, first + turn * 37), (1, 8), (first * 10**6, 2**40)][turn % 5]
        events = [Pure(epsilon=Fraction(turn % 7 + 1, 300), cover=cover)] if pure else []
        if gaussian and (turn % 3 or not pure):
            events.append(Gaussian(sigma=20 + turn % 9, cover=(first, first + 3) if pure else cover))
        listed.append(Plan(Relation.REPLACE_ONE, tuple(events)))
    return listed


@deep
@pytest.mark.parametrize("measure", DELTA)
def test_the_same_charges_make_the_same_head(url, still, measure):
    limit = Fraction(1, 5) if measure == "pure" else 10
    init(url, epsilon=limit, delta=DELTA[measure], unit="person", relation="replace-one", measure=measure)
    keys = [f"key {turn}" if turn % 4 == 0 else None for turn in range(60)]
    asked = [(plan, "part", key) for plan, key in zip(plans(measure), keys, strict=True)]
    with Ledger.open(url) as ledger:
        ledger.charge_many(asked[:30])
        for plan, purpose, key in asked[30:]:
            with suppress(BudgetError):
                ledger.charge_plan(plan, purpose, key)
        assert bool(ledger.show()["refused"]) == (measure == "pure")
        assert ledger.show()["head"] == HEADS[measure]
    assert verify(url) == {"valid": True, "first_bad": None}


@deep
@pytest.mark.parametrize("many", [True, False])
def test_many_at_once_and_one_by_one(url, still, many):
    init(url, epsilon=Fraction(1, 5), delta=0, unit="person", relation="replace-one", measure="pure")
    with Ledger.open(url) as ledger:
        if many:
            ledger.charge_many([(plan, "part", None) for plan in plans("pure")])
        for plan in () if many else plans("pure"):
            with suppress(BudgetError):
                ledger.charge_plan(plan, "part")
        assert ledger.show()["head"] == HEADS["many" if many else "one by one"]


def test_what_a_team_arranges_makes_the_same_head(url, still):
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    day = Plan(Relation.REPLACE_ONE, (Pure(epsilon=Fraction(1, 50)),))
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", Fraction(1, 2))
        ledger.set_scope("team/ada", Fraction(1, 5))
        ledger.name_cohort("adults", [(1, 500), (801, 900)])
        ledger.charge_plan(day, "count", scope="team/ada", cohort="adults", by="ada")
        ledger.reserve_plan(day, "month", "may", rounds=10, scope="team")
        ledger.draw_parts("may", count=3)
        ledger.return_parts("may", [(8, 10)])
        ledger.charge_many([(plan, "part", None) for plan in plans("pure")[:12]])
        ledger.reset("new data")
        ledger.draw_parts("may")
        ledger.charge_plan(day, "count", scope="team/ada")
        ledger.set_scope("team", 1)
        assert ledger.show()["head"] == HEADS["team"]
    assert verify(url) == {"valid": True, "first_bad": None}
