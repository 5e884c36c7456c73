"""Marks change no value, and name what no run met."""

import ast
import contextlib
import inspect
import json
import pickle
import sys
import textwrap
import traceback
import types
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits import consistency
from audits.api.functions import certify
from audits.certificate.document import seal
from audits.certificate.summary import summary
from audits.consistency import hazards
from audits.sandbox.crew import Crew
from audits.subjects.code import Code
from audits.subjects.marks import NO_TEST, NOT_RECORDED, ROWS, RUNS, Marks, marked
from dpaccount import checker
from dpaccount.errors import InputError
from tests.depth import deep, examples

CONSTRUCTS = Path(__file__).with_name("constructs.txt")
HELPERS = {"deep", "Odd", "Point", "asked", "seen", "generated", "later", "deleted"}
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


@deep
@examples(100, 100, derandomize=True)  # fresh ones find `if (a == b == c) if d else e` asked twice
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


# ------------------------------------------------------------------ what is named


def missed(body, *numbers, fixed=frozenset({ROWS})):
    """Return the lines that no run on one of these numbers met, with what did not happen."""
    marks = Marks()
    module = loaded(
        f"import numpy as np\ndef f(data, rng):\n    x = data\n{textwrap.indent(body, '    ')}\n", marks
    )
    marks.taken()
    for x in numbers:
        with contextlib.suppress(ValueError):
            module.f(x, None)
        made = marks.taken()
        marks.compared(made, made, moved=True)
    said = [each.partition(" in any test: it.py:") for each in marks.missed(fixed)]
    return [(int(line) - 3, what) for what, _, line in said]


