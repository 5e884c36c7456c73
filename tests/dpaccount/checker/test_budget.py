"""What a certificate notes of its ledger's budget: there or not there, and of one shape."""

from tests.documents import wrong
from tests.dpaccount.checker.made import HONEST, ON_DATA, accepted, edited
from tests.looped import looped

ENDS = {"lower": 2.0, "upper": 2.0}
BUDGET = {
    **{"epsilon": "5", "delta": "1/5", "relation": "replace-one", "unit": "a row", "measure": "approximate"},
    **{"before": {"lower": 0.0, "upper": 0.0}, "after": ENDS, "rest": {"lower": 3.0, "upper": 3.0}},
}


def noting(budget):
    return edited(edited(HONEST, *ON_DATA), (("release", "budget"), budget))


def test_a_certificate_is_read_with_a_budget_and_without():
    assert accepted(edited(HONEST, *ON_DATA))  # as earlier versions wrote it
    assert accepted(noting(BUDGET))
    assert not wrong("certificate", noting(BUDGET))


@looped(
    "change",
    [
        {"epsilon": "much"}, {"epsilon": -1}, {"relation": "friends"}, {"unit": 1}, {"measure": None}, {"note": 1},
        {"before": None}, {"after": {"lower": 0}}, {"after": {"lower": 0, "upper": -1}}, {"rest": {**ENDS, "x": 1}},
        {"after": 1}, {"delta": None},
    ],
)  # fmt: skip
def test_a_damaged_budget_is_refused(change):
    assert not accepted(noting({**BUDGET, **change}))
    by_schema = wrong("certificate", noting({**BUDGET, **change}))
    assert by_schema or change in ({"epsilon": "much"}, {"epsilon": -1}, {"after": {"lower": 0, "upper": -1}})


@looped("measure", ["gdp", "zcdp", "approximate-zcdp", "either"])
def test_a_measure_that_adds_up_no_epsilon_may_have_paid(measure):
    """It charges what was converted to the (ε, δ) that is proved; its sums are not those of ε."""
    assert accepted(noting({**BUDGET, "measure": measure, "after": {"lower": None, "upper": 1.5}}))
    assert not accepted(noting({**BUDGET, "measure": measure, "after": {"lower": 0, "upper": 0}}))
    assert not accepted(noting({**BUDGET, "measure": measure, "delta": "0"}))


@looped(
    "change",
    [
        {"measure": "pure"}, {"measure": "mine"}, {"delta": "0"}, {"delta": "1"},
        {"relation": "add-remove"}, {"relation": "bounded-row, radius 1"}, {"after": {"lower": 0.5, "upper": 0.25}},
        {"rest": {"lower": "1e300", "upper": 1}},
    ],
)  # fmt: skip
def test_a_budget_that_contradicts_the_claim_or_itself_is_refused(change):
    assert accepted(noting(BUDGET))
    assert not accepted(noting({**BUDGET, **change}))


@looped("name", BUDGET)
def test_a_budget_that_lacks_a_member_is_refused(name):
    less = {key: value for key, value in BUDGET.items() if key != name}
    assert not accepted(noting(less))
    assert wrong("certificate", noting(less))
