"""Lemma 4 and the upper orders of Zhou & Tan 2020, as functions that tests compare with enumerations and rates.

Settled here: Theorem 3's ϑ and Corollary 1's (B + R)/ε vanish for large ε, which no regret does (their b_t and
c do not): here they are (B + R)·max(1, 1/ε).  (16c) has (e^ε − 1)² outside its root, where e^ε − 1 belongs, as
from (16d) on.  (19) reads I − Aᵀ(AAᵀ + λI)⁻¹A = λ(AᵀA + λI)⁻¹; the first inverse is missing in print.
"""

from collections.abc import Sequence
from math import ceil, e, expm1, log, sqrt

from dpaccount.errors import InputError

# ------------------------------------------------------------------ Lemma 4


def divergence(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the Kullback–Leibler divergence of two laws on the same outcomes, in nats."""
    return sum(p * log(p / q) if q else float("inf") for p, q in zip(first, second, strict=True) if p)


def sent(law: Sequence[float], table: Sequence[Sequence[float]]) -> list[float]:
    """Return the law of a channel's output, `table` being [input, output]."""
    return [sum(p * row[j] for p, row in zip(law, table, strict=True)) for j in range(len(table[0]))]


def lemma4(epsilon: float, first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return what both divergences of an ε-private channel's outputs together stay below.

    4(e^ε − 1)²·TV² (Duchi, Jordan & Wainwright 2013, Theorem 1) and 8(e^ε − 1)²·KL as printed; Pinsker's
    inequality gives 2(e^ε − 1)²·KL already.
    """
    variation = sum(abs(p - q) for p, q in zip(first, second, strict=True)) / 2
    return 4 * expm1(epsilon) ** 2 * variation**2, 8 * expm1(epsilon) ** 2 * divergence(first, second)


# ------------------------------------------------------------------ Theorems 2–4: above


def theorem2_rate(
    rounds: int,
    gain: float,
    *,
    norm: float,
    noise: float,
    epsilon: float,
    delta: float,
    accuracy: float = 0.5,
) -> float:
    """Return the order of LDP-ATA-GP-UCB's regret; `accuracy` is that of the dictionary, ε there.

    ρ̂B√(Tγ) + ρ/ε²·γ√T·√(v ln(T/δ) ln(γT ln(T/δ)/δ)), v = B² + R² + 8(B + R)²/ε².
    """
    _sensible(rounds, gain, norm, noise, epsilon, delta)
    rho, tail = _rho(accuracy), log(rounds / delta)
    v = norm**2 + noise**2 + 8 * (norm + noise) ** 2 / epsilon**2
    first = rho * (1 + 1 / sqrt(1 - accuracy)) * norm * sqrt(rounds * gain)
    inner = log(max(gain * rounds * tail / delta, e))
    return first + rho / accuracy**2 * gain * sqrt(rounds * v * tail * inner)


def theorem3_rate(
    rounds: int, gain: float, *, norm: float, noise: float, epsilon: float, delta: float
) -> float:
    """Return the order of LDP-TGP-UCB's regret, ϑ√(ln T·γT) + ϑ√T ln T √(γ(γ + ln(1/δ)))."""
    _sensible(rounds, gain, norm, noise, epsilon, delta)
    theta, turns = (norm + noise) * max(1.0, 1 / epsilon), log(rounds)
    width = sqrt(turns) + turns * sqrt(gain + log(1 / delta))
    return theta * sqrt(gain * rounds) * width


def theorem4_rate(
    rounds: int,
    gain: float,
    *,
    norm: float,
    noise_moment: float,
    alpha: float,
    delta: float,
    accuracy: float = 0.5,
) -> float:
    """Return the order of MoMA-GP-UCB's regret, E|η|^{1+α} ≤ c being `noise_moment`.

    B̂√(γT ln(T/δ)) + Z ln(T/δ) c^{1/(1+α)} T^{1/(1+α)} γ^{(3+α)/(2(1+α))}.
    """
    if not (0 < alpha <= 1 and noise_moment > 0):
        raise InputError("needed 0 < alpha <= 1 and noise_moment > 0")
    _sensible(rounds, gain, norm, 0.0, 1.0, delta)
    rho, tail = _rho(accuracy), log(rounds / delta)
    first = rho * norm * (1 + 1 / sqrt(1 - accuracy)) * sqrt(gain * rounds * tail)
    z = (rho ** (3 + alpha) / accuracy**2) ** (1 / (1 + alpha))
    size = (noise_moment * rounds) ** (1 / (1 + alpha)) * gain ** ((3 + alpha) / (2 * (1 + alpha)))
    return float(first + z * tail * size)


def corollary1_rate(
    rounds: int,
    gain: float,
    *,
    norm: float,
    noise: float,
    epsilon: float,
    delta: float,
    accuracy: float = 0.5,
) -> float:
    """Return the order of LDP-MoMA-GP-UCB's regret: Theorem 4 at α = 1, √c being (B + R)·max(1, 1/ε)."""
    _sensible(rounds, gain, norm, noise, epsilon, delta)
    spread = ((norm + noise) * max(1.0, 1 / epsilon)) ** 2
    return theorem4_rate(
        rounds, gain, norm=norm, noise_moment=spread, alpha=1.0, delta=delta, accuracy=accuracy
    )


def replays(rounds: int, delta: float) -> int:
    """Return k = ⌈24 ln(4eT/δ)⌉, how often MoMA plays each point."""
    _sensible(rounds, 1.0, 1.0, 0.0, 1.0, delta)
    return ceil(24 * log(4 * e * rounds / delta))


def _rho(accuracy: float) -> float:
    """Return ρ = (1 + ε)/(1 − ε) of a dictionary's accuracy."""
    if not 0 < accuracy < 1:
        raise InputError(f"the dictionary's accuracy is {accuracy}; it lies between 0 and 1")
    return (1 + accuracy) / (1 - accuracy)


def _sensible(rounds: int, gain: float, norm: float, noise: float, epsilon: float, delta: float) -> None:
    if rounds < 2 or not (gain > 0 and norm > 0 and noise >= 0 and epsilon > 0 and 0 < delta <= 1):
        raise InputError("needed rounds >= 2, gain, norm, epsilon > 0, noise >= 0 and 0 < delta <= 1")
