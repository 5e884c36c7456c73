"""The exact curve of Gaussian differential privacy.

δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2) for the pair N(μ, 1), N(0, 1): Balle & Wang 2018 (analytic
Gaussian mechanism), Dong, Roth & Su 2022 (μ-GDP). Squares of μ add under composition.
"""

from fractions import Fraction
from functools import partial

from flint import arb

from dpaccount.numerics.bisection import solve
from dpaccount.numerics.intervals import accurate, ball, between, ceil_of, log_float, precision
from dpaccount.precision import certified

ERFC = 1 << 20  #: erfc is exact to the working precision up to here at least, and then only bounded
UNKNOWN_PART = Fraction(1, 1 << 60)  #: how little is known of a μ², relative to it, that is not one number


def delta(epsilon: Fraction, mu2: tuple[Fraction, Fraction], bits: int = 80) -> arb:
    """Return a ball around δ(ε) of the Gaussian pair whose μ² lies in [mu2[0], mu2[1]]."""
    if mu2[1] == 0:
        return ball(0) if epsilon >= 0 else accurate(lambda: 1 - ball(epsilon).exp(), bits)

    def value() -> arb:
        mu = between(*mu2).sqrt()
        near, far = ((ball(epsilon) / mu + side * mu / 2) / arb(2).sqrt() for side in (-1, 1))
        peak = (-near * near).exp()  # e^ε erfc(far) = e^{−near²} erfcx(far), as far² = near² + ε
        ours = peak * _erfcx(near) if near > ERFC else near.erfc()
        theirs = peak * _erfcx(far) if far > ERFC else ball(epsilon).exp() * far.erfc()
        return (ours - theirs) / 2

    return accurate(value, bits)


def delta_plain(epsilon: Fraction, mu2: tuple[Fraction, Fraction], bits: int) -> arb:
    """Return a ball around δ(ε) with an absolute error of about 2^−bits: enough for masses on a lattice."""
    with precision(bits + 8):
        mu, at = between(*mu2).sqrt(), ball(epsilon)
        near, far = ((at / mu + side * mu / 2) / arb(2).sqrt() for side in (-1, 1))
        return (near.erfc() - at.exp() * far.erfc()) / 2


def _erfcx(z: arb) -> arb:
    """Return e^{z²} erfc(z) = U(1/2, 1/2, z²)/√π for z > 0 (NIST DLMF 7.11)."""
    return (z * z).hypgeom_u(arb(1) / 2, arb(1) / 2) / arb.pi().sqrt()


def epsilon_bound(target: Fraction, mu2: Fraction) -> Fraction:
    """Return an ε with δ(ε) ≤ target: δ(ε) ≤ P(L > ε) ≤ exp(−(ε − μ²/2)²/(2μ²)), rounded up."""
    with precision(64):
        spread = (2 * ball(mu2) * (-ball(target).log())).sqrt()
        return ceil_of(ball(mu2) / 2 + spread)


@certified
def epsilon(target: Fraction, mu2: tuple[Fraction, Fraction], width: Fraction) -> tuple[Fraction, Fraction]:
    """Return an enclosure of the least ε ≥ 0 with δ(ε) ≤ target, for 0 < target < 1.

    It grows with μ: where μ² is not known closely each end is found by itself.
    """
    if mu2[1] - mu2[0] > mu2[1] * UNKNOWN_PART:
        low = epsilon(target, (mu2[0], mu2[0]), width)[0] if mu2[0] else Fraction(0)
        return low, epsilon(target, (mu2[1], mu2[1]), width)[1]
    curve = partial(delta, mu2=mu2, bits=_bits(width))
    if ceil_of(curve(Fraction(0))) <= target:
        return Fraction(0), Fraction(0)
    high = epsilon_bound(target, mu2[1])
    spread = high - mu2[1] / 2
    return solve(curve, target, Fraction(0), high, width, (high - spread / 10, high - spread / 20))


def _bits(width: Fraction) -> int:
    """Return the relative accuracy of δ that tells ε apart within `width` (δ′/δ is at most 1/ε-ish)."""
    return max(64, int(-log_float(width) * 1.45) + 32)
