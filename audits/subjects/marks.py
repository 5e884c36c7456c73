"""Marks in a user's code: which outcomes of its conditions, comparisons, handlers and loops the tests met.

A leak behind a rare condition is as likely to be found as the tests are to meet it.  The syntax tree of the
user's files is marked when they are imported; names, lines and sources stay, and no value is changed.  A mark
is a look-up in `Marks`, a constant of the code, which notes a key that it does not have.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from operator import itemgetter
from types import CodeType
from typing import Any

import numpy as np

from dpaccount.relation import adjacency

NO_ROWS = {"__init__", "__post_init__", "__new__", "domain", "proof"}  #: methods without marks
#: calls whose result is an outcome, as that of a comparison
PREDICATES = {"isin", "isclose", "any", "all", "between", "startswith", "endswith", "equal", "not_equal"}
PREDICATES |= {"greater", "greater_equal", "less", "less_equal", "logical_and", "logical_or", "array_equal"}
RUNS, SETS = 100, 10  #: runs of a function on each of two datasets that count; or on ten in all
SHOWN_LINES = 10  #: lines that are named; of more their number
ROWS, OPEN = "the number of rows", frozenset({"?"})
NO_TEST = "Code that no test covers: "  #: `consistency.hazards` knows them; it loads the checker
NOT_RECORDED = f"{NO_TEST}it was not marked, so which lines the tests met is not known."
UNMARKED = "could not be marked, so not known to be met"
HELD, CALLED = "__dpaccount_marks__", "__dpaccount_met__"  #: in the place of constants while code is compiled
FIRST_KEY = 10**9  #: the first key, no place in a text: so the compiler leaves the look-up
MOST_DEFINITIONS = 5  #: definitions of local variables that are followed
PLAIN_TYPES = bool, int, float, str, Fraction, tuple, type(None)
SCOPES = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef
#: of an expression: names, the data's width, its number of rows, and what may change besides names
NAME_PATTERN = re.compile(r"(?<![\w.])(self\.\w+|[A-Za-z_]\w*)")
WIDTH_PATTERN = re.compile(r"\$\.(shape\[-?1\]|ndim|dtype)")
ROWS_PATTERN = re.compile(
    r"len\((np\.(sort|floor|abs|rint|ceil)\()*\$(\[:, \d+\])?\)*(\[::-1\])?\)|\$\.(shape|size)"
)
MORE = re.compile(r"[?${]|(?<![\w\])])\[|[\w\])]\(|[\])]\.")
SETTERS = {"setattr", "__setattr__", "__dict__", "vars"}  #: by which any field may change
KEYWORDS = {"in", "not", "and", "or", "is", "if", "else", "None", "True", "False"}


@dataclass(frozen=True)
class Mark:
    """What may happen on a line; it is missed if `other` was met and this was not.

    `on`: the fields, and `ROWS`, that alone decide a condition; OPEN: more does.  A function, whose name and
    class are `of`, is missed if code that ran `names` it.
    """

    what: str
    line: str
    other: int = 0
    on: frozenset[str] = OPEN
    names: frozenset[str] = frozenset()
    of: tuple[str, str] = "", ""


class Marks(dict[int, Any]):
    """Settled keys, and those that ran since they were last `taken`."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[int, Mark] = {}
        self.never: dict[str, str] = {}  #: reasons of authors, by line
        self.seen: dict[int, Counter[object]] = {}  #: runs, by dataset
        self.fresh: list[int] = []

    def __missing__(self, key: int) -> bool:
        self.fresh.append(key)
        self[key] = True
        return True

    __hash__ = object.__hash__  # type: ignore[assignment]  # as constants of code have one

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what is as true and notes nothing, for code that is sent to other processes."""
        return range, (2 * FIRST_KEY,)

    def taken(self) -> frozenset[int]:
        """Return what ran since the last call and is not settled."""
        fresh, self.fresh = self.fresh, []
        for key in fresh:
            self.pop(key, None)
        return frozenset(fresh)

    def ran(self, place: object, keys: Iterable[int]) -> None:
        """Count a run on one dataset."""
        for key in keys:
            at = self.seen.setdefault(key, Counter())
            at[place] += 1
            if sum(each >= RUNS for each in at.values()) > 1 or (len(at) >= SETS and at.total() >= RUNS):
                self[key] = True

    def compared(self, one: frozenset[int], other: frozenset[int], *, moved: bool) -> None:
        """Settle what both runs of a pair made, with the same releases, if their exact values differ."""
        self.seen |= {key: Counter[object]() for key in one | other}
        self.update(dict.fromkeys(one & other if moved else (), True))

    def missed(self, fixed: frozenset[str], classes: Iterable[type] = ()) -> list[str]:
        """Return what no test met, in order, without conditions on `fixed` and overridden methods."""
        owners = {name: each.__name__ for each in [*classes][::-1] for name in vars(each)}
        ours = {each.__name__ for each in classes}
        named = frozenset[str]().union(*(self.known[key].names for key in self.seen if key in self.known))
        found: dict[str, str] = {}
        for key, mark in self.known.items():
            name, owner = mark.of
            # A method that a subclass overrides cannot run for this subject.
            can = owners.get(name) == owner if owner in ours else not owner or owner in named
            if name:
                missed = "self." * (owner in ours) + name in named and can and key not in self.seen
            else:
                missed = key not in self and (key in self.seen or mark.other in self.seen)
            if missed and not mark.on <= fixed:
                found.setdefault(mark.line, f"{mark.what} in any test: {mark.line}")
        return list(found.values())

    def in_words(self, missed: Iterable[str]) -> list[str]:
        """Return what is missed in one sentence, and what authors say of such lines, one for each."""
        lines = [(each, each.rpartition(": ")[2]) for each in missed]
        open_ = [each for each, line in lines if line not in self.never]
        open_[SHOWN_LINES:] = [f"{len(open_) - SHOWN_LINES} more"] if len(open_) > SHOWN_LINES else []
        known = [line for _, line in lines if line in self.never]
        said = [f"The author says of {line}, which no test met: {self.never[line]}" for line in known]
        return [f"{NO_TEST}{'; '.join(open_)}.", *said] if open_ else said


@dataclass(frozen=True, eq=False)
class Met:
    """Notes what a comparison is true of, and false of; a constant of marked code."""

    marks: Marks

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what gives the value alone."""
        return itemgetter, (2,)

    def __call__(self, outcome: tuple[int, int, Any]) -> Any:
        """Return the value of a comparison, given after the keys of its outcomes."""
        (yes, no, value), marks = outcome, self.marks
        if yes in marks and no in marks:
            return value
        if isinstance(value, bool | np.bool_):
            marks[yes if value else no]
        elif (kind := type(value).__module__.partition(".")[0]) in ("numpy", "pandas", "polars"):
            array: Any = value.to_numpy() if kind != "numpy" and hasattr(value, "to_numpy") else value
            if isinstance(array, np.ndarray) and array.dtype == bool and array.size:
                true = np.count_nonzero(array.view(np.ndarray))
                _ = true and marks[yes], true == array.size or marks[no]
        return value


