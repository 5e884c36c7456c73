"""Plans in Gaussian DP as one charge: against exact binomial curves, another method's, and μ that are too small."""

from fractions import Fraction
from math import comb
from unittest import mock

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.accounting import gdp_of_plan
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.gdp_of_plan import mu_squared, over_units
from dpaccount.accounting.measures import MEASURES
from dpaccount.numerics import domination
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.of_events import composition_of
from dpaccount.plan import events
from dpaccount.plan.events import DiscreteLaplace, Gaussian, Laplace, Pure, RandomizedResponse
from tests.depth import deep, examples
from tests.dpaccount.numerics.gaussian_curve import gaussian_delta, real
from tests.looped import looped

GDP, MILLIONTH = MEASURES["gdp"], Fraction(1, 10**6)


def binomial(loss, count):
    """Return ε ↦ the exact δ of `count` randomised responses of loss ±`loss`, for ε of either sign."""
    with mpmath.workdps(60):
        up = 1 / (1 + mpmath.exp(-mpmath.mpf(loss.numerator) / loss.denominator))
        points = [
            (loss * (2 * i - count), comb(count, i) * up**i * (1 - up) ** (count - i))
            for i in range(count + 1)
        ]

    def delta(at):
        return sum(mass * -mpmath.expm1(real(at - here)) for here, mass in points if here > at)

    return delta


def least_on_grid(delta, end, points=150):
    """Return the least μ that dominates at so many ε from −end to end."""
    found = mpmath.mpf("1e-9")
    for step in range(-points, points):
        epsilon = end * Fraction(step, points)
        height, at = delta(epsilon), real(epsilon)
        if gaussian_delta(found, at) >= height:
            continue
        low, high = found, 2 * found
        while gaussian_delta(high, at) < height:
            high *= 2
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if gaussian_delta(middle, at) >= height else (middle, high)
        found = high
    return found


@pytest.mark.parametrize(
    ("loss", "count", "apart"),
    [("1/100", 2, 0.002), ("1/100", 40, 0.002), ("1", 3, 0.01), ("3", 5, 0.01), ("1/2", 30, 0.002)],
)
@deep
def test_it_is_hardly_more_than_the_least_that_dominates_exact_binomial_curves(loss, count, apart):
    with mpmath.workdps(60):
        loss = Fraction(loss)
        ours = mpmath.sqrt(real(mu_squared([(Pure(epsilon=loss), count)])))
        least = least_on_grid(binomial(loss, count), loss * count)
        assert least <= ours <= least * (1 + mpmath.mpf(apart))


@deep
@examples(25, 25)
@given(loss=st.fractions("1/50", 3, max_denominator=50), count=st.integers(2, 12), factor=st.floats(0.7, 1.1))
def test_no_mu_is_accepted_that_lies_below_somewhere(loss, count, factor):
    """Every candidate, and not just the one that is returned: what is accepted dominates on a finer grid."""
    curve, end = gdp_of_plan._curve(composition_of([(Pure(epsilon=loss), count)]).pairs)
    tried = Fraction(factor) * mu_squared([(Pure(epsilon=loss), count)])
    accepted = domination.dominates(tried, curve, end)
    assert not (accepted and factor < 0.98)
    if accepted:
        delta = binomial(loss, count)
        with mpmath.workdps(60):
            mu = mpmath.sqrt(real(tried))
            for step in range(-60, 60):
                assert delta(end * Fraction(step, 60)) <= gaussian_delta(mu, real(end * Fraction(step, 60)))


def test_a_bump_between_two_cells_is_seen():
    """The twin: a curve that lies above the Gaussian one on a thousandth of the way, and nowhere else."""
    mu2, end = Fraction(1), Fraction(6)
    below = {Fraction(0): Fraction(38, 100)}

    def smooth(at):
        from dpaccount.numerics.closed.gaussian import delta
        from dpaccount.numerics.intervals import floor_of

        return below.get(at, floor_of(delta(at, (mu2, mu2))) * Fraction(99, 100)) if at < end else Fraction(0)

    def bumped(at):
        return smooth(at) * Fraction(102, 100) if abs(at - 2) < Fraction(1, 500) else smooth(at)

    assert domination.dominates(mu2, smooth, end)
    assert not domination.dominates(mu2, bumped, end)
    assert not domination.dominates(mu2 * Fraction(95, 100), smooth, end)


