"""Methods that prove upper ends only, from Rényi bounds and from what is known of bounded range.

Equal bounded-range mechanisms have an adaptive optimum (`closed.bounded_range`), and bounds at single Rényi
orders an optimal conversion (`closed.single_order`).
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from flint import arb

from dpaccount.accounting.methods import exact
from dpaccount.exact import Enclosure, Number
from dpaccount.numerics.closed import bounded_range, renyi, single_order
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


def renyi_epsilon(total: Composition, target: Fraction, gap: Fraction, least: Number) -> Enclosure | None:
    """Return a bound on ε(target) at the best Rényi order."""
    return _upper(renyi.epsilon(total.renyi, target, []))


def renyi_delta(total: Composition, epsilon: Fraction, gap: Fraction) -> Enclosure | None:
    """Return a bound on δ(epsilon) at the best Rényi order."""
    return _upper(renyi.delta(total.renyi, epsilon, []))


def given_epsilon(total: Composition, target: Fraction, gap: Fraction, least: Number) -> Enclosure | None:
    """Return a bound on ε(target) at the best given order."""
    return _upper(renyi.epsilon(total.renyi, target, total.orders))


def given_delta(total: Composition, epsilon: Fraction, gap: Fraction) -> Enclosure | None:
    """Return a bound on δ(epsilon) at the best given order."""
    return _upper(renyi.delta(total.renyi, epsilon, total.orders))


# ---- lattices above upper curves


def by_pairs(total: Composition) -> bool:
    """Say whether curves may beat Rényi bounds: not where zCDP or Rényi is all that is known."""
    return bool(total.mu2[1] or total.pairs) or any(not pair.renyi_only for pair, _ in total.upper)


def pairs_epsilon(total: Composition, target: Fraction, gap: Fraction, least: Number) -> Enclosure | None:
    """Return a bound on ε(target) by lattices above the curves."""
    found = exact.lattice_epsilon(_merged(total), target, gap, least)
    return None if found.upper == math.inf else found


def pairs_delta(total: Composition, epsilon: Fraction, gap: Fraction) -> Enclosure | None:
    """Return a bound on δ(epsilon) by lattices above the curves."""
    return exact.lattice_delta(_merged(total), epsilon, gap) or Enclosure(None, Fraction(1))


def adds_up(total: Composition) -> bool:
    """Say whether curves are composed, and several bounds at Rényi orders are among them."""
    return by_pairs(total) and _summed(total) is not total


def summed_epsilon(total: Composition, target: Fraction, gap: Fraction, least: Number) -> Enclosure | None:
    """Return a bound on ε(target) by lattices, above the curves of what Rényi bounds add up to."""
    return pairs_epsilon(_summed(total), target, gap, least)


def summed_delta(total: Composition, epsilon: Fraction, gap: Fraction) -> Enclosure | None:
    """Return a bound on δ(epsilon) by lattices, above the curves of what Rényi bounds add up to."""
    return pairs_delta(_summed(total), epsilon, gap)


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


def check_epsilon(total: Composition, target: Fraction) -> Fraction | None:
    """Return a Rényi bound on ε(target) at the order that the saddle points to."""

    def value(way: Composition) -> Fraction | None:
        order = _order(way, lambda m: saddlepoint.guess(m, log_float(target))[1])
        return order and renyi.epsilon(way.renyi, target, [order])

    return max_over_directions(total, value)


def check_delta(total: Composition, epsilon: Fraction) -> Fraction | None:
    """Return a Rényi bound on δ(epsilon) at the order that the saddle points to."""

    def value(way: Composition) -> Fraction | None:
        order = _order(way, lambda m: saddlepoint.saddle(m, float(epsilon)))
        return order and renyi.delta(way.renyi, epsilon, [order])

    return max_over_directions(total, value)


def _order(total: Composition, saddle_of: Callable[[saddlepoint.LogM], float]) -> Fraction | None:
    """Return the order to cross-check at; None where a transform is missing or the order out of reach."""
    product = total.transform()
    if product is None:
        return None
    c = saddle_of(product.log_m)
    return 1 + Fraction(c) if 1e-6 < c < MAX_ORDER else None


# ---- equal bounded-range mechanisms


def equal_ranges(total: Composition) -> tuple[Fraction, int] | None:
    """Return (η, k) where a total is k bounded-range mechanisms of one η and nothing else."""
    if total.mu2[1] or total.pairs or total.failures or len(total.upper) != 1:
        return None
    pair, count = total.upper[0]
    if not isinstance(pair, RangeBound) or not ETAS[0] <= pair.eta <= ETAS[1]:
        return None
    return pair.eta, count


def range_epsilon(eta: Fraction, count: int, target: Fraction) -> tuple[Number, str]:
    """Return a bound on ε(target) of equal bounded-range mechanisms, and the method's name."""
    if count == 1:
        return min(eta, bounded_range.single_epsilon(eta, target)), "bounded range"
    known = [count * eta, renyi.epsilon(_zcdp(eta, count), target)]
    table = bounded_range.table(eta, count, target)
    if table is not None:
        known.append(table.epsilon(target))
    return min(bound for bound in known if bound is not None), _range_method(table)


