"""Lower bounds from counts: exact coverage, and agreement with the checker's own arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.attack.rules import Threshold, clopper_pearson, plan_threshold
from audits.consistency import verdict as of_verdict
from dpaccount import checker
from dpaccount.checker import documents
from tests.depth import deep
from tests.looped import looped

F = Fraction


@deep
@given(st.integers(1, 300), st.data())
def test_every_bound_is_confirmed_by_the_checker(runs, data):
    hits, alarms = data.draw(st.integers(0, runs)), data.draw(st.integers(0, runs))
    delta = data.draw(st.sampled_from([F(0), F(1, 10**6), F(1, 10)]))
    bound = clopper_pearson((hits, runs), (alarms, runs), delta, F(1, 20), Threshold(0.5))
    documents.Work.spent = 0  # a budget for one document, not for a test run
    if bound.epsilon_lower > 0:
        point = {
            "hits": hits, "runs": runs, "alarms": alarms, "other_runs": runs, "risk": "1/20",
            "delta": str(delta), "power": bound.power, "false_alarm": bound.false_alarm,
        }  # fmt: skip
        of_verdict.confirm_counts(point, F(repr(bound.epsilon_lower)))
        with pytest.raises(checker.Rejected):
            of_verdict.confirm_counts(
                {**point, "power": min(bound.power * 1.05, 1.0)}, F(repr(bound.epsilon_lower))
            )
        with pytest.raises(checker.Rejected):
            of_verdict.confirm_counts(point, F(repr(bound.epsilon_lower)) + F(1, 100))


def exact_failure(p: float, q: float, runs: int, risk: F, delta: F) -> float:
    """Probability that the bound exceeds the truth ln((p−δ)/q), by summing over all counts."""
    from scipy.stats import binom

    truth = max(np.log((p - float(delta)) / q), 0.0)
    total = 0.0
    for hits in range(runs + 1):
        for alarms in range(runs + 1):
            bound = clopper_pearson((hits, runs), (alarms, runs), delta, risk, Threshold(0.5))
            if bound.epsilon_lower > truth:
                total += float(binom.pmf(hits, runs, p) * binom.pmf(alarms, runs, q))
    return total


@looped(("p", "q"), [(0.5, 0.5), (0.6, 0.2), (0.99, 0.98), (0.1, 0.01)])
def test_the_bound_fails_no_more_often_than_stated(p, q):
    """Exact, no sampling: over all outcomes of 30 runs a side."""
    assert exact_failure(p, q, 30, F(1, 20), F(1, 100)) <= 0.05


def test_thresholds_are_chosen_where_the_evidence_is():
    rng = np.random.default_rng(0)
    held, out = rng.normal(1, 1, 4000), rng.normal(0, 1, 4000)
    rule, _ = plan_threshold(held, out, F(1, 10**5), F(1, 20), 4000)
    assert -2.5 < rule.cut < 3.5
    assert rule.measure(held, out, F(1, 10**5), F(1, 20)).epsilon_lower > 1.2


def test_identical_scores_show_nothing():
    flat = np.zeros(100)
    rule, _ = plan_threshold(flat, flat, F(0), F(1, 20), 100)
    assert rule.measure(flat, flat, F(0), F(1, 20)).epsilon_lower == 0
