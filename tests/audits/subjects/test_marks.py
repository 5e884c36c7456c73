"""Marks change no value, and name what no run met."""

import ast
import inspect
import pickle
import sys
import traceback
import types
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.subjects.marks import Marks, marked

CONSTRUCTS = Path(__file__).with_name("constructs.txt")
HELPERS = {"Odd", "Point", "asked", "seen", "generated", "later", "deleted"}
FUNCTIONS = [
    n.name for n in ast.parse(CONSTRUCTS.read_text()).body if hasattr(n, "args") and n.name not in HELPERS
]
NUMBERS = (-1, 0, 1, 2, 3, 4, 5, True)


def loaded(source, marks=None, file="it.py"):
    """Return a module of this source, with marks or without."""
    code = compile(source, file, "exec") if marks is None else marked(source.encode(), file, "it.py", marks)
    module = types.ModuleType("it")
    module.__file__, sys.modules["it"] = file, module
    exec(code, vars(module))  # noqa: S102
    return module


def outcome(module, name, *given):
    """Return what a function gives or raises, with its lines, and what was asked of odd objects."""
    module.trace.clear()
    try:
        result = repr(getattr(module, name)(*given))
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)[1:]]
        result = type(error).__name__, str(error), lines
    return result, repr(module.trace)


@pytest.fixture(scope="module")
def both():
    source = CONSTRUCTS.read_text()
    return loaded(source, None, str(CONSTRUCTS)), loaded(source, Marks(), str(CONSTRUCTS))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_marks_change_no_value_no_order_and_no_line(both, name):
    for x in NUMBERS:
        assert outcome(both[1], name, x) == outcome(both[0], name, x)


def test_marks_change_no_source_no_name_and_no_signature(both):
    plain, with_marks = both
    for name, one in vars(plain).items():
        other = getattr(with_marks, name)
        if inspect.isfunction(one) or inspect.isclass(one):
            assert inspect.getsource(other) == inspect.getsource(one)
            assert (other.__qualname__, other.__doc__) == (one.__qualname__, one.__doc__)
        if inspect.isfunction(one):
            assert inspect.getfullargspec(other)[:3] == inspect.getfullargspec(one)[:3]
            assert other.__code__.co_varnames == one.__code__.co_varnames
    assert pickle.loads(pickle.dumps(with_marks.Point(3))) == with_marks.Point(3)  # noqa: S301
    assert vars(with_marks).keys() == vars(plain).keys()


ATOMS = st.sampled_from(["Odd(0)", "Odd(1)", "Odd(x)", "seen(x)", "x", "0", "'t'", "[]", "None", "True"])
FORMS = [
    "(not {0})",
    "({0} and {1})",
    "({0} or {1})",
    "({0} if {1} else {2})",
    "({0} == {1})",
    "({0} == {1} == {2})",
]
FORMS += [
    "(Odd(0) < {0})",
    "[y for y in (0, 1) if {0}]",
    "(lambda: {0})()",
    "(q := {0})",
    "({0}, {1})",
    "(Odd(1) & Odd(x))",
]
EXPRESSIONS = st.recursive(
    ATOMS, lambda inner: st.builds(str.format, st.sampled_from(FORMS), inner, inner, inner), max_leaves=12
)
STATEMENT = "def f(x):\n    {0} {1}:\n        seen('in')\n        {2}\n    {3}seen('else')\n    assert {1} or x, 'not'\n    return {1}\n"


@given(
    EXPRESSIONS,
    st.sampled_from([("if", "pass", "else: "), ("while", "break", "else: "), ("if", "return 5", "")]),
    st.integers(0, 2),
)
def test_any_expression_is_evaluated_as_without_marks(both, expression, form, x):
    """In a condition and as a value: the same truth is asked, as often, in the same order."""
    source = STATEMENT.format(form[0], expression, *form[1:])
    given = {"Odd": both[0].Odd, "seen": both[0].seen, "trace": both[0].trace}
    modules = [loaded(source), loaded(source, Marks())]
    for module in modules:
        vars(module).update(given)
    assert outcome(modules[1], "f", x) == outcome(modules[0], "f", x)
