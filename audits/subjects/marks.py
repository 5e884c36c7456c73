"""Marks in a user's code: which outcomes of its conditions, comparisons, handlers and loops the tests met.

A branch behind a rare condition is as private as its tests are likely to enter it.  The syntax tree of each
of the user's files is marked when it is imported; names, lines and sources stay, and no value is changed.  A
mark is a look-up in `MARKS`, which notes a key that it does not have: a key that is settled costs next to
nothing.  Constructors, `domain` and `proof` see no rows and have no marks, and neither has what runs once, at
the import.
"""

import ast
import builtins
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from types import CodeType
from typing import Any

import numpy as np

from dpaccount.checker import NO_TEST
from dpaccount.relation import adjacency
from mechanisms.table.user_level import named

NO_ROWS = frozenset({"__init__", "__post_init__", "__new__", "domain", "proof"})
#: calls whose result is an outcome, as that of a comparison
PREDICATES = {
    *("isin", "isclose", "array_equal", "any", "all", "between", "startswith", "endswith", "isdisjoint"),
    *("equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "logical_and", "logical_or"),
    *("eq", "ne", "gt", "ge", "lt", "le", "issubset"),
}
WEAK = 10  #: pairs with one run in a place, or with equal exact values, that count as one with both
RUNS = 100  #: runs on each of two datasets that count; or twice as many on `WEAK`
PLAIN = (bool, int, float, str, Fraction, tuple, type(None))
SHOWN = 10  #: lines that are named; of more their number
NAMES = ("__dpaccount_marks__", "__dpaccount_met__")
Fixed = frozenset[str] | None


@dataclass(frozen=True)
class Mark:
    """What may happen in a line; it is missed if `other` happens and this does not.

    `fixed`: a condition on these fields alone, or on `ROWS`; None: on more.  A function is missed if code
    that ran `names` it; `of` are its name and its class.
    """

    file: str
    line: int
    what: str
    other: str = ""
    fixed: Fixed = None
    names: frozenset[str] = frozenset()
    of: tuple[str, str] = ("", "")


ROWS = "the number of rows"
NOT_RECORDED = "The code was not marked: which of its lines the tests met is not known."


class Marks(dict[str, bool]):
    """Settled keys, and those that ran since they were last `taken`."""

    def __init__(self) -> None:
        self.known: dict[str, Mark] = {}
        self.never: dict[tuple[str, int], str] = {}  #: reasons of authors
        self.seen: set[str] = set()
        self.weak: Counter[str] = Counter()
        self.runs: dict[str, Counter[Hashable]] = {}  #: by dataset
        self.fresh: list[str] = []

    def __missing__(self, key: str) -> bool:
        self.fresh.append(key)
        self[key] = True
        return True

    def met(self, yes: str, no: str, value: Any) -> Any:
        """Return the value of a comparison; note what it is true of, and false of."""
        if yes in self and no in self:
            return value
        if isinstance(value, bool | np.bool_):
            self[yes if value else no]
        elif (kind := type(value).__module__.partition(".")[0]) in ("numpy", "pandas", "polars"):
            array: Any = value.to_numpy() if kind != "numpy" and hasattr(value, "to_numpy") else value
            if isinstance(array, np.ndarray) and array.dtype == bool and array.size:
                true = np.count_nonzero(array.view(np.ndarray))
                _ = true and self[yes], true == array.size or self[no]
        return value

    def taken(self) -> frozenset[str]:
        """Return what ran since the last call and is not settled."""
        fresh, self.fresh = self.fresh, []
        for key in fresh:
            self.pop(key, None)
        return frozenset(fresh)

    def compared(self, one: frozenset[str], other: frozenset[str], *, moved: bool) -> None:
        """Count a pair of runs with the same releases, whose exact values differ if they `moved`."""
        if one or other:
            self.seen |= one | other
            both = one & other if moved else frozenset[str]()
            self.weak.update((one | other) - both)
            self.settle([*both, *(key for key in (one | other) if self.weak[key] >= WEAK)])

    def attacked(self, keys: Iterable[str], *runs: Iterable[int]) -> None:
        """Count runs of an attack in which each of the keys was made, on either side."""
        for side, made in enumerate(runs):
            for key, many in zip(keys, made, strict=True):
                self.ran(side, [key] if many else [], many)

    def ran(self, place: Hashable, keys: Iterable[str], many: int = 1) -> None:
        """Count runs on one dataset, whose exact values are not known."""
        for key in keys:
            self.seen.add(key)
            runs = self.runs.setdefault(key, Counter())
            runs[place] += many
            enough = sum(each >= RUNS for each in runs.values()) > 1
            if enough or (len(runs) >= WEAK and runs.total() >= 2 * RUNS):
                self.settle([key])

    def settle(self, keys: Iterable[str]) -> None:
        """Count these as met."""
        self.seen.update(keys := [*keys])
        self.update(dict.fromkeys(keys, True))

    def pending(self) -> tuple[str, ...]:
        """Return the keys that are not settled."""
        return tuple(key for key in self.known if key not in self)

    def sentences(self, fixed: frozenset[str], classes: Iterable[type] = ()) -> list[str]:
        """Return what no test met in one sentence, and what authors say of such lines, one for each."""
        missed = self.missed(fixed, classes)
        open_ = [mark for mark in missed if (mark.file, mark.line) not in self.never]
        shown = [f"{each.what} in any test: {each.file}:{each.line}" for each in open_[:SHOWN]]
        more = [f"{len(open_) - SHOWN} more"] if len(open_) > SHOWN else []
        said = ((mark, self.never.get((mark.file, mark.line))) for mark in missed)
        answered = [
            f"The author says of {m.file}:{m.line}, which no test met: {why}" for m, why in said if why
        ]
        return [*([f"{NO_TEST}{'; '.join([*shown, *more])}."] if shown else []), *answered]

    def missed(self, fixed: frozenset[str], classes: Iterable[type] = ()) -> list[Mark]:
        """Return what no test met, in order, but for conditions on `fixed` fields and overridden methods."""
        own = [each for each in classes if each.__module__ != "builtins"]
        owners = {name: each.__name__ for each in reversed(own) for name in vars(each)}
        ran = [mark for key, mark in self.known.items() if key in self.seen]
        named = frozenset[str]().union(*(mark.names for mark in ran))
        ours = {each.__name__ for each in own}

        def reached(key: str, mark: Mark) -> bool:
            if mark.other or key in self.seen:
                return mark.other in self.seen
            name, owner = mark.of
            if owner in ours:  # what it overrides is left out
                return f"self.{name}" in named and owners.get(name) == owner
            return name in named and (not owner or owner in named)

        found: dict[tuple[str, int], Mark] = {}
        for key, mark in self.known.items():
            if key in self or not mark.what or (mark.fixed is not None and mark.fixed <= fixed):
                continue
            if reached(key, mark) or (mark.other and key in self.seen):
                found.setdefault((mark.file, mark.line), mark)
        return list(found.values())


MARKS = Marks()


def constants_of(subject: Any) -> frozenset[str]:
    """Return the attributes of a subject that no run changes, and `ROWS` if their number is public."""
    own: Any = named(subject)
    names = {field.name for field in fields(own)}
    names |= {
        name for each in type(own).__mro__ for name, value in vars(each).items() if isinstance(value, PLAIN)
    }
    public = set() if adjacency(subject.relation).rows_vary else {ROWS}
    return frozenset(name for name in names if isinstance(getattr(own, name), PLAIN)) | public


def marked(source: bytes, file: str, name: str, marks: Marks = MARKS) -> CodeType | None:
    """Return a file's code with marks, which have this `name` of it; None where it cannot be marked.

    What there is to meet becomes known to `marks`.
    """
    try:
        tree = ast.parse(source, file)
        marker = _Marker(name, tree)
        code = compile(ast.fix_missing_locations(marker.visit(tree)), file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    marks.known |= marker.marks
    for number, line in enumerate(source.decode(errors="replace").splitlines(), 1):
        _, comment, reason = line.partition("# dpaccount: never,")
        if comment and reason.strip():
            marks.never[name, number] = reason.strip()
    for known, what in zip(NAMES, (MARKS, MARKS.met), strict=True):
        setattr(builtins, known, what)
    return code


class _Marker(ast.NodeTransformer):
    """Puts marks into functions."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        self.file, self.owner, self.inside = file, "", False
        self.marks: dict[str, Mark] = {}
        nodes = list(ast.walk(tree))
        changed = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
        plays = [n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == "play"]
        self.data = {"data", *(node.args.args[1].arg for node in plays if len(node.args.args) > 1)}
        given = [[each.arg for each in n.args.args] for n in nodes if isinstance(n, ast.FunctionDef)]
        self.data |= {names[0] for names in given if names[1:] in (["rng"], ["generator"])}
        self.fixed: dict[str, Fixed] = {
            node.id: frozenset()
            for node in nodes
            if isinstance(node, ast.Name) and node.id.isupper() and node.id not in changed
        }

    # -------------------------------------------------------------- marks

    def _new(self, line: int, what: str, other: str = "", **more: Any) -> str:
        key = f"{self.file}:{line}:{len(self.marks)}"
        self.marks[key] = Mark(self.file, line, what, other, **more)
        return key

    def _pair(self, node: Any, yes: str, no: str, fixed: Fixed = None) -> tuple[str, str]:
        first, second = (f"{self.file}:{node.lineno}:{len(self.marks) + k}" for k in (0, 1))
        return self._new(node.lineno, yes, second, fixed=fixed), self._new(
            node.lineno, no, first, fixed=fixed
        )

    def _mark(self, key: str, at: Any) -> Any:
        made = ast.parse(f"{NAMES[0]}[{key!r}]", mode="eval").body
        for each in ast.walk(made):
            ast.copy_location(each, at)
        return made

    def _statement(self, key: str, at: Any) -> ast.stmt:
        return ast.copy_location(ast.Expr(self._mark(key, at)), at)

    def _first(self, key: str, value: Any) -> Any:
        """Return a value after a mark."""
        return ast.copy_location(ast.BoolOp(ast.And(), [self._mark(key, value), value]), value)

    def _test(self, node: Any) -> Any:
        """Return a condition, of which only the truth counts, with both outcomes of each operand."""
        if not self.inside or isinstance(node, ast.Constant) or getattr(node, "id", "") == "__debug__":
            return self.visit(node)
        if isinstance(node, ast.BoolOp):
            node.values = [self._test(each) for each in node.values]
            return node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self._test(node.operand)
            return node
        if isinstance(node, ast.IfExp):
            node.test, node.body, node.orelse = map(self._test, (node.test, node.body, node.orelse))
            return node
        yes, no = self._pair(node, "never true", "never false", self._fixed(node))
        inner: Any = (
            self.generic_visit(node) if isinstance(node, ast.Compare | ast.Call) else self.visit(node)
        )
        false = ast.copy_location(ast.UnaryOp(ast.Not(), self._mark(no, node)), node)
        return ast.copy_location(ast.IfExp(inner, self._mark(yes, node), false), node)

    def _met(self, node: Any) -> Any:
        """Return a value with its outcomes, if it is one of a comparison."""
        if not self.inside:
            return self.generic_visit(node)
        keys = self._pair(node, "never true", "never false", self._fixed(node))
        call: Any = ast.parse(f"{NAMES[1]}{keys!r}", mode="eval").body
        for each in ast.walk(call):
            ast.copy_location(each, node)
        call.args.append(self.generic_visit(node))
        return call

    def _fixed(self, node: Any) -> Fixed:  # noqa: PLR0911  # a case each
        """Return the fields that an expression has, if it has no other variables; None if it does."""
        match node:
            case ast.Constant():
                return frozenset()
            case ast.Attribute(value=ast.Name(id="self"), attr=field):
                return frozenset({field})
            case ast.Name(id=name):
                return self.fixed.get(name)
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) if name in self.data:
                return frozenset({ROWS})
            case ast.Attribute(value=ast.Name(id=name), attr="shape" | "size") if name in self.data:
                return frozenset({ROWS})
            case ast.Attribute(value=ast.Name(), attr="ndim" | "dtype"):
                return frozenset()
            case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant(value=1 | -1)):
                return frozenset()
            case ast.Compare() | ast.BinOp() | ast.UnaryOp() | ast.Subscript() | ast.Tuple() | ast.List():
                parts = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
                known = [each for part in parts if (each := self._fixed(part)) is not None]
                return frozenset[str]().union(*known) if len(known) == len(parts) else None
        return None

    # -------------------------------------------------------------- scopes

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """Mark the methods."""
        before, (self.owner, self.inside) = (self.owner, self.inside), (node.name, False)
        self.generic_visit(node)
        self.owner, self.inside = before
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        """Mark the body; decorators and defaults are evaluated outside."""
        if self.owner and not self.inside and node.name in NO_ROWS:
            return node
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        inner = [each for part in node.body for each in ast.walk(part)]
        names = frozenset(
            {each.id for each in inner if isinstance(each, ast.Name)}
            | {
                ("self." if _own(each.value) else "") + each.attr
                for each in inner
                if isinstance(each, ast.Attribute)
            }
        )
        owner = "" if self.inside else self.owner
        key = self._new(node.lineno, f"{node.name} never called", names=names, of=(node.name, owner))
        before, self.inside, self.owner = (self.inside, self.owner, self.fixed), True, ""
        self.fixed = {**self.fixed, **_unknown(node.args), **self._constants(inner)}
        start = int(ast.get_docstring(node, clean=False) is not None)
        node.body[start:] = [self._statement(key, node.body[0]), *self._block(node.body[start:])]
        self.inside, self.owner, self.fixed = before
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def _constants(self, inner: list[Any]) -> dict[str, Fixed]:
        """Return the variables that are set once in a function, to what is fixed; None for all others."""
        set_at = Counter(n.id for n in inner if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
        fixed: dict[str, Fixed] = dict.fromkeys(set_at)
        for node in inner:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if set_at[name] == 1:
                    fixed[name] = self._fixed(value)
        return fixed

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """Mark the body, which runs later than the place where it stands."""
        made = self._new(node.lineno, "", "never") if self.inside else ""
        before, self.inside, self.fixed = (
            (self.inside, self.fixed),
            True,
            {**self.fixed, **_unknown(node.args)},
        )
        called = self._new(node.lineno, "lambda never called", made)
        node.body = self._first(called, self.visit(node.body))
        self.inside, self.fixed = before
        return self._first(made, node) if made else node

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for each in statements:
            made = self.visit(each)
            done += made if isinstance(made, list) else [made]
        return done

    # -------------------------------------------------------------- statements

    def visit_If(self, node: Any) -> Any:
        """Mark the outcomes of the condition; of a constant one nothing."""
        if isinstance(node.test, ast.Constant) and not isinstance(node, ast.While):
            return node
        node.test = self._test(node.test)
        for part in ("body", "orelse"):
            if isinstance(getattr(node, part, None), list):
                setattr(node, part, self._block(getattr(node, part)))
            elif hasattr(node, part):  # a conditional expression
                setattr(node, part, self.visit(getattr(node, part)))
        return node

    visit_While = visit_IfExp = visit_If  # noqa: N815

    def visit_Assert(self, node: ast.Assert) -> Any:
        """Mark the outcomes: one that fails shows a bit."""
        node.test = self._test(node.test)
        node.msg = node.msg and self.visit(node.msg)
        return node

    def visit_For(self, node: Any) -> Any:
        """Mark the body and the end."""
        self.generic_visit(node)
        if self.inside:
            body, end = self._pair(node, "loop never entered", "loop never at its end")
            node.body.insert(0, self._statement(body, node))
            node.orelse.insert(0, self._statement(end, node))
        return node

    visit_AsyncFor = visit_For  # noqa: N815

    def visit_Try(self, node: Any) -> Any:
        """Mark the handlers."""
        self.generic_visit(node)
        if not self.inside:
            return node
        start = self._new(node.lineno, "", "never")
        for each in node.handlers:
            key = self._new(each.lineno, "handler never entered", start)
            each.body.insert(0, self._statement(key, each))
        return [self._statement(start, node), node]

    visit_TryStar = visit_Try  # noqa: N815

    def visit_Match(self, node: ast.Match) -> Any:
        """Mark the cases."""
        fixed = self._fixed(node.subject)
        self.generic_visit(node)
        if not self.inside:
            return node
        start = self._new(node.lineno, "", "never")
        for each in node.cases:
            key = self._new(each.pattern.lineno, "case never entered", start, fixed=fixed)
            each.body.insert(0, self._statement(key, each.pattern))
        return [self._statement(start, node), node]

    # -------------------------------------------------------------- expressions

    def visit_match_case(self, node: ast.match_case) -> Any:
        """Mark the guard."""
        node.guard = node.guard and self._test(node.guard)
        node.body = self._block(node.body)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        """Mark the conditions."""
        node.target, node.iter = self.visit(node.target), self.visit(node.iter)
        node.ifs = [self._test(each) for each in node.ifs]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Leave the annotation as it is."""
        node.value = node.value and self.visit(node.value)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """Mark what is negated; of `and`, `or` and chains the truth is asked twice here, so not of them."""
        twice = isinstance(node.operand, ast.BoolOp) or len(getattr(node.operand, "ops", ())) > 1
        return self._test(node) if isinstance(node.op, ast.Not) and not twice else self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """Mark where later operands are evaluated."""
        first, *rest = node.values
        node.values = [self.visit(first)]
        start = self._new(node.lineno, "", "never") if self.inside else ""
        for each in rest:
            made = self.visit(each)
            plain = start and not isinstance(each, ast.Compare | ast.Constant)
            node.values.append(
                self._first(self._new(each.lineno, "never evaluated", start), made) if plain else made
            )
        return self._first(start, node) if start else node

    def visit_Compare(self, node: ast.Compare) -> Any:
        """Mark the outcomes."""
        return self._met(node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """Mark the outcomes where two comparisons are combined."""
        return self._met(node) if isinstance(node.op, ast.BitAnd | ast.BitOr) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        """Mark the outcomes of calls that compare."""
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return self._met(node) if called in PREDICATES else self.generic_visit(node)


def _own(node: ast.expr) -> bool:
    name = getattr(node, "id", None) or getattr(getattr(node, "func", None), "id", None)
    return name in ("self", "cls", "super")


def _unknown(given: ast.arguments) -> dict[str, Fixed]:
    return dict.fromkeys(each.arg for each in ast.walk(given) if isinstance(each, ast.arg))
