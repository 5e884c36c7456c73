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
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import reduce

from flint import acb, acb_mat, arb

from dpaccount.numerics.bisection import Ends, solve
from dpaccount.numerics.fourier.contours import (
    EASY_DIGITS,
    Contour,
    Decays,
    Estimate,
    Product,
    contour,
    estimate_delta,
    estimate_epsilon,
    kept,
    node_steps,
)
from dpaccount.numerics.fourier.transforms import Transform
from dpaccount.numerics.intervals import ball, between, ceil_of, floor_of, log_float, precision
from dpaccount.numerics.work_budget import affordable, spend

FEWEST_DIGITS = 4.0  #: of δ, that are always sought
NEAREST = 2  #: sums that are tried before a new contour is sought
MARGIN = 1.8  #: digits of δ beyond those of c times the width in ε, by which log δ moves in it


class Inversion:
    """A stored sum for one product and contour; `curve(ε)` returns a ball around δ(ε)."""

    def __init__(self, product: Product, chosen: Contour) -> None:
        self.chosen = chosen
        affordable(chosen.nodes * node_steps(product, chosen.c, chosen.bits))
        with precision(chosen.bits):
            self.c, self.period = arb(chosen.c), arb(chosen.period)
            self.h = 2 * arb.pi() / self.period
            s, v = arb(chosen.right), arb(chosen.left)
            count = chosen.nodes
            mu2 = between(*product.mu2) + ball(chosen.smooth)
            values = _transform(product, mu2, chosen, self.h, count)
            self.infinite = product.infinite()
            self.whole = product.value(arb(0)) if product.fails else arb(1)  # of P and of Q, at finite losses
            self.whole_q = product.value(arb(-1)) if product.fails else arb(1)
            self.set_values(values)
            self.bump = Trigonometric(values) if chosen.smooth else None
            extra = ball(chosen.smooth)
            for bits in (48 + max((n for _, n in product.parts), default=1).bit_length(), chosen.bits):
                with precision(bits):  # a few digits of these bounds will do
                    self.right = product.above(s) * (s * (s + 1) * extra / 2).exp() * kappa(s)
                    left = product.above(-1 - v) * kappa(v) if chosen.left > 0 else product.value(v)
                    self.left = left * (v * (v + 1) * extra / 2).exp()
                if min(self.right.rel_accuracy_bits(), self.left.rel_accuracy_bits()) > 4:
                    break
            self.cut = self.h * (count - 1)
            decays = Decays(product, self.c, chosen.smooth, chosen.depth)
            self.tail = decays.tail(self.cut, self.h).upper()
            self.bump_tail = decays.area(self.cut).upper() if chosen.smooth else arb(0)

    def set_values(self, values: list[acb]) -> None:
        """Take these values of the transform at the nodes."""
        self.values, self.at_c = values, values[0].real
        points = [acb(self.c, n * self.h) for n in range(len(values))]
        self.sum = Trigonometric([value / (p * (p + 1)) for value, p in zip(values, points, strict=True)])

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
            return ceil_of(((self.at_c * kappa(self.c)).log() - rest.log()) / self.c)

    def _aliases(self, at: arb) -> tuple[arb, arb, arb, arb]:
        """Return Λ, 𝓡, and what the left sum may exceed Λ by, or stay below it by."""
        s, v = arb(self.chosen.right), arb(self.chosen.left)
        # The left sum is subtracted, up to a small rest. Bounded by δ ≤ 1 alone it would have to be small
        # itself: the period would have to grow until e^{−cD} is below the tolerance.
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


def kappa(s: arb) -> arb:
    """Return κ(s) = s^s/(s+1)^{s+1}."""
    return (s * s.log() - (s + 1) * (s + 1).log()).exp()


def _transform(product: Product, mu2: arb, chosen: Contour, h: arb, count: int) -> list[acb]:
    """Return the whole transform at c + inh, n < count."""
    found, c = [], arb(chosen.c)
    for n in range(count):
        spend()
        s = acb(c, n * h)
        found.append((s * (s + 1) * mu2 / 2).exp())
    return _multiplied(
        found, ([b**times for b in _nodes(factor, chosen, h, count)] for factor, times in product.parts)
    )


def _multiplied(first: list[acb], rows: Iterable[list[acb]]) -> list[acb]:
    """Return the products column by column."""
    stack = [(0, first)]
    for row in rows:
        push(stack, row)
    return reduced(stack)


def push(stack: list[tuple[int, list[acb]]], row: list[acb]) -> None:
    """Multiply by a row, by halves: each product in a row would widen balls by √2.

    `stack` holds halves of a tree of products, with the logarithm of how many rows each is the product of.
    """
    stack.append((0, row))
    while len(stack) > 1 and stack[-1][0] == stack[-2][0]:
        (level, left), (_, right) = stack[-2:]
        stack[-2:] = [(level + 1, _columns(left, right))]


