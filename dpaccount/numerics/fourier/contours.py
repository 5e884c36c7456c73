"""The contour of a Fourier inversion: where the line runs, the period, the cut, and how much is smoothed.

All of it is chosen in floats: a bad choice widens the enclosure that `fourier.Inversion` proves, never
breaks it. The bounds on the decay, which that proof needs, are balls.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from dpaccount.forks import cached_property
from dpaccount.numerics.bisection import Ends, bisect
from dpaccount.numerics.fourier import saddlepoint
from dpaccount.numerics.fourier.joint_decay import joined, joint_decay, settled
from dpaccount.numerics.fourier.transforms import Counted, Decay, Transform
from dpaccount.numerics.intervals import ball, between, precision
from dpaccount.numerics.work_budget import SECOND, spend


@dataclass(frozen=True)
class Product:
    """A product of transforms: μ² of all Gaussians together, and counted transforms."""

    mu2: Ends
    parts: Counted

    def log_m(self, s: float) -> float:
        """Return an estimate of log M(s)."""
        half = float(self.mu2[1]) / 2
        joint, others = self._search
        spend(4 * len(others) + sum(len(self.parts) - len(others) for _ in joint) / 50)
        found = s * (s + 1) * half + sum(each.log_m(s, count) for each, count in others)
        for estimate in joint:
            found += estimate(s)
        return found

    @cached_property
    def _search(self) -> tuple[list[Callable[[float], float]], Counted]:
        """Return joint estimates, where many transforms of one class have one, and the other transforms."""
        joint, others = [], self.parts
        for kind in dict.fromkeys(type(each) for each, _ in self.parts):
            estimate, left = kind.jointly(tuple(part for part in self.parts if type(part[0]) is kind))
            if estimate is not None:
                joint.append(estimate)
                others = tuple(part for part in others if type(part[0]) is not kind or part in left)
        return joint, others

    def weight(self, c: float) -> float:
        """Return how much more a line at c costs than one at 0, roughly."""
        return max((factor.weight(c) for factor, _ in self.parts), default=1.0)

    def infinite(self) -> arb:
        """Return the mass at an infinite loss."""
        return -sum((n * (-f.infinite()).log1p() for f, n in self.parts if f.infinite() > 0), arb(0)).expm1()

    @property
    def fails(self) -> bool:
        """Say whether any mass of P is at an infinite loss, or of Q at an infinite negative one."""
        return any(f.infinite() > 0 or f.reversed().infinite() > 0 for f, _ in self.parts)

    def value(self, s: arb) -> arb:
        """Return M(s) for real s."""
        found = (s * (s + 1) * between(*self.mu2) / 2).exp()
        for factor, count in self.parts:
            found *= factor.value(s) ** count
        return found

    def above(self, s: arb) -> arb:
        """Return an upper bound on M(s), s ≥ 0 or s ≤ −1, by the costliest few of a large family."""
        return Product(self.mu2, self._costliest).value(s)

    @cached_property
    def _costliest(self) -> Counted:
        families: dict[Any, list[tuple[Transform, int]]] = {}
        for part in self.parts:
            families.setdefault(part[0].family() or part[0], []).append(part)
        kept: list[tuple[Transform, int]] = []
        for family in families.values():
            family.sort(key=lambda part: part[0].order())
            size = -(-len(family) // MOST_OF_FAMILY)
            chunks = [family[k : k + size] for k in range(0, len(family), size)]
            # M rises with the order of a family, so the last of a chunk bounds all of it.
            kept += [(chunk[-1][0], sum(count for _, count in chunk)) for chunk in chunks]
        return tuple(kept)


@dataclass(frozen=True)
class Contour:
    """The free parameters: the line c, the period D, Chernoff orders s and v, smoothing m², the cut T.

    `left` is v where it is positive, and −θ where it is negative.
    """

    c: float
    period: float
    right: float
    left: float
    smooth: Fraction
    cut: float
    bits: int
    depth: float  #: −log of the decay that is worth resolving

    @property
    def nodes(self) -> int:
        """Return how many nodes the sum has, n = 0 included."""
        return math.ceil(self.cut * self.period / (2 * math.pi)) + 1


#: Values of transforms that contours share, by (factor, line, period, bits); None: each its own contour.
_kept: ContextVar[dict[Any, Any] | None] = ContextVar("kept", default=None)
GRAIN = 1.25**0.5  #: ratio of the lines that are shared
PERIOD = 1.1  #: and of the periods


@contextmanager
def shared() -> Iterator[None]:
    """Let similar questions inside the block share lines, decays and values of transforms.

    Lines, periods and precisions are then chosen from few, each no worse than what was needed; what is proved
    does not depend on the choice.
    """
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def kept() -> "dict[Any, Any] | None":
    """Return the values that are shared here; None where nothing is."""
    return _kept.get()


def _on_grid(value: float, ratio: float, *, up: bool) -> float:
    """Return a power of `ratio` near a number (or above it), where contours are shared; else the number."""
    if _kept.get() is None or not value > 0:
        return value
    power = math.log(value) / math.log(ratio)
    return float(ratio ** (math.ceil(power) if up else round(power)))


FEWEST_NODES = 5  #: of a sum: none does with less
MOST_OF_FAMILY = 48  #: transforms, where all are not needed
MOST_DECAYS = 6  #: of those that are slow to find
EASY = 0.4 * SECOND  #: steps of node evaluations (a rough estimate) up to which no smoothing is considered
EASY_DIGITS = 12.0  #: digits that are only sought where they are easy
LITTLE = 1.5  #: times the nodes that smoothing needs: it is left out where so many do without
MAX_WORK = 3 * SECOND  #: and up to which a contour is considered at all


def kappa(s: float) -> float:
    """Return log κ(s) = s log s − (s+1) log(s+1), an estimate."""
    return s * math.log(s) - (s + 1) * math.log(s + 1)


@dataclass(frozen=True)
class Estimate:
    """Float estimates at the wanted point: ε, log δ(ε), and the saddle."""

    epsilon: float
    log_delta: float
    c: float

    def slack(self) -> float:
        """Return how far off ε may be: some per cent, or of the distance |log δ|/c that the tail spans."""
        return min(0.05 * self.epsilon + 1e-3, (0.5 - 0.1 * self.log_delta) / self.c)


def estimate_epsilon(product: Product, log_delta: float) -> Estimate:
    """Return the estimate for ε(δ), at least 0."""
    epsilon, c = saddlepoint.guess(product.log_m, log_delta)
    if epsilon > 0:
        return Estimate(epsilon, log_delta, c)
    return estimate_delta(product, 0.0)


def estimate_delta(product: Product, epsilon: float) -> Estimate:
    """Return the estimate for δ(ε)."""
    c = saddlepoint.saddle(product.log_m, epsilon)
    found = saddlepoint.at(product.log_m, c)
    return Estimate(epsilon, min(found[1] if found else -1e4, 0.0), c)


def contour(product: Product, at: Estimate, digits: float, gap: float) -> Contour | None:
    """Return a good contour for about `digits` digits of δ near `at`; None where every one costs too much.

    `gap` is the width in ε that smoothing may cost where the decay is too slow without.
    """
    if not 1e-30 < at.c < 1e12:
        return None
    tolerance = at.log_delta - digits * math.log(10)
    tried = _tried(product, at, tolerance)
    own = joined(product.parts)[0]
    lasts = own and all(settled(own, line.c) < math.inf for line in tried)  # then smoothing is tried last
    # m² whose excess moves ε by about a part of `gap`, small where that takes no more nodes: the density
    # of L at ε is about (c+1)|δ′|; the bound on the excess grows by e^{m²/8} beside that, so m² stays below 8
    part = 0.3 if own else 0.75
    smooth = Fraction(min(part * gap / (at.c + 1), 8.0))
    costs = {line: node_steps(product, line.c, _bits(product, at, line, tolerance)) for line in tried}
    # Smoothing widens the enclosure, so what is easy without it comes first, and what is merely possible
    # last.
    tries = [(Fraction(0), EASY), (smooth / 8, EASY / 16), (smooth, MAX_WORK), (Fraction(0), MAX_WORK)]
    for extra, most in tries[:1] if digits > EASY_DIGITS else tries[:1:-1] if lasts else tries:
        cuts = [(line, _cut(product, line, extra, most / costs[line])) for line in tried]
        known = [(cut * line.period * costs[line], line, cut) for line, cut in cuts if cut is not None]
        if known:
            _, line, cut = min(known, key=lambda found: found[0])
            nodes = 2 + LITTLE * cut * line.period / (2 * math.pi)
            plain = extra and len(product.parts) <= MOST_OF_FAMILY
            bare = _cut(product, line, Fraction(0), nodes) if plain else None
            bits = _bits(product, at, line, tolerance)
            if _kept.get() is not None:
                bits = -(-bits // 64) * 64
            smoothing, end = (extra, cut) if bare is None else (Fraction(0), bare)
            return Contour(line.c, line.period, line.right, line.left, smoothing, end, bits, line.depth)
    return None


def contour_with_room(product: Product, later: Product, at: Estimate, digits: float) -> Contour | None:
    """Return a contour without smoothing for a product while it grows to a `later` one; `at` is of that.

    The cut is that of the product now: it holds for all with more factors, as |M(c + it)/M(c)| ≤ 1 for each.
    """
    tolerance = at.log_delta - digits * math.log(10)
    found = []
    for line in _tried(later, at, tolerance):
        bits = _bits(later, at, line, tolerance)
        end = _cut(product, line, Fraction(0), MAX_WORK / node_steps(product, line.c, bits))
        if end is not None:
            found.append(
                Contour(line.c, line.period, line.right, line.left, Fraction(0), end, bits, line.depth)
            )
    return min(found, key=lambda each: each.nodes * each.bits, default=None)


def _tried(product: Product, at: Estimate, tolerance: float) -> "set[_Candidate]":
    """Return the lines that promise the fewest nodes."""
    lines = _lines(product, at, tolerance)
    # the law at c decides how fast the terms fall; where they do not fall by themselves, only D and the depth
    costs_of = (_Candidate.cost, _Candidate.unaided)
    return {min(lines, key=lambda x: cost(x) * product.weight(x.c)) for cost in costs_of} if lines else set()


@dataclass(frozen=True)
class _Candidate:
    """A line Re s = c with the least period D that brings the aliasing below the tolerance (by s and v)."""

    c: float
    period: float
    right: float
    left: float
    depth: float  #: log of e^{−cε}M(c) over the tolerance
    bend: float  #: of log M at c

    def cost(self) -> float:
        """Return about the number of nodes where the terms fall like a Gaussian."""
        return self.period * math.sqrt(self.depth / max(self.bend, 1e-300))

    def unaided(self) -> float:
        """Return the number of nodes, up to a factor, where smoothing alone makes the terms fall."""
        return self.period * math.sqrt(self.depth)


def _lines(product: Product, at: Estimate, tolerance: float) -> list[_Candidate]:
    """Return lines around the saddle's and far left of it, with their periods."""
    low, high = at.epsilon - at.slack(), at.epsilon + at.slack()
    most = min((factor.most_tilt() for factor, _ in product.parts), default=math.inf)
    found, near = [], _on_grid(min(at.c, most), GRAIN, up=False)
    known = [(s, product.log_m(s)) for step in range(-32, 20) if (s := near * 1.25**step)]
    rights = [(s, m + kappa(s) - s * low - tolerance) for s, m in known if math.isfinite(m)]
    lefts = []
    for step in range(16):
        v = near * 0.1 * 1.7**step
        lefts.append((1 + v, v, product.log_m(-1 - v) + kappa(v) + (1 + v) * high - tolerance))
        theta = min(1.0, near * 0.05 * 1.7**step)
        lefts.append((theta, -theta, product.log_m(-theta) + theta * high - tolerance))
    lefts = [side for side in lefts if math.isfinite(side[2])]
    # Left of the saddle point the tilted law lies less far out in the right tail, so a shorter period covers
    # it: 1,000 steps of a subsampled Gaussian (σ = 1, q = 0.01) take 52 nodes there, and 198 at the saddle
    # point.
    for step, (c, _) in enumerate(rights):
        if c > 1.01 * near or not rights[step + 1 :] or not lefts:
            break
        d_right, s = min((bound / (s - c), s) for s, bound in rights[step + 1 :])
        d_left, v = min((bound / (c + move), v) for move, v, bound in lefts)
        nudge = 1e-3 * c
        here = product.log_m(c)
        bend = (product.log_m(c + nudge) - 2 * here + product.log_m(c - nudge)) / nudge**2
        depth = max(here - c * at.epsilon - tolerance, 1.0)
        if math.isfinite(bend):
            period = _on_grid(max(d_right, d_left, 1e-12) * 1.01, PERIOD, up=True)
            found.append(_Candidate(c, period, s, v, depth, bend))
    return found


