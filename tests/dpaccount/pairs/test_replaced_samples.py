"""One row of a Poisson sample is replaced: the pair dominates every two rows, its numbers hold, and no less does."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.training import Training, least_sigma
from dpaccount.errors import InputError
from dpaccount.numerics.fourier import fourier
from dpaccount.numerics.fourier.contours import Product
from dpaccount.numerics.fourier.replaced_gaussian import ReplacedGaussianTransform
from dpaccount.numerics.intervals import precision
from dpaccount.numerics.lattice import composing
from dpaccount.pairs.of_events import composition_of
from dpaccount.plan import events as ev
from dpaccount.plan.events import Plan, PoissonReplaced, PoissonSubsampled
from tests.depth import deep, examples
from tests.looped import looped

NOISES = {
    "gaussian": ev.Gaussian(sigma=1),
    "laplace": ev.Laplace(scale="1.3"),
    "discrete_laplace": ev.DiscreteLaplace(scale=1, sensitivity=2),
    "pure": ev.Pure(epsilon="0.8"),
}
X = np.linspace(-30, 30, 60001)


def cost(event, epsilon=None, delta=None, gap="1e-6"):
    accountant = Accountant(Plan("replace-one", event))
    return accountant.delta(epsilon, gap) if delta is None else accountant.epsilon(delta, gap)


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def mixed(rate, there, gone):
    return rate * there + (1 - rate) * gone


# ------------------------------------------------------------------ the pair dominates


def density(x, sigma=1.0):
    return np.exp(-(x**2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))


@deep
@examples(25, 25)
@given(
    rate=st.sampled_from([0.02, 0.1, 0.5, 0.9]),
    first=st.tuples(st.floats(0, 1), st.floats(0, 2 * math.pi)),
    second=st.tuples(st.floats(0, 1), st.floats(0, 2 * math.pi)),
    epsilon=st.sampled_from([0.0, 0.1, 0.5, 1.5]),
)
def test_no_two_rows_in_the_plane_cost_more(rate, first, second, epsilon):
    """Gaussian noise in two dimensions, rows of length at most 1 in any directions, by quadrature."""
    grid = np.linspace(-7, 7, 281)
    area = (grid[1] - grid[0]) ** 2
    rows = [(length * math.cos(turn), length * math.sin(turn)) for length, turn in (first, second)]
    gone = np.multiply.outer(density(grid), density(grid)) * area
    laws = [np.multiply.outer(density(grid - x), density(grid - y)) * area for x, y in rows]
    p, q = (mixed(rate, law, gone) for law in laws)
    most = cost(PoissonReplaced(rate=str(rate), of=NOISES["gaussian"]), str(epsilon)).upper
    assert hockey_stick(p, q, epsilon) <= float(most) + 1e-4


@deep
@pytest.mark.parametrize("moves", list(itertools.product((-1.0, -0.4, 0.0, 0.7, 1.0), repeat=2)))
def test_no_two_rows_on_the_line_cost_more(moves):
    step = X[1] - X[0]
    laws = {"gaussian": density, "laplace": lambda x: np.exp(-abs(x) / 1.3) / 2.6}
    for name, law in laws.items():
        for rate, epsilon in itertools.product((0.1, 0.6), (0, "0.2", 1)):
            p, q = (mixed(rate, law(X - v), law(X)) * step for v in moves)
            most = cost(PoissonReplaced(rate=str(rate), of=NOISES[name]), epsilon).upper
            delta = hockey_stick(p, q, float(epsilon))
            assert delta <= float(most) + 1e-5
            if moves == (1.0, -1.0):
                assert delta >= float(most) - 1e-5, "the worst rows attain it"


@deep
@examples(60, 60)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.5, 0.95]))
def test_no_mechanism_that_is_private_to_the_sample_costs_more(seed, rate):
    """Laws with the row, without it, and with another, each within e^ε of the second: one release and two."""
    rng, epsilon = np.random.default_rng(seed), 0.8
    gone = rng.dirichlet(np.ones(4))
    laws = [_within(rng, gone, epsilon) for _ in range(2)]
    p, q = (mixed(rate, law, gone) for law in laws)
    for count, pair in ((1, (p, q)), (2, (np.outer(p, p), np.outer(q, q)))):
        event = PoissonReplaced(rate=str(rate), of=NOISES["pure"], count=count)
        for at in (Fraction(0), Fraction(1, 10), Fraction(2, 5)):
            most = float(cost(event, at).upper)
            assert max(hockey_stick(*pair, float(at)), hockey_stick(*pair[::-1], float(at))) <= most + 1e-12


def _within(rng, gone, epsilon):
    """Return a law whose odds against `gone` are between e^−ε and e^ε, most of them at an end."""
    order = rng.permutation(len(gone))
    low, high = math.exp(-epsilon), math.exp(epsilon)
    odds = np.full(len(gone), low)
    for place in order:
        room = 1 - (odds * gone).sum()
        odds[place] += min(high - low, room / gone[place])
    return odds * gone


# ------------------------------------------------------------------ the numbers hold

#: dp_accounting 0.6.0, its PLD accountant under REPLACE_ONE: (rate, σ, steps, δ = 1e-5) and its ε.
THEIRS = [("1/10", 1, 1, 1.789154561, 1e-7), ("256/60000", "1.1", 14063, 4.22153, 1e-4)]


@deep
@pytest.mark.parametrize(("rate", "sigma", "count", "theirs", "slack"), THEIRS)
def test_beside_dp_accounting(rate, sigma, count, theirs, slack):
    ours = cost(PoissonReplaced(rate=rate, of=ev.Gaussian(sigma=sigma), count=count), delta="1e-5")
    assert ours.upper - ours.lower < Fraction(1, 10**12)
    assert ours.upper <= theirs <= float(ours.upper) + slack, "theirs rounds up"


@deep
@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("count", [1, 3])
def test_methods_intersect(name, count):
    """One curve, counted losses or an inversion, and the lattice, which knows nothing but the curve."""
    event = PoissonReplaced(rate="0.3", of=NOISES[name], count=count)
    delta = Fraction(1, 1000)
    ends = cost(event, delta=delta)
    low, high = composing.epsilon(composition_of([(event, 1)]), delta, Fraction(1, 100))
    assert low <= ends.upper
    assert ends.lower <= high


@deep
def test_an_inversion_and_the_curve_of_one_step_intersect():
    for rate, mu2 in (
        (Fraction(1, 10), Fraction(1)),
        (Fraction(1, 2), Fraction(4)),
        (Fraction(9, 10), Fraction(1, 9)),
    ):
        product = Product((Fraction(0), Fraction(1, 10**6)), ((ReplacedGaussianTransform(rate, mu2), 1),))
        low, high = fourier.epsilon(product, Fraction(1, 1000), math.log(1e-3), Fraction(1, 1000), 8.0)
        event = PoissonReplaced(
            rate=rate, of=ev.Gdp(mu=math.isqrt(36 * mu2.numerator // mu2.denominator) / Fraction(6))
        )
        assert event.of.mu**2 == mu2
        alone = cost(event, delta="1e-3")
        assert low <= alone.upper
        assert high >= alone.lower


@deep
@examples(12, 12)
@given(
    rate=st.sampled_from([0.001, 0.1, 0.5, 0.95]),
    mu=st.sampled_from([0.1, 1.0, 3.0]),
    c=st.sampled_from([-3.0, -0.5, -0.25, 0.0, 1.0, 7.5]),
)
def test_the_transform_is_the_integral(rate, mu, c):
    u = np.linspace(-40, 60, 40001)
    up, down = (np.log1p(rate * np.expm1(sign * mu * u - mu * mu / 2)) for sign in (1, -1))
    step = u[1] - u[0]
    factor = ReplacedGaussianTransform(Fraction(str(rate)), Fraction(str(mu)) ** 2)
    with precision(80):
        nodes = factor.nodes(arb(c), arb(3) / 4, 5)
        assert factor.value(arb(c)).overlaps(factor.value(arb(-1 - c)))
    for n, node in enumerate(nodes):
        s = c + 0.75j * n
        truth = np.exp((1 + s) * up - s * down - u * u / 2).sum() * step / math.sqrt(2 * math.pi)
        assert abs(complex(node) - truth) <= 1e-9 * abs(nodes[0])


@deep
@pytest.mark.parametrize(
    ("rate", "mu2", "c"), [("1/10", 1, 5), ("256/60000", "100/121", 12), ("1/2", 9, 2), ("9/10", 4, 1)]
)
def test_the_transform_falls_as_proved(rate, mu2, c):
    factor = ReplacedGaussianTransform(Fraction(rate), Fraction(mu2))
    with precision(64):
        h = arb(1) / 3
        nodes = factor.nodes(arb(c), h, 120)
        proved = factor.decay(arb(c), 20.0)
        sizes = [abs(node) / nodes[0].real for node in nodes]
        for n in range(1, len(nodes), 7):
            bound = proved.far(n * h)
            assert not any(size > bound for size in sizes[n:])
        assert proved.far(arb(10) ** 6) < 1


def convolved(mass, loss, count, at, step=2e-4, size=1 << 20):
    """Return δ of `count` releases from losses rounded down and up to a grid, by floats alone."""
    deltas = []
    for toward in (np.floor, np.ceil):
        row = np.bincount(toward(loss / step).astype(int) % size, weights=mass, minlength=size)
        whole = np.fft.ifft(np.fft.fft(row) ** count).real
        places = (np.fft.fftfreq(size) * size).round() * step
        deltas.append(float((whole * -np.expm1(np.minimum(at - places, 0))).sum()))
    return deltas


def laws():
    """Yield the noise with the masses and losses of a sample of rate 1/10, each written out anew."""
    rate, (u, width) = 0.1, (np.linspace(-12, 14, 200001), 26 / 200000)
    up, down = (1 + rate * np.expm1(sign * u - 0.5) for sign in (1, -1))
    yield "gaussian", density(u) * width * up, np.log(up / down)
    x = np.linspace(-30, 30, 600001)
    up, down = (1 + rate * np.expm1((abs(x) - abs(x - at)) / 1.3) for at in (1, -1))
    yield "laplace", np.exp(-abs(x) / 1.3) / 2.6 * (x[1] - x[0]) * up, np.log(up / down)
    x = np.arange(-60, 61)
    for name, scale, moved in (("discrete_laplace", 1, 2), ("pure", 1 / 0.8, 1)):
        up, down = (1 + rate * np.expm1((abs(x) - abs(x - at)) / scale) for at in (moved, -moved))
        yield name, np.exp(-abs(x) / scale) * math.tanh(0.5 / scale) * up, np.log(up / down)


@pytest.mark.parametrize("name", NOISES)
@deep
def test_many_releases_beside_a_convolution(name):
    mass, loss = next((mass, loss) for kind, mass, loss in laws() if kind == name)
    for count, at in ((10, "0.5"), (50, "2")):
        low, high = convolved(mass, loss, count, float(at))
        ends = cost(PoissonReplaced(rate="0.1", of=NOISES[name], count=count), at, gap="1e-3")
        assert low - 1e-6 <= ends.upper
        assert ends.lower <= high + 1e-6
        assert high - low < 0.1 * high + 1e-6


# ------------------------------------------------------------------ order


@examples(4, 4)
@given(
    name=st.sampled_from(sorted(NOISES)),
    rate=st.fractions(Fraction(1, 50), Fraction(9, 10), max_denominator=50),
    count=st.integers(1, 3),
)
@deep
def test_more_of_anything_costs_no_less(name, rate, count):
    """In q, in noise and in steps; and against a row that is only removed or added, at the same rate."""
    here = cost(PoissonReplaced(rate=rate, of=NOISES[name], count=count), delta="1e-4", gap="1e-2")
    more = NOISES[name].for_group(2)
    for worse in (
        PoissonReplaced(rate=rate * Fraction(11, 10), of=NOISES[name], count=count),
        PoissonReplaced(rate=rate, of=NOISES[name], count=count + 1),
        PoissonReplaced(rate=rate, of=more, count=count),
    ):
        assert here.lower <= cost(worse, delta="1e-4", gap="1e-2").upper
    single = Plan("add-remove", PoissonSubsampled(rate=rate, of=NOISES[name], count=count))
    assert Accountant(single).epsilon("1e-4", "1e-2").lower <= here.upper


@looped("name", NOISES)
def test_a_sample_that_holds_everybody_is_no_sample(name):
    whole = cost(PoissonReplaced(rate=1, of=NOISES[name]), delta="1e-3")
    assert whole == cost(NOISES[name].for_group(2), delta="1e-3")
    nearly = cost(PoissonReplaced(rate="999999/1000000", of=NOISES[name]), delta="1e-3")
    assert nearly.lower <= whole.upper
    assert float(whole.upper - nearly.lower) < 1e-3
    assert cost(PoissonReplaced(rate=0, of=NOISES[name]), delta=0).upper == 0


@looped("name", ["laplace", "discrete_laplace", "pure"])
def test_the_largest_loss_is_the_pure_one(name):
    event = PoissonReplaced(rate="0.3", of=NOISES[name])
    loss = float(NOISES[name].pure())
    most = math.log((0.7 + 0.3 * math.exp(loss)) / (0.7 + 0.3 * math.exp(-loss)))
    assert float(event.pure()) == pytest.approx(most, rel=1e-12)
    assert float(cost(event, delta=0).upper) == pytest.approx(most, rel=1e-12)


# ------------------------------------------------------------------ attacks


@deep
def test_an_attack_on_a_run_shows_no_more_and_would_catch_a_row_counted_once():
    """100,000 runs of 20 steps; the best test of the sum of losses, its δ less five deviations."""
    rate, sigma, steps, runs, at = 0.2, 1.0, 20, 100_000, 3.0
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(2, runs, steps))
    drawn = rng.random((2, runs, steps)) < rate
    seen = noise + drawn * np.array([1.0, -1.0])[:, None, None]
    up, down = (np.log1p(rate * np.expm1(sign * seen - 0.5)) for sign in (1, -1))
    loss = (up - down).sum(axis=2)
    there, back = (loss[0] > at).mean(), (loss[1] > at).mean()
    wrong = 5 * math.sqrt(there / runs) + math.exp(at) * 5 * math.sqrt(max(back, 1e-4) / runs)
    shown = there - math.exp(at) * back - wrong
    right = cost(PoissonReplaced(rate=str(rate), of=ev.Gaussian(sigma=str(sigma)), count=steps), str(at))
    once = Accountant(
        Plan("add-remove", PoissonSubsampled(rate=str(rate), of=ev.Gaussian(sigma=1), count=steps))
    )
    assert shown <= right.upper
    assert shown > once.delta(str(at)).upper, "a twin that counts one sensitivity is caught"


# ------------------------------------------------------------------ refused


@looped(
    ("of", "message"),
    [
        (ev.RandomizedResponse(epsilon=1), "no bound is known for randomized_response"),
        (ev.DiscreteGaussian(sigma=1), "no bound is known for discrete_gaussian"),
        (ev.Zcdp(rho=1), "no bound is known for zcdp"),
        (PoissonSubsampled(rate="0.1", of=ev.Gaussian(sigma=1)), "no bound is known for poisson_subsampled"),
        (ev.Laplace(scale=1, count=2), "several releases"),
        (ev.Sequence(of=(ev.Gaussian(sigma=1), ev.Pure(epsilon=1))), "several releases"),
    ],
)
def test_what_is_not_known_is_refused(of, message):
    with pytest.raises(InputError, match=message):
        PoissonReplaced(rate="0.1", of=of)


def test_the_other_relation_is_refused():
    with pytest.raises(InputError, match="poisson_replaced has no meaning under add-remove"):
        Plan("add-remove", PoissonReplaced(rate="0.1", of=ev.Gaussian(sigma=1)))
    with pytest.raises(InputError, match="use poisson_replaced"):
        Plan("replace-one", PoissonSubsampled(rate="0.1", of=ev.Gaussian(sigma=1)))


def test_several_gaussians_on_one_sample_are_one():
    both = ev.Sequence(of=(ev.Gaussian(sigma=3, count=2), ev.Gaussian(sigma=1, sensitivity="1/3", count=7)))
    one = PoissonReplaced(rate="0.1", of=ev.Gaussian(sigma=1))
    assert cost(PoissonReplaced(rate="0.1", of=both), delta="1e-5") == cost(one, delta="1e-5")


# ------------------------------------------------------------------ training


@deep
def test_a_run_under_replace_one():
    run = Training(60000, 256, "1.1", 14063, relation="replace-one")
    assert run.epsilon("1e-5") == cost(run.plan().events, delta="1e-5")
    assert "with respect to replacing one training example" in run.statement("1e-5")
    noise = least_sigma(run, 2, "1e-5")
    less = Training(60000, 256, noise.value * (1 - Fraction(1, 10**9)), 14063, relation="replace-one")
    assert noise.bounds.upper <= 2 < less.epsilon("1e-5").lower
    points = run.curve("1e-5", points=3)
    assert [steps for steps, _ in points] == [4687, 9375, 14063]
    assert all(b.upper - b.lower < Fraction(1, 10**12) for _, b in points)


@pytest.mark.parametrize(
    "wrong", [{"relation": "both"}, {"relation": "add-remove", "sampling": "fixed-size"}]
)
def test_a_run_under_no_relation_is_refused(wrong):
    with pytest.raises(InputError):
        Training(**{"examples": 10, "batch": 2, "sigma": 1, "steps": 3, **wrong})
