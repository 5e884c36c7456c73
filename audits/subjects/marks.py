"""Marks in a user's code: which outcomes of its conditions, comparisons, handlers and loops the tests met.

A leak behind a rare condition is as likely to be found as the tests are to meet it.  The syntax tree of the
user's files is marked when they are imported; names, lines and sources stay, and no value is changed.  A mark
is a look-up in `MARKS`, which notes a key that it does not have: a settled key costs next to nothing.
"""

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from types import CodeType
from typing import Any

import numpy as np

from dpaccount.checker import NO_TEST
from dpaccount.relation import adjacency

NO_ROWS = {"__init__", "__post_init__", "__new__", "domain", "proof"}  #: methods without marks
#: calls whose result is an outcome, as that of a comparison
PREDICATES = {"isin", "isclose", "any", "all", "between", "startswith", "endswith", "equal", "not_equal"}
PREDICATES |= {"greater", "greater_equal", "less", "less_equal", "logical_and", "logical_or", "array_equal"}
RUNS = 100  #: runs on each of two datasets that count; or on ten in all
WEAK = 10  #: pairs with one run in a place, or with equal exact values, that count as one with both
SHOWN = 10  #: lines that are named; of more their number
ROWS = "the number of rows"
NOT_RECORDED = f"{NO_TEST}it was not marked, so which lines the tests met is not known."
NAMES = "__dpaccount_marks__", "__dpaccount_met__"
PLAIN = bool, int, float, str, Fraction, tuple, type(None)
SCOPES = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef
Fixed = frozenset[str] | None


@dataclass(frozen=True)
class Mark:
    """What may happen; it is missed if `other` was met and this was not.

    `fixed`: a condition on these fields, or `ROWS`, alone; None: on more.  A function, whose name and class
    are `of`, is missed if code that ran `names` it.
    """

    what: str
    other: str = ""
    fixed: Fixed = None
    names: frozenset[str] = frozenset()
    of: tuple[str, str] = "", ""


