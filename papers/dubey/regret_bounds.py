"""The regret bounds of Dubey 2021, as functions to evaluate and to plot with measurements."""

from dataclasses import dataclass
from math import sqrt

from bandits.simulation.information_gain import gain_exponent
from dpaccount.errors import InputError, out_of_range


def theorem3_regret(
    rounds: int, width: float, gain: float, *, norm: float, rho: float, error: float
) -> float:
    """Return Theorem 3's bound 2√(Tβ_Tγ_T) + 2T³√(β_T ε)/(3ρ) + 2TBε, `width` being β_T^½."""
    if rounds < 1 or not rho > 0 or min(width, gain, norm, error) < 0:
        raise out_of_range("rounds >= 1, rho > 0, and width, gain, norm, error >= 0")
    # Algorithm 1 multiplies by β_t, Equation (8) and Theorem 1 by its root, which is meant.
    main = 2 * width * sqrt(rounds * gain)
    return main + 2 * rounds**3 * width * sqrt(error) / (3 * rho) + 2 * rounds * norm * error


@dataclass(frozen=True)
class Exponents:
    """Regret grows as T^rounds·α^(−privacy), up to powers of logarithms."""

    rounds: float
    privacy: float


def exponents(model: str, kernel: str, dimension: int, smoothness: float | None = None) -> Exponents:
    """Return the exponents of Corollary 1 without noise, of Corollary 2 (joint) and 3 (local).

    √(Tγ_T) times α^(−½), and T^¼ more for local privacy (Remark 7).
    """
    half = gain_exponent(kernel, dimension, smoothness) / 2
    match model:
        case "none":
            return Exponents(0.5 + half, 0.0)
        case "joint":
            return Exponents(0.5 + half, 0.5)
        case "local":
            return Exponents(0.75 + half, 0.5)
    raise InputError(f"the model is {model[:40]!r}", "known: none, joint, local")