def _bits(product: Product, at: Estimate, line: _Candidate, tolerance: float) -> int:
    """Return a precision at which rounding stays below the tolerance."""
    span = line.c * line.period
    loss = -math.log(-math.expm1(-span)) - span if span < 700 else -1e300  # exp underflows
    count = max((n for _, n in product.parts), default=1)
    turns = max(at.epsilon / line.period, 1.0) * 1e6  # the phases nhε reach this many radians
    bits = int((max(line.depth, loss - tolerance) + 12) / math.log(2)) + count.bit_length() + 12
    return bits + int(math.log2(turns)) + 3 * (len(product.parts) - 1).bit_length() // 2


def node_steps(product: Product, c: float, bits: int) -> float:
    """Return roughly how many steps of work it takes to evaluate the factors at one node."""
    return 2 + sum(factor.work(c, bits) for factor, _ in product.parts)


def _cut(product: Product, line: _Candidate, smooth: Fraction, most_nodes: float) -> float | None:
    """Return the least T (in floats) that leaves the tolerance; None where it takes too many nodes."""
    if most_nodes < FEWEST_NODES:
        return None
    period, depth = line.period, line.depth
    most = most_nodes * 2 * math.pi / period
    decays = Decays(product, arb(line.c), smooth, depth)
    with precision(64 + 2 * max((count for _, count in product.parts), default=1).bit_length()):
        if decays.log_tail(most) > -depth:
            return None
        low = 0.0
        start = 2 * math.pi / period
        while start < most and decays.log_tail(start) > -depth:
            low = start
            start *= 2
        return bisect(lambda t: t > 0 and decays.log_tail(t) <= -depth, low, min(start, most), 12)[1]