class Marks(dict[str, bool]):
    """Settled keys, and those that ran since they were last `taken`."""

    def __init__(self) -> None:
        self.known: dict[str, Mark] = {}
        self.never: dict[str, str] = {}  #: reasons of authors, by line
        self.seen: dict[str, Counter[object]] = {}  #: runs, by dataset
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

    def ran(self, place: object, keys: Iterable[str], runs: int = 1) -> None:
        """Count runs on one dataset."""
        for key in keys:
            at = self.seen.setdefault(key, Counter())
            at[place] += runs
            if sum(each >= RUNS for each in at.values()) > 1 or (len(at) >= WEAK and at.total() >= RUNS):
                self[key] = True

    def compared(self, one: frozenset[str], other: frozenset[str], *, moved: bool) -> None:
        """Count a pair of runs with the same releases, whose exact values differ if they `moved`."""
        both = one & other if moved else frozenset[str]()
        for side in (0, 1) if one or other else ():
            self.ran(side, both, RUNS)
            self.ran(side, (one | other) - both, RUNS // WEAK)

    def missed(self, fixed: frozenset[str], classes: Iterable[type] = ()) -> list[str]:
        """Return what no test met, in order, without conditions on `fixed` and overridden methods."""
        owners = {name: each.__name__ for each in [*classes][::-1] for name in vars(each)}
        ours = {each.__name__ for each in classes}
        named = frozenset[str]().union(*(self.known[key].names for key in self.seen if key in self.known))

        def reached(key: str, mark: Mark) -> bool:
            (name, owner), seen = mark.of, key in self.seen
            if mark.other or seen:
                return bool(mark.other) and (seen or mark.other in self.seen)
            if owner in ours:
                return f"self.{name}" in named and owners.get(name) == owner
            return name in named and (not owner or owner in named)

        found: dict[str, str] = {}
        for key, mark in self.known.items():
            same, line = mark.fixed is not None and mark.fixed <= fixed, key.rpartition(":")[0]
            if key not in self and not same and reached(key, mark):
                found.setdefault(line, f"{mark.what} in any test: {line}")
        return list(found.values())

    def in_words(self, missed: Iterable[str]) -> list[str]:
        """Return what is missed in one sentence, and what authors say of such lines, one for each."""
        lines = {each: each.rpartition(": ")[2] for each in missed}
        open_ = [each for each, line in lines.items() if line not in self.never]
        more = [f"{len(open_) - SHOWN} more"] if len(open_) > SHOWN else []
        known = [line for line in lines.values() if line in self.never]
        said = [f"The author says of {line}, which no test met: {self.never[line]}" for line in known]
        return [*([f"{NO_TEST}{'; '.join([*open_[:SHOWN], *more])}."] if open_ else []), *said]


MARKS = Marks()


def constants_of(subject: Any, relation: str) -> frozenset[str]:
    """Return the attributes of a subject that no run changes, and `ROWS` if their number is public."""
    held = {name: value for each in type(subject).__mro__ for name, value in vars(each).items()}
    held |= {field.name: getattr(subject, field.name) for field in fields(subject)}
    return public(relation) | {name for name, value in held.items() if isinstance(value, PLAIN)}


def public(relation: str) -> frozenset[str]:
    """Return `ROWS` if neighbours have as many rows."""
    return frozenset[str]() if adjacency(relation).rows_vary else frozenset({ROWS})


def marked(source: bytes, file: str, name: str, marks: Marks = MARKS) -> CodeType | None:
    """Return a file's code with marks, which have this `name` of it; None where it cannot be marked."""
    try:
        tree = ast.parse(source, file)
        marker = _Marker(name, tree)
        code = compile(ast.fix_missing_locations(marker.visit(tree)), file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        key = f"{name}:1:0"
        marks.known[key], marks.seen[key] = (
            Mark("could not be marked, so not known to be met", key),
            Counter(),
        )
        return None
    marks.known |= marker.marks
    for number, line in enumerate(source.decode(errors="replace").splitlines(), 1):
        if reason := line.partition("# dpaccount: never,")[2].strip():
            marks.never[f"{name}:{number}"] = reason
    for known, what in zip(NAMES, (MARKS, MARKS.met), strict=True):
        setattr(builtins, known, what)
    return code


class _Marker(ast.NodeTransformer):
    """Puts marks into functions; what runs once, at the import, has none."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        self.file, self.owner, self.here, self.marks = file, "", "", dict[str, Mark]()
        nodes = list(ast.walk(tree))
        changed = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
        given = [(n.name, [a.arg for a in n.args.args]) for n in nodes if isinstance(n, ast.FunctionDef)]
        data = {"data", *(names[1] for name, names in given if name == "play" and len(names) > 1)}
        data |= {names[0] for _, names in given if names[1:] in (["rng"], ["generator"])}
        column = rf"(np\.(sort|floor|abs|rint|ceil)\()*({'|'.join(data)})\[:, \d+\]\)*(\[::-1\])?"
        self.column = re.compile(column)  #: as long as the data
        self.rows = re.compile(rf"len\(({'|'.join(data)})\)|({'|'.join(data)})\.(shape|size)")
        upper = {node.id for node in nodes if isinstance(node, ast.Name) and node.id.isupper()} - changed
        self.fixed: dict[str, Fixed] = dict.fromkeys(upper, frozenset())

    def _new(self, line: int, *outcomes: str, **more: Any) -> list[str]:
        """Return the keys of outcomes, of which one happens wherever another can."""
        keys = [f"{self.file}:{line}:{len(self.marks) + k}" for k in range(len(outcomes))]
        for what, key, other in zip(outcomes, keys, [*keys[::-1][:-1], self.here], strict=True):
            self.marks[key] = Mark(what, keys[0] if key != keys[0] else other, **more)
        return keys

    def _made(self, at: Any, form: str) -> Any:
        """Return an expression in the place of a node, marked."""
        made: Any = ast.parse(form, mode="eval").body
        for each in ast.walk(made):
            ast.copy_location(each, at)
        made.marked = True
        return made

    def _first(self, key: str, block: list[Any], at: Any) -> None:
        block.insert(0, ast.copy_location(ast.Expr(self._made(at, f"{NAMES[0]}[{key!r}]")), at))

    def _test(self, node: Any) -> Any:
        """Return a condition, of which only the truth counts, with both outcomes of each operand."""
        match node:
            case ast.Constant() | ast.Name(id="__debug__"):
                return node
            case ast.BoolOp():
                node.values = [self._test(each) for each in node.values]
            case ast.UnaryOp(op=ast.Not()):
                node.operand = self._test(node.operand)
            case ast.IfExp():
                node.test, node.body, node.orelse = map(self._test, (node.test, node.body, node.orelse))
            case _:
                plain = isinstance(node, ast.Compare | ast.Call)
                yes, no = self._new(node.lineno, "never true", "never false", fixed=self._fixed(node))
                made = self._made(node, f"{NAMES[0]}[{yes!r}] if 0 else not {NAMES[0]}[{no!r}]")
                made.test = self.generic_visit(node) if plain else self.visit(node)
                return made
        node.marked = True
        return node

    def _fixed(self, node: Any) -> Fixed:
        """Return the fields that an expression has, if it has no other variables; None if it does."""
        text = ast.unparse(node)
        if isinstance(node, ast.Constant) or re.fullmatch(r"\w+\.(ndim|dtype|shape\[-?1\])", text):
            return frozenset()
        if isinstance(node, ast.Name):
            return self.fixed.get(node.id)
        if text in self.fixed:  # the length of a column
            return self.fixed[text]
        if self.rows.fullmatch(text) or re.fullmatch(r"self\.\w+", text):
            return frozenset({text[5:] if text.startswith("self.") else ROWS})
        if not isinstance(node, ast.Compare | ast.BinOp | ast.UnaryOp | ast.Subscript | ast.Tuple):
            return None
        parts = [self._fixed(each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
        return None if None in parts else frozenset[str]().union(*filter(None, parts))

    def _scope(self, node: Any) -> Any:
        """Mark a function or the methods of a class; decorators and defaults are evaluated outside."""
        before = self.here, self.owner, self.fixed
        if isinstance(node, ast.ClassDef):
            self.here, self.owner = "", node.name
            self.generic_visit(node)
        elif isinstance(node, ast.Lambda):
            [self.here], self.fixed = self._new(node.lineno, "lambda never called"), self._local(node)
            made = self._made(node.body, f"{NAMES[0]}[{self.here!r}] and 0")
            made.values[1], node.body = self.visit(node.body), made
        elif self.here or not self.owner or node.name not in NO_ROWS:
            inner = [each for part in node.body for each in ast.walk(part)]
            names = {each.id for each in inner if isinstance(each, ast.Name)}
            for each in inner:
                if isinstance(each, ast.Attribute):
                    own = ast.unparse(each.value) in ("self", "cls", "super()")
                    names.add(f"self.{each.attr}" if own else each.attr)
            of, self.here = (node.name, "" if self.here else self.owner), ""
            more: Any = {"names": frozenset(names), "of": of}
            [self.here] = self._new(node.lineno, f"{node.name} never called", **more)
            self.owner, self.fixed = "", self._local(node)
            start = int(ast.get_docstring(node, clean=False) is not None)
            inside = ast.Module(node.body[start:], [])
            self.generic_visit(inside)
            self._first(self.here, inside.body, node.body[0])
            node.body[start:] = inside.body
        self.here, self.owner, self.fixed = before
        return node

    def _local(self, node: Any) -> dict[str, Fixed]:
        """Return the variables in a function: those that are set once, to what is fixed; else None."""
        inner = list(ast.walk(node))
        set_at = Counter(n.id for n in inner if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
        given = [n.arg for n in inner if isinstance(n, ast.arg)]
        fixed: dict[str, Fixed] = {**self.fixed, **dict.fromkeys([*set_at, *given])}
        for each in inner:
            match each:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if set_at[name] == 1:
                    fixed[name] = self._fixed(value)
                    if self.column.fullmatch(ast.unparse(value)):
                        fixed[f"len({name})"] = frozenset({ROWS})
        return fixed

    def visit(self, node: Any) -> Any:  # noqa: C901  # a case each
        """Return a node with marks; `here` is the function's own."""
        if hasattr(node, "marked"):
            return node
        if isinstance(node, SCOPES) or not self.here:
            return self._scope(node) if isinstance(node, SCOPES) else self.generic_visit(node)
        op, called = getattr(node, "op", None), getattr(node, "func", None)
        outcome = isinstance(node, ast.Compare) or isinstance(op, ast.BitAnd | ast.BitOr)
        outcome |= getattr(called, "attr", getattr(called, "id", "")) in PREDICATES
        outcome &= not isinstance(node, ast.AugAssign)
        fixed = self._fixed(node) if outcome else None
        match node:
            case ast.Match(subject=subject):
                fixed = self._fixed(subject)
            case ast.If(test=ast.Constant()):
                return node
            case ast.AnnAssign(annotation=kept):
                setattr(kept, "marked", True)  # noqa: B010  # as the class has no such attribute
            case ast.UnaryOp(op=ast.Not(), operand=ast.BoolOp() | ast.Compare(ops=[_, _, *_])):
                pass  # of these the truth is asked twice
            case ast.UnaryOp(op=ast.Not()):
                node.operand = self._test(node.operand)
            case ast.comprehension():
                node.ifs = [self._test(each) for each in node.ifs]
        for name in ("test", "guard"):
            if getattr(node, name, None):
                setattr(node, name, self._test(getattr(node, name)))
        node = self.generic_visit(node)
        match node:
            case ast.For() | ast.AsyncFor():
                body, end = self._new(node.lineno, "loop never entered", "loop never at its end")
                self._first(body, node.body, node)
                self._first(end, node.orelse, node)
            case ast.Try(handlers=parts) | ast.TryStar(handlers=parts) | ast.Match(cases=parts):
                for each in parts:
                    at: Any = getattr(each, "pattern", each)
                    what = "handler never entered" if at is each else "case never entered"
                    [key] = self._new(at.lineno, what, fixed=fixed)
                    self._first(key, each.body, at)
        if outcome:
            keys = self._new(node.lineno, "never true", "never false", fixed=fixed)
            made = self._made(node, f"{NAMES[1]}(*{keys!r})")
            made.args = [*map(ast.Constant, keys), node]
            return made
        return node
