"""What adds up when charges are chosen from earlier answers: one measure, fixed at the start.

ε and (ε, δ) by Rogers, Roth, Ullman & Vadhan 2016; ρ, and Rényi at one order, by Feldman & Zrnic 2021,
Lécuyer 2021 and Whitehouse, Ramdas, Rogers & Wu 2023; μ² by Smith & Thakurta 2022. Filters and ledgers stop
before the sum exceeds the budget. Decisions are certified: what cannot be told to fit is refused.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpaccount.checker import curves
from dpaccount.checker.curves import Curve
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure
from dpaccount.numerics.bisection import bisect, least_integer
from dpaccount.numerics.closed import gaussian, renyi
from dpaccount.numerics.curves import at_most
from dpaccount.numerics.intervals import ball, ceil_of, log_float, precision
from dpaccount.plan.event_base import Event

Amounts = tuple[Fraction, ...]
LOG2 = math.log(2)
HUGE = Fraction(10) ** 300
LARGE = 10**6  #: beyond this ε or μ² a coarse bound does: no sensible budget is near
WIDTH, NARROW = Fraction(1, 10**12), Fraction(1, 10**15)  #: of a ledger's ε under Gaussian DP; of a filter's
ADAPTIVE = ("zcdp", "gdp", "rdp", "pure")  #: measures of filters and odometers


@dataclass(frozen=True)
class _Kind:
    """What a measure's amounts are called, and its functions; None is no bound."""

    amounts: tuple[str, ...]
    of_curve: Callable[[Curve], Amounts | None]
    of_event: Callable[[Event], Amounts | None]
    fits: Callable[[Amounts, Fraction, Fraction], bool]
    enclosure: Callable[[Amounts, Fraction, Fraction], Enclosure]
    #: from (ε, δ): the largest total of each amount, or None where `fits` alone says it
    limits: Callable[[Fraction, Fraction], tuple[Fraction | None, ...]] = lambda *_: (None,)
    parts: tuple[str, ...] = ()  #: measures of one amount each, any of which is enough


