"""Whatever changes in a result is seen: by the key, by the attack's score, by the movement of a query, or refused."""

import copy
import math
import os
import py_compile
import random
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.sandbox.crew import Crew
from audits.sandbox.outcomes import (
    MAX_MEMBERS,
    MAX_NUMBERS,
    Ending,
    of_value,
    pack_outcome,
    seeded,
    unpack_outcome,
)
from audits.scores.outcome_columns import learn
from audits.sensitivity.search import movement
from audits.subjects.code import Code
from dpaccount.errors import InputError
from tests.depth import deep, examples
from tests.looped import looped


@dataclass
class Thing:
    mean: float


class Hides(float):
    pass


def hides(secret):
    made = Hides(1.0)
    made.secret = secret
    return made


def nested(value, depth):
    for _ in range(depth):
        value = [value]
    return value


def payload(bits):
    return np.array([0x7FF8000000000000 + bits]).view(np.float64)[0]


LEAVES = {  # what differs in as little as it can
    "float": (0.1, math.nextafter(0.1, 1)),
    "zero": (0.0, -0.0),
    "nan": (payload(1), payload(2)),
    "float and NaN": (0.0, math.nan),
    "int": (2**53 - 2, 2**53 - 1),
    "big int": (2**53, 2**53 + 1),
    "huge int": (10**5000, 10**5000 + 1),
    "int64": (np.int64(2**60), np.int64(2**60 + 1)),
    "uint64": (np.array([1, 2**64 - 1], np.uint64), np.array([1, 2**64 - 2], np.uint64)),
    "least int64": (np.array([-(2**63)]), np.array([-(2**63) + 1])),
    "longdouble": (np.longdouble(1), np.longdouble(1) + np.finfo(np.longdouble).eps),
    "long array": (
        np.array([1, 2], np.longdouble),
        np.array([1, np.nextafter(np.longdouble(2), np.longdouble(3))]),
    ),
    "long complex": (np.clongdouble(1), np.clongdouble(1) + 1j * np.finfo(np.longdouble).eps),
    "beyond doubles": (np.longdouble("1e4000"), np.longdouble("2e4000")),
    "complex": (1j, 2j),
    "Decimal": (Decimal("0.1"), Decimal("0.10")),
    "Fraction": (Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**40)),
    "datetime": (np.datetime64(1, "ns"), np.datetime64(2, "ns")),
    "unit": (np.timedelta64(1, "s"), np.timedelta64(1, "m")),
    "not a time": (np.datetime64("NaT"), np.datetime64(0, "s")),
    "dates": (np.array([2**60], "M8[ns]"), np.array([2**60 + 1], "M8[ns]")),
    "record": (np.array([(1.0, 2)], "f8,i8"), np.array([(1.0, 3)], "f8,i8")),
    "field": (np.array([(1.0,)], [("a", "f8")]), np.array([(1.0,)], [("b", "f8")])),
    "raw": (np.void(b"ab"), np.void(b"ac")),
    "mask": (np.ma.array([0.0, 1], mask=[0, 1]), np.ma.array([0.0, 1], mask=[0, 0])),
    "under the mask": (np.ma.array([0.0], mask=[1]), np.ma.array([1.0], mask=[1])),
    "fill": (np.ma.array([0.0], fill_value=1), np.ma.array([0.0], fill_value=2)),
    "long list": ([0.0] * 5000 + [1.0], [0.0] * 5000 + [2.0]),
    "long mixed list": ([0, "a"] * 200 + [1], [0, "a"] * 200 + [2]),
    "long array's middle": (np.eye(1, 5000, 2501), np.eye(1, 5000, 2502)),
    "texts": (["a"] * 99 + ["b"], ["a"] * 99 + ["c"]),
    "long text": ("x" * 9000 + "a", "x" * 9000 + "b"),
    "long bytes": (b"x" * 9000 + b"a", b"x" * 9000 + b"b"),
    "surrogate": ("\ud800", "\\ud800"),
    "array of texts": (np.array(["x"] * 99 + ["x"]), np.array(["x"] * 99 + ["y"])),
    "long key": ({"k" * 300 + "a": 1.0}, {"k" * 300 + "b": 1.0}),
    "key of tuples": ({("a", 1.5): 1.0}, {("a", 2.5): 1.0}),
    "big key": ({2**60: 1.0}, {2**60 + 1: 1.0}),
    "key with spaces": ({"a int b": 1}, {"a float b": 1}),
    "many keys": (dict.fromkeys(range(300), 1), dict.fromkeys([*range(299), 999], 1)),
    "order": ({"a": 1, "b": 1}, {"b": 1, "a": 1}),
    "set": ({1, 2}, {1, 3}),
    "deep": (nested(1.0, 60), nested(2.0, 60)),
    "too deep": (nested(1.0, 300), nested(2.0, 300)),
    "too many": (np.zeros(MAX_NUMBERS + 1), np.ones(MAX_NUMBERS + 1)),
    "too many members": ([1] * (MAX_MEMBERS + 1), [2] * (MAX_MEMBERS + 1)),
    "thing": (Thing(1.0), Thing(2.0)),
    "attribute": (hides(1), hides(2)),
    "object in an array": (np.array([Thing(1)]), np.array([Thing(2)])),
    "None": (None, 0.0),
    "bool": (True, False),
}
WRAPPED = {
    "alone": lambda noise, leaf: leaf,
    "in a tuple": lambda noise, leaf: (noise, leaf),
    "in a dict": lambda noise, leaf: {"noisy": noise, "rest": [leaf]},
    "behind noisy texts": lambda noise, leaf: [*(f"{noise}{i}" for i in range(5)), leaf],
    "beside many": lambda noise, leaf: (np.full(300, 7.0), np.full(60, noise), leaf, [noise] * 20),
}


