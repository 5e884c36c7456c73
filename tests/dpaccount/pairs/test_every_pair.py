"""Every class of dominating pairs, in both directions: all that it states must describe one and the same pair.

Classes are found in the package, and made from their fields; a new one is covered by itself. A planted class
that is wrong in one statement is caught.
"""

import ast
import dataclasses
import importlib
import inspect
import itertools
import math
import pkgutil
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

import dpaccount.pairs
from dpaccount.accounting.methods import closed_forms
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.intervals import ball, ceil_of, floor_of, precision
from dpaccount.numerics.lattice import exact_grids
from dpaccount.numerics.lattice.excess import Excess
from dpaccount.numerics.lattice.lattice import Grid
from dpaccount.pairs import poisson
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.discrete import GeometricPair, ResponsePair
from dpaccount.pairs.gaussian import GaussianPair
from dpaccount.pairs.laplace import LaplacePair
from dpaccount.pairs.pair import ExactPair, LossPair
from dpaccount.pairs.poisson import SampledGaussian, SampledPair
from dpaccount.pairs.replaced import ReplacedLaplace
from dpaccount.pairs.table import LossTable, TablePair
from dpaccount.pairs.upper import RangeBound, ZcdpBound
from dpaccount.pairs.without_replacement import WithoutReplacement
from tests.depth import deep

HALF, ONE = Fraction(1, 2), Fraction(1)
TABLE = TablePair(
    (Fraction(1, 10), Fraction(1, 2), Fraction(2, 5), Fraction(0)),
    (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)),
)
#: What a field may be, by its name; a class with fields of other names needs its line here.
VALUES = {
    "rate": [Fraction(1, 10), Fraction(2, 3)],
    "added": [False],  # the other direction is tried of every pair
    **{name: [HALF, Fraction(2)] for name in ("loss", "epsilon", "eta")},
    "scale": [Fraction(3), ONE],
    "sigma": [Fraction(3), Fraction(2)],
    "shift": [1, 4],
    "k": [2, 4],
    "mu2": [ONE, Fraction(1, 4)],
    "rho": [Fraction(1, 8)],
    "xi": [Fraction(0), HALF],
    "points": [((Fraction(2), HALF), (Fraction(8), ONE))],
    "there": [2, 0],
    "gone": [1, 1],
    "steps": [3, 2],
    "times": [2, 1],
    "users": [2, 9],
    "categories": [2, 3, 4],
    "alike": [False, False, True],
    "parts": [
        ((Fraction(7, 10), Fraction(0)), (Fraction(1, 5), HALF), (Fraction(1, 10), Fraction(2))),
        ((HALF, HALF), (HALF, ONE)),
    ],
    "shape": [ONE, ONE, Fraction(0)],
    "gamma": [Fraction(1, 9), Fraction(0), Fraction(1, 2)],
    "mean": [Fraction(0), Fraction(2), Fraction(0)],
    "finite": [False],
    "sample": [(9, Fraction(2, 3), 7), (4, HALF, 2)],
    "ways": [
        (SampledGaussian(Fraction(2, 3), ONE), SampledGaussian(HALF, Fraction(4))),
        (SampledGaussian(HALF, Fraction(1, 4)), SampledGaussian(Fraction(5, 16), ONE)),
    ],
    "p": [TABLE.p],
    "q": [TABLE.q],
}
TIMES = [Fraction(k, 4) for k in (-9, -5, -2, -1, 0, 1, 2, 3, 5, 9, 14)]
NEARLY = 1e-9
GRID = np.linspace(-22, 20, 2101)  #: of the integral of a curve
S = 0.75  #: at which moments are compared


def everything_below(base):
    """The classes below `base` in the package."""
    for module in pkgutil.iter_modules(dpaccount.pairs.__path__):
        importlib.import_module(f"dpaccount.pairs.{module.name}")

    def below(kind):
        return {kind} | {each for child in kind.__subclasses__() for each in below(child)}

    return [kind for kind in below(base) if kind.__module__.startswith("dpaccount.pairs.")]


def found_classes(base):
    """The concrete ones."""
    return sorted((k for k in everything_below(base) if not inspect.isabstract(k)), key=lambda k: k.__name__)


