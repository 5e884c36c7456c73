"""Each part of a bound alone, with its error term made dominant: dropping the term fails a test here."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpaccount.accounting import account
from dpaccount.accounting.methods import exact
from dpaccount.accounting.methods.answer import EpsilonAt
from dpaccount.numerics.closed import gaussian, laplace, renyi
from dpaccount.numerics.fourier import contours, fourier
from dpaccount.numerics.fourier.contours import Contour, Product
from dpaccount.numerics.fourier.discrete_transforms import DiscreteGaussianTransform
from dpaccount.numerics.fourier.fourier import Inversion
from dpaccount.numerics.fourier.sampled_gaussian import SampledGaussianTransform, TiltedSample
from dpaccount.numerics.fourier.sampled_laplace import SampledLaplaceTransform
from dpaccount.numerics.fourier.shifted_line import ShiftedLine
from dpaccount.numerics.intervals import accurate, ball, ceil_of, floor_of, precision
from dpaccount.numerics.lattice import composing, connect_dots, lattice
from dpaccount.numerics.lattice.excess import Excess
from dpaccount.numerics.lattice.lattice import Grid, Masses
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.discrete import DiscreteGaussianPair, GeometricPair, ResponsePair
from dpaccount.pairs.gaussian import GaussianPair
from dpaccount.pairs.laplace import LaplacePair
from dpaccount.pairs.poisson import SampledGaussian, SampledPair
from tests.depth import deep
from tests.looped import looped

STEP = Fraction(1, 3)


def exact_product(a, b):
    out = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return out


def curve_of(first, masses, infinite, x_of):
    return lambda x: infinite + sum(m * max(0, 1 - x / x_of(first + j)) for j, m in enumerate(masses))


def ninth(index):
    """Stand in for e^{jh} by (10/9)^j, so that curves compare exactly."""
    return Fraction(10, 9) ** index


@deep
@pytest.mark.parametrize(("bits", "tail"), [(2, 0), (6, 13), (8, 60)])
def test_products_enclose_at_few_digits_and_with_large_tails(bits, tail):
    unit = 2**bits
    grid = Grid(STEP, bits, tail)
    for seed in range(40):
        sizes = [(seed * 7 + 3 * j * j) % (unit // 2 + 1) for j in range(6)]
        infinite = seed % (unit // 2)
        sizes[2] += unit - min(unit, sum(sizes) + infinite)  # masses of a law, or more
        one = Masses(grid, Fraction(0), -3, lattice.fmpz_poly(sizes), infinite)
        found = lattice.compose(one, one)
        masses = [Fraction(int(m), unit) for m in one.masses.coeffs()]
        inf = Fraction(infinite, unit)
        whole = sum(masses) + inf
        true = curve_of(-6, exact_product(masses, masses), inf * whole + sum(masses) * inf, ninth)
        made = curve_of(
            found.first,
            [Fraction(int(m), unit) for m in found.masses.coeffs()],
            Fraction(found.infinite, unit),
            ninth,
        )
        added = Fraction(int(found.masses(1)) + found.infinite + found.moved, unit) - whole**2
        for k in range(-8, 9):
            x = ninth(k) * Fraction(11, 10)
            assert made(x) - added <= true(x) <= made(x)


def test_coarsening_raises_the_curve_by_no_more_than_its_spread_allows():
    grid = Grid(Fraction(1, 2), 10, 0)
    row = [(37 * j * j + 11 * j) % 200 for j in range(11)]
    row[5] += 1024 - sum(row) % 1024
    fine = Masses(grid, Fraction(0), -5, lattice.fmpz_poly([m * 1024 // sum(row) + 1 for m in row]))
    coarse = Excess(lattice.coarser(fine))
    for k in range(-30, 31):
        t = Fraction(k, 10)
        true = Excess(fine).highest(t)
        assert not coarse.highest(t) < true
        assert not coarse.lowest(t) > true


ONE = (Fraction(1), Fraction(1))
CURVES = {
    "laplace": (lambda t: laplace.delta_single(t, Fraction(1), 160), 1, True),
    "gaussian": (lambda t: gaussian.delta(t, ONE, 160), 5, False),
    "gaussian, cut": (lambda t: gaussian.delta_plain(t, ONE, 160), 2, False),
}


@deep(quick_every=2)
@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("step", [Fraction(1, 2), Fraction(1, 7), Fraction(1, 40)])
def test_a_law_spread_onto_nodes_encloses_its_curve_between_them(name, step):
    curve, span, bounded = CURVES[name]
    count = math.ceil(2 * span / step) + 1
    made = Excess(
        connect_dots.spread(curve, Grid(step, 60, 0), Fraction(-span), count, Fraction(0), bounded=bounded)
    )
    for k in range(-70, 71):
        t = Fraction(k, 10) + Fraction(1, 37)
        assert made.curve(t).overlaps(curve(t))
        assert not made.highest(t) < curve(t)
        assert not made.lowest(t) > curve(t)


@looped("step", [Fraction(5), Fraction(2), Fraction(3, 4), Fraction(1, 2), Fraction(2, 61)])
def test_laplace_masses_in_closed_form_connect_the_dots(step):
    loss, grid = Fraction(1), Grid(step, 80, 0)
    made = connect_dots.laplace(loss, grid)
    other = connect_dots.spread(
        lambda t: laplace.delta_single(t, loss, 160), grid, made.origin, made.size, Fraction(0), bounded=True
    )
    assert made.position(made.size - 1) == loss
    assert all(
        abs(int(a) - int(b)) <= 2 for a, b in zip(made.masses.coeffs(), other.masses.coeffs(), strict=True)
    )


def test_an_upper_curve_stays_below_its_lattice_of_which_nothing_is_known_from_below():
    made = Excess(
        connect_dots.above(
            lambda t: gaussian.delta(t, ONE, 160), Grid(Fraction(1, 3), 60, 0), Fraction(-3), 19
        )
    )
    for k in range(-40, 41):
        t = Fraction(k, 10)
        assert not made.highest(t) < gaussian.delta(t, ONE, 160)
        assert made.lowest(t) == 0


@looped("added", [False, True])
@looped("failing", [False, True])
def test_a_lattice_on_a_sample_encloses_the_curve_of_the_sample(added, failing):
    """The lattice of the inner pair, sampled, and the curve of the sampled pair share no code."""
    failures = ((Fraction(1, 100), 1),) if failing else ()
    inner = Composition(pairs=((LAPLACE, 1),), failures=failures)
    for rate in (Fraction(1, 10), Fraction(2, 3)):
        kind = SampledPair(rate, inner, added=added)
        exact = kind.curve(120)
        parts = (inner.reversed() if added else inner).without_failures().parts
        for step in (Fraction(1, 3), Fraction(1, 50)):
            grid = Grid(step, 80, 0)
            made = Excess(composing.on_sample(parts, inner.failure(), rate, grid, 60, added=added))
            for k in range(-30, 31):
                t = Fraction(k, 20)
                assert not made.highest(t) < exact(t)
                assert not made.lowest(t) > exact(t)


@deep
@looped(("many", "few"), [(100, 1), (1, 100), (30, 30)])
@looped("gaussian_loss", [Fraction(1, 50), Fraction(1)])
def test_lattices_with_one_step_and_with_a_step_for_each_pair_enclose_one_number(many, few, gaussian_loss):
    """Gaussian noise alone is known exactly; of both kinds of lattices the ends overlap."""
    target = Fraction(1, 10**6)
    gauss, other = GaussianPair((gaussian_loss, gaussian_loss)), LaplacePair(Fraction(1, 20))
    for parts in (((gauss, many),), ((gauss, many), (other, few))):
        ends = []
        for own in (False, True):
            step = composing.step_for(parts, 100, 60, own=own)
            ends.append(Excess(composing.compose(parts, step, -20.0, own=own)).epsilon(target, STEP / 10**6))
        assert max(low for low, _ in ends) <= min(high for _, high in ends)
        if len(parts) == 1:
            exact = gaussian.epsilon(target, (many * gaussian_loss,) * 2, Fraction(1, 10**9))
            assert all(low <= exact[1] and exact[0] <= high for low, high in ends)


@deep
@pytest.mark.parametrize("number", [10, 100])
def test_sums_of_many_unequal_laplaces_are_enclosed_closely(number):
    kinds = tuple((LaplacePair(1 / (Fraction(number) + Fraction(j, 5))), 1) for j in range(number))
    target = Fraction(1, 10**6)
    low, high = composing.epsilon(Composition(pairs=kinds), target, Fraction(1, 10**5))
    assert high - low <= Fraction(1, 10**5)
    for counted in (kinds[0], kinds[-1]):  # equal ones cost more, and less
        powers = laplace.TruncatedPowers(counted[0].loss, number)
        below, above = powers.epsilon(target, Fraction(1, 10**9), (Fraction(0), Fraction(4)))
        assert above > low if counted == kinds[0] else below < high


def gaussian_inversion(**changes):
    chosen = {
        "c": 3.4,
        "period": 10.0,
        "right": 8.0,
        "left": 3.0,
        "smooth": Fraction(0),
        "cut": 12.0,
        "bits": 100,
        "depth": 60.0,
    }
    return Inversion(Product((Fraction(1), Fraction(1)), ()), Contour(**{**chosen, **changes}))


@looped(
    "changes",
    [
        {"period": 3.0},  # aliases on both sides dominate
        {"period": 1.2, "c": 1.0},
        {"period": 2.0, "left": -1.0},  # the other bound on the left
        {"period": 2.0, "left": -0.5},
        {"cut": 2.0},  # truncation dominates
        {"cut": 0.7},
        {"smooth": Fraction(1, 4)},  # the excess of smoothing dominates
        {"smooth": Fraction(2)},
        {"bits": 20},
        {},
    ],
)
def test_inversion_encloses_the_gaussian_curve_whatever_dominates(changes):
    stored = gaussian_inversion(**changes)
    for at in (Fraction(1, 2), Fraction(3), Fraction(44, 10)):
        assert stored.curve(at).overlaps(gaussian.delta(at, (Fraction(1), Fraction(1)), 200))


def test_every_error_term_of_the_inversion_is_needed(monkeypatch):
    """Without aliases, truncation or excess the enclosure misses the truth somewhere above."""
    at, true = Fraction(3), gaussian.delta(Fraction(3), (Fraction(1), Fraction(1)), 200)
    zero = arb(0)
    cases = [({"period": 3.0}, "right"), ({"period": 3.0, "c": 1.0}, "left"), ({"cut": 1.0}, "tail")]
    for changes, part in cases:
        stored = gaussian_inversion(**changes)
        assert stored.curve(at).overlaps(true)
        monkeypatch.setattr(stored, part, zero)
        assert not all(
            stored.curve(x).overlaps(gaussian.delta(x, (Fraction(1), Fraction(1)), 200))
            for x in (Fraction(1, 2), Fraction(1), Fraction(2), at, Fraction(4))
        ), part
    stored = gaussian_inversion(smooth=Fraction(1, 4))
    monkeypatch.setattr(Inversion, "_excess", lambda *_: zero)
    assert not stored.curve(at).overlaps(true)


def test_quadrature_of_the_sampled_gaussian_is_enclosed_at_coarse_steps():
    law = TiltedSample(SampledGaussianTransform(Fraction(1, 10), Fraction(1)), arb(4))
    missed = 0
    with precision(200):
        fine = ShiftedLine.real(law).total()
    with precision(60):
        for step in (0.2, 0.6, 1.0, 1.4):
            line = ShiftedLine.at(law, (step, 0.0, 3.0), 40.0)
            assert line.total().overlaps(fine)
            rough = sum((weight for weight, _ in line.points()), arb(0))
            missed += not rough.overlaps(fine)
    assert missed  # the bare sum is off: the error term matters


@pytest.mark.parametrize("added", [False, True])
def test_decay_of_the_sampled_gaussian_holds_between_its_nodes(added):
    factor = SampledGaussianTransform(Fraction(1, 20), Fraction(1), added=added)
    with precision(80):
        decay = factor.decay(arb(3), 0.1)
        values = factor.nodes(arb(3), arb("0.0371"), 300)
        for n in range(3, 300, 7):
            assert not decay.far(n * arb("0.0371")) < abs(values[n]) / values[0].real


@deep
@looped("added", [False, True])
@looped(
    ("rate", "loss", "c"),
    [
        ("1/20", 2, 3),
        ("1/2", 12, 2),
        ("1/100", 8, 5),
        ("9/10", 1, "-0.5"),
        ("3/10", 20, 1),
        ("1/20", "1/2", 30),
    ],
)
def test_decay_of_the_sampled_laplace_holds_between_its_nodes(added, rate, loss, c):
    """And its parts by themselves, of which a bound is nearly attained."""
    factor = SampledLaplaceTransform(Fraction(rate), Fraction(loss), added=added)
    with precision(80):
        decay, values = factor.decay(arb(c), 0.1), factor.nodes(arb(c), arb("0.371"), 200)
        [(rest, v)] = factor.by_parts(arb(c))
        for n in range(1, 200, 3):
            size, t = abs(values[n]) / values[0].real, n * arb("0.371")
            assert not decay.far(t) < size
            assert not rest + v / t < size


def test_of_many_slow_decays_the_most_frequent_are_looked_at():
    samples = [SampledGaussianTransform(Fraction(1, 20), Fraction(1, n)) for n in range(1, 21)]
    counts = [50 if n % 3 == 0 else 1 for n in range(20)]
    quick = (LaplacePair(Fraction(1)).transform(), 1)
    parts = (*zip(samples, counts, strict=True), quick)
    kept = contours._decaying(parts)
    assert quick in kept
    assert [n for _, n in kept] == [50] * contours.MOST_DECAYS + [1]
    assert set(kept) <= set(parts)
    few = tuple(parts[: contours.MOST_DECAYS])
    assert contours._decaying(few) == few
    with precision(80):
        decays = contours.Decays(Product((Fraction(0), Fraction(0)), parts), arb(3), Fraction(0), 40.0)
        h, whole = arb("1.1"), [arb(1)] * 40
        for factor, count in parts:
            values = factor.nodes(arb(3), h, 40)
            whole = [a * (abs(v) / values[0].real) ** count for a, v in zip(whole, values, strict=True)]
        for n in range(1, 40, 4):
            assert not decays._product(n * h, near=False) < whole[n]
            assert not decays._product(n * h, near=True) < whole[n]


@looped(
    "factor",
    [
        LaplacePair(Fraction(1, 2)).transform(),
        ResponsePair(Fraction(1, 2)).transform(),
        ResponsePair(Fraction(1), 4).transform(),
        GeometricPair(Fraction(3), 20).transform(),
        DiscreteGaussianPair(Fraction(3), 2).transform(),
    ],
)
def test_decays_bound_the_transform(factor):
    from flint import acb

    with precision(120):
        c = arb("1.7")
        decay, whole = factor.decay(c, 1.0), factor.value(c)
        for k in range(1, 60):
            t = arb(k) / 13
            ratio = abs(factor.value(acb(c, t))) / whole
            assert not decay.far(t) < ratio
            end = decay.reach(t)
            if end is None or end > t:
                assert not decay.near(t) < ratio


@looped("epsilon", [Fraction(k, 8) for k in range(-1, 14)])
def test_parts_above_epsilon_are_those_that_count(epsilon):
    """Also where ε is the position of a part itself, and just beside it; checked against the law's lattice."""
    loss, count = Fraction(1, 2), 3
    known = composing.curve([(LaplacePair(loss), count)], 60)
    for at in (epsilon - Fraction(1, 10**6), epsilon, epsilon + Fraction(1, 10**6)):
        assert laplace.TruncatedPowers(loss, count).delta(at).overlaps(known(at))
        assert known(at).rad() < arb("1e-4")


