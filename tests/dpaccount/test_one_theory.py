"""Curves of a closed form, accountant and independent checker say the same of every kind of event, each from its own code.

What rules conclude has a curve of a closed form, the accountant a dominating pair, the checker an upper
measure.  A kind that is missing here, or of which one of the three drifts from the others, fails.
"""

import math
from fractions import Fraction

import pytest

from audits.accounts import certificate as account_certificate
from audits.accounts import lattice_witness
from audits.accounts.certificate import certificate
from dpaccount import proof
from dpaccount.accounting.accountant import Accountant
from dpaccount.checker.accounting import pairs
from dpaccount.checker.accounting.plan import classes
from dpaccount.errors import InputError
from dpaccount.numerics.closed.renyi import log_delta
from dpaccount.numerics.curves import delta_ball
from dpaccount.numerics.intervals import ball, ceil_of, floor_of, precision
from dpaccount.pairs.of_events import composition_of
from dpaccount.plan import events as ev
from dpaccount.plan.events import Plan
from dpaccount.relation import Relation
from tests.depth import deep
from tests.dpaccount.accounting.test_metamorphic import SAMPLES, accountant, slowly

F = Fraction
QUARTER = F(1, 4)

#: Every event in the kernel's words: what bounds its δ(ε) there, and whether the two are the same number.
IN_THE_KERNEL = {
    "gaussian": (proof.Gdp(F(1, 9)), True),
    "gdp": (proof.Gdp(F(9, 100)), True),
    "tree": (proof.Gdp(F(3, 25)), True),
    "dp_ftrl": (proof.Gdp(F(10, 64)), True),  # 2 + 2 + 2 + 4 nodes, squared, over σ² = 64
    "pure": (proof.Pure(QUARTER), True),
    "randomized_response": (proof.Pure(QUARTER), False),
    "permute_and_flip": (proof.Pure(QUARTER), False),
    "laplace": (proof.Pure(QUARTER), False),
    "discrete_laplace": (proof.Pure(F(1, 2)), False),
    "dominating_pair": (proof.Pure(F(2514, 10000)), False),  # ln 9/7
    "discrete_gaussian": (proof.Lattice(F(16), ((1,),), 1), True),
    "exponential": (proof.BoundedRange(QUARTER), True),
    "bounded_range": (proof.BoundedRange(QUARTER), True),
    "shuffled": (proof.Pure(QUARTER), False),
    "shuffled_response": (proof.Pure(QUARTER), False),
    "approximate": (proof.Approximate(QUARTER, F(1, 10**8)), False),
    "matrix_factorisation": (proof.Gdp(F(4, 25)), False),  # Σ c_k² < 4 at nine rounds
    "poisson_subsampled": (proof.Gdp(QUARTER), False),
    "poisson_replaced": (proof.Gdp(QUARTER), False),
    "poisson_examples": (proof.Gdp(QUARTER), False),  # two examples, as if always drawn
    "balls_in_bins": (proof.Gdp(F(1, 16)), True),  # four rounds in one bin, over σ² = 64
    "gaussian_mixture": (proof.Gdp(QUARTER), False),  # as if it always moved by 2
    "truncated_poisson": (proof.Gdp(QUARTER), False),  # as if it always took another one's place
    "truncated_replaced": (proof.Gdp(QUARTER), False),
    "banded_poisson": (proof.Gdp(F(5, 36)), False),  # 1 + ¼ of a column, over σ² = 9
    "sampled_without_replacement": (proof.Gdp(QUARTER), False),
    # one of several steps, not told which, costs no more than the first one would
    "random_allocation": (proof.Pure(QUARTER), False),
    "repeated": (proof.Pure(F(3, 8)), False),  # thrice that of one run
    "sequence": (proof.Gdp(F(1, 16) + F(1, 40)), False),  # ε-DP of 1/8 is μ-GDP, μ² < 1/40
}
AT_ORDERS = {"zcdp": [(F(a), F(a + 1, 50)) for a in (2, 4, 16, 64)], "rdp": SAMPLES["rdp"].points}
UNCONFIRMED = (
    "random_allocation",
    "balls_in_bins",
    "shuffled",
    "shuffled_response",
    "gaussian_mixture",
    "repeated",
    "truncated_poisson",
    "truncated_replaced",
)  #: kinds of which the checker confirms nothing
#: By how much the checker's δ may exceed the accountant's, relatively.  Of two units of a pair the accountant knows
#: the largest loss, the checker the convolution.
WIDER = {"rdp": F(2), "sampled_without_replacement": F(1, 50), "dominating_pair": F(1, 40)}
AT = F(1, 5)


def of_kernel(name, at):
    """The kernel's δ, enclosed, and whether it is that of the event."""
    with precision(200):
        if name in AT_ORDERS:
            least = min(float(log_delta(a, ball(d), at).upper()) for a, d in AT_ORDERS[name])
            return F(0), F(math.exp(least)) * (1 + F(1, 10**9)), False
        statement, same = IN_THE_KERNEL[name]
        value = delta_ball(statement, at, 200)
        return floor_of(value), ceil_of(value), same


def test_no_kind_is_left_out():
    assert set(ev.VOCABULARY) == set(SAMPLES) == {*IN_THE_KERNEL, *AT_ORDERS}


#: Many cells, or many nodes of a sample: for deep runs.
LONG = (
    "poisson_examples",
    "sampled_without_replacement",
    "poisson_subsampled",
    "poisson_replaced",
    "zcdp",
    "rdp",
)


