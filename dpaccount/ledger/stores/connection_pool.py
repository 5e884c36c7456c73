"""Connection pool: idle database connections, closed before every fork and never used in a child.

The state of a connection (SQLite's locks, a server's session) belongs to the process that opened
it: a child that used or closed an inherited connection would corrupt its parent's.
"""

from typing import Any, Final, Generic, Protocol, TypeVar
from weakref import WeakSet

from dpaccount.forks import before_forks
from dpaccount.noise import process

Process = tuple[int, int]
_ABANDONED: Final[list[object]] = []  #: inherited: kept referenced, never closed
_POOLS: Final[WeakSet["Pool[Any]"]] = WeakSet()


class Closable(Protocol):
    """An object with a `close` method."""

    def close(self) -> object:
        """Close it."""


L = TypeVar("L", bound=Closable)


class Pool(Generic[L]):
    """The idle connections to one ledger in one process; each is lent to one thread at a time.

    No lock (a fork could leave it held): list operations are atomic.
    """

    def __init__(self) -> None:
        self._held: tuple[Process, list[L]] = process.identity(), []
        _POOLS.add(self)

    def take(self) -> L | None:
        """Remove and return an idle connection, or None; give it back with `keep`."""
        try:
            return self._links().pop()
        except IndexError:
            return None

    def keep(self, link: L, since: Process) -> None:
        """Put back a connection opened by process `since`, or abandon it after a fork."""
        if since == process.identity():
            self._links().append(link)
        else:
            _ABANDONED.append(link)

    def let_go(self) -> None:
        """Close all idle connections; new ones are opened when needed."""
        while (link := self.take()) is not None:
            link.close()

    def _links(self) -> list[L]:
        """Return this process's idle connections; after a fork, abandon the inherited ones."""
        if self._held[0] != process.identity():
            _ABANDONED.append(self._held)
            self._held = process.identity(), []
        return self._held[1]


def _let_go() -> None:
    for pool in list(_POOLS):
        pool.let_go()


before_forks(_let_go)
