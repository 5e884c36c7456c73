"""How far one person moves all that is released, by brute force, against what the proof charges for it."""

from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest
from scipy.stats import norm

from audits.hypothesis_tests.replay import record, replay
from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.learning.contextual import MomentBandit
from bandits.local_gp_ucb import LocalGpUcb
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_gp_ucb import PhasedGpUcb
from bandits.phased_posterior import PhasedPosterior
from bandits.phased_regression import PhasedRegression
from bandits.statistics import continual_sums
from dpaccount.noise.laws import law_of
from dpaccount.noise.leaves import leaves
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import point
from tests.depth import deep

DELTA = Fraction(1, 1000)
BATCHES = [(1, 0, 9), (3, 0, 10), (2, 0.5, 20)]  #: people a row, growth, people


def moments(stream, refresh, growth, rounds):
    return MomentGpUcb(
        rounds=rounds, candidates=2, nodes_per_axis=3, size=6, stream=stream, refresh=refresh,
        growth=Fraction(growth), sigma=Fraction(3), delta=DELTA,
    )  # fmt: skip


def cost(subject, data, others, symmetric=False):
    """Return δ at the proved ε of the two Gaussians that the farthest of `others` are apart, and everybody's μ.

    `symmetric`: matrices, whose noise has twice the variance on the diagonal, and once for both sides of it.
    """
    theorem = subject.proof(DELTA)
    (leaf,) = leaves(theorem)
    run, farthest = record(subject, data, rehearse(theorem, Rehearsal(1)), 1), np.zeros(len(data))
    for person, row in others:
        changed = data.copy()
        changed[person] = row
        exact = replay(
            subject, changed, run, 1
        ).exact  # given the same releases, as adaptive composition has it
        square = sum(int(((exact[part] - run.exact[part]).astype(object) ** 2).sum()) for part in run.exact)
        farthest[person] = max(farthest[person], sqrt(square / (1 + symmetric)) / law_of(leaf).scale)
    epsilon, mu = float(point(theorem)[0]), farthest.max()
    delta = norm.cdf(mu / 2 - epsilon / mu) - exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    return float(delta), farthest


@deep(quick_every=2)
@pytest.mark.parametrize("stream", continual_sums.STREAMS)
@pytest.mark.parametrize(("refresh", "growth", "rounds"), BATCHES)
def test_who_shares_a_row_pays_for_all_rows_that_they_enter(stream, refresh, growth, rounds):
    """Every person's reward is turned, and their candidates are others; the last batch enters nothing."""
    subject, rng = moments(stream, refresh, growth, rounds), np.random.default_rng(2)
    low, high = subject.domain().low, subject.domain().high

    def people(number):
        found = rng.uniform(low, high, (number, len(low)))
        found[:, -2:] = rng.integers(0, 2, (number, 2))
        return found

    data = people(rounds)
    turned = np.column_stack([data[:, :-2], 1 - data[:, -2:]])
    delta, farthest = cost(subject, data, [*enumerate(turned), *enumerate(people(rounds))])
    assert 0.2 * float(DELTA) < delta <= DELTA  # what is charged is met, and by these people nearly reached
    assert (farthest > 0).tolist() == [person < subject.ends[-1] for person in range(rounds)]


@deep
@pytest.mark.parametrize("bandit", [MomentGpUcb, PhasedGpUcb, PhasedRegression, JdpGpUcb, LocalGpUcb])
def test_who_brings_nothing_or_less_moves_no_more_than_is_charged(bandit):
    """Neighbours whose candidates are NaN, one of them or both, while their rewards are turned."""
    size = {"size": 2} if issubclass(bandit, MomentBandit) else {}
    phases = {"first": 2, "per_learner": 2} if bandit is PhasedRegression else {}
    subject = bandit(rounds=20, candidates=2, nodes_per_axis=2, delta=DELTA, **size, **phases)
    domain, rng = subject.domain(), np.random.default_rng(2)
    people = rng.uniform(domain.low, domain.high, (20, 6))
    people[:, 4:] = rng.integers(0, 2, (20, 2))
    others = []
    for away in ([0, 1], [2, 3], [0, 1, 2, 3], [0]):
        changed = np.column_stack([people[:, :4], 1 - people[:, 4:]])
        changed[:, away] = np.nan
        others += enumerate(domain.clamped(changed))
    for data in (people, domain.clamped(people * [np.nan, 1, 1, 1, 1, 1])):
        delta, farthest = cost(subject, data, others, symmetric=not size)
        assert delta <= DELTA
        assert (farthest > 0).sum() > 5


@deep
@pytest.mark.parametrize("stream", ["separate", "correlated"])
def test_a_reward_moves_the_rows_of_its_batch_by_two_clips(stream):
    """On both sides of every border of batches: Gaussian DP of 1/σ, and no less."""
    subject = PhasedPosterior(rounds=400, sigma=Fraction(2), stream=stream, delta=DELTA)
    data = np.zeros((400, 1))
    borders = sorted({person - 1 for batch in subject.covers() for person in batch})
    data[borders] = 4.0
    delta, farthest = cost(subject, data, [(person, [-4.0]) for person in borders])
    assert 0.99 * float(DELTA) < delta <= DELTA
    assert np.allclose(farthest[borders], 1 / 2, rtol=1e-3)
