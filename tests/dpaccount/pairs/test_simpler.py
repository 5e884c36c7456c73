"""Many different pairs are held between a few that cost no more, and no less."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from dpaccount import (
    Accountant,
    Approximate,
    Gaussian,
    Laplace,
    Plan,
    PoissonExamples,
    PoissonSubsampled,
    Sequence,
)
from dpaccount.accounting import account
from dpaccount.numerics.intervals import precision
from dpaccount.numerics.work_budget import ANSWER, raised, steps_done
from dpaccount.pairs import composition, poisson
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.of_events import composition_of
from dpaccount.pairs.poisson import SampledGroup
from tests.depth import deep
from tests.looped import looped

F = Fraction


def different(rng, many, noise=lambda size: Gaussian(sigma=size)):
    return [
        PoissonSubsampled(rate=F(rng.randint(1, 30), 1000), of=noise(F(rng.randint(80, 300), 100)), count=50)
        for _ in range(many)
    ]


def laplaces(rng, many):
    return different(rng, many, lambda size: Laplace(scale=size))


@pytest.mark.parametrize("kind", [Gaussian(sigma=1), Laplace(scale=1)])
def test_a_sampled_curve_rises_with_rate_and_noise_ratio(kind):
    """In both directions, at every loss: random pairs of which one has no smaller parameters."""
    rng = random.Random(5)
    total = composition_of([(PoissonSubsampled(rate="0.5", of=kind), 1)])
    [(sampled, _)] = total.pairs
    for _ in range(40):
        (q, r), (a, b) = (sorted(F(rng.randint(1, 99), 100) for _ in range(2)) for _ in range(2))
        for added in (False, True):
            at = F(rng.randint(-30, 30), 10)
            with precision(80):
                low, high = (
                    replace(sampled.with_parameters((rate, 9 * size)), added=added).curve(64)(at)
                    for rate, size in ((q, a), (r, b))
                )
            assert low.lower() <= high.upper()


@looped("kind", [Gaussian(sigma=2), Laplace(scale=2), Laplace(scale=F(1, 3))])
def test_the_parameters_with_which_a_pair_rises_are_all_it_has(kind):
    """Put back, they give the same pair; others give the pair of the event that has them."""
    for added in (False, True):
        one, other = (
            replace(composition_of([(PoissonSubsampled(rate=q, of=kind), 1)]).pairs[0][0], added=added)
            for q in ("0.1", "0.3")
        )
        assert one.with_parameters(one.monotone_parameters()) == one
        assert one.with_parameters(other.monotone_parameters()) == other
        assert one.monotone_parameters() < other.monotone_parameters()


def test_a_sample_of_more_than_one_noise_is_not_made_simpler():
    both = Sequence(of=(Laplace(scale=1), Laplace(scale=2)))
    [(pair, _)] = composition_of([(PoissonSubsampled(rate="0.1", of=both), 1)]).pairs
    assert pair.monotone_parameters() == ()
    [(pair, _)] = composition_of([(PoissonSubsampled(rate="0.1", of=Laplace(scale=1, count=2)), 1)]).pairs
    assert pair.monotone_parameters() == ()


@deep
@pytest.mark.parametrize("events_of", [different, laplaces])
def test_the_few_are_around_the_many(monkeypatch, events_of):
    monkeypatch.setattr(composition, "FEW", 2)
    events = [*events_of(random.Random(3), 5), Laplace(scale=30, count=3)]
    total = composition_of([(each, 1) for each in events])
    less, more = total.bracketing_pairs()
    assert len(less.pairs) == len(more.pairs) == 3
    assert sum(n for _, n in less.pairs) == sum(n for _, n in total.pairs) == sum(n for _, n in more.pairs)
    low, exact, high = (account.epsilon(each, F(1, 10**5), F(1, 1000)).bounds for each in (less, total, more))
    assert low.upper < exact.lower <= exact.upper < high.lower


def test_what_has_few_different_pairs_is_simple():
    total = composition_of([(each, 1) for each in different(random.Random(3), composition.FEW)])
    assert total.bracketing_pairs() is None
    more = composition_of([(each, 1) for each in laplaces(random.Random(3), composition.FEW + 1)])
    assert more.bracketing_pairs() is not None
    assert more.bracketing_pairs(sorts=False) is None
    assert Composition().bracketing_pairs() is None


@deep
@pytest.mark.parametrize("others", [(Laplace(scale=2),), (Laplace(scale=2), Gaussian(sigma=3))])
def test_several_kinds_of_noise_in_nearly_whole_samples(others):
    """They cost no more than whole ones, and no less than samples of a rate that floats hold."""
    both = Sequence(of=(Gaussian(sigma=2), *others))
    nearly, less = (
        PoissonSubsampled(rate=1 - rate, of=both, count=3) for rate in (F(1, 10**17), F(1, 10**9))
    )
    found, low, whole = (
        Accountant(Plan("add-remove", events)).epsilon("1e-6") for events in (nearly, less, both * 3)
    )
    assert found.upper - found.lower <= F(1, 10**6) * found.upper
    assert low.lower <= found.upper <= whole.upper
    assert found.lower <= whole.upper
    total = composition_of([(nearly, 1)])
    simpler = total.bracketing_pairs()[1]
    assert simpler.mu2[0] == 3 * composition_of([(both, 1)]).mu2[0]
    assert simpler.pairs == tuple((pair, 3 * n) for pair, n in composition_of([(both, 1)]).pairs)


@looped(("there", "gone"), [(2, 0), (0, 3), (1, 1), (2, 1)])
def test_groups_lie_between_those_of_fewer_samples_and_whole_ones(monkeypatch, there, gone):
    """Both ends are those of a rate next to 1, which stands lower here: their curves are at hand."""
    monkeypatch.setattr(poisson, "MOST_RATE", F(1, 2))
    pair = SampledGroup(F(3, 4), F(1, 2), there, gone)
    low, whole = pair.bracketing_pairs()
    curves = [one.curve(80) for one in (low, pair, whole.parts[0][0])]
    with precision(120):
        for at in (F(k, 3) for k in range(-12, 13)):
            less, here, more = (curve(at) for curve in curves)
            assert not less > here, at
            assert not here > more, at
            assert at < 0 or less < here < more, at
    assert replace(pair, rate=F(1, 2)).bracketing_pairs() is None


@deep
@pytest.mark.parametrize("group", [1, 2])
def test_users_and_groups_in_nearly_whole_samples(group):
    rate, noise = 1 - F(1, 10**21), Gaussian(sigma=5)
    sampled = PoissonExamples(rate=rate, examples=2, of=noise), PoissonSubsampled(rate=rate, of=noise)
    found = Accountant(Plan("add-remove", sampled[group - 1] * 4), group).epsilon("1e-6")
    whole = Accountant(Plan("add-remove", noise * 4), 2).epsilon("1e-6")
    assert found.upper == whole.upper
    assert whole.lower * (1 - F(1, 10**6)) < found.lower


def test_what_may_fail_in_nearly_whole_samples_has_no_simpler_ends():
    failing = Sequence(of=(Gaussian(sigma=2), Approximate(epsilon=1, delta="1e-3")))
    total = composition_of([(PoissonSubsampled(rate=1 - F(1, 10**17), of=failing), 1)])
    assert total.bracketing_pairs() is None


def test_sorts_hold_similar_pairs():
    rng = random.Random(7)
    pairs = [pair for pair, _ in composition_of([(each, 1) for each in different(rng, 200)]).pairs]
    sorts = composition._sorts(pairs)
    assert len(sorts) <= composition.FEW + 4
    assert sorted(map(id, (pair for part in sorts for pair in part))) == sorted(map(id, pairs))
    for k in (0, 1):
        spans = [
            max(p.monotone_parameters()[k] for p in part) - min(p.monotone_parameters()[k] for p in part)
            for part in sorts
        ]
        whole = max(p.monotone_parameters()[k] for p in pairs) - min(
            p.monotone_parameters()[k] for p in pairs
        )
        assert sum(spans) / len(spans) < whole / 2


@deep
def test_more_samples_than_can_be_computed_are_not_tried(monkeypatch):
    """The few alone are asked; with more work allowed, the many."""
    monkeypatch.setattr(composition, "FEW", 1)
    monkeypatch.setattr(account, "ALIKE", 8 * account.SECOND)
    events = different(random.Random(3), 3)
    rough = Accountant(Plan("add-remove", events)).worst_epsilon("1e-5", "1e-3")
    assert rough.method.endswith("of simpler pairs")
    with raised(10):
        close = Accountant(Plan("add-remove", events)).epsilon("1e-5", "1e-3")
    assert rough.bounds.lower < close.lower <= close.upper < rough.bounds.upper


@deep
def test_a_hundred_different_samples_have_two_ends_that_are_near():
    """They take more work than there is; [0.006, 2892] without the few."""
    events = [PoissonSubsampled(rate="0.01", of=Gaussian(sigma=1 + F(i, 100)), count=100) for i in range(100)]
    epsilon = Accountant(Plan("add-remove", events)).epsilon("1e-6")
    assert 3.9 < epsilon.lower <= epsilon.upper < 4.3


@deep
def test_a_thousand_different_samples_of_laplace_noise_are_enclosed_closely():
    """Around them are two dozen sorts, 6 % apart; all work is counted."""
    events = [
        PoissonSubsampled(rate=F(1, 100) + F(k, 100000), of=Laplace(scale=1 + F(k, 1000)))
        for k in range(1000)
    ]
    begun = steps_done()
    epsilon = Accountant(Plan("add-remove", events)).epsilon("1e-6")
    assert steps_done() - begun < ANSWER
    assert epsilon.upper - epsilon.lower <= F(1, 10**6)
    total = composition_of([(each, 1) for each in events])
    less, more = (account.epsilon(each, F(1, 10**6), F(1, 1000)).bounds for each in total.bracketing_pairs())
    assert less.lower < epsilon.lower < epsilon.upper < more.upper