@deep
@looped(("delta", "narrowest"), [("1e-2", 5), ("1e-4", 7), ("1e-8", 5)])
def test_wide_and_narrow_inversions_enclose_one_number(delta, narrowest):
    """Where few digits are sought, all bounds of what is left out matter."""
    target = Fraction(delta)
    total = Composition(
        pairs=(
            (LaplacePair(Fraction(2, 19)), 40),
            (LaplacePair(Fraction(1, 7)), 20),
            (LaplacePair(Fraction(1, 45)), 40),
        )
    )
    low, high = Fraction(0), Fraction(10**6)
    for gap in (Fraction(1, 20), Fraction(1, 1000), Fraction(1, 10**narrowest)):
        found = exact.by_inversion(total, EpsilonAt(target, gap))
        assert found is not None
        assert found.upper - found.lower <= gap * max(1, found.lower)
        low, high = max(low, found.lower), min(high, found.upper)
    assert low <= high
    below, above = composing.epsilon(total, target, Fraction(1, 10**4))
    assert below <= high
    assert low <= above


@looped("steps", [0, 1, 2, 4])
def test_dropped_laplace_terms_are_bounded(steps):
    with precision(200):
        wide = laplace._sum(Fraction(1, 3), Fraction(1, 2), 6, steps, 0)
        assert wide.overlaps(laplace._sum(Fraction(1, 3), Fraction(1, 2), 6, 6, 0))
        assert wide.rad() > arb(2) ** -60 or steps >= 6


