"""Certified tilted Fourier inversion of a privacy-loss transform.

With M(s) = E_P e^{sL} and any c > 0, δ(ε) = (1/2πi) ∫_{Re s = c} M(s) e^{−sε}/(s(s+1)) ds. The trapezoid
rule of step h = 2π/D on that line is exact up to aliasing (Poisson summation of e^{cε}δ(ε)):

    S = e^{−cε}(h/π)[F₀/2 + Σ_{n≥1} Re(F_n e^{−inhε})]
      = δ(ε) + Σ_{m≥1} e^{cmD}δ(ε+mD) + Σ_{m≥1} e^{−cmD}δ(ε−mD)

with F_n = M(c+inh)/((c+inh)(c+inh+1)). All terms are nonnegative and bounded by the Chernoff bound
δ(y) ≤ M(s)e^{−sy}κ(s), κ(s) = s^s/(s+1)^{s+1} (the maximum of (1 − e^{−x})e^{−sx}), and by the complement
δ(y) = 1 − e^y + e^y δ_rev(−y), M_rev(s) = M(−1 − s):

    right sum ∈ [0, 𝓡],  𝓡 = M(s)κ(s)e^{−sε} w/(1−w), w = e^{−(s−c)D}, s > c;
    left sum − Λ ∈ [0, 𝓛],  Λ = r/(1−r) − e^ε r′/(1−r′), r = e^{−cD}, r′ = e^{−(c+1)D},
    𝓛 = M(−1−v)κ(v)e^{(1+v)ε} w/(1−w), w = e^{−(c+1+v)D}, v > 0.

Where ε is so large that δ(ε − D) is still near 1, the left sum is bounded by 1 − δ(y) = E min(1, e^{y−L}) ≤
e^{θy}M(−θ), 0 < θ ≤ 1, instead: it lies in [r/(1−r) − 𝓛, r/(1−r)], 𝓛 = M(−θ)e^{θε} w/(1−w), w = e^{−(c+θ)D}.
Where some mass is at +∞ it is set apart, and in Λ the two terms get the masses M(0) and M(−1) that P and Q
have at finite losses (the complement is then M(0) − e^y M(−1) + e^y δ_rev(−y)).

What the sum leaves out beyond T is at most τ = e^{−cε}M(c)/π · ∫_T^∞ E(t)/t² dt for a proved decay E of
|M(c+it)/M(c)|. The contour, the step and T are chosen in floats; a bad choice widens
the enclosure, never breaks it.
(Fourier accounting: Koskela, Jälkö & Honkela 2020; Gopi, Lee & Wutschitz 2021; Zhu, Dong & Wang 2022.)

Where the decay is too slow, an extra Gaussian pair of small μ = m is composed in. That only raises δ, and by
at most δ_m(0)·E e^{−(L−ε)/2 − (L−ε)²/(2m²)}, whose transform is M itself times a Gaussian (`_excess`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from flint import acb, acb_mat, arb

from dpaccount.numerics.balls import affordable, ball, between, ceil_of, floor_of, log_float, precision, tick
from dpaccount.numerics.fourier import saddle
from dpaccount.numerics.fourier.transforms import Decay, Factor, LaplaceFactor
from dpaccount.numerics.solve import Ends, solve

Counted = Sequence[tuple[Factor, int]]


@dataclass(frozen=True)
class Product:
    """A product of transforms: μ² of all Gaussians together, and counted factors."""

    mu2: Ends
    pairs: tuple[tuple[Factor, int], ...]

    def log_m(self, s: float) -> float:
        """Return an estimate of log M(s)."""
        half = float(self.mu2[1]) / 2
        many, others = self._search
        found = s * (s + 1) * half + sum(factor.log_m(s, count) for factor, count in others)
        return found if many is None else found + _log_laplaces(many[0], many[1], s + 0.5)

    @cached_property
    def _search(self) -> tuple[Any, tuple[tuple[Factor, int], ...]]:
        """Return the Laplaces as arrays of losses and counts where they are many, and the other factors."""
        laplaces = [(f.loss, n) for f, n in self.pairs if isinstance(f, LaplaceFactor) and n < 1 << 20]
        if len(laplaces) < 8:
            return None, self.pairs
        import numpy as np

        arrays = np.array([float(loss) for loss, _ in laplaces]), np.array([float(n) for _, n in laplaces])
        rest = tuple((f, n) for f, n in self.pairs if not (isinstance(f, LaplaceFactor) and n < 1 << 20))
        return arrays, rest

    def infinite(self) -> arb:
        """Return the mass at an infinite loss."""
        return -sum((n * (-f.infinite()).log1p() for f, n in self.pairs if f.infinite() > 0), arb(0)).expm1()

    @property
    def fails(self) -> bool:
        """Say whether any mass is at an infinite loss."""
        return any(f.infinite() > 0 for f, _ in self.pairs)

    def value(self, s: arb) -> arb:
        """Return M(s) for real s."""
        found = (s * (s + 1) * between(*self.mu2) / 2).exp()
        for factor, count in self.pairs:
            found *= factor.value(s) ** count
        return found


def _log_laplaces(losses: Any, counts: Any, z: float) -> float:
    """Return an estimate of Σ n·log{e^{−ε₀/2}[cosh zε₀ + sinh(zε₀)/(2z)]}."""
    import numpy as np

    x = np.abs(z) * losses
    ratio = -np.expm1(-2 * x) / 2  # sinh(x) e^{−x}
    over = np.where(x > 1e-8, ratio / max(abs(z), 1e-300), losses)
    return float(counts @ (x - losses / 2 + np.log((1 + np.exp(-2 * x)) / 2 + over / 2)))


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

    @property
    def nodes(self) -> int:
        """Return how many nodes the sum has, n = 0 included."""
        return math.ceil(self.cut * self.period / (2 * math.pi)) + 1


EASY_SECONDS = 0.4  #: of node evaluations (a rough estimate) up to which no smoothing is considered
MANY = 12.0  #: digits that are only sought where they are easy
MOST_SECONDS = 3.0  #: and up to which a contour is considered at all


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
    epsilon, c = saddle.guess(product.log_m, log_delta)
    if epsilon > 0:
        return Estimate(epsilon, log_delta, c)
    return estimate_delta(product, 0.0)


def estimate_delta(product: Product, epsilon: float) -> Estimate:
    """Return the estimate for δ(ε)."""
    c = saddle.saddle(product.log_m, epsilon)
    found = saddle.at(product.log_m, c)
    return Estimate(epsilon, min(found[1] if found else -1e4, 0.0), c)


def contour(product: Product, at: Estimate, digits: float, gap: float) -> Contour | None:
    """Return a good contour for about `digits` digits of δ near `at`; None where every one costs too much.

    `gap` is the width in ε that smoothing may cost where the decay is too slow without.
    """
    if not 1e-30 < at.c < 1e12 or any(at.c > f.most_tilt() for f, _ in product.pairs):
        return None
    tolerance = at.log_delta - digits * math.log(10)
    lines = _lines(product, at, tolerance)
    # the law at c decides how fast the terms fall; where they do not fall by themselves, only D and the depth
    tried = {min(lines, key=cost) for cost in (_Line.cost, _Line.unaided)} if lines else set()
    smooth = _smoothing(at.c, gap)
    costs = {line: _node_seconds(product, line.c, _bits(product, at, line, tolerance)) for line in tried}
    tries = [(Fraction(0), EASY_SECONDS), (smooth, MOST_SECONDS), (Fraction(0), MOST_SECONDS)]
    for extra, patience in tries[:1] if digits > MANY else tries:
        cuts = [(line, _cut(product, line, extra, patience / costs[line])) for line in tried]
        known = [(cut * line.period * costs[line], line, cut) for line, cut in cuts if cut is not None]
        if known:
            _, line, cut = min(known, key=lambda found: found[0])
            bits = _bits(product, at, line, tolerance)
            return Contour(line.c, line.period, line.right, line.left, extra, cut, bits)
    return None


@dataclass(frozen=True)
class _Line:
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
        """Return the same up to a factor where smoothing alone makes them fall."""
        return self.period * math.sqrt(self.depth)


def _lines(product: Product, at: Estimate, tolerance: float) -> list[_Line]:
    """Return lines around the saddle's and far left of it, with their periods."""
    low, high = at.epsilon - at.slack(), at.epsilon + at.slack()
    found = []
    known = [(s, product.log_m(s)) for step in range(-32, 20) if (s := at.c * 1.25**step)]
    rights = [(s, m + kappa(s) - s * low - tolerance) for s, m in known if math.isfinite(m)]
    lefts = []
    for step in range(16):
        v = at.c * 0.1 * 1.7**step
        lefts.append((1 + v, v, product.log_m(-1 - v) + kappa(v) + (1 + v) * high - tolerance))
        theta = min(1.0, at.c * 0.05 * 1.7**step)
        lefts.append((theta, -theta, product.log_m(-theta) + theta * high - tolerance))
    lefts = [side for side in lefts if math.isfinite(side[2])]
    for step, (c, _) in enumerate(rights):
        if c > 1.01 * at.c or not rights[step + 1 :] or not lefts:
            break
        d_right, s = min((bound / (s - c), s) for s, bound in rights[step + 1 :])
        d_left, v = min((bound / (c + move), v) for move, v, bound in lefts)
        nudge = 1e-3 * c
        here = product.log_m(c)
        bend = (product.log_m(c + nudge) - 2 * here + product.log_m(c - nudge)) / nudge**2
        depth = max(here - c * at.epsilon - tolerance, 1.0)
        if math.isfinite(bend):
            found.append(_Line(c, max(d_right, d_left, 1e-12) * 1.01, s, v, depth, bend))
    return found


