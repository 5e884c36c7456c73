"""Property tests of the hypotheses that a proof rests on, run against the running code.

For every hypothesis, Hypothesis searches neighbouring datasets, public coins and noise for a
counterexample: the code is run, its releases are replayed on the neighbour, and the movement of
every private value is compared exactly with what was declared.
"""

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import strategies as st

from audits.channels import ReplayError, Run, differing, record, replay
from audits.neighbours import Pair, pairs
from dpaccount.derivation import Hypothesis, hypotheses, leaves, walk
from dpaccount.kernel import Cover, Shifts, Stable, Theorem
from dpaccount.ledger.receipt import rehearse
from dpaccount.noise import Rehearsal
from mechanisms.subject import Subject


@dataclass(frozen=True)
class Evidence:
    """What was found about one hypothesis; `status` is ``tested`` or ``refuted``."""

    hypothesis: Hypothesis
    bound: str
    relation: str
    status: str
    examples: int
    worst: str
    counterexample: dict[str, object] | None
    source: str

    def as_json(self) -> dict[str, object]:
        """Return the entry of a certificate's `sensitivity`."""
        return {
            "rule": self.hypothesis.rule,
            "query": self.hypothesis.query,
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


class Counterexample(Exception):  # noqa: N818
    """Raised inside a property test, for Hypothesis to shrink."""


Check = Callable[[Run, Run, int], Finding]


def gather(
    subject: Subject, theorem: Theorem, *, examples: int, seed: int, files: list[Path]
) -> list[Evidence]:
    """Return the evidence on every hypothesis of `theorem`, in its order."""
    source = digest_of_files(files)
    return [
        _attack(subject, theorem, hypothesis_, examples, seed, source) for hypothesis_ in hypotheses(theorem)
    ]


def digest_of_files(files: list[Path]) -> str:
    """Return one digest over the contents of source files, in the order given."""
    total = hashlib.sha256()
    for file in files:
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return "sha256:" + total.hexdigest()


def _attack(
    subject: Subject, theorem: Theorem, tested: Hypothesis, examples: int, seed: int, source: str
) -> Evidence:
    check, bound = check_of(theorem, tested)
    worst, count = Fraction(0), 0
    failing: dict[str, object] | None = None

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
    @given(pair=pairs(subject.domain(), subject.relation), coins=st.integers(0, 2**32 - 1))
    def property_test(pair: Pair, coins: int) -> None:
        nonlocal worst, count, failing
        count += 1
        found = examine(subject, theorem, pair, coins, check)
        worst = max(worst, found.moved)
        target(float(found.moved))
        if found.wrong is not None:
            failing = describe(pair, coins, found.wrong)
            raise Counterexample

    with contextlib.suppress(Counterexample):
        property_test()
    status = "tested" if failing is None else "refuted"
    return Evidence(tested, bound, subject.relation, status, count, str(worst), failing, source)


def examine(subject: Subject, theorem: Theorem, pair: Pair, coins: int, check: Check) -> Finding:
    """Run on the left, replay on the right, and judge; code that raises is itself a finding."""
    try:
        run = record(subject, pair.left, rehearse(theorem, Rehearsal(coins)), coins)
        other = replay(subject, pair.right, run, coins)
        return check(run, other, pair.unit)
    except ReplayError as error:
        return Finding(Fraction(0), str(error))
    except Exception as error:  # whatever the subject raises, a person would see it
        return Finding(Fraction(0), f"{type(error).__name__}: {error}")


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
    """Return the check of one hypothesis, and its bound in words."""
    keys, grid = _leaf_of(theorem, tested.query)
    match tested.rule:
        case "assume_view":
            return _same_view, "others' view is unchanged"
        case "assume_covers" | "assume_tree":
            return _covers_check(tested, keys), "only covering releases move"
        case _:
            return _movement_check(theorem, tested.query, keys, grid)


def _same_view(run: Run, other: Run, unit: int) -> Finding:
    return Finding(Fraction(0), differing(run, other, unit))


def _leaf_of(theorem: Theorem, query: str) -> tuple[set[str], Fraction]:
    """Return the keys under which a query is released, and its grid step."""
    keys = {
        part.witness["key"]
        for part in walk(theorem)
        if "key" in part.witness and getattr(part.premises[0].conclusion, "query", None) == query
    }
    grids = [Fraction(leaf.parameters.get("grid", "1")) for leaf in leaves(theorem) if leaf.key in keys]
    return keys, grids[0] if grids else Fraction(1)


def _moves(run: Run, other: Run, keys: set[str]) -> dict[tuple[str, object], list[int]]:
    return {
        part: [int(v) for v in (other.exact[part] - run.exact[part]).ravel()]
        for part in run.exact
        if part[0] in keys
    }


def _covers_check(tested: Hypothesis, keys: set[str]) -> Check:
    statement = tested.statement

    def cover_of(part: Any) -> Cover:
        if tested.rule == "assume_covers":
            first, last = statement["covers"][part]
        else:  # nodes are named (level, index)
            first, last = part[1] * 2 ** part[0] + 1, (part[1] + 1) * 2 ** part[0]
        return first, last

    releases = len(statement["covers"]) if tested.rule == "assume_covers" else None

    def check(run: Run, other: Run, unit: int) -> Finding:
        moves = _moves(run, other, keys)
        most = Fraction(0)
        if releases is not None and len(moves) > releases:
            return Finding(most, f"{tested.query} is released {len(moves)} times, declared {releases}")
        for (key, part), move in moves.items():
            size = Fraction(sum(v * v for v in move))
            most = max(most, size)
            first, last = cover_of(part)
            if size and not first <= unit <= last:
                return Finding(
                    size,
                    f"{key}, part {part}, covers [{first}, {last}] but moves by {move[:8]} with unit {unit}",
                )
        return Finding(most, None)

    return check


def _movement_check(theorem: Theorem, query: str, keys: set[str], grid: Fraction) -> tuple[Check, str]:
    shifts: set[tuple[int, ...]] | None = None
    bounds: list[Stable] = []
    for part in walk(theorem):
        fact = part.conclusion
        if isinstance(fact, Shifts) and fact.query == query:
            shifts = set(fact.shifts)
        if isinstance(fact, Stable) and fact.query == query:
            bounds.append(fact)

    def check(run: Run, other: Run, unit: int) -> Finding:
        moves = _moves(run, other, keys)
        most = Fraction(0)
        seen = {tuple(move) for move in moves.values() if any(move)}
        for (key, part), move in moves.items():
            where = f"{key}, part {part}, moves by {move[:8]} with unit {unit}"
            squared = Fraction(sum(v * v for v in move)) * grid**2
            most = max(most, squared)
            if shifts is not None and tuple(sorted((abs(v) for v in move if v), reverse=True)) not in shifts:
                return Finding(squared, f"{where}: not one of the declared shifts")
            for bound in bounds:
                size = sum(abs(v) for v in move) * grid if bound.norm == "l1" else squared
                if size > bound.bound:
                    return Finding(squared, f"{where}: {bound.norm} {size} above the declared {bound.bound}")
        if len(seen) > 1:
            return Finding(most, f"{query}: unit {unit} adds different vectors to different releases")
        return Finding(most, None)

    words = [f"{bound.norm} {bound.bound}" for bound in bounds]
    words += [f"shifts {sorted(shifts)}"] if shifts is not None else []
    return check, "; ".join(words)
