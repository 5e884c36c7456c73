"""The lower bounds of Zhou & Tan 2020 on regret under local privacy of rewards, as a rate to plot.

Theorem 1 is an order: its absolute constant is not known, so a rate is no bound on any one run, and two rates
compare how regret moves with T, ε and the moments only.  ζ = e^ε − 1 throughout.
"""

from dataclasses import dataclass
from math import expm1, log

from bandits.statistics.calibration import one_of
from dpaccount.errors import InputError, out_of_range

BOUNDED_KERNELS = ("squared-exponential", "matern")


@dataclass(frozen=True)
class Setting:
    """The setting of a rate: ‖f‖ ≤ `norm`, E|y|^{1+α} ≤ `moment`, ε-local privacy, `rounds` people."""

    kernel: str
    rounds: int
    epsilon: float
    norm: float = 1.0
    moment: float = 1.0
    alpha: float = 1.0
    dimension: int = 1
    smoothness: float | None = None

    def __post_init__(self) -> None:
        one_of("the kernel", self.kernel, BOUNDED_KERNELS)
        if (self.kernel == "matern") != (self.smoothness is not None):
            raise InputError("a Matérn kernel, and no other, needs its smoothness")
        if not (0 < self.epsilon <= 30 and 0 < self.alpha <= 1) or min(self.rounds, self.dimension) < 1:
            raise out_of_range("0 < epsilon <= 30, 0 < alpha <= 1, rounds >= 1 and dimension >= 1")
        if not min(self.norm, self.moment, self.smoothness or 1.0) > 0:
            raise out_of_range("norm > 0, moment > 0 and smoothness > 0")


# ------------------------------------------------------------------ Theorem 1: below


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


def lower_rate(setting: Setting) -> LowerRate:
    """Return Theorem 1's order of E R_T; 0 where the logarithm's argument is not above 1."""
    zeta = expm1(setting.epsilon)
    return LowerRate(_order(setting, zeta), _order(setting, 1.0), tuple(_outside(setting, zeta)))


def _order(setting: Setting, zeta: float) -> float:
    """Return the theorem's order at ζ; at ζ = 1 it is that without privacy (Remark 1)."""
    a, d = setting.alpha, setting.dimension
    if setting.smoothness is None:
        inside = _argument(setting, zeta)
        size = (setting.moment * setting.rounds * zeta ** (-2 * a)) ** (1 / (1 + a))
        return size * log(inside) ** (d * a / (2 + 2 * a)) if inside > 1 else 0.0
    nu = setting.smoothness
    below = nu * (1 + a) + d * a
    power = -2 * a / (1 + a) + 2 * d * a**2 / ((1 + a) * below)
    by_moments = setting.moment ** (nu / below) * setting.norm ** (d * a / below)
    return float(by_moments * setting.rounds ** ((nu + d * a) / below) * zeta**power)


def _argument(setting: Setting, zeta: float) -> float:
    """Return B^{(1+α)/α} T ζ²/v^{1/α}, whose logarithm the squared-exponential order has."""
    a = setting.alpha
    return float(setting.norm ** ((1 + a) / a) * setting.rounds * zeta**2 / setting.moment ** (1 / a))


def _outside(setting: Setting, zeta: float) -> list[str]:
    """Return which conditions of the proof do not hold, unknown constants taken for 1."""
    unmet, places = [], functions(setting, zeta)
    if _argument(setting, zeta) <= 1:
        unmet.append(f"the logarithm's argument is {_argument(setting, zeta):.3g}, not above 1")
    elif setting.smoothness is None and log(_argument(setting, zeta)) < setting.dimension / 2:
        unmet.append("the logarithm is below d/2, where the order rises with epsilon, as no lower bound does")
    if places > 2 * zeta**2 * setting.rounds:
        unmet.append(
            f"M of order {places:.3g} is above 2 (e^epsilon - 1)^2 T = {2 * zeta**2 * setting.rounds:.3g}"
        )
    return unmet


def functions(setting: Setting, zeta: float) -> float:
    """Return the order of M, the number of functions to distinguish (appendix A.4)."""
    a, d = setting.alpha, setting.dimension
    inside = _argument(setting, zeta)
    if setting.smoothness is None:
        return log(inside) ** (d / 2) if inside > 1 else 0.0
    return float(inside ** (d * a / (setting.smoothness * (1 + a) + d * a)))
