"""Curves t ↦ δ(t) of pairs on samples, from the curve of what is sampled; t may have either sign."""

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from dpaccount.numerics.intervals import accurate, ball, ceil_of, floor_of, precision
from dpaccount.numerics.work_budget import spend

Curve = Callable[[Fraction], arb]


def with_infinite_mass(inner: Curve, low: Fraction, high: Fraction) -> Curve:
    """Return the curve with a mass in [low, high] at an infinite loss beside it."""
    if high == 0:
        return inner

    def value(t: Fraction) -> arb:
        mass = ball(low).union(ball(high)) if low != high else ball(low)
        return mass + (1 - mass) * inner(t)

    return value


def on_sample(rate: Fraction, there: Curve, back: Curve, bits: int, *, added: bool) -> Curve:
    """Return the curve of a pair on a Poisson sample, from the inner curve and its reverse.

    `rate`: the probability q of a unit to be in the sample, 0 < q ≤ 1.
    `there`, `back`: the inner pair's curve δ(t) in both directions; `bits`: the precision of balls.
    `added`: the direction, in which a unit comes rather than goes.
    Removing: δ(x) = q δ_in((x − 1 + q)/q) for x = e^t > 1 − q, else 1 − x. Adding, by the complement: for
    t ≥ 0 δ = (1 − (1−q)e^t)·δ_in,rev at q e^t/(1 − (1−q)e^t), and 0 where 1 ≤ (1−q)e^t; for t < 0 by the
    complement δ(t) = 1 − e^t + e^t δ_remove(−t) again (Zhu, Dong & Wang 2022).
    """

    def remove(t: Fraction) -> arb:
        if t < 0:
            return complement(t, add(-t), bits)
        with precision(bits + 64):
            at = (ball(t).expm1() / ball(rate)).log1p()
            return ball(rate) * _at(there, at)

    def add(t: Fraction) -> arb:
        if t < 0:
            return complement(t, remove(-t), bits)
        with precision(bits + 64):
            room = 1 - (1 - ball(rate)) * ball(t).exp()
            if not room > 0:
                # δ is 0 where room is not positive, and at most room elsewhere: a ball that holds 0 has both.
                return arb(0).union(room.upper().max(arb(0)))
            return room * _at(back, (ball(rate) * ball(t).exp() / room).log())

    return add if added else remove


def gaussian_dots(
    rate: Fraction, mu2: Fraction, nodes: tuple[Fraction, Fraction, int], bits: int
) -> list[arb]:
    """Return heights at (first, step, count) of the curve of Gaussian noise on a Poisson sample, removing.

    With y = e^t − 1 + q and μw = ln(y/q), δ = qΦ(μ/2 − w) − yΦ(−μ/2 − w); for y ≤ 0 it is 1 − e^t.
    The error is about 2^−bits.
    """
    first, step, count = nodes
    with precision(bits + 16 + count.bit_length()):  # powers of e^step lose as many bits
        q, root, found = ball(rate), 1 / arb(2).sqrt(), []
        scale, half, growth = root / ball(mu2).sqrt(), root * ball(mu2).sqrt() / 2, ball(step).exp()
        log_q, rest, x = q.log(), 1 - q, ball(first).exp()
        for _ in range(count):
            spend(2)
            y = x - rest
            if y > 0:
                w = (y.log() - log_q) * scale
                found.append((q * (w - half).erfc() - y * (w + half).erfc()) / 2)
            else:  # or y is a ball that contains 0: then δ − 1 + e^t lies in [0, y]
                found.append(1 - x + arb(0).union(y.upper().max(arb(0))))
            x *= growth
        return found


def on_replaced_gaussian(rate: Fraction, mu2: Fraction, bits: int) -> Curve:
    """Return the curve of Gaussian noise on a Poisson sample of which one row is replaced.

    With A = 1 − q, B = qe^{−μ²/2} and x = e^t ≥ 1, A + Bw > x(A + B/w) right of
    w = [A(x − 1) + √(A²(x − 1)² + 4xB²)]/(2B), w = e^{μu}; left of t = 0 by the complement.
    """
    return two_sided(lambda t: accurate(lambda: _right_of(ball(rate), ball(mu2), ball(t)), bits), bits)


def _right_of(q: arb, mu2: arb, t: arb) -> arb:
    """Return P − e^tQ of the half-line where that is largest, t ≥ 0."""
    mu, x = mu2.sqrt(), t.exp()
    odds = (1 - q) / q * t.expm1() * (mu2 / 2).exp()
    cut = ((odds + (odds * odds + 4 * x).sqrt()) / 2).log() / mu
    there, here, back = ((cut - at) / arb(2).sqrt() for at in (mu, arb(0), -mu))
    return (q * there.erfc() - (1 - q) * t.expm1() * here.erfc() - x * q * back.erfc()) / 2


def on_replaced_laplace(rate: Fraction, loss: Fraction, inner: Curve, bits: int) -> Curve:
    """Return the curve of Laplace noise on a Poisson sample of which one row is replaced.

    For t ≥ 0 P exceeds e^tQ only where z₋ is its least value w: δ(t) = δ_removed(t + ln w).
    """
    removed = on_sample(rate, inner, inner, bits, added=False)

    def value(t: Fraction) -> arb:
        with precision(bits + 64):
            return _at(removed, ball(t) + least_log_ratio(rate, loss))

    return two_sided(value, bits)


def least_log_ratio(rate: Fraction, loss: Fraction) -> arb:
    """Return ln w, w = 1 − q + q e^{−loss}."""
    return (ball(rate) * ball(-loss).expm1()).log1p()


def complement(t: Fraction, other: arb, bits: int) -> arb:
    """Return δ(t) = 1 − e^t + e^t δ_rev(−t)."""
    with precision(bits + 64):
        return -(ball(t).expm1()) + ball(t).exp() * other


def _at(inner: Curve, t: arb) -> arb:
    """Return the curve at an enclosed argument: it falls, so the ends bound it."""
    return inner(ceil_of(t)).union(inner(floor_of(t)))


def without_replacement(rate: Fraction, inner: Curve) -> Curve:
    """Return δ′(ln(1 + q(e^ε − 1))) ≤ q δ(ε), ε ≥ 0 (Balle, Barthe & Gaboardi 2018; without replacement).

    An upper bound: the inner curve is taken at the lower end of its argument.
    """

    def value(t: Fraction) -> arb:
        with precision(256):
            at = (ball(t).expm1() / ball(rate)).log1p()
            return ball(rate) * inner(floor_of(at))

    return value


def two_sided(inner: Curve, bits: int = 128) -> Curve:
    """Return a curve for both signs of ε from one for ε ≥ 0 that is the same in both directions."""
    return lambda t: inner(t) if t >= 0 else complement(t, inner(-t), bits)
