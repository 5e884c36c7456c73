"""Parameters of a claim: exact numbers and words, each with a default and a range."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpaccount.errors import InputError
from dpaccount.exact import shown

SIZE = Fraction(10) ** 300  #: numbers of parameters lie between 1/SIZE and SIZE

Value = Fraction | str
Settings = Mapping[str, Value]
End = tuple[str, Fraction | None, Callable[[Fraction, Fraction], bool]]


class Values(dict[str, Fraction]):
    """The numbers at which a claim is checked, by name, and the parameters that are `words`."""

    def __init__(self, numbers: Mapping[str, Fraction], words: Mapping[str, str] | None = None) -> None:
        super().__init__(numbers)
        self.words = words or {}


@dataclass(frozen=True)
class Exact:
    """A number with its default and its range, whose ends may be open."""

    default: Fraction
    least: Fraction | None = None
    most: Fraction | None = None
    above: Fraction | None = None
    below: Fraction | None = None
    whole: bool = False

    def read(self, name: str, value: Value) -> Fraction:
        """Return the value, refusing what is not such a number."""
        if isinstance(value, bool) or not isinstance(value, Fraction | int):
            raise InputError(f"{name} is {short(value)}", f"give {self._right()}")
        exact = Fraction(value)
        inside = all(end is None or holds(exact, end) for _, end, holds in self._ends())
        if not inside or (self.whole and exact.denominator != 1):
            raise InputError(f"{name} is {short(exact)}", f"give {self._right()}")
        if exact != 0 and not 1 / SIZE <= abs(exact) <= SIZE:
            raise InputError(f"{name} is {short(exact)}", "give a size between 1e-300 and 1e300")
        return exact

    def _right(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        limits = " and ".join(f"{word} {short(end)}" for word, end, _ in self._ends() if end is not None)
        return f"{kind} {limits}".strip()

    def _ends(self) -> tuple[End, ...]:
        return (
            ("at least", self.least, operator.ge),
            ("above", self.above, operator.gt),
            ("at most", self.most, operator.le),
            ("below", self.below, operator.lt),
        )


@dataclass(frozen=True)
class Word:
    """One of a few words, the first by default."""

    words: tuple[str, ...]

    @property
    def default(self) -> str:
        """Return the first word."""
        return self.words[0]

    def read(self, name: str, value: Value) -> str:
        """Return the word, refusing any other."""
        if not isinstance(value, str) or value not in self.words:
            raise InputError(f"{name} is {short(value)}", f"give one of {', '.join(self.words)}")
        return value


Parameter = Exact | Word


def positive(default: str) -> Exact:
    """Return a number above 0."""
    return Exact(Fraction(default), above=Fraction(0))


def at_least(least: int, default: str) -> Exact:
    """Return a number of at least `least`."""
    return Exact(Fraction(default), least=Fraction(least))


def probability(default: str) -> Exact:
    """Return a number strictly between 0 and 1."""
    return Exact(Fraction(default), above=Fraction(0), below=Fraction(1))


def count(default: int, least: int = 1, most: int | None = None) -> Exact:
    """Return a whole number."""
    top = None if most is None else Fraction(most)
    return Exact(Fraction(default), least=Fraction(least), most=top, whole=True)


def short(value: object) -> str:
    """Return a value for a message, cut where it is long."""
    try:
        text = shown(value) if isinstance(value, Fraction) else repr(value)
    except (OverflowError, ValueError):  # more digits than Python writes
        text = "a number of very many digits"
    return text if len(text) <= 60 else text[:57] + "..."
