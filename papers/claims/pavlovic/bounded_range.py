"""J predictions of one bounded-range mechanism: what they surely cost and what they cost at most.

An exponential mechanism whose scores move within a range w is η-bounded-range, η = cw for an exponent c
(Dong, Durfee & Rogers 2020): the log-ratios of all outputs lie in an interval of length η.  Above:
J η²/8 zCDP (Cesar & Rogers 2021), or pure Jη; one alone has the exact curve (e^{η/2} − e^{x/2})²/(e^η − 1).
Below: two outputs with log-odds t and t − η, drawn J times, are such a mechanism for every t, so
their exact binomial curve is a lower bound.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb
from scipy.special import gammaln
from scipy.stats import binom

from bandits.statistics.arrays import Floats
from dpaccount.exact import Enclosure
from dpaccount.numerics.bisection import bisect, solve
from dpaccount.numerics.closed import renyi
from dpaccount.numerics.intervals import accurate, ball, floor_of
from papers.claims.enclosures import ZERO, enclose, exactly

Score = Callable[[Floats, Floats], float]  #: of the losses and their probabilities

COUNTED = 1000  #: draws in lower bounds; more predictions show at least as much


def epsilon(eta: Fraction, draws: int, delta: Fraction) -> Enclosure:
    """Return [sure, at most] for ε at δ of `draws` predictions."""
    if delta == 0:
        return exactly(draws * eta)  # reached in the limit t → −∞
    if draws == 1:
        return enclose(lambda: _single_epsilon(eta, delta))
    upper = epsilon_upper(eta, draws, delta)
    return Enclosure(min(_sure_epsilon(eta, min(draws, COUNTED), delta), upper), upper)


def epsilon_upper(eta: Fraction, draws: int, delta: Fraction) -> Fraction:
    """Return the upper end: pure, zCDP, or for one draw the exact curve."""
    if draws == 1:
        return Fraction(enclose(lambda: _single_epsilon(eta, delta)).upper)
    # A bounded range of η costs η²/8 in zCDP, a quarter of what pure η does.
    zcdp = renyi.epsilon(lambda order: ball(order * draws * eta**2 / 8), delta)
    return draws * eta if zcdp is None else min(draws * eta, zcdp)


def delta(eta: Fraction, draws: int, at: Fraction) -> Enclosure:
    """Return [sure, at most] for δ at ε = `at`."""
    if draws * eta <= at:
        return ZERO
    if draws == 1:
        return enclose(lambda: ((ball(eta) / 2).exp() - (ball(at) / 2).exp()) ** 2 / ball(eta).expm1())
    upper = renyi.delta(lambda order: ball(order * draws * eta**2 / 8), at)
    count = min(draws, COUNTED)
    odds = _best_odds(float(eta), count, lambda losses, p: _float_delta(losses, p, float(at)))
    lower = max(Fraction(0), floor_of(accurate(lambda: _binomial(odds, eta, count, at), 60)))
    return Enclosure(lower, Fraction(1) if upper is None else max(upper, lower))


def _single_epsilon(eta: Fraction, target: Fraction) -> arb:
    inside = (ball(eta) / 2).exp() - (ball(target) * ball(eta).expm1()).sqrt()
    return (2 * inside.max(arb(1)).log()).max(arb(0))


def _sure_epsilon(eta: Fraction, count: int, target: Fraction) -> Fraction:
    """Return an ε at which two-output mechanisms surely exceed `target` (0 where none does)."""
    odds = _best_odds(float(eta), count, lambda losses, p: _float_epsilon(losses, p, float(target)))

    def curve(at: Fraction) -> arb:
        return accurate(lambda: _binomial(odds, eta, count, at), 60)

    if not floor_of(curve(Fraction(0))) > target:
        return Fraction(0)
    low, _ = solve(curve, target, Fraction(0), count * eta, Fraction(1, 10**9))
    return low


def _binomial(odds: Fraction, eta: Fraction, count: int, at: Fraction) -> arb:
    """Return Σ_k (P(k) − e^ε Q(k))₊, P and Q binomial of log-odds `odds` and `odds` − η.

    The ratio grows with k, so the sum runs over the largest k; adding any set of k gives a lower bound
    at most the truth, and the terms near the sign change are kept only where their ball is positive.
    """
    p, q = 1 / (1 + (-ball(odds)).exp()), 1 / (1 + (-(ball(odds) - ball(eta))).exp())
    factor = ball(at).exp()
    ours, theirs = p**count, factor * q**count
    total = arb(0)
    for k in range(count, -1, -1):
        if not ours > theirs:
            break
        total += ours - theirs
        ours = ours * k / (count - k + 1) * (1 - p) / p
        theirs = theirs * k / (count - k + 1) * (1 - q) / q
    return total


def best_event(eta: Fraction, count: int, delta: Fraction) -> tuple[Fraction, int]:
    """Return log-odds t, and the threshold on the number of +1 that best separates t from t − η."""
    odds = _best_odds(float(eta), count, lambda losses, p: _float_delta(losses, p, float(eta)))
    ours, theirs = (1 / (1 + math.exp(-float(t))) for t in (odds, odds - eta))
    k, weight = np.arange(count), math.exp(min(float(eta), 700))
    return odds, 1 + int(np.argmax(binom.sf(k, count, ours) - weight * binom.sf(k, count, theirs)))


# ------------------------------------------------------------------ float search for the best odds


def _best_odds(eta: float, count: int, score: Score) -> Fraction:
    """Return a nearly best t, a short fraction; any t gives a valid lower bound."""
    values = [(score(*_laws(eta, count, float(t))), float(t)) for t in np.linspace(-12, 12 + eta, 97)]
    best = max(values)[1]
    width = (24 + eta) / 96
    for _ in range(24):  # 0.6^24 = 5e-6
        tries = [best - width, best - width / 2, best, best + width / 2, best + width]
        best = max((score(*_laws(eta, count, t)), t) for t in tries)[1]
        width *= 0.6
    return Fraction(best).limit_denominator(10**9)


@lru_cache(maxsize=4096)
def _laws(eta: float, count: int, odds: float) -> tuple[Floats, Floats]:
    k = np.arange(count + 1)
    choose = gammaln(count + 1) - gammaln(k + 1) - gammaln(count - k + 1)
    logs = [choose - k * np.logaddexp(0, -t) - (count - k) * np.logaddexp(0, t) for t in (odds, odds - eta)]
    return logs[0] - logs[1], np.exp(logs[0])


def _float_delta(losses: Floats, p: Floats, at: float) -> float:
    kept = losses > at
    return float((p[kept] * -np.expm1(at - losses[kept])).sum())


def _float_epsilon(losses: Floats, p: Floats, target: float) -> float:
    low, high = 0.0, float(losses.max())
    if _float_delta(losses, p, 0.0) <= target:
        return _float_delta(losses, p, 0.0) - 1.0
    return bisect(lambda at: _float_delta(losses, p, at) <= target, low, high, 40)[0]
