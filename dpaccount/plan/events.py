"""The vocabulary of privacy events: frozen data that is necessary and sufficient for accounting.

An event says what was released and with how much noise, never how. All numbers are exact
(`Fraction` or `int`): floats are refused, because ``0.1`` the float is not 1/10.

Meaning never changes under a name: a new meaning gets a new name.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from dpaccount.errors import InputError
from dpaccount.exact import read_number, shown
from dpaccount.relation import Relation

Exact = Fraction | int | Decimal | str  #: what the constructors take; a string is a decimal


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something released `count` times; `cover` is the [first, last] unit it touches (None: all)."""

    name: ClassVar[str]
    count: int = 1
    cover: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        """Make every number exact and check its range."""
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in RANGES:
                value = _checked(self.name, item.name, value)
            object.__setattr__(self, item.name, value)
        if self.cover is not None:
            object.__setattr__(self, "cover", _range(self.name, self.cover))
        self._check()

    def _check(self) -> None:
        """Check what single fields cannot."""

    def bare(self) -> "Event":
        """Return this event without its cover."""
        return self if self.cover is None else self.__dict__.get("_bare") or replace(self, cover=None)

    def covering(self, first: int, last: int) -> "Event":
        """Return this event on units first … last (cheap: a plan may hold a million of them)."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, cover=(first, last), _bare=self.bare())
        return twin


@dataclass(frozen=True, kw_only=True)
class Gaussian(Event):
    """Gaussian noise of standard deviation `sigma` on a value of ℓ2 sensitivity `sensitivity`."""

    name = "gaussian"
    sigma: Fraction
    sensitivity: Fraction = Fraction(1)


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(Event):
    """Discrete Gaussian noise on the integer lattice of `dimension` coordinates."""

    name = "discrete_gaussian"
    sigma: Fraction
    sensitivity: Fraction = Fraction(1)
    dimension: int = 1

    def _check(self) -> None:
        if self.dimension == 1:
            _whole(self.name, self.sensitivity)


@dataclass(frozen=True, kw_only=True)
class Laplace(Event):
    """Laplace noise of scale `scale` on a value of ℓ1 sensitivity `sensitivity`."""

    name = "laplace"
    scale: Fraction
    sensitivity: Fraction = Fraction(1)


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(Event):
    """Two-sided geometric noise of ratio exp(−1/scale) on an integer of sensitivity `sensitivity`."""

    name = "discrete_laplace"
    scale: Fraction
    sensitivity: Fraction = Fraction(1)

    def _check(self) -> None:
        _whole(self.name, self.sensitivity)


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(Event):
    """k-ary randomised response: the truth with odds e^ε against each other answer."""

    name = "randomized_response"
    epsilon: Fraction
    k: int = 2


@dataclass(frozen=True, kw_only=True)
class Exponential(Event):
    """Exponential mechanism, exp(ε·score/(2Δ)): pure ε, and ε-bounded-range."""

    name = "exponential"
    epsilon: Fraction


@dataclass(frozen=True, kw_only=True)
class BoundedRange(Event):
    """Any η-bounded-range mechanism, adaptively chosen."""

    name = "bounded_range"
    eta: Fraction


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(Event):
    """Permute-and-flip selection: pure ε, not bounded range."""

    name = "permute_and_flip"
    epsilon: Fraction


@dataclass(frozen=True, kw_only=True)
class Pure(Event):
    """Any ε-differentially private mechanism."""

    name = "pure"
    epsilon: Fraction


@dataclass(frozen=True, kw_only=True)
class Approximate(Event):
    """Any (ε, δ)-differentially private mechanism."""

    name = "approximate"
    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, kw_only=True)
class Zcdp(Event):
    """Any ρ-zCDP mechanism."""

    name = "zcdp"
    rho: Fraction


@dataclass(frozen=True, kw_only=True)
class Gdp(Event):
    """Any μ-GDP mechanism."""

    name = "gdp"
    mu: Fraction


@dataclass(frozen=True, kw_only=True)
class Rdp(Event):
    """Any mechanism whose Rényi divergence of each order is at most the ε beside it."""

    name = "rdp"
    points: tuple[tuple[Fraction, Fraction], ...]

    def _check(self) -> None:
        if not self.points:
            raise InputError("rdp: no points; give at least one [order, epsilon]")
        points = tuple((exact(self.name, a), exact(self.name, e)) for a, e in self.points)
        if any(order <= 1 or epsilon < 0 for order, epsilon in points):
            raise InputError("rdp: a point is out of range; orders exceed 1, epsilons are at least 0")
        object.__setattr__(self, "points", points)


@dataclass(frozen=True, kw_only=True)
class PoissonSubsampled(Event):
    """`of`, run on a fresh Poisson sample of rate `rate` (add-remove only)."""

    name = "poisson_subsampled"
    rate: Fraction
    of: Event

    def _check(self) -> None:
        _inside(self.name, self.of)


HOLD = "whoever may be drawn pays, so it must hold them all"  #: why a cover has a least size


@dataclass(frozen=True, kw_only=True)
class SampledWithoutReplacement(Event):
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
        _inside(self.name, self.of)

    def covering(self, first: int, last: int) -> "Event":
        """Return this event on units first … last, which must hold its population."""
        return replace(self, cover=(first, last))


@dataclass(frozen=True, kw_only=True)
class MatrixFactorisation(Event):
    """Continual release of prefix sums by A = B·C with C = √Toeplitz; one participation per unit."""

    name = "matrix_factorisation"
    rounds: int
    sigma: Fraction
    sensitivity: Fraction = Fraction(1)
    kind: str = "sqrt-toeplitz"
    start: int = 1

    def _check(self) -> None:
        _uncovered(self)
        if self.kind != "sqrt-toeplitz":
            raise InputError(f"{self.name}: unknown kind {self.kind!r}; known here: sqrt-toeplitz")


@dataclass(frozen=True, kw_only=True)
class Sequence(Event):
    """All of `of`, on the same units."""

    name = "sequence"
    of: tuple[Event, ...] = ()

    def _check(self) -> None:
        object.__setattr__(self, "of", tuple(self.of))
        for part in self.of:
            _inside(self.name, part)


@dataclass(frozen=True, kw_only=True)
class Tree(Event):
    """A binary tree of independent Gaussian node noises over `rounds` rounds from `start` on."""

    name = "tree"
    rounds: int
    sigma: Fraction
    sensitivity: Fraction = Fraction(1)
    start: int = 1

    def _check(self) -> None:
        _uncovered(self)

    def classes(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield (nodes, cover) for each run of rounds under equally many complete nodes.

        The rounds split by the binary digits of their number; a run of 2^j of them lies under
        the j + 1 complete nodes that it contains or is contained in, because a larger node over
        it would reach beyond the last round (Chan, Shi & Song 2011).
        """
        first = self.start
        for level in range(self.rounds.bit_length() - 1, -1, -1):
            if self.rounds >> level & 1:
                yield level + 1, (first, first + (1 << level) - 1)
                first += 1 << level