@pytest.mark.parametrize(
    "kinds",
    [
        [(Laplace(scale=100), 50)],
        [(Laplace(scale=1), 4)],
        [(Laplace(scale=3), 5), (Pure(epsilon="1/2"), 3)],
        [(RandomizedResponse(epsilon="1/2", k=5), 9), (DiscreteLaplace(scale=7, sensitivity=3), 4)],
    ],
)
@deep
def test_another_method_finds_no_epsilon_where_it_lies_below(kinds):
    """The accountant's lower ends (truncated powers, inversion, lattices) against the Gaussian curve."""
    mu2 = mu_squared(kinds)
    assert mu2 < sum(times * event.mu_squared() for event, times in kinds)
    account = Accountant([event * times for event, times in kinds])
    with mpmath.workdps(40):
        mu = mpmath.sqrt(real(mu2))
        for step in range(14):
            epsilon = Fraction(float(mu)) * Fraction(step, 2)
            lower = account.delta(epsilon).lower
            assert real(lower) <= gaussian_delta(mu, real(epsilon))
        # and a hundredth less is refuted at some ε
        assert any(
            real(account.delta(Fraction(float(mu)) * Fraction(step, 4)).lower)
            > gaussian_delta(mu * (1 - mpmath.mpf(1) / 100), mu * step / 4)
            for step in range(12)
        )


@pytest.mark.parametrize("count", [3, 60])
def test_the_curve_is_bounded_at_every_depth(count):
    """Where the lattice ends, Chernoff's bound goes on: never below the exact curve."""
    loss = Fraction(1, 2)
    bound, end = gdp_of_plan._curve(composition_of([(Pure(epsilon=loss), count)]).pairs)
    exact = binomial(loss, count)
    with mpmath.workdps(120):
        for step in range(80):
            assert real(bound(end * Fraction(step, 80))) >= exact(end * Fraction(step, 80)) * (
                1 - mpmath.mpf(10) ** -50
            )
    assert bound(end) == 0


def answers(event):
    """Return the chances of each answer under P and under Q; of Laplace noise in bins, whose curve lies below."""
    match event:
        case Pure(epsilon=loss):
            odds = [(loss, 0), (0, loss)]
        case RandomizedResponse(epsilon=loss, k=k):
            odds = [(loss, 0), (0, loss), *[(0, 0)] * (k - 2)]
        case Laplace(scale=scale):
            passed = [[noise_below((x - at) / scale) for at in (0, 1)] for x in (0, Fraction(1, 3), 1)]
            return [
                (above[0] - below[0], above[1] - below[1])
                for below, above in zip([[0, 0], *passed], [*passed, [1, 1]], strict=True)
            ]
    weights = [[mpmath.exp(real(Fraction(odd))) for odd in pair] for pair in odds]
    whole = sum(weight for weight, _ in weights)
    return [(p / whole, q / whole) for p, q in weights]


def noise_below(x):
    return mpmath.exp(real(x)) / 2 if x < 0 else 1 - mpmath.exp(-real(x)) / 2


def enumerated(kinds):
    """Return ε ↦ δ of all these events together, summed over every combination of their answers."""
    found = [(mpmath.mpf(1), mpmath.mpf(1))]
    for event, times in kinds:
        for _ in range(times):
            found = [(p * a, q * b) for p, q in found for a, b in answers(event)]
    return lambda epsilon: sum(max(0, p - mpmath.exp(real(epsilon)) * q) for p, q in found)


few = st.lists(
    st.tuples(
        st.builds(Pure, epsilon=st.fractions("1/10", 3, max_denominator=10))
        | st.builds(RandomizedResponse, epsilon=st.fractions("1/10", 3, max_denominator=10), k=st.just(3))
        | st.builds(Laplace, scale=st.fractions("1/3", 10, max_denominator=10)),
        st.integers(1, 2),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda one: one[0],
)


@deep
@examples(12, 12)
@given(few)
def test_what_is_charged_lies_above_every_combination_of_answers(kinds):
    """Of different losses, in both directions; the curve that was dominated as well, up to where it ends."""
    bound, end = gdp_of_plan._curve(composition_of(kinds).pairs)
    with mpmath.workdps(50):
        delta, mu = enumerated(kinds), mpmath.sqrt(real(mu_squared(kinds)))
        for step in range(-12, 13):
            epsilon = end * Fraction(step, 12)
            height = delta(epsilon) - mpmath.mpf(10) ** -45
            assert height <= gaussian_delta(mu, real(epsilon))
            assert step < 0 or height <= real(bound(epsilon))


covers = st.none() | st.tuples(st.integers(1, 6), st.integers(0, 4)).map(lambda p: (p[0], p[0] + p[1]))
pool = [
    Laplace(scale=10, count=3),
    Pure(epsilon="1/5"),
    Gaussian(sigma=30),
    events.Exponential(epsilon="1/3"),
]


@deep
@examples(40, 40)
@given(st.lists(st.tuples(covers, st.sampled_from(pool)), min_size=1, max_size=5))
def test_every_unit_pays_for_what_covers_it_and_for_nothing_else(pieces):
    """Against a list of the events of each unit; as many as there are, also where equal ones overlap."""
    found = over_units(pieces, GDP.cost)
    small = sum(event.count for _, event in pieces) < 2
    if small or not any(isinstance(event, Laplace | Pure) for _, event in pieces):
        assert found is None
        return
    assert [unit for unit, _ in found] == sorted({unit for unit, _ in found})
    for unit in range(1, 14):
        held = [event for cover, event in pieces if cover is None or cover[0] <= unit <= cover[1]]
        paid = [square for start, square in found if start <= unit][-1]
        assert paid == mu_squared([(event, held.count(event)) for event in set(held)])


@deep
@examples(15, 15)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    Laplace(scale=20),
                    Pure(epsilon="1/10"),
                    Pure(epsilon=2),
                    Gaussian(sigma=9),
                    events.Exponential(epsilon="1/3"),
                    RandomizedResponse(epsilon=1, k=4),
                ]
            ),
            st.integers(1, 8),
        ),
        min_size=1,
        max_size=3,
        unique_by=lambda one: one[0],
    )
)
def test_it_grows_with_the_events_and_is_at_most_their_sum(kinds):
    """But for the hundredth to which the least is found, and for what is not composed.

    One response of four answers is charged as ε by itself, and costs more than two of them together.
    """
    found = mu_squared(kinds)
    assert found <= sum(times * event.mu_squared() for event, times in kinds)
    less = [
        (event, times - (place == 0)) for place, (event, times) in enumerate(kinds) if times > (place == 0)
    ]
    if sum(times for event, times in less if gdp_of_plan._composes(event)) != 1:
        assert mu_squared(less) <= found * Fraction(101, 100)


