"""Gaussian differential privacy: its exact curve, and the least μ of one release, rounded up.

δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2) for the pair N(μ, 1), N(0, 1): Balle & Wang 2018 (analytic
Gaussian mechanism), Dong, Roth & Su 2022 (μ-GDP). Squares of μ add under composition.

Pure ε-DP needs μ = −2Φ⁻¹(1/(1 + e^ε)) (Dong, Roth & Su 2022; optimal).  Of pairs with more outcomes: where
z = Φ⁻¹(1 − ·) of both errors of a test adds up to most, the pair needs μ = z(α) + z(β); for each kind below
that test is known (docs/proofs.md, "One release under Gaussian DP").
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Final

from flint import arb

from dpaccount.numerics.bisection import solve
from dpaccount.numerics.intervals import accurate, ball, between, ceil_of, log_float, precision
from dpaccount.numerics.work_budget import kept
from dpaccount.precision import certified

ERFC = 1 << 20  #: erfc is exact to the working precision up to here at least, and then only bounded
UNKNOWN_PART = Fraction(1, 1 << 60)  #: how little is known of a μ², relative to it, that is not one number
LARGE: Final = 500  #: ε beyond which tails of the normal law are bounded in logarithms
MIN_EPSILON: Final = Fraction(1, 10**300)  #: ε below which the bound of ε-DP stands for all
MAX_ANSWERS: Final = 10**12  #: answers: of more each one tells less (they are these, of which some are lost)
GUARD_BITS: Final = 256  #: beside those in which a small ε is seen


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
    """Return a ball around δ(ε) with an absolute error of about 2^−bits: for masses and comparisons."""
    if not mu2[1]:
        return delta(epsilon, mu2, bits)
    with precision(bits + 8):
        mu, at, root = between(*mu2).sqrt(), ball(epsilon), arb(2).sqrt()
        near, far = (at / mu - mu / 2) / root, (at / mu + mu / 2) / root
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


# ---- the least μ of one release


@kept(4096)
def mu_squared(epsilon: Fraction) -> Fraction:
    """Return an upper bound on μ² of the Gaussian pair that dominates every ε-DP mechanism.

    The bound is certified by Φ(−μ/2) ≤ 1/(1 + e^ε), which is what domination at ε = 0 needs.
    """
    if epsilon == 0:
        return Fraction(0)
    if epsilon > LARGE:
        return _of_large(epsilon)
    with precision(128 + 2 * _zeros(epsilon)):
        goal = 1 / (1 + ball(epsilon).exp())
        # z with erfc(z) = 2·goal; μ = 2√2·z. Newton's start is an estimate, the test below decides.
        z = _erfc_inverse(goal)
        while True:
            mu = 2 * arb(2).sqrt() * z
            if (mu / (2 * arb(2).sqrt())).erfc() <= 2 * goal:
                return ceil_of(mu * mu)
            z = z * (1 + arb(2) ** -60)


@kept(4096)
def of_laplace(loss: Fraction) -> Fraction:
    """Return μ² of Laplace noise whose largest loss is `loss`: both errors are e^{−ε/2}/2."""

    def errors() -> tuple[arb, arb]:
        each = (-ball(loss / 2)).exp() / 2
        return each, each

    return _least(loss, errors)


@kept(4096)
def of_discrete_laplace(step: Fraction, moved: int) -> Fraction:
    """Return μ² of two-sided geometric noise of ratio e^{−step} that is moved by `moved`.

    The errors are e^{−step·t}/(1 + e^{−step}) for t = half of `moved` + 1, rounded down, and up.
    """
    half = (moved + 1) // 2

    def errors() -> tuple[arb, arb]:
        whole = 1 + (-ball(step)).exp()
        return (-ball(step * half)).exp() / whole, (-ball(step * (moved + 1 - half))).exp() / whole

    return _least(step * moved, errors)


@kept(4096)
def of_response(epsilon: Fraction, k: int) -> Fraction:
    """Return μ² of k-ary randomised response: the errors are the chances of one other answer and of any."""

    def errors() -> tuple[arb, arb]:
        others = ball(min(k, MAX_ANSWERS) - 1)
        total = ball(epsilon).exp() + others
        return 1 / total, others / total

    return _least(epsilon, errors)


def _least(loss: Fraction, errors: Callable[[], tuple[arb, arb]]) -> Fraction:
    """Return (z(α) + z(β))², never above that of ε-DP."""
    pure = mu_squared(loss)
    if not MIN_EPSILON < loss <= LARGE:
        return pure
    with precision(GUARD_BITS + 2 * _zeros(loss)):
        first, second = errors()
        mu = arb(2).sqrt() * ((2 * first).erfcinv() + (2 * second).erfcinv())
        return min(pure, ceil_of(mu * mu))


def _zeros(value: Fraction) -> int:
    """Return how many bits of a number are 0 before the first that is not, about."""
    return max(0, value.denominator.bit_length() - value.numerator.bit_length())


def _erfc_inverse(goal: arb) -> arb:
    """Return an exact point near the z > 0 with erfc(z) = 2·goal, by Newton steps on ln erfc."""
    z = (-(2 * goal).log()).sqrt() if goal < arb("0.1") else (1 - 2 * goal) * arb.pi().sqrt() / 2
    for _ in range(60):  # a cap: steps converge quadratically
        value = z.erfc().mid()
        slope = -2 * (-z * z).exp() / arb.pi().sqrt() / value
        step = ((value / (2 * goal)).log() / slope).mid()
        z = (z - step).mid()
        if not abs(step) > abs(z) * arb(2) ** -64:
            break
    return (z * (1 + arb(2) ** -62)).mid()


def _of_large(epsilon: Fraction) -> Fraction:
    """Return 4x² for an x with x²/2 + ln(x√2π) − ln(1 − x⁻² + 3x⁻⁴) ≥ ε + e^{−ε}.

    Then Φ(−x) ≤ φ(x)/x·(1 − x⁻² + 3x⁻⁴) ≤ 1/(1 + e^ε), as ln(1 + e^ε) ≤ ε + e^{−ε} (NIST DLMF 7.12.1).
    Never more than 8ε, as Φ(−x) ≤ e^{−x²/2}/2.
    """
    with precision(192 + epsilon.numerator.bit_length()):
        goal = ball(epsilon) + arb(2) ** -700  # e^{−ε} is below it

        def reached(square: arb) -> arb:
            beyond = (1 - 1 / square + 3 / square**2).log()
            return square / 2 + (2 * arb.pi() * square).log() / 2 - beyond

        square = 2 * goal
        for _ in range(6):
            square = (square - 2 * (reached(square) - goal)).mid()
        while not reached(square) >= goal:
            square += arb(2) ** -90 * square
        return min(ceil_of(4 * square), 8 * epsilon)