VOCABULARY: dict[str, type[Event]] = {
    kind.name: kind
    for kind in (
        Gaussian,
        DiscreteGaussian,
        Laplace,
        DiscreteLaplace,
        RandomizedResponse,
        Exponential,
        BoundedRange,
        PermuteAndFlip,
        Pure,
        Approximate,
        Zcdp,
        Gdp,
        Rdp,
        PoissonSubsampled,
        SampledWithoutReplacement,
        MatrixFactorisation,
        Sequence,
        Tree,
    )
}


@dataclass(frozen=True)
class Plan:
    """Events fixed beforehand, and the relation under which all of them are counted."""

    relation: Relation
    events: tuple[Event, ...] = field(default=())

    def __post_init__(self) -> None:
        """Refuse events that have no meaning under the relation."""
        if self.relation not in list(Relation):
            raise InputError(f"unknown relation {self.relation!r}; known here: {', '.join(Relation)}")
        object.__setattr__(self, "relation", Relation(self.relation))
        object.__setattr__(self, "events", tuple(self.events))
        if not all(isinstance(event, Event) for event in self.events):
            raise InputError("a plan holds something that is no event; give events of dpaccount.events")
        for kind in {id(bare): bare for bare in map(Event.bare, self.events)}.values():
            refused = next((e.name for e in walk(kind) if not allowed(e.name, self.relation)), None)
            if refused is not None:
                raise InputError(f"{refused} has no meaning under {self.relation}; {ELSEWHERE[refused]}")


