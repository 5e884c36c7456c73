"""The lower bounds of Zhou & Tan 2020 on regret under local privacy of rewards, as a rate to plot.

Theorem 1 is an order: its absolute constant is not known, so a rate is no bound on any one run, and two rates
compare how regret moves with T and ε only.  They are of functions on [0, 1]^d, d the `dimension`, with
‖f‖ ≤ 1, and of rewards with E y² ≤ 1 (α = 1), of a Matérn kernel of this `smoothness` ν, or where that is
None of the squared-exponential one.  ζ = e^ε − 1 throughout.
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


def lower_rate(rounds: int, epsilon: float, smoothness: float | None = None, dimension: int = 1) -> LowerRate:
    """Return Theorem 1's order of E R_T; 0 where the logarithm's argument is not above 1."""
    if not 0 < epsilon <= 30 or min(rounds, dimension) < 1 or not (smoothness is None or smoothness > 0):
        raise out_of_range("0 < epsilon <= 30, rounds >= 1, smoothness > 0 and dimension >= 1")
    zeta, outside = expm1(epsilon), _outside(rounds, expm1(epsilon), smoothness, dimension)
    # Without privacy the order is the theorem's at ζ = 1 (Remark 1).
    private, without = (_order(rounds, each, smoothness, dimension) for each in (zeta, 1.0))
    return LowerRate(private, without, tuple(outside))


def _order(rounds: int, zeta: float, smoothness: float | None, dimension: int) -> float:
    """Return the theorem's order at ζ: √(TM)/ζ with M of `functions`."""
    if smoothness is None:
        inside = rounds * zeta**2
        return sqrt(rounds) / zeta * log(inside) ** (dimension / 4) if inside > 1 else 0.0
    below = 2 * smoothness + dimension
    return float(rounds ** ((smoothness + dimension) / below) * zeta ** (-2 * smoothness / below))


def _outside(rounds: int, zeta: float, smoothness: float | None, dimension: int) -> list[str]:
    """Return which conditions of the proof do not hold, unknown constants taken for 1."""
    unmet, inside, places = [], rounds * zeta**2, functions(rounds, zeta, smoothness, dimension)
    if inside <= 1:
        unmet.append(f"the logarithm's argument is {inside:.3g}, not above 1")
    elif smoothness is None and log(inside) < dimension / 2:
        unmet.append("the logarithm is below d/2, where the order rises with epsilon, as no lower bound does")
    if places > 2 * inside:
        unmet.append(f"M of order {places:.3g} is above 2 (e^epsilon - 1)^2 T = {2 * inside:.3g}")
    return unmet


def functions(rounds: int, zeta: float, smoothness: float | None, dimension: int = 1) -> float:
    """Return the order of M, the number of functions to distinguish (appendix A.4)."""
    inside = rounds * zeta**2
    if smoothness is None:
        return log(inside) ** (dimension / 2) if inside > 1 else 0.0
    return float(inside ** (dimension / (2 * smoothness + dimension)))
