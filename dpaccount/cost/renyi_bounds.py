"""Upper bounds on Rényi divergences of exposures: every kind has one, exact where its transform is known."""

from collections.abc import Callable
from fractions import Fraction
from functools import reduce

from flint import arb

from dpaccount.cost.exposure import Drawn, Exposure, Kind, RangeBound, RdpBound, ZcdpBound, directions
from dpaccount.numerics.balls import ball
from dpaccount.numerics.closed import renyi
from dpaccount.numerics.closed.sampling import shrunk
from dpaccount.numerics.fourier.transforms import Factor
from dpaccount.numerics.work_budget import OutOfReach, over_limit

OfKind = Callable[[Kind, Fraction], arb | None]


def renyi_bound(total: Exposure, of_kind: OfKind | None = None) -> renyi.Bound:
    """Return α ↦ a bound on the Rényi divergence of a whole total (no failures), from those of its kinds."""
    of_kind = of_kind or renyi_of

    def value(order: Fraction) -> arb | None:
        found = ball(order) * ball(total.mu2[1]) / 2
        for kind, count in total.kinds:
            part = of_kind(kind, order)
            if part is None:
                return None
            found += count * part
        return found

    return value


def worse_way(total: Exposure, value: Callable[[Exposure], Fraction | None]) -> Fraction | None:
    """Return the larger of what both directions of the relation have; None where one has nothing."""
    found = [value(way) for way in directions(total)]
    known = [bound for bound in found if bound is not None]
    return max(known) if len(known) == len(found) else None


def both_ways(total: Exposure) -> renyi.Bound:
    """Return α ↦ a bound on the Rényi divergence in both directions of the relation."""

    def value(order: Fraction) -> arb | None:
        found = [renyi_bound(way)(order) for way in directions(total)]
        known = [tau for tau in found if tau is not None]
        return reduce(arb.max, known) if len(known) == len(found) else None

    return value


def renyi_of(kind: object, order: Fraction) -> arb | None:
    """Return a bound on D_order of one pair: log M(order − 1)/(order − 1), or what is known of it."""
    if isinstance(kind, ZcdpBound):
        return ball(order * kind.rho)
    if isinstance(kind, RangeBound):
        # η²/8-zCDP (Dong, Durfee & Rogers 2020; Cesar & Rogers 2021), and never more than η
        return ball(min(order * kind.eta**2 / 8, kind.eta))
    if isinstance(kind, RdpBound):
        found = renyi.hull_bound(kind.hull, order)
        return None if found is None else ball(found)
    if isinstance(kind, Drawn):
        # P^α Q^{1−α} is jointly convex: E e^{(α−1)L} ≤ 1 − q + q·(that of the inner pair)
        inner = (
            None
            if kind.inner.failures
            else renyi_bound(kind.inner.turned() if kind.added else kind.inner)(order)
        )
        return (
            None
            if inner is None
            else shrunk(inner.max(arb(0)) * ball(order - 1), ball(kind.rate)) / ball(order - 1)
        )
    if isinstance(kind, Factor):
        return _exact_renyi(kind, order)
    return None


def _exact_renyi(kind: Factor, order: Fraction) -> arb | None:
    """Return D_order of a pair; None where the order is out of the transform's reach."""
    if kind.infinite() > 0:
        return None
    try:
        value = kind.value(ball(order) - 1).log() / (ball(order) - 1)
    except OutOfReach:
        if over_limit():
            raise
        return None
    return value if value.is_finite() else None
