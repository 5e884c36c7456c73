"""Property tests of the hypotheses that a proof rests on, run against the running code.

For every hypothesis, Hypothesis searches neighbouring datasets, public coins and noise for a
counterexample: the code is run, its releases are replayed on the neighbour, and the movement of
every private value is compared exactly with what was declared.
"""

import contextlib
import hashlib
from fractions import Fraction
from functools import partial
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from audits.datasets.bases import Pair
from audits.datasets.domain_pairs import (
    SWEEP,
    SWEEP_MOST,
    early,
    marked,
    named_coins,
    pairs,
    public_coins,
    stepping,
)
from audits.evidence.anywhere import anywhere
from audits.evidence.checks import Check, Finding, between, check_of, may_move, untested
from audits.evidence.replay import Run, distance, unlike
from audits.evidence.seen import Evidence, Example, Searched, Suspect, describe
from audits.evidence.sides import Failed, alike, recorded, replayed, side
from audits.evidence.tries import void
from audits.subjects.landmarks import landmarks
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.relation import REPLACE_ONE, radius_of
from mechanisms.subject import Domain, Rows, Subject

EXAMPLES = 200  #: Hypothesis examples for every hypothesis of a proof
BORDERS = 24  #: ends of batches whose neighbours are tried
APART = 8  #: one example in so many has each side in a process of its own


class Counterexample(Exception):  # noqa: N818
    """Raised inside a property test, for Hypothesis to shrink."""