MARKS = Marks()


def constants_of(subject: Any, relation: str) -> frozenset[str]:
    """Return the attributes of a subject that no run changes, and `ROWS` if their number is public."""
    held = {name: value for each in type(subject).__mro__ for name, value in vars(each).items()}
    held |= {field.name: getattr(subject, field.name) for field in fields(subject)}
    return public(relation) | {name for name, value in held.items() if isinstance(value, PLAIN_TYPES)}


def public(relation: str) -> frozenset[str]:
    """Return `ROWS` if neighbours have as many rows."""
    return frozenset[str]() if adjacency(relation).rows_vary else frozenset({ROWS})


def marked(source: bytes, file: str, name: str, marks: Marks = MARKS) -> CodeType | None:
    """Return a file's code with marks, which have this `name` of it; None where it cannot be marked."""
    first = max(marks.known, default=FIRST_KEY) + 1
    try:
        tree = ast.parse(source, file)
        marker = _Marker(name, tree, first)
        code = compile(ast.fix_missing_locations(marker.visit(tree)), file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        marks.known[first], marks.seen[first] = Mark(UNMARKED, f"{name}:1", first), Counter()
        return None
    marks.known |= marker.marks
    for number, line in enumerate(source.decode(errors="replace").splitlines(), 1):
        if reason := line.partition("# dpaccount: never,")[2].strip():
            marks.never[f"{name}:{number}"] = reason

    def holding(part: CodeType) -> CodeType:
        held: dict[object, object] = {HELD: marks, CALLED: Met(marks)}
        inner = (holding(each) if isinstance(each, CodeType) else each for each in part.co_consts)
        return part.replace(co_consts=tuple(held.get(each, each) for each in inner))

    return holding(code)


def _text(node: ast.AST) -> str:
    """Return an expression without its texts; a question mark where they cannot be told."""
    text = ast.unparse(node)
    awkward = "\\" in text or ("'" in text and '"' in text)
    return "?" if awkward else re.sub(r"'[^']*'|\"[^\"]*\"", "0", text)


class _Marker(ast.NodeTransformer):
    """Puts marks into functions; what runs once, at the import, has none."""

    def __init__(self, file: str, tree: ast.Module, first: int) -> None:
        self.file, self.first, self.owner, self.here, self.marks = file, first, "", 0, dict[int, Mark]()
        loose = any(getattr(n, "attr", getattr(n, "id", "")) in SETTERS for n in ast.walk(tree))
        attributes = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
        changed = [n.attr for n in attributes if loose or not isinstance(n.ctx, ast.Load)]
        self.local = {f"self.{name}": "?" for name in changed}
        self.local = self._local(tree)

    def _new(self, line: int, *outcomes: str, **more: Any) -> list[int]:
        """Return the keys of outcomes, of which one happens wherever another can."""
        start = self.first + len(self.marks)
        keys = [*range(start, start + len(outcomes))]
        for at, what in enumerate(outcomes):
            other = keys[at - 1] if len(keys) > 1 else self.here
            self.marks[keys[at]] = Mark(what, f"{self.file}:{line}", other, **more)
        return keys

    def _made(self, at: Any, form: str) -> Any:
        """Return an expression in the place of a node, marked."""
        made: Any = ast.parse(form, mode="eval").body
        for each in ast.walk(made):
            ast.copy_location(each, at)
        made.marked = True
        return made

    def _begin(self, key: int, block: list[Any], at: Any) -> None:
        block.insert(0, ast.copy_location(ast.Expr(self._made(at, f"{HELD!r}[{key}]")), at))

    def _test(self, node: Any) -> Any:
        """Return a condition, of which only the truth counts, with both outcomes of each operand."""
        match node:
            case ast.Constant() | ast.Name(id="__debug__"):
                return node
            case ast.BoolOp():
                node.values = [self._test(each) for each in node.values]
            case ast.UnaryOp(op=ast.Not()):
                node.operand = self._test(node.operand)
            case _:
                plain = isinstance(node, ast.Compare | ast.Call)
                yes, no = self._new(node.lineno, "never true", "never false", on=self._on(node))
                made = self._made(node, f"{HELD!r}[{yes}] if 0 else not {HELD!r}[{no}]")
                made.test = self.generic_visit(node) if plain else self.visit(node)
                return made
        node.marked = True
        return node

    def _on(self, node: ast.AST) -> frozenset[str]:
        """Return the fields, and `ROWS`, that alone decide an expression; OPEN if more does."""
        text = _text(node)
        for _ in range(MOST_DEFINITIONS):
            text = NAME_PATTERN.sub(lambda found: self.local.get(found[0], found[0]), text)
        text = re.sub(
            r"len\((self\.\w+)\)", r"\1", ROWS_PATTERN.sub("self.ROWS", WIDTH_PATTERN.sub("0", text))
        )
        names = set(NAME_PATTERN.findall(text)) - KEYWORDS
        if MORE.search(text) or not all(each.startswith("self.") for each in names):
            return OPEN
        return frozenset(ROWS if each == "self.ROWS" else each[5:] for each in names)

    def _local(self, node: ast.AST, data: str = "") -> dict[str, str]:
        """Return names in a scope as what they are set to, if once; $ for the data, ? for what may change."""
        inner = list(ast.walk(node))
        bound = Counter(n.id for n in inner if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
        bound.update(n.arg for n in inner if isinstance(n, ast.arg))
        bound.update(getattr(n, name, "") for n in inner for name in ("name", "rest", "asname"))
        bound.update(name for n in inner if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names)
        local = {**self.local, **dict.fromkeys(bound, "?"), "np": "np"}
        for each in inner:
            match each:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if bound[name] == 1:
                    local[name] = _text(value)
        return {**local, data: "$"} if bound[data] == 1 else local

    def _scope(self, node: Any) -> Any:
        """Mark a function or the methods of a class; decorators and defaults are evaluated outside."""
        before = self.here, self.owner, self.local
        if isinstance(node, ast.ClassDef):
            self.here, self.owner = 0, node.name
            self.generic_visit(node)
        elif isinstance(node, ast.Lambda):
            [self.here], self.local = self._new(node.lineno, "lambda never called"), self._local(node)
            made = self._made(node.body, f"{HELD!r}[{self.here}] and 0")
            made.values[1], node.body = self.visit(node.body), made
        elif self.here or not self.owner or node.name not in NO_ROWS:
            inner = [each for part in node.body for each in ast.walk(part)]
            names = {each.id for each in inner if isinstance(each, ast.Name)}
            used = [each for each in inner if isinstance(each, ast.Attribute)]
            own = [ast.unparse(each.value) in ("self", "cls", "super()") for each in used]
            names |= {"self." * mine + each.attr for each, mine in zip(used, own, strict=True)}
            given, owner = [each.arg for each in node.args.args], "" if self.here else self.owner
            data = given[1:2] if node.name == "play" else given[:1] * (given[1:] in (["rng"], ["generator"]))
            more: Any = {"names": frozenset(names), "of": (node.name, owner)}
            [self.here] = self._new(node.lineno, f"{node.name} never called", **more)
            self.owner, self.local = "", self._local(node, *data)
            start = int(ast.get_docstring(node, clean=False) is not None)
            inside = ast.Module(node.body[start:], [])
            self.generic_visit(inside)
            self._begin(self.here, inside.body, node.body[0])
            node.body[start:] = inside.body
        self.here, self.owner, self.local = before
        return node

    def visit(self, node: Any) -> Any:
        """Return a node with marks; `here` is the function's own."""
        if hasattr(node, "marked"):
            return node
        if isinstance(node, SCOPES) or not self.here:
            return self._scope(node) if isinstance(node, SCOPES) else self.generic_visit(node)
        op, called = getattr(node, "op", None), getattr(node, "func", None)
        outcome = isinstance(node, ast.Compare) or isinstance(op, ast.BitAnd | ast.BitOr)
        outcome |= getattr(called, "attr", getattr(called, "id", "")) in PREDICATES
        outcome &= not isinstance(node, ast.AugAssign)
        on = self._on(getattr(node, "subject", node)) if outcome or hasattr(node, "subject") else OPEN
        match node:
            case ast.comprehension():
                node.ifs = [self._test(each) for each in node.ifs]
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
                node.test = self._test(test)
            case ast.match_case(guard=ast.expr() as guard):
                node.guard = self._test(guard)
        node = self.generic_visit(node)
        match node:
            case ast.For() | ast.AsyncFor():
                body, end = self._new(node.lineno, "loop never entered", "loop never at its end")
                self._begin(body, node.body, node)
                self._begin(end, node.orelse, node)
            case ast.Try(handlers=parts) | ast.TryStar(handlers=parts) | ast.Match(cases=parts):
                for each in parts:
                    at: Any = getattr(each, "pattern", each)
                    what = "handler never entered" if at is each else "case never entered"
                    [key] = self._new(at.lineno, what, on=on)
                    self._begin(key, each.body, at)
        if outcome:
            yes, no = self._new(node.lineno, "never true", "never false", on=on)
            made = self._made(node, f"({CALLED!r} if 1 else 0)(({yes}, {no}, 0))")
            made.args[0].elts[2] = node
            return made
        return node
