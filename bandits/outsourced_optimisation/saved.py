"""A modeler in a file: the table that it is about, and every answer, so that it goes on after any end.

The state file is a `Journal`: made for its owner alone, synced before an answer counts, refused where it is
damaged.  It holds answers, which go out in the clear; rows stay in the table that was handed out.
"""

import csv
import io
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bandits.learning.state import STATE
from bandits.outsourced_optimisation.kernels import MAX_KERNEL_NUMBER, RowKernel, scaled
from bandits.outsourced_optimisation.modeler import AS_PUBLISHED, NOISE_AWARE, Modeler
from bandits.statistics.arrays import Floats
from dpaccount.documents import sha256
from dpaccount.errors import InputError
from dpaccount.work.journal import Journal

ABOUT = "outsourced-table"


@dataclass(frozen=True)
class Settings:
    """How a modeler begins: the length that it starts from (None: a fifth of the table's reach), and a seed.

    The first row is drawn by the seed; `smallest` says that the least output is looked for, `rounds` how
    many rows will be asked in all (None: not known).  `noise` is the variance of an answer.  With `lengths`,
    one for each coordinate, coordinates are divided by them first: where they are not of one kind.
    `published`: rows are chosen by the paper's β_t, also again.
    """

    length: float | None = None
    noise: float = 1e-5
    seed: int = 0
    smallest: bool = False
    rounds: int | None = None
    lengths: tuple[float, ...] | None = None
    published: bool = False


@dataclass
class SavedModeler:
    """An open modeler: `ask` for an index, `tell` its answer; every answer is on the disk first."""

    modeler: Modeler
    journal: Journal
    smallest: bool

    def ask(self) -> int:
        """Return the index of the row to query next; the same until an answer is given."""
        return self.modeler.ask()

    def tell(self, index: int, answer: float) -> None:
        """Learn an answer; raises `InputError` for one that cannot be, with nothing written."""
        self.modeler.check(index, answer)
        self.journal.append({"index": index, "answer": answer})
        self.modeler.tell(index, -answer if self.smallest else answer)

    @property
    def answered(self) -> int:
        """Return how many answers there are."""
        return len(self.modeler.posterior.asked)


def table_named(state: Path) -> str | None:
    """Return the table that a modeler's state names in its first line; None of any other file."""
    try:
        with state.open("rb") as file:
            head = json.loads(file.readline(1 << 16))
    except (OSError, ValueError):
        return None
    return str(head.get("table")) if isinstance(head, dict) and head.get("about") == ABOUT else None


@contextmanager
def opened(
    state: Path, table: Path | None = None, settings: Settings | None = None
) -> Iterator[SavedModeler]:
    """Give the modeler of a state file; with a `table`, begin one where there is none.

    Raises `InputError` for a state of another table, one that is damaged or in use, and for a table
    that changed.
    """
    if not os.path.lexists(state) and table is None:
        raise InputError(f"{state} does not exist", "begin with --table and the released table")
    if table is None:
        if (named := table_named(state)) is None:
            raise InputError(
                f"{state} is no modeler's state, or damaged", "restore it, or begin in another file"
            )
        table = state.parent / named
    raw, points, facts = _read(table)
    settings = settings or Settings()
    begin = {
        "about": ABOUT,
        "table": os.path.relpath(table.resolve(), state.parent.resolve()),
        "sha256": sha256(raw),
        **asdict(settings),
        "lengths": None if settings.lengths is None else list(settings.lengths),
    }
    if settings.lengths is not None:
        scaled(points, np.array(settings.lengths))  # refused before a file is made
    _check_computable(settings)
    journal = Journal(state, begin, STATE)
    try:
        yield _resumed(journal, state, points, facts, begin)
    finally:
        journal.close()


def _check_computable(settings: Settings) -> None:
    """Refuse numbers whose squares are no doubles, before a file is made of them."""
    if settings.length is not None and not 1 / MAX_KERNEL_NUMBER <= settings.length <= MAX_KERNEL_NUMBER:
        raise InputError(f"the length is {settings.length:g}", "give a number from 1e-100 to 1e100")
    if not 0 <= settings.noise <= MAX_KERNEL_NUMBER:
        raise InputError(f"the noise is {settings.noise:g}", "give a variance of at most 1e100")
    if settings.published and settings.rounds is not None:
        raise InputError("the published β_t takes no number of queries", "leave --rounds out")


def _resumed(
    journal: Journal, state: Path, points: Floats, facts: dict[str, Any], begin: dict[str, Any]
) -> SavedModeler:
    head = journal.head
    if head.get("about") != ABOUT or head.get("sha256") != begin["sha256"]:
        raise InputError(f"{state} is the state of another table", "name its own, or begin in another file")
    for name in asdict(Settings()):
        if begin[name] not in (getattr(Settings, name), head.get(name)):
            raise InputError(f"{state} began with {name} = {head.get(name)}", f"leave --{name} out")
    modeler = SavedModeler(_begun(points, facts, head), journal, bool(head["smallest"]))
    for event in journal.events:
        modeler.modeler.tell(event["index"], -event["answer"] if modeler.smallest else event["answer"])
    return modeler


def _begun(points: Floats, facts: dict[str, Any], head: dict[str, Any]) -> Modeler:
    spread: float | tuple[float, ...] = float(facts.get("noise_variance") or 0.0)
    if head.get("lengths") is not None:
        lengths = np.array(head["lengths"], dtype=np.float64)
        points, spread = scaled(points, lengths), tuple((spread / lengths**2).tolist())
    reach = float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
    kernel = RowKernel(float(head["length"] or reach / 5), 1.0, spread)
    first = int(np.random.default_rng(head["seed"]).integers(len(points)))
    ours = replace(NOISE_AWARE, rounds=head.get("rounds"))
    rule = AS_PUBLISHED if head.get("published") else ours
    return Modeler(points, kernel, first, rule, noise=float(head["noise"]), learn=True)


def _read(table: Path) -> tuple[bytes, Floats, dict[str, Any]]:
    """Return a table's bytes, its rows clipped to the public box, and the facts in the file next to it."""
    sidecar = table.with_name(f"{table.name}.json")
    try:
        raw, facts = table.read_bytes(), json.loads(sidecar.read_bytes())
        rows = list(csv.reader(io.StringIO(raw.decode())))[1:]
        points = np.array([[float(cell) for cell in row] for row in rows], dtype=np.float64)
    except OSError as error:
        raise InputError(
            str(error.strerror or "unreadable"), "give the table and the facts beside it", table
        ) from None
    except ValueError:
        raise InputError(
            f"{table} is no table of numbers, rows of equal length", "give what curate wrote"
        ) from None
    if not isinstance(facts, dict) or facts.get("sha256") != sha256(raw):
        raise InputError(f"{table} is not the table that {sidecar.name} is about", "fetch both again")
    if points.ndim != 2 or not len(points) or not np.isfinite(points).all():
        raise InputError(f"{table} is no table of finite numbers", "give what curate wrote")
    for name in ("radius", "noise_variance"):
        if not _size(facts.get(name)):
            raise InputError(f"{name} is no number of at least 0", "give what curate wrote", sidecar.name)
    radius = facts.get("radius")
    reach = math.inf if radius is None else float(radius)
    # Clipped here, after the release. Noise that the curator truncated to the box would not be private: a row
    # near the edge would show by what cannot occur.
    return raw, np.clip(points, -reach, reach), facts


def _size(value: object) -> bool:
    """Return whether a fact is null or a finite number of at least 0."""
    return value is None or (type(value) in (int, float) and 0 <= float(str(value)) < math.inf)
