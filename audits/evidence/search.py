"""Property tests of the hypotheses that a proof rests on, run against the running code.

For every hypothesis, Hypothesis searches neighbouring datasets, public coins and noise for a
counterexample: the code is run, its releases are replayed on the neighbour, and the movement of
every private value is compared exactly with what was declared.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings, target

from audits.datasets.bases import Pair
from audits.datasets.domain_pairs import SWEEP, SWEEP_MOST, marked, named_coins, pairs, public_coins
from audits.datasets.landmarks import landmarks
from audits.evidence.anywhere import anywhere
from audits.evidence.replay import Run, differing, distance, unlike
from audits.evidence.sides import Failed, Where, alike, recorded, replayed, side
from audits.evidence.tries import NO_VALUE, void
from audits.sandbox.apart import apart, here
from dpaccount.checker import promised
from dpaccount.errors import InputError
from dpaccount.noise.laws import Law, laws
from dpaccount.noise.receipt import Noise, rehearse
from dpaccount.noise.samplers import Integers, Rehearsal
from dpaccount.proof import Contribution, Cover, Covered, Private, Shifts, Stable, Theorem, View
from dpaccount.proof.derivation import Hypothesis, hypotheses, leaves, rows, walk, write
from mechanisms.subject import Rows, Subject

APART = 8  #: one example in so many has each side in a process of its own
IN_PLACE = "The code writes to the data that it is given; every run gets a copy, so nothing of it stays."


@dataclass(frozen=True)
class Evidence:
    """What was found about one hypothesis; `status` is ``tested``, ``refuted``, ``untested`` or ``accepted``.

    A hypothesis is untested where no test is known, or where nothing ever moved although something may:
    that tested nothing.  It is accepted where it is untested and the claim takes it on trust.
    """

    hypothesis: Hypothesis
    bound: str
    relation: str
    status: str
    examples: int
    worst: str
    counterexample: dict[str, object] | None
    source: str

    @property
    def name(self) -> str:
        """Return what a claim calls the hypothesis when it accepts it."""
        return f"{self.hypothesis.rule} {self.hypothesis.query}"

    def as_json(self) -> dict[str, object]:
        """Return the entry of a certificate's `sensitivity`."""
        return {
            "rule": self.hypothesis.rule,
            "query": self.hypothesis.query,
            "step": self.hypothesis.digest,
            "value": self.bound,
            "relation": self.relation,
            "status": self.status,
            "test": self.hypothesis.because,
            "examples": self.examples,
            "worst": self.worst,
            "counterexample": self.counterexample,
            "source": self.source,
        }


@dataclass(frozen=True)
class Finding:
    """The squared movement seen in one example, and what is wrong with it, if anything."""

    moved: Fraction
    wrong: str | None


@dataclass(frozen=True)
class Suspect:
    """A pair and public coins, and Σ ‖shift‖²/scale² over the releases of a run on it.

    `notes` say what else was seen of the code that a reader of a certificate should know; `drawn` says
    whether any run drew noise.
    """

    pair: Pair
    coins: int
    distance: float
    notes: tuple[str, ...] = ()
    drawn: bool = True


class Counterexample(Exception):  # noqa: N818
    """Raised inside a property test, for Hypothesis to shrink."""


Check = Callable[[Run, Run, int], Finding]


