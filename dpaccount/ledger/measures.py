"""The measures of a filter: which exact amounts a charge adds, and whether a total fits the budget.

Charges arrive adaptively, so the filter adds up amounts of one measure that was fixed at the start, and
stops before the sum exceeds the budget: ε and (ε, δ) by Rogers, Roth, Ullman & Vadhan 2016, ρ by Feldman
& Zrnic 2021, μ² by Smith & Thakurta 2022.  Decisions are certified: what cannot be told to fit is refused.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpaccount import proof
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure
from dpaccount.ledger.spending import Amounts
from dpaccount.numerics.balls import log_float
from dpaccount.numerics.closed import gaussian, renyi
from dpaccount.numerics.closed.gdp_of_pure import mu_squared
from dpaccount.plan.event_base import Event
from dpaccount.proof import Curve, at_most, ball, gdp_delta, renyi_log_delta

BITS = 128  #: significant bits of an amount that is rounded up
LOG2 = math.log(2)
MOST_BITS = 2048  #: of a denominator; with it every sum stays below the 4300 digits that Python reads
HUGE = Fraction(10) ** 300
LARGE = 10**6  #: beyond this ε or μ² a coarse bound does: no sensible budget is near


@dataclass(frozen=True)
class Measure:
    """One measure: what its amounts are called, and the functions that the filter needs.

    `of_curve` and `of_event` return the amounts of a charge, or None where the measure has no bound.
    `fits(total, epsilon, delta)` says whether a total is proved to be (ε, δ)-DP; `epsilon(total, delta)`
    encloses the least such ε.
    """

    name: str
    amounts: tuple[str, ...]
    of_curve: Callable[[Curve], Amounts | None]
    of_event: Callable[[Event], Amounts | None]
    fits: Callable[[Amounts, Fraction, Fraction], bool]
    epsilon: Callable[[Amounts, Fraction], Enclosure]

    def room(self, total: Amounts, epsilon: Fraction, delta: Fraction) -> Amounts:
        """Return amounts, each as large as found, that still fit beside `total`, which fits."""
        if self.fits is _each_within:
            limits = (epsilon, delta)[: len(total)]
            return tuple(limit - amount for limit, amount in zip(limits, total, strict=True))
        return (_largest(lambda more: self.fits((total[0] + more,), epsilon, delta)),)


def measure(name: str) -> Measure:
    """Return the measure of this name; raises `InputError` for others."""
    if name == "rdp":
        raise InputError("ledgers that add up one Rényi order are not supported yet; use zcdp")
    if name not in MEASURES:
        raise InputError(f"unknown measure {name!r}; known: {', '.join(MEASURES)}")
    return MEASURES[name]


def takers(has_bound: Callable[[Measure], bool]) -> list[str]:
    """Return the names of the measures in which a charge has a bound."""
    return [name for name, kind in MEASURES.items() if has_bound(kind)]


def short(amount: Fraction) -> Fraction:
    """Return an amount as it is, or rounded up to 128 significant bits where its denominator is unwieldy.

    Decimals and simple fractions stay exact, so that ten charges of 1/10 fill a budget of 1.  Other
    denominators would multiply: an exact sum of 10,000 arbitrary fractions has 10,000 times their digits.
    """
    rest = amount.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest <= 5000 and amount.denominator.bit_length() <= MOST_BITS:
        return amount
    shift = BITS + amount.denominator.bit_length() - amount.numerator.bit_length()
    scale = Fraction(2) ** min(shift, MOST_BITS)
    return math.ceil(amount * scale) / scale


# ------------------------------------------------------------------ pure and approximate: plain sums


def _pure_curve(curve: Curve) -> Amounts | None:
    match curve:
        case proof.Pure(epsilon) | proof.Approximate(epsilon, Fraction(numerator=0)):
            return (epsilon,)
    return None


def _pure_event(event: Event) -> Amounts | None:
    return _one(event.pure())


def _approximate_curve(curve: Curve) -> Amounts | None:
    match curve:
        case proof.Pure(epsilon):
            return epsilon, Fraction(0)
        case proof.Approximate(epsilon, delta):
            return epsilon, delta
    return None


def _each_within(total: Amounts, epsilon: Fraction, delta: Fraction) -> bool:
    return total[0] <= epsilon and (len(total) == 1 or total[1] <= delta)


def _plain_epsilon(total: Amounts, delta: Fraction) -> Enclosure:
    fits = len(total) == 1 or total[1] <= delta
    return _enclosed(total[0], total[0]) if fits else Enclosure(math.inf, math.inf)


# ------------------------------------------------------------------ Gaussian: μ² adds


def _gdp_curve(curve: Curve) -> Amounts | None:
    match curve:
        case proof.Gdp(mu2):
            return (mu2,)
        case proof.Pure(epsilon) | proof.Approximate(epsilon, Fraction(numerator=0)):
            return (_mu2_of_pure(epsilon),)
    return None


def _gdp_event(event: Event) -> Amounts | None:
    loss = event.pure()
    if loss is not None and loss > LARGE:
        return (_mu2_of_pure(loss),)
    return _one(event.mu_squared())


def _mu2_of_pure(epsilon: Fraction) -> Fraction:
    """Return an upper bound on μ² of ε-DP: −2Φ⁻¹(1/(1+e^ε)) squared (Dong, Roth & Su 2022).

    Always at most 8ε: Φ(−x) ≤ e^{−x²/2}/2, which for x = μ/2 = √(2ε) is e^{−ε}/2 ≤ 1/(1+e^ε).
    """
    return 8 * epsilon if epsilon > LARGE else mu_squared(epsilon)


def _gdp_fits(total: Amounts, epsilon: Fraction, delta: Fraction) -> bool:
    return total[0] == 0 or at_most(lambda _: gdp_delta(total[0], epsilon), delta)


def _gdp_epsilon(total: Amounts, delta: Fraction) -> Enclosure:
    mu2 = total[0]
    if mu2 == 0:
        return Enclosure(Fraction(0), Fraction(0))
    if delta == 0:
        return Enclosure(math.inf, math.inf)
    if mu2 > LARGE:
        return _enclosed(Fraction(0), gaussian.epsilon_bound(delta, mu2))
    return _enclosed(*gaussian.epsilon(delta, (mu2, mu2), Fraction(1, 10**12)))


# ------------------------------------------------------------------ zCDP: ρ adds


def _zcdp_curve(curve: Curve) -> Amounts | None:
    match curve:
        case proof.Zcdp(rho):
            return (rho,)
        case proof.Gdp(mu2):
            return (mu2 / 2,)
        case proof.Pure(epsilon) | proof.Approximate(epsilon, Fraction(numerator=0)):
            return (epsilon**2 / 2,)
        case proof.Lattice(variance, shifts, count):
            return (count * max(Fraction(sum(v * v for v in shift)) for shift in shifts) / (2 * variance),)
    return None


def _zcdp_event(event: Event) -> Amounts | None:
    return _one(event.zcdp())


def _zcdp_fits(total: Amounts, epsilon: Fraction, delta: Fraction) -> bool:
    rho = total[0]
    if rho == 0 or delta == 0:
        return rho == 0
    order = _order(rho, epsilon)
    return at_most(lambda _: renyi_log_delta(order, order * rho, epsilon) - ball(delta).log(), Fraction(0))


def _order(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return nearly the best Rényi order of `renyi_log_delta` (any order is sound).

    That bound is convex in α = 1 + e^m; its derivative (2α−1)ρ − ε + ln(1 − 1/α) grows from −∞ to ∞.
    """
    log_rho, log_epsilon = log_float(rho), log_float(epsilon)
    low, high = -700.0, 20000.0  # of m; logarithms, since ρ may be far below doubles
    for _ in range(80):
        m = (low + high) / 2
        rise = log_rho + (m + LOG2 if m > 40 else math.log1p(2 * math.exp(m)))
        fall = np.logaddexp(log_epsilon, -m if m > 40 else math.log(math.log1p(math.exp(-m))))
        low, high = (m, high) if rise < fall else (low, m)
    whole = math.floor(high / LOG2)
    return 1 + Fraction(2) ** whole * Fraction(math.exp(high - whole * LOG2))


