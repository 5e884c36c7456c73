"""What is to be done: one pure function, for many seeds, in groups."""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaccount.cached import cached_property
from dpaccount.errors import InputError
from dpaccount.work.described import described, digest
from dpaccount.work.version import current

Floats = NDArray[np.float64]
MAX_PLAYS = 64  #: functions that a process keeps
Play = Callable[[range], Floats]  #: seeds ↦ numbers, one row for each; pure and picklable


@dataclass(frozen=True)
class Series:
    """Tasks of one function: its results for all `seeds`, of which `size` at a time are one group.

    `name` is for people; what is computed is told from `play` and all that it was given.
    """

    name: str
    play: Play
    seeds: range
    size: int = 1

    def groups(self, of: str) -> Iterator["SeedGroup"]:
        """Yield the groups, in order of their seeds; `of` names this series."""
        stop = self.seeds.stop
        for start in range(self.seeds.start, stop, self.size):
            yield SeedGroup(of, range(start, min(start + self.size, stop)))

    @cached_property
    def specification(self) -> dict[str, object]:
        """Return what determines the results: the function with what it was given, and the code."""
        return {"play": described(self.play), "code": current()}

    @cached_property
    def digest(self) -> str:
        """Return the digest of the specification."""
        return digest(self.specification)

    def packed(self) -> bytes:
        """Return the function for a worker; raises `InputError` for what cannot travel."""
        import cloudpickle  # takes functions of a script, too

        try:
            packed: bytes = cloudpickle.dumps(self.play)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            why = f"{self.name} cannot be sent to a worker: {error}"
            raise InputError(why, "use functions of a module") from None
        return _remembered(packed, self.play)[0]


@dataclass(frozen=True)
class SeedGroup:
    """Consecutive seeds of the series of this name: what is claimed, done and kept as one."""

    series: str
    seeds: range

    @cached_property
    def name(self) -> str:
        """Return the digest of series and seeds."""
        return digest([self.series, self.seeds.start, self.seeds.stop])


_PLAYS: dict[bytes, Play] = {}  #: those that this process packed or unpacked


def _remembered(packed: bytes, play: Play) -> tuple[bytes, Play]:
    if len(_PLAYS) >= MAX_PLAYS:
        _PLAYS.clear()
    _PLAYS[packed] = play
    return packed, play


def unpacked(packed: bytes) -> Play:
    """Return the function that was packed; the process that packed it gets the very same one."""
    known = _PLAYS.get(packed)
    # from the command that this process works for
    return known or _remembered(packed, pickle.loads(packed))[1]  # noqa: S301
