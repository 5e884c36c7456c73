"""Groups of units: what is confirmed of them lies above the accountant's answer and near it."""

from fractions import Fraction

import pytest

from audits.accounts.certificate import certificate
from dpaccount.accounting.accountant import Accountant
from dpaccount.plan import events as ev
from dpaccount.plan.events import Plan
from tests.dpaccount.checker.test_account_forgeries import consistent, edited, said

F = Fraction
EVENTS = {
    "gaussian": ev.Gaussian(sigma=6, count=4),
    "laplace": ev.Laplace(scale=9, count=2),
    "pure": ev.Pure(epsilon="0.2", count=5),
    "permute_and_flip": ev.PermuteAndFlip(epsilon="0.2"),
    "randomized_response": ev.RandomizedResponse(epsilon="0.3", k=3),
    "discrete_laplace": ev.DiscreteLaplace(scale=9, sensitivity=2),
    "discrete_gaussian": ev.DiscreteGaussian(sigma=6),
    "bounded_range": ev.BoundedRange(eta="0.2"),
    "zcdp": ev.Zcdp(rho="0.01", count=3),
    "sequence": ev.Sequence(of=(ev.Gdp(mu="0.2"), ev.Gaussian(sigma=7))),
}


def answered(event, group, delta="1e-4"):
    plan = Plan("replace-one", event)
    tight = Accountant(plan, group).epsilon(delta)
    return tight, certificate(plan.as_json(), tight.as_json(), delta=F(delta), group=group)


SLOW = {"laplace": pytest.mark.slow, "bounded_range": pytest.mark.slow, "zcdp": pytest.mark.nightly}


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in EVENTS])
def test_a_group_is_confirmed_above_what_it_costs(name):
    tight, document = answered(EVENTS[name], 3)
    assert said(document) is None, document["confirmed"]
    upper = F(document["confirmed"]["upper"])
    assert upper >= (tight.lower or 0)
    assert upper <= tight.upper * F(10001, 10000) or name in ("randomized_response", *SLOW)
    single, _ = answered(EVENTS[name], 1)
    assert upper > single.upper  # a group that is forgotten would cost as little


def test_another_group_is_refused():
    _, document = answered(EVENTS["pure"], 2)
    assert said(document) is None
    for group in (1, 3, 4):
        assert said(edited(("question", "group"), group, document)).startswith("step 0")
    for group in (0, -1, 1.5, "2", None, True):
        assert said(edited(("question", "group"), group, document)) is not None


def test_a_larger_group_is_refused_by_its_mathematics():
    _, document = answered(EVENTS["pure"], 2)
    larger = edited(("question", "group"), 3, document)
    assert "does not follow" in said(consistent(larger["plan"], larger, 3))


@pytest.mark.parametrize(
    "events",
    [
        [ev.Approximate(epsilon="0.1", delta="1e-9")],
        [ev.Gaussian(sigma=4, cover=(1, 5)), ev.Laplace(scale=4, cover=(6, 9))],
        [ev.Tree(rounds=6, sigma=9)],
        [ev.DominatingPair(p=["3/4", "1/4"], q=["1/4", "3/4"])],
        [ev.PoissonReplaced(rate="0.1", of=ev.Gaussian(sigma=2))],
    ],
)
def test_what_no_bound_of_groups_is_known_of_is_not_confirmed(events):
    written = Plan("replace-one", events).as_json()
    found = certificate(written, {"lower": None, "upper": "inf"}, delta=F(1, 1000), group=2)
    assert found["confirmed"]["upper"] is None
    assert "groups" in found["confirmed"]["why"]
