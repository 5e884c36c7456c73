"""Gaussian noise moved by one of several lengths, by chance, against noise that is not moved.

P = Σ w_i N(m_i, 1), Q = N(0, 1), 0 ≤ m_0 < … < m_k = M.  It dominates what moves by a vector v_i of at most
m_i, with probability w_i (Choquette-Choo et al. 2023, arXiv 2310.15526): both curves are means of convex
functions of z = dP/dQ, a sum of lognormal parts w_i e^{v_i·x − ‖v_i‖²/2}; each rises in convex order with
‖v_i‖, and their sum is largest where all rise together, as on a line.

With m_0 = 0 this is a Poisson sample at the rate 1 − w_0.  In the strip 0 ≤ y < π/M each term of z(u + iy),
z(u) = Σ w_i e^{m_i u − m_i²/2}, has an argument in [0, My]: turned by −My/2, its real part is at least
cos(My/2) times its size.  So 0 ≤ arg z ≤ My < π and cos(My/2)·z(u) ≤ |z(u + iy)| ≤ z(u), as of one unit with
μ = M (`fourier.sampled_gaussian`).  ℓ = log z has ℓ′ the mean and ℓ″ the variance of the move given u, so
that ℓ′ rises to M, and ℓ″ ≤ Mℓ′.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from dpaccount.forks import cached_property
from dpaccount.numerics.fourier.sampled_gaussian import TiltedSample
from dpaccount.numerics.fourier.shifted_line import Number
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.line_mixture import Law, LineMixture
from dpaccount.numerics.sampled_units import MovedByParts
from dpaccount.numerics.work_budget import kept, spend

Parts = tuple[tuple[Fraction, Fraction], ...]  #: (weight, move), by rising moves


@dataclass(frozen=True)
class MixtureOnLine(LineMixture):
    """The pair of these parts when a unit is removed, or `added`: then the line is turned round."""

    parts: Parts
    added: bool = False

    @cached_property
    def _known(self) -> dict[int, tuple[Law, Law]]:
        """Return a place for the laws at each precision that is asked for."""
        return {}

    def laws(self) -> tuple[Law, Law]:
        """Return the parts and noise that is not moved, in the order of the direction."""
        known = self._known.get(ctx.prec)
        if known is None:
            moved, still = _law(self.parts, ctx.prec), [(arb(1), arb(0))]
            known = (still, [(w, -m) for w, m in moved]) if self.added else (moved, still)
            self._known[ctx.prec] = known
        return known


@kept(64)
def _law(parts: Parts, bits: int) -> Law:
    with precision(bits):
        return [(ball(w), ball(m)) for w, m in parts]


@dataclass(frozen=True)
class MixtureTransform(MovedByParts):
    """The transform of these parts; `mu2` is M², and `rate` the chance that anything moves."""

    mu2: Fraction
    mixed: Parts

    @property
    def reach(self) -> arb:
        """Return M."""
        return ball(self.mixed[-1][1])

    def law(self, bits: int) -> Law:
        """Return the parts."""
        return _law(self.mixed, bits)

    def line(self, a: arb) -> "_TiltedParts":
        """Return φ z^a."""
        return _TiltedParts(self, a)


@dataclass(frozen=True)
class _TiltedParts(TiltedSample):
    """The integrand φ z^{a + iτ} of H."""

    factor: MixtureTransform

    def log_z(self, u: Number) -> Number:
        """Return log z(u); small deviations of z from 1, or from 0, keep their digits."""
        (least, first), *moved = _law(self.factor.mixed, ctx.prec)
        spend(len(moved) / 4)
        if self.still:
            return self._sum((w * (u * m - m * m / 2).expm1() for w, m in moved), u * 0).log1p()
        powers = (w * (u * (m - first) - (m * m - first * first) / 2).exp() for w, m in moved)
        return u * first - first * first / 2 + self._sum(powers, u * 0 + least).log()

    def _sum(self, terms: Iterable[Number], start: Number) -> Number:
        return sum(terms, start)

    @property
    def still(self) -> bool:
        """Return whether one part does not move, so that z has a least value above 0."""
        return self.factor.mixed[0][1] == 0

    def _slopes(self) -> tuple[arb, arb]:
        """Return the least and the largest slope of a·log z."""
        ends = [self.a * ball(self.factor.mixed[0][1]), self.a * self.factor.reach]
        return ends[0].min(ends[1]), ends[0].max(ends[1])

    def tails(self, left: arb, right: arb) -> arb:
        """Return a bound on the nodes left out: there φz^a falls at least as fast as at the last ones."""
        if self.still:
            return super().tails(left, right)
        room = right - self._slopes()[1]
        return self.before(left) + self.density(right) / room if room > 0 else arb.pos_inf()

    def before(self, left: arb) -> arb:
        """Return a bound on ∫ φz^a left of a point, infinite where none is proved."""
        if self.still:
            return super().before(left)
        room = self._slopes()[0] - left
        return self.density(left) / room if room > 0 else arb.pos_inf()

    def peaks(self) -> tuple[float, float, float]:
        """Return where φz^a rises first and falls last, and −log of the least z^a if that is above 0."""
        if self.still:
            return super().peaks()
        low, high = (float(slope.mid()) for slope in self._slopes())
        return min(low, 0.0), max(high, 0.0), 0.0