def _bits(product: Product, at: Estimate, line: _Line, tolerance: float) -> int:
    """Return a precision at which rounding stays below the tolerance."""
    span = line.c * line.period
    loss = -math.log(-math.expm1(-span)) - span if span < 700 else -1e300
    count = max((n for _, n in product.pairs), default=1)
    turns = max(at.epsilon / line.period, 1.0) * 1e6  # the phases nhε reach this many radians
    bits = int((max(line.depth, loss - tolerance) + 12) / math.log(2)) + count.bit_length() + 12
    return bits + int(math.log2(turns))


def _smoothing(slope: float, gap: float) -> Fraction:
    """Return m² whose excess moves ε by about 3/4 of `gap`: the density of L at ε is about (c+1)|δ′|.

    The bound on the excess grows by e^{m²/8} beside that, so m² stays below 8.
    """
    return Fraction(min(0.75 * gap / (slope + 1), 8.0))


def _node_seconds(product: Product, c: float, bits: int) -> float:
    """Return roughly what evaluating the factors at one node costs."""
    return 1e-5 * (1 + sum(factor.work(c, bits) for factor, _ in product.pairs))


def _cut(product: Product, line: _Line, smooth: Fraction, most_nodes: float) -> float | None:
    """Return the least T (in floats) that leaves the tolerance; None where it takes too many nodes."""
    period, depth = line.period, line.depth
    most = most_nodes * 2 * math.pi / period
    decays = Decays(product, arb(line.c), smooth, depth)
    with precision(64 + 2 * max((count for _, count in product.pairs), default=1).bit_length()):
        if decays.log_tail(most) > -depth:
            return None
        low, high = 0.0, most
        start = 2 * math.pi / period
        while start < most and decays.log_tail(start) > -depth:
            low = start
            start *= 2
        high = min(start, most)
        for _ in range(12):
            middle = (low + high) / 2
            if middle > 0 and decays.log_tail(middle) <= -depth:
                high = middle
            else:
                low = middle
    return high


