"""What other packages add to ours: subjects, parameters, commands, parts of reports, schemas.

They are found by entry points, in groups that docs/extending.md describes.  Our own packages for research,
`bandits` and `papers`, are found in the same way, so that the core works where they are not installed.

Entry points are read for a name that the core does not know, for `list` and for ``--help``, and never by
`account`, `check` or a charge: to read those of all installed packages takes longer than a short command, and
what a charge does must not depend on what else is installed.
"""

import contextlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from dpaccount.errors import InputError
from dpaccount_packages import NAMES, RESEARCH, folders, need

SUBJECTS = "dpaccount.subjects"
PARAMETERS = "dpaccount.parameters"
COMMANDS = "dpaccount.commands"
REPORTS = "dpaccount.reports"
SCHEMAS = "dpaccount.schemas"
DISTRIBUTION = "dpaccount"
NAME = re.compile(r"[a-z][a-z0-9-]{0,63}(/[0-9]{1,3})?")  #: of what is added; a schema may have a version


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
        return self.distribution == DISTRIBUTION and self.package in NAMES

    @property
    def package(self) -> str:
        """Return the top package of what it stands for."""
        return self.value.partition(":")[0].partition(".")[0]

    def load(self) -> Any:
        """Return the object that it names; raises `InputError` where that cannot be imported.

        What our own distribution names is never taken from another project's package of that name.  What a
        module prints while it is imported goes to standard error: standard output may be a document.
        """
        module, _, name = self.value.partition(":")
        try:
            if self.ours:
                need(self.package)
            with contextlib.redirect_stdout(sys.stderr):
                loaded = import_module(module)
            return getattr(loaded, name) if name else loaded
        # Whatever it is: another project's package may even exit while it is imported.
        except (Exception, SystemExit) as error:
            raise InputError(self.broken(error), "mend or remove that package") from None

    def broken(self, error: BaseException | str) -> str:
        """Return what is wrong with it, in one line."""
        why = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        return " ".join(f"{self.name} of {self.distribution} cannot be used ({why})".split())


@cache  # a process says it once
def warn(what: str) -> None:
    """Write one line of warning."""
    sys.stderr.write(f"warning: {what}\n")


@cache
def _points() -> tuple[Extension, ...]:
    """Return all entry points of our groups; a distribution that says them wrongly is one line of warning."""
    from importlib.metadata import distributions  # takes longer than most commands

    found, seen = list[Extension](), set[str]()
    for each in distributions():
        try:
            points = [point for point in each.entry_points if point.group.startswith(f"{DISTRIBUTION}.")]
            name = str(each.metadata["Name"] or "a package without a name") if points else ""
        except Exception as error:  # its files are as anybody wrote them
            why = " ".join(f"({type(error).__name__}: {error})".split())
            warn(f"the entry points of a package cannot be read {why}")
            continue
        if points and name not in seen:  # the first on the path is what is imported
            seen.add(name)
            found += [Extension(p.group, p.name, "".join(p.value.split()), name) for p in points]
    return tuple(sorted(found, key=lambda each: (not each.ours, each.distribution)))


@cache
def extensions(group: str) -> tuple[Extension, ...]:
    """Return the entry points of a group, ours first; of two with one name the first one counts."""
    there, first = folders(), dict[str, Extension]()
    for each in _points():
        if each.group != group or (each.ours and each.package in RESEARCH and each.package not in there):
            continue
        if NAME.fullmatch(each.name) is None:
            warn(each.broken("names are of small letters, digits and hyphens"))
        else:
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
        if (made := _loaded(each)) is not None:
            yield each, made


@cache
def _loaded(each: Extension) -> Any:
    """Return the object that an entry point names, or None after a warning."""
    try:
        return each.load()
    except InputError as error:
        warn(str(error))
        return None


def catalogues() -> list[str]:
    """Return the packages of ours in which each file is one subject; another project's is none of them."""
    named = (each for each in extensions(SUBJECTS) if each.ours and ":" not in each.value)
    return ["mechanisms", *(each.value for each in named if _loaded(each) is not None)]


def home_of(name: str) -> str | None:
    """Return the package of ours in which a subject has a file; no entry points are read for a mechanism."""
    module = name.replace("-", "_")
    if find_spec(f"mechanisms.{module}") is not None:
        return "mechanisms"
    return next((each for each in catalogues() if find_spec(f"{each}.{module}") is not None), None)
