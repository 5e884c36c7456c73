"""One SELECT as the statistics of a study: its columns, groups and conditions in the study's own terms.

sqlglot accepts much: what is not in `PARTS`, with every part of it, is refused by name.  What is left means
what the study says: numbers are clipped to their bounds, and a missing cell is NULL, or the value that is
declared for it.  (In a study of schema 1 it is always such a value, and there is no NULL.)
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import duckdb
import sqlglot
from sqlglot import exp

from dpaccount.errors import InputError
from mechanisms.statistics.expressions import PERIODS, derived
from mechanisms.statistics.joins import JoinedColumn
from mechanisms.statistics.statistic import MOST_BY
from mechanisms.table.columns import Column, Table

LONGEST_QUERY: Final = 10_000  #: characters of a query
SIGNS_OF: Final[Mapping[type, str]] = {
    **{exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.And: "and", exp.Or: "or"},
    **{exp.EQ: "==", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="},
}
COMPARISON_NODES: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
CONDITION_NODES: Final = (exp.And, exp.Or, exp.Not, exp.Between, exp.In, exp.Is, *COMPARISON_NODES)
CALLED: Final[Mapping[type, str]] = {
    **{exp.Least: "min", exp.Greatest: "max", exp.Abs: "abs", exp.Floor: "floor"},
    **{exp.Year: "year", exp.Quarter: "quarter", exp.Month: "month"},
}
OF_ROWS: Final[Mapping[type, str]] = {  #: statistics of one column
    **{exp.Sum: "sum", exp.Avg: "mean", exp.Median: "median"},
    **{exp.VariancePop: "variance", exp.StddevPop: "stddev"},
}
#: what is read: each kind of node, and which of its parts
PARTS: Final[Mapping[type, tuple[str, ...]]] = {
    **{exp.Select: ("expressions", "from_", "joins", "where", "group", "order", "limit")},
    **{exp.From: ("this",), exp.Table: ("this", "db", "alias"), exp.TableAlias: ("this",)},
    **{exp.Join: ("this", "side", "kind", "on", "using"), exp.Where: ("this",), exp.Group: ("expressions",)},
    **{exp.Order: ("expressions",), exp.Ordered: ("this", "desc", "nulls_first"), exp.Limit: ("expression",)},
    **{exp.Identifier: ("this", "quoted"), exp.Column: ("this", "table"), exp.Alias: ("this", "alias")},
    **{exp.Literal: ("this", "is_string"), exp.Boolean: ("this",), exp.Star: (), exp.Paren: ("this",)},
    **{exp.Is: ("this", "expression"), exp.Null: (), exp.Coalesce: ("this", "expressions")},
    **{exp.Neg: ("this",), exp.Not: ("this",), exp.Between: ("this", "low", "high")},
    **dict.fromkeys((*SIGNS_OF, *COMPARISON_NODES), ("this", "expression")),
    **{exp.Div: ("this", "expression", "typed", "safe"), exp.In: ("this", "expressions")},
    **{exp.Case: ("this", "ifs", "default"), exp.If: ("this", "true"), exp.Abs: ("this",)},
    **dict.fromkeys((exp.Least, exp.Greatest), ("this", "expressions", "ignore_nulls")),
    **{exp.Floor: ("this",), exp.Year: ("this",), exp.Quarter: ("this",), exp.Month: ("this",)},
    **{
        exp.TimestampTrunc: ("this", "unit"),
        exp.DateTrunc: ("this", "unit"),
        exp.TimeToStr: ("this", "format"),
    },
    **{exp.Extract: ("this", "expression"), exp.Var: ("this",)},
    **{exp.Cast: ("this", "to"), exp.DataType: ("this", "nested"), exp.Anonymous: ("this", "expressions")},
    **{exp.Count: ("this", "big_int"), exp.Distinct: ("expressions",), exp.Filter: ("this", "expression")},
    **dict.fromkeys(OF_ROWS, ("this",)),
    **{exp.WithinGroup: ("this", "expression"), exp.PercentileCont: ("this", "expression")},
    **{exp.Array: ("expressions", "value_constructor")},
}
RIGHT_CLAUSES: Final = {
    "Column": "group by it, or say what of it is asked: COUNT, SUM, AVG, MEDIAN",
    **{"Subquery": "write one SELECT", "having": "filter the released table", "distinct": "write GROUP BY"},
    **{"Stddev": "write STDDEV_POP", "StddevSamp": "write STDDEV_POP", "Variance": "write VAR_POP"},
    **{"Min": "write QUANTILE_CONT(x, 0.01)", "Max": "write QUANTILE_CONT(x, 0.99)"},
    **{"Is": "write x IS NULL, or x = TRUE", "Union": "write two queries"},
    **{"Like": "compare with listed values", "Null": "write x IS NULL"},
    **{"with_": "write one SELECT", "Window": "write GROUP BY", "Star": "name the statistics that you want"},
}
RANKED_CALLS: Final = {"quantile_cont": 2, "percentile_cont": 1}
DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
Node = exp.Expr
Said = dict[str, object]  #: a statistic as a file declares it


@dataclass
class SelectQuery:
    """What a SELECT on a table says in a study's terms: `derived` columns, and `statistics`."""

    table: Table
    tables: Mapping[str, str | None]  #: by its name in the query: the joined table, None for the data
    in_two: Sequence[str] = ()  #: columns of two tables, as keys of a join by ON are
    derived: dict[str, str] = field(default_factory=dict)
    statistics: list[Said] = field(default_factory=list)

    @property
    def known(self) -> dict[str, Column]:
        """Return the columns that expressions may name."""
        known = {column.name: column for column in self.table.every}
        for name, formula in self.derived.items():
            known[name] = derived(name, formula, tuple(known.values()))
        return known

    def check_null(self, node: Node) -> None:
        """Refuse NULL in a study of the schema in which each missing cell has a declared value."""
        if self.table.columns[0].schema == 1:
            what = f"{node.sql()[:60]!r} is of NULL, which has a value here"
            raise InputError(what, 'compare with that one, or write schema = "dpaccount/study/2"')

    def has_gaps(self, node: Node) -> bool:
        """Return whether a number may be NULL in some row."""
        if isinstance(node := _bare(node), exp.Column):
            return self.column(node).gaps
        formula = self.condition(node) if isinstance(node, CONDITION_NODES) else self.formula(node)
        return derived("a value", formula, tuple(self.known.values())).gaps

    # ------------------------------------------------------------------ columns

    def column(self, node: exp.Column) -> Column:
        """Return the column that is named; raises `InputError` where that is none, or two."""
        name, of = node.this.name, node.args.get("table")
        if "`" in name:
            raise InputError(f"{name[:60]} has a backquote", "rename the column")
        if of is not None and of.name.lower() not in self.tables:
            raise InputError(f"{node.sql()} is of no table of the query", f"known: {', '.join(self.tables)}")
        where = None if of is None else self.tables[of.name.lower()]
        there = self.tables.values() if of is None else [where]
        listed = [each for each in self.table.every if _joined(each) in there]
        found = [each for each in listed if each.name == name]
        if not found and not node.this.args.get("quoted"):
            found = [each for each in listed if each.name.casefold() == name.casefold()]
        if len(found) != 1:
            names = ", ".join(each.name for each in listed)
            what = f"no column {node.sql()[:60]}" if not found else f"{name[:60]} is the name of two columns"
            raise InputError(what, f"there are {names[:200]}" if not found else "write it in double quotes")
        if of is None and found[0].name in self.in_two:
            of_data = next(alias for alias, joined in self.tables.items() if joined is None)
            raise InputError(f"{name} is in two tables", f"write {of_data}.{name}")
        return found[0]

    def is_key(self, node: Node, keys: Mapping[Node, str]) -> bool:
        """Return whether an expression is one of the groups."""
        return node in keys or (isinstance(node, exp.Column) and self.column(node).name in keys.values())

    def named(self, node: Node, wish: str = "") -> str:
        """Return the name of a column that an expression is: one there is, or a derived one."""
        node = _bare(node)
        if isinstance(node, exp.Column):
            return self.column(node).name
        formula = self.condition(node) if isinstance(node, CONDITION_NODES) else self.formula(node)
        if (plain := formula.strip("`")) in self.known and formula == f"`{plain}`":
            return plain
        if isinstance(node, exp.Literal | exp.Neg) and not list(node.find_all(exp.Column)):
            raise InputError(f"{node.sql()} names no column", "write COUNT(*) for a number of rows")
        there = [name for name, text in self.derived.items() if text == formula]
        if there:
            return there[0]
        # SQL's names ignore case, so that a name in another case would be read as this one.
        known = {each.casefold() for each in self.known}
        if wish.casefold() in known:
            raise InputError(f"AS {wish[:60]} is the name of a column", "give another one")
        name = wish or re.sub(r"\W+", "_", node.sql().lower()).strip("_")[:60]
        while name.casefold() in known:
            name += "_"
        self.derived[name] = formula
        return name

    # ------------------------------------------------------------------ expressions

    def formula(self, node: Node) -> str:
        """Return arithmetic as a study writes it."""
        node = _bare(node)
        match node:
            case exp.Column():
                return f"`{self.column(node).name}`"
            case exp.Literal(is_string=False):
                return str(node.this)
            case exp.Neg():
                return f"(-{self.formula(node.this)})"
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
                left, right = self.formula(node.this), self.formula(node.expression)
                return f"({left} {SIGNS_OF[type(node)]} {right})"
            case exp.Cast() if node.to.this in exp.DataType.REAL_TYPES or _is_trunc(node.this):
                return self.formula(node.this)
            case exp.Case():
                return self._case(node)
        return self._called(node)

    def _called(self, node: Node) -> str:
        """Return a function as a study writes it."""
        match node:
            case exp.Coalesce():
                self.check_null(node)
                return f"coalesce({', '.join(map(self.formula, [node.this, *node.expressions]))})"
            case exp.Least() | exp.Greatest():
                some = ", ".join(map(self.formula, [node.this, *node.expressions]))
                return f"{CALLED[type(node)]}({some})"
            case exp.Abs() | exp.Floor() | exp.Year() | exp.Quarter() | exp.Month():
                return f"{CALLED[type(node)]}({self.formula(node.this)})"
            case exp.Extract() if node.name.lower() in ("year", "quarter", "month"):
                return f"{node.name.lower()}({self.formula(node.expression)})"
            case exp.TimestampTrunc() | exp.DateTrunc() if node.text("unit").lower() in PERIODS:
                return f'period({self.formula(node.this)}, "{node.text("unit").lower()}")'
            case exp.TimeToStr() if node.args["format"].name in PERIODS:
                return f'period({self.formula(node.this)}, "{node.args["format"].name}")'
            case exp.Anonymous() if node.name.lower() == "bins":
                return f"bins({', '.join(map(self.formula, node.expressions))})"
        raise _refused(node)

    def _case(self, node: exp.Case) -> str:
        """Return a CASE as a conditional value: without ELSE the others are NULL."""
        if node.this is not None:
            raise InputError(f"{node.sql()[:60]}: CASE", "write CASE WHEN … THEN … ELSE … END")
        ifs = node.args["ifs"]
        values = [*(one.args["true"] for one in ifs), node.args.get("default") or exp.Null()]
        if any(isinstance(_bare(each), exp.Null) for each in values):
            self.check_null(node)
        *said, last = ("null" if isinstance(_bare(each), exp.Null) else self.formula(each) for each in values)
        ways = (f"{value} if {self.condition(one.this)} else " for value, one in zip(said, ifs, strict=True))
        return f"({''.join(ways)}{last})"

    def condition(self, node: Node) -> str:
        """Return a condition as a study writes it."""
        node = _bare(node)
        match node:
            case exp.And() | exp.Or():
                left, right = self.condition(node.this), self.condition(node.expression)
                return f"({left} {SIGNS_OF[type(node)]} {right})"
            case exp.Not():
                return f"(not {self.condition(node.this)})"
            case exp.Between():
                low, this, high = map(self._side, (node.args["low"], node.this, node.args["high"]))
                return f"({low} <= {this} and {this} <= {high})"
            case exp.In() if node.expressions:
                this = self._side(node.this)
                return f"({' or '.join(f'{this} == {self._side(each)}' for each in node.expressions)})"
            case exp.Is(expression=exp.Null()):
                self.check_null(node)
                return f"({self.formula(node.this)} is null)"
            case exp.Is():
                raise _refused(node)
            case exp.Column() if self.column(node).kind == "boolean":
                return f"`{self.column(node).name}`"
            case exp.EQ() | exp.NEQ() if isinstance(node.expression, exp.Boolean):
                same = node.expression.this is isinstance(node, exp.EQ)
                return self.condition(node.this) if same else f"(not {self.condition(node.this)})"
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return f"({self._side(node.this)} {SIGNS_OF[type(node)]} {self._side(node.expression)})"
        raise _refused(node, "write a comparison of columns and constants")

    def _side(self, node: Node) -> str:
        node = _bare(node)
        if isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.DATE:
            node = node.this
            if not isinstance(node, exp.Literal) or DAY.fullmatch(node.name) is None:
                raise InputError(f"{node.sql()[:60]} is no date", "write DATE '2024-12-31'")
        if not isinstance(node, exp.Literal) or not node.is_string:
            return self.formula(node)
        if DAY.match(node.name) and DAY.fullmatch(node.name) is None:
            raise InputError(f"{node.sql()[:60]} has more than a date", "write a date without a time")
        return json.dumps(node.name, ensure_ascii=False)

    # ------------------------------------------------------------------ statistics

    def add(self, node: Node, name: str, by: list[str], where: str) -> None:
        """Add the statistic of one aggregate."""
        node, wheres = _bare(node), [where] if where else []
        if isinstance(node, exp.Filter):
            wheres.append(self.condition(node.expression.this))
            node = _bare(node.this)
        # Without ELSE the others are NULL, which no aggregate counts.
        match node.this if isinstance(node, exp.AggFunc) else None:
            case exp.Case(this=None, args={"default": None, "ifs": [one]}):
                wheres.append(self.condition(one.this))
                value = one.args["true"]
                only = isinstance(node, exp.Count) and isinstance(value, exp.Literal)
                node = exp.Count(this=exp.Star()) if only else type(node)(this=value)
        if isinstance(node, exp.Count) and not isinstance(node.this, exp.Star | exp.Literal | exp.Distinct):
            self.check_null(node)
            wheres.append(f"({self.formula(node.this)} is not null)")
            node = exp.Count(this=exp.Star())
        said = self._aggregate(node)
        column = said.get("column")
        title = name or f"{said['what']}{'' if column is None else f' of {column}'}"
        title, taken = re.sub(r"[^\w %+,.()=-]", "-", title)[:100], {each["name"] for each in self.statistics}
        numbers = (f"{title} {number}" for number in range(2, len(taken) + 3))
        title = title if name or title not in taken else next(n for n in numbers if n not in taken)
        said = {"name": title, **said}
        condition = f"({') and ('.join(wheres)})" if len(wheres) > 1 else "".join(wheres)
        said |= ({"by": by} if by else {}) | ({"where": condition} if condition else {})
        self.statistics.append(said)

    def _aggregate(self, node: Node) -> Said:
        match node:
            case exp.Count(this=exp.Star() | exp.Literal()):
                return {"what": "count"}
            case exp.Count(this=exp.Distinct(expressions=[one])):
                return self._units(one)
            case exp.PercentileCont() if node.args.get("expression") is not None:
                return self._quantile(node.this, node.expression)
            case exp.WithinGroup(this=exp.PercentileCont(expression=None)):
                of, *more = node.expression.expressions
                if not more and not of.args.get("desc"):
                    return self._quantile(of.this, node.this.this)
            case exp.Div(this=exp.Sum(), expression=exp.Sum()):
                of, per = self.named(node.this.this), self.named(node.expression.this)
                return {"what": "ratio", "column": of, "per": per}
            case exp.Div(this=exp.Sum(), expression=exp.Count(this=exp.Star())):
                of = node.this.this  # its NULLs are counted, as a mean's are not
                if self.has_gaps(of):
                    of = exp.Coalesce(this=of, expressions=[exp.Literal.number(0)])
                return {"what": "mean", "column": self.named(of)}
            case exp.Div(this=exp.Sum(), expression=exp.Count()) if node.this.this == node.expression.this:
                return {"what": "mean", "column": self.named(node.this.this)}
            case _ if type(node) in OF_ROWS:
                return {"what": OF_ROWS[type(node)], "column": self.named(node.this)}
        known = "write COUNT(*), SUM, AVG, MEDIAN, QUANTILE_CONT, VAR_POP or STDDEV_POP"
        raise _refused(node, "" if type(node).__name__ in RIGHT_CLAUSES else known)

    def _units(self, node: Node) -> Said:
        unit = self.table.identity
        if not isinstance(node, exp.Column) or unit is None or node.name.casefold() != unit.casefold():
            what = f"COUNT(DISTINCT {node.sql()[:60]})"
            raise InputError(what, f"only units can be counted so: {unit or 'none'}")
        if self.table.max_rows > 1:
            # Sums over rows cannot tell whether two rows are of one unit.
            more = "let max_contributions be 1 for it: then each unit has one row that counts"
            raise InputError("COUNT(DISTINCT unit) where several rows of a unit count", more)
        return {"what": "count"}

    def _quantile(self, of: Node, ranks: Node) -> Said:
        several = ranks.expressions if isinstance(ranks, exp.Array) else [ranks]
        if not several or not all(isinstance(each, exp.Literal) and not each.is_string for each in several):
            raise InputError(f"{ranks.sql()[:60]} is no rank", "write QUANTILE_CONT(x, 0.9), or [0.1, 0.9]")
        q: list[str] = [str(each.this) for each in several]
        return {"what": "quantile", "column": self.named(of), "q": q if len(q) > 1 else q[0]}