class Decays:
    """The decay of a whole product along Re s = c, and the integral of it over t² that truncation costs."""

    def __init__(self, product: Product, c: arb, smooth: Fraction, depth: float) -> None:
        self.mu2 = product.mu2[0] + smooth
        share = depth + 5
        self.parts: list[tuple[Decay, int]] = [
            (factor.decay(c, share / count), count) for factor, count in product.pairs
        ]

    def tail(self, t: arb, step: arb) -> arb:
        """Return a bound on h·Σ_{nh>t} E(nh)/(nh)²: E(t)/t while `near` holds, then the far bound."""
        ends = self._ends(t)
        end = min(ends, key=lambda x: float(x.mid())) if ends else None
        if end is None or not end > 2 * t + step:
            return self._product(t, near=False) / t
        return self._product(t, near=True) / t + self._product(end, near=False) / (end - step)

    def area(self, t: arb) -> arb:
        """Return a bound on ∫_t^∞ E, by ∫_t^∞ e^{−μ²τ²/2} dτ ≤ e^{−μ²t²/2}/(μ²t) for the Gaussians in it."""

        def gauss(cut: arb) -> arb:
            return self._product(cut, near=False) / (ball(self.mu2) * cut)

        ends = self._ends(t)
        if not ends:
            return gauss(t)
        end = min(ends, key=lambda x: float(x.mid()))
        return self._product(t, near=True) * (end - t) + gauss(end) if end > 2 * t else gauss(t)

    def _ends(self, t: arb) -> list[arb]:
        return [end for decay, _ in self.parts if (end := decay.reach(t)) is not None]

    def gaussian(self, t: arb) -> arb:
        """Return the part of the decay that the Gaussians alone prove."""
        return (-t * t * ball(self.mu2) / 2).exp()

    def _product(self, t: arb, *, near: bool) -> arb:
        found = self.gaussian(t)
        for decay, count in self.parts:
            found *= (decay.near(t) if near else decay.far(t)) ** count
        return found

    def log_tail(self, t: float) -> float:
        """Return an estimate of log(tail/π)."""
        value = self.tail(arb(t), arb(0)).upper()
        if not value.is_finite():
            return 1e300
        return float((value / arb.pi()).log().mid()) if value > 0 else -1e300


