"""All balances of a ledger: what units have spent, and a register of scopes, cohorts and more.

One line of text, which the last entry of a commit holds, authenticates all of it: the root of the
tree of what units spent in the ledger's life (`segment_tree`) and, once there is any record, the
digest of the register.  Once a ledger was reset, the current period has a tree of its own, and so
has the year.  Every scope has one for the current period.  Their roots are records of the register;
their nodes are stored under numbers below zero, each tree's in an area of its own.

The register's records are in buckets below a tree of digests: SHA-256 of a name chooses one of 32 groups
and in it one of 32 buckets.  A bucket's row holds its records, a group's row the digests of its buckets,
and row 0 those of the groups; a row that was changed or put back in the file is detected when it is next
read.  To read or change a record takes three rows, however many there are.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Final, NamedTuple, Protocol, cast

import msgspec
from msgspec import structs

from dpaccount.accounting.measures import Amounts
from dpaccount.errors import DpaccountError, InputError
from dpaccount.ledger.balances import ranges, segment_tree, step_functions
from dpaccount.ledger.balances.budget import Budget, calendar_period, cap
from dpaccount.ledger.balances.ranges import Ranges
from dpaccount.ledger.balances.segment_tree import Mark, Opened, Root, SpentTree, changed, text_digest
from dpaccount.ledger.balances.step_functions import Step, negative
from dpaccount.ledger.entry import RECORDS

UNIT_BITS: Final = 42  #: of units in a scope, or after a reset
MOST_DEEP: Final = 16
_WORD: Final = "[a-z0-9][a-z0-9._-]{0,63}"
_SCOPE: Final = re.compile(f"{_WORD}(/{_WORD})*")
Change = tuple[Amounts, list[Mark]]
FAN: Final = 32  #: groups, and buckets of each
PERIOD, YEAR, SCOPES = 1, 2, 3  #: areas of trees; area 0 is the register, areas from 3 on are scopes
MOST_AREAS: Final = 2**20  #: including the trees of the period and the year
_NAME: Final = re.compile(
    "period|year|scopes|rights|reservation [1-9][0-9]{0,17}|(scope|cohort) [a-z0-9._/-]+|asked [0-9a-f]{64}"
)
_LIFE: Final = "the life cap's {}, which no reset lifts"
_NONE: Final = [""] * FAN  #: the digests of a row that is not there
_Digests = Annotated[list[str], msgspec.Meta(min_length=FAN, max_length=FAN)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=str.lower):
    """What is stored under a name, whose first word is its kind; checked when it is read."""


class Cohort(Record, frozen=True, omit_defaults=True):
    """A cohort's units, and whether they were charged: then they are fixed, or if it `grows`, none leaves."""

    units: Ranges
    charged: bool
    grows: bool = False

    def __post_init__(self) -> None:
        ranges.read(self.units)


class Period(Record, frozen=True):
    """The current period: its number, the reset that began it, and the root of its tree."""

    number: _Count
    entry: _Count
    root: str


class Reservation(Record, frozen=True):
    """The digest of a reservation's body, and its open parts."""

    body: str
    open: Ranges

    def __post_init__(self) -> None:
        ranges.read(self.open)


class Scope(Record, frozen=True, omit_defaults=True):
    """A scope's area, the period that its root is of, its cap, and how often that renews.

    `began` is the day, week, month or year that its root is of (`calendar_period`), `charge_epsilon` what one
    charge may cost at the cap's δ ("": as much as fits).
    """

    area: Annotated[int, msgspec.Meta(ge=SCOPES, lt=MOST_AREAS)]
    period: _Count
    root: str
    epsilon: str
    delta: str
    every: Annotated[str, msgspec.Meta(pattern="^(day|week|month|year)?$")] = ""
    began: str = ""
    charge_epsilon: str = ""

    def __post_init__(self) -> None:
        cap(self.epsilon, self.delta)
        cap(self.charge_epsilon or "0", self.delta)

    def renewed(self, time: str) -> str | None:
        """Return the calendar period that begins if something is charged at this time; None if none does.

        None where a clock goes back: what was renewed stays so.
        """
        period = calendar_period(self.every, time)
        return period if period > self.began else None


class Scopes(Record, frozen=True):
    """How many scopes there are."""

    count: Annotated[int, msgspec.Meta(ge=0, lt=MOST_AREAS)]


