"""(ξ, ρ)-zCDP: D_α ≤ ξ + ρα. The offset moves ε by itself, adds up, and dominates what has these divergences."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from dpaccount import Accountant, Gaussian, Plan, Pure, Zcdp
from dpaccount.accounting.measures import MEASURES
from dpaccount.errors import InputError
from dpaccount.ledger.balances.budget import Budget
from dpaccount.ledger.requests import of_plan


def epsilon(*events, delta="1e-6", group=1):
    return Accountant(Plan("replace-one", events), group).epsilon(delta).upper


def by_orders(rho, xi, delta):
    """The least of the conversion at many orders, in floats (Canonne, Kamath & Steinke 2020)."""
    orders = [1 + math.exp(x / 200) for x in range(-1200, 1600)]
    return min(xi + rho * a + math.log1p(-1 / a) - math.log(delta * a) / (a - 1) for a in orders)


@pytest.mark.parametrize(("rho", "xi"), [("0.1", "0.5"), ("2", "0.01"), ("0.001", "3")])
def test_an_offset_moves_epsilon_by_itself(rho, xi):
    found = epsilon(Zcdp(rho=rho, xi=xi))
    assert float(found) == pytest.approx(by_orders(float(rho), float(xi), 1e-6), rel=1e-5)
    assert float(found) == pytest.approx(float(Fraction(xi) + epsilon(Zcdp(rho=rho))), rel=1e-6)


def test_offsets_add_up():
    parts = Zcdp(rho="0.1", xi="0.2", count=3), Zcdp(rho="0.3", xi="0.1")
    assert epsilon(*parts) == pytest.approx(epsilon(Zcdp(rho="0.6", xi="0.7")), rel=1e-9)
    assert Accountant(parts).zcdp() == Fraction(13, 10)  # ξ ≤ ξα


def test_it_lies_above_what_has_these_divergences():
    """A Gaussian release of μ² = 2ρ and an answer of pure ξ have D_α ≤ ξ + ρα."""
    for mu, xi in ((Fraction(1, 4), Fraction(1, 2)), (Fraction(4), Fraction(1, 10))):
        inside = Accountant((Gaussian(sigma=1, sensitivity=mu), Pure(epsilon=xi)))
        bound = Zcdp(rho=mu**2 / 2, xi=xi)
        for at in (0, 1, 3):
            assert inside.delta(at).upper <= Accountant(bound).delta(at).upper


def test_without_rho_it_is_pure():
    only = Accountant(Zcdp(rho=0, xi="1/2"))
    assert only.pure() == Fraction(1, 2)
    assert only.zcdp() <= Fraction(1, 8)
    assert only.delta(0).upper <= Accountant(Pure(epsilon="1/2")).delta(0).upper
    assert only.delta(0).lower is None
    assert Accountant(Zcdp(rho=0)).epsilon(0).upper == 0


def divergence(p, q, order):
    logs = order * np.log(p) + (1 - order) * np.log(q)
    return (logs.max() + math.log(np.exp(logs - logs.max()).sum())) / (order - 1)


def test_a_group_of_two_has_thrice_the_offset_and_four_times_rho():
    """Random laws P, Q, R on six outcomes: D_α(P‖R) is at most what the group's event says."""
    rng, orders = random.Random(1), [1 + math.exp(x / 8) for x in range(-24, 40)]
    assert Zcdp(rho=1, xi=1).for_group(2).xi == pytest.approx(3)
    for _ in range(100):
        laws = [[rng.expovariate(1) + 0.02 for _ in range(6)] for _ in range(3)]
        p, q, r = ([x / sum(law) for x in law] for law in laws)
        rho = rng.choice([0.05, 0.3, 1])
        ways = [divergence(*pair, a) - rho * a for pair in ((p, q), (q, r)) for a in orders]
        group = Zcdp(rho=rho, xi=max(0, *ways)).for_group(2)
        # Beyond the orders D_α hardly grows, and ρα does.
        assert all(divergence(p, r, a) <= float(group.xi) + float(group.rho) * a for a in orders)


def test_groups_are_at_most_those_of_zcdp_without_an_offset():
    one = Zcdp(rho="0.1", xi="0.1")
    assert epsilon(one) < epsilon(one, group=3) == pytest.approx(epsilon(one.for_group(3)), rel=1e-6)
    assert epsilon(one, group=10**6) > 10**9  # no long sum


def test_a_negative_offset_is_refused():
    with pytest.raises(InputError, match=r"xi = -1 is out of range; it must be at least 0"):
        Zcdp(rho=1, xi=-1)


def test_a_charge_without_an_offset_is_the_one_that_ledgers_hold_from_before():
    budget = Budget(Fraction(2), Fraction(1, 10**6), "row", "replace-one", MEASURES["zcdp"])
    plain, offset = (
        of_plan(budget, Plan("replace-one", Zcdp(rho="1/64", xi=xi)), "plan") for xi in (0, "1/64")
    )
    assert plain.facts["plan"] == [{"event": "zcdp", "count": "1/1", "cover": None, "rho": "1/40"}]
    assert offset.facts["plan"][0]["xi"] == "1/40"
    assert plain.digest != offset.digest