class Inversion:
    """A stored sum for one product and contour; `curve(ε)` returns a ball around δ(ε)."""

    def __init__(self, product: Product, chosen: Contour, depth: float) -> None:
        self.chosen = chosen
        affordable(chosen.nodes * _node_seconds(product, chosen.c, chosen.bits))
        with precision(chosen.bits):
            self.c, self.period = arb(chosen.c), arb(chosen.period)
            self.h = 2 * arb.pi() / self.period
            s, v = arb(chosen.right), arb(chosen.left)
            count = chosen.nodes
            mu2 = between(*product.mu2) + ball(chosen.smooth)
            values = _transform(product, mu2, self.c, self.h, count)
            self.at_c = values[0].real
            self.infinite = product.infinite()
            self.whole = product.value(arb(0)) if product.fails else arb(1)  # of P and of Q, at finite losses
            self.whole_q = product.value(arb(-1)) if product.fails else arb(1)
            points = [acb(self.c, n * self.h) for n in range(count)]
            self.sum = Trigonometric([value / (p * (p + 1)) for value, p in zip(values, points, strict=True)])
            self.bump = Trigonometric(values) if chosen.smooth else None
            extra = ball(chosen.smooth)
            self.right = product.value(s) * (s * (s + 1) * extra / 2).exp() * _kappa(s)
            if chosen.left > 0:
                self.left = product.value(-1 - v) * (v * (v + 1) * extra / 2).exp() * _kappa(v)
            else:
                self.left = product.value(v) * (v * (v + 1) * extra / 2).exp()
            self.cut = self.h * (count - 1)
            decays = Decays(product, self.c, chosen.smooth, depth)
            self.tail = decays.tail(self.cut, self.h).upper()
            self.bump_tail = decays.area(self.cut).upper() if chosen.smooth else arb(0)

    def curve(self, epsilon: Fraction) -> arb:
        """Return a ball around δ(ε)."""
        with precision(self.chosen.bits):
            at = ball(epsilon)
            tilt = (-self.c * at).exp()
            total = self.infinite + tilt * self.h / arb.pi() * self.sum.at(self.h * at)
            alias, right, above, below = self._aliases(at)
            missing = (tilt * self.at_c * self.tail / arb.pi()).upper()
            low = total - alias - right - above - missing
            high = total - alias + below + missing
            if self.bump is not None:
                low -= self._excess(at, tilt)
            return _within_unit(low, high)

    def chernoff(self, target: Fraction) -> Fraction:
        """Return an ε with δ(ε) ≤ target, by δ(ε) ≤ M(c)κ(c)e^{−cε}."""
        with precision(self.chosen.bits):
            rest = ball(target) - self.infinite
            return ceil_of(((self.at_c * _kappa(self.c)).log() - rest.log()) / self.c)

    def _aliases(self, at: arb) -> tuple[arb, arb, arb, arb]:
        """Return Λ, 𝓡, and what the left sum may exceed Λ by, or stay below it by."""
        s, v = arb(self.chosen.right), arb(self.chosen.left)
        r, r1 = (-self.c * self.period).exp(), (-(self.c + 1) * self.period).exp()
        w = (-(s - self.c) * self.period).exp()
        right = self.right * (-s * at).exp() * w / (1 - w)
        if self.chosen.left > 0:
            w = (-(self.c + 1 + v) * self.period).exp()
            left = self.left * ((1 + v) * at).exp() * w / (1 - w)
            alias = self.whole * r / (1 - r) - self.whole_q * at.exp() * r1 / (1 - r1)
            return alias, right.upper(), left.upper(), arb(0)
        w = (-(self.c - v) * self.period).exp()
        left = self.left * (-v * at).exp() * w / (1 - w)
        return self.whole * r / (1 - r), right.upper(), arb(0), left.upper()

    def _excess(self, at: arb, tilt: arb) -> arb:
        """Return a bound on what the smoothing adds: δ_m(0)·E e^{−x/2 − x²/(2m²)}, x = L − ε.

        For the Gaussian loss W of μ = m, E(1 − e^{−x−W})₊ − (1 − e^{−x})₊ ≤ δ_m(0)·e^{−x/2}·e^{−x²/(2m²)}: by
        e^{−u/2}δ_m(u) = e^{−m²/8} ∫₀^∞ 2 sinh(y/2) φ((u+y)/m)/m dy for u = |x|, and
        φ((u+y)/m) ≤ √(2π) φ(u/m) φ(y/m). Its transform is (m e^{m²/8}/√2π) ∫ M_m(c+it) e^{−(c+it)ε} dt; the
        aliases of a nonnegative function only add.
        """
        smooth = ball(self.chosen.smooth)
        m = smooth.sqrt()
        peak = (m / (2 * arb(2).sqrt())).erf()  # δ_m(0) = 2Φ(m/2) − 1
        whole = 2 * self.h * self.bump.at(self.h * at) if self.bump is not None else arb(0)
        missing = 2 * self.at_c * self.bump_tail
        return (peak * m * (smooth / 8).exp() / (2 * arb.pi()).sqrt() * tilt * (whole + missing)).upper()


