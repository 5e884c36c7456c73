"""Checks of a proof's hypotheses: exact assertions about two runs of one example."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import numpy as np

from audits.consistency.verdict import promised
from audits.datasets.bases import Pair
from audits.hypothesis_tests.replay import Run, differing, moves
from dpaccount.errors import InputError
from dpaccount.noise.leaves import rows
from dpaccount.noise.proved import Proved
from dpaccount.noise.samplers import Integers
from dpaccount.proof import Contribution, Cover, Covered, Hypothesis, Shifts, Stable, Theorem
from dpaccount.relation import REPLACE_ONE, adjacency


@dataclass(frozen=True)
class Finding:
    """The squared change observed in one example, and the violation, if any."""

    moved: Fraction
    wrong: str | None


Check = Callable[[Run, Run, int], Finding]


def check_of(proved: Proved, tested: Hypothesis) -> tuple[Check, str]:
    """Return the check of one hypothesis, and its bound in words; `untested` if no test is known.

    A hypothesis that is not tested leaves a claim UNPROVEN.  Words and testability come from the checker,
    which compares them with the certificate.
    """
    words, known = promised(proved.steps, tested.digest)
    return (_check_of(proved, tested) if known else untested), words


def _check_of(proved: Proved, tested: Hypothesis) -> Check:
    drawn = _noise_on_query(proved, tested.query)
    match tested.rule:
        case "assume_view":
            return _view_check(proved, tested.query)
        case "assume_covers" | "assume_tree":
            return _covers_check(tested, proved, {str(leaf.witness["key"]) for leaf, _ in drawn})
        case "assume_rounds":
            return _rounds_check(
                proved, tested, [leaf for leaf, _ in drawn if leaf.premises[0].rule in STREAMS]
            )
        case "assume_numbers":
            return _numbers_check(tested, [leaf for leaf, _ in drawn])
        case "assume_lipschitz":
            sizes = (Fraction(tested.statement[name]) for name in ("factor", "slack", "reach"))
            keys = [str(leaf.witness["key"]) for leaf, _ in drawn]
            return LipschitzCheck(Modulus(*sizes), {key: proved.grids[key] for key in keys})
        case "assume_choice":
            return _choice_check([set(part) for part in tested.statement["parts"]])
        case _:
            return _movement_check(proved, drawn)


def untested(run: Run, other: Run, unit: int) -> Finding:
    """Check nothing."""
    return Finding(Fraction(0), None)


@dataclass(frozen=True)
class Modulus:
    """A row that moves by ℓ changes a query by at most min(`factor`·ℓ + `slack`, `reach`)."""

    factor: Fraction
    slack: Fraction
    reach: Fraction

    def wrong(self, moved: Fraction, squared_distance: Fraction | None) -> str | None:
        """Describe how a squared movement breaks this for a row's squared distance, or return None; exact.

        For an unknown distance (None) only the reach is checked.
        """
        if moved > self.reach**2:
            return f"it moves by √{moved}, above {self.reach}, as far as any row moves it"
        if squared_distance is None:
            return None
        # √moved ≤ factor·√squared_distance + slack, without a root
        excess = moved - self.factor**2 * squared_distance - self.slack**2
        if excess > 0 and excess**2 > 4 * self.slack**2 * self.factor**2 * squared_distance:
            return f"it moves by √{moved} with a row that moves by √{squared_distance}"
        return None


@dataclass(frozen=True)
class LipschitzCheck:
    """The check that releases are Lipschitz in a row, which moves by `squared_distance` in this pair."""

    modulus: Modulus
    grids: Mapping[str, Fraction]  #: by key
    squared_distance: Fraction | None = None

    def __call__(self, run: Run, other: Run, unit: int) -> Finding:
        """Judge all releases of one example."""
        most = Fraction(0)
        for key, grid in self.grids.items():
            moved = {tuple(move) for move in _moves(run, other, {key}).values() if any(move)}
            size = Fraction(max((sum(v * v for v in move) for move in moved), default=0)) * grid**2
            most = max(most, size)
            wrong = self.modulus.wrong(size, self.squared_distance)
            if len(moved) > 1:
                wrong = f"{key}: a row adds different vectors to different releases"
            if wrong is not None:
                return Finding(most, f"{key}, unit {unit}: {wrong}")
        return Finding(most, None)


def for_pair(check: Check, pair: Pair) -> Check:
    """Return the check for one pair; a Lipschitz check needs the distance of its rows."""
    return (
        replace(check, squared_distance=pair.squared_distance) if isinstance(check, LipschitzCheck) else check
    )


def _view_check(proved: Proved, query: str) -> Check:
    """Return the check of the output: in the central model everyone sees each person's own part too."""
    everyone = any(view.query == query and view.audience == "everyone" for view in proved.views)

    def check(run: Run, other: Run, unit: int) -> Finding:
        return Finding(Fraction(0), differing(run, other, 0 if everyone else unit))

    return check


