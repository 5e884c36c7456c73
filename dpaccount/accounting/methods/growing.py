"""Answers of an accountant that grows: ε after a further step by the nodes of that step alone."""

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from dpaccount.accounting.methods.answer import UNREACHED
from dpaccount.exact import Enclosure
from dpaccount.numerics.bisection import Ends
from dpaccount.numerics.fourier.contours import Product, estimate_epsilon
from dpaccount.numerics.fourier.growing import ROOM, GrowingBound, GrowingInversion, growing, growing_bound
from dpaccount.numerics.intervals import log_float
from dpaccount.numerics.work_budget import METHOD, granted, limited
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
    """What is known of each direction: of `done` steps, begun after so many releases."""

    begun: int
    done: int
    ways: list[Way]

    @property
    def few_nodes(self) -> bool:
        """Return whether a further step costs little beside new contours, which have fewer nodes."""
        return all(len(way.values) <= FEW_NODES for way in self.ways if isinstance(way, GrowingInversion))


class Growing:
    """The steps of an accountant, and for each question inversions of the first of them, one a direction."""

    def __init__(self) -> None:
        self._steps: list[tuple[Event, int]] = []
        self._released = 0
        self._even = True  #: whether every unit pays for every step
        self._kept: dict[Question, _Contours] = {}
        self._failed = 0  #: with so many releases there was no contour

    def add(self, event: Event) -> None:
        """Count a further event."""
        pieces = event.pieces()
        self._even &= not event.uneven and all(cover is None for cover, _, _ in pieces)
        self._steps += [(kind, times) for _, times, kind in pieces]
        self._released += sum(times * kind.count for _, times, kind in pieces)

    @certified
    def epsilon(self, target: Fraction, gap: Fraction) -> Enclosure | None:
        """Return ε(target) within gap·max(1, ε), 0 < target < 1; None where that takes another method."""
        question, close = (target, gap), None
        if not self._even:
            return None
        with suppress(*UNREACHED), limited(granted(METHOD)):
            close = self._by_kept(question)
        if close is None and self._released >= WAIT * self._failed:
            self._kept.pop(question, None)
            with suppress(*UNREACHED), limited(granted(METHOD)):
                close = self._begun(question)
            self._failed = 0 if close else self._released
        return close and Enclosure(*close)

    def _by_kept(self, question: Question) -> Ends | None:
        """Return the answer on the contours that are kept, where that is close."""
        kept = self._kept.pop(question, None)
        if kept is None or self._released >= kept.begun * (ROOM if kept.few_nodes else LITTLE_ROOM):
            return None
        more = _both(composition_of(self._steps[kept.done :]))
        if more is None:
            return None
        for way, product in zip(kept.ways, more, strict=True):
            way.multiply(product)
        return self._closest(question, kept.begun, kept.ways)

    def _begun(self, question: Question) -> Ends | None:
        """Return the answer on new contours: one alone, where a bound shows that the other way costs less."""
        products = _both(composition_of(self._steps))
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
            found = self._closest(question, self._released, ways)
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
        self._kept[question] = _Contours(begun, len(self._steps), ways)
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return low, high


def _both(total: Composition) -> list[Product] | None:
    """Return the transforms of both directions, of pairs that are attained; None where there is none."""
    if not total.pairs or total.upper or total.failures or total.attainment != Attained.ALWAYS:
        return None
    products = [way.transform(summed=True) for way in (total, total.reversed())]
    known = [product for product in products if product is not None and not product.fails]
    return known if len(known) == 2 else None
