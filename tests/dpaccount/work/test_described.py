"""What is computed has one description; what differs in anything has another; what could hide a change has none."""

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.errors import InputError
from dpaccount.relation import Relation
from dpaccount.work.described import DERIVED, described, digest
from tests.planted.tasks import by_the_clock, squares


@dataclass(frozen=True)
class Setting:
    rounds: int
    noise: Fraction
    rows: object = None
    theorem: object = field(default=None, metadata=DERIVED)


@lru_cache
def cached(_):
    return None


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.fractions()
VALUES = st.recursive(
    PLAIN | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=8,
)


def written(value):
    """Return a value with its types, which == does not tell apart (0, 0.0, False; -0.0)."""
    if isinstance(value, list | tuple):
        return type(value).__name__, [written(each) for each in value]
    if isinstance(value, dict):
        return "dict", sorted((key, repr(written(each))) for key, each in value.items())
    return type(value).__name__, repr(value)


@given(VALUES, VALUES)
def test_values_have_one_description_just_if_they_are_the_same(one, other):
    assert (digest(described(one)) == digest(described(other))) == (written(one) == written(other))


DIFFERENT = [
    partial(squares, 1.0), partial(squares, 2.0), partial(squares, 1), partial(squares, factor=1.0), squares, by_the_clock, cached,
    Setting(1, Fraction(1)), Setting(2, Fraction(1)), Setting(1, Fraction(1, 3)), Setting(1, Fraction(1), np.zeros(2)),
    Setting(1, Fraction(1), np.zeros(3)), Setting(1, Fraction(1), np.zeros(2, dtype=np.int64)), Setting(1, Fraction(1), np.array([0.0, -0.0])),
    Setting(1, Fraction(1), np.zeros((2, 1))), Setting, np.float64(1), range(3), range(4), {1: 2},
    Relation.REPLACE_ONE, Relation.ADD_REMOVE, sum, b"x", "x", ("x",), ["x"],
]  # fmt: skip


def test_what_differs_in_anything_has_another_description():
    assert len({digest(described(each)) for each in DIFFERENT}) == len(DIFFERENT)


def test_what_follows_from_the_rest_is_left_out():
    assert described(Setting(1, Fraction(1), theorem=object())) == described(Setting(1, Fraction(1)))


def test_the_file_of_code_that_is_not_ours_belongs_to_it(monkeypatch, tmp_path):
    before = described(squares)
    changed = tmp_path / "tasks.py"
    changed.write_text("# changed\n")
    monkeypatch.setattr("tests.planted.tasks.__file__", str(changed))
    assert described(squares) != before


class Odd(Enum):
    ONE = 1


def local():
    def inside(seeds):
        return seeds

    return inside


@pytest.mark.parametrize("value", [lambda seeds: seeds, local(), object(), np.array([object()]), {1, 2}])
def test_what_could_hide_a_change_is_refused(value):
    for held in (value, [value], partial(squares, value), Setting(1, Fraction(1), value)):
        with pytest.raises(InputError, match="cannot be described"):
            described(held)


def test_an_enumeration_is_told_by_its_name():
    assert described(Odd.ONE)[-1] == "ONE"
