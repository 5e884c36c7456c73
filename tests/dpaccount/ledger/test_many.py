"""Many charges in one commit: each decided as if it were charged alone, after the ones before it."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaccount.errors import BudgetError, InputError, LedgerError
from dpaccount.ledger.ledger import Ledger, init, verify
from dpaccount.plan.events import Gaussian, Plan, Pure, Relation

VALID = {"valid": True, "first_bad": None}
BUDGET = {"epsilon": 1, "delta": 0, "unit": "person", "relation": "replace-one", "measure": "pure"}
covers = st.sampled_from([None, (1, 5), (6, 9), (3, 7), (1, 9), (5, 5)])
asked = st.lists(
    st.tuples(covers, st.sampled_from(["1/10", "1/4", "1/2"]), st.sampled_from([None, "a", "b"])), max_size=8
)


def plan(size, cover=None) -> Plan:
    return Plan(Relation.REPLACE_ONE, (Pure(epsilon=Fraction(size), cover=cover),))


def one_by_one(ledger: Ledger, requests: list) -> list:
    found = []
    for wanted, purpose, key in requests:
        try:
            charge = ledger.charge_plan(wanted, purpose, key)
            found.append((charge.entry, charge.known, None))
        except BudgetError as refused:
            found.append((refused.charge.entry, False, refused.charge.reason))
        except LedgerError as error:
            found.append((None, False, str(error)))
    return found


@settings(max_examples=15)
@given(batches=st.lists(asked, min_size=1, max_size=3))
def test_many_at_once_are_many_one_after_another(tmp_path_factory, batches):
    folder = tmp_path_factory.mktemp("many")
    urls = [f"sqlite:///{folder}/{name}.db" for name in ("one", "many")]
    for url in urls:
        init(url, **BUDGET)
    with Ledger.open(urls[0]) as alone, Ledger.open(urls[1]) as ledger:
        for batch in batches:
            requests = [(plan(size, cover), "part", key) for cover, size, key in batch]
            many = ledger.charge_many(requests)
            assert [(one.entry, one.known, one.reason) for one in many] == one_by_one(alone, requests)
            assert {**ledger.show(), "head": ""} == {**alone.show(), "head": ""}
    assert verify(urls[1]) == VALID


def test_one_head_stands_on_the_next(url):
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        many = ledger.charge_many([(plan("1/10"), "part", None)] * 12)
        assert [one.entry for one in many] == list(range(1, 13))
        assert len({one.head for one in many}) == 12
        assert [one.reason is None for one in many] == [True] * 10 + [False] * 2
        assert ledger.show()["head"] == many[-1].head
        assert ledger.charge_many([]) == []


def test_a_wrong_one_charges_none(url):
    """What cannot be asked at all is the caller's error, before anything is decided."""
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        good = (plan("1/10"), "part", None)
        other = Plan(Relation.ADD_REMOVE, (Gaussian(sigma=1),))
        for wrong in ((other, "part", None), (plan("1/10"), "", None), (plan("1/10"), "part", "\n")):
            with pytest.raises(InputError):
                ledger.charge_many([good, wrong])
        with pytest.raises(InputError, match="at most 1000"):
            ledger.charge_many([good] * 1001)
        assert ledger.show()["entries"] == 0