def instances(kind):
    """Instances of a class, as many as its fields have values."""
    names = [field.name for field in dataclasses.fields(kind)]
    unknown = [name for name in names if name not in VALUES and name != "inner"]
    assert not unknown, f"{kind.__name__} has fields of new names; say in VALUES what {unknown} may be"
    values = {name: inners(kind) if name == "inner" else VALUES[name] for name in names}
    if kind is GaussianPair:
        values["mu2"] = [(mu2, mu2) for mu2 in VALUES["mu2"]]
    count = max(len(each) for each in values.values())
    return [kind(**{name: each[k % len(each)] for name, each in values.items()}) for k in range(count)]


def inners(kind):
    """What is sampled: every exact class that is no sample itself, failures, mixtures; or upper bounds."""
    if not issubclass(kind, ExactPair):
        bounds = [ZcdpBound(Fraction(1, 8)), RangeBound(ONE)]
        failing = Composition(failures=((Fraction(1, 8), 1),), upper=((RangeBound(ONE), 1),))
        return [*map(Composition.of, bounds), failing]
    plain = [
        each for each in found_classes(ExactPair) if "rate" not in {f.name for f in dataclasses.fields(each)}
    ]
    alone = [Composition.of(instances(each)[0]) for each in plain]
    pure = ((ResponsePair(ONE), 1),)
    mixed = Composition(pairs=((ResponsePair(HALF), 2), (GeometricPair(Fraction(3), 2), 1)))
    return [*alone, Composition(pairs=pure, failures=((Fraction(1, 8), 1),)), mixed]


def sampled_names(pair):
    """What is sampled, for the names of tests."""
    return [type(part).__name__ for part, _ in pair.inner.parts] if hasattr(pair, "inner") else []


INSTANCES = [
    ("-".join([kind.__name__, str(number), *sampled_names(pair)]), pair)
    for kind in found_classes(LossPair)
    for number, pair in enumerate(instances(kind))
]


@pytest.fixture(autouse=True)
def _precise():
    with precision(128):
        yield


def low(value):
    return float(value.lower())


def high(value):
    return float(value.upper())


def near(value, truth):
    """Whether a ball holds a number, but for rounding."""
    return low(value) - NEARLY <= truth <= high(value) + NEARLY


def check(pair):
    """Hold everything that a pair states against its curve, in both directions."""
    back = pair.reversed()
    assert back.reversed() == pair
    assert pair.symmetric == back.symmetric
    for way in (pair, back):
        curve = curve_holds(way)
        ends_hold(way, curve)
        moments_hold(way, curve)
        lattices_hold(way, curve)
        samples_hold(way)
        if isinstance(way, ExactPair):
            transforms_hold(way, curve)
            losses_hold(way, curve)
            closed_forms_hold(way, curve)
            other = way.reversed().curve(64)
            for t in TIMES:  # δ(t) = 1 − e^t + e^t δ_rev(−t)
                mirrored = -ball(t).expm1() + ball(t).exp() * other(-t)
                assert low(curve(t)) <= high(mirrored) + NEARLY
                assert low(mirrored) <= high(curve(t)) + NEARLY
                if way.symmetric:
                    assert curve(t).overlaps(other(t))


def curve_holds(pair):
    """The curve falls, lies between max(0, 1 − e^t) and 1, and is convex in e^t.

    One of bounds falls from 0 on; below, what mirrors another t may be closer than the bound at 0.
    """
    curve = pair.curve(64)
    values = [curve(t) for t in TIMES]
    for t, value in zip(TIMES, values, strict=True):
        assert high(value) >= max(0.0, 1 - math.exp(t)) - NEARLY
        assert low(value) <= 1 + NEARLY
    for t, (before, after) in zip(TIMES, itertools.pairwise(values), strict=False):
        assert low(after) <= high(before) + NEARLY or (t < 0 and not isinstance(pair, ExactPair))
    if isinstance(pair, ExactPair):
        points = [(math.exp(t), value) for t, value in zip(TIMES, values, strict=True)]
        for (a, left), (b, middle), (c, right) in zip(points, points[1:], points[2:], strict=False):
            chord = high(left) + (high(right) - high(left)) * (b - a) / (c - a)
            assert low(middle) <= chord + NEARLY
    return curve