class Grant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A right of a person in a scope ("": everywhere), until a day ("": without end)."""

    person: str
    may: str
    scope: str
    until: str

    def within(self, other: "Grant") -> bool:
        """Return whether another grant gives this one, too."""
        same = (self.person, self.may, self.scope) == (other.person, other.may, other.scope)
        return same and (not other.until or (bool(self.until) and self.until <= other.until))


class Rights(Record, frozen=True):
    """What people may do, and the server's role that may name people as authors of entries."""

    grants: list[Grant]
    writer: str
    latest: str = ""  #: the latest day of an entry by one of them

    @property
    def arrangers(self) -> set[str]:
        """Return who may arrange."""
        return {one.person for one in self.grants if one.may == "arrange"}


class Asked(Record, frozen=True, omit_defaults=True):
    """A request, by its entry and the digest of its body: who asks, and who approved it ("": nobody yet).

    `until` is the last day of that approval; "" for one of an earlier version, which has none.
    """

    entry: _Count
    body: str
    by: str
    approved: str
    until: str = ""


class Year(Record, frozen=True):
    """The current year, and the root of its tree; None while that is the tree of the ledger's life."""

    year: _Count
    root: str | None


_Bucket = dict[str, Asked | Cohort | Rights | Period | Reservation | Scope | Scopes | Year]


class Nodes(Protocol):
    """A store of nodes: a transaction of a ledger, or a temporary file."""

    def node(self, node: int, /) -> Any:
        """Return the stored text of a node, or None."""

    def put(self, nodes: dict[int, str | None], /) -> None:
        """Write nodes; None deletes one."""

    def drop(self, low: int, high: int, /) -> None:
        """Delete the nodes from `low` to `high`."""


class Overlay:
    """Nodes as `fetch` reads them, under changes that are not written yet (None: deleted)."""

    def __init__(self, fetch: Callable[[int], Any]) -> None:
        self.changed: dict[int, str | None] = {}
        self._gone: list[tuple[int, int]] = []
        self._fetch = fetch

    def node(self, node: int, /) -> Any:
        """Return the text of a node, or None."""
        if node in self.changed:
            return self.changed[node]
        dropped = self._gone and any(low <= node <= high for low, high in self._gone)
        return None if dropped else self._fetch(node)

    def put(self, nodes: dict[int, str | None], /) -> None:
        """Change nodes; None deletes one."""
        self.changed.update(nodes)

    def drop(self, low: int, high: int, /) -> None:
        """Delete the nodes from `low` to `high`."""
        for gone in [one for one in self.changed if low <= one <= high]:
            del self.changed[gone]
        self._gone.append((low, high))

    def keep(self, nodes: Nodes) -> None:
        """Write the changes to a store, and begin anew."""
        for low, high in self._gone:
            nodes.drop(low, high)
        nodes.put(self.changed)
        self.changed, self._gone = {}, []


class Over(NamedTuple):
    """A limit that is exceeded: whose it is, in words around it, the limits, a unit, and its sum."""

    whose: str
    limits: Budget
    unit: int
    total: Amounts
    scope: str | None  #: None: of the ledger
    of_life: bool = False
    of_one: bool = False  #: one charge alone exceeds it


