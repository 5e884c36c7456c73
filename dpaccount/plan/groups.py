"""Group privacy: what k units together may lose.

Noise that was calibrated to one unit meets a k-fold sensitivity: μ becomes kμ, ρ becomes k²ρ, η becomes kη.
The k-fold chain of ε-DP is exactly the discrete Laplace pair of scale 1/ε moved by k. Rounds of a stream
share only some of its noise: k of them move a tree's nodes, or a factor's rows, by as many as lie under each,
and the first k rounds are the worst (docs/numerics.md). In general a chain of k neighbours gives
(kε, δ(e^{kε} − 1)/(e^ε − 1)) from (ε, δ) (group privacy: Vadhan 2017; Bun & Steinke 2016 for zCDP; Dong,
Roth & Su 2022 for μ-GDP and chains).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from flint import arb

from dpaccount.cost.exposure import Exposure, exposure_of
from dpaccount.numerics.balls import ball, ceil_of, precision
from dpaccount.numerics.closed.toeplitz import group_squares
from dpaccount.numerics.solve import solve
from dpaccount.plan import events as ev

NEAR = Fraction(1, 10**9)  #: how close to the least ε a chain is searched

#: Events whose noise meets k units as the same event with a scaled parameter, attained by some k units; of
#: streams each unit's own share at most.
_SCALED: dict[type[ev.Event], str] = {
    ev.Gaussian: "sensitivity",
    ev.DiscreteGaussian: "sensitivity",
    ev.Laplace: "sensitivity",
    ev.DiscreteLaplace: "sensitivity",
    ev.Tree: "sensitivity",
    ev.MatrixFactorisation: "sensitivity",
    ev.Gdp: "mu",
    ev.PermuteAndFlip: "epsilon",
}
_EXACT = (*_SCALED, ev.Pure)
STREAMS = (ev.Tree, ev.MatrixFactorisation)


def scaled(event: ev.Event, k: int) -> ev.Event | None:
    """Return an event that bounds `event` for k units; None where only the general chain is known."""
    key = _SCALED.get(type(event))
    if key is not None:
        return replace(event, **{key: k * getattr(event, key)})
    if isinstance(event, ev.Pure | ev.RandomizedResponse):
        return _chain_of_pure(event, k)
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


def _chain_of_pure(event: ev.Pure | ev.RandomizedResponse, k: int) -> ev.Event:
    """Return the discrete Laplace pair of scale 1/ε moved by k, to which k steps of ε-DP compose exactly."""
    if event.epsilon == 0:
        return event
    return ev.DiscreteLaplace(
        scale=1 / event.epsilon, sensitivity=Fraction(k), count=event.count, cover=event.cover
    )


def joint(events: Sequence[ev.Event], k: int) -> Exposure | None:
    """Return the total in which every event meets the k units that are worst for it; None: chains alone."""
    low = high = Fraction(0)
    items: list[ev.Event] = []
    for event in events:
        if isinstance(event, ev.MatrixFactorisation):
            moved = event.count * (event.sensitivity / event.sigma) ** 2
            below, above = group_squares(event.rounds, k)
            low, high = low + moved * below, high + moved * above
        elif isinstance(event, ev.Tree):
            times = event.count * tree_moves(event.rounds, k)
            items.append(ev.Gaussian(sigma=event.sigma, sensitivity=event.sensitivity, count=times))
        elif (known := scaled(event.bare(), k)) is not None:
            items.append(known)
        else:
            return None
    found = exposure_of((event, 1) for event in items)
    return replace(found, mu2=(found.mu2[0] + low, found.mu2[1] + high))


def tree_moves(rounds: int, k: int) -> int:
    """Return the largest Σ (rounds of the group under a node)² over groups of k rounds of a tree.

    On one level the nodes hold disjoint blocks of 2^j rounds, and a sum of squares of numbers up to 2^j is
    largest where as many as can be are full and one has the rest; the first k rounds are so on every level.
    """
    found = 0
    for level in range(rounds.bit_length()):
        held = min(k, rounds >> level << level)
        found += (held >> level << 2 * level) + (held & (1 << level) - 1) ** 2
    return found


def common(events: Sequence[ev.Event], k: int) -> int | None:
    """Return the first of k units in a row that are worst for every event at once, 0: any; None: none are."""
    streams = [event.start for event in events if isinstance(event, STREAMS)]
    covers = [event.cover for event in events if event.cover is not None]
    first = max([*streams, *(a for a, _ in covers)], default=0)
    met = all(start == first for start in streams) and all(first + k - 1 <= b for _, b in covers)
    return first if met else None


def exact(event: ev.Event) -> bool:
    """Say whether the k units that are worst for an event cost what is said, and not just at most."""
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
