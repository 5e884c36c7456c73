"""Methods that prove upper ends only, from Rényi bounds and from what is known of bounded range.

Equal bounded-range mechanisms have an adaptive optimum (`closed.bounded_range`), and bounds at single Rényi
orders an optimal conversion (`closed.single_order`).
"""

import math
from dataclasses import replace
from fractions import Fraction

from flint import arb

from dpaccount.accounting.methods import exact
from dpaccount.accounting.methods.answer import DeltaAt, EpsilonAt, Question
from dpaccount.exact import Enclosure, Number
from dpaccount.numerics.closed import bounded_range, single_order
from dpaccount.numerics.fourier import saddlepoint
from dpaccount.numerics.intervals import ball, log_float
from dpaccount.pairs.composition import Composition, max_over_directions
from dpaccount.pairs.upper import RangeBound, RdpBound, ZcdpBound

BISECTION_WIDTH = Fraction(1, 10**9)  #: relative width of what is found by bisection
MAX_ORDERS = 12
MAX_VALUE = 10**6  #: of Rényi bounds and ε that single orders are asked for
ETAS = Fraction(1, 10**9), Fraction(30)  #: the η for which tables are made
MAX_ORDER = 3000.0  #: of Rényi cross-checks; a sampled pair's moments cost more the higher they are


def _upper(bound: Number | None) -> Enclosure | None:
    return None if bound is None else Enclosure(None, bound)


# ---- Rényi bounds, at the best order and at those that are given


def always(total: Composition) -> bool:
    """Say that a method applies to every total."""
    return True


def has_orders(total: Composition) -> bool:
    """Say whether Rényi bounds are given at some orders."""
    return bool(total.orders)


def by_best_order(total: Composition, question: Question) -> Enclosure | None:
    """Bound the answer at the best Rényi order."""
    return _upper(question.renyi(total.renyi))


def by_given_orders(total: Composition, question: Question) -> Enclosure | None:
    """Bound the answer at the best given order."""
    return _upper(question.renyi(total.renyi, total.orders))


# ---- lattices above upper curves


def by_pairs(total: Composition) -> bool:
    """Say whether curves may beat Rényi bounds: not where zCDP or Rényi is all that is known."""
    return bool(total.mu2[1] or total.pairs) or any(not pair.renyi_only for pair, _ in total.upper)


def by_curves(total: Composition, question: Question) -> Enclosure | None:
    """Bound the answer by lattices above the curves."""
    found = exact.by_lattice(_merged(total), question)
    if isinstance(question, DeltaAt):
        return found or Enclosure(None, Fraction(1))
    return None if found is None or found.upper == math.inf else found


def adds_up(total: Composition) -> bool:
    """Say whether curves are composed, and several bounds at Rényi orders are among them."""
    return by_pairs(total) and _summed(total) is not total


def by_sum(total: Composition, question: Question) -> Enclosure | None:
    """Bound the answer by lattices, above the curves of what Rényi bounds add up to."""
    return by_curves(_summed(total), question)


def _summed(total: Composition) -> Composition:
    """Return the total with all bounds at Rényi orders as one, up to the largest order that each has."""
    known = [(pair, n) for pair, n in total.upper if isinstance(pair, RdpBound)]
    if sum(n for _, n in known) < 2:
        return total
    # They add up.  Every conversion to a curve loses something, and the sum is converted only once; but for
    # high orders alone several curves may be better, so both ways are tried.
    last = min(max(pair.orders) for pair, _ in known)
    orders = sorted({a for pair, _ in known for a in pair.orders if a <= last})
    points = tuple((a, sum((n * pair.implied(a) for pair, n in known), Fraction(0))) for a in orders)
    added = set(known)
    others = [each for each in total.upper if each not in added]
    return replace(total, upper=((RdpBound(points), 1), *others))


