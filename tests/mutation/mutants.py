"""Small wrong versions of a source file: one change each, of the kind that a slip would make.

Changed are comparisons, arithmetic, integer constants, dropped checks, and/or, not, the direction of
rounding, minima for maxima, and what a declared rule demands of its witness.  Left alone are annotations,
docstrings, messages, other decorators and limits on effort.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

CHECKS = {
    *("ensure", "positive", "text", "number", "integer"),
    *("one_round", "common", "check_single_rows", "rounding_at_most", "confirm_counts", "short_numbers"),
}
DECLARING = ("rule", "noise", "hypothesis")  # decorators whose keywords say how a witness is read
WEAKER = {"positive": "number", "unit": "integer"}
SWAPPED_NAMES = {
    "min": "max",
    "max": "min",
    "ROUND_FLOOR": "ROUND_CEILING",
    "ROUND_CEILING": "ROUND_FLOOR",
    "ceil": "floor",
    "floor": "ceil",
    "lower": "upper",
    "upper": "lower",
    "down": "up",
    "up": "down",
    "next_plus": "next_minus",
    "next_minus": "next_plus",
}
SWAPPED_COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
SWAPPED_ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Mod: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


@dataclass(frozen=True)
class Mutant:
    """One wrong version: where it differs, from what to what, and the module as a tree.

    The tree is shared with the next mutants: compile it before asking for another one.
    """

    function: str
    line: int
    statement: str
    before: str
    after: str
    tree: ast.Module
    declared: bool = False  #: it shows when the module is run again

    @property
    def name(self) -> str:
        """Return the change without its line number, which moves."""
        inside = "" if self.statement == self.before else f" in `{self.statement}`"
        return f"{self.function}: `{self.before}` → `{self.after}`{inside}"


def mutants(source: str) -> Iterator[Mutant]:
    """Yield every wrong version of a module's text."""
    tree = ast.parse(source)
    for place in [*_places(tree), *_declared(tree)]:
        if _limit(place.statement):
            continue
        for made in _readers(place.node) if place.declared else _changes(place.node):
            wrong = ast.fix_missing_locations(ast.copy_location(made, place.node))
            name = f"{place.parent.arg}=" if isinstance(place.parent, ast.keyword) and place.declared else ""
            shown = _shown(place.statement), name + _shown(place.node), name + _shown(wrong)
            place.put(wrong)
            yield Mutant(place.function, place.node.lineno, *shown, tree, place.declared)
            place.put(place.node)


def _shown(node: ast.AST) -> str:
    lines = ast.unparse(node).splitlines()
    text = lines[0] + (" …" if len(lines) > 1 else "")
    return text if len(text) <= 100 else text[:99] + "…"


@dataclass(frozen=True)
class Place:
    """A node that may be changed, and where it hangs: a field of its parent, or one item of a list."""

    node: ast.expr | ast.stmt
    parent: ast.AST
    field: str
    index: int | None
    function: str
    statement: ast.stmt
    declared: bool = False  #: a reader in a rule's decorator

    def put(self, node: ast.AST) -> None:
        """Hang another node in this place."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def _places(tree: ast.Module) -> Iterator[Place]:
    """Yield every place where a change is tried, in the order of the text."""
    yield from _inside(tree, "module", tree.body[0])


def _declared(tree: ast.Module) -> Iterator[Place]:
    """Yield every reader of a witness that a rule's decorator names."""
    for function in ast.walk(tree):
        for made in function.decorator_list if isinstance(function, ast.FunctionDef) else []:
            match made:
                case ast.Call(ast.Name(name), _, keywords) if name in DECLARING:
                    for keyword in keywords:
                        yield Place(
                            keyword.value, keyword, "value", None, function.name, ast.Expr(made), True
                        )


def _readers(node: ast.expr | ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.Name(name) if name in WEAKER:
            yield ast.Name(WEAKER[name], ast.Load())
        case ast.Call(ast.Name("Optional"), [inner]):
            yield inner
        case ast.Name(name) if name != "anything":
            yield ast.parse("lambda value: value", mode="eval").body


def _inside(node: ast.AST, function: str, statement: ast.stmt) -> Iterator[Place]:
    if isinstance(node, ast.Raise):
        return  # a message
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        many = isinstance(value, list)
        for index, child in enumerate(value if many else [value]):
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            inner, around = function, child if isinstance(child, ast.stmt) else statement
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = child.name if function == "module" else f"{function}.{child.name}"
            if _message(node, name, index):
                continue
            if isinstance(child, ast.expr | ast.stmt):
                yield Place(child, node, name, index if many else None, inner, around)
            yield from _inside(child, inner, around)


def _limit(statement: ast.stmt) -> bool:
    """Say whether a statement limits effort, as MAX_STEPS = 300 and spend(10) do: any number is right."""
    match statement:
        case ast.Assign([ast.Name(name)]):
            return name.startswith("MAX_")
        case ast.Expr(ast.Call(ast.Name("spend"))):
            return True
    return False


def _message(node: ast.AST, name: str, index: int) -> bool:
    """Say whether an argument is the sentence of `ensure(holds, why)`."""
    called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    return name == "args" and index > 0 and called == "ensure"


def _changes(node: ast.expr | ast.stmt) -> Iterator[ast.AST]:
    yield from _operators(node)
    yield from _parts(node)


def _operators(node: ast.expr | ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left, ops, right):
            for at, op in enumerate(ops):
                for other in SWAPPED_COMPARISONS.get(type(op), ()):
                    yield ast.Compare(left, [*ops[:at], other(), *ops[at + 1 :]], right)
        case ast.BinOp(left, op, right) if type(op) in SWAPPED_ARITHMETIC:
            yield ast.BinOp(left, SWAPPED_ARITHMETIC[type(op)](), right)
        case ast.AugAssign(target, op, value) if type(op) in SWAPPED_ARITHMETIC:
            yield ast.AugAssign(target, SWAPPED_ARITHMETIC[type(op)](), value)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand


def _parts(node: ast.expr | ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() as value):
            yield ast.Constant(value + 1)
            if value > 0:
                yield ast.Constant(value - 1)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.Name(name, context) if name in SWAPPED_NAMES and isinstance(context, ast.Load):
            yield ast.Name(SWAPPED_NAMES[name], context)
        case ast.Attribute(value, name, context) if name in SWAPPED_NAMES and isinstance(context, ast.Load):
            yield ast.Attribute(value, SWAPPED_NAMES[name], context)
        case ast.Call(ast.Attribute(_, "next_plus" | "next_minus"), [inner]):
            yield inner
        case ast.Call(ast.Name("sorted"), [inner, *_]):
            yield inner
        case ast.Expr(ast.Call(ast.Name(name))) if name in CHECKS or name.startswith("check_"):
            yield ast.Pass()
        case ast.Raise():
            yield ast.Pass()
