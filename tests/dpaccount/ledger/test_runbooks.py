"""What teams do over weeks: devices with a budget a week, a clean room of analysts, a leaver, a lost key."""

import os
from datetime import date, timedelta
from fractions import Fraction

import pytest

from audits.reports.log import log
from dpaccount.errors import BudgetError
from dpaccount.ledger.journal import entries
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.requests import RefusedError
from dpaccount.plan.events import Gaussian, Plan, Relation
from tests.audits.certificate.test_sign import keys

from .conftest import VALID, plan, recounted
from .test_rights import twice

TERMS = {"unit": "person", "relation": "replace-one"}
DAILY = 10**6  #: devices that join on a day


def gaussian(cover):
    return Plan(Relation.REPLACE_ONE, (Gaussian(sigma=20, cover=cover),))


def test_a_million_devices_join_each_day_and_each_has_a_budget_a_week(tmp_path, monkeypatch, depth):
    """A charge of the newcomers, one of everybody so far, and some of single ones, each day; two weeks and more."""
    file, day = tmp_path / "devices.db", date(2026, 11, 2)
    url, (days, singles) = f"sqlite:///{file}", (90, 100) if depth.whole else (15, 10)
    monkeypatch.setattr(entries, "now", lambda: f"{day}T12:00:00+00:00")
    init(url, **TERMS, epsilon=100, delta=Fraction("1e-6"), measure="gdp")
    with Ledger.open(url) as ledger:
        ledger.set_scope("week", 1, every="week")
        for number in range(1, days + 1):
            joined = number * DAILY
            ledger.name_cohort("so-far", [(1, joined)], grows=True)
            ledger.charge_plan(gaussian((joined - DAILY + 1, joined)), "newcomers", scope="week")
            ledger.charge_plan(gaussian(None), "all", scope="week", cohort="so-far")
            for place in range(singles):
                one = 1 + place * 7919 % joined
                ledger.charge_plan(gaussian((one, one)), "one", scope="week")
            day += timedelta(days=1)
        day -= timedelta(days=1)
        shown = ledger.show()
        [week] = shown["scopes"]
        assert week["spent"]["epsilon"]["upper"] <= 1
        assert shown["life"]["epsilon"]["upper"] > 1  # of the first, who were charged in every week
        assert ledger.verify() == VALID
        often = Plan(Relation.REPLACE_ONE, (Gaussian(sigma=20, cover=(1, 1), count=40),))
        with pytest.raises(RefusedError, match="a week of the scope week"):
            ledger.charge_plan(often, "too often", scope="week")
    assert os.path.getsize(file) < 10**9 / 4  # noqa: PTH202 - the whole file, of which the balances are a part


def test_a_clean_room_of_three_analysts_and_two_tables(tmp_path):
    """Each table has its ledger; each analyst a scope of each, asks, and sees the others' charges as a sum only."""
    urls = [f"sqlite:///{tmp_path}/{table}.db" for table in ("visits", "sales")]
    for url in urls:
        init(url, **TERMS, epsilon=3, delta=0, measure="pure", life_epsilon=5)
        with Ledger.open(url) as ledger:
            ledger.set_scope("room", 3)
            for person in ("ada", "bo", "cy"):
                ledger.set_scope(f"room/{person}", Fraction(3, 2), every="month")
            ledger.grant("owner", ["arrange"], by="owner")
            ledger.grant("steward", ["approve"], scope="room", by="owner")
            for person in ("ada", "bo", "cy"):
                ledger.grant(person, ["request"], scope=f"room/{person}", by="owner")
            ledger.grant("steward", ["arrange"], by="owner")
    for url in urls:
        with Ledger.open(url) as ledger:
            for person in ("ada", "bo", "cy"):

                def ask(size, person=person, ledger=ledger):
                    return ledger.charge_plan(plan(size), "a table", by=person, scope=f"room/{person}")

                with pytest.raises(RefusedError, match="asks for it") as asked:
                    ask("1")
                ledger.approve(asked.value.charge.entry, "steward")
                assert ask("1").entry is not None
                with pytest.raises(RefusedError, match=f"of the scope room/{person}|the budget's"):
                    ask("3/4")
            with pytest.raises(RefusedError, match="ada may not charge the scope room/bo"):
                ledger.charge_plan(plan("1/10"), "x", by="ada", scope="room/bo")
            ledger.grant("bo", [], scope="*", by="steward")  # a leaver
            with pytest.raises(RefusedError, match="bo may not charge"):
                ledger.charge_plan(plan("1/10"), "x", by="bo", scope="room/bo")
            with pytest.raises(BudgetError):
                ledger.reset("more", by="bo")
            approve = lambda number, ledger=ledger: ledger.approve(number, "steward")  # noqa: E731
            assert (
                twice("owner", approve, lambda who, one=ledger: one.reset("a quarter", by=who)).kind
                == "reset"
            )
            with pytest.raises(RefusedError, match="asks for it") as asked:
                ledger.charge_plan(plan("3/2"), "x", by="ada", scope="room/ada")
            ledger.approve(asked.value.charge.entry, "steward")
            ledger.charge_plan(plan("3/2"), "x", by="ada", scope="room/ada")
            with pytest.raises(RefusedError, match="no reset lifts"):
                ledger.charge_plan(plan("3/4"), "x", by="cy", scope="room/cy")
            assert ledger.verify() == VALID
        assert recounted(url)


def test_a_lost_key(tmp_path, dpaccount):
    """Of a charge: the log has it.  Of checkpoints: a new pair signs the next one, and the old notes stay good."""
    url = f"sqlite:///{tmp_path}/clinic.db"
    init(url, **TERMS, epsilon=1, delta=0, measure="pure")
    with Ledger.open(url) as ledger:
        for number in range(3):
            ledger.charge_plan(plan("1/10"), f"week {number}", f"w-{number}", by="ada")
        (key,) = [line["key"] for line in log(url) if line["purpose"] == "week 1"]
        again = ledger.charge_plan(plan("1/10"), "week 1", key, by="ada")
        assert (again.entry, again.known, ledger.show()["entries"]) == (2, True, 3)
    (old, its), (new, other) = keys(tmp_path, "old"), keys(tmp_path, "new")
    notes = [tmp_path / "old.json", tmp_path / "new.json"]
    for note, private in zip(notes, (old, new), strict=True):
        code, out, _ = dpaccount("ledger", "checkpoint", url, "--key", str(private))
        assert code == 0
        note.write_text(out)
    verify = ("ledger", "verify", url, "--checkpoint")
    for note, public, code in (
        (notes[0], its, 0),
        (notes[1], other, 0),
        (notes[0], other, 1),
        (notes[1], its, 1),
    ):
        assert (dpaccount(*verify, str(note), "--key", str(public))[0] == 0) == (code == 0)
