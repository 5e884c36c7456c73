"""What an event costs in one number of zCDP or GDP holds for all its stand-ins, and is no more than it need be."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from dpaccount.accounting.filters import Filter
from dpaccount.accounting.measures import Measure
from dpaccount.errors import BudgetError
from dpaccount.plan import events as ev
from tests.dpaccount.pairs.test_stand_ins import MAKERS, ROUNDING, enumerated, gaussian_delta, stand_ins
from tests.looped import looped

SAMPLES = (ev.PoissonSubsampled, ev.PoissonReplaced, ev.SampledWithoutReplacement)
ORDERS = (1.05, 1.5, 3, 12, 60)


def renyi(p, q, order):
    """Return the divergence of this order; infinite where one law has what the other has not."""
    if np.any((p > 0) & (q == 0)):
        return math.inf
    kept = p > 0
    logs = order * np.log(p[kept]) + (1 - order) * np.log(q[kept])
    top = logs.max()
    return float(top + np.log(np.exp(logs - top).sum())) / (order - 1)


def holds(event):
    """Compare both numbers with every stand-in, in both directions."""
    rho, square = event.zcdp(), event.mu_squared()
    for pair in stand_ins(event) if rho is not None or square is not None else ():
        for order, (p, q) in itertools.product(ORDERS, (pair, pair[::-1])):
            if rho is not None:
                assert renyi(p, q, order) <= order * float(rho) * (1 + 1e-9) + 1e-9, (event, order)
        for at in (0.0, 0.2, 1.0, 3.0) if square is not None else ():
            truth = max(enumerated(pair, at))
            bound = gaussian_delta(math.sqrt(square), at) if square else 0.0
            assert truth <= bound * (1 + 1e-9) + ROUNDING, (event, at)


@looped("label", sorted(MAKERS))
def test_the_numbers_of_every_kind_hold(label):
    for seed in range(4):
        holds(MAKERS[label](random.Random(f"{label} {seed}")))


@looped("label", sorted(MAKERS))
def test_no_number_is_above_what_follows_from_another_one(label):
    """ρ is at most μ²/2 and ε²/2; a sample costs no more than the whole, in any measure."""
    for seed in range(6):
        event = MAKERS[label](random.Random(f"{label} {seed}"))
        rho, square, pure = event.zcdp(), event.mu_squared(), event.pure()
        if square is not None:
            assert rho <= square / 2
        if pure is not None:
            assert rho <= event.count * (pure / event.count) ** 2 / 2
        if isinstance(event, SAMPLES):
            whole = event.whole()
            for sampled, all_of_it in ((rho, whole.zcdp()), (square, whole.mu_squared())):
                if all_of_it is not None:
                    assert sampled <= event.count * all_of_it


def test_samples_of_gaussian_noise_have_numbers():
    """Nothing less than the whole holds: an outlier that is drawn moves the noise as far as without sampling."""
    gaussian = ev.Gaussian(sigma=2)
    for sample in (
        ev.PoissonSubsampled(rate="1/10", of=gaussian),
        ev.SampledWithoutReplacement(size=1, population=10, of=gaussian),
    ):
        assert (sample.zcdp(), sample.mu_squared()) == (Fraction(1, 8), Fraction(1, 4))
    replaced = ev.PoissonReplaced(rate="1/10", of=gaussian)
    assert (replaced.zcdp(), replaced.mu_squared()) == (Fraction(1, 2), 1)
    assert ev.PoissonSubsampled(rate=0, of=gaussian).zcdp() == 0
    for measure, budget in (("gdp", "1/4"), ("zcdp", "1/8")):
        spent = Filter(Measure(measure), relation="add-remove", budget=budget)
        spent.charge(ev.PoissonSubsampled(rate="1/10", of=gaussian))
        with pytest.raises(BudgetError, match="0 of"):
            spent.charge(ev.PoissonSubsampled(rate="1/10", of=gaussian))


@looped(
    ("event", "most"),
    [
        (ev.PoissonSubsampled(rate="0.999", of=ev.Exponential(epsilon=1)), "0.125"),
        (ev.Laplace(scale="0.1"), "14.69"),
        (ev.PermuteAndFlip(epsilon=10), "14.69"),
        (ev.RandomizedResponse(epsilon=1, k=10), "0.2034"),
    ],
)
def test_single_releases_in_zcdp_cost_half_their_mu_squared(event, most):
    assert event.zcdp() <= Fraction(most)
