"""Integrals ∫ φ(u) w(u) r(u)^{iτ} du by the trapezoid rule on a line that is shifted into a strip.

Where |r^{iτ}| ≤ 1 for τ ≥ 0 and |w(u + iy)| ≤ cos(y/2σ)^low w(u), low ≤ 0, in the strip 0 ≤ y ≤ Y < πσ, the
error is bounded for all τ ≥ 0 at once (trapezoid rule on a strip: Trefethen & Weideman 2014).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from flint import acb, arb, ctx

from dpaccount.numerics import exponential_sums
from dpaccount.numerics.fourier.transforms import blurred
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import bearable, spend

MOST_POINTS = 200_000  #: of a quadrature

Strip = tuple[float, float, float]  #: the step of a line, how high it lies, and the top of its strip
Number = TypeVar("Number", arb, acb)


class Tilted(ABC):
    """An integrand φ·w·r^{iτ} as the module says, of noise σ = 1/μ."""

    factor: Any  #: the transform that it is an integrand of

    @property
    def mu2(self) -> Fraction:
        """Return μ²."""
        square: Fraction = self.factor.mu2
        return square

    @property
    @abstractmethod
    def low(self) -> arb:
        """Return the exponent of the cosine, at most 0."""

    @abstractmethod
    def logs(self, u: Number) -> tuple[Number, Number]:
        """Return log w and log r at u."""

    def terms(self, u: Number) -> list[tuple[Number, Number]]:
        """Return (√(2π)·φw, log r) at u, or several of them where the integrand is their sum."""
        weight, ratio = self.logs(u)
        return [((weight - u * u / 2).exp(), ratio)]

    def density(self, u: arb) -> arb:
        """Return φw at u."""
        return self.terms(u)[0][0] / (2 * arb.pi()).sqrt()

    @abstractmethod
    def whole(self) -> arb:
        """Return ∫ φ w at the precision of the moment."""

    @abstractmethod
    def tails(self, left: arb, right: arb) -> arb:
        """Return a bound on what real nodes between the two leave out; infinite where none is proved."""

    @abstractmethod
    def peaks(self) -> tuple[float, float, float]:
        """Return, roughly, where φw rises first and falls last, and −log of the least w."""


@dataclass(frozen=True)
class ShiftedLine:
    """Nodes u_j + iy₀, j < size, of step η, and the proved error of their sum.

    |error| ≤ ∫φw·[1/(e^{2πy₀/η} − 1) + κ(Y)/(e^{2π(Y−y₀)/η} − 1)] + tails·κ(y₀), with
    κ(y) = e^{y²/2} cos(y/2σ)^low: between the real line and Im u = Y the integrand is analytic.
    For y₀ = 0 both sides are alike.
    """

    law: Tilted
    step: arb
    first: arb
    size: int
    shift: arb
    top: arb

    @staticmethod
    def real(law: Tilted) -> "ShiftedLine":
        """Return a line for ∫ φw, accurate to the precision of the moment."""
        # the largest step, for the strip up to height y
        step, top = max((2 * math.pi * y / _far(law, y), y) for y in _heights(law))
        return ShiftedLine.at(law, (step, 0.0, top), _depth())

    @staticmethod
    def shifted(law: Tilted) -> "ShiftedLine":
        """Return a line for all τ ≥ 0, accurate relative to ∫ φw."""
        # On the real line |r^{iτ}| would grow upwards, and the nodes with τ: 470,000 of them at τ = 10^5, not
        # 300.
        return ShiftedLine.at(law, max((*_shifted_step(law, y), y) for y in _heights(law)), _depth())

    @staticmethod
    def at(law: Tilted, strip: Strip, depth: float) -> "ShiftedLine":
        """Return the line in this strip whose tails are about e^{−depth}."""
        step, shift, top = strip
        first, last, penalty = law.peaks()
        wide = math.sqrt(2 * (depth + shift * shift / 2 + penalty + 8)) + 1
        size = math.ceil((last + wide + 1 - (first - wide)) / step) + 1
        bearable(size, MOST_POINTS)
        return ShiftedLine(law, arb(step), arb(first - wide), size, arb(shift), arb(top))

    def total(self) -> arb:
        """Return ∫ φw of a real line; the error is relative to it, and it is ≤ (sum + tails)/(1 − near)."""
        value = sum((weight for weight, _ in self.points()), arb(0))
        near = 2 * self._kappa(self.top) / ((2 * arb.pi() * self.top / self.step).exp() - 1)
        tails = self._tails()
        return blurred(value, near * (value + tails) / (1 - near) + tails)

    def along(self, h: arb, count: int) -> list[acb]:
        """Return the integrals at τ = nh, n < count, as one product of matrices of exponentials."""
        error = self.error()
        return [blurred(value, error) for value in exponential_sums.along(self.points(), h, count)]

    def error(self) -> arb:
        """Return the bound on the error at any τ ≥ 0."""
        turn = 2 * arb.pi() / self.step
        near = 1 / ((turn * self.shift).exp() - 1)
        near += self._kappa(self.top) / ((turn * (self.top - self.shift)).exp() - 1)
        with precision(64):
            whole = self.law.whole()
        return near * whole + self._tails() * self._kappa(self.shift)

    def points(self) -> list[tuple[acb, acb]]:
        """Return (ηφw, log r) at the nodes."""
        scale = self.step / (2 * arb.pi()).sqrt()
        found = []
        for j in range(self.size):
            spend()
            real = self.first + j * self.step
            u = acb(real, self.shift) if self.shift > 0 else real
            found += [(scale * value, ratio) for value, ratio in self.law.terms(u)]
        return found

    def _tails(self) -> arb:
        return self.law.tails(self.first, self.first + (self.size - 1) * self.step)

    def _kappa(self, y: arb) -> arb:
        """Return κ(y); infinite where the strip is too wide."""
        cosine = (y * ball(self.law.mu2).sqrt() / 2).cos()
        if not cosine > 0:
            return arb.pos_inf()
        return (y * y / 2 + self.law.low * cosine.log()).exp()


def _depth() -> float:
    """Return −log of the relative error that the precision of the moment can show."""
    return float(ctx.prec * math.log(2))


def _heights(law: Tilted) -> list[float]:
    """Return heights of strips to try."""
    most = min(0.98 * math.pi / math.sqrt(float(law.mu2)), 3 * math.sqrt(_depth()))
    return [most * step / 24 for step in range(1, 25)]


def _far(law: Tilted, y: float) -> float:
    """Return −log of the error that is wanted, and of κ(y)."""
    low, half = float(law.low.mid()), y * math.sqrt(float(law.mu2)) / 2
    return _depth() + 2 + y * y / 2 + (low * math.log(math.cos(min(half, 1.5707))) if low else 0.0)


def _shifted_step(law: Tilted, y: float) -> tuple[float, float]:
    """Return the largest step for the strip [0, y], and the line in it where both sides err alike."""
    shift = y * (_depth() + 2) / (_depth() + 2 + _far(law, y))
    return 2 * math.pi * shift / (_depth() + 2), shift
