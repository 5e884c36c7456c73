"""A release of a claim's data, found by claim and data, and what its ledger kept of it."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from audits import consistency
from audits.certificate.summary import cost_of, init_command
from audits.claim import Claim
from audits.editions import OPENING
from audits.sandbox.data_guard import access
from audits.sandbox.private_data import digest_of_data
from audits.subjects.bound import BoundClaim
from dpaccount import checker
from dpaccount.documents import canonical, hex_digest, sha256
from dpaccount.errors import InputError, LedgerError, NoLedgerError
from dpaccount.ledger.journal.entries import RunState
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.requests import Charge
from mechanisms.subject import Rows, Subject
from mechanisms.table.totals import TableTotals


class RunningError(LedgerError):
    """Another run of the same claim and data is being made."""

    exit_code = 1


@dataclass(frozen=True)
class Release:
    """A release of a claim's data, which may have been made before.

    `digest` is that of the file; `data` are rows within the domain, or exact totals, and None until
    they are `read`: a release that was made before needs none.
    """

    bound: BoundClaim
    digest: str
    key: str
    data: Rows | TableTotals | None = None
    #: the files' metadata before their digest was taken
    stamp: list[list[object]] = field(default_factory=list)

    @property
    def claim(self) -> Claim:
        """Return the claim."""
        return self.bound.claim

    def subject(self) -> Subject:
        """Return a new instance."""
        return self.bound.subject()

    def named_data(self, secret: str) -> str:
        """Return the data's digest for a certificate, keyed with a secret for private data.

        With a plain digest, anyone who knows all rows but one could test guesses of that row.
        """
        if self.claim.public_data:
            return self.digest
        return f"sha256:{sha256(f'{secret} {self.digest}')}"

    def numbered(self, number: int) -> str:
        """Return the ledger's key of the run of this number, from 1."""
        return f"{self.key}.{number}"


@dataclass(frozen=True)
class PreparedRelease:
    """A release and the number of its run; with `again`, a new run even if an earlier one is stored."""

    release: Release
    number: int
    again: bool
    certificate: dict[str, Any] | None = None  #: if the run was made before, by this code or other
    charged: bool = False  #: but not drawn


def key_of(claim: Claim, digest: str) -> str:
    """Return the key of a claim's releases of data with this digest."""
    return hex_digest([claim.written, digest])


def find_run(release: Release, *, again: bool) -> PreparedRelease:
    """Return the run's number, and its certificate if it was made before.

    Raises `RunningError` if another run is in progress, `LedgerError` if the latest one was changed, or
    drew its noise and was lost: its result may have been seen, so only `--new-release` makes another.
    """
    with paying_ledger(release.claim) as ledger:
        if release.claim.scope is not None:
            ledger.check_scope(release.claim.scope)
        number, latest = next_number(release, ledger)
        certificate, charged = None, ledger.run_state(release.numbered(number)).charged
        if number > 1 and not again:
            number, charged = number - 1, False
            certificate = stored_certificate(release, ledger, number, latest)
        elif not again and not charged:
            certificate = _kept_under_code(release, ledger)
        return PreparedRelease(release, number, again, certificate, charged)


def next_number(release: Release, ledger: Ledger) -> tuple[int, RunState]:
    """Return the first number without any draw, and the state of the previous one."""
    latest = RunState()
    for number in itertools.count(1):
        state = ledger.run_state(release.numbered(number))
        if state.kept is None and not (state.drawing or state.lost):
            return number, latest
        latest = state
    raise AssertionError("numbers do not end")


def stored_certificate(release: Release, ledger: Ledger, number: int, state: RunState) -> dict[str, Any]:
    """Return the stored certificate of a completed run, verified like a new one."""
    name = release.claim.name
    if state.drawing:
        raise RunningError(
            f"another run of {name} is drawing now; ask again when it has kept its release; if it has ended"
            " (in another container, on another machine), --new-release charges a new one"
        )
    if state.kept is None:
        raise LedgerError(f"a run of {name} drew its noise and was lost; --new-release charges a new one")
    return _checked(release, ledger, release.numbered(number), state.kept)


