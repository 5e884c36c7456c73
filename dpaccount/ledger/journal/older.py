"""Chains whose records an earlier version stored, written anew: the same entries, with new roots and digests.

An old root holds the digest of records in a form that nothing here reads.  All that they say follows from
the entries, so each entry is applied as it is verified, and gets the root that it leads to.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from dpaccount.documents import canonical
from dpaccount.ledger.balances.state import Nodes
from dpaccount.ledger.entry import ORIGIN, Entry, seal
from dpaccount.ledger.journal.verify import BAD_ENTRY, Chain, Fault, scratch
from dpaccount.ledger.stores.rows import Rows


class _Anew(Chain):
    """A chain whose old roots must hold the totals of the ledger's life, and records where there are any."""

    @classmethod
    def begin(cls, first: Entry, scratch: Nodes) -> Chain:
        """Return the chain of entry 0 alone, to which each further charge is added by itself."""
        chain = super().begin(first, scratch)
        chain.alone = 2**63
        return chain

    def agrees(self, entry: Entry) -> bool:
        """Return whether a root is that of the balances, but for the digest of records."""
        old, new = (entry.root or "").split("|"), self.state.text.split("|")
        return (old[:5], len(old)) == (new[:5], len(new))


def _entries(source: Rows, nodes: Nodes) -> Iterator[Entry]:
    """Yield the new entries; raises `Fault` where the old chain is wrong."""
    chain: Chain | None = None
    before = ORIGIN
    for number, entry in enumerate(source.entries()):
        try:
            chain = _Anew.begin(entry, nodes) if chain is None else chain.take(entry)
        except BAD_ENTRY:
            raise Fault(number) from None
        root = None if entry.root is None else chain.state.text
        before = seal(before, number, entry.kind, entry.key, entry.about, entry.body, root)
        yield replace(entry, root=root, digest=before)
    if chain is None:
        raise Fault(0)


@contextmanager
def rewritten(source: Rows, schema: str) -> Iterator[Path]:
    """Provide a file of exported lines with new roots and digests; raises `Fault` for an invalid chain."""
    with TemporaryDirectory() as folder, scratch() as nodes:
        lines, entries = Path(folder) / "lines", Path(folder) / "entries"
        with entries.open("wb") as out:
            last = _written(out, _entries(source, nodes))
        with lines.open("wb") as out, entries.open("rb") as rest:
            about = {"schema": schema, "format": ORIGIN, "last": last.number, "head": last.digest}
            out.write(canonical(about) + b"\n")
            shutil.copyfileobj(rest, out)
        yield lines


def _written(out: BinaryIO, entries: Iterator[Entry]) -> Entry:
    for entry in entries:
        out.write(canonical(entry.fields()) + b"\n")
    return entry
