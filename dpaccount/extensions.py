"""What other packages add to ours: subjects, parameters, commands, parts of reports, schemas.

They are found by entry points, in groups that docs/extending.md describes.  Our own packages for research,
`bandits` and `papers`, are found in the same way, so that the core works where they are not installed.

Entry points are read for a name that the core does not know, for `list` and for ``--help``, and never by
`account`, `check` or a charge: to read those of all installed packages takes longer than a short command, and
what a charge does must not depend on what else is installed.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from dpaccount.errors import InputError
from dpaccount_packages import RESEARCH, folders, need

SUBJECTS = "dpaccount.subjects"
PARAMETERS = "dpaccount.parameters"
COMMANDS = "dpaccount.commands"
REPORTS = "dpaccount.reports"
SCHEMAS = "dpaccount.schemas"
DISTRIBUTION = "dpaccount"


@dataclass(frozen=True)
class Extension:
    """An entry point: its name, what it stands for (``package.module:name`` or a package), and who has it."""

    group: str
    name: str
    value: str
    distribution: str

    @property
    def ours(self) -> bool:
        """Return whether it is of our own distribution."""
        return self.distribution == DISTRIBUTION

    @property
    def package(self) -> str:
        """Return the top package of what it stands for."""
        return self.value.partition(":")[0].partition(".")[0]

    def load(self) -> Any:
        """Return what it stands for; raises `InputError` where that cannot be imported.

        What our own distribution names is never taken from another project's package of that name.
        """
        module, _, name = self.value.partition(":")
        try:
            if self.ours:
                need(self.package)
            loaded = import_module(module.strip())
            return getattr(loaded, name.strip()) if name else loaded
        # Whatever it is: another project's package may even exit while it is imported.
        except (Exception, SystemExit) as error:
            what = f"{self.name} of {self.distribution} cannot be loaded ({type(error).__name__}: {error})"
            raise InputError(" ".join(what.split()), "mend or remove that package") from None


@cache
def extensions(group: str) -> tuple[Extension, ...]:
    """Return the entry points of a group, ours first; of two with one name the first one counts."""
    from importlib.metadata import entry_points  # takes longer than most commands

    there = folders()
    found = [
        Extension(group, point.name, point.value, point.dist.name if point.dist else "an unknown package")
        for point in entry_points(group=group)
    ]
    found.sort(key=lambda each: (not each.ours, each.distribution))
    first: dict[str, Extension] = {}
    for each in found:
        if not (each.ours and each.package in RESEARCH and each.package not in there):
            first.setdefault(each.name, each)
    return tuple(first.values())


def extension(group: str, name: str) -> Extension | None:
    """Return the entry point of this name, or None."""
    return next((each for each in extensions(group) if each.name == name), None)


def loaded(group: str) -> Iterator[tuple[Extension, Any]]:
    """Yield each entry point of a group with what it stands for.

    One that cannot be loaded is a line of warning on standard error, and stops nothing else.
    """
    for each in extensions(group):
        try:
            yield each, each.load()
        except InputError as error:
            sys.stderr.write(f"warning: {error}\n")