def compiled(text: str, table: Table, names: Sequence[str]) -> SelectQuery:
    """Return a SELECT in a study's terms.  `names` are those of the study's data.

    Raises `InputError` for what is no SELECT, and for each clause that a study has no words for.
    """
    try:
        return _compiled(text, table, [*dict.fromkeys(filter(None, names))])
    except (AttributeError, RecursionError):  # trees of odd texts lack parts, or are too deep
        raise InputError("this is no SELECT that is read", "write a shorter one") from None


def _compiled(text: str, table: Table, names: Sequence[str]) -> SelectQuery:
    tree = _parsed(text)
    # Before all else, since columns are named by the tables of the query.
    tables, joins = dict(_tables(tree, table, names)), tree.args.get("joins") or ()
    by_on = [each.text("this") for join in joins for each in join.find_all(exp.Column) if join.args.get("on")]
    query = SelectQuery(table, tables, by_on)
    keys = _grouped(tree, query)
    where = query.condition(tree.args["where"].this) if tree.args.get("where") else ""
    groups = list(keys.values())
    asked = [each for each in tree.expressions if not query.is_key(_bare(each.unalias()), keys)]
    for each in asked:
        query.add(each.unalias(), each.alias, groups, where)
    if not asked:
        raise InputError("the SELECT has no statistic", "add COUNT(*) or another aggregate")
    _listed(tree, query, groups, asked[0])
    return query


