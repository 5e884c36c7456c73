"""What is proved of the fall of many transforms together, against their values; and of the sum of squares."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb

from dpaccount.numerics.fourier import joint_decay
from dpaccount.numerics.fourier.contours import Decays, Product
from dpaccount.numerics.fourier.discrete_transforms import (
    DiscreteGaussianTransform,
    GeometricTransform,
    ResponseTransform,
)
from dpaccount.numerics.fourier.joint_decay import JointDecay, OwnDecay, joined
from dpaccount.numerics.fourier.sampled_gaussian import SampledGaussianTransform
from dpaccount.numerics.fourier.sampled_laplace import SampledLaplaceTransform
from dpaccount.numerics.fourier.transforms import LaplaceTransform
from dpaccount.numerics.intervals import precision
from dpaccount.pairs.of_events import _sum_by_halves
from tests.depth import deep
from tests.looped import looped

KINDS = ("irregular", "few", "lattice", "tiny", "wide")


def parts(seed, size):
    """Return so many random transforms of bounded losses, counted."""
    rng = random.Random(seed)
    found = {}
    while len(found) < size:
        loss = Fraction(rng.randint(1, 4000), 10**4)
        kind = rng.choice(["laplace", "pure", "response", "geometric"])
        found[
            LaplaceTransform(loss)
            if kind == "laplace"
            else GeometricTransform(2 / loss, 2)
            if kind == "geometric"
            else ResponseTransform(loss, 2 if kind == "pure" else 7)
        ] = rng.choice([1, 1, 2, 9])
    return tuple(found.items())


def size_at(known, c, t):
    """Return ∏|M(c + it)/M(c)|^n."""
    with precision(128):
        found = arb(1)
        for factor, count in known:
            found *= (abs(factor.value(acb(c, t))) / factor.value(arb(c))) ** count
        return float(found.upper())


@deep
@looped(("seed", "size", "c"), [(1, 8, 0.1), (2, 20, 2.0), (3, 60, 7.0), (4, 60, 0.01), (5, 30, 100.0)])
def test_the_table_bounds_the_product_from_each_point_on(seed, size, c):
    known, rng, end = parts(seed, size), random.Random(seed), 3000.0
    table = JointDecay(known, c, end)
    deviation = sum(n * factor.bound() ** 2 for factor, n in known) ** 0.5
    points = sorted(
        [rng.uniform(0, 40 / deviation) for _ in range(60)] + [rng.uniform(0, end) for _ in range(200)]
    )
    values = [size_at(known, c, t) for t in points]
    bounds = [float(table.near(arb(t)).upper()) for t in points]
    for k, bound in enumerate(bounds):
        assert max(values[k:]) <= bound, (points[k], bound)
    assert bounds == sorted(bounds, reverse=True)
    assert min(bounds) < 1e-2 or c > 50  # there nearly all of the law is at the largest losses
    assert table.near(arb(2 * end)) == 1


def losses(kind, rng):
    """Return (mass, loss) of one law: irregular, few, on a lattice, far apart, or all but equal."""
    size = {"few": 3, "lattice": 40}.get(kind, 500)
    scale = {"tiny": 1e-9, "wide": 300.0}.get(kind, 1.0)
    at = [k / 8 if kind == "lattice" else scale * rng.gauss(0, 1) for k in range(size)]
    return [(rng.random() ** 4, x) for x in at]


@deep
@looped(("kind", "depth"), [(kind, depth) for kind in KINDS for depth in (24.0, 0.2, 1e-5)])
def test_one_law_of_many_losses_is_bounded_from_each_point_on(kind, depth):
    rng = random.Random(kind)
    law = losses(kind, rng)
    with precision(96):
        table = OwnDecay([(arb(m), arb(x)) for m, x in law], depth)
    mass, at = (np.array([float(x) for x in row]) for row in zip(*law, strict=True))
    points = np.sort([table.end * rng.random() ** power for power in (1, 3, 8) for _ in range(150)])
    values = np.abs(np.exp(1j * np.outer(points, at)) @ (mass / mass.sum()))
    bounds = np.array([float(table.near(arb(t)).upper()) for t in points])
    assert (np.maximum.accumulate(values[::-1])[::-1] <= bounds + 1e-13).all()
    assert list(bounds) == sorted(bounds, reverse=True)
    assert table.far(arb(0)) == table.near(arb(2 * table.end)) == 1
    if kind not in ("few", "lattice"):  # they come back
        assert bounds[-1] < 0.5


def test_what_comes_back_between_two_nodes_counts():
    """Two losses: |φ| is 1 at every multiple of 2π, and the table has few points in a period."""
    for depth in (24.0, 13.7, 6.1):
        with precision(96):
            table = OwnDecay([(arb(1), arb(0)), (arb(1), arb(1))], depth)
        for turns in range(1, 9):
            last = 2 * math.pi * (table.end // (2 * math.pi) - turns)
            assert float(table.near(arb(last)).upper()) > 1 - 1e-9


def test_one_law_of_one_loss_does_not_fall():
    with precision(96):
        for at in (0, 5):
            assert OwnDecay([(arb(1), arb(at))], 3.0).near(arb(0)) > 1 - 1e-6


def test_some_pairs_bound_all(monkeypatch):
    known = parts(7, 80)
    whole = JointDecay(known, 1.0, 3000.0)
    monkeypatch.setattr(joint_decay, "MOST_VALUES", 2e5)
    some = JointDecay(known, 1.0, 3000.0)
    for t in np.linspace(1, 2900, 40):
        value = size_at(known, 1.0, float(t))
        assert value <= float(whole.near(arb(float(t)))) <= float(some.near(arb(float(t)))) * (1 + 1e-9)


def test_floats_are_within_the_slack():
    rng = random.Random(11)
    for factor, _ in parts(11, 60):
        c, t = rng.choice([0.01, 1.0, 30.0, 3000.0]), rng.uniform(0, 1e5)
        with precision(200):
            true = float((abs(factor.value(acb(c, t))) / factor.value(arb(c))) ** 2)
            squares, most = factor.squares(c, np.array([t])), factor.bound()
        assert squares[0] == pytest.approx(true, abs=joint_decay.FLOAT_SLACK / 10)
        assert most >= (factor.loss if isinstance(factor, LaplaceTransform) else factor.largest())


def samples(seed, size, *, rates=(1e-3, 0.5), sizes=(0.05, 3.0)):
    """Return so many samples of Laplace and Gaussian noise in one direction."""
    rng = random.Random(seed)
    added, found = rng.random() < 0.5, {}
    while len(found) < size:
        rate, much = (Fraction(round(1e4 * rng.uniform(*ends)), 10**4) for ends in (rates, sizes))
        kind = rng.choice([SampledLaplaceTransform, SampledGaussianTransform])
        if rate and much:
            found[kind(rate, much, added=added)] = rng.choice([1, 1, 2, 9])
    return tuple(found.items())


@deep
@looped(("seed", "c"), [(1, 0.1), (2, 3.0), (3, 1.0), (4, 0.01)])
def test_samples_of_noise_do_not_come_back(seed, c):
    """The table bounds what follows it too, at all frequencies."""
    known = samples(seed, 8, sizes=(1.5, 3.0))
    table = joint_decay.joint_decay(known, c, float("inf"))
    assert table.lasts
    assert table.reach(arb(1)) is None
    values = []
    for factor, count in known:
        step = arb(table.end) / 250
        with precision(128):
            row = factor.nodes(arb(c), step, 500)
            values.append([float((abs(value) / row[0].real).upper()) ** count for value in row])
    sizes = np.prod(values, axis=0)
    for k in range(100):
        assert max(sizes[k:]) <= float(table.near(k * step).upper()) == float(table.far(k * step).upper())
    assert float(table.far(arb(10 * table.end)).upper()) < 0.5


@deep
@looped("seed", range(6))
def test_squares_of_samples_are_values_and_then_bounds(seed):
    known, rng = samples(seed, 10, rates=(0.0001, 0.9999), sizes=(0.01, 12)), random.Random(seed)
    for factor, _ in known:
        c = rng.choice([0.01, 1.0, 30.0, 300.0]) / max(1.0, float(getattr(factor, "mu2", 1)))
        end = min(factor.settled(c), 200 / factor.deviation(c))
        times = np.sort(
            [rng.uniform(0, end) for _ in range(6)] + [end * rng.uniform(1, 20) for _ in range(6)]
        )
        found = factor.squares(c, times)
        exact = max(found) < 1
        for t, square in zip(times, found, strict=True):
            with precision(96):
                row = factor.nodes(arb(c), arb(float(t)), 2)
                true = float((abs(row[1]) / row[0].real) ** 2)
            assert true <= square + joint_decay.FLOAT_SLACK / 2
            resolved = getattr(factor, "_resolved", factor.settled)(c)
            assert (
                t >= resolved or not exact or square == pytest.approx(true, abs=joint_decay.FLOAT_SLACK / 2)
            )
        last = found[times >= factor.settled(c)]
        assert list(last) == sorted(last, reverse=True)
        with precision(200):
            step = arb(1) / 1000 / factor.deviation(c)
            here, up, down = (factor.value(arb(c) + d * step) for d in (0, 1, -1))
            bend = float(((up * down / here**2).log() / step**2).mid())
        assert bend <= factor.deviation(c) ** 2 * 1.001
        if isinstance(factor, SampledLaplaceTransform):
            assert factor.bound() >= np.log1p(float(factor.rate) * np.expm1(float(factor.loss))) * (1 - 1e-14)
    assert SampledLaplaceTransform(Fraction(1, 2), Fraction(800)).bound() is None


@deep
def test_of_many_unbounded_losses_some_are_enough():
    known = tuple((SampledGaussianTransform(Fraction(k, 400), Fraction(1)), 1 + k % 3) for k in range(1, 121))
    own, others = joined(known)
    assert len(own) <= joint_decay.MOST_UNBOUNDED
    assert set(own) < set(known)
    assert not others
    table = joint_decay.joint_decay(own, 1.0, float("inf"))
    assert table.lasts
    with precision(64):
        for t in (0.2, 1.0, 5.0):
            sizes = [abs(f.nodes(arb(1), arb(t), 2)[1]) / f.value(arb(1)) for f, _ in known[::4]]
            least = float(np.prod([float(size.lower()) for size in sizes])) ** 8  # of no more than all
            assert least <= float(table.near(arb(t)).upper())


def test_few_and_unbounded_losses_have_no_table():
    unbounded = ((SampledGaussianTransform(Fraction(1, 10), Fraction(joint_decay.MOST_COPIES)), 9),)
    known = parts(3, 30)
    own, others = joined((*unbounded, *known))
    assert (set(own), others) == (set(known), unbounded)
    assert joined(known[:7]) == ((), known[:7])
    assert joined(tuple((each, 1) for each, _ in known[:9]))[0] == ()
    assert DiscreteGaussianTransform(Fraction(3), 1).bound() is None
    assert GeometricTransform(Fraction(3), 5).bound() is None
    assert joint_decay.joint_decay(known, 1.0, 1e9) is None


def test_a_sum_by_halves_is_the_sum():
    rng = random.Random(5)
    for size in (0, 1, 2, 3, 10, 31):
        values = [Fraction(rng.randint(1, 99), rng.randint(1, 99)) for _ in range(size)]
        assert _sum_by_halves(values) == sum(values)


@looped("count", [1, 3])
def test_beside_a_table_others_count_by_their_far_bounds(count):
    """What is cut off the sum is bounded, though the range of another part's `near` ends before the table does."""
    known = (*parts(9, 40), (GeometricTransform(Fraction(20), 7), count))
    mu2 = (Fraction(1, 10**6), Fraction(1, 10**6))
    decays = Decays(Product(mu2, known), arb(2), Fraction(1, 10**6), 20.0)
    assert decays.table is not None
    gauss = float(sum(mu2)) / 2
    for t in (1.0, 5.0, 30.0, 300.0, 2000.0):
        bound = float(decays.tail(arb(t), arb(0)).upper()) * t
        for at in np.geomspace(t, 50 * t, 12):
            assert size_at(known, 2.0, float(at)) * np.exp(-gauss * at * at) * t / at <= bound * 1.000001
