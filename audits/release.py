"""The real run: charged durably, drawn once, kept in the ledger, and printed again for nothing."""

import hashlib
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from audits.certify import digest_of_code, seal
from dpaccount.claim import Claim
from dpaccount.errors import InputError, LedgerError
from dpaccount.exact import canonical
from dpaccount.kernel import Private, Theorem
from dpaccount.ledger.ledger import Ledger
from mechanisms.subject import Rows, Subject, View

EVALUATION = "evaluation on public data, outside the guarantee"


@runtime_checkable
class OnFiles(Protocol):
    """A subject that can be run on a real file."""

    def read(self, path: Path) -> Rows:
        """Return the file's rows; raises `InputError` naming the line of what is wrong."""

    def report(self, view: View) -> dict[str, object]:
        """Return what a run publishes."""

    def evaluate(self, data: Rows, view: View, coins: int) -> dict[str, object]:
        """Return how a run did, read off the data without noise: for public data only."""


@dataclass(frozen=True)
class Release:
    """A real run that is due: the open question is only whether it was made before."""

    claim: Claim
    subject: Subject
    data: Rows
    key: str


def prepare(claim: Claim, subject: Subject) -> Release | None:
    """Read and validate a claim's data file; None where the claim touches no real data.

    The key is a digest of claim, data and code: the same run is never charged twice.
    """
    if claim.data_file is None or claim.ledger is None:
        return None
    if not isinstance(subject, OnFiles):
        raise InputError(f"{claim.path}: {claim.use} reads no data file; leave [data] out")
    data = subject.read(claim.data_file)
    if not subject.domain().contains(data):
        raise InputError(
            f"{claim.data_file}: rows outside the declared domain; the claim's ranges must cover them"
        )
    parts = [claim.path.read_bytes(), claim.data_file.read_bytes(), digest_of_code(subject).encode()]
    key = hashlib.sha256(canonical([hashlib.sha256(part).hexdigest() for part in parts])).hexdigest()
    return Release(claim, subject, data, key)


def kept(due: Release) -> dict[str, Any] | None:
    """Return the certificate of the latest run with this claim, data and code, or None.

    Raises `LedgerError` where the latest run drew its noise and was lost: it may have been seen, so
    it is not made again by itself.
    """
    latest, lost = None, False
    with _ledger(due) as ledger:
        for number in itertools.count(1):
            body, unkept = ledger.release(_key(due, number)), ledger.lost(_key(due, number))
            if body is None and not unkept:
                break
            latest, lost = body, unkept
    if lost:
        name = due.claim.name
        raise LedgerError(f"a run of {name} drew its noise and was lost; --again makes a new, charged one")
    return latest


def ready(due: Release) -> None:
    """Open and close the ledger, so that one that cannot be used is said before the work."""
    _ledger(due).close()


def make(due: Release, theorem: Theorem, certificate: dict[str, Any]) -> dict[str, Any]:
    """Charge, run on the data with secure noise, keep and return the sealed certificate.

    Raises `BudgetError` where the ledger has no room: then nothing is charged or drawn.
    """
    claim = due.claim
    with _ledger(due) as ledger:
        keys = (_key(due, number) for number in itertools.count(1))
        key = next(key for key in keys if ledger.release(key) is None and not ledger.lost(key))
        fact = theorem.conclusion
        cover = fact.units if isinstance(fact, Private) else None
        receipt = ledger.charge(theorem, claim.name, cover, key)
        view = due.subject.play(due.data, receipt, claim.audit.seed)
        body = {
            **certificate,
            "release": _release(due, view, receipt.entry),
            "releasable": receipt.releasable,
        }
        sealed = seal(body)
        ledger.keep_release(receipt.entry, sealed)
    return sealed


def _key(due: Release, number: int) -> str:
    return f"{due.key}.{number}"


def _release(due: Release, view: View, entry: int) -> dict[str, object]:
    subject = due.subject
    if not isinstance(subject, OnFiles):
        raise InputError(f"{due.claim.use} reads no data file; leave [data] out")
    return {
        "report": subject.report(view),
        "ledger_entry": entry,
        "noise": "secure",
        "evaluation": _evaluation(due, subject, view),
    }


def _evaluation(due: Release, subject: OnFiles, view: View) -> dict[str, object] | None:
    """Read the data without noise only where the claim says that they are public."""
    if not due.claim.public_data:
        return None
    return {"note": EVALUATION, **subject.evaluate(due.data, view, due.claim.audit.seed)}


def _ledger(due: Release) -> Ledger:
    return Ledger.open(str(due.claim.ledger))