def gather(
    subject: Subject, proved: Proved, *, examples: int, seed: int, files: list[Path]
) -> tuple[list[Evidence], Suspect]:
    """Return the evidence on every hypothesis of what was proved, in its order, and the worst pair seen.

    All hypotheses are judged on the same examples; one that fails is searched once more by itself,
    so that its counterexample shrinks.  The first examples run each side in a process of its own,
    before this one has played: they are judged like the others, and again in this process at the end,
    where nothing may have changed.  Raises `InputError` where no run gives anything to judge.
    """
    tested = proved.hypotheses
    relation = relation_of(subject, proved)
    checks = [check_of(proved, each) for each in tested]
    judges = [check for check, _ in checks]
    first = search(subject, proved, judges, examples=examples // APART + 1, seed=seed, apart=True)
    seen = search(subject, proved, judges, examples=examples, seed=seed, sweep=True)
    seen = seen.joined(first).judged(subject)
    beyond = strange(subject, proved, seed)
    history = remembered(subject, first.runs)
    source = digest_of_files(files)
    found = []
    for index, (each, (check, bound)) in enumerate(zip(tested, checks, strict=True)):
        failing, worst = seen.failing[index] or history, seen.worst[index]
        if failing is None and each.rule == "assume_view":
            failing = beyond
        elif failing is not None:
            shrunk = search(subject, proved, [check], examples=examples, seed=seed, shrink=True)
            failing = {**(shrunk.failing[0] or failing)}
            if seen.raised:
                failing["wrong"] = f"{failing['wrong']} ({seen.raised} of {seen.count} runs fail)"
        idle = check is untested or (worst == 0 and each.rule != "assume_view" and may_move(proved, each))
        status = "refuted" if failing is not None else "untested" if idle else "tested"
        found.append(Evidence(each, bound, relation, status, seen.count, str(worst), failing, source))
    return found, seen.suspect()


def relation_of(subject: Subject, proved: Proved) -> str:
    """Return the relation that a theorem is about; the subject must say the same."""
    if radius_of(subject.relation) is not None and any(subject.domain().integer):
        raise InputError("rows that move by a radius are of real numbers; a column of the domain is whole")
    if proved.relation is None or proved.relation != subject.relation:
        fact = proved.theorem.conclusion
        raise InputError(f"the proof is about {fact}, the subject says {subject.relation}; make them agree")
    return proved.relation


def digest_of_files(files: list[Path]) -> str:
    """Return one digest over the contents of source files, in the order given."""
    total = hashlib.sha256()
    for file in files:
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return "sha256:" + total.hexdigest()


def searching(examples: int, *phases: Phase) -> settings:
    """Return how Hypothesis looks for one counterexample: so many examples, nothing kept, no clock."""
    return settings(
        max_examples=examples,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )


def search(
    subject: Subject,
    proved: Proved,
    checks: list[Check],
    *,
    examples: int,
    seed: int,
    shrink: bool = False,
    sweep: bool = False,
    apart: bool = False,
) -> Searched:
    """Try neighbouring pairs, coins and noise, drawn towards large movement; judge each by all `checks`.

    Of rows that move by a radius replaced ones are tried too; the worst pair is one of neighbours.
    With `shrink` it stops at the first failure and reduces it to a plain one.  `sweep` tries
    the numbers that stand in the code one by one first.  With `apart` each
    side runs in a process of its own.
    """
    seen = Searched(0, [Fraction(0)] * len(checks), [None] * len(checks))
    marks = landmarks(subject)
    domain, relation = subject.domain(), subject.relation
    about = [relation] if radius_of(relation) is None else [relation, REPLACE_ONE]

    def judge(pair: Pair, coins: int) -> tuple[float, bool]:
        seen.count += 1
        found, size = examine(subject, proved, pair, coins, checks, seen, apart=apart)
        best = seen.best is None or size > seen.best.distance
        if best and pair.neighbours(relation):
            seen.best = Suspect(pair, coins, size)
        for index, finding in enumerate(found):
            seen.worst[index] = max(seen.worst[index], finding.moved)
            if finding.wrong is not None:
                seen.failing[index] = describe(pair, coins, finding.wrong)
        return size, any(finding.wrong is not None for finding in found)

    @hypothesis.seed(seed)
    @searching(examples, Phase.generate, Phase.target, Phase.shrink)
    @given(pair=st.one_of(*(pairs(domain, each, marks) for each in about)), coins=public_coins(seed, marks))
    def property_test(pair: Pair, coins: int) -> None:
        size, failed = judge(pair, coins)
        target(size)
        if shrink and failed:
            raise Counterexample

    if sweep:
        border = borders(proved)
        for each in about:
            swept, seen.skipped = _swept(domain, each, marks, seed, examples)
            for pair, coins in [*swept, *((pair, seed) for pair in early(domain, each, border))]:
                judge(pair, coins)
        for pair in stepping(domain, relation) if len(about) > 1 else ():
            judge(pair, seed)
    with contextlib.suppress(Counterexample, Flaky):  # code that keeps state fails now and then
        property_test()
    return seen


def borders(proved: Proved) -> list[int]:
    """Return units on both sides of where a declared batch ends: of many batches an evenly spread choice.

    Code whose batches are off by one, or have a unit in common, moves otherwise than declared there only.
    """
    ends: set[int] = set()
    for each in proved.hypotheses:
        said = each.statement
        if each.rule == "assume_rounds":
            ends.update(said.get("ends", ()))
        elif each.rule == "assume_covers":
            wide = [(first, last) for first, last in said["covers"] if first < last]
            ends.update(end for first, last in wide for end in (first - 1, last))
    chosen = sorted(ends)[:: max(-(-len(ends) // BORDERS), 1)]
    return [unit for end in chosen for unit in (end, end + 1) if unit > 0]


def _swept(
    domain: Domain, relation: str, marks: tuple[float, ...], seed: int, examples: int
) -> tuple[list[tuple[Pair, int]], str]:
    """Return pairs and coins that try the numbers in the code one by one; what was left out, or nothing."""
    within = [
        mark for mark in marks if any(a <= mark <= b for a, b in zip(domain.low, domain.high, strict=True))
    ]
    many = len(within) > SWEEP
    most = min(max(SWEEP, len(within)), SWEEP_MOST, examples * 2 if many else examples * 3 // 5)
    cut = f"Of {len(within)} numbers in the code about {most} were tried one by one."
    noted, coins_of = marked(domain, relation, marks, most), named_coins(seed, marks)
    tries = range(min(max(len(noted), len(coins_of)), most) if noted else 0)
    swept = [(noted[number % len(noted)], coins_of[number % len(coins_of)]) for number in tries]
    return swept, cut if len(within) > most else ""


def examine(
    subject: Subject,
    proved: Proved,
    pair: Pair,
    coins: int,
    checks: list[Check],
    seen: Searched,
    *,
    apart: bool = False,
) -> tuple[list[Finding], float]:
    """Run on the left, replay on the right, judge; return the findings and the distance in noise units.

    Code that raises is itself a finding, on every hypothesis, unless it raises the same type on the
    right with the same releases: then these decided it, and they are all that anybody learns.
    """
    run = side(partial(rehearsed, subject, proved, pair.left, coins), apart=apart)
    if isinstance(run, Failed):
        if run.mute:
            seen.raised, seen.why = seen.raised + 1, run.wrong
        again = run.run and side(partial(replayed, subject, pair.right, run.run, coins), apart=apart)
        wrong = None if again and alike(run, again) else run.wrong
        return [Finding(Fraction(0), wrong) for _ in checks], 0.0
    other = side(partial(replayed, subject, pair.right, run, coins), apart=apart)
    if isinstance(other, Failed):
        return [Finding(Fraction(0), other.wrong) for _ in checks], 0.0
    seen.changed |= run.changed or other.changed
    seen.drawn |= bool(run.exact)
    seen.void += all(void(each.view) and not each.hidden for each in (run, other))
    if apart:
        seen.runs.append(Example(pair, coins, run, other))
    asked = run.asked or other.asked
    if asked:
        wrong = f"the code asks its noise for {asked[0]!r}; a run may not depend on who answers"
        return [Finding(Fraction(0), wrong) for _ in checks], 0.0
    try:
        return [between(check, pair)(run, other, pair.unit) for check in checks], distance(
            run, other, proved.laws
        )
    except Exception as error:  # a view of a strange form
        wrong = f"{type(error).__name__}: {error}"
        return [Finding(Fraction(0), wrong) for _ in checks], 0.0


def rehearsed(subject: Subject, proved: Proved, data: Rows, coins: int) -> Run | Failed:
    """Return what a run with rehearsal noise did, which is made in the process that runs it."""
    return recorded(subject, data, rehearse(proved, Rehearsal(coins)), coins)


def remembered(subject: Subject, runs: list[Example]) -> dict[str, object] | None:
    """Return an example that this process, with all that it played since, does not repeat; or None."""
    sides = [(each, data, run) for each in runs for data, run in each.sides()]
    for each, data, run in sides:
        again = replayed(subject, data, run, each.coins)
        changed = again.wrong if isinstance(again, Failed) else unlike(run, again)
        if changed is not None:
            wrong = f"a run depends on the runs before it: on the same data and releases, {changed}"
            return describe(each.pair, each.coins, wrong)
    return None


def strange(subject: Subject, proved: Proved, seed: int) -> dict[str, object] | None:
    """Return an example in which a view depends on more than releases and coins, for any data; or None."""
    found = anywhere(subject, proved, seed)
    return None if found is None else describe(*found)
