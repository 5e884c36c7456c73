"""The base of all events: exact numbers, a count, a cover, and the cost in one number.

The class of a kind of event states the cost of one release: in zCDP, in Gaussian DP, in pure DP, for a
group of units. Where it states nothing, bounds follow from pure DP, or there are none.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, dataclass_transform

from dpaccount.errors import InputError
from dpaccount.exact import MAX_CHARACTERS, Exact, exact_argument, json_number, shown
from dpaccount.numerics.closed.gaussian import mu_squared
from dpaccount.numerics.closed.sampling import sampled_loss

Cover = tuple[int, int]
Amount = Fraction | None  #: an upper bound; None where there is none


Kind = TypeVar("Kind")
Read = TypeVar("Read")
Given = TypeVar("Given")


class Spelled(Generic[Read, Given]):
    """The types of a field for type checkers: as given and as read.  No descriptor is installed."""

    if TYPE_CHECKING:

        def __get__(self, instance: object, owner: type) -> Read: ...

        def __set__(self, instance: object, value: Given) -> None:
            """Take the field as it is given."""


Real = Spelled[Fraction, Exact]  #: a number, given in any spelling
Reals = Spelled[tuple[Fraction, ...], Iterable[Exact]]
RealPairs = Spelled[tuple[tuple[Fraction, Fraction], ...], Iterable[tuple[Exact, Exact]]]
RealRows = Spelled[tuple[tuple[Fraction, ...], ...], Iterable[Iterable[Exact]]]
ONE: Any = Fraction(1)  #: the default of a `Real`
NO_OFFSET: Any = Fraction(0)  #: likewise


@dataclass_transform()
def record(**options: bool) -> Callable[[type[Kind]], type[Kind]]:
    """Make a dataclass with these options, whose `Spelled` fields are given in any spelling."""
    return dataclass(**options)


HOLD = "all of them may pay, so it must hold them all"  #: why a cover has a least size


@dataclass_transform(kw_only_default=True, frozen_default=True)
def event_kind(kind: type[Kind]) -> type[Kind]:
    """Make a class a kind of event: a frozen dataclass of keywords, its `Real` fields of any spelling."""
    return dataclass(frozen=True, kw_only=True, repr=False)(kind)


@event_kind
class Event:
    """Something released `count` times; `cover` is the [first, last] unit it touches (None: all).

    Multiplied by a number it is released that many times as often: ``Gaussian(sigma=4) * 10``.
    """

    name: ClassVar[str]
    grows: ClassVar[str] = ""  #: the parameter that a group of k units makes k times as large
    group_attained: ClassVar[bool] = False  #: whether some k units attain `for_group`
    gaussian: ClassVar[bool] = False  #: whether it is a Gaussian pair: k units cost kμ wherever they lie
    uneven: ClassVar[bool] = False  #: whether a unit may cost less than the one that its cover begins with
    nests: ClassVar[bool] = True  #: whether other events may hold it
    count: int = 1
    cover: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in RANGES:
                value = _checked(self.name, item.name, value)
            object.__setattr__(self, item.name, value)
        if self.cover is not None:
            object.__setattr__(self, "cover", _range(self.name, self.cover))
        self._check()
        self._check_cover()

    def _check_cover(self) -> None:
        """Refuse a cover that lacks units of a population, here or inside."""
        drawn = max(getattr(part, "population", 0) for part in walk(self))
        if self.cover is not None and self.cover[1] - self.cover[0] + 1 < drawn:
            raise InputError("the cover holds fewer units than the population", HOLD, self.name)

    def _check(self) -> None:
        """Check what single fields cannot."""

    def __repr__(self) -> str:
        """Return the event as Python code, without defaults."""
        named = [item for item in fields(self) if getattr(self, item.name) != item.default]
        arguments = (f"{item.name}={_spelled(getattr(self, item.name))}" for item in named)
        return f"{type(self).__name__}({', '.join(arguments)})"

    def __mul__(self, times: int) -> Self:
        if type(times) is not int or times < 1:
            raise InputError(f"{self.name} times {times!r}", "multiply by a whole number of at least 1")
        return replace(self, count=self.count * times)

    __rmul__ = __mul__

    def as_json(self) -> dict[str, Any]:
        """Return the event as in a file of events, without defaults."""
        document: dict[str, Any] = {"event": self.name}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.default is MISSING or value != item.default:
                document[item.name] = _written(value)
        return document

    def bare(self) -> "Event":
        """Return this event without its cover."""
        if self.cover is None:
            return self
        known = self.__dict__.get("_bare")
        if known is None:
            known = object.__new__(type(self))
            known.__dict__.update(self.__dict__, cover=None)
            self.__dict__["_bare"] = known
        return known

    def covering(self, first: int, last: int) -> "Event":
        """Return this event on units first … last (cheap: a plan may hold a million of them)."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, cover=(first, last), _bare=self.bare())
        # A plan may hold a million covers; only these kinds can have a population that one of them is too
        # small for.
        if hasattr(self, "of") or hasattr(self, "population"):
            twin._check_cover()
        return twin

    def zcdp(self) -> Amount:
        """Return an upper bound on the zCDP ρ of the event and its count; None where there is none.

        Of its own bound and μ²/2, which μ-GDP implies (Dong, Roth & Su 2022), the smaller.
        """
        square = self._mu_squared()
        return times_bound(self.count, smallest_bound(self._zcdp(), None if square is None else square / 2))

    def mu_squared(self) -> Amount:
        """Return an upper bound on μ² of the event and its count under Gaussian DP; None without one."""
        return times_bound(self.count, self._mu_squared())

    def pure(self) -> Amount:
        """Return an upper bound on the pure ε of the event and its count; None where it is infinite."""
        return times_bound(self.count, self._pure())

    def approximate(self) -> tuple[Fraction, Fraction] | None:
        """Return (ε, δ) of the event and its count under basic composition; None where there is none."""
        once = self._approximate()
        return None if once is None else (self.count * once[0], self.count * once[1])

    def assumption(self) -> str:
        """Return the assumption that the event makes on its release, or an empty string."""
        return ""

    def _pure(self) -> Amount:
        return None

    def _zcdp(self) -> Amount:
        """Return ε²/2, that of ε-DP (Bun & Steinke 2016)."""
        loss = self._pure()
        return None if loss is None else loss**2 / 2

    def _mu_squared(self) -> Amount:
        """Return μ² of ε-DP, μ = −2Φ⁻¹(1/(1 + e^ε)), rounded up (Liu, Sun, Jiang & Kong 2022)."""
        loss = self._pure()
        return None if loss is None else mu_squared(loss)

    def _approximate(self) -> tuple[Fraction, Fraction] | None:
        loss = self._pure()
        return None if loss is None else (loss, Fraction(0))

    def for_group(self, k: int) -> "Event | None":
        """Return an event that bounds this one for k units; None where only a chain of neighbours does."""
        return replace(self, **{self.grows: k * getattr(self, self.grows)}) if self.grows else None

    def moved_by_group(self, k: int) -> tuple[Fraction, Fraction] | None:
        """Return bounds on μ² for the k rounds that are worst together; None unless it is a stream."""
        return None

    def pieces(self) -> "tuple[tuple[Cover | None, int, Event], ...]":
        """Return covers, counts and events without covers, which together are this event."""
        return ((self.cover, 1, self.bare()),)

    def met_at(self, unit: int) -> "Event":
        """Return the event that this unit meets, which its cover begins with or which lies in it."""
        return self