@deep(quick_every=11)
@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("wrapped", WRAPPED)
def test_the_attack_sees_every_change_beside_noise(leaf, wrapped, depth):
    """No run's noise comes twice, so that only a column of the leaf's own tells the sides apart."""
    noise = depth.rng(1).normal(size=40)
    sides = [
        [of_value(WRAPPED[wrapped](float(x), copy.copy(member))) for x in part]
        for member, part in zip(LEAVES[leaf], (noise[:20], noise[20:]), strict=True)
    ]
    if any(outcome.ending is Ending.OPAQUE for outcome in [*sides[0], *sides[1]]):
        return  # the crew refuses it, see below
    columns = learn(*sides)
    left, right = (np.nan_to_num(columns.table(side), nan=-7.25) for side in sides)
    apart = [
        len(np.intersect1d(a, b)) == 0 and len(np.unique(a)) == len(np.unique(b)) == 1
        for a, b in zip(left.T, right.T, strict=True)
    ]
    assert any(apart)


@looped("leaf", LEAVES)
def test_a_query_moves_with_every_change_or_is_refused(leaf):
    a, b = (of_value([1.0, member]) for member in LEAVES[leaf])
    if Ending.OPAQUE in (a.ending, b.ending):
        return
    try:
        moved = [movement(a, b, norm)[0] for norm in ("l1", "l2", "linf")]
    except InputError:
        return
    same_number = leaf in ("zero", "nan")  # no movement in any norm
    assert all((x == 0) == same_number for x in moved)


OPAQUE = {"Decimal", "Fraction", "too deep", "too many", "too many members", "thing", "attribute"} | {
    "object in an array",
    "beyond doubles",
}


@looped("leaf", LEAVES)
def test_only_what_cannot_be_read_is_opaque(leaf):
    assert [of_value((1.0, member)).ending is Ending.OPAQUE for member in LEAVES[leaf]] == [
        leaf in OPAQUE
    ] * 2


def test_too_many_members_are_said_to_be_outside_arrays():
    assert "members outside arrays and lists of floats" in of_value([1] * (MAX_MEMBERS + 1)).structure


numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.booleans(),
    st.none(),
    st.text(max_size=3),
    st.binary(max_size=3),
)
values = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=4), inner, max_size=3),
    ),
    max_leaves=8,
)


@deep
@examples(100)
@given(values, values)
def test_outcomes_are_equal_only_where_values_are(a, b):
    same = of_value(a).key() == of_value(b).key()
    assert same == (repr(a) == repr(b)) or "nan" in repr(a)
    assert unpack_outcome(pack_outcome(of_value(a))).key() == of_value(a).key()


@deep
@examples(60)
@given(st.integers(1, 5000), st.data())
def test_queries_of_many_numbers_move_by_what_they_move(many, data):
    places = data.draw(st.lists(st.integers(0, many - 1), max_size=5, unique=True))
    steps = data.draw(st.lists(st.integers(-99, 99), min_size=len(places), max_size=len(places)))
    left, right = np.full(many, 3.0), np.full(many, 3.0)
    right[places] += steps
    a, b = of_value(left), of_value(right)
    assert movement(a, b, "l1")[0] == sum(map(abs, steps))
    assert movement(a, b, "linf")[0] == max(map(abs, steps), default=0)
    assert movement(a, b, "l2")[0] == pytest.approx(math.hypot(*steps))


