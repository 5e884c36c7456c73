"""Runs with another time zone and locale: a hypothesis is about the code on any machine, not on this one."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace as changed

from audits.hypothesis_tests.judge import Example
from audits.hypothesis_tests.replay import Failed, Run, replayed, unlike
from audits.sandbox import fork
from dpaccount.schemas.certificate import ShownPair
from mechanisms.subject import Rows, Subject

ZONE: Final = "Pacific/Auckland"  #: far from where most are, with clocks that change, in other months
BY_RULE: Final = "NZST-12NZDT,M9.5.0,M4.1.0/3"  #: the same where no zones are installed
HOURS: Final = 12


def failing_elsewhere(
    subject: Subject, runs: Sequence[Example], search: Callable[[], list[ShownPair | None]]
) -> list[ShownPair | None]:
    """Return what a search finds in another environment; empty where no run of these differs there."""

    def there() -> list[bytes]:
        zone = _move()
        sides = [(data, run, each.coins) for each in runs for data, run in each.sides()]
        if not any(_differs(subject, *side) for side in sides):
            return []
        found = [each and changed(each, wrong=f"with TZ={zone}: {each.wrong}") for each in search()]
        return [msgspec.json.encode(each) for each in found]

    return [msgspec.json.decode(each, type=ShownPair | None) for each in fork.in_fork(there)]


def _differs(subject: Subject, data: Rows, run: Run, coins: int) -> bool:
    again = replayed(subject, data, run, coins)
    return isinstance(again, Failed) or unlike(run, again) is not None


def _move() -> str:
    """Give this process another zone and locale; return the zone."""
    os.environ["LC_ALL"] = "C" if os.environ.get("LC_ALL", "") != "C" else "C.UTF-8"
    for name in (ZONE, BY_RULE):
        os.environ["TZ"] = name
        time.tzset()
        if time.timezone == -3600 * HOURS:
            break
    return name