class Register:
    """The records; their rows have negative numbers, next to those of the trees."""

    def __init__(self, digest: str, nodes: Overlay) -> None:
        self.digest, self._nodes = digest, nodes
        self._known: dict[tuple[int, str], Any] = {}  #: cache of verified rows

    def get(self, name: str) -> Any:
        """Return the record of a name, or None; raises `LedgerError` for a row that was changed."""
        if not self.digest:
            return None
        group, place, bucket = _way(name)
        digest = self._digests(group, self._digests(0, self.digest)[group - 1])[place]
        return self._records(bucket, digest).get(name)

    def put(self, name: str, record: Record | None) -> None:
        """Set the record of a name; None deletes it."""
        group, place, bucket = _way(name)
        groups = self._digests(0, self.digest)
        buckets = self._digests(group, groups[group - 1])
        records = {**self._records(bucket, buckets[place]), name: record}
        below = self._stored(bucket, {name: one for name, one in records.items() if one is not None})
        within = self._stored(group, [*buckets[:place], below, *buckets[place + 1 :]])
        self.digest = self._stored(0, [*groups[: group - 1], within, *groups[group:]])

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield all records."""
        for group, below in enumerate(self._digests(0, self.digest), 1):
            for place, digest in enumerate(self._digests(group, below)):
                yield from self._records(_bucket(group, place), digest).items()

    def _stored(self, row: int, content: dict[str, Any] | list[str]) -> str:
        """Write a row and return its digest; one without records below it is deleted, and has none."""
        text = msgspec.json.encode(content, order="sorted").decode() if any(content) else None
        self._nodes.changed[-1 - row] = text
        return "" if text is None else text_digest(text)

    def _digests(self, row: int, digest: str) -> list[str]:
        return self._read(row, digest, _DIGESTS) if digest else _NONE

    def _records(self, row: int, digest: str) -> dict[str, Any]:
        return self._read(row, digest, _RECORDS) if digest else {}

    def _read(self, row: int, digest: str, decoder: "msgspec.json.Decoder[Any]") -> Any:
        """Read, verify and parse a row."""
        if (row, digest) not in self._known:
            text = self._nodes.node(-1 - row)
            if not isinstance(text, str) or text_digest(text) != digest:
                raise changed()
            try:
                content = decoder.decode(text)
            except (msgspec.MsgspecError, DpaccountError, ValueError, ArithmeticError, RecursionError):
                raise changed() from None
            if decoder is _RECORDS and not all(map(_is_named, content, content.values())):
                raise changed()
            self._known[row, digest] = content
        return self._known[row, digest]


_DIGESTS: Final = msgspec.json.Decoder(_Digests)
_RECORDS: Final = msgspec.json.Decoder(_Bucket)


def rows_of(names: Iterable[str]) -> set[int]:
    """Return the rows that reading or changing these records reads."""
    ways = [_way(name) for name in names]
    return {-1, *(-1 - row for group, _, bucket in ways for row in (group, bucket))}


def _is_named(name: str, record: Record) -> bool:
    kind = record.__struct_config__.tag
    return bool(_NAME.fullmatch(name)) and name.partition(" ")[0] == kind


def _way(name: str) -> tuple[int, int, int]:
    """Return the row of a name's group, its place there, and the row of its bucket."""
    # Places are fixed, so that a server's rows can be asked for beforehand, and nothing is ever split or
    # joined, as in a trie.  The price is paid by many names: 10⁵ make buckets of 10 kB.
    first, second = hashlib.sha256(name.encode()).digest()[:2]
    group, place = 1 + first % FAN, second % FAN
    return group, place, _bucket(group, place)


def _bucket(group: int, place: int) -> int:
    return FAN * group + 1 + place