def gather(
    subject: Subject, theorem: Theorem, *, examples: int, seed: int, files: list[Path]
) -> tuple[list[Evidence], Suspect]:
    """Return the evidence on every hypothesis of `theorem`, in its order, and the worst pair seen.

    All hypotheses are judged on the same examples; one that fails is searched once more by itself,
    so that its counterexample shrinks.  The first examples run each side in a process of its own,
    before this one has played: they are judged like the others, and again in this process at the end,
    where nothing may have changed.  Raises `InputError` where no run gives anything to judge.
    """
    tested = hypotheses(theorem)
    relation = relation_of(subject, theorem)
    checks = [check_of(theorem, each) for each in tested]
    judges = [check for check, _ in checks]
    first = search(subject, theorem, judges, examples=examples // APART + 1, seed=seed, where=apart)
    seen = search(subject, theorem, judges, examples=examples, seed=seed, sweep=True)
    seen = seen.joined(first).judged(subject)
    beyond = strange(subject, theorem, seed)
    history = remembered(subject, first.runs)
    source = digest_of_files(files)
    found = []
    for index, (each, (check, bound)) in enumerate(zip(tested, checks, strict=True)):
        failing, worst = seen.failing[index] or history, seen.worst[index]
        if failing is None and each.rule == "assume_view":
            failing = beyond
        elif failing is not None:
            alone = search(subject, theorem, [check], examples=examples, seed=seed, shrink=True)
            failing = {**(alone.failing[0] or failing)}
            if seen.raised:
                failing["wrong"] = f"{failing['wrong']} ({seen.raised} of {seen.count} runs fail)"
        idle = check is untested or (worst == 0 and each.rule != "assume_view" and _may_move(theorem, each))
        status = "refuted" if failing is not None else "untested" if idle else "tested"
        found.append(Evidence(each, bound, relation, status, seen.count, str(worst), failing, source))
    return found, seen.suspect()


def relation_of(subject: Subject, theorem: Theorem) -> str:
    """Return the relation that a theorem is about; the subject must say the same."""
    fact = theorem.conclusion
    if not isinstance(fact, Private) or fact.relation != subject.relation:
        raise InputError(f"the proof is about {fact}, the subject says {subject.relation}; make them agree")
    return fact.relation


def _may_move(theorem: Theorem, tested: Hypothesis) -> bool:
    """Say whether the proof allows a query to move at all."""
    return any(_room(fact) for _, fact in _drawn(theorem, tested.query))


def _room(fact: object) -> bool:
    match fact:
        case Stable(bound=bound):
            return bound > 0
        case Shifts(shifts=shifts):
            return any(shifts)
        case Contribution(kind="points", points=points):
            return len(points) > 1
    return True


def digest_of_files(files: list[Path]) -> str:
    """Return one digest over the contents of source files, in the order given."""
    total = hashlib.sha256()
    for file in files:
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return "sha256:" + total.hexdigest()


@dataclass(frozen=True)
class Example:
    """A pair with public coins, and what a run on either side did."""

    pair: Pair
    coins: int
    run: Run
    other: Run

    def sides(self) -> tuple[tuple[Rows, Run], tuple[Rows, Run]]:
        """Return the data and the run of either side."""
        return (self.pair.left, self.run), (self.pair.right, self.other)


@dataclass
class Search:
    """What a search saw: per check the largest movement and a failing example; the most distant pair.

    `raised` counts the examples whose left run gave nothing to judge, `why` says why the last did; `void`
    counts those that show no value on either side; `changed` says that the code wrote to its data, `drawn`
    that it drew noise; `runs` are kept where they ran apart; `skipped` says how many numbers of the code
    were not tried one by one, if any.
    """

    count: int
    worst: list[Fraction]
    failing: list[dict[str, object] | None]
    best: Suspect | None = None
    raised: int = 0
    why: str = ""
    changed: bool = False
    runs: list[Example] = field(default_factory=list)
    void: int = 0
    drawn: bool = False
    skipped: str = ""

    def judged(self, subject: Subject) -> "Search":
        """Return itself; raises `InputError` where every run failed, so that nothing was tried."""
        if self.raised + self.void == self.count:
            name, why = type(subject).__name__, self.why or f"it {NO_VALUE}"
            raise InputError(f"{name} fails on every run ({self.count} tried): {why}; mend it")
        return self

    def suspect(self) -> Suspect:
        """Return the most distant pair."""
        if self.best is None:
            raise ValueError("no neighbouring pair was tried")
        fails = f"{self.raised} of {self.count} runs fail, on neighbours alike: {self.why}"
        notes = (IN_PLACE if self.changed else "", fails if self.raised else "", self.skipped)
        return replace(self.best, notes=tuple(note for note in notes if note), drawn=self.drawn)

    def joined(self, other: "Search") -> "Search":
        """Return both searches as one."""
        bests = [each for each in (self.best, other.best) if each is not None]
        return Search(
            self.count + other.count,
            [max(pair) for pair in zip(self.worst, other.worst, strict=True)],
            [mine or its for mine, its in zip(self.failing, other.failing, strict=True)],
            max(bests, key=lambda each: each.distance, default=None),
            self.raised + other.raised,
            self.why or other.why,
            self.changed or other.changed,
            void=self.void + other.void,
            drawn=self.drawn or other.drawn,
            skipped=self.skipped or other.skipped,
        )


def search(
    subject: Subject,
    theorem: Theorem,
    checks: list[Check],
    *,
    examples: int,
    seed: int,
    shrink: bool = False,
    sweep: bool = False,
    where: Where = here,
) -> Search:
    """Try neighbouring pairs, coins and noise, drawn towards large movement; judge each by all `checks`.

    With `shrink` it stops at the first failure and reduces it to a plain one.  `sweep` tries
    the numbers that stand in the code one by one first.  `where` says in which
    process a side runs.
    """
    noise = laws(theorem)
    seen = Search(0, [Fraction(0)] * len(checks), [None] * len(checks))
    marks = landmarks(subject)
    domain, relation = subject.domain(), subject.relation

    def judge(pair: Pair, coins: int) -> float:
        seen.count += 1
        found, size = examine(subject, theorem, pair, coins, checks, noise, seen, where)
        if seen.best is None or size > seen.best.distance:
            seen.best = Suspect(pair, coins, size)
        for index, finding in enumerate(found):
            seen.worst[index] = max(seen.worst[index], finding.moved)
            if finding.wrong is not None:
                seen.failing[index] = describe(pair, coins, finding.wrong)
        return size

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.target, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(pair=pairs(domain, relation, marks), coins=public_coins(seed, marks))
    def property_test(pair: Pair, coins: int) -> None:
        target(judge(pair, coins))
        if shrink and any(seen.failing):
            raise Counterexample

    if sweep:
        asked = [
            mark
            for mark in marks
            if any(a <= mark <= b for a, b in zip(domain.low, domain.high, strict=True))
        ]
        most = min(
            max(SWEEP, len(asked)), SWEEP_MOST, examples * 2 if len(asked) > SWEEP else examples * 3 // 5
        )
        if len(asked) > most:
            seen.skipped = f"Of {len(asked)} numbers in the code about {most} were tried one by one."
        noted, coins_of = marked(domain, relation, marks, most), named_coins(seed, marks)
        for number in range(min(max(len(noted), len(coins_of)), most) if noted else 0):
            judge(noted[number % len(noted)], coins_of[number % len(coins_of)])
    with contextlib.suppress(Counterexample):
        property_test()
    return seen


def examine(
    subject: Subject,
    theorem: Theorem,
    pair: Pair,
    coins: int,
    checks: list[Check],
    noise: dict[str, Law],
    seen: Search,
    where: Where = here,
) -> tuple[list[Finding], float]:
    """Run on the left, replay on the right, judge; return the findings and the distance in noise units.

    Code that raises is itself a finding, on every hypothesis, unless it raises the same type on the
    right with the same releases: then these decided it, and they are all that anybody learns.
    """
    run = side(where, partial(recorded, subject, pair.left, partial(drawn, theorem, coins), coins))
    if isinstance(run, Failed):
        if run.mute:
            seen.raised, seen.why = seen.raised + 1, run.wrong
        again = run.run and side(where, partial(replayed, subject, pair.right, run.run, coins))
        wrong = None if again and alike(run, again) else run.wrong
        return [Finding(Fraction(0), wrong) for _ in checks], 0.0
    other = side(where, partial(replayed, subject, pair.right, run, coins))
    if isinstance(other, Failed):
        return [Finding(Fraction(0), other.wrong) for _ in checks], 0.0
    seen.changed |= run.changed or other.changed
    seen.drawn |= bool(run.exact)
    seen.void += all(void(each.view) and not each.hidden for each in (run, other))
    if where is apart:
        seen.runs.append(Example(pair, coins, run, other))
    asked = run.asked or other.asked
    if asked:
        wrong = f"the code asks its noise for {asked[0]!r}; a run may not depend on who answers"
        return [Finding(Fraction(0), wrong) for _ in checks], 0.0
    try:
        return [check(run, other, pair.unit) for check in checks], distance(run, other, noise)
    except Exception as error:  # a view of a strange form
        wrong = f"{type(error).__name__}: {error}"
        return [Finding(Fraction(0), wrong) for _ in checks], 0.0


def drawn(theorem: Theorem, coins: int) -> Noise:
    """Return the noise of a rehearsal."""
    return rehearse(theorem, Rehearsal(coins))


def remembered(subject: Subject, runs: list[Example]) -> dict[str, object] | None:
    """Return an example that this process, with all that it played since, does not repeat; or None."""
    sides = [(each, data, run) for each in runs for data, run in each.sides()]
    for each, data, run in sides:
        again = side(here, partial(replayed, subject, data, run, each.coins))
        changed = again.wrong if isinstance(again, Failed) else unlike(run, again)
        if changed is not None:
            wrong = f"a run depends on the runs before it: on the same data and releases, {changed}"
            return describe(each.pair, each.coins, wrong)
    return None


def strange(subject: Subject, theorem: Theorem, seed: int) -> dict[str, object] | None:
    """Return an example in which a view depends on more than releases and coins, for any data; or None."""
    found = anywhere(subject, theorem, seed)
    return None if found is None else describe(*found)


def describe(pair: Pair, coins: int, wrong: str) -> dict[str, object]:
    """Return a pair that can be made again: the changed record, how the others are made, what differs."""
    here = pair.unit - 1
    removed = len(pair.right) < len(pair.left)
    return {
        "unit": pair.unit,
        "left": pair.left[here].tolist(),
        "right": None if removed else pair.right[here].tolist(),
        "rows": len(pair.left),
        "other_rows": {"base": pair.base, "seed": pair.seed},
        "coins": coins,
        "wrong": wrong,
    }


# ------------------------------------------------------------------ what each hypothesis promises


def check_of(theorem: Theorem, tested: Hypothesis) -> tuple[Check, str]:
    """Return the check of one hypothesis, and its bound in words; `untested` where no test is known.

    A hypothesis that is not tested leaves a claim UNPROVEN.  The words are the checker's, which asks for
    them, and says itself which hypotheses have a test.
    """
    words, known = promised(write(theorem), tested.digest)
    return (_check_of(theorem, tested) if known else untested), words


def _check_of(theorem: Theorem, tested: Hypothesis) -> Check:
    drawn = _drawn(theorem, tested.query)
    match tested.rule:
        case "assume_view":
            return _view_check(theorem, tested.query)
        case "assume_covers" | "assume_tree":
            return _covers_check(tested, theorem, {str(leaf.witness["key"]) for leaf, _ in drawn})
        case "assume_rounds":
            return _rounds_check(
                theorem, tested, [leaf for leaf, _ in drawn if leaf.premises[0].rule in STREAMS]
            )
        case "assume_numbers":
            return _numbers_check(tested, [leaf for leaf, _ in drawn])
        case "assume_choice":
            return _choice_check([set(part) for part in tested.statement["parts"]])
        case _:
            return _movement_check(theorem, drawn)


def untested(run: Run, other: Run, unit: int) -> Finding:
    """Judge nothing."""
    return Finding(Fraction(0), None)


def _view_check(theorem: Theorem, query: str) -> Check:
    """Return the check of what is shown: in the central model the world sees each person's part too."""
    shown = [part.conclusion for part in walk(theorem) if isinstance(part.conclusion, View)]
    everyone = any(view.query == query and view.audience == "everyone" for view in shown)

    def check(run: Run, other: Run, unit: int) -> Finding:
        return Finding(Fraction(0), differing(run, other, 0 if everyone else unit))

    return check


Fact = Stable | Shifts | Contribution


def _drawn(theorem: Theorem, query: str) -> list[tuple[Theorem, Fact]]:
    """Return the leaves that draw noise on a query, each with what the proof says of its movement."""
    found = []
    for part in walk(theorem):
        fact = part.premises[0].conclusion if "key" in part.witness else None
        if isinstance(fact, Stable | Shifts | Contribution) and fact.query == query:
            found.append((part, fact))
    return found


def _moves(run: Run, other: Run, keys: set[str]) -> dict[tuple[str, object], list[int]]:
    return {
        part: [int(v) for v in (other.exact[part] - run.exact[part]).ravel()]
        for part in run.exact
        if part[0] in keys
    }


def _grids(theorem: Theorem) -> dict[str, Fraction]:
    """Return, for every key, how much one unit of its integers is worth."""
    return {leaf.key: Fraction(leaf.parameters.get("grid", "1")) for leaf in leaves(theorem)}


def _covers_check(tested: Hypothesis, theorem: Theorem, keys: set[str]) -> Check:
    statement = tested.statement
    declared = next(part.conclusion for part in walk(theorem) if part.witness is statement)
    if not isinstance(declared, Covered):
        raise InputError(f"{tested.rule} declares no covers")

    def cover_of(part: Any) -> Cover | None:
        if tested.rule == "assume_covers":
            known = type(part) is int and 0 <= part < declared.releases
            return tuple(statement["covers"][part]) if known else None
        level, index = part if isinstance(part, tuple) and len(part) == 2 else (None, None)  # (level, index)
        if type(level) is not int or type(index) is not int or index < 0:
            return None
        if not 0 <= level < statement["levels"]:
            return None
        first, last = index * 2**level + 1, (index + 1) * 2**level
        return (first, last) if last <= statement["rounds"] else None

    grids = _grids(theorem)

    def check(run: Run, other: Run, unit: int) -> Finding:
        most = Fraction(0)
        for key in keys:
            moves = _moves(run, other, {key})
            moving = 0
            for (_, part), move in moves.items():
                size = sum(v * v for v in move) * grids[key] ** 2
                most, moving = max(most, size), moving + (size > 0)
                cover = cover_of(part)
                if cover is None:
                    return Finding(size, f"{key} has a release {part!r} that was not declared")
                if size and not cover[0] <= unit <= cover[1]:
                    what = f"{key}, part {part}, covers {list(cover)} but moves by {move[:8]}"
                    return Finding(size, f"{what} with unit {unit}")
            if moving > declared.most:
                return Finding(most, f"{key}: unit {unit} is in {moving} releases, declared {declared.most}")
        return Finding(most, None)

    return check


def _choice_check(parts: list[set[str]]) -> Check:
    """Return the check that the noise of one part of a mixture is drawn, and none of another."""

    def check(run: Run, other: Run, unit: int) -> Finding:
        drawn = {key for key, _ in run.exact} & set().union(*parts)
        fine = any(drawn <= part for part in parts)
        wrong = (
            None if fine else f"{', '.join(sorted(drawn))} are drawn, of several parts of which one may be"
        )
        return Finding(Fraction(0), wrong)

    return check


def _numbers_check(tested: Hypothesis, drawn: list[Theorem]) -> Check:
    """Return the check that a release, or all rounds of a stream, draws no more numbers than are declared."""

    def check(run: Run, other: Run, unit: int) -> Finding:
        most = 0
        for leaf in drawn:
            sizes = [
                _numbers(leaf, values) for part, values in run.exact.items() if part[0] == leaf.witness["key"]
            ]
            size = sum(sizes) if rows(leaf) > 1 else max(sizes, default=0)
            most = max(most, size)
            if size > tested.statement["most"]:
                wrong = f"{leaf.witness['key']} draws {size} numbers, declared {tested.statement['most']}"
                return Finding(Fraction(most), wrong)
        return Finding(Fraction(most), None)

    return check


def _numbers(leaf: Theorem, values: Integers) -> int:
    """Return how many numbers are drawn on these values: of a symmetric matrix its upper triangle."""
    symmetric = getattr(leaf.premises[0].conclusion, "norm", "") == "frobenius-squared"
    return len(values) * (len(values) + 1) // 2 if symmetric else int(values.size)


def _rounds_check(theorem: Theorem, tested: Hypothesis, streams: list[Theorem]) -> Check:
    """Return the check that a unit enters the round of its own number, and no other.

    Then all rows move as that round's column of the transformation says, and by nothing else.
    """
    grids = _grids(theorem)
    rounds = int(tested.statement["rounds"])
    columns = {str(leaf.witness["key"]): Column(leaf.premises[0], rounds) for leaf in streams}

    def check(run: Run, other: Run, unit: int) -> Finding:
        most = Fraction(0)
        for key, column in columns.items():
            moves = _moves(run, other, {key})
            most = max(most, sum(v * v for move in moves.values() for v in move) * grids[key] ** 2)
            by_round = {part: move for (_, part), move in moves.items() if _among(part, rounds)}
            if column.rule == "centred":
                by_round = column.table(moves.values())
            elif len(by_round) < len(moves):
                return Finding(most, f"{key} has a release that is none of {rounds} rounds")
            wrong = column.wrong(by_round, unit)
            if wrong is not None:
                return Finding(most, f"{key}: unit {unit} enters other rounds than its own: {wrong}")
        return Finding(most, None)

    return check


def _among(part: object, rounds: int) -> TypeGuard[int]:
    return type(part) is int and 0 <= part < rounds


STREAMS = ("factorised", "buffered", "centred")


@dataclass(frozen=True)
class Column:
    """How the rows of a transformed stream move where one round of it does."""

    stream: Theorem
    rounds: int

    @property
    def rule(self) -> str:
        """Return the transformation's rule."""
        return self.stream.rule

    def table(self, moves: Iterable[list[int]]) -> dict[int, list[int]]:
        """Return the rows of a table that is released at once."""
        flat = [v for move in moves for v in move]
        wide = len(flat) // self.rounds
        return {k: flat[k * wide : (k + 1) * wide] for k in range(self.rounds)}

    def wrong(self, moves: dict[int, list[int]], unit: int) -> str | None:
        """Return which row moves as a change of round `unit` alone does not move it, or None."""
        weights = self.weights(self.rounds, unit - 1)
        first = next((t for t in sorted(moves) if weights[t][0]), None)
        for t, move in sorted(moves.items()):
            ratio = Fraction(0) if first is None else weights[t][0] / weights[first][0]
            before = move if first is None else moves[first]
            if any(abs(v - ratio * w) > weights[t][1] for v, w in zip(move, before, strict=True)):
                return f"row {t + 1} moves by {move[:8]}"
        return None

    def weights(self, rows: int, column: int) -> list[tuple[Fraction, Fraction]]:
        """Return for every row its movement for 1 in this round, and by how many steps floors may err."""
        given, none = self.stream.witness, Fraction(0)
        if self.rule == "centred":
            return [(Fraction(self.rounds - 1 if t == column else -1), none) for t in range(rows)]
        if self.rule == "factorised":
            matrix = given["matrix"]
            if len(matrix) == 1:
                lags = [t - column for t in range(rows)]
                return [(Fraction(matrix[0][k] if 0 <= k < len(matrix[0]) else 0), none) for k in lags]
            return [(Fraction(matrix[t][column] if t >= column else 0), none) for t in range(rows)]
        one, fine = 2 ** given["bits"], 2**96  # decays are cut to so many parts: far below a step
        slack = sum((Fraction(one, one - decay) for _, decay in given["pairs"]), Fraction(1))
        found, powers = [(none, none)] * column + [(Fraction(1), none)], [fine for _ in given["pairs"]]
        while len(found) < rows:
            total = sum(weight * power for (weight, _), power in zip(given["pairs"], powers, strict=True))
            found.append((Fraction(total, one * fine), slack))
            powers = [p * decay // one for p, (_, decay) in zip(powers, given["pairs"], strict=True)]
        return found[:rows]


def _movement_check(theorem: Theorem, drawn: list[tuple[Theorem, Fact]]) -> Check:
    """Return the check that every release moves as its leaf allows; those of a factorised stream together."""
    grids = _grids(theorem)

    def check(run: Run, other: Run, unit: int) -> Finding:
        most = Fraction(0)
        for leaf, fact in drawn:
            key, grid = str(leaf.witness["key"]), grids[str(leaf.witness["key"])]
            moves = _moves(run, other, {key})
            if rows(leaf) > 1:
                moves = {(key, "all rounds"): [v for move in moves.values() for v in move]}
            elif len({tuple(move) for move in moves.values() if any(move)}) > 1:
                return Finding(most, f"{key}: unit {unit} adds different vectors to different releases")
            for (_, part), move in moves.items():
                most = max(most, Fraction(sum(v * v for v in move)) * grid**2)
                wrong = _too_far(fact, move, grid)
                if wrong is not None:
                    return Finding(most, f"{key}, part {part}, moves by {move[:8]} with unit {unit}: {wrong}")
            wrong = _strange(fact, run, key)
            if wrong is not None:
                return Finding(most, wrong)
        return Finding(most, None)

    return check


def _too_far(fact: Fact, move: list[int], grid: Fraction) -> str | None:
    """Return how an integer movement breaks what is declared, or None; nothing is rounded."""
    shift = tuple(sorted((abs(v) for v in move if v), reverse=True))
    match fact:
        case Stable(norm=norm, bound=bound):
            size = size_of(norm, move) * grid ** (2 if norm.endswith("squared") else 1)
            return f"{norm} {size} above the declared {bound}" if size > bound else None
        case Shifts(shifts=shifts):
            return None if shift in shifts else "not one of the declared shifts"
        case Contribution(kind="cell"):
            return None if shift in ((), (1,)) else "not one cell by one"
        case _:  # a table's answer
            return None if len(move) == 1 else "more than one answer"


def size_of(norm: str, move: list[int]) -> int:
    """Return the size of an integer vector in a norm of the kernel, squared where the norm is."""
    match norm:
        case "l1":
            return sum(map(abs, move))
        case "range":
            return max(move, default=0) - min(move, default=0)
        case "each":
            return max(map(abs, move), default=0)
        case _:
            return sum(v * v for v in move)


def _strange(fact: Fact, run: Run, key: str) -> str | None:
    """Return which private symbol is none of the declared ones, or None."""
    if not isinstance(fact, Contribution) or fact.kind != "points":
        return None
    symbols = {int(v) for part, values in run.exact.items() if part[0] == key for v in values.ravel()}
    unknown = sorted(symbols - {point[0] for point in fact.points})
    return f"{key} answers {unknown[0]}, which is not a declared symbol" if unknown else None
