"""Every error term matters: with its knob turned until it dominates, removing the term breaks the enclosure.

| part | knob | what is removed |
|---|---|---|
| lattice product | 3 bits | rounding to the grid's side |
| lattice product | large tails | the right tail that moves to +∞; the left one that moves to the first node |
| lattice product | mass at +∞ | +∞ times the rest |
| coarser lattice | 10 bits | rounding of the shares |
| connect the dots | wide cells | the chords (dots taken as masses of the cells) |
| tangents | wide cells | the tangents (the curve itself at the nodes) |
| Laplace powers | few steps kept | the mass of the dropped steps |
| Laplace powers | few powers of y kept | the remainder of the series |
| theta series | 2 terms at 200 bits | its tail |
| direct sum of noise | short reach | its tail |
| normalising sum | 3 bits at 200 | its tail |
| noise on a sample | short reach, each side | the losses left out |
| wide noise on a sample | σ near 1 | the difference to the integral |
| Laplace on a sample | few quadrature nodes | the quadrature error |
| Gaussian on a sample | coarse steps, short line | the strip's error, the tails |
| counted losses | few counts kept | the mass of the others |
| decay of a lattice transform | near half the period | the wave from the next period |
| decay of two atoms | near half the period | its range |
| decay of Laplace noise | beyond π/2 | the late bound |
| decay of a sampled Gaussian | wide grid | what ψ may gain between its nodes |
| smoothing, aliases, truncation | see `test_numerics_parts` | |
"""

import itertools
from fractions import Fraction

import pytest
from flint import acb, arb, fmpz, fmpz_poly

from dpaccount.numerics import (
    discrete,
    dots,
    factors,
    finite,
    gaussian,
    laplace,
    lattice,
    sampled,
    sampled_atoms,
    sampled_laplace,
)
from dpaccount.numerics.balls import ball, precision
from dpaccount.numerics.factors import AtomFactor, DiscreteGaussianFactor, LaplaceFactor
from dpaccount.numerics.lattice import Grid, Lattice

ZERO = arb(0)
HALF = Fraction(1, 2)


