"""What all entries of a ledger come to: what units have spent, and a register of all that was arranged.

One line of text, which stands in every entry of the chain, authenticates all of it: the root of the tree of
what units spent in the ledger's life (`dpaccount.ledger.tree`) and, once there is any record, the digest of
the register.  Once a ledger was reset, the current period has a tree of its own, and so has the year.  Every
scope has one for the current period.  Their roots stand in the register, and their nodes below zero, each
tree's in an area of its own.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from dpaccount.accounting.measures import Amounts
from dpaccount.errors import InputError
from dpaccount.ledger import tree as trees
from dpaccount.ledger.spending import Step
from dpaccount.ledger.state.register import PERIOD, YEAR, Register
from dpaccount.ledger.storage.rows import Nodes
from dpaccount.ledger.tree import Mark, Opened, Root, SpentTree

UNIT_BITS: Final = 42  #: of units in a scope, or after a reset
MOST_DEEP: Final = 16
_WORD: Final = "[a-z0-9][a-z0-9._-]{0,63}"
_NAME: Final = re.compile(f"{_WORD}(/{_WORD})*")
Change = tuple[Amounts, list[Mark]]


class State:
    """The state after an entry, read as it is needed; it changes in memory, and `keep` stores it."""

    def __init__(
        self, text: object, width: int, fetch: Callable[[int], Any], opened: dict[int, Opened] | None = None
    ) -> None:
        root, digest = split(text)
        self._opened = {} if opened is None else opened  #: nodes of each area, by states of one transaction
        self.width = width
        self.life = self._root(root)
        self.changed: dict[int, str | None] = {}
        self.gone: list[tuple[int, int]] = []
        self.register = Register(digest, self._fetched, self.changed)
        self._fetch = fetch

    @property
    def text(self) -> str:
        """Return the line that entries hold."""
        return self.life.text + (f"|{self.register.digest}" if self.register.digest else "")

    @property
    def period(self) -> dict[str, Any] | None:
        """Return the record of the current period; None before the first reset, when it is the whole life."""
        return self.register.get("period") if self.register.digest else None

    def period_tree(self) -> SpentTree:
        """Return the tree of what units spent in the current period: what the budget limits."""
        period = self.period
        return self.tree(None, self.life) if period is None else self.tree(PERIOD, self._root(period["root"]))

    def year_tree(self, now: int | None = None) -> SpentTree | None:
        """Return the tree of what units spent in the current year; None where only the life's is known.

        That is so, too, where it began in a year that is not yet `now`: by a clock that was wrong.
        """
        year = self.register.get("year") if self.register.digest else None
        if year is None or year["root"] is None or (now is not None and year["year"] > now):
            return None
        return self.tree(YEAR, self._root(year["root"]))

    def scope(self, name: str) -> dict[str, Any] | None:
        """Return the record of a scope; None where there is none."""
        found: dict[str, Any] | None = self.register.get(f"scope {name}") if self.register.digest else None
        return found

    def scope_tree(self, record: dict[str, Any]) -> SpentTree:
        """Return the tree of what units spent in a scope in the current period."""
        period = self.period
        stale = record["period"] != (0 if period is None else period["number"])
        return self.tree(record["area"], trees.nothing(self.width) if stale else self._root(record["root"]))

    def tree(self, area: int | None, root: Root) -> SpentTree:
        """Return the tree of an area (None: that of the ledger's life), to be read."""
        fetch = self._fetched if area is None else lambda node: self._fetched(place(area, node))
        return SpentTree(root, fetch, self._opened.setdefault(area or 0, {}), area or 0)

    def add_life(self, change: Change) -> None:
        """Add marks to what was spent in the ledger's life."""
        self.life = self._added(None, self.tree(None, self.life), change)

    def add_year(self, change: Change) -> None:
        """Add marks to what was spent in the year, where that is kept by itself."""
        tree = self.year_tree()
        if tree is not None:
            year = self.register.get("year")
            self.register.put("year", {**year, "root": self._added(YEAR, tree, change).text})

    def add_period(self, change: Change, scope: str | None) -> None:
        """Add marks to what was spent in the period, and in a scope and all above it."""
        period = self.period
        if period is not None:
            root = self._added(PERIOD, self.period_tree(), change)
            self.register.put("period", {**period, "root": root.text})
        for name in lineage(scope):
            record = self.scope(name)
            if record is None:
                raise InputError(f"there is no scope {name}; make it with `dpaccount ledger scope`")
            root = self._added(record["area"], self.scope_tree(record), change)
            number = 0 if period is None else period["number"]
            self.register.put(f"scope {name}", {**record, "period": number, "root": root.text})

    def drop(self, first: int, last: int) -> None:
        """Forget the nodes of these areas."""
        low, high = -((last + 1) << UNIT_BITS + 1) + 1, -(first << UNIT_BITS + 1)
        for gone in [one for one in self.changed if low <= one <= high]:
            del self.changed[gone]
        self.gone.append((low, high))

    def keep(self, rows: Nodes) -> None:
        """Store what changed."""
        for low, high in self.gone:
            rows.drop(low, high)
        rows.put(self.changed)
        for kept in (self.changed, self.gone, self._opened):
            kept.clear()

    def _added(self, area: int | None, tree: SpentTree, change: Change) -> Root:
        tree.add(*change)
        if any(amount < 0 for _, _, amounts in change[1] for amount in amounts):
            tree.shrink()
        placed = (
            tree.changed.items() if area is None else ((place(area, n), t) for n, t in tree.changed.items())
        )
        self.changed.update(placed)
        return tree.root

    def _fetched(self, where: int) -> Any:
        if where in self.changed:
            return self.changed[where]
        dropped = self.gone and any(low <= where <= high for low, high in self.gone)
        return None if dropped else self._fetch(where)

    def _root(self, text: object) -> Root:
        try:
            return trees.read(text, self.width)
        except (ValueError, TypeError, ArithmeticError):
            raise trees.changed() from None


def split(text: object) -> tuple[str, str]:
    """Return the root of the life's tree and the register's digest; raises `LedgerError` for no state."""
    if not isinstance(text, str):
        raise trees.changed()
    root, digest = "|".join(text.split("|")[:5]), text.split("|")[5:]
    if len(digest) > 1 or digest == [""]:
        raise trees.changed()
    return root, digest[0] if digest else ""


def place(area: int | None, node: int) -> int:
    """Return where a node of a tree is stored: those of the life's tree as they are, others below zero."""
    if area is None:
        return node
    height = trees.HEIGHT + 1 - node.bit_length()
    if height > UNIT_BITS:
        raise InputError(
            "a cover ends beyond the units of a scope, or of a ledger that was reset;"
            f" they go up to 2^{UNIT_BITS} - 1"
        )
    index = node ^ (1 << node.bit_length() - 1)
    return -((area << UNIT_BITS + 1) | (1 << UNIT_BITS - height) | index)


def lineage(scope: str | None) -> list[str]:
    """Return a scope and all above it, the highest first; raises `InputError` for what is no name.

    >>> lineage("team/analyst")
    ['team', 'team/analyst']
    """
    if scope is None:
        return []
    words = scope_name(scope).split("/")
    return ["/".join(words[: count + 1]) for count in range(len(words))]


def scope_name(name: object) -> str:
    """Return the name of a scope, words with slashes between; raises `InputError` for what is none."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.count("/") >= MOST_DEEP:
        raise InputError(
            f"{name!r} is no name; give words of a-z, 0-9, dots, dashes and underscores, with slashes between"
        )
    return name


def change_of(functions: Iterable[list[Step]], width: int, *, back: bool = False) -> Change:
    """Return the marks of charges; `back`: those that take them away again."""
    everyone, marks = trees.together(functions, width)
    if not back:
        return everyone, marks
    return tuple(-one for one in everyone), [
        (first, last, tuple(-one for one in amounts)) for first, last, amounts in marks
    ]
