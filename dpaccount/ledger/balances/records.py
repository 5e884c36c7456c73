"""Records by name (scopes, cohorts, open reservations, period, year), in buckets below a tree of digests.

SHA-256 of a name chooses one of 32 groups and in it one of 32 buckets.  A bucket's row holds its
records, a group's row the digests of its buckets, and row 0 those of the groups; its own digest is
part of the line of balances that entries hold, so a row that was changed or put back in the file is
detected when it is next read.  To read or change a record takes three rows, however many there are.

Buckets have fixed places, so that a server's rows can be asked for beforehand, and nothing is ever
split or joined, as in a trie.  The price is paid by many names: 10⁵ make buckets of 10 kB.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Final, Protocol

import msgspec

from dpaccount.errors import DpaccountError
from dpaccount.ledger.balances import ranges
from dpaccount.ledger.balances.budget import cap
from dpaccount.ledger.balances.ranges import Ranges
from dpaccount.ledger.balances.segment_tree import changed, text_digest

FAN: Final = 32  #: groups, and buckets of each
PERIOD, YEAR, SCOPES = 1, 2, 3  #: areas of trees; area 0 is the register, areas from 3 on are scopes
MOST_AREAS: Final = 2**20  #: including the trees of the period and the year
_NAME: Final = re.compile("period|year|scopes|reservation [1-9][0-9]{0,17}|(scope|cohort) [a-z0-9._/-]+")
_NONE: Final = [""] * FAN  #: the digests of a row that is not there
_Digests = Annotated[list[str], msgspec.Meta(min_length=FAN, max_length=FAN)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=str.lower):
    """What is stored under a name, whose first word is its kind; checked when it is read."""


class Cohort(Record, frozen=True):
    """A cohort's units, and whether they were charged and are fixed by that."""

    units: Ranges
    charged: bool

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


class Scope(Record, frozen=True):
    """A scope's area, the period that its root is of, and its cap."""

    area: Annotated[int, msgspec.Meta(ge=SCOPES, lt=MOST_AREAS)]
    period: _Count
    root: str
    epsilon: str
    delta: str

    def __post_init__(self) -> None:
        cap(self.epsilon, self.delta)


class Scopes(Record, frozen=True):
    """How many scopes there are."""

    count: Annotated[int, msgspec.Meta(ge=0, lt=MOST_AREAS)]


class Year(Record, frozen=True):
    """The current year, and the root of its tree; None while that is the tree of the ledger's life."""

    year: _Count
    root: str | None


_Bucket = dict[str, Cohort | Period | Reservation | Scope | Scopes | Year]


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
    first, second = hashlib.sha256(name.encode()).digest()[:2]
    group, place = 1 + first % FAN, second % FAN
    return group, place, _bucket(group, place)


def _bucket(group: int, place: int) -> int:
    return FAN * group + 1 + place