def _spelled(value: Any) -> str:
    """Return a field as code: whole numbers as such, others as text."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_spelled, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else repr(shown(value))
    return repr(value)


def _written(value: Any) -> Any:
    """Return a field as JSON: numbers as doubles where that is exact, else as text that is read back."""
    if isinstance(value, Event):
        return value.as_json()
    if isinstance(value, tuple):
        return [_written(each) for each in value]
    if not isinstance(value, Fraction):
        return value
    number = json_number(value, whole=1 << 53)
    if isinstance(number, str) and len(number) > MAX_CHARACTERS:
        raise InputError(f"a number of {len(number)} characters cannot be written", "use a shorter one")
    return number


def times_bound(count: int, once: Amount) -> Amount:
    """Return so many times a bound; None where there is none."""
    return None if once is None else count * once


def smallest_bound(*bounds: Amount) -> Amount:
    """Return the smallest bound; None stands for no bound, and is returned if all are None."""
    return min((bound for bound in bounds if bound is not None), default=None)


def sum_of_bounds(parts: Iterable[Amount]) -> Amount:
    """Return the sum of bounds; None if one of the parts has none."""
    amounts = list(parts)
    known = [part for part in amounts if part is not None]
    return sum(known, Fraction(0)) if len(known) == len(amounts) else None


class OnSample(Event):
    """An event that runs another one, `of`, on a random sample of the units."""

    of: Event
    rate: Fraction

    @property
    def fraction(self) -> Fraction:
        """Return how likely a unit is drawn: the rate of the sample where it has one."""
        return self.rate

    def _check(self) -> None:
        require_nestable(self.name, self.of)
        if any(part.assumption() for part in walk(self.of)):
            raise InputError("it rests on an assumption", "give the event on the sample itself", self.name)

    def _known(self, names: Iterable[str]) -> list[Event]:
        """Return `of` and all inside it; refuses other kinds of events."""
        parts = list(walk(self.of))
        refused = next((part.name for part in parts if part.name not in names), None)
        if refused is not None:
            known = f"known are {', '.join(names)}"
            raise InputError(f"no bound is known for {refused} in it", known, self.name)
        return parts

    def _once_or_gaussian(self, names: Iterable[str], where: str, right: str) -> None:
        """Refuse other kinds of events in `of`, and more than one of a kind that is not Gaussian."""
        parts = self._known(names)
        if (len(parts) > 1 or self.of.count > 1) and not all(part.gaussian for part in parts):
            what = f"several releases {where} are known for Gaussian noise only"
            raise InputError(what, right, self.name)

    def _pure(self) -> Amount:
        """Return ln(1 + q(e^ε − 1)), rounded up (Balle, Barthe & Gaboardi 2018)."""
        inner = self.of.pure() if self.fraction else Fraction(0)
        return None if inner is None else sampled_loss(inner, self.fraction)

    def whole(self) -> Event | None:
        """Return the event for a unit that is drawn with certainty; None if it has no bound.

        It bounds the cost of a sample in zCDP and GDP: both hold if it is known who is drawn.
        """
        return self.of

    def _zcdp(self) -> Amount:
        """Return ρ by the sample's ε, or ρ of the whole if less: Rényi divergences are quasi-convex."""
        whole = self.whole() if self.fraction else None
        return smallest_bound(super()._zcdp(), None if whole is None else whole.zcdp())

    def _mu_squared(self) -> Amount:
        """Return μ² by the sample's ε, or μ² of the whole if less: trade-off functions are convex."""
        whole = self.whole() if self.fraction else None
        return smallest_bound(super()._mu_squared(), None if whole is None else whole.mu_squared())


