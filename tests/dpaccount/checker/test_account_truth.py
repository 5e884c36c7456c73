"""What an account certificate confirms is never below the truth by enumeration."""

import random
from fractions import Fraction

import pytest

from audits.accounts import certificate as account_certificate
from audits.accounts import lattice_witness
from audits.accounts.certificate import certificate
from tests.depth import parts
from tests.dpaccount.checker.enumeration import delta, number, plan

UNKNOWN = {"lower": None, "upper": "inf"}  #: no answer of the accountant: what is confirmed rests on no hint


def confirmed(document):
    return None if document["confirmed"]["upper"] is None else Fraction(document["confirmed"]["upper"])


def holds(seed, *, coarse):
    """A random plan's confirmed ε, or δ, is enough; return whether one was confirmed.

    Coarse lattices of few digits too: what they confirm is larger, and all that is rounded shows.
    """
    chance = random.Random(seed)
    drawn = plan(chance)
    while "random_allocation" in str(drawn):  # of which the checker confirms nothing
        drawn = plan(chance)
    with pytest.MonkeyPatch.context() as patch:
        if coarse:
            patch.setattr(lattice_witness, "LEAST", chance.choice([20, 100, 500]))
            patch.setattr(lattice_witness, "KEPT", chance.choice([40, 300, 1500]))
            patch.setattr(lattice_witness, "SPARE", chance.choice([1, 3, 8]))
            patch.setattr(lattice_witness, "FINE", chance.choice([0.02, 0.3]))
            patch.setattr(account_certificate, "FINENESS", [Fraction(1)])
        return enough(chance, drawn, seed)


def enough(chance, drawn, seed):
    deltas, epsilons = ("1e-9", "1e-5", "1e-3", "0.02", "0.1", "0.4"), ("0", "0.01", "0.3", "1", "2.5", "6")
    name, values = ("delta", deltas) if chance.random() < 0.5 else ("epsilon", epsilons)
    asked = {name: Fraction(chance.choice(values))}
    upper = confirmed(certificate(drawn, UNKNOWN, **asked))
    if upper is None:
        return False
    epsilon = asked.get("epsilon", upper)
    truth, limit = delta(drawn, epsilon), number(asked.get("delta", upper))
    slack = number(Fraction(1, 10**45)) * limit + number(Fraction(1, 10**55))  # of 60 digits
    assert truth <= limit + slack, (seed, drawn, epsilon, truth, limit)
    return True


@parts(12)
def test_what_is_confirmed_is_enough_in_small_plans(depth):
    """Of seven plans in ten something is confirmed; coarse lattices of few digits often show nothing."""
    plans = depth.some(range(2000), 6) if depth.whole else range(6)
    coarse = [bool(number // depth.of % 3) for number in plans]  # two of three in each part
    found = [holds(depth.seed(number), coarse=one) for number, one in zip(plans, coarse, strict=True)]
    assert sum(found) > 0.35 * len(plans)