def ends_hold(pair, curve):
    """The largest and the least loss, and the mass at an infinite one, are the limits of the curve."""
    mass = pair.infinite_mass()
    limit = curve(Fraction(60))
    assert mass is not None
    assert near(limit, mass)
    assert pair.least_infinite_mass() <= mass
    spared = pair.without_infinite_mass()
    assert spared.infinite_mass() == 0
    assert (spared == pair) <= (mass == 0)
    most, ends = pair.ceiling(), pair.ends()
    exact = isinstance(pair, ExactPair)
    if mass:
        assert most is None
    elif most is not None:
        assert high(curve(ceil_of(most) + Fraction(1, 1000))) < NEARLY
        assert not exact or low(curve(floor_of(most) - Fraction(1, 4))) > 0
    elif exact:
        assert low(curve(Fraction(1, 4))) > 0
    if pair.largest() is not None:
        assert ball(pair.largest()).overlaps(most)
    if ends is not None:
        first, last = ends
        assert near(curve(last), mass)
        lost = pair.reversed().infinite_mass()
        assert near(curve(first), 1 - math.exp(first) * (1 - lost))
    peak = pair.peak()
    if peak is not None:
        loss, odds = peak
        assert most.overlaps(loss)
        for t in (t for t in TIMES if ball(t) < loss):
            assert high(curve(t)) >= low(-(ball(t) - loss).expm1() * odds) - NEARLY


def moments_hold(pair, curve):
    """Bounds from mean and deviation lie on their sides of the curve, and the Rényi bound above all moments."""
    if not isinstance(pair, ExactPair):  # two upper bounds, of which either may be the closer one
        assert pair.infinite_mass() == 0 or pair.renyi(Fraction(4)) is None
        return
    total = Moments.none()
    if pair.add_moments(total, 1):
        total.settled()
        for target in (Fraction(1, 5), Fraction(1, 1000)):
            assert low(curve(ceil_of(total.epsilon_above(target)))) <= target
            for bound in total.epsilon_below(target):
                at = floor_of(bound) if bound.is_finite() else Fraction(-1)
                assert at < 0 or high(curve(at)) >= target
        for t in (t for t in TIMES if t >= 0):
            assert all(high(bound) >= low(curve(t)) for bound in total.delta_above(t))
            assert all(low(bound) <= high(curve(t)) for bound in total.delta_below(t))
    bound = pair.renyi(1 + Fraction(S))
    if pair.infinite_mass():
        assert bound is None
    else:
        assert bound is not None
        assert math.exp(S * high(bound)) >= integral(curve, 0.0) * 0.999


def lattices_hold(pair, curve):
    """What lattices enclose, and where they look for losses."""
    first, last = pair.span(60)
    mass = float(pair.infinite_mass())
    assert near(curve(last), mass) or not isinstance(pair, ExactPair)
    if last - first > 10**4:  # an upper curve that never comes down to what is known of it
        assert not isinstance(pair, ExactPair)
        return
    known = Excess(pair.lattice(Grid(Fraction(1, 40), 120, 0), 60))
    for t in TIMES:
        if isinstance(pair, ExactPair):
            assert high(known.highest(t)) >= low(curve(t)) - NEARLY
            assert low(known.lowest(t)) <= high(curve(t)) + NEARLY
        else:  # the least convex curve above, which may be below the one that is stated
            assert high(known.highest(t)) >= max(0.0, 1 - math.exp(t)) - NEARLY
        assert high(known.highest(t)) <= high(curve(t)) + 0.01
    grid = pair.on_grid()
    if grid is not None:
        composed = exact_grids.compose(((grid, 1),), -100.0).curve
        assert all(composed(t).overlaps(curve(t)) for t in TIMES)


