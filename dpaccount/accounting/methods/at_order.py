"""The Rényi divergence of a composition at one order: from transforms on both sides, or by bounds above.

D_α(P‖Q) = ln M(α − 1)/(α − 1), M(s) = E_P e^{sL} (Mironov 2017).  It adds up under composition, and of the
two directions of the relation the larger one counts.
"""

import math
from fractions import Fraction

from dpaccount.accounting.methods.answer import UNREACHED, Answer, largest_answer
from dpaccount.exact import Enclosure, Number
from dpaccount.numerics.intervals import ball, between, ceil_of, floor_of, precision
from dpaccount.pairs.composition import Attained, Composition
from dpaccount.precision import certified

ORDER_BITS = 192


@certified
def renyi(total: Composition, order: Fraction) -> Answer:
    """Return D_order, order > 1: infinite where something happens on one of two neighbours alone."""
    with precision(ORDER_BITS):
        return largest_answer([_one_way(way, order) for way in total.directions])


def _one_way(way: Composition, order: Fraction) -> Answer:
    # A pair that other releases attain at other points of its curve has a divergence that none need have.
    attained = not way.upper and way.attainment == Attained.ALWAYS
    if way.empty:
        return Answer(Enclosure(Fraction(0), Fraction(0)), "exact")
    if any(mass for mass, _ in way.failures) or any(pair.infinite_mass() != 0 for pair, _ in way.pairs):
        return Answer(Enclosure(math.inf if attained else None, math.inf), "exact")
    exact = _by_transforms(way, order)
    upper: Number = math.inf if exact is None else exact[1]
    try:
        for bound in (way.renyi(order), way.ceiling()):
            if bound is not None and bound.is_finite():
                upper = min(upper, ceil_of(bound))
    except UNREACHED:
        pass
    if exact is None or not attained:
        return Answer(Enclosure(None, upper), "Rényi bound")
    return Answer(Enclosure(min(max(Fraction(0), exact[0]), upper), upper), "moments")


def _by_transforms(way: Composition, order: Fraction) -> tuple[Fraction, Fraction] | None:
    """Return ends of D_order where every part has a transform; None elsewhere, or out of reach."""
    product = None if way.upper else way.transform(summed=True)
    if product is None:
        return None
    s = ball(order - 1)
    try:
        found = ball(order) * between(*way.mu2) / 2
        for factor, count in product.parts:
            found += count * factor.value(s).log() / s
        return (floor_of(found), ceil_of(found)) if found.is_finite() else None
    except UNREACHED:
        return None
