"""Property tests of a proof's hypotheses, against the running code.

For every hypothesis, Hypothesis searches neighbouring datasets, public coins and noise for a
counterexample: the code is run, its releases are replayed on the neighbour, and the movement of
every private value is compared exactly with what was declared.
"""

import contextlib
import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import Phase, target
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from msgspec.structs import replace as changed

from audits.datasets import tours
from audits.datasets.bases import Exemplified, Pair
from audits.datasets.domain_pairs import marked_columns, named_coins, pairs, stepping
from audits.datasets.drawing import draw_examples
from audits.datasets.records import FITS, records, thin
from audits.hypothesis_tests.checks import Check, check_of, may_move, untested
from audits.hypothesis_tests.evidence import Example, Searched, WorstPair, describe, evidence_on
from audits.hypothesis_tests.extreme_inputs import anywhere
from audits.hypothesis_tests.judge import Judge
from audits.hypothesis_tests.met import observed
from audits.hypothesis_tests.replay import unlike
from audits.hypothesis_tests.workers import Failed, replayed
from audits.subjects.code_constants import Landmarks, landmarks
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.relation import REPLACE_ONE, radius_of
from dpaccount.schemas.certificate import Evidence, ShownPair, Status
from mechanisms.subject import Domain, Rows, Subject

EXAMPLES = 200  #: Hypothesis examples for every hypothesis of a proof
BORDERS = 24  #: ends of batches whose neighbours are tried
COINS = 60  #: seeds of public coins that are tried one by one
WORK, LEAST = 3 * 10**7, 500  #: approximate total work of all tours; and the minimum number of runs
APART = 8  #: one example in this many runs each side in a separate process


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
    """Return the evidence on every hypothesis of what was proved, in its order, and the worst pair seen.

    All hypotheses are judged on the same examples; one that fails is searched once more by itself,
    so that its counterexample shrinks.  The first examples run each side in a process of its own,
    before this one has played: they are judged like the others, and again in this process at the end,
    where nothing may have changed.  Neighbours are made of the tables `given` too.  Raises
    `InputError` if no run gives anything to judge.
    """
    tested = proved.hypotheses
    relation = relation_of(subject, proved)
    checks = [check_of(proved, each) for each in tested]
    judges = [check for check, _ in checks]
    marks = observed(subject, proved, seed)
    domain = Exemplified.of(subject.domain(), given)
    first = search(subject, proved, judges, marks, examples=examples // APART + 1, seed=seed, apart=True)
    seen = search(subject, proved, judges, marks, domain, examples=examples, seed=seed, sweep=True)
    seen = seen.joined(first).judged(subject)
    beyond = seen.strange or strange(subject, proved, domain, marks, seed)
    history = remembered(subject, first.runs)
    source, count = digest_of_files(files), seen.count
    evidence = []
    for index, (each, (check, bound)) in enumerate(zip(tested, checks, strict=True)):
        failing, worst = seen.failing[index] or history, seen.worst[index]
        if failing is None and each.rule == "assume_view":
            failing = beyond
        elif failing is not None:
            shrunk = search(subject, proved, [check], marks, examples=examples, seed=seed, shrink=True)
            failing = shrunk.failing[0] or failing
            if seen.raised:
                wrong = f"{failing.wrong} ({seen.raised} of {seen.count} runs fail)"
                failing = changed(failing, wrong=wrong)
        idle = check is untested or (worst == 0 and each.rule != "assume_view" and may_move(proved, each))
        status: Status = "refuted" if failing is not None else "untested" if idle else "tested"
        evidence.append(evidence_on(each, (bound, relation), status, (count, worst, failing), source))
    return evidence, seen.suspect()


def relation_of(subject: Subject, proved: Proved) -> str:
    """Return the relation that a theorem is about; the subject must say the same."""
    if radius_of(subject.relation) is not None and any(subject.domain().integer):
        raise InputError("rows that move by a radius are of real numbers", "a column of the domain is whole")
    if proved.relation is None or proved.relation != subject.relation:
        fact = proved.theorem.conclusion
        raise InputError(f"the proof is about {fact}, the subject says {subject.relation}", "make them agree")
    return proved.relation


def digest_of_files(files: list[Path]) -> str:
    """Return one digest over the contents of source files, in the order given."""
    total = hashlib.sha256()
    for file in files:
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return "sha256:" + total.hexdigest()


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
) -> Searched:
    """Try neighbouring pairs, coins and noise, drawn towards large movement; judge each by all `checks`.

    Of rows that move by a radius replaced ones are tried too; the worst pair is one of neighbours.
    With `shrink` it stops at the first failure and reduces it to a plain one.  `sweep` goes through tours
    of datasets first, at the numbers that stand in the code among others.  With `apart` each side runs in
    a process of its own.
    """
    marks = marks or (observed(subject, proved, seed) if sweep else landmarks(subject))
    domain, relation = domain or subject.domain(), subject.relation
    judge = Judge(subject, proved, checks, apart=apart)
    about = [relation] if radius_of(relation) is None else [relation, REPLACE_ONE]

    def property_test(pair: Pair, coins: int) -> None:
        size, failed = judge.examined(pair, coins)
        target(size)
        if shrink and failed:
            raise Counterexample

    if sweep:
        for each in about:
            touring(judge, domain, each, marks, borders(proved), seed)
        for step in stepping(domain, relation) if len(about) > 1 else ():
            judge.examined(step, seed)
    phases = Phase.generate, Phase.target, Phase.shrink
    pair = st.one_of(*(pairs(domain, each, marks.numbers) for each in about))
    coins = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from(named_coins(seed, marks.numbers)))
    with contextlib.suppress(Counterexample, Flaky):  # stateful code fails intermittently
        draw_examples(property_test, seed, examples, *phases, pair=pair, coins=coins)
    return judge.seen


