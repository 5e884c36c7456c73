"""What is computed has one description; what differs in anything has another; what could hide a change has none."""

import types
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpaccount.documents import hex_digest
from dpaccount.errors import InputError
from dpaccount.relation import Relation
from dpaccount.work.described import DERIVED, described
from tests.depth import deep
from tests.looped import looped
from tests.planted import tasks
from tests.planted.tasks import by_the_clock, squares


@pytest.fixture
def _ours(root, monkeypatch):
    """Let the tests count as our own code, whose results are kept."""
    monkeypatch.setattr("dpaccount.work.described.folders", lambda: {"tests": str(root / "tests"), **OWN})


OWN = __import__("dpaccount_packages").folders()


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


@deep
@given(VALUES, VALUES)
def test_values_have_one_description_just_if_they_are_the_same(one, other):
    assert (hex_digest(described(one)) == hex_digest(described(other))) == (written(one) == written(other))


DIFFERENT = [
    partial(squares, 1.0), partial(squares, 2.0), partial(squares, 1), partial(squares, factor=1.0), squares, by_the_clock, cached,
    Setting(1, Fraction(1)), Setting(2, Fraction(1)), Setting(1, Fraction(1, 3)), Setting(1, Fraction(1), np.zeros(2)),
    Setting(1, Fraction(1), np.zeros(3)), Setting(1, Fraction(1), np.zeros(2, dtype=np.int64)), Setting(1, Fraction(1), np.array([0.0, -0.0])),
    Setting(1, Fraction(1), np.zeros((2, 1))), Setting, np.float64(1), 1.0, np.float32(1), range(3), range(4), range(0, 4, 2), {1: 2},
    np.zeros(1, dtype=[("a", float)]), np.zeros(1, dtype=[("b", float)]),
    Relation.REPLACE_ONE, Relation.ADD_REMOVE, b"x", "x", ("x",), ["x"], 1, True,
]  # fmt: skip


@pytest.mark.usefixtures("_ours")
def test_what_differs_in_anything_has_another_description():
    assert len({hex_digest(described(each)) for each in DIFFERENT}) == len(DIFFERENT)


@pytest.mark.usefixtures("_ours")
def test_what_follows_from_the_rest_is_left_out():
    assert described(Setting(1, Fraction(1), theorem=object())) == described(Setting(1, Fraction(1)))


class Odd(Enum):
    ONE = 1


class Half(float):
    """A number that a user's class computes with in another way."""


def local():
    def inside(seeds):
        return seeds

    return inside


def of_a_changed_module():
    """Return a function that is not what its module has under its name any more."""
    return types.FunctionType(squares.__code__, tasks.__dict__, "squares")


@pytest.mark.usefixtures("_ours")
@pytest.mark.parametrize(
    "value",
    [lambda seeds: seeds, local(), object(), np.array([object()]), {1, 2}, Half(1), np.mean, sum, "x".join],
)
def test_what_could_hide_a_change_is_refused(value):
    for held in (value, [value], partial(squares, value), Setting(1, Fraction(1), value)):
        with pytest.raises(InputError, match="cannot be kept"):
            described(held)


@pytest.mark.usefixtures("_ours")
def test_a_function_that_its_module_does_not_have_is_refused(monkeypatch):
    with pytest.raises(InputError, match="cannot be kept"):
        described(of_a_changed_module())
    monkeypatch.setattr(tasks, "squares", by_the_clock)
    with pytest.raises(InputError, match="cannot be kept"):
        described(squares)


@looped("value", [squares, Setting(1, Fraction(1)), Odd.ONE, partial(squares, 1.0), Setting])
def test_what_is_no_code_of_ours_is_refused(value):
    """Its helper modules, globals and defaults may change without a trace."""
    with pytest.raises(InputError, match="cannot be kept"):
        described(value)


def test_a_package_elsewhere_with_one_of_our_names_is_refused(tmp_path, monkeypatch):
    """Ours is what lies in our folder, not what is called like it."""
    made = types.ModuleType("mechanisms.made_up")
    made.__file__ = str(tmp_path / "mechanisms" / "made_up.py")
    exec("def play(seeds): return seeds", made.__dict__)  # noqa: S102
    monkeypatch.setitem(__import__("sys").modules, "mechanisms.made_up", made)
    with pytest.raises(InputError, match="cannot be kept"):
        described(made.play)
    made.__file__ = f"{OWN['mechanisms']}/made_up.py"
    assert described(made.play) == ["code", ["mechanisms.made_up", "play"]]


@pytest.mark.usefixtures("_ours")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.integers(0, 5), st.integers(), max_size=4))
def test_the_order_of_a_dictionary_does_not_matter(table):
    assert described(table) == described(dict(reversed(table.items())))


def test_an_enumeration_is_told_by_its_name():
    assert described(Relation.ADD_REMOVE)[-1] == "ADD_REMOVE"