#: Where events are counted that have no meaning under the other relation.
ELSEWHERE = {
    "randomized_response": "it is counted under replace-one",
    "sampled_without_replacement": "it is counted under replace-one",
    "poisson_subsampled": "it is counted under add-remove",
}


def allowed(name: str, relation: Relation) -> bool:
    """Say whether events of this name are counted under `relation`."""
    return name not in ELSEWHERE or ELSEWHERE[name].endswith(relation.value)


def walk(event: Event) -> Iterator[Event]:
    """Yield an event and everything inside it."""
    yield event
    of = getattr(event, "of", ())
    for part in of if isinstance(of, tuple) else (of,):
        yield from walk(part)


#: The least value of each key (None: above 0), the largest, and whether it is an integer.
RANGES: dict[str, tuple[int | None, int | None, bool]] = {
    "sigma": (None, None, False),
    "scale": (None, None, False),
    "sensitivity": (0, None, False),
    "epsilon": (0, None, False),
    "rho": (0, None, False),
    "mu": (0, None, False),
    "eta": (0, None, False),
    "rate": (0, 1, False),
    "delta": (0, 1, False),
    "k": (2, None, True),
    "rounds": (1, None, True),
    "count": (1, None, True),
    "dimension": (1, None, True),
    "start": (1, None, True),
    "size": (1, None, True),
    "population": (1, None, True),
}


def exact(name: str, value: Exact) -> Fraction:
    """Return an exact number; raises `InputError` for floats, NaN and what is no number, naming `name`."""
    if isinstance(value, bool | float):
        raise InputError(
            f"{name}: {value!r} is not exact; give an integer, a Fraction, or a decimal as a string"
        )
    try:
        return read_number(value) if isinstance(value, str) else Fraction(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name}: {value!r} is no finite number; give an integer or a Fraction") from None


def _checked(name: str, key: str, value: Exact) -> Fraction | int:
    least, most, whole = RANGES[key]
    number = exact(name, value)
    if number < (least or 0) or (least is None and number == 0) or (most is not None and number > most):
        bounds = (
            "above 0" if least is None else f"at least {least}" if most is None else f"in [{least}, {most}]"
        )
        raise InputError(f"{name}: {key} = {shown(number)} is out of range; it must be {bounds}")
    if whole and number.denominator != 1:
        raise InputError(f"{name}: {key} = {shown(number)} is not whole; an integer belongs here")
    return int(number) if whole else number


def _whole(name: str, sensitivity: Fraction) -> None:
    if sensitivity.denominator != 1:
        raise InputError(
            f"{name}: sensitivity {shown(sensitivity)} is not whole; the noise lives on integers"
        )


def _range(name: str, cover: Any) -> tuple[int, int]:
    """Return a cover as two integers."""
    ends = tuple(cover) if isinstance(cover, tuple | list) else ()
    if len(ends) != 2 or any(type(end) is not int for end in ends) or not 1 <= ends[0] <= ends[1]:
        raise InputError(
            f"{name}: cover {cover!r} is no range; use integers (first, last), 1 <= first <= last"
        )
    return ends


def _uncovered(event: Event) -> None:
    if event.cover is not None:
        raise InputError(f"{event.name}: its rounds are its cover; leave cover out")


def _inside(name: str, part: Event) -> None:
    if not isinstance(part, Event):
        raise InputError(f"{name}: {part!r} is no event; give one of dpaccount.events")
    if isinstance(part, Tree | MatrixFactorisation):
        raise InputError(f"{name}: {part.name} stands inside another event; it belongs at the top level")
    if part.cover is not None:
        raise InputError(f"{name}: a cover stands inside another event; it belongs at the top level")
