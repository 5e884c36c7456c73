"""Events on a random sample of the units."""

from fractions import Fraction

from dpaccount.errors import InputError
from dpaccount.numerics.closed.sampling import replaced_loss
from dpaccount.plan.event_base import Amount, Event, OnSample, Real, event_kind, walk


@event_kind
class PoissonSubsampled(OnSample):
    """`of`, run on a fresh Poisson sample of rate `rate`, one unit more or less (add-remove only).

    `sensitivity` in `of` is how far one unit moves the value when it is in the sample.
    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "poisson_subsampled"
    group_attained = True  # where more than a chain is known: of Gaussian noise
    rate: Real
    of: Event

    @property
    def fraction(self) -> Fraction:
        """Return the rate."""
        return self.rate


MOST_EXAMPLES = 256  #: of a unit: costs are those of a mixture of so many Gaussians


@event_kind
class PoissonExamples(OnSample):
    """`of`, run on a fresh Poisson sample of rate `rate` from examples, at most `examples` of them a unit's.

    Each example is drawn by itself; one unit more or less has all its examples there or none
    (add-remove only).  `of` is Gaussian noise; `sensitivity` in it is how far one example that is drawn
    moves the value.
    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "poisson_examples"
    rate: Real
    examples: int
    of: Event

    def _check(self) -> None:
        super()._check()
        self._known(("gaussian", "gdp", "sequence"))
        if self.examples > MOST_EXAMPLES:
            known = f"at most {MOST_EXAMPLES} are counted; bound what a unit holds, or sample whole units"
            raise InputError(f"{self.examples} examples of a unit are too many", known, self.name)

    @property
    def fraction(self) -> Fraction:
        """Return how likely some example of a unit is drawn."""
        return 1 - (1 - self.rate) ** self.examples

    def whole(self) -> Event | None:
        """Return the event for a unit all of whose examples are drawn."""
        return self.of.for_group(self.examples)


@event_kind
class PoissonReplaced(OnSample):
    """`of`, run on a fresh Poisson sample of rate `rate`, where one unit's data changes (replace-one only).

    `sensitivity` in `of` is how far one unit moves the value when it is in the sample, against a sample
    without it: a unit that changes moves it by up to twice as far.  `of` is noise alone: Gaussian, Laplace,
    discrete Laplace, pure or permute-and-flip once, or any number of Gaussian ones.
    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "poisson_replaced"
    rate: Real
    of: Event

    def _check(self) -> None:
        super()._check()
        parts = self._known(BELOW)
        if (len(parts) > 1 or self.of.count > 1) and not all(part.gaussian for part in parts):
            raise InputError(
                "several releases on one sample are known for Gaussian noise only",
                "release each on a sample of its own",
                self.name,
            )

    @property
    def fraction(self) -> Fraction:
        """Return the rate."""
        return self.rate

    def _pure(self) -> Amount:
        """Return ln((1 − q + qe^ε)/(1 − q + qe^−ε)), rounded up (docs/numerics.md)."""
        inner = self.of.pure() if self.rate else Fraction(0)
        return None if inner is None else replaced_loss(inner, self.rate)

    def whole(self) -> Event | None:
        """Return the event for a group of two: one row is removed and another added."""
        return self.of.for_group(2)


#: What `PoissonReplaced` may run.
BELOW = ("gaussian", "gdp", "laplace", "discrete_laplace", "pure", "permute_and_flip", "sequence")


@event_kind
class SampledWithoutReplacement(OnSample):
    """`of`, run on a fresh sample of `size` out of `population` (replace-one only).

    It is run `count` times on the units of `cover`, the first and the last (None: all).  A
    cover must hold the whole `population`: every unit that may be drawn pays.  A population in `of` is
    of the sample: at most `size`.
    """

    name = "sampled_without_replacement"
    size: int
    population: int
    of: Event

    def _check(self) -> None:
        if self.size > self.population:
            raise InputError("size exceeds population", "use 1 <= size <= population", self.name)
        if self.size < max(getattr(part, "population", 0) for part in walk(self.of)):
            wrong, right = "the sample holds fewer units than a population in `of`", "it is at most `size`"
            raise InputError(wrong, right, self.name)
        super()._check()

    @property
    def fraction(self) -> Fraction:
        """Return the part of the population that is drawn."""
        return Fraction(self.size, self.population)


@event_kind
class RandomAllocation(OnSample):
    """`of`, run in each of `steps` steps, of which every unit takes part in `times`, drawn uniformly.

    Units draw their steps independently; `count` is the number of independent epochs, `cover` the first
    and the last unit, None: all (add-remove only).
    `of` is Gaussian noise, or `pure` once; `sensitivity` in it is how far a unit moves the value of a step
    that holds it.
    For `times` > 1 an upper bound is known: as many epochs of ⌊steps/times⌋ steps (docs/numerics.md).
    """

    name = "random_allocation"
    steps: int
    times: int = 1
    of: Event

    def _check(self) -> None:
        super()._check()
        if self.times > self.steps:
            raise InputError("times exceeds steps", "a unit takes part at most once in a step", self.name)
        parts = self._known(ALLOCATED)
        if (len(parts) > 1 or self.of.count > 1) and not all(part.gaussian for part in parts[1:] or parts):
            raise InputError(
                "several releases in one step are known for Gaussian noise only",
                "give one release of pure, or Gaussian ones",
                self.name,
            )

    @property
    def fraction(self) -> Fraction:
        """Return 1: every unit takes part."""
        return Fraction(1)

    def whole(self) -> Event:
        """Return the event for a unit whose steps are known: mixtures over them cost no more."""
        return self.of * self.times

    def _pure(self) -> Amount:
        return self.whole().pure()


#: What `RandomAllocation` may run.
ALLOCATED = ("gaussian", "gdp", "pure", "sequence")
