"""Group privacy: what k units together may lose.

Noise that was calibrated to one unit meets a k-fold sensitivity: μ becomes kμ, a pure ε becomes kε, ρ
becomes k²ρ, η becomes kη. In general a chain of k neighbours gives (kε, δ(e^{kε} − 1)/(e^ε − 1)) from (ε, δ)
(group privacy: Vadhan 2017; Bun & Steinke 2016 for zCDP; Dong, Roth & Su 2022 for μ-GDP).
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from flint import arb

from dpaccount import events as ev
from dpaccount.numerics.balls import ball, ceil_of, precision
from dpaccount.numerics.solve import solve

NEAR = Fraction(1, 10**9)  #: how close to the least ε a chain is searched

#: Events whose group curve is that of the same event with a scaled parameter, attained by some k units.
_EXACT: dict[type[ev.Event], str] = {
    ev.Gaussian: "sensitivity",
    ev.DiscreteGaussian: "sensitivity",
    ev.Laplace: "sensitivity",
    ev.DiscreteLaplace: "sensitivity",
    ev.Tree: "sensitivity",
    ev.MatrixFactorisation: "sensitivity",
    ev.Gdp: "mu",
    ev.Pure: "epsilon",
    ev.PermuteAndFlip: "epsilon",
}


def scaled(event: ev.Event, k: int) -> ev.Event | None:
    """Return an event that bounds `event` for k units; None where only the general chain is known."""
    key = _EXACT.get(type(event))
    if key is not None:
        return replace(event, **{key: k * getattr(event, key)})
    if isinstance(event, ev.RandomizedResponse):
        return ev.Pure(epsilon=k * event.epsilon, count=event.count, cover=event.cover)
    if isinstance(event, ev.Exponential):
        return replace(event, epsilon=k * event.epsilon)
    if isinstance(event, ev.BoundedRange):
        return replace(event, eta=k * event.eta)
    if isinstance(event, ev.Zcdp):
        return replace(event, rho=k * k * event.rho)
    if isinstance(event, ev.Approximate):
        return replace(event, epsilon=k * event.epsilon, delta=_chained(event.epsilon, event.delta, k))
    if isinstance(event, ev.Sequence):
        inner = [scaled(part, k) for part in event.of]
        known = tuple(part for part in inner if part is not None)
        return replace(event, of=known) if len(known) == len(inner) else None
    return None


def exact(event: ev.Event) -> bool:
    """Say whether `scaled` gives the exact cost of a group and not just a bound."""
    return all(isinstance(part, ev.Sequence) or type(part) in _EXACT for part in ev.walk(event))


def gaussian(event: ev.Event) -> bool:
    """Say whether an event is a Gaussian pair: then k units cost kμ wherever they lie (Minkowski)."""
    kinds = (ev.Gaussian, ev.Gdp, ev.Tree, ev.MatrixFactorisation, ev.Sequence)
    return all(isinstance(part, kinds) for part in ev.walk(event))


def _chained(epsilon: Fraction, delta: Fraction, k: int) -> Fraction:
    """Return δ(e^{kε} − 1)/(e^ε − 1), rounded up, at most 1."""
    with precision(192):
        found = ball(delta) * _growth(epsilon, k)
        return ceil_of(found) if found < 1 else Fraction(1)


def _growth(epsilon: Fraction, k: int) -> arb:
    """Return (e^{kε} − 1)/(e^ε − 1), which is k at ε = 0."""
    if epsilon == 0:
        return ball(k)
    return (ball((k - 1) * epsilon)).exp() * (-ball(k * epsilon)).expm1() / (-ball(epsilon)).expm1()


def chain_delta(delta_of: Callable[[Fraction], Fraction], epsilon: Fraction, k: int) -> Fraction:
    """Return a bound on δ(ε) for k units from a bound `delta_of` for one."""
    return _chained(epsilon / k, delta_of(epsilon / k), k)


def chain_epsilon(delta_of: Callable[[Fraction], Fraction], target: Fraction, k: int) -> Fraction | None:
    """Return an ε with δ(ε) ≤ target for k units, near the least; None where none is found below k·2^40.

    The search starts near k/2^20, and at 1/1024 for small groups: below that nothing is gained.
    """
    high = Fraction(max(1, k >> 10), 1024)
    while chain_delta(delta_of, high, k) > target:
        high *= 2
        if high > k << 40:
            return None
    if target == 0:
        return high

    def curve(at: Fraction) -> arb:
        return ball(chain_delta(delta_of, at, k))

    return solve(curve, target, high / 2, high, NEAR * max(Fraction(1), high))[1]
