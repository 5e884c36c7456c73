"""k units at once on Poisson samples of Gaussian noise: no group costs more than the mixtures."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaccount.accounting.accountant import Accountant
from dpaccount.numerics.intervals import precision
from dpaccount.pairs.of_events import group_compositions
from dpaccount.pairs.poisson import SampledGroup
from dpaccount.plan import events as ev
from dpaccount.plan.events import Plan, Relation

X = np.linspace(-40, 40, 80001)
STEP = X[1] - X[0]
RATES = st.sampled_from(["1/100", "1/5", "1/2", "19/20"])
ROUNDING = 1e-6  #: of sums over the line


def density(at):
    return np.exp(-((X - at) ** 2) / 2) / math.sqrt(2 * math.pi)


def mixed(units, rate, step):
    """Return the density of noise on `units` shifts of `step`, each there with probability `rate`."""
    density_sum = np.zeros_like(X)
    for i in range(units + 1):
        density_sum += math.comb(units, i) * rate**i * (1 - rate) ** (units - i) * density(i * step)
    return density_sum


def hockey_stick(p, q, t):
    return float(np.maximum(p - math.exp(t) * q, 0).sum() * STEP)


@settings(max_examples=60, deadline=None)
@given(RATES, st.sampled_from([0.1, 0.5, 1.5]), st.integers(0, 4), st.integers(0, 4), st.floats(-4, 4))
def test_the_curve_by_quadrature(rate, mu, there, gone, t):
    factor = SampledGroup(Fraction(rate), Fraction(str(mu)) ** 2, there, gone)
    at = Fraction(round(t, 3))
    truth = hockey_stick(
        mixed(there, float(Fraction(rate)), mu), mixed(gone, float(Fraction(rate)), -mu), float(at)
    )
    delta = factor.curve(60)(at)
    assert float(delta.lower()) - ROUNDING <= truth <= float(delta.upper()) + ROUNDING
    with precision(128):
        mirrored = (
            1 - math.exp(float(at)) + math.exp(float(at)) * float(factor.reversed().curve(128)(-at).mid())
        )
    assert float(delta.mid()) == pytest.approx(mirrored, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    RATES,
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 2 * math.pi), st.booleans()), min_size=2, max_size=3),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_no_vectors_of_a_group_cost_more(rate, rows, t):
    """Noise in the plane; each unit's vector has any length up to 1 and direction, and is in either dataset."""
    grid, q = np.linspace(-8, 8, 241), float(Fraction(rate))
    line = lambda at: np.exp(-((grid - at) ** 2) / 2) / math.sqrt(2 * math.pi)  # noqa: E731
    laws = []
    for side in (True, False):
        law = np.zeros((241, 241))
        own = [
            (length * math.cos(turn), length * math.sin(turn)) for length, turn, here in rows if here is side
        ]
        for chosen in itertools.product((0, 1), repeat=len(own)):
            chance = math.prod(q if bit else 1 - q for bit in chosen)
            x, y = (sum(bit * row[k] for bit, row in zip(chosen, own, strict=True)) for k in (0, 1))
            law += chance * np.multiply.outer(line(x), line(y))
        laws.append(law * (grid[1] - grid[0]) ** 2)
    most = 0.0
    for there in range(len(rows) + 1):
        factor = SampledGroup(Fraction(rate), Fraction(1), there, len(rows) - there)
        most = max(most, float(factor.curve(60)(Fraction(t)).upper()))
    assert max(np.maximum(a - math.exp(t) * b, 0).sum() for a, b in (laws, laws[::-1])) <= most + 1e-4


@settings(max_examples=30, deadline=None)
@given(
    RATES, st.sampled_from([0.3, 1.0]), st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.2, 1.0, 3.0])
)
def test_its_moments_bound_those_of_the_pair(rate, mu, there, gone, s):
    q = float(Fraction(rate))
    p, r = mixed(there, q, mu), mixed(gone, q, -mu)
    inside = np.abs(X) < 12  # the rest adds to the truth
    truth = (p[inside] ** (1 + s) * r[inside] ** -s).sum() * STEP
    factor = SampledGroup(Fraction(rate), Fraction(str(mu)) ** 2, there, gone)
    with precision(128):
        assert truth <= float(factor.moment(precise(s)).upper()) * (1 + 1e-6)


