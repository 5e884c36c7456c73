"""Evidence on everything that a proof assumes: of a mechanism by itself, and of one for persons.

What is assumed of rows is tested among rows.  That one person's change is a change of a few rows is
tested on synthetic tables in which a person's rows stand apart and are more than count: the
bounding that a file goes through is run on them, and on a neighbour.
"""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import Phase

from audits.datasets.bases import Pair
from audits.datasets.domain_pairs import pairs
from audits.datasets.drawing import draw_examples
from audits.hypothesis_tests import search
from audits.hypothesis_tests.checks import check_of
from audits.hypothesis_tests.evidence import WorstPair, describe, evidence_on
from audits.hypothesis_tests.search import Counterexample, digest_of_files
from audits.hypothesis_tests.smoke_test import MAX_DATASET_NUMBERS
from audits.subjects.code import check_imports
from audits.subjects.code_constants import landmarks
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.relation import adjacency
from dpaccount.schemas.certificate import Evidence, ShownPair, Status
from mechanisms.subject import Rows, Subject
from mechanisms.table.contribution_bounding import bounded
from mechanisms.table.user_level import ByPerson, of_rows

MADE_UP_PERSONS = 30  #: persons in a synthetic table
BEYOND = 2  #: rows that do not count, of a person in a synthetic table who has more than may
BATCH = 5  #: rows of a synthetic table that are read at once: a person's stand in several batches

Bound = Callable[[Iterable[tuple[Sequence[str], Rows]], int, Sequence[float]], tuple[list[str], Rows]]


def gather(
    subject: Subject,
    proved: Proved,
    *,
    examples: int,
    seed: int,
    files: list[Path],
    given: Sequence[Rows] = (),
) -> tuple[list[Evidence], WorstPair]:
    """Return the evidence on every hypothesis of what was proved, in its order, and the worst pair seen.

    Neighbours are made of the tables `given` too, and of those that a class names by `examples`.
    Raises `InputError` if no run gives anything to judge, and where an import of the code's own
    files failed.
    """
    terms: dict[str, Any] = {"examples": examples, "seed": seed, "files": files}
    if not isinstance(subject, ByPerson):
        tables = [*given, *getattr(subject, "examples", list)()]
        whole = search.gather(subject, proved, **terms, given=[_table(subject, each) for each in tables])
        check_imports()
        return whole
    evidence, _ = search.gather(
        subject.mechanism,
        Proved(of_rows(proved.theorem)),
        **terms,
        given=[subject.table(rows) for rows in given],
    )
    by_step = {each.step: each for each in evidence}
    seen = search.search(subject, proved, [], examples=examples, seed=seed).judged(subject)
    judged = []
    for each in proved.hypotheses:
        if each.digest in by_step:
            judged.append(by_step[each.digest])
            continue
        count, worst, failing = bounding(subject, examples=examples, seed=seed)
        bound = check_of(proved, each)[1]
        status: Status = "refuted" if failing is not None else "tested" if worst else "untested"
        digest = digest_of_files(files)
        stated = bound, subject.relation
        judged.append(evidence_on(each, stated, status, (count, worst, failing), digest))
    check_imports()
    return judged, seen.suspect()


def _table(subject: Subject, rows: object) -> Rows:
    """Return an example table within the domain; raises `InputError` for what is none of its rows."""
    domain = subject.domain()
    try:
        table = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.zeros(0)
    if table.ndim != 2 or table.shape[1] != len(domain.low) or not 0 < table.size <= MAX_DATASET_NUMBERS:
        raise InputError(
            f"an example table is no rows of {len(domain.low)} numbers", "give such, at least one"
        )
    return domain.clamped(table)


def bounding(
    subject: ByPerson, *, examples: int, seed: int, bound: Bound = bounded
) -> tuple[int, int, ShownPair | None]:
    """Return how many pairs of persons were tried, the most steps of rows between them, and what is wrong."""
    tried, worst, failing = 0, 0, None
    subject = replace(subject, rows=min(subject.rows, MADE_UP_PERSONS))  # a slot depends on no other one

    def property_test(pair: Pair) -> None:
        nonlocal tried, worst, failing
        tried += 1
        tables = [subject.table(side) for side in (pair.left, pair.right)]
        rows_vary = adjacency(subject.mechanism.relation).rows_vary
        steps = steps_between(*tables, coming_and_going=rows_vary)
        worst = max(worst, steps)
        wrong = moved(subject, pair, bound)
        if steps > subject.steps:
            wrong = f"one person's change is {steps} steps of rows, more than {subject.steps}"
        if not all(map(subject.mechanism.domain().contains, tables)):
            wrong = "the mechanism gets rows beyond its domain, of which nothing is tested"
        if wrong is not None:
            failing = describe(pair, 0, wrong)
            raise Counterexample

    drawn = pairs(subject.domain(), subject.relation, landmarks(subject).numbers)
    with contextlib.suppress(Counterexample):
        draw_examples(property_test, seed, examples, Phase.generate, Phase.shrink, pair=drawn)
    return tried, worst, failing