@deep(quick_every=2)
@pytest.mark.parametrize("name", slowly(sorted(ev.VOCABULARY), *LONG))
def test_kernel_accountant_and_checker_say_the_same(name, monkeypatch):
    monkeypatch.setattr(lattice_witness, "LEAST", 1000)
    monkeypatch.setattr(account_certificate, "FINENESS", [Fraction(1)])
    kind = accountant(SAMPLES[name])
    for at in (F(0), F(1, 20), AT):
        low, high, same = of_kernel(name, at)
        found = kind.delta(at, "1e-6")
        assert (found.lower or 0) <= high
        assert found.upper <= high * (1 + F(1, 10**6)) + F(1, 10**9)
        assert not same or low <= found.upper
    document = certificate(kind.plan.as_json(), found.as_json(), epsilon=AT)
    if name in UNCONFIRMED:
        assert "does not confirm" in document["confirmed"]["why"]
        return
    assert document["confirmed"]["upper"] is not None, document["confirmed"]
    confirmed = F(document["confirmed"]["upper"])  # of AT, the last one
    assert (found.lower or 0) <= confirmed <= found.upper * (1 + WIDER.get(name, F(1, 1000))) + F(1, 10**9)
    assert not same or low <= confirmed


#: Events that cost another amount where the unit is added than where it is removed.
ONE_SIDED = {
    "sample": ev.PoissonSubsampled(rate="1/4", of=ev.Pure(epsilon=1)),
    "sample of a sequence": ev.PoissonSubsampled(
        rate="1/2", of=ev.Sequence(of=(ev.Pure(epsilon="0.5"), ev.DiscreteLaplace(scale=2)))
    ),
    "sample of Gaussian noise": ev.PoissonSubsampled(rate="1/4", of=ev.Gaussian(sigma="1.5")),
    "pair": ev.DominatingPair(p=["0.5", "0.3", "0.2"], q=["0.3", "0.3", "0.4"]),
}


@pytest.mark.parametrize("name", slowly(ONE_SIDED, "sample of Gaussian noise"))
def test_accountant_and_checker_say_the_same_of_each_direction(name, monkeypatch):
    """Of each by itself: the whole answer would hide a smaller direction that drifts."""
    monkeypatch.setattr(lattice_witness, "LEAST", 4000)
    document = Plan(Relation.ADD_REMOVE, ONE_SIDED[name]).as_json()
    [(_, on)] = classes(document)[1]
    ends = []
    for back, way in zip((False, True), composition_of([(ONE_SIDED[name], 1)]).directions, strict=True):
        with precision(200):
            found = way.curve(64)(AT)
            low, high = floor_of(found), ceil_of(found)
        asked = account_certificate.AccountQuestion(None, AT, account_certificate.UNKNOWN)
        answer = account_certificate.by_lattice(asked, on, Fraction(1), back=back).answer
        assert low <= answer <= high * (1 + F(1, 1000)) + F(1, 10**9)
        ends.append((low, answer))
    (one, answer), (other, turned) = ends
    assert answer < other * F(999, 1000) or turned < one * F(999, 1000)  # neither passes for the other


def group_of_kernel(name, at):
    """The kernel's δ of two units, from above: by its curve of twice as much, or by a chain (R15)."""
    statement = IN_THE_KERNEL[name][0] if name in IN_THE_KERNEL else None
    if isinstance(statement, proof.Pure | proof.Gdp):
        twice = proof.Pure(2 * statement.epsilon) if isinstance(statement, proof.Pure) else None
        with precision(200):
            return ceil_of(delta_ball(twice or proof.Gdp(4 * statement.mu_squared), at, 200))
    return of_kernel(name, at / 2)[1] * F(1 + math.exp(at / 2)) * (1 + F(1, 10**9))


@deep(quick_every=2)
@pytest.mark.parametrize("name", slowly(sorted(ev.VOCABULARY), *LONG))
def test_all_three_say_the_same_of_two_units(name, monkeypatch):
    monkeypatch.setattr(lattice_witness, "LEAST", 1000)
    monkeypatch.setattr(account_certificate, "FINENESS", [Fraction(1)])
    plan = accountant(SAMPLES[name]).plan
    if name.startswith("truncated"):
        with pytest.raises(InputError, match="no bound is known for 2 units"):
            Accountant(plan, 2).delta(AT)
        return
    found, most = Accountant(plan, 2).delta(AT, "1e-6"), group_of_kernel(name, AT)
    document = certificate(plan.as_json(), found.as_json(), epsilon=AT, group=2)
    if name in UNCONFIRMED:
        assert (found.lower or 0) <= most
        assert "does not confirm" in document["confirmed"]["why"]
        return
    assert document["confirmed"]["upper"] is not None, document["confirmed"]
    confirmed = F(document["confirmed"]["upper"])
    assert (found.lower or 0) <= min(most, confirmed)
    assert confirmed <= max(most, found.upper) * (1 + WIDER.get(name, F(1, 1000))) + F(1, 10**9)


def test_a_pair_of_the_checker_that_drifts_is_seen(monkeypatch):
    """Laplace noise whose checker forgets a tenth of the loss: below what the accountant knows."""
    drifted = {**pairs.KINDS, "laplace": lambda i, spacing, most: pairs.laplace(i, spacing, most * F(9, 10))}
    monkeypatch.setattr(pairs, "KINDS", drifted)
    with pytest.raises(AssertionError):
        test_kernel_accountant_and_checker_say_the_same("laplace", monkeypatch)
