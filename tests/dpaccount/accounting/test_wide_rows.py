"""Plans whose answers were once uselessly wide: at most 1e-6 wide (relative above 1), but for three."""

from fractions import Fraction

import pytest

from dpaccount.accounting.accountant import Accountant
from dpaccount.numerics.bisection import solve
from dpaccount.numerics.intervals import ball, precision
from dpaccount.plan.events import (
    Approximate,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Gdp,
    Laplace,
    Plan,
    PoissonSubsampled,
    Pure,
    Rdp,
    SampledWithoutReplacement,
    Sequence,
)
from tests.depth import deep
from tests.looped import looped


def sample(rate, *of, count=1):
    return PoissonSubsampled(rate=rate, of=of[0] if len(of) == 1 else Sequence(of=of), count=count)


def noises(sigma, scale):
    return Gaussian(sigma=sigma), Laplace(scale=scale)


DISCRETE_BESIDE = DiscreteGaussian(sigma="10.2"), Gaussian(sigma="4.63")
ROWS = {  # events, δ, between what ε lies by other means (wide enclosures by lattices, formulas)
    "one step, little noise": ([sample(".01", Gaussian(sigma=".00544"))], "1e-12", (16884, 18131)),
    "δ at the failure mass": ([sample("1/2", Approximate(epsilon=1, delta="1e-6"))], "5e-7", (".62", ".621")),
    "a flat curve": (
        [sample(".001", DiscreteLaplace(scale=".0065"), count=4), Pure(epsilon=".406", count=4)],
        "1e-12",
        (442, "442.5"),
    ),
    "a thousand scales": (
        [Laplace(scale=1 + Fraction(k, 1000)) for k in range(1000)],
        "1e-6",
        ("286.868", "286.96"),
    ),
    "samples of samples that fail": (
        [sample(".1", sample("1/2", Approximate(epsilon=1, delta="1e-6")), count=10)],
        "1e-5",
        (".5", "2.5"),
    ),
}
MIXED = {
    "two sorts beside Laplaces": (
        [
            sample(".1", *noises("6.58", "7.98"), count=3),
            sample(".1", Gdp(mu=".248"), count=10**4),
            Laplace(scale="13.6", count=100),
        ],
        "1e-9",
        ("18.6995", "18.7051"),
    ),
    "a hundred thousand": ([sample(".001", *noises(1, 1), count=10**5)], "1e-6", (".0012", "3.12")),
    "three noises, a tiny δ": (
        [sample(".1", *noises(2, 4), DiscreteLaplace(scale=3), count=100)],
        "1e-30",
        ("11.3196", "11.32045"),
    ),
    "ten": ([sample(".1", *noises(1, 2), count=10)], "1e-6", ("1", "10")),
    "a billion rare ones": ([sample("1e-9", Gaussian(sigma=1), count=10**9)], "1e-9", ("0", "3e-4")),
    "wide: rare ones beside likely ones": (
        [sample("1e-4", Gdp(mu=".427"), count=10**6), sample(".9", *DISCRETE_BESIDE, count=100)],
        ".1", ("4.2579", "4.2582"), "1e-4",
    ),
    "wide: discrete beside continuous noise": (
        [sample(".9", *DISCRETE_BESIDE, count=100)], ".1", ("4.25656", "4.25659"), "2e-5",
    ),
    "very little noise": ([sample(".01", Gaussian(sigma=".3"), count=10)], "1e-6", ("18.1439", "18.14543")),
    "a rate that floats round to 1": (
        [sample(1 - Fraction(1, 10**17), Gaussian(sigma=1), count=5)], "1e-6", ("12.595246735506", "12.59525"),
    ),
    "wide: samples of samples and noise": (
        [sample(".1", sample(".5", Gaussian(sigma=1)), Laplace(scale=2), count=10)],
        "1e-6", ("2.5649", "2.5658"), "4e-4",
    ),
}  # fmt: skip


def narrow(events, delta, known, width="1e-6"):
    found = Accountant(events, relation="add-remove").epsilon(delta)
    assert found.upper - found.lower <= Fraction(width) * max(1, found.upper)
    assert Fraction(known[0]) <= found.lower <= found.upper <= Fraction(known[1])


@deep
@looped("name", ROWS)
def test_rows_are_narrow(name):
    narrow(*ROWS[name])


@deep
@pytest.mark.parametrize("name", MIXED)
def test_rows_of_mixed_noise_are_narrow(name):
    narrow(*MIXED[name])


@pytest.mark.parametrize("above", [1, -1])
def test_a_curve_flat_at_its_target_is_solved_at_its_own_precision(above):
    """Relative to the target it moves by 1e-70 at 3, from one side of it to the other."""
    target, little = Fraction(1, 10**12), Fraction(1, 10**70)

    def curve(at):
        with precision(400):
            x = ball(at)
            flat = (x - 3) * ball(little) if above > 0 else (x - 3) * ball(little) * 1000
            return ball(target) * (1 - flat)

    low, high = solve(curve, target, Fraction(0), Fraction(10), Fraction(1, 10**9))
    assert low < 3 <= high
    assert high - low <= Fraction(1, 10**9)


@deep
def test_a_chain_of_groups_has_work_left_for_all_its_questions():
    """It asks for δ at some thirty ε; the first ones took all the work, and ε came out as infinite."""
    bound = Rdp(points=[(2, Fraction(1, 10)), (8, Fraction(1, 2))])
    plan = Plan("replace-one", (SampledWithoutReplacement(size=1, population=5, of=bound),))
    single, group = (Accountant(plan, group=size).epsilon("0.01").upper for size in (1, 5))
    assert 5 * single < group < Fraction(11, 10)