def reduced(stack: list[tuple[int, list[acb]]]) -> list[acb]:
    """Return the product of all halves."""
    return reduce(_columns, (row for _, row in stack))


def _columns(left: list[acb], right: list[acb]) -> list[acb]:
    return [a * b for a, b in zip(left, right, strict=True)]


def _nodes(factor: Transform, chosen: Contour, h: arb, count: int) -> list[acb]:
    """Return a factor's values at c + inh, n < count, from those that contours share where they do."""
    shared, place = kept(), (factor, chosen.c, chosen.period, chosen.bits)
    known: list[acb] = [] if shared is None else shared.get(place, [])
    if len(known) < count:
        known = factor.nodes(arb(chosen.c), h, count if shared is None else count * 5 // 4)
    if shared is not None:
        shared[place] = known
    return known[:count]


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
        spend(self.block + self.rows + self.block * self.rows / 20)
        inner = acb_mat(self.block, 1, [acb(0, -n * x).exp() for n in range(self.block)])
        parts = (self.matrix * inner).entries()
        outer = acb_mat(1, self.rows, [acb(0, -m * self.block * x).exp() for m in range(self.rows)])
        return (outer * acb_mat(self.rows, 1, parts)).entries()[0].real


def epsilon(
    product: Product, target: Fraction, log_target: float, gap: Fraction, digits: float
) -> Ends | None:
    """Return an enclosure of ε(target), 0 < target < 1; None where no contour is affordable.

    `product`: the transforms of the pairs that are composed.
    `log_target`: ln `target` as a double, which may be far below the doubles.
    `gap`: the width that is asked for, relative to the larger of 1 and ε.
    `digits`: the relative accuracy of δ that is sought, in decimal digits.
    """
    rest = target - ceil_of(product.infinite())
    if rest <= 0:
        return None
    log_target = min(log_target, log_float(rest))
    at, share = estimate_epsilon(product, log_target), 1.0
    least = FEWEST_DIGITS
    # The contour depends on ε, of which only an estimate (some per cent off for heavy tails) is known at
    # first.
    for power in (1, 1, 2, 2):
        width = Fraction(max(at.epsilon, 1.0)) * gap
        needed = max(least, MARGIN - math.log10(at.c) - log_float(width) / math.log(10))
        sought = digits if digits > EASY_DIGITS else min(digits, needed)
        chosen = contour(product, at, sought, share * float(width))
        if chosen is None:
            return None
        stored = Inversion(product, chosen)
        curve = stored.curve
        if ceil_of(curve(Fraction(0))) <= target:
            return Fraction(0), Fraction(0)
        fine = min(Fraction(max(at.epsilon, 1e-3)) / Fraction(10) ** round(sought - 2), width / 8)
        hint = (Fraction(at.epsilon), Fraction(at.epsilon + at.slack() / 5))
        low, high = solve(curve, target, Fraction(0), stored.chernoff(target), fine, hint)
        if high - low <= width:
            break
        middle = float(low + high) / 2
        if chosen.smooth and abs(middle - at.epsilon) <= 0.4 * at.slack():
            # the law is denser there than was thought; next to an atom the width falls with m, not with m²
            share *= max(0.8 * float(width / (high - low)) ** power, 1e-4)
        elif abs(middle - at.epsilon) <= 0.4 * at.slack() and sought == digits:
            break
        else:
            least = digits
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
    for stored in _nearest(product, at):
        low, high = _ends(stored.curve(at))
        if high - low <= gap * high:
            return low, high
    near, share = estimate_delta(product, float(at)), 1.0
    for power in (1, 1, 2):
        chosen = contour(product, near, digits, share * float(gap) / (near.c + 1))
        if chosen is None:
            return None
        stored = Inversion(product, chosen)
        curve = stored.curve
        low, high = _ends(curve(at))
        if high - low <= gap * high:
            if (shared := kept()) is not None:
                shared.setdefault(product, {})[at] = stored
            break
        if low > 0 and chosen.smooth:
            share *= max(0.6 * float(gap * high / (high - low)) ** power, 1e-4)
        near = Estimate(
            near.epsilon, min(near.log_delta, log_float(high)), _slope(curve, float(at)) or near.c
        )
    return low, high


def _ends(value: arb) -> Ends:
    return floor_of(value), ceil_of(value)


def _nearest(product: Product, at: Fraction) -> list[Inversion]:
    """Return the sums of this product that are shared here, of those found nearest to ε: they may do."""
    known: dict[Fraction, Inversion] = (kept() or {}).get(product, {})
    return [known[epsilon] for epsilon in sorted(known, key=lambda each: abs(each - at))[:NEAREST]]
