"""Properties that hold for every event, whatever its curve is."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaccount import events as ev
from dpaccount.accountant import Accountant
from dpaccount.events import Plan, Relation

ADD_REMOVE = (ev.PoissonSubsampled,)
SAMPLES = {
    "gaussian": ev.Gaussian(sigma=3),
    "discrete_gaussian": ev.DiscreteGaussian(sigma=4),
    "laplace": ev.Laplace(scale=4),
    "discrete_laplace": ev.DiscreteLaplace(scale=4, sensitivity=2),
    "randomized_response": ev.RandomizedResponse(epsilon="0.25", k=4),
    "exponential": ev.Exponential(epsilon="0.25"),
    "bounded_range": ev.BoundedRange(eta="0.25"),
    "permute_and_flip": ev.PermuteAndFlip(epsilon="0.25"),
    "pure": ev.Pure(epsilon="0.25"),
    "approximate": ev.Approximate(epsilon="0.25", delta="1e-8"),
    "zcdp": ev.Zcdp(rho="0.02"),
    "gdp": ev.Gdp(mu="0.3"),
    "rdp": ev.Rdp(points=((Fraction(4), Fraction(1, 10)), (Fraction(16), Fraction(1, 2)))),
    "poisson_subsampled": ev.PoissonSubsampled(rate="0.25", of=ev.Gaussian(sigma=2)),
    "sampled_without_replacement": ev.SampledWithoutReplacement(
        size=1, population=8, of=ev.Gaussian(sigma=2)
    ),
    "matrix_factorisation": ev.MatrixFactorisation(rounds=9, sigma=5),
    "sequence": ev.Sequence(of=(ev.Gaussian(sigma=4), ev.Pure(epsilon="0.125"))),
    "tree": ev.Tree(rounds=6, sigma=5),
}
NAMES = sorted(SAMPLES)
NOISE = {"sigma": Fraction(11, 10), "scale": Fraction(11, 10)}
LEAKAGE = ("epsilon", "eta", "rho", "mu", "rate")


def accountant(*events):
    sampled = any(isinstance(part, ADD_REMOVE) for event in events for part in ev.walk(event))
    return Accountant(Plan(Relation.ADD_REMOVE if sampled else Relation.REPLACE_ONE, events))


def meets(a, b, slack=Fraction(1, 1000)):
    """Say whether two enclosures of one number can both hold; upper bounds alone must be close."""
    if a.lower is None or b.lower is None:
        return abs(float(a.upper) - float(b.upper)) <= slack * max(1, float(b.upper))
    return a.lower <= b.upper and b.lower <= a.upper


def test_every_event_has_a_sample():
    assert set(SAMPLES) == set(ev.VOCABULARY)


@pytest.mark.parametrize("name", NAMES)
def test_a_count_is_that_many_events(name):
    event = SAMPLES[name]
    counted, listed = accountant(replace(event, count=3)), accountant(event, event, event)
    assert meets(counted.epsilon("1e-5", "1e-4"), listed.epsilon("1e-5", "1e-4"))


@pytest.mark.parametrize("name", NAMES)
def test_order_does_not_matter(name):
    event, other = SAMPLES[name], ev.Laplace(scale=5)
    assert meets(
        accountant(event, other).epsilon("1e-5", "1e-3"), accountant(other, event).epsilon("1e-5", "1e-3")
    )


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("tree", "matrix_factorisation")])
def test_splitting_a_cover_does_not_matter(name):
    event = SAMPLES[name]
    whole = accountant(replace(event, cover=(1, 10))).epsilon("1e-5", "1e-4")
    split = accountant(replace(event, cover=(1, 4)), replace(event, cover=(5, 10))).epsilon("1e-5", "1e-4")
    assert meets(whole, split)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("tree", "matrix_factorisation")])
def test_parallel_covers_cost_the_worst_one(name):
    event = SAMPLES[name]
    small, large = replace(event, cover=(1, 3)), replace(event, cover=(4, 9), count=2)
    worst = accountant(small, large).worst_epsilon("1e-5", "1e-4")
    assert worst.unit == 4
    assert meets(worst.bounds, accountant(replace(event, count=2)).epsilon("1e-5", "1e-4"))


@pytest.mark.parametrize("name", NAMES)
def test_more_noise_never_costs_more(name):
    event = SAMPLES[name]
    noisier = None
    for key, factor in NOISE.items():
        if hasattr(event, key):
            noisier = replace(event, **{key: getattr(event, key) * factor})
    for key in LEAKAGE:
        if noisier is None and hasattr(event, key):
            noisier = replace(event, **{key: getattr(event, key) * Fraction(10, 11)})
    if noisier is None:
        pytest.skip("no single parameter")
    less, more = accountant(noisier).epsilon("1e-5"), accountant(event).epsilon("1e-5")
    assert (less.lower or 0) <= more.upper
    assert less.upper <= more.upper


@pytest.mark.parametrize("name", NAMES)
def test_a_sequence_costs_no_less_than_a_part(name):
    event = SAMPLES[name]
    part = accountant(event).epsilon("1e-5", "1e-4")
    whole = accountant(event, ev.Gaussian(sigma=50)).epsilon("1e-5", "1e-4")
    assert whole.upper >= (part.lower or 0)


@pytest.mark.parametrize("name", NAMES)
def test_delta_of_epsilon_comes_back(name):
    both = accountant(SAMPLES[name])
    found = both.epsilon("1e-5", "1e-6")
    if found.upper < math.inf:
        back = both.delta(found.upper, "1e-6")
        assert (back.lower or 0) <= Fraction(1, 10**5)
        assert back.upper <= Fraction(1, 10**5) * Fraction(1001, 1000)


@pytest.mark.parametrize("name", NAMES)
def test_extremes_are_exact(name):
    both = accountant(SAMPLES[name])
    assert both.epsilon(1).upper == 0
    assert both.epsilon(0).upper >= (both.epsilon("1e-5").lower or 0)
    assert both.delta(0).upper <= 1


@settings(max_examples=12, deadline=None)
@given(
    st.lists(
        st.sampled_from(["gaussian", "laplace", "pure", "gdp", "approximate", "tree"]), min_size=1, max_size=4
    ),
    st.integers(1, 5),
    st.sampled_from(["1e-12", "1e-5", "0.01"]),
)
def test_mixtures_are_monotone_and_consistent(names, count, delta):
    chosen = [replace(SAMPLES[name], count=count) for name in names]
    whole, part = accountant(*chosen).epsilon(delta), accountant(*chosen[1:]).epsilon(delta)
    assert whole.upper >= part.lower
    assert meets(whole, accountant(*reversed(chosen)).epsilon(delta))


@pytest.mark.statistical  # fails by chance with probability below 1e-6 (five standard deviations)
@pytest.mark.parametrize(
    ("events", "draw"),
    [
        ((ev.Gaussian(sigma=2, count=3),), lambda rng, n: rng.normal(3 / 8, math.sqrt(3 / 4), n)),
        (
            (ev.Laplace(scale=2, count=4),),
            lambda rng, n: sum((abs(x - 1) - abs(x)) / 2 for x in rng.laplace(0, 2, (4, n))),
        ),
        (
            (ev.PoissonSubsampled(rate="0.25", of=ev.Gaussian(sigma=1), count=3),),
            lambda rng, n: sum(
                np.log1p(0.25 * np.expm1(x - 0.5))
                for x in rng.normal(0, 1, (3, n)) + (rng.random((3, n)) < 0.25)
            ),
        ),
    ],
)
def test_simulated_likelihood_ratios_agree(events, draw):
    loss = draw(np.random.default_rng(7), 400_000)
    for at in (0.1, 0.7, 1.5):
        gain = np.maximum(0, -np.expm1(at - loss))
        found = accountant(*events).delta(Fraction(at))
        error = 5 * gain.std() / math.sqrt(gain.size) + 1e-9
        assert float(found.lower) - error <= gain.mean() <= float(found.upper) + error