def _within_unit(low: arb, high: arb) -> arb:
    """Return the ball of [low, high] cut to [0, 1]; an end that is not finite says nothing."""
    bottom = low.max(arb(0)).min(arb(1)) if low.is_finite() else arb(0)
    top = high.min(arb(1)).max(arb(0)) if high.is_finite() else arb(1)
    return bottom.union(top)


def _kappa(s: arb) -> arb:
    return (s * s.log() - (s + 1) * (s + 1).log()).exp()


def _transform(product: Product, mu2: arb, c: arb, h: arb, count: int) -> list[acb]:
    """Return the whole transform at c + inh, n < count."""
    found = []
    for n in range(count):
        tick()
        s = acb(c, n * h)
        found.append((s * (s + 1) * mu2 / 2).exp())
    for factor, times in product.pairs:
        values = factor.nodes(c, h, count)
        found = [a * b**times for a, b in zip(found, values, strict=True)]
    return found


class Trigonometric:
    """½F₀ + Σ_{n≥1} Re(F_n e^{−inx}), the exponentials computed directly for two scales of n.

    Powers of a ball on the unit circle by repeated multiplication would lose half a bit each.
    """

    def __init__(self, terms: list[acb]) -> None:
        self.block = max(1, math.isqrt(len(terms)))
        padded = [terms[0] / 2, *terms[1:]]
        padded += [acb(0)] * (-len(padded) % self.block)
        self.rows = len(padded) // self.block
        self.matrix = acb_mat(self.rows, self.block, padded)

    def at(self, x: arb) -> arb:
        """Return the sum at x."""
        inner = acb_mat(self.block, 1, [acb(0, -n * x).exp() for n in range(self.block)])
        parts = (self.matrix * inner).entries()
        outer = acb_mat(1, self.rows, [acb(0, -m * self.block * x).exp() for m in range(self.rows)])
        return (outer * acb_mat(self.rows, 1, parts)).entries()[0].real


