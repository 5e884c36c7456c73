"""What Pavlovic, Salgia & Zhao 2025 prove of USCA, with its constants, as functions of public numbers.

γ is an upper bound of the information gain at T, F of the eigenfunctions, B of rewards and of the function's
norm, R the sub-Gaussian constant of noise, τ the ridge.  At horizons that are run here, the bounds say
nothing: the privacy term alone is far above the range of f.  Floating point throughout.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, sqrt

from dpaccount.errors import InputError

MOST = 2**60  #: rounds, beyond which none are looked for


@dataclass(frozen=True)
class UscaSetting:
    """The constants of a world and a run of USCA."""

    rounds: int
    gamma: float
    ridge: float
    eigenfunctions: float  #: F
    bound: float = 1.0  #: B
    noise: float = 0.0  #: R
    lipschitz: float = 1.0
    diameter: float = 1.0  #: D₀ of the actions
    dimension: int = 1  #: d of the actions

    def __post_init__(self) -> None:
        """Refuse constants that make no sense."""
        positive = (self.gamma, self.ridge, self.eigenfunctions, self.bound, self.lipschitz, self.diameter)
        if self.rounds < 1 or min(positive) <= 0 or self.noise < 0 or self.dimension < 1:
            raise InputError("needed rounds and a dimension of at least 1, noise >= 0, all others above 0")

    @property
    def rate(self) -> float:
        """Return √(γ/T)."""
        return sqrt(self.gamma / self.rounds)

    @property
    def square(self) -> float:
        """Return F²/13, which all constants hold."""
        return self.eigenfunctions**2 / 13


def _chance(delta: float) -> None:
    if not 0 < delta < 1:
        raise InputError(f"delta is {delta:g}; it lies in (0, 1)")


# ------------------------------------------------------------------ the covariance


def covariance_deviation(setting: UscaSetting, delta: float) -> float:
    """Return 28/17·√(γ ln(1/δ)/(Tτ)), at least ‖Z̃⁻¹Z − I‖ with probability 1 − δ (Lemmas 4.4, 6.1).

    The proof holds where √(γ ln(1/δ)/(Tτ)) ≤ ¼; raises `InputError` elsewhere.
    """
    _chance(delta)
    root = setting.rate * sqrt(log(1 / delta) / setting.ridge)
    if root > 0.25:
        raise InputError(f"the lemma holds from 1/4 down; here the square root is {root:.3g}")
    return 28 / 17 * root


def enough_rounds_printed(delta: float, eigen: float, eigenfunctions: float, decay: float) -> float:
    """Return N̄₁(δ) = (ln(1/δ)/(16 C_p F²))^{2β/(β − 1)} as Lemma 6.1 prints it, λ_j ≤ C_p j^{−β}.

    It falls as C_p and F grow, though γ_T grows with them: as printed it does not give the ¼ that the
    proof needs.  `enough_rounds` does.
    """
    _chance(delta)
    if not decay > 1 or min(eigen, eigenfunctions) <= 0:
        raise InputError("needed a decay above 1, and positive constants")
    return float((log(1 / delta) / (16 * eigen * eigenfunctions**2)) ** (2 * decay / (decay - 1)))


def enough_rounds(gamma: Callable[[int], float], ridge: float, delta: float) -> float:
    """Return the T₀ of the proof: a power of two with √(γ_T ln(1/δ)/(Tτ)) ≤ ¼ from there on, or inf.

    `gamma` bounds γ_T and grows more slowly than T.
    """
    _chance(delta)
    rounds = 1
    while gamma(rounds) * log(1 / delta) > rounds * ridge / 16:
        rounds *= 2
        if rounds > MOST:
            return inf
    return rounds


def variance_bound(setting: UscaSetting) -> float:
    """Return 81F²γ/(13T), at least sup σ̄² with probability 1 − δ (Lemma 7.1): no certificate of privacy."""
    return 81 * setting.square * setting.gamma / setting.rounds


# ------------------------------------------------------------------ the estimator


def beta1(setting: UscaSetting, delta: float, form: str = "proof") -> float:
    """Return β₁(δ) of |μ_T(w) − μ̄_T(w)| ≤ β₁√(γ/T) (Lemma 6.2), as its proof ends or as it is stated.

    Statement and proof differ in one term: 28/17·ln(4/δ)/τ, and 28/17·√(ln(4/δ)/τ), which is derived.
    """
    _chance(delta)
    if form not in ("proof", "statement"):
        raise InputError(f"form is {form[:40]!r}; known: proof, statement")
    inner = log(4 / delta) / setting.ridge
    b, square = setting.bound, setting.square
    first = (sqrt(162 * b**3 * square) + 81 * square / 4) * log(8 / delta)
    middle = 28 / 17 * (sqrt(inner) if form == "proof" else inner)
    last = 2 * b * sqrt(108 * square * setting.ridge)
    return first + middle + last + 4 * setting.noise * log(4 / delta) * sqrt(243 * square / 2)


def beta(setting: UscaSetting, delta: float) -> float:
    """Return β(δ) = (2R/τ)·√(108F²/13)·ln(1/δ) of |f − μ_T| (Lemma 6.3)."""
    _chance(delta)
    return 2 * setting.noise / setting.ridge * sqrt(108 * setting.square) * log(1 / delta)


def uniform_error(setting: UscaSetting, delta: float, discretisation: int) -> float:
    """Return the bound of sup |μ̄_T − f| of probability 1 − δ (Lemmas 4.3, 6.3), |U_T| = `discretisation`."""
    share = delta / (4 * discretisation)
    drift = _drift(setting, log(2 / delta))
    return drift + (beta(setting, share) + beta1(setting, share)) * setting.rate


def _drift(setting: UscaSetting, logarithm: float) -> float:
    spread = sqrt(setting.gamma * 81 * setting.square * logarithm)
    return (11 / 3 * setting.bound + 3 * setting.noise * spread) / setting.rounds


# ------------------------------------------------------------------ the error


def good_share(depth: float, setting: UscaSetting) -> float:
    """Return min(1, (r/(D₀L))^d), at most the share of actions within r of the best (Lemma 8.1)."""
    return float(min(1.0, depth / (setting.diameter * setting.lipschitz)) ** setting.dimension)


def error_bound(setting: UscaSetting, epsilon: float, delta: float, discretisation: int) -> float:
    """Return Theorem 8.2's bound of the error of Eq. (1), of probability 1 − δ."""
    share = delta / (12 * discretisation)
    estimate = _drift(setting, log(6 / delta))
    estimate += (beta1(setting, share) + beta(setting, share)) * setting.rate
    return 10 * estimate + privacy_term(setting, epsilon, delta)


def privacy_term(setting: UscaSetting, epsilon: float, delta: float) -> float:
    """Return γ/(Tε)·648BF²/13·(d ln(2592BF²TL D₀ε/(13γ)) + ln(3/δ)), what ε adds to Theorem 8.2's bound."""
    if not epsilon > 0:
        raise InputError("needed epsilon > 0")
    _chance(delta)
    volume = 2592 * setting.bound * setting.square * setting.lipschitz * setting.diameter
    inner = volume * setting.rounds * epsilon / setting.gamma
    scale = 648 * setting.bound * setting.square * setting.gamma / (setting.rounds * epsilon)
    return scale * (setting.dimension * log(max(inner, 1.0)) + log(3 / delta))


def published_rate(rounds: int, gamma: float, epsilon: float) -> float:
    """Return √(γ/T) + γ/(Tε), of Theorem 4.1 without its constants."""
    return sqrt(gamma / rounds) + gamma / (rounds * epsilon)


def earlier_rate(rounds: int, gamma: float, epsilon: float) -> float:
    """Return √(γ/T) + √(γ/(Tε)), which the paper derives from Dubey 2021's regret."""
    return sqrt(gamma / rounds) + sqrt(gamma / (rounds * epsilon))
