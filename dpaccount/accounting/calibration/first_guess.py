"""About the noise that meets a target, where a search begins: an estimate, in floating point."""

import math
from fractions import Fraction

import numpy as np

from dpaccount.accounting.calibration.least_noise import MAX_POWERS
from dpaccount.accounting.calibration.parameters import NAMED
from dpaccount.numerics.closed import gaussian
from dpaccount.numerics.intervals import log_float
from dpaccount.plan.events import Plan


def first_guess(plan: Plan, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return about the noise that is enough, of one event known by name, from the plan for noise 1; else 1.

    It is where a Gaussian of the event's ρ has that ε.
    ρ falls as the square of the noise, or as its first power (`zcdp`). The Gaussian one is near √ρ =
    ε/(√(ε + L) + √L), L = ln(1/δ), by zCDP's simple conversion. All in logarithms, for any magnitude.
    """
    unit = plan.events[0]
    rho = unit.zcdp() if len(plan.events) == 1 and unit.name in NAMED else None
    if not (epsilon > 0 and delta > 0 and rho):
        return Fraction(1)
    depth, e = math.log(max(-log_float(delta), 1e-300)), log_float(epsilon)
    root = e - float(np.logaddexp(np.logaddexp(e, depth) / 2, depth / 2))  # ln √ρ of the target
    if abs(e) < 12 and abs(depth) < 8:
        root = _gaussian_root(root, epsilon, delta)
    bits = (log_float(rho) - 2 * root) / math.log(2) * (1.0 if unit.name == "zcdp" else 0.5)
    bits = max(-float(MAX_POWERS), min(float(MAX_POWERS), bits))
    return Fraction(2) ** math.floor(bits) * Fraction(2 ** (bits - math.floor(bits)))


def _gaussian_root(root: float, epsilon: Fraction, delta: Fraction) -> float:
    """Return ln √ρ at which a Gaussian has ε(δ) = epsilon, by a few secants from a guess (an estimate)."""

    def height(at: float) -> float:
        mu2 = 2 * Fraction(math.exp(2 * at))
        reached = gaussian.epsilon(delta, (mu2, mu2), epsilon / 10**9)[1]
        return log_float(reached / epsilon) if reached else -1.0

    before, now = root, root + 0.05
    low, high = height(before), height(now)
    for _ in range(8):
        if low == high or abs(high) < 1e-9:
            break
        step = max(-1.0, min(1.0, (before - now) * high / (high - low)))
        before, low, now = now, high, now + step
        high = height(now)
    return now