def _checked(release: Release, ledger: Ledger, charge: int | str, kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the certificate that the ledger kept for a charge, unless it is about something else."""
    paid, body = ledger.paid(charge), dict(kept)
    wrong = _mismatch(release, body, release.named_data(body.pop(OPENING, "")), paid)
    if wrong is not None:
        raise LedgerError(
            f"the release of {release.claim.name} that the ledger kept is not printed: {wrong}; see what"
            " `dpaccount ledger verify` says, and --new-release makes a new, charged one"
        )
    return body


def _kept_under_code(release: Release, ledger: Ledger) -> dict[str, Any] | None:
    """Return the last release of this claim and data that an earlier version kept by another key."""
    found = [
        kept
        for kept in ledger.releases(f'"name":"{release.claim.name}"')
        if canonical(kept[1].get("claim")) == canonical(release.claim.written)
        and kept[1].get("release", {}).get("data") == release.named_data(str(kept[1].get(OPENING, "")))
    ]
    return _checked(release, ledger, *found[-1]) if found else None


def spent_on(release_key: str, ledger: Ledger) -> str:
    """Return what was spent on a run that ended before its release was printed, and what can be done."""
    state, paid = ledger.run_state(release_key), ledger.paid(release_key)
    way = "what it drew is lost: --new-release charges a new one"
    if state == RunState(charged=True):
        way = "nothing of it was drawn: the same command draws it, and charges nothing more"
    elif state.kept is not None:
        way = "its release is kept: the same command prints it, and charges nothing more"
    return f"entry {paid.entry} is charged ({cost_of(paid)}), and {way}"


def spent_when_stopped(claim: Claim) -> str | None:
    """Return `spent_on` of the claim's latest run, or None if none is charged; it runs no code of a user."""
    if claim.data_file is None:
        return None
    with access():
        release = Release(BoundClaim(claim, object), "", key_of(claim, digest_of_data(claim.data_file)))
    with paying_ledger(claim) as ledger:
        number, _ = next_number(release, ledger)
        number -= not ledger.run_state(release.numbered(number)).charged
        return spent_on(release.numbered(number), ledger) if number else None


def _mismatch(release: Release, body: dict[str, Any], data: str, paid: Charge) -> str | None:
    """Return why a stored certificate is not for this claim, data and charge, or None."""
    try:
        consistency.check(json.dumps(body).encode())
    except (checker.Rejected, checker.Unreadable) as why:
        return f"the checker refuses it ({why})"
    made = body["release"]
    if body["verdict"] != "CERTIFIED" or not isinstance(made, dict):
        return "it is no certified release"
    pairs = {
        "claim": (body["claim"], release.claim.written),
        "code": (body["subject"].get("code"), made.get("code")),
        "data": (made.get("data"), data),
        "ledger entry": ([made.get("ledger_entry"), made.get("ledger_head")], [paid.entry, paid.head]),
    }
    other = [name for name, (written, right) in pairs.items() if canonical(written) != canonical(right)]
    return f"it is about another {', '.join(other)}" if other else None


def paying_ledger(claim: Claim, at: str | None = None) -> Ledger:
    """Open the ledger, the claim's or `at`, that pays; raises `InputError` if its privacy unit differs."""
    url = at or str(claim.ledger)
    try:
        ledger = Ledger.open(url)
    except NoLedgerError as error:
        raise NoLedgerError(error.path, init_command(url, claim.guarantee)) from None
    counted, unit = ledger.budget.unit, claim.guarantee.unit
    if counted != unit:
        ledger.close()
        raise InputError(
            f"the claim's unit is {unit!r}, its ledger's {counted!r}", "give both the same text", claim.path
        )
    return ledger
