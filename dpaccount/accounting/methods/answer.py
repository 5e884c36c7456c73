"""The two questions, ε at a δ and δ at an ε; their answers, and how two bounds on one number intersect."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from dpaccount.errors import NumericsError
from dpaccount.exact import Enclosure, Number, printed
from dpaccount.numerics.closed import renyi
from dpaccount.numerics.fourier.contours import Product, estimate_delta
from dpaccount.numerics.intervals import NotFinite, ceil_of, floor_of, log_float
from dpaccount.numerics.work_budget import unlimited
from dpaccount.pairs.composition import Composition

INFINITE = Enclosure(math.inf, math.inf)
NOTHING = Enclosure(Fraction(0), Fraction(0))


#: What methods raise at magnitudes out of their reach, and never what a bug raises: a ValueError, an
#: IndexError, or that two methods disagree.
UNREACHED = (ArithmeticError, MemoryError, NotFinite)


@dataclass(frozen=True)
class EpsilonAt:
    """The question for ε(`at`), within gap·max(1, ε) where a method can and ε may exceed `least`."""

    at: Fraction
    gap: Fraction
    least: Number = Fraction(0)

    def is_close(self, low: Fraction, high: Fraction) -> bool:
        """Return whether these ends are close enough."""
        return high - low <= self.gap * max(Fraction(1), high)

    def enclosure(self, low: Fraction | None, high: Fraction | None) -> Enclosure:
        """Return the enclosure; None above means infinite."""
        return Enclosure(low, math.inf if high is None else high)

    def log_delta(self, product: Product) -> float:
        """Return log δ."""
        return log_float(self.at)

    def renyi(self, bound: renyi.Bound, orders: Iterable[Fraction] = ()) -> Fraction | None:
        """Return a bound by the best order, of those that are given."""
        return renyi.epsilon(bound, self.at, orders)


@dataclass(frozen=True)
class DeltaAt:
    """The question for δ(`at`), within gap·δ where a method can."""

    at: Fraction
    gap: Fraction

    def is_close(self, low: Fraction, high: Fraction) -> bool:
        """Return whether these ends are close enough."""
        return high - low <= self.gap * high

    def enclosure(self, low: Fraction, high: Fraction) -> Enclosure:
        """Return the enclosure, cut to [0, 1]."""
        return Enclosure(max(Fraction(0), low), min(Fraction(1), high))

    def log_delta(self, product: Product) -> float:
        """Return a float a little below log δ(at)."""
        return estimate_delta(product, float(self.at)).log_delta - 0.01

    def renyi(self, bound: renyi.Bound, orders: Iterable[Fraction] = ()) -> Fraction | None:
        """Return a bound by the best order, of those that are given."""
        return renyi.delta(bound, self.at, orders)


Question = EpsilonAt | DeltaAt


def unit_ends(value: arb) -> Enclosure:
    """Return a ball as an enclosure within [0, 1]."""
    return Enclosure(max(Fraction(0), floor_of(value)), min(Fraction(1), ceil_of(value)))


@dataclass(frozen=True)
class Answer:
    """An enclosure and the method that proved it."""

    bounds: Enclosure
    method: str


def intersect_upper(answer: Answer, above: Number | None) -> Answer:
    """Return the answer, intersected with an upper bound found another way; both must be able to hold."""
    bounds = answer.bounds
    if above is None or above >= bounds.upper:
        return answer
    if bounds.lower is not None and above < bounds.lower:
        raise _disjoint(f"an upper bound of {printed(above, up=True)} lies below", answer)
    return Answer(Enclosure(bounds.lower, above), answer.method)


def intersect_lower(answer: Answer, least: Number | None) -> Answer:
    """Return the answer, its lower end at least a bound found another way; both must be able to hold."""
    bounds = answer.bounds
    if least is None or bounds.lower is None or least <= bounds.lower:
        return answer
    if least > bounds.upper:
        raise _disjoint(f"a lower bound of {printed(least, up=False)} lies above", answer)
    return Answer(Enclosure(least, bounds.upper), answer.method)


def _disjoint(found: str, answer: Answer) -> NumericsError:
    return NumericsError(
        f"{found} the enclosure {answer.bounds.as_json()} by {answer.method}; they must intersect"
    )


def intersect_largest_loss(total: Composition, answer: Answer) -> Answer:
    """Return the answer on ε, its upper end at most the largest loss there is, which is always found."""
    with unlimited():
        most = total.ceiling()
    if most is None or ceil_of(most) >= answer.bounds.upper:
        return answer
    method = "largest loss" if answer.bounds.upper == math.inf else answer.method
    return Answer(Enclosure(answer.bounds.lower, ceil_of(most)), method)


def largest_answer(answers: list[Answer]) -> Answer:
    """Return the worst of several answers, its lower end the largest of theirs."""
    worst = max(answers, key=lambda answer: answer.bounds.upper)
    lowers = [answer.bounds.lower for answer in answers if answer.bounds.lower is not None]
    return Answer(Enclosure(max(lowers) if lowers else None, worst.bounds.upper), worst.method)
