"""A single release under Gaussian DP: its pair, enumerated, lies below the Gaussian curve and touches it."""

from fractions import Fraction
from itertools import permutations

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.accounting import gdp_of_plan
from dpaccount.numerics import domination
from dpaccount.numerics.closed.gaussian import mu_squared
from dpaccount.pairs.of_events import composition_of
from dpaccount.plan import events
from tests.depth import deep, examples
from tests.dpaccount.numerics.gaussian_curve import gaussian_delta, real
from tests.looped import looped

LOSSES = ["1/1000", "1/20", "1/2", "1", "3", "12", "60"]
DIGITS = 80
NOTHING = mpmath.mpf(10) ** -60


def mu_of(event):
    return mpmath.sqrt(real(event.mu_squared()))


def response(loss, k):
    """Return the pair of two truths among k answers: all that are neither are one outcome."""
    weight = mpmath.exp(loss)
    total = weight + k - 1
    return [one / total for one in (weight, 1, k - 2)], [one / total for one in (1, weight, k - 2)]


def geometric(step, moved):
    """Return the pair of noise moved by so many steps: all below 0 and all from `moved` on are one outcome each."""
    ratio = mpmath.exp(-step)
    middle = (1 - ratio) / (1 + ratio)
    tail = 1 / (1 + ratio)  # of 0 and more
    first = [tail, *(middle * ratio**x for x in range(1, moved)), tail * ratio**moved]
    return first, first[::-1]


def laplace(loss, epsilon):
    """Return δ(ε) of Laplace noise, by its tails: the likelihoods' ratio falls from e^ε₀ to e^{−ε₀}."""
    if epsilon >= loss:
        return mpmath.mpf(0)
    if epsilon <= -loss:
        return 1 - mpmath.exp(epsilon)
    place = (loss - epsilon) / 2  # of the noise where the ratio is e^ε, 0 … loss
    return 1 - mpmath.exp(-place) / 2 - mpmath.exp(epsilon) * mpmath.exp(place - loss) / 2


def divergence(pair, epsilon):
    return sum(max(a - mpmath.exp(epsilon) * b, 0) for a, b in zip(*pair, strict=True))


def grid(loss):
    return [loss * step / 24 for step in range(-26, 27)]


def curves(loss, kind):
    """Return δ(ε) of a pair in either direction and the event, for the release that `kind` names."""
    name, size = kind
    if name == "laplace":
        event = events.Laplace(scale=1, sensitivity=loss)
        return [lambda at: laplace(real(loss), at)], event
    if name == "response":
        pair, event = response(real(loss), size), events.RandomizedResponse(epsilon=loss, k=size)
    else:
        scale = size / Fraction(loss)
        pair = geometric(1 / real(scale), size)
        event = events.DiscreteLaplace(scale=scale, sensitivity=size)
    return [lambda at: divergence(pair, at), lambda at: divergence(pair[::-1], at)], event


KINDS = [
    ("laplace", 0),
    *(("response", k) for k in (2, 3, 10, 1000)),
    *(("geometric", moved) for moved in (1, 2, 3, 4, 7, 24)),
]


@deep(quick_every=8)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_curve_of_the_pair_lies_below_the_gaussian_one_in_both_directions(loss, kind):
    with mpmath.workdps(DIGITS):
        directions, event = curves(loss, kind)
        mu = mu_of(event)
        for at in grid(real(loss)):
            for delta in directions:
                assert delta(at) <= gaussian_delta(mu, at) + NOTHING


@deep(quick_every=3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_smaller_mu_is_refuted(loss, kind):
    """The twin: a millionth less, and the pair shows it at the slope that the Gaussian curve has at its corner."""
    with mpmath.workdps(DIGITS):
        directions, event = curves(loss, kind)
        smaller = mu_of(event) * (1 - mpmath.mpf(10) ** -6)
        at = slope(smaller, corner(real(loss), *kind))
        assert any(delta(at) > gaussian_delta(smaller, at) for delta in directions)


def slope(mu, alpha):
    """Return ε where the Gaussian trade-off function has slope −e^ε: at errors of the first kind `alpha`."""
    return mu * quantile(1 - alpha) - mu**2 / 2


def quantile(p):
    return -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * p)


def corner(loss, name, size):
    """Return the errors of the first kind where the pair needs most."""
    if name == "laplace":
        return mpmath.exp(-loss / 2) / 2
    if name == "response":
        return 1 / (mpmath.exp(loss) + size - 1)
    step = loss / size
    tail = 1 / (1 + mpmath.exp(-step))
    errors = [tail * mpmath.exp(-step * t) for t in range(1, size + 1)]
    return max(
        zip(errors, errors[::-1], strict=True), key=lambda both: sum(quantile(1 - one) for one in both)
    )[0]


@deep(quick_every=9)
@pytest.mark.parametrize("kind", [*KINDS, ("response", 10**12), ("response", 10**13)])
@pytest.mark.parametrize("loss", [*LOSSES, "1e-14", "250"])
def test_it_is_rounded_up(loss, kind):
    """Against 200 digits, of which the program computes fewer; more answers than 10^12 pay for so many."""
    name, size = kind
    with mpmath.workdps(200 + 30 * (loss == "1e-14")):
        exact = corner(real(loss), name, min(size, 10**12))
        other = {"laplace": exact, "response": exact * (min(size, 10**12) - 1)}.get(name)
        if other is None:  # of geometric noise the product of the errors is known
            step = real(loss) / size
            other = mpmath.exp(-step * (size + 1)) / (1 + mpmath.exp(-step)) ** 2 / exact
        needed = (upper_point(exact) + upper_point(other)) ** 2
        found = real(curves(loss, kind)[1].mu_squared())
        assert needed <= found <= needed * (1 + mpmath.mpf(10) ** -15)


