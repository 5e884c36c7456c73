"""Every error term matters: with its knob turned until it dominates, removing the term breaks the enclosure.

| part | knob | what is removed |
|---|---|---|
| lattice product | 3 bits | rounding up; what it adds |
| lattice product | large tails | the right tail that moves to +∞; the left one that moves to the first node; what moved |
| lattice product | mass at +∞ | +∞ times the rest |
| coarser lattice | 10 bits | rounding of the shares |
| connect the dots | wide cells | the chords (dots taken as masses of the cells) |
| spread onto nodes | wide cells | the rise; the spread of noise between nodes, of a coarser grid, inside a sample |
| spread onto nodes | short range | what lies beyond the first and the last node |
| lattice on a sample | inner tails | mass under Q that they lost |
| Laplace powers | few steps kept | the mass of the dropped steps |
| Laplace powers | few powers of y kept | the remainder of the series |
| theta series | 2 terms at 200 bits | its tail |
| direct sum of noise | short reach | its tail |
| normalising sum | 3 bits at 200 | its tail |
| noise on a sample | short reach, each side | the losses left out |
| wide noise on a sample | σ near 1 | the difference to the integral |
| Laplace on a sample | few quadrature nodes | the quadrature error |
| Gaussian on a sample | coarse steps, short line | the strip's error, the tails |
| truncation | atoms, whose transform comes back | the later periods, also in what smoothing adds |
| smoothing | few nodes | what they leave out of its excess |
| aliases | short period, much mass at +∞ | the masses at finite losses |
| counted losses | three outcomes, four times | how many ways lead to a sum |
| decay of a lattice transform | near half the period | the wave from the next period |
| decay of two atoms | near half the period | its range |
| decay of Laplace noise | beyond π/2 | the late bound |
| decay of a sampled Gaussian | wide grid | what ψ may gain between its nodes |
| smoothing, aliases, truncation | see `test_numerics_parts` | |
"""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import pytest
from flint import acb, arb, fmpz, fmpz_poly

from dpaccount.accounting.methods import exact
from dpaccount.accounting.methods.answer import DeltaAt
from dpaccount.numerics.closed import discrete_losses, gaussian, laplace
from dpaccount.numerics.fourier import (
    contours,
    discrete_transforms,
    fourier,
    sampled_atoms,
    sampled_gaussian,
    sampled_laplace,
    transforms,
)
from dpaccount.numerics.fourier.discrete_transforms import DiscreteGaussianTransform, ResponseTransform
from dpaccount.numerics.fourier.shifted_line import ShiftedLine
from dpaccount.numerics.fourier.transforms import LaplaceTransform
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.lattice import composing, connect_dots, lattice
from dpaccount.numerics.lattice.excess import Excess
from dpaccount.numerics.lattice.lattice import Grid, Masses
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.discrete import ResponsePair
from dpaccount.pairs.laplace import LaplacePair
from dpaccount.pairs.poisson import SampledPair
from dpaccount.pairs.table import TablePair
from tests.depth import deep

ZERO = arb(0)
HALF = Fraction(1, 2)


