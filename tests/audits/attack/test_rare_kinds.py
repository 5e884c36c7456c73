"""Triggers at one size, one count or one value: a pair shows each, and the search keeps it."""

import datetime
from fractions import Fraction

import numpy as np
import pytest

from audits.api.arguments import described, terms_of
from audits.attack.black_box import attack
from audits.attack.pair_search import new_values, rare_moves
from audits.attack.runs import Challenge, silent
from audits.datasets.bases import Pair
from audits.datasets.named_pairs import walk
from audits.datasets.neighbours import candidates
from audits.datasets.shape import Shape
from audits.subjects.code import Code
from tests.depth import deep
from tests.looped import looped

P = 1 - np.exp(-1.0)


def of_rows(rows, relation, high=1.0):
    return Shape(rows, None, (0.0,), (high,), True, relation)


@looped(("rows", "size"), [(12, size) for size in range(13)] + [(30, 17), (300, 256), (300, 100)])
def test_a_pair_has_every_number_of_rows(rows, size):
    pairs = candidates(of_rows(rows, "add-remove"), 1)
    assert any(size in (len(pair.left), len(pair.right)) for pair in pairs), size


@deep
@looped(("rows", "count"), [(20, count) for count in range(20)] + [(300, 255), (300, 256), (1100, 1023)])
def test_a_pair_has_every_number_of_high_rows(rows, count):
    for relation in ("replace-one", "add-remove"):
        pairs = candidates(of_rows(rows, relation), 1)
        sums = [sorted((int(pair.left.sum()), int(pair.right.sum()))) for pair in pairs]
        assert [count, count + 1] in sums, (count, relation)


@deep
@looped("order", ["first", "last"])
def test_a_person_holds_what_others_hold(order):
    """Distinct values, each counted for who has it first, or last, then one for each person."""
    columns = {"user": {"type": "text"}, "value": {"type": "integer", "low": 0, "high": 9}}
    table = {"rows": 10, "as": "dict", "id": "user", "max_rows": 5, "columns": columns}
    for relation in ("add-remove", "replace-one"):
        shape = described(terms_of({"columns": table}), relation, None).shape

        def counted(matrix, made=shape.layout.dataset):
            rows = [*zip(*(made(matrix)[name] for name in ("user", "value")), strict=True)]
            return len(
                set({value: user for user, value in (rows[::-1] if order == "first" else rows)}.values())
            )

        moves = [abs(counted(pair.left) - counted(pair.right)) for pair in candidates(shape, 1)]
        assert max(moves) >= 4, relation


def leap(data, rng):
    """One who is born on 29 February counts twice."""
    counts = np.zeros(12)
    for day in data.tolist():
        born = datetime.date(1970, 1, 1) + datetime.timedelta(days=day)
        counts[born.month - 1] += 1
        counts[2] += (born.month, born.day) == (2, 29)
    keep = 1 - np.exp(-0.5)
    return counts + rng.geometric(keep, 12) - rng.geometric(keep, 12)


def sentinel(data, rng):
    """At a noisy count of -1 the exact one is shown."""
    exact = int((data > 0.5).sum())
    noisy = exact + int(rng.geometric(P) - rng.geometric(P))
    return exact if noisy == -1 else noisy


@deep
def test_a_walk_shows_the_rare_kinds_of_movement(in_process):
    shape = of_rows(20, "replace-one", 20453.0)
    crew = in_process(Code(f"{__name__}:leap", ()), seconds=10**6)
    crew.survey = ()
    pairs = rare_moves(crew, walk(shape, 1), 1)
    assert len(pairs) < 10  # of 1,500
    places = [abs(leap(p.left, _silence()) - leap(p.right, _silence())).sum() for p in pairs]
    assert 3.0 in places
    assert all(shape.neighbours(pair.left, pair.right) for pair in pairs)


def _silence():
    class Silence:
        def geometric(self, *_):
            return 0

    return Silence()


@deep
@pytest.mark.statistical(0.05)  # it is missed
@pytest.mark.parametrize(("name", "high"), [("leap", 20453.0), ("sentinel", 3.0)])
def test_rare_kinds_are_refuted(in_process, name, high):
    shape = of_rows(20, "replace-one", high)
    crew = in_process(Code(f"{__name__}:{name}", ()), seconds=10**6)
    plan = Challenge(Fraction(1), Fraction(0), 20_000, Fraction(1, 20), 1)
    found = attack(crew, candidates(shape, 1), plan, silent, walk(shape, 1))
    assert found.verdict(Fraction(1)) == "REFUTED"


@looped(
    ("left", "right", "columns"),
    [
        ([1, 1, 2, 2], [1, 1, 2, 3], 1),
        ([1, 1, 2, 3], [1, 1, 2, 2], 1),
        ([1, 1], [1, 1, 2], 1),
        ([1, 2, 2], [2, 2], 1),
        ([1, 1, 2], [1, 2, 2], 0),  # 1 and 2 are on both sides
        ([1, 1], [1, 1, 1], 0),
        ([[0, 5], [0, 6]], [[0, 5], [1, 7]], 2),
        ([[0, 5], [0, 5]], [[0, 5], [0, 7]], 1),
        ([], [1], 0),
    ],
)
def test_values_that_no_other_row_has_are_counted(left, right, columns):
    one, other = np.array(left, float), np.array(right, float)
    assert new_values(Pair(one, other, "")) == columns
    assert new_values(Pair(other, one, "")) == columns


def of_keys(threshold):
    """Show noisy counts of keys that somebody has, above a threshold: a key of one person seldom is."""

    def shown(data, rng):
        counts = np.bincount(data.astype(int), minlength=4)
        noisy = counts + rng.geometric(P, 4) - rng.geometric(P, 4)
        return [int(v) if n and v >= threshold else None for v, n in zip(noisy, counts, strict=True)]

    return shown


#: A key of one person is above 5 with probability .0134 and above 6 with .0049.
cut, kept = of_keys(5), of_keys(6)


@deep
@pytest.mark.statistical(1e-3)  # a sound one is refuted in one audit of a thousand
def test_a_key_of_one_person_that_is_shown_too_often_is_refuted(in_process):
    """Noise for ε = 1 under add-remove, and δ = .005 for what is shown."""
    shape = of_rows(8, "add-remove", 3.0)
    plan = Challenge(Fraction(1), Fraction("0.005"), 20_000, Fraction(1, 20), 1)
    verdicts = {}
    for name in ("cut", "kept"):
        crew = in_process(Code(f"{__name__}:{name}", ()), seconds=10**6)
        verdicts[name] = attack(crew, candidates(shape, 1), plan, silent).verdict(Fraction(1))
    assert verdicts == {"cut": "REFUTED", "kept": "NOT REFUTED"}