#: what is in the code, numbers that it runs on, and what is named
NAMED = {
    "a branch": ("if x > 3:\n    x = 0", (1, 2), [(1, "never true")]),
    "the other side": ("if x > 3:\n    x = 0", (5, 6), [(1, "never false")]),
    "both sides": ("if x > 3:\n    x = 0", (5, 2), []),
    "a comparison of an array": (
        "h = np.arange(x)\nreturn np.where(h == 9, x, h)",
        (3, 4),
        [(2, "never true")],
    ),
    "an entry of an array": ("h = np.arange(x)\nreturn np.where(h == 9, x, h)", (3, 12), []),
    "two comparisons at once": (
        "h = np.arange(x)\nreturn (h == 1) & (h > 2)",
        (3, 4, 5),
        [(2, "never true")],
    ),
    "an operand": ("if x > 3 or x == 2:\n    x = 0", (1, 5), [(1, "never true")]),
    "a conditional expression": ("return 1 if x == 7 else 0", (1, 2), [(1, "never true")]),
    "a condition of a comprehension": (
        "return [y for y in range(x)\n        if y == 7]",
        (1, 2),
        [(2, "never true")],
    ),
    "a loop": ("for y in range(x):\n    x += y", (0,), [(1, "loop never entered")]),
    "a loop's end": ("for y in range(9):\n    if y == x: break", (1, 2), [(1, "loop never at its end")]),
    "a handler": ("try:\n    [0][x]\nexcept IndexError:\n    x = 0", (0,), [(3, "handler never entered")]),
    "a case": ("match x:\n    case 7: x = 0\n    case _: x = 1", (1, 2), [(2, "case never entered")]),
    "a function": (
        "def g(y): return y\nreturn [g(x)][0] if x > 7 else g",
        (1,),
        [(1, "g never called"), (2, "never true")],
    ),
    "a lambda": (
        "return sorted([x], key=lambda y: y) if x else (\n    lambda: 0)",
        (0,),
        [(1, "never true"), (2, "lambda never called")],
    ),
    "a raise": ("if x > 3:\n    raise ValueError", (1, 2), [(1, "never true")]),
    "what is within is not named again": (
        "if x > 3:\n    if x > 4:\n        x = 0",
        (1, 2),
        [(1, "never true")],
    ),
    "a condition that no run can change": (
        "LIMIT = 3\nif LIMIT > 4:\n    x = 0\nif True:\n    x = 1",
        (1, 2),
        [],
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_what_no_run_met_is_named_by_its_line(name):
    body, numbers, named = NAMED[name]
    assert missed(body, *numbers) == named


def test_a_condition_on_the_number_of_rows_is_named_only_where_rows_come_and_go():
    body = "n = len(data)\nif n == 0 or data[0] > 99:\n    return 0"
    assert missed(body, [1], [2]) == [(2, "never true")]
    assert missed(body, [100], [2]) == []
    column = "y = np.sort(data[:, 0])[::-1]\nif len(y) > 9:\n    return 0"
    assert missed(column, np.ones((2, 1))) == []
    assert missed(column, np.ones((2, 1)), fixed=frozenset()) == [(2, "never true")]
    assert missed(body, [100], [2], fixed=frozenset()) == [(2, "never true")]


#: what decides a condition besides constants, fields and a public number of rows
CHANGING = (
    "data = data[data > 0]\nif len(data) == 99: return 1",
    "def g(data):\n    if len(data) == 99: return 1\nreturn g(data[data > 5])",
    "y = data[:, 0]\nfor _ in y: y = y[1:]\nif len(y) == 99: return 1",
    "N = data.sum()\nif N == 99: return 1",
    "for N in data.sum(axis=1):\n    if N == 99: return 1",
    "with contextlib.nullcontext(data.sum()) as N:\n    if N == 99: return 1",
    "match data.sum():\n    case N:\n        if N == 99: return 1",
    "try: raise ValueError(data)\nexcept ValueError as E:\n    if E == 99: return 1",
    "other = np.unique(data)\nif other.shape[-1] == 99: return 1",
    "if MONTH == 99: return 1",
    "if SET: return 1",
    "if SEEN == 99: return 1",
    "self.mode = int(data.sum())\nif self.mode == 99: return 1",
    "object.__setattr__(self, 'mode', int(data.sum()))\nif self.mode == 99: return 1",
)
#: and what nothing else decides
STILL = (
    "n = len(data)\nif n == 99 or data.shape[0] == 77: return 1",
    "y = np.sort(data[:, 0])[::-1]\nif len(y) == 99: return 1",
    "m = self.kind\nif m == 99 or self.kind + LIMIT == 88 or len(self.names) == 77: return 1",
)
WITHIN = """import contextlib, datetime, os
import numpy as np
MONTH = datetime.date.today().month
SET = os.environ.get("UNSET")
SEEN = []
LIMIT = 3
class It:
    kind, names, mode = 1, ("a",), 0
    def play(self, data, noise):
"""


@pytest.mark.parametrize(("body", "named"), [(b, True) for b in CHANGING] + [(b, False) for b in STILL])
def test_only_what_no_run_changes_is_left_out(body, named):
    marks = Marks()
    source = WITHIN + textwrap.indent(body, " " * 8) + "\n"
    it = loaded(source, marks).It()
    for last in (4.0, 5.0):
        it.play(np.array([[1.0, 2.0], [3.0, last]]), None)
        made = marks.taken()
        marks.compared(made, made, moved=True)
    lines = [each.rpartition(":")[2] for each in marks.missed(frozenset({ROWS, "kind", "names", "mode"}))]
    assert (str(source.count("\n")) in lines) == named


def test_a_mark_counts_only_where_both_runs_made_it_and_the_exact_values_differ():
    marks = Marks()
    for one, other, moved in (([7], [7], False), ([7], [], True), ([7], [7], True)):
        assert 7 not in marks
        marks.compared(frozenset(one), frozenset(other), moved=moved)
    assert 7 in marks


def test_a_mark_counts_from_a_hundred_runs_on_each_of_two_datasets():
    marks = Marks()
    for which in [0] * 1000 + [1] * (RUNS - 1):
        marks.ran(which, [7])
    assert 7 not in marks
    marks.ran(1, [7])
    assert 7 in marks


@deep
def test_a_function_that_travels_by_value_runs_without_marks_as_here(both):
    module = loaded(CONSTRUCTS.read_text(), Marks(), str(CONSTRUCTS))
    for name in set(FUNCTIONS) - {"counted"}:
        cloudpickle.register_pickle_by_value(module)
        raw = cloudpickle.dumps([vars(module)[name], module.trace])
        cloudpickle.unregister_pickle_by_value(module)
        assert b"audits.subjects" not in raw, name
        function, trace = pickle.loads(raw)  # noqa: S301
        there = types.SimpleNamespace(f=function, trace=trace)
        for x in NUMBERS:
            assert outcome(there, "f", x)[0] == outcome(both[0], name, x)[0]


def test_a_method_that_only_another_object_is_asked_for_by_name_is_not_named():
    source = "class It:\n    def noisy(self): return 1\n    def told(self): return 2\n    def play(self, data, noise):\n"
    marks = Marks()
    it = loaded(source + "        return noise.noisy() if data else self.told()\n", marks).It
    it().play([1], types.SimpleNamespace(noisy=int))
    marks.compared(made := marks.taken(), made, moved=True)
    assert marks.missed(frozenset(), [it]) == [
        f"{what} in any test: it.py:{n}" for what, n in (("told never called", 3), ("never false", 5))
    ]


def test_at_most_ten_lines_are_named_and_reasons_of_the_author_apart():
    source = "def f(x):\n" + "".join(
        f"    if x == {k}: x = 0{'  # dpaccount: never, an old code' * (k == 3)}\n" for k in range(3, 16)
    )
    marks = Marks()
    module = loaded(source, marks)
    marks.taken()
    module.f(1)
    marks.compared(made := marks.taken(), made, moved=True)
    named, said = marks.in_words(marks.missed(frozenset()))
    assert named.startswith(NO_TEST + "never true in any test: it.py:3; ")
    assert named.endswith("it.py:12; 2 more.")
    assert said == "The author says of it.py:2, which no test met: an old code"


# ------------------------------------------------------------------ functions and classes

FUNCTION = """import helper
def f(data, rng):
    if len(data) == 0:
        return 0.0
    shown = data.sum() + rng.laplace(0, 50)
    return data.sum() if helper.rare(shown) else shown
def other(data):
    return data if data else None
"""
HELPER = "def rare(y):\n    return y > 1e6\n"
CLASS = """from dataclasses import dataclass
import numpy as np
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.subject import View
@dataclass(frozen=True)
class Careless(LaplaceSum):
    rows: int = 8
    def play(self, data, noise, coins):
        view = super().play(data, noise, coins)
        if np.random.default_rng(coins).random() < 1e-5:{comment}
            return View(public={{**view.public, "more": np.array(data.sum())}})
        return view
    def proof(self, delta):
        return __import__("own_proof").of(self, delta)
"""
PROOF = """from dpaccount.proof import assume_clipped, laplace, linear
from mechanisms.shared import grid
from mechanisms.subject import shown_to_all
def of(self, delta):
    row = assume_clipped("laplace-sum", self.low, self.high, self.relation, "movement")
    return shown_to_all(laplace(linear(row), self.scale, grid.step(self.bits), "sum"), "careless", delta)
"""
CLAIM = """schema = "dpaccount/claim/1"
name = "careless"
[guarantee]
model = "central"
unit = "a row"
relation = "replace-one"
epsilon = 1
[subject]
use = "careless:Careless"
[subject.parameters]
low = 0
high = 1
scale = 1
{audit}"""


@deep
def test_lines_of_a_function_and_its_helpers_are_named(tmp_path):
    (tmp_path / "mine.py").write_text(FUNCTION)
    (tmp_path / "helper.py").write_text(HELPER)
    with Crew(Code("mine:f", (str(tmp_path),)), seconds=60) as crew:
        crew.set_datasets([np.ones(3), np.zeros(3)])
        crew.run([(side, 1, n) for n in range(RUNS) for side in (0, 1)])
        named = "mine.py:6; never true in any test: helper.py:2."
        assert crew.unmet("replace-one") == [f"{NO_TEST}never true in any test: {named}"]
        assert "mine.py:3" in crew.unmet("add-remove")[0]


def test_a_file_that_cannot_be_marked_is_named():
    marks = Marks()
    assert marked(b"def f(:", "deep.py", "deep.py", marks) is None
    assert marks.missed(frozenset()) == ["could not be marked, so not known to be met in any test: deep.py:1"]


@deep
def test_long_code_is_marked_and_deep_code_is_marked_or_named():
    lines = "".join(f"    x = 0 if x == {k} and not x > 1 else x\n" for k in range(10_000))
    assert loaded(f"def f(x):\n{lines}    return x\n", marks := Marks()).f(1) == 0
    assert len(marks.known) == 40_001
    for depth in (10, 100, 200, 900):
        chain = "".join(f"    {'el' if k else ''}if x == {k}: return {k}\n" for k in range(depth))
        code = marked(f"def f(x):\n{chain}".encode(), "it.py", "it.py", marks := Marks())
        assert marks.missed(frozenset()) if code is None else len(marks.known) == 2 * depth + 1


@deep
def test_of_code_without_a_file_it_is_said_that_nothing_was_recorded():
    with Crew(Code("a:f", (), value=cloudpickle.dumps(lambda data, rng: 1.0)), seconds=60) as crew:
        crew.set_datasets([np.ones(3)])
        crew.run([(0, 1, 1)])
        assert crew.unmet("replace-one") == [NOT_RECORDED]


def certified(folder, comment="", audit="", **terms):
    folder.mkdir()
    (folder / "careless.py").write_text(CLASS.format(comment=comment))
    (folder / "own_proof.py").write_text(PROOF)
    (folder / "claim.toml").write_text(CLAIM.format(audit=audit))
    done = certify(folder / "claim.toml", out=folder / "out", quick=True, jobs=2, **terms)
    assert consistency.judged(json.dumps(done).encode())
    return done["verdict"], [each for each in done["hazards"] if "careless.py" in each], done


@deep
def test_a_branch_that_no_test_entered_is_named_refused_or_answered(tmp_path):
    line = f"{NO_TEST}never true in any test: careless.py:10."
    verdict, named, document = certified(tmp_path / "named")
    assert (verdict, named) == ("CERTIFIED", [line])
    assert "careless.py:10" in summary(document, "")
    verdict, named, document = certified(tmp_path / "refused", audit='[audit]\nuncovered = "refuse"\n')
    assert (verdict, named) == ("UNPROVEN", [line])
    assert "careless.py:10" in document["proved"]["reason"]
    said = certified(
        tmp_path / "answered", "  # dpaccount: never, it is unlikely", '[audit]\nuncovered = "refuse"\n'
    )
    assert said[:2] == ("CERTIFIED", ["The author says of careless.py:10, which no test met: it is unlikely"])
    forged = {**said[2], "hazards": [*said[2]["hazards"], line]}
    with pytest.raises(checker.Rejected, match="no test covers"):
        consistency.judged(json.dumps(seal(forged)).encode())
    (tmp_path / "policy.toml").write_text('uncovered = "refuse"\n')
    with pytest.raises(InputError, match="UNPROVEN"):
        certified(tmp_path / "policy", require=tmp_path / "policy.toml")


def test_the_consistency_check_knows_the_hazard_by_its_first_words():
    assert NO_TEST == hazards.NO_TEST
