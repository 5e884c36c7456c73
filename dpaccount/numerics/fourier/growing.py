"""Inversions of a product that grows: one contour serves for a while; a further factor costs its own nodes.

Any contour gives an enclosure (`fourier`), and a bound on the tail of a product holds for every product with
more factors, as |M(c + it)/M(c)| ≤ 1 for each of them.  So the cut is that of the product now, and line and
period are those of `ROOM` times as many steps; in between the enclosure stays close.
"""

import math
from fractions import Fraction

from flint import acb, arb

from dpaccount.numerics.bisection import Ends, solve
from dpaccount.numerics.fourier.contours import Contour, Product, contour_with_room, estimate_epsilon
from dpaccount.numerics.fourier.fourier import MARGIN, Inversion, kappa, push, reduced
from dpaccount.numerics.fourier.transforms import Transform
from dpaccount.numerics.intervals import ball, between, ceil_of, precision

ROOM = 4  #: by how much a product may grow before its contour becomes a poor one
BOUND_BITS = 80  #: of a Chernoff bound
MORE_DIGITS = 1.0  #: of δ than the width asks for, which the steps in between use up


class GrowingInversion(Inversion):
    """An inversion whose product is multiplied by further ones."""

    def __init__(self, product: Product, chosen: Contour, near: float) -> None:
        super().__init__(product, chosen)
        self._rows = [(0, self.values)]
        self._nodes: dict[Transform, list[acb]] = {}
        self._found = Fraction(near)  #: where ε(target) was last

    def multiply(self, more: Product) -> None:
        """Multiply the product by another one, whose laws have no infinite losses."""
        chosen, count = self.chosen, len(self.values)
        with precision(chosen.bits):
            mu2, s, v = between(*more.mu2), arb(chosen.right), arb(chosen.left)
            if more.mu2[1]:
                points = (acb(self.c, n * self.h) for n in range(count))
                push(self._rows, [(p * (p + 1) * mu2 / 2).exp() for p in points])
            for factor, times in more.parts:
                if factor not in self._nodes:
                    self._nodes[factor] = factor.nodes(self.c, self.h, count)
                push(self._rows, [b**times for b in self._nodes[factor]])
            self.right *= more.value(s)
            self.left *= more.value(-1 - v if chosen.left > 0 else v)
            self.set_values(reduced(self._rows))

    def chernoff(self, target: Fraction) -> Fraction:
        """Return an ε with δ(ε) ≤ target, by the right order, too: the sum fails far out."""
        with precision(self.chosen.bits):
            right = (self.right / ball(target)).log() / self.chosen.right
            return min(super().chernoff(target), ceil_of(right))

    def epsilon(self, target: Fraction, width: Fraction) -> Ends:
        """Return an enclosure of ε(target), about as wide as `width` while the contour is a good one."""
        if ceil_of(self.curve(Fraction(0))) <= target:
            return Fraction(0), Fraction(0)
        hint = (self._found, self._found * Fraction(101, 100))
        ends = solve(self.curve, target, Fraction(0), self.chernoff(target), width, hint)
        self._found = ends[0]
        return ends


class GrowingBound:
    """The Chernoff bound of a product that is multiplied by further ones: enough for what costs less."""

    def __init__(self, product: Product, order: float) -> None:
        self.order = order
        with precision(BOUND_BITS):
            self._log = product.value(arb(order)).log() + kappa(arb(order)).log()

    def multiply(self, more: Product) -> None:
        """Multiply the product by another one."""
        with precision(BOUND_BITS):
            self._log += more.value(arb(self.order)).log()

    def within(self, target: Fraction, epsilon: Fraction) -> bool:
        """Return whether δ(ε) ≤ target, by δ(ε) ≤ M(s)κ(s)e^{−sε}."""
        with precision(BOUND_BITS):
            return bool(self._log - self.order * ball(epsilon) <= ball(target).log())


def growing_bound(product: Product, log_target: float, _: float) -> GrowingBound | None:
    """Return the bound at an order that is good near ε(δ), ln δ = `log_target`; None: a loss is infinite."""
    at = estimate_epsilon(_later(product), log_target)
    return None if product.fails or not 1e-30 < at.c < 1e12 else GrowingBound(product, at.c)


def _later(product: Product) -> Product:
    parts = tuple((each, ROOM * n) for each, n in product.parts)
    return Product((ROOM * product.mu2[0], ROOM * product.mu2[1]), parts)


def growing(product: Product, log_target: float, width: float) -> GrowingInversion | None:
    """Return an inversion that encloses ε(δ) of the product, and of larger ones, in about this width.

    `log_target`: ln δ.  None where the decay is too slow, or some loss is infinite.
    """
    if product.fails:
        return None
    later = _later(product)
    at = estimate_epsilon(later, log_target)
    if not (1e-30 < at.c < 1e12 and width > 0):  # a width below all doubles is 0
        return None
    digits = MARGIN + MORE_DIGITS - math.log10(at.c) - math.log10(width)
    chosen = contour_with_room(product, later, at, digits)
    if chosen is None:
        return None
    return GrowingInversion(product, chosen, estimate_epsilon(product, log_target).epsilon)