Fact = Stable | Shifts | Contribution


def _noise_on_query(proved: Proved, query: str) -> list[tuple[Theorem, Fact]]:
    """Return the leaves that draw noise on a query, each with its declared sensitivity."""
    draws = []
    for part in proved.parts:
        fact = part.premises[0].conclusion if "key" in part.witness else None
        if isinstance(fact, Stable | Shifts | Contribution) and fact.query == query:
            draws.append((part, fact))
    return draws


def _moves(run: Run, other: Run, keys: set[str]) -> dict[tuple[str, object], list[int]]:
    return {part: moves(run, other, part).tolist() for part in run.exact if part[0] in keys}


def _covers_check(tested: Hypothesis, proved: Proved, keys: set[str]) -> Check:
    statement, alike = tested.statement, (part for part in proved.parts if part.rule == tested.rule)
    declared = next(part.conclusion for part in alike if part.digest == tested.digest)
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

    grids = proved.grids

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
    """Return the check that exactly one part of a mixture draws its noise."""

    def check(run: Run, other: Run, unit: int) -> Finding:
        drawn = {key for key, _ in run.exact} & set().union(*parts)
        fine = any(drawn <= part for part in parts)
        wrong = f"{', '.join(sorted(drawn))} are drawn, of several parts of which one may be"
        return Finding(Fraction(0), None if fine else wrong)

    return check


def _numbers_check(tested: Hypothesis, drawn: list[Theorem]) -> Check:
    """Return the check that a release, or all rounds of a stream, draws at most the declared numbers."""

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
    """Return how many noise values are drawn: for a symmetric matrix those of its upper triangle."""
    symmetric = getattr(leaf.premises[0].conclusion, "norm", "") == "frobenius-squared"
    return len(values) * (len(values) + 1) // 2 if symmetric else int(values.size)


def _rounds_check(proved: Proved, tested: Hypothesis, streams: list[Theorem]) -> Check:
    """Return the check that a unit enters only the round of its own number, or of its batch.

    Then the rows' movement is a multiple of that round's column of the transformation.  If a unit may
    enter any round, it is a combination of two columns: of the rounds that it leaves and enters.
    """
    grids = proved.grids
    rounds = int(tested.statement["rounds"])
    ends = tested.statement.get("ends", range(1, rounds + 1))
    free = "participations" in tested.statement
    leaves = [
        leaf for leaf in streams if any(each.digest == tested.digest for each in leaf.premises[0].premises)
    ]
    columns = {str(leaf.witness["key"]): StreamColumn(leaf.premises[0], rounds) for leaf in leaves}

    def check(run: Run, other: Run, unit: int) -> Finding:
        most = Fraction(0)
        for key, column in columns.items():
            moves = _moves(run, other, {key})
            most = max(most, sum(v * v for move in moves.values() for v in move) * grids[key] ** 2)
            numbers = range(rounds)
            by_round = {
                part: move for (_, part), move in moves.items() if type(part) is int and part in numbers
            }
            if column.stream.rule == "centred":
                by_round = column.table(moves.values())
            elif len(by_round) < len(moves):
                return Finding(most, f"{key} has a release that is none of {rounds} rounds")
            if free:
                wrong = column.wrong_anywhere(by_round, grids[key], proved.relation)
            else:
                wrong = column.wrong(by_round, bisect_left(ends, unit) + 1)
            if wrong is not None:
                return Finding(most, f"{key}: unit {unit} enters other rounds than its own: {wrong}")
        return Finding(most, None)

    return check