def steps_between(left: Rows, right: Rows, *, coming_and_going: bool) -> int:
    """Return how many rows are replaced, or go and come in one place, between left and right."""
    if not coming_and_going:
        return int((left != right).any(axis=1).sum()) if left.shape == right.shape else len(left) + len(right)
    shorter = min(len(left), len(right))
    same = (left[:shorter] == right[:shorter]).all(axis=1)
    start = shorter if same.all() else int(same.argmin())
    rest = shorter - start
    ends = (left[len(left) - rest :] == right[len(right) - rest :]).all(axis=1)[::-1]
    end = rest if ends.all() else int(ends.argmin())
    return len(left) + len(right) - 2 * (start + end)


def moved(subject: ByPerson, pair: Pair, bound: Bound) -> str | None:
    """Say what is wrong with the bounding of neighbouring tables that are read row by row, or nothing.

    Besides the pair's own change, the person has one row, or all of other ones, or is gone where persons
    come and go; every second of the others has all rows and some more.
    """
    crowd, here = pair.left.copy(), pair.unit - 1
    others = np.arange(len(crowd)) != here
    crowd[others, 0] = np.where(np.arange(others.sum()) % 2, 1, subject.max_rows)
    whole, domain = list(range(len(crowd))), subject.domain()
    full = np.array(domain.low) + np.array(domain.high) - pair.left[here]
    full[0] = subject.max_rows
    records = [pair.left[here], full, [1, *pair.left[here][1:]]]
    if len(pair.right) == len(pair.left):
        records.append(pair.right[here])
    tables = [(np.where(others[:, None], crowd, record), whole) for record in records]
    if adjacency(subject.relation).rows_vary:
        tables.append((crowd[others], [name for name in whole if name != here]))
    first, *rest = (_slots(subject, data, names, bound) for data, names in tables)
    return next(filter(None, (_unlike(subject, first, each) for each in rest)), None)


def _slots(subject: ByPerson, data: Rows, names: Sequence[int], bound: Bound) -> dict[str, Rows]:
    owners, rows = apart(subject, data, names)
    default, starts = tuple(np.zeros(rows.shape[1])), range(0, len(rows), BATCH)
    batches = [(owners[start : start + BATCH], rows[start : start + BATCH]) for start in starts]
    return dict(zip(*bound(batches, subject.max_rows, default), strict=True))


def _unlike(subject: ByPerson, left: dict[str, Rows], right: dict[str, Rows]) -> str | None:
    """Say what is wrong where more than one slot differs, or another person's place does."""
    if any(row[0] > subject.max_rows for row in (*left.values(), *right.values())):
        return f"more than {subject.max_rows} rows of a person count"
    common = [name for name in left if name in right]
    changed = [name for name in common if not np.array_equal(left[name], right[name])]
    changed += [name for name in (*left, *right) if (name in left) != (name in right)]
    if len(changed) > 1:
        return f"one person's rows change, and {len(changed)} persons' slots do: {', '.join(changed[:5])}"
    if common != [name for name in right if name in left]:
        return "one person's rows change, and others' places do"
    return None


def apart(subject: ByPerson, data: Rows, names: Sequence[int]) -> tuple[list[str], Rows]:
    """Return whose each row of a table is, and the rows, in an order in which a person's stand apart.

    A person of whom all places are taken has some more rows, other ones, which do not count.  Where a row
    stands depends on its person and its number among that person's alone.
    """
    most, of, shuffled = subject.max_rows, subject.mechanism.domain(), []
    mirror = np.array(of.low) + np.array(of.high)
    for person, record in zip(names, data, strict=True):
        own = record[1:].reshape(most, len(mirror))[: int(record[0])]
        beyond = mirror - own[:BEYOND] if len(own) == most else own[:0]
        order = np.random.default_rng(person).random(most + BEYOND)
        shuffled += [(order[k], f"{person:06d}", row) for k, row in enumerate((*own, *beyond))]
    shuffled.sort(key=lambda each: each[0])
    rows = np.array([row for _, _, row in shuffled]).reshape(len(shuffled), len(mirror))
    return [owner for _, owner, _ in shuffled], rows