def test_events_of_no_bounded_loss_are_added_up():
    """Bounded range and samples of Gaussians have their own bound, failures none."""
    sampled = events.PoissonSubsampled(rate="1/10", of=Gaussian(sigma=2))
    kinds = [(events.BoundedRange(eta=1), 7), (Gaussian(sigma=2), 3), (Pure(epsilon=1), 1), (sampled, 2)]
    assert mu_squared(kinds) == sum(times * event.mu_squared() for event, times in kinds)
    failing = events.Approximate(epsilon=1, delta=MILLIONTH)
    assert over_units([(None, failing), (None, Laplace(scale=1, count=9))], GDP.cost) is None
    with pytest.raises(TypeError):
        mu_squared([(failing, 2)])


@looped(
    "other",
    [
        Gaussian(sigma=5),
        events.BoundedRange(eta="1/2"),
        events.DominatingPair(p=("1/2", "1/4", "1/4"), q=("1/4", "1/4", "1/2")),
        events.PoissonSubsampled(rate="1/3", of=Pure(epsilon=1)),
    ],
)
def test_of_one_event_all_is_composed_or_nothing(other):
    """What is beside the pairs of a sequence is paid as well."""
    noise = Laplace(scale=10)
    both = events.Sequence(of=(other, noise))
    assert mu_squared([(both, 3)]) == 3 * both.mu_squared() > mu_squared([(noise, 3)])
    pairs = events.Sequence(of=(noise, noise))
    assert mu_squared([(pairs, 2)]) == mu_squared([(noise, 4)]) < 2 * pairs.mu_squared()


def test_a_gaussian_part_is_there_where_only_an_upper_bound_on_it_is_known():
    """Its lower bound may be 0; what is composed beside it would be all that is paid."""
    pairs = composition_of([(Pure(epsilon=1), 1)]).pairs
    for high, composes in ((0, True), (1, False)):
        found = Composition(mu2=(Fraction(0), Fraction(high)), pairs=pairs)
        with mock.patch.object(gdp_of_plan, "composition_of", return_value=found):
            assert gdp_of_plan._composes.__wrapped__(Pure(epsilon=1)) is composes


def test_what_is_too_much_work_is_added_up():
    assert over_units([(None, Laplace(scale=1))], GDP.cost) is None
    assert over_units([(None, Laplace(scale=1, count=10**5))], GDP.cost) is None
    many = [((unit, unit), Laplace(scale=unit)) for unit in range(1, 400)]
    assert over_units(many, GDP.cost) is None
    assert mu_squared([(Laplace(scale=10**10), 5)]) == Laplace(scale=10**10, count=5).mu_squared()
    assert mu_squared([(Pure(epsilon=30), 2)]) == Pure(epsilon=30, count=2).mu_squared()


@deep
@pytest.mark.parametrize(
    ("kinds", "rounds"),
    [
        ([Laplace(scale=100)], 561),  # exact composition: 564, a round a charge: 358
        ([Pure(epsilon="1/100")], 559),  # 562, 356
        ([Gaussian(sigma=50), Laplace(scale=100), Pure(epsilon="1/100")], 93),  # 93, 78
    ],
)
def test_how_many_rounds_fit_as_one_plan(kinds, rounds):
    for count, fits in ((rounds, True), (rounds + 1, False)):
        assert GDP.fits((mu_squared([(kind, count) for kind in kinds]),), Fraction(1), MILLIONTH) is fits