def product_holds(bits, tail, infinite):
    """Compare products with the same ones at 400 bits and without tails, at and between nodes."""
    held = True
    for seed in range(12):
        masses = [(seed * 7 + 3 * j * j) % (2**bits // 3) + 1 for j in range(5)]
        masses[3] += 2**bits - min(2**bits, sum(masses) + infinite)
        rough = Masses(Grid(HALF, bits, tail), Fraction(0), -2, fmpz_poly(masses), infinite)
        unit = 2 ** (400 - bits)
        fine = Masses(
            Grid(HALF, 400, 0), Fraction(0), -2, fmpz_poly([m * unit for m in masses]), infinite * unit
        )
        a, b = Excess(lattice.compose(rough, rough)), Excess(lattice.compose(fine, fine))
        for k in range(-24, 30):
            true = b.highest(Fraction(k, 8))
            held = held and bool(not a.highest(Fraction(k, 8)) < true and not a.lowest(Fraction(k, 8)) > true)
    return held


def wrong_rounding(patch):
    patch.setattr(lattice, "rounded_up", lambda product, grid: product // (fmpz(1) << grid.bits))


def tails_lost(side):
    def change(patch):
        right = lattice._trimmed

        def trimmed(made):
            found = right(made)
            if side == "right":
                return lattice.replace(found, infinite=made.infinite)
            moved = sum(made.masses.coeffs()[: found.first - made.first], fmpz(0))
            return lattice.replace(found, masses=found.masses - moved)

        patch.setattr(lattice, "_trimmed", trimmed)

    return change


def moves_forgotten(patch):
    right = lattice._trimmed
    patch.setattr(lattice, "_trimmed", lambda made: lattice.replace(right(made), moved=0))


def infinity_lost(patch):
    right = lattice.compose

    def compose(a, b):
        return right(a, b) if a.grid.bits == 400 else lattice.replace(right(a, b), infinite=0)

    patch.setattr(lattice, "compose", compose)


def coarser_holds(bits):
    """Compare a law of few bits with itself on a grid of twice the step."""
    row = [(37 * j * j + 11 * j) % 60 for j in range(12)]
    fine = Masses(
        Grid(Fraction(1, 4), bits, 0), Fraction(0), -5, fmpz_poly([m * 2**bits // sum(row) + 1 for m in row])
    )
    true, made = Excess(fine), Excess(lattice.coarser(fine))
    made.added = max(0, made.added - true.added)  # the law itself may exceed 1
    points = [Fraction(k, 20) for k in range(-60, 61)]
    return all(not made.highest(t) < true.highest(t) and not made.lowest(t) > true.highest(t) for t in points)


def shares_rounded_down(patch):
    right = lattice._split
    patch.setattr(lattice, "_split", lambda grid, row: [max(fmpz(0), m - 1) for m in right(grid, row)])


def coarser_unspread(patch):
    right = lattice.coarser
    patch.setattr(lattice, "coarser", lambda made: lattice.replace(right(made), spread=made.spread))


def gauss(t):
    return gaussian.delta(t, (Fraction(1), Fraction(1)), 160)


def upper_curve_holds():
    made = Excess(connect_dots.above(gauss, Grid(HALF, 80, 0), Fraction(-5), 21))
    return all(not made.highest(Fraction(k, 16)) < gauss(Fraction(k, 16)) for k in range(-100, 100))


def chords_lowered(patch):
    right = connect_dots._convex
    patch.setattr(
        connect_dots, "_convex", lambda row, first, grid: [x * arb("0.999") for x in right(row, first, grid)]
    )


def spread_holds(first, count, bits=80):
    """Compare the Gaussian law on few nodes with its curve, everywhere."""

    def holds(_):
        made = Excess(
            connect_dots.spread(
                gauss, Grid(Fraction(1, 4), bits, 0), Fraction(first), count, Fraction(0), bounded=False
            )
        )
        points = [Fraction(k, 16) for k in range(-100, 100)]
        return all(not made.highest(t) < gauss(t) and not made.lowest(t) > gauss(t) for t in points)

    return holds


def rise_forgotten(patch):
    patch.setattr(Excess, "rise", lambda self, t: ZERO)


def ends_trusted(patch):
    right = connect_dots.spread
    patch.setattr(connect_dots, "spread", lambda *given, bounded: right(*given, bounded=True))


def masses_rounded_down(patch):
    patch.setattr(connect_dots, "units", lambda grid, mass: max(0, lattice.units(grid, mass) - 1))


def between_holds():
    """Compare a loss between nodes with itself, also where it is only known as a wide ball."""
    held = True
    for wide in (arb(0), arb(0, 0.04)):
        for at in (Fraction(-1), Fraction(-6, 7), Fraction(3, 10)):
            loss = ball(at) + wide if wide.rad() else at
            made = Excess(lattice.placed(Grid(Fraction(1, 7), 80, 0), Fraction(-8, 7), [(loss, arb(1))]))
            for k in range(-60, 60):
                t = Fraction(k, 30)
                true = 1 - (ball(t) - ball(at)).exp() if t < at else ZERO
                held = held and bool(not made.highest(t) < true and not made.lowest(t) > true)
    return held


def losses_unspread(patch):
    patch.setattr(lattice, "two_points", lambda step: Fraction(0))


def sample_holds(step, tail):
    """Compare samples of noise, from inner lattices that are coarse or have lost their tails, with themselves."""

    def holds(patch):
        held, right = True, composing.compose
        inner = Composition((Fraction(1), Fraction(1)), ((LaplacePair(HALF), 1),))
        for added in (False, True):
            kind = SampledPair(Fraction(1, 5), inner, added=added)
            exact = Excess(kind.lattice(Grid(Fraction(1, 300), 80, 0), 60))

            def short(total, at, log2):
                made = right(total, step, log2)
                return lattice._trimmed(
                    lattice.replace(made, grid=lattice.replace(made.grid, tail=int(tail * 2**made.grid.bits)))
                )

            with patch.context() as crude:
                crude.setattr(composing, "compose", short)
                made = Excess(kind.lattice(Grid(Fraction(1, 30), 80, 0), 60))
            points = [Fraction(k, 10) for k in range(-80, 31)]
            held = held and all(made.curve(t).overlaps(exact.curve(t)) for t in points)
        return held

    return holds


def lost_forgotten(patch):
    patch.setattr(composing, "_lost", lambda known: ZERO)


def laplace_holds():
    with precision(200):
        exact = laplace._sum(Fraction(1, 3), HALF, 6, 6, 0)
        return all(laplace._sum(Fraction(1, 3), HALF, 6, steps, 0).overlaps(exact) for steps in range(6))


def laplace_left_out_holds():
    with precision(200):
        exact = laplace._sum(Fraction(1, 3), HALF / 5, 32, 32, 0)
        return all(laplace._sum(Fraction(1, 3), HALF / 5, 32, 32, n).overlaps(exact) for n in (4, 8, 12))


def series_holds():
    with precision(200):
        short, long = (laplace._parts(Fraction(1, 2), 6, 3, 0, bits) for bits in (4, 200))
        return all(
            (a.powers(a.at) + a.error).overlaps(b.powers(b.at) + b.error)
            for a, b in zip(short, long, strict=True)
        )


def remainder_forgotten(patch):
    right = laplace._Part
    patch.setattr(laplace, "_Part", lambda at, half, atom, powers, _: right(at, half, atom, powers, ZERO))
    laplace._parts.cache_clear()


WIDE, NARROW = DiscreteGaussianTransform(Fraction(1), 1), DiscreteGaussianTransform(HALF, 1)


def theta_holds():
    with precision(200):
        found = [
            (WIDE._wave(acb(0.3, t), bits), WIDE._wave(acb(0.3, t), 200))
            for t in (0, 1, 2)
            for bits in (3, 30)
        ]
        return all(a.overlaps(b) for a, b in found)


def direct_holds():
    with precision(200):
        points = [acb(s, t) for s in (0, 1.3, 2.6) for t in (0, 2)]
        return all(NARROW._direct(s, 4).overlaps(NARROW._direct(s, 200)) for s in points)


def total_holds():
    with precision(200):
        exact = {
            rate: 1 + 2 * sum((ball(-rate * x * x).exp() for x in range(1, 20)), ZERO) for rate in (HALF, 2)
        }
        return all(
            discrete_losses._plain_sum(ball(rate), 3).overlaps(exact[rate] + ball(0).union(arb(2) ** -190))
            for rate in exact
        )


def unblurred(patch):
    patch.setattr(discrete_transforms, "blurred", lambda value, radius: value)


def no_tail(patch):
    patch.setattr(
        discrete_losses,
        "_plain_sum",
        lambda rate, bits: 1 + 2 * sum(((-rate * x * x).exp() for x in (1, 2)), ZERO),
    )


NOISE = sampled_atoms.SampledAtomsTransform(Fraction(1, 5), (), DiscreteGaussianTransform(Fraction(2), 1))
MIXED = sampled_atoms.SampledAtomsTransform(Fraction(1, 5), ((ResponseTransform(HALF, 2), 2),), NOISE.noise)


def noise_holds(left, right):
    """Compare transforms of noise cut off at −left and right with those of all of it."""

    def holds(patch):
        held = True
        with precision(160):
            for factor, s in itertools.product(
                (NOISE, NOISE.reversed(), MIXED), (arb("-1.7"), arb("0.4"), arb("3.2"))
            ):
                whole = factor.value(s), factor.nodes(s, arb("0.9"), 4)
                with patch.context() as short:
                    short.setattr(sampled_atoms, "_left", lambda *_: left)
                    short.setattr(sampled_atoms, "_right", lambda *_: right)
                    cut = factor.value(s), factor.nodes(s, arb("0.9"), 4)
                held = held and bool(cut[0].overlaps(whole[0]))
                held = held and all(a.overlaps(b) for a, b in zip(cut[1], whole[1], strict=True))
        return held

    return holds


def left_out_forgotten(patch):
    patch.setattr(sampled_atoms.SampledAtomsTransform, "_dropped", lambda *_: ZERO)


def wide_holds():
    held = True
    with precision(160):
        for sigma, s in itertools.product((Fraction(1), Fraction(3, 2)), (arb("0.4"), arb("2.2"))):
            noise = DiscreteGaussianTransform(sigma, 1)
            exact = sampled_atoms.SampledAtomsTransform(Fraction(1, 5), (), noise)
            close = sampled_atoms.SampledNearGaussianTransform(Fraction(1, 5), 1 / sigma**2, sigma=sigma)
            both = zip(close.nodes(s, arb(1), 6), exact.nodes(s, arb(1), 6), strict=True)
            held = held and all(a.overlaps(b) for a, b in both)
    return held


def integral_taken_as_sum(patch):
    patch.setattr(sampled_atoms.SampledNearGaussianTransform, "apart", lambda *_: ZERO)


def contour_holds(patch, few):
    """On the real line (`few` nodes allow it), or around it."""
    held = True
    patch.setattr(sampled_laplace, "FEW_NODES", few)
    sampled_laplace._rule.cache_clear()
    with precision(200):
        for rate, loss, added in ((HALF, 3, False), (Fraction(1, 100), 1, True)):
            factor = sampled_laplace.SampledLaplaceTransform(rate, Fraction(loss), added=added)
            for a in (arb("2.5"), arb("-4.5")):
                points, error = sampled_laplace._rule(factor, a, 64.0, 8)
                fine, _ = sampled_laplace._rule(factor, a, 64.0, 200)
                for t in (0, 3, 64):
                    rough, exact = (
                        sum((w * (acb(0, t) * at).exp() for w, at in nodes), acb(0))
                        for nodes in (points, fine)
                    )
                    held = held and bool(
                        transforms.blurred(rough, error).overlaps(transforms.blurred(exact, arb(2) ** -150))
                    )
    return held


def quadrature_trusted(patch):
    patch.setattr(sampled_laplace, "_missed", lambda *_: ZERO)


def line_holds():
    factor = sampled_gaussian.SampledGaussianTransform(Fraction(1, 10), Fraction(1))
    held = True
    with precision(200):
        for a in (arb(4), arb(-3)):
            law = sampled_gaussian.TiltedSample(factor, a)
            fine = ShiftedLine.real(law).total()
            for step, depth in ((0.2, 4.0), (1.4, 40.0), (0.6, 10.0)):
                held = held and bool(ShiftedLine.at(law, (step, 0.0, 3.0), depth).total().overlaps(fine))
    return held


def strip_forgotten(patch):
    patch.setattr(ShiftedLine, "_kappa", lambda *_: ZERO)


def line_tails_forgotten(patch):
    patch.setattr(ShiftedLine, "_tails", lambda *_: ZERO)


def counts_hold():
    """Compare sums that are counted with all results of four releases, one of which may be infinite."""
    exact._sums.cache_clear()
    p, q = ([Fraction(n, 8) for n in masses] for masses in ((4, 3, 1), (2, 6, 0)))
    found = exact.by_counts(Composition(pairs=((TablePair(tuple(p), tuple(q)), 4),)), DeltaAt(HALF, HALF))
    there, gone = (list(map(math.prod, itertools.product(law, repeat=4))) for law in (p, q))
    delta = sum(max(a - math.exp(0.5) * b, 0) for a, b in zip(there, gone, strict=True))
    return math.isclose(found.lower, delta, rel_tol=1e-12)


def ways_forgotten(patch):
    patch.setattr(exact, "fmpz", SimpleNamespace(fac_ui=lambda _: 1))


ATOMS = contours.Product((Fraction(0), Fraction(0)), ((ResponseTransform(Fraction(1), 2), 6),))


def truncation_holds(smooth):
    """Compare bounds on what lies beyond a cut with sums far beyond it; atoms come back in every period."""

    def holds(_):
        held = True
        with precision(80):
            c, h = arb(1), arb(1) / 20
            factor, count = ATOMS.parts[0]
            decays, whole = contours.Decays(ATOMS, c, Fraction(smooth), 20.0), factor.value(c)
            sizes = [
                float((abs(factor.value(acb(c, n * h))) / whole) ** count)
                * math.exp(-((n / 20) ** 2) * smooth / 2)
                for n in range(1, 1200)
            ]
            for first in (4, 8, 20, 40, 100):
                t = first * h
                later = range(first + 1, 1200)
                if smooth:
                    held = held and float(decays.area(t).upper()) > 0.98 * sum(
                        sizes[n - 1] / 20 for n in later
                    )
                else:
                    held = held and float(decays.tail(t, h).upper()) > sum(
                        sizes[n - 1] * 20 / n**2 for n in later
                    )
        return held

    return holds


def later_periods_forgotten(patch):
    right = contours.Decays._product
    patch.setattr(
        contours.Decays, "_product", lambda self, t, *, near: right(self, t, near=near) if near else ZERO
    )


def stored(product, **chosen):
    given = {"right": 8.0, "left": 3.0, "smooth": Fraction(1, 4), "bits": 100, "depth": 60.0, **chosen}
    return fourier.Inversion(product, contours.Contour(**given))


GAUSS = contours.Product((Fraction(1), Fraction(1)), ())


def excess_holds(_):
    """Compare the bound on what smoothing adds from few nodes with that from many, at the saddle's ε."""
    at = ball(Fraction(39, 8))
    with precision(100):
        tilt = (-arb(3.4) * at).exp()
        short, long = (stored(GAUSS, c=3.4, period=10.0, cut=cut) for cut in (0.7, 30.0))
        return not short._excess(at, tilt) < long._excess(at, tilt)


def bump_cut_forgotten(patch):
    patch.setattr(contours.Decays, "area", lambda self, t: ZERO)


FAILING = SampledPair(HALF, Composition(pairs=((ResponsePair(Fraction(1)), 1),), failures=((HALF, 1),)))


def failing_holds(_):
    """Compare the inversion at a short period with the sums of the losses, where much mass is at +∞."""
    product, one = Composition(pairs=((FAILING, 3),)).transform(summed=True), FAILING.summed_transform()
    losses = [(mass * at.exp(), at) for mass, at in one._points(arb(1))]
    held = True

    def delta(t):
        found = 1 - (1 - one.infinite()) ** 3
        for (p, a), (q, b), (r, c) in itertools.product(losses, repeat=3):
            found += p * q * r * (-(ball(t) - a - b - c).expm1()).max(ZERO)
        return found

    for c, period, left in ((1.0, 2.0, 3.0), (0.7, 3.0, -0.5)):
        made = stored(product, c=c, period=period, left=left, smooth=Fraction(1, 100), cut=60.0)
        points = (Fraction(1, 10), Fraction(1, 2), Fraction(1))
        held = held and all(made.curve(t).overlaps(delta(t)) for t in points)
    return held


def failures_forgotten(patch):
    patch.setattr(contours.Product, "fails", property(lambda self: False))


def decay_holds(factor, points):
    """Compare the bound at t with the transform at t and beyond, up to the end of its range."""

    def holds():
        held = True
        with precision(120):
            c = arb("1.3")
            decay, whole = factor.decay(c, 1.0), factor.value(c)
            for at in points:
                t = arb(at)
                end = decay.reach(t)
                for k in range(30):
                    later = t * (1 + arb(k) / 20)
                    size = abs(factor.value(acb(c, later))) / whole
                    if end is None or later < end:
                        held = held and bool(not decay.near(t) < size)
                    held = held and bool(not decay.far(t) < size)
        return held

    return holds


def next_period_forgotten(patch):
    def near(self, t):
        return (-t * t * (self.shift / self.sigma) ** 2 / 2).exp()

    patch.setattr(discrete_transforms.ThetaDecay, "near", near)


def range_forgotten(patch):
    patch.setattr(discrete_transforms.PairDecay, "reach", lambda self, t: 2 * arb.pi() / self.loss)


def late_forgotten(patch):
    patch.setattr(transforms.LaplaceDecay, "_late", lambda self, y: self._early(y))


def sampled_decay_holds():
    """Compare ψ inside the cells with their bounds, for a law of two humps, whose ψ rises and falls."""
    factor = sampled_gaussian.SampledGaussianTransform(Fraction(3, 10), Fraction(16))
    with precision(80):
        decay = sampled_gaussian.SampledDecay(factor, arb(HUMPS), 0.02)
        whole = factor.value(arb(HUMPS))
        inside = [(j, decay.step * (j + arb(k) / 8)) for j in range(24) for k in range(1, 8)]
        sizes = [(j, abs(factor.nodes(arb(HUMPS), t, 2)[1]) / whole) for j, t in inside]
        return all(not decay.cells[j] < size**2 for j, size in sizes if j < len(decay.cells))


HUMPS = 0.05  #: the tilt


def gain_forgotten(patch):
    right = sampled_gaussian.float_up  # the cells without h²·Var/4 = 1/64 (steps of a quarter deviation)
    patch.setattr(sampled_gaussian, "float_up", lambda value: right(value) - 1 / 64)


CASES = {
    "rounding": (lambda _: product_holds(3, 0, 1), wrong_rounding),
    "right tail": (lambda _: product_holds(8, 90, 0), tails_lost("right")),
    "left tail": (lambda _: product_holds(8, 90, 0), tails_lost("left")),
    "infinity": (lambda _: product_holds(6, 0, 20), infinity_lost),
    "moved": (lambda _: product_holds(8, 90, 0), moves_forgotten),
    "coarser": (lambda _: coarser_holds(6), shares_rounded_down),
    "coarser, spread": (lambda _: coarser_holds(60), coarser_unspread),
    "dots": (lambda _: upper_curve_holds(), chords_lowered),
    "rise": (spread_holds(-5, 41), rise_forgotten),
    "ends": (spread_holds(-2, 17), ends_trusted),
    "masses": (spread_holds(-5, 41, 6), masses_rounded_down),
    "between": (lambda _: between_holds(), losses_unspread),
    "sample": (sample_holds(Fraction(1, 2), 0), rise_forgotten),
    "sample, tails": (sample_holds(Fraction(1, 20), 0.1), lost_forgotten),
    "Laplace powers": (lambda _: laplace_holds(), lambda p: p.setattr(laplace, "_dropped", lambda *_: ZERO)),
    "Laplace parts": (
        lambda _: laplace_left_out_holds(),
        lambda p: p.setattr(laplace, "_left_out", lambda *_: ZERO),
    ),
    "Laplace series": (lambda _: series_holds(), remainder_forgotten),
    "theta": (lambda _: theta_holds(), unblurred),
    "direct": (lambda _: direct_holds(), unblurred),
    "total": (lambda _: total_holds(), no_tail),
    "noise below": (noise_holds(2, 60), left_out_forgotten),
    "noise above": (noise_holds(60, 4), left_out_forgotten),
    "sampled decay": (lambda _: sampled_decay_holds(), gain_forgotten),
    "wide": (lambda _: wide_holds(), integral_taken_as_sum),
    "contour": (lambda p: contour_holds(p, 0), quadrature_trusted),
    "real line": (lambda p: contour_holds(p, 4000), quadrature_trusted),
    "strip": (lambda _: line_holds(), strip_forgotten),
    "line tails": (lambda _: line_holds(), line_tails_forgotten),
    "later periods": (truncation_holds(0), later_periods_forgotten),
    "later periods, smoothing": (truncation_holds(0.01), later_periods_forgotten),
    "smoothing, cut": (excess_holds, bump_cut_forgotten),
    "aliases, failures": (failing_holds, failures_forgotten),
    "counts": (lambda _: counts_hold(), ways_forgotten),
    "theta decay": (
        lambda _: decay_holds(DiscreteGaussianTransform(Fraction(1), 1), ("2.9", "3.1"))(),
        next_period_forgotten,
    ),
    "pair decay": (lambda _: decay_holds(ResponseTransform(HALF, 2), ("2.0", "3.0"))(), range_forgotten),
    "Laplace decay": (lambda _: decay_holds(LaplaceTransform(HALF), ("1.0", "3.0", "4.0"))(), late_forgotten),
}


@deep
@pytest.mark.parametrize("name", CASES)
def test_without_its_error_term_the_enclosure_breaks(name, monkeypatch):
    holds, remove = CASES[name]
    assert holds(monkeypatch)
    with monkeypatch.context() as patch:
        remove(patch)
        broken = not holds(patch)
    for kept in (sampled_laplace._rule, laplace._parts, exact._sums):
        kept.cache_clear()
    assert broken