class State:
    """The balances after an entry: read lazily, changed in memory (`nodes`), written by `keep`."""

    def __init__(
        self, text: object, width: int, fetch: Callable[[int], Any], opened: dict[int, Opened] | None = None
    ) -> None:
        root, digest = split(text)
        #: cache shared by the states of one transaction, by area
        self._opened = {} if opened is None else opened
        self.width = width
        self.life = self._root(root)
        self.nodes = Overlay(fetch)
        self.register = Register(digest, self.nodes)

    @property
    def text(self) -> str:
        """Return the line that authenticates all balances, as entries hold it."""
        try:
            return self.life.text + (f"|{RECORDS}{self.register.digest}" if self.register.digest else "")
        except segment_tree.TooLargeError:  # sums that fit a budget have fewer digits
            raise changed() from None

    @property
    def period(self) -> Period | None:
        """Return the record of the current period; None before the first reset: then it is the whole life."""
        return cast("Period | None", self.register.get("period"))

    @property
    def period_number(self) -> int:
        """Return the number of resets, which is that of the period."""
        period = self.period
        return 0 if period is None else period.number

    def period_tree(self) -> SpentTree:
        """Return the tree of the current period, which the budget limits."""
        period = self.period
        return self.tree(None, self.life) if period is None else self.tree(PERIOD, self._root(period.root))

    def year_tree(self, now: int | None = None) -> SpentTree | None:
        """Return the tree of the current year; None if there is none, and the life's sum must be used."""
        year = self.register.get("year")
        # A year later than `now` was begun by a wrong clock.
        if year is None or year.root is None or (now is not None and year.year > now):
            return None
        return self.tree(YEAR, self._root(year.root))

    def scope(self, name: str) -> Scope | None:
        """Return the record of a scope, or None."""
        return cast("Scope | None", self.register.get(f"scope {name}"))

    def existing_scope(self, name: str) -> Scope:
        """Return the record of a scope; raises `InputError` if there is none."""
        record = self.scope(name)
        if record is None:
            raise InputError(f"there is no scope {name}", "make it with `dpaccount ledger scope`")
        return record

    def scope_tree(self, record: Scope) -> SpentTree:
        """Return the tree of a scope in the current period."""
        stale = record.period != self.period_number
        root = segment_tree.nothing(self.width) if stale else self._root(record.root)
        return self.tree(record.area, root)

    def tree(self, area: int | None, root: Root) -> SpentTree:
        """Return the tree of an area (None: that of the ledger's life)."""
        fetch = self.nodes.node if area is None else lambda node: self.nodes.node(place(area, node))
        return SpentTree(root, fetch, self._opened.setdefault(area or 0, {}), area or 0)

    def cohort(self, name: str) -> Cohort:
        """Return the record of a cohort; raises `InputError` if there is none."""
        record: Cohort | None = self.register.get(f"cohort {cohort_name(name)}")
        if record is None:
            raise InputError(f"there is no cohort {name}", "make it with `dpaccount ledger cohort`")
        return record

    def over(self, budget: Budget, scope: str | None, sought: int | None = None) -> Over | None:
        """Return which limit is exceeded, of the ledger, its life, or the scopes; None if none is.

        A search of more than `sought` nodes ends as if a unit had been found (`SpentTree.beyond`).
        """
        limited: list[tuple[str, Budget, SpentTree, str | None]]
        limited = [("the budget's {}", budget, self.period_tree(), None)]
        if budget.of_life is not None and self.period is not None:  # before a reset, the period is the life
            limited.append((_LIFE, budget.of_life, self.tree(None, self.life), None))
        for name in lineage(scope):
            record = self.existing_scope(name)
            whose = f"the {{}}{' a ' * bool(record.every)}{record.every} of the scope {name}"
            limits = budget.capped(record.epsilon, record.delta)
            limited.append((whose, limits, self.scope_tree(record), name))
        for whose, limits, spent, scope_of in limited:
            excess = spent.beyond(limits.fits, sought)
            if excess is not None:
                return Over(whose, limits, *excess, scope_of, of_life=whose == _LIFE)
        return None

    def over_one(self, budget: Budget, steps: list[Step], scope: str | None) -> Over | None:
        """Return which cap for one charge this charge exceeds, of its scope and those above; None if none."""
        for name in lineage(scope):
            record = self.existing_scope(name)
            limits = budget.capped(record.charge_epsilon, record.delta) if record.charge_epsilon else None
            beyond = (step for step in steps if limits is not None and not limits.fits(step[1]))
            if (step := next(beyond, None)) is not None and limits is not None:
                whose = f"the {{}} that one charge in the scope {name} may cost"
                return Over(whose, limits, *step, name, of_one=True)
        return None

    def spend(self, functions: Iterable[list[Step]], scope: str | None, *, back: bool = False) -> None:
        """Add charges to all trees that they count in, or with `back` undo them."""
        change = change_of(functions, self.width, back=back)
        self.add_life(change)
        if self.register.digest:
            self.add_year(change)
            self.add_period(change, scope)
        elif scope is not None:
            self.existing_scope(scope)

    def add_life(self, change: Change) -> None:
        """Add marks to the tree of the ledger's life."""
        self.life = self._added(None, self.tree(None, self.life), change)

    def add_year(self, change: Change) -> None:
        """Add marks to the tree of the year, if there is one."""
        tree = self.year_tree()
        if tree is not None:
            year = self.register.get("year")
            self.register.put("year", structs.replace(year, root=self._added(YEAR, tree, change).text))

    def add_period(self, change: Change, scope: str | None) -> None:
        """Add marks to the trees of the period, of a scope, and of all scopes above it."""
        period = self.period
        if period is not None:
            root = self._added(PERIOD, self.period_tree(), change)
            self.register.put("period", structs.replace(period, root=root.text))
        for name in lineage(scope):
            self.add_scope(name, change)

    def add_scope(self, name: str, change: Change) -> None:
        """Add marks to the tree of one scope."""
        record = self.existing_scope(name)
        root = self._added(record.area, self.scope_tree(record), change)
        self.register.put(f"scope {name}", structs.replace(record, period=self.period_number, root=root.text))

    def renew_scope(self, name: str, began: str) -> None:
        """Begin a calendar period of a scope, in which nothing is spent yet."""
        record, nothing = self.existing_scope(name), segment_tree.nothing(self.width).text
        self.drop(record.area, record.area)
        new = structs.replace(record, period=self.period_number, root=nothing, began=began)
        self.register.put(f"scope {name}", new)

    def to_renew(self, scope: str | None, time: str) -> list[tuple[str, str]]:
        """Return the scopes, of one and those above it, of which a charge at this time begins a period."""
        known = [(name, self.scope(name)) for name in lineage(scope)]
        begun = [(name, None if record is None else record.renewed(time)) for name, record in known]
        return [(name, period) for name, period in begun if period is not None]

    def drop(self, first: int, last: int) -> None:
        """Delete the nodes of these areas."""
        self.nodes.drop(-((last + 1) << UNIT_BITS + 1) + 1, -(first << UNIT_BITS + 1))

    def keep(self, rows: Nodes) -> None:
        """Write what changed."""
        self.nodes.keep(rows)
        self._opened.clear()

    def _added(self, area: int | None, tree: SpentTree, change: Change) -> Root:
        tree.add(*change)
        if any(amount < 0 for _, _, amounts in change[1] for amount in amounts):
            tree.shrink()
        new = tree.changed
        self.nodes.put(new if area is None else {place(area, node): new[node] for node in new})
        return tree.root

    def _root(self, text: object) -> Root:
        try:
            return segment_tree.read(text, self.width)
        except (ValueError, TypeError, ArithmeticError):
            raise changed() from None


