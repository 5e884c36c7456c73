"""Group privacy: which k units are worst for a plan, and whether they are for all of its events at once.

Noise that was calibrated to one unit meets a k-fold sensitivity: μ becomes kμ, ρ becomes k²ρ, η becomes kη.
The k-fold chain of ε-DP is exactly the discrete Laplace pair of scale 1/ε moved by k. Rounds of a stream
share only some of its noise: k of them move a tree's nodes, or a factor's rows, by as many as lie under each,
and the first k rounds are the worst (docs/numerics.md). Each kind states this (`Event.for_group`); in
general there is the chain of neighbours (group privacy: Vadhan 2017; Bun & Steinke 2016 for zCDP; Dong, Roth
& Su 2022 for μ-GDP and chains).
"""

from collections.abc import Sequence

from dpaccount.plan.event_base import Event, Stream, walk


def common(events: Sequence[Event], k: int) -> int | None:
    """Return the first of k units in a row that are worst for every event at once, 0: any; None: none are."""
    streams = [event.start for event in events if isinstance(event, Stream)]
    covers = [event.cover for event in events if event.cover is not None]
    first = max([*streams, *(a for a, _ in covers)], default=0)
    # The worst k rounds of a stream are its first, so streams that start apart share no worst group.
    met = all(start == first for start in streams) and all(first + k - 1 <= b for _, b in covers)
    return first if met else None


def attained(event: Event) -> bool:
    """Return whether the k worst units of an event attain the cost of `for_group`."""
    return all(part.group_attained for part in walk(event))


def gaussian(event: Event) -> bool:
    """Return whether an event is a Gaussian pair: then k units cost kμ wherever they lie (Minkowski)."""
    return all(part.gaussian for part in walk(event))
