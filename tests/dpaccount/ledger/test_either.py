"""Ledgers in `either` measure: three filters from the beginning, each with its δ; a charge needs one that fits."""

from fractions import Fraction
from pathlib import Path

import pytest

from dpaccount.errors import InputError
from dpaccount.ledger import answers
from dpaccount.ledger.journal import export
from dpaccount.ledger.journal.log import log
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import init
from dpaccount.ledger.requests import RefusedError
from dpaccount.plan.events import Gaussian, Plan, Pure, RandomizedResponse, Relation, Zcdp

from .conftest import VALID
from .recount import recount

MILLIONTH = Fraction(1, 10**6)


def plan(*events):
    return Plan(Relation.REPLACE_ONE, events)


def test_units_may_end_under_different_measures(make, url):
    """The largest amounts of all units together fit in no measure, and every unit fits in one."""
    ledger = make(1, MILLIONTH, "either")
    ledger.charge_plan(plan(Gaussian(sigma=5, cover=(1, 5))), "gdp alone")
    ledger.charge_plan(plan(Pure(epsilon=1, cover=(10, 12))), "pure alone")
    ledger.charge_plan(plan(Zcdp(rho=Fraction(1, 60), cover=(13, 40))), "zcdp alone")
    head = ledger.show()["head"]
    ledger.charge_plan(plan(RandomizedResponse(epsilon="1/10", k=3, cover=(100, 100))), "another unit")
    with pytest.raises(RefusedError, match="unit 11 "):
        ledger.charge_plan(plan(Pure(epsilon="1/1000", cover=(11, 500))), "one more")
    with pytest.raises(RefusedError, match="unit 3 "):
        ledger.charge_plan(plan(Gaussian(sigma=8, cover=(3, 3))), "one more")
    assert ledger.verify() == VALID
    assert verify(url, since=head) == VALID
    file = Path(url.removeprefix("sqlite:///"))
    counted = recount(file)
    assert (counted["counts"]["charge"], counted["counts"]["refusal"]) == (4, 2)
    lines = file.with_suffix(".jsonl")
    lines.write_bytes(b"".join(export.lines(url)))
    export.imported(lines, f"sqlite:///{file.with_suffix('.copy.db')}")


def test_a_measure_that_was_exceeded_stays_so(make):
    """ρ without a μ ends gdp for good: what is left is decided by zCDP, and pure is long gone."""
    ledger = make(1, MILLIONTH, "either")
    ledger.charge_plan(plan(Zcdp(rho=Fraction(1, 1000))), "no bound in gdp or pure")
    spent = ledger.show()["spent"]
    assert (spent["mu_squared"], spent["rho"], spent["pure"]) == (1e9, 0.001, 1e9)
    room = ledger.show()["remaining"]
    assert (room["mu_squared"], room["pure"]) == (0, 0)
    assert 0.02 < room["rho"] < 0.03
    with pytest.raises(RefusedError):
        ledger.charge_plan(plan(Pure(epsilon="1/3")), "fits pure or gdp alone")
    ledger.charge_plan(plan(Pure(epsilon="1/5")), "fits zcdp")


def test_it_is_shown(make, url):
    ledger = make(1, MILLIONTH, "either")
    ledger.charge_plan(plan(Gaussian(sigma=20)), "one")
    shown = answers.show(url)
    assert shown["budget"]["measure"] == "either"
    assert "μ², ρ and ε each add up" in shown["explained"]
    assert 0 < shown["spent"]["epsilon"]["upper"] < 1
    assert 0 < shown["remaining"]["epsilon"]["upper"] < 1
    assert shown["worst_unit"] is None
    [_, line] = log(url)
    assert line["spends"] == {"mu_squared": 0.0025, "rho": 0.00125, "pure": 1e9}


@pytest.mark.parametrize("wrong", [{"epsilon": 10**7}, {"delta": 0}])
def test_budgets_without_sense_are_refused(url, wrong):
    given = {"epsilon": 1, "delta": MILLIONTH, "unit": "person", "relation": "replace-one", **wrong}
    with pytest.raises(InputError, match=r"either|delta 0"):
        init(url, **given, measure="either")