def precise(value):
    from flint import arb

    return arb(value)


def cost(k, count=1, rate="1/100", sigma=1, others=()):
    sample = ev.PoissonSubsampled(rate=rate, of=ev.Gaussian(sigma=sigma), count=count)
    return Accountant(Plan(Relation.ADD_REMOVE, (sample, *others)), k)


def test_the_ends_are_known_pairs():
    """One unit is the sampled Gaussian, one against one a replaced row, at rate 1 k units move k times as far."""
    one = cost(1).delta("0.3")
    group = SampledGroup(Fraction(1, 100), Fraction(1), 1, 0).curve(60)(Fraction(3, 10))
    assert float(one.upper) == pytest.approx(float(group.mid()), rel=1e-12)
    replaced = ev.PoissonReplaced(rate="1/100", of=ev.Gaussian(sigma=1))
    there = Accountant(Plan(Relation.REPLACE_ONE, replaced)).delta("0.3")
    both = SampledGroup(Fraction(1, 100), Fraction(1), 1, 1).curve(60)(Fraction(3, 10))
    assert float(there.upper) == pytest.approx(float(both.mid()), rel=1e-12)
    (whole,) = group_compositions((ev.PoissonSubsampled(rate=1, of=ev.Gaussian(sigma=2)),), 1)
    assert whole.mu2 == (Fraction(1, 4),) * 2


def test_a_group_costs_more_than_its_part_and_less_than_the_chain():
    costs = [cost(k).epsilon("1e-5") for k in (1, 2, 3, 4)]
    for less, more in itertools.pairwise(costs):
        assert less.upper < more.lower
    assert costs[3].upper < Fraction("1.0503")  # a chain of neighbours: 1.3444
    assert costs[3].upper - costs[3].lower < Fraction(1, 10**8)


def test_a_twin_that_counts_one_direction_alone_is_too_cheap():
    """Adding a unit costs another amount than removing one; the accountant takes the worse one."""
    factor = SampledGroup(Fraction(1, 2), Fraction(1), 2, 0)
    delta = cost(2, rate="1/2").delta("0.5")
    ways = [f.curve(60)(Fraction(1, 2)) for f in (factor, factor.reversed())]
    assert float(delta.upper) == pytest.approx(max(float(way.mid()) for way in ways), rel=1e-9)
    assert abs(float(ways[0].mid()) - float(ways[1].mid())) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(("k", "count"), [(2, 2), (3, 2), (2, 3)])
def test_several_samples_by_quadrature(k, count):
    """Two or three steps on a coarse line: all outcomes, all ways in which the group's units go and come."""
    rate, sigma, t = 0.2, 1.0, 0.5
    grid = np.linspace(-9, 9 + k, 181 if count == 2 else 61)
    width, most = grid[1] - grid[0], 0.0
    for there in range(k + 1):
        laws = []
        for units, way in ((there, 1), (k - there, -1)):
            weights = [math.comb(units, i) * rate**i * (1 - rate) ** (units - i) for i in range(units + 1)]
            law = sum(w * np.exp(-((grid - way * i / sigma) ** 2) / 2) for i, w in enumerate(weights))
            once = law * width / math.sqrt(2 * math.pi)
            whole = once
            for _ in range(count - 1):
                whole = np.multiply.outer(whole, once)
            laws.append(whole)
        most = max(most, float(np.maximum(laws[0] - math.exp(t) * laws[1], 0).sum()))
    delta = cost(k, count, "1/5").delta("0.5", "1e-2")
    assert float(delta.lower) <= most * (1 + 1e-2)
    assert most <= float(delta.upper) * (1 + 1e-3)
