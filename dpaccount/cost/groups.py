"""What events cost the k units that are worst for them."""

from collections.abc import Sequence
from dataclasses import replace

from dpaccount.numerics.fourier.sampled_gaussian import SampledGaussianFactor
from dpaccount.numerics.sampled_groups import SampledGroupFactor
from dpaccount.plan import events as ev
from dpaccount.plan.event_base import Event, walk

from .exposure import Exposure, Total, exposure_of

MOST_IN_GROUP = 8  #: units on samples whose mixture is added up


def group_exposures(events: Sequence[Event], k: int) -> list[Exposure] | None:
    """Return what every event costs for the k units that are worst for it; None: chains alone.

    Of k units on Poisson samples some may be in one dataset alone and the others in the other alone: one
    total for each number of them, of which the worst counts; last the one where all are in one dataset.
    """
    sampled = any(part.name == ev.PoissonSubsampled.name for event in events for part in walk(event))
    found = [_group_exposure(events, k, there) for there in (range((k + 1) // 2, k + 1) if sampled else [k])]
    return None if None in found else found  # type: ignore[return-value]


def _group_exposure(events: Sequence[Event], k: int, there: int) -> Exposure | None:
    found = Total()
    return found.exposure() if all(_add_group(found, event, k, there, 1) for event in events) else None


def _add_group(found: Total, event: Event, k: int, there: int, count: int) -> bool:
    """Add what an event costs k units; return whether more than a chain is known."""
    moved, known = event.moved_by_group(k), event.bare().for_group(k)
    if moved is not None:
        found.shift(*moved, count * event.count)
    elif known is not None:
        found.add(known, count)
    elif isinstance(event, ev.Sequence):
        return all(_add_group(found, part, k, there, count * event.count) for part in event.of)
    else:
        once = exposure_of([(replace(event, count=1), 1)])
        pair = once.one_pair
        if not (once.pairs or once.failures or once.bounded):  # a sample of all, or of nobody
            found.shift(k * k * once.mu2[0], k * k * once.mu2[1], count * event.count)
        elif isinstance(pair, SampledGaussianFactor) and k <= MOST_IN_GROUP:
            found.pairs[SampledGroupFactor(pair.rate, pair.mu2, there, k - there)] += count * event.count
        else:
            return False
    return True
