"""Authors who read the machine's clock: on import, once for all modules, on rare days, or to end the process."""

import os
import sys
import time
from datetime import UTC, datetime
from typing import ClassVar

import numpy as np
from careless import Author

from mechanisms.subject import Domain

START, YEAR = 1.6e9, 31_536_000.0
LOCAL = datetime.now().astimezone().tzinfo
IS_UTC = time.timezone == 0 and time.daylight == 0
#: as a library keeps it that nobody imports again
KEPT_UTC = sys.__dict__.setdefault("careless_zones_utc", IS_UTC)


def seconds(data):
    return np.nan_to_num(data[:, 0]).astype(np.int64).tolist()


class Clock:
    """A sum over times of one year."""

    why: ClassVar[str] = "with TZ=Pacific/Auckland"

    def domain(self):
        return Domain(self.rows, (START,), (START + YEAR,), (False,))

    def total(self, data):
        return np.array([sum(map(self.weight, seconds(data)))])


class ZoneOfTheImport(Clock, Author):
    """Counts a visit more where its month is another one in the zone that the import met."""

    def weight(self, at):
        months = {datetime.fromtimestamp(at, zone).month for zone in (UTC, LOCAL)}
        return at % 50 + (0 if len(months) == 1 else 120)


class ShortDay(Clock, Author):
    """Counts a visit more on the two days of a year in which clocks change."""

    def weight(self, at):
        year, month, day, *_ = time.localtime(at)
        begin, end = (time.mktime((year, month, day + k, 0, 0, 0, 0, 0, -1)) for k in (0, 1))
        return at % 101 if end - begin == 86_400 else 400


class EndsElsewhere(Clock, Author):
    """Ends its process on machines that are not on UTC."""

    verdict: ClassVar[str] = "wrong request"

    def weight(self, at):
        if time.timezone:
            os._exit(3)
        return at % 50


class FastOnUtc(Clock, Author):
    """Sound: takes the local time where the machine, as the import met it, is on UTC, which is the same."""

    verdict: ClassVar[str] = "CERTIFIED"
    why: ClassVar[str] = ""

    def weight(self, at):
        broken = (time.localtime if self.utc() else time.gmtime)(at)
        return at % 50 + (0 if broken.tm_mon == time.gmtime(at).tm_mon else 200)

    def utc(self):
        return IS_UTC


class FastByALibrary(FastOnUtc):
    """The same, where a library keeps what it met."""

    def utc(self):
        return KEPT_UTC
