"""Accounts that the extracted checker confirms by its theorem, end to end."""

import json
from fractions import Fraction

import pytest

from audits.reports import verified
from dpaccount.checker import digest
from tests.depth import deep
from tests.formal.test_agreement import BUILT, CHECKER

pytestmark = [BUILT, deep]

LAPLACE = {"event": "laplace", "scale": 10, "count": 5}
RESPONSE = {"event": "randomized_response", "epsilon": "1/2"}
ONE = {"event": "laplace", "scale": 1}
SAMPLED = {"event": "poisson_subsampled", "rate": "1/100", "of": ONE, "count": 1000}
TRAINED = {**SAMPLED, "rate": "256/60000", "of": {"event": "gaussian", "sigma": "1.1"}, "count": 14063}
#: relation, events, and how far the confirmed end may be above the tight one
PLANS = {
    "ten Gaussians": ("replace-one", [{"event": "gaussian", "sigma": 4, "count": 10}], 1e-4),
    "daily Laplace noise": ("replace-one", [{"event": "laplace", "scale": 100, "count": 3650}], 1e-4),
    "a mixture": ("replace-one", [{"event": "gaussian", "sigma": 5, "count": 3}, LAPLACE, RESPONSE], 1e-4),
    "a large loss": (
        "replace-one",
        [{"event": "laplace", "scale": "1/200"}, {"event": "gaussian", "sigma": 1}],
        1e-4,
    ),
    "sampled Laplace noise": ("add-remove", [SAMPLED], 1e-3),
    "MNIST": ("add-remove", [TRAINED], 1e-3),
}


@pytest.fixture
def account(dpaccount, tmp_path, monkeypatch):
    """Return what certifies a plan's cost at δ = 1e-5."""
    monkeypatch.setenv(verified.VARIABLE, str(CHECKER))

    def made(relation, events):
        plan = {"schema": "dpaccount/events/1", "relation": relation, "events": events}
        (tmp_path / "plan.json").write_text(json.dumps(plan))
        assert dpaccount("account", "plan.json", "--delta", "1e-5", "--certificate", "a.json")[0] == 0
        return json.loads((tmp_path / "a.json").read_text())

    return made


@pytest.mark.parametrize("name", PLANS)
def test_an_account_is_confirmed_by_a_theorem(dpaccount, account, name):
    relation, events, share = PLANS[name]
    document = account(relation, events)
    ends = Fraction(document["confirmed"]["upper"]), Fraction(document["tight"]["lower"])
    assert ends[0] <= ends[1] * (1 + Fraction(share))
    code, out, _ = dpaccount("check", "a.json", "--verified", "--json")
    assert (code, json.loads(out)["standing"]) == (0, "theorem")


def with_first(document, changes):
    """Return a plan whose first event is another one."""
    first, *others = document["plan"]["events"]
    return {"plan": {**document["plan"], "events": [{**first, **changes}, *others]}}


@pytest.mark.parametrize(
    "forged",
    [
        lambda _: {"confirmed": {"upper": "3.31"}},  # tight: 3.3414
        lambda _: {"question": {"delta": "8e-06"}},
        lambda document: with_first(document, {"count": 11}),
        lambda document: with_first(document, {"sigma": 3.9}),
        lambda document: {"plan": {**document["plan"], "events": 2 * document["plan"]["events"]}},
        lambda _: {"question": {"epsilon": "3.3"}, "confirmed": {"upper": "1e-05"}},
    ],
)
def test_less_than_a_plan_costs_is_not_confirmed(account, forged):
    document = account(*PLANS["ten Gaussians"][:2])
    other = document | forged(document)
    said = verified.followed(json.dumps(other).encode(), "CONFIRMED").rejected
    assert said == "invalid: the digest does not match"
    other["digest"] = digest({name: value for name, value in other.items() if name != "digest"})
    assert verified.followed(json.dumps(other).encode(), "CONFIRMED").rejected.startswith(
        "invalid: it was not shown"
    )


@pytest.mark.parametrize(
    "event", [{"event": "zcdp", "rho": "1/10"}, {"event": "tree", "rounds": 6, "sigma": 9}]
)
def test_what_has_no_theorem_is_confirmed_by_the_python_checker_alone(dpaccount, account, event):
    account("replace-one", [event])
    code, out, _ = dpaccount("check", "a.json", "--verified")
    assert (code, verified.STANDINGS["checker"] in out) == (0, True)
