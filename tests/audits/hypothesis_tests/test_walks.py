"""A walk finds the one step, anywhere between two far tables, at which something happens."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.datasets.tours import Walk
from audits.hypothesis_tests.checks import check_of
from audits.hypothesis_tests.judge import Judge
from dpaccount.noise.proved import Proved
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.subject import View
from tests.depth import deep, examples

ROWS = 400


@dataclass(frozen=True)
class Jumps(LaplaceSum):
    """Does something else where the mean is above a threshold."""

    what: str = ""
    threshold: float = 0.0

    def above(self, data):
        return data.mean() > self.threshold

    def query(self, data):
        jump = int(9e6) if self.what == "moves" and self.above(data) else 0
        return super().query(data) + jump

    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        if self.what == "fails" and self.above(data):
            raise ValueError("too high")
        shown = np.array(self.what == "shows" and self.above(data))
        return View(public={**view.public, "flag": shown})


@deep
@pytest.mark.parametrize("what", ["moves", "shows", "fails", "nothing"])
@given(threshold=st.floats(0.01, 0.99), start=st.sampled_from(["low", "middle"]))
@examples(8)
def test_a_step_at_a_threshold_that_nobody_knows_is_found(what, threshold, start):
    subject = Jumps(low=Fraction(0), high=Fraction(1), rows=ROWS, what=what, threshold=threshold)
    proved = Proved(subject.proof(Fraction(0)))
    judge = Judge(subject, proved, [check_of(proved, each)[0] for each in proved.hypotheses])
    judge.along_walk(Walk(subject.domain(), subject.relation, f"first {{}} high, then {start}", ROWS), 1)
    crossed = what != "nothing" and (start == "low" or threshold >= 0.5)
    assert any(judge.seen.failing) == crossed
    assert judge.seen.count < 60
