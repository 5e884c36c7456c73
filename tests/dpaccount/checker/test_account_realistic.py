"""Realistic plans: what the checker confirms lies within 1e-4 of the tight answer, in at most its work."""

import pytest

from audits.accounts.certificate import certificate
from benchmarks.account_rows import REALISTIC
from dpaccount.checker.documents import Work
from dpaccount.exact import as_exact
from tests.depth import deep
from tests.dpaccount.accounting.test_metamorphic import accountant

ROWS = {name: (events, delta) for name, (_, events, delta) in REALISTIC.items()}
QUICK = ("1000 Laplaces", "daily, ten years", "daily reports", "1024 answers")


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=deep) for name in ROWS])
def test_the_confirmed_end_is_near_the_tight_one(name):
    events, delta = ROWS[name]
    total = accountant(*events)
    tight = total.epsilon(delta)
    document = certificate(total.plan.as_json(), tight.as_json(), delta=as_exact(delta))
    confirmed = as_exact(document["confirmed"]["upper"])
    assert tight.lower <= confirmed <= tight.upper * (1 + as_exact("1e-4"))
    assert Work.spent <= Work.limit
