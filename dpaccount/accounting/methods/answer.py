"""An enclosure with the method that proved it, and how two bounds on one number are intersected."""

import math
from dataclasses import dataclass
from fractions import Fraction

from dpaccount.errors import NumericsError
from dpaccount.exact import Enclosure, Number, printed
from dpaccount.numerics.intervals import NotFinite, ceil_of
from dpaccount.numerics.work_budget import unlimited
from dpaccount.pairs.composition import Composition

INFINITE = Enclosure(math.inf, math.inf)
NOTHING = Enclosure(Fraction(0), Fraction(0))


#: What methods raise at magnitudes out of their reach, and never what a bug raises: a ValueError, an
#: IndexError, or that two methods disagree.
UNREACHED = (ArithmeticError, MemoryError, NotFinite)


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


def within_unit(low: Fraction, high: Fraction) -> Enclosure:
    """Return [low, high] cut to [0, 1]."""
    return Enclosure(max(Fraction(0), low), min(Fraction(1), high))