def _merged(total: Composition) -> Composition:
    """Return the total with zCDP as one: their ρ add up, and their ξ."""
    rho, xi = (sum((n * pair.only_zcdp()[k] for pair, n in total.upper), Fraction(0)) for k in (0, 1))
    others = tuple(each for each in total.upper if not each[0].only_zcdp()[0])
    return replace(total, upper=((ZcdpBound(rho, xi), 1), *others) if rho else others)


# ---- a Rényi bound of known pairs, as a cross-check of what another method found


def check(total: Composition, question: Question) -> Fraction | None:
    """Return a Rényi bound on the answer at the order that the saddle points to."""

    def value(way: Composition) -> Fraction | None:
        product = way.transform()
        if product is None:
            return None
        if isinstance(question, EpsilonAt):
            c = saddlepoint.guess(product.log_m, log_float(question.at))[1]
        else:
            c = saddlepoint.saddle(product.log_m, float(question.at))
        return question.renyi(way.renyi, (1 + Fraction(c),)) if 1e-6 < c < MAX_ORDER else None

    return max_over_directions(total, value)


# ---- equal bounded-range mechanisms


def equal_ranges(total: Composition) -> tuple[Fraction, int] | None:
    """Return (η, k) where a total is k bounded-range mechanisms of one η and nothing else."""
    if total.mu2[1] or total.pairs or total.failures or len(total.upper) != 1:
        return None
    pair, count = total.upper[0]
    if not isinstance(pair, RangeBound) or not ETAS[0] <= pair.eta <= ETAS[1]:
        return None
    return pair.eta, count


def of_ranges(eta: Fraction, count: int, question: Question) -> tuple[Number, str]:
    """Return a bound on the answer for equal bounded-range mechanisms, and the method's name."""
    at, of_epsilon = question.at, isinstance(question, EpsilonAt)
    if of_epsilon and count == 1:
        return min(eta, bounded_range.single_epsilon(eta, at)), "bounded range"
    if not of_epsilon and (count == 1 or at >= count * eta):
        return bounded_range.single_delta(eta, at / count), "bounded range"
    smooth = question.renyi(lambda order: ball(order * count * eta**2 / 8))  # zCDP (Cesar & Rogers 2021)
    if of_epsilon:
        table = bounded_range.table(eta, count, at)
        known = [count * eta, smooth, None if table is None else table.epsilon(at)]
    else:
        table = None if smooth is None else bounded_range.table(eta, count, smooth / 1000)
        known = [Fraction(1), smooth, None if table is None else table.delta(at)]
    name = "Rényi bound" if table is None else "adaptive bounded range"
    return min(bound for bound in known if bound is not None), name


# ---- the optimal conversion of bounds at single orders


def better(total: Composition, order: Fraction, question: Question, most: Number) -> Fraction | None:
    """Return a bound on the answer below `most` by the optimal conversion of one order; else None."""
    tau, at = _both_ways(total, order), question.at
    if tau is None or not tau < MAX_VALUE or at > MAX_VALUE or not 0 < most <= MAX_VALUE:
        return None
    most = Fraction(most)
    less = most * (1 - 10 * BISECTION_WIDTH)
    if isinstance(question, EpsilonAt):
        found = single_order.excludes(order, tau, less, at)
        return single_order.epsilon(order, tau, at, most, most * BISECTION_WIDTH) if found else None
    found = single_order.excludes(order, tau, at, less)
    return single_order.delta(order, tau, at, most) if found else None


def _both_ways(total: Composition, order: Fraction) -> arb | None:
    """Return a bound on the Rényi divergence in both directions of the relation."""
    return max_over_directions(total, lambda way: way.renyi(order), arb.max)


def moderate_orders(total: Composition) -> list[Fraction]:
    """Return the orders at which Rényi bounds are given: few, and of moderate size."""
    moderate = sorted(order for order in set(total.orders) if order < 10**4 and order.denominator < 10**12)
    return moderate[:MAX_ORDERS]