@looped("first", [1, 2, 8, 15])
@looped("at", [Fraction(0), Fraction(1, 3), Fraction(-1, 4)])
def test_parts_of_laplaces_that_are_left_out_are_bounded(first, at):
    with precision(200):
        whole = laplace._sum(at, Fraction(1, 10), 32, 32, 0)
        wide = laplace._sum(at, Fraction(1, 10), 32, 32, first)
        assert wide.overlaps(whole)
        assert not (wide.mid() + whole.rad() + arb(2) ** -150).overlaps(whole)


def test_parts_of_laplaces_are_left_out_where_that_does_not_show():
    loss, count = Fraction(1, 50), 400
    steps = laplace._continuous_steps(count, loss, 100)
    first = laplace._first_part(count, loss, steps, 100)
    assert first > 20
    with precision(200):
        whole, part = (laplace._sum(Fraction(1), loss, count, steps, n) for n in (0, first))
        assert part.overlaps(whole)
        assert laplace._left_out(count, loss, steps, first) < arb(2) ** -100
        assert laplace._left_out(count, loss, steps, 0) == 0


def test_renyi_bounds_lie_above_the_curve():
    for rho in (Fraction(1, 50), Fraction(1, 2), Fraction(8)):
        mu2 = 2 * rho
        for target in (Fraction(1, 10**9), Fraction(1, 100)):
            above = renyi.epsilon(lambda order, rho=rho: ball(order * rho), target)
            low, high = gaussian.epsilon(target, (mu2, mu2), Fraction(1, 10**12))
            assert low <= high <= above <= high * Fraction(3, 2) + Fraction(1, 2)