@deep
def test_a_result_with_an_object_in_it_is_refused(tmp_path):
    (tmp_path / "late.py").write_text("def f(data): return [1.0, object()] if data[0] else 1.0")
    with Crew(Code("late:f", (str(tmp_path),)), seconds=60) as crew:
        crew.set_datasets([np.zeros(1), np.ones(1)])
        assert not crew.run([(0,)])[0].void
        with pytest.raises(InputError, match="an object of type object"):
            crew.run([(1,)])


@deep
@pytest.mark.parametrize("name", ["statistics", "math", "numpy"])
def test_a_module_that_another_one_hides_is_not_run(tmp_path, name):
    (tmp_path / f"{name}.py").write_text("def mean(data): return 100 * sum(data)\nsqrt = mean")
    with pytest.raises(InputError, match=r"is hidden by .* of the same name"):
        Crew(Code(f"{name}:{'sqrt' if name == 'math' else 'mean'}", (str(tmp_path),)), seconds=60)


@deep
def test_the_order_of_folders_and_packages_is_kept(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder / "pack").mkdir(parents=True)
        (tmp_path / folder / "pack" / "__init__.py").write_text("")
        (tmp_path / folder / "pack" / "inner.py").write_text(f"def f(data): return {folder!r}")
    with Crew(Code("pack.inner:f", (str(tmp_path / "one"), str(tmp_path / "two"))), seconds=60) as crew:
        crew.set_datasets([np.zeros(1)])
        assert crew.run([(0,)])[0].labels == ("one",)


@deep
def test_an_edit_of_the_same_length_within_a_second_is_what_runs(tmp_path):
    """Python would run the bytecode that it keeps of the file, which has the same length and the same time."""
    file, when = tmp_path / "edited.py", 10**9
    file.write_text("def f(data): return 'one'")
    os.utime(file, (when, when))
    py_compile.compile(str(file), doraise=True)
    file.write_text("def f(data): return 'two'")
    os.utime(file, (when, when))
    with Crew(Code("edited:f", (str(tmp_path),)), seconds=60) as crew:
        crew.set_datasets([np.zeros(1)])
        assert crew.run([(0,)])[0].labels == ("two",)


@given(st.lists(st.integers(0, 2**70), min_size=1, max_size=6))
def test_seeds_are_those_of_numpy(words):
    mixed, whole = seeded(words), np.random.SeedSequence(words)
    drawn = random.random(), np.random.random()  # noqa: NPY002
    number = int(whole.generate_state(1)[0])
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002
    assert drawn == (random.random(), np.random.random())  # noqa: NPY002
    assert np.array_equal(mixed.generate_state(9), whole.generate_state(9))
    assert np.array_equal(mixed.spawn(2)[1].generate_state(9), whole.spawn(2)[1].generate_state(9))


WILD = """
import os, time
def f(data, rng):
    drawn = rng.random(int(rng.integers(1, 40)) * data[0])
    if drawn[0] < .01:
        os._exit(3)
    if .01 < drawn[0] < .011:
        time.sleep(60)
    return drawn
"""


@deep
def test_every_outcome_is_that_of_its_run_whatever_other_runs_do(tmp_path):
    (tmp_path / "wild.py").write_text(WILD)
    with Crew(Code("wild:f", (str(tmp_path),)), seconds=20, jobs=2) as crew:
        crew.set_datasets([np.ones(1, int), np.array([900])])
        for side, runs in ((0, 2500), (1, 120)):
            rngs = [np.random.default_rng([1, 4, n]) for n in range(runs)]
            drawn = [rng.random(int(rng.integers(1, 40)) * (1, 900)[side]) for rng in rngs]
            found = crew.run([(side, 1, 4, n) for n in range(runs)])
            for numbers, outcome in zip(drawn, found, strict=True):
                if numbers[0] < 0.01:
                    assert outcome.structure == "ends its process with exit code 3"
                elif numbers[0] < 0.011:
                    assert outcome.silent
                else:
                    assert np.array_equal(outcome.numbers, numbers)
        assert crew.tally.failures