def _decaying(parts: Counted) -> Counted:
    """Return the parts whose decay is looked at: the most frequent of many that are slow to find."""
    # A factor that is left out counts as |M(c + it)/M(c)| ≤ 1, which holds for all: the product stays a
    # bound.
    slow = sorted((count for factor, count in parts if factor.slow_decay), reverse=True)
    if len(slow) <= MOST_DECAYS:
        return parts
    often = [part for part in parts if part[0].slow_decay and part[1] >= slow[MOST_DECAYS - 1]]
    often.sort(key=lambda part: part[0].order())
    kept = often[:: len(often) // MOST_DECAYS][:MOST_DECAYS]
    return tuple(part for part in parts if not part[0].slow_decay or part in kept)


class Decays:
    """The decay of a whole product along Re s = c, and the integral of it over t² that truncation costs."""

    def __init__(self, product: Product, c: arb, smooth: Fraction, depth: float) -> None:
        self.mu2 = product.mu2[0] + smooth
        self.parts: list[tuple[Decay, int]] = []
        joint, parts = joined(product.parts)
        # from there on smoothing is enough
        end = math.sqrt(2 * (depth + 5) / float(self.mu2)) if smooth else math.inf
        self.table = joint_decay(joint, float(c.mid()), end) if joint else None
        if self.table is None:
            parts = product.parts
        else:
            self.parts.append((self.table, 1))
        known = _decaying(parts)
        share = (depth + 5) * sum(n for _, n in parts) / max(sum(n for _, n in known), 1)
        self.parts += [(factor.decay(c, share / count), count) for factor, count in known]

    def tail(self, t: arb, step: arb) -> arb:
        """Return a bound on h·Σ_{nh>t} E(nh)/(nh)²: E(t)/t while `near` holds, then the far bound."""
        end = self._end(t)
        whole = self._product(t, near=False) / t if end is None or not end > 2 * t + step else arb.pos_inf()
        if end is None or not end > t + step:
            return whole
        return whole.min(self._product(t, near=True) / t + self._product(end, near=False) / (end - step))

    def area(self, t: arb) -> arb:
        """Return a bound on ∫_t^∞ E, by ∫_t^∞ e^{−μ²τ²/2} dτ ≤ e^{−μ²t²/2}/(μ²t) for the Gaussians in it."""

        def gauss(cut: arb) -> arb:
            return self._product(cut, near=False) / (ball(self.mu2) * cut)

        end = self._end(t)
        if end is None or not end > 2 * t:
            return gauss(t)
        return self._product(t, near=True) * (end - t).min(1 / (ball(self.mu2) * t)) + gauss(end)

    def _end(self, t: arb) -> arb | None:
        """Return the end of the table, if there is one, or of the first range of `near`."""
        if self.table is not None:
            return self.table.reach(t)
        ends = [end for decay, _ in self.parts if (end := decay.reach(t)) is not None]
        return min(ends, key=lambda x: float(x.mid()), default=None)

    def _product(self, t: arb, *, near: bool) -> arb:
        found = (-t * t * ball(self.mu2) / 2).exp()  # what the Gaussians alone prove
        for decay, count in self.parts:
            long = near and (self.table in (None, decay) or decay.reach(t) is None)
            found *= (decay.near(t) if long else decay.far(t)) ** count
        return found

    def log_tail(self, t: float) -> float:
        """Return an estimate of log(tail/π)."""
        spend(20 * len(self.parts))
        value = self.tail(arb(t), arb(0)).upper()
        if not value.is_finite():
            return 1e300
        return float((value / arb.pi()).log().mid()) if value > 0 else -1e300