def _parsed(text: str) -> exp.Select:
    """Return the tree of one SELECT, of which each part is known."""
    if len(text) > LONGEST_QUERY:
        raise InputError(f"the query has {len(text)} characters", f"at most {LONGEST_QUERY}")
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # what it warns of is refused below
    try:
        duckdb.extract_statements(text)  # sqlglot guesses what a broken text means
        trees = [tree for tree in sqlglot.parse(text, dialect="duckdb") if tree is not None]
        words = [each.text.casefold() for each in sqlglot.tokenize(text, dialect="duckdb")]
    except Exception as error:  # its parser fails in many ways on what is no SQL
        where = re.search(r'at (or near "[^"]*"|end of input)', str(error))
        what = f"this is no SQL{f' ({where[0]})' if where else ''}"
        raise InputError(what, "write one SELECT, and double quotes around names that are keywords") from None
    if len(trees) != 1:
        raise InputError(f"{len(trees)} statements", "write one SELECT")
    if not isinstance(tree := trees[0], exp.Select):
        raise _refused(tree, "write one SELECT")
    for at in (at for at, word in enumerate(words) if word in RANKED_CALLS):
        # Of these the parser drops further arguments without a word.
        if _arguments(words[at + 1 :]) > RANKED_CALLS[words[at]]:
            raise InputError(f"{words[at]} has too many arguments", "write QUANTILE_CONT(x, 0.9)")
    for node in tree.walk():
        if type(node) not in PARTS:
            raise _refused(node)
        for part, value in node.args.items():
            if value and part not in PARTS[type(node)]:
                hint = RIGHT_CLAUSES.get(part, f"leave it out of {node.sql()[:60]}")
                raise InputError(f"{part.strip('_').upper()} is not read", hint)
    return tree