STREAMS = ("factorised", "buffered", "centred", "stream_l1")


@dataclass(frozen=True)
class StreamColumn:
    """The change of a transformed stream's rows if one of its rounds changes."""

    stream: Theorem
    rounds: int

    def table(self, moves: Iterable[list[int]]) -> dict[int, list[int]]:
        """Return the rows of a table that is released at once."""
        flat = [v for move in moves for v in move]
        wide = len(flat) // self.rounds
        return {k: flat[k * wide : (k + 1) * wide] for k in range(self.rounds)}

    def wrong(self, moves: dict[int, list[int]], entered: int) -> str | None:
        """Return the first row whose movement a change of the round `entered` cannot explain, or None."""
        weights = self.weights(self.rounds, entered - 1)
        first = next((t for t in sorted(moves) if weights[t][0]), None)
        for t, move in sorted(moves.items()):
            ratio = Fraction(0) if first is None else weights[t][0] / weights[first][0]
            before = move if first is None else moves[first]
            if any(abs(v - ratio * w) > weights[t][1] for v, w in zip(move, before, strict=True)):
                return f"row {t + 1} moves by {move[:8]}"
        return None

    def wrong_anywhere(self, moves: dict[int, list[int]], grid: Fraction, relation: str | None) -> str | None:
        """Return a row whose movement no two vectors, in any two rounds, can explain; or None.

        For streams whose rounds a unit's own data choose.  Gaussian elimination in integers: the first row
        that moves gives one vector, whose column is subtracted.  Each of two vectors must be within what a
        unit may add.
        """
        person: Any = self.stream.premises[0 if self.stream.rule == "stream_l1" else 2].conclusion
        # exact, a row each; a release of fewer numbers than another moves none beyond them
        columns = [*zip_longest(*(moves[t] for t in sorted(moves)), fillvalue=0)]
        left = np.array(columns, dtype=object).T
        scale, added = grid * 2 ** self.stream.witness.get("bits", 0), list[Fraction]()
        for place, t in enumerate(sorted(moves)):
            vector = left[place]
            if not vector.any():
                continue
            weights = self.weights(self.rounds, t)
            column = np.array([int(weights[each][0]) for each in sorted(moves)], dtype=object)
            if len(added) == adjacency(str(relation)).contributions or not column[place]:
                return f"row {t + 1} moves by {moves[t][:8]}"
            scale /= int(column[place])  # the remaining rows are multiplied by this factor
            added.append(Fraction(sum(v * v for v in vector)) * scale**2)
            left = left * column[place] - np.outer(column, vector)
        ends = person.low**2, person.high**2
        furthest = max(ends) if person.kind == "interval" else person.high
        longest = max((sum(v * v for v in p) for p in person.points), default=furthest)
        if len(added) > 1 and max(added) > longest:
            return f"one of two rounds moves by more than a unit adds: {float(max(added)):.6g} squared"
        return None

    def weights(self, rows: int, column: int) -> list[tuple[Fraction, Fraction]]:
        """Return for every row its movement for 1 in this round, and the rounding error in grid steps."""
        given, none = self.stream.witness, Fraction(0)
        if self.stream.rule == "centred":
            return [(Fraction(self.rounds - 1 if t == column else -1), none) for t in range(rows)]
        if self.stream.rule in ("factorised", "stream_l1"):
            matrix = given.get("matrix", [[1]])
            if len(matrix) == 1:
                lags = [t - column for t in range(rows)]
                return [(Fraction(matrix[0][k] if 0 <= k < len(matrix[0]) else 0), none) for k in lags]
            return [(Fraction(matrix[t][column] if t >= column else 0), none) for t in range(rows)]
        # Decays are followed far below a grid step, and `slack` bounds what the stream itself rounds.
        one, fine = 2 ** given["bits"], 2**96  # resolution of decays, far below a step
        slack = sum((Fraction(one, one - decay) for _, decay in given["pairs"]), Fraction(1))
        weights, powers = [(none, none)] * column + [(Fraction(1), none)], [fine for _ in given["pairs"]]
        while len(weights) < rows:
            total = sum(weight * power for (weight, _), power in zip(given["pairs"], powers, strict=True))
            weights.append((Fraction(total, one * fine), slack))
            powers = [p * decay // one for p, (_, decay) in zip(powers, given["pairs"], strict=True)]
        return weights[:rows]


def _movement_check(proved: Proved, drawn: list[tuple[Theorem, Fact]]) -> Check:
    """Return the check that every release moves within its sensitivity; a stream's rounds together."""
    grids = proved.grids

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
                scored = isinstance(fact, Stable) and fact.norm == "range"
                candidates = run.exact[key, part].shape[-1] if scored else 1
                wrong = _violation(fact, move, grid, proved.relation, candidates)
                if wrong is not None:
                    return Finding(most, f"{key}, part {part}, moves by {move[:8]} with unit {unit}: {wrong}")
            wrong = _undeclared_symbol(fact, run, key)
            if wrong is not None:
                return Finding(most, wrong)
        return Finding(most, None)

    return check


def _violation(
    fact: Fact, move: list[int], grid: Fraction, relation: str | None, candidates: int
) -> str | None:
    """Describe how an integer movement exceeds the declared sensitivity, or return None; exact.

    For the range norm `move` has the scores of each choice's `candidates`, one choice after another.
    """
    shift = tuple(sorted((abs(v) for v in move if v), reverse=True))
    match fact:
        case Stable(norm=norm, bound=bound):
            size = size_of(norm, move, candidates) * grid ** (2 if norm.endswith("squared") else 1)
            return f"{norm} {size} above the declared {bound}" if size > bound else None
        case Shifts(shifts=shifts):
            return None if shift in shifts else "not one of the declared shifts"
        case Contribution(kind="cell", high=most):
            allowed = set(shift) <= {1} and _in_cells(move, most, relation)
            return None if allowed else f"not {'one cell' if most == 1 else f'at most {most} cells'} by one"
        case _:  # a table's answer
            return None if len(shift) <= 1 else "more than one answer"


def _in_cells(move: list[int], most: Fraction, relation: str | None) -> bool:
    """Return whether a change of counts by 1 is possible with at most `most` cells a unit.

    A replaced unit leaves up to `most` cells and enters as many; an added or removed one does one of both.
    """
    entered, left = sum(v > 0 for v in move), sum(v < 0 for v in move)
    return max(entered, left) <= most and (relation == REPLACE_ONE or not min(entered, left))


def size_of(norm: str, move: list[int], candidates: int) -> int:
    """Return the size of an integer vector in a norm of the kernel (squared for squared norms).

    For the norm "range" it is the sum, over choices, of the range of their `candidates`' scores.
    """
    match norm:
        case "l1":
            return sum(map(abs, move))
        case "range":
            each = [move[at : at + candidates] for at in range(0, len(move), candidates)]
            return sum(max(scores) - min(scores) for scores in each)
        case "each":
            return max(map(abs, move), default=0)
        case _:
            return sum(v * v for v in move)


def _undeclared_symbol(fact: Fact, run: Run, key: str) -> str | None:
    """Return the first private symbol that is not declared, or None."""
    if not isinstance(fact, Contribution) or fact.kind != "points":
        return None
    symbols = {int(v) for part, values in run.exact.items() if part[0] == key for v in values.ravel()}
    unknown = sorted(symbols - {point[0] for point in fact.points})
    return f"{key} answers {unknown[0]}, which is not a declared symbol" if unknown else None