def upper_point(error):
    """Return Φ⁻¹(1 − error), by Newton's steps in logarithms from doubles or from the tail's size."""
    z = mpmath.sqrt(-2 * mpmath.log(error)) if error < mpmath.mpf("0.01") else mpmath.mpf(0)
    for _ in range(60):
        tail = mpmath.erfc(z / mpmath.sqrt(2)) / 2
        step = mpmath.log(tail / error) * tail / mpmath.npdf(z)
        z += step
        if abs(step) < mpmath.mpf(10) ** (20 - mpmath.mp.dps):
            return z
    raise AssertionError("Newton's steps do not end")


@deep
@examples(100, 300)
@given(
    loss=st.one_of(
        st.fractions(Fraction(1, 10**6), 499), st.fractions(Fraction(1, 10**15), Fraction(1, 10**9))
    ),
    more=st.fractions(0, 1),
    kind=st.sampled_from([*KINDS, ("response", 10**6)]),
)
def test_it_is_never_dearer_than_pure_and_grows_with_the_loss(loss, more, kind):
    def square(at):
        return curves(at, kind)[1].mu_squared()

    assert 0 < square(loss) <= mu_squared(loss)
    assert square(loss) <= square(loss + more) * (1 + Fraction(1, 2**50))  # both are rounded up


@deep
@examples(100, 300)
@given(st.fractions(Fraction(1, 100), 30), st.integers(1, 40))
def test_it_grows_with_the_move_and_is_between_pure_and_laplace(scale, moved):
    def square(by):
        return events.DiscreteLaplace(scale=scale, sensitivity=by).mu_squared()

    limit = events.Laplace(scale=scale, sensitivity=moved).mu_squared()
    assert limit <= square(moved) * (1 + Fraction(1, 2**50))
    assert square(moved) <= square(moved + 1)


@deep(quick_every=4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["1/20", "1", "12"])
def test_a_second_program_finds_the_same(loss, kind):
    """The search for the least μ² above a certified curve, which knows no formula."""
    _, event = curves(loss, kind)
    pairs = composition_of([(event, 1)]).pairs
    found = domination.least(*gdp_of_plan._curve(pairs), mu_squared(Fraction(loss)))
    assert event.mu_squared() * (1 - Fraction(1, 10**9)) <= found <= event.mu_squared() * Fraction(102, 100)


@deep
@examples(100, 100)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=4), st.sampled_from(["1/4", "1", "5"]), st.data())
def test_permute_and_flip_lies_below_it(scores, epsilon, data):
    """Exactly evaluated: all orders of the candidates, against scores that moved by at most 1."""
    moved = [score + data.draw(st.integers(-1, 1)) for score in scores]
    with mpmath.workdps(30):
        rate = real(epsilon)
        pair = chosen(scores, rate), chosen(moved, rate)
        mu = mu_of(events.PermuteAndFlip(epsilon=epsilon))
        for at in grid(rate):
            assert divergence(pair, at) <= gaussian_delta(mu, at) + mpmath.mpf(10) ** -20


@looped("epsilon", ["1/4", "1", "5"])
def test_permute_and_flip_needs_as_much(epsilon):
    """The twin: two candidates that change places show a millionth less to be too little."""
    with mpmath.workdps(30):
        pair = chosen([0, 1], real(epsilon)), chosen([1, 0], real(epsilon))
        mu = mu_of(events.PermuteAndFlip(epsilon=epsilon))
        assert divergence(pair, 0) <= gaussian_delta(mu, mpmath.mpf(0)) + mpmath.mpf(10) ** -20
        assert divergence(pair, 0) > gaussian_delta(mu * (1 - mpmath.mpf(10) ** -6), mpmath.mpf(0))


@deep
@examples(100, 200)
@given(st.integers(1, 20), st.integers(1, 20), st.sampled_from(["1/10", "1", "6"]), st.sampled_from([2, 10]))
def test_a_sample_costs_no_more_than_the_whole_and_no_more_than_its_epsilon(size, more, epsilon, k):
    for of in (events.RandomizedResponse(epsilon=epsilon, k=k), events.Laplace(scale=1, sensitivity=epsilon)):
        drawn = events.SampledWithoutReplacement(size=size, population=size + more, of=of)
        poisson = events.PoissonSubsampled(rate=Fraction(size, size + more), of=events.Laplace(scale=2))
        for event in (drawn, poisson):
            assert event.mu_squared() <= min(event.of.mu_squared(), mu_squared(event.pure()))


def chosen(scores, epsilon):
    """Return the chance of each candidate (McKenna & Sheldon 2020, algorithm 1)."""
    heads = [mpmath.exp(epsilon * (score - max(scores)) / 2) for score in scores]
    found = [mpmath.mpf(0)] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = mpmath.mpf(1) / len(orders)
        for one in order:
            found[one] += left * heads[one]
            left *= 1 - heads[one]
    return found


def test_extremes_keep_the_bound_of_pure():
    for loss in ("1e-302", "501", "1e300"):
        for event in (
            events.Laplace(scale=1, sensitivity=loss),
            events.PermuteAndFlip(epsilon=loss),
            events.RandomizedResponse(epsilon=loss, k=7),
            events.DiscreteLaplace(scale=3 / Fraction(loss), sensitivity=3),
        ):
            assert event.mu_squared() <= 8 * event.pure()
            assert event.mu_squared() == mu_squared(event.pure()) or event.pure() > 10**6
    many, most = (events.RandomizedResponse(epsilon=1, k=k).mu_squared() for k in (10**12, 10**40))
    assert many == most
    assert events.Laplace(scale=1, sensitivity=0).mu_squared() == 0
    assert events.DiscreteLaplace(scale=1, sensitivity=0).mu_squared() == 0