def samples_hold(pair):
    """A sample of nearly everything is the pair itself, of nearly nothing it is nothing, and it is dominated."""
    whole, sampling = pair.curve(64), pair.sampling()
    tiny = Fraction(1, 10**9)
    for make in (lambda rate: poisson.on_sample(Composition.of(pair), rate), lambda rate: drawn(pair, rate)):
        nearly, hardly = make(1 - tiny).curve(64), make(tiny).curve(64)
        assert high(hardly(Fraction(0))) < 1e-8
        for t in (t for t in TIMES if t >= 0):
            assert high(nearly(t)) >= low(whole(t)) - 1e-6
    if sampling is not None:
        assert 0 < sampling.rate < 1
        inner = sampling.whole.directions
        most = max(high(way.curve(64)(Fraction(0))) for way in inner)
        lost = high(ball(sampling.whole.failure()[1]))
        assert low(whole(Fraction(0))) <= float(sampling.rate) * (lost + (1 - lost) * most) + NEARLY
    again = pair.resampled(HALF)
    if again is not None:
        twice = SampledPair(HALF, Composition.of(pair), added=getattr(pair, "added", False))
        assert again.rate == HALF * pair.rate
        assert not again.added or twice.added


def drawn(pair, rate):
    return WithoutReplacement(rate, Composition.of(pair))


def transforms_hold(pair, curve):
    """M(s)/(s(s + 1)) is the Laplace transform of the curve; a bound on the moment is above it."""
    mass = float(pair.infinite_mass())
    moment = integral(curve, mass)
    assert high(pair.moment(arb(S))) >= moment * 0.999
    for transform in (pair.transform(), pair.summed_transform()):
        if transform is not None:
            assert float(transform.value(arb(S)).mid()) == pytest.approx(moment, rel=2e-3)
            assert float(transform.infinite().mid()) == pytest.approx(mass, abs=1e-12)
            assert float(transform.value(arb(0)).mid()) == pytest.approx(1 - mass, abs=1e-9)
            node = transform.nodes(arb(S), arb(1), 2)[0]
            assert float(node.real.mid()) == pytest.approx(moment, rel=2e-3)
            assert transform.log_m(S, 1) == pytest.approx(math.log(moment), abs=2e-3)
            back = transform.reversed().value(arb(-1 - S))
            assert float(back.mid()) == pytest.approx(moment, rel=2e-3)


def closed_forms_hold(pair, curve):
    """Bounds in closed form hold of this direction alone, whatever the other one costs."""
    total = Composition.of(pair)
    for t in (t for t in TIMES if t >= 0):
        assert all(low(each) <= high(curve(t)) + NEARLY for each in closed_forms._deltas_below(total, t, 2))
        assert all(high(each) >= low(curve(t)) - NEARLY for each in closed_forms._deltas_above(total, t, 2))


def integral(curve, mass):
    """s(s + 1)∫ e^{st}(δ(t) − mass) dt, by the trapezoid rule."""
    heights = np.array([float(curve(Fraction(float(t))).mid()) - mass for t in GRID])
    weighted = np.exp(S * GRID) * heights
    tail = math.exp(S * GRID[0]) * heights[0] / S  # left of the grid the curve is flat
    return S * (S + 1) * (float(((weighted[1:] + weighted[:-1]) / 2).sum()) * (GRID[1] - GRID[0]) + tail)


def losses_hold(pair, curve):
    """Losses that are listed, and equal copies in closed form, have the same curve."""
    table, copies = isinstance(pair, LossTable) and pair.listed(), pair.copies(1)
    for t in TIMES:
        if table:
            losses, mass = pair.losses(), ball(pair.infinite_mass())
            delta = mass + sum((m * (-(ball(t) - at).expm1()).max(arb(0)) for at, m in losses), arb(0))
            assert near(curve(t), float(delta.mid()))
        if copies is not None and t >= 0:
            assert copies.delta(t, 0.0).overlaps(curve(t))


@deep
@pytest.mark.parametrize("pair", [pytest.param(pair, id=name) for name, pair in INSTANCES])
def test_all_that_a_pair_states_is_one_pair(pair):
    check(pair)


@deep
def test_closed_forms_hold_of_samples_of_samples():
    """Adding a unit turns the inner sample round as well: its peak is another one."""
    sample = SampledPair(Fraction(1, 10), Composition.of(ResponsePair(Fraction(2)), 2))
    pair = SampledPair(HALF, Composition.of(sample, 2))
    for way in (pair, pair.reversed()):
        assert way.peak() is not None
        assert way.peak()[0].overlaps(way.ceiling())
        closed_forms_hold(way, way.curve(64))