def test_balls_that_decide_nothing_pass_no_test():
    nan = arb.nan()
    assert not nan < 1
    assert not nan >= 0
    with precision(53):
        third = ball(Fraction(1, 3))
        assert floor_of(third) < Fraction(1, 3) < ceil_of(third)
        assert math.isclose(float(third.mid()), 1 / 3)


LAPLACE, NOISE = LaplacePair(Fraction(1)), DiscreteGaussianPair(Fraction(3), 1)
PURE = ResponsePair(Fraction(1, 2))


def on_sample(rate, *kinds, failures=(), added=False):
    return SampledPair(
        Fraction(rate), Composition(pairs=tuple((kind, 1) for kind in kinds), failures=failures), added=added
    )


SAMPLES = {
    "Laplace": (on_sample("1/2", LAPLACE), 10, "1e-3"),
    "Laplace, added": (on_sample("1/10", LAPLACE, added=True), 10, "1e-4"),
    "noise": (on_sample("1/10", NOISE), 10, "1e-6"),
    "noise, added": (on_sample("1/10", NOISE, added=True), 10, "1e-6"),
    "noise and a response": (on_sample("1/5", NOISE, PURE), 5, "1e-4"),
    "a failing one": (on_sample("1/5", PURE, failures=((Fraction(1, 10**7), 1),)), 5, "1e-3"),
}


