"""Events on a random sample of the units."""

from dataclasses import replace
from fractions import Fraction

from dpaccount.errors import InputError
from dpaccount.plan.event_base import Event, OnSample, Real, event_kind


@event_kind
class PoissonSubsampled(OnSample):
    """`of`, run on a fresh Poisson sample of rate `rate` (add-remove only).

    `sensitivity` in `of` is how far one unit moves the value when it is in the sample.
    """

    name = "poisson_subsampled"
    rate: Real
    of: Event

    @property
    def fraction(self) -> Fraction:
        """Return the rate."""
        return self.rate


HOLD = "whoever may be drawn pays, so it must hold them all"  #: why a cover has a least size


@event_kind
class SampledWithoutReplacement(OnSample):
    """`of`, run on a fresh sample of `size` out of `population` (replace-one only).

    A cover must hold the whole population: whoever may be drawn pays.
    """

    name = "sampled_without_replacement"
    size: int
    population: int
    of: Event

    def _check(self) -> None:
        if self.size > self.population:
            raise InputError(f"{self.name}: size exceeds population; use 1 <= size <= population")
        if self.cover is not None and self.cover[1] - self.cover[0] + 1 < self.population:
            raise InputError(f"{self.name}: the cover holds fewer units than the population; {HOLD}")
        super()._check()

    def covering(self, first: int, last: int) -> "Event":
        """Return this event on units first … last, which must hold its population."""
        return replace(self, cover=(first, last))

    @property
    def fraction(self) -> Fraction:
        """Return the part of the population that is drawn."""
        return Fraction(self.size, self.population)
