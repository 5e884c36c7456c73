"""Kernel, accountant and independent checker say the same of every kind of event, each from its own code.

The kernel has a curve for what its rules conclude, the accountant a dominating pair, the checker an upper
measure.  A kind that is missing here, or of which one of the three drifts from the others, fails.
"""

import math
from fractions import Fraction

import pytest

from audits.accounts import certificate as account_certificate
from audits.accounts import lattice_witness
from audits.accounts.certificate import certificate
from dpaccount import proof
from dpaccount.checker.accounting import pairs
from dpaccount.numerics.intervals import ceil_of, floor_of, precision
from dpaccount.plan import events as ev
from dpaccount.proof import delta_ball, renyi_log_delta
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
    "approximate": (proof.Approximate(QUARTER, F(1, 10**8)), False),
    "matrix_factorisation": (proof.Gdp(F(4, 25)), False),  # Σ c_k² < 4 at nine rounds
    "poisson_subsampled": (proof.Gdp(QUARTER), False),
    "poisson_replaced": (proof.Gdp(QUARTER), False),
    "sampled_without_replacement": (proof.Gdp(QUARTER), False),
    # one of several steps, not told which, costs no more than the first one would
    "random_allocation": (proof.Pure(QUARTER), False),
    "sequence": (proof.Gdp(F(1, 16) + F(1, 40)), False),  # ε-DP of 1/8 is μ-GDP, μ² < 1/40
}
AT_ORDERS = {"zcdp": [(F(a), F(a, 50)) for a in (2, 4, 16, 64)], "rdp": SAMPLES["rdp"].points}
#: By how much the checker's δ may exceed the accountant's, relatively.
WIDER = {"rdp": F(2), "sampled_without_replacement": F(1, 50)}
AT = F(1, 5)


def of_kernel(name, at):
    """The kernel's δ, enclosed, and whether it is that of the event."""
    with precision(200):
        if name in AT_ORDERS:
            least = min(float(renyi_log_delta(a, d, at).upper()) for a, d in AT_ORDERS[name])
            return F(0), F(math.exp(least)) * (1 + F(1, 10**9)), False
        statement, same = IN_THE_KERNEL[name]
        value = delta_ball(statement, at, 200)
        return floor_of(value), ceil_of(value), same


def test_no_kind_is_left_out():
    assert set(ev.VOCABULARY) == set(SAMPLES) == {*IN_THE_KERNEL, *AT_ORDERS}


#: Many cells, or many nodes of a sample: for `make slow`.
LONG = ("sampled_without_replacement", "poisson_subsampled", "poisson_replaced", "zcdp", "rdp")


@pytest.mark.parametrize("name", slowly(sorted(ev.VOCABULARY), *LONG))
def test_kernel_accountant_and_checker_say_the_same(name, monkeypatch):
    monkeypatch.setattr(lattice_witness, "LEAST", 1000)
    monkeypatch.setattr(account_certificate, "FINENESS", [lattice_witness.Fineness()])
    kind = accountant(SAMPLES[name])
    for at in (F(0), F(1, 20), AT):
        low, high, same = of_kernel(name, at)
        found = kind.delta(at, "1e-6")
        assert (found.lower or 0) <= high
        assert found.upper <= high * (1 + F(1, 10**6)) + F(1, 10**9)
        assert not same or low <= found.upper
    document = certificate(kind.plan.as_json(), found.as_json(), epsilon=AT)
    assert document["confirmed"]["upper"] is not None, document["confirmed"]
    confirmed = F(document["confirmed"]["upper"])  # of AT, the last one
    assert (found.lower or 0) <= confirmed <= found.upper * (1 + WIDER.get(name, F(1, 1000))) + F(1, 10**9)
    assert not same or low <= confirmed


def test_a_pair_of_the_checker_that_drifts_is_seen(monkeypatch):
    """Laplace noise whose checker forgets a tenth of the loss: below what the accountant knows."""
    drifted = {**pairs.KINDS, "laplace": lambda i, spacing, most: pairs.laplace(i, spacing, most * F(9, 10))}
    monkeypatch.setattr(pairs, "KINDS", drifted)
    with pytest.raises(AssertionError):
        test_kernel_accountant_and_checker_say_the_same("laplace", monkeypatch)
