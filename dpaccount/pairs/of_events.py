"""From events to the pairs that dominate them, for one unit and for groups.

Each kind of event adds its own to a total.  Pairs of samples and of noise other than Gaussian are imported by
the event that needs them: a plan has few kinds, and each one's numerics would be loaded by every account.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpaccount.errors import InputError
from dpaccount.numerics.bisection import Ends
from dpaccount.numerics.closed.sampling import truncation
from dpaccount.numerics.intervals import ceil_of
from dpaccount.pairs.composition import Attained, Composition, sort_key
from dpaccount.pairs.pair import MAX_LISTED, ExactPair, LossPair
from dpaccount.pairs.upper import RangeBound, RdpBound, ZcdpBound
from dpaccount.plan import events as ev
from dpaccount.plan.bound_events import AlikeResponse
from dpaccount.plan.event_base import Event, GaussianEvent, walk

MAX_GROUP = 8  #: units on samples whose mixture is added up
MOST_HIDDEN = 64  #: ε beyond which shuffling hides nothing: a clone takes some e^ε reports


class Total:
    """Adds events up: Gaussian pairs as one μ², other pairs and upper bounds counted, failures apart."""

    def __init__(self, *, least: bool = False) -> None:
        self.least = least  # whether to add what events cost at least
        self.squares: list[Ends] = []
        self.pairs: Counter[Any] = Counter()
        self.failures: Counter[Fraction] = Counter()
        self.upper: Counter[LossPair] = Counter()
        self.attainment = Attained.ALWAYS

    def add(self, event: Event, count: int) -> None:
        """Add `count` times `event`, whose own count multiplies it."""
        # One place multiplies by the count: dp_accounting 0.6.0, where each kind of event does, counts a
        # repeated randomised response once.
        _ADD[type(event)](self, event, count * event.count)

    def gaussian(self, low: Fraction, high: Fraction, count: int) -> None:
        """Add a Gaussian pair of μ² in [low, high]."""
        self.squares.append((low * count, high * count))

    def pair(self, pair: LossPair, count: int) -> None:
        """Add a pair or an upper bound."""
        (self.pairs if isinstance(pair, ExactPair) else self.upper)[pair] += count

    def attained(self, when: Attained) -> None:
        """Record when the pair of an event is attained; the weakest of all events counts."""
        self.attainment = max(self.attainment, when)

    def composition(self) -> Composition:
        """Return the sum."""
        low, high = ([ends[k] for ends in self.squares] for k in (0, 1))
        least = _sum_by_halves(low)
        return Composition(
            (least, least if low == high else _sum_by_halves(high)),
            tuple(sorted(self.pairs.items(), key=sort_key)),
            tuple(sorted(self.failures.items())),
            tuple(sorted(self.upper.items(), key=sort_key)),
            self.attainment,
        )


def _sum_by_halves(values: list[Fraction]) -> Fraction:
    """Return the sum: one after the other, ever longer denominators would take quadratic time."""
    while len(values) > 1:
        values = [sum(values[k : k + 2], Fraction(0)) for k in range(0, len(values), 2)]
    return sum(values, Fraction(0))


def composition_of(items: Iterable[tuple[Event, int]], *, least: bool = False) -> Composition:
    """Return the composition of counted events, or what they cost at least (covers are not looked at)."""
    total = Total(least=least)
    for event, count in items:
        total.add(event, count)
    return total.composition()


def group_compositions(events: Sequence[Event], k: int) -> list[Composition] | None:
    """Return compositions for the k worst units of every event; None if only chains apply.

    Of k units on Poisson samples some may be in one dataset alone and the others in the other alone: one
    total for each number of them, of which the worst counts; last the one where all are in one dataset.
    """
    sampled = any(part.name == ev.PoissonSubsampled.name for event in events for part in walk(event))
    totals = [_of_group(events, k, there) for there in (range((k + 1) // 2, k + 1) if sampled else [k])]
    known = [total for total in totals if total is not None]
    return known if len(known) == len(totals) else None


def _of_group(events: Sequence[Event], k: int, there: int) -> Composition | None:
    total = Total()
    return total.composition() if all(_add_group(total, event, k, there, 1) for event in events) else None


def _add_group(total: Total, event: Event, k: int, there: int, count: int) -> bool:
    """Add what an event costs k units; return whether more than a chain is known."""
    moved, known = event.moved_by_group(k), event.bare().for_group(k)
    if moved is not None:
        total.gaussian(*moved, count * event.count)
        return True
    if known is not None:
        total.add(known, count)
        return True
    if isinstance(event, ev.Sequence):
        return all(_add_group(total, part, k, there, count * event.count) for part in event.of)
    once = composition_of([(replace(event, count=1), 1)])
    if not (once.pairs or once.failures or once.upper):  # a sample of all units, or of none
        total.gaussian(k * k * once.mu2[0], k * k * once.mu2[1], count * event.count)
        return True
    alone = isinstance(event, ev.PoissonSubsampled) and k <= MAX_GROUP  # of others only the pair of one unit
    group = once.one_pair.group(there, k - there) if alone and once.one_pair is not None else None
    if group is None:
        return False
    total.pair(group, count * event.count)
    return True


def _gaussian(total: Total, event: GaussianEvent, count: int) -> None:
    total.gaussian(*event.movement(), count)


def _mixture(total: Total, event: ev.GaussianMixture, count: int) -> None:
    from dpaccount.pairs.mixture import MixturePair

    parts = event.parts()
    if len(parts) == 1:
        total.gaussian(parts[0][1] ** 2, parts[0][1] ** 2, count)
    else:
        total.pair(MixturePair(parts), count)


def _laplace(total: Total, event: ev.Laplace, count: int) -> None:
    from dpaccount.pairs.laplace import LaplacePair

    if event.sensitivity:
        total.pair(LaplacePair(event.sensitivity / event.scale), count)


def _discrete_laplace(total: Total, event: ev.DiscreteLaplace, count: int) -> None:
    from dpaccount.pairs.discrete import GeometricPair

    if event.sensitivity:
        total.pair(GeometricPair(event.scale, int(event.sensitivity)), count)


def _discrete_gaussian(total: Total, event: ev.DiscreteGaussian, count: int) -> None:
    from dpaccount.pairs.discrete import DiscreteGaussianPair

    if event.sensitivity and event.dimension == 1:
        total.pair(DiscreteGaussianPair(event.sigma, int(event.sensitivity)), count)
    elif event.sensitivity:  # in several dimensions no worst pair is known, but zCDP is proved
        total.pair(ZcdpBound((event.sensitivity / event.sigma) ** 2 / 2), count)


def _response(total: Total, event: ev.RandomizedResponse | ev.Pure, count: int) -> None:
    """Add the pair of a response; that of two answers dominates every ε-DP mechanism."""
    from dpaccount.pairs.discrete import ResponsePair

    if event.epsilon:
        answers = event.k if isinstance(event, ev.RandomizedResponse) else 2
        total.pair(ResponsePair(event.epsilon, answers), count)


def _range(total: Total, event: ev.BoundedRange | ev.Exponential, count: int) -> None:
    """Add bounded range, which the exponential mechanism has."""
    eta = getattr(event, event.grows)
    if eta:
        total.pair(RangeBound(eta), count)


def _permute_and_flip(total: Total, event: ev.PermuteAndFlip, count: int) -> None:
    """Add the Laplace pair of the same ε, which one release attains point by point (docs/numerics.md)."""
    from dpaccount.pairs.laplace import LaplacePair

    if event.epsilon:
        total.pair(LaplacePair(event.epsilon), count)
        total.attained(Attained.ALONE)


def _approximate(total: Total, event: ev.Approximate, count: int) -> None:
    """Add what dominates (ε, δ)-DP: a failure of probability δ, else the ε-DP pair.

    Kairouz, Oh & Viswanath 2015.
    """
    from dpaccount.pairs.discrete import ResponsePair

    if event.epsilon:
        total.pair(ResponsePair(event.epsilon), count)
    if event.delta:
        total.failures[event.delta] += count


def _shuffled(total: Total, event: ev.Shuffled, count: int) -> None:
    """Add the pair of a report among clones; that of the randomiser for one report, or where no clone is."""
    from dpaccount.pairs.discrete import ResponsePair
    from dpaccount.pairs.shuffled import ShuffledPair

    users, epsilon = event.population, event.epsilon
    if epsilon:
        hidden = users > 1 and epsilon <= MOST_HIDDEN
        total.pair(ShuffledPair(users, epsilon) if hidden else ResponsePair(epsilon), count)
        total.attained(Attained.NEVER if users > 1 else Attained.ALWAYS)


def _responses(total: Total, event: ev.ShuffledResponse, count: int) -> None:
    """Add a bound for any data of others, or the pair of alike ones: of two values, that of an allocation."""
    from dpaccount.numerics.responses import LOSSES, MOST_REPORTS, MOST_VALUES
    from dpaccount.pairs.allocated import AllocatedResponse
    from dpaccount.pairs.shuffled import ShuffledResponses

    users, epsilon, values = event.population, event.epsilon, event.categories
    alike = isinstance(event, AlikeResponse) and users <= MOST_REPORTS
    if users == 1 or epsilon == 0:
        _response(total, ev.RandomizedResponse(epsilon=epsilon, k=values), count)
    elif not LOSSES[0] <= epsilon <= LOSSES[1] or values > MOST_VALUES:
        _shuffled(total, event, count)
    elif alike and values == 2:
        total.pair(AllocatedResponse(users, epsilon), count)
    else:
        total.pair(ShuffledResponses(users, epsilon, values, alike), count)
        total.attained(Attained.ALWAYS if alike else Attained.NEVER)


def _given_pair(total: Total, event: ev.DominatingPair, count: int) -> None:
    from dpaccount.pairs.table import TablePair

    if event.p != event.q:
        total.pair(TablePair(event.p, event.q), count)


def _zcdp(total: Total, event: ev.Zcdp, count: int) -> None:
    if event.rho:
        total.pair(ZcdpBound(event.rho, event.xi), count)
    elif event.xi:  # all D_α are at most ξ, and so is D_∞
        _response(total, ev.Pure(epsilon=event.xi), count)
        total.attained(Attained.NEVER)


def _rdp(total: Total, event: ev.Rdp, count: int) -> None:
    total.pair(RdpBound(event.points), count)


def _poisson(total: Total, event: ev.PoissonSubsampled, count: int) -> None:
    from dpaccount.pairs.poisson import on_sample

    inner = composition_of([(event.of, 1)])
    if event.rate == 0 or inner.empty:
        return
    if event.rate == 1:
        total.add(event.of, count)
        return
    total.pair(on_sample(_sampled(total, inner), event.rate), count)


def _examples(total: Total, event: ev.PoissonExamples, count: int) -> None:
    """Add the mixture of Gaussians that a unit's examples make, all of them in one dataset.

    A group with none on the other side (docs/numerics.md, "Groups on Poisson samples", where vectors may be
    0: fewer examples cost no more; Charles et al. 2024, arXiv 2407.07737: example-level sampling).
    """
    from dpaccount.pairs.poisson import SampledGaussian, SampledGroup

    mu2, held = composition_of([(event.of, 1)]).mu2[1], event.examples
    if event.rate == 0 or mu2 == 0:
        return
    if event.rate == 1:
        total.gaussian(held**2 * mu2, held**2 * mu2, count)
    elif held == 1:
        total.pair(SampledGaussian(event.rate, mu2), count)
    else:
        total.pair(SampledGroup(event.rate, mu2, held, 0), count)


def _banded(total: Total, event: ev.BandedPoisson, count: int) -> None:
    """Add a sample of Gaussian noise for each round that may hold the unit."""
    from dpaccount.pairs.poisson import SampledGaussian

    squares, attained = event.squares()
    total.attained(Attained.ALWAYS if attained else Attained.NEVER)
    for mu2, times in squares.items():
        if event.rate == 1:
            total.gaussian(mu2, mu2, count * times)
        elif event.rate and mu2:
            total.pair(SampledGaussian(event.rate, mu2), count * times)


def _sampled(total: Total, inner: Composition) -> Composition:
    """Return the sampled composition; a sample of an upper bound is an upper bound."""
    if inner.attainment is not Attained.ALWAYS:
        total.attained(Attained.NEVER)
    return replace(inner, attainment=Attained.ALWAYS)


def _replaced(total: Total, event: ev.PoissonReplaced, count: int) -> None:
    """Add the pair of a row that is replaced in a Poisson sample."""
    from dpaccount.pairs.replaced import ReplacedGaussian, replaced

    inner = composition_of([(event.of, 1)])
    if event.rate == 0 or inner.empty:
        return
    if event.rate == 1:
        twice = event.of.for_group(2)
        if twice is None:
            raise InputError(f"{event.name}: no bound is known for {event.of.name} where a row is replaced")
        total.add(twice, count)
        return
    inner = _sampled(total, inner)
    if inner.pairs:
        total.pair(replaced(inner.pairs[0][0], event.rate), count)
    else:
        total.pair(ReplacedGaussian(event.rate, inner.mu2[1]), count)


def _truncated(total: Total, event: ev.TruncatedPoisson, count: int) -> None:
    """Add both cases of a truncated sample, as seen; the plain sample where it is never cut."""
    from dpaccount.pairs import poisson, replaced, truncated

    both = isinstance(event, ev.TruncatedReplaced)
    mu2, sample = composition_of([(event.of, 1)]).mu2[1], (event.population, event.rate, event.batch)
    if event.batch == event.population:
        plain = ev.PoissonReplaced if both else ev.PoissonSubsampled
        total.add(plain(rate=event.rate, of=event.of), count)
    elif event.rate and mu2:
        pair = replaced.ReplacedGaussian if both else poisson.SampledGaussian
        drawn = min(event.rate, ceil_of(truncation(*sample, 256)[2]))
        rate = drawn if event.rate == 1 else event.rate  # at rate 1 there is but the second case
        total.pair(truncated.TruncatedPair(sample, (pair(rate, mu2), pair(drawn, 4 * mu2))), count)
        total.attained(Attained.NEVER)


def _without_replacement(total: Total, event: ev.SampledWithoutReplacement, count: int) -> None:
    from dpaccount.pairs.without_replacement import WithoutReplacement

    inner = composition_of([(event.of, 1)])
    if event.size == event.population:
        total.add(event.of, count)
    elif not inner.empty:
        total.pair(WithoutReplacement(Fraction(event.size, event.population), inner), count)


def _allocated(total: Total, event: ev.RandomAllocation, count: int) -> None:
    """Add the steps, or for several times a block of them for each (docs/numerics.md)."""
    from dpaccount.pairs.allocated import AllocatedGaussian, AllocatedResponse, AllocatedScores

    inner, steps, times = composition_of([(event.of, 1)]), event.steps, event.times
    pure = event.of.epsilon if isinstance(event.of, ev.Pure) else None
    if inner.empty or steps == times:
        total.add(event.of, count * times)
    elif pure and (times == 1 or steps * times <= MAX_LISTED):
        total.pair(AllocatedResponse(steps, pure, times), count)
    elif total.least and times > 1 and not pure:
        total.pair(AllocatedScores(steps, times, inner.mu2[0]), count)
    else:
        total.attained(Attained.ALWAYS if times == 1 else Attained.NEVER)
        size, longer = divmod(steps, times)
        for block, blocks in ((size, times - longer), (size + 1, longer))[: 1 + bool(longer)]:
            if block == 1:
                total.add(event.of, count * blocks)
            else:
                pair = AllocatedResponse(block, pure) if pure else AllocatedGaussian(block, inner.mu2[1])
                total.pair(pair, count * blocks)


def _repeated(total: Total, event: ev.Repeated, count: int) -> None:
    from dpaccount.pairs.repeated import RepeatedPair

    inner = composition_of([(event.of, 1)])
    if not inner.empty:
        total.pair(RepeatedPair(inner, event.shape, event.gamma, event.mean), count)


def _balls_in_bins(total: Total, event: ev.BallsInBins, count: int) -> None:
    """Add an allocation to bins that share no row, or at least one to all of them (docs/numerics.md)."""
    from dpaccount.pairs.allocated import AllocatedGaussian

    steps, (low, high) = event.steps(), event.squares()
    if total.least:
        steps, high = event.bins, low
    elif (steps, low) != (event.bins, high):
        total.attained(Attained.NEVER)
    if steps == 1:
        total.gaussian(high, high, count)
    elif high:
        total.pair(AllocatedGaussian(steps, high), count)


def _sequence(total: Total, event: ev.Sequence, count: int) -> None:
    for part in event.of:
        total.add(part, count)


# A table and not a chain of conditions: an event that is not in it raises, and is never counted as nothing.
_ADD: dict[type[Event], Callable[[Total, Any, int], None]] = {
    ev.Gaussian: _gaussian,
    ev.Gdp: _gaussian,
    ev.Tree: _gaussian,
    ev.MatrixFactorisation: _gaussian,
    ev.DpFtrl: _gaussian,
    ev.BandedPoisson: _banded,
    ev.GaussianMixture: _mixture,
    ev.Laplace: _laplace,
    ev.DiscreteLaplace: _discrete_laplace,
    ev.DiscreteGaussian: _discrete_gaussian,
    ev.RandomizedResponse: _response,
    ev.Exponential: _range,
    ev.BoundedRange: _range,
    ev.PermuteAndFlip: _permute_and_flip,
    ev.Pure: _response,
    ev.Approximate: _approximate,
    ev.DominatingPair: _given_pair,
    ev.Shuffled: _shuffled,
    ev.ShuffledResponse: _responses,
    AlikeResponse: _responses,
    ev.Zcdp: _zcdp,
    ev.Rdp: _rdp,
    ev.PoissonSubsampled: _poisson,
    ev.PoissonExamples: _examples,
    ev.PoissonReplaced: _replaced,
    ev.TruncatedPoisson: _truncated,
    ev.TruncatedReplaced: _truncated,
    ev.SampledWithoutReplacement: _without_replacement,
    ev.RandomAllocation: _allocated,
    ev.BallsInBins: _balls_in_bins,
    ev.Repeated: _repeated,
    ev.Sequence: _sequence,
}
