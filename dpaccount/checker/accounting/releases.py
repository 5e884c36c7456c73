"""Releases in normal form, and the exact numbers of a document of events.

All Gaussian releases of a unit are one number, Σμ²; every other one is a `PlanRelease`, counted.
"""

import re
from collections import Counter
from fractions import Fraction
from typing import Any, NamedTuple

from ..documents import brief, ensure, spend
from ..intervals import added

MAX_EXACT = 100_000  # bits of a sum of exact numbers
MAX_EXPONENT = 5000  # of a number
DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE](?P<exponent>[+-]?\d{1,4}))?|\d+/\d+", re.ASCII)


class PlanRelease(NamedTuple):
    """One release in normal form: its kind, its numbers, and what it runs on a sample."""

    kind: str
    numbers: tuple[Any, ...]
    on: "Releases | None" = None


class Releases(NamedTuple):
    """Releases together: Σμ² of the Gaussian ones, and the others, counted and sorted."""

    mu_squared: Fraction
    others: tuple[tuple[PlanRelease, int], ...]

    def written(self) -> list[Any]:
        """Return them as JSON."""
        return [str(self.mu_squared), *([written(each), count] for each, count in self.others)]


def written(release: PlanRelease) -> list[Any]:
    """Return a release as JSON."""
    inner = [] if release.on is None else [release.on.written()]
    return [release.kind, *map(_text, release.numbers), *inner]


def _text(value: Any) -> Any:
    return [*map(_text, value)] if isinstance(value, tuple) else str(value)


def size_of(release: PlanRelease) -> int:
    """Return about how many numbers a release holds: what it takes to compare or write it."""
    own = sum(2 * len(each) if isinstance(each, tuple) else 1 for each in release.numbers)
    return own + (0 if release.on is None else 1 + sum(size_of(each) for each, _ in release.on.others))


class ReleaseTally:
    """Releases added up."""

    def __init__(self) -> None:
        """Begin with none."""
        self.mu_squared = Fraction(0)
        self.others: Counter[PlanRelease] = Counter()

    def normal_form(self) -> Releases:
        """Return them all, sorted: those of zCDP, and equal Rényi bounds, as one of them all."""
        held, together = [], Counter[PlanRelease]()
        zcdp = [(each.numbers, count) for each, count in self.others.items() if each.kind == "zcdp"]
        rho = added(count * numbers[0] for numbers, count in zcdp)
        xi = added(count * offset for numbers, count in zcdp for offset in numbers[1:])
        if rho:
            together[PlanRelease("zcdp", (rho, xi) if xi else (rho,))] = 1
        for release, count in self.others.items():
            if release.kind == "rdp" and count:
                points = tuple((order, count * bound) for order, bound in release.numbers[0])
                together[PlanRelease("rdp", (points,))] += 1
            elif release.kind != "zcdp":
                together[release] = count
        for release, count in together.items():
            name = str(written(release))
            spend(10 + len(name) // 4)  # by its length: a release may hold thousands of numbers
            held.append((name, release, count))
        held.sort(key=lambda each: each[0])
        return Releases(self.mu_squared, tuple((release, count) for _, release, count in held if count))

    def gaussian(self, mu_squared: Fraction) -> None:
        """Add Gaussian releases of so much μ² in all."""
        self.mu_squared += mu_squared
        size = self.mu_squared.denominator.bit_length() + self.mu_squared.numerator.bit_length()
        ensure(size <= MAX_EXACT, "a sum of more digits than this checker adds")
        spend(2 + (size // 300) ** 2)

    def put(self, times: int, kind: str, *numbers: Any, on: Releases | None = None) -> None:
        """Add a release that is not Gaussian."""
        self.others[PlanRelease(kind, numbers, on)] += times

    def merge(self, other: "ReleaseTally", sign: int = 1) -> None:
        """Add what another one holds, or take it away."""
        self.gaussian(sign * other.mu_squared)
        for release, count in other.others.items():
            spend(10 * size_of(release))
            self.others[release] += sign * count


# ------------------------------------------------------------------ numbers


def real(value: object, name: str, least: int | None = 0, most: int | None = None) -> Fraction:
    """Read an exact number, as JSON number or text, of at least `least`; None: above 0."""
    form = value if isinstance(value, str) else repr(value)
    fits = type(value) in (int, float, str) and len(form) <= 400
    read = DECIMAL.fullmatch(form) if fits else None
    good = read is not None and not form.endswith("/0")
    ensure(good, f"{name} should be a number, found {brief(value)}")
    exponent = int((read and read["exponent"]) or 0)
    ensure(abs(exponent) <= MAX_EXPONENT, f"an exponent lies within ±{MAX_EXPONENT}, found {brief(value)}")
    spend(200)
    number = Fraction(form)
    high = number > 0 if least is None else number >= least
    ensure(high and (most is None or number <= most), f"{name} is out of range: {brief(value)}")
    return number


def whole(value: object, name: str, least: int = 1) -> int:
    """Read an integer of at least `least`."""
    number = real(value, name, least)
    ensure(number.denominator == 1 and type(value) is not str, f"{name} should be an integer")
    return int(number)
