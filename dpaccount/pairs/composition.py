"""What composes into one curve: counted dominating pairs, one μ² for all Gaussians, failures apart."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import IntEnum
from fractions import Fraction
from functools import reduce
from typing import Any, TypeVar

from flint import arb

from dpaccount.numerics.bisection import Ends
from dpaccount.numerics.closed import renyi
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve, complement
from dpaccount.numerics.closed.sampling import shrunk
from dpaccount.numerics.fourier.contours import Product
from dpaccount.numerics.intervals import accurate, ball, ceil_of, floor_of, precision
from dpaccount.numerics.lattice import composing
from dpaccount.pairs.gaussian import GaussianPair
from dpaccount.pairs.pair import ExactPair, LossPair, extent

FEW = 24  #: different pairs of one kind, where many are too many
MAX_FAILURES = 64  #: whose masses are multiplied out
Counted = tuple[tuple[LossPair, int], ...]
Exact = tuple[tuple[ExactPair, int], ...]
OfPair = Callable[[LossPair, Fraction], arb | None]
Bound = TypeVar("Bound", Fraction, arb)


class Attained(IntEnum):
    """When some releases attain the curve, so that it is no upper bound only."""

    ALWAYS = 0
    ALONE = 1  #: where one pair, released once, is all there is
    NEVER = 2


@dataclass(frozen=True)
class Composition:
    """An enclosure of μ², counted pairs, failures (δ, count), and counted upper bounds."""

    mu2: Ends = (Fraction(0), Fraction(0))
    pairs: Exact = ()
    failures: tuple[tuple[Fraction, int], ...] = ()
    upper: Counted = ()
    attainment: Attained = Attained.ALWAYS
    floor: "Composition | None" = None  #: what some releases cost at least where none attain the curve

    @staticmethod
    def of(pair: LossPair, count: int = 1) -> "Composition":
        """Return the composition of `count` copies of one pair; a Gaussian one counts by its μ²."""
        if isinstance(pair, GaussianPair):
            return Composition((count * pair.mu2[0], count * pair.mu2[1]))
        if isinstance(pair, ExactPair):
            return Composition(pairs=((pair, count),))
        return Composition(upper=((pair, count),))

    @property
    def counted(self) -> Counted:
        """Return the counted pairs and upper bounds."""
        return (*self.pairs, *self.upper)

    @property
    def parts(self) -> Counted:
        """Return the counted pairs and upper bounds, and all Gaussians as one pair."""
        gaussian: Counted = ((GaussianPair(self.mu2), 1),) if self.mu2[1] else ()
        return (*self.counted, *gaussian)

    @property
    def orders(self) -> list[Fraction]:
        """Return the orders at which Rényi bounds are given."""
        return [order for pair, _ in self.upper for order in pair.orders]

    @property
    def one_pair(self) -> LossPair | None:
        """Return the pair where one pair, released once, is all there is."""
        alone = len(self.pairs) == 1 and not (self.mu2[1] or self.failures or self.upper)
        return self.pairs[0][0] if alone and self.pairs[0][1] == 1 else None

    @property
    def empty(self) -> bool:
        """Return whether nothing is released."""
        return self.mu2[1] == 0 and not (self.pairs or self.failures or self.upper)

    @property
    def attained(self) -> bool:
        """Return whether some releases attain the curve, so that it is not just an upper bound."""
        alone = self.attainment == Attained.ALONE and self.without_failures().one_pair is not None
        return not self.upper and (self.attainment == Attained.ALWAYS or alone)

    def bracketing_pairs(self, *, sorts: bool = True) -> "tuple[Composition, Composition] | None":
        """Return compositions of simpler pairs that cost no more, and no less; None where all are simple.

        Of many pairs that differ in parameters with which they rise, `FEW` sorts are made, if any.
        """
        ends = {pair: pair.bracketing_pairs() or (pair, pair) for pair, _ in self.pairs}
        alike = defaultdict[ExactPair, list[ExactPair]](list)
        for pair, _ in self.pairs:
            if sorts and (values := pair.monotone_parameters()):
                alike[pair.with_parameters([Fraction(1, 2)] * len(values))].append(pair)
        for pairs in alike.values():
            for chunk in _sorts(pairs):
                ends |= dict.fromkeys(chunk, (_end_of(chunk, min), _end_of(chunk, max)))
        if all(pair == low for pair, (low, _) in ends.items()):
            return None
        less, more = ([(ends[pair][end], n) for pair, n in self.pairs] for end in (0, 1))
        return self._with_pairs(less), self._with_pairs(more)

    def _with_pairs(self, counted: list[tuple[Any, int]]) -> "Composition":
        mu2, pairs = self.mu2, Counter[ExactPair]()
        for whole, n in counted:
            own = whole if isinstance(whole, Composition) else Composition.of(whole)
            mu2 = mu2[0] + n * own.mu2[0], mu2[1] + n * own.mu2[1]
            pairs.update({pair: n * m for pair, m in own.pairs})
        return replace(self, mu2=mu2, pairs=tuple(sorted(pairs.items(), key=lambda each: sort_key(each[0]))))

    # ---- directions and ends

    @property
    def symmetric(self) -> bool:
        """Return whether both directions of the relation cost the same."""
        return all(pair.symmetric for pair, _ in self.counted)

    def reversed(self) -> "Composition":
        """Return the composition of the other direction."""
        if self.symmetric:
            return self
        pairs = tuple((pair.reversed(), n) for pair, n in self.pairs)
        return replace(self, pairs=pairs, upper=tuple((pair.reversed(), n) for pair, n in self.upper))

    @property
    def directions(self) -> "list[Composition]":
        """Return the composition of each direction of the relation: one where they cost the same."""
        return [self] if self.symmetric else [self, self.reversed()]

    def ceiling(self) -> arb | None:
        """Return a ball around the largest loss, with upper bounds a bound on it; None: unbounded."""
        if self.mu2[1] or self.failures:
            return None
        total = arb(0)
        for pair, count in self.counted:
            most = pair.ceiling()
            if most is None:
                return None
            total += count * most
        return total

    def peak(self) -> tuple[arb, arb] | None:
        """Return the largest loss and its mass under P; None where there is none or it is not known."""
        if self.mu2[1] or self.upper or self.failures:
            return None
        most, odds = ball(0), ball(1)
        for pair, count in self.pairs:
            own = pair.peak()
            if own is None:
                return None
            most += count * own[0]
            odds *= (count * own[1].log()).exp()
        return most, odds

    # ---- mass at an infinite loss

    def failure(self) -> Ends:
        """Return an enclosure of the probability of the failures, 1 − Π(1 − δ_i)^{n_i}."""
        sizes = sum(n * d.denominator.bit_length() for d, n in self.failures)
        # Exact while the power of all denominators is short; a million failures would make it millions of
        # digits.
        if sizes <= 1 << 16:
            exact = 1 - math.prod(((1 - d) ** n for d, n in self.failures), start=Fraction(1))
            return exact, exact
        with precision(256):
            if any(d == 1 for d, _ in self.failures):
                return Fraction(1), Fraction(1)
            value = -sum((n * (-ball(d)).log1p() for d, n in self.failures), arb(0)).expm1()
            return max(Fraction(0), floor_of(value)), min(Fraction(1), ceil_of(value))

    def without_failures(self) -> "Composition":
        """Return the composition with the failures left out."""
        return replace(self, failures=())

    def infinite_mass(self) -> Fraction | None:
        """Return the mass at an infinite loss, with upper bounds a bound on it; None: a huge number."""
        masses = [(pair.infinite_mass(), count) for pair, count in self.counted]
        factors: list[tuple[Fraction, int]] = list(self.failures)
        for mass, count in masses:
            if mass is None:
                return None
            if mass:
                factors.append((mass, count))
        if sum(count for _, count in factors) > MAX_FAILURES:
            return None
        return 1 - math.prod(((1 - mass) ** count for mass, count in factors), start=Fraction(1))

    def fails_more_often(self, target: Fraction) -> bool:
        """Return whether the pairs' mass at an infinite loss is proved to exceed the target."""
        with precision(128):
            kept = arb(1)
            for pair, count in self.pairs:
                kept *= (1 - ball(pair.least_infinite_mass())) ** count
            return bool(1 - kept > ball(target))

    def without_infinite_mass(self) -> "Composition":
        """Return the composition without its mass at an infinite loss: the same finite losses."""
        pairs = tuple((pair.without_infinite_mass(), n) for pair, n in self.pairs)
        upper = tuple((pair.without_infinite_mass(), n) for pair, n in self.upper)
        return replace(self, pairs=pairs, upper=upper, failures=())

    # ---- Rényi bounds and moments

    def renyi(self, order: Fraction, of_pair: OfPair = lambda pair, order: pair.renyi(order)) -> arb | None:
        """Return a bound on the Rényi divergence (failures left out), from those of its pairs."""
        total = ball(order) * ball(self.mu2[1]) / 2
        for pair, count in self.counted:
            part = of_pair(pair, order)
            if part is None:
                return None
            total += count * part
        return total

    def sampled_renyi(self, order: Fraction, rate: Fraction) -> arb | None:
        """Return a bound on the Rényi divergence on a sample.

        P^α Q^{1−α} is jointly convex: E e^{(α−1)L} ≤ 1 − q + q·(that of the inner pair).
        """
        inner = None if self.failures else self.renyi(order)
        if inner is None:
            return None
        return shrunk(inner.max(arb(0)) * ball(order - 1), ball(rate)) / ball(order - 1)

    def moments(self) -> Moments | None:
        """Return the sums of means and deviations; None where only Rényi orders are known."""
        total = Moments.none()
        if self.mu2[1]:
            GaussianPair(self.mu2).add_moments(total, 1)
        if not all(pair.add_moments(total, count) for pair, count in self.counted):
            return None
        return total.settled()

    def add_moments_of_sample(self, total: Moments, count: int) -> bool:
        """Add `count` samples of this: jointly convex, so no more than where every sample holds all."""
        whole = None if self.failures else self.moments()
        if whole is None:
            return False
        total.only_above(count * whole.above, count * whole.width_above)
        return True

    # ---- transforms and curves

    def transform(self, *, summed: bool = False) -> Product | None:
        """Return the product of the transforms, also of `summed` ones; None where some pair has none."""
        parts = []
        for pair, count in self.pairs:
            own = pair.summed_transform() if summed else pair.transform()
            if own is None:
                return None
            parts.append((own, count))
        return Product(self.mu2, tuple(parts))

    def curve(self, bits: int) -> Curve:
        """Return the curve at every real t, failures left out."""
        if not self.parts:
            return lambda t: accurate(lambda: 1 - ball(t).exp(), bits) if t < 0 else ball(0)
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return self.parts[0][0].curve(bits)
        if self.upper:
            return self.renyi_curve(bits)
        return composing.curve(self.parts, bits)

    def renyi_curve(self, bits: int) -> Curve:
        """Return the upper curve of Rényi bounds at many orders, for ε < 0 of the other direction."""
        there = _renyi_side(self)
        back = there if self.symmetric else _renyi_side(self.reversed())
        return lambda t: there(t) if t >= 0 else complement(t, back(-t), bits)

    # ---- size and order

    def extent(self) -> int:
        """Return how many bits the magnitudes span."""
        own = [2 * count.bit_length() + pair.extent() for pair, count in self.counted]
        return max([*map(extent, self.mu2), *own])