def range_delta(eta: Fraction, count: int, epsilon: Fraction) -> tuple[Number, str]:
    """Return a bound on δ(epsilon) of equal bounded-range mechanisms, and the method's name."""
    if count == 1 or epsilon >= count * eta:
        return bounded_range.single_delta(eta, epsilon / count), "bounded range"
    smooth = renyi.delta(_zcdp(eta, count), epsilon)
    table = None if smooth is None else bounded_range.table(eta, count, smooth / 1000)
    known = [Fraction(1), smooth, None if table is None else table.delta(epsilon)]
    return min(bound for bound in known if bound is not None), _range_method(table)


def _range_method(table: bounded_range.Adaptive | None) -> str:
    return "Rényi bound" if table is None else "adaptive bounded range"


def _zcdp(eta: Fraction, count: int) -> renyi.Bound:
    """Return the Rényi bound of kη²/8-zCDP (Cesar & Rogers 2021)."""
    return lambda order: ball(order * count * eta**2 / 8)


# ---- the optimal conversion of bounds at single orders


def better_epsilon(total: Composition, order: Fraction, target: Fraction, most: Number) -> Fraction | None:
    """Return a bound on ε(target) below `most` by the optimal conversion of one order; else None."""
    tau = _both_ways(total, order)
    if tau is None or not tau < MAX_VALUE or not 0 < most < MAX_VALUE:
        return None
    most = Fraction(most)
    if not single_order.excludes(order, tau, most * (1 - 10 * BISECTION_WIDTH), target):
        return None
    return single_order.epsilon(order, tau, target, most, most * BISECTION_WIDTH)


def better_delta(total: Composition, order: Fraction, epsilon: Fraction, most: Number) -> Fraction | None:
    """Return a bound on δ(epsilon) below `most` by the optimal conversion of one order; else None."""
    tau, most = _both_ways(total, order), Fraction(most)
    if tau is None or not tau < MAX_VALUE or epsilon > MAX_VALUE:
        return None
    if not single_order.excludes(order, tau, epsilon, most * (1 - 10 * BISECTION_WIDTH)):
        return None
    return single_order.delta(order, tau, epsilon, most)


def _both_ways(total: Composition, order: Fraction) -> arb | None:
    """Return a bound on the Rényi divergence in both directions of the relation."""
    return max_over_directions(total, lambda way: way.renyi(order), arb.max)


def moderate_orders(total: Composition) -> list[Fraction]:
    """Return the orders at which Rényi bounds are given: few, and of moderate size."""
    moderate = sorted(order for order in set(total.orders) if order < 10**4 and order.denominator < 10**12)
    return moderate[:MAX_ORDERS]