@pytest.mark.parametrize("name", SAMPLES)
@deep
def test_inversion_and_lattices_agree_on_samples(name):
    """Two ways that share nothing but the pair's curve enclose the same ε, the first one closely."""
    kind, count, delta = SAMPLES[name]
    total, target = Composition(pairs=((kind, count),)), Fraction(delta)
    assert total.transform() is None
    product = total.transform(summed=True)
    log_target = math.log(target)
    low, high = fourier.epsilon(product, target, log_target, Fraction(8, 10**7), 8.0)
    below, above = composing.epsilon(total, target, Fraction(1, 10**3))
    assert below <= high
    assert low <= above
    assert high - low <= Fraction(1, 10**6) * max(1, low)


def test_discrete_noise_repeats_at_high_frequencies():
    from flint import acb

    for sigma, shift in ((Fraction(5, 2), 1), (Fraction(5, 2), 3), (Fraction(1, 2), 1)):
        factor = DiscreteGaussianTransform(sigma, shift)
        with precision(150):
            for t in ("0.3", "20.7", "3001.7"):
                s = acb(arb("1.3"), arb(t))
                assert (factor.value(s) - factor._direct(s, 150)).abs_upper() < arb(2) ** -100


@deep
@pytest.mark.parametrize("kind", [LAPLACE, PURE, on_sample("1/3", LAPLACE), on_sample("1/3", PURE)])
def test_the_largest_loss_bounds_from_below(kind):
    total = Composition(pairs=((kind, 2),))
    for delta in ("1e-12", "1e-6", "1e-2"):
        found = account.epsilon(total, Fraction(delta), Fraction(1, 10**6)).bounds
        with precision(200):
            most, odds = total.peak()
            assert floor_of(most + (1 - ball(Fraction(delta)) / odds).log()) <= found.upper <= ceil_of(most)
        assert found.upper - found.lower <= Fraction(1, 10**6)


