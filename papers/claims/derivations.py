"""Derivations of verdicts: what is proved, and what is refuted, by the kernel's own rules.

A refutation is a derivation too: two neighbours, or one event and its probabilities under both, and the
rule that concludes that (ε, δ) does not hold.  Numbers go in as short fractions, rounded to the side that
makes the statement weaker: noise up and distances down where something is refuted, noise down and
distances up where something is proved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from dpaccount.errors import RuleError
from dpaccount.exact import Enclosure
from dpaccount.numerics.intervals import accurate, ball, ceil_of, floor_of
from dpaccount.proof import (
    CENTRAL,
    REPLACE_ONE,
    Theorem,
    apart,
    assume_covers,
    assume_event,
    assume_neighbours,
    refute,
    to_approximate,
)
from dpaccount.proof.search import approximate

FRACTION_BITS = 64  #: of short fractions
TINY = Fraction(1, 2**2880)  #: rarer events are stated as rare as this: derivations hold no longer numbers
ONE_RELEASE = [(1, 1)]


def short_below(value: Fraction) -> Fraction:
    """Return a fraction of 64 bits just below a positive one."""
    shift = value.denominator.bit_length() - value.numerator.bit_length() + FRACTION_BITS
    scale = Fraction(2) ** shift
    return Fraction(int(value * scale)) / scale


def short_above(value: Fraction) -> Fraction:
    """Return a number that is short already, else a fraction of 64 bits just above a positive one."""
    return value if value.denominator.bit_length() <= FRACTION_BITS else 1 / short_below(1 / value)


def settled(theorem: Theorem, epsilon: Fraction, delta: Fraction) -> Theorem:
    """Return the theorem at the least ε that is proved at δ, or at the claimed ε if that is less."""
    try:
        point = approximate(theorem, delta)
    except RuleError:  # no ε on its grid: the claimed one may still do
        return to_approximate(theorem, epsilon, delta)
    proved = point.conclusion.curve.epsilon  # type: ignore[union-attr]
    return point if proved <= epsilon else to_approximate(theorem, epsilon, delta)


# ------------------------------------------------------------------ refutations


def noisy_pair(
    kind: str,
    pair: tuple[Sequence[Fraction], Sequence[Fraction]],
    covers: Theorem | None,
    law: tuple[str, Fraction],
    point: tuple[Fraction, Fraction],
    because: str,
    observer: str = CENTRAL,
) -> Theorem:
    """Refute (ε, δ) = `point` by two records and the noise (`law`, scale) on the releases that read them."""
    query = "released" if covers is None else covers.conclusion.query  # type: ignore[union-attr]
    neighbours = assume_neighbours(query, kind, *pair, REPLACE_ONE, because, observer)
    readers = covers or assume_covers(query, ONE_RELEASE, "one release")
    return refute(apart(neighbours, readers, *law), *point)


@dataclass(frozen=True)
class LikelyEvent:
    """At least `least` of `trials` independent trials succeed, each with a probability of a known law.

    `numbers` holds the law's number in the first and in the second world: ``certain`` (none; 1 against
    0), ``logistic`` (log-odds), ``normal`` (a of Φ(a)), ``laplace`` (a of P(noise ≥ a), scale 1), or for
    ``chi-square`` the degrees k and an edge x: P(χ²_k > x/2), a little less of it, against P(χ²_k > x).
    """

    law: str
    numbers: tuple[Fraction, ...] = ()
    trials: int = 1
    least: int = 1

    def as_json(self) -> dict[str, Any]:
        """Return the event as a witness holds it."""
        numbers = [str(number) for number in self.numbers]
        return {"law": self.law, "numbers": numbers, "trials": self.trials, "least": self.least}

    def probabilities(self) -> tuple[Fraction, Fraction]:
        """Return a lower bound in the first world and an upper bound in the second."""
        if self.law == "certain":
            return Fraction(1), Fraction(0)
        likely, rarely = accurate(lambda: self._tail(0), 100), accurate(lambda: self._tail(1), 100)
        return short_below(floor_of(likely)), short_above(max(TINY, ceil_of(rarely)))

    def _tail(self, world: int) -> arb:
        one = self._one(world)
        term, total = one**self.trials, arb(0)
        for k in range(self.trials, self.least - 1, -1):
            total += term
            term = term * k / (self.trials - k + 1) * (1 - one) / one
        return total

    def _one(self, world: int) -> arb:
        if self.law == "chi-square":
            degrees, edge = (ball(number) for number in self.numbers)
            tail = (edge / (4 if world == 0 else 2)).gamma_upper(degrees / 2, regularized=1)
            # the pair of variances 2 and 1 is a limit: nearby ones reach all but a little of it
            return tail * ball(1 - Fraction(1, 10**9)) if world == 0 else tail
        at = ball(self.numbers[world])
        match self.law:
            case "logistic":
                return 1 / (1 + (-at).exp())
            case "normal":
                return (-at / arb(2).sqrt()).erfc() / 2
            case _:
                return (-at).exp() / 2 if self.numbers[world] >= 0 else 1 - at.exp() / 2


def telling_event(
    query: str, event: LikelyEvent, point: tuple[Fraction, Fraction], because: str, observer: str = CENTRAL
) -> Theorem:
    """Refute (ε, δ) = `point` by an event."""
    return refute(assume_event(query, *event.probabilities(), REPLACE_ONE, because, observer), *point)


def lower(value: Enclosure) -> Fraction:
    """Return a short number just below an enclosure of a positive one."""
    return short_below(Fraction(value.lower or 0)) if value.lower else Fraction(0)


def upper(value: Enclosure) -> Fraction:
    """Return a short number just above an enclosure of a positive one."""
    return short_above(Fraction(value.upper))
