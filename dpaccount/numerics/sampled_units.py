"""Units on Poisson samples of Gaussian noise: mixtures of shifted Gaussians (docs/numerics.md).

Each of k units is in the sample with probability q and moves the noisy value by at most μ.  With `there` of
them in one dataset alone and `gone` in the other alone, the worst vectors lie on one line, and the pair is
P = Σ_i w_i N(iμ, 1) and Q = Σ_j w'_j N(−jμ, 1) with binomial weights (Ganesh 2024, where gone = 0).

Where all are in one dataset there is a transform, with a proved decay.  Where they are drawn the odds of the
noise u are z(u) = Σ w_i e^{iμu − i²μ²/2}, w_i binomial, a polynomial in
x = e^{μu}.  That of (1 − q + qx)^k has real roots alone, and e^{−i²μ²/2} is a multiplier sequence (Laguerre;
Pólya & Schur 1914), so that z has real roots too, all below 0: z = (1 − q)^k Π(1 + x/r_j), r_j > 0.  In the
strip 0 ≤ y < πσ each factor has its argument in [0, π) and cos(y/2σ) times its real value as its least size:
0 ≤ arg z(u + iy), and cos(y/2σ)^k z(u) ≤ |z(u + iy)| ≤ z(u), so that the quadrature of one unit
(`fourier.sampled_gaussian`) serves here, with k·min(a, 0) in place of min(a, 0).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import acb_poly, arb, arb_poly, ctx

from dpaccount.numerics.fourier.sampled_gaussian import (
    FloatParts,
    OnLine,
    TiltedSample,
    float_log,
    float_up,
    normal,
)
from dpaccount.numerics.fourier.shifted_line import Number
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.line_mixture import Law, LineMixture, log_sum
from dpaccount.numerics.work_budget import OutOfReach, kept, spend

DECAY_CELLS = 900  #: of u in one decay, at most
MOST_BITS = 1 << 17  #: units × bits beyond an answer's: roots that lie nearer take minutes to isolate


@dataclass(frozen=True)
class SampledMixture(LineMixture):
    """The pair of `there` units against `gone` others on a Poisson sample of `rate`; `mu2`: μ² of each."""

    rate: Fraction
    mu2: Fraction
    there: int
    gone: int

    def laws(self) -> tuple[Law, Law]:
        """Return (weight, move) of the parts of P, and of Q."""
        here, other = (units_law(self.rate, self.mu2, units, ctx.prec) for units in (self.there, self.gone))
        return here, [(w, -m) for w, m in other]

    def loss(self, x: arb) -> tuple[arb, arb]:
        """Return the loss at x and its slope there, by polynomials: one exponential serves all terms."""
        odds = (ball(self.mu2).sqrt() * x).exp()
        there, up = log_mixture(self.rate, self.mu2, self.there, odds)
        gone, down = log_mixture(self.rate, self.mu2, self.gone, 1 / odds)
        return there - gone, ball(self.mu2).sqrt() * (up + down)


def log_mixture(rate: Fraction, mu2: Fraction, units: int, odds: arb) -> tuple[arb, arb]:
    """Return ln Σ w_i odds^i e^{−i²μ²/2}, and the mean of i under these terms, all positive."""
    terms, slopes = mixture_terms(rate, mu2, units, ctx.prec)
    total = terms(odds)
    return total.log(), odds * slopes(odds) / total


@kept(64)
def mixture_terms(rate: Fraction, mu2: Fraction, units: int, bits: int) -> tuple[arb_poly, arb_poly]:
    """Return the polynomial Σ w_i e^{−i²μ²/2} x^i, and its derivative."""
    with precision(bits):
        whole = arb_poly([w * (-m * m / 2).exp() for w, m in units_law(rate, mu2, units, bits)])
        return whole, whole.derivative()


@kept(64)
def units_law(rate: Fraction, mu2: Fraction, units: int, bits: int) -> Law:
    """Return the chances that 0, 1, … of so many units are in the sample, and what they move."""
    with precision(bits):
        q, rest, mu = ball(rate), ball(1 - rate), ball(mu2).sqrt()
        return [(math.comb(units, i) * q**i * rest ** (units - i), i * mu) for i in range(units + 1)]


class MovedByParts(OnLine):
    """A sample that moves noise by one of several lengths: the slope of ℓ = log z rises up to `reach`."""

    @property
    def reach(self) -> arb:
        """Return a bound on the slope of ℓ."""
        raise NotImplementedError

    @property
    def bend(self) -> arb:
        """Return b with ℓ″ ≤ b·ℓ′."""
        return self.reach

    def law(self, bits: int) -> Law:
        """Return (weight, move) of all parts, by rising moves."""
        raise NotImplementedError

    def slope(self, u: arb) -> arb:
        """Return ℓ′(u), the mean move given u."""
        return log_sum(self.law(ctx.prec), u)[1]

    def parts(self) -> FloatParts:
        """Return (log weight, move) of all parts in floats."""
        return tuple((float(w.log().mid()), float(m.mid())) for w, m in self.law(64))

    def line(self, a: arb) -> TiltedSample:
        """Return φ z^a."""
        raise NotImplementedError

    def most_tilt(self) -> float:
        """Return a c whose shift of u by c·reach is large."""
        return 3000 / min(1.0, float(self.reach.mid()))

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s), by the trapezoid rule in floats."""
        a = self.power(s)
        return count * float_log(self.parts(), a, max(a, 1.0))

    def by_parts(self, c: arb) -> list[tuple[float, float]]:
        """Return (1 − p_b, V_b), rounded up, for candidate cuts b (`sampled_gaussian.SampledDecay`).

        With g the tilted density and f = g/ℓ′: V_b = f(b) + ∫_b |f′| ≤ (g(b) + ∫_b g·(|u| + |a|·reach) du +
        bend)/ℓ′(b), cell by cell; beyond the last one g falls at least as fast as at its end.
        """
        line = self.line(self.power(c))
        whole, move = line.whole(), line.a * self.reach
        start, end = line.peaks()[0] - 12.0, max(float(move.upper()), 0.0) + 12.0
        count = int(min(DECAY_CELLS, (end - start) / 0.04))
        edges = [arb(start) + (arb(end) - start) * j / count for j in range(count + 1)]
        weights = [(line.a * line.log_z(u)).exp() / whole for u in edges]
        masses = [normal(u) for u in edges]
        cells = [(masses[j + 1] - masses[j]) * weights[j].max(weights[j + 1]) for j in range(count)]
        rests = [line.before(edges[0]) / whole]
        for cell in cells:
            rests.append(rests[-1] + cell)
        room = edges[-1] - move.max(arb(0))
        last = weights[-1] * (-edges[-1] * edges[-1] / 2).exp()  # √(2π) times g, at most
        varied, cuts = last * ((edges[-1] + abs(move)) / room + 1 / room**2), []
        for j in range(count - 1, -1, -1):
            varied += cells[j] * (abs(edges[j]).max(abs(edges[j + 1])) + abs(move))
            here = weights[j] * (-edges[j] * edges[j] / 2).exp()
            cuts.append((float_up(rests[j]), float_up((here + varied + self.bend) / self.slope(edges[j]))))
        return cuts


