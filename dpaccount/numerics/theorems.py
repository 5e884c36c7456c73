"""Composition and amplification theorems in closed form, for when a simple bound is what is wanted.

Each returns an upper bound, rounded up. The accountant is never looser than these; they serve proofs,
comparisons and settings that the events do not describe (shuffling).
"""

from collections.abc import Sequence
from fractions import Fraction

from dpaccount.numerics import grids
from dpaccount.numerics.balls import ball, ceil_of, log_float, precision
from dpaccount.numerics.factors import AtomFactor

BITS = 192


def basic(pairs: Sequence[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
    """Return (Σε, Σδ) for adaptive composition (Dwork et al. 2006), δ at most 1."""
    return sum((e for e, _ in pairs), Fraction(0)), min(Fraction(1), sum((d for _, d in pairs), Fraction(0)))


def advanced(epsilon: Fraction, delta: Fraction, count: int, slack: Fraction) -> tuple[Fraction, Fraction]:
    """Return ε√(2k ln(1/δ′)) + kε(e^ε − 1) and kδ + δ′ (Dwork, Rothblum & Vadhan 2010; slack δ′)."""
    with precision(BITS):
        e = ball(epsilon)
        spread = e * (-2 * count * ball(slack).log()).sqrt()
        return ceil_of(spread + count * e * e.expm1()), min(Fraction(1), count * delta + slack)


def optimal(losses: Sequence[tuple[Fraction, int]], target: Fraction) -> tuple[Fraction, Fraction | None]:
    """Return an enclosure of the optimal ε at δ = target for counted pure ε's on a common rational grid.

    Kairouz, Oh & Viswanath 2015 for equal ε's, Murtagh & Vadhan 2016 for unequal ones.
    """
    pairs = [(AtomFactor("pure", epsilon), count) for epsilon, count in losses if epsilon]
    if not pairs:
        return Fraction(0), Fraction(0)
    return grids.epsilon(pairs, target, log_float(target) * 1.4427)


def zcdp_of_pure(epsilon: Fraction) -> Fraction:
    """Return ε²/2, the zCDP of ε-DP (Bun & Steinke 2016)."""
    return epsilon**2 / 2


def zcdp_of_range(eta: Fraction) -> Fraction:
    """Return η²/8, the zCDP of η-bounded range (Cesar & Rogers 2021)."""
    return eta**2 / 8


def bounded_range(eta: Fraction, count: int, target: Fraction) -> Fraction:
    """Return kη²/8 + η√(k ln(1/δ)/2) for adaptive bounded range, at most kη (Dong, Durfee & Rogers 2020)."""
    with precision(BITS):
        spread = ball(eta) * (-ball(target).log() * count / 2).sqrt()
        return min(count * eta, ceil_of(count * ball(eta) ** 2 / 8 + spread))


def sampled(epsilon: Fraction, delta: Fraction, rate: Fraction) -> tuple[Fraction, Fraction]:
    """Return (ln(1 + q(e^ε − 1)), qδ): Poisson under add-remove, without replacement under replace-one.

    Balle, Barthe & Gaboardi 2018.
    """
    with precision(BITS):
        return ceil_of((ball(rate) * ball(epsilon).expm1()).log1p()), rate * delta


def shuffled(epsilon: Fraction, users: int, target: Fraction) -> Fraction:
    """Return the central ε at δ = target of `users` shuffled reports of one ε-local randomiser.

    ln(1 + (e^ε − 1)(4√(2 ln(4/δ))/√((e^ε + 1)n) + 4/n)) where ε ≤ ln(n/(8 ln(2/δ)) − 1), else
    no amplification (Feldman, McMillan & Talwar 2023); replace-one.
    """
    with precision(BITS):
        e, d, n = ball(epsilon), ball(target), ball(users)
        room = n / (8 * (2 / d).log()) - 1
        if not (room > 0 and e <= room.log()):
            return epsilon
        rate = 4 * (2 * (4 / d).log()).sqrt() / ((e.exp() + 1) * n).sqrt() + 4 / n
        return min(epsilon, ceil_of((e.expm1() * rate).log1p()))
