"""A score that only knows the runs that taught it does not choose an event that no other run shows."""

from fractions import Fraction

import numpy as np

from audits.attack import white_box
from audits.attack.white_box import AttackPlan, attack, targets
from audits.datasets.bases import Pair
from audits.hypothesis_tests.judge import WorstPair
from dpaccount.noise.proved import Proved
from dpaccount.proof import ADD_REMOVE
from mechanisms.noisy_statistics import planned
from mechanisms.statistics.statistic import Statistic
from mechanisms.table.bind_columns import Promise
from mechanisms.table.columns import Column
from tests.depth import deep

CODE, AGE = Column("code", "text", length=6), Column("age", "integer", Fraction(0), Fraction(9))
EVERY = (Statistic("n", "count", by=(CODE,)), Statistic("m", "mean", AGE), Statistic("q", "median", AGE))
DELTA = Fraction(1, 10**6)


def attacked(seed):
    """Attack a study, of which no two runs show the same numbers; return how many showed the event."""
    study = planned(EVERY, 40, 1, Promise(ADD_REMOVE, Fraction(1), DELTA))[0]
    left = np.column_stack([np.ones(40), np.full(40, 9), CODE.codes(["I10"] * 40)])
    suspect = WorstPair(Pair(left, np.delete(left, 0, 0), 1), 0, 1.0, ())
    proved = Proved(study.proof(DELTA))
    points = targets(proved, Fraction(1), DELTA, 1)[:1]
    found = attack(study, proved, points, suspect, AttackPlan(100, Fraction(1, 20), seed))
    return found.results[0][1].hits + found.results[0][1].alarms


@deep
def test_runs_that_teach_a_score_are_not_those_that_choose_its_event(monkeypatch):
    """By the runs that `learn` gets: of a score that is no map, others than are counted."""
    taught, learn = [], white_box.learn
    monkeypatch.setattr(white_box, "learn", lambda samples: taught.append(samples) or learn(samples))
    assert attacked(0) > 0
    first, last = ({each.seen for each in samples} for samples in (taught[0], taught[-1]))
    assert len(taught) >= 2
    assert not first & last