@dataclass(frozen=True)
class Measure:
    """What adds up, by `name`: ρ, μ², pure ε, ε and δ, or the Rényi ε at one `order`."""

    name: str
    order: Fraction | None = None

    def __post_init__(self) -> None:
        """Refuse unknown measures, and orders where they have no meaning."""
        if self.name not in (*ADAPTIVE, *_KINDS):
            raise unknown(self.name)
        if (self.name == "rdp") != (self.order is not None) or (self.order is not None and self.order <= 1):
            raise InputError(
                f"measure {self.name!r} with order {self.order}", "rdp needs one order above 1, others none"
            )

    @property
    def _kind(self) -> _Kind:
        if self.name not in _KINDS:
            raise InputError(f"{self.name} at one order adds up in a filter or odometer only", "use zcdp")
        return _KINDS[self.name]

    @property
    def amounts(self) -> tuple[str, ...]:
        """Return the names of its amounts."""
        return self._kind.amounts

    def of_curve(self, curve: Curve) -> Amounts | None:
        """Return the amounts of a release with this curve; None if the measure has no bound."""
        return self._kind.of_curve(curve)

    def of_event(self, event: Event) -> Amounts | None:
        """Return the amounts of an event and its count; None if the measure has no bound."""
        return self._kind.of_event(event) if self.order is None else _one(_renyi(event, self.order))

    def cost(self, event: Event) -> Fraction | None:
        """Return the amount of an event of a measure with one; raises `InputError` for others."""
        self._one_amount()
        amounts = self.of_event(event)
        return None if amounts is None else amounts[0]

    def _one_amount(self) -> None:
        if self.name not in ADAPTIVE:  # of two amounts one alone says nothing
            raise unknown(self.name)

    def fits(self, total: Amounts, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether a total is proved to be (ε, δ)-DP."""
        return self._kind.fits(total, epsilon, delta)

    def room(self, total: Amounts, epsilon: Fraction, delta: Fraction) -> Amounts:
        """Return amounts, each as large as found, that still fit on top of `total`, which fits."""
        if self._kind.parts:
            return tuple(
                room
                for name, amount, share in _each_share(total, delta)
                for room in MEASURES[name]._beside(amount, epsilon, share)
            )
        return tuple(
            limit - amount
            if limit is not None
            else _largest(lambda more: self.fits((total[0] + more, *total[1:]), epsilon, delta))
            for limit, amount in zip(self._kind.limits(epsilon, delta), total, strict=True)
        )

    def _beside(self, amount: Fraction, epsilon: Fraction, delta: Fraction) -> Amounts:
        fits = self.fits((amount,), epsilon, delta)
        return self.room((amount,), epsilon, delta) if fits else (Fraction(0),)

    def enclosure(self, total: Amounts, delta: Fraction) -> Enclosure:
        """Return an enclosure of the least ε at which a total is (ε, δ)-DP."""
        return self._kind.enclosure(total, delta, WIDTH)

    def left(self, room: Amounts, delta: Fraction) -> Enclosure:
        """Return the cost of a charge that uses all of `room`, in the measure that has most."""
        if not self._kind.parts:
            return self.enclosure(room, delta)
        return max(_of_parts(room, delta, WIDTH), key=lambda found: found.upper)

    def epsilon(self, total: Fraction, delta: Fraction) -> Fraction | None:
        """Return an ε with (ε, delta) for whatever has this `total`; None where it is infinite.

        GDP by its exact curve, ρ and Rényi by their conversions (`numerics.closed.renyi`).
        """
        self._one_amount()
        if self.name == "pure" or total == 0:
            return total
        if delta in (0, 1):
            return Fraction(0) if delta else None
        if self.order is not None:
            order = self.order
            return renyi.epsilon(lambda at: ball(total) if at == order else None, delta, [order])
        upper = self._kind.enclosure((total,), delta, NARROW).upper
        return upper if isinstance(upper, Fraction) else None

    def tail(self, total: Fraction, delta: Fraction) -> Fraction:
        """Return a bound that the loss of a total exceeds, at any time so far, with probability ≤ delta.

        By Ville's inequality: ρ + 2√(ρ ln(1/δ)), with ρ = μ²/2 for GDP; at one order τ + ln(1/δ)/(α − 1).
        """
        self._one_amount()
        if self.name == "pure" or total == 0:
            return total
        with precision(128):
            log = -ball(delta).log()
            if self.order is not None:
                return ceil_of(ball(total) + log / (ball(self.order) - 1))
            rho = ball(total / 2 if self.name == "gdp" else total)
            return ceil_of(rho + 2 * (rho * log).sqrt())


def unknown(name: str) -> InputError:
    """Return the error to raise about a measure that filters do not have."""
    return InputError(f"unknown measure {name!r}", f"known here: {', '.join(ADAPTIVE)}")


# ------------------------------------------------------------------ Rényi at one order


def _renyi(event: Event, order: Fraction) -> Fraction | None:
    # no ledger is in Rényi DP: a charge need not import what this takes
    from dpaccount.pairs.composition import Composition, max_over_directions
    from dpaccount.pairs.of_events import composition_of

    whole = composition_of([(event, 1)])
    if whole.failures:
        return None

    def value(way: Composition) -> Fraction | None:
        tau = way.renyi(order)
        return ceil_of(tau) if tau is not None and tau.is_finite() else None

    with precision(192):
        return max_over_directions(whole, value)


# ------------------------------------------------------------------ pure and approximate: plain sums


def _pure_curve(curve: Curve) -> Amounts | None:
    match curve:
        case curves.Pure(epsilon) | curves.Approximate(epsilon, Fraction(numerator=0)):
            return (epsilon,)
        case curves.BoundedRange(eta):
            return (eta,)
    return None


def _approximate_curve(curve: Curve) -> Amounts | None:
    match curve:
        case curves.Pure(epsilon) | curves.BoundedRange(epsilon):
            return epsilon, Fraction(0)
        case curves.Approximate(epsilon, delta):
            return epsilon, delta
    return None


def _each_within(total: Amounts, epsilon: Fraction, delta: Fraction) -> bool:
    return total[0] <= epsilon and (len(total) == 1 or total[1] <= delta)


def _plain_epsilon(total: Amounts, delta: Fraction, _: Fraction) -> Enclosure:
    fits = len(total) == 1 or total[1] <= delta
    return _enclosed(total[0], total[0]) if fits else Enclosure(math.inf, math.inf)


# ------------------------------------------------------------------ Gaussian: μ² adds


def _gdp_curve(curve: Curve) -> Amounts | None:
    match curve:
        case curves.Gdp(mu2):
            return (mu2,)
        case curves.BoundedRange(eta):
            return (_mu2_of_pure(eta / 2),)
        case curves.Pure(epsilon) | curves.Approximate(epsilon, Fraction(numerator=0)):
            return (_mu2_of_pure(epsilon),)
    return None


def _gdp_event(event: Event) -> Amounts | None:
    loss = event.pure()
    if loss is not None and loss > LARGE * event.count:
        return (_mu2_of_pure(loss),)
    return _one(event.mu_squared())


def _mu2_of_pure(epsilon: Fraction) -> Fraction:
    """Return an upper bound on μ² of ε-DP: −2Φ⁻¹(1/(1+e^ε)) squared (Dong, Roth & Su 2022).

    Always at most 8ε: Φ(−x) ≤ e^{−x²/2}/2, which for x = μ/2 = √(2ε) is e^{−ε}/2 ≤ 1/(1+e^ε).
    """
    return 8 * epsilon if epsilon > LARGE else gaussian.mu_squared(epsilon)


def _gdp_fits(total: Amounts, epsilon: Fraction, delta: Fraction) -> bool:
    mu2 = total[0], total[0]
    if epsilon > LARGE and delta and gaussian.epsilon_bound(delta, total[0]) <= epsilon:
        return True  # at such an ε the curve itself cannot be told from 0
    return at_most(lambda bits: gaussian.delta_plain(epsilon, mu2, bits), delta)


def _gdp_epsilon(total: Amounts, delta: Fraction, width: Fraction) -> Enclosure:
    mu2 = total[0]
    if mu2 == 0:
        return Enclosure(Fraction(0), Fraction(0))
    if delta == 0:
        return Enclosure(math.inf, math.inf)
    if mu2 > LARGE:
        return _enclosed(Fraction(0), gaussian.epsilon_bound(delta, mu2))
    return _enclosed(*gaussian.epsilon(delta, (mu2, mu2), width))


# ------------------------------------------------------------------ zCDP: ρ adds


def _zcdp_curve(curve: Curve) -> Amounts | None:
    match curve:
        case curves.Zcdp(rho):
            return (rho,)
        case curves.Gdp(mu2):
            return (mu2 / 2,)
        case curves.BoundedRange(eta):
            return (eta**2 / 8,)
        case curves.Pure(epsilon) | curves.Approximate(epsilon, Fraction(numerator=0)):
            return (epsilon**2 / 2,)
        case curves.Lattice(variance, shifts, count):
            return (count * max(Fraction(sum(v * v for v in shift)) for shift in shifts) / (2 * variance),)
    return None


def _zcdp_fits(total: Amounts, epsilon: Fraction, delta: Fraction) -> bool:
    rho = total[0]
    if rho == 0 or delta == 0:
        return rho == 0
    order = _order(rho, epsilon)
    return at_most(
        lambda _: renyi.log_delta(order, ball(order * rho), epsilon) - ball(delta).log(), Fraction(0)
    )


def _order(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return nearly the best Rényi order of `renyi.log_delta` (any order is sound).

    That bound is convex in α = 1 + e^m; its derivative (2α−1)ρ − ε + ln(1 − 1/α) grows from −∞ to ∞.
    """
    log_rho, log_epsilon = log_float(rho), log_float(epsilon)

    def rises(m: float) -> bool:
        """Say whether the derivative is positive, by logarithms, since ρ may be far below doubles."""
        rise = log_rho + (m + LOG2 if m > 40 else math.log1p(2 * math.exp(m)))
        fall = np.logaddexp(log_epsilon, -m if m > 40 else math.log(math.log1p(math.exp(-m))))
        return bool(rise >= fall)

    high = bisect(rises, -700.0, 20000.0, 80)[1]
    octave = math.floor(high / LOG2)
    return 1 + Fraction(2) ** octave * Fraction(math.exp(high - octave * LOG2))


def _zcdp_epsilon(total: Amounts, delta: Fraction, _: Fraction) -> Enclosure:
    rho = total[0]
    if rho == 0:
        return Enclosure(Fraction(0), Fraction(0))
    found = renyi.epsilon(lambda order: ball(order * rho), delta) if delta else None
    return Enclosure(None, math.inf) if found is None else _enclosed(None, found)


# ------------------------------------------------------------------ approximate zCDP: ρ and δ add

#: what a total variation of 1 costs in δ: at least 1 + e^ε, for every ε up to `MOST_NEAR`
NEAR_WEIGHT, MOST_NEAR = 10**6, 13


def _approximate_zcdp_curve(curve: Curve) -> Amounts | None:
    match curve:
        case curves.NearGdp(mu2, distance):
            return mu2 / 2, NEAR_WEIGHT * distance
        case curves.Approximate(epsilon, delta):
            return epsilon**2 / 2, delta
    rho = _zcdp_curve(curve)
    return None if rho is None else (*rho, Fraction(0))


def _approximate_zcdp_event(event: Event) -> Amounts | None:
    rho = event.zcdp()
    if rho is not None:
        return rho, Fraction(0)
    point = event.approximate()  # of all `count` of them, each of which costs ε²/2
    return None if point is None else (point[0] ** 2 / (2 * event.count), point[1])


def _approximate_zcdp_fits(total: Amounts, epsilon: Fraction, delta: Fraction) -> bool:
    """Say whether a total fits: one half of δ is ρ's, and one half is for what has a δ of its own."""
    # Both are fixed beforehand: if one could use what the other leaves, all transcripts together could cost
    # up to 2δ (docs/proofs.md, "Approximate zCDP").
    return total[1] <= delta / 2 and _zcdp_fits(total[:1], min(epsilon, Fraction(MOST_NEAR)), delta / 2)


def _approximate_zcdp_epsilon(total: Amounts, delta: Fraction, width: Fraction) -> Enclosure:
    if total[1] > delta / 2:
        return Enclosure(None, math.inf)
    found = _zcdp_epsilon(total[:1], delta / 2, width)
    return found if found.upper <= MOST_NEAR else Enclosure(None, math.inf)


# ------------------------------------------------------------------ either: gdp, zcdp or pure

EITHER = ("gdp", "zcdp", "pure")
UNBOUNDED = Fraction(10**9)  #: the amount of what has no bound; with ε ≤ `LARGE` no measure fits it


def _each_share(total: Amounts, delta: Fraction) -> Iterator[tuple[str, Fraction, Fraction]]:
    """Yield each measure, its amount and its part of δ (docs/proofs.md, "Either of three filters")."""
    return zip(EITHER, total, (delta / 2, delta / 2, Fraction(0)), strict=True)


def _either(found: list[Amounts | None]) -> Amounts | None:
    """Return the amount in each measure; None where none has a bound."""
    known = [UNBOUNDED if amounts is None else min(amounts[0], UNBOUNDED) for amounts in found]
    return None if min(known) == UNBOUNDED else tuple(known)


def _either_fits(total: Amounts, epsilon: Fraction, delta: Fraction) -> bool:
    """Say whether one of the measures, all of which were added up from the beginning, still fits."""
    return any(
        _KINDS[name].fits((amount,), epsilon, share)
        for name, amount, share in _each_share(total, delta)
        if amount < UNBOUNDED
    )


def _of_parts(total: Amounts, delta: Fraction, width: Fraction) -> list[Enclosure]:
    return [
        _KINDS[name].enclosure((amount,), share, width) if amount < UNBOUNDED else Enclosure(None, math.inf)
        for name, amount, share in _each_share(total, delta)
    ]


def _either_epsilon(total: Amounts, delta: Fraction, width: Fraction) -> Enclosure:
    return Enclosure(None, min(found.upper for found in _of_parts(total, delta, width)))


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
    doublings = least_integer(lambda power: not fits(Fraction(2) ** power), -4000, 4000) - 1
    amount = step = Fraction(2) ** doublings
    for _ in range(40):  # a bit of the amount each
        step /= 2
        if fits(amount + step):
            amount += step
    return amount


_KINDS: dict[str, _Kind] = {
    "gdp": _Kind(("mu_squared",), _gdp_curve, _gdp_event, _gdp_fits, _gdp_epsilon),
    "pure": _Kind(
        ("epsilon",),
        _pure_curve,
        lambda event: _one(event.pure()),
        _each_within,
        _plain_epsilon,
        lambda epsilon, _: (epsilon,),
    ),
    "approximate": _Kind(
        ("epsilon", "delta"),
        _approximate_curve,
        Event.approximate,
        _each_within,
        _plain_epsilon,
        lambda epsilon, delta: (epsilon, delta),
    ),
    "approximate-zcdp": _Kind(
        ("rho", "delta"),
        _approximate_zcdp_curve,
        _approximate_zcdp_event,
        _approximate_zcdp_fits,
        _approximate_zcdp_epsilon,
        lambda _, delta: (None, delta / 2),
    ),
    "zcdp": _Kind(("rho",), _zcdp_curve, lambda event: _one(event.zcdp()), _zcdp_fits, _zcdp_epsilon),
    "either": _Kind(
        ("mu_squared", "rho", "pure"),
        lambda curve: _either([_KINDS[name].of_curve(curve) for name in EITHER]),
        lambda event: _either([_KINDS[name].of_event(event) for name in EITHER]),
        _either_fits,
        _either_epsilon,
        parts=EITHER,
    ),
}
MEASURES: dict[str, Measure] = {name: Measure(name) for name in _KINDS}  #: those of ledgers