def split(text: object) -> tuple[str, str]:
    """Return the root of the life's tree and the register's digest; raises `LedgerError` for other text."""
    if not isinstance(text, str):
        raise changed()
    root, digest = "|".join(text.split("|")[:5]), text.split("|")[5:]
    if len(digest) > 1 or not all(one.startswith(RECORDS) for one in digest):
        raise changed()
    return root, digest[0].removeprefix(RECORDS) if digest else ""


def place(area: int | None, node: int) -> int:
    """Return the number under which a node is stored: negative, except for the life's tree."""
    if area is None:
        return node
    height = segment_tree.HEIGHT + 1 - node.bit_length()
    if height > UNIT_BITS:
        raise InputError(
            "a cover ends beyond the units of a scope, or of a ledger that was reset",
            f"they go up to 2^{UNIT_BITS} - 1",
        )
    index = node ^ (1 << node.bit_length() - 1)
    return -((area << UNIT_BITS + 1) | (1 << UNIT_BITS - height) | index)


def lineage(scope: str | None) -> list[str]:
    """Return a scope and all above it, the highest first; raises `InputError` for a malformed name.

    >>> lineage("team/analyst")
    ['team', 'team/analyst']
    """
    if scope is None:
        return []
    words = scope_name(scope).split("/")
    return ["/".join(words[: count + 1]) for count in range(len(words))]


def scope_name(name: object) -> str:
    """Return the name of a scope (words separated by slashes); raises `InputError` for anything else."""
    if not isinstance(name, str) or not _SCOPE.fullmatch(name) or name.count("/") >= MOST_DEEP:
        raise InputError(
            f"{name!r} is no name",
            "give words of a-z, 0-9, dots, dashes and underscores, with slashes between",
        )
    return name


def cohort_name(name: str) -> str:
    """Return the name of a cohort; raises `InputError` for any other text."""
    if "/" in scope_name(name):
        raise InputError("a cohort's name has no slash", "use a dash")
    return name


def change_of(functions: Iterable[list[Step]], width: int, *, back: bool = False) -> Change:
    """Return what every unit pays for charges, and what ranges of units pay on top; negative if `back`."""
    everyone, marks = step_functions.zero(width), list[Mark]()
    for steps in functions:
        all_pay, some_pay = segment_tree.marks_of(steps, width)
        everyone = step_functions.plus(everyone, all_pay)
        marks += some_pay
    if back:
        everyone, marks = negative(everyone), [(first, last, negative(more)) for first, last, more in marks]
    return everyone, marks
