"""Events on a random sample of the units."""

from collections import Counter
from fractions import Fraction
from typing import Any

from dpaccount.errors import InputError
from dpaccount.numerics.closed import toeplitz
from dpaccount.numerics.closed.sampling import replaced_loss
from dpaccount.plan.event_base import (
    NO_OFFSET,
    ONE,
    Amount,
    Event,
    OnSample,
    Real,
    RealRows,
    Reals,
    event_kind,
    require_nestable,
    walk,
)
from dpaccount.plan.gaussian_events import NONE, listed, read_rows


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
        self._once_or_gaussian(BELOW, "on one sample", "release each on a sample of its own")

    def _pure(self) -> Amount:
        """Return ln((1 − q + qe^ε)/(1 − q + qe^−ε)), rounded up (docs/numerics.md)."""
        inner = self.of.pure() if self.rate else Fraction(0)
        return None if inner is None else replaced_loss(inner, self.rate)

    def whole(self) -> Event | None:
        """Return the event for a group of two: one row is removed and another added."""
        return self.of.for_group(2)


@event_kind
class TruncatedPoisson(OnSample):
    """`of`, run on a fresh Poisson sample cut to `batch` examples, one more or less (add-remove only).

    Each of `population` units, as many as the larger dataset has, is drawn by itself with probability `rate`
    = q; of more than `batch` = B a uniform subset is kept.  `of` is Gaussian noise; `sensitivity` in it is
    how far one unit that is kept moves the value.
    It is run `count` times on the units of `cover`, the first and the last (None: all).

    Let J ~ Bin(`population` − 1, q) others be drawn.  If J < B, the unit joins them with probability q.  Else
    a uniform subset S of B of them is kept, whatever J is; with probability qB/(J + 1) the unit takes the
    place of a uniform member of S, and moves the value twice as far.  Given S, and which case it is, that is
    noise on a Poisson sample, of the mean rate over J in the second case; δ is jointly convex over both
    (Ganesh 2025, arXiv 2508.15089, takes a replaced row there).  The case counts as seen: it may be.
    """

    name = "truncated_poisson"
    rate: Real
    population: int
    batch: int
    of: Event

    def _check(self) -> None:
        super()._check()
        self._known(("gaussian", "gdp", "sequence"))
        if self.batch > self.population:
            wrong = f"{self.population} examples are never more than a batch of {self.batch}"
            raise InputError(wrong, f"give a batch of at most {self.population}", self.name)

    def assumption(self) -> str:
        """Return which datasets are compared."""
        return f"{self.name}: the larger one of two neighbouring datasets has {self.population} examples"

    def whole(self) -> Event | None:
        """Return the event for a unit that takes another one's place in every sample."""
        return self.of.for_group(2)

    def for_group(self, k: int) -> Event | None:
        """Raise `InputError`: datasets of k units differ more in size, and no bound is known."""
        raise InputError(f"no bound is known for {k} units", "count one unit", self.name)


@event_kind
class TruncatedReplaced(TruncatedPoisson):
    """`TruncatedPoisson` where one unit's data changes, and both datasets have as many (replace-one only).

    Where it takes another one's place, both its values are at most twice the `sensitivity` away from that.
    `rate`, `population`, `batch`, `of`, `count` and `cover` are as there.
    """

    name = "truncated_replaced"


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
        self._once_or_gaussian(ALLOCATED, "in one step", "give one release of pure, or Gaussian ones")

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


def _read_factor(event: Any, bands: int) -> int:
    """Read an event's `coefficients` or `rows`; return how many bands they have, without either `bands`."""
    given = listed(event.name, "coefficients", event.coefficients)
    object.__setattr__(event, "coefficients", given)
    rows = read_rows(event)
    if given and rows:
        raise InputError("coefficients and rows are both given", "leave one out", event.name)
    if max(len(given), 0 if rows or given else bands) > (most := toeplitz.MOST_COEFFICIENTS):
        raise InputError("too many coefficients", f"at most {most} are bounded", event.name)
    width = max((k + 1 for row in rows for k, x in enumerate(reversed(row)) if x), default=0)
    return max((k + 1 for k, x in enumerate(given) if x), default=width) if rows or given else bands


