"""Answers of an accountant that grows: ε after a further step by the nodes of that step alone."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction

from dpaccount.accounting.methods.answer import UNREACHED
from dpaccount.exact import Enclosure
from dpaccount.numerics.bisection import Ends
from dpaccount.numerics.fourier.contours import Product, estimate_epsilon
from dpaccount.numerics.fourier.growing import ROOM, GrowingBound, GrowingInversion, growing, growing_bound
from dpaccount.numerics.intervals import log_float
from dpaccount.numerics.work_budget import METHOD, granted, kept, limited
from dpaccount.pairs.composition import Attained, Composition
from dpaccount.pairs.of_events import composition_of
from dpaccount.plan.event_base import Event
from dpaccount.precision import certified

WAIT = 1.25  #: times the releases after which a contour is sought again where there was none
Way = GrowingInversion | GrowingBound
Question = tuple[Fraction, Fraction]  #: δ, and the gap
FEW_NODES, LITTLE_ROOM = 1000, 1.4  #: beyond, new contours are sought sooner
MOST_KEPT = 8  #: questions whose contours are kept


@dataclass(frozen=True)
class _Contours:
    """The sums of both directions: of the first `done` steps, chosen after `begun` releases."""

    begun: int
    done: int
    ways: list[Way]

    @property
    def few_nodes(self) -> bool:
        """Return whether a further step is cheap, so that new contours can wait."""
        return all(len(way.values) <= FEW_NODES for way in self.ways if isinstance(way, GrowingInversion))


@dataclass
class _Memory:
    """What the questions to one accountant keep, of steps that all later ones begin with."""

    kept: dict[Question, _Contours] = field(default_factory=dict)
    failed: int = 0  #: with so many releases there was no contour


@dataclass(frozen=True)
class Growing:
    """The steps of an accountant at one moment, which others may follow in a new one (`grown`)."""

    steps: tuple[tuple[Event, int], ...] = ()
    even: bool = True  #: whether every unit pays for every step, and as much as the worst one
    attained: bool = True  #: whether some releases cost as much as the pairs say
    memory: _Memory = field(default_factory=_Memory)

    def grown(self, events: Iterable[Event]) -> "Growing":
        """Return the steps with further ones, and the same memory."""
        pieces = [(event, piece) for event in events for piece in event.pieces()]
        steps = (*self.steps, *((kind, times) for _, (_, times, kind) in pieces))
        bounds = [kind for _, (_, _, kind) in pieces if not _attained(kind)]
        # What such an event costs at least is another composition.
        even = all(cover is None and not event.uneven for event, (cover, _, _) in pieces)
        even = even and not any(composition_of([(kind, 1)], least=True).attained for kind in bounds)
        return Growing(steps, self.even and even, self.attained and not bounds, self.memory)

    @property
    def released(self) -> int:
        """Return the number of releases."""
        return sum(times * kind.count for kind, times in self.steps)

    @certified
    def epsilon(self, target: Fraction, gap: Fraction) -> Enclosure | None:
        """Return ε(target) within gap·max(1, ε), 0 < target < 1; None where that takes another method."""
        question, close = (target, gap), None
        if not self.even:
            return None
        with suppress(*UNREACHED), limited(granted(METHOD)):
            close = self._by_kept(question)
        if close is None and self.released >= WAIT * self.memory.failed:
            with suppress(*UNREACHED), limited(granted(METHOD)):
                close = self._begun(question)
            self.memory.failed = 0 if close else self.released
        return close and Enclosure(close[0] if self.attained else None, close[1])

    def _by_kept(self, question: Question) -> Ends | None:
        """Return the answer on the contours that are kept, where that is close."""
        kept = self.memory.kept.pop(question, None)
        if (
            kept is None
            or kept.done > len(self.steps)
            or self.released >= kept.begun * (ROOM if kept.few_nodes else LITTLE_ROOM)
        ):
            return None
        more = _both(composition_of(self.steps[kept.done :]))
        if more is None:
            return None
        for way, product in zip(kept.ways, more, strict=True):
            way.multiply(product)
        return self._closest(question, kept.begun, kept.ways)

    def _begun(self, question: Question) -> Ends | None:
        """Return the answer on new contours: one alone, where a bound shows that the other way costs less."""
        products = _both(composition_of(self.steps))
        if products is None:
            return None
        log_target, width = log_float(question[0]), float(question[1])
        costs = [estimate_epsilon(product, log_target).epsilon for product in products]
        worse = costs.index(max(costs))
        close, rest = growing(products[worse], log_target, width), products[1 - worse]
        for begin in (growing_bound, growing):
            other = close and begin(rest, log_target, width)
            if close is None or other is None:
                return None
            ways = [close, other] if worse == 0 else [other, close]
            found = self._closest(question, self.released, ways)
            if found is not None:
                return found
        return None

    def _closest(self, question: Question, begun: int, ways: "list[Way]") -> Ends | None:
        """Return the answer of the worse direction, and keep what gave it, where it is close."""
        target, gap = question
        ends = [way.epsilon(target, gap * 2 / 3) for way in ways if isinstance(way, GrowingInversion)]
        low, high = max(low for low, _ in ends), max(high for _, high in ends)
        bounds = (way.within(target, low) for way in ways if isinstance(way, GrowingBound))
        if high - low > gap * max(Fraction(1), low) or not all(bounds):
            return None
        self.memory.kept[question] = _Contours(begun, len(self.steps), ways)
        while len(self.memory.kept) > MOST_KEPT:
            self.memory.kept.pop(next(iter(self.memory.kept)), None)
        return low, high


@kept(256)
def _attained(event: Event) -> bool:
    return composition_of([(event, 1)]).attainment == Attained.ALWAYS


def _both(total: Composition) -> list[Product] | None:
    """Return the transforms of both directions; None where there is none."""
    if not total.pairs or total.upper or total.failures:
        return None
    products = [way.transform(summed=True) for way in (total, total.reversed())]
    known = [product for product in products if product is not None and not product.fails]
    return known if len(known) == 2 else None