@dataclass(frozen=True)
class SampledUnitsTransform(MovedByParts):
    """`units` units of μ² = `mu2` each, removed from a Poisson sample of rate `rate`, or `added`."""

    mu2: Fraction
    units: int

    @property
    def reach(self) -> arb:
        """Return kμ: ℓ′ = μΣp_j, p_j logistic."""
        return self.units * self.bend

    @property
    def bend(self) -> arb:
        """Return μ."""
        return ball(self.mu2).sqrt()

    def law(self, bits: int) -> Law:
        """Return the binomial weights, and the moves iμ."""
        return units_law(self.rate, self.mu2, self.units, bits)

    def line(self, a: arb) -> "_TiltedUnits":
        """Return φ z^a."""
        return _TiltedUnits(self, a)


@dataclass(frozen=True)
class _TiltedUnits(TiltedSample):
    """The integrand φ z^{a + iτ} of H."""

    factor: SampledUnitsTransform

    def log_z(self, u: Number) -> Number:
        """Return log z(u), of each factor by itself."""
        odds, spent = (ball(self.mu2).sqrt() * u).exp(), self.least()
        spend(self.factor.units)
        factors = _inverse_roots(self.factor.rate, self.mu2, self.factor.units, ctx.prec)
        return sum(((odds * root).log1p() for root in factors), spent)


@kept(64)
def _inverse_roots(rate: Fraction, mu2: Fraction, units: int, bits: int) -> list[arb]:
    """Return 1/r_j of all factors 1 + x/r_j, isolated one by one; raises `OutOfReach` where they are not."""
    for more in (units * 16, units * 64, units * 256):
        if units * more > MOST_BITS:
            break
        with precision(bits + more):
            terms = mixture_terms(rate, mu2, units, bits + more)[0]
            try:
                roots = acb_poly(terms).roots(tol=arb(2) ** -(bits + 64))
            except ValueError:
                continue
            if len(roots) == units and all(root.imag.contains(0) and root.real < 0 for root in roots):
                return [-1 / root.real for root in roots]  # isolated and conjugate: real
    raise OutOfReach("the roots of a mixture are too near to each other")
