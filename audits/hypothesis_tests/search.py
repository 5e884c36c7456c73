"""Property tests of a proof's hypotheses, against the running code.

For every hypothesis, Hypothesis searches neighbouring datasets, public coins and noise for a
counterexample: the code is run, its releases are replayed on the neighbour, and the movement of
every private value is compared exactly with what was declared.

Hypotheses about rows are tested on rows.  That one person changes only a few rows is tested by running the
contribution bounding of files on synthetic tables, in which a person's rows are spread out and exceed
the bound, and on neighbours.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import Phase, target
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from msgspec.structs import replace as changed

from audits.consistency.verdict import may_move
from audits.datasets import tours
from audits.datasets.bases import Exemplified, Pair, marked_columns
from audits.datasets.domain_pairs import named_coins, pairs, stepping
from audits.datasets.drawing import draw_examples
from audits.datasets.records import FITS, records, thin
from audits.hypothesis_tests.checks import Check, check_of, untested
from audits.hypothesis_tests.elsewhere import failing_elsewhere, more_runs
from audits.hypothesis_tests.extreme_inputs import WORK, difference_on_any_data
from audits.hypothesis_tests.judge import Example, Judge, SearchResult, WorstPair, describe, evidence_on
from audits.hypothesis_tests.replay import Failed, replayed, unlike
from audits.hypothesis_tests.run_constants import observed_landmarks
from audits.hypothesis_tests.smoke_test import MAX_DATASET_NUMBERS
from audits.subjects.code import check_imports
from audits.subjects.code_constants import Landmarks, landmarks
from audits.subjects.sources import digest_of_files
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.relation import REPLACE_ONE, adjacency, radius_of
from dpaccount.schemas.certificate import Evidence, ShownPair, Status
from mechanisms.subject import Additive, Domain, Rows, Subject
from mechanisms.table.kept_rows import digests_of
from mechanisms.table.rows import Owned, bounded
from mechanisms.table.user_level import ByPerson, named, of_rows

EXAMPLES = 200  #: Hypothesis examples for every hypothesis of a proof
MAX_BOUNDARIES = 24  #: ends of batches at which units on both sides are tried
COINS = 60  #: seeds of public coins that are tried one by one
LEAST = 500  #: the minimum number of runs of all tours
MANY_COINS, MANY_RECORDS = 3000, 50_000  #: for one pair; that are changed several at once
APART = 8  #: one in this many examples runs each side in a separate process

MADE_UP_PERSONS = 30  #: persons in a synthetic table
BEYOND = 2  #: rows above the contribution bound of a person in a synthetic table
BATCH = 5  #: rows of a synthetic table per batch, so that a person's rows are in several batches

Bound = Callable[[Iterable[Owned], int, Sequence[float]], tuple[list[str], Rows]]


class Counterexample(Exception):  # noqa: N818
    """Raised inside a property test, for Hypothesis to shrink."""


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
    if not isinstance(subject, ByPerson):
        tables = [*given, *getattr(subject, "examples", list)()]
        rows = [_table(subject, each) for each in tables]
        gathered = _gather_on_rows(subject, proved, examples, seed, files, rows)
        check_imports()
        return gathered
    of_rows_alone, tables = Proved(of_rows(proved.theorem)), [subject.table(rows) for rows in given]
    evidence, _ = _gather_on_rows(subject.mechanism, of_rows_alone, examples, seed, files, tables)
    by_step = {each.step: each for each in evidence}
    seen = search(subject, proved, [], examples=examples, seed=seed).require_runs(subject)
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


def _gather_on_rows(
    subject: Subject, proved: Proved, examples: int, seed: int, files: list[Path], given: Sequence[Rows]
) -> tuple[list[Evidence], WorstPair]:
    """Return the evidence on every hypothesis of the proof, in order, and the worst pair found.

    All hypotheses are judged on the same examples; one that fails is searched again alone, so that its
    counterexample shrinks.  The first examples run each side in a separate process, before any run in
    this one; they are repeated here at the end, to find runs that depend on earlier runs.  Pairs are
    also made from the tables `given`.  Raises `InputError` if every run fails.
    """
    tested = proved.hypotheses
    relation = relation_of(subject, proved)
    checks = [check_of(proved, each) for each in tested]
    judges = [check for check, _ in checks]
    marks = observed_landmarks(subject, proved, seed)
    domain = Exemplified.of(subject.domain(), given)
    # Separate processes come first: a run in this one could leave behind what hides a dependence.
    first = search(subject, proved, judges, marks, examples=examples // APART + 1, seed=seed, apart=True)
    seen = search(subject, proved, judges, marks, domain, examples=examples, seed=seed, sweep=True)
    seen = seen.joined(first).require_runs(subject)
    beyond = seen.unrelated
    if beyond is None:
        found = difference_on_any_data(subject, proved, domain, marks, seed)
        beyond = None if found is None else describe(*found)
    history = changed_by_earlier_runs(subject, first.runs)
    again = partial(
        search,
        proved=proved,
        checks=judges,
        marks=marks,
        domain=domain,
        examples=examples,
        seed=seed,
        sweep=True,
    )
    runs = [(data, run, each.coins) for each in first.runs for data, run in each.sides()]
    runs += more_runs(subject, proved, domain, marks)
    elsewhere = failing_elsewhere(subject, proved, judges, runs, again)
    seen.skipped = " ".join(filter(None, (seen.skipped, elsewhere.open)))
    source, count, steps = digest_of_files(files), seen.count, {step["digest"]: step for step in proved.steps}
    evidence = []
    for index, (each, (check, bound)) in enumerate(zip(tested, checks, strict=True)):
        failing, worst = seen.failing[index] or history, seen.worst[index]
        if failing is None:
            failing = (beyond if each.rule == "assume_view" else None) or elsewhere.failing[index]
        else:
            shrunk = search(subject, proved, [check], marks, examples=examples, seed=seed, shrink=True)
            failing = shrunk.failing[0] or failing
            if seen.raised:
                wrong = f"{failing.wrong} ({seen.raised} of {seen.count} runs fail)"
                failing = changed(failing, wrong=wrong)
        idle = check is untested or (worst == 0 and may_move(proved.steps, steps[each.digest]))
        idle = idle or elsewhere.open != ""
        status: Status = "refuted" if failing is not None else "untested" if idle else "tested"
        evidence.append(evidence_on(each, (bound, relation), status, (count, worst, failing), source))
    return evidence, seen.worst_pair()


def relation_of(subject: Subject, proved: Proved) -> str:
    """Return the relation of a theorem; raises `InputError` if the subject has another one."""
    if radius_of(subject.relation) is not None and any(subject.domain().integer):
        raise InputError("rows that move by a radius are of real numbers", "a column of the domain is whole")
    if proved.relation is None or proved.relation != subject.relation:
        fact = proved.theorem.conclusion
        raise InputError(f"the proof is about {fact}, the subject says {subject.relation}", "make them agree")
    return proved.relation


def search(  # noqa: PLR0913
    subject: Subject,
    proved: Proved,
    checks: list[Check],
    marks: Landmarks | None = None,
    domain: Domain | None = None,
    *,
    examples: int,
    seed: int,
    shrink: bool = False,
    sweep: bool = False,
    apart: bool = False,
) -> SearchResult:
    """Search neighbouring pairs, coins and noise for large movement; apply all `checks` to each.

    For rows that move within a radius, replaced rows are tried too, but never returned as the worst pair.
    `shrink` stops at the first failure and simplifies it.  `sweep` first runs tours of datasets, among
    others at the numbers in the code.  `apart` runs each side in a separate process.
    """
    marks = marks or (observed_landmarks(subject, proved, seed) if sweep else landmarks(subject))
    domain, relation = domain or subject.domain(), subject.relation
    judge = Judge(subject, proved, checks, apart=apart)
    about = [relation] if radius_of(relation) is None else [relation, REPLACE_ONE]

    def property_test(pair: Pair, coins: int) -> None:
        size, failed = judge.run_pair(pair, coins)
        target(size)
        if shrink and failed:
            raise Counterexample

    if sweep:
        for each in about:
            run_tours(judge, domain, each, marks, batch_boundaries(proved), seed)
        for step in stepping(domain, relation) if len(about) > 1 else ():
            judge.run_pair(step, seed)
    if len(about) == 1:
        judge.along(tours.waiting(domain, relation), seed)
    phases = Phase.generate, Phase.target, Phase.shrink
    pair = st.one_of(*(pairs(domain, each, marks.numbers) for each in about))
    coins = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from(named_coins(seed, marks.numbers)))
    with contextlib.suppress(Counterexample, Flaky):  # stateful code fails intermittently
        draw_examples(property_test, seed, examples, *phases, pair=pair, coins=coins)
    return judge.seen


def batch_boundaries(proved: Proved) -> list[int]:
    """Return the units on both sides of the ends of declared batches; of many, evenly spaced ones.

    Only there would batches that are off by one, or overlap, move differently from what is declared.
    """
    ends: set[int] = set()
    for each in proved.hypotheses:
        statement = each.statement
        if each.rule == "assume_rounds":
            ends.update(statement.get("ends", ()))
        elif each.rule == "assume_covers":
            wide = [(first, last) for first, last in statement["covers"] if first < last]
            ends.update(end for first, last in wide for end in (first - 1, last))
    chosen = sorted(ends)[:: max(-(-len(ends) // MAX_BOUNDARIES), 1)]
    return [unit for end in chosen for unit in (end, end + 1) if unit > 0]


def run_tours(
    judge: Judge, domain: Domain, relation: str, marks: Landmarks, more: list[int], seed: int
) -> None:
    """Judge tours over public coins, changed records, changed rows of realistic tables, and walks.

    The number of runs depends on the work of one run; `skipped` notes what was left out.
    """
    room, given, cut = max(WORK // marks.work, LEAST), tours.examples(domain), list[str]()

    def chosen(what: str, items: Any, most: int) -> Any:
        step = thin(len(items), most)
        cut.extend([f"{len(items[::step])} of {len(items)} {what}"] * (step > 1))
        return items[::step]

    coins, middle = named_coins(seed, marks.numbers), (domain.rows + 1) // 2
    asked = {int(mark) + k for mark in marks.numbers for k in (0, 1) if 0 <= mark < domain.rows}
    candidates = records(domain, (*marks.numbers, *marks.built), marks.together, given)
    fits = Counter(column for column, _ in marked_columns(domain, marks.numbers))
    chosen("numbers in the code", range(max(fits.values(), default=0)), FITS)
    changed = chosen("changed records", candidates, room // 2)
    units = chosen("rows", tours.units(domain, {*more, *asked}), room // 24)
    bases = chosen("tables", tours.special(domain, marks.numbers), room // 60)
    walks = list(tours.walks(domain, relation, marks.numbers)) if radius_of(relation) is None else []
    between = list(tours.crowds(domain, relation, marks.together)) if walks else []
    walks = chosen("sequences of changes", [*between, *walks], room // 120)
    ways = [tours.by_unit(domain, relation, "low", units[:1]) for _ in coins[:COINS]]
    ways += [tours.star(domain, relation, base, middle, changed) for base in ("uniform", *given)]
    ways += [tours.by_unit(domain, relation, base, units) for base in ("low", "uniform", *given)]
    ways += [tours.by_unit(domain, relation, base, sorted({1, middle, domain.rows})) for base in bases]
    if domain.missing:
        ways.append(tours.empty(domain, relation))
    if walks:
        ways += [tours.series(domain, relation, marks.series), tours.totals(domain, relation)]
    valued = [
        chosen(f"values of column {column}", each, room // 8) for column, each in tours.each_value(domain)
    ]
    cut += [
        f"not each of {count:.0f} values of column {column}" for column, count in tours.wide_columns(domain)
    ]
    coins = chosen("public coins", coins, len(ways) + len(walks))
    judge.seen.skipped = (
        f"The tests tried only some of the edge cases that they construct: {', '.join(cut)}." if cut else ""
    )
    for number, tour in enumerate(ways):
        judge.along(tour, coins[number % len(coins)])
    for number, walk in enumerate(walks, len(ways)):
        judge.along_walk(walk, coins[number % len(coins)])
    for each in valued:
        judge.along_values(domain, each, coins[0])
    play: object = type(named(judge.subject)).play
    if play is not Additive.play:  # which has no use for coins
        pair = next(tours.by_unit(domain, relation, "uniform", [middle]))
        judge.along_coins(pair, range(seed, seed + min(MANY_COINS, room // 8)))
    judge.along_records(domain, min(MANY_RECORDS, room // 16 * domain.rows))


def changed_by_earlier_runs(subject: Subject, runs: list[Example]) -> ShownPair | None:
    """Return an example that gives another result in this process, after other runs; or None."""
    sides = [(each, data, run) for each in runs for data, run in each.sides()]
    for each, data, run in sides:
        again = replayed(subject, data, run, each.coins)
        changed = again.wrong if isinstance(again, Failed) else unlike(run, again)
        if changed is not None:
            wrong = f"a run depends on the runs before it: on the same data and releases, {changed}"
            return describe(each.pair, each.coins, wrong)
    return None


# ------------------------------------------------------------------ persons with several rows


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
    tried, worst, failing = 0, 0, None
    subject = replace(subject, rows=min(subject.rows, MADE_UP_PERSONS))  # persons are bounded independently

    def property_test(pair: Pair) -> None:
        nonlocal tried, worst, failing
        tried += 1
        tables = [subject.table(side) for side in (pair.left, pair.right)]
        rows_vary = adjacency(subject.mechanism.relation).rows_vary
        steps = steps_between(*tables, coming_and_going=rows_vary)
        worst = max(worst, steps)
        wrong = bounding_violation(subject, pair, bound)
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
    digests = digests_of(rows, rows[:, :0])
    parts = (slice(start, start + BATCH) for start in starts)
    batches = [(owners[part], digests[part], rows[part]) for part in parts]
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

    A person with `max_rows` rows gets `BEYOND` further ones, so that not all count.  A row's position
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
