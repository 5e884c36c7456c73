"""Recomputing a ledger: every digest, the order of the entries, and every total."""

from dataclasses import dataclass

from dpaccount.errors import InputError
from dpaccount.ledger import spending, totals
from dpaccount.ledger.budget import Budget, read_budget
from dpaccount.ledger.chain import BUDGET, CHARGE, ORIGIN, Entry
from dpaccount.ledger.spending import Step
from dpaccount.ledger.store import Rows

Bad = int | str  #: the number of an entry, or ``head``, ``profile``, ``file``


@dataclass
class _Chain:
    """The entries read so far."""

    next: int
    digest: str
    budget: Budget
    charges: list[list[Step]]
    claim: str | None = None  #: the last digest of totals, if no charge without one followed


def first_bad(rows: Rows) -> Bad | None:
    """Return what is wrong first, or None: the entry that is changed or missing, the head, or the totals."""
    last, head = rows.head()
    chain: _Chain | None = None
    for entry in rows.entries():
        try:
            chain = _begun(entry) if chain is None else _continued(chain, entry)
        except (InputError, ValueError, TypeError, LookupError, ArithmeticError):
            return 0 if chain is None else chain.next
    if chain is None:
        return 0
    if last != chain.next - 1 or head != chain.digest:
        return chain.next if isinstance(last, int) and last >= chain.next else "head"
    steps = spending.total(chain.charges, chain.budget.width)
    written = [(first, spending.written(amounts)) for first, amounts in steps]
    if rows.steps() != written or not chain.budget.fits(spending.most(steps, chain.budget.width)):
        return "profile"
    if chain.claim not in (None, totals.digest_of(steps)):
        return "profile"
    return None if rows.sound() else "file"


def _begun(entry: Entry) -> _Chain:
    if entry.number != 0 or entry.kind != BUDGET or not entry.follows(ORIGIN):
        raise ValueError
    return _Chain(1, entry.digest, read_budget(entry.body), [])


def _continued(chain: _Chain, entry: Entry) -> _Chain:
    if entry.number != chain.next or not entry.follows(chain.digest):
        raise ValueError
    if entry.kind == CHARGE:
        chain.charges.append(totals.charged(entry, chain.budget.width))
        chain.claim = None
    chain.claim = totals.claim(entry) or chain.claim
    chain.next, chain.digest = chain.next + 1, entry.digest
    return chain
