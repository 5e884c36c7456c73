"""What every event has: exact numbers, a count, a cover, and what it costs in one number.

A kind of event says in its class what one of it costs: in zCDP, in Gaussian DP, in pure DP, for a group of
units. Where a kind says nothing, the bounds are those that follow from pure DP, or there are none.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from dpaccount.errors import InputError
from dpaccount.exact import read_number, shown
from dpaccount.numerics.closed.gdp_of_pure import mu_squared
from dpaccount.numerics.closed.sampling import sampled_loss

Exact = Fraction | int | Decimal | str  #: what the constructors take; a string is a decimal
Cover = tuple[int, int]
Amount = Fraction | None  #: an upper bound; None where there is none


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something released `count` times; `cover` is the [first, last] unit it touches (None: all)."""

    name: ClassVar[str]
    grows: ClassVar[str] = ""  #: the parameter that a group of k units makes k times as large
    group_attained: ClassVar[bool] = False  #: whether some k units cost what `for_group` says
    gaussian: ClassVar[bool] = False  #: whether it is a Gaussian pair: k units cost kμ wherever they lie
    uneven: ClassVar[bool] = False  #: whether a unit may cost less than the one that its cover begins with
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

    def zcdp(self) -> Amount:
        """Return an upper bound on the zCDP ρ of the event and its count; None where there is none."""
        return _times(self.count, self._zcdp())

    def mu_squared(self) -> Amount:
        """Return an upper bound on μ² of the event and its count under Gaussian DP, likewise."""
        return _times(self.count, self._mu_squared())

    def pure(self) -> Amount:
        """Return an upper bound on the pure ε of the event and its count; None where it is infinite."""
        return _times(self.count, self._pure())

    def approximate(self) -> tuple[Fraction, Fraction] | None:
        """Return (ε, δ) of the event and its count under basic composition; None where there is none."""
        once = self._approximate()
        return None if once is None else (self.count * once[0], self.count * once[1])

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
        """Return bounds on μ² for the k rounds that are worst together; None for what is no stream."""
        return None

    def pieces(self) -> "tuple[tuple[Cover | None, int, Event], ...]":
        """Return what is released on which units and how often, without covers of its own."""
        return ((self.cover, 1, self.bare()),)

    def met_at(self, unit: int) -> "Event":
        """Return what this unit meets, which its cover begins with or which lies in it."""
        return self


def _times(count: int, once: Amount) -> Amount:
    return None if once is None else count * once


def added(parts: Iterable[Amount]) -> Amount:
    """Return the sum; None where one of them has no bound."""
    found = list(parts)
    known = [part for part in found if part is not None]
    return sum(known, Fraction(0)) if len(known) == len(found) else None


class OnSample(Event):
    """An event that runs another one, `of`, on a random sample of the units."""

    of: Event

    @property
    def fraction(self) -> Fraction:
        """Return how likely a unit is drawn."""
        raise NotImplementedError

    def _check(self) -> None:
        inside(self.name, self.of)

    def _pure(self) -> Amount:
        """Return ln(1 + q(e^ε − 1)), rounded up (Balle, Barthe & Gaboardi 2018)."""
        inner = self.of.pure() if self.fraction else Fraction(0)
        return None if inner is None else sampled_loss(inner, self.fraction)

    def _zcdp(self) -> Amount:
        return self.of.zcdp() if self.fraction == 1 else super()._zcdp()

    def _mu_squared(self) -> Amount:
        return self.of.mu_squared() if self.fraction == 1 else super()._mu_squared()


class GaussianPair(Event):
    """An event whose curve is that of a Gaussian pair: zCDP μ²/2, pure only where nothing is moved."""

    group_attained = gaussian = True

    def _zcdp(self) -> Amount:
        square = self._mu_squared()
        return None if square is None else square / 2

    def _pure(self) -> Amount:
        return None if getattr(self, self.grows) else Fraction(0)


class Stream(GaussianPair):
    """A continual release of prefix sums over `rounds` rounds, the units, from `start` on: its own cover."""

    grows = "sensitivity"
    rounds: int
    sigma: Fraction
    sensitivity: Fraction
    start: int

    def _check(self) -> None:
        if self.cover is not None:
            raise InputError(f"{self.name}: its rounds are its cover; leave cover out")

    def _mu_squared(self) -> Fraction:
        return self.moved_by_group(1)[1]

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


def whole(name: str, sensitivity: Fraction) -> None:
    """Refuse a sensitivity that is no integer."""
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


def inside(name: str, part: Event) -> None:
    """Refuse what may not stand inside another event."""
    if not isinstance(part, Event):
        raise InputError(f"{name}: {part!r} is no event; give one of dpaccount.events")
    if isinstance(part, Stream):
        raise InputError(f"{name}: {part.name} stands inside another event; it belongs at the top level")
    if part.cover is not None:
        raise InputError(f"{name}: a cover stands inside another event; it belongs at the top level")