def _arguments(words: Sequence[str]) -> int:
    """Return how many arguments stand in the parentheses that some words begin with."""
    depth, many = 0, 1
    for word in words:
        depth += (word in ("(", "[")) - (word in (")", "]"))
        many += word == "," and depth == 1
        if depth == 0:
            break
    return many


def _refused(node: Node, right: str = "") -> InputError:
    name = type(node).__name__
    hint = right or RIGHT_CLAUSES.get(name, "use what docs/sql.md lists")
    return InputError(f"{node.sql()[:60]!r} ({name}) is not read", hint)


def _is_trunc(node: Node) -> bool:
    """Return whether an expression is the first day of a period, which a cast to a date leaves as it is."""
    return isinstance(node, exp.TimestampTrunc | exp.DateTrunc)


def _bare(node: Node) -> Node:
    """Return an expression without parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _joined(column: Column) -> str | None:
    """Return the name of the public table that a column is of; None for the study's own data."""
    return column.formula.partition("[")[0] if isinstance(column, JoinedColumn) else None


def _tables(tree: exp.Select, table: Table, names: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each name of a table in the query, with the public table that it means, None for the data."""
    if tree.args.get("from_") is None:
        raise InputError("the SELECT has no FROM", f"write FROM {names[0]}")
    source = tree.args["from_"].this
    is_name = isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier)
    said = ".".join(part.name for part in source.parts) if is_name else ""
    if said.casefold() not in {name.casefold() for name in names}:
        raise InputError(f"FROM {source.sql()[:60]}", f"the data are {' or '.join(names)}")
    yield (source.alias or source.name).lower(), None
    joins = {name: each for each in table.derived if (name := _joined(each)) is not None}
    for join in tree.args.get("joins") or ():
        name = join.this.name
        if name not in joins or join.side != "LEFT" or join.kind not in ("", "OUTER") or join.this.db:
            right = f"write LEFT JOIN, with a table of [data.join]: {', '.join(joins) or 'none is declared'}"
            raise InputError(f"{join.sql()[:60]} may drop or multiply rows", right)
        alias, key = (join.this.alias or name).lower(), joins[name].of[0].name  # type: ignore[attr-defined]
        on, using = join.args.get("on"), join.args.get("using") or ()
        ends = (on.this, on.expression) if isinstance(on, exp.EQ) else ()
        sides = {(each.text("table").lower(), each.name) for each in ends}
        of_data = (source.alias or source.name).lower()
        if [each.name for each in using] != [key] and sides != {(of_data, key), (alias, key)}:
            what = f"{join.sql()[:60]} is by another key than the declared one"
            raise InputError(what, f"write USING ({key})")
        yield alias, name


def _grouped(tree: exp.Select, query: SelectQuery) -> dict[Node, str]:
    """Return the expressions of GROUP BY, with the name of the column that each is."""
    keys: dict[Node, str] = {}
    aliases = {_bare(each.unalias()): each.alias for each in tree.expressions if each.alias}
    projected = {each.alias.casefold(): each.unalias() for each in tree.expressions if each.alias}
    for column in query.table.every:  # a column comes before an alias of its name
        projected.pop(column.name.casefold(), None)
    for each in tree.args["group"].expressions if tree.args.get("group") else ():
        node = _bare(each)
        if isinstance(node, exp.Literal) and node.is_int and 1 <= int(node.this) <= len(tree.expressions):
            node = tree.expressions[int(node.this) - 1].unalias()
        elif isinstance(node, exp.Column) and not node.table:
            node = projected.get(node.name.casefold(), node)
        node = _bare(node)
        if node.find(exp.AggFunc) or isinstance(node, exp.Literal):
            right = "group by columns, or expressions on the columns of one row"
            raise InputError(f"GROUP BY {each.sql()[:60]}", right)
        keys[node] = query.named(node, aliases.get(node, ""))
    if len(keys) > MOST_BY:
        raise InputError(f"GROUP BY has {len(keys)} columns", f"at most {MOST_BY}")
    return keys


def _listed(tree: exp.Select, query: SelectQuery, keys: list[str], asked: Node) -> None:
    """Read ORDER BY COUNT(*) DESC LIMIT k as the most frequent values; refuse others.

    `asked` is the first aggregate, as it is projected.
    """
    order, limit = tree.args.get("order"), tree.args.get("limit")
    if order is None and limit is None:
        return
    one, *more = query.statistics
    right = "sort the released table; for the k most frequent, ORDER BY COUNT(*) DESC LIMIT k, by one column"
    if more or one["what"] != "count" or len(keys) != 1 or order is None or limit is None:
        raise InputError("ORDER BY or LIMIT is not read here", right)
    first, *others = order.expressions
    by, count = first.this, asked.unalias()
    # Of a column and an alias of one name, databases order by either.
    by_alias = isinstance(by, exp.Column) and not by.table and asked.alias not in query.known
    is_count = by == count or (by_alias and by.this == asked.args.get("alias"))
    if others or not first.args.get("desc") or not (is_count and isinstance(count, exp.Count)):
        raise InputError(f"{order.sql()[:60]} is not read", right)
    if not isinstance(limit.expression, exp.Literal) or not limit.expression.is_int:
        raise InputError(f"{limit.sql()[:60]} is not read", "write LIMIT 10")
    del one["by"]
    one |= {"what": "top", "column": keys[0], "k": int(limit.expression.this)}