class GaussianEvent(Event):
    """An event whose curve is that of a Gaussian pair: zCDP μ²/2, pure only where nothing is moved."""

    group_attained = gaussian = True

    def movement(self) -> tuple[Fraction, Fraction]:
        """Return bounds on μ² of one release, alike where it is rational."""
        raise NotImplementedError

    def _mu_squared(self) -> Fraction:
        return self.movement()[1]

    def _pure(self) -> Amount:
        return None if getattr(self, self.grows) else Fraction(0)


class Stream(GaussianEvent):
    """A continual release of prefix sums over `rounds` rounds, the units, from `start` on: its own cover."""

    nests = False
    grows = "sensitivity"
    rounds: int
    sigma: Fraction
    sensitivity: Fraction
    start: int

    def _check(self) -> None:
        if self.cover is not None:
            raise InputError("its rounds are its cover", "leave cover out", self.name)

    def movement(self) -> tuple[Fraction, Fraction]:
        """Return bounds on μ² for the round that is worst, the first."""
        return self.moved_by_group(1)

    def moved_by_group(self, k: int) -> tuple[Fraction, Fraction]:
        """Return bounds on μ² for the k rounds that are worst together: the first k of them."""
        low, high = self.squares(k)
        scale = (self.sensitivity / self.sigma) ** 2
        return low * scale, high * scale

    def squares(self, k: int) -> tuple[Fraction, Fraction]:
        """Return bounds on the square that k rounds move together at noise 1, each by 1."""
        raise NotImplementedError


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
    "xi": (0, None, False),
    "mu": (0, None, False),
    "eta": (0, None, False),
    "rate": (0, 1, False),
    "delta": (0, 1, False),
    "k": (2, None, True),
    "categories": (2, None, True),
    "rounds": (1, None, True),
    "steps": (1, None, True),
    "times": (1, None, True),
    "count": (1, None, True),
    "dimension": (1, None, True),
    "start": (1, None, True),
    "parts": (1, None, True),
    "size": (1, None, True),
    "examples": (1, None, True),
    "batch": (1, None, True),
    "population": (1, None, True),
    "participations": (1, None, True),
    "separation": (1, None, True),
    "bands": (1, None, True),
    "shape": (-1, None, False),
    "gamma": (0, 1, False),
    "mean": (0, None, False),
    "bins": (1, None, True),
}


def _checked(name: str, key: str, value: Exact) -> Fraction | int:
    least, most, integer = RANGES[key]
    number = exact_argument(name, value)
    if number < (least or 0) or (least is None and number == 0) or (most is not None and number > most):
        bounds = (
            "above 0" if least is None else f"at least {least}" if most is None else f"in [{least}, {most}]"
        )
        raise InputError(f"{key} = {shown(number)} is out of range", f"it must be {bounds}", name)
    if integer and number.denominator != 1:
        raise InputError(f"{key} = {shown(number)} is not whole", "give an integer", name)
    return int(number) if integer else number


def require_whole(name: str, sensitivity: Fraction) -> None:
    """Raise `InputError` for a sensitivity that is no integer."""
    if sensitivity.denominator != 1:
        raise InputError(
            f"sensitivity {shown(sensitivity)} is not whole", "the noise lives on integers", name
        )


def _range(name: str, cover: Any) -> tuple[int, int]:
    """Return a cover as two integers."""
    ends = tuple(cover) if isinstance(cover, tuple | list) else ()
    if len(ends) != 2 or any(type(end) is not int for end in ends) or not 1 <= ends[0] <= ends[1]:
        raise InputError(
            f"cover {cover!r} is no range", "use integers (first, last), 1 <= first <= last", name
        )
    return ends


def require_nestable(name: str, part: Event) -> None:
    """Raise `InputError` for an event that cannot be nested in another."""
    if not isinstance(part, Event):
        raise InputError(f"{part!r} is no event", "give one of dpaccount.events", name)
    if not part.nests:
        raise InputError(f"{part.name} is inside another event", "it belongs at the top level", name)
    if part.cover is not None:
        raise InputError("a cover is inside another event", "it belongs at the top level", name)
