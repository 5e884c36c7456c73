"""The lower bounds of Zhou & Tan 2020 on regret under local privacy of rewards, as a rate to plot.

Theorem 1 is an order: its absolute constant is not known, so a rate is no bound on any one run, and two rates
compare how regret moves with T and ε only.  They are of functions on a line with ‖f‖ ≤ 1 and of rewards with
E y² ≤ 1 (α = 1), of a Matérn kernel of this `smoothness` ν, or where that is None of the squared-exponential
one.  ζ = e^ε − 1 throughout.
"""

from dataclasses import dataclass
from math import expm1, log, sqrt

from dpaccount.errors import out_of_range


@dataclass(frozen=True)
class LowerRate:
    """Theorem 1's order under privacy, that of Chowdhury & Gopalan 2019 without, and what does not hold."""

    private: float
    without: float
    outside: tuple[str, ...]

    @property
    def value(self) -> float:
        """Return the larger."""
        # Privacy never helps, and the private order alone vanishes as ε grows.
        return max(self.private, self.without)


def lower_rate(rounds: int, epsilon: float, smoothness: float | None = None) -> LowerRate:
    """Return Theorem 1's order of E R_T; 0 where the logarithm's argument is not above 1."""
    if not 0 < epsilon <= 30 or rounds < 1 or not (smoothness is None or smoothness > 0):
        raise out_of_range("0 < epsilon <= 30, rounds >= 1 and smoothness > 0")
    zeta = expm1(epsilon)
    outside = tuple(_outside(rounds, zeta, smoothness))
    # Without privacy the order is the theorem's at ζ = 1 (Remark 1).
    return LowerRate(_order(rounds, zeta, smoothness), _order(rounds, 1.0, smoothness), outside)


def _order(rounds: int, zeta: float, smoothness: float | None) -> float:
    """Return the theorem's order at ζ."""
    if smoothness is None:
        inside = rounds * zeta**2
        return sqrt(rounds) / zeta * log(inside) ** 0.25 if inside > 1 else 0.0
    below = 2 * smoothness + 1
    return float(rounds ** ((smoothness + 1) / below) * zeta ** (-2 * smoothness / below))


def _outside(rounds: int, zeta: float, smoothness: float | None) -> list[str]:
    """Return which conditions of the proof do not hold, unknown constants taken for 1."""
    unmet, inside, places = [], rounds * zeta**2, functions(rounds, zeta, smoothness)
    if inside <= 1:
        unmet.append(f"the logarithm's argument is {inside:.3g}, not above 1")
    elif smoothness is None and log(inside) < 0.5:
        unmet.append("the logarithm is below d/2, where the order rises with epsilon, as no lower bound does")
    if places > 2 * inside:
        unmet.append(f"M of order {places:.3g} is above 2 (e^epsilon - 1)^2 T = {2 * inside:.3g}")
    return unmet


def functions(rounds: int, zeta: float, smoothness: float | None) -> float:
    """Return the order of M, the number of functions to distinguish (appendix A.4)."""
    inside = rounds * zeta**2
    if smoothness is None:
        return sqrt(log(inside)) if inside > 1 else 0.0
    return float(inside ** (1 / (2 * smoothness + 1)))
