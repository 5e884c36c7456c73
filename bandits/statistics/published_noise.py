"""The noise, shifts and widths that Dubey 2021 prints, and their corrections.

Lemmas 2, 3, 5 and 6 and Theorem 1 as functions.  They are floating-point readings of the paper's formulas,
for running it as published; what they prove is decided by a subject's own proof.
"""

from fractions import Fraction
from math import ceil, log, sqrt
from typing import NamedTuple

from dpaccount.errors import InputError, out_of_range

SCALE_BITS = 10  #: published scales are rounded up to multiples of 2^−10


class Spectrum(NamedTuple):
    """Definition 3: λ_min ≤ H_t ≤ λ_max and ‖h_t‖ in H_t⁻¹ at most κ, but for probability ζ/(2T)."""

    least: float
    most: float
    kappa: float


def nodes_published(rounds: int) -> int:
    """Return n = 1 + ⌈log₂ T⌉, the noises that the paper counts in a prefix."""
    return 1 + (rounds - 1).bit_length()


def _privacy(alpha: Fraction, beta: Fraction) -> None:
    if alpha <= 0 or not 0 < beta < 1:
        raise InputError(f"found {float(alpha)} and {float(beta)}", "needed alpha > 0 and 0 < beta < 1")


def _up(value: float) -> Fraction:
    return Fraction(ceil(value * 2**SCALE_BITS), 2**SCALE_BITS)


def lemma2_sigma(alpha: Fraction, beta: Fraction, rounds: int, reward: Fraction) -> Fraction:
    """Return the σ of Lemma 2 for |y| ≤ `reward`: σ² = 16 n (1+B²) ln²(10/β)/α², as its proof reads.

    Its statement prints the same number as the standard deviation.
    """
    _privacy(alpha, beta)
    nodes, risk = nodes_published(rounds), log(10 / float(beta))
    return _up(sqrt(16 * nodes * float(1 + reward**2) * risk**2 / float(alpha) ** 2))


def lemma3_spectrum(sigma: float, rounds: int, size: int, zeta: float) -> Spectrum:
    """Return λ_min, λ_max and κ of Lemma 3 for `size` features: H_t shifted by 2Λ.

    Λ = σ√(2n)(4√m + 2 ln(2T/ζ)); κ = σ√(n/Λ)(√m + √(2 ln(2T/ζ))).
    """
    n = nodes_published(rounds)
    risk = log(2 * rounds / zeta)
    edge = sigma * sqrt(2 * n) * (4 * sqrt(size) + 2 * risk)
    return Spectrum(edge, 3 * edge, sigma * sqrt(n / edge) * (sqrt(size) + sqrt(2 * risk)))


def lemma5_sigmas(alpha: Fraction, beta: Fraction, reward: Fraction) -> tuple[Fraction, Fraction]:
    """Return (σ_X, σ_u) of Lemma 5 for rewards within ±`reward`.

    σ_X² = 8 ln(5/(2β))/α² and σ_u² = 8 B² ln(5/β)/α².
    """
    _privacy(alpha, beta)
    a, b = float(alpha), float(beta)
    x, u = 8 * log(5 / (2 * b)) / a**2, 8 * float(reward) ** 2 * log(5 / b) / a**2
    return _up(sqrt(x)), _up(sqrt(u))


def lemma6_spectrum(sigma_x: float, sigma_u: float, rounds: int, size: int, zeta: float) -> Spectrum:
    """Return λ_min, λ_max and κ of Lemma 6: H_t shifted by 2σ_XΛ, Λ = √T(4√m + 2 ln(2T/ζ)).

    h_t has T·m entries of variance σ_u² at the last round and ‖h‖ ≤ σ_u√T(√m + √(2 ln(2T/ζ))) but for
    ζ/(2T), hence κ = that/√(σ_XΛ).  The text prints κ = σ_u√(mT/Λ), which lacks σ_X and the deviation.
    """
    risk = log(2 * rounds / zeta)
    edge = sqrt(rounds) * (4 * sqrt(size) + 2 * risk)
    kappa = sigma_u * sqrt(rounds / (sigma_x * edge)) * (sqrt(size) + sqrt(2 * risk))
    return Spectrum(sigma_x * edge, 3 * sigma_x * edge, kappa)


def theorem1_width(
    spectrum: Spectrum, t: int, log_det: float, *, norm: float, rho: float, error: float, zeta: float
) -> float:
    """Return β_t^½ of Theorem 1, the factor of ρ‖Φ‖ (Equation 8; Algorithm 1 prints β_t).

    B√(λ_max/ρ² + 1) + tBε/(ρ√λ_min) + κ/ρ + √(ln det((Σ̃_t + λI)/(λ + λ_min)) + 2 ln(2/ζ)); `norm` is B,
    `log_det` that log-determinant.
    """
    if not 0 < spectrum.least <= spectrum.most or not spectrum.kappa >= 0:
        raise out_of_range("0 < least <= most and kappa >= 0")
    if not 0 < zeta < 1 or not rho > 0 or min(norm, error) < 0:
        raise out_of_range("0 < zeta < 1, rho > 0, norm >= 0 and error >= 0")
    noise = norm * sqrt(spectrum.most / rho**2 + 1) + spectrum.kappa / rho
    approximation = t * norm * error / (rho * sqrt(spectrum.least))
    return noise + approximation + sqrt(max(log_det, 0.0) + 2 * log(2 / zeta))


def nodes_per_axis(rounds: int, *, remark3: bool = False) -> int:
    """Return m̄ = ⌈6 ln T⌉ of Corollary 1, or ⌈3 ln T⌉ of Remark 3: 2m̄^d features."""
    if rounds < 2:
        raise InputError(f"the horizon is {rounds}", "give at least 2 rounds")
    return ceil((3 if remark3 else 6) * log(rounds))