def product_holds(bits, tail, infinite):
    """Compare products with the same ones at 400 bits and without tails, at and between nodes."""
    held = True
    for seed, up in itertools.product(range(12), (False, True)):
        masses = [(seed * 7 + 3 * j * j) % (2**bits // 3) + 1 for j in range(5)]
        rough = Lattice(Grid(HALF, bits, up, tail), Fraction(0), -2, fmpz_poly(masses), infinite)
        unit = 2 ** (400 - bits)
        fine = Lattice(
            Grid(HALF, 400, up, 0), Fraction(0), -2, fmpz_poly([m * unit for m in masses]), infinite * unit
        )
        a, b = lattice.compose(rough, rough), lattice.compose(fine, fine)
        for k in range(-24, 30):
            x, y = lattice.delta(a, Fraction(k, 8)), lattice.delta(b, Fraction(k, 8))
            held = held and bool(not x < y if up else not x > y)
    return held


def wrong_rounding(patch):
    right = lattice._shifted
    flipped = lambda grid: Grid(grid.step, grid.bits, not grid.up, grid.tail)  # noqa: E731
    patch.setattr(lattice, "_shifted", lambda product, grid: right(product, flipped(grid)))


def tails_lost(side):
    def change(patch):
        right = lattice._trimmed

        def trimmed(made, row):
            found = right(made, row)
            if side == "right":
                return lattice.replace(found, infinite=made.infinite)
            kept = found.masses.coeffs()
            skipped = found.first - made.first
            moved = sum(row[:skipped], fmpz(0)) if found.grid.up else 0
            return lattice.replace(found, masses=fmpz_poly([kept[0] - moved, *kept[1:]]))

        patch.setattr(lattice, "_trimmed", trimmed)

    return change


def infinity_lost(patch):
    right = lattice.compose

    def compose(a, b):
        return right(a, b) if a.grid.bits == 400 else lattice.replace(right(a, b), infinite=0)

    patch.setattr(lattice, "compose", compose)


def coarser_holds():
    row = [fmpz((37 * j * j + 11 * j) % 60) for j in range(12)]
    held = True
    for up in (False, True):
        fine = Lattice(Grid(HALF, 6, up, 0), Fraction(0), -5, fmpz_poly(row))
        made = lattice.coarser(fine)
        for k in range(-40, 41):
            a, b = lattice.delta(made, Fraction(k, 10)), lattice.delta(fine, Fraction(k, 10))
            held = held and bool(not a < b if up else not a > b)
    return held


def shares_rounded_down(patch):
    right = lattice._spread
    patch.setattr(lattice, "_spread", lambda grid, row: [max(fmpz(0), m - 1) for m in right(grid, row)])


def curve_holds(*, up):
    """Compare a lattice of wide cells with the Gaussian curve, everywhere."""
    one = (Fraction(1), Fraction(1))
    made = dots.measure(lambda t: gaussian.delta(t, one, 160), Grid(HALF, 80, up, 0), Fraction(-5), 21)
    found = [
        (lattice.delta(made, Fraction(k, 16)), gaussian.delta(Fraction(k, 16), one, 160))
        for k in range(-100, 100)
    ]
    return all(not a < b if up else not a > b for a, b in found)


def chords_lowered(patch):
    right = dots._convex
    patch.setattr(
        dots, "_convex", lambda row, first, grid: [x * arb("0.999") for x in right(row, first, grid)]
    )


def tangents_lost(patch):
    def chords(x, low):
        return low[0:-1:2], low[2::2]

    patch.setattr(dots, "_tangents", chords)


def laplace_holds():
    with precision(200):
        exact = laplace._sum(Fraction(1, 3), HALF, 6, 6)
        return all(laplace._sum(Fraction(1, 3), HALF, 6, steps).overlaps(exact) for steps in range(6))


def series_holds():
    with precision(200):
        short, long = (laplace._parts(Fraction(1, 2), 6, 3, bits) for bits in (4, 200))
        return all(
            (a.powers(a.at) + a.error).overlaps(b.powers(b.at) + b.error)
            for a, b in zip(short, long, strict=True)
        )


def remainder_forgotten(patch):
    right = laplace._Part
    patch.setattr(laplace, "_Part", lambda at, half, atom, powers, _: right(at, half, atom, powers, ZERO))
    laplace._parts.cache_clear()


WIDE, NARROW = DiscreteGaussianFactor(Fraction(1), 1), DiscreteGaussianFactor(HALF, 1)


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
            discrete._plain_sum(ball(rate), 3).overlaps(exact[rate] + ball(0).union(arb(2) ** -190))
            for rate in exact
        )


def unblurred(patch):
    patch.setattr(factors, "blurred", lambda value, radius: value)


def no_tail(patch):
    patch.setattr(
        discrete, "_plain_sum", lambda rate, bits: 1 + 2 * sum(((-rate * x * x).exp() for x in (1, 2)), ZERO)
    )


NOISE = sampled_atoms.SampledAtomsFactor(Fraction(1, 5), ((DiscreteGaussianFactor(Fraction(2), 1), 1),))
MIXED = sampled_atoms.SampledAtomsFactor(Fraction(1, 5), (*NOISE.inner, (AtomFactor("pure", HALF), 2)))


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
    patch.setattr(sampled_atoms.SampledAtomsFactor, "_dropped", lambda *_: ZERO)


def wide_holds():
    held = True
    with precision(160):
        for sigma, s in itertools.product((Fraction(1), Fraction(3, 2)), (arb("0.4"), arb("2.2"))):
            noise = DiscreteGaussianFactor(sigma, 1)
            exact = sampled_atoms.SampledAtomsFactor(Fraction(1, 5), ((noise, 1),))
            close = sampled_atoms.SampledWideFactor(Fraction(1, 5), 1 / sigma**2, sigma=sigma)
            pairs = zip(close.nodes(s, arb(1), 6), exact.nodes(s, arb(1), 6), strict=True)
            held = held and all(a.overlaps(b) for a, b in pairs)
    return held


def integral_taken_as_sum(patch):
    patch.setattr(sampled_atoms.SampledWideFactor, "apart", lambda *_: ZERO)


def contour_holds():
    held = True
    with precision(200):
        for rate, loss, added in ((HALF, 3, False), (Fraction(1, 100), 1, True)):
            factor = sampled_laplace.SampledLaplaceFactor(rate, Fraction(loss), added)
            for a in (arb("2.5"), arb("-4.5")):
                points, error = sampled_laplace._contour(factor, a, 64.0, 8)
                fine, _ = sampled_laplace._contour(factor, a, 64.0, 200)
                for t in (0, 3, 64):
                    rough, exact = (
                        sum((w * (acb(0, t) * at).exp() for w, at in nodes), acb(0))
                        for nodes in (points, fine)
                    )
                    held = held and bool(
                        factors.blurred(rough, error).overlaps(factors.blurred(exact, arb(2) ** -150))
                    )
    return held


def quadrature_trusted(patch):
    right = sampled_laplace._panel
    patch.setattr(sampled_laplace, "_panel", lambda *given: (right(*given)[0], ZERO))
    sampled_laplace._contour.cache_clear()


def line_holds():
    factor = sampled.SampledGaussianFactor(Fraction(1, 10), Fraction(1))
    held = True
    with precision(200):
        for a in (arb(4), arb(-3)):
            fine = sampled._Line.real(factor, a).total()
            for step, depth in ((0.2, 4.0), (1.4, 40.0), (0.6, 10.0)):
                held = held and bool(
                    sampled._Line._made(factor, a, step, 0.0, 3.0, depth).total().overlaps(fine)
                )
    return held


def strip_forgotten(patch):
    patch.setattr(sampled._Line, "_kappa", lambda *_: ZERO)


def line_tails_forgotten(patch):
    patch.setattr(sampled._Line, "_tails", lambda *_: ZERO)


def counts_hold():
    with precision(120):
        atoms = finite.ordered([(arb("-0.5"), arb("0.3775")), (arb("0.5"), arb("0.6225"))])
        whole, part = (finite.compose([(atoms, ZERO, 400)], depth, 120) for depth in (900, 2))
        return all(part.delta(Fraction(4 * k)).overlaps(whole.delta(Fraction(4 * k))) for k in range(40))


def rare_counts_forgotten(patch):
    right = finite.Composed
    patch.setattr(finite, "Composed", lambda t, m, _, bits: right(t, m, ZERO, bits))


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

    patch.setattr(factors.ThetaDecay, "near", near)


def range_forgotten(patch):
    patch.setattr(factors.PairDecay, "reach", lambda self, t: 2 * arb.pi() / self.loss)


def late_forgotten(patch):
    patch.setattr(factors.LaplaceDecay, "_late", lambda self, y: self._early(y))


def sampled_decay_holds():
    """Compare ψ inside the cells with their bounds, for a law of two humps, whose ψ rises and falls."""
    factor = sampled.SampledGaussianFactor(Fraction(3, 10), Fraction(16))
    with precision(80):
        decay = sampled.SampledDecay(factor, arb(HUMPS), 0.02)
        whole = factor.value(arb(HUMPS))
        inside = [(j, decay.step * (j + arb(k) / 8)) for j in range(24) for k in range(1, 8)]
        sizes = [(j, abs(factor.nodes(arb(HUMPS), t, 2)[1]) / whole) for j, t in inside]
        return all(not decay.cells[j] < size**2 for j, size in sizes if j < len(decay.cells))


HUMPS = 0.05  #: the tilt


def gain_forgotten(patch):
    right = (
        sampled._float_up
    )  # the bounds of the cells without h²·Var/4 = 1/64 (steps of a quarter deviation)
    patch.setattr(sampled, "_float_up", lambda value: right(value) - 1 / 64)


CASES = {
    "rounding": (lambda _: product_holds(3, 0, 1), wrong_rounding),
    "right tail": (lambda _: product_holds(8, 90, 0), tails_lost("right")),
    "left tail": (lambda _: product_holds(8, 90, 0), tails_lost("left")),
    "infinity": (lambda _: product_holds(6, 0, 20), infinity_lost),
    "coarser": (lambda _: coarser_holds(), shares_rounded_down),
    "dots": (lambda _: curve_holds(up=True), chords_lowered),
    "tangents": (lambda _: curve_holds(up=False), tangents_lost),
    "Laplace powers": (lambda _: laplace_holds(), lambda p: p.setattr(laplace, "_dropped", lambda *_: ZERO)),
    "Laplace series": (lambda _: series_holds(), remainder_forgotten),
    "theta": (lambda _: theta_holds(), unblurred),
    "direct": (lambda _: direct_holds(), unblurred),
    "total": (lambda _: total_holds(), no_tail),
    "noise below": (noise_holds(2, 60), left_out_forgotten),
    "noise above": (noise_holds(60, 4), left_out_forgotten),
    "sampled decay": (lambda _: sampled_decay_holds(), gain_forgotten),
    "wide": (lambda _: wide_holds(), integral_taken_as_sum),
    "contour": (lambda _: contour_holds(), quadrature_trusted),
    "strip": (lambda _: line_holds(), strip_forgotten),
    "line tails": (lambda _: line_holds(), line_tails_forgotten),
    "counts": (lambda _: counts_hold(), rare_counts_forgotten),
    "theta decay": (
        lambda _: decay_holds(DiscreteGaussianFactor(Fraction(1), 1), ("2.9", "3.1"))(),
        next_period_forgotten,
    ),
    "pair decay": (lambda _: decay_holds(AtomFactor("pure", HALF), ("2.0", "3.0"))(), range_forgotten),
    "Laplace decay": (
        lambda _: decay_holds(LaplaceFactor(HALF), ("1.0", "3.0", "4.0"))(),
        late_forgotten,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_without_its_error_term_the_enclosure_breaks(name, monkeypatch):
    holds, remove = CASES[name]
    assert holds(monkeypatch)
    with monkeypatch.context() as patch:
        remove(patch)
        broken = not holds(patch)
    for kept in (sampled_laplace._contour, laplace._parts):
        kept.cache_clear()
    assert broken
