"""Bounds in closed form that hold for any magnitudes: a mean, a deviation, and the largest losses.

Where log E_P e^{sL} ≤ s·m + s²W/2 for s > 0, Chernoff gives δ(ε) ≤ P(L > ε) ≤ e^{−(ε−m)²/(2W)} for ε > m.
Where it holds for −1 ≤ s < 0 too, 1 − δ(ε) = E min(1, e^{ε−L}) ≤ e^{θε} E e^{−θL} ≤ e^{θ(ε−m)+θ²W/2} for
0 < θ ≤ 1.
A Gaussian pair has m = μ²/2, W = μ², the discrete one at most that (Canonne, Kamath & Steinke 2020), ρ-zCDP
m = ρ, W = 2ρ (Bun & Steinke 2016), and a loss in [−a, a] of mean m has W = a² (Hoeffding 1963). Both add
under composition. Pinsker: δ(0) ≤ √(E_P L/2).

The other lower bound is P(L ≥ x)(1 − e^{ε−x}) ≤ δ(ε) at an x near the sum of the largest losses.
"""

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from dpaccount.numerics.intervals import ball


@dataclass
class Moments:
    """Sums over a composition.

    `above` and `width_above` are m and W for upper bounds, `below` and `width_below` for lower ones; the
    loss reaches `top` with probability `odds` at least, half of that where `centred`.
    """

    above: arb
    width_above: arb
    below: arb
    width_below: arb
    top: arb
    odds: arb
    centred: bool = False  #: some noise is symmetric, and reaches its mean with probability at least a half

    @staticmethod
    def none() -> "Moments":
        """Return the sums over nothing."""
        return Moments(ball(0), ball(0), ball(0), ball(0), ball(0), ball(1))

    def both(self, mean: arb, width: arb) -> None:
        """Add a kind whose m and W hold on both sides."""
        self.above += mean
        self.below += mean
        self.width_above += width
        self.width_below += width

    def reaches(self, loss: arb, odds: arb) -> None:
        """Add a kind whose loss is at least `loss` with probability `odds`."""
        self.top += loss
        self.odds *= odds

    def reaches_mean(self, mean: arb) -> None:
        """Add symmetric noise, which reaches its mean loss with probability at least a half.

        A sum of such noises is symmetric too, so that all of them count once.
        """
        self.reaches(mean, ball(1))
        self.centred = True

    def only_above(self, mean: arb, width: arb) -> None:
        """Add a kind whose m and W hold for upper bounds; how far down its loss goes is not known."""
        self.above += mean
        self.width_above += width
        # The lower bound by the largest losses needs all parts to reach theirs at once: one unknown voids it.
        self.odds *= 0

    def settled(self) -> "Moments":
        """Return the sums once everything is added."""
        if self.centred:
            self.odds /= 2
        return self

    def epsilon_above(self, target: Fraction) -> arb:
        """Return a bound on ε(target), 0 < target < 1."""
        return self.above + (2 * self.width_above * -ball(target).log()).sqrt()

    def epsilon_below(self, target: Fraction) -> list[arb]:
        """Return lower bounds on ε(target): m − θW/2 + ln(1 − target)/θ at the best θ ≤ 1, and by the top."""
        slack = -(-ball(target)).log1p()
        found = []
        if self.width_below > 0:
            best = (2 * slack / self.width_below).sqrt()
            theta = best if best <= 1 else ball(1)
            found.append(self.below - theta * self.width_below / 2 - slack / theta)
        rest = 1 - ball(target) / self.odds
        if rest > 0:
            found.append(self.top + rest.log())
        return found

    def delta_above(self, at: Fraction) -> list[arb]:
        """Return bounds on δ(ε)."""
        gap = ball(at) - self.above
        found = [(self.above / 2).sqrt()]
        if gap > 0 and self.width_above > 0:
            found.append((-gap * gap / (2 * self.width_above)).exp())
        return found

    def delta_below(self, at: Fraction) -> list[arb]:
        """Return lower bounds on δ(ε)."""
        gap = self.below - ball(at)
        found = []
        if gap > 0 and self.width_below > 0:
            best = gap / self.width_below
            theta = best if best <= 1 else ball(1)
            found.append(-(theta * theta * self.width_below / 2 - theta * gap).expm1())
        if self.top > ball(at):
            found.append(-(ball(at) - self.top).expm1() * self.odds)
        return found


def atoms(loss: Fraction, k: int) -> tuple[arb, arb]:
    """Return the mean and the top mass of losses ±ε (and 0) with odds e^ε : 1 (: k − 2)."""
    away = (-ball(loss)).exp()
    total = 1 + (k - 1) * away
    return -ball(loss) * (-ball(loss)).expm1() / total, 1 / total


def two_sided(scale: Fraction, shift: int) -> tuple[arb, arb]:
    """Return the mean and the top mass of two-sided geometric noise moved by `shift`.

    With r = e^{−1/scale} and noise X, P(X ≥ x) = r^x/(1 + r); the loss is (shift − 2 min(X⁺, shift))/scale.
    """
    rate = 1 / ball(scale)
    r = (-rate).exp()
    inner = r * (-shift * rate).expm1() / (-2 * rate).expm1()
    return (shift - 2 * inner) * rate, 1 / (1 + r)


def laplace(loss: Fraction) -> arb:
    """Return the mean loss of Laplace noise, ε₀ − 1 + e^{−ε₀}."""
    return ball(loss) + (-ball(loss)).expm1()
