"""k units at once on Poisson samples of Gaussian noise: no group costs more than the mixtures."""

import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.accounting import account
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.methods import exact
from dpaccount.accounting.methods.answer import EpsilonAt
from dpaccount.errors import InputError
from dpaccount.numerics.fourier.sampled_gaussian import float_grid
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.sampled_units import (
    SampledUnitsTransform,
    _inverse_roots,
    log_mixture,
    mixture_terms,
)
from dpaccount.numerics.work_budget import OutOfReach
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.of_events import group_compositions
from dpaccount.pairs.poisson import SampledGroup
from dpaccount.plan import events as ev
from dpaccount.plan.events import Plan, Relation
from tests.depth import deep, examples
from tests.seconds import within

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


@deep
@examples(60, 60)
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


@deep
@examples(25, 25)
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


@deep
@examples(30, 30)
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


@deep
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


@deep
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


# ------------------------------------------------------------------ a user of several examples


def user(examples, rate="1/5", sigma=1, count=1, of=None):
    event = ev.PoissonExamples(rate=rate, examples=examples, of=of or ev.Gaussian(sigma=sigma), count=count)
    return Accountant(Plan(Relation.ADD_REMOVE, event))


@examples(25)
@given(
    RATES,
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 2 * math.pi)), max_size=3),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_no_vectors_of_a_user_cost_more(rate, rows, t):
    """Up to three examples in the plane, of any lengths and directions; the user is removed, or added."""
    grid, q = np.linspace(-8, 8, 241), float(Fraction(rate))
    law = np.zeros((241, 241))
    for chosen in itertools.product((0, 1), repeat=len(rows)):
        chance = math.prod(q if bit else 1 - q for bit in chosen)
        moves = [(length * math.cos(turn), length * math.sin(turn)) for length, turn in rows]
        x, y = (sum(bit * row[k] for bit, row in zip(chosen, moves, strict=True)) for k in (0, 1))
        law += chance * np.multiply.outer(*(np.exp(-((grid - at) ** 2) / 2) for at in (x, y)))
    empty = np.multiply.outer(*[np.exp(-(grid**2) / 2)] * 2)
    width = (grid[1] - grid[0]) ** 2 / (2 * math.pi)
    ways = (law, empty), (empty, law)
    truth = max(np.maximum(a - math.exp(t) * b, 0).sum() * width for a, b in ways)
    assert truth <= float(user(3, rate).delta(str(t)).upper) + 1e-4


@pytest.mark.parametrize(("examples", "rate", "mu"), [(2, "1/2", 1.0), (5, "1/10", 0.5), (40, "1/100", 0.3)])
def test_examples_that_move_alike_attain_it(examples, rate, mu):
    """By quadrature, in the worse of both directions, at both signs of what is lost."""
    laws = mixed(examples, float(Fraction(rate)), mu), density(0)
    found = user(examples, rate, sigma=1 / Fraction(str(mu)))
    for t in (0.0, 0.2, 1.0):
        truth = max(hockey_stick(*pair, t) for pair in (laws, laws[::-1]))
        delta = found.delta(str(t))
        assert float(delta.lower) - ROUNDING <= truth <= float(delta.upper) + ROUNDING


ROUGH = "1e-2"  #: a gap that a coarse lattice reaches


@deep
@pytest.mark.parametrize("rate", [0, "1/5", 1])
def test_users_at_the_ends_are_known_events(rate):
    one = ev.PoissonSubsampled(rate=rate, of=ev.Gaussian(sigma=2), count=9)
    assert user(1, rate, 2, 9).epsilon("1e-5") == Accountant(Plan(Relation.ADD_REMOVE, one)).epsilon("1e-5")
    known = user(3, rate, 2, 9).epsilon("1e-5", ROUGH)
    if rate != "1/5":  # none, or all of them
        whole = ev.Gaussian(sigma=2, sensitivity=3 * rate, count=9)
        assert known == Accountant(Plan(Relation.ADD_REMOVE, whole)).epsilon("1e-5", ROUGH)
    assert user(3, rate, count=9, of=ev.Gdp(mu="1/2")).epsilon("1e-5", ROUGH) == known
    assert user(1, rate, 2, 9).epsilon("1e-5", ROUGH).lower <= known.upper


