"""A certificate says where its attack was too weak to have shown anything against the claim."""

from fractions import Fraction

import numpy as np
import pytest

from audits.attack.black_box import attack
from audits.attack.rules import Threshold
from audits.attack.runs import Challenge, silent
from audits.attack.white_box import Attacked, Target
from audits.certificate.document import untested
from audits.datasets.bases import Pair
from audits.sandbox.crew import Crew
from audits.subjects.code import Code
from tests.depth import deep
from tests.looped import looped


@looped(("limit", "runs", "weak"), [(20, 57, True), (1, 57, False), (20, 10**6, True), (5, 1, True)])
def test_runs_that_could_not_refute_a_claim_say_so(limit, runs, weak):
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


@deep
@pytest.mark.parametrize("claimed", ["3.75", "4"])
def test_who_publishes_everything_is_never_not_refuted(claimed, tmp_path):
    """With few runs: what total leakage would show is the power, also of a guess at one side alone."""
    (tmp_path / "publishing.py").write_text("def raw(data, rng):\n    return float(data[0, 0]) > 0.5\n")
    pair = Pair(np.ones((1, 1)), np.zeros((1, 1)), "given")
    with Crew(Code("publishing:raw", (str(tmp_path),)), seconds=60) as crew:
        challenge = Challenge(Fraction(claimed), Fraction(1, 5), 600, Fraction(1, 20), 1)
        found = attack(crew, [pair], challenge, silent)
    assert found.verdict(Fraction(claimed)) in ("REFUTED", "NOT ATTACKED")
