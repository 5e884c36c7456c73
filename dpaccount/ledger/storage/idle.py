"""Connections that no thread uses: kept for the next one, closed before every fork, forgotten in a child.

What a connection knows, SQLite's of locks or a server's of a session, is of the process that opened it: a
child that used or closed it would spoil its parent's.
"""

from typing import Any, Final, Generic, Protocol, TypeVar
from weakref import WeakSet

from dpaccount.noise import process

Process = tuple[int, int]
_ABANDONED: Final[list[object]] = []  #: what another process opened: never ended here
_POOLS: Final[WeakSet["Idle[Any]"]] = WeakSet()


class Closable(Protocol):
    """What can be closed."""

    def close(self) -> object:
        """Close it."""


L = TypeVar("L", bound=Closable)


class Idle(Generic[L]):
    """The idle connections of one ledger in one process; each is lent to one thread at a time.

    There is no lock, which a fork could leave held: what is done to the list is done at once.
    """

    def __init__(self) -> None:
        self._held: tuple[Process, list[L]] = process.this(), []
        _POOLS.add(self)

    def take(self) -> L | None:
        """Return a connection, which is the caller's until it is kept again; None where there is none."""
        try:
            return self._links().pop()
        except IndexError:
            return None

    def keep(self, link: L, since: Process) -> None:
        """Keep a connection that the process `since` used, if this is that one."""
        if since == process.this():
            self._links().append(link)
        else:
            _ABANDONED.append(link)

    def let_go(self) -> None:
        """Close all; they are opened again when they are needed."""
        while (link := self.take()) is not None:
            link.close()

    def _links(self) -> list[L]:
        """Return those of this process."""
        if self._held[0] != process.this():
            _ABANDONED.append(self._held)
            self._held = process.this(), []
        return self._held[1]


def _let_go() -> None:
    for pool in list(_POOLS):
        pool.let_go()


process.before_forks(_let_go)