@deep
def test_a_user_costs_no_more_than_a_group_and_two_users_no_less_than_one_of_twice_as_many():
    found, group = (each.delta("0.2", ROUGH) for each in (user(2, "1/5", 2, 2), cost(2, 2, "1/5", 2)))
    assert found.lower <= group.upper
    both = Accountant(user(1, "1/5", 2, 2).plan, 2).delta("0.2", ROUGH)
    assert user(1, "1/5", 2, 2).delta("0.2").upper < found.upper <= both.upper


@deep
@pytest.mark.parametrize(("mu", "at", "count"), [(0.25, "0.05", 1), (0.5, "0.2", 2)])
def test_a_twin_of_one_example_that_is_drawn_more_often_is_too_cheap(mu, at, count):
    """As likely to be drawn as three are on average; that they may be drawn together costs more."""
    noise = 1 / Fraction(str(mu))
    twin = ev.PoissonSubsampled(rate="3/5", of=ev.Gaussian(sigma=noise), count=count)
    cheap = Accountant(Plan(Relation.ADD_REMOVE, twin)).delta(at).upper
    assert cheap < user(3, "1/5", noise, count).delta(at, "1e-2").lower
    laws = mixed(3, 0.2, mu), density(0)
    assert count > 1 or cheap < max(hockey_stick(*pair, float(at)) for pair in (laws, laws[::-1]))


@pytest.mark.parametrize(
    "wrong",
    [
        {"examples": 0},
        {"examples": 257},
        {"examples": "3/2"},
        {"rate": 2},
        {"of": ev.Laplace(scale=2)},
        {"of": ev.Sequence(of=(ev.Gaussian(sigma=2), ev.Pure(epsilon=1)))},
        {"of": ev.Gaussian(sigma=2, cover=(1, 3))},
    ],
)
def test_what_is_no_sample_of_examples_is_refused(wrong):
    with pytest.raises(InputError):
        ev.PoissonExamples(**({"rate": "1/5", "examples": 2, "of": ev.Gaussian(sigma=2)} | wrong))


def test_users_are_counted_under_add_remove_alone():
    with pytest.raises(InputError, match="no meaning under replace-one"):
        Plan(Relation.REPLACE_ONE, ev.PoissonExamples(rate="1/5", examples=2, of=ev.Gaussian(sigma=2)))


# ------------------------------------------------------------------ the transform of units in one dataset


@deep
@examples(20, 20)
@given(
    rate=st.sampled_from([0.001, 0.1, 0.5, 0.95]),
    mu=st.sampled_from([0.1, 1.0, 2.5]),
    units=st.sampled_from([1, 2, 5]),
    c=st.sampled_from([0.25, 1.0, 4.0]),
    added=st.booleans(),
)
def test_the_transform_is_the_integral(rate, mu, units, c, added):
    """Along a vertical line, by sums over the noise; at angles beyond π the logarithm goes on."""
    u = np.linspace(-40, 90, 130001)
    parts = [
        math.log(math.comb(units, i))
        + i * math.log(rate)
        + (units - i) * math.log1p(-rate)
        + i * mu * u
        - (i * mu) ** 2 / 2
        for i in range(units + 1)
    ]
    log_z = np.logaddexp.reduce(parts)
    factor = SampledUnitsTransform(Fraction(str(rate)), Fraction(str(mu)) ** 2, units, added=added)
    with precision(80):
        nodes = factor.nodes(arb(c), arb(3) / 4, 5)
    for n, node in enumerate(nodes):
        s = c + 0.75j * n
        log = (-s if added else 1 + s) * log_z - u * u / 2
        peak = log.real.max()  # its exponential may be beyond the floating-point range
        truth = np.exp(log - peak).sum() * (u[1] - u[0]) / math.sqrt(2 * math.pi)
        size = arb(peak).exp()
        assert abs(complex(node / size) - truth) <= 1e-9 * abs(complex(nodes[0] / size))
    assert factor.log_m(c, 1) == pytest.approx(float(nodes[0].real.log()), rel=1e-6, abs=1e-9)