@event_kind
class BandedPoisson(Event):
    """Training by noisy sums C·G + Z on Poisson samples from one of `parts` parts in turn.

    Each unit is in one part, fixed without regard to the others; round i of `rounds` draws each unit
    of part i mod `parts` by itself, with probability `rate`.  C is lower-triangular, and refused if it
    has an entry `parts` or more below its diagonal: a matrix of these `rows`, each up to its diagonal,
    a Toeplitz one of these `coefficients`, or, without either, the first `parts` diagonals of √Toeplitz.
    Z has deviation `sigma`; a drawn unit moves a round's sum by at most `sensitivity` in ℓ2.
    It is run `count` times on the units of `cover`, the first and the last (None: all; add-remove only).

    A unit pays for each turn of `parts` rounds a Poisson sample of Gaussian noise, moved by the longest
    of their columns (Choquette-Choo et al. 2023, arXiv 2306.08153, where all are as the longest).
    Its rounds i are `parts` apart, and column i of C ends before row i + `parts`: each row holds at
    most one of them.  Take the rows from i up to there, all earlier results and the samples of other
    units given: the others' gradients are functions of the rows before, and subtracting what they
    add, row by row, is a bijection.  It leaves Z + b·C_i ⊗ g, where b is 1 with probability `rate`,
    independent of all else, and g, ‖g‖ ≤ `sensitivity`, is a function of earlier results: Gaussian
    noise on a Poisson sample, moved by ‖C_i‖·‖g‖.  Such pairs compose adaptively, and δ is jointly convex
    over the others' samples.  Equal gradients attain it if one part has every turn's longest column.
    """

    name = "banded_poisson"
    rounds: int
    sigma: Real
    rate: Real
    parts: int
    sensitivity: Real = ONE
    coefficients: Reals = NONE
    rows: RealRows = NONE

    def _check(self) -> None:
        width = _read_factor(self, self.parts)
        if width > self.parts:
            wrong = f"the factor has {width} bands, and there are {self.parts} parts"
            raise InputError(wrong, "use as many parts as bands: a unit's rounds would meet", self.name)

    def squares(self) -> tuple[Counter[Fraction], bool]:
        """Return μ² of the worst round of each turn, counted, and whether some part has them all."""
        held = toeplitz.columns_in_turn(self.rounds, self.parts, self.coefficients, self.rows)
        scale = (self.sensitivity / self.sigma) ** 2
        return Counter({square * scale: times for square, times in held[0].items()}), held[1]

    def _pure(self) -> Amount:
        return None if self._mu_squared() else Fraction(0)

    def _mu_squared(self) -> Fraction:
        """Return μ² of a unit that is drawn each time: trade-off functions are jointly convex."""
        drawn = self.squares()[0] if self.rate else Counter[Fraction]()
        return sum((square * times for square, times in drawn.items()), Fraction(0))


@event_kind
class Repeated(Event):
    """The best of K runs of `of`, the only one that is shown, such as the best of K models that were trained.

    K is not shown, and its law knows no data: Poisson of `mean` (nothing is shown if it is 0), or truncated
    negative binomial of `shape` η > −1 and `gamma` in (0, 1): η = 1 is geometric of mean 1/gamma, η = 0
    logarithmic (Papernot & Steinke 2021).  `of` holds all that the choice depends on, such as a score.
    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "repeated"
    of: Event
    shape: Real = ONE
    gamma: Real = NO_OFFSET
    mean: Real = NO_OFFSET

    def _check(self) -> None:
        require_nestable(self.name, self.of)
        known = self.gamma < 1 and self.shape > -1 and not (self.mean and self.shape != 1)
        if not known or bool(self.gamma) == bool(self.mean):
            right = "give mean, above 0, of a Poisson number, or gamma in (0, 1) and shape above -1"
            raise InputError("this is no law of a number of runs", right, self.name)

    def _pure(self) -> Amount:
        """Return (2 + η)ε, of a Poisson number ε + mean·δ(0), δ(0) ≤ ε/2 (`pairs.repeated`)."""
        inner = self.of.pure()
        return None if inner is None else inner + (self.mean / 2 or 1 + self.shape) * inner


@event_kind
class BallsInBins(Event):
    """Training by noisy sums C·G + Z, each unit in one of `bins` bins, drawn once and uniformly by itself.

    Round i of `rounds` takes the units of bin i mod `bins`.  C is lower-triangular, of at most `bins` bands:
    a matrix of these `rows`, each up to its diagonal, a Toeplitz one of these `coefficients`, or the identity
    without either.  Z has deviation `sigma`; a unit moves a round's sum by at most `sensitivity` in ℓ2.
    It is run `count` times, each with new bins, on the units of `cover` (None: all; add-remove only).
    It costs at most an allocation to ⌊bins/bands⌋ steps (docs/numerics.md, "Balls in bins"), and exactly that
    with one band and bins alike.
    """

    name = "balls_in_bins"
    nests = False
    rounds: int
    sigma: Real
    bins: int
    sensitivity: Real = ONE
    coefficients: Reals = NONE
    rows: RealRows = NONE

    def _check(self) -> None:
        width = _read_factor(self, 1)
        if width > self.bins:
            wrong = f"the factor has {width} bands, and there are {self.bins} bins"
            raise InputError(wrong, "use as many bins as bands: a unit's rounds would meet", self.name)
        if self.bins > self.rounds:
            raise InputError("there are more bins than rounds", "some would never be used", self.name)

    def steps(self) -> int:
        """Return how many bins there are, p = bands apart around all of them: no row meets two."""
        return self.bins // max(1, _read_factor(self, 1))

    def squares(self) -> tuple[Fraction, Fraction]:
        """Return the least and the largest μ² of a bin: the sum of its columns' squares over σ²."""
        scale = (self.sensitivity / self.sigma) ** 2
        low, high = toeplitz.squares_of_bins(self.rounds, self.bins, self.coefficients or (ONE,), self.rows)
        return low * scale, high * scale

    def _pure(self) -> Amount:
        return None if self._mu_squared() else Fraction(0)

    def _mu_squared(self) -> Fraction:
        """Return μ² of a unit whose bin is known: trade-off functions are jointly convex."""
        return self.squares()[1]
