"""Upper bounds that use more of what is known about one kind of event than a Rényi bound does.

Equal bounded-range mechanisms have an adaptive optimum (`bounded_range`), and bounds at single Rényi orders
an optimal conversion (`numerics.closed.single_order`). Both only lower an upper end that is already known.
"""

from dataclasses import replace
from fractions import Fraction

from dpaccount.cost import exact_bounds
from dpaccount.cost.answer import Answer
from dpaccount.cost.exposure import Exposure, RangeBound, failure
from dpaccount.cost.renyi_bounds import both_ways
from dpaccount.exact import Enclosure
from dpaccount.numerics.balls import ball
from dpaccount.numerics.closed import bounded_range, renyi, single_order
from dpaccount.numerics.work_budget import exhausted
from dpaccount.precision import certified

NEAR = Fraction(1, 10**9)  #: relative width of what is found by bisection
MOST_ORDERS = 12
WITHIN = Fraction(1, 10**9), Fraction(30)  #: the η for which tables are made


@certified
def epsilon(total: Exposure, target: Fraction, gap: Fraction) -> Answer:
    """Return ε(target), 0 ≤ target ≤ 1, by the closer of the ways that apply."""
    lost = failure(total)[1]
    if not total.bounded or not lost < target < 1:
        return exact_bounds.epsilon(total, target, gap)
    rest, aim = replace(total, failures=()), (target - lost) / (1 - lost)
    kind = _equal_ranges(rest)
    if kind is not None and (own := _range_epsilon(*kind, aim)) is not None:
        return own
    known = exact_bounds.epsilon(total, target, gap)
    for order in () if exhausted() else _orders(rest):
        tau, most = both_ways(rest)(order), known.bounds.upper
        if tau is None or not tau < 10**6 or not 0 < most < 10**6:
            continue
        most = Fraction(most)
        if single_order.excludes(order, tau, most * (1 - 10 * NEAR), aim):
            found = single_order.epsilon(order, tau, aim, most, most * NEAR)
            known = Answer(Enclosure(None, found), "optimal conversion of one Rényi order")
    return known


@certified
def delta(total: Exposure, epsilon: Fraction, gap: Fraction) -> Answer:
    """Return δ(epsilon), likewise."""
    kind = None if total.failures else _equal_ranges(total)
    if kind is not None and (own := _range_delta(*kind, epsilon)) is not None:
        return own
    known = exact_bounds.delta(total, epsilon, gap)
    if not total.bounded or total.failures or known.bounds.upper == 0 or exhausted():
        return known
    most = Fraction(known.bounds.upper)
    for order in _orders(total):
        tau = both_ways(total)(order)
        if tau is None or not tau < 10**6 or epsilon > 10**6:
            continue
        if single_order.excludes(order, tau, epsilon, most * (1 - 10 * NEAR)):
            most = single_order.delta(order, tau, epsilon, most)
            known = Answer(Enclosure(None, most), "optimal conversion of one Rényi order")
    return known


def _range_epsilon(eta: Fraction, count: int, target: Fraction) -> Answer | None:
    """Return ε of equal bounded-range mechanisms from their own curves; None out of their reach."""
    if not WITHIN[0] <= eta <= WITHIN[1]:
        return None
    if count == 1:
        return Answer(Enclosure(None, min(eta, bounded_range.single_epsilon(eta, target))), "bounded range")
    known = [count * eta, renyi.epsilon(_zcdp(eta, count), target)]
    table = bounded_range.table(eta, count, target)
    if table is not None:
        known.append(table.epsilon(target))
    return Answer(Enclosure(None, min(bound for bound in known if bound is not None)), _method(table))


def _range_delta(eta: Fraction, count: int, epsilon: Fraction) -> Answer | None:
    """Return δ(epsilon), likewise."""
    if not WITHIN[0] <= eta <= WITHIN[1]:
        return None
    if count == 1 or epsilon >= count * eta:
        return Answer(Enclosure(None, bounded_range.single_delta(eta, epsilon / count)), "bounded range")
    smooth = renyi.delta(_zcdp(eta, count), epsilon)
    table = None if smooth is None else bounded_range.table(eta, count, smooth / 1000)
    known = [Fraction(1), smooth, None if table is None else table.delta(epsilon)]
    return Answer(Enclosure(None, min(bound for bound in known if bound is not None)), _method(table))


def _method(table: bounded_range.Adaptive | None) -> str:
    return "Rényi bound" if table is None else "adaptive bounded range"


def _zcdp(eta: Fraction, count: int) -> renyi.Bound:
    """Return the Rényi bound of kη²/8-zCDP (Cesar & Rogers 2021)."""
    return lambda order: ball(order * count * eta**2 / 8)


def _equal_ranges(total: Exposure) -> tuple[Fraction, int] | None:
    """Return (η, k) where a total is k bounded-range mechanisms of one η and nothing else."""
    if total.mu2[1] or total.pairs or len(total.bounded) != 1:
        return None
    kind, count = total.bounded[0]
    return (kind.eta, count) if isinstance(kind, RangeBound) else None


def _orders(total: Exposure) -> list[Fraction]:
    """Return the orders at which Rényi bounds are given: few, and of moderate size."""
    moderate = sorted(order for order in set(total.orders) if order < 10**4 and order.denominator < 10**12)
    return moderate[:MOST_ORDERS]