def borders(proved: Proved) -> list[int]:
    """Return units on both sides of where a declared batch ends: of many batches an evenly spread choice.

    Code whose batches are off by one, or have a unit in common, moves otherwise than declared there only.
    """
    ends: set[int] = set()
    for each in proved.hypotheses:
        statement = each.statement
        if each.rule == "assume_rounds":
            ends.update(statement.get("ends", ()))
        elif each.rule == "assume_covers":
            wide = [(first, last) for first, last in statement["covers"] if first < last]
            ends.update(end for first, last in wide for end in (first - 1, last))
    chosen = sorted(ends)[:: max(-(-len(ends) // BORDERS), 1)]
    return [unit for end in chosen for unit in (end, end + 1) if unit > 0]


def touring(
    judge: Judge, domain: Domain, relation: str, marks: Landmarks, more: list[int], seed: int
) -> None:
    """Judge tours: coins, changed records, changed rows of bases that real tables are like, walks.

    There are as many runs as there is room for, by the work of one; what is left out is noted.
    """
    room, given, cut = max(WORK // marks.work, LEAST), tours.examples(domain), list[str]()

    def chosen(what: str, every: Any, most: int) -> Any:
        step = thin(len(every), most)
        cut.extend([f"{len(every[::step])} of {len(every)} {what}"] * (step > 1))
        return every[::step]

    coins, middle = named_coins(seed, marks.numbers), (domain.rows + 1) // 2
    asked = {int(mark) + k for mark in marks.numbers for k in (0, 1) if 0 <= mark < domain.rows}
    candidates = records(domain, (*marks.numbers, *marks.built), marks.together, given)
    fits = Counter(column for column, _ in marked_columns(domain, marks.numbers))
    chosen("numbers in the code", range(max(fits.values(), default=0)), FITS)
    changed = chosen("changed records", candidates, room // 2)
    units = chosen("rows", tours.units(domain, {*more, *asked}), room // 24)
    bases = chosen("tables", tours.special(domain, marks.numbers), room // 60)
    walks = list(tours.walks(domain, relation, marks.numbers)) if radius_of(relation) is None else []
    walks = chosen("walks", walks, room // 120)
    ways = [tours.by_unit(domain, relation, "low", units[:1])] * min(len(coins), COINS)
    ways += [tours.star(domain, relation, base, middle, changed) for base in ("uniform", *given)]
    ways += [tours.by_unit(domain, relation, base, units) for base in ("low", "uniform", *given)]
    ways += [tours.by_unit(domain, relation, base, sorted({1, middle, domain.rows})) for base in bases]
    coins = chosen("public coins", coins, len(ways) + len(walks))
    judge.seen.skipped = f"Tried, of what there is to try: {', '.join(cut)}." if cut else ""
    for number, tour in enumerate(ways):
        judge.along(tour, coins[number % len(coins)])
    for number, walk in enumerate(walks, len(ways)):
        judge.walked(walk, coins[number % len(coins)])


def remembered(subject: Subject, runs: list[Example]) -> ShownPair | None:
    """Return an example that this process, with all that it played since, does not repeat; or None."""
    sides = [(each, data, run) for each in runs for data, run in each.sides()]
    for each, data, run in sides:
        again = replayed(subject, data, run, each.coins)
        changed = again.wrong if isinstance(again, Failed) else unlike(run, again)
        if changed is not None:
            wrong = f"a run depends on the runs before it: on the same data and releases, {changed}"
            return describe(each.pair, each.coins, wrong)
    return None


def strange(
    subject: Subject, proved: Proved, domain: Domain, marks: Landmarks, seed: int
) -> ShownPair | None:
    """Return an example in which a view depends on more than releases and coins, for any data; or None."""
    difference = anywhere(subject, proved, domain, marks.numbers, seed)
    return None if difference is None else describe(*difference)