def test_every_class_has_its_place_in_the_order():
    ranks = [pair.rank for _, pair in INSTANCES]
    places = {rank: {type(pair) for _, pair in INSTANCES if pair.rank == rank} for rank in ranks}
    assert all(len(kinds) == 1 or kinds == {GaussianPair, GeometricPair} for kinds in places.values()), places
    assert len(found_classes(LossPair)) >= 17


@deep
def test_hardly_anybody_asks_for_the_kind_of_a_pair(root):
    """What depends on the kind of a pair is a method of its class: a question elsewhere can forget a class."""
    names = {kind.__name__ for kind in (LossPair, *everything_below(LossPair))}
    asked = []
    for file in sorted((root / "dpaccount").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                inside = {getattr(each, "id", getattr(each, "attr", "")) for each in ast.walk(node.args[1])}
                asked += [f"{file.name}:{node.lineno}"] if inside & names else []
    assert len(asked) <= 8, asked


# ------------------------------------------------------------------ planted classes, wrong in one statement


@dataclasses.dataclass(frozen=True)
class ForgetsItsInfiniteMass(TablePair):
    def infinite_mass(self):
        return Fraction(0)


@dataclasses.dataclass(frozen=True)
class ForgetsItBackwards(TablePair):
    forward: bool = True

    def reversed(self):
        return ForgetsItBackwards(self.q, self.p, forward=not self.forward)

    def infinite_mass(self):
        return super().infinite_mass() if self.forward else Fraction(0)


@dataclasses.dataclass(frozen=True)
class ForgetsTheOtherDirection(SampledGaussian):
    def reversed(self):
        return self


@dataclasses.dataclass(frozen=True)
class CapsAddedAsRemoved(SampledPair):
    def ceiling(self):
        return SampledPair(self.rate, self.inner).ceiling()


@dataclasses.dataclass(frozen=True)
class TooSmallALoss(LaplacePair):
    def ceiling(self):
        return ball(self.loss) / 2


@dataclasses.dataclass(frozen=True)
class TooSmallAMean(LaplacePair):
    def add_moments(self, total, count):
        total.both(ball(0), ball(Fraction(1, 10**6)))
        return True


@dataclasses.dataclass(frozen=True)
class TooLikelyAPeak(ResponsePair):
    def peak(self):
        return ball(self.epsilon), ball(1)


@dataclasses.dataclass(frozen=True)
class AnotherTransform(ReplacedLaplace):
    def transform(self):
        return ReplacedLaplace(self.rate, self.loss / 2).transform()


@dataclasses.dataclass(frozen=True)
class TooSmallARenyiBound(LaplacePair):
    def renyi(self, order):
        return super().renyi(order) / 2


@dataclasses.dataclass(frozen=True)
class AnotherLattice(LaplacePair):
    def lattice(self, grid, depth):
        return LaplacePair(self.loss / 2).lattice(grid, depth)


PLANTED = [
    ForgetsItsInfiniteMass(TABLE.p, TABLE.q),
    ForgetsItBackwards(TABLE.p, TABLE.q),
    ForgetsTheOtherDirection(HALF, ONE),
    CapsAddedAsRemoved(HALF, Composition.of(LaplacePair(Fraction(2)))),
    TooSmallALoss(ONE),
    TooSmallAMean(ONE),
    TooLikelyAPeak(ONE),
    AnotherTransform(HALF, Fraction(2)),
    TooSmallARenyiBound(ONE),
    AnotherLattice(Fraction(2)),
]


@deep
@pytest.mark.parametrize("pair", PLANTED, ids=lambda pair: type(pair).__name__)
def test_a_class_that_is_wrong_in_one_statement_is_caught(pair):
    with pytest.raises(AssertionError):
        check(pair)


def test_a_class_cannot_leave_a_statement_out():
    class Silent(LossPair):
        rank = 99

    with pytest.raises(TypeError, match=r"abstract methods? .*add_moments.*ceiling.*ends.*infinite_mass"):
        Silent()
