"""The worked example of DP-SGD: planted bugs stand out beside a healthy run, correct training never does."""

import sys
from fractions import Fraction

import numpy as np
import pytest

from audits.one_run import healthy as beside
from audits.one_run.audit import audit_canaries
from audits.tradeoff import MuClaim
from dpaccount.plan.events import Gaussian, Plan, PoissonSubsampled
from tests.depth import deep


def suspicious(root, monkeypatch, bug, seed):
    """Return the scores by which the comparison says so."""
    monkeypatch.syspath_prepend(str(root / "examples" / "dp_sgd"))
    import canaries

    monkeypatch.delitem(sys.modules, "canaries")
    monkeypatch.setattr(beside, "SIMULATIONS", 60)
    rng = np.random.default_rng(seed)
    included = rng.random(canaries.CANARIES) < 0.5
    rate = Fraction(str(canaries.RATE)) / (2 if bug == "half_the_rate" else 1)
    sampled = PoissonSubsampled(rate=str(float(rate)), of=Gaussian(sigma=1), count=canaries.STEPS)
    plan, claim = Plan("add-remove", sampled), MuClaim(Fraction(1))
    found = []
    for name, values in canaries.scores(canaries.noisy_gradients(included, rng, bug)).items():
        run = audit_canaries(included, values, claim)
        compared = beside.healthy(included, values, run, plan, 0.05, seed)
        found += [name] * compared.suspicious
    return found


@deep
@pytest.mark.parametrize(
    ("bug", "score"),
    [
        ("no_clipping", "sum"),
        ("clipping_by_batch", "sum"),
        ("half_the_noise", "sum"),
        ("one_noise", "spread"),
        ("half_the_rate", "sum"),
    ],
)
def test_a_planted_bug_shows_beside_a_healthy_run(root, monkeypatch, bug, score):
    for seed in range(3):
        assert score in suspicious(root, monkeypatch, bug, seed)


@deep
def test_correct_training_is_never_accused(root, monkeypatch):
    """In 20 seeds with both scores."""
    for seed in range(20):
        assert suspicious(root, monkeypatch, None, seed) == []


@pytest.mark.statistical(3e-4)  # steady noise is above 5 with probability 3e-5, in ten seeds
@pytest.mark.parametrize("bug", [None, "no_clipping", "half_the_noise", "one_noise", "real_batch_size"])
def test_division_by_the_real_batch_size_shows_between_steps(root, monkeypatch, bug):
    monkeypatch.syspath_prepend(str(root / "examples" / "dp_sgd"))
    import canaries

    monkeypatch.delitem(sys.modules, "canaries")
    for seed in range(10):
        rng = np.random.default_rng(seed)
        included = rng.random(canaries.CANARIES) < 0.5
        found = canaries.unsteadiness(canaries.noisy_gradients(included, rng, bug), included)
        assert (found > 5) == (bug == "real_batch_size"), (seed, found)
