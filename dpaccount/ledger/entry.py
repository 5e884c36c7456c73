"""The hash chain: every entry's digest covers the whole entry and the digest before it.

A ledger is a list of entries, numbered from 0.  Entry 0 is the budget.  The others are charges and
refusals; a charge's marks that drawing began and that its release is kept; scopes, cohorts, resets,
forfeits and clocks; reservations, and marks that parts of them were drawn or returned; what people
may do, what they ask for and what is approved.  The last entry of a commit holds the
root of all balances, so the next charge that reads a changed balance detects it.
A copy of the head (the last digest) elsewhere detects any later change; without one, an attacker
who rewrites every entry, all balances and the head leaves no trace.
"""

from dataclasses import dataclass, field
from typing import Final

from dpaccount.documents import digest
from dpaccount.errors import LedgerError

BUDGET: Final = "budget"
CHARGE: Final = "charge"
REFUSAL: Final = "refusal"
DRAWING: Final = "drawing"
RELEASE: Final = "release"
SCOPE: Final = "scope"
COHORT: Final = "cohort"
RESERVATION: Final = "reservation"
ROUNDS: Final = "rounds"  #: parts of a reservation are drawn
RETURN: Final = "return"
RESET: Final = "reset"
FORFEIT: Final = "forfeit"  #: charges what may have been lost; undrawn charges close
CLOCK: Final = "clock"  #: its time is right, after a pause or after a clock that was ahead
GRANT: Final = "grant"  #: what a person may do in a scope; nothing, if it is revoked
REQUEST: Final = "request"
APPROVAL: Final = "approval"  #: of a request, or that it is refused

ARRANGING: Final = (
    SCOPE,
    COHORT,
    RESET,
    FORFEIT,
    CLOCK,
    GRANT,
    APPROVAL,
)  #: kinds that a server lets only some roles write
TAKING: Final = (RESERVATION, ROUNDS, RETURN)
MOVING: Final = (*TAKING, RESET)  #: kinds that always change the register
CHANGING: Final = (CHARGE, REQUEST, *TAKING, *ARRANGING)  #: kinds that change the state
KINDS: Final = (BUDGET, REFUSAL, DRAWING, RELEASE, *CHANGING)  #: every kind that there is

#: facts of a charge: a certificate's digest, the ε that it confirms
CERTIFIED: Final = ("certificate", "confirmed")

ORIGIN: Final = "dpaccount/ledger/2"  #: the format; takes the place of a digest before entry 0
RECORDS: Final = "records/2:"  #: before the digest of the records in a root; says how they are stored


class OlderRecordsError(LedgerError):
    """The records of a ledger are stored as an earlier version stored them; export and import it."""


@dataclass(frozen=True)
class Entry:
    """One line of a ledger: its `number` from 0, `kind` (one of `KINDS`) and canonical JSON.

    `key` names a charge or reservation, `about` is the number of the entry that a mark refers to.
    `root` authenticates the balances after it (`dpaccount.ledger.balances`); of charges in one
    batch only the last has one.  `author` is what a server says of who wrote it, and not part of
    the entry: a role, "" where that role may not write this, None in a file and if it was imported.
    """

    number: int
    kind: str
    key: str | None
    about: int | None
    body: str
    root: str | None
    digest: str
    author: str | None = field(default=None, compare=False)

    def fields(self) -> dict[str, object]:
        """Return the entry without its author."""
        return {name: value for name, value in vars(self).items() if name != "author"}

    def follows(self, before: str) -> bool:
        """Return whether this entry is unchanged and follows the digest `before`."""
        try:
            expected = seal(before, self.number, self.kind, self.key, self.about, self.body, self.root)
        except (TypeError, ValueError):  # a column holds bytes, NaN, or text that is not UTF-8
            return False
        return self.digest == expected

    def succeeds(self, before: "Entry") -> bool:
        """Return whether this entry is unchanged and the next after another one."""
        return self.number == before.number + 1 and self.follows(before.digest)

    def has_its_root(self, before: "Entry") -> bool:
        """Return whether its root may stand after `before`: of charges added together the last has one."""
        if self.root is None or before.root is None:
            return self.kind == CHARGE
        return self.kind in CHANGING or self.root == before.root

    def begins(self) -> bool:
        """Return whether this is an unchanged entry 0."""
        return self.number == 0 and self.follows(ORIGIN)

    def stands_on(self, before: "Entry | None") -> bool:
        """Return whether this is unchanged behind the entry before it, or begins a ledger (None)."""
        return self.begins() if before is None else self.follows(before.digest)

    def check_records(self) -> None:
        """Raise `OlderRecordsError` if its root has a digest of records as an earlier version stored them.

        Chains without records are the same in both, so the format of the ledger does not say it.
        """
        if isinstance(self.root, str) and self.root.count("|") == 5 and f"|{RECORDS}" not in self.root:
            raise OlderRecordsError(
                "the ledger's scopes, cohorts and reservations are stored as an earlier version stored them;"
                " use that version, or make a new ledger by `dpaccount ledger export` and `import`"
            )


def seal(
    before: str, number: int, kind: str, key: str | None, about: int | None, body: str, root: str | None
) -> str:
    """Return the digest of an entry with these fields that follows the digest `before`."""
    return digest([before, number, kind, key, about, body, root])
