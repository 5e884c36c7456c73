"""The hash chain: every entry's digest is taken over all of it and over the digest before.

A ledger is a list of entries, numbered from 0.  Entry 0 is the budget; the others are charges and
refusals, for a charge the marks that drawing began and that its release is kept, and what a team arranges:
scopes, cohorts, reservations, parts of them that are drawn or returned, resets, forfeits.  Each holds the
root of the tree of what units have spent, so that totals are the chain's and not the file's word.  Whoever
notes the head (the last digest) elsewhere can tell any later change; without such a note, one who rewrites
every entry, all totals and the head leaves no trace.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from dpaccount.documents import canonical

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
FORFEIT: Final = "forfeit"  #: what may have been lost with the last entries is charged, and all goes on here

ARRANGING: Final = (SCOPE, COHORT, RESET, FORFEIT)  #: kinds that a server lets only some roles write
CHANGING: Final = (CHARGE, RESERVATION, ROUNDS, RETURN, *ARRANGING)  #: kinds that change the state
KINDS: Final = (BUDGET, REFUSAL, DRAWING, RELEASE, *CHANGING)  #: every kind that there is

ORIGIN: Final = "dpaccount/ledger/2"  #: what stands for the digest before entry 0, and names the format


@dataclass(frozen=True)
class Entry:
    """One line of a ledger: `key` names a charge, `about` is the charge that a mark belongs to.

    `root` says what all units have spent after it (`dpaccount.ledger.state`).
    """

    number: int
    kind: str
    key: str | None
    about: int | None
    body: str
    root: str | None
    digest: str

    def follows(self, before: str) -> bool:
        """Say whether this entry is unchanged and stands after the digest `before`."""
        try:
            made = seal(before, self.number, self.kind, self.key, self.about, self.body, self.root)
        except (TypeError, ValueError):  # a column holds bytes, NaN, or text that is not UTF-8
            return False
        return self.digest == made

    def begins(self) -> bool:
        """Say whether this is an unchanged entry 0."""
        return self.number == 0 and self.follows(ORIGIN)


def seal(
    before: str, number: int, kind: str, key: str | None, about: int | None, body: str, root: str | None
) -> str:
    """Return the digest of an entry that stands after the digest `before`."""
    return digest([before, number, kind, key, about, body, root])


def digest(value: object) -> str:
    """Return ``sha256:`` and the hexadecimal digest of a value's canonical JSON."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()
