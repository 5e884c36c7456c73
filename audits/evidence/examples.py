"""Example tables of a claim or a class, of which neighbours are made like of made-up ones.

What only real tables have (which values go together, in what order) is in no table that is drawn.  Witnesses
quote their rows, so they must be public or made up: the private data file itself is refused.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from audits.claim import Claim
from audits.evidence.closed import opened
from audits.evidence.tries import MAX_NUMBERS
from audits.sandbox import fork
from audits.sandbox.frames import packed, unpacked
from audits.subjects.catalogue import on_table
from dpaccount.errors import InputError
from dpaccount.relation import ADD_REMOVE
from mechanisms.subject import Domain, Rows, Subject
from mechanisms.table.by_person import named
from mechanisms.table.rows import read_rows

MANY = 2**20  #: rows of a declared table that are read


def of_claim(claim: Claim, subject: Subject) -> list[Rows]:
    """Return the claim's example table within the subject's domain, read as its data are; none without one.

    Raises `InputError` for a file that cannot be read so, and for the data file or a copy of it.
    """
    path = claim.examples
    if path is None:
        return []
    try:
        if claim.data_file is not None and claim.data_file.exists() and _same(path, claim.data_file):
            raise InputError(
                f"{path}: this is the private data file; name examples that are public or made up"
            )
        read = fork.apart(lambda: packed(_read(claim, subject, path)))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'unreadable'}; give a readable table") from None
    return [_within(subject.domain(), unpacked(read), str(path))]


def of_class(subject: Subject) -> list[Rows]:
    """Return the tables that a class says by a method `examples`; raises `InputError` for what are none."""
    tables: Callable[[], Any] | None = getattr(named(subject), "examples", None)
    if tables is None or subject is not named(subject):
        return []
    try:
        found = [np.array(table, dtype=np.float64) for table in tables()]
    except (Exception, SystemExit) as error:  # of a class of the user's own
        raise InputError(f"its examples raise {type(error).__name__}: {error}; return tables") from None
    return [_within(subject.domain(), rows, "examples") for rows in found]


def _same(one: Path, other: Path) -> bool:
    """Say whether two files are one, or hold the same."""
    with opened():
        return one.samefile(other) or _digest(one) == _digest(other)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(claim: Claim, subject: Subject, path: Path) -> Rows:
    if claim.table is not None:
        table, (_, reading) = replace(claim.table, rows=MANY), on_table(claim, type(named(subject)))
        return read_rows(path, table, reading, ADD_REMOVE)
    reader = getattr(subject, "read", None)
    try:
        with path.open(encoding="utf-8") as file:
            found = np.loadtxt(file, delimiter=",", ndmin=2) if reader is None else reader(path)
        return np.array(found, dtype=np.float64)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{path}: no table of numbers ({type(error).__name__}: {error}); mend it") from None


def _within(domain: Domain, rows: Rows, where: str) -> Rows:
    if rows.ndim != 2 or rows.shape[1] != len(domain.low) or not 0 < rows.size <= MAX_NUMBERS:
        shape = " × ".join(map(str, rows.shape))
        raise InputError(f"{where}: a table of {shape} numbers; give rows of {len(domain.low)}, at least one")
    return domain.clamped(rows)