@deep(quick_every=3)
@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(
    ("rate", "mu2", "units", "c"),
    [
        ("1/10", 1, 2, 5),
        ("256/60000", "1/64", 8, 9),
        ("1/2", 4, 3, 2),
        ("9/10", "1/9", 5, 1),
        ("1/100", 1, 1, 4),
    ],
)
def test_the_transform_falls_as_proved(rate, mu2, units, c, added):
    """Also by parts alone, as for one unit."""
    factor = SampledUnitsTransform(Fraction(rate), Fraction(mu2), units, added=added)
    with precision(64):
        h = arb(1) / 3
        nodes, proved, parts = (
            factor.nodes(arb(c), h, 120),
            factor.decay(arb(c), 20.0),
            factor.by_parts(arb(c)),
        )
        sizes = [abs(node) / nodes[0].real for node in nodes]
        for n in range(1, len(nodes), 7):
            bound = proved.far(n * h)
            assert not any(size > bound for size in sizes[n:])
            assert not any(sizes[n] > rest + v / (n * h) for rest, v in parts)
        assert proved.far(arb(10) ** 6) < 1


@examples(40)
@given(RATES, st.sampled_from(["1/10000", "1/9", 1, 9]), st.integers(1, 24))
def test_the_odds_of_units_are_products_of_odds_of_one(rate, mu2, units):
    """All roots of the polynomial are real and below 0, and together they give it back."""
    q, square = Fraction(rate), Fraction(mu2)
    with precision(128):
        roots = _inverse_roots(q, square, units, 128)
        assert len(roots) == units
        assert all(root > 0 for root in roots)
        for x in (arb("0.01"), arb(1), arb(50)):
            whole = (1 - ball(q)) ** units
            for root in roots:
                whole *= 1 + x * root
            assert whole.overlaps(mixture_terms(q, square, units, 128)[0](x))
            assert whole.rel_accuracy_bits() > 60


@deep
@pytest.mark.parametrize(("units", "mu2"), [(64, "1e-10"), (64, "1e-18"), (200, "1e-9")])
def test_roots_that_are_too_near_are_given_up_in_seconds(units, mu2):
    """To isolate them takes minutes, of which no work is counted."""
    begun = time.process_time()
    with pytest.raises(OutOfReach):
        _inverse_roots(Fraction(1, 100), Fraction(mu2), units, 160)
    assert within(time.process_time() - begun, 15)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("units", "rate"), [(40, "9/10"), (64, "1/2"), (3, "1/10")])
def test_estimates_are_numbers_where_some_unit_is_nearly_always_drawn(units, rate):
    """Far left the odds are (1 − q)^k, which 1 + (odds − 1) loses in rounding."""
    q, square = Fraction(rate), Fraction(1, 4)
    u, _, logs, _ = float_grid(SampledUnitsTransform(q, square, units).parts(), 1, 1)
    with precision(128):
        exact_logs = [float(log_mixture(q, square, units, (arb(x) / 2).exp())[0].mid()) for x in u[::50]]
    assert logs[::50] == pytest.approx(exact_logs, rel=1e-9, abs=1e-12)


@deep
def test_inversion_and_lattices_agree_and_many_units_fall_back_on_lattices():
    group = SampledGroup(Fraction(1, 5), Fraction(1, 4), 3, 0)
    total = Composition.of(group, 9)
    close = account.epsilon(total, Fraction(1, 10**5), Fraction(1, 10**6))
    assert close.method == "Fourier inversion"
    assert close.bounds.upper - close.bounds.lower < Fraction(1, 10**8)
    rough = exact.by_lattice(total, EpsilonAt(Fraction(1, 10**5), Fraction(1, 100)))
    assert rough.lower <= close.bounds.upper
    assert close.bounds.lower <= rough.upper
    assert SampledGroup(Fraction(1, 5), Fraction(1, 4), 65, 0).transform() is None
    assert SampledGroup(Fraction(1, 5), Fraction(1, 4), 2, 1).transform() is None
    assert group.reversed().transform() == group.transform().reversed()
