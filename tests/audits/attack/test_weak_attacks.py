"""A certificate says where its attack was too weak to have shown anything against the claim."""

from fractions import Fraction

import pytest

from audits.attack.thresholds import Threshold
from audits.attack.white_box import Attacked, Target
from audits.certificate.verdict import untested


@pytest.mark.parametrize(
    ("limit", "runs", "weak"), [(20, 57, True), (1, 57, False), (20, 10**6, True), (5, 1, True)]
)
def test_runs_that_could_not_refute_a_claim_say_so(limit, runs, weak):
    import numpy as np

    bound = Threshold(0.5).measure(np.zeros(runs), np.zeros(runs), Fraction(0), Fraction(1, 20))
    points = (
        (Target("proof", Fraction(0), Fraction(0)), bound),
        (Target("claim", Fraction(limit), Fraction(0)), bound),
    )
    said = untested(Attacked(None, runs, points))
    assert (["tested nothing of the claim itself" in s for s in said] == [True]) is weak
    assert weak or said == []


def test_no_attack_says_nothing():
    assert untested(None) == []