@deep
def test_a_tail_beside_a_heavy_atom_is_enclosed_from_below():
    """Where nearly all mass lies near 0, nothing is known of δ(0) but much of the tail."""
    kind = SampledGaussian(Fraction(1, 1000), Fraction(100, 9))
    total = Composition(pairs=((kind, 10),))
    low, high = composing.epsilon(total, Fraction(1, 10**6), Fraction(1, 100))
    assert 10 < low <= high <= low * Fraction(101, 100)


@deep
def test_a_tiny_delta_is_enclosed_from_both_sides():
    gauss = Composition((Fraction(1), Fraction(1)), ((PURE, 1),))
    low, high = composing.delta(gauss, Fraction(20), Fraction(1, 10))
    true = gaussian.delta(Fraction(20), (Fraction(1), Fraction(1)), 200)
    assert floor_of(true) < low <= high < Fraction(6, 5) * low


@deep
def test_points_of_a_renyi_curve_bound_it_by_the_least_chord(depth):
    rng = random.Random(depth.seed(8))
    for _ in range(200):
        points = tuple(
            (1 + Fraction(rng.randint(1, 40), 10), Fraction(rng.randint(0, 30), 10))
            for _ in range(rng.randint(1, 9))
        )
        known = [(Fraction(1), Fraction(0)), *((a, (a - 1) * bound) for a, bound in points)]
        for order in (1 + Fraction(rng.randint(1, 60), 10) for _ in range(5)):
            chords = [
                (u + (v - u) * (order - a) / (b - a)) / (order - 1)
                for a, u in known
                for b, v in known
                if a < order <= b
            ]
            assert renyi.hull_bound(renyi.hull_of(points), order) == min(chords, default=None)


@deep
@looped(("mu2", "rest"), [(25, Fraction(949, 10**18)), (64, Fraction(306, 10**17))])
def test_the_decay_of_a_sample_next_to_the_whole_holds(mu2, rest):
    """1 − rate is not what the nearest double of the rate leaves; its powers would show that."""
    power = 100.0
    factor = SampledGaussianTransform(1 - rest, Fraction(mu2), added=True)
    with precision(100):
        decay = factor.decay(arb(power), 30.0)
        u, mu, least = np.linspace(-20, 14, 100_001), math.sqrt(mu2), math.log(rest)
        log_z = np.logaddexp(least, math.log(1 - rest) + mu * u - mu * mu / 2)
        logs = -u * u / 2 - power * log_z
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        for t in (1.0, 10.0, 100.0, 1e3):  # below a turn of the phase between two nodes
            transform = abs((weights * np.exp(-1j * t * (log_z - least))).sum())
            assert transform <= float(decay.far(arb(t)).upper()) * (1 + 1e-3)


@pytest.mark.parametrize(("value", "most"), [(arb(1, 2**-40), 2), (arb(0, 1), 5), (arb(2), 1)])
def test_more_digits_are_tried_only_where_they_may_help(value, most):
    asked = []
    found = accurate(lambda: asked.append(0) or value.exp() - 1, 80)
    assert found.overlaps(value.exp() - 1)
    assert len(asked) == most


@pytest.mark.parametrize("bits", [80, 300, 900])
def test_the_gaussian_curve_is_accurate_far_out(bits):
    for at, mu in ((3, 2), (30, 1), (400, 3), (10**6, 40), (3, Fraction(1, 100)), (2 * 10**21, 10**10)):
        epsilon, mu2 = Fraction(at), Fraction(mu) ** 2
        with precision(4 * bits + 200):
            near, far = ((ball(epsilon) / ball(mu) + side * ball(mu) / 2) / arb(2).sqrt() for side in (-1, 1))
            peak, half = (-near * near).exp() / 2, arb(1) / 2
            tails = ((z * z).hypgeom_u(half, half) / arb.pi().sqrt() for z in (near, far))
            wanted = peak * (next(tails) - next(tails))  # e^{z²} erfc(z) = U(1/2, 1/2, z²)/√π, DLMF 7.11
            found = gaussian.delta(epsilon, (mu2, mu2), bits)
            assert found.overlaps(wanted)
            assert found.rel_accuracy_bits() >= bits
