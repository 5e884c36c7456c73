"""What events fixed beforehand cost together under Gaussian DP: by their composed curve, not summed μ².

Three groups of events, whose μ² add up: Gaussian ones have their own; Laplace and discrete Laplace noise,
randomised response and pure ε are composed, and the least Gaussian pair above their whole curve is sought
(`numerics.domination`); any other event has its own bound, or none (`Event.mu_squared`).

The composed curve is bounded by a lattice above it where it is not too small, further out by Chernoff:
(1 − e^{−y})₊ ≤ κ(s)e^{sy} with κ(s) = s^s/(1+s)^{1+s} gives δ(ε) ≤ κ(s)·ΠM_i(s)·e^{−sε} for every s > 0,
M_i(s) the moment E e^{sL} of a pair's loss.  Losses are bounded: far out this is below any Gaussian curve.

Nothing here looks at the clock: the same plan costs the same, and one too large the sum of its events.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
from flint import arb

from dpaccount.accounting.methods.answer import UNREACHED
from dpaccount.numerics import domination
from dpaccount.numerics.intervals import ball, ceil_of, log_float, precision
from dpaccount.numerics.lattice import composing, exact_grids
from dpaccount.numerics.lattice.excess import Excess
from dpaccount.pairs.composition import Exact
from dpaccount.pairs.of_events import composition_of
from dpaccount.pairs.pair import LossPair
from dpaccount.plan.event_base import Amount, Cover, Event
from dpaccount.precision import certified

Pieces = Sequence[tuple[Cover | None, Event]]
Own = Callable[[Event], Amount]  #: an event's own μ², or None

MIN_LOSS, MAX_LOSS, MAX_RATIO = Fraction(1, 10**9), 20, 50  #: of losses that are composed, and their ratio
WORK = 512  #: of a plan: a kind of pair is 1 on each segment of units, and 20 pairs are
NODES = 24  #: of the narrowest pair on a lattice
MAX_LOG_DELTA = 400.0  #: −log of the smallest δ that a lattice is asked for
RATES = np.exp(np.arange(-40, 200) * 0.06)  #: the s of Chernoff's bound, in units of 1/σ


@certified
def over_units(pieces: Pieces, own: Own) -> list[tuple[int, Fraction]] | None:
    """Return from which unit on units pay which μ², for events on the units that they cover.

    None where it is no less than the sum of what they cost one by one (`own`), or too much work to say.
    """
    if len(pieces) > WORK or sum(event.count for _, event in pieces) < 2:
        return None
    kinds = {event for _, event in pieces if _composes(event)}
    changes: dict[int, Counter[Event]] = {1: Counter()}
    for cover, event in pieces:
        changes.setdefault(1 if cover is None else cover[0], Counter())[event] += 1
        if cover is not None:
            changes.setdefault(cover[1] + 1, Counter())[event] -= 1
    work = len(changes) * (len(kinds) + sum(event.count for _, event in pieces if event in kinds) // 20)
    if not 0 < work <= WORK or any(own(event) is None for _, event in pieces):
        return None
    found, active = [], Counter[Event]()
    for unit in sorted(changes):
        active.update(changes[unit])
        found.append((unit, mu_squared([(event, times) for event, times in active.items() if times], own)))
    return found


@certified
def mu_squared(items: Iterable[tuple[Event, int]], own: Own = Event.mu_squared) -> Fraction:
    """Return μ² of a Gaussian pair that dominates all these events together, each so many times.

    Never more than the sum of what they cost one by one; raises `TypeError` where one has no bound.
    """
    alone, others, parts = Fraction(0), Fraction(0), []
    for event, times in items:
        square = own(event)
        if square is None:
            raise TypeError("an event without a bound was to be added up")
        if _composes(event):
            alone += times * square
            parts.append((event, times))
        else:
            others += times * square
    return others + _of_pairs(composition_of(parts).pairs, alone)


@lru_cache(maxsize=4096)
def _composes(event: Event) -> bool:
    """Say whether an event is a number of pairs of bounded losses, on which both directions agree."""
    total = composition_of([(event, 1)])
    rest = total.mu2[1] or total.failures or total.upper or not total.symmetric
    return not rest and all(pair.largest() is not None for pair, _ in total.pairs)


@lru_cache(maxsize=1024)
def _of_pairs(pairs: Exact, alone: Fraction) -> Fraction:
    """Return μ² for counted pairs, at most `alone`, what they cost one by one."""
    if sum(count for _, count in pairs) < 2:
        return alone
    losses = [_largest(pair) for pair, _ in pairs]
    least, most = min(losses), max(losses)
    if least < MIN_LOSS or most > MAX_LOSS or most > MAX_RATIO * least:  # too far apart for one lattice
        return alone
    try:
        return domination.least(*_curve(pairs), alone)
    except UNREACHED:
        return alone


def _largest(pair: LossPair) -> Fraction:
    most = pair.largest()
    if most is None:
        raise TypeError(f"{pair} has unbounded losses")
    return most


def _curve(pairs: Exact) -> tuple[domination.Curve, Fraction]:
    """Return ε ↦ an upper bound on δ(ε) of the composition, and its largest loss."""
    end = sum((count * _largest(pair) for pair, count in pairs), Fraction(0))
    variance = float(sum(count * _largest(pair) ** 2 for pair, count in pairs))
    # By Hoeffding's inequality δ falls to about e^{−end²/(2·variance)} before the largest loss ends it.
    depth = min(MAX_LOG_DELTA, 30 + float(end) ** 2 / (2 * variance))
    lattice = _lattice(pairs, -depth / math.log(2))
    rates = [Fraction(float(rate)) for rate in RATES / math.sqrt(variance)]
    factors = [_log_factor(pairs, rate) for rate in rates]
    heights = np.array([float(factor.mid()) for factor in factors])
    slopes = np.array([float(rate) for rate in rates])

    @cache
    def bound(at: Fraction) -> Fraction:
        if at >= end:
            return Fraction(0)
        best = int(np.argmin(heights - slopes * float(at)))
        with precision(domination.BITS):
            beyond = ceil_of((factors[best] - ball(rates[best] * at)).exp())
        near = ceil_of(lattice.highest(at)) if log_float(beyond) > -depth else beyond
        return max(Fraction(0), min(Fraction(1), beyond, near))

    return bound, end


def _lattice(pairs: Exact, log2_delta: float) -> Excess:
    spread = float(sum(2 * count * _largest(pair) for pair, count in pairs))
    grids = [(grid, count) for pair, count in pairs if (grid := pair.on_grid()) is not None]
    if len(grids) == len(pairs) and exact_grids.suits(grids, lambda: spread):
        return exact_grids.compose(grids, log2_delta)
    step = composing.step_for(pairs, NODES, int(-log2_delta) + 40)
    return Excess(composing.compose(pairs, step, log2_delta))


def _log_factor(pairs: Exact, rate: Fraction) -> arb:
    """Return a ball around ln(κ(s)·ΠM(s))."""
    with precision(domination.BITS):
        s = ball(rate)
        found = s * s.log() - (1 + s) * (1 + s).log()
        for pair, count in pairs:
            found += count * pair.moment(s).log()
        return found
