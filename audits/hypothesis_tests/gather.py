"""Evidence on all hypotheses of a proof, for row-level and user-level mechanisms.

Hypotheses about rows are tested on rows.  That one person changes only a few rows is tested by running the
contribution bounding of files on synthetic tables, in which a person's rows are spread out and exceed
the bound, and on neighbours.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from audits.datasets.bases import Pair
from audits.datasets.domain_pairs import drawn_pairs
from audits.hypothesis_tests import search
from audits.hypothesis_tests.checks import check_of
from audits.hypothesis_tests.evidence import WorstPair, describe, evidence_on
from audits.hypothesis_tests.search import digest_of_files
from audits.hypothesis_tests.smoke_test import MAX_DATASET_NUMBERS
from audits.subjects.code import check_imports
from audits.subjects.code_constants import landmarks
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.relation import adjacency
from dpaccount.schemas.certificate import Evidence, ShownPair, Status
from mechanisms.subject import Rows, Subject
from mechanisms.table.rows import bounded
from mechanisms.table.user_level import ByPerson, of_rows

MADE_UP_PERSONS = 30  #: persons in a synthetic table
BEYOND = 2  #: rows above the contribution bound of a person in a synthetic table
BATCH = 5  #: rows of a synthetic table per batch, so that a person's rows are in several batches

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
    """Return the evidence on every hypothesis of the proof, in order, and the worst pair found.

    Pairs are also made from the tables `given` and from a class's `examples`.  Raises `InputError` if
    every run fails, or if a file of the project could not be imported.
    """
    terms: dict[str, Any] = {"examples": examples, "seed": seed, "files": files}
    if not isinstance(subject, ByPerson):
        tables = [*given, *getattr(subject, "examples", list)()]
        gathered = search.gather(subject, proved, **terms, given=[_table(subject, each) for each in tables])
        check_imports()
        return gathered
    evidence, _ = search.gather(
        subject.mechanism,
        Proved(of_rows(proved.theorem)),
        **terms,
        given=[subject.table(rows) for rows in given],
    )
    by_step = {each.step: each for each in evidence}
    seen = search.search(subject, proved, [], examples=examples, seed=seed).require_runs(subject)
    judged = []
    for each in proved.hypotheses:
        if each.digest in by_step:
            judged.append(by_step[each.digest])
            continue
        count, worst, failing = check_bounding(subject, examples=examples, seed=seed)
        bound = check_of(proved, each)[1]
        status: Status = "refuted" if failing is not None else "tested" if worst else "untested"
        digest = digest_of_files(files)
        stated = bound, subject.relation
        judged.append(evidence_on(each, stated, status, (count, worst, failing), digest))
    check_imports()
    return judged, seen.worst_pair()


def _table(subject: Subject, rows: object) -> Rows:
    """Return an example table clamped to the domain; raises `InputError` unless it has rows of the domain."""
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


def check_bounding(
    subject: ByPerson, *, examples: int, seed: int, bound: Bound = bounded
) -> tuple[int, int, ShownPair | None]:
    """Return the number of pairs tried, the largest number of changed rows, and a counterexample or None."""
    subject = replace(subject, rows=min(subject.rows, MADE_UP_PERSONS))  # persons are bounded independently
    near, marks, worst = adjacency(subject.relation), landmarks(subject).numbers, 0
    rows_vary = adjacency(subject.mechanism.relation).rows_vary
    drawn = islice(drawn_pairs(subject.domain(), near, seed, marks), examples)
    for tried, pair in enumerate(drawn, 1):
        tables = [subject.table(side) for side in (pair.left, pair.right)]
        steps = steps_between(*tables, coming_and_going=rows_vary)
        worst = max(worst, steps)
        wrong = bounding_violation(subject, pair, bound)
        if steps > subject.steps:
            wrong = f"one person's change is {steps} steps of rows, more than {subject.steps}"
        if not all(map(subject.mechanism.domain().contains, tables)):
            wrong = "the mechanism gets rows beyond its domain, of which nothing is tested"
        if wrong is not None:
            return tried, worst, describe(pair, 0, wrong)
    return examples, worst, None


def steps_between(left: Rows, right: Rows, *, coming_and_going: bool) -> int:
    """Return how many rows are replaced, or are removed and inserted in one place, from left to right."""
    if not coming_and_going:
        return int((left != right).any(axis=1).sum()) if left.shape == right.shape else len(left) + len(right)
    shorter = min(len(left), len(right))
    same = (left[:shorter] == right[:shorter]).all(axis=1)
    start = shorter if same.all() else int(same.argmin())
    rest = shorter - start
    ends = (left[len(left) - rest :] == right[len(right) - rest :]).all(axis=1)[::-1]
    end = rest if ends.all() else int(ends.argmin())
    return len(left) + len(right) - 2 * (start + end)


def bounding_violation(subject: ByPerson, pair: Pair, bound: Bound) -> str | None:
    """Describe what is wrong with the bounding of neighbouring tables, or return None.

    Beyond the pair's own change, the person is also given one row, or `max_rows` other rows, or is removed
    under add-remove.  Every second of the others has more rows than the bound.
    """
    crowd, here = pair.left.copy(), pair.unit - 1
    others = np.arange(len(crowd)) != here
    crowd[others, 0] = np.where(np.arange(others.sum()) % 2, 1, subject.max_rows)
    everyone, domain = list(range(len(crowd))), subject.domain()
    full = np.array(domain.low) + np.array(domain.high) - pair.left[here]
    full[0] = subject.max_rows
    records = [pair.left[here], full, [1, *pair.left[here][1:]]]
    if len(pair.right) == len(pair.left):
        records.append(pair.right[here])
    tables = [(np.where(others[:, None], crowd, record), everyone) for record in records]
    if adjacency(subject.relation).rows_vary:
        tables.append((crowd[others], [name for name in everyone if name != here]))
    first, *rest = (_slots(subject, data, names, bound) for data, names in tables)
    return next(filter(None, (_slot_violation(subject, first, each) for each in rest)), None)


def _slots(subject: ByPerson, data: Rows, names: Sequence[int], bound: Bound) -> dict[str, Rows]:
    owners, rows = spread_rows(subject, data, names)
    default, starts = tuple(np.zeros(rows.shape[1])), range(0, len(rows), BATCH)
    batches = [(owners[start : start + BATCH], rows[start : start + BATCH]) for start in starts]
    return dict(zip(*bound(batches, subject.max_rows, default), strict=True))


def _slot_violation(subject: ByPerson, left: dict[str, Rows], right: dict[str, Rows]) -> str | None:
    """Describe a change of more than one person's bounded rows, or of another's position; else None."""
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


def spread_rows(subject: ByPerson, data: Rows, names: Sequence[int]) -> tuple[list[str], Rows]:
    """Return the owners and the rows of a table in which every person's rows are spread out.

    A person with `max_rows` rows gets `BEYOND` further ones, which must not count.  A row's position
    depends only on its person and on its number among that person's rows.
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