def _zcdp_epsilon(total: Amounts, delta: Fraction) -> Enclosure:
    rho = total[0]
    if rho == 0:
        return Enclosure(Fraction(0), Fraction(0))
    found = renyi.epsilon(lambda order: ball(order * rho), delta) if delta else None
    return Enclosure(None, math.inf) if found is None else _enclosed(None, found)


# ------------------------------------------------------------------ all of them


def _one(amount: Fraction | None) -> Amounts | None:
    return None if amount is None else (amount,)


def _enclosed(lower: Fraction | None, upper: Fraction) -> Enclosure:
    """Return an enclosure; beyond 1e300 its upper end is infinite."""
    if upper <= HUGE:
        return Enclosure(lower, upper)
    return Enclosure(None if lower is None else min(lower, HUGE), math.inf)


def _largest(fits: Callable[[Fraction], bool]) -> Fraction:
    """Return an amount that fits, within 2⁻⁴⁰ of itself of one that does not; 0 where none is found."""
    if not fits(Fraction(1, 2**4000)):
        return Fraction(0)
    low, high = -4000, 4000  # of log₂; doublings first
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(Fraction(2) ** middle) else (low, middle)
    amount = step = Fraction(2) ** low
    for _ in range(40):
        step /= 2
        if fits(amount + step):
            amount += step
    return amount


MEASURES: dict[str, Measure] = {
    kind.name: kind
    for kind in (
        Measure("gdp", ("mu_squared",), _gdp_curve, _gdp_event, _gdp_fits, _gdp_epsilon),
        Measure("pure", ("epsilon",), _pure_curve, _pure_event, _each_within, _plain_epsilon),
        Measure(
            "approximate",
            ("epsilon", "delta"),
            _approximate_curve,
            Event.approximate,
            _each_within,
            _plain_epsilon,
        ),
        Measure("zcdp", ("rho",), _zcdp_curve, _zcdp_event, _zcdp_fits, _zcdp_epsilon),
    )
}
