"""Rebuilding a ledger's balances and head from its entries.

Entries themselves are never changed: where one was, nothing is repaired.
"""

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import Any, Final

from dpaccount.errors import LedgerError
from dpaccount.ledger.entry import Entry
from dpaccount.ledger.journal.verify import Fault, chain_of, differ, scratch
from dpaccount.ledger.stores.rows import HIGHEST, LOWEST, Rows
from dpaccount.ledger.stores.store import Store

_ROWS: Final = 2000  #: nodes that are written at a time


def repair(url: str, head: str | None = None) -> dict[str, Any]:
    """Rebuild a ledger's balances and head from its entries: ``{"repaired", "entries", "head"}``.

    `repaired` names what was wrong: ``balances``, ``head``, both or nothing.  `head` is the digest
    of the last entry, given by somebody who vouches that no later one was lost; it is needed only
    where the ledger's own note of its head is not on the chain.  Raises `LedgerError` where an
    entry was changed or may be missing, and then changes nothing.
    """
    with closing(Store.open(url)) as store, store.writing() as rows, scratch() as ours:
        end = _end(rows, ours)
        if head is not None and head != end.digest:
            raise LedgerError(
                f"--head is {head[:80]!r}, and the last entry {end.number} has the digest {end.digest}"
            )
        repaired = ["balances"] if differ(ours, rows) else []
        if rows.head() != (end.number, end.digest):
            _check_whole(rows, end, head)
            repaired.append("head")
        if "balances" in repaired:
            rows.drop(LOWEST, HIGHEST)
            for nodes in _pages(ours.nodes()):
                rows.put(nodes)
                rows.finish()
        if repaired:  # for balances alone, too: a commit that is cut is then reported as unknown
            rows.point(end)
    return {"repaired": repaired, "entries": end.number, "head": end.digest}


def _end(rows: Rows, ours: Rows) -> Entry:
    """Return the last entry, with the balances added up in `ours`; raises `LedgerError` for a bad entry."""
    try:
        end = chain_of(rows.entries(), ours).at
    except Fault as fault:
        raise _beyond_repair(fault.where) from None
    if not rows.sound():
        raise _beyond_repair("file")
    return end


def _beyond_repair(where: int | str) -> LedgerError:
    what = f"entry {where}" if isinstance(where, int) else f"the ledger's {where}"
    return LedgerError(
        f"{what} is wrong, and only balances and the head can be rebuilt; nothing was changed:"
        " see `dpaccount ledger verify`"
    )


def _check_whole(rows: Rows, end: Entry, head: str | None) -> None:
    """Refuse a ledger whose note of its head is not on the chain, unless somebody vouches for its end."""
    last, noted = rows.head()
    entry = rows.entry(last)
    if head is None and (entry is None or entry.digest != noted):
        raise LedgerError(
            f"the entries end with {end.number}, the ledger notes another end, {last}: entries may be lost;"
            f" repair with --head {end.digest}, and charge what may be lost by `dpaccount ledger forfeit`"
        )


def _pages(nodes: Iterator[tuple[int, Any]]) -> Iterator[dict[int, str | None]]:
    while page := dict(islice(nodes, _ROWS)):
        yield page