def _sorts(pairs: list[ExactPair]) -> list[list[ExactPair]]:
    """Return at most about `FEW` groups of similar pairs: rows by the first parameter, parts by the last."""
    rows = math.isqrt(FEW)
    return [
        part
        for row in _parted(sorted(pairs, key=lambda pair: pair.monotone_parameters()), rows)
        for part in _parted(sorted(row, key=lambda pair: pair.monotone_parameters()[::-1]), FEW // rows)
        if len(pairs) > FEW
    ]


def _parted(pairs: list[ExactPair], parts: int) -> list[list[ExactPair]]:
    size = -(-len(pairs) // parts)
    return [pairs[k : k + size] for k in range(0, len(pairs), size)]


def _end_of(pairs: list[ExactPair], end: Callable[[Any], Any]) -> ExactPair:
    """Return the pair of the least, or the largest, of the parameters with which these rise."""
    return pairs[0].with_parameters(
        [end(values) for values in zip(*(p.monotone_parameters() for p in pairs), strict=True)]
    )


def _renyi_side(total: Composition) -> Curve:
    """Return the upper curve, for ε ≥ 0 alone."""
    orders = [1 + Fraction(round(1000 * math.exp(x / 6)), 1000) for x in range(-42, 90)] + total.orders
    known = [(order, tau) for order in orders if (tau := total.renyi(order)) is not None]
    known = [(order, tau) for order, tau in known if float(order - 1) > 0]
    slopes = [(float(order - 1), float(tau.mid())) for order, tau in known]

    def value(t: Fraction) -> arb:
        if not known:
            return ball(1)
        at = float(t)
        # Floats choose the order, at which the bound is then proved: any order gives a valid one.
        _, index = min(
            (a * (tau - at) + a * math.log(a) - (a + 1) * math.log1p(a), i)
            for i, (a, tau) in enumerate(slopes)
        )
        bound = renyi.delta(total.renyi, t, [known[index][0]])
        return ball(1 if bound is None else bound)

    return value


def max_over_directions(
    total: Composition, value: Callable[[Composition], Bound | None], larger: Callable[[Any, Any], Any] = max
) -> Bound | None:
    """Return the larger of what both directions of the relation have; None where one has nothing."""
    bounds = [value(way) for way in total.directions]
    known = [bound for bound in bounds if bound is not None]
    return reduce(larger, known) if len(known) == len(bounds) else None


def sort_key(value: Any) -> str:
    """Return a text to sort pairs by."""
    # Hexadecimal, since Python writes no more than 4300 decimal digits.
    if isinstance(value, Fraction):
        return f"{value.numerator:x}/{value.denominator:x}"
    if isinstance(value, int):
        return f"{value:x}"
    if isinstance(value, tuple):
        return f"({','.join(map(sort_key, value))})"
    if is_dataclass(value):
        rank = f"{value.rank:02d}" if isinstance(value, LossPair) else ""
        return rank + sort_key(tuple(getattr(value, item.name) for item in fields(value)))
    return str(value)