def epsilon(
    product: Product, target: Fraction, log_target: float, gap: Fraction, digits: float
) -> Ends | None:
    """Return an enclosure of ε(target), 0 < target < 1; None where no contour is affordable."""
    rest = target - ceil_of(product.infinite())
    if rest <= 0:
        return None
    log_target = min(log_target, log_float(rest))
    at, share = estimate_epsilon(product, log_target), 1.0
    for power in (1, 1, 2, 2):
        width = Fraction(max(at.epsilon, 1.0)) * gap
        chosen = contour(product, at, digits, share * float(width))
        if chosen is None:
            return None
        stored = Inversion(product, chosen, -at.log_delta + digits * math.log(10) + 30)
        curve = stored.curve
        if ceil_of(curve(Fraction(0))) <= target:
            return Fraction(0), Fraction(0)
        fine = min(Fraction(max(at.epsilon, 1e-3)) / Fraction(10) ** round(digits - 2), width / 8)
        hint = (Fraction(at.epsilon), Fraction(at.epsilon + at.slack() / 5))
        low, high = solve(curve, target, Fraction(0), stored.chernoff(target), fine, hint)
        if high - low <= width:
            break
        middle = float(low + high) / 2
        if chosen.smooth and abs(middle - at.epsilon) <= 0.4 * at.slack():
            # the law is denser there than was thought; next to an atom the width falls with m, not with m²
            share *= max(0.6 * float(width / (high - low)) ** power, 1e-4)
        elif abs(middle - at.epsilon) <= 0.4 * at.slack():
            break
        at = Estimate(middle, log_target, _slope(curve, middle) or at.c)
    return low, high


def _slope(curve: Callable[[Fraction], arb], at: float) -> float | None:
    """Return an estimate of −d log δ/dε."""
    here, there = (curve(Fraction(x)).mid() for x in (at, at * 1.001 + 1e-9))
    if not (here > 0 and there > 0 and here > there):
        return None
    return float((here / there).log()) / (at * 0.001 + 1e-9)


def delta(product: Product, at: Fraction, gap: Fraction, digits: float) -> Ends | None:
    """Return an enclosure of δ(ε), within gap·δ where it can; None where no contour is affordable."""
    near, share = estimate_delta(product, float(at)), 1.0
    for power in (1, 1, 2):
        chosen = contour(product, near, digits, share * float(gap) / (near.c + 1))
        if chosen is None:
            return None
        curve = Inversion(product, chosen, -near.log_delta + digits * math.log(10) + 30).curve
        value = curve(at)
        low, high = floor_of(value), ceil_of(value)
        if high - low <= gap * high:
            break
        if low > 0 and chosen.smooth:
            share *= max(0.6 * float(gap * high / (high - low)) ** power, 1e-4)
        near = Estimate(
            near.epsilon, min(near.log_delta, log_float(high)), _slope(curve, float(at)) or near.c
        )
    return low, high


__all__ = ["Contour", "Inversion", "Product", "contour", "delta", "epsilon"]
