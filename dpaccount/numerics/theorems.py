"""Composition and amplification theorems in closed form, for when a simple bound is what is wanted.

Each returns an upper bound, rounded up (`optimal`: an enclosure). The accountant is never looser than these;
they serve proofs and comparisons. What is no ε, δ, rate or count raises `InputError`.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from dpaccount.errors import InputError
from dpaccount.exact import shown
from dpaccount.numerics.closed import discrete_losses, gaussian, renyi, single_order
from dpaccount.numerics.closed.group_privacy import chained
from dpaccount.numerics.closed.sampling import sampled_loss
from dpaccount.numerics.intervals import ball, ceil_of, log_float, precision
from dpaccount.numerics.lattice import exact_grids

BITS = 192
LOG2 = math.log(2)


def basic(pairs: Sequence[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
    """Return (Σε, Σδ), δ at most 1: adaptive composition of (ε, δ) pairs.

    Dwork, Kenthapadi, McSherry, Mironov & Naor 2006; Dwork & Roth 2014.
    """
    for epsilon, delta in pairs:
        _pair(epsilon, delta)
    return sum((e for e, _ in pairs), Fraction(0)), min(Fraction(1), sum((d for _, d in pairs), Fraction(0)))


def advanced(epsilon: Fraction, delta: Fraction, count: int, slack: Fraction) -> tuple[Fraction, Fraction]:
    """Return ε√(2k ln(1/δ′)) + kε(e^ε − 1) and kδ + δ′, for k adaptive (ε, δ) pairs and a slack δ′ > 0.

    Dwork, Rothblum & Vadhan 2010; Dwork & Roth 2014, Theorem 3.20.
    """
    _pair(epsilon, delta)
    _within("the slack", slack, 1)
    _whole("k", count)
    with precision(BITS):
        e = ball(epsilon)
        spread = e * (-2 * count * ball(slack).log()).sqrt()
        return ceil_of(spread + count * e * e.expm1()), min(Fraction(1), count * delta + slack)


def optimal(
    pairs: Sequence[tuple[Fraction, Fraction, int]], target: Fraction
) -> tuple[Fraction, Fraction | None]:
    """Return an enclosure of the least ε at δ = target of counted (ε, δ, count); None: infinite.

    The ε's must lie on a common rational grid of moderate size: masses are then exact integers. Equal pairs:
    Kairouz, Oh & Viswanath 2015 (their optimal composition theorem); unequal ones: Murtagh & Vadhan 2016.
    Failures are set apart: δ = 1 − Π(1 − δᵢ)(1 − δ_rest).
    """
    _within("the target", target, 1, zero=True)
    kept = Fraction(1)
    for epsilon, delta, count in pairs:
        _pair(epsilon, delta)
        _whole("the count", count)
        kept *= (1 - delta) ** count
    aim = 1 - (1 - target) / kept if kept else Fraction(-1)
    if aim < 0:
        return Fraction(0), None
    # the pair that dominates every ε-DP mechanism
    grids = [
        (exact_grids.of_atoms(partial(discrete_losses.pure, epsilon), 2 * epsilon, 2), count)
        for epsilon, _, count in pairs
        if epsilon
    ]
    if aim == 0 or not grids:
        most = sum((epsilon * count for epsilon, _, count in pairs), Fraction(0))
        return most, most
    return exact_grids.epsilon(grids, aim, log_float(aim) / LOG2)


def zcdp(rho: Fraction, target: Fraction) -> Fraction:
    """Return ε at δ = target of ρ-zCDP; ρ adds up under adaptive composition (Bun & Steinke 2016, Lemma 1.7).

    min over α of ρα + ln(1 − 1/α) − (ln δ + ln α)/(α − 1) (Canonne, Kamath & Steinke 2020).
    """
    _within("the target", target, 1)
    _within("rho", rho, zero=True)
    return renyi.epsilon(lambda order: ball(order * rho), target) or Fraction(0)


def rdp(order: Fraction, tau: Fraction, target: Fraction) -> Fraction:
    """Return the optimal ε at δ = target of D_order ≤ tau; bounds add at one order (Mironov 2017).

    Asoodeh, Liao, Calmon, Kosut & Sankar 2021 (`single_order`).
    """
    _within("the target", target, 1)
    _within("tau", tau, zero=True)
    if order <= 1:
        raise InputError(f"the order {shown(order)[:40]} is out of range", "it must be above 1")
    general = renyi.epsilon(lambda at: ball(tau) if at == order else None, target, [order])
    if not general:
        return Fraction(0)
    return single_order.epsilon(order, ball(tau), target, general, general / 10**9)


def gdp(mu2: Fraction, target: Fraction) -> Fraction:
    """Return ε at δ = target of √mu2-GDP; squares add up (Dong, Roth & Su 2022, composition)."""
    _within("the target", target, 1)
    _within("mu2", mu2, zero=True)
    return gaussian.epsilon(target, (mu2, mu2), Fraction(1, 10**15))[1]


def bounded_range(eta: Fraction, count: int, target: Fraction) -> Fraction:
    """Return kη²/8 + η√(k ln(1/δ)/2) for k adaptive η-bounded-range mechanisms, at most kη.

    Hoeffding's lemma on the losses, whose means are at most η²/8 (Dong, Durfee & Rogers 2020). The adaptive
    optimum is in `bounded_range.Adaptive`, for choices made beforehand it is `bounded_range.fixed_delta`.
    """
    _within("the target", target, 1)
    _within("eta", eta, zero=True)
    _whole("k", count)
    with precision(BITS):
        spread = ball(eta) * (-ball(target).log() * count / 2).sqrt()
        return min(count * eta, ceil_of(count * ball(eta) ** 2 / 8 + spread))


def group(epsilon: Fraction, delta: Fraction, k: int) -> tuple[Fraction, Fraction]:
    """Return (kε, δ(e^{kε} − 1)/(e^ε − 1)) for groups of k (Vadhan 2017)."""
    _pair(epsilon, delta)
    _whole("k", k)
    return k * epsilon, chained(epsilon, delta, k)


def sampled(epsilon: Fraction, delta: Fraction, rate: Fraction) -> tuple[Fraction, Fraction]:
    """Return (ln(1 + q(e^ε − 1)), qδ) for what runs on a sample of the fraction q.

    Poisson sampling under add-remove, and sampling without replacement (q = size/population) under
    replace-one: Balle, Barthe & Gaboardi 2018, Theorems 8 and 9.
    """
    _pair(epsilon, delta)
    _within("the rate", rate, 1, zero=True)
    return sampled_loss(epsilon, rate), rate * delta


def shuffled(epsilon: Fraction, users: int, target: Fraction) -> Fraction:
    """Return the central ε at δ = target of `users` shuffled reports, each of an ε-DP local randomiser.

    ln(1 + (e^ε − 1)(4√(2 ln(4/δ))/√((e^ε + 1)n) + 4/n)) where ε ≤ ln(n/(8 ln(2/δ)) − 1), else no
    amplification (Feldman, McMillan & Talwar 2023); replace-one. The event `shuffled` costs far less.
    """
    _pair(epsilon)
    _within("the target", target, 1)
    _whole("the number of users", users)
    with precision(BITS):
        e, d, n = ball(epsilon), ball(target), ball(users)
        room = n / (8 * (2 / d).log()) - 1
        if not (room > 0 and e <= room.log()):
            return epsilon
        rate = 4 * (2 * (4 / d).log()).sqrt() / ((e.exp() + 1) * n).sqrt() + 4 / n
        return min(epsilon, ceil_of((e.expm1() * rate).log1p()))


def _pair(epsilon: Fraction, delta: Fraction = Fraction(0)) -> None:
    _within("epsilon", epsilon, zero=True)
    _within("delta", delta, 1, zero=True)


def _within(name: str, value: Fraction, most: int | None = None, *, zero: bool = False) -> None:
    if value < 0 or (value == 0 and not zero) or (most is not None and value > most):
        right = f"it must be {'at least' if zero else 'above'} 0" + (f" and at most {most}" if most else "")
        raise InputError(f"{name} {shown(Fraction(value))[:40]} is out of range", right)


def _whole(name: str, value: int) -> None:
    if type(value) is not int or value < 1:
        raise InputError(f"{name} is {str(value)[:40]}", "it must be a whole number from 1 on")
